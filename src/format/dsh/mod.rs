//! DSH, the DeepSeek Harness: formats 0 (both dialects), 3 and 4 read and written, 1 and 2 read.
//!
//! A log is one line of numbered events with explicit turns; what the model sees is a surface of message events, parts
//! of which later events replace. Facts were established by running 0.1.0-rc.8, 0.1.2-rc.1, 0.1.5-rc.1 and 0.2.1-rc.2.

mod layout;
mod quick;
mod read;
mod record;
mod surface;
mod wire;
mod write;

use super::{Format, Head, Layout, Message, Reader, Unfolded, Writer, record::Recorder};
use crate::{
    error::{Error, Result},
    fact::{Fact, Facts, Id, Rare},
};

/// The DSH client.
pub struct Dsh;

impl Format for Dsh {
    fn name(&self) -> &'static str {
        "dsh"
    }

    fn versions(&self) -> (&'static [u32], &'static [u32]) {
        (&[0, 1, 2, 3, 4], &[0, 3, 4])
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        // Only DSH headers count the time in milliseconds, or know a depth of delegation.
        let claim = head
            .lines()
            .next()
            .and_then(|line| serde_json::from_slice::<wire::Claim<'_>>(line).ok());
        claim.is_some_and(|claim| {
            claim.kind == "session"
                && (claim.created_at.is_some() || claim.delegation_depth.is_some())
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(read::DshReader::default())
    }

    fn leaf(&self, _facts: &Facts) -> Option<Option<Id>> {
        None
    }

    fn history(&self, facts: &Facts, path: &[u32]) -> Vec<Message> {
        surface::of(facts, path)
    }

    fn seed(&self, facts: &Facts, path: &[u32]) -> Option<usize> {
        let header = facts.header.as_ref()?;
        if header.version < 2 {
            let length = header.seed_length.filter(|_| header.parent.is_some()).unwrap_or(0);
            return Some(path.partition_point(|line| {
                numbered(facts, *line).is_some_and(|(first, _)| u64::from(first) < length)
            }));
        }
        // Older marks stand inside the inherited part; the last one is this session's own.
        let path = if facts.has(Rare::Seeded) { path } else { &[] };
        let mark = path.iter().rposition(|line| facts.of(*line).any(|fact| fact == Fact::Seeded));
        Some(mark.unwrap_or(0))
    }

    fn seed_length(&self, facts: &Facts, kept: &[u32]) -> u64 {
        kept.iter()
            .filter_map(|line| numbered(facts, *line))
            .map(|(_, count)| u64::from(count))
            .sum()
    }

    fn unfold(&self, body: &[u8]) -> Unfolded {
        wire::unfold(body)
    }

    fn layout(&self) -> &dyn Layout {
        &layout::DshLayout
    }

    fn recorder(&self) -> &dyn Recorder {
        &record::DshRecorder
    }

    fn writer(&self, facts: &Facts) -> Result<&dyn Writer> {
        match facts.header.as_ref().map_or(0, |header| header.version) {
            0 | 3 | 4 => Ok(&write::DshWriter),
            version => Err(Error::ReadOnlyFormat(format!("DSH format {version}"))),
        }
    }
}

/// The first number and the count of the events on a line.
fn numbered(facts: &Facts, line: u32) -> Option<(u32, u32)> {
    facts.of(line).find_map(|fact| match fact {
        Fact::Numbered { first, count } => Some((first, count)),
        _ => None,
    })
}
