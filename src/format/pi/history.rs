//! What pi 1.6.0's `buildSessionContext` makes of a path: the last compaction, edits, the order of both.

use std::ops::Range;

use crate::{
    fact::{Fact, Facts, Id, IdMap, Place, Rare, Role},
    format::{Message, Origin},
};

use super::wire::Dialect;

/// The messages in order. prime 0.8.0 knows neither edits nor system messages of a compaction.
pub(in crate::format) fn of(facts: &Facts, path: &[u32], dialect: Dialect) -> Vec<Message> {
    let (selection, kept) = select(facts, path);
    let modern = dialect == Dialect::Pi;
    let edits =
        if modern && facts.has(Rare::Edited) { edits(facts, &selection) } else { IdMap::default() };
    let mut messages = Vec::new();
    for (position, &line) in selection.iter().enumerate() {
        let (mut summary, mut sent, mut own) = (false, true, None);
        for fact in facts.of(line) {
            match fact {
                Fact::Compacted { .. } => summary = true,
                Fact::Unsent => sent = false,
                Fact::Linked { id, .. } => own = Some(id),
                _ => {}
            }
        }
        if summary && position > 0 {
            continue; // An older compaction inside the kept range is nothing.
        }
        for fact in facts.of(line) {
            let Fact::Said(role, place) = fact else { continue };
            if role == Role::System && if modern { kept.contains(&position) } else { summary } {
                continue;
            }
            let edit = own.and_then(|id| edits.get(&id));
            let body = match edit {
                Some((_, Place { len: 0, .. })) => continue,
                Some((editor, content)) => content.on(*editor),
                None => place.on(line),
            };
            let origin = if summary { Origin::Compaction } else { Origin::Own };
            messages.push(Message { line, role, body, items: Vec::new(), origin, sent });
        }
    }
    messages
}

/// The lines that count: the last compaction first, then what it keeps, then what follows it. The range is that of
/// the kept ones.
fn select(facts: &Facts, path: &[u32]) -> (Vec<u32>, Range<usize>) {
    if !facts.has(Rare::Compacted) {
        return (path.to_vec(), 0..0);
    }
    let last =
        path.iter().enumerate().rev().find_map(|(at, line)| Some((at, compacted(facts, *line)?)));
    let Some((at, kept)) = last else { return (path.to_vec(), 0..0) };
    let kept =
        kept.and_then(|kept| path[..at].iter().position(|line| record(facts, *line) == Some(kept)));
    let kept = kept.map_or(&path[at..at], |from| &path[from..at]);
    ([&path[at..=at], kept, &path[at + 1..]].concat(), 1..1 + kept.len())
}

/// The last edit of each record, with the line it stands on.
fn edits(facts: &Facts, selection: &[u32]) -> IdMap<(u32, Place)> {
    let edits = selection.iter().flat_map(|line| facts.of(*line).map(move |fact| (*line, fact)));
    edits
        .filter_map(|(line, fact)| match fact {
            Fact::Edited { target, content } => Some((target, (line, content))),
            _ => None,
        })
        .collect()
}

fn compacted(facts: &Facts, line: u32) -> Option<Option<Id>> {
    facts.of(line).find_map(|fact| match fact {
        Fact::Compacted { kept } => Some(kept),
        _ => None,
    })
}

fn record(facts: &Facts, line: u32) -> Option<Id> {
    facts.of(line).find_map(|fact| match fact {
        Fact::Linked { id, .. } => Some(id),
        _ => None,
    })
}
