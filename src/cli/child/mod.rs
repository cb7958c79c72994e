//! How fork and side make a child: request, cut, name, place, then a saga that reports success only when the child and
//! its lineage are both durable.

mod home;
mod sidecars;
mod title;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Value, json};

use self::{home::Home, sidecars::Sidecars};
use super::{
    Run,
    output::{Answer, Report},
    pick::{Allow, Opened, Pick},
    report::{self, BoundaryReport, ChildReport, LeftOut, Next, ParentReport},
};
use crate::{
    error::{Error, Result},
    finding::{Code, Finding},
    format::{Birth, Format, Note},
    log::{Encoding, Log, Stamp},
    ops::{self, Cut, Intent, Policy},
    session::{At, Outline, Session, Turns},
    store::{self, Journal, Record, State, Store},
};

/// Flags of every verb that makes a child.
#[derive(Clone, Debug, clap::Args)]
pub struct Making {
    /// The child's title; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The child's id, if not one by the client's own policy
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Makes the request repeatable: the same id and request give the same child again
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,
    /// The child's working folder, which decides its place
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Whether the parent's context is inherited
    #[arg(long, value_enum, default_value = "inherit")]
    pub context: ContextArg,
    /// The branch to go from, by any record on it
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Leave out lines with this kind of damage
    #[arg(long, value_name = "CODE", value_parser = super::pick::code)]
    pub drop: Vec<Code>,
    #[command(flatten)]
    pub allow: Allow,
    /// Read and check everything, print the plan, write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// From here on a child is read back as bytes and not as lines.
const LARGE: u64 = 64 * 1024 * 1024;

/// What a child inherits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ContextArg {
    /// Everything up to the boundary
    Inherit,
    /// Nothing but lineage, working folder and settings
    None,
}

/// What is to be made.
pub struct Order<'a> {
    /// `fork` or `side`.
    pub verb: &'static str,
    /// The parent.
    pub pick: &'a Pick,
    /// Where to cut it.
    pub at: &'a At,
    /// The shared flags.
    pub making: &'a Making,
    /// Where to write instead of the client's own place; `-` is standard output.
    pub out: Option<&'a Path>,
    /// The words of a side session's framing.
    pub framing: Option<String>,
    /// Whether what lies beside the log is carried along; none where it does not matter.
    pub sidecars: Option<bool>,
    /// Whether the child must hold all that it inherits.
    pub flatten: bool,
}

/// What was made.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// Messages that the model sees in the child.
    pub messages: usize,
    /// Closed turns in it.
    pub turns: usize,
    /// Calls on its path.
    pub tool_calls: usize,
    /// Results on its path.
    pub tool_results: usize,
    /// Where the parent was cut.
    pub boundary: BoundaryReport,
    /// What is inherited, in the client's own unit.
    pub seed_length: u64,
    /// What is not.
    pub left_out: LeftOut,
    /// The child.
    pub child: ChildReport,
    /// Whether an earlier run had made it.
    pub replayed: bool,
    /// Where it comes from.
    pub parent: ParentReport,
    /// Whether the model sees a summary of the older part.
    pub compacted_source: bool,
    /// How the client opens it.
    pub next: Next,
    /// How many messages frame a side session.
    #[serde(skip)]
    pub framed: usize,
    /// The hash of the inherited messages.
    pub seed_hash: String,
    /// How many messages are the parent's.
    #[serde(skip)]
    pub inherited: usize,
    /// What was carried along, by kind and number.
    #[serde(skip)]
    pub carried: Vec<String>,
    /// What was not.
    #[serde(skip)]
    pub not_carried: Vec<String>,
}

/// Makes the child, or says what would be made.
pub fn make(
    run: &Run,
    order: &Order<'_>,
    present: impl FnOnce(Made) -> Box<dyn Report>,
) -> Result<Answer> {
    let making = order.making;
    let opened = order.pick.open_to(run, Some(order.at))?;
    let session = &opened.session;
    let mut answer = Answer {
        source: Some(report::source(session, opened.path.clone())),
        dry_run: making.dry_run,
        ..Answer::default()
    };
    answer.stdout_taken = order.out == Some(Path::new("-"));
    let layout = session.format.layout();
    if let Some(id) = making.id.as_deref().filter(|id| !layout.valid_id(id)) {
        return Ok(answer.failed(Error::InvalidSessionId(id.into())));
    }
    let step = plan(run, order, &opened, &mut answer);
    drop(opened); // A long log and its child need not both be in memory.
    let made = step.and_then(|step| match step {
        Step::Done(made) => Ok(*made),
        Step::Written(written) => written.finish(),
    });
    match made {
        Ok(made) => {
            answer.report = Some(present(made));
            Ok(answer)
        }
        Err(error) => Ok(answer.failed(error)),
    }
}

/// How far a child has come.
enum Step {
    /// Nothing is left to do: an earlier run made it, or nothing was to be written.
    Done(Box<Made>),
    /// Its file is there; it has to be read back.
    Written(Box<Written>),
}

fn plan(run: &Run, order: &Order<'_>, opened: &Opened, answer: &mut Answer) -> Result<Step> {
    let making = order.making;
    let given = making.title.as_deref();
    let title =
        given.map(|title| super::side::text_argument(title).and_then(title::check)).transpose()?;
    if !(making.allow.not_live() && order.out.is_some()) {
        opened.require_live(run)?;
    }
    let request = request(order, opened, title.as_deref());
    let journal = run.journal()?;
    let id = making.request_id.as_deref();
    let lock = id.filter(|_| !making.dry_run).map(|id| journal.lock(id)).transpose()?;
    let before = id.map(|id| journal.request(id)).transpose()?.flatten();
    if let (Some(before), Some(id)) = (&before, id) {
        same_request(id, &before.request, &request)?;
    }
    let policy = making.allow.policy(&making.drop, run.global.strict);
    if let Some(before) = &before
        && let Some(made) = replayed(run, before, opened, order, &policy)?
    {
        if before.state == State::Prepared {
            // The crash came between the write and this step.
            journal.add(&Record { state: State::Committed, ..before.clone() })?;
        }
        return Ok(Step::Done(Box::new(made)));
    }
    let fileless = |before: &Record| before.written.path.as_os_str().is_empty();
    let again = before.filter(|before| before.state == State::Prepared || fileless(before));
    let cut = ops::cut(
        &opened.session,
        &Intent { at: order.at, leaf: making.leaf.as_deref(), policy: &policy },
    )?;
    answer.findings.clone_from(&cut.warnings);
    let home = Home::of(run, opened);
    let taken = title::taken(&home, &journal, &opened.parent().0)?;
    if title.as_ref().is_some_and(|title| taken.contains(title)) && again.is_none() {
        let message = "another session has that title";
        answer.findings.push(Finding::new(Code::TitleInUse, message));
    }
    let title = match (title, &again) {
        (Some(title), _) => title,
        (None, Some(Record { written: store::Written { title: Some(title), .. }, .. })) => {
            title.clone()
        }
        _ => {
            let parent = title::of_parent(&home, &journal, opened)?;
            title::next(parent.as_deref(), order.verb, &taken)
        }
    };
    let plan = Plan::new(run, order, opened, cut, home, title, again.as_ref())?;
    answer.findings.extend(report::compacted(plan.planned.compacted));
    answer.findings.extend(plan.told(order)?);
    if order.framing.is_some() && plan.framing.is_none() {
        let message = "no framing was written: this version opens no session with a message before the first step";
        answer.findings.push(Finding::new(Code::NoteNotSent, message));
    }
    plan.carry_out(order, journal, request, again.is_some(), policy, lock)
}

/// A child that is fully thought out.
struct Plan<'a> {
    opened: &'a Opened,
    cut: Cut<'a>,
    home: Home,
    birth: Birth,
    framing: Option<Note>,
    /// The inherited history, which the child must have when read back.
    planned: Outline,
    inherit: bool,
    /// Its file.
    place: PathBuf,
    encoding: Encoding,
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
    fn new(
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
        let cwd = order.making.cwd.as_ref();
        // Clients see a folder's real path, whatever links led to it.
        let real = |cwd: PathBuf| fs::canonicalize(&cwd).unwrap_or(cwd);
        let cwd = cwd.map(|cwd| real(run.env.absolute(cwd)).display().to_string());
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
            cwd: cwd.or_else(|| session.header().cwd.clone()),
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
        let planned = Outline::of(&cut.thread, keep, usize::MAX)?;
        let place = home.place(run, opened, order.out, &birth);
        let encoding = home.encoding(opened, order.out);
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
            elsewhere,
            starts,
            sidecars,
            carries: order.sidecars == Some(true),
        })
    }

    /// What is worth knowing about the child.
    fn told(&self, order: &Order<'_>) -> Result<Vec<Finding>> {
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
        let folder = self.opened.path.as_deref().and_then(|path| layout.presence(path));
        if let Some(holder) = folder.and_then(|folder| store::present(&folder, session.id())) {
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

    /// The child's sidecars, all of them or none; what was written.
    fn carry(&self) -> Result<Vec<PathBuf>> {
        if !self.carries {
            return Ok(Vec::new());
        }
        let session = &self.opened.session;
        let writer = session.format.writer(&session.facts)?;
        let layout = session.format.layout();
        let mut written = Vec::new();
        let carried = self.sidecars.carry(writer, layout, &self.birth, &self.place, &mut written);
        match carried {
            Ok(()) => Ok(written),
            Err(error) => {
                take_away(&written);
                Err(error)
            }
        }
    }

    /// The saga: success is reported only when the child and its lineage are both durable.
    fn carry_out(
        &self,
        order: &Order<'_>,
        journal: Journal,
        request: Map<String, Value>,
        again: bool,
        policy: Policy,
        lock: Option<fs::File>,
    ) -> Result<Step> {
        let Self { cut, birth, framing, .. } = self;
        if let Some(argv) = &self.starts {
            return self.without_file(order, &journal, request, again, argv);
        }
        let child = ops::Child { cut, birth, inherit: self.inherit, framing: framing.as_ref() };
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
        if !again {
            self.check_free(order)?;
        }
        if order.making.dry_run {
            return Ok(Step::Done(Box::new(self.made(&self.place, self.counts()))));
        }
        let record = self.record(order, request);
        journal.add(&record)?;
        if again {
            store::sweep(&self.place); // what the crash left
        }
        let stamp = self.opened.session.log.stamp();
        store::create(&self.place, &draft, self.encoding, stamp)?;
        let large = draft.size() > LARGE && self.encoding == Encoding::Plain;
        if large && !draft.is_in(&Log::open(&self.place)?)? {
            let _ = fs::remove_file(&self.place);
            let what = "the child did not read back as planned: it has other bytes".to_owned();
            return Err(Error::DurabilityFailed { path: self.place.clone(), what });
        }
        let beside = self.carry().inspect_err(|_| {
            let _ = fs::remove_file(&self.place);
        })?;
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
            proven: large,
            store: self.home.store.clone(),
            index: logs.map(|logs| (logs, birth.clone())),
            _lock: lock,
        })))
    }

    /// Neither the file nor, under another name, a session of that id may be there.
    fn check_free(&self, order: &Order<'_>) -> Result<()> {
        if fs::symlink_metadata(&self.place).is_ok_and(|meta| !meta.is_symlink()) {
            return Err(Error::AlreadyExists(self.place.clone()));
        }
        let layout = self.opened.session.format.layout();
        let known = || self.home.store.named(layout, &self.birth.id).into_iter().next();
        match order.making.id.as_ref().and_then(|_| known()) {
            Some(known) => Err(Error::AlreadyExists(known)),
            None => Ok(()),
        }
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
            next: Next { argv: layout.opens(&birth.id, path, in_store), cwd: birth.cwd.clone() },
            framed: usize::from(self.framing.is_some()),
            seed_hash: planned.hash.clone(),
            inherited,
            carried: self.sidecars.told(|what| what.carried && self.carries),
            not_carried: self.sidecars.told(|what| !(what.carried && self.carries)),
        }
    }
}

/// Removes what was written for a child that does not come about.
fn take_away(files: &[PathBuf]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// Counts of a child, as read back or as planned.
#[derive(Clone, Copy)]
struct Counts {
    messages: usize,
    turns: usize,
    calls: usize,
    results: usize,
}

impl Counts {
    fn of(messages: usize, turns: &Turns) -> Self {
        Self { messages, turns: turns.closed(), calls: turns.calls, results: turns.results }
    }
}

/// A child whose file is there.
struct Written {
    made: Made,
    /// The inherited history as the parent has it.
    planned: Outline,
    /// How many messages stand behind it.
    framed: usize,
    lines: usize,
    format: &'static dyn Format,
    source: Option<PathBuf>,
    stamp: Stamp,
    policy: Policy,
    journal: Journal,
    record: Record,
    /// Its sidecars.
    beside: Vec<PathBuf>,
    /// Whether it was compared byte by byte. Lines say the same wherever they stand, so that this is proof enough.
    proven: bool,
    /// Where what it refers to lies.
    store: Store,
    /// The folder of logs whose index names it, and what is new about it.
    index: Option<(PathBuf, Birth)>,
    /// Keeps other runs with the same request id waiting until this one is through.
    _lock: Option<fs::File>,
}

impl Written {
    /// Reads the child back, takes it away again if its history is not the planned one, and completes the lineage.
    fn finish(self) -> Result<Made> {
        let counts = if self.proven {
            let Made { messages, turns, tool_calls: calls, tool_results: results, .. } = self.made;
            Counts { messages, turns, calls, results }
        } else {
            self.read_back().inspect_err(|_| {
                take_away(&self.beside);
                take_away(std::slice::from_ref(&self.record.written.path));
            })?
        };
        self.check_source()?;
        if let Some((logs, birth)) = &self.index {
            store::name_in_index(self.format.layout(), logs, birth)?;
        }
        self.journal.add(&Record { state: State::Committed, ..self.record })?;
        let Counts { messages, turns, calls: tool_calls, results: tool_results } = counts;
        Ok(Made { messages, turns, tool_calls, tool_results, ..self.made })
    }

    /// The child as its client will see it: the planned history, then the framing and nothing else.
    fn read_back(&self) -> Result<Counts> {
        let path = &self.record.written.path;
        let child = Session::read(store::open(path, Some(&self.store))?, Some(self.format))?;
        let thread = child.thread(None)?;
        let planned = &self.planned;
        let have = Outline::of(&thread, thread.path().len(), planned.messages)?;
        let same = have.messages == planned.messages + self.framed
            && (&have.hash, have.system) == (&planned.hash, planned.system)
            && child.log.lines() - child.log.own_first() == self.lines;
        let bad = thread.findings().into_iter().find(|finding| self.policy.stops(finding));
        if same && bad.is_none() {
            return Ok(Counts::of(have.messages, &thread.turns));
        }
        let why = bad.map_or("its history is another one".to_owned(), |bad| bad.to_string());
        let what = format!("the child did not read back as planned: {why}");
        Err(Error::DurabilityFailed { path: path.clone(), what })
    }

    /// The source must still hold what was read; that somebody has gone on writing to it does not matter.
    fn check_source(&self) -> Result<()> {
        let Some(path) = &self.source else { return Ok(()) };
        let now = fs::File::open(path).and_then(|file| Stamp::of(&file));
        let now = now.map_err(Error::io("read", path))?;
        if now.size < self.stamp.size && now.inode == self.stamp.inode {
            let what = "it is shorter than it was";
            return Err(Error::SourceChanged { path: path.clone(), what });
        }
        Ok(())
    }
}

/// The child of an earlier run with the same request, if it is there and whole.
fn replayed(
    run: &Run,
    before: &Record,
    opened: &Opened,
    order: &Order<'_>,
    policy: &Policy,
) -> Result<Option<Made>> {
    let path = &before.written.path;
    let format = opened.session.format;
    let child =
        store::open(path, Some(&run.store)).and_then(|log| Session::read(log, Some(format)));
    let Some(child) = child.ok().filter(|child| child.id() == before.written.id) else {
        return Ok(None);
    };
    let thread = child.thread(None)?;
    let outline = Outline::of(&thread, thread.path().len(), 0)?;
    let text = |key: &str| before.boundary.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| before.boundary.get(key).and_then(Value::as_u64).unwrap_or(0);
    let size = |key: &str| usize::try_from(number(key)).unwrap_or(0);
    let inherited = size("messages");
    // The boundary is told as it was found then; the parent may have gone on since.
    let at = match before.boundary.get("records").and_then(Value::as_u64) {
        Some(_) => At::Records(size("records")),
        None => At::Line(size("line")),
    };
    let leaf = order.making.leaf.as_deref();
    let cut = ops::cut(&opened.session, &Intent { at: &at, leaf, policy }).ok();
    let told = cut.as_ref().map(|cut| BoundaryReport::of(&cut.thread, cut.boundary, inherited));
    let turn = told.as_ref().and_then(|told| told.turn);
    let left_out = cut.as_ref().map(|cut| left_out(cut, inherited, true));
    let layout = format.layout();
    let root = layout.root_of(path);
    let base = root.as_deref().unwrap_or(path).parent().unwrap_or(Path::new(""));
    Ok(Some(Made {
        messages: outline.messages,
        turns: thread.turns.closed(),
        tool_calls: thread.turns.calls,
        tool_results: thread.turns.results,
        boundary: BoundaryReport {
            kind: order.at.kind().name(),
            at: text("at").into(),
            turn_id: told.as_ref().and_then(|told| told.turn_id.clone()),
            turn,
            line: size("line"),
            messages: inherited,
            clipped: told.is_some_and(|told| told.clipped),
        },
        seed_length: number("seed_length"),
        left_out: left_out.unwrap_or(LeftOut { lines: None, messages: None }),
        child: ChildReport {
            id: child.id().into(),
            path: Some(path.clone()),
            title: before.written.title.clone(),
            cwd: child.header().cwd.clone(),
            store_path: Some(path.strip_prefix(base).unwrap_or(path).into()),
        },
        replayed: true,
        parent: ParentReport::of(opened),
        compacted_source: outline.compacted.is_some(),
        next: Next {
            argv: layout.opens(child.id(), path, root.is_some()),
            cwd: child.header().cwd.clone(),
        },
        framed: outline.messages - inherited.min(outline.messages),
        seed_hash: text("hash").into(),
        inherited,
        carried: Vec::new(),
        not_carried: Vec::new(),
    }))
}

/// What a child does not have of its parent.
pub(super) fn left_out(cut: &Cut<'_>, inherited: usize, inherit: bool) -> LeftOut {
    let all = cut.thread.history(cut.thread.path().len(), 0).len();
    let kept = if inherit { cut.kept.len() } else { 0 };
    let session = cut.thread.session;
    let header = usize::from(session.header().line.is_some());
    let records = session.log.lines().saturating_sub(header + session.blank.len());
    if session.partly {
        // The rest was not looked at, so that nobody knows.
        return LeftOut { lines: None, messages: None };
    }
    LeftOut {
        lines: Some(records.saturating_sub(kept)),
        messages: Some(all.saturating_sub(inherited)),
    }
}

/// What makes two requests the same.
fn request(order: &Order<'_>, opened: &Opened, title: Option<&str>) -> Map<String, Value> {
    let making = order.making;
    report::object(json!({
        "verb": order.verb, "source": opened.parent().0, "at": format!("{:?}", order.at), "title": title, "id": making.id,
        "cwd": making.cwd, "out": order.out, "context": format!("{:?}", making.context), "leaf": making.leaf,
        "framing": order.framing, "drop": making.drop, "flatten": order.flatten,
    }))
}

fn same_request(id: &str, before: &Map<String, Value>, now: &Map<String, Value>) -> Result<()> {
    let differs: Vec<&str> = now
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value))
        .map(|(key, _)| key.as_str())
        .collect();
    if differs.is_empty() {
        Ok(())
    } else {
        Err(Error::RequestConflict { id: id.into(), differs: differs.join(", ") })
    }
}
