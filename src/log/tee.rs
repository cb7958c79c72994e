//! A copy of a log that is written while the log is read, so that a long one need not be read twice.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt};

use rustix::fs::FallocateFlags;

/// What is written at once begins and ends at multiples of this: systems keep it in one piece then, which costs a third
/// less.
const STEP: u64 = super::BLOCK as u64;

/// One step in so many is read back.
const SAMPLE: u64 = 32;

/// A file that takes the bytes of a log as they are read: what it holds is what was parsed.
#[derive(Debug)]
pub struct Tee {
    file: File,
    /// How many bytes in front are left for what the copy begins with.
    gap: u64,
    /// The addresses of what was taken.
    taken: Range<u64>,
    steps: u64,
    ends: bool,
}

impl Tee {
    /// `file` is empty and nobody else's. It takes what stands at address `from` and behind that, in a log of `len` bytes;
    /// `gap` bytes are left in front.
    #[must_use]
    pub fn new(file: File, gap: u64, from: u64, len: u64) -> Self {
        // A third less again. Where there is no room, or this is not known, it shows when something is written.
        let size = gap + len.saturating_sub(from);
        let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, size);
        Self { file, gap, taken: from..from, steps: 0, ends: false }
    }

    /// How many bytes to read at `address`, so that they end with a step.
    pub(super) fn want(&self, address: u64) -> u64 {
        STEP - (address + self.gap).saturating_sub(self.taken.start) % STEP
    }

    /// Takes `bytes`, which stand at `address` and go on from those that were taken.
    pub(super) fn take(&mut self, address: u64, bytes: &[u8]) {
        let before = usize::try_from(self.taken.end.saturating_sub(address)).unwrap_or(usize::MAX);
        let bytes = bytes.get(before..).unwrap_or_default();
        if self.ends || bytes.is_empty() {
            return;
        }
        match self.write(bytes) {
            Ok(()) => self.taken.end += bytes.len() as u64,
            // Whoever needs the rest writes it, and tells what is wrong.
            Err(_) => self.stop(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = self.gap + (self.taken.end - self.taken.start);
        self.file.write_all_at(bytes, at)?;
        self.steps += 1;
        if self.steps % SAMPLE == 1 {
            let mut back = vec![0; bytes.len()];
            self.file.read_exact_at(&mut back, at)?;
            if back != bytes {
                self.taken.end = self.taken.start; // A file that forgets is good for nothing.
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }

    /// Takes nothing any more.
    pub(super) fn stop(&mut self) {
        self.ends = true;
    }

    /// The file, and the addresses of what stands in it behind `gap` bytes; none if there is nothing, or another gap.
    pub(super) fn behind(&self, gap: u64) -> Option<(&File, Range<u64>)> {
        (gap == self.gap && !self.taken.is_empty()).then(|| (&self.file, self.taken.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_stands_behind_the_gap() {
        let mut tee = Tee::new(tempfile::tempfile().unwrap(), 3, 10, 20);
        tee.take(0, b"before\n"); // addresses 0 to 7
        tee.take(7, b"a\nb\nc\n"); // from 10 on: `\nc\n`
        assert_eq!(tee.want(13), STEP - 6);
        tee.take(13, b"d\n");
        assert!(tee.behind(2).is_none());
        let (file, taken) = tee.behind(3).unwrap();
        assert_eq!(taken, 10..15);
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"\0\0\0\nc\nd\n");
        tee.stop();
        tee.take(15, b"e\n");
        assert_eq!(tee.behind(3).unwrap().1, 10..15);
    }
}
