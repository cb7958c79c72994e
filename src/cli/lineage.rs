//! The family of a session: parents, forks, side sessions, merges; from the logs' own marks and the journal.

use std::{
    collections::HashMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Run, output::printable, pick::Opened};
use crate::{
    error::Result,
    format,
    store::{Glance, Record, State, Store},
};

/// How deep a family is drawn; deeper ones are a circle.
const DEEPEST: usize = 64;

/// One member of a family.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Member {
    pub depth: usize,
    pub kind: String,
    pub id: String,
    pub title: Option<String>,
    pub format: &'static str,
    pub path: PathBuf,
    pub parent: Option<String>,
    pub created: Option<DateTime<Utc>>,
    /// Where the parent was cut, if the journal knows.
    pub boundary: Option<Map<String, Value>>,
    /// Notes that came back into it.
    merges: Vec<MergeRow>,
}

/// A note that was merged.
#[derive(Clone, Serialize, JsonSchema)]
struct MergeRow {
    side: Option<String>,
    note: Option<String>,
    at: DateTime<Utc>,
}

/// The members of the family of a session, a parent before its children.
pub fn rows(run: &Run, opened: &Opened) -> Result<Vec<Member>> {
    let steps = run.journal()?.records()?;
    let mut members: HashMap<String, Member> = HashMap::new();
    for glance in neighbours(run, opened) {
        let member = member(glance, &steps);
        members.entry(member.id.clone()).or_insert(member);
    }
    // Up to the oldest member that is there, then down.
    let mut root = opened.session.id().to_owned();
    let mut climbed = vec![root.clone()];
    while let Some(parent) = members.get(&root).and_then(|member| member.parent.clone()) {
        if climbed.contains(&parent) || !members.contains_key(&parent) {
            break;
        }
        climbed.push(parent.clone());
        root = parent;
    }
    let mut rows = Vec::new();
    descend(&root, 0, &members, &mut rows);
    Ok(rows)
}

fn descend(id: &str, depth: usize, members: &HashMap<String, Member>, rows: &mut Vec<Member>) {
    let Some(member) = members.get(id).filter(|_| depth < DEEPEST) else { return };
    rows.push(Member { depth, ..member.clone() });
    let is_child = |child: &&Member| child.parent.as_deref() == Some(id);
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

fn member(glance: Glance, steps: &[Record]) -> Member {
    let header = glance.header;
    let done = || steps.iter().rev().filter(|record| record.state == State::Committed);
    let of = |record: &&Record| record.written.id == header.id;
    let made = done().filter(|record| record.op != "merge").find(of);
    let merged = done().filter(|record| record.op == "merge").filter(of);
    let source = |record: &Record| record.source.get("id")?.as_str().map(str::to_owned);
    let merge = |record: &Record| MergeRow {
        side: source(record),
        note: record.written.note.clone(),
        at: record.at,
    };
    let native = header.parent.as_deref().map(|parent| {
        let layout = format::by_name(glance.format).map(format::Format::layout);
        let named = layout.and_then(|layout| layout.name_id(Path::new(parent)));
        named.unwrap_or_else(|| parent.to_owned())
    });
    let parent = made.and_then(source).or(native);
    let kind = match (made, &parent, header.subagent) {
        (_, _, true) => "subagent",
        (Some(record), ..) => record.op.as_str(),
        (None, Some(_), _) => "fork",
        _ => "main",
    };
    Member {
        depth: 0,
        kind: kind.to_owned(),
        title: glance.title.or_else(|| made.and_then(|record| record.written.title.clone())),
        format: glance.format,
        path: glance.path,
        parent,
        created: header.created,
        boundary: made.map(|record| record.boundary.clone()),
        merges: merged.map(merge).collect(),
        id: header.id.clone(),
    }
}

/// The family for people.
pub fn tree(rows: &[Member]) -> String {
    let mut text = String::new();
    for Member { depth, kind, id, title, boundary, merges, .. } in rows {
        let indent = "  ".repeat(*depth);
        let at = boundary.as_ref().and_then(|boundary| boundary.get("at")?.as_str());
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        let title = printable(title.as_deref().unwrap_or_default());
        let id = printable(id);
        let _ = writeln!(text, "{indent}{kind} {id}{at} \"{title}\"");
        for merge in merges {
            let side = printable(merge.side.as_deref().unwrap_or_default());
            let _ = writeln!(text, "{indent}  <- note of {side}");
        }
    }
    text
}
