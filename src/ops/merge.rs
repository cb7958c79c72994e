//! One note back into the parent: exactly one message, or none when it stands there already.

use std::fmt::Write;

use chrono::{DateTime, Utc};

use super::{Cut, note};
use crate::{
    error::{Error, Result},
    fact::{Carrier, Fact, Role},
    format::{Message, Note, Origin},
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

/// Refuses a parent whose client could not open it with a note.
pub fn takes_note(parent: &Cut<'_>) -> Result<()> {
    let session = parent.thread.session;
    let writer = session.format.writer(&session.facts)?;
    if writer.takes_note(&session.facts, session.header().version, &parent.kept) {
        return Ok(());
    }
    let message = "the parent has not run yet, and its client could not open it with a note before the first step";
    Err(Error::InvalidBoundary(message.into()))
}

/// Drafts the lines that bring `source` into the session cut at `parent`. `done` is the mark that an earlier run of the same
/// request was about to write, or wrote: it is not written again, whatever may be repeated.
pub fn merge(
    parent: &Cut<'_>,
    source: &Source,
    allow_repeat: bool,
    done: Option<&str>,
    at: DateTime<Utc>,
) -> Result<Merge> {
    takes_note(parent)?;
    let session = parent.thread.session;
    let facts = &session.facts;
    let writer = session.format.writer(facts)?;
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
        if !anywhere.contains(&mark.as_str()) {
            break;
        }
        if on_path.contains(&mark.as_str()) && !allow_repeat || done == Some(&mark) {
            return Ok(Merge { note, mark, lines: Vec::new() });
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
    answer_among(side, &own_messages(side, seed))?
        .ok_or_else(|| Error::NoAnswer(side.session.id().into()))
}

/// What was said in a session itself: nothing inherited, no framing and no notes.
#[must_use]
pub fn own_messages(side: &Thread<'_>, seed: usize) -> Vec<Message> {
    let mut messages = side.history(side.path().len(), seed);
    messages.retain(|message| message.origin == Origin::Own);
    messages
}

/// The last answer among `messages`, which follow each other, and the ids of its prompt and of itself.
pub fn answer_among(
    side: &Thread<'_>,
    messages: &[Message],
) -> Result<Option<(String, [String; 2])>> {
    let states = |line: u32, what: &dyn Fn(Fact) -> bool| side.session.facts.of(line).any(what);
    // What only marks the end of a turn is no answer.
    let speaks = |message: &Message| {
        let marks = states(message.line, &|fact| matches!(fact, Fact::Closed { .. }));
        message.role == Role::Assistant && message.sent && !marks
    };
    let text = |message: &Message| history::unfold(side.session, message).map(|it| it.text);
    let mut found = None;
    for (at, message) in messages.iter().enumerate().rev().filter(|(_, message)| speaks(message)) {
        let text = text(message)?;
        if !text.trim().is_empty() {
            found = Some((at, text));
            break;
        }
    }
    let Some((at, mut answer)) = found else { return Ok(None) };
    // An answer that was written as several lines is one all the same.
    let part = |message: &Message| {
        side.session.facts.of(message.line).find_map(|fact| match fact {
            Fact::Part(id) => Some(id),
            _ => None,
        })
    };
    let whole = part(&messages[at]);
    let same = |message: &&Message| whole.is_some() && part(message) == whole && speaks(message);
    for earlier in messages[..at].iter().rev().take_while(same) {
        let text = text(earlier)?;
        if !text.trim().is_empty() {
            answer = format!("{}\n\n{answer}", text.trim_end());
        }
    }
    let asks = |message: &&Message| {
        message.role == Role::User
            && !states(message.line, &|fact| matches!(fact, Fact::Answered { .. }))
    };
    let prompt = messages[..at].iter().rev().find(asks).unwrap_or(&messages[at]);
    let id = |line: u32| {
        side.id_on(line).map(|id| side.session.facts.name(id).to_owned()).unwrap_or_default()
    };
    Ok(Some((answer, [id(prompt.line), id(messages[at].line)])))
}

/// Messages for a program that is to sum them up: plain text, who speaks on a line of its own.
pub fn transcript(side: &Thread<'_>, messages: &[Message]) -> Result<String> {
    let mut text = String::new();
    for message in messages {
        let said = history::unfold(side.session, message)?;
        let calls = said.calls.iter().map(|(_, name, arguments)| format!("[{name} {arguments}]"));
        let parts = [said.text.clone()].into_iter().chain(calls).chain([said.output.clone()]);
        let parts: Vec<String> = parts.filter(|part| !part.trim().is_empty()).collect();
        if !parts.is_empty() {
            let _ = write!(text, "## {}\n\n{}\n\n", message.role.name(), parts.join("\n\n"));
        }
    }
    Ok(text)
}

/// How many characters a token is taken for. Clients and models differ; what counts is the size of a note beside that of
/// a context.
pub const CHARS_PER_TOKEN: u64 = 4;

/// The size of what the model sees behind the first `skip` messages, in characters.
pub fn chars_of(thread: &Thread<'_>, skip: usize) -> Result<u64> {
    let mut chars = 0;
    for message in thread.history(thread.path().len(), thread.seed).into_iter().skip(skip) {
        let unfolded = history::unfold(thread.session, &message)?;
        let calls: usize = unfolded
            .calls
            .iter()
            .map(|(_, name, arguments)| name.chars().count() + arguments.chars().count())
            .sum();
        let words = unfolded.text.chars().count() + unfolded.output.chars().count();
        chars += (words + calls) as u64;
    }
    Ok(chars)
}
