//! `sessctl side SESSION --record`: a side conversation that some other program held, written down beside its session.
//!
//! Each record is durable before the next one is read. The transcript comes first, then the pointer; so the parent
//! never names a file that is not there, and a failure leaves the parent as it was.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::pane::{self, Pane};
use crate::{
    cli::{
        Run,
        output::{Answer, Report, printable},
        pick::Pick,
        report::{self, ChildReport, ParentReport},
    },
    error::{Error, Result},
    fact::Tokens,
    format::record::{Exchange, Left, Said, Stop},
    ops::record::settled,
};

/// Flags of a side conversation that is only written down.
#[derive(Clone, Debug, clap::Args)]
pub struct Flags {
    /// Write down a side conversation that another program held: one JSON record a line, from a file or -
    #[arg(
        long,
        value_name = "NDJSON",
        help_heading = "Recording",
        conflicts_with_all = ["ask", "framing", "no_framing", "at", "title", "id", "request_id", "cwd", "context", "leaf", "drop", "codes"]
    )]
    pub record: Option<PathBuf>,
    /// The pane that the conversation was held in; one pane is one transcript [default: a new one]
    #[arg(long, value_name = "ID", requires = "record", help_heading = "Recording")]
    pane: Option<String>,
    /// How the pane was left
    #[arg(long, value_enum, requires = "record", help_heading = "Recording")]
    status: Option<Status>,
    /// Write no pointer into the parent
    #[arg(long, requires = "record", help_heading = "Recording")]
    no_pointer: bool,
}

/// How a pane was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Status {
    /// In good order
    Complete,
    /// By a person, before an answer was there
    Cancelled,
    /// By an error
    Error,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Recorded {
    /// The transcript.
    child: ChildReport,
    /// The session that it stands beside.
    parent: ParentReport,
    /// The pane's id.
    pane: String,
    /// Turns that this call added.
    recorded: u64,
    /// Turns that were there already, by their request ids.
    repeated: u64,
    /// Completions that this call added, auxiliary ones included.
    completions: u64,
    /// What they cost in tokens.
    side_tokens: u64,
    /// The link to the transcript.
    pointer: PointerReport,
    /// None: nobody was told to be an advisor.
    framing_messages: usize,
    /// Messages of the transcript.
    side_messages: usize,
    /// None: only the new turns are kept.
    copied_parent_messages: usize,
    /// The last answer of this call.
    answer: Option<String>,
    #[serde(skip)]
    dry_run: bool,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
struct PointerReport {
    /// Whether the parent names the transcript.
    there: bool,
    /// Whether this call made it so.
    written: bool,
}

impl Report for Recorded {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let verb = if self.dry_run { "would record" } else { "recorded" };
        let (turns, pane) = (self.recorded, printable(&self.pane));
        writeln!(
            out,
            "{verb} {turns} turns ({} completions, {} tokens) in pane {pane} of {}",
            self.completions, self.side_tokens, self.parent.id
        )?;
        if self.repeated > 0 {
            writeln!(out, "  {} were there already", self.repeated)?;
        }
        if let Some(path) = &self.child.path {
            writeln!(out, "  file: {}", printable(&path.display().to_string()))?;
        }
        Ok(())
    }
}

pub(super) fn run(
    run: &Run,
    pick: &Pick,
    flags: &Flags,
    input: &Path,
    out: Option<&Path>,
    dry_run: bool,
) -> Result<Answer> {
    if pick.words() == "-" {
        let message = "a parent on standard input has no place to keep a transcript beside";
        return Err(Error::BadUsage(message.into()));
    }
    let opened = pick.open(run)?;
    let mut answer = Answer {
        source: Some(report::source(&opened.session, opened.path.clone())),
        dry_run,
        ..Answer::default()
    };
    let pane = Pane::of(run, &opened, flags.pane.as_deref(), out, dry_run);
    let mut desk = match pane.and_then(|pane| Desk::of(pane, !flags.no_pointer, dry_run)) {
        Ok(desk) => desk,
        Err(error) => return Ok(answer.failed(error)),
    };
    let told = desk.take(input).and_then(|()| desk.leave(flags.status));
    match told {
        Ok(()) => answer.report = Some(Box::new(desk.report(dry_run))),
        Err(error) => return Ok(answer.failed(desk.explain(error))),
    }
    Ok(answer)
}

/// Where the records of one call come in.
struct Desk<'a> {
    pane: Pane<'a>,
    points: bool,
    dry_run: bool,
    /// Whether the pointer is known to be there.
    pointed: PointerReport,
    recorded: u64,
    repeated: u64,
    completions: u64,
    spent: Tokens,
    last_answer: Option<String>,
    last_error: Option<String>,
}

impl<'a> Desk<'a> {
    fn of(pane: Pane<'a>, points: bool, dry_run: bool) -> Result<Self> {
        let there = pane.is_pointed(&pane.opened.session)?;
        Ok(Self {
            pane,
            points,
            dry_run,
            pointed: PointerReport { there, written: false },
            recorded: 0,
            repeated: 0,
            completions: 0,
            spent: Tokens::default(),
            last_answer: None,
            last_error: None,
        })
    }

    /// Every record of the input, one after the other.
    fn take(&mut self, input: &Path) -> Result<()> {
        let failed = || Error::io("read", input);
        let mut reader: Box<dyn BufRead> = if input == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            Box::new(BufReader::new(File::open(input).map_err(failed())?))
        };
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(failed())? == 0 {
                break;
            }
            number += 1;
            if !line.trim_ascii().is_empty() {
                self.keep(settled(number, line.trim_ascii())?)?;
            }
        }
        if self.recorded + self.repeated == 0 {
            return Err(Error::BadUsage("there is no record in the input".into()));
        }
        // A pointer that an earlier run did not come to write.
        self.point(None)
    }

    /// Makes the parent name the transcript, if that is wanted.
    fn point(&mut self, question: Option<&str>) -> Result<()> {
        if self.points && !self.pointed.there && !self.dry_run {
            let written = self.pane.point(question)?;
            self.pointed = PointerReport { there: true, written };
        }
        Ok(())
    }

    /// One turn, unless it is there already.
    fn keep(&mut self, said: Said) -> Result<()> {
        let pane = &self.pane;
        let held = if self.dry_run { None } else { pane.hold()? };
        let before = pane.transcript()?;
        let now = Utc::now();
        let (next, mut tip, cost) = pane.stand(before.as_ref())?;
        let nth = next + if self.dry_run { self.recorded } else { 0 };
        let at = DateTime::from_timestamp_millis(now.timestamp_millis().max(tip.time));
        let turn = Exchange {
            digest: said.digest(&pane.birth.parent, &pane.id, nth),
            nth,
            at: at.unwrap_or(now),
            before: cost,
            said,
        };
        let mark = pane.recorder.mark(&turn);
        if before.as_ref().is_some_and(|session| session.facts.known(&mark).is_some()) {
            self.repeated += 1;
            return Ok(());
        }
        let mut lines = Vec::new();
        if before.is_none() {
            lines = pane.recorder.begin(pane.scene(), &turn, &mut tip)?;
        }
        lines.extend(pane.recorder.turn(pane.scene(), &turn, &mut tip)?);
        let said = turn.said;
        if !self.dry_run {
            pane.write(before.as_ref(), &lines, held.as_ref())?;
            let place = pane.place.clone();
            let pointed = self.point(Some(&said.question));
            // Without its pointer a new transcript is not there either, so that the whole call can be made again.
            pointed.inspect_err(|_| {
                if before.is_none() {
                    pane::take_away(&place);
                }
            })?;
        }
        self.recorded += 1;
        for tokens in said.completions() {
            self.completions += 1;
            self.spent.add(&tokens);
        }
        self.last_error = said.error;
        self.last_answer = Some(said.answer).filter(|answer| !answer.is_empty());
        Ok(())
    }

    /// Says how the pane was left, where its client has a record for that.
    fn leave(&mut self, status: Option<Status>) -> Result<()> {
        let stop = match status {
            None | Some(Status::Complete) => return Ok(()),
            Some(Status::Cancelled) => Stop::Aborted,
            Some(Status::Error) => Stop::Failed,
        };
        let pane = &self.pane;
        let held = if self.dry_run { None } else { pane.hold()? };
        let Some(held) = held else { return Ok(()) };
        let Some(session) = pane.transcript()? else { return Ok(()) };
        let (_, mut tip, _) = pane.stand(Some(&session))?;
        let left = Left { stop, error: self.last_error.clone(), at: Utc::now() };
        match pane.recorder.status(pane.scene(), &left, &mut tip) {
            Some(line) => pane.write(Some(&session), &[line], Some(&held)),
            None => Ok(()),
        }
    }

    /// A failure after some records were kept says so.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::BadUsage(why) if self.recorded > 0 && !self.dry_run => Error::BadUsage(format!(
                "{why}; the {} records before it are kept",
                self.recorded + self.repeated
            )),
            error => error,
        }
    }

    fn report(self, dry_run: bool) -> Recorded {
        let pane = self.pane;
        let messages = pane.transcript().ok().flatten().and_then(|session| {
            let thread = session.thread(None).ok()?;
            Some(thread.history(thread.path().len(), 0).len())
        });
        let root = pane.format.layout().root_of(&pane.parent);
        let base = root.as_deref().unwrap_or(&pane.parent).parent().unwrap_or(Path::new(""));
        Recorded {
            child: ChildReport {
                id: pane.birth.id,
                store_path: Some(pane.place.strip_prefix(base).unwrap_or(&pane.place).into()),
                path: Some(pane.place),
                title: None,
                cwd: pane.birth.cwd,
            },
            parent: ParentReport::of(pane.opened),
            pane: pane.id,
            recorded: self.recorded,
            repeated: self.repeated,
            completions: self.completions,
            side_tokens: self.spent.total(),
            pointer: self.pointed,
            framing_messages: 0,
            side_messages: messages.unwrap_or(0),
            copied_parent_messages: 0,
            answer: self.last_answer,
            dry_run,
        }
    }
}
