//! A pane: the transcript of a side conversation and its place, and the link to it in the parent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{
    cli::{Run, pick::Opened, report},
    error::{Error, Result},
    fact::{Fact, Tokens},
    finding::{Code, Finding, Severity},
    format::{
        Birth, Format, Tip, id,
        record::{Pointer, Pointing, Recorder, Scene},
    },
    log::{Draft, Encoding, Log},
    session::{Session, ledger},
    store::{self, Journal, Record, State, Store, Written},
};

/// One pane of a session.
pub(super) struct Pane<'a> {
    run: &'a Run,
    pub opened: &'a Opened,
    pub format: &'static dyn Format,
    pub recorder: &'static dyn Recorder,
    /// Its id.
    pub id: String,
    /// The parent's log.
    pub parent: PathBuf,
    /// The transcript as a session.
    pub birth: Birth,
    /// The transcript's file.
    pub place: PathBuf,
    encoding: Encoding,
    header: Vec<u8>,
    like: Vec<u8>,
    journal: Journal,
    /// Keeps other runs off the pane.
    _lock: Option<store::Lock>,
}

impl<'a> Pane<'a> {
    /// The pane that the flags name, of the session `opened`.
    pub fn of(
        run: &'a Run,
        opened: &'a Opened,
        name: Option<&str>,
        out: Option<&Path>,
        dry_run: bool,
    ) -> Result<Self> {
        let session = &opened.session;
        let format = session.format;
        let recorder = format.recorder();
        let Some(parent) = opened.path.clone().filter(|_| opened.manifest.is_none()) else {
            let message = "a snapshot keeps no side conversation; name the session itself";
            return Err(Error::BadUsage(message.into()));
        };
        if out.is_none() {
            opened.require_live(run)?;
        }
        let pane = match name {
            Some(pane) => checked(pane)?,
            None => uuid::Uuid::new_v4().simple().to_string()[..8].to_owned(),
        };
        let header = session.header();
        let id = recorder.session_id(session.id(), header.created, &pane);
        let birth = Birth {
            id,
            at: run.now,
            cwd: header.cwd.clone(),
            title: None,
            parent: session.id().to_owned(),
            parent_path: parent.clone(),
            seed_length: 0,
            version: format.written_version(header.version),
            base: None,
            aside: false,
        };
        let first = header.line.map(|line| session.log.line(line as usize)).transpose()?;
        let is_model = |line: &u32| recorder.is_model(&session.facts, *line);
        let model = session.facts.all().iter().rev().map(|stated| stated.line).find(is_model);
        let like = model.map(|line| session.log.line(line as usize)).transpose()?;
        let header = first.unwrap_or_default();
        let like = like.unwrap_or_default();
        let root = format.layout().root_of(&parent);
        let encoding = format.layout().stores(session.log.encoding());
        let scene = Scene { birth: &birth, pane: &pane, header: &header, like: &like };
        let usual = recorder.place(root.as_deref(), scene, encoding);
        let known = || known(format, root.as_deref(), &usual, &birth);
        let place = out.map_or_else(known, |out| run.env.absolute(out));
        let journal = run.journal()?;
        let lock = (!dry_run)
            .then(|| journal.lock(&format!("pane\0{}\0{pane}", session.id())))
            .transpose()?;
        let mut pane = Self {
            run,
            opened,
            format,
            recorder,
            id: pane,
            parent,
            birth,
            place,
            encoding,
            header,
            like,
            journal,
            _lock: lock,
        };
        // Whoever was killed while writing here left something to be taken back.
        let _held = if dry_run { None } else { pane.hold()? };
        if let Some(transcript) = pane.transcript()? {
            // One that the client itself began has an id of its own choice.
            transcript.id().clone_into(&mut pane.birth.id);
        }
        Ok(pane)
    }

    pub fn scene(&self) -> Scene<'_> {
        Scene { birth: &self.birth, pane: &self.id, header: &self.header, like: &self.like }
    }

    /// The transcript as it stands, if there is one.
    pub fn transcript(&self) -> Result<Option<Session>> {
        if !self.place.exists() {
            return Ok(None);
        }
        let session = Session::read_usages(Log::open(&self.place)?, Some(self.format))?;
        let stops = |finding: &&Finding| finding.severity == Severity::Error;
        if let Some(finding) = session.findings.iter().find(stops) {
            return Err(finding.clone().into());
        }
        let parent = session.header().parent.as_deref().unwrap_or_default();
        let named = ledger::parent_id(&session, parent);
        if named != self.birth.parent && Path::new(parent) != self.parent {
            return Err(Error::AlreadyExists(self.place.clone()));
        }
        Ok(Some(session))
    }

    /// The number of the next turn, what it must follow, and what was spent before.
    pub fn stand(&self, transcript: Option<&Session>) -> Result<(u64, Tip, Tokens)> {
        let Some(session) = transcript else {
            let version = self.birth.version;
            return Ok((1, Tip { version, ..Tip::default() }, Tokens::default()));
        };
        let thread = session.thread(None)?;
        let last = thread.path().last().map(|line| session.log.line(*line as usize)).transpose()?;
        let writer = session.format.writer(&session.facts)?;
        let tip = Tip {
            version: session.header().version,
            ..writer.tip(&session.facts, thread.path(), last.as_deref())
        };
        let mut cost = Tokens::default();
        for usage in &session.facts.usages {
            cost.add(&usage.tokens);
        }
        Ok((thread.turns.list.len() as u64 + 1, tip, cost))
    }

    /// Locks of a transcript that is there.
    pub fn hold(&self) -> Result<Option<store::Held>> {
        if !self.place.exists() {
            return Ok(None);
        }
        let lock = self.format.layout().lock(&self.place, self.birth.version);
        store::hold(&self.place, lock.as_deref(), &self.birth.id, &self.journal).map(Some)
    }

    /// Adds lines to the transcript, which is new unless it was read `before`.
    pub fn write(
        &self,
        before: Option<&Session>,
        lines: &[Vec<u8>],
        held: Option<&store::Held>,
    ) -> Result<()> {
        if let (Some(session), Some(held)) = (before, held) {
            let log = &session.log;
            return store::append(
                &self.place,
                &self.birth.id,
                lines,
                log.encoding(),
                log.stamp(),
                false,
                held,
            );
        }
        let parent = &self.opened.session.log;
        let mut draft = Draft::of(parent);
        for line in lines {
            draft.line(line);
        }
        self.journal(State::Prepared)?;
        store::create(&self.place, &draft, self.encoding, parent.stamp())?;
        let whole = self.transcript().map(|session| session.is_some());
        if !matches!(whole, Ok(true)) {
            take_away(&self.place);
            let why =
                whole.err().map_or_else(|| "it is not there".into(), |error| error.to_string());
            let what = format!("the transcript did not read back: {why}");
            return Err(Error::DurabilityFailed { path: self.place.clone(), what });
        }
        self.journal(State::Committed)
    }

    /// The step in the journal, which is the pointer of clients whose logs have no place for one.
    fn journal(&self, state: State) -> Result<()> {
        self.journal.add(&Record {
            v: 1,
            state,
            op: "record".into(),
            at: self.birth.at,
            tool: env!("CARGO_PKG_VERSION").into(),
            request_id: None,
            request: report::object(json!({"verb": "record", "pane": self.id})),
            source: report::object(json!({
                "id": self.birth.parent, "path": self.parent, "format": self.format.name(),
            })),
            boundary: serde_json::Map::new(),
            written: Written {
                id: self.birth.id.clone(),
                path: self.place.clone(),
                title: None,
                note: None,
            },
        })
    }

    /// Whether the parent names the pane.
    pub fn is_pointed(&self, parent: &Session) -> Result<bool> {
        let pane = parent.facts.known(&self.id);
        let named = pane.is_some_and(|pane| {
            parent.facts.all().iter().any(|stated| stated.fact == Fact::Pointed(pane))
        });
        if named {
            return Ok(true);
        }
        let tip = &mut Tip { version: parent.header().version, ..Tip::default() };
        Ok(match self.recorder.pointer(&self.pointer(""), &self.parent, tip, &|_| false) {
            Pointing::Line(_) => false,
            Pointing::File(path, _) => path.exists(),
            Pointing::Journal => self.journal.records()?.iter().any(|record| {
                record.op == "record"
                    && record.state == State::Committed
                    && record.written.id == self.birth.id
            }),
        })
    }

    fn pointer<'b>(&'b self, question: &'b str) -> Pointer<'b> {
        Pointer {
            digest: id::digest(&["sessctl/pointer/1", &self.birth.parent, &self.id]),
            pane: &self.id,
            session: &self.birth.id,
            file: &self.place,
            question,
            at: self.birth.at,
        }
    }

    /// Makes the parent name the transcript, once; whether it had to be written. Without a `question` the transcript tells the first one.
    pub fn point(&self, question: Option<&str>) -> Result<bool> {
        let first = match question {
            Some(question) => question.to_owned(),
            None => self.first_question()?,
        };
        let path = self.parent.clone();
        let layout = self.format.layout();
        let version = self.opened.session.header().version;
        let lock = layout.lock(&path, version);
        let held = store::hold(&path, lock.as_deref(), &self.birth.parent, &self.journal)?;
        // Read again under the lock: what was read is what will be appended to.
        let log = store::open(&path, Some(&self.run.store))?;
        let parent = Session::read(log, Some(self.format))?;
        if self.is_pointed(&parent)? {
            return Ok(false);
        }
        let thread = parent.thread(None)?;
        let last = thread.path().last().map(|line| parent.log.line(*line as usize)).transpose()?;
        let writer = parent.format.writer(&parent.facts)?;
        let mut tip = writer.tip(&parent.facts, thread.path(), last.as_deref());
        tip.version = version;
        let pointer = self.pointer(&first);
        let taken = |id: &str| parent.facts.known(id).is_some();
        match self.recorder.pointer(&pointer, &path, &mut tip, &taken) {
            Pointing::Line(line) => {
                let torn = parent
                    .findings
                    .iter()
                    .find(|finding| matches!(finding.code, Code::TornTail | Code::FrameCorrupt));
                if let Some(torn) = torn {
                    return Err(torn.clone().into());
                }
                let presence = layout.presence(&path);
                if let Some(holder) =
                    presence.and_then(|presence| store::present(&presence, parent.id()))
                {
                    return Err(Error::SessionLocked { id: parent.id().into(), holder });
                }
                store::append(
                    &path,
                    parent.id(),
                    &[line],
                    parent.log.encoding(),
                    parent.log.stamp(),
                    false,
                    &held,
                )?;
            }
            Pointing::File(file, bytes) => {
                store::write_new(&file, 0o600, |out| Ok(out.write_all(&bytes)))?;
            }
            Pointing::Journal => {}
        }
        Ok(true)
    }

    /// The first question of the transcript.
    fn first_question(&self) -> Result<String> {
        let Some(session) = self.transcript()? else { return Ok(String::new()) };
        Ok(session.facts.first_prompt.clone().unwrap_or_default())
    }
}

/// A pane's id becomes the name of a folder.
fn checked(pane: &str) -> Result<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = pane.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && pane.len() <= 128 && pane.chars().all(fits) {
        return Ok(pane.to_owned());
    }
    Err(Error::BadUsage(
        "a pane's id has letters, digits, `-`, `_` and `.`, begins with a letter or digit and is at most 128 long"
            .into(),
    ))
}

/// The transcript of a pane that is there already, whatever it is called; else where it would be made.
fn known(format: &'static dyn Format, root: Option<&Path>, usual: &Path, birth: &Birth) -> PathBuf {
    if usual.exists() {
        return usual.into();
    }
    let named = root.and_then(|root| {
        Store::home(format.layout(), root.into()).named(format.layout(), &birth.id).pop()
    });
    // A folder of the pane's own may hold one that the client began.
    let is_panes = usual
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("btw-")));
    let begun = || store::files_in(usual.parent()?).into_iter().next();
    named.or_else(|| if is_panes { begun() } else { None }).unwrap_or_else(|| usual.into())
}

/// Removes a transcript that does not come about, and the folders of ours that this leaves empty.
pub fn take_away(place: &Path) {
    let _ = fs::remove_file(place);
    for folder in place.ancestors().skip(1).take(3) {
        if fs::remove_dir(folder).is_err() {
            break; // which only takes empty ones
        }
    }
}
