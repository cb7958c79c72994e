//! `sessctl list`, which `replay --view lineage` without a session is as well: the sessions written last.

mod table;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Run, output::Answer};
use crate::{
    error::{Error, Result},
    format::{self, Format},
    session::Session,
    store::{self, Glance, Record, State},
};

/// How many sessions are listed unless told otherwise.
const LIMIT: usize = 20;

/// The largest log that is read to count its turns; of a larger one the number is not known.
const COUNTED: u64 = 16 * 1024 * 1024;

/// List the sessions written last, children under their parents
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = super::examples::LIST)]
pub struct Args {
    /// Only sessions whose working folder is DIR or lies below it
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// How many sessions at most
    #[arg(long, value_name = "N", default_value_t = LIMIT)]
    limit: usize,
    /// Also the sessions of a client's own subagents
    #[arg(long)]
    subagents: bool,
}

impl Args {
    /// What a verb asks for that lists sessions where none is named.
    pub fn limited(limit: Option<usize>) -> Self {
        Self { cwd: None, limit: limit.unwrap_or(LIMIT), subagents: false }
    }
}

/// One session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Row {
    /// How many of its ancestors are listed above it.
    depth: usize,
    /// `main`, `fork`, `side` or `subagent`.
    kind: &'static str,
    id: String,
    title: Option<String>,
    client: &'static str,
    cwd: Option<String>,
    /// Closed turns; none where the log is too large to be read for it, or cannot be read.
    turns: Option<usize>,
    /// Why its turns cannot be told.
    code: Option<&'static str>,
    /// Bytes, as stored.
    size: u64,
    /// Seconds since it was last written.
    age: i64,
    modified: Option<DateTime<Utc>>,
    created: Option<DateTime<Utc>>,
    parent: Option<String>,
    path: PathBuf,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Listed {
    rows: Vec<Row>,
    /// Logs of the stores that were not looked at.
    older: usize,
    /// Files among those looked at that are no client's.
    unread: usize,
    /// The shortest start of each id that tells it from all others, in the order of rows.
    #[serde(skip)]
    starts: Vec<usize>,
    /// The home folder, which a terminal is shown as `~`.
    #[serde(skip)]
    home: Option<PathBuf>,
}

pub(super) fn run(run: &Run, args: &Args) -> Result<Answer> {
    if args.limit == 0 {
        return Err(Error::BadUsage("`--limit 0` lists nothing".into()));
    }
    let cwd = args
        .cwd
        .as_ref()
        .map(|cwd| std::fs::canonicalize(cwd).unwrap_or_else(|_| run.env.absolute(cwd)));
    let wanted = |glance: &Glance| {
        let there = |cwd: &PathBuf| {
            glance.header.cwd.as_deref().is_some_and(|own| Path::new(own).starts_with(cwd))
        };
        (args.subagents || !glance.header.subagent)
            && run.wanted().is_none_or(|client| client.name() == glance.format)
            && cwd.as_ref().is_none_or(there)
    };
    // A journal that cannot be read leaves what the logs say themselves.
    let steps = run.journal().and_then(|journal| journal.records()).unwrap_or_default();
    let mut recent = run.store.recent();
    let chosen: Vec<Glance> = recent.by_ref().filter(wanted).take(args.limit).collect();
    let rows = chosen.into_par_iter().map(|glance| row(run, glance, &steps)).collect();
    let rows = arranged(rows);
    let ids = known_ids(run, &rows);
    let starts = rows.iter().map(|row: &Row| store::start_of(&row.id, &ids)).collect();
    let (older, unread) = (recent.left(), recent.unread);
    let sealed = recent.sealed.first();
    let hint = if let Some(folder) = sealed {
        if rows.is_empty() {
            return Err(store::sealed(folder));
        }
        Some(format!("{} cannot be looked into; what lies there is not listed", folder.display()))
    } else if rows.is_empty() {
        Some(nothing(run, args))
    } else if older > 0 && rows.len() == args.limit {
        let more = args.limit.saturating_mul(2).to_string();
        Some(format!("{} shows older ones", run.again.with("--limit", &more)))
    } else {
        None
    };
    let report = Listed { rows, older, unread, starts, home: run.env.home("") };
    Ok(Answer { report: Some(Box::new(report)), hint, ..Answer::default() })
}

/// What to do where no session is as it was asked for.
fn nothing(run: &Run, args: &Args) -> String {
    if args.cwd.is_some() {
        let all = run.again.without("--cwd");
        return format!("no session belongs to that folder; {all} lists those of all folders");
    }
    match run.wanted() {
        Some(client) => {
            let all = run.again.without("--format");
            format!("no session of {} is there; {all} lists those of all clients", client.name())
        }
        None => "no session is there; `--store DIR` looks below another folder".into(),
    }
}

fn row(run: &Run, glance: Glance, steps: &[Record]) -> Row {
    let header = &glance.header;
    let made = steps.iter().rev().find(|step| {
        step.state == State::Committed && step.op != "merge" && step.written.id == header.id
    });
    let source = made.and_then(|step| step.source.get("id")?.as_str().map(str::to_owned));
    let native = header.parent.as_deref().map(|parent| {
        let layout = format::by_name(glance.format).map(Format::layout);
        let named = layout.and_then(|layout| layout.name_id(Path::new(parent)));
        named.unwrap_or_else(|| parent.to_owned())
    });
    let parent = source.or(native).filter(|parent| *parent != header.id);
    let side = glance.framed || made.is_some_and(|step| step.op == "side");
    let kind = match (header.subagent, side, &parent) {
        (true, ..) => "subagent",
        (_, true, Some(_)) => "side",
        (_, _, Some(_)) => "fork",
        _ => "main",
    };
    let (turns, code) = match turns(run, &glance) {
        Ok(turns) => (turns, None),
        Err(error) => (None, Some(error.code())),
    };
    Row {
        depth: 0,
        kind,
        title: glance.title.or_else(|| made.and_then(|step| step.written.title.clone())),
        client: glance.format,
        cwd: glance.header.cwd.clone(),
        turns,
        code,
        size: glance.size,
        age: run.now.timestamp().saturating_sub(glance.mtime),
        modified: DateTime::from_timestamp(glance.mtime, 0),
        created: glance.header.created,
        parent,
        path: glance.path,
        id: glance.header.id,
    }
}

/// How many turns have ended on the active path, where the log is small enough to be read for it.
fn turns(run: &Run, glance: &Glance) -> Result<Option<usize>> {
    if glance.size > COUNTED {
        return Ok(None);
    }
    let session = Session::read(store::open(&glance.path, Some(&run.store))?, glance.client())?;
    Ok(Some(session.thread(None)?.turns.closed()))
}

/// The rows with children under their parents; families stand in the order of their newest member.
fn arranged(rows: Vec<Row>) -> Vec<Row> {
    let places: HashMap<String, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.id.clone(), at)).collect();
    let parent_of = |at: usize| {
        let parent = places.get(rows[at].parent.as_ref()?).copied()?;
        (parent != at && rows[parent].client == rows[at].client).then_some(parent)
    };
    // Two sessions that name each other have no root; the one met first stands for it.
    let root_of = |at: usize| {
        let mut seen = vec![at];
        let mut root = at;
        while let Some(parent) = parent_of(root).filter(|parent| !seen.contains(parent)) {
            seen.push(parent);
            root = parent;
        }
        root
    };
    let mut order: Vec<(usize, usize)> = Vec::new();
    let mut done = vec![false; rows.len()];
    for at in 0..rows.len() {
        let mut stack = vec![(root_of(at), 0)];
        while let Some((at, depth)) = stack.pop() {
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            order.push((at, depth));
            let mut children: Vec<usize> =
                (0..rows.len()).filter(|child| parent_of(*child) == Some(at)).collect();
            children.sort_by_key(|child| (rows[*child].created, rows[*child].id.clone()));
            stack.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
    }
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let take = |(at, depth): (usize, usize)| rows[at].take().map(|row| Row { depth, ..row });
    order.into_iter().filter_map(take).collect()
}

/// The ids that the names of the stores' files give, and those of the rows, whose files may be called anything; in order.
fn known_ids(run: &Run, rows: &[Row]) -> Vec<String> {
    let named =
        |path: PathBuf| format::ALL.iter().find_map(|format| format.layout().name_id(&path));
    let mut ids: Vec<String> = run.store.logs().into_iter().filter_map(named).collect();
    ids.extend(rows.iter().map(|row| row.id.clone()));
    ids.sort();
    ids.dedup();
    ids
}
