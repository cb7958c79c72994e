//! Whole lines to a living log, or not at all.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use rustix::{fs::OFlags, io::Errno};

use super::{holder, lock::Held};
use crate::{
    error::{Error, Result},
    log::{Encoding, Stamp, compress},
};

/// Appends `lines` in one write to the log at `path`, if it still is what was read (`stamp`). Where the log ended in a
/// torn tail and the caller allows that, a newline goes out in the same write.
pub fn append(
    path: &Path,
    id: &str,
    lines: &[Vec<u8>],
    encoding: Encoding,
    stamp: Stamp,
    torn: bool,
    held: &Held,
) -> Result<()> {
    let mut text = Vec::new();
    if torn {
        text.push(b'\n');
    }
    for line in lines {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let bytes = if encoding == Encoding::Zstd { compress(&text)? } else { text };
    let file = open(path)?;
    let failed = || Error::io("append to", path);
    if Stamp::of(&file).map_err(failed())? != stamp {
        return Err(Error::SourceChanged { path: path.into(), what: "somebody wrote to it" });
    }
    if let Some(holder) = holder(stamp) {
        return Err(Error::SessionLocked { id: id.into(), holder });
    }
    if encoding == Encoding::Plain && !torn && stamp.size > 0 {
        let mut last = [0];
        file.read_exact_at(&mut last, stamp.size - 1).map_err(failed())?;
        if last != *b"\n" {
            return Err(Error::SourceChanged {
                path: path.into(),
                what: "it does not end with a newline",
            });
        }
    }
    held.undo.begin(path, stamp.size, &bytes)?;
    write_whole(&file, path, &bytes, stamp.size)?;
    held.undo.end();
    Ok(())
}

/// The log, for more to be put behind it. The system itself must not follow a link: one that is put there between a look
/// and the opening would be followed.
pub(super) fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => Error::SymlinkRefused(path.into()),
        _ => Error::io("append to", path)(error),
    })
}

/// Writes `bytes` behind `before` bytes. What came out short, or cannot be made durable, is cut back to the old length.
pub(super) fn write_whole(mut file: &File, path: &Path, bytes: &[u8], before: u64) -> Result<()> {
    let failure = match file.write_all(bytes) {
        Ok(()) => match file.sync_data() {
            // Who writes behind us has seen us, or would have come in between in any case.
            Ok(()) if behind(file, before).is_ok_and(|back| back.starts_with(bytes)) => {
                return Ok(());
            }
            Ok(()) => {
                return Err(Error::SourceChanged {
                    path: path.into(),
                    what: "another writer's lines came in before ours, which stand behind them",
                });
            }
            Err(error) => Error::DurabilityFailed {
                path: path.into(),
                what: format!("it could not be synced: {error}"),
            },
        },
        Err(error) => Error::io("append to", path)(error),
    };
    // Nothing but our own bytes is ever cut off.
    let cut = behind(file, before).and_then(|back| {
        if !bytes.starts_with(&back) {
            return Err(io::Error::other("another writer came in between"));
        }
        file.set_len(before)?;
        file.sync_data()
    });
    match cut {
        Ok(()) => Err(failure),
        Err(cut) => {
            let what = format!(
                "a part of a line was written ({failure}) and could not be taken back: {cut}"
            );
            Err(Error::DurabilityFailed { path: path.into(), what })
        }
    }
}

/// What stands in the file behind `before` bytes.
pub(super) fn behind(file: &File, before: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len().saturating_sub(before);
    let mut back = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    file.read_exact_at(&mut back, before)?;
    Ok(back)
}
