//! What is about to be appended to a log, kept until it stands there, so that the part of it which a kill or a crash
//! left behind can be taken back.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    append,
    create::{private_folder, sync_folder},
    holder,
    journal::Journal,
};
use crate::{
    error::{Error, Result},
    log::Stamp,
};

/// One append to one file. Its first line is this; the bytes follow.
#[derive(Debug, Serialize, Deserialize)]
struct Intent {
    /// The log, for people who look; it is known by its inode, which is the name of this file.
    path: PathBuf,
    /// How long the log was.
    before: u64,
    /// How many bytes are to come behind that.
    bytes: usize,
}

/// The place of the one append that may be on its way to a file.
#[derive(Debug)]
pub(super) struct Undo {
    place: PathBuf,
}

impl Undo {
    pub fn of(journal: &Journal, (device, inode): (u64, u64)) -> Self {
        Self { place: journal.folder().join("appends").join(format!("{device:x}-{inode:x}")) }
    }

    /// Says what is about to be written, durable before this returns.
    pub fn begin(&self, path: &Path, before: u64, bytes: &[u8]) -> Result<()> {
        let failed = || Error::io("write", &self.place);
        let intent = Intent { path: path.into(), before, bytes: bytes.len() };
        let mut text =
            serde_json::to_vec(&intent).map_err(|error| Error::internal(error.to_string()))?;
        text.push(b'\n');
        text.extend_from_slice(bytes);
        let folder = self.place.parent().unwrap_or(Path::new("."));
        private_folder(folder).map_err(failed())?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&self.place);
        file.and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_data()))
            .map_err(failed())?;
        sync_folder(folder)
    }

    /// It stands there whole.
    pub fn end(&self) {
        // One that stays is found to be done by the next append.
        let _ = fs::remove_file(&self.place);
    }

    /// Takes back what an append that was cut left of itself in the log at `path`, whose locks are held. Nothing but its
    /// own bytes at the very end is ever cut off.
    pub fn restore(&self, path: &Path, id: &str) -> Result<()> {
        let Some((before, bytes)) = self.begun()? else {
            self.end();
            return Ok(());
        };
        let failed = || Error::io("append to", path);
        let file = append::open(path)?;
        let stamp = Stamp::of(&file).map_err(failed())?;
        let left = match stamp.size.checked_sub(before) {
            Some(more) if more > 0 && more < bytes.len() as u64 => {
                append::behind(&file, before).map_err(failed())?
            }
            _ => Vec::new(),
        };
        if !left.is_empty() && bytes.starts_with(&left) {
            if let Some(holder) = holder(stamp) {
                return Err(Error::SessionLocked { id: id.into(), holder });
            }
            file.set_len(before).and_then(|()| file.sync_data()).map_err(failed())?;
        }
        self.end();
        Ok(())
    }

    /// Where the append began, and what was to be written; none where that was not said to its end.
    fn begun(&self) -> Result<Option<(u64, Vec<u8>)>> {
        let text = match fs::read(&self.place) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &self.place)(error)),
        };
        let end = memchr::memchr(b'\n', &text).unwrap_or(0);
        let intent = serde_json::from_slice::<Intent>(&text[..end]).ok();
        let bytes = text.get(end + 1..).unwrap_or_default();
        Ok(intent
            .filter(|intent| intent.bytes == bytes.len())
            .map(|intent| (intent.before, bytes.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "{\"a\":1}\n";
    const OURS: &[u8] = b"{\"b\":2}\n";

    /// What is left of a log that ends with `after`, once `hold` has looked at it, when `said` of the append was kept.
    fn held(after: &str, said: impl Fn(&mut Vec<u8>)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        fs::write(&path, format!("{BEFORE}{after}")).unwrap();
        let journal = Journal::new(&folder.path().join("state"));
        let undo = Undo::of(&journal, Stamp::of(&fs::File::open(&path).unwrap()).unwrap().inode);
        undo.begin(&path, BEFORE.len() as u64, OURS).unwrap();
        let mut text = fs::read(&undo.place).unwrap();
        said(&mut text);
        fs::write(&undo.place, text).unwrap();
        super::super::hold(&path, None, "id", &journal).unwrap();
        assert!(!undo.place.exists(), "what was looked at is done with");
        let left = fs::read_to_string(&path).unwrap();
        left.strip_prefix(BEFORE).unwrap().to_owned()
    }

    #[test]
    fn only_a_part_of_our_own_line_at_the_end_is_taken_back() {
        let whole = |_: &mut Vec<u8>| {};
        assert_eq!(held("", whole), "");
        assert_eq!(held("{\"b\"", whole), "");
        assert_eq!(held("{\"b\":2}", whole), "", "without its line end it is no line yet");
        assert_eq!(held("{\"b\":2}\n", whole), "{\"b\":2}\n");
        assert_eq!(held("{\"b\"{\"c\":3}\n", whole), "{\"b\"{\"c\":3}\n", "somebody else's line");
        assert_eq!(held("{\"c\"", whole), "{\"c\"", "somebody else's write in progress");
        assert_eq!(held("{\"b\":2}\n{\"c\"", whole), "{\"b\":2}\n{\"c\"");
    }

    #[test]
    fn what_was_not_said_to_its_end_was_not_begun() {
        assert_eq!(held("{\"b\"", |text| text.truncate(text.len() - 1)), "{\"b\"");
        assert_eq!(held("{\"b\"", Vec::clear), "{\"b\"");
        assert_eq!(held("{\"b\"", |text| text.truncate(5)), "{\"b\"");
    }
}
