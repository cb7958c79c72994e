//! What an answer of the model says of what was paid for it.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use memchr::memmem;

use super::wire::{self, is, text};
use crate::{
    fact::{Facts, Key, Refusal, Telling, Tokens, Usage},
    format::{json, scan},
    log::Line,
};

/// A bill: words without their quotes, none of which holds an escape.
pub(super) struct Bill<'a> {
    /// What the provider calls the answer.
    pub id: Option<&'a [u8]>,
    pub model: Option<&'a [u8]>,
    /// When it was written, as it stands, and as a time.
    pub timestamp: Option<&'a [u8]>,
    pub at: Option<DateTime<Utc>>,
    /// What makes the price another one than usual.
    pub tier: Option<&'static str>,
    pub tokens: Tokens,
    /// Calls that the client made on the way, as they stand in the line.
    pub iterations: Option<&'a [u8]>,
    /// Whether the record says of itself that another session made it.
    pub inherited: bool,
    /// The session that made it, where the record names another one than its own.
    pub requester: Option<&'a [u8]>,
    /// Whether the answer was still coming in.
    pub provisional: bool,
}

impl Bill<'_> {
    /// One record of a paid answer. Which of several is the final one is told by the ledger.
    pub fn spend(self, line: Line<'_>, kind: Option<&str>, facts: &mut Facts) {
        let (number, tokens) = (json::index(line), self.tokens);
        if self.is_synthetic() {
            return facts.refuse(number, self.at, Refusal::Synthetic);
        }
        let key = self.id.map_or_else(|| self.weak_key().into(), Cow::Borrowed);
        let tier = self.tier.map(|tier| facts.word(tier));
        let owner = self.requester.map(|session| facts.word(session));
        // A fork's copies may have lost their counters: that the call was made is all that is left.
        let stripped = self.inherited && self.id.is_some() && tokens == Tokens::default();
        let telling = match kind {
            _ if stripped => Telling::Nothing,
            Some(_) => Telling::Relayed,
            None => Telling::Own,
        };
        let of = |key: Key, tokens: Tokens| Usage {
            line: number,
            key,
            weak: self.id.is_none(),
            tier: tier.clone(),
            at: self.at,
            tokens,
            inherited: self.inherited.then_some(true),
            owner: owner.clone(),
            telling,
            ..Usage::default()
        };
        // Advisors are calls of their own, which the counters of the answer do not hold; other iterations are parts of it.
        let advised = |list: &&[u8]| {
            memmem::find(list, b"advisor_message").is_some() || memmem::find(list, b"\\u").is_some()
        };
        let iterations = self.iterations.filter(advised).and_then(|list| scan::read(list).ok());
        let iterations: Vec<wire::Usage<'_>> = iterations.unwrap_or_default();
        let advised = iterations.into_iter().enumerate();
        for (index, advice) in advised.filter(|(_, one)| is(one.kind, "advisor_message")) {
            let model = text(advice.model).map(|model| facts.word(model.as_bytes()));
            let kind = Some(facts.word("advisor"));
            let key = [&*key, format!("#{index}").as_bytes()].concat();
            let tokens = counted(&advice);
            facts.spend(Usage { kind, model, ..of(Key::from(key.as_slice()), tokens) });
        }
        let model = self.model.map(|model| facts.word(model));
        let kind = kind.map(|kind| facts.word(kind));
        let provisional = self.provisional;
        let itemized = self.iterations.is_some();
        facts.spend(Usage { kind, model, provisional, itemized, ..of(Key::from(&*key), tokens) });
    }

    /// The key of an answer of the model, which the client's own words have not.
    pub fn own_key(&self) -> Option<Key> {
        self.id.filter(|_| !self.is_synthetic()).map(Key::from)
    }

    fn is_synthetic(&self) -> bool {
        self.model == Some(wire::SYNTHETIC.as_bytes())
    }

    /// What stands for the id that an answer has not: when it was written, by which model, and its counters.
    fn weak_key(&self) -> Vec<u8> {
        let tokens = format!("{:?}", self.tokens);
        let [timestamp, model] = [self.timestamp, self.model].map(Option::unwrap_or_default);
        [b"t", timestamp, model, tokens.as_bytes()].join(&0)
    }
}

/// The bill of a message that was read as a whole, if there is one and anybody wants to know.
pub(super) fn spend(
    line: Line<'_>,
    record: &wire::Record<'_>,
    message: &wire::Message<'_>,
    at: Option<DateTime<Utc>>,
    kind: Option<&str>,
    facts: &mut Facts,
) {
    let Some(raw) = message.usage.filter(|_| facts.keeps_usages()) else { return };
    let again;
    let usage: wire::Usage<'_> = if let Some(usage) = wire::read(Some(raw)) {
        usage
    } else {
        again = json::last_of_each(raw.get()).unwrap_or_default();
        let Ok(usage) = scan::read(again.as_bytes()) else { return };
        usage
    };
    let words = [message.id, message.model, record.timestamp, usage.speed, usage.service_tier];
    let words = words.map(text);
    let words = words.each_ref().map(|word| word.as_deref().map(str::as_bytes));
    let [id, model, timestamp, speed, service] = words;
    let requester = requester(record);
    let bill = Bill {
        id,
        model,
        timestamp,
        at,
        tier: tier(speed, service),
        tokens: counted(&usage),
        iterations: usage.iterations.map(|list| list.get().as_bytes()),
        inherited: inherited(record),
        requester: requester.as_deref().map(str::as_bytes),
        provisional: text(message.stop_reason).is_none(),
    };
    bill.spend(line, kind, facts);
}

/// Whether a record says of itself that another session made it.
pub(super) fn inherited(record: &wire::Record<'_>) -> bool {
    record.forked_from.is_some() || requester(record).is_some()
}

/// The session that made it, where the record names another one than its own.
fn requester<'a>(record: &wire::Record<'a>) -> Option<Cow<'a, str>> {
    text(record.request_session_id).filter(|owner| text(record.session_id).as_ref() != Some(owner))
}

/// What makes the price another one than usual.
pub(super) fn tier(speed: Option<&[u8]>, service: Option<&[u8]>) -> Option<&'static str> {
    if speed == Some(b"fast") {
        return Some("fast");
    }
    let service = service?;
    ["priority", "batch", "flex"].into_iter().find(|tier| tier.as_bytes() == service)
}

fn counted(usage: &wire::Usage<'_>) -> Tokens {
    let split = usage.cache_creation.and_then(|raw| json::counters(raw.get()));
    let split: wire::CacheCreation = split.unwrap_or_default();
    let details = usage.output_tokens_details.and_then(|raw| json::counters(raw.get()));
    let details: wire::OutputDetails = details.unwrap_or_default();
    let counters = Counters {
        input: usage.input_tokens.0,
        output: usage.output_tokens.0,
        thinking: details.thinking_tokens.0,
        cache_read: usage.cache_read_input_tokens.0,
        cache_write: usage.cache_creation_input_tokens.0,
        cache_write_5m: split.ephemeral_5m_input_tokens.0,
        cache_write_1h: split.ephemeral_1h_input_tokens.0,
    };
    counters.into()
}

/// Counters as the client writes them: what was written to the cache as a sum, and its parts.
#[derive(Default)]
pub(super) struct Counters {
    pub input: u64,
    pub output: u64,
    pub thinking: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

impl From<Counters> for Tokens {
    fn from(counters: Counters) -> Self {
        let Counters { input, output, cache_read, cache_write, cache_write_1h, .. } = counters;
        // A copy that lost its counters has kept these parts.
        if [input, output, cache_read, cache_write] == [0; 4] {
            return Self::default();
        }
        // Some logs have the parts without their sum.
        let parts = counters.cache_write_5m.saturating_add(cache_write_1h);
        let cache_write_5m = cache_write.max(parts) - cache_write_1h;
        let reasoning = counters.thinking.min(output);
        Self { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning }
    }
}
