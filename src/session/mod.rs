//! What the facts amount to, whoever wrote them.
//!
//! [`Session`] is a log with its facts; [`Thread`] is the session along one path, with turns, boundaries and messages.

mod boundary;
mod branch;
mod carry;
mod early;
mod enough;
pub mod explain;
mod gone;
pub mod history;
mod intake;
pub mod kinship;
pub mod ledger;
pub mod lineage;
mod order;
pub mod resume;
pub mod roll;
mod salvage;
pub mod sheet;
mod thread;
mod turn;

pub use boundary::{At, Boundary, Kind};
pub use branch::Branch;
pub use early::{Beginning, Begins};
pub use history::{History, Outline};
pub use thread::Thread;
pub use turn::{Turn, Turns};

use crate::{
    error::{Error, Result},
    fact::{Facts, Header, Keep},
    finding::{Code, Finding, Severity},
    format::{self, Format, Head},
    log::{After, Ahead, Line, Log},
};
use intake::Intake;

/// How much of a log is looked at to tell whose it is.
const HEAD: u64 = 256 * 1024;

/// From here on a log is not read behind a cut where nothing there can matter. What is left out of a smaller one is told.
const LARGE: u64 = 32 * 1024 * 1024;

/// A log, its client, what its lines state, and what is wrong with them.
pub struct Session {
    /// The bytes.
    pub log: Log,
    /// Who wrote them.
    pub format: &'static dyn Format,
    /// What the lines state.
    pub facts: Facts,
    /// What is wrong or worth knowing, below the level of paths and turns, in the order of lines.
    pub findings: Vec<Finding>,
    /// What damage did to the records.
    pub damage: Damage,
    /// Lines that hold nothing at all.
    pub blank: Vec<u32>,
    /// Whether the log goes on behind what was read.
    pub partly: bool,
}

/// What damage did to the records of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Records that are gone.
    pub lost: u64,
    /// Records that were read from damaged lines all the same.
    pub saved: u64,
    /// Whole records behind the first damaged line.
    pub after: u64,
    /// Whether anything was damaged.
    pub any: bool,
}

impl Session {
    /// Forgets the single lines, for those who have what they wanted of a long log while they look at another: what it is
    /// and says of itself as a whole stays, but no path goes through it any more.
    pub fn shed(&mut self) {
        self.facts.shed();
        self.log.shed();
    }

    /// Reads every line of `log`. The client is told from the log unless `wanted` names it.
    pub fn read(log: Log, wanted: Option<&'static dyn Format>) -> Result<Self> {
        Self::read_for(log, wanted, Keep::Path, None)
    }

    /// The same as far as a cut at `at` needs it: where nothing that follows can matter, the rest is not read. `begins`
    /// may begin a copy of the log.
    pub fn read_to(
        mut log: Log,
        wanted: Option<&'static dyn Format>,
        at: &At,
        begins: Begins<'_>,
    ) -> Result<Self> {
        log.remember();
        Self::read_for(log, wanted, Keep::Path, Some((at, begins)))
    }

    /// The same, with every record of usage.
    pub fn read_usages(log: Log, wanted: Option<&'static dyn Format>) -> Result<Self> {
        Self::read_for(log, wanted, Keep::All, None)
    }

    /// Nothing but the records of usage, and what tells whose they are: for logs that are only counted.
    pub fn read_ledger(log: Log, wanted: Option<&'static dyn Format>) -> Result<Self> {
        Self::read_for(log, wanted, Keep::Usages, None)
    }

    /// The same, with the records of usage that do not count.
    pub fn read_refusals(log: Log, wanted: Option<&'static dyn Format>) -> Result<Self> {
        Self::read_for(log, wanted, Keep::Refusals, None)
    }

    fn read_for(
        mut log: Log,
        wanted: Option<&'static dyn Format>,
        keep: Keep,
        cut: Option<(&At, Begins<'_>)>,
    ) -> Result<Self> {
        let (format, head) = whose(&log, wanted, matches!(keep, Keep::Usages | Keep::Refusals))?;
        let cut = cut.filter(|_| log.len() > LARGE);
        let tee = cut.and_then(|(_, begins)| early::tee(&log, format, &head, begins));
        let mut run = tee.is_some().then(early::Run::default);
        log.put_back(head);
        if let Some(tee) = tee {
            log.tee(tee);
        }
        let mut facts = Facts::new(keep);
        let intake = std::cell::RefCell::new(Intake::new(format.reader()));
        let mut goal = cut.map(|(at, _)| enough::Enough::of(at));
        let mut partly = false;
        log.each_until(&mut |own| intake.borrow_mut().part(own), &mut |line| {
            intake.borrow_mut().take(line, &mut facts);
            partly = goal.as_mut().is_some_and(|goal| goal.reached(format, &facts));
            let ends = run.as_mut().is_some_and(|run| run.ends(&facts));
            Ok(match (partly, ends) {
                (true, _) => After::Nothing,
                (_, true) => After::Uncopied,
                _ => After::More,
            })
        })?;
        let mut intake = intake.into_inner();
        if matches!(keep, Keep::Usages | Keep::Refusals) {
            take_tail(&log, format, &mut intake, &mut facts)?;
        }
        Self::settled(log, format, intake, facts, partly)
    }

    /// The session that the lines which were read come to.
    fn settled(
        log: Log,
        format: &'static dyn Format,
        intake: Intake,
        mut facts: Facts,
        partly: bool,
    ) -> Result<Self> {
        let intake = intake.finish(&mut facts);
        let mut findings = intake.findings;
        let (first, last) = (log.own_first(), log.lines() + 1);
        // What concerns a file as a whole stands before what its first line says.
        let of_files: Vec<Finding> = log
            .findings()
            .cloned()
            .map(|finding| match finding.line {
                None => finding.on(last),
                Some(line) => finding.on(line + first),
            })
            .collect();
        findings.splice(0..0, of_files);
        if let Some((byte, len)) = log.torn_tail()
            && !findings
                .iter()
                .any(|finding| matches!(finding.code, Code::TornTail | Code::FrameCorrupt))
        {
            let whole = format.reader().is_record(&log.tail()?);
            let what =
                if whole { "a whole record" } else { "a write in progress, or one that was cut" };
            let message = format!("the last {len} bytes have no line end: {what}");
            let finding = Finding { byte: Some(byte), ..Finding::new(Code::TornTail, message) };
            findings.push(finding.on(log.lines() + 1).with("whole_record", whole));
        }
        let name = log.path().and_then(|path| format.layout().name_id(path));
        format.settle(&mut facts, name.as_deref());
        if let (Some(path), Some(header)) = (log.path(), &mut facts.header) {
            format.layout().placed(path, header);
        }
        findings.append(&mut facts.findings);
        let Some(header) = &facts.header else {
            let missing = findings.into_iter().find(|finding| {
                matches!(
                    finding.code,
                    Code::HeaderMissing | Code::VersionUnsupported | Code::TornTail
                )
            });
            return Err(missing
                .unwrap_or_else(|| Finding::new(Code::HeaderMissing, "no session header"))
                .into());
        };
        findings.extend(identity(&log, format, header));
        let mut order = order::check(&log, &facts, format.number_name())?;
        // What was taken out of a longer history has gaps; it has no number twice all the same.
        order.retain(|finding| finding.code != Code::SeqGap || !log.is_excerpt());
        findings.append(&mut order);
        facts.settle();
        findings.sort_by_key(|finding| finding.line.unwrap_or(0));
        Ok(Self {
            log,
            format,
            facts,
            findings,
            damage: intake.damage,
            blank: intake.blank,
            partly,
        })
    }

    /// The header; a session has one.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.facts.header.as_ref().expect("a session is only made with a header")
    }

    /// A finding as people look for it: by the line in its file, and the file where that is not the session's own.
    #[must_use]
    pub fn placed(&self, mut finding: Finding) -> Finding {
        if self.log.files() == 1 {
            return finding;
        }
        if let Some(line) = finding.line {
            let (path, number) = self.log.place(line.saturating_sub(1));
            finding.line = Some(number);
            if path != self.log.path() {
                finding = finding.with("path", path.map(|path| path.display().to_string()));
            }
        }
        let place = |line: usize| self.log.place(line.saturating_sub(1)).1;
        finding.lines = finding.lines.map(|lines| lines.map(place));
        finding
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.header().id
    }

    /// The title, or what the client would show in its place.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.facts.title.clone().or_else(|| self.facts.first_prompt.as_deref().map(headline))
    }

    /// The session along the path to `leaf`, or to the leaf that the client would choose.
    pub fn thread(&self, leaf: Option<&str>) -> Result<Thread<'_>> {
        Thread::of(self, leaf)
    }
}

/// Takes what stands behind the last newline, if it is a whole record: it was paid for, whether its line ends or not.
fn take_tail(
    log: &Log,
    format: &dyn Format,
    intake: &mut Intake,
    facts: &mut Facts,
) -> Result<bool> {
    let Some((byte, _)) = log.torn_tail() else { return Ok(false) };
    let tail = log.tail()?;
    let whole = format.reader().is_record(&tail);
    if whole {
        let line = Line { index: log.lines(), start: byte, inset: 0, bytes: &tail, crlf: false };
        intake.take(line, facts);
    }
    Ok(whole)
}

/// The first line of a prompt, short enough for a list.
pub(crate) fn headline(prompt: &str) -> String {
    let line = prompt.trim().lines().next().unwrap_or_default();
    let clean: String = line.chars().filter(|c| !c.is_control()).collect();
    match clean.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", clean[..at].trim_end()),
        None => clean,
    }
}

/// The client that wrote a log, and the first bytes, which told it. For a ledger also one that only sums up.
fn whose(
    log: &Log,
    wanted: Option<&'static dyn Format>,
    ledger: bool,
) -> Result<(&'static dyn Format, Ahead)> {
    let head = log.head(HEAD)?;
    if head.trim_ascii().is_empty() {
        let torn = log.findings().find(|finding| finding.severity == Severity::Error).cloned();
        return Err(torn
            .unwrap_or_else(|| Finding::new(Code::EmptyFile, "the file is empty"))
            .into());
    }
    let told = wanted.or_else(|| format::of(&Head(&head)));
    let told = told.or_else(|| format::of_sums(&Head(&head)).filter(|_| ledger));
    let format = told.ok_or_else(|| unknown(&head))?;
    Ok((format, head))
}

fn unknown(head: &[u8]) -> Error {
    let mut finding =
        Finding::new(Code::FormatUnknown, "no client that is known writes logs like this");
    // A header that a known client would refuse is named by its own code.
    if head.contains(&0) {
        finding = finding.with("binary", true);
    }
    finding.on(1).into()
}

/// Whether name and header agree on an id that the client could have made.
fn identity(log: &Log, format: &dyn Format, header: &Header) -> Vec<Finding> {
    let layout = format.layout();
    let line = header.line.unwrap_or(0) as usize + 1;
    let mut findings = Vec::new();
    if !layout.valid_header_id(&header.id) {
        findings.push(
            Finding::new(Code::IdInvalid, format!("the header's id {:?} cannot be one", header.id))
                .on(line),
        );
    }
    let name_id = log.path().and_then(|path| layout.name_id(path));
    if let Some(name_id) = name_id.filter(|id| *id != header.id) {
        let message = format!("the file is named {name_id}, its header says {}", header.id);
        let finding = Finding::new(Code::IdMismatch, message).on(line);
        findings.push(finding.with("name_id", name_id).with("header_id", header.id.as_str()));
    }
    findings
}
