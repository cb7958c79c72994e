//! Files that have not changed since an earlier run read them are not read again.

use std::{path::Path, time::Duration};

use super::scope::Depth;
use crate::{
    cli::Run,
    error::{Error, Result},
    finding::{Code, Finding},
    session::{
        ledger::Account,
        sheet::{Reading, Sheet},
    },
    store::{Mark, Shelf},
};

/// For how long a file must have lain still when it is read. One that changed a moment ago may change again without a
/// later time: clocks of file systems have steps, of two seconds at most.
const STILL: Duration = Duration::from_secs(4);

/// What earlier runs read.
pub(super) struct Cache {
    shelf: Shelf,
    /// What has changed since is not trusted to tell the next change.
    before: i128,
    /// The client that every log is taken for, if that was asked for.
    asked: &'static str,
}

impl Cache {
    /// None where there is no folder for it.
    pub fn of(run: &Run) -> Option<Self> {
        let path = run.env.state_dir()?.join("usage.index");
        let still =
            run.env.var("SESSCTL_CACHE_AFTER").and_then(|after| after.to_str()?.parse().ok());
        let still = still.map_or(STILL, Duration::from_secs);
        let now = run.now.timestamp_nanos_opt().map_or(0, i128::from);
        let before = now - i128::try_from(still.as_nanos()).unwrap_or(i128::MAX);
        let asked = run.wanted().map_or("", |format| format.name());
        Some(Self { shelf: Shelf::open(&path, &program()), before, asked })
    }

    /// The account of a log in that state as an earlier run read it; the outer none is that none did.
    pub fn recall(&self, path: &Path, mark: Option<Mark>) -> Option<Result<Account>> {
        let piece = self.shelf.piece(path, &mark?, self.asked)?;
        match Reading::unpack(&piece)? {
            Reading::Account(sheet) => {
                sheet.account().map(|account| Ok(Account { path: Some(path.into()), ..account }))
            }
            Reading::Foreign => Some(Err(as_before(Code::FormatUnknown))),
            Reading::Damaged => Some(Err(as_before(Code::HeaderMissing))),
        }
    }

    /// Keeps what a log told that was in that state before it was read, if it still is and its next change will show.
    pub fn keep(&self, path: &Path, mark: Option<Mark>, read: &Result<Account>) {
        let Some(mark) = mark.filter(|mark| mark.changed() <= self.before) else { return };
        let reading = match read {
            Ok(account) => Reading::Account(Box::new(Sheet::of(account))),
            Err(Error::Damaged(finding)) if is_foreign(finding) => Reading::Foreign,
            Err(Error::Damaged(_)) => Reading::Damaged,
            // The next run may have more luck.
            Err(_) => return,
        };
        let Some(piece) = reading.pack() else { return };
        if Mark::of(path) == Some(mark) {
            self.shelf.put(path, mark, self.asked, &piece);
        }
    }

    /// Leaves what was read to the next run.
    pub fn close(self) {
        self.shelf.close();
    }
}

/// Whether a file is no session's.
pub(super) fn is_foreign(finding: &Finding) -> bool {
    matches!(finding.code, Code::FormatUnknown | Code::EmptyFile)
}

fn as_before(code: Code) -> Error {
    Finding::new(code, "the file is as it was when it was read before").into()
}

impl Depth {
    /// The account of a log, read anew only if it has to be. Whoever was named wants to hear why it cannot be read.
    pub fn account(
        self,
        path: &Path,
        mark: Option<Mark>,
        named: bool,
        cache: Option<&Cache>,
        run: &Run,
    ) -> Result<Account> {
        let known = cache.and_then(|cache| cache.recall(path, mark));
        if let Some(known) = known.filter(|known| known.is_ok() || !named) {
            return known;
        }
        let read = self.read(path, run);
        if let Some(cache) = cache {
            cache.keep(path, mark, &read);
        }
        read
    }
}

/// Who reads and writes the index: what another build understood of a log is not known to be what this one would.
fn program() -> String {
    use std::os::unix::fs::MetadataExt;
    let own = std::env::current_exe().and_then(std::fs::metadata).ok();
    let own = own.map(|own| (own.size(), own.mtime(), own.mtime_nsec()));
    format!("{} {own:?}", env!("CARGO_PKG_VERSION"))
}
