//! `--keep`: what was read stays in a ledger of our own, and counts when the logs are gone.
//!
//! Kept is what each log states, as it was read last, before anything is said of who copied from whom. So a log that is
//! gone takes part in everything as if it still lay there: no copy counts twice, and no total changes.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use crate::{
    cli::Run,
    error::{Error, Result},
    session::{ledger::Account, sheet::Sheet},
    store::{Kept, Store},
};

/// The ledger of one run, and the stores that it is asked about.
pub(super) struct Keep<'a> {
    kept: Kept,
    /// Those whose sessions are counted, and those in which sessions are looked for that derive from others.
    stores: &'a [Vec<Store>; 2],
}

impl<'a> Keep<'a> {
    pub fn of(run: &Run, stores: &'a [Vec<Store>; 2]) -> Result<Self> {
        let folder = run.env.state_dir().ok_or_else(|| {
            Error::BadUsage(
                "no state folder to keep anything in: set SESSCTL_STATE_DIR or HOME".into(),
            )
        })?;
        Ok(Self { kept: Kept::new(&folder), stores })
    }

    /// The accounts of logs that are gone: those of the stores asked for, and those of the stores around.
    pub fn gone(&self, there: &HashSet<PathBuf>) -> Result<[Vec<(PathBuf, Account)>; 2]> {
        let [asked, around] = self.stores;
        let below = |stores: &[Store], path: &Path| stores.iter().any(|store| store.holds(path));
        let wanted = |path: &Path| {
            (below(asked, path) || below(around, path))
                && !there.contains(path)
                && std::fs::symlink_metadata(path).is_err_and(|error| is_gone(&error))
        };
        let sheets: Vec<(PathBuf, Sheet)> = self.kept.sheets(wanted)?;
        let mut gone = [Vec::new(), Vec::new()];
        for (path, sheet) in sheets {
            let account = sheet.account().ok_or_else(|| {
                let what =
                    format!("what is kept of {} is not known to this sessctl", path.display());
                Error::internal(what)
            })?;
            let account = Account { path: Some(path.clone()), kept: true, ..account };
            gone[usize::from(!below(asked, &path))].push((path, account));
        }
        Ok(gone)
    }

    /// Keeps what was read of logs that are there.
    pub fn keep(&self, accounts: &[(PathBuf, Account)]) -> Result<()> {
        // What came by standard input has no place.
        let there = accounts.iter().filter(|(path, account)| !account.kept && path.is_absolute());
        let mut sheets: Vec<(&Path, Lazy)> =
            there.map(|(path, account)| (path.as_path(), Lazy(account))).collect();
        sheets.sort_by_key(|(path, _)| *path);
        self.kept.keep(&sheets)
    }
}

/// An account that becomes a sheet when it is written down, so that not all are in memory twice.
struct Lazy<'a>(&'a Account);

impl serde::Serialize for Lazy<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Sheet::of(self.0).serialize(serializer)
    }
}

/// Whether it is sure that nothing is there; a folder that may not be searched hides what it holds.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}
