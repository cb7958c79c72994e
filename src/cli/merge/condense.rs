//! `merge --condense`: one turn in the side session that makes a note of it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Args,
    prompt::{AGAIN, CAP, PROMPT, filled, fits},
};
use crate::{
    cli::{
        Run,
        pick::Opened,
        side::text_argument,
        turn::{Exchange, Ran, Seat, Table, Taker, exchanges},
    },
    error::{Error, Result},
    format::Message,
    ops::{self, Source},
    session::{Session, Thread, lineage},
    store::{self, Journal, Lock, Record},
};

/// How a note is to be condensed.
#[derive(Clone, Debug, clap::Args)]
pub struct Condensing {
    /// Have the client make the note, by one turn in the side session
    ///
    /// Its own command line runs on the side session, as with `side --run`, or what `SESSCTL_<CLIENT>_CMD` names. A note
    /// that is too long is asked for once more. A turn that was taken already, and after which nothing was said, is not
    /// taken again.
    #[arg(long, conflicts_with_all = ["note", "last_answer"])]
    condense: bool,
    /// Have another command make the note: it gets the side conversation on standard input, the note is its output
    ///
    /// The shell runs it in the session's folder. It finds what is asked for in `SESSCTL_QUESTION`, the cap in
    /// `SESSCTL_MAX_CHARS`, the session in `SESSCTL_SESSION`, `SESSCTL_SESSION_PATH` and `SESSCTL_CLIENT`.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["note", "last_answer"])]
    condense_with: Option<String>,
    /// Other words for the prompt, `{max_chars}` being the cap; @FILE reads them from a file, - from standard input
    #[arg(long, value_name = "TEXT", env = "SESSCTL_CONDENSE_PROMPT", hide_env_values = true)]
    condense_prompt: Option<String>,
}

impl Condensing {
    /// The words of the prompt as they were given.
    pub fn prompt(&self) -> Option<&str> {
        self.condense_prompt.as_deref()
    }
}

/// What condensing came to.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Condensed {
    /// How many turns were taken, or runs of the command made.
    turns: usize,
    /// The last one.
    pub run: Option<Ran>,
    /// The log that has the answer, where the client went on in a file of its own.
    pub answered_in: Option<PathBuf>,
}

/// A note before it is written.
pub(super) enum Note {
    /// To be written, unless it is there.
    Made(Source),
    /// An earlier call with the same request made it, and it is there.
    There(Box<Record>),
    /// It would be asked for.
    Planned,
}

/// What is asked for, as it stands on the command line.
pub(super) struct Request<'a> {
    with: Option<&'a str>,
    template: String,
}

impl<'a> Request<'a> {
    /// What `args` ask for; none where the words are given.
    pub fn of(args: &'a Args) -> Result<Option<Self>> {
        let Condensing { condense, condense_with, condense_prompt } = &args.condensing;
        if !condense && condense_with.is_none() {
            return Ok(None);
        }
        let mut template = match condense_prompt {
            Some(words) => ops::trimmed(&text_argument(words)?).map_err(|error| match error {
                Error::NoteEmpty => Error::BadUsage("the prompt is empty".into()),
                error => error,
            })?,
            None => PROMPT.to_owned(),
        };
        if !template.contains("{max_chars}") {
            template.push_str(CAP);
        }
        Ok(Some(Self { with: condense_with.as_deref(), template }))
    }

    /// What makes two of them the same.
    pub fn fingerprint(&self) -> Value {
        json!({ "with": self.with, "prompt": self.template })
    }

    /// Refuses what could not be run.
    pub fn check(&self, run: &Run, side: &Opened) -> Result<()> {
        if self.with.is_some() {
            return Ok(());
        }
        if side.path.is_none() || side.manifest.is_some() {
            let message =
                "only a session with a log of its own can be asked; `--condense-with` takes any";
            return Err(Error::BadUsage(message.into()));
        }
        side.require_live(run)?;
        // Two at once would be two stories in one log.
        let layout = side.session.format.layout();
        let presence = side.path.as_deref().and_then(|path| layout.presence(path));
        let open = presence.and_then(|presence| store::present(&presence, side.session.id()));
        if let Some(holder) = open.or_else(|| store::holder(side.session.log.stamp())) {
            return Err(Error::SessionLocked { id: side.session.id().into(), holder });
        }
        let cwd = side.session.header().cwd.as_deref().map(std::path::Path::new);
        Taker::check(run, side.session.format, cwd, None)
    }
}

/// Lets one call after the other take turns in a side session, so that a note is paid for once; each reads the parent
/// behind this, and keeps it until its note is there.
pub(super) fn wait(args: &Args, journal: &Journal, side: &Opened) -> Result<Option<Lock>> {
    let key = || format!("turn in {}", side.session.id());
    if args.dry_run { Ok(None) } else { journal.lock(&key()).map(Some) }
}

/// The note of a side session, by as few turns as it takes. The parent was judged before.
pub(super) fn note(
    run: &Run,
    args: &Args,
    request: &Request<'_>,
    (journal, fingerprint): (&Journal, &Map<String, Value>),
    side: &Opened,
    parent: &Session,
) -> Result<(Note, Condensed)> {
    let mut told = Condensed::default();
    let fresh = match &side.path {
        Some(path) if side.manifest.is_none() => {
            let log = store::open(path, Some(&run.store))?;
            Some(Session::read(log, Some(side.session.format))?)
        }
        _ => None,
    };
    let thread = fresh.as_ref().unwrap_or(&side.session).thread(None)?;
    let own = ops::own_messages(&thread, lineage::seed(&thread, parent).kept);
    if own.is_empty() {
        return Err(Error::NoAnswer(side.session.id().into()));
    }
    if !args.allow_repeat
        && let Some(record) =
            earlier(journal, args, fingerprint, own.len(), &ops::merges(parent, None)?)?
    {
        return Ok((Note::There(Box::new(record)), told));
    }
    let made = match request.with {
        Some(script) => by_command(run, args, request, side, (&thread, &own), script, &mut told)?,
        None => by_client(run, args, request, side, (&thread, &own), &mut told)?,
    };
    Ok((made.map_or(Note::Planned, Note::Made), told))
}

/// The step in which an earlier call of the same kind wrote its note, if that is still there and nothing was said in the
/// side session since. A request id stands for its note whatever was said.
fn earlier(
    journal: &Journal,
    args: &Args,
    fingerprint: &Map<String, Value>,
    own: usize,
    marks: &[String],
) -> Result<Option<Record>> {
    let same = |record: &Record| {
        let keys = ["verb", "side", "into", "condense"];
        let alike = keys.iter().all(|key| record.request.get(*key) == fingerprint.get(*key));
        let mark = record.written.note.as_ref();
        let named = args.request_id.is_some() && record.request_id == args.request_id;
        let still = record.boundary.get("side_messages") == Some(&json!(own));
        alike && (named || still) && mark.is_some_and(|mark| marks.contains(mark))
    };
    Ok(journal.records()?.into_iter().rev().find(same))
}

/// By one turn in the side session, and one more if that is too long.
fn by_client(
    run: &Run,
    args: &Args,
    request: &Request<'_>,
    side: &Opened,
    (thread, own): (&Thread<'_>, &[Message]),
    told: &mut Condensed,
) -> Result<Option<Source>> {
    let source = |text: &str, range: &[String; 2]| -> Result<Source> {
        let text = ops::trimmed(text)?;
        Ok(Source { side: side.session.id().into(), range: range.clone(), text })
    };
    let (mut known, mut again) = standing(args, request, &exchanges(thread, own)?, &source);
    let (format, layout) = (side.session.format, side.session.format.layout());
    let cwd = side.session.header().cwd.as_deref();
    // Where the client goes on in a file of its own, it is asked there once more.
    let (mut id, mut path) = (side.session.id().to_owned(), side.path.clone());
    let mut table = None;
    loop {
        let too_long = known.as_ref().map(|source| source.text.chars().count());
        let too_long = too_long.filter(|chars| *chars > args.max_chars);
        let question = match (&known, too_long) {
            (Some(_), None) => return Ok(known),
            (Some(_), Some(chars)) if again => {
                return Err(Error::NoteTooLong { chars, max: args.max_chars });
            }
            (Some(_), Some(chars)) => {
                again = true;
                filled(AGAIN, Some(chars), args.max_chars)
            }
            (None, _) => filled(&request.template, None, args.max_chars),
        };
        let in_store = path.as_ref().is_none_or(|path| layout.root_of(path).is_some());
        let seat = Seat { format, id: &id, path: path.as_deref(), in_store, cwd };
        let client = Taker::of(run, &seat, None, &question)?;
        if args.dry_run {
            let cwd = cwd.map(Into::into);
            told.run = Some(Ran { argv: client.argv(), cwd, status: None, signal: None });
            return Ok(None);
        }
        let table = match &mut table {
            Some(table) => table,
            none => none.insert(Table::new(run)?),
        };
        let taken = table.take(&seat, &client, &question)?;
        told.turns += 1;
        told.run = Some(taken.ran);
        if let Some(failure) = taken.failure {
            return Err(failure);
        }
        let answer = taken.answer.ok_or(Error::NoteEmpty)?;
        known = Some(source(&answer.text, &answer.range)?);
        told.answered_in =
            Some(answer.path.clone()).filter(|path| side.path.as_ref() != Some(path));
        (id, path) = (answer.id, Some(answer.path));
    }
}

/// The note that the last thing said in the side session is, if an earlier call asked for it, and whether it has been
/// asked for once more under this cap. Words that are no note are none.
fn standing(
    args: &Args,
    request: &Request<'_>,
    said: &[Exchange],
    source: &dyn Fn(&str, &[String; 2]) -> Result<Source>,
) -> (Option<Source>, bool) {
    let note =
        |said: &Exchange| said.answer.as_ref().and_then(|(text, range)| source(text, range).ok());
    let Some((last, before)) = said.split_last() else { return (None, false) };
    if fits(&request.template, &last.question) {
        return (note(last), false);
    }
    // It may have been asked for under several caps.
    let first = before.iter().rposition(|said| !fits(AGAIN, &said.question));
    match (first, before.last()) {
        (Some(first), Some(long))
            if fits(AGAIN, &last.question) && fits(&request.template, &before[first].question) =>
        {
            let long = note(long).map(|long| long.text.chars().count());
            let question = filled(AGAIN, long, args.max_chars);
            (note(last), question == last.question.trim())
        }
        _ => (None, false),
    }
}

/// By a command of the user, which may try once more too. The note stands for all that was said.
fn by_command(
    run: &Run,
    args: &Args,
    request: &Request<'_>,
    side: &Opened,
    (thread, own): (&Thread<'_>, &[Message]),
    script: &str,
    told: &mut Condensed,
) -> Result<Option<Source>> {
    let path = side.path.as_deref();
    let cwd = side.session.header().cwd.as_deref();
    let (format, id) = (side.session.format, side.session.id());
    let seat = Seat { format, id, path, in_store: true, cwd };
    let words = vec!["sh".into(), "-c".into(), script.into()];
    let ran = Ran { argv: words, cwd: cwd.map(Into::into), status: None, signal: None };
    if args.dry_run {
        told.run = Some(ran);
        return Ok(None);
    }
    let transcript = ops::transcript(thread, own)?;
    let variables = [("SESSCTL_MAX_CHARS", args.max_chars.to_string())];
    let mut table = Table::new(run)?;
    let mut question = filled(&request.template, None, args.max_chars);
    let mut text = String::new();
    for _ in 0..2 {
        told.turns += 1;
        let said = table.filter(&seat, script, &question, transcript.clone(), &variables)?;
        text = ops::trimmed(&said)?;
        let chars = text.chars().count();
        if chars <= args.max_chars {
            break;
        }
        let again = filled(AGAIN, Some(chars), args.max_chars);
        question = format!("{}\n\n{again}", filled(&request.template, None, args.max_chars));
    }
    told.run = Some(Ran { status: Some(0), ..ran });
    let chars = text.chars().count();
    if chars > args.max_chars {
        return Err(Error::NoteTooLong { chars, max: args.max_chars });
    }
    let name = |message: Option<&Message>| {
        let id = message.and_then(|message| thread.id_on(message.line));
        id.map(|id| thread.session.facts.name(id).to_owned()).unwrap_or_default()
    };
    let range = [name(own.first()), name(own.last())];
    Ok(Some(Source { side: id.into(), range, text }))
}
