//! `sessctl merge`

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Run,
    output::{Answer, Report},
    pick::{self, Allow, Opened, Pick, find_parent},
    report::{self, Next, ParentReport},
    side::text_argument,
};
use crate::{
    error::{Error, Result},
    finding::Code,
    log::{Encoding, Log},
    ops::{self, Cut, Intent, Merge, Source},
    session::{At, Session, lineage},
    store::{self, Glance, Record, State, Written},
};

/// Bring one note of a side session back into its parent
///
/// Exactly one context message is appended, which the parent's next request contains at its place. The same note of the
/// same side session is written once, however often the command is run.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// The parent; it must be the one that the side session's lineage names
    #[arg(long, value_name = "SESSION")]
    into: Option<String>,
    /// The note; @FILE reads it from a file, - from standard input
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "last_answer",
        conflicts_with = "last_answer"
    )]
    note: Option<String>,
    /// Take the last answer of the side session for the note
    #[arg(long)]
    last_answer: bool,
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

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Merged {
    appended_messages: usize,
    appended_lines: usize,
    already_merged: bool,
    note: NoteReport,
    parent: ParentReport,
    parent_context: BeforeAfter,
    side_tokens: u64,
    next: Next,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    lines: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct NoteReport {
    id: String,
    chars: usize,
}

/// What the model sees of the parent; tokens are estimated at four characters each.
#[derive(Serialize, JsonSchema)]
struct BeforeAfter {
    before: Size,
    after: Size,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
struct Size {
    chars: u64,
    tokens: u64,
}

impl Report for Merged {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let note = &self.note;
        match (self.already_merged, self.dry_run) {
            (true, _) => {
                writeln!(out, "the note is in {} already; nothing was written", self.parent.id)?;
            }
            (_, true) => writeln!(
                out,
                "would merge a note of {} characters into {}",
                note.chars, self.parent.id
            )?,
            _ => {
                writeln!(
                    out,
                    "merged a note of {} characters into {}",
                    note.chars, self.parent.id
                )?;
            }
        }
        if self.dry_run {
            for line in &self.lines {
                writeln!(out, "{}", super::output::printable(line))?;
            }
        }
        let (before, after) = (self.parent_context.before, self.parent_context.after);
        writeln!(
            out,
            "  parent's context: {} -> {} tokens (estimated); side session: {} tokens",
            before.tokens, after.tokens, self.side_tokens
        )
    }
}

pub(super) fn run(run: &Run, args: &Args) -> Result<Answer> {
    pick::one_stdin(&[("SESSION", Some(args.pick.words())), ("--note", args.note.as_deref())])?;
    let side = args.pick.open(run)?;
    let mut answer = Answer {
        source: Some(report::source(&side.session, side.path.clone())),
        dry_run: args.dry_run,
        ..Answer::default()
    };
    match merge(run, args, &side, &mut answer) {
        Ok(merged) => {
            answer.report = Some(Box::new(merged));
            Ok(answer)
        }
        Err(error) => Ok(answer.failed(error)),
    }
}

fn merge(run: &Run, args: &Args, side: &Opened, answer: &mut Answer) -> Result<Merged> {
    let source = say(args, side)?;
    let path = parent_path(run, args, side)?;
    let journal = run.journal()?;
    let request = request(args, &source, &path);
    let _lock = args
        .request_id
        .as_deref()
        .filter(|_| !args.dry_run)
        .map(|id| journal.lock(id))
        .transpose()?;
    if let Some(id) = &args.request_id
        && let Some(before) = journal.request(id)?
        && before.request != request
    {
        return Err(Error::RequestConflict {
            id: id.clone(),
            differs: "the note or its parent".into(),
        });
    }
    // The locks are taken before the parent is read, so that what was read is what will be appended to.
    let version = Glance::at(&path).map_or(0, |glance| glance.header.version);
    let layout = side.session.format.layout();
    let held = if args.dry_run {
        None
    } else {
        Some(store::hold(&path, layout.lock(&path, version).as_deref(), &source.side)?)
    };
    let (parent, torn) = read_parent(run, &path, side, args)?;
    check_child(side, &parent)?;
    if let Some(holder) =
        layout.presence(&path).and_then(|presence| store::present(&presence, parent.id()))
    {
        return Err(Error::SessionLocked { id: parent.id().into(), holder });
    }
    answer.found_in = Some(path.clone());
    let writer = parent.format.writer(&parent.facts)?;
    let mut policy = args.allow.policy(&[], run.global.strict);
    if !writer.mends_tail() || parent.log.encoding() == Encoding::Zstd {
        policy.allow.retain(|code| *code != Code::TornTail);
    }
    let cut = ops::cut(&parent, &Intent { at: &At::Tip, leaf: None, policy: &policy })?;
    answer.findings.clone_from(&cut.warnings);
    answer.findings.extend(writer.unsent(&parent.facts));
    let merge = ops::merge(&cut, &source, args.allow_repeat, run.now)?;
    let merged = merged(args, side, &cut, &path, &merge)?;
    if let (false, Some(held)) = (merge.lines.is_empty(), held) {
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
            boundary: report::object(json!({ "line": parent.log.lines(), "range": source.range })),
            written: Written {
                id: parent.id().into(),
                path: path.clone(),
                title: None,
                note: Some(merge.mark.clone()),
            },
        };
        journal.add(&record)?;
        store::append(
            &path,
            parent.id(),
            &merge.lines,
            parent.log.encoding(),
            parent.log.stamp(),
            torn,
            &held,
        )?;
        read_back(run, &path, &parent, &merge)?;
        journal.add(&Record { state: State::Committed, ..record })?;
    }
    Ok(merged)
}

/// The parent, and whether a newline must go out before the note. Where that is allowed and would make a whole record
/// of the torn tail, the record is read as one, since the note has to follow it.
fn read_parent(run: &Run, path: &Path, side: &Opened, args: &Args) -> Result<(Session, bool)> {
    let format = Some(side.session.format);
    let log = || store::open(path, Some(&run.store));
    let parent = Session::read(log()?, format)?;
    let tail = parent.findings.iter().find(|finding| finding.code == Code::TornTail);
    let whole = tail.and_then(|finding| finding.fields.get("whole_record"));
    let mends = parent.format.writer(&parent.facts)?.mends_tail();
    let allowed = args.allow.policy(&[], false).allow.contains(&Code::TornTail);
    let torn = parent.log.torn_tail().is_some();
    if mends && allowed && whole == Some(&Value::Bool(true)) {
        return Ok((Session::read(log()?.mended(), format)?, torn));
    }
    Ok((parent, torn))
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

/// The parent's live log.
fn parent_path(run: &Run, args: &Args, side: &Opened) -> Result<PathBuf> {
    let path = match (&args.into, &side.session.header().parent) {
        (Some(into), _) => {
            run.store.find(into).map(|found| found.path).map_err(|error| match error {
                Error::SessionNotFound(name) => Error::ParentNotFound(name),
                error => error,
            })?
        }
        (None, Some(parent)) => find_parent(run, parent, side.path.as_deref())?,
        (None, None) => {
            return Err(Error::NotAChild {
                side: side.session.id().into(),
                parent: "any session".into(),
            });
        }
    };
    let path = run.env.absolute(&path);
    Ok(store::generations(&path).pop().unwrap_or(path))
}

/// The parent must be the one that the side session's own lineage names.
fn check_child(side: &Opened, parent: &Session) -> Result<()> {
    let session = &side.session;
    if lineage::names(session, parent) {
        return Ok(());
    }
    Err(Error::NotAChild { side: session.id().into(), parent: parent.id().into() })
}

fn merged(args: &Args, side: &Opened, cut: &Cut<'_>, path: &Path, merge: &Merge) -> Result<Merged> {
    let parent = cut.thread.session;
    let (before, tokens) = ops::cost_of(&cut.thread)?;
    let chars = merge.note.text.chars().count();
    let added = if merge.lines.is_empty() { 0 } else { chars as u64 };
    let layout = parent.format.layout();
    Ok(Merged {
        appended_messages: usize::from(!merge.lines.is_empty()),
        appended_lines: merge.lines.len(),
        already_merged: merge.lines.is_empty(),
        note: NoteReport { id: merge.mark.clone(), chars },
        parent: ParentReport {
            id: parent.id().into(),
            path: Some(path.into()),
            format: parent.format.name(),
        },
        parent_context: BeforeAfter {
            before: Size { chars: before, tokens },
            after: Size { chars: before + added, tokens: (before + added).div_ceil(4) },
        },
        side_tokens: burnt(side, parent)?,
        next: Next {
            argv: layout.opens(parent.id(), path, layout.root_of(path).is_some()),
            cwd: parent.header().cwd.clone(),
        },
        dry_run: args.dry_run,
        lines: merge.lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect(),
    })
}

/// What the side session spent of its own.
fn burnt(side: &Opened, parent: &Session) -> Result<u64> {
    let Some(path) = &side.path else { return Ok(0) };
    let session = Session::read_usages(Log::open(path)?, Some(side.session.format))?;
    let thread = session.thread(None)?;
    let seed = lineage::seed(&thread, parent);
    let inherited: std::collections::HashSet<u32> =
        thread.path()[..seed.kept].iter().copied().collect();
    Ok(session
        .facts
        .usages
        .iter()
        .filter(|usage| !inherited.contains(&usage.line))
        .map(|usage| usage.tokens.total())
        .sum())
}

/// The note must be the last message that the parent's next request holds, and nothing else may have changed.
fn read_back(run: &Run, path: &Path, before: &Session, merge: &Merge) -> Result<()> {
    let after = Session::read(store::open(path, Some(&run.store))?, Some(before.format))?;
    let messages = |session: &Session| {
        session.thread(None).map(|thread| thread.history(thread.path().len(), 0).len())
    };
    let (had, has) = (messages(before)?, messages(&after)?);
    let there = ops::merges(&after, None)?.last().is_some_and(|mark| *mark == merge.mark);
    if has == had + 1 && there {
        return Ok(());
    }
    Err(Error::DurabilityFailed {
        path: path.into(),
        what: "the note is not the last message when read back".into(),
    })
}

fn request(args: &Args, source: &Source, path: &Path) -> Map<String, Value> {
    report::object(
        json!({ "verb": "merge", "side": source.side, "into": path, "range": source.range, "text": source.text, "allow_repeat": args.allow_repeat }),
    )
}
