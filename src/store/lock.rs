//! Our own lock, the client's where it has one, and who else has a log open.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use super::{journal::Journal, undo::Undo};
use crate::{
    error::{Error, Result},
    format::Presence,
    log::Stamp,
};

/// Locks that are let go when this is dropped.
#[derive(Debug)]
pub struct Held {
    _locks: Vec<File>,
    /// What an append that is cut is taken back by.
    pub(super) undo: Undo,
}

/// Waits for other sessctl processes on the log at `path`, then takes the client's own lock without waiting, and takes
/// back what a killed append left there. Taken before the log is read, so that what was read is what will be appended to.
pub fn hold(path: &Path, client_lock: Option<&Path>, id: &str, journal: &Journal) -> Result<Held> {
    let own = File::open(path).map_err(Error::io("read", path))?;
    own.lock().map_err(Error::io("lock", path))?;
    let stamp = Stamp::of(&own).map_err(Error::io("read", path))?;
    let mut locks = vec![own];
    if let Some(lock) = client_lock {
        if let Some(folder) = lock.parent().filter(|folder| !folder.exists()) {
            // The client makes it with its first session.
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::io("make", folder)(error));
                }
                _ => {}
            }
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(lock)
            .map_err(Error::io("lock", lock))?;
        match file.try_lock() {
            // Let go before our own, so that who waits for ours finds it free.
            Ok(()) => locks.insert(0, file),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::SessionLocked {
                    id: id.into(),
                    holder: format!("its client holds {}", lock.display()),
                });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", lock)(error)),
        }
    }
    let undo = Undo::of(journal, stamp.inode);
    undo.restore(path, id)?;
    Ok(Held { _locks: locks, undo })
}

/// A process that has the log open for writing, where the system tells.
#[must_use]
pub fn holder(stamp: Stamp) -> Option<String> {
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        let name = process.file_name().into_string().unwrap_or_default();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let Ok(files) = fs::read_dir(process.path().join("fd")) else { continue };
        for file in files.filter_map(Result::ok) {
            let same =
                fs::metadata(file.path()).is_ok_and(|meta| (meta.dev(), meta.ino()) == stamp.inode);
            if same && writes(&process.path().join("fdinfo").join(file.file_name())) {
                let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                return Some(format!(
                    "process {name} ({}) has it open for writing",
                    command.trim()
                ));
            }
        }
    }
    None
}

/// What a client's process says of itself.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    pid: u32,
    #[serde(default)]
    session_id: String,
}

/// The living process that says it has the session open.
#[must_use]
pub fn present(presence: &Presence, id: &str) -> Option<String> {
    let said = |path: &Path| serde_json::from_slice::<Process>(&fs::read(path).ok()?).ok();
    let alive = |process: Process| {
        let alive = Path::new("/proc").join(process.pid.to_string()).exists();
        alive.then(|| format!("process {} has it open", process.pid))
    };
    match presence {
        Presence::Lease(owner) => said(owner).and_then(alive),
        Presence::Folder(folder) => {
            let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
            let all = entries.filter_map(|entry| said(&entry.path()));
            all.filter(|process| process.session_id == id).find_map(alive)
        }
    }
}

/// Whether the flags of an open file, which the system gives in octal, include writing.
fn writes(info: &Path) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("0");
    u32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & 3 != 0)
}
