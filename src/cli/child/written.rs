//! A child whose file is there: read back before success is reported, and found again by its request.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Made, Order, home::Home, left_out, plan::Counts};
use crate::{
    cli::{
        Run,
        pick::Opened,
        report::{BoundaryReport, ChildReport, LeftOut, Next, ParentReport},
    },
    error::{Error, Result},
    format::{Birth, Format, Origin},
    log::Stamp,
    ops::{self, Intent, Policy},
    session::{At, Outline, Session},
    store::{self, Journal, Record, State, Store},
};

/// How many folders deep a sidecar lies at most.
const DEEPEST: usize = 3;

/// A child whose file is there.
pub(super) struct Written {
    pub made: Made,
    /// The inherited history as the parent has it.
    pub planned: Outline,
    /// How many messages stand behind it.
    pub framed: usize,
    pub lines: usize,
    pub format: &'static dyn Format,
    pub source: Option<PathBuf>,
    pub stamp: Stamp,
    pub policy: Policy,
    pub journal: Journal,
    pub record: Record,
    /// Its sidecars.
    pub beside: Vec<PathBuf>,
    /// Whether it was compared byte by byte. Lines say the same wherever they stand, so that this is proof enough.
    pub proven: bool,
    /// Where what it refers to lies.
    pub store: Store,
    /// The folder of logs whose index names it, and what is new about it.
    pub index: Option<(PathBuf, Birth)>,
    /// Keep other runs with the same request id, and other children, waiting until this one is through.
    pub _locks: [Option<store::Lock>; 2],
}

impl Written {
    /// Reads the child back, takes it away again if its history is not the planned one, and completes the lineage.
    pub fn finish(self) -> Result<Made> {
        let counts = self.prove_and_record().inspect_err(|_| {
            // A child that is not reported is not there either.
            take_away(&self.record.written.path, &self.beside);
        })?;
        let Counts { messages, turns, calls: tool_calls, results: tool_results } = counts;
        Ok(Made { messages, turns, tool_calls, tool_results, ..self.made })
    }

    fn prove_and_record(&self) -> Result<Counts> {
        let counts = if self.proven {
            let Made { messages, turns, tool_calls: calls, tool_results: results, .. } = self.made;
            Counts { messages, turns, calls, results }
        } else {
            self.read_back()?
        };
        self.check_source()?;
        if let Some((logs, birth)) = &self.index {
            store::name_in_index(self.format.layout(), logs, birth, &self.journal)?;
        }
        self.journal.add(&Record { state: State::Committed, ..self.record.clone() })?;
        Ok(counts)
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

/// Removes a child that does not come about, and its sidecars.
pub(super) fn take_away(child: &Path, beside: &[PathBuf]) {
    let _ = fs::remove_file(child);
    take_away_beside(child, beside);
}

/// Removes the sidecars of a child, and the folders of these that this leaves empty.
pub(super) fn take_away_beside(child: &Path, beside: &[PathBuf]) {
    for file in beside {
        let _ = fs::remove_file(file);
        let own = file.ancestors().skip(1).take_while(|folder| Some(*folder) != child.parent());
        for folder in own.take(DEEPEST) {
            let _ = fs::remove_dir(folder); // Which only takes empty ones.
        }
    }
}

/// Names the child of an earlier run where its client looks for names, which a crash may have kept that run from.
pub(super) fn name(run: &Run, before: &Record, opened: &Opened, order: &Order<'_>) -> Result<()> {
    let Some(logs) = Home::of(run, opened).logs.filter(|_| order.out.is_none()) else {
        return Ok(());
    };
    let session = &opened.session;
    let birth = Birth {
        id: before.written.id.clone(),
        at: before.at,
        cwd: None,
        title: before.written.title.clone(),
        parent: session.id().into(),
        parent_path: PathBuf::new(),
        seed_length: 0,
        version: session.format.written_version(session.header().version),
        base: None,
        aside: false,
    };
    store::name_in_index(session.format.layout(), &logs, &birth, &run.journal()?)
}

/// The child of an earlier run with the same request, if it is there and whole.
pub(super) fn replayed(
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
        next: Next::of(&child, path),
        framed: thread
            .history(thread.path().len(), thread.seed)
            .iter()
            .filter(|message| message.origin == Origin::Framing)
            .count(),
        seed_hash: text("hash").into(),
        inherited,
        carried: Vec::new(),
        not_carried: Vec::new(),
    }))
}
