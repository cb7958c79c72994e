//! A log not yet written: spans of another log and new lines, in order.

use std::{
    io::{self, Write},
    ops::Range,
};

use super::{Encoding, Log, frames};
use crate::error::Result;

/// How much plain text goes into one frame of a compressed log.
const BATCH: u64 = 1024 * 1024;

/// One piece of a draft.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Addresses of the source, copied as they are; whole lines with their line ends.
    Copied(Range<u64>),
    /// New bytes; whole lines with their line ends.
    New(Vec<u8>),
}

/// What a new log will hold.
#[derive(Debug)]
pub struct Draft<'a> {
    source: &'a Log,
    pieces: Vec<Piece>,
    lines: usize,
}

impl<'a> Draft<'a> {
    /// An empty draft whose spans are taken from `source`.
    #[must_use]
    pub fn of(source: &'a Log) -> Self {
        Self { source, pieces: Vec::new(), lines: 0 }
    }

    /// Adds one new line; `line` has no line end.
    pub fn line(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.lines += 1;
        self.pieces.push(Piece::New(line));
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
        let size = |piece: &Piece| match piece {
            Piece::Copied(range) => range.end - range.start,
            Piece::New(bytes) => bytes.len() as u64,
        };
        self.pieces.iter().map(size).sum()
    }

    /// Whether `log`, a single plain file, holds exactly this.
    pub fn is_in(&self, log: &Log) -> Result<bool> {
        let mut at = 0;
        if log.len() != self.size() {
            return Ok(false);
        }
        for piece in &self.pieces {
            match piece {
                Piece::New(bytes) => {
                    let end = at + bytes.len() as u64;
                    if log.slice(at..end)? != *bytes {
                        return Ok(false);
                    }
                    at = end;
                }
                Piece::Copied(range) => {
                    let mut from = range.start;
                    while from < range.end {
                        let to = range.end.min(from + BATCH);
                        let end = at + (to - from);
                        if self.source.slice(from..to)? != log.slice(at..end)? {
                            return Ok(false);
                        }
                        (from, at) = (to, end);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Writes everything, plain. The outer error is one of reading the source, the inner one of writing.
    pub fn write_to(&self, out: &mut dyn Write) -> Result<io::Result<()>> {
        for piece in &self.pieces {
            let written = match piece {
                Piece::Copied(range) => self.source.copy(range.clone(), out)?,
                Piece::New(bytes) => out.write_all(bytes),
            };
            if written.is_err() {
                return Ok(written);
            }
        }
        Ok(Ok(()))
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
