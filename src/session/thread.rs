//! A session along one path: what a verb looks at.

use super::{At, Boundary, Branch, Kind, Session, Turns, lineage};
use crate::{
    error::Result,
    fact::{Carrier, Fact, Id, Rare},
    finding::{Finding, Severity},
    format::{Message, Origin},
};

/// A session along the path to one leaf.
pub struct Thread<'a> {
    /// The session.
    pub session: &'a Session,
    /// The path.
    pub branch: Branch,
    /// The turns on it.
    pub turns: Turns,
    /// How many records of the path were inherited, as far as the log itself tells.
    pub seed: usize,
}

impl<'a> Thread<'a> {
    pub(super) fn of(session: &'a Session, leaf: Option<&str>) -> Result<Self> {
        let branch = Branch::of(session, leaf)?;
        let seed = session
            .format
            .seed(&session.facts, &branch.lines)
            .unwrap_or_else(|| lineage::older(&session.facts, &branch.lines));
        let turns = Turns::of(&session.facts, &branch.lines, seed);
        Ok(Self { session, branch, turns, seed })
    }

    /// The lines of the path, counted from zero.
    #[must_use]
    pub fn path(&self) -> &[u32] {
        &self.branch.lines
    }

    /// The line of a record in its file, counted from one.
    #[must_use]
    pub fn line_number(&self, at: usize) -> usize {
        self.branch.lines.get(at).map_or(0, |line| self.session.log.place(*line as usize).1)
    }

    /// Whether a line is only the beginning of a file of a chain.
    #[must_use]
    pub fn is_joint(&self, line: u32) -> bool {
        (line as usize) < self.session.log.own_first()
            && self.session.facts.of(line).any(|fact| matches!(fact, Fact::Joined(_)))
    }

    /// The id of the record at a position: its own, or that of the message on it.
    #[must_use]
    pub fn record_id(&self, at: usize) -> Option<Id> {
        self.id_on(*self.branch.lines.get(at)?)
    }

    /// The id of the record on a line.
    #[must_use]
    pub fn id_on(&self, line: u32) -> Option<Id> {
        self.session.facts.of(line).find_map(|fact| match fact {
            Fact::Linked { id, .. } | Fact::Named(id) => Some(id),
            _ => None,
        })
    }

    /// The name of a turn: the client's own, or that of the record that opened it.
    #[must_use]
    pub fn turn_name(&self, turn: usize) -> String {
        let Some(turn) = self.turns.list.get(turn) else { return String::new() };
        let id = turn.id.or_else(|| self.record_id(turn.opened));
        id.map(|id| self.session.facts.name(id).to_owned()).unwrap_or_default()
    }

    /// The names of all turns, in order.
    #[must_use]
    pub fn turn_names(&self) -> Vec<String> {
        (0..self.turns.list.len()).map(|turn| self.turn_name(turn)).collect()
    }

    /// The calls of the open turn that have no result.
    #[must_use]
    pub fn open_calls(&self) -> Vec<String> {
        self.turns
            .open_calls
            .iter()
            .map(|(call, _)| self.session.facts.name(*call).to_owned())
            .collect()
    }

    /// The boundary at `at`.
    pub fn boundary(&self, at: &At, forgiven: bool) -> Result<Boundary> {
        Boundary::find(self, at, forgiven)
    }

    /// The boundary in the words of reports: `turn:N` when the cut is that turn's end, else `tip`, `start` or `line:N`.
    #[must_use]
    pub fn name_of(&self, boundary: Boundary) -> String {
        let keep = boundary.keep();
        if let Some(nth) =
            self.turns.list.iter().position(|turn| turn.how.is_some() && turn.last + 1 == keep)
        {
            return format!("turn:{}", nth + 1);
        }
        match boundary.kind() {
            Kind::Start => "start".into(),
            _ if boundary.is_end() => "tip".into(),
            _ if self.turns.list.first().is_none_or(|turn| keep <= turn.first) => "start".into(),
            _ => format!("line:{}", self.file_line_before(boundary)),
        }
    }

    /// The last turn that is kept whole, counted from zero.
    #[must_use]
    pub fn last_turn(&self, boundary: Boundary) -> Option<usize> {
        self.turns.list.iter().rposition(|turn| turn.how.is_some() && turn.last < boundary.keep())
    }

    /// The line, counted from one, that the boundary stands behind.
    #[must_use]
    pub fn line_before(&self, boundary: Boundary) -> usize {
        let header = match self.session.log.own_first() {
            0 => self.session.header().line.map_or(0, |line| line as usize + 1),
            _ => 0, // what a log continues stands before its header
        };
        self.branch.lines[..boundary.keep()]
            .iter()
            .map(|line| *line as usize + 1)
            .max()
            .unwrap_or(0)
            .max(header)
    }

    /// The same, counted in the file that holds it.
    #[must_use]
    pub fn file_line_before(&self, boundary: Boundary) -> usize {
        self.session.log.place(self.line_before(boundary).saturating_sub(1)).1
    }

    /// How many prompts wait in the client's queue at a boundary.
    #[must_use]
    pub fn queued(&self, boundary: Boundary) -> u64 {
        if !self.session.facts.has(Rare::Queued) {
            return 0;
        }
        let facts = self.branch.lines[..boundary.keep()]
            .iter()
            .flat_map(|line| self.session.facts.of(*line));
        facts.fold(0, |count: u64, fact| match fact {
            Fact::Queued { inserted, removed } => {
                (count + u64::from(inserted)).saturating_sub(u64::from(removed))
            }
            _ => count,
        })
    }

    /// Everything found, in file order.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = self.session.findings.clone();
        all.extend(self.branch.findings.iter().cloned());
        all.extend(self.turns.findings.iter().cloned());
        all.sort_by_key(|finding| finding.line.unwrap_or(0));
        all
    }

    /// What was found in the part that a boundary keeps, and what behind it.
    #[must_use]
    pub fn findings_at(&self, boundary: Boundary) -> (Vec<Finding>, Vec<Finding>) {
        let limit = if boundary.is_end() { usize::MAX } else { self.line_before(boundary) };
        self.findings().into_iter().partition(|finding| finding.line.unwrap_or(0) <= limit)
    }

    /// The messages that the model sees behind the first `keep` records, of which `seed` were inherited.
    #[must_use]
    pub fn history(&self, keep: usize, seed: usize) -> Vec<Message> {
        let Session { format, facts, log, .. } = self.session;
        let mut messages = format.history(facts, &self.branch.lines[..keep]);
        let mut inherited = vec![false; log.lines()];
        for line in &self.branch.lines[..seed.min(keep)] {
            inherited[*line as usize] = true;
        }
        let mut own = false; // whether a message of this session was seen
        for message in &mut messages {
            if inherited[message.line as usize] {
                if message.origin != Origin::Compaction {
                    message.origin = Origin::Inherited;
                }
                continue;
            }
            let carrier = facts.of(message.line).find_map(|fact| match fact {
                Fact::Carried(carrier, _) => Some(carrier),
                _ => None,
            });
            match carrier {
                Some(Carrier::Framing) if !own && session_is_child(self.session) => {
                    message.origin = Origin::Framing;
                }
                Some(Carrier::Note) => message.origin = Origin::Merge,
                _ => {}
            }
            own = true;
        }
        messages
    }

    /// Calls of an open turn without a result, as findings: to whom only looks at the log they are errors.
    #[must_use]
    pub fn open_call_findings(&self) -> Vec<Finding> {
        let finding = |(call, at): &(Id, usize)| {
            let name = self.session.facts.name(*call);
            let finding = Finding::new(
                crate::finding::Code::OrphanToolCall,
                format!("call {name} has no result"),
            );
            let line = self.path()[*at] as usize + 1;
            finding.with("call_id", name).rated(Severity::Error).on(line)
        };
        self.turns.open_calls.iter().map(finding).collect()
    }
}

fn session_is_child(session: &Session) -> bool {
    session.header().parent.is_some()
}
