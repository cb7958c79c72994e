//! One note back into the parent: exactly one message, or none when it stands there already.

use chrono::{DateTime, Utc};

use super::{Cut, note};
use crate::{
    error::{Error, Result},
    fact::{Carrier, Fact, Role},
    format::{Note, Origin},
    session::{Thread, history},
};

/// What is to be said, and in whose name.
#[derive(Clone, Debug)]
pub struct Source {
    /// The side session.
    pub side: String,
    /// First and last message of it that the note stands for; empty when a person wrote it.
    pub range: [String; 2],
    /// The words.
    pub text: String,
}

/// What a merge comes to.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The note.
    pub note: Note,
    /// What its reader will know it by.
    pub mark: String,
    /// The lines to append; none when the note is there already.
    pub lines: Vec<Vec<u8>>,
}

/// Drafts the lines that bring `source` into the session cut at `parent`.
pub fn merge(
    parent: &Cut<'_>,
    source: &Source,
    allow_repeat: bool,
    at: DateTime<Utc>,
) -> Result<Merge> {
    let session = parent.thread.session;
    let facts = &session.facts;
    let writer = session.format.writer(facts)?;
    if !writer.takes_note(facts, session.header().version, &parent.kept) {
        let message = "the parent has not run yet, and its client could not open it with a note before the first step";
        return Err(Error::InvalidBoundary(message.into()));
    }
    let carried = |fact: Fact| match fact {
        Fact::Carried(Carrier::Note, mark) => Some(facts.name(mark)),
        _ => None,
    };
    let on_path: Vec<&str> =
        parent.thread.path().iter().flat_map(|line| facts.of(*line)).filter_map(carried).collect();
    let anywhere: Vec<&str> =
        facts.all().iter().filter_map(|stated| carried(stated.fact)).collect();
    let nth_note = |nth| note::note(&source.side, &source.range, source.text.clone(), nth);
    let mut nth = 1;
    loop {
        let note = nth_note(nth);
        let mark = writer.mark(&note);
        if on_path.contains(&mark.as_str()) && !allow_repeat {
            return Ok(Merge { note, mark, lines: Vec::new() });
        }
        if !anywhere.contains(&mark.as_str()) {
            break;
        }
        nth += 1;
    }
    let note = nth_note(nth);
    let last = parent.kept.last().map(|line| session.log.line(*line as usize)).transpose()?;
    let mut tip = writer.tip(facts, &parent.kept, last.as_deref());
    let line = writer.note(&note, at, &mut tip, &|id| facts.known(id).is_some());
    let lines = std::iter::once(line).chain(writer.mark_tip(&tip)).collect();
    Ok(Merge { mark: writer.mark(&note), note, lines })
}

/// The last answer that a side session gave of its own, and the messages that it stands for: its prompt and itself.
pub fn last_answer(side: &Thread<'_>, seed: usize) -> Result<(String, [String; 2])> {
    let messages = side.history(side.path().len(), seed);
    let own: Vec<_> = messages.iter().filter(|message| message.origin == Origin::Own).collect();
    let states = |line: u32, what: &dyn Fn(Fact) -> bool| side.session.facts.of(line).any(what);
    let mut found = None; // what only marks the end of a turn is no answer
    for (at, message) in own
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == Role::Assistant && message.sent)
        .filter(|(_, message)| !states(message.line, &|fact| matches!(fact, Fact::Closed { .. })))
        .rev()
    {
        let text = history::unfold(side.session, message)?.text;
        if !text.trim().is_empty() {
            found = Some((at, text));
            break;
        }
    }
    let (at, text) = found.ok_or(Error::NoteEmpty)?;
    let asks = |message: &&&crate::format::Message| {
        message.role == Role::User
            && !states(message.line, &|fact| matches!(fact, Fact::Answered { .. }))
    };
    let prompt = own[..at].iter().rev().find(asks).unwrap_or(&own[at]);
    let id = |line: u32| {
        side.id_on(line).map(|id| side.session.facts.name(id).to_owned()).unwrap_or_default()
    };
    Ok((text, [id(prompt.line), id(own[at].line)]))
}

/// The size of what the model sees: characters, and tokens estimated at four characters each.
pub fn cost_of(thread: &Thread<'_>) -> Result<(u64, u64)> {
    let mut chars = 0;
    for message in thread.history(thread.path().len(), thread.seed) {
        let unfolded = history::unfold(thread.session, &message)?;
        let calls: usize = unfolded
            .calls
            .iter()
            .map(|(_, name, arguments)| name.chars().count() + arguments.chars().count())
            .sum();
        let words = unfolded.text.chars().count() + unfolded.output.chars().count();
        chars += (words + calls) as u64;
    }
    Ok((chars, chars.div_ceil(4)))
}
