//! How fork and side make a child: request, cut, name, place, then a saga that reports success only when the child and
//! its lineage are both durable.

mod early;
mod home;
mod plan;
mod sidecars;
mod title;
mod written;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::{
    home::Home,
    plan::Plan,
    written::{Written, replayed},
};
use super::{
    Run,
    output::Answer,
    pick::{Allow, Opened, Pick},
    report::{self, BoundaryReport, ChildReport, LeftOut, Next, ParentReport},
};
use crate::{
    error::{Error, Result},
    finding::{Code, Finding},
    ops::{self, Cut, Intent},
    session::{At, Beginning},
    store::{self, Glance, Record, State},
};

/// Flags of every verb that makes a child.
#[derive(Clone, Debug, clap::Args)]
pub struct Making {
    /// The child's title; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The child's id, if not one by the client's own policy
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Makes the request repeatable: the same id and request give the same child again
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub request_id: Option<String>,
    /// The child's working folder, which decides its place
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Whether the parent's context is inherited
    #[arg(long, value_enum, default_value = "inherit")]
    pub context: ContextArg,
    /// The branch to go from, by any record on it
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Leave out lines with this kind of damage
    #[arg(long, value_name = "CODE", value_parser = super::pick::code)]
    pub drop: Vec<Code>,
    #[command(flatten)]
    pub allow: Allow,
    /// Read and check everything, print the plan, write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What a child inherits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ContextArg {
    /// Everything up to the boundary
    Inherit,
    /// Nothing but lineage, working folder and settings
    None,
}

/// What is to be made.
pub struct Order<'a> {
    /// `fork` or `side`.
    pub verb: &'static str,
    /// The parent.
    pub pick: &'a Pick,
    /// Where to cut it.
    pub at: &'a At,
    /// The shared flags.
    pub making: &'a Making,
    /// Where to write instead of the client's own place; `-` is standard output.
    pub out: Option<&'a Path>,
    /// The words of a side session's framing.
    pub framing: Option<String>,
    /// Whether what lies beside the log is carried along; none where it does not matter.
    pub sidecars: Option<bool>,
    /// Whether the child must hold all that it inherits.
    pub flatten: bool,
    /// The question that is put to it at once, which makes it another request.
    pub asks: Option<&'a str>,
    /// Refuses a parent before anything is made.
    pub accepts: &'a dyn Fn(&Opened) -> Result<()>,
}

/// What was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Made {
    /// Messages that the model sees in the child.
    pub messages: usize,
    /// Closed turns in it.
    pub turns: usize,
    /// Calls on its path.
    pub tool_calls: usize,
    /// Results on its path.
    pub tool_results: usize,
    /// Where the parent was cut.
    pub boundary: BoundaryReport,
    /// What is inherited, in the client's own unit.
    pub seed_length: u64,
    /// What is not.
    pub left_out: LeftOut,
    /// The child.
    pub child: ChildReport,
    /// Whether an earlier run had made it.
    pub replayed: bool,
    /// Where it comes from.
    pub parent: ParentReport,
    /// Whether the model sees a summary of the older part.
    pub compacted_source: bool,
    /// How the client opens it.
    pub next: Next,
    /// How many messages frame a side session.
    #[serde(skip)]
    pub framed: usize,
    /// The hash of the inherited messages.
    pub seed_hash: String,
    /// How many messages are the parent's.
    #[serde(skip)]
    pub inherited: usize,
    /// What was carried along, by kind and number.
    #[serde(skip)]
    pub carried: Vec<String>,
    /// What was not.
    #[serde(skip)]
    pub not_carried: Vec<String>,
}

/// Makes the child, or says what would be made; a failure stands in the answer.
pub fn make(run: &Run, order: &Order<'_>) -> Result<(Answer, Option<Made>)> {
    let making = order.making;
    making.allow.excludes(&making.drop)?;
    let begins = |beginning: Beginning<'_>| early::begins(run, order, beginning);
    let opened = order.pick.open_to(run, Some((order.at, &begins)))?;
    let session = &opened.session;
    let mut answer = Answer {
        source: Some(report::source(session, opened.path.clone())),
        dry_run: making.dry_run,
        ..Answer::default()
    };
    answer.stdout_taken = order.out == Some(Path::new("-"));
    let layout = session.format.layout();
    if let Some(id) = making.id.as_deref().filter(|id| !layout.valid_id(id)) {
        return Ok((answer.failed(Error::InvalidSessionId(id.into())), None));
    }
    let accepted = (order.accepts)(&opened);
    let step = accepted.and_then(|()| plan(run, order, &opened, &mut answer));
    drop(opened); // A long log and its child need not both be in memory.
    let made = step.and_then(|step| match step {
        Step::Done(made) => Ok(*made),
        Step::Written(written) => written.finish(),
    });
    match made {
        Ok(made) => Ok((answer, Some(made))),
        Err(error) => Ok((answer.failed(error), None)),
    }
}

/// How far a child has come.
enum Step {
    /// Nothing is left to do: an earlier run made it, or nothing was to be written.
    Done(Box<Made>),
    /// Its file is there; it has to be read back.
    Written(Box<Written>),
}

fn plan(run: &Run, order: &Order<'_>, opened: &Opened, answer: &mut Answer) -> Result<Step> {
    let making = order.making;
    let given = making.title.as_deref();
    let title =
        given.map(|title| super::side::text_argument(title).and_then(title::check)).transpose()?;
    if !(making.allow.not_live() && order.out.is_some()) {
        opened.require_live(run)?;
    }
    let request = request(order, opened, title.as_deref());
    let journal = run.journal()?;
    let id = making.request_id.as_deref();
    let lock = id.filter(|_| !making.dry_run).map(|id| journal.lock(id)).transpose()?;
    let before = id.map(|id| journal.request(id)).transpose()?.flatten();
    if let (Some(before), Some(id)) = (&before, id) {
        same_request(id, &before.request, &request)?;
    }
    let policy = making.allow.policy(&making.drop, run.global.strict);
    if let Some(before) = &before
        && let Some(made) = replayed(run, before, opened, order, &policy)?
    {
        if before.state == State::Prepared {
            // The crash came between the write and these steps.
            written::name(run, before, opened, order)?;
            journal.add(&Record { state: State::Committed, ..before.clone() })?;
        }
        return Ok(Step::Done(Box::new(made)));
    }
    let fileless = |before: &Record| before.written.path.as_os_str().is_empty();
    let again = before.filter(|before| before.state == State::Prepared || fileless(before));
    let cut = ops::cut(
        &opened.session,
        &Intent { at: order.at, leaf: making.leaf.as_deref(), policy: &policy },
    )?;
    answer.findings.clone_from(&cut.warnings);
    let home = Home::of(run, opened);
    // Of children that are made at once each has a title and an id of its own.
    let stays = making.dry_run || order.out == Some(Path::new("-"));
    let births = if stays { None } else { Some(journal.lock_births()?) };
    let known = home.store.glances();
    if let Some(id) = making.id.as_deref().filter(|_| again.is_none()) {
        check_id(id, opened, &home, &known)?;
    }
    let taken = title::taken(known, &journal, &opened.parent().0)?;
    if title.as_ref().is_some_and(|title| taken.contains(title)) && again.is_none() {
        let message = "another session has that title";
        answer.findings.push(Finding::new(Code::TitleInUse, message));
    }
    let title = match (title, &again) {
        (Some(title), _) => title,
        (None, Some(Record { written: store::Written { title: Some(title), .. }, .. })) => {
            title.clone()
        }
        _ => {
            let parent = title::of_parent(&home, &journal, opened)?;
            title::next(parent.as_deref(), order.verb, &taken)
        }
    };
    let plan = Plan::new(run, order, opened, cut, home, title, again.as_ref())?;
    answer.findings.extend(report::compacted(plan.planned.compacted));
    answer.findings.extend(plan.told(order)?);
    if order.framing.is_some() && plan.framing.is_none() {
        let message = "no framing was written: this version opens no session with a message before the first step";
        answer.findings.push(Finding::new(Code::NoteNotSent, message));
    }
    plan.carry_out(order, journal, request, again.is_some(), policy, [lock, births])
}

/// No session of that id may be there: neither the parent, nor one whose header or whose name says so.
fn check_id(id: &str, opened: &Opened, home: &Home, known: &[Glance]) -> Result<()> {
    let (parent, path) = opened.parent();
    let own = (parent == id).then_some(path);
    let by_header = || known.iter().find(|glance| glance.header.id == id);
    let by_name = || home.store.named(opened.session.format.layout(), id).into_iter().next();
    match own.or_else(|| by_header().map(|glance| glance.path.clone())).or_else(by_name) {
        Some(taken) => Err(Error::AlreadyExists(taken)),
        None => Ok(()),
    }
}

/// What a child does not have of its parent.
pub(super) fn left_out(cut: &Cut<'_>, inherited: usize, inherit: bool) -> LeftOut {
    let all = if inherit && cut.boundary.is_end() {
        inherited
    } else {
        cut.thread.history(cut.thread.path().len(), 0).len()
    };
    let kept = if inherit { cut.kept.len() + cut.unreadable.len() } else { 0 };
    let session = cut.thread.session;
    let header = usize::from(session.header().line.is_some());
    let records = session.log.lines().saturating_sub(header + session.blank.len());
    if session.partly {
        // The rest was not looked at, so that nobody knows.
        return LeftOut { lines: None, messages: None };
    }
    LeftOut {
        lines: Some(records.saturating_sub(kept)),
        messages: Some(all.saturating_sub(inherited)),
    }
}

/// What makes two requests the same.
fn request(order: &Order<'_>, opened: &Opened, title: Option<&str>) -> Map<String, Value> {
    let making = order.making;
    let mut request = report::object(json!({
        "verb": order.verb, "source": opened.parent().0, "at": format!("{:?}", order.at), "title": title, "id": making.id,
        "cwd": making.cwd, "out": order.out, "context": format!("{:?}", making.context), "leaf": making.leaf,
        "framing": order.framing, "drop": making.drop, "flatten": order.flatten,
    }));
    request.extend(order.asks.map(|asks| ("ask".to_owned(), asks.into())));
    request
}

fn same_request(id: &str, before: &Map<String, Value>, now: &Map<String, Value>) -> Result<()> {
    let differs: Vec<&str> = now
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value))
        .map(|(key, _)| key.as_str())
        .collect();
    if differs.is_empty() {
        Ok(())
    } else {
        Err(Error::RequestConflict { id: id.into(), differs: differs.join(", ") })
    }
}
