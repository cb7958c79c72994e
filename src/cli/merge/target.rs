//! The parent that a note goes to: found, locked, read and judged.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Args;
use crate::{
    cli::{
        Run,
        pick::{Opened, find_parent},
    },
    error::{Error, Result},
    finding::{Code, Finding},
    format::Format,
    log::{Encoding, Log},
    ops::{self, Cut, Intent, Merge, Policy},
    session::{
        At, Session, kinship,
        ledger::{self, Account},
        lineage,
    },
    store::{self, Glance, Held, Record},
};

/// The parent, as it was read under its locks.
pub(super) struct Target {
    /// The session.
    pub parent: Session,
    /// Whether a newline must go out before the note.
    pub torn: bool,
    /// The locks; none where nothing is to be written.
    pub held: Option<Held>,
    policy: Policy,
}

impl Target {
    /// Locks are taken before the parent is read, so that what was read is what will be appended to.
    pub fn open(run: &Run, args: &Args, side: &Opened, path: &Path) -> Result<Self> {
        let version = Glance::at(path).map_or(0, |glance| glance.header.version);
        let layout = side.session.format.layout();
        let lock = layout.lock(path, version);
        let held = if args.dry_run {
            None
        } else {
            Some(store::hold(path, lock.as_deref(), side.session.id(), &run.journal()?)?)
        };
        let (parent, torn) = read(run, path, side, args)?;
        let named = || told(run, side).is_ok_and(|told| told.is_some_and(|it| it.0 == parent.id()));
        if !lineage::names(&side.session, &parent) && !named() {
            // The parent must be the one that the side session's own lineage names.
            let side = side.session.id().into();
            return Err(Error::NotAChild { side, parent: parent.id().into() });
        }
        let holder = layout.presence(path);
        if let Some(holder) = holder.and_then(|presence| store::present(&presence, parent.id())) {
            return Err(Error::SessionLocked { id: parent.id().into(), holder });
        }
        let mut policy = args.allow.policy(&[], run.global.strict);
        let mends = parent.format.writer(&parent.facts)?.mends_tail();
        if !mends || parent.log.encoding() == Encoding::Zstd {
            policy.allow.retain(|code| *code != Code::TornTail);
        }
        Ok(Self { parent, torn, held, policy })
    }

    /// The parent cut at its end, and what is worth knowing of it.
    pub fn cut(&self) -> Result<(Cut<'_>, Vec<Finding>)> {
        let cut =
            ops::cut(&self.parent, &Intent { at: &At::Tip, leaf: None, policy: &self.policy })?;
        let writer = self.parent.format.writer(&self.parent.facts)?;
        let told = cut.warnings.iter().cloned().chain(writer.unsent(&self.parent.facts)).collect();
        Ok((cut, told))
    }

    /// The same before money is spent: also what only the append would find out.
    pub fn judge(&self) -> Result<()> {
        let (cut, _) = self.cut()?;
        ops::takes_note(&cut)?;
        match store::holder(self.parent.log.stamp()) {
            Some(holder) => Err(Error::SessionLocked { id: self.parent.id().into(), holder }),
            None => Ok(()),
        }
    }
}

/// The parent's live log.
pub(super) fn path(run: &Run, args: &Args, side: &Opened) -> Result<PathBuf> {
    let path = match (&args.into, &side.session.header().parent) {
        (Some(into), _) => {
            run.store.find(into).map(|found| found.path).map_err(|error| match error {
                Error::SessionNotFound(name) => Error::ParentNotFound(name),
                Error::NoSuchTitle { title, .. } => Error::ParentNotFound(format!("={title}")),
                error => error,
            })?
        }
        (None, Some(parent)) => find_parent(run, parent, side.path.as_deref())?,
        (None, None) => match told(run, side)? {
            Some((id, path)) if !path.is_file() => find_parent(run, &id, side.path.as_deref())?,
            Some((_, path)) => path,
            None => {
                return Err(Error::NotAChild {
                    side: side.session.id().into(),
                    parent: "any session".into(),
                });
            }
        },
    };
    let path = run.env.absolute(&path);
    Ok(store::generations(&path).pop().unwrap_or(path))
}

/// The parent that the journal names, by id and path, where the side session's own log has no place for it: its client
/// made that log.
fn told(run: &Run, side: &Opened) -> Result<Option<(String, PathBuf)>> {
    if side.session.header().parent.is_some() {
        return Ok(None);
    }
    let id = side.session.id();
    let records = run.journal()?.records()?;
    let born =
        records.into_iter().rev().find(|record| record.op == "side" && record.written.id == id);
    let text = |record: &Record, key: &str| record.source.get(key)?.as_str().map(str::to_owned);
    Ok(born.and_then(|born| Some((text(&born, "id")?, text(&born, "path")?.into()))))
}

/// The parent, and whether a newline must go out before the note. Where that is allowed and would make a whole record
/// of the torn tail, the record is read as one, since the note has to follow it.
fn read(run: &Run, path: &Path, side: &Opened, args: &Args) -> Result<(Session, bool)> {
    let format = Some(side.session.format);
    let log = || store::open(path, Some(&run.store));
    let parent = Session::read(log()?, format)?;
    let tail = parent.findings.iter().find(|finding| finding.code == Code::TornTail);
    let whole = tail.and_then(|finding| finding.fields.get("whole_record"));
    let mends = parent.format.writer(&parent.facts)?.mends_tail();
    let allowed = args.allow.policy(&[], false).allow.contains(&Code::TornTail);
    let torn = parent.log.torn_tail().is_some();
    if mends && allowed && whole == Some(&Value::Bool(true)) {
        return Ok((Session::read(log()?.mended(), format)?, torn));
    }
    Ok((parent, torn))
}

/// The log of the side session; a client may have unpacked it before it went on, and taken the packed one away.
pub(super) fn log_of<'a>(side: &'a Opened, elsewhere: Option<&'a Path>) -> Option<&'a Path> {
    let own = side.path.as_deref()?;
    if own.exists() { Some(own) } else { elsewhere.or(Some(own)) }
}

/// What a side session spent of its own: its log, one in which its client went on, and its subagents'.
pub(super) fn burnt(side: &Opened, elsewhere: Option<&Path>, parent: &Path) -> Result<u64> {
    let Some(path) = log_of(side, elsewhere) else { return Ok(0) };
    let format = side.session.format;
    let account = |path: &Path| -> Result<Account> {
        Ok(Account::of(Session::read_ledger(Log::open(path)?, Some(format))?))
    };
    let beside = format.layout().beside_log(path).map(|folder| store::files_below(&folder));
    let mut accounts = vec![account(path)?, Account { counted: false, ..account(parent)? }];
    let more = elsewhere.into_iter().map(Path::to_path_buf).chain(beside.unwrap_or_default());
    accounts.extend(more.filter(|other| other != path).filter_map(|other| account(&other).ok()));
    kinship::align(&mut accounts);
    let completions = ledger::completions(&accounts, false, &|kind| kind != "fork");
    Ok(completions.iter().map(|completion| completion.tokens.total()).sum())
}

/// What is to be known of a parent as it was before a note.
pub(super) struct Was {
    /// Its lines, what a torn tail will be counted among them.
    lines: usize,
    /// Its messages.
    messages: usize,
}

impl Was {
    pub fn of(cut: &Cut<'_>) -> Self {
        let (thread, log) = (&cut.thread, &cut.thread.session.log);
        Self {
            lines: log.lines() + usize::from(log.torn_tail().is_some()),
            messages: thread.history(thread.path().len(), 0).len(),
        }
    }
}

/// The parent with the note, which must be among the messages that its next request holds, and be one more. How many
/// characters the model sees more: those of the note, and of what its client wraps it in.
pub(super) fn read_back(
    run: &Run,
    path: &Path,
    format: &'static dyn Format,
    was: &Was,
    merge: &Merge,
) -> Result<(Session, u64)> {
    let after = Session::read(store::open(path, Some(&run.store))?, Some(format))?;
    let thread = after.thread(None)?;
    let there = ops::merges_on(&thread).contains(&merge.mark);
    // Somebody who writes without a lock may have gone on behind the note.
    if there && thread.history(thread.path().len(), 0).len() > was.messages {
        let added = ops::chars_of(&thread, was.messages)?;
        drop(thread);
        return Ok((after, added));
    }
    if after.log.lines() > was.lines + merge.lines.len() {
        let what = "another writer went on beside the note, so that its client does not send it";
        return Err(Error::SourceChanged { path: path.into(), what });
    }
    Err(Error::DurabilityFailed {
        path: path.into(),
        what: "the note is not where the next request would see it".into(),
    })
}
