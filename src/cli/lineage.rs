//! The family of a session: parents, forks, side sessions, merges; from the logs' own marks and the journal.

use std::{collections::HashMap, fmt::Write as _, path::Path};

use serde_json::{Value, json};

use super::{Run, output::printable, pick::Opened};
use crate::{
    error::Result,
    format,
    store::{Glance, Record, State, Store, layout_of},
};

/// One member of the family.
struct Member {
    id: String,
    parent: Option<String>,
    row: Value,
}

/// The members of the family of a session, a parent before its children.
pub fn rows(run: &Run, opened: &Opened) -> Result<Vec<Value>> {
    let steps = run.journal()?.records()?;
    let done = |record: &&Record| record.state == State::Committed;
    let mut members: HashMap<String, Member> = HashMap::new();
    for glance in neighbours(run, opened) {
        let member = member(&glance, &steps);
        members.entry(member.id.clone()).or_insert(member);
    }
    let merges = steps.iter().filter(done).filter(|record| record.op == "merge");
    let merges: Vec<Value> = merges.map(|record| json!({ "side": record.source.get("id"), "into": record.written.id, "note": record.written.note, "at": record.at })).collect();
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
    descend(&root, 0, &members, &merges, &mut rows);
    Ok(rows)
}

fn descend(
    id: &str,
    depth: usize,
    members: &HashMap<String, Member>,
    merges: &[Value],
    rows: &mut Vec<Value>,
) {
    let Some(member) = members.get(id).filter(|_| depth < 64) else { return };
    let mut row = member.row.clone();
    row["depth"] = depth.into();
    row["merges"] = merges.iter().filter(|merge| merge["into"] == *id).cloned().collect();
    rows.push(row);
    let mut children: Vec<&Member> =
        members.values().filter(|child| child.parent.as_deref() == Some(id)).collect();
    children.sort_by(|a, b| {
        (a.row["created"].as_str(), &a.id).cmp(&(b.row["created"].as_str(), &b.id))
    });
    for child in children {
        descend(&child.id, depth + 1, members, merges, rows);
    }
}

/// The sessions of the store that the session lies in, and of those that the run was given.
fn neighbours(run: &Run, opened: &Opened) -> Vec<Glance> {
    let mut glances = Vec::new();
    if let Some(path) = &opened.path {
        glances.extend(Glance::at(path));
        let home = layout_of(path).map_or_else(
            || Store::near(path.parent().unwrap_or(Path::new("."))),
            |(_, root)| Store::of(root),
        );
        glances.extend(home.glances());
    }
    glances.extend(run.store.glances());
    glances
}

fn member(glance: &Glance, steps: &[Record]) -> Member {
    let header = &glance.header;
    let made = steps.iter().rev().find(|record| {
        record.state == State::Committed && record.op != "merge" && record.written.id == header.id
    });
    let native = header.parent.as_deref().map(|parent| {
        let layout = format::by_name(glance.format).map(format::Format::layout);
        layout
            .and_then(|layout| layout.name_id(Path::new(parent)))
            .unwrap_or_else(|| parent.to_owned())
    });
    let parent = made
        .and_then(|record| record.source.get("id").and_then(Value::as_str).map(str::to_owned))
        .or(native);
    let kind = match (made, &parent, header.subagent) {
        (_, _, true) => "subagent",
        (Some(record), ..) => record.op.as_str(),
        (None, Some(_), _) => "fork",
        _ => "main",
    };
    let row = json!({
        "id": header.id, "path": glance.path, "format": glance.format, "title": glance.title, "kind": kind,
        "parent": parent, "created": header.created, "boundary": made.map(|record| &record.boundary),
    });
    Member { id: header.id.clone(), parent, row }
}

/// The family for people.
pub fn tree(rows: &[Value]) -> String {
    let mut text = String::new();
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        let indent = "  ".repeat(usize::try_from(row["depth"].as_u64().unwrap_or(0)).unwrap_or(0));
        let at = row["boundary"]["at"].as_str().map(|at| format!(" at {at}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{indent}{} {}{at} \"{}\"",
            word("kind"),
            word("id"),
            printable(word("title"))
        );
        for merge in row["merges"].as_array().into_iter().flatten() {
            let _ = writeln!(
                text,
                "{indent}  <- note of {}",
                merge["side"].as_str().unwrap_or_default()
            );
        }
    }
    text
}
