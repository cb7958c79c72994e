//! Turns: from opened to closed, over the path and never over the file.

use crate::{
    fact::{Ending, Fact, Facts, Id, IdMap, Role},
    finding::{Code, Finding, Severity},
};

/// One turn. Places are positions on the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The client's own id of the turn, if it has one.
    pub id: Option<Id>,
    /// Its first record, a queued prompt included.
    pub first: usize,
    /// The record that opened it.
    pub opened: usize,
    /// Its last record so far.
    pub last: usize,
    /// How it ended; none while it is open.
    pub how: Option<Ending>,
}

/// The turns of a path, and what is unbalanced in them.
#[derive(Debug, Default)]
pub struct Turns {
    /// In order.
    pub list: Vec<Turn>,
    /// Calls of the open turn that have no result, in order.
    pub open_calls: Vec<(Id, usize)>,
    /// Turns that were taken back. A cut through one is none all the same.
    pub retracted: Vec<Turn>,
    /// Units that must not be cut, as first and last position; the last is open where the unit is.
    pub held: Vec<(usize, Option<usize>)>,
    /// The first record behind which no place is a boundary any more.
    pub broken: Option<usize>,
    /// Calls and results on the path.
    pub calls: usize,
    /// Results.
    pub results: usize,
    /// What is unbalanced, with its position.
    pub findings: Vec<Finding>,
}

impl Turns {
    /// The turns of `path`, of which the first `seed` records were copied by the client or by us.
    #[must_use]
    pub fn of(facts: &Facts, path: &[u32], seed: usize) -> Self {
        let mut scan = Scan::new(facts, path, seed);
        for at in 0..path.len() {
            scan.record(at);
        }
        if scan.implied && scan.answered && scan.pending.is_empty() {
            scan.end_implied(path.len(), scan.asked);
        }
        if scan.open && scan.turns.list.last().is_some_and(|turn| turn.last < seed) {
            // The fork cut this turn off; nobody will go on with it.
            scan.close(None, Ending::Interrupted);
        }
        if scan.open {
            scan.turns.open_calls = scan.pending.iter().chain(&scan.unanswered).copied().collect();
            scan.turns.open_calls.sort_by_key(|(_, at)| *at);
        } else {
            let calls = std::mem::take(&mut scan.pending);
            scan.orphan_calls(&calls, Ending::Completed);
        }
        scan.turns
    }

    /// The turn that has not ended, if there is one.
    #[must_use]
    pub fn open(&self) -> Option<&Turn> {
        self.list.last().filter(|turn| turn.how.is_none())
    }

    /// How many have ended.
    #[must_use]
    pub fn closed(&self) -> usize {
        self.list.iter().filter(|turn| turn.how.is_some()).count()
    }
}

/// The state while a path is walked.
struct Scan<'a> {
    facts: &'a Facts,
    path: &'a [u32],
    seed: usize,
    turns: Turns,
    /// Whether the last turn of the list is open.
    open: bool,
    /// Whether the model has answered in the open turn.
    answered: bool,
    /// Calls of the latest answer without result, and where they were made.
    pending: Vec<(Id, usize)>,
    /// Calls of earlier answers of the open turn that never got a result.
    unanswered: Vec<(Id, usize)>,
    /// Results seen, and whether they were made up.
    done: IdMap<bool>,
    /// Calls whose result may come late or not at all.
    excused: Vec<Id>,
    /// A record that the next answer may make the start of a turn.
    may_open: Option<usize>,
    /// The first prompt put into the queue since the last turn ended.
    queued: Option<usize>,
    /// Turns that were cut off by the start of another.
    cut_off: Vec<Id>,
    /// Where a compaction stands on the path.
    compacted: Option<usize>,
    /// Whether the only turn so far goes on with one whose prompt a compaction summed up.
    continued: bool,
    /// Whether the open turn was not written down as one: all that stands before the next prompt belongs to it.
    implied: bool,
    /// A person's words that may begin such a turn.
    asked: Option<usize>,
}

impl<'a> Scan<'a> {
    fn new(facts: &'a Facts, path: &'a [u32], seed: usize) -> Self {
        Self {
            facts,
            path,
            seed,
            turns: Turns::default(),
            open: false,
            answered: false,
            pending: Vec::new(),
            unanswered: Vec::new(),
            done: IdMap::default(),
            excused: Vec::new(),
            may_open: None,
            queued: None,
            cut_off: Vec::new(),
            compacted: None,
            continued: false,
            implied: false,
            asked: None,
        }
    }

    fn record(&mut self, at: usize) {
        let mut ending = None;
        let beside = self.facts.of(self.path[at]).any(|fact| fact == Fact::Beside);
        let mut summary = false;
        for fact in self.facts.of(self.path[at]) {
            match fact {
                Fact::Opened(id) => {
                    if self.implied {
                        self.end_implied(at, self.asked);
                    }
                    self.asked = None;
                    if self.open {
                        self.cut_off.extend(self.turns.list.last().and_then(|turn| turn.id));
                        self.close(None, Ending::Interrupted);
                    }
                    self.start(Some(id), at);
                }
                Fact::Closed { turn, how } => self.close_named(turn, how, at),
                Fact::Compacted { .. } | Fact::Condensed => {
                    summary = true;
                    self.compacted = Some(at);
                }
                Fact::Asked if !summary && (self.implied || !self.open) => {
                    self.asked.get_or_insert(at);
                }
                Fact::Implied(id) if self.implied || !self.open => self.implied(id, at),
                Fact::Retracted { turns, shown } => self.retract(turns, shown, at),
                Fact::Prompted => self.prompted(at),
                Fact::MayOpen => self.may_open = Some(at),
                Fact::Answering(how) => {
                    self.answering(at);
                    ending = Some(how);
                }
                Fact::Called(call) => {
                    self.answered |= self.implied;
                    self.turns.calls += 1;
                    self.pending.push((call, at));
                    self.touch(at);
                }
                Fact::Answered { call, made_up } => {
                    self.answered &= !self.implied; // now the model owes an answer
                    self.turns.results += 1;
                    self.result(call, made_up, at);
                    self.touch(at);
                }
                Fact::Said(role, _) => {
                    if self.implied && role == Role::Assistant {
                        self.answered = true;
                        self.asked = None; // words that opened nothing
                    }
                    if !beside {
                        self.touch(at);
                    }
                }
                Fact::Queued { inserted, .. } if inserted > 0 && !self.open => {
                    self.queued.get_or_insert(at);
                }
                Fact::Held(true) => self.turns.held.push((at, None)),
                Fact::Held(false) => {
                    if let Some((_, end @ None)) = self.turns.held.last_mut() {
                        *end = Some(at);
                    }
                }
                _ => {}
            }
        }
        if self.implied && self.asked.is_none() {
            self.touch(at);
        }
        match ending {
            // What failed or was aborted is never replayed: its own calls are owed nothing.
            Some(Some(how @ (Ending::Failed | Ending::Aborted))) => {
                self.excused.extend(self.pending.drain(..).map(|(call, _)| call));
                self.close(Some(at), how);
            }
            Some(Some(how)) if self.pending.is_empty() => self.close(Some(at), how),
            _ => {}
        }
    }

    fn start(&mut self, id: Option<Id>, at: usize) {
        let first = self.queued.take().unwrap_or(at).min(at);
        self.turns.list.push(Turn { id, first, opened: at, last: at, how: None });
        self.open = true;
        self.answered = false;
        self.may_open = None;
    }

    fn implied(&mut self, id: Id, at: usize) {
        let asked = self.asked.take();
        if self.implied {
            self.end_implied(at, asked);
        }
        self.start(Some(id), at);
        self.implied = true;
        if let (Some(turn), Some(asked)) = (self.turns.list.last_mut(), asked) {
            turn.first = turn.first.min(asked);
        }
    }

    /// Ends a turn that was not written down, right before the words that begin the next one.
    fn end_implied(&mut self, at: usize, asked: Option<usize>) {
        self.implied = false;
        let done = self.answered && self.pending.is_empty();
        let how = if done { Ending::Completed } else { Ending::Interrupted };
        self.close(asked.unwrap_or(at).checked_sub(1), how);
    }

    fn retract(&mut self, count: u32, shown: bool, at: usize) {
        if self.implied {
            self.end_implied(at, self.asked);
        }
        self.asked = None;
        if self.open {
            self.close(None, Ending::Interrupted);
        }
        if !shown {
            let keep = self.turns.list.len().saturating_sub(count as usize);
            let retracted = self.turns.list.split_off(keep);
            self.turns.retracted.extend(retracted);
        }
    }

    fn prompted(&mut self, at: usize) {
        if self.open {
            if self.answered && self.pending.is_empty() {
                return self.touch(at); // steering
            }
            self.close(None, Ending::Interrupted);
        }
        self.start(None, at);
    }

    fn answering(&mut self, at: usize) {
        if !self.open {
            match (self.may_open.take(), self.turns.list.last_mut()) {
                (Some(from), _) => self.start(None, from),
                // A retry: the turn that had ended goes on.
                (None, Some(turn)) => {
                    turn.how = None;
                    self.open = true;
                }
                (None, None) => {
                    self.start(None, at);
                    self.continued = self.compacted.is_some();
                }
            }
        }
        self.answered = true;
        self.unanswered.append(&mut self.pending);
        self.touch(at);
    }

    fn touch(&mut self, at: usize) {
        if self.open
            && let Some(turn) = self.turns.list.last_mut()
        {
            turn.last = at;
        }
    }

    fn close_named(&mut self, turn: Option<Id>, how: Ending, at: usize) {
        let open = self.turns.open().and_then(|turn| turn.id);
        if let (Some(named), Some(open)) = (turn, open)
            && named != open
            && self.cut_off.contains(&named)
        {
            // A second start alone is no fault: the client takes the first turn as ended. That it goes on is one.
            let names = [self.facts.name(named), self.facts.name(open)];
            let message = format!(
                "turn {} ends while turn {} is open: two writers in one log",
                names[0], names[1]
            );
            self.find(
                Finding::new(Code::InterleavedTurns, message).with("turns", names.to_vec()),
                at,
            );
            let mixed = self
                .turns
                .list
                .iter()
                .find(|turn| turn.id == Some(named))
                .map_or(at, |turn| turn.first);
            self.turns.broken.get_or_insert(mixed);
            return;
        }
        // The mark of an interruption that came when all had been said belongs to what it interrupted.
        if let (false, None, Ending::Interrupted, Some(last)) =
            (self.open, turn, how, self.turns.list.last_mut())
        {
            last.last = at;
            return;
        }
        // An end whose start was never written, as of a review around another thread's turn, ends the turn that is open
        // and names it.
        let known = |id: Id| self.turns.list.iter().any(|turn| turn.id == Some(id));
        if let (Some(named), Some(open)) = (turn, open)
            && named != open
            && !known(named)
            && let Some(turn) = self.turns.list.last_mut()
        {
            turn.id = Some(named);
        }
        self.close(Some(at), how);
    }

    /// Ends the open turn, at `at` if that record belongs to it.
    fn close(&mut self, at: Option<usize>, how: Ending) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        self.implied = false;
        if let Some(turn) = self.turns.list.last_mut() {
            turn.last = at.unwrap_or(turn.last);
            turn.how = Some(how);
        }
        let mut owed = std::mem::take(&mut self.unanswered);
        owed.append(&mut self.pending);
        owed.sort_by_key(|(_, at)| *at);
        self.orphan_calls(&owed, how);
        self.excused.extend(owed.into_iter().map(|(call, _)| call));
        self.may_open = None;
        self.queued = None;
        if std::mem::take(&mut self.continued) {
            // The rest of a turn that was summed up is no turn of its own, but must not be cut.
            let rest = self.turns.list.pop();
            let first = self.compacted.unwrap_or(0);
            self.turns.held.extend(rest.map(|rest| (first, Some(rest.last))));
        }
    }

    fn result(&mut self, call: Id, made_up: bool, at: usize) {
        for owed in [&mut self.pending, &mut self.unanswered] {
            if let Some(nth) = owed.iter().position(|(id, _)| *id == call) {
                owed.remove(nth);
                self.done.insert(call, made_up);
                return;
            }
        }
        if let Some(nth) = self.excused.iter().position(|id| *id == call) {
            self.excused.swap_remove(nth);
            self.done.insert(call, made_up);
            return;
        }
        let name = self.facts.name(call).to_owned();
        let finding = match self.done.get(&call) {
            Some(first_made_up) => {
                let message = format!(
                    "a second result for call {name}{}",
                    if *first_made_up { "; the first one was made up by a recovery" } else { "" }
                );
                Finding::new(Code::DuplicateResult, message).with("synthetic_first", *first_made_up)
            }
            None => Finding::new(
                Code::OrphanToolResult,
                format!("a result for call {name}, which nobody made"),
            ),
        };
        self.find(finding.with("call_id", name), at);
    }

    fn orphan_calls(&mut self, calls: &[(Id, usize)], how: Ending) {
        for (call, at) in calls {
            // In a turn that did not end well, and in what a client copied, the client makes up the missing result.
            let excused = how.excuses() || *at < self.seed;
            let name = self.facts.name(*call).to_owned();
            let finding = Finding::new(Code::OrphanToolCall, format!("call {name} has no result"))
                .with("call_id", name);
            if !excused {
                self.turns.broken.get_or_insert(*at);
            }
            self.find(
                finding.rated(if excused { Severity::Warning } else { Severity::Error }),
                *at,
            );
        }
    }

    fn find(&mut self, finding: Finding, at: usize) {
        self.turns.findings.push(finding.on(self.path[at] as usize + 1));
    }
}
