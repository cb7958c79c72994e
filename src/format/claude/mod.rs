//! Claude Code, transcripts of versions 2.0.60 to 2.1.332.
//!
//! A log has no header: records form a tree by `uuid` and `parentUuid`, session records without a `uuid` stand between
//! them. The format has no version of its own; unknown types and fields are kept as they are. Facts were established by
//! running 2.0.60, 2.1.30, 2.1.75, 2.1.100, 2.1.150, 2.1.200, 2.1.260 and 2.1.332.

mod bill;
mod history;
mod layout;
mod quick;
mod read;
mod record;
mod wire;
mod write;

use super::{Format, Head, Layout, Message, Reader, Unfolded, Writer, record::Recorder};
use crate::{
    error::Result,
    fact::{Fact, Facts, Id},
};

/// The Claude Code client.
pub struct Claude;

impl Format for Claude {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn versions(&self) -> (&'static [u32], &'static [u32]) {
        (&[2], &[2]) // The client's own major version; the lines name no other.
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        // The head may end inside its only line. Another client's log may have a cut line of ours at its end.
        head.lines().any(wire::claims) || head.lines().next().is_some_and(wire::cut_claim)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(read::ClaudeReader::default())
    }

    fn settle(&self, facts: &mut Facts, name: Option<&str>) {
        history::settle(facts, name);
    }

    fn path(&self, facts: &Facts, chain: Vec<u32>) -> Vec<u32> {
        history::path(facts, chain)
    }

    fn leaf(&self, facts: &Facts) -> Option<Option<Id>> {
        Some(history::Tree::of(facts).leaf(facts))
    }

    fn history(&self, facts: &Facts, path: &[u32]) -> Vec<Message> {
        history::of(facts, path)
    }

    fn seed(&self, facts: &Facts, path: &[u32]) -> Option<usize> {
        // `forkedFrom` stands on every copied record; a copy by the client's own flag has it on none.
        let copied = |line: &u32| facts.of(*line).any(|fact| matches!(fact, Fact::Copied(_)));
        path.iter().rposition(copied).map(|last| last + 1)
    }

    fn seed_length(&self, facts: &Facts, kept: &[u32]) -> u64 {
        let whole = |line: &&u32| !facts.of(**line).any(|fact| fact == Fact::Hollow);
        kept.iter().filter(whole).count() as u64
    }

    fn unfold(&self, body: &[u8]) -> Unfolded {
        wire::unfold(body)
    }

    fn joins(&self) -> bool {
        true
    }

    fn layout(&self) -> &dyn Layout {
        &layout::ClaudeLayout
    }

    fn recorder(&self) -> &dyn Recorder {
        &record::ClaudeRecorder
    }

    fn writer(&self, _facts: &Facts) -> Result<&dyn Writer> {
        Ok(&write::ClaudeWriter)
    }
}
