//! Replacing byte ranges inside a line, every other byte kept.

use std::ops::Range;

/// Ranges of one line and what stands there instead.
#[derive(Clone, Debug, Default)]
pub struct Splice {
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl Splice {
    /// Puts `with` where `range` stands. Ranges may come in any order but must not overlap.
    pub fn replace(&mut self, range: Range<usize>, with: impl Into<Vec<u8>>) {
        self.edits.push((range, with.into()));
    }

    /// Whether anything would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The line with its ranges replaced.
    #[must_use]
    pub fn apply(mut self, line: &[u8]) -> Vec<u8> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let more: usize = self.edits.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(line.len() + more);
        let mut at = 0;
        for (range, with) in self.edits {
            debug_assert!(at <= range.start, "edits must not overlap");
            out.extend_from_slice(&line[at..range.start]);
            out.extend_from_slice(&with);
            at = range.end;
        }
        out.extend_from_slice(&line[at..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_outside_the_ranges_is_kept() {
        let mut splice = Splice::default();
        splice.replace(8..9, "long");
        splice.replace(2..4, "");
        splice.replace(0..0, ">");
        assert_eq!(splice.apply(b"0123456789"), b">014567long9");
    }
}
