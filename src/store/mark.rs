//! The state of a file as its folder tells it.

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::SystemTime};

use serde::{Deserialize, Serialize};

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    /// When it was last written: seconds and nanoseconds.
    mtime: (i64, i64),
    /// When anything about it last changed, which nobody can set.
    ctime: (i64, i64),
    /// When it was made, where the file system keeps that.
    born: Option<SystemTime>,
}

impl Mark {
    /// The state of the file at `path`.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        Some(Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
            born: meta.created().ok(),
        })
    }

    /// Whether a file in this state may have become one in a `later` state by what was appended to it. A file that took its
    /// place may have got its inode, but not the time at which it was made.
    #[must_use]
    pub fn may_grow_to(&self, later: &Self) -> bool {
        (self.device, self.inode) == (later.device, later.inode)
            && self.born.is_some()
            && self.born == later.born
            && self.size < later.size
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When it was last written, in nanoseconds since 1970.
    #[must_use]
    pub fn written(&self) -> i128 {
        nanos(self.mtime)
    }

    /// When it last changed in any way, in nanoseconds since 1970.
    #[must_use]
    pub fn changed(&self) -> i128 {
        nanos(self.mtime).max(nanos(self.ctime))
    }
}

fn nanos((secs, nanos): (i64, i64)) -> i128 {
    i128::from(secs) * 1_000_000_000 + i128::from(nanos)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_a_longer_state_of_the_same_file_may_be_that_file_grown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let born = Some(SystemTime::UNIX_EPOCH);
        let mark = Mark { born, ..Mark::of(file.path()).unwrap() };
        let longer = Mark { size: mark.size + 1, ..mark };
        assert!(
            mark.may_grow_to(&longer) && !longer.may_grow_to(&mark) && !mark.may_grow_to(&mark)
        );
        let later = Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(1));
        // A number that was given again, and a file system that does not tell.
        assert!(!mark.may_grow_to(&Mark { born: later, ..longer }));
        assert!(!Mark { born: None, ..mark }.may_grow_to(&Mark { born: None, ..longer }));
        assert!(!mark.may_grow_to(&Mark { inode: mark.inode + 1, ..longer }));
    }
}
