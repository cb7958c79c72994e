//! `kept.ndjson.zst`: what was read of logs, for the time when their client has deleted them. One line for each log, as
//! it was read last. The file is only ever replaced as a whole, under a lock.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{
    create::{PRIVATE, sweep, write_over},
    journal::open_locked,
};
use crate::error::{Error, Result};

/// The version of a line.
const VERSION: u32 = 1;

/// A ledger of what was read of logs, in one state folder.
#[derive(Clone, Debug)]
pub struct Kept {
    path: PathBuf,
}

/// A line; `S` is what the log told.
#[derive(Serialize, Deserialize)]
struct Entry<S> {
    v: u32,
    path: Name,
    sheet: S,
}

/// A path; the bytes of one that is no text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

impl Name {
    fn of(path: &Path) -> Self {
        let bytes = || Self::Bytes(path.as_os_str().as_bytes().to_vec());
        path.to_str().map_or_else(bytes, |text| Self::Text(text.into()))
    }

    fn path(self) -> PathBuf {
        match self {
            Self::Text(text) => text.into(),
            Self::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

impl Kept {
    /// The ledger in `folder`; nothing is made before something is kept.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join("kept.ndjson.zst") }
    }

    /// What was kept of the logs whose path is `wanted`.
    pub fn sheets<S: for<'a> Deserialize<'a>>(
        &self,
        mut wanted: impl FnMut(&Path) -> bool,
    ) -> Result<Vec<(PathBuf, S)>> {
        let mut found = Vec::new();
        self.each(|number, path, line| {
            if wanted(&path) {
                let entry: Entry<S> =
                    serde_json::from_slice(line).map_err(|why| self.damaged(number, &why))?;
                found.push((path, entry.sheet));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Keeps `sheets`, in place of what was kept of the same logs. What is the same already is not written again.
    pub fn keep<S: Serialize>(&self, sheets: &[(&Path, S)]) -> Result<()> {
        let _held = open_locked(&self.path.with_extension("lock"))?;
        let line = |(path, sheet): &(&Path, S)| -> Result<Vec<u8>> {
            let entry = Entry { v: VERSION, path: Name::of(path), sheet };
            let mut line =
                serde_json::to_vec(&entry).map_err(|error| Error::internal(error.to_string()))?;
            line.push(b'\n');
            Ok(line)
        };
        let place = |path: &Path| sheets.binary_search_by(|(known, _)| (*known).cmp(path)).ok();
        debug_assert!(
            sheets.is_sorted_by(|(a, _), (b, _)| a < b),
            "sheets are in the order of paths"
        );
        let mut known = vec![false; sheets.len()];
        let mut same = true;
        self.each(|_, path, old| {
            if let Some(at) = place(&path) {
                known[at] = true;
                same &= line(&sheets[at])? == old;
            }
            Ok(())
        })?;
        if same && known.iter().all(|known| *known) {
            return Ok(());
        }
        sweep(&self.path); // nobody else is at it
        write_over(&self.path, PRIVATE, |out| {
            let failed = |error| Error::io("write", &self.path)(error);
            let mut out = zstd::stream::write::Encoder::new(out, 0).map_err(failed)?;
            out.include_checksum(true).map_err(failed)?;
            self.each(|_, path, old| match place(&path) {
                Some(_) => Ok(()),
                None => out.write_all(old).map_err(failed),
            })?;
            for sheet in sheets {
                out.write_all(&line(sheet)?).map_err(failed)?;
            }
            Ok(out.finish().map(drop))
        })
    }

    /// Hands on every line with its number and the log that it is of. One that cannot be read ends it: what is kept
    /// nowhere else is not passed over.
    fn each(&self, mut visit: impl FnMut(usize, PathBuf, &[u8]) -> Result<()>) -> Result<()> {
        let failed = || Error::io("read", &self.path);
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed()(error)),
        };
        let plain = zstd::stream::read::Decoder::new(file).map_err(|why| self.damaged(1, &why))?;
        let mut plain = BufReader::with_capacity(256 * 1024, plain);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let len =
                plain.read_until(b'\n', &mut line).map_err(|why| self.damaged(number, &why))?;
            if len == 0 {
                break;
            }
            let entry: Entry<IgnoredAny> =
                serde_json::from_slice(&line).map_err(|why| self.damaged(number, &why))?;
            if entry.v != VERSION {
                return Err(self.damaged(number, &format!("its version is {}", entry.v)));
            }
            visit(number, entry.path.path(), &line)?;
        }
        Ok(())
    }

    fn damaged(&self, number: usize, why: &dyn std::fmt::Display) -> Error {
        let what = format!(
            "line {number} of it is no record that this sessctl knows: {why}. Moved away, it is begun anew, without what \
             was kept of logs that are gone"
        );
        let source = io::Error::new(io::ErrorKind::InvalidData, what);
        Error::Io { action: "read", path: self.path.clone(), source }
    }
}
