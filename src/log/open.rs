//! Opening: plain files, chains of zstd frames, standard input. The size is taken once.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufRead, BufReader, Read, Seek, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use rustix::fs::{Mode, OFlags};

use super::{Log, Part, frames};
use crate::{
    error::{Error, Result},
    finding::{Code, Finding},
};

/// How a log's bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Plain,
    /// As a chain of zstd frames, which is the default form of DSH.
    Zstd,
}

/// What tells whether a file is still the one that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The device and inode.
    pub inode: (u64, u64),
    /// Its size in bytes, as stored.
    pub size: u64,
    /// When it was last written, in nanoseconds.
    pub mtime: i128,
    /// Owner, group and others' rights.
    pub mode: u32,
}

impl Stamp {
    /// The stamp of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        let mtime = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
        let (inode, size) = ((meta.dev(), meta.ino()), meta.size());
        Self { inode, size, mtime, mode: meta.mode() & 0o7777 }
    }
}

impl Log {
    /// Opens the file at `path` for reading only.
    pub fn open(path: &Path) -> Result<Self> {
        // Opening a pipe without a writer would wait for ever, if it were not for this flag.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map(File::from);
        let file = opened.map_err(|error| match fs::metadata(path) {
            Ok(meta) if !meta.is_file() => Error::NotAFile(path.into()),
            _ => Error::io("read", path)(error.into()),
        })?;
        let meta = file.metadata().map_err(Error::io("read", path))?;
        if !meta.is_file() {
            return Err(Error::NotAFile(path.into()));
        }
        Self::of(file, Stamp::from(&meta), Some(path))
    }

    /// Reads all of `input` (standard input) into a nameless temporary file first.
    pub fn spool(mut input: impl Read) -> Result<Self> {
        let mut file = tempfile::tempfile().map_err(Error::io("make", std::env::temp_dir()))?;
        io::copy(&mut input, &mut file).map_err(Error::io("read", "-"))?;
        let stamp = Stamp::of(&file).map_err(Error::io("read", "-"))?;
        Self::of(file, stamp, None)
    }

    fn of(mut file: File, stamp: Stamp, path: Option<&Path>) -> Result<Self> {
        let failed = || Error::io("read", path.unwrap_or(Path::new("-")));
        let mut magic = [0; 4];
        // What has no size has no bytes; some files of the system never give any, and are waited for in vain.
        let got = if stamp.size == 0 { 0 } else { file.read_at(&mut magic, 0).map_err(failed())? };
        let mut findings = Vec::new();
        let (file, len, encoding) = if got == 4 && frames::is_magic(magic) {
            file.rewind().map_err(failed())?;
            let (plain, len) = unpack(file.take(stamp.size), &mut findings).map_err(failed())?;
            (plain, len, Encoding::Zstd)
        } else {
            if magic.starts_with(b"\xEF\xBB\xBF") {
                findings
                    .push(Finding::new(Code::Bom, "the file begins with a byte order mark").on(1));
            }
            (file, stamp.size, Encoding::Plain)
        };
        let part = Part {
            file,
            path: path.map(Into::into),
            stamp,
            encoding,
            base: 0,
            len,
            first_line: 0,
            findings,
        };
        Ok(Self {
            parts: vec![part],
            starts: Vec::new(),
            digests: None,
            ahead: None,
            tee: None,
            end: 0,
            excerpt: false,
            mended: false,
            skipped: (0, 0),
        })
    }
}

/// Decodes a chain of frames into a nameless temporary file, so that lines can be read again without decoding all
/// that stands before them, and memory stays small whatever the size.
fn unpack(packed: impl Read, findings: &mut Vec<Finding>) -> io::Result<(File, u64)> {
    let mut plain = tempfile::tempfile()?;
    let mut input = BufReader::with_capacity(super::BLOCK, packed);
    let mut at = 0;
    let mut len = 0;
    while !input.fill_buf()?.is_empty() {
        let frame = frames::decode(&mut input, &mut plain)?;
        if matches!(frame.fault, Some(frames::Fault::TooLarge)) {
            // What it begins with is not the log's either.
            plain.set_len(len)?;
            let message = format!(
                "the frame at byte {at} holds more than 256 MiB and than 1,000 times its own size"
            );
            let finding = Finding::new(Code::RecordTooLarge, message);
            findings.push(Finding { byte: Some(at), ..finding });
            break;
        }
        len += frame.decoded;
        match frame.fault {
            None | Some(frames::Fault::TooLarge) => at += frame.encoded,
            Some(frames::Fault::Incomplete) => {
                let message =
                    "the last frame is not complete: a write in progress, or one that was cut";
                let finding = Finding { byte: Some(at), ..Finding::new(Code::TornTail, message) };
                findings.push(finding);
                break;
            }
            Some(frames::Fault::Corrupt(why)) => {
                let message = format!("the frame at byte {at} does not decode: {why}");
                findings
                    .push(Finding { byte: Some(at), ..Finding::new(Code::FrameCorrupt, message) });
                break;
            }
        }
    }
    plain.flush()?;
    Ok((plain, len))
}
