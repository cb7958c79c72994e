//! Bytes and lines. Knows no JSON.
//!
//! A log may be larger than memory, and one line may be many megabytes. So a [`Log`] is open files, their length as it
//! stood when they were opened, and where each line starts; bytes are read in blocks, and read again when a line is
//! copied or a text is unfolded.

mod draft;
mod frames;
mod open;
mod reached;
mod reread;
mod splice;
mod tee;

use std::{
    cell::Cell,
    fs::File,
    hash::Hasher as _,
    io::{self, Write},
    ops::{Deref, DerefMut, Range},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use memmap2::MmapMut;
use twox_hash::{XxHash3_64, XxHash3_128};

pub use draft::Draft;
pub use frames::compress;
pub use open::{Encoding, Stamp};
pub use reached::Reached;
pub use reread::Reread;
pub use splice::Splice;
pub use tee::Tee;

use crate::{
    error::{Error, Result},
    finding::{Code, Finding},
};

/// How much is read at once.
const BLOCK: usize = 256 * 1024;

/// How long lines mostly are, at least: room for where they start is made at once.
const MEAN_LINE: u64 = 2048;

/// The largest space that is kept for the next file.
const KEPT: usize = 4 * BLOCK;

/// From where on what is read together is a long line, which may be most of its log.
const LONG: usize = 8 * BLOCK;

/// How many addresses are set aside for one. Only what is written to takes memory.
const RESERVED: usize = 1 << 30;

thread_local! {
    /// What one file was read into and the next one will be: new memory for each would cost more than small files do.
    static SPACE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Where blocks of a file are read into. It never gets shorter, so that it is not cleared again.
#[derive(Debug)]
struct Space {
    usual: Vec<u8>,
    /// Where long lines are read into: memory in large pages, which are much fewer to be asked for.
    long: Option<MmapMut>,
}

/// The first bytes of a log.
#[derive(Debug)]
pub struct Ahead {
    space: Space,
    len: usize,
}

impl Deref for Ahead {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.space[..self.len]
    }
}

impl Space {
    fn new() -> Self {
        Self { usual: SPACE.take(), long: None }
    }

    /// Makes room for as many bytes, of which there may be `most`: of a long line's room only what is read into it costs.
    fn reach(&mut self, len: usize, most: usize) {
        if self.len() >= len {
            return;
        }
        if len > LONG
            && let Ok(mut long) = MmapMut::map_anon(most.min(RESERVED).max(len))
        {
            // Where the system has none, small ones do.
            #[cfg(target_os = "linux")]
            let _ = long.advise(memmap2::Advice::HugePage);
            long[..self.len()].copy_from_slice(self);
            self.long = Some(long);
            return;
        }
        if let Some(long) = self.long.take() {
            self.usual = long.to_vec();
        }
        self.usual.resize(len, 0);
    }
}

impl Deref for Space {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.long.as_deref().unwrap_or(&self.usual)
    }
}

impl DerefMut for Space {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.long.as_deref_mut().unwrap_or(&mut self.usual)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if self.usual.capacity() <= KEPT {
            SPACE.set(std::mem::take(&mut self.usual));
        }
    }
}

/// The longest line that is read: a span's length is 32 bits wide.
const LONGEST_LINE: usize = u32::MAX as usize - 1;

/// The bytes of a session as they stood when opened. Most logs are one file; one that continues another by reference
/// is a chain of files, read as one run of bytes whose addresses go on from file to file.
#[derive(Debug)]
pub struct Log {
    parts: Vec<Part>,
    /// Where each line starts, filled by [`Log::each`].
    starts: Vec<u64>,
    /// A digest of each line, where [`Log::remember`] asked for them.
    digests: Option<Vec<u64>>,
    /// The first bytes of the session's own file, once they were read and not used.
    ahead: Option<Ahead>,
    /// What takes the lines while they are read.
    tee: Option<Tee>,
    /// Where the last whole line ends.
    end: u64,
    /// Whether lines were taken out of a longer history, so that numbers may be missing.
    excerpt: bool,
    /// Whether bytes behind the last newline count as a line, as they will once a newline is written behind them.
    mended: bool,
    /// How many bytes and lines at its beginning are left out, because an earlier run knows them.
    skipped: (u64, usize),
}

/// The digest of the line in hand, if it is longer than what is read at once: what of it was read last is still near.
#[derive(Default)]
struct Begun(Option<(XxHash3_64, usize)>);

impl Begun {
    /// Takes what was not taken yet of a line that begins like this.
    fn add(&mut self, line: &[u8]) {
        let (hash, len) = self.0.get_or_insert_with(|| (XxHash3_64::new(), 0));
        hash.write(&line[*len..]);
        *len = line.len();
    }

    /// The digest of the whole line; another one may begin.
    fn finish(&mut self, whole: &[u8]) -> u64 {
        let Some((mut hash, len)) = self.0.take() else { return XxHash3_64::oneshot(whole) };
        hash.write(&whole[len..]);
        hash.finish()
    }
}

/// One file of a log.
#[derive(Debug)]
struct Part {
    file: File,
    path: Option<PathBuf>,
    stamp: Stamp,
    encoding: Encoding,
    /// The address of its first byte.
    base: u64,
    /// How many of its bytes belong to the log, decompressed.
    len: u64,
    /// The index of its first line, known once lines were read.
    first_line: usize,
    findings: Vec<Finding>,
}

/// One line in hand: its bytes are borrowed and end before the newline.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Counted from zero through the whole log.
    pub index: usize,
    /// The address of its first byte.
    pub start: u64,
    /// Where `bytes` begin in the line; not at its start when a record was saved from a damaged line.
    pub inset: usize,
    /// The line without its line end.
    pub bytes: &'a [u8],
    /// Whether a carriage return stood before the newline.
    pub crlf: bool,
}

/// What becomes of a log behind a line that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// More is read.
    More,
    /// More is read, but a copy that is made on the way need not go on.
    Uncopied,
    /// Nothing more is read: what follows is as if it were not there.
    Nothing,
}

/// A run of bytes inside one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The line, counted from zero.
    pub line: u32,
    /// The offset from the line's first byte.
    pub at: u32,
    /// How many bytes.
    pub len: u32,
}

impl Line<'_> {
    /// Counted from one, as people count.
    #[must_use]
    pub fn number(&self) -> usize {
        self.index + 1
    }

    /// The span of `part`, which must borrow from this line's own bytes.
    #[must_use]
    pub fn span(&self, part: &[u8]) -> Span {
        let at = (part.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        debug_assert!(at + part.len() <= self.bytes.len(), "a span must lie in its line");
        let at = at + self.inset;
        let narrow = |n: usize| u32::try_from(n).unwrap_or(0);
        Span { line: narrow(self.index), at: narrow(at), len: narrow(part.len()) }
    }
}

impl Log {
    /// The log that begins with the first bytes of other logs, outermost first, and goes on with this one.
    #[must_use]
    pub fn behind(self, bases: Vec<(Self, u64)>) -> Self {
        let mut parts = Vec::with_capacity(bases.len() + 1);
        let mut address = 0;
        for (log, len) in bases {
            for mut part in log.parts {
                // What is wrong behind the prefix is of no concern here.
                part.findings.retain(|finding| finding.code == Code::Bom);
                (part.base, part.len) = (address, len.min(part.len));
                address += part.len;
                parts.push(part);
            }
        }
        for mut part in self.parts {
            part.base = address;
            address += part.len;
            parts.push(part);
        }
        Self { parts, ..self }
    }

    /// Adds what is wrong with the log as a whole.
    pub fn find(&mut self, finding: Finding) {
        if let Some(own) = self.parts.last_mut() {
            own.findings.push(finding);
        }
    }

    /// Says that lines were taken out of a longer history.
    #[must_use]
    pub fn excerpted(self) -> Self {
        Self { excerpt: true, ..self }
    }

    /// Whether numbers may be missing because lines were taken out.
    #[must_use]
    pub fn is_excerpt(&self) -> bool {
        self.excerpt
    }

    /// Asks for a digest of each line, so that a copy can be compared with what was read.
    pub fn remember(&mut self) {
        self.digests = Some(Vec::new());
    }

    /// One digest for `lines` in order, if those of single lines are there.
    #[must_use]
    pub fn digest_of(&self, lines: &[u32]) -> Option<u128> {
        let digests = self.digests.as_ref()?;
        let mut hash = XxHash3_128::new();
        for line in lines {
            hash.write(&digests.get(*line as usize)?.to_le_bytes());
        }
        Some(hash.finish_128())
    }

    /// As many of `lines` as have at most `size` bytes together, but at least one.
    fn run(&self, lines: Range<usize>, size: u64) -> Range<usize> {
        let limit = self.range(lines.clone()).start + size;
        let fit = self.starts[lines.clone()].partition_point(|start| *start <= limit);
        // The last one that starts below the limit ends behind it, unless all fit.
        let all = self.range(lines.clone()).end <= limit;
        let fit = if all { lines.len() } else { fit.saturating_sub(1).max(1) };
        lines.start..lines.start + fit
    }

    /// Whether `bytes` are what `lines` were when they were read, as far as [`Log::remember`] was asked to know.
    fn are(&self, lines: Range<usize>, bytes: &[u8]) -> bool {
        let Some(digests) = &self.digests else { return true };
        let mut rest = bytes;
        for line in lines {
            let Range { start, end } = self.range(line..line + 1);
            let len = usize::try_from(end - start).unwrap_or(usize::MAX);
            let Some((own, behind)) = rest.split_at_checked(len) else { return false };
            if digests.get(line) != Some(&XxHash3_64::oneshot(own)) {
                return false;
            }
            rest = behind;
        }
        rest.is_empty()
    }

    /// The error of a log that says something else than it did.
    fn changed(&self) -> Error {
        let path = self.path().unwrap_or(Path::new("-")).into();
        Error::SourceChanged { path, what: "it has other bytes than it had" }
    }

    /// Puts the bytes at a range of addresses into `bytes`.
    fn fill(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<()> {
        let len = usize::try_from(range.end - range.start)
            .map_err(|_| Error::internal("a span beyond memory"))?;
        bytes.resize(len, 0);
        self.read_exact(range.start, bytes)
    }

    /// Reads every whole line in order and remembers where it starts.
    pub fn each(&mut self, mut visit: impl FnMut(Line<'_>) -> Result<()>) -> Result<()> {
        self.each_until(&mut |_| {}, &mut |line| visit(line).map(|()| After::More))
    }

    /// Has `tee` take the lines when they are read, as far as who reads them says so.
    pub fn tee(&mut self, tee: Tee) {
        self.tee = Some(tee);
    }

    /// Reads whole lines in order until `visit` has seen enough; `enter` is told where each file begins, and whether it
    /// is the session's own.
    pub fn each_until(
        &mut self,
        enter: &mut dyn FnMut(bool),
        visit: &mut dyn FnMut(Line<'_>) -> Result<After>,
    ) -> Result<()> {
        let (skipped, lines) = self.skipped;
        self.starts.clear();
        self.starts.resize(lines, 0);
        if let Some(digests) = &mut self.digests {
            digests.clear();
        }
        self.end = skipped;
        let parts = self.parts.len();
        for part in 0..parts {
            self.parts[part].first_line = self.starts.len() - lines;
            enter(part + 1 == parts);
            let (base, len) = (self.parts[part].base, self.parts[part].len);
            if !self.each_in(base + skipped, base + len, visit)? {
                self.parts[part].len = self.end - base;
                self.parts.truncate(part + 1);
                break;
            }
        }
        Ok(())
    }

    fn each_in(
        &mut self,
        from: u64,
        to: u64,
        visit: &mut dyn FnMut(Line<'_>) -> Result<After>,
    ) -> Result<bool> {
        // What was read to tell whose the log is need not be read again.
        let own = from == self.own().base;
        let ahead = self.ahead.take_if(|_| own);
        let (mut space, mut held) = match ahead {
            Some(Ahead { space, len }) => {
                (space, len.min(usize::try_from(to - from).unwrap_or(usize::MAX)))
            }
            None => (Space::new(), 0),
        };
        if let Some(tee) = &mut self.tee {
            tee.take(from, &space[..held]);
        }
        self.starts.reserve(usize::try_from((to - from) / MEAN_LINE).unwrap_or(0));
        let mut buffer_at = from; // the address of space[0], always the start of a line
        let mut searched = 0;
        let mut begun = Begun::default();
        loop {
            let buffer = &space[..held];
            let first = buffer_at == from && self.skipped.0 == 0;
            let mut bom = if first && buffer.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
            let mut start = 0;
            for newline in memchr::memchr_iter(b'\n', &buffer[searched..]).map(|at| at + searched) {
                let crlf = newline > start && buffer[newline - 1] == b'\r';
                let address = buffer_at + start as u64;
                let first = std::mem::take(&mut bom).min(newline - start);
                let bytes = &buffer[start + first..newline - usize::from(crlf)];
                let line = Line {
                    index: self.starts.len(),
                    start: address + first as u64,
                    inset: 0,
                    bytes,
                    crlf,
                };
                self.line_at(line.start, &buffer[start + first..=newline], &mut begun);
                self.end = buffer_at + newline as u64 + 1;
                let after = visit(line)?;
                if let Some(tee) = self.tee.as_mut().filter(|_| after == After::Uncopied) {
                    tee.stop();
                }
                start = newline + 1;
                if after == After::Nothing {
                    return Ok(false);
                }
            }
            space.copy_within(start..held, 0);
            held -= start;
            buffer_at += start as u64;
            searched = held;

            let next = buffer_at + held as u64;
            let block = self.tee.as_ref().map_or(BLOCK as u64, |tee| tee.want(next));
            let want = usize::try_from(block.min(to - next)).unwrap_or(BLOCK);
            if want == 0 && self.mended && to == self.own().base + self.own().len && held > 0 {
                let index = self.starts.len();
                let bytes = &space[..held];
                self.line_at(buffer_at, bytes, &mut begun);
                self.end = next;
                let line = Line { index, start: buffer_at, inset: 0, bytes, crlf: false };
                return visit(line).map(|after| after != After::Nothing);
            }
            if want == 0 {
                return Ok(true);
            }
            if held + want > LONGEST_LINE {
                let finding = Finding::new(Code::RecordTooLarge, "a line of 4 GiB or more");
                return Err(finding.on(self.starts.len() + 1).into());
            }
            if held >= BLOCK && self.digests.is_some() && buffer_at > from {
                begun.add(&space[..held]);
            }
            space.reach(held + want, usize::try_from(to - buffer_at).unwrap_or(usize::MAX));
            self.read_exact(next, &mut space[held..held + want])?;
            if let Some(tee) = &mut self.tee {
                tee.take(next, &space[held..held + want]);
            }
            held += want;
        }
    }

    /// Takes note of a line, of which `whole` are all bytes.
    fn line_at(&mut self, start: u64, whole: &[u8], begun: &mut Begun) {
        self.starts.push(start);
        if let Some(digests) = &mut self.digests {
            digests.push(begun.finish(whole));
        }
    }

    /// Forgets where its lines are.
    pub(crate) fn shed(&mut self) {
        (self.starts, self.digests) = (Vec::new(), None);
    }

    /// How many whole lines there are.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The addresses of lines `lines`, line ends included.
    #[must_use]
    pub fn range(&self, lines: Range<usize>) -> Range<u64> {
        let start = |index: usize| self.starts.get(index).copied().unwrap_or(self.end);
        start(lines.start)..start(lines.end)
    }

    /// How many bytes a line has, its line end included.
    #[must_use]
    pub fn size_of(&self, line: u32) -> u64 {
        let Range { start, end } = self.range(line as usize..line as usize + 1);
        end - start
    }

    /// One line again, without its line end.
    pub fn line(&self, index: usize) -> Result<Vec<u8>> {
        let Range { start, end } = self.range(index..index + 1);
        let mut bytes = self.bytes(start, end - start)?;
        bytes.truncate(without_end(&bytes).len());
        Ok(bytes)
    }

    /// Its lines once more, for those who want many of them.
    #[must_use]
    pub fn reread(&self) -> Reread<'_> {
        Reread::of(self)
    }

    /// The first bytes of the session's own file, at most `len`.
    pub fn head(&self, len: u64) -> Result<Ahead> {
        let len = usize::try_from(len.min(self.own().len)).unwrap_or(usize::MAX);
        let mut space = Space::new();
        space.reach(len, len);
        self.read_exact(self.own().base, &mut space[..len])?;
        Ok(Ahead { space, len })
    }

    /// The index of the first line of the session's own file.
    #[must_use]
    pub fn own_first(&self) -> usize {
        self.own().first_line
    }

    /// Gives back what [`Log::head`] gave, so that it is not read twice.
    pub fn put_back(&mut self, head: Ahead) {
        self.ahead = Some(head);
    }

    /// How many files it is made of.
    #[must_use]
    pub fn files(&self) -> usize {
        self.parts.len()
    }

    /// The file that holds line `index`, and how many of its bytes end with that line.
    #[must_use]
    pub fn end_of(&self, index: usize) -> (Option<&Path>, u64) {
        let part = self.part_of(index);
        // The start of a line is behind a byte order mark, its end never before one.
        let end = match self.starts.get(index + 1) {
            Some(next) if *next < part.base + part.len => *next,
            _ if std::ptr::eq(part, self.own()) => self.end,
            _ => part.base + part.len,
        };
        (part.path.as_deref(), end - part.base)
    }

    /// Whether the first `len` bytes of the only file end with a line.
    pub fn ends_line_at(&self, len: u64) -> Result<bool> {
        Ok(len > 0 && len <= self.own().len && self.bytes(self.own().base + len - 1, 1)? == b"\n")
    }

    /// How many bytes the session's own file has, decompressed.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.own().len
    }

    /// Whether the session's own file has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a span.
    pub fn text(&self, span: Span) -> Result<Vec<u8>> {
        let start = self.range(span.line as usize..span.line as usize + 1).start;
        self.bytes(start + u64::from(span.at), u64::from(span.len))
    }

    /// The bytes at a range of addresses.
    pub fn slice(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.bytes(range.start, range.end - range.start)
    }

    fn bytes(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let mut bytes =
            vec![0; usize::try_from(len).map_err(|_| Error::internal("a span beyond memory"))?];
        self.read_exact(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies every byte to `out`.
    pub fn copy_all(&self, out: &mut dyn Write) -> Result<io::Result<()>> {
        let mut buffer = vec![0; BLOCK];
        let (mut at, end) = (0, self.own().base + self.own().len);
        while at < end {
            let len = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
            self.read_exact(at, &mut buffer[..len])?;
            if let Err(error) = out.write_all(&buffer[..len]) {
                return Ok(Err(error));
            }
            at += len as u64;
        }
        Ok(Ok(()))
    }

    fn read_exact(&self, mut address: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let part = self.part_at(address);
            let left = (part.base + part.len).saturating_sub(address);
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
            let (head, rest) = out.split_at_mut(len);
            let read = if len == 0 {
                Err(io::ErrorKind::UnexpectedEof.into())
            } else {
                part.file.read_exact_at(head, address - part.base)
            };
            read.map_err(|error| part.unreadable(error))?;
            address += len as u64;
            out = rest;
        }
        Ok(())
    }

    fn part_at(&self, address: u64) -> &Part {
        let part = self.parts.partition_point(|part| part.base <= address).saturating_sub(1);
        &self.parts[part]
    }

    /// The file that holds line `index`, and its number there, counted from one.
    #[must_use]
    pub fn place(&self, index: usize) -> (Option<&Path>, usize) {
        let part = self.part_of(index);
        (part.path.as_deref(), index - part.first_line + 1)
    }

    fn part_of(&self, index: usize) -> &Part {
        let part = self.parts.partition_point(|part| part.first_line <= index).saturating_sub(1);
        &self.parts[part]
    }

    /// The bytes behind the last newline: where they start and how many.
    #[must_use]
    pub fn torn_tail(&self) -> Option<(u64, u64)> {
        let len = self.own().base + self.own().len;
        (len > self.end).then(|| (self.end.saturating_sub(self.own().base), len - self.end))
    }

    /// The bytes behind the last newline.
    pub fn tail(&self) -> Result<Vec<u8>> {
        let len = self.own().base + self.own().len;
        self.bytes(self.end, len - self.end)
    }

    /// The same log, in which the bytes behind the last newline count as a line.
    #[must_use]
    pub fn mended(self) -> Self {
        Self { mended: true, ..self }
    }

    /// The file that the session's own new lines go to: the last of the chain.
    fn own(&self) -> &Part {
        self.parts.last().expect("a log is made of at least one file")
    }

    /// Where the log lies; none for standard input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.own().path.as_deref()
    }

    /// What the file looked like when it was opened.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.own().stamp
    }

    /// How the file's bytes are stored.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.own().encoding
    }

    /// What was wrong with the bytes below the lines: frames that do not decode, a byte order mark.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.parts.iter().flat_map(|part| &part.findings)
    }
}

/// A line without its line end.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

impl Part {
    /// A file that grew shorter while we read it is another log than the one that was opened.
    fn unreadable(&self, source: io::Error) -> Error {
        let path = self.path.clone().unwrap_or_else(|| "-".into());
        match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::SourceChanged { path, what: "it is shorter than it was" }
            }
            _ => Error::Io { action: "read", path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_and_short_ones_are_read_as_they_stand() {
        let lens = [10, LONG / 2, 3 * LONG, 0, 5, 9 * LONG, BLOCK, 1];
        let line = |(nth, len): (u8, usize)| vec![b'a' + nth; len];
        let lines: Vec<Vec<u8>> = (0..).zip(lens).map(line).collect();
        let text = [lines.join(&b'\n'), b"\ntail".to_vec()].concat();
        let mut log = Log::spool(io::Cursor::new(text)).unwrap();
        for _ in 0..2 {
            let mut next = lines.iter();
            log.each(|line| {
                assert!(Some(line.bytes) == next.next().map(Vec::as_slice), "line {}", line.index);
                Ok(())
            })
            .unwrap();
            assert_eq!(next.next(), None);
        }
        let mut again = log.reread();
        for nth in [5, 0, 2, 7, 5, 6, 1] {
            assert!(again.line(nth).unwrap() == lines[nth], "line {nth}");
        }
        // More than was thought of.
        let mut space = Space::new();
        for len in [7, LONG + 1, 2 * LONG, 5 * LONG] {
            space.reach(len, len);
            space[len - 1] = 7;
            assert_eq!(space.iter().position(|byte| *byte == 7), Some(len - 1));
            space[len - 1] = 0;
        }
    }
}
