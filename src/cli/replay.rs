//! `sessctl replay`

mod html;
mod transcript;
mod verdict;
mod view;
mod wait;

use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::PathBuf,
    time::Duration,
};

use clap_complete::ArgValueCompleter;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{
    Run, complete, list,
    output::{Answer, Output, Report, printable},
    pick::{Allow, Opened, Pick, find_parent},
    report::{self, ParentReport},
};
use crate::{
    error::{Error, Result},
    finding::{Code, Finding, Severity},
    format::Origin,
    ops::Policy,
    session::{At, Boundary, History, Session, Thread, lineage},
    store::{self, FoundBy, Glance},
};
use transcript::Reading;
use verdict::{AgainstReport, compare, damage, expect};
use view::View;

pub(super) use view::{MessageRow, SentRow, TurnRow};

/// Rebuild what the model sees, and verify it
///
/// Plain `replay` prints what can be read and exits 5 only when a printed message is lost or doubtful; `--check` exits
/// 5 on any error in the log.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = super::examples::REPLAY)]
pub struct Args {
    /// Paths, ids or their first 8 characters, =TITLEs; - reads one log, or paths one a line, from standard input
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    sessions: Vec<String>,
    /// The session written last, of those whose working folder is DIR if one is given
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with = "sessions")]
    last: Option<Option<PathBuf>>,
    /// How far to go: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N
    #[arg(long, value_name = "BOUNDARY", add = ArgValueCompleter::new(complete::boundaries))]
    at: Option<At>,
    /// Exit 5 on any error in the log
    #[arg(long)]
    check: bool,
    /// Prove that the session begins with the history of this parent or snapshot
    #[arg(long, value_name = "PARENT", add = ArgValueCompleter::new(complete::sessions))]
    against: Option<String>,
    /// Compare with a file made by --view messages, or with a hash
    #[arg(long, value_name = "FILE|HASH")]
    expect: Option<String>,
    /// Print the hash of the history and nothing else
    #[arg(long, conflicts_with = "view")]
    hash: bool,
    /// Only these turns, counted from one
    #[arg(long, value_name = "A..B", value_parser = turns)]
    turns: Option<(usize, usize)>,
    /// Fold nothing in the transcript
    #[arg(long)]
    full: bool,
    /// What to print
    #[arg(long, value_enum)]
    view: Option<View>,
    /// The branch to look at, by any record on it
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// Never fail on damage; mark the gaps
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    allow: Allow,
    /// Write the view to a new file; - is standard output
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Wait up to this long for the open turn to end, such as 90s, 5m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = wait::duration)]
    wait: Option<Duration>,
    /// With --view lineage and no session: how many sessions at most
    #[arg(long, value_name = "N", conflicts_with_all = ["sessions", "last"])]
    limit: Option<usize>,
}

fn turns(text: &str) -> Result<(usize, usize), String> {
    let bound = |text: &str, open: usize| {
        if text.is_empty() {
            Ok(open)
        } else {
            text.parse().map_err(|_| format!("`{text}` is no turn number"))
        }
    };
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (bound(from, 1)?, bound(to, usize::MAX)?),
        None => bound(text, 0).map(|turn| (turn, turn))?,
    };
    match (from, to) {
        (0, _) => Err("turns are counted from 1".into()),
        (from, to) if from > to => Err(format!("turn {from} is behind turn {to}")),
        range => Ok(range),
    }
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Replayed {
    messages: usize,
    turns: usize,
    open_turns: usize,
    open_calls: Vec<String>,
    tool_calls: usize,
    tool_results: usize,
    lines: usize,
    merges: usize,
    off_path_messages: usize,
    reachable_messages: Option<u64>,
    cut_off_messages: Option<u64>,
    inherited_lines: usize,
    dangling_ids: usize,
    files_read: usize,
    leaf: Option<String>,
    cwd_first: Option<String>,
    cwd_last: Option<String>,
    found_by: &'static str,
    found_under: Option<PathBuf>,
    lost_records: u64,
    saved_records: u64,
    records_after_damage: u64,
    hash: String,
    parent: Option<ParentReport>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    against: Option<AgainstReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Map<String, Value>>>")]
    rows: Option<Vec<Box<RawValue>>>,
    #[serde(skip)]
    said: Said,
}

/// What is printed for people beside a view.
#[derive(Clone, PartialEq, Eq)]
enum Said {
    Nothing,
    Hash,
    /// What was asked for and is so, before the numbers.
    Verdict(&'static str),
    /// Which view was written of which session, and where.
    Written(View, String, PathBuf),
}

impl Report for Replayed {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match (&self.said, &self.against) {
            (Said::Nothing, _) => Ok(()),
            (Said::Hash, _) => writeln!(out, "{}", self.hash),
            (Said::Written(view, id, path), _) => {
                let path = printable(&path.display().to_string());
                writeln!(out, "wrote {} of {id} to {path}", view.what())
            }
            (Said::Verdict(_), Some(against)) => {
                writeln!(
                    out,
                    "{}: {} messages of the parent, {} own",
                    against.prefix, against.prefix_messages, against.own_messages
                )
            }
            (Said::Verdict(so), None) => writeln!(
                out,
                "{so}{} messages, {} turns, {} open, {} lines",
                self.messages, self.turns, self.open_turns, self.lines
            ),
        }
    }
}

pub(super) fn run(run: &Run, args: &Args, output: &Output) -> Result<Answer> {
    if args.sessions.is_empty() && args.last.is_none() {
        if args.view == Some(View::Lineage) {
            return list::run(run, &list::Args::limited(args.limit));
        }
        let message = "no session was named: give a path, an id, =TITLE, - or `--last`";
        return Err(Error::BadUsage(message.into()));
    }
    if args.view == Some(View::Html) && args.turns.is_some() {
        let message = "a page shows whole sessions; `--turns` has no place on it";
        return Err(Error::BadUsage(message.into()));
    }
    let picks = picks(args)?;
    let no_view = args.view.is_none() && (verdict_only(args) || output.is_json());
    if args.out.is_some() && (no_view || picks.len() > 1) {
        let message = "`--out` takes one view of one session; name it with `--view`";
        return Err(Error::BadUsage(message.into()));
    }
    if let [pick] = picks.as_slice() {
        return one(run, args, pick, output);
    }
    // Several sessions: one verdict a line, and the worst exit status.
    let mut worst = 0;
    for pick in &picks {
        let answer =
            one(run, args, pick, output).unwrap_or_else(|error| Answer::default().failed(error));
        let exit = answer.failure.as_ref().map_or(0, Error::exit);
        if output.is_json() {
            output.finish("replay", Ok(answer));
        } else {
            let no = answer.failure.map(|error| format!("{}: {error}", error.code()));
            let verdict = no.unwrap_or_else(|| "ok".into());
            output.line(&format!("{}: {}", printable(pick.words()), printable(&verdict)));
        }
        worst = worst.max(exit);
    }
    Ok(Answer { said: Some(worst), ..Answer::default() })
}

fn picks(args: &Args) -> Result<Vec<Pick>> {
    if args.sessions.is_empty() {
        return Ok(vec![Pick::latest(args.last.clone())]);
    }
    let paths = match args.sessions.as_slice() {
        [one] if one == "-" => paths_on_stdin()?,
        _ => Vec::new(),
    };
    let names = if paths.is_empty() { &args.sessions } else { &paths };
    Ok(names.iter().map(|name| Pick::named(name)).collect())
}

/// The paths on standard input, one a line; none where it is a log itself, which begins with an object or a frame.
fn paths_on_stdin() -> Result<Vec<String>> {
    let mut stdin = io::stdin().lock();
    let failed = |error| Error::io("read", "standard input")(error);
    let first = stdin.fill_buf().map_err(failed)?;
    if first.first().is_none_or(|byte| matches!(byte, b'{' | 0x28 | 0xEF)) {
        return Ok(Vec::new());
    }
    let lines = stdin.lines().collect::<io::Result<Vec<_>>>().map_err(failed)?;
    Ok(lines.into_iter().filter(|line| !line.trim().is_empty()).collect())
}

/// Whether the answer is yes or no, or a hash, and no view unless one is named.
fn verdict_only(args: &Args) -> bool {
    args.check || args.against.is_some() || args.expect.is_some() || args.hash
}

fn one(run: &Run, args: &Args, pick: &Pick, output: &Output) -> Result<Answer> {
    let opened = wait::open(run, args, pick)?;
    let mut answer = Answer {
        source: Some(report::source(&opened.session, opened.path.clone())),
        ..Answer::default()
    };
    match judge(run, args, &opened, output, &mut answer) {
        Ok(None) => Ok(answer),
        Ok(Some(error)) | Err(error) => Ok(answer.failed(error)),
    }
}

/// Prints the view and fills the report; the verdict, if it is not yes.
fn judge(
    run: &Run,
    args: &Args,
    opened: &Opened,
    output: &Output,
    answer: &mut Answer,
) -> Result<Option<Error>> {
    let session = &opened.session;
    let thread = session.thread(args.leaf.as_deref())?;
    let boundary = match &args.at {
        Some(at) => thread.boundary(at, true)?,
        None => Boundary::end_of(&thread),
    };
    let keep = boundary.keep();
    let policy = args.allow.policy(&[], run.global.strict);
    let against = args.against.as_deref().map(|parent| {
        load_against(run, parent, session).inspect_err(|_| {
            // What is wrong is wrong there.
            answer.found_in = run.store.find(parent).ok().map(|found| found.path);
        })
    });
    let against = against.transpose()?;
    let [against, live] = against.unwrap_or_default();
    let found = if against.is_none() { native_parent(run, &thread, opened) } else { None };
    let seed = against
        .as_ref()
        .or(found.as_ref())
        .map_or(thread.seed, |parent| lineage::seed(&thread, parent).kept)
        .min(keep);
    let history = History::of(&thread, keep, seed)?;
    answer.findings = findings(&thread, boundary, args, &policy);
    let summary = history.messages.iter().find(|message| message.origin == Origin::Compaction);
    answer.findings.extend(report::compacted(summary.map(|summary| summary.line as usize + 1)));
    answer.findings.extend(is_fork(session));

    let view = view::Rows::new(&thread, &history, keep, args.turns, args.full);
    let shown = match (args.view, verdict_only(args)) {
        (Some(view), _) => Some(view),
        (None, true) => None,
        (None, false) if output.is_json() => None,
        (None, false) => Some(View::Transcript),
    };
    let rows = match shown {
        Some(kind) if output.is_json() && args.out.is_none() => Some(view.rows(kind, run, opened)?),
        Some(kind) => {
            show(run, args, &view, kind, opened, output, &answer.findings)?;
            None
        }
        None => None,
    };
    let mut verdict = None;
    let against = match &against {
        Some(parent) => {
            let (report, no) =
                compare(run, args, &thread, parent, live.as_ref().unwrap_or(parent))?;
            verdict = no;
            Some(report)
        }
        None => None,
    };
    if verdict.is_none() {
        verdict = match &args.expect {
            Some(expected) => expect(expected, &history)?,
            None => None,
        };
    }
    if verdict.is_none() {
        verdict = damage(args, &answer.findings, &policy);
    }
    let said = match (shown, to_file(run, args)) {
        _ if args.hash => Said::Hash,
        // A failure has words of its own.
        (None, _) if verdict.is_some() => Said::Verdict(""),
        (None, _) => Said::Verdict(match (args.check, &args.expect) {
            (true, Some(_)) => "no errors, as expected: ",
            (true, None) => "no errors: ",
            (false, Some(_)) => "as expected: ",
            (false, None) => "",
        }),
        (Some(view), Some(path)) if !output.is_quiet() => {
            Said::Written(view, session.id().to_owned(), path)
        }
        (Some(_), _) => Said::Nothing,
    };
    answer.report = Some(Box::new(replayed(&thread, opened, &history, seed, against, rows, said)));
    Ok(verdict)
}

/// The file that the view goes to.
fn to_file(run: &Run, args: &Args) -> Option<PathBuf> {
    let path = args.out.as_deref().filter(|path| *path != std::path::Path::new("-"))?;
    Some(run.env.absolute(path))
}

fn show(
    run: &Run,
    args: &Args,
    view: &view::Rows<'_>,
    kind: View,
    opened: &Opened,
    output: &Output,
    findings: &[Finding],
) -> Result<()> {
    let to_file = to_file(run, args);
    // Findings of other files of a chain have no place among these lines.
    let told = |finding: &&Finding| {
        let worth = run.global.verbose || finding.severity > Severity::Note;
        worth && !finding.fields.contains_key("path")
    };
    let mut own: Vec<Finding> = findings.iter().filter(told).cloned().collect();
    own.sort_by_key(|finding| finding.line.unwrap_or(usize::MAX));
    let steps = run.journal().and_then(|journal| journal.records()).unwrap_or_default();
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let terminal = to_file.is_none() && io::stdout().is_terminal();
    let reading = Reading { findings: &own, steps: &steps, width: width.filter(|_| terminal) };
    if kind == View::Html {
        if terminal {
            let message = "a page is for a browser, not for a terminal; `--out FILE` writes it";
            return Err(Error::BadUsage(message.into()));
        }
        let page = html::page(run, args, opened)?;
        return match to_file {
            None => output.write(page.as_bytes()).map(drop),
            Some(path) => store::write_new(&path, 0o600, |out| Ok(out.write_all(page.as_bytes()))),
        };
    }
    if let Some(path) = to_file {
        let mut text = Vec::new();
        view.print(kind, run, opened, &reading, &mut |bytes| {
            text.extend_from_slice(bytes);
            Ok(true)
        })?;
        return store::write_new(&path, 0o600, |out| Ok(out.write_all(&text)));
    }
    if terminal && matches!(kind, View::Transcript | View::Lineage) {
        output.page(&run.env);
    }
    let shown = view.print(kind, run, opened, &reading, &mut |bytes| output.write(bytes));
    output.end_page();
    shown
}

fn replayed(
    thread: &Thread<'_>,
    opened: &Opened,
    history: &History,
    seed: usize,
    against: Option<AgainstReport>,
    rows: Option<Vec<Box<RawValue>>>,
    said: Said,
) -> Replayed {
    let session = thread.session;
    let facts = &session.facts;
    let on_path = thread.branch.line_set(session.log.lines());
    let said_on =
        |line: u32| facts.of(line).any(|fact| matches!(fact, crate::fact::Fact::Said(..)));
    let lines = u32::try_from(session.log.lines()).unwrap_or(u32::MAX);
    let chain = thread
        .branch
        .findings
        .iter()
        .find(|finding| matches!(finding.code, Code::ChainBroken | Code::ChainCycle));
    let of_chain =
        |key: &str| chain.and_then(|finding| finding.fields.get(key)).and_then(Value::as_u64);
    let header = session.header();
    Replayed {
        messages: history.messages.len(),
        turns: thread.turns.closed(),
        open_turns: usize::from(thread.turns.open().is_some()),
        open_calls: thread.open_calls(),
        tool_calls: thread.turns.calls,
        tool_results: thread.turns.results,
        lines: session.log.lines(),
        merges: history.count(Origin::Merge),
        off_path_messages: (0..lines)
            .filter(|line| !on_path[*line as usize] && said_on(*line))
            .count(),
        reachable_messages: of_chain("reachable_messages"),
        cut_off_messages: of_chain("cut_off_messages"),
        inherited_lines: seed,
        dangling_ids: thread
            .findings()
            .iter()
            .filter(|finding| matches!(finding.code, Code::ChainBroken | Code::PointerDangling))
            .count(),
        files_read: session.log.files(),
        leaf: thread.branch.leaf.map(|leaf| facts.name(leaf).to_owned()),
        cwd_first: facts.cwd_first.clone().or_else(|| header.cwd.clone()),
        cwd_last: header.cwd.clone(),
        found_by: opened.by.name(),
        found_under: opened.root.as_ref().filter(|_| opened.by != FoundBy::Path).and_then(|root| {
            let folder = opened.path.as_deref()?.parent()?;
            folder.strip_prefix(root).ok().map(Into::into)
        }),
        lost_records: session.damage.lost,
        saved_records: session.damage.saved,
        records_after_damage: session.damage.after,
        hash: history.hash(),
        parent: header.parent.as_ref().map(|parent| ParentReport {
            id: crate::session::ledger::parent_id(session, parent),
            path: std::path::Path::new(parent).is_absolute().then(|| parent.into()),
            format: session.format.name(),
        }),
        against,
        rows,
        said,
    }
}

/// What is wrong up to the boundary; calls that wait count for whom only looks.
fn findings(thread: &Thread<'_>, boundary: Boundary, args: &Args, policy: &Policy) -> Vec<Finding> {
    let (mut used, behind) = thread.findings_at(boundary);
    if boundary.is_end() && args.check {
        used.extend(thread.open_call_findings());
        used.sort_by_key(|finding| finding.line.unwrap_or(0));
    }
    let used = used.into_iter().map(|finding| policy.rate(finding));
    let behind = behind.into_iter().map(|finding| {
        if finding.severity == Severity::Error { finding.rated(Severity::Warning) } else { finding }
    });
    used.chain(behind).map(|finding| thread.session.placed(finding)).collect()
}

fn is_fork(session: &Session) -> Option<Finding> {
    let parent = session.header().parent.as_ref()?;
    Some(
        Finding::new(Code::IsFork, format!("forked from {parent}")).on(session
            .header()
            .line
            .unwrap_or(0)
            as usize
            + 1),
    )
}

/// What `--against` names: a log or a snapshot. Where the client migrated the parent since, the generation that the
/// child was forked from tells the prefix, and the live one tells the merges.
fn load_against(run: &Run, name: &str, child: &Session) -> Result<[Option<Session>; 2]> {
    let parent = Pick::named(name).open(run).map_err(|error| match error {
        Error::SessionNotFound(name) => Error::ParentNotFound(name),
        Error::NoSuchTitle { title, .. } => Error::ParentNotFound(format!("={title}")),
        error => error,
    })?;
    let version = child.header().version;
    let Some(path) = parent.path.as_deref().filter(|_| parent.manifest.is_none()) else {
        return Ok([Some(parent.session), None]);
    };
    let mut generations = store::generations(path);
    let live = generations.pop().filter(|live| live.as_path() != path);
    let of_child = |path: &PathBuf| Glance::at(path).is_some_and(|at| at.header.version == version);
    let old = generations.into_iter().find(of_child).filter(|old| old.as_path() != path);
    let read =
        |path: PathBuf| Session::read(store::open(&path, Some(&run.store))?, Some(child.format));
    let same = parent.session.header().version == version;
    Ok(match (old.filter(|_| !same), live) {
        (Some(old), _) => [Some(read(old)?), Some(parent.session)],
        (None, Some(live)) => [Some(parent.session), Some(read(live)?)],
        (None, None) => [Some(parent.session), None],
    })
}

/// The parent that a child names, where only a look at it tells what was inherited.
fn native_parent(run: &Run, thread: &Thread<'_>, opened: &Opened) -> Option<Session> {
    let session = thread.session;
    let parent = session.header().parent.as_ref()?;
    if session.format.seed(&session.facts, thread.path()).is_some() {
        return None;
    }
    let path = find_parent(run, parent, opened.path.as_deref()).ok()?;
    Session::read(store::open(&path, Some(&run.store)).ok()?, Some(session.format)).ok()
}
