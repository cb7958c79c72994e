//! Replacing byte ranges inside a line, every other byte kept.

use std::ops::Range;

/// Ranges of one line and what stands there instead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Splice {
    /// What is replaced, and where in the text that stands which replaces it.
    edits: Vec<(Range<usize>, Range<usize>)>,
    text: Vec<u8>,
}

impl Splice {
    /// Puts `with` where `range` stands. Ranges may come in any order but must not overlap.
    pub fn replace(&mut self, range: Range<usize>, with: impl AsRef<[u8]>) {
        let start = self.text.len();
        self.text.extend_from_slice(with.as_ref());
        let edit = (range, start..self.text.len());
        let after = self.edits.partition_point(|(other, _)| other.start <= edit.0.start);
        self.edits.insert(after, edit);
    }

    /// Whether anything would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The line with its ranges replaced, in pieces.
    pub fn pieces<'a>(&'a self, line: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let ends = self.edits.iter().map(|(range, _)| range.end);
        let starts = self.edits.iter().map(|(range, _)| range.start).chain([line.len()]);
        let kept = std::iter::once(0).chain(ends).zip(starts).map(|(from, to)| &line[from..to]);
        let new = self.edits.iter().map(|(_, with)| &self.text[with.clone()]).chain([&[][..]]);
        kept.zip(new).flat_map(|(kept, new)| [kept, new])
    }

    /// The line with its ranges replaced.
    #[must_use]
    pub fn apply(&self, line: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(line.len() + self.text.len());
        self.pieces(line).for_each(|piece| out.extend_from_slice(piece));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_outside_the_ranges_is_kept() {
        let mut splice = Splice::default();
        assert!(splice.is_empty());
        assert_eq!(splice.apply(b"0123456789"), b"0123456789");
        splice.replace(8..9, "long");
        splice.replace(2..4, "");
        splice.replace(0..0, ">");
        splice.replace(10..10, "end");
        assert_eq!(splice.apply(b"0123456789"), b">014567long9end");
    }
}
