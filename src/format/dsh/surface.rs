//! What the model sees of a DSH log: an ordered list of message events, spans of which are replaced by position.

use crate::{
    fact::{Fact, Facts, Role},
    format::{Message, Origin},
};

/// The messages in order.
pub(super) fn of(facts: &Facts, path: &[u32]) -> Vec<Message> {
    let mut surface: Vec<(u32, Message)> = Vec::new();
    for &line in path {
        let mut said = None;
        let mut replaced = None;
        let mut number = 0;
        let mut origin = Origin::Own;
        for fact in facts.of(line) {
            match fact {
                Fact::Numbered { first, .. } => number = first,
                Fact::Said(role, place) => said = Some((role, place)),
                Fact::Replaced { start, end } => replaced = Some((start, end)),
                Fact::Compacted { .. } => origin = Origin::Compaction,
                _ => {}
            }
        }
        let Some((role, place)) = said else { continue };
        let node = (
            number,
            Message { line, role, body: place.on(line), items: Vec::new(), origin, sent: true },
        );
        // Ends are sought by position in the list, not by number; a replacement that fits nowhere adds its message, so
        // that nothing is lost (the reader has reported it).
        let ends = replaced.and_then(|(start, end)| {
            let find = |wanted: u32| surface.iter().position(|(number, _)| *number == wanted);
            find(start).zip(find(end)).filter(|(start, end)| start <= end)
        });
        match ends {
            Some((start, end)) => drop(surface.splice(start..=end, [node])),
            None => surface.push(node),
        }
    }
    // An answer without content is a node of the surface but no message.
    let messages = surface.into_iter().map(|(_, message)| message);
    messages.filter(|message| message.role != Role::Assistant || message.body.len > 2).collect()
}
