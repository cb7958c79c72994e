//! A child that is fully thought out, and the saga that writes it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use super::{
    ContextArg, Made, Order, Step,
    home::Home,
    left_out,
    sidecars::Sidecars,
    written::{Written, take_away_beside},
};
use crate::{
    cli::{
        Run,
        pick::Opened,
        report::{self, BoundaryReport, ChildReport, Next, ParentReport},
    },
    error::{Error, Result},
    finding::{Code, Finding},
    format::{Birth, Note},
    log::Encoding,
    ops::{self, Cut, Policy},
    session::{Outline, Turns},
    store::{self, Journal, Record, State},
};

/// From here on a child is read back as lines and not as messages.
pub(super) const LARGE: u64 = 64 * 1024 * 1024;

/// A child that is fully thought out.
pub(super) struct Plan<'a> {
    opened: &'a Opened,
    cut: Cut<'a>,
    home: Home,
    birth: Birth,
    pub framing: Option<Note>,
    /// The inherited history, which the child must have when read back.
    pub planned: Outline,
    inherit: bool,
    /// Its file.
    place: PathBuf,
    encoding: Encoding,
    /// Whether it is compared with the source line by line, instead of being read back as messages.
    compares: bool,
    /// Whether the place was named on the command line.
    elsewhere: bool,
    /// The command that starts the child, where its client opens no log without messages.
    starts: Option<Vec<String>>,
    sidecars: Sidecars,
    /// Whether they are carried along.
    carries: bool,
}

impl<'a> Plan<'a> {
    /// `again` is the step of an earlier run that a crash left half done: its child is made again, not another one.
    pub fn new(
        run: &Run,
        order: &Order<'_>,
        opened: &'a Opened,
        cut: Cut<'a>,
        home: Home,
        title: String,
        again: Option<&Record>,
    ) -> Result<Self> {
        let session = &opened.session;
        let (parent, parent_path) = opened.parent();
        let inherit = order.making.context == ContextArg::Inherit;
        let id = again.map(|again| again.written.id.clone()).or_else(|| order.making.id.clone());
        let kept: &[u32] = if inherit { &cut.kept } else { &[] };
        let version = session.format.written_version(session.header().version);
        let refers = inherit
            && session.format.refers(version)
            && !order.flatten
            && order.making.drop.is_empty()
            && opened.manifest.is_none()
            && opened.path.is_some()
            && order.out.is_none_or(|out| home.holds(&run.env.absolute(out)));
        let birth = Birth {
            id: id.unwrap_or_else(|| session.format.layout().new_id()),
            at: again.map_or(run.now, |again| again.at),
            cwd: folder_of(run, order).or_else(|| session.header().cwd.clone()),
            title: Some(title),
            parent,
            parent_path,
            seed_length: session.format.seed_length(&session.facts, kept),
            version,
            base: refers.then(|| ops::base_of(&cut)).flatten(),
            aside: order.verb == "side",
        };
        let words = order.framing.clone();
        let writer = session.format.writer(&session.facts)?;
        let words = words.filter(|_| writer.takes_note(&session.facts, birth.version, kept));
        let framing = words.map(|text| ops::framing(&birth.id, &birth.parent, text));
        let keep = if inherit { cut.boundary.keep() } else { 0 };
        let place = home.place(run, opened, order.out, &birth);
        let encoding = home.encoding(opened, order.out);
        // A large child that holds what it inherits is compared line by line, so that its messages need no digests.
        let bytes = || kept.iter().map(|line| session.log.size_of(*line)).sum::<u64>();
        let compares = encoding == Encoding::Plain && birth.base.is_none() && bytes() > LARGE;
        let lines = session.log.digest_of(kept).filter(|_| compares);
        let planned = match lines {
            Some(digest) => Outline::under(&cut.thread, keep, format!("xxh3:{digest:032x}"))?,
            None => Outline::of(&cut.thread, keep, usize::MAX)?,
        };
        let elsewhere = order.out.is_some();
        let starts = session.format.layout().starts(&birth.id);
        let starts = starts.filter(|_| planned.messages == 0);
        let sidecars = order.sidecars.map(|_| Sidecars::of(opened)).unwrap_or_default();
        Ok(Self {
            opened,
            cut,
            home,
            birth,
            framing,
            planned,
            inherit,
            place,
            encoding,
            compares: lines.is_some(),
            elsewhere,
            starts,
            sidecars,
            carries: order.sidecars == Some(true),
        })
    }

    /// What is worth knowing about the child.
    pub fn told(&self, order: &Order<'_>) -> Result<Vec<Finding>> {
        let session = &self.opened.session;
        let writer = session.format.writer(&session.facts)?;
        let mut told = Vec::new();
        told.extend(self.framing.as_ref().and_then(|_| writer.unsent(&session.facts)));
        let left = self.sidecars.told(|what| what.carried);
        if order.sidecars == Some(false) && !left.is_empty() {
            let message =
                format!("{} beside the log; `--with-sidecars` carries them", left.join(", "));
            told.push(Finding::new(Code::SidecarsNotCarried, message));
        }
        let layout = session.format.layout();
        let presence = self.opened.path.as_deref().and_then(|path| layout.presence(path));
        if let Some(holder) = presence.and_then(|said| store::present(&said, session.id())) {
            told.push(Finding::new(Code::SessionLive, holder));
        }
        Ok(told)
    }

    /// A child that its client starts itself: nothing but its lineage is written.
    fn without_file(
        &self,
        order: &Order<'_>,
        journal: &Journal,
        request: Map<String, Value>,
        again: bool,
        argv: &[String],
    ) -> Result<Step> {
        if !order.making.dry_run && !again {
            let mut record = self.record(order, request);
            record.written.path = PathBuf::new();
            journal.add(&Record { state: State::Committed, ..record })?;
        }
        let made = self.made(&self.place, Counts { messages: 0, turns: 0, calls: 0, results: 0 });
        Ok(Step::Done(Box::new(Made {
            child: ChildReport { path: None, store_path: None, ..made.child },
            next: Next { argv: argv.to_vec(), ..made.next },
            replayed: again,
            ..made
        })))
    }

    /// The child's sidecars, all of them or none; what was written. `again`: those of an earlier run that a crash cut
    /// off may be there, beside no log.
    fn carry(&self, again: bool) -> Result<Vec<PathBuf>> {
        if !self.carries {
            return Ok(Vec::new());
        }
        let session = &self.opened.session;
        let writer = session.format.writer(&session.facts)?;
        let layout = session.format.layout();
        let mut written = Vec::new();
        if again && !self.place.exists() {
            let places = self.sidecars.places(layout, &self.birth, &self.place);
            for place in &places {
                store::sweep(place);
            }
            take_away_beside(&self.place, &places);
        }
        let carried = self.sidecars.carry(writer, layout, &self.birth, &self.place, &mut written);
        carried.inspect_err(|_| take_away_beside(&self.place, &written))?;
        Ok(written)
    }

    /// The saga: success is reported only when the child and its lineage are both durable.
    pub fn carry_out(
        &self,
        order: &Order<'_>,
        journal: Journal,
        request: Map<String, Value>,
        again: bool,
        policy: Policy,
        locks: [Option<store::Lock>; 2],
    ) -> Result<Step> {
        let Self { cut, birth, framing, .. } = self;
        if let Some(argv) = &self.starts {
            return self.without_file(order, &journal, request, again, argv);
        }
        let (inherit, framing) = (self.inherit, framing.as_ref());
        let folder = self.place.parent();
        let child = ops::Child { cut, birth, inherit, framing, folder };
        let draft = ops::child(&child)?;
        if order.out == Some(Path::new("-")) {
            let written = draft.write_as(self.encoding, &mut std::io::stdout().lock())?;
            return match written {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    Err(Error::io("write to", "standard output")(error))
                }
                _ => Ok(Step::Done(Box::new(self.made(Path::new("-"), self.counts())))),
            };
        }
        if !again && fs::symlink_metadata(&self.place).is_ok_and(|meta| !meta.is_symlink()) {
            return Err(Error::AlreadyExists(self.place.clone()));
        }
        if order.making.dry_run {
            return Ok(Step::Done(Box::new(self.made(&self.place, self.counts()))));
        }
        let record = self.record(order, request);
        journal.add(&record)?;
        if again {
            store::sweep(&self.place); // what the crash left
        }
        // The log comes last: with it the child is there.
        let beside = self.carry(again)?;
        let stamp = self.opened.session.log.stamp();
        let created = if self.compares {
            store::create_proved(&self.place, &draft, stamp)
        } else {
            store::create(&self.place, &draft, self.encoding, stamp)
        };
        created.inspect_err(|_| take_away_beside(&self.place, &beside))?;
        let logs = self.home.logs.clone().filter(|_| !self.elsewhere);
        Ok(Step::Written(Box::new(Written {
            made: self.made(&self.place, self.counts()),
            planned: self.planned.clone(),
            framed: usize::from(framing.is_some()),
            lines: draft.lines(),
            format: self.opened.session.format,
            source: self.opened.path.clone().filter(|_| self.opened.manifest.is_none()),
            stamp,
            policy,
            journal,
            record,
            beside,
            proven: self.compares,
            store: self.home.store.clone(),
            index: logs.map(|logs| (logs, birth.clone())),
            _locks: locks,
        })))
    }

    fn record(&self, order: &Order<'_>, request: Map<String, Value>) -> Record {
        let Self { cut, birth, planned, .. } = self;
        Record {
            v: 1,
            state: State::Prepared,
            op: order.verb.into(),
            at: birth.at,
            tool: env!("CARGO_PKG_VERSION").into(),
            request_id: order.making.request_id.clone(),
            request,
            source: report::object(json!({
                "id": birth.parent,
                "path": birth.parent_path,
                "format": self.opened.session.format.name(),
            })),
            boundary: report::object(json!({
                "at": cut.thread.name_of(cut.boundary),
                "line": cut.thread.file_line_before(cut.boundary),
                "records": cut.boundary.keep(),
                "messages": planned.messages,
                "seed_length": birth.seed_length,
                "hash": planned.hash,
            })),
            written: store::Written {
                id: birth.id.clone(),
                path: self.place.clone(),
                title: birth.title.clone(),
                note: None,
            },
        }
    }

    /// What the child will hold, for a plan that is not carried out.
    fn counts(&self) -> Counts {
        let thread = &self.cut.thread;
        let keep = if self.inherit { self.cut.boundary.keep() } else { 0 };
        let turns = Turns::of(&thread.session.facts, &thread.path()[..keep], keep);
        let framed = usize::from(self.framing.is_some());
        Counts::of(self.planned.messages + framed, &turns)
    }

    fn made(&self, path: &Path, counts: Counts) -> Made {
        let Self { cut, opened, home, birth, planned, .. } = self;
        let layout = opened.session.format.layout();
        let in_store = !self.elsewhere && home.logs.is_some();
        let inherited = planned.messages;
        Made {
            messages: counts.messages,
            turns: counts.turns,
            tool_calls: counts.calls,
            tool_results: counts.results,
            boundary: BoundaryReport::of(&cut.thread, cut.boundary, inherited),
            seed_length: birth.seed_length,
            left_out: left_out(cut, inherited, self.inherit),
            child: ChildReport {
                id: birth.id.clone(),
                path: Some(path.into()),
                title: birth.title.clone(),
                cwd: birth.cwd.clone(),
                store_path: Some(path.strip_prefix(&home.base).unwrap_or(path).into()),
            },
            replayed: false,
            parent: ParentReport::of(opened),
            compacted_source: planned.compacted.is_some(),
            next: Next {
                // Where standard output leads is not known.
                argv: if path == Path::new("-") {
                    Vec::new()
                } else {
                    layout.opens(&birth.id, path, in_store)
                },
                cwd: birth.cwd.clone(),
            },
            framed: usize::from(self.framing.is_some()),
            seed_hash: planned.hash.clone(),
            inherited,
            carried: self.sidecars.told(|what| what.carried && self.carries),
            not_carried: self.sidecars.told(|what| !(what.carried && self.carries)),
        }
    }
}

/// The child's working folder, where one was given. Clients see a folder's real path, whatever links led to it.
pub(super) fn folder_of(run: &Run, order: &Order<'_>) -> Option<String> {
    let folder = run.env.absolute(order.making.cwd.as_ref()?);
    Some(fs::canonicalize(&folder).unwrap_or(folder).display().to_string())
}

/// Counts of a child, as read back or as planned.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub messages: usize,
    pub turns: usize,
    pub calls: usize,
    pub results: usize,
}

impl Counts {
    pub fn of(messages: usize, turns: &Turns) -> Self {
        Self { messages, turns: turns.closed(), calls: turns.calls, results: turns.results }
    }
}
