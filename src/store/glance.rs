//! What the first and the last bytes of a log tell: enough to find and to list sessions.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    fact::{Carrier, Fact, Facts, Header, Keep, Stated},
    format::{self, Format, Head, Reader},
    log::Line,
};

/// How much is read at either end.
const END: u64 = 64 * 1024;

/// How much of a compressed log is decoded to be glanced at.
const PACKED: u64 = 16 * 1024 * 1024;

/// A log as far as its ends tell.
#[derive(Debug)]
pub struct Glance {
    /// Where it lies.
    pub path: PathBuf,
    /// The client's name.
    pub format: &'static str,
    /// The header.
    pub header: Header,
    /// The title, or what the client would show in its place.
    pub title: Option<String>,
    /// Whether the framing of a side session was seen that is no copy of the parent's.
    pub framed: bool,
    /// Size in bytes, as stored.
    pub size: u64,
    /// When it was last written, in seconds.
    pub mtime: i64,
}

impl Glance {
    /// Looks at the log at `path`. None where no client is known to have written it.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        // What has no size has no header, and may be a file of the system that is waited for in vain.
        let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() > 0)?;
        let (head, tail) = ends(path).ok()?;
        let format = format::of(&Head(&head))?;
        let mut facts = Facts::new(Keep::Path);
        let mut reader = format.reader();
        state(&head, reader.as_mut(), &mut facts);
        state(&tail, reader.as_mut(), &mut facts);
        format.settle(&mut facts, format.layout().name_id(path).as_deref());
        let framing = |stated: &&Stated| matches!(stated.fact, Fact::Carried(Carrier::Framing, _));
        let copied = |line| facts.of(line).any(|fact| matches!(fact, Fact::Copied(_)));
        let framed = facts.all().iter().filter(framing).any(|stated| !copied(stated.line));
        let title = facts
            .title
            .take()
            .or_else(|| facts.first_prompt.as_deref().map(crate::session::headline));
        let mut header = facts.header?;
        format.layout().placed(path, &mut header);
        Some(Self {
            path: path.into(),
            format: format.name(),
            header,
            title,
            framed,
            size: meta.size(),
            mtime: meta.mtime(),
        })
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> Option<&'static dyn Format> {
        format::by_name(self.format)
    }
}

/// States what whole lines can be read; the rest does not matter here.
fn state(bytes: &[u8], reader: &mut dyn Reader, facts: &mut Facts) {
    let Some(end) = memchr::memrchr(b'\n', bytes) else { return };
    for (index, bytes) in bytes[..end].split(|byte| *byte == b'\n').enumerate() {
        let _ = reader.read(&Line { index, start: 0, inset: 0, bytes, crlf: false }, facts);
    }
}

/// The first bytes, and the last ones from a line start on.
fn ends(path: &Path) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(END).read_to_end(&mut head)?;
    if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        file.rewind()?;
        let mut plain = Vec::new();
        // A torn last frame is an error behind everything that was decoded.
        let _ = zstd::stream::read::Decoder::new(file)?.take(PACKED).read_to_end(&mut plain);
        return Ok((plain, Vec::new()));
    }
    let size = file.seek(SeekFrom::End(0))?;
    let from = size.saturating_sub(END).max(head.len() as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(END).read_to_end(&mut tail)?;
    if from > head.len() as u64 {
        let start = memchr::memchr(b'\n', &tail).map_or(tail.len(), |newline| newline + 1);
        tail.drain(..start);
    } else {
        // Both ends meet: a line that crosses the border is whole only when they are joined.
        head.append(&mut tail);
    }
    Ok((head, tail))
}
