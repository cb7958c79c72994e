//! A log not yet written: spans of another log and new lines, in order.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Write},
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::{BLOCK, Encoding, Log, Splice, frames};
use crate::error::{Error, Result};

/// How much plain text goes into one frame of a compressed log.
const BATCH: u64 = 1024 * 1024;

/// How much is read and written at once.
const STEP: u64 = 512 * 1024;

/// One step in so many is read back. What was written is known; that the system put it where it belongs is what reading
/// back shows, and a file that went wrong would not go wrong in one step alone.
const SAMPLE: u64 = 16;

/// How much of the new lines is kept in memory.
const HELD: usize = 4 * 1024 * 1024;

/// One piece of a draft: whole lines with their line ends.
#[derive(Clone, Debug)]
enum Piece {
    /// Lines of the source, copied as they are.
    Copied(Range<usize>),
    /// A range of the new bytes.
    New(Range<u64>),
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
    /// Where that is made, if it can be made there.
    folder: Option<PathBuf>,
    file: Option<File>,
    /// Whether it was made there.
    at_home: bool,
    filed: u64,
    held: Vec<u8>,
}

impl New {
    fn len(&self) -> u64 {
        self.filed + self.held.len() as u64
    }

    fn add(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(HELD) {
            self.held.extend_from_slice(bytes);
            // Whole blocks, for the reason that a tee has.
            let whole = self.held.len() - self.held.len() % BLOCK;
            if self.held.len() >= HELD && self.put_away(whole).is_ok() {
                self.filed += whole as u64;
                self.held.drain(..whole);
            } // Where no file can be written, memory must do.
        }
    }

    fn make(&mut self) -> io::Result<File> {
        let folder = self.folder.as_deref();
        let at_home = folder.and_then(|folder| tempfile::tempfile_in(folder).ok());
        self.at_home = at_home.is_some();
        at_home.map_or_else(tempfile::tempfile, Ok)
    }

    fn put_away(&mut self, len: usize) -> io::Result<()> {
        let file = self.file.take().map_or_else(|| self.make(), Ok)?;
        let file = self.file.insert(file);
        file.write_all_at(&self.held[..len], self.filed)?;
        let mut back = vec![0; BLOCK];
        file.read_exact_at(&mut back, self.filed)?;
        if back == self.held[..BLOCK] { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
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

    /// The same, which will lie in `folder`: what is put down on the way is put down there.
    #[must_use]
    pub fn for_folder(mut self, folder: Option<&Path>) -> Self {
        self.new.folder = folder.map(Into::into);
        self
    }

    /// Adds one new line; `line` has no line end.
    pub fn line(&mut self, line: &[u8]) {
        self.put([line]);
    }

    /// Adds `line` of the source with some of it replaced; it has no line end.
    pub fn spliced(&mut self, line: &[u8], splice: &Splice) {
        self.put(splice.pieces(line));
    }

    fn put<'b>(&mut self, pieces: impl IntoIterator<Item = &'b [u8]>) {
        let start = self.new.len();
        pieces.into_iter().for_each(|piece| self.new.add(piece));
        self.new.add(b"\n");
        let end = self.new.len();
        self.lines += 1;
        match self.pieces.last_mut() {
            Some(Piece::New(last)) if last.end == start => last.end = end,
            _ => self.pieces.push(Piece::New(start..end)),
        }
    }

    /// Adds line `index` of the source as it is.
    pub fn copy(&mut self, index: usize) {
        self.lines += 1;
        match self.pieces.last_mut() {
            Some(Piece::Copied(last)) if last.end == index => last.end = index + 1,
            _ => self.pieces.push(Piece::Copied(index..index + 1)),
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
        self.pieces.iter().map(|piece| self.range(piece)).map(|range| range.end - range.start).sum()
    }

    /// The bytes of a piece: addresses of the source, or a range of the new ones.
    fn range(&self, piece: &Piece) -> Range<u64> {
        match piece {
            Piece::Copied(lines) => self.source.range(lines.clone()),
            Piece::New(range) => range.clone(),
        }
    }

    /// A file without a name that this draft was begun in: by reading a source whose lines are the same, or, where all of
    /// it is new, by being put down.
    #[must_use]
    pub fn begun(&self) -> Option<&File> {
        match self.pieces[..] {
            [Piece::New(_)] => self.new.file.as_ref().filter(|_| self.new.at_home),
            _ => self.source_begun().map(|(file, _)| file),
        }
    }

    /// The file that reading the source has begun, with the lines that stand in it behind the new ones that the draft begins
    /// with.
    fn source_begun(&self) -> Option<(&File, Range<usize>)> {
        let tee = self.source.tee.as_ref()?;
        let [Piece::New(first), Piece::Copied(lines), ..] = &self.pieces[..] else { return None };
        let (file, taken) = tee.behind(first.end - first.start)?;
        if self.source.range(lines.clone()).start != taken.start {
            return None;
        }
        // The last line may have been taken in part.
        let whole = self.source.run(lines.clone(), taken.end - taken.start);
        (self.source.range(whole.clone()).end <= taken.end).then_some((file, whole))
    }

    /// Writes everything to `out`, plain, and proves it: what is copied is what stood there when the source was read, and
    /// what is new and samples of the rest are read back as they were written. `out` is the file that this draft was begun
    /// in, or an empty one. An error of the source, of writing, or that of a proof which does not hold.
    pub fn write_proved(&self, out: &File, path: &Path) -> Result<()> {
        let begun = self.source_begun().filter(|(file, _)| std::ptr::eq(*file, out));
        let begun = begun.map_or(0..0, |(_, lines)| lines);
        let own = self.new.file.as_ref().is_some_and(|file| std::ptr::eq(file, out));
        let mut proof = Proof { out, path, at: 0, steps: 0, step: Vec::new(), back: Vec::new() };
        for piece in &self.pieces {
            match piece {
                Piece::New(range) => {
                    let mut range = range.clone();
                    if own {
                        proof.pass(0..self.new.filed)?;
                        range.start = self.new.filed;
                    }
                    for step in steps(&range) {
                        proof.write(&self.new.slice(step)?, true)?;
                    }
                }
                Piece::Copied(lines) => {
                    let mut first = lines.start;
                    if begun.start == first && !begun.is_empty() {
                        proof.pass(self.source.range(begun.clone()))?;
                        first = begun.end;
                    }
                    while first < lines.end {
                        let run = self.source.run(first..lines.end, STEP);
                        first = run.end;
                        proof.copy(self.source, run)?;
                    }
                }
            }
        }
        proof.ends()
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
        let mut copied = Vec::new();
        for piece in &self.pieces {
            for step in steps(&self.range(piece)) {
                let new;
                let bytes: &[u8] = match piece {
                    Piece::Copied(_) => {
                        self.source.fill(step, &mut copied)?;
                        &copied
                    }
                    Piece::New(_) => {
                        new = self.new.slice(step)?;
                        &new
                    }
                };
                if !visit(bytes)? {
                    return Ok(false);
                }
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

/// A file that is written, and read back in part.
struct Proof<'a> {
    out: &'a File,
    path: &'a Path,
    at: u64,
    /// How many were copied.
    steps: u64,
    /// What is copied.
    step: Vec<u8>,
    back: Vec<u8>,
}

impl Proof<'_> {
    /// Passes over what stands in the file already, and takes away what stands behind that.
    fn pass(&mut self, range: Range<u64>) -> Result<()> {
        self.at += range.end - range.start;
        self.out.set_len(self.at).map_err(Error::io("write", self.path))
    }

    fn copy(&mut self, source: &Log, lines: Range<usize>) -> Result<()> {
        let mut step = std::mem::take(&mut self.step);
        source.fill(source.range(lines.clone()), &mut step)?;
        // Before it is written: nothing else is ever handed to the system.
        if !source.are(lines, &step) {
            return Err(source.changed());
        }
        self.write(&step, self.steps.is_multiple_of(SAMPLE))?;
        self.steps += 1;
        self.step = step;
        Ok(())
    }

    /// Writes `bytes`, and reads them back if that is wanted.
    fn write(&mut self, bytes: &[u8], back: bool) -> Result<()> {
        self.out.write_all_at(bytes, self.at).map_err(Error::io("write", self.path))?;
        if back {
            self.back.resize(bytes.len(), 0);
            let read = self.out.read_exact_at(&mut self.back, self.at);
            read.map_err(Error::io("read again", self.path))?;
            if self.back != bytes {
                return Err(self.fails("it has other bytes"));
            }
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Whether the file has no more than was written.
    fn ends(&self) -> Result<()> {
        let meta = self.out.metadata().map_err(Error::io("write", self.path))?;
        if meta.len() == self.at { Ok(()) } else { Err(self.fails("it has another length")) }
    }

    fn fails(&self, why: &str) -> Error {
        let what = format!("the child did not read back as planned: {why}");
        Error::DurabilityFailed { path: self.path.into(), what }
    }
}

/// `range` in parts that are read and written at once.
fn steps(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let Range { start, end } = range.clone();
    (0..(end - start).div_ceil(STEP)).map(move |nth| {
        let from = start + nth * STEP;
        from..end.min(from + STEP)
    })
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
    use crate::log::{After, Line, Tee};

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

    /// A log of lines of all lengths, read with digests.
    fn source() -> Log {
        let lines = (b'a'..b'a' + 40).map(|byte| vec![byte; usize::from(byte - b'a').pow(2) * 900]);
        let text = lines.collect::<Vec<_>>().join(&b'\n');
        let mut log = Log::spool(std::io::Cursor::new([text, b"\n".to_vec()].concat())).unwrap();
        log.remember();
        log.each(|_| Ok(())).unwrap();
        log
    }

    fn draft(log: &Log) -> Draft<'_> {
        let mut draft = Draft::of(log);
        draft.line(b"header");
        (1..20).for_each(|index| draft.copy(index));
        draft.line(&vec![b'-'; 700_000]);
        (22..40).for_each(|index| draft.copy(index));
        draft.line(b"end");
        draft
    }

    #[test]
    fn what_is_proved_is_what_is_written() {
        let log = source();
        let draft = draft(&log);
        let mut plain = Vec::new();
        draft.write_to(&mut plain).unwrap().unwrap();
        let file = tempfile::tempfile().unwrap();
        draft.write_proved(&file, Path::new("child")).unwrap();
        let mut written = vec![0; plain.len()];
        file.read_exact_at(&mut written, 0).unwrap();
        assert!(written == plain, "the same bytes");
        assert_eq!(plain.len() as u64, draft.size());
        // A file that is not ours alone.
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"x", draft.size()).unwrap();
        let failed = draft.write_proved(&file, Path::new("child")).unwrap_err();
        assert_eq!(failed.code(), "DURABILITY_FAILED");
    }

    #[test]
    fn what_was_begun_while_the_source_was_read_is_finished_in_its_place() {
        let mut log = source();
        let len = log.range(0..log.lines()).end;
        let start = log.range(1..2).start;
        let read = |log: &mut Log, gap: u64, until: usize| {
            log.tee(Tee::new(tempfile::tempfile().unwrap(), gap, start, len));
            let tell = |line: Line<'_>| {
                Ok(if line.index == until { After::Uncopied } else { After::More })
            };
            log.each_until(&mut |_| {}, &mut { tell }).unwrap();
        };
        let gap = "header\n".len() as u64;
        for until in [usize::MAX, 0, 1, 30] {
            read(&mut log, gap, until);
            let draft = draft(&log);
            let mut plain = Vec::new();
            draft.write_to(&mut plain).unwrap().unwrap();
            let begun = draft.begun().expect("there is something");
            draft.write_proved(begun, Path::new("child")).unwrap();
            let mut written = vec![0; plain.len()];
            begun.read_exact_at(&mut written, 0).unwrap();
            assert!(written == plain, "the same bytes");
            assert_eq!(begun.metadata().unwrap().len(), draft.size());
        }
        read(&mut log, gap + 1, usize::MAX);
        assert!(draft(&log).begun().is_none(), "the first line has no room");
    }

    #[test]
    fn what_is_all_new_is_finished_where_it_was_put_down() {
        let log = source();
        let folder = tempfile::tempdir().unwrap();
        let mut draft = Draft::of(&log).for_folder(Some(folder.path()));
        let lines = (b'a'..=b'z').map(|byte| vec![byte; 333_333]);
        lines.clone().for_each(|line| draft.line(&line));
        let begun = draft.begun().expect("some of it was put down");
        draft.write_proved(begun, Path::new("child")).unwrap();
        let mut written = vec![0; usize::try_from(draft.size()).unwrap()];
        begun.read_exact_at(&mut written, 0).unwrap();
        let plain: Vec<u8> = lines.flat_map(|line| [line, b"\n".to_vec()].concat()).collect();
        assert!(written == plain, "the same bytes");
        draft.copy(3);
        assert!(draft.begun().is_none(), "not all of it is new");
    }

    #[test]
    fn a_source_that_says_something_else_now_is_no_source() {
        let log = source();
        log.own().file.write_all_at(b"!", log.range(30..31).start + 5).unwrap();
        let failed = draft(&log).write_proved(&tempfile::tempfile().unwrap(), Path::new("child"));
        assert_eq!(failed.unwrap_err().code(), "SOURCE_CHANGED");
    }
}
