//! How far a log was read, so that a later run goes on behind it.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::{Encoding, Log};
use crate::error::Result;

/// How much of either end of what was read has to be as it was.
const EDGE: u64 = 64 * 1024;

/// Whole lines at the beginning of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Where the last one ends.
    end: u64,
    /// How many.
    lines: usize,
    /// Digests of their first bytes and of their last ones.
    edges: [u64; 2],
}

impl Log {
    /// How far it was read. None where its bytes do not stay where they are.
    pub fn reached(&self) -> Result<Option<Reached>> {
        if !self.stays() {
            return Ok(None);
        }
        Ok(Some(Reached { end: self.end, lines: self.starts.len(), edges: self.edges(self.end)? }))
    }

    /// Leaves out what an earlier run read, if the log still begins with that as far as its edges tell: clients only ever
    /// append to their logs, and what writes a log anew moves what follows.
    pub fn go_on(&mut self, reached: &Reached) -> Result<bool> {
        let same =
            self.stays() && reached.end <= self.len() && self.edges(reached.end)? == reached.edges;
        if same {
            self.skipped = (reached.end, reached.lines);
        }
        Ok(same)
    }

    /// Whether the same bytes stay at the same place while it grows: it is one file, and plain.
    fn stays(&self) -> bool {
        self.parts.len() == 1 && self.encoding() == Encoding::Plain
    }

    fn edges(&self, end: u64) -> Result<[u64; 2]> {
        let mut bytes = Vec::new();
        let mut edge = |range| -> Result<u64> {
            self.fill(range, &mut bytes)?;
            Ok(XxHash3_64::oneshot(&bytes))
        };
        Ok([edge(0..end.min(EDGE))?, edge(end.saturating_sub(EDGE)..end)?])
    }
}
