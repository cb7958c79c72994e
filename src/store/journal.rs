//! `lineage.jsonl`: what was made of what, in steps, so that a crash leaves something to finish and never something
//! done twice. Nothing in a client's log depends on it.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{append::write_whole, create::private_folder};
use crate::error::{Error, Result};

/// How far an operation came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// About to write.
    Prepared,
    /// Written and durable.
    Committed,
}

/// What an operation wrote: a child, or a line in a parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// The session.
    pub id: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The note's id, for a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One step of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub v: u32,
    /// How far it came.
    pub state: State,
    /// `fork`, `side` or `merge`.
    pub op: String,
    /// When the operation began.
    pub at: DateTime<Utc>,
    /// The version of sessctl.
    pub tool: String,
    /// The request, if it had an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What was asked for; the same id with another request is a conflict.
    pub request: Map<String, Value>,
    /// The session that was read: id, path, format.
    pub source: Map<String, Value>,
    /// Where it was cut, at both ends, and the hash of the seed.
    pub boundary: Map<String, Value>,
    /// What was written.
    pub written: Written,
}

impl Record {
    /// The side session whose note of that id this step has brought into its parent.
    #[must_use]
    pub fn merged(&self, note: &str) -> Option<&str> {
        let done = self.state == State::Committed && self.written.note.as_deref() == Some(note);
        self.source.get("id")?.as_str().filter(|_| done)
    }
}

/// The journal of one state folder.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The journal in `folder`; nothing is made before something is written.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join("lineage.jsonl") }
    }

    /// The state folder.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Every step that can be read, in order. A step that was cut by a crash was never one.
    pub fn records(&self) -> Result<Vec<Record>> {
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(mut file) => {
                file.read_to_string(&mut text).map_err(Error::io("read", &self.path))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &self.path)(error)),
        };
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// The last step of the request with that id.
    pub fn request(&self, id: &str) -> Result<Option<Record>> {
        Ok(self
            .records()?
            .into_iter()
            .rev()
            .find(|record| record.request_id.as_deref() == Some(id)))
    }

    /// Adds a step, durable before this returns.
    pub fn add(&self, record: &Record) -> Result<()> {
        let failed = || Error::io("write", &self.path);
        let mut file = open_locked(&self.path)?;
        let mut line =
            serde_json::to_vec(record).map_err(|error| Error::internal(error.to_string()))?;
        line.push(b'\n');
        if ends_torn(&mut file).map_err(failed())? {
            line.insert(0, b'\n');
        }
        let before = file.metadata().map_err(failed())?.len();
        write_whole(&file, &self.path, &line, before)
    }

    /// Keeps two runs with one request id apart, until it is dropped.
    pub fn lock(&self, request_id: &str) -> Result<Lock> {
        use sha2::{Digest, Sha256};
        let name = crate::format::json::hex(&Sha256::digest(request_id)[..16]);
        let path = self.path.with_file_name("requests").join(name);
        loop {
            let file = open_locked(&path)?;
            // Who had it before may have taken the file away while we waited for it.
            let own = file.metadata().map_err(Error::io("lock", &path))?;
            if fs::metadata(&path).is_ok_and(|there| there.ino() == own.ino()) {
                return Ok(Lock { file, away: Some(path) });
            }
        }
    }

    /// Keeps two children apart from the choice of title and id until both are in the store.
    pub fn lock_births(&self) -> Result<Lock> {
        let file = open_locked(&self.path.with_file_name("births.lock"))?;
        Ok(Lock { file, away: None })
    }
}

/// A lock that is let go when this is dropped, and then leaves no file behind that it alone was made for.
#[derive(Debug)]
pub struct Lock {
    file: File,
    away: Option<PathBuf>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(path) = &self.away {
            let _ = fs::remove_file(path);
        }
        let _ = self.file.unlock();
    }
}

/// A file of ours, made if it is not there, and locked until it is dropped.
pub(super) fn open_locked(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent() {
        private_folder(folder).map_err(Error::io("make", folder))?;
    }
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
    let file = file.map_err(Error::io("write", path))?;
    file.lock().map_err(Error::io("lock", path))?;
    Ok(file)
}

/// Whether the last line was cut by a crash.
pub(super) fn ends_torn(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(std::io::SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
