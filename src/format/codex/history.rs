//! What the model sees: items in order, replaced by compactions, cut by marks that take turns back.

use super::{millis_of, number};
use crate::{
    fact::{Fact, Facts},
    format::{Message, Origin},
};

/// A message and what a mark that takes turns back needs to know of it.
struct Entry {
    message: Message,
    /// Whether a person wrote it.
    asked: bool,
    /// How many messages stood there when the turn began that it opened.
    from: usize,
}

/// The messages at the end of `path`.
pub(super) fn of(facts: &Facts, path: &[u32]) -> Vec<Message> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut opened = None; // how many messages stood there when the open turn began, until somebody asked something
    for &line in path {
        let mut origin = Origin::Own;
        for fact in facts.of(line) {
            match fact {
                Fact::Opened(_) => opened = Some(entries.len()),
                Fact::Compacted { .. } => {
                    entries.clear();
                    (origin, opened) = (Origin::Compaction, None);
                }
                Fact::Condensed => {
                    // The old form has no list: the person's words so far, then the summary.
                    entries.retain(|entry| entry.asked);
                    (origin, opened) = (Origin::Compaction, None);
                }
                Fact::Said(role, place) => {
                    let body = place.on(line);
                    let message =
                        Message { line, role, body, items: Vec::new(), origin, sent: true };
                    entries.push(Entry { message, asked: false, from: 0 });
                }
                Fact::Asked => {
                    let at = entries.len().saturating_sub(1);
                    if let Some(last) = entries.last_mut() {
                        (last.asked, last.from) = (true, opened.take().unwrap_or(at));
                    }
                }
                Fact::Attached(place) => {
                    if let Some(last) = entries.last_mut() {
                        last.message.items.push(place.on(line));
                    }
                }
                Fact::Retracted { turns, .. } => {
                    let keep = retracted(&entries, turns as usize);
                    entries.truncate(keep);
                    opened = None;
                }
                _ => {}
            }
        }
    }
    entries.into_iter().map(|entry| entry.message).collect()
}

/// How many messages stay when the last `turns` turns are taken back: turns are counted by a person's words, and what
/// the client said at the beginning of the first of them goes too, unless it is the beginning of the session.
fn retracted(entries: &[Entry], turns: usize) -> usize {
    let asked: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].asked).collect();
    match asked.len().saturating_sub(turns) {
        _ if turns == 0 || asked.is_empty() => entries.len(),
        0 => asked[0],
        nth => entries[asked[nth]].from.clamp(asked[nth - 1] + 1, asked[nth]),
    }
}

/// How many records of `path` were inherited. None where one log cannot tell.
pub(super) fn seed(facts: &Facts, path: &[u32]) -> Option<usize> {
    let header = facts.header.as_ref()?;
    if header.parent.is_none() {
        return Some(0);
    }
    let id = facts.known(&header.id)?;
    let before = |line: u32| path.partition_point(|own| *own < line);
    let joined = facts.all().iter().find(|stated| stated.fact == Fact::Joined(id));
    let copied = joined.map_or(0, |joined| before(joined.line));
    if let Some(start) = header.seed_length {
        // An agent's own part begins at a number that the client noted.
        let own = path.partition_point(|line| {
            number(facts, *line).is_some_and(|number| u64::from(number) < start)
        });
        return Some(own.max(copied));
    }
    if copied > 0 {
        return Some(copied); // What stands before its own first file is its parent's.
    }
    let of_line = |line: u32, wanted: &dyn Fn(Fact) -> bool| facts.of(line).any(wanted);
    // What is older than the session was copied as it stood.
    let older = path.iter().rposition(|line| of_line(*line, &|fact| fact == Fact::Older));
    if let Some(older) = older {
        return Some(older + 1);
    }
    // The client itself gives copies the time of the fork, and says its own settings behind them.
    let created = millis_of(&header.id)
        .or_else(|| header.created.map(|created| created.timestamp_millis()))?;
    let own = path.iter().position(|line| {
        of_line(*line, &|fact| match fact {
            Fact::Seeded => true,
            Fact::Opened(turn) => {
                millis_of(facts.name(turn)).is_some_and(|opened| opened >= created)
            }
            _ => false,
        })
    });
    let named = path.iter().any(|line| {
        of_line(
            *line,
            &|fact| matches!(fact, Fact::Opened(turn) if millis_of(facts.name(turn)).is_some()),
        )
    });
    own.or_else(|| (named || path.is_empty()).then_some(path.len()))
}
