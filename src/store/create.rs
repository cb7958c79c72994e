//! A draft to a new file, whole or not at all, and never over another session.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD},
    io::Errno,
};
use tempfile::NamedTempFile;

use crate::{
    error::{Error, Result},
    log::{Draft, Encoding, Stamp},
};

/// Owner may read and write; nobody else anything.
pub(super) const PRIVATE: u32 = 0o600;

/// Writes `draft` to `path`. `like` is the source: a child is never looser than it.
pub fn create(path: &Path, draft: &Draft<'_>, encoding: Encoding, like: Stamp) -> Result<()> {
    write_new(path, mode(like), |out| draft.write_as(encoding, out))
}

/// The same, plain, and what was written is compared with the source before it has its name.
pub fn create_proved(path: &Path, draft: &Draft<'_>, like: Stamp) -> Result<()> {
    refuse_taken(path)?;
    in_folder(folder_of(path), |folder| {
        if let Some(begun) = draft.begun()
            && finish(path, folder, draft, begun, mode(like))?
        {
            return Ok(());
        }
        fill_new(path, folder, mode(like), |out| draft.write_proved(out, path), publish)
    })
}

/// Writes what is missing of a draft that was begun in a file without a name, and names that; whether it could be named.
fn finish(path: &Path, folder: &Path, draft: &Draft<'_>, begun: &File, mode: u32) -> Result<bool> {
    draft.write_proved(begun, path)?;
    make_durable(begun, path, mode)?;
    let named = name(begun, path)?;
    if named {
        sync_name(folder, path)?;
    }
    Ok(named)
}

/// Names a file that has no name. Not every system and not every place can do that.
fn name(file: &File, path: &Path) -> Result<bool> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    match rustix::fs::linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Err(Error::AlreadyExists(path.into())),
        Err(_) => Ok(false),
    }
}

fn mode(like: Stamp) -> u32 {
    let tighter = like.mode & 0o777 != 0 && like.mode & 0o777 & !PRIVATE == 0;
    if tighter { like.mode & 0o777 } else { PRIVATE }
}

/// Writes a new file with what `fill` writes. The outer error of `fill` is one of its own, the inner one of writing.
pub fn write_new(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut dyn Write) -> Result<io::Result<()>>,
) -> Result<()> {
    new_file(path, mode, |file| {
        let mut out = io::BufWriter::with_capacity(256 * 1024, file);
        fill(&mut out)?.and_then(|()| out.flush()).map_err(Error::io("write", path))
    })
}

fn new_file(path: &Path, mode: u32, fill: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    refuse_taken(path)?;
    in_folder(folder_of(path), |folder| fill_new(path, folder, mode, fill, publish))
}

fn refuse_taken(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Err(Error::SymlinkRefused(path.into())),
        Ok(_) => Err(Error::AlreadyExists(path.into())),
        Err(_) => Ok(()),
    }
}

/// Writes a file with what `fill` writes, whole or not at all, in place of one of that name. What may be replaced is
/// for the caller to know.
pub fn write_over(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<io::Result<()>>,
) -> Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return Err(Error::SymlinkRefused(path.into()));
    }
    let replace = |temporary: NamedTempFile, path: &Path| {
        temporary.persist(path).map(drop).map_err(|error| Error::io("write", path)(error.error))
    };
    let fill = |file: &File| {
        let mut out = io::BufWriter::with_capacity(256 * 1024, file);
        fill(&mut out)?.and_then(|()| out.flush()).map_err(Error::io("write", path))
    };
    in_folder(folder_of(path), |folder| fill_new(path, folder, mode, fill, replace))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn in_folder(folder: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folders = make_folders(folder)?;
    let written = write(folder);
    if written.is_err() {
        // Nothing is left of a failure: the folders are ours and empty, or they stay.
        for folder in folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
    written
}

fn fill_new(
    path: &Path,
    folder: &Path,
    mode: u32,
    fill: impl FnOnce(&File) -> Result<()>,
    publish: impl FnOnce(NamedTempFile, &Path) -> Result<()>,
) -> Result<()> {
    // The name must not look like a session to any client.
    let temporary = tempfile::Builder::new()
        .prefix(&prefix(path))
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(PRIVATE))
        .tempfile_in(folder)
        .map_err(Error::io("write into", folder))?;
    fill(temporary.as_file())?;
    make_durable(temporary.as_file(), path, mode)?;
    publish(temporary, path)?;
    sync_name(folder, path)
}

fn make_durable(file: &File, path: &Path, mode: u32) -> Result<()> {
    let mode = fs::Permissions::from_mode(mode);
    file.set_permissions(mode).and_then(|()| file.sync_all()).map_err(Error::io("write", path))
}

fn sync_name(folder: &Path, path: &Path) -> Result<()> {
    sync_folder(folder).inspect_err(|_| {
        // A name that a crash may take away again is none that anybody should go on from.
        let _ = fs::remove_file(path);
    })
}

fn publish(temporary: NamedTempFile, path: &Path) -> Result<()> {
    match temporary.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::AlreadyExists(path.into()))
        }
        Err(error) => Err(Error::io("write", path)(error.error)),
    }
}

/// How temporary files of `path` begin, so that those which a crash left can be told from others.
fn prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    format!(".sessctl-{:016x}-", twox_hash::XxHash3_64::oneshot(name))
}

/// Removes what a crash left of an earlier attempt to write `path`. Only for a child that nobody else can be writing.
pub fn sweep(path: &Path) {
    let (Some(folder), prefix) = (path.parent(), prefix(path)) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes the folders that are missing, open to their owner only; those that were made, outermost first.
fn make_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .collect();
    missing.reverse();
    let mut made = Vec::new();
    for path in missing {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {
                fs::set_permissions(path, fs::Permissions::from_mode(0o700))
                    .map_err(Error::io("make", path))?;
                made.push(path.into());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("make", path)(error)),
        }
    }
    if let Some(outer) =
        made.first().and_then(|path: &PathBuf| path.parent().map(Path::to_path_buf))
    {
        sync_folder(if outer.as_os_str().is_empty() { Path::new(".") } else { &outer })?;
    }
    Ok(made)
}

/// A folder of ours, made if it is not there.
pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::DurabilityFailed {
        path: folder.into(),
        what: format!("the folder could not be synced: {error}"),
    })
}
