//! pi (`@earendil-works/pi-coding-agent`, before that `@mariozechner/pi-coding-agent`), session versions 1 to 3.
//!
//! A log is a header and a tree of entries; the leaf is the last entry of the file. There are no turn records. Facts
//! were established by running 0.27.9, 0.32.3, 0.73.1 and 1.6.0.

pub(super) mod history;
mod layout;
mod quick;
pub(super) mod read;
pub(super) mod record;
pub(super) mod wire;
pub(super) mod write;

use super::{Format, Head, Layout, Message, Reader, Unfolded, Writer, record::Recorder};
use crate::{
    error::Result,
    fact::{Fact, Facts, Id},
};

/// The pi client.
pub struct Pi;

impl Format for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn versions(&self) -> (&'static [u32], &'static [u32]) {
        (&[1, 2, 3], &[3])
    }

    fn written_version(&self, _parent: u32) -> u32 {
        3 // Older ones are migrated on the way, as the client does when it loads them.
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        wire::dialect(head) == Some(wire::Dialect::Pi)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(read::PiReader::default())
    }

    fn leaf(&self, facts: &Facts) -> Option<Option<Id>> {
        // The leaf is not stored: the last entry of the file is it, of any type and on any branch.
        let last = facts.all().iter().rev().find_map(|stated| match stated.fact {
            Fact::Linked { id, .. } => Some(id),
            _ => None,
        });
        Some(last)
    }

    fn history(&self, facts: &Facts, path: &[u32]) -> Vec<Message> {
        history::of(facts, path, wire::Dialect::Pi)
    }

    fn seed(&self, _facts: &Facts, _path: &[u32]) -> Option<usize> {
        None // No marker says where a copy ends; `session::lineage` compares with the parent.
    }

    fn unfold(&self, body: &[u8]) -> Unfolded {
        wire::unfold(body)
    }

    fn layout(&self) -> &dyn Layout {
        &layout::PiLayout
    }

    fn recorder(&self) -> &dyn Recorder {
        &record::PiRecorder(wire::Dialect::Pi)
    }

    fn writer(&self, _facts: &Facts) -> Result<&dyn Writer> {
        Ok(&write::PiWriter(wire::Dialect::Pi))
    }
}
