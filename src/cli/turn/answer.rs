//! What was said in a turn, as the log has it: in the session's own file, or in the one in which its client went on.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::Seat;
use crate::{
    cli::Run,
    error::Result,
    fact::{Carrier, Ending, Fact, Role},
    format::{Format, Message},
    ops,
    session::{Outline, Session, Thread, history},
    store::{self, Glance, Store},
};

/// An answer and where it lies.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The words.
    pub text: String,
    /// The ids of its prompt and of its last message.
    pub range: [String; 2],
    /// The session whose log has it.
    pub id: String,
    /// That log.
    pub path: PathBuf,
}

/// A session before its client takes a turn in it.
pub struct Before {
    /// Its lines; none where the client has yet to start it.
    lines: usize,
    /// What the model sees of it.
    outline: Option<Outline>,
    /// The same without what we said, which a client may leave behind.
    inherited: Option<Outline>,
    /// What its framing is known by: no other session has it.
    framing: Option<String>,
    /// The logs around it.
    logs: BTreeSet<PathBuf>,
}

impl Before {
    /// What there is now.
    pub fn of(run: &Run, seat: &Seat<'_>) -> Result<Self> {
        let logs = logs(run, seat);
        let Some(path) = seat.path else {
            return Ok(Self { lines: 0, outline: None, inherited: None, framing: None, logs });
        };
        let session = read(run, seat.format, path)?;
        let thread = session.thread(None)?;
        let outline = Outline::of(&thread, thread.path().len(), usize::MAX)?;
        let inherited = Outline::of(&thread, thread.seed.min(thread.path().len()), usize::MAX)?;
        let framing = framings(&thread).last().cloned();
        let (outline, inherited) = (Some(outline), Some(inherited));
        Ok(Self { lines: session.log.lines(), outline, inherited, framing, logs })
    }

    /// The answer that came since, or in words why there is none.
    pub fn answer(
        &self,
        run: &Run,
        seat: &Seat<'_>,
        question: &str,
    ) -> Result<Result<Answered, String>> {
        let found = || log_of(run, seat.format, seat.id);
        // A client may unpack a log before it goes on with it.
        let there = seat.path.filter(|path| path.exists()).map(Path::to_path_buf);
        let own = match there.or_else(found) {
            Some(path) => {
                let session = read(run, seat.format, &path)?;
                let thread = session.thread(None)?;
                let messages = thread.history(thread.path().len(), thread.seed);
                let new = messages.iter().position(|message| message.line as usize >= self.lines);
                look(&thread, new.map_or(&[][..], |new| &messages[new..]), &path)?
            }
            None => Err("it wrote no log".into()),
        };
        match own {
            Ok(answered) => Ok(Ok(answered)),
            Err(why) => Ok(self.elsewhere(run, seat, question).ok_or(why)),
        }
    }

    /// The answer in a new log that begins with all that the session has: some clients go on in a file of its own.
    fn elsewhere(&self, run: &Run, seat: &Seat<'_>, question: &str) -> Option<Answered> {
        let is_new = |path: &&PathBuf| !self.logs.contains(*path);
        logs(run, seat).iter().filter(is_new).find_map(|path| {
            let glance = Glance::at(path)?;
            let session = (glance.format == seat.format.name())
                .then(|| read(run, seat.format, path).ok())
                .flatten()?;
            let thread = session.thread(None).ok()?;
            let messages = thread.history(thread.path().len(), thread.seed);
            let new = &messages[self.own_part(&thread, &messages, question)?..];
            look(&thread, new, path).ok()?.ok()
        })
    }

    /// Where in another log begins what the session did not have, if that log goes on with it.
    fn own_part(&self, thread: &Thread<'_>, messages: &[Message], question: &str) -> Option<usize> {
        let begins = |with: &Option<Outline>| {
            let with = with.as_ref().filter(|with| with.messages < messages.len())?;
            let same = Outline::of(thread, thread.path().len(), with.messages).ok()?;
            (same.hash == with.hash).then_some(with.messages)
        };
        let framed = self.framing.as_ref().is_some_and(|mark| framings(thread).contains(mark));
        let whole = begins(&self.outline);
        if framed && whole.is_some() {
            return whole;
        }
        // Somebody may go on with the parent meanwhile, and other children begin alike.
        let from = if framed { Some(0) } else { whole.or_else(|| begins(&self.inherited)) };
        from.and_then(|from| Some(from + asked(thread, &messages[from..], question)?))
    }
}

/// What the framings on a path are known by.
fn framings(thread: &Thread<'_>) -> Vec<String> {
    let facts = &thread.session.facts;
    let stated = thread.path().iter().flat_map(|line| facts.of(*line));
    let marks = stated.filter_map(|fact| match fact {
        Fact::Carried(Carrier::Framing, mark) => Some(facts.name(mark).to_owned()),
        _ => None,
    });
    marks.collect()
}

/// The logs among which a client may go on with a session: those where it keeps its own, and those around it.
fn logs(run: &Run, seat: &Seat<'_>) -> BTreeSet<PathBuf> {
    let own = seat.format.layout().roots(&run.env).into_iter().map(Store::of);
    let around = match seat.path {
        Some(path) if seat.in_store => Store::around(path).logs(),
        Some(path) => path.parent().map(store::files_in).unwrap_or_default(),
        None => Vec::new(),
    };
    own.flat_map(|store| store.logs()).chain(around).collect()
}

/// A question that was put to a session, and what came of it.
pub struct Exchange {
    /// The question.
    pub question: String,
    /// The answer and the ids of both, if the turn came to its end.
    pub answer: Option<(String, [String; 2])>,
}

/// What was asked and answered in a session itself, whose own messages are `own`, in order.
pub fn exchanges(thread: &Thread<'_>, own: &[Message]) -> Result<Vec<Exchange>> {
    let asked: Vec<usize> = (0..own.len()).filter(|at| prompts(thread, &own[*at])).collect();
    let ends = asked.iter().skip(1).copied().chain([own.len()]);
    let exchange = |(from, to): (&usize, usize)| {
        let completed = thread.turns.list.iter().any(|turn| {
            let lines = &thread.path()[turn.first..=turn.last];
            turn.how == Some(Ending::Completed) && lines.contains(&own[*from].line)
        });
        let question = history::unfold(thread.session, &own[*from])?.text;
        let answer = if completed { ops::answer_among(thread, &own[*from..to])? } else { None };
        Ok(Exchange { question, answer })
    };
    asked.iter().zip(ends).map(exchange).collect()
}

/// The answer to a question that was put before to a session which began with `made` messages.
pub fn standing(
    run: &Run,
    seat: &Seat<'_>,
    made: usize,
    question: &str,
) -> Result<Option<Answered>> {
    let Some(path) = seat.path else { return Ok(None) };
    let session = read(run, seat.format, path)?;
    let thread = session.thread(None)?;
    let messages = thread.history(thread.path().len(), thread.seed);
    let asked = exchanges(&thread, messages.get(made..).unwrap_or_default())?;
    let same = |asked: &Exchange| asked.question.trim() == question.trim();
    let answer = asked.into_iter().filter(same).find_map(|asked| asked.answer);
    let id = session.id().to_owned();
    Ok(answer.map(|(text, range)| Answered { text, range, id, path: path.into() }))
}

/// Where a question stands among `messages`.
fn asked(thread: &Thread<'_>, messages: &[Message], question: &str) -> Option<usize> {
    let same = |message: &Message| {
        let text = history::unfold(thread.session, message).map(|it| it.text);
        prompts(thread, message) && text.is_ok_and(|text| text.trim() == question.trim())
    };
    messages.iter().position(same)
}

/// Whether a message is a person's.
fn prompts(thread: &Thread<'_>, message: &Message) -> bool {
    let facts = &thread.session.facts;
    message.role == Role::User
        && !facts.of(message.line).any(|fact| matches!(fact, Fact::Answered { .. }))
}

/// The answer among new messages at the end of a thread, or why there is none.
fn look(thread: &Thread<'_>, new: &[Message], path: &Path) -> Result<Result<Answered, String>> {
    let Some(first) = new.first() else { return Ok(Err("it wrote nothing".into())) };
    let last = thread.turns.list.last();
    let last = last.filter(|turn| thread.path()[turn.last] >= first.line);
    match last.map(|turn| turn.how) {
        Some(None) => return Ok(Err("its turn has not ended".into())),
        Some(Some(how)) if how != Ending::Completed => {
            return Ok(Err(format!("its turn ended as {}", how.name())));
        }
        _ => {}
    }
    let id = thread.session.id().to_owned();
    let answer = ops::answer_among(thread, new)?;
    let answered = |(text, range)| Answered { text, range, id, path: path.into() };
    Ok(answer.map(answered).ok_or_else(|| "it says nothing".into()))
}

/// The log of a session that its client has started.
pub fn log_of(run: &Run, format: &'static dyn Format, id: &str) -> Option<PathBuf> {
    let layout = format.layout();
    let own = layout.roots(&run.env).into_iter().map(Store::of);
    std::iter::once(run.store.clone()).chain(own).find_map(|store| store.named(layout, id).pop())
}

fn read(run: &Run, format: &'static dyn Format, path: &Path) -> Result<Session> {
    Session::read(store::open(path, Some(&run.store))?, Some(format))
}
