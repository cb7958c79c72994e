//! Files that have not changed since an earlier run read them are not read again.

use std::{
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::{
    scope::{Depth, Marked},
    sums::{Beside, Sums},
};
use crate::{
    cli::{Run, pick::parent_file},
    error::{Error, Result},
    finding::{Code, Finding},
    log::Log,
    ops::usage,
    session::{
        ledger::Account,
        resume::{self, Bookmark},
        roll::Roll,
        sheet::{Reading, Sheet},
    },
    store::{Mark, Shelf, leave, left},
};

/// For how long a file must have lain still when it is read. One that changed a moment ago may change again without a
/// later time: clocks of file systems have steps, of two seconds at most.
const STILL: Duration = Duration::from_secs(4);

/// How long a log is in which a later run goes on where it grew. A shorter one is read before that is set up.
const LONG: u64 = 512 * 1024;

/// What earlier runs read.
pub(super) struct Cache {
    folder: PathBuf,
    program: String,
    shelf: OnceLock<Shelf>,
    /// What has changed since is not trusted to tell the next change.
    before: i128,
    /// The client that every log is taken for, if that was asked for.
    asked: &'static str,
}

impl Cache {
    /// None where there is no folder for it.
    pub fn of(run: &Run) -> Option<Self> {
        let folder = run.env.state_dir()?;
        let still =
            run.env.var("SESSCTL_CACHE_AFTER").and_then(|after| after.to_str()?.parse().ok());
        let still = still.map_or(STILL, Duration::from_secs);
        let now = run.now.timestamp_nanos_opt().map_or(0, i128::from);
        let before = now - i128::try_from(still.as_nanos()).unwrap_or(i128::MAX);
        let asked = run.wanted().map_or("", |format| format.name());
        Some(Self { folder, program: program(), shelf: OnceLock::new(), before, asked })
    }

    fn shelf(&self) -> &Shelf {
        let path = || self.folder.join("usage.index");
        self.shelf.get_or_init(|| Shelf::open(&path(), &self.program))
    }

    /// The account of a log in that state as an earlier run read it; the outer none is that none did.
    pub fn recall(&self, path: &Path, mark: Option<Mark>) -> Option<Result<Account>> {
        let piece = self.shelf().piece(path, self.asked, |there| Some(*there) == mark)?;
        match Reading::unpack(&piece)? {
            Reading::Account(sheet, _) => {
                sheet.account().map(|account| Ok(Account { path: Some(path.into()), ..account }))
            }
            Reading::Foreign => Some(Err(as_before(Code::FormatUnknown))),
            Reading::Damaged => Some(Err(as_before(Code::HeaderMissing))),
        }
    }

    /// Where an earlier run read a log to that has grown since, and what was paid by then.
    fn bookmark(&self, path: &Path, mark: Option<Mark>) -> Option<(Bookmark, Account)> {
        let grew = |there: &Mark| mark.is_some_and(|mark| there.may_grow_to(&mark));
        match Reading::unpack(&self.shelf().piece(path, self.asked, grew)?)? {
            Reading::Account(sheet, bookmark) => Some((*bookmark?, sheet.account()?)),
            Reading::Foreign | Reading::Damaged => None,
        }
    }

    /// Keeps what a log told that was in that state before it was read, if it still is and its next change will show.
    fn keep(&self, path: &Path, mark: Option<Mark>, read: &Result<(Account, Option<Bookmark>)>) {
        let Some(mark) = mark.filter(|mark| mark.changed() <= self.before) else { return };
        let reading = match read {
            Ok((account, bookmark)) => {
                let bookmark = bookmark.as_ref().filter(|_| mark.size() >= LONG);
                Reading::Account(Box::new(Sheet::of(account)), bookmark.cloned().map(Box::new))
            }
            Err(Error::Damaged(finding)) if is_foreign(finding) => Reading::Foreign,
            Err(Error::Damaged(_)) => Reading::Damaged,
            // The next run may have more luck.
            Err(_) => return,
        };
        let Some(piece) = reading.pack() else { return };
        if Mark::of(path) == Some(mark) {
            self.shelf().put(path, mark, self.asked, &piece);
        }
    }

    /// Leaves what was read to the next run.
    pub fn close(&mut self) {
        if let Some(shelf) = self.shelf.take() {
            shelf.close();
        }
    }

    /// What tells these files in their states from any others. None where one of them may change and not show it.
    pub fn whole(&self, files: &[Marked], ways: impl Hash) -> Option<Whole> {
        let mut digest = Digest(XxHash3_128::new());
        for (path, mark) in files {
            let mark = mark.filter(|mark| mark.changed() <= self.before)?;
            (path.as_os_str().as_encoded_bytes(), mark).hash(&mut digest);
        }
        (files.len(), self.asked, ways).hash(&mut digest);
        Some(Whole { digest: digest.0.finish_128().to_le_bytes() })
    }

    /// What the whole comes to as an earlier run left it, unless a parent was found since.
    pub fn sums<'a>(
        &self,
        whole: &Whole,
        mut sums: Sums<'a>,
        range: usage::Range,
    ) -> Option<(Sums<'a>, Beside)> {
        let ranged = range != (None, None);
        let piece = left(&self.roll(), &self.program)?;
        let left: Left<'_> = postcard::from_bytes(piece.strip_prefix(&whole.digest)?).ok()?;
        let gone = |(parent, child): &(String, PathBuf)| parent_file(parent, Some(child)).is_none();
        if !left.parents.iter().all(gone) {
            return None;
        }
        left.roll.each(sums.is_dated() || ranged, &mut |completion| {
            sums.add_inside(completion, range);
        })?;
        Some((sums, left.beside))
    }

    /// Leaves what came of the whole to the next run, if its files still are what they were. `parents`: those that no log
    /// is known of, with the logs that name them.
    pub fn leave(
        &self,
        whole: &Whole,
        files: &[Marked],
        parents: Vec<(String, PathBuf)>,
        roll: Roll<'_>,
        beside: &Beside,
    ) {
        let left = Left { parents, beside: beside.clone(), roll };
        if files.iter().all(|(path, mark)| Mark::of(path) == *mark)
            && let Ok(piece) = postcard::to_extend(&left, whole.digest.to_vec())
        {
            leave(&self.roll(), &self.program, &piece);
        }
    }

    fn roll(&self) -> PathBuf {
        self.folder.join("usage.roll")
    }
}

/// All files of a run in their states.
pub(super) struct Whole {
    digest: [u8; 16],
}

/// What came of them, as long as nobody finds the parents that no file is known of.
#[derive(Serialize, Deserialize)]
struct Left<'a> {
    parents: Vec<(String, PathBuf)>,
    beside: Beside,
    #[serde(borrow)]
    roll: Roll<'a>,
}

/// A digest of all that is hashed.
struct Digest(XxHash3_128);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        0 // all 128 bits are asked for elsewhere
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
        let Some(cache) = cache else { return self.read(path, run) };
        let before = cache.bookmark(path, mark);
        let read = Log::open(path).and_then(|log| resume::read(log, run.wanted(), before));
        cache.keep(path, mark, &read);
        read.map(|(account, _)| account)
    }
}

/// Who reads and writes the index: what another build understood of a log is not known to be what this one would.
fn program() -> String {
    use std::os::unix::fs::MetadataExt;
    let own = std::env::current_exe().and_then(std::fs::metadata).ok();
    let own = own.map(|own| (own.size(), own.mtime(), own.mtime_nsec()));
    format!("{} {own:?}", env!("CARGO_PKG_VERSION"))
}
