//! What was paid: records of single responses where there are any, else the steps of a running total.

use std::{collections::HashMap, num::NonZeroU128};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::{millis_of, wire};
use crate::fact::{Claim, Facts, Key, Refusal, Telling, Tokens, Usage, Word, figures_key};

/// Counters as the client gives them, which a copy keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Vector {
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
    reasoning: u64,
}

impl Vector {
    pub fn of(counts: &wire::Counts) -> Self {
        Self {
            input: counts.input_tokens.0,
            cached: counts.cached_input_tokens.0,
            written: counts.cache_write_input_tokens.0,
            output: counts.output_tokens.0,
            reasoning: counts.reasoning_output_tokens.0,
        }
    }

    /// The step from `before`; none where some counter went back.
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(before.input)?,
            cached: self.cached.checked_sub(before.cached)?,
            written: self.written.checked_sub(before.written)?,
            output: self.output.checked_sub(before.output)?,
            reasoning: self.reasoning.checked_sub(before.reasoning)?,
        })
    }

    fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            written: self.written.saturating_add(more.written),
            output: self.output.saturating_add(more.output),
            reasoning: self.reasoning.saturating_add(more.reasoning),
        }
    }

    /// As counters that have nothing in common.
    pub fn tokens(self) -> Tokens {
        Tokens {
            input: self.input.saturating_sub(self.cached).saturating_sub(self.written),
            cache_read: self.cached,
            cache_write_5m: self.written,
            cache_write_1h: 0,
            output: self.output,
            reasoning: self.reasoning,
        }
    }

    fn write(self, digits: &mut itoa::Buffer, out: &mut String) {
        for (nth, count) in [self.input, self.cached, self.written, self.output].iter().enumerate()
        {
            if nth > 0 {
                out.push('.');
            }
            out.push_str(digits.format(*count));
        }
    }
}

/// A session that may have made a call, and when it began, in milliseconds.
pub(super) type Maker = (Word, Option<i64>);

/// The growth of a running total that may start anew, and that a child begins with its parent's.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Grown {
    /// Up to the last time that it started anew.
    before: Vector,
    /// Where it stood before the first call after that.
    from: Option<Vector>,
}

impl Grown {
    /// The total is now `total`, and the call before it was `last`.
    fn reach(&mut self, total: Vector, last: Option<Vector>, own: bool) -> Vector {
        if !own {
            self.from = Some(total);
            return self.before;
        }
        let start = || last.and_then(|last| total.since(last)).unwrap_or_default();
        let from = *self.from.get_or_insert_with(start);
        self.before.plus(total.since(from).unwrap_or_default())
    }

    /// The total, which was at `total`, starts anew.
    fn restart(&mut self, total: Vector) {
        let from = self.from.take().unwrap_or_default();
        self.before = self.before.plus(total.since(from).unwrap_or_default());
    }
}

/// The memory of one file.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Tally {
    /// The file's own session first, then those whose headers it copied.
    pub makers: Vec<Maker>,
    /// The session's parent, if it has one, so that records may be copies.
    pub parent: Option<Word>,
    /// Whether single responses were recorded: from then on the running totals say the same again.
    recorded: bool,
    total: Option<Vector>,
    resets: u32,
    /// Where the running total stood at the latest compaction without usage, and how many there were before at that.
    compacted: (Option<Vector>, u32),
    /// Who is paid.
    pub provider: Option<Word>,
    /// When the turn began, in seconds since 1970, as far as its beginning says it.
    pub started: Option<i64>,
    /// What the running total has come to since this session's own calls began.
    grown: Grown,
    /// The models of turns, and the one in force.
    models: HashMap<String, Word>,
    model: Option<Word>,
    /// The records of the latest turn, as indices into [`Facts::usages`].
    recent: (String, Vec<usize>),
    /// Those of turns before it whose model nobody has named yet.
    unnamed: HashMap<String, Vec<usize>>,
}

impl Tally {
    /// A context line names the model of a turn, and of what stands below it. At a compaction it stands behind the usage.
    pub fn context(&mut self, turn: Option<&str>, model: &str, facts: &mut Facts) {
        let model = facts.word(model);
        self.model = Some(model.clone());
        let Some(turn) = turn else { return };
        self.models.insert(turn.to_owned(), model.clone());
        let recent = if self.recent.0 == turn { &self.recent.1[..] } else { &[] };
        for at in recent.iter().chain(self.unnamed.remove(turn).iter().flatten()) {
            facts.usages[*at].model = Some(model.clone());
        }
    }

    fn model_of(&self, turn: Option<&str>) -> Option<Word> {
        turn.and_then(|turn| self.models.get(turn)).or(self.model.as_ref()).cloned()
    }

    fn spend(&mut self, usage: Usage, turn: Option<&str>, facts: &mut Facts) {
        let at = facts.usages.len();
        facts.spend(usage);
        let Some(turn) = turn.filter(|_| facts.usages.len() > at) else { return };
        if self.recent.0 != turn {
            let (before, records) =
                std::mem::replace(&mut self.recent, (turn.to_owned(), Vec::new()));
            if !records.is_empty() && !self.models.contains_key(&before) {
                self.unnamed.entry(before).or_default().extend(records);
            }
        }
        self.recent.1.push(at);
    }

    /// One response.
    pub fn record(
        &mut self,
        response: &wire::Response<'_>,
        line: u32,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        self.recorded = true;
        let Some(counts) = &response.counts else { return };
        let turn = response.turn;
        let owner = response.thread.map(|thread| facts.word(thread));
        let own = self.makers.first().map(|(id, _)| id);
        let unnamed = || {
            let figures = format!("{:?}", Vector::of(counts));
            let maker = owner.as_deref().or(own.map(AsRef::as_ref)).unwrap_or_default();
            figures_key(maker, XxHash3_128::oneshot(figures.as_bytes()), &moment(at))
        };
        let usage = Usage {
            line,
            key: response.id.map_or_else(unnamed, Key::from),
            weak: response.id.is_none(),
            provider: self.provider.clone(),
            model: self.model_of(turn),
            at,
            tokens: Vector::of(counts).tokens(),
            inherited: Some(owner.is_some() && owner.as_ref() != own),
            owner,
            ..Usage::default()
        };
        self.spend(usage, turn, facts);
    }

    /// A running total. The same again is no call; a smaller one was started anew.
    pub fn total(
        &mut self,
        info: Option<&wire::Info>,
        turn: Option<&str>,
        line: u32,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        self.add(info, turn, line, at, self.maker(turn, at), facts);
    }

    /// The same of a line that is a copy of the parent's.
    pub fn copied_total(
        &mut self,
        info: Option<&wire::Info>,
        line: u32,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        self.add(info, None, line, at, self.maker_of(None, at, true), facts);
    }

    fn add(
        &mut self,
        info: Option<&wire::Info>,
        turn: Option<&str>,
        line: u32,
        at: Option<DateTime<Utc>>,
        (owner, inherited): (Word, Option<bool>),
        facts: &mut Facts,
    ) {
        let Some(info) = info else { return };
        let total = info.total_token_usage.as_ref().map(Vector::of);
        let last = info.last_token_usage.as_ref().map(Vector::of);
        self.claim(total, last, inherited, line, facts);
        if self.recorded {
            self.total = total.or(self.total);
            return facts.refuse(line, at, Refusal::Again);
        }
        let spent = match (total, self.total) {
            (Some(total), Some(before)) if total == before => {
                return facts.refuse(line, at, Refusal::Unmoved);
            }
            (Some(total), Some(before)) => total.since(before).unwrap_or_else(|| {
                self.resets += 1; // else the step equals the last response, unless a line was lost
                last.unwrap_or(total)
            }),
            // A child starts with its parent's total, so that the first one says nothing.
            (Some(total), None) => last.unwrap_or(total),
            (None, _) => match last {
                Some(last) => last,
                None => return,
            },
        };
        let first = total.filter(|_| self.total.is_none() && self.parent.is_some());
        let carried = first.is_some() && last.is_none();
        let step_unseen = match (total, self.total, last) {
            (Some(total), Some(before), Some(last)) => {
                total.since(before).is_some_and(|step| step != last)
            }
            _ => false,
        };
        self.total = total.or(self.total);
        let mut figures = String::with_capacity(128);
        let mut digits = itoa::Buffer::new();
        for vector in [total, last] {
            if let Some(vector) = vector {
                vector.write(&mut digits, &mut figures);
            }
            figures.push(' ');
        }
        figures.push_str(digits.format(self.resets));
        let moment = if total.is_some() { String::new() } else { moment(at) };
        let figures = XxHash3_128::oneshot(figures.as_bytes());
        let usage = Usage {
            line,
            key: figures_key(&owner, figures, &moment),
            weak: total.is_none(),
            derived: step_unseen,
            provider: self.provider.clone(),
            model: self.model_of(turn),
            at,
            tokens: spent.tokens(),
            inherited,
            owner: Some(owner),
            figures: NonZeroU128::new(figures),
            telling: if carried { Telling::Carried } else { Telling::Own },
            ..Usage::default()
        };
        self.spend(usage, turn, facts);
        let first = first.filter(|_| facts.keeps_usages());
        facts.carried = first.map(|total| (line, total.tokens())).or(facts.carried);
    }

    /// The running total is what the client itself says that the session has cost.
    fn claim(
        &mut self,
        total: Option<Vector>,
        last: Option<Vector>,
        inherited: Option<bool>,
        line: u32,
        facts: &mut Facts,
    ) {
        let Some(total) = total else { return };
        // Repeats may give an estimate in place of the last response.
        let same = self.total == Some(total);
        if let Some(before) = self.total.filter(|before| total.since(*before).is_none()) {
            self.grown.restart(before);
        }
        let own = inherited == Some(false);
        let grown = self.grown.reach(total, last, own || same && self.grown.from.is_some());
        if own {
            facts.claim(vec![Claim { line, tokens: grown.tokens(), ..Claim::default() }]);
        }
    }

    /// Who made a call: the youngest of the sessions that were there when its turn began. A copied line without a turn
    /// has the time of the copy, so that its owner is not known.
    fn maker(&self, turn: Option<&str>, at: Option<DateTime<Utc>>) -> (Word, Option<bool>) {
        let own = self.makers.first().map_or_else(|| "".into(), |(id, _)| id.clone());
        if self.parent.is_none() {
            return (own, Some(false));
        }
        // A turn's id tells when it began, or else its first event, which rounds to seconds.
        let started = || Some(self.started?.saturating_mul(1000).saturating_add(999));
        let turned = turn.and_then(millis_of).or_else(started);
        let Some(time) = turned.or_else(|| at.map(|at| at.timestamp_millis())) else {
            return (own, None);
        };
        let there =
            self.makers.iter().filter(|(_, began)| began.is_some_and(|began| began <= time));
        let maker = there.max_by_key(|(_, began)| *began).or(self.makers.last());
        match maker {
            Some((id, _)) if *id != own => (id.clone(), Some(true)),
            // Older than all of them: of an ancestor whose header is not here.
            _ if self
                .makers
                .first()
                .is_some_and(|(_, began)| began.is_some_and(|began| began > time)) =>
            {
                (own, Some(true))
            }
            _ => (own, turned.map(|_| false)),
        }
    }

    /// Whether a call is known to be this session's own.
    pub fn is_own(&self, turn: Option<&str>, at: Option<DateTime<Utc>>) -> bool {
        self.maker(turn, at).1 == Some(false)
    }

    /// Who made a call, as [`Self::maker`] says, unless the line is known to be a copy of the parent's.
    pub fn maker_of(
        &self,
        turn: Option<&str>,
        at: Option<DateTime<Utc>>,
        copied: bool,
    ) -> (Word, Option<bool>) {
        let parent = || (self.parent.clone().unwrap_or_else(|| "".into()), Some(true));
        if copied { parent() } else { self.maker(turn, at) }
    }

    /// A compaction of which no usage is here: `call` tells where and when. Copies stand behind the same total.
    pub fn miss_compaction(
        &mut self,
        response: Option<&str>,
        (owner, inherited): (Word, Option<bool>),
        call: Usage,
        facts: &mut Facts,
    ) {
        let (total, nth) = self.compacted;
        self.compacted = if total == self.total { (total, nth + 1) } else { (self.total, 0) };
        let figures = XxHash3_128::oneshot(format!("{:?}", self.compacted).as_bytes());
        let kind = Some(facts.word("compaction"));
        facts.spend(Usage {
            key: response.map_or_else(|| figures_key(&owner, figures, ""), Key::from),
            kind,
            provider: self.provider.clone(),
            model: self.model.clone(),
            inherited,
            owner: Some(owner),
            figures: NonZeroU128::new(figures),
            telling: Telling::Nothing,
            ..call
        });
    }

    /// Marks the call that a compaction was, if it is there.
    pub fn compaction(response: &str, facts: &mut Facts) -> bool {
        let key = response.to_owned().into();
        let kind = facts.word("compaction");
        let usage = facts.usages.iter_mut().rev().find(|usage| usage.key == key);
        usage.map(|usage| usage.kind = Some(kind)).is_some()
    }
}

/// When, as it stands in a key.
fn moment(at: Option<DateTime<Utc>>) -> String {
    at.map_or_else(String::new, |at| at.to_rfc3339())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Keep;

    fn info(total: u64, last: u64) -> String {
        let counts = |input: u64| {
            format!(r#"{{"input_tokens":{input},"output_tokens":10,"total_tokens":{input}}}"#)
        };
        format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{},"last_token_usage":{}}}}}"#,
            counts(total).replace(":10,", &format!(":{},", total / 10)),
            counts(last)
        )
    }

    fn spent(events: &[(u64, u64)]) -> Vec<u64> {
        let mut facts = Facts::new(Keep::All);
        let mut tally = Tally { makers: vec![("own".into(), None)], ..Tally::default() };
        for (line, (total, last)) in (0..).zip(events) {
            let text = info(*total, *last);
            let payload: wire::Payload<'_> = serde_json::from_str(&text).unwrap();
            tally.total(payload.info().as_ref(), None, line, None, &mut facts);
        }
        facts.usages.iter().map(|usage| usage.tokens.input).collect()
    }

    #[test]
    fn a_running_total_is_paid_by_its_steps() {
        assert_eq!(spent(&[(100, 100), (100, 100), (300, 200)]), [100, 200]);
        // An estimate in place of the last response says nothing as long as the total stands still.
        assert_eq!(spent(&[(100, 100), (100, 999)]), [100]);
        // A lost line: the step is more than the last response.
        assert_eq!(spent(&[(100, 100), (400, 100)]), [100, 300]);
        // A counter that starts anew, and a child that starts with its parent's.
        assert_eq!(spent(&[(500, 100), (120, 120)]), [100, 120]);
    }
}
