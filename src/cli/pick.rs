//! The session argument that the verbs share, and the flags that say how to read it.

use std::{
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use clap_complete::ArgValueCompleter;

use super::{Run, complete};
use crate::{
    error::{Error, Result},
    finding::{Code, Finding},
    format::{self, Format},
    log::Log,
    ops::{self, Manifest, Policy, manifest_of},
    session::{At, Begins, Outline, Session},
    store::{self, Found, FoundBy, Store, generations},
};

/// Which session.
#[derive(Clone, Debug, clap::Args)]
pub struct Pick {
    /// A path, an id or its first 8 characters, =TITLE (the whole of it), or - for standard input
    #[arg(
        value_name = "SESSION",
        required_unless_present = "last",
        add = ArgValueCompleter::new(complete::sessions)
    )]
    session: Option<String>,
    /// The session written last, of those whose working folder is DIR if one is given
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with = "session")]
    last: Option<Option<PathBuf>>,
}

/// Which findings matter.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Allow {
    /// Keep lines with this kind of damage as they are, and go on
    #[arg(
        long = "allow",
        value_name = "CODE",
        value_parser = allowed,
        add = ArgValueCompleter::new(complete::codes)
    )]
    codes: Vec<Allowed>,
}

/// A code given to `--allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// A finding.
    Finding(Code),
    /// A log that is not the live one of its session.
    NotLive,
}

fn allowed(name: &str) -> Result<Allowed, String> {
    match name {
        "SESSION_NOT_LIVE" => Ok(Allowed::NotLive),
        name => code(name).map(Allowed::Finding),
    }
}

/// The finding code of that name.
pub fn code(name: &str) -> Result<Code, String> {
    Code::by_name(name).ok_or_else(|| format!("no finding has the code `{name}`"))
}

impl Allow {
    /// The policy of a run.
    pub fn policy(&self, drop: &[Code], strict: bool) -> Policy {
        let allow = self.codes.iter().filter_map(|code| match code {
            Allowed::Finding(code) => Some(*code),
            Allowed::NotLive => None,
        });
        Policy { allow: allow.collect(), drop: drop.to_vec(), strict }
    }

    /// Refuses to keep and to leave out the same lines.
    pub fn excludes(&self, drop: &[Code]) -> Result<()> {
        match drop.iter().find(|code| self.codes.contains(&Allowed::Finding(**code))) {
            None => Ok(()),
            Some(code) => {
                let code = code.name();
                let message = format!("`--allow {code}` keeps what `--drop {code}` leaves out");
                Err(Error::BadUsage(message))
            }
        }
    }

    /// Whether a log that is not live may be used.
    pub fn not_live(&self) -> bool {
        self.codes.contains(&Allowed::NotLive)
    }
}

/// Refuses a command line on which standard input is asked for twice.
pub fn one_stdin(words: &[(&str, Option<&str>)]) -> Result<()> {
    let taken: Vec<&str> =
        words.iter().filter(|(_, word)| *word == Some("-")).map(|(name, _)| *name).collect();
    if taken.len() < 2 {
        return Ok(());
    }
    Err(Error::BadUsage(format!("standard input can only be one of {}", taken.join(" and "))))
}

/// A session that was found and read.
pub struct Opened {
    /// The session.
    pub session: Session,
    /// Its file, absolute; none for standard input.
    pub path: Option<PathBuf>,
    /// What led to it.
    pub by: FoundBy,
    /// The folder it was found under, if it was searched for.
    pub root: Option<PathBuf>,
    /// What the snapshot says, if it was one.
    pub manifest: Option<Manifest>,
}

impl Pick {
    /// Several sessions may be given where this is used.
    pub fn named(name: &str) -> Self {
        Self { session: Some(name.into()), last: None }
    }

    /// The session written last.
    pub fn latest(last: Option<Option<PathBuf>>) -> Self {
        Self { session: None, last }
    }

    /// The words on the command line, for the journal and for messages.
    pub fn words(&self) -> &str {
        self.session.as_deref().unwrap_or("--last")
    }

    /// Finds and reads the session.
    pub fn open(&self, run: &Run) -> Result<Opened> {
        self.open_to(run, None)
    }

    /// The same as far as a cut at that place needs it; a copy may be begun on the way.
    pub fn open_to(&self, run: &Run, at: Option<(&At, Begins<'_>)>) -> Result<Opened> {
        if self.session.as_deref() == Some("-") {
            let log = Log::spool(std::io::stdin().lock())?;
            return read(log, None, FoundBy::Path, None, run.wanted(), at);
        }
        let found = match (&self.session, &self.last) {
            (Some(name), _) => run.store.find(name)?,
            (None, Some(cwd)) => latest(run, cwd.as_deref())?,
            (None, None) => return Err(Error::BadUsage("no session was named".into())),
        };
        let path = run.env.absolute(&found.path);
        let log = store::open(&found.path, Some(&run.store))?;
        let opened = read(log, Some(path), found.by, found.root, run.wanted(), at);
        opened.map_err(|error| error.within(&found.path))
    }
}

/// The session written last, of those whose working folder is `cwd` if that is given.
pub fn latest(run: &Run, cwd: Option<&Path>) -> Result<Found> {
    let cwd = cwd.map(|cwd| std::fs::canonicalize(cwd).unwrap_or_else(|_| run.env.absolute(cwd)));
    run.store.latest(cwd.as_deref(), run.wanted().map(Format::name))
}

fn read(
    log: Log,
    path: Option<PathBuf>,
    by: FoundBy,
    root: Option<PathBuf>,
    wanted: Option<&'static dyn Format>,
    at: Option<(&At, Begins<'_>)>,
) -> Result<Opened> {
    if let Some((log, manifest)) = snapshot(&log)? {
        let session = Session::read(log, format::by_name(&manifest.source.format))?;
        check_seed(&session, &manifest)?;
        return Ok(Opened { session, path, by, root, manifest: Some(manifest) });
    }
    let session = match at {
        Some((at, begins)) => Session::read_to(log, wanted, at, begins)?,
        None => Session::read(log, wanted)?,
    };
    Ok(Opened { session, path, by, root, manifest: None })
}

/// A snapshot as the log that its seed would be: the source's header, then its lines.
pub fn snapshot(log: &Log) -> Result<Option<(Log, Manifest)>> {
    const MARK: &[u8] = br#"{"type":"sessctl/snapshot""#;
    if !log.head(MARK.len() as u64)?.starts_with(MARK) {
        return Ok(None);
    }
    let failed = || Error::io("read", log.path().unwrap_or(Path::new("-")));
    let mut plain = tempfile::tempfile().map_err(failed())?;
    log.copy_all(&mut plain)?.map_err(failed())?;
    plain.seek(SeekFrom::Start(0)).map_err(failed())?;
    let mut plain = BufReader::new(plain);
    let mut first = Vec::new();
    plain.read_until(b'\n', &mut first).map_err(failed())?;
    let Some(manifest) = manifest_of(&first) else {
        return Err(Error::BadUsage(
            "the first line begins like a snapshot's but cannot be read as one".into(),
        ));
    };
    if manifest.version != ops::SNAPSHOT_VERSION {
        let message = format!("a snapshot of version {}", manifest.version);
        return Err(Finding::new(Code::VersionUnsupported, message).on(1).into());
    }
    let mut header = manifest.header.clone().unwrap_or_default().into_bytes();
    if !header.is_empty() {
        header.write_all(b"\n").map_err(failed())?;
    }
    let log = Log::spool(header.as_slice().chain(plain))?;
    Ok(Some((log.excerpted(), manifest)))
}

/// A seed must be the one that the first line describes: nobody else can tell whether it was cut or changed since.
fn check_seed(seed: &Session, manifest: &Manifest) -> Result<()> {
    let thread = seed.thread(None)?;
    let have = Outline::of(&thread, thread.path().len(), usize::MAX)?;
    if (have.messages, &have.hash) == (manifest.messages, &manifest.hash) {
        return Ok(());
    }
    let message = format!(
        "the snapshot was cut or changed: it was made of {} messages with the hash {} and has {} with the hash {}",
        manifest.messages, manifest.hash, have.messages, have.hash
    );
    Err(Error::No { code: "PREFIX_DIVERGED", message })
}

impl Opened {
    /// The session that a child will name as its parent, and where that lies.
    pub fn parent(&self) -> (String, PathBuf) {
        match &self.manifest {
            Some(manifest) => (manifest.source.id.clone(), PathBuf::from(&manifest.source.path)),
            None => (self.session.id().to_owned(), self.path.clone().unwrap_or_default()),
        }
    }

    /// The title, or what the client would show.
    pub fn title(&self) -> Option<String> {
        self.manifest
            .as_ref()
            .and_then(|manifest| manifest.title.clone())
            .or_else(|| self.session.title())
    }

    /// Refuses a log that is a copy or an older generation of one that lives elsewhere.
    pub fn require_live(&self, run: &Run) -> Result<()> {
        let (Some(path), None) = (&self.path, &self.manifest) else { return Ok(()) };
        let not_live = |live: PathBuf| Error::SessionNotLive {
            id: self.session.id().into(),
            path: path.clone(),
            live,
        };
        if let Some(live) =
            generations(path).pop().filter(|live| live.file_name() != path.file_name())
        {
            return Err(not_live(live));
        }
        let layout = self.session.format.layout();
        if self.by == FoundBy::Path && layout.root_of(path).is_none() {
            let same = |live: &PathBuf| {
                std::fs::canonicalize(live).ok() == std::fs::canonicalize(path).ok()
            };
            if let Some(live) =
                run.store.named(layout, self.session.id()).into_iter().find(|live| !same(live))
            {
                return Err(not_live(live));
            }
        }
        Ok(())
    }
}

/// The log of a parent that is named by a path: that file, or one of its name beside the child.
pub fn parent_file(parent: &str, child: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(parent);
    if path.is_file() {
        return Some(path.into());
    }
    let beside = child.and_then(Path::parent)?.join(path.file_name()?);
    (beside.is_file() && Some(beside.as_path()) != child).then_some(beside)
}

/// The log of a parent: the path given, that file name beside the child, then its id in the stores and beside the child.
pub fn find_parent(run: &Run, parent: &str, child: Option<&Path>) -> Result<PathBuf> {
    find_parent_among(run, parent, child, &mut Vec::new())
}

/// The same; `around` remembers the stores around children from call to call.
pub fn find_parent_among(
    run: &Run,
    parent: &str,
    child: Option<&Path>,
    around: &mut Vec<Store>,
) -> Result<PathBuf> {
    if let Some(file) = parent_file(parent, child) {
        return Ok(file);
    }
    let path = Path::new(parent);
    let id = format::ALL
        .iter()
        .find_map(|format| format.layout().name_id(path))
        .unwrap_or_else(|| parent.to_owned());
    let found = run.store.by_id(&id).or_else(|missing| {
        let Some(child) = child else { return Err(missing) };
        let store = Store::around(child);
        let at = around.iter().position(|known| known.is(&store)).unwrap_or_else(|| {
            around.push(store);
            around.len() - 1
        });
        around[at].by_id(&id)
    });
    found.map(|found| found.path).map_err(|error| match error {
        ambiguous @ Error::SessionAmbiguous { .. } => ambiguous,
        _ => Error::ParentNotFound(parent.into()),
    })
}
