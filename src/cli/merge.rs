//! `sessctl merge`

mod condense;
mod merged;
mod prompt;
mod target;

use std::path::Path;

use serde_json::{Map, Value, json};

pub(super) use self::merged::Merged;
use self::{
    condense::{Condensed, Condensing, Note, Request},
    merged::{NoteReport, report_of},
    target::{Target, Was},
};
use super::{
    Run,
    output::Answer,
    pick::{self, Allow, Opened, Pick},
    report::{self, Next},
    side::text_argument,
};
use crate::{
    error::{Error, Result},
    ops::{self, Source},
    session::{Session, lineage},
    store::{self, Record, State, Written},
};

/// Bring one note of a side session back into its parent
///
/// Exactly one context message is appended, which the parent's next request contains at its place. The same note of the
/// same side session is written once, however often the command is run.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("from").required(true).multiple(true).args(["note", "last_answer", "condense", "condense_with"]))]
#[command(after_long_help = super::examples::MERGE)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// The parent; it must be the one that the side session's lineage names
    #[arg(
        long,
        value_name = "SESSION",
        add = clap_complete::ArgValueCompleter::new(super::complete::sessions)
    )]
    into: Option<String>,
    /// The note; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "TEXT", group = "words")]
    note: Option<String>,
    /// Take the last answer of the side session for the note
    #[arg(long, group = "words")]
    last_answer: bool,
    #[command(flatten)]
    condensing: Condensing,
    /// The longest note, in characters; a longer one is refused, never cut
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_chars: usize,
    /// Makes the request repeatable: the same id with another request is refused
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    request_id: Option<String>,
    /// Write the note again although it stands there already
    #[arg(long)]
    allow_repeat: bool,
    #[command(flatten)]
    allow: Allow,
    /// Read and check everything, print the plan, write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(run: &Run, args: &Args) -> Result<Answer> {
    pick::one_stdin(&[
        ("SESSION", Some(args.pick.words())),
        ("--note", args.note.as_deref()),
        ("--condense-prompt", args.condensing.prompt()),
    ])?;
    let mut side = args.pick.open(run)?;
    let mut answer = Answer {
        source: Some(report::source(&side.session, side.path.clone())),
        dry_run: args.dry_run,
        ..Answer::default()
    };
    match merge(run, args, &mut side, &mut answer) {
        Ok(merged) => {
            answer.report = Some(Box::new(merged));
            Ok(answer)
        }
        Err(error) => {
            answer.hint = unanswered(&side).filter(|_| matches!(error, Error::NoAnswer(_)));
            Ok(answer.failed(error))
        }
    }
}

/// How to come to an answer in a side session.
fn unanswered(side: &Opened) -> Option<String> {
    let path = side.path.as_deref().filter(|_| side.manifest.is_none())?;
    let open = Next::of(&side.session, path).pasted();
    Some(format!("open it and ask there: `{open}`"))
}

fn merge(run: &Run, args: &Args, side: &mut Opened, answer: &mut Answer) -> Result<Merged> {
    let condensing = Request::of(args)?;
    let given = if condensing.is_none() { Some(say(args, side)?) } else { None };
    if given.is_some() {
        side.session.shed(); // The parent may be as long, and both need not be in memory.
    }
    let side = &*side;
    let path = target::path(run, args, side)?;
    let journal = run.journal()?;
    let request = request(args, side, given.as_ref(), condensing.as_ref(), &path);
    let _lock = args
        .request_id
        .as_deref()
        .filter(|_| !args.dry_run)
        .map(|id| journal.lock(id))
        .transpose()?;
    let before = earlier(args, &journal, &request)?;
    let mut condensed = None;
    let _turn = match &condensing {
        Some(_) => condense::wait(args, &journal, side)?,
        None => None,
    };
    let source = match (given, condensing) {
        (Some(source), _) => source,
        (None, None) => return Err(Error::BadUsage("no note was given".into())),
        (None, Some(condensing)) => {
            condensing.check(run, side)?;
            // The parent is judged before anything is spent, and its locks are let go while the client works.
            let target = Target::open(run, args, side, &path)?;
            answer.found_in = Some(path.clone());
            target.judge()?;
            let Target { parent, held, .. } = target;
            drop(held);
            let known = (&journal, &request);
            let (note, told) = condense::note(run, args, &condensing, known, side, &parent)?;
            match note {
                Note::Made(source) => {
                    condensed = Some(told);
                    source
                }
                other => return unwritten(run, args, side, &path, &other, told),
            }
        }
    };
    let target = Target::open(run, args, side, &path)?;
    answer.found_in = Some(path.clone());
    let (cut, told) = target.cut()?;
    answer.findings = told;
    let done = before.as_ref().map(|before| of_request(&journal, before)).transpose()?.flatten();
    let merge = ops::merge(&cut, &source, args.allow_repeat, done.as_deref(), run.now)?;
    let had = ops::chars_of(&cut.thread, 0)?;
    let was = Was::of(&cut);
    drop(cut);
    let chars = merge.note.text.chars().count();
    let note = NoteReport { id: merge.mark.clone(), chars };
    let held = target.held.as_ref().filter(|_| !merge.lines.is_empty());
    let Some(held) = held else {
        if let Some(before) = before.filter(|before| before.state == State::Prepared)
            && !args.dry_run
        {
            // The crash came between the note and this step.
            journal.add(&Record { state: State::Committed, ..before })?;
        }
        let (parent, cost) = ((&target.parent, &*path), (had, None));
        return report_of(args, side, parent, cost, Some(note), &merge.lines, condensed);
    };
    let parent = &target.parent;
    let boundary = boundary(run, side, parent, &source, condensed.as_ref())?;
    let record = Record {
        v: 1,
        state: State::Prepared,
        op: "merge".into(),
        at: run.now,
        tool: env!("CARGO_PKG_VERSION").into(),
        request_id: args.request_id.clone(),
        request,
        source: report::object(
            json!({ "id": source.side, "path": side.path, "format": parent.format.name() }),
        ),
        boundary,
        written: Written {
            id: parent.id().into(),
            path: path.clone(),
            title: None,
            note: Some(merge.mark.clone()),
        },
    };
    journal.add(&record)?;
    let (encoding, stamp) = (parent.log.encoding(), parent.log.stamp());
    store::append(&path, parent.id(), &merge.lines, encoding, stamp, target.torn, held)?;
    // A long log as it was and as it is need not both be in memory.
    let Target { parent, held, .. } = target;
    drop(parent);
    let (mut parent, added) = target::read_back(run, &path, side.session.format, &was, &merge)?;
    parent.shed(); // The side session is read once more, for what it cost.
    journal.add(&Record { state: State::Committed, ..record })?;
    drop(held);
    let (parent, cost) = ((&parent, &*path), (had, Some(had + added)));
    report_of(args, side, parent, cost, Some(note), &merge.lines, condensed)
}

/// What the journal keeps of the place of a note and of how it came to be.
fn boundary(
    run: &Run,
    side: &Opened,
    parent: &Session,
    source: &Source,
    condensed: Option<&Condensed>,
) -> Result<Map<String, Value>> {
    let mut boundary = report::object(
        json!({ "line": parent.log.lines(), "range": source.range, "chars": source.text.chars().count() }),
    );
    if let Some(condensed) = condensed {
        let log = target::log_of(side, condensed.answered_in.as_deref());
        boundary.insert("side_messages".into(), said(run, side, log, parent)?.into());
    }
    Ok(boundary)
}

/// The last step of an earlier run of the same request.
fn earlier(
    args: &Args,
    journal: &store::Journal,
    request: &Map<String, Value>,
) -> Result<Option<Record>> {
    let Some(id) = &args.request_id else { return Ok(None) };
    match journal.request(id)? {
        Some(before) if before.request != *request => {
            let differs = "the note or its parent".into();
            Err(Error::RequestConflict { id: id.clone(), differs })
        }
        before => Ok(before),
    }
}

/// The mark of the note that an earlier run of the request wrote, or was about to write; none where another request has
/// taken it since.
fn of_request(journal: &store::Journal, before: &Record) -> Result<Option<String>> {
    let taken = journal.records()?.into_iter().any(|other| {
        other.state == State::Committed
            && other.request_id != before.request_id
            && (&other.written.path, &other.written.note)
                == (&before.written.path, &before.written.note)
    });
    Ok(before.written.note.clone().filter(|_| !taken))
}

/// The words, judged before anything else.
fn say(args: &Args, side: &Opened) -> Result<Source> {
    let (text, range) = if let Some(text) = &args.note {
        (text_argument(text)?, [String::new(), String::new()])
    } else {
        let thread = side.session.thread(None)?;
        ops::last_answer(&thread, thread.seed)?
    };
    let text = ops::trimmed(&text)?;
    let chars = text.chars().count();
    if chars > args.max_chars {
        return Err(Error::NoteTooLong { chars, max: args.max_chars });
    }
    Ok(Source { side: side.session.id().into(), range, text })
}

/// How much was said in the side session itself, as it is now.
fn said(run: &Run, side: &Opened, log: Option<&Path>, parent: &Session) -> Result<usize> {
    let count = |session: &Session| {
        let thread = session.thread(None)?;
        Ok(ops::own_messages(&thread, lineage::seed(&thread, parent).kept).len())
    };
    match log {
        Some(path) if side.manifest.is_none() => {
            count(&Session::read(store::open(path, Some(&run.store))?, Some(side.session.format))?)
        }
        _ => count(&side.session),
    }
}

/// The report of a note that is there already, or has yet to be asked for.
fn unwritten(
    run: &Run,
    args: &Args,
    side: &Opened,
    path: &Path,
    note: &Note,
    condensed: Condensed,
) -> Result<Merged> {
    let target = Target::open(run, args, side, path)?;
    let (cut, _) = target.cut()?;
    let note = match note {
        Note::There(record) => record.written.note.clone().map(|id| {
            let chars = record.boundary.get("chars").and_then(Value::as_u64).unwrap_or(0);
            NoteReport { id, chars: usize::try_from(chars).unwrap_or(0) }
        }),
        _ => None,
    };
    let cost = (ops::chars_of(&cut.thread, 0)?, None);
    report_of(args, side, (&target.parent, path), cost, note, &[], Some(condensed))
}

/// What makes two requests the same. The words of a note that has yet to be made are no part of it.
fn request(
    args: &Args,
    side: &Opened,
    given: Option<&Source>,
    condensing: Option<&Request<'_>>,
    path: &Path,
) -> Map<String, Value> {
    let mut request = report::object(
        json!({ "verb": "merge", "side": side.session.id(), "into": path, "allow_repeat": args.allow_repeat }),
    );
    if let Some(source) = given {
        request.insert("range".into(), json!(source.range));
        request.insert("text".into(), json!(source.text));
    }
    if let Some(condensing) = condensing {
        request.insert("condense".into(), condensing.fingerprint());
        request.insert("max_chars".into(), args.max_chars.into());
    }
    request
}
