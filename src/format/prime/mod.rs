//! prime (`PrimeIntellect-ai/prime-agent`), session version 3: pi's format with other folders, two more header fields
//! and a few entries of its own. This is the one client that builds on another's folder.
//!
//! Facts were established by reading 0.8.0 and running its session manager.

mod layout;
mod read;

use super::{
    Format, Head, Layout, Message, Reader, Unfolded, Writer,
    pi::{
        Pi, history,
        record::PiRecorder,
        wire::{self, Dialect},
        write::PiWriter,
    },
    record::Recorder,
};
use crate::{
    error::Result,
    fact::{Facts, Id},
};

/// The prime client.
pub struct Prime;

impl Format for Prime {
    fn name(&self) -> &'static str {
        "prime"
    }

    fn versions(&self) -> (&'static [u32], &'static [u32]) {
        Pi.versions()
    }

    fn written_version(&self, parent: u32) -> u32 {
        Pi.written_version(parent)
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        wire::dialect(head) == Some(Dialect::Prime)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(read::PrimeReader::default())
    }

    fn leaf(&self, facts: &Facts) -> Option<Option<Id>> {
        Pi.leaf(facts)
    }

    fn history(&self, facts: &Facts, path: &[u32]) -> Vec<Message> {
        history::of(facts, path, Dialect::Prime)
    }

    fn seed(&self, facts: &Facts, path: &[u32]) -> Option<usize> {
        Pi.seed(facts, path)
    }

    fn unfold(&self, body: &[u8]) -> Unfolded {
        wire::unfold(body)
    }

    fn layout(&self) -> &dyn Layout {
        &layout::PrimeLayout
    }

    fn recorder(&self) -> &dyn Recorder {
        &PiRecorder(Dialect::Prime)
    }

    fn writer(&self, _facts: &Facts) -> Result<&dyn Writer> {
        Ok(&PiWriter(Dialect::Prime))
    }
}
