//! A log not yet written: spans of another log and new lines, in order.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Write},
    ops::Range,
    os::unix::fs::FileExt,
    path::Path,
};

use super::{Encoding, Log, frames};
use crate::error::{Error, Result};

/// How much plain text goes into one frame of a compressed log.
const BATCH: u64 = 1024 * 1024;

/// How much is read and written at once.
const STEP: u64 = 256 * 1024;

/// How much of the new lines is kept in memory.
const HELD: usize = 4 * 1024 * 1024;

/// One piece of a draft: whole lines with their line ends.
#[derive(Clone, Debug)]
enum Piece {
    /// Addresses of the source, copied as they are.
    Copied(Range<u64>),
    /// A range of the new bytes.
    New(Range<u64>),
}

impl Piece {
    fn range(&self) -> &Range<u64> {
        match self {
            Self::Copied(range) | Self::New(range) => range,
        }
    }
}

/// What a new log will hold.
#[derive(Debug)]
pub struct Draft<'a> {
    source: &'a Log,
    pieces: Vec<Piece>,
    new: New,
    lines: usize,
}

/// New bytes. A child of which every line is a new one may be larger than memory, so that the first of them lie in a
/// file without a name.
#[derive(Debug, Default)]
struct New {
    file: Option<File>,
    filed: u64,
    held: Vec<u8>,
}

impl New {
    fn len(&self) -> u64 {
        self.filed + self.held.len() as u64
    }

    fn add(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= HELD && self.put_away().is_ok() {
            self.filed += self.held.len() as u64;
            self.held.clear();
        } // Where no file can be written, memory must do.
    }

    fn put_away(&mut self) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
        self.file.insert(file).write_all_at(&self.held, self.filed)
    }

    fn slice(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let size = |len: u64| usize::try_from(len).map_err(|_| Error::internal("a span too long"));
        if range.start >= self.filed {
            let held = size(range.start - self.filed)?..size(range.end - self.filed)?;
            return Ok(Cow::Borrowed(&self.held[held]));
        }
        let filed = size(range.end.min(self.filed) - range.start)?;
        let mut bytes = vec![0; filed];
        if let Some(file) = &self.file {
            let read = file.read_exact_at(&mut bytes, range.start);
            read.map_err(Error::io("read again", Path::new("a temporary file")))?;
        }
        if range.end > self.filed {
            bytes.extend_from_slice(&self.held[..size(range.end - self.filed)?]);
        }
        Ok(Cow::Owned(bytes))
    }
}

impl<'a> Draft<'a> {
    /// An empty draft whose spans are taken from `source`.
    #[must_use]
    pub fn of(source: &'a Log) -> Self {
        Self { source, pieces: Vec::new(), new: New::default(), lines: 0 }
    }

    /// Adds one new line; `line` has no line end.
    pub fn line(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        let start = self.new.len();
        self.new.add(&line);
        let end = self.new.len();
        self.lines += 1;
        match self.pieces.last_mut() {
            Some(Piece::New(last)) if last.end == start => last.end = end,
            _ => self.pieces.push(Piece::New(start..end)),
        }
    }

    /// Adds line `index` of the source as it is.
    pub fn copy(&mut self, index: usize) {
        let range = self.source.range(index..index + 1);
        self.lines += 1;
        match self.pieces.last_mut() {
            Some(Piece::Copied(last)) if last.end == range.start => last.end = range.end,
            _ => self.pieces.push(Piece::Copied(range)),
        }
    }

    /// How many lines it has.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.range().end - piece.range().start).sum()
    }

    /// Whether `log`, a single plain file, holds exactly this.
    pub fn is_in(&self, log: &Log) -> Result<bool> {
        if log.len() != self.size() {
            return Ok(false);
        }
        let mut at = 0;
        self.each(&mut |bytes| {
            let end = at + bytes.len() as u64;
            let same = log.slice(at..end)? == bytes;
            at = end;
            Ok(same)
        })
    }

    /// Writes everything, plain. The outer error is one of reading the source, the inner one of writing.
    pub fn write_to(&self, out: &mut dyn Write) -> Result<io::Result<()>> {
        let mut written = Ok(());
        self.each(&mut |bytes| {
            written = out.write_all(bytes);
            Ok(written.is_ok())
        })?;
        Ok(written)
    }

    /// Visits all bytes, in blocks, until `visit` says no; whether it never did.
    fn each(&self, visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<bool> {
        for piece in &self.pieces {
            let Range { mut start, end } = piece.range().clone();
            while start < end {
                let to = end.min(start + STEP);
                let bytes = match piece {
                    Piece::Copied(_) => Cow::Owned(self.source.slice(start..to)?),
                    Piece::New(_) => self.new.slice(start..to)?,
                };
                if !visit(&bytes)? {
                    return Ok(false);
                }
                start = to;
            }
        }
        Ok(true)
    }

    /// Writes everything in the given form. A compressed log begins with a frame that holds the first line alone.
    pub fn write_as(&self, encoding: Encoding, out: &mut dyn Write) -> Result<io::Result<()>> {
        match encoding {
            Encoding::Plain => self.write_to(out),
            Encoding::Zstd => {
                let mut batches = Batches { out, pending: Vec::new(), first: true };
                match self.write_to(&mut batches)? {
                    Ok(()) => Ok(batches.finish()),
                    failed => Ok(failed),
                }
            }
        }
    }
}

/// Cuts plain text into frames at line ends: the first line alone, then batches.
struct Batches<'a> {
    out: &'a mut dyn Write,
    pending: Vec<u8>,
    first: bool,
}

impl Batches<'_> {
    fn emit(&mut self, len: usize) -> io::Result<()> {
        let frame = frames::compress(&self.pending[..len]).map_err(io::Error::other)?;
        self.pending.drain(..len);
        self.first = false;
        self.out.write_all(&frame)
    }

    fn finish(mut self) -> io::Result<()> {
        if self.pending.is_empty() { Ok(()) } else { self.emit(self.pending.len()) }
    }
}

impl Write for Batches<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.first
            && let Some(newline) = memchr::memchr(b'\n', &self.pending)
        {
            self.emit(newline + 1)?;
        }
        if self.pending.len() as u64 >= BATCH
            && let Some(newline) = memchr::memrchr(b'\n', &self.pending)
        {
            self.emit(newline + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_is_the_same_in_memory_and_in_a_file() {
        let mut new = New::default();
        let mut all = Vec::new();
        for nth in 0..7_u8 {
            let line = vec![b'a' + nth; HELD / 3];
            new.add(&line);
            all.extend(line);
        }
        assert!(new.filed > 0 && !new.held.is_empty(), "some of it lies in the file");
        assert_eq!(new.len(), all.len() as u64);
        let border = new.filed;
        for range in [0..10, border - 5..border, border - 5..border + 5, border..border + 5] {
            let bytes = new.slice(range.clone()).unwrap();
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
            assert_eq!(*bytes, all[start..end], "{range:?}");
        }
        assert_eq!(*new.slice(0..new.len()).unwrap(), all);
    }
}
