//! `sessctl snapshot`

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Run,
    child::left_out,
    output::{Answer, Report, printable},
    pick::{Allow, Opened, Pick},
    report::{self, BoundaryReport, LeftOut, ParentReport},
};
use crate::{
    error::{Error, Result},
    finding::Code,
    log::Log,
    ops::{self, Intent},
    session::{At, Outline},
    store,
};

/// Keep the seed of a fork as a file: boundary rule and bytes, but no child
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = super::examples::SNAPSHOT)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N
    #[arg(long, value_name = "BOUNDARY", default_value = "tip", add = clap_complete::ArgValueCompleter::new(super::complete::boundaries))]
    at: At,
    /// Where to write the snapshot; - is standard output
    #[arg(long, value_name = "PATH", default_value = "-")]
    out: PathBuf,
    /// The branch to go from, by any record on it
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// Say whether the session still begins with the seed of this snapshot
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["out", "at"])]
    check: Option<PathBuf>,
    /// Leave out lines with this kind of damage
    #[arg(long, value_name = "CODE", value_parser = super::pick::code)]
    drop: Vec<Code>,
    #[command(flatten)]
    allow: Allow,
    /// Read and check everything, print the plan, write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Snapped {
    messages: usize,
    boundary: BoundaryReport,
    seed_length: u64,
    left_out: LeftOut,
    parent: ParentReport,
    compacted_source: bool,
    hash: String,
    out: PathBuf,
}

impl Report for Snapped {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let to = if self.out == Path::new("-") {
            "standard output".into()
        } else {
            printable(&self.out.display().to_string())
        };
        writeln!(
            out,
            "kept {} messages of {} at {} in {to}",
            self.messages, self.parent.id, self.boundary.at
        )
    }
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Checked {
    prefix: &'static str,
    prefix_messages: usize,
    hash: String,
}

impl Report for Checked {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: the seed has {} messages", self.prefix, self.prefix_messages)
    }
}

pub(super) fn run(run: &Run, args: &Args) -> Result<Answer> {
    args.allow.excludes(&args.drop)?;
    let opened = args.pick.open(run)?;
    let mut answer = Answer {
        source: Some(report::source(&opened.session, opened.path.clone())),
        dry_run: args.dry_run,
        ..Answer::default()
    };
    let done = match &args.check {
        Some(snapshot) => check(&opened, snapshot, &mut answer),
        None => keep(run, args, &opened, &mut answer),
    };
    Ok(match done {
        Ok(()) => answer,
        Err(error) => answer.failed(error),
    })
}

fn keep(run: &Run, args: &Args, opened: &Opened, answer: &mut Answer) -> Result<()> {
    let session = &opened.session;
    let policy = args.allow.policy(&args.drop, run.global.strict);
    let cut =
        ops::cut(session, &Intent { at: &args.at, leaf: args.leaf.as_deref(), policy: &policy })?;
    answer.findings.clone_from(&cut.warnings);
    let (parent, path) = opened.parent();
    let outline = Outline::of(&cut.thread, cut.boundary.keep(), usize::MAX)?;
    let manifest = ops::manifest(&cut, &outline, &path)?;
    let draft = ops::seed_lines(&cut, &manifest);
    answer.findings.extend(report::compacted(outline.compacted));
    answer.stdout_taken = args.out == Path::new("-");
    if answer.stdout_taken && !args.dry_run {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = draft.write_to(&mut out)?.and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(Error::io("write to", "standard output")(error));
            }
            _ => {}
        }
    } else if !args.dry_run {
        store::write_new(&run.env.absolute(&args.out), 0o600, |out| draft.write_to(out))?;
    }
    answer.report = Some(Box::new(Snapped {
        messages: manifest.messages,
        boundary: BoundaryReport::of(&cut.thread, cut.boundary, manifest.messages),
        seed_length: manifest.meta.seed_length,
        left_out: left_out(&cut, manifest.messages, true),
        parent: ParentReport { id: parent, path: Some(path), format: session.format.name() },
        compacted_source: outline.compacted.is_some(),
        hash: manifest.hash,
        out: args.out.clone(),
    }));
    Ok(())
}

/// Whether the lines of the snapshot are still the first ones of the session's path to the snapshot's last record.
fn check(opened: &Opened, snapshot: &Path, answer: &mut Answer) -> Result<()> {
    let log = Log::open(snapshot)?;
    let Some((log, manifest)) = super::pick::snapshot(&log)? else {
        return Err(Error::BadUsage(format!("{} is no snapshot", snapshot.display())));
    };
    let seed = crate::session::Session::read(log, Some(opened.session.format))?;
    let ours = seed.thread(None)?;
    let last = ours
        .path()
        .len()
        .checked_sub(1)
        .and_then(|last| ours.record_id(last))
        .map(|id| seed.facts.name(id).to_owned());
    let tree = opened.session.format.leaf(&opened.session.facts).is_some();
    let leaf = last.filter(|_| tree);
    let theirs = opened.session.thread(leaf.as_deref());
    let differs = match &theirs {
        Ok(theirs) => {
            let whole = theirs.path().iter().filter(|line| !theirs.is_joint(**line));
            let pair = ours.path().iter().zip(whole);
            let mut at = 0;
            for (our, their) in pair {
                if seed.log.line(*our as usize)? != opened.session.log.line(*their as usize)? {
                    break;
                }
                at += 1;
            }
            (at < ours.path().len()).then(|| theirs.line_number(at))
        }
        Err(Error::TurnNotFound { .. }) => Some(0),
        Err(_) => return theirs.map(drop),
    };
    let prefix = if differs.is_none() { "identical" } else { "diverged" };
    answer.report =
        Some(Box::new(Checked { prefix, prefix_messages: manifest.messages, hash: manifest.hash }));
    match differs {
        None => Ok(()),
        Some(line) => {
            let message = match line {
                0 => "the session does not have the snapshot's last record any more".to_owned(),
                line => format!("the session differs from the snapshot from line {line} on"),
            };
            Err(Error::No { code: "PREFIX_DIVERGED", message })
        }
    }
}
