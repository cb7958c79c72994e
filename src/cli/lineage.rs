//! The family of a session: parents, forks, side sessions, merges; from the logs' own marks and the journal.

mod detail;

use std::{
    collections::HashMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Run, output::printable, pick::Opened, report::BoundaryReport};
use crate::{
    error::Result,
    format,
    session::headline,
    store::{Glance, Record, State, Store},
};

/// How deep a family is drawn; deeper ones are a circle.
const DEEPEST: usize = 64;

/// One member of a family.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Member {
    /// How far below the oldest member that is there.
    pub depth: usize,
    /// `main`, `fork`, `side`, `subagent`, or `aside` and `compaction`, which a client or a record of one holds.
    pub kind: String,
    /// The session.
    pub id: String,
    /// Its title, or what its client shows in its place.
    pub title: Option<String>,
    /// Its client.
    pub format: &'static str,
    /// Its log.
    pub path: PathBuf,
    /// Where it comes from; the path is none where the log is gone.
    pub parent: Option<Parent>,
    /// When it began.
    pub created: Option<DateTime<Utc>>,
    /// Where the parent was cut; none where nothing was inherited or the parent is gone.
    pub boundary: Option<BoundaryReport>,
    /// What was inherited, in the client's own unit.
    pub seed_length: Option<u64>,
    /// Whether what was inherited begins with a summary.
    pub compacted_source: bool,
    /// Notes that came back into it.
    pub merges: Vec<MergeRow>,
}

/// The session that a member comes from.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Parent {
    /// Its id.
    pub id: String,
    /// Its log.
    pub path: Option<PathBuf>,
    /// Its client.
    pub format: &'static str,
}

/// A note that was merged.
#[derive(Clone, Serialize, JsonSchema)]
pub struct MergeRow {
    /// The note's id, as the log or the journal has it.
    pub note: Option<String>,
    /// The side session that it comes from, if that is known.
    pub side: Option<String>,
    /// Its line in the member's log.
    pub line: Option<usize>,
    /// Its words.
    pub text: Option<String>,
    /// When it was merged.
    pub at: Option<DateTime<Utc>>,
}

/// The members of the family of a session, a parent before its children.
pub fn rows(run: &Run, opened: &Opened) -> Result<Vec<Member>> {
    let journal = run.journal()?.records()?;
    let steps: Vec<&Record> =
        journal.iter().rev().filter(|record| record.state == State::Committed).collect();
    let mut members: HashMap<String, Member> = HashMap::new();
    let mut found = neighbours(run, opened);
    while !found.is_empty() {
        let mut elsewhere = Vec::new();
        for glance in found {
            elsewhere.extend(named(&glance, &steps));
            let member = member(glance, &steps);
            members.entry(member.id.clone()).or_insert(member);
        }
        elsewhere.sort();
        elsewhere.dedup();
        elsewhere.retain(|path| !members.values().any(|member| member.path == *path));
        found = elsewhere.iter().filter_map(|path| Glance::at(path)).collect();
        found.retain(|glance| !members.contains_key(&glance.header.id));
    }
    // Up to the oldest member that is there, then down.
    let mut root = opened.session.id().to_owned();
    let mut climbed = vec![root.clone()];
    while let Some(parent) = members.get(&root).and_then(|member| member.parent.clone()) {
        let parent = parent.id;
        if climbed.contains(&parent) || !members.contains_key(&parent) {
            break;
        }
        climbed.push(parent.clone());
        root = parent;
    }
    let mut rows = Vec::new();
    descend(&root, 0, &members, &mut rows);
    detail::read(run, &mut rows, &steps);
    Ok(rows)
}

fn descend(id: &str, depth: usize, members: &HashMap<String, Member>, rows: &mut Vec<Member>) {
    let Some(member) = members.get(id).filter(|_| depth < DEEPEST) else { return };
    rows.push(Member { depth, ..member.clone() });
    let is_child = |child: &&Member| child.parent.as_ref().is_some_and(|parent| parent.id == id);
    let mut children: Vec<&Member> = members.values().filter(is_child).collect();
    children.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
    for child in children {
        descend(&child.id, depth + 1, members, rows);
    }
}

/// The sessions of the store that the session lies in, and of those that the run was given.
fn neighbours(run: &Run, opened: &Opened) -> Vec<Glance> {
    let mut glances = Vec::new();
    if let Some(path) = &opened.path {
        glances.extend(Store::around(path).glances());
    }
    glances.extend(run.store.glances());
    // Last, since a store also knows the names that a client keeps beside its logs.
    glances.extend(opened.path.as_deref().and_then(Glance::at));
    glances
}

/// Logs of the family that a log or the journal names by their path, wherever they lie.
fn named(glance: &Glance, steps: &[&Record]) -> Vec<PathBuf> {
    let id = &glance.header.id;
    let native =
        glance.header.parent.as_deref().map(PathBuf::from).filter(|path| path.is_absolute());
    let source = |step: &&&Record| step.source.get("id").and_then(Value::as_str) == Some(id);
    let made = steps.iter().filter(source).map(|step| step.written.path.clone());
    let parent = steps.iter().filter(|step| step.op != "merge" && step.written.id == *id);
    let parent = parent.filter_map(|step| step.source.get("path")?.as_str().map(PathBuf::from));
    native.into_iter().chain(made).chain(parent).collect()
}

/// What the ends of a log and the journal, newest step first, tell of a member.
fn member(glance: Glance, steps: &[&Record]) -> Member {
    let header = glance.header;
    let made = steps.iter().find(|step| step.op != "merge" && step.written.id == header.id);
    let source = |record: &Record| record.source.get("id")?.as_str().map(str::to_owned);
    let native = header.parent.as_deref().map(|parent| {
        let layout = format::by_name(glance.format).map(format::Format::layout);
        let named = layout.and_then(|layout| layout.name_id(Path::new(parent)));
        named.unwrap_or_else(|| parent.to_owned())
    });
    let parent = made.and_then(|made| source(made)).or(native);
    let kind = match (made, &parent, header.errand, header.subagent) {
        (_, _, Some(errand), _) => errand.name(),
        (_, _, _, true) => "subagent",
        (Some(step), ..) => step.op.as_str(),
        (None, Some(_), ..) => "fork",
        _ => "main",
    };
    Member {
        depth: 0,
        kind: kind.to_owned(),
        title: glance.title.or_else(|| made.and_then(|made| made.written.title.clone())),
        format: glance.format,
        path: glance.path,
        parent: parent.map(|id| Parent { id, path: None, format: glance.format }),
        created: header.created,
        boundary: None,
        seed_length: None,
        compacted_source: false,
        merges: Vec::new(),
        id: header.id,
    }
}

/// The family for people.
pub fn tree(rows: &[Member]) -> String {
    let mut text = String::new();
    for member in rows {
        let indent = "  ".repeat(member.depth);
        let at = member.boundary.as_ref().map(|boundary| format!(" at {}", boundary.at));
        let at = at.unwrap_or_default();
        let title = printable(member.title.as_deref().unwrap_or_default());
        let id = printable(&member.id);
        let _ = writeln!(text, "{indent}{} {id}{at} \"{title}\"", member.kind);
        for merge in &member.merges {
            let side = merge.side.as_deref().map(|side| format!(" of {}", printable(side)));
            let words =
                merge.text.as_deref().map(|text| format!(": {}", printable(&headline(text))));
            let (side, words) = (side.unwrap_or_default(), words.unwrap_or_default());
            let _ = writeln!(text, "{indent}  <- note{side}{words}");
        }
    }
    text
}
