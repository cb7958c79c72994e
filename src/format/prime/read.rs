//! prime's lines as facts: pi's, and what a session tells of its children's calls.
//!
//! When an answer of a child ends, the session that spawned it gets a `child_usage_attributed` entry. The answer that
//! spawned the child stays as it was in the file, but every load adds the child's usage to it in memory, and the next
//! copy or rewrite writes that sum out. So an answer's own usage is what its line says, less what was added by then.

use std::collections::HashMap;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::super::{
    Fault, Reader,
    json::{self, Text},
    pi::{
        read::{self, PiReader},
        wire,
    },
};
use crate::{
    fact::{Facts, Telling, Tokens, Usage},
    log::Line,
};

/// Reads one prime log.
#[derive(Default)]
pub(super) struct PrimeReader {
    pi: PiReader,
    /// The answers, by a digest of their entry's id.
    answers: HashMap<u64, Answer>,
}

/// An answer to which the calls of children may have been added.
struct Answer {
    /// Its record in [`Facts::usages`].
    usage: usize,
    /// What its line says.
    written: (Tokens, Option<u64>),
    /// What the children spent whose answers were told of so far.
    children: (Tokens, u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    #[serde(borrow)]
    rlm_depth: Option<&'a RawValue>,
}

/// What an answer of a child adds to the answer that spawned it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attribution<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    target_id: Text<'a>,
    #[serde(borrow)]
    child_usage: wire::Usage<'a>,
    #[serde(borrow)]
    aggregate_usage: Option<wire::Usage<'a>>,
}

impl Reader for PrimeReader {
    fn read(&mut self, line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let began = facts.header.is_some();
        let calls = facts.usages.len();
        self.pi.read(line, facts)?;
        if !began && let Some(header) = &mut facts.header {
            let depth: Option<Header<'_>> = serde_json::from_slice(line.bytes).ok();
            let depth = depth.and_then(|header| header.rlm_depth);
            header.subagent = depth.is_some_and(|depth| !matches!(depth.get(), "0" | "null"));
            return Ok(());
        }
        if facts.usages.len() > calls {
            self.answered(calls, facts);
        } else if facts.keeps_usages()
            && memmem::find(line.bytes, b"child_usage_attributed").is_some()
            && let Ok(attribution) = serde_json::from_slice::<Attribution<'_>>(line.bytes)
            && attribution.kind.0 == "child_usage_attributed"
        {
            self.attribute(line, &attribution, facts);
        }
        Ok(())
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        self.pi.is_record(bytes)
    }
}

impl PrimeReader {
    fn answered(&mut self, usage: usize, facts: &mut Facts) {
        let record = &mut facts.usages[usage];
        if record.kind.is_some() {
            return; // a tool's, a summary's: nothing is ever added to these
        }
        record.telling = Telling::Folded;
        let written = (record.tokens, record.cost);
        let children = (Tokens::default(), 0);
        self.answers.insert(self.pi.last, Answer { usage, written, children });
    }

    fn attribute(&mut self, line: Line<'_>, told: &Attribution<'_>, facts: &mut Facts) {
        let child = read::tokens(&told.child_usage);
        let cost = dollars(&told.child_usage);
        if let Some(answer) = self.answers.get_mut(&xxh3_64(told.target_id.0.as_bytes())) {
            answer.children.0.add(&child);
            answer.children.1 += cost.unwrap_or(0);
            let (written, paid) = answer.written;
            let sum = told.aggregate_usage.as_ref().map(read::tokens);
            if sum.is_some_and(|sum| counters(&sum) == counters(&written)) {
                let own = &mut facts.usages[answer.usage];
                own.tokens = less(written, answer.children.0);
                own.cost = paid.map(|paid| paid.saturating_sub(answer.children.1));
            }
        }
        let at = told.timestamp.as_ref().and_then(|text| json::moment(&text.0));
        let inherited = read::is_older(at, facts);
        let kind = facts.word("subagent");
        facts.spend(Usage {
            line: json::index(line),
            key: format!("c\0{}\0{}", told.target_id.0, told.id.0).into(),
            kind: Some(kind),
            at,
            tokens: child,
            cost,
            inherited: Some(inherited),
            telling: Telling::Others,
            ..Usage::default()
        });
    }
}

/// The counters that an aggregate has.
fn counters(tokens: &Tokens) -> [u64; 4] {
    [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write_5m + tokens.cache_write_1h]
}

fn less(sum: Tokens, children: Tokens) -> Tokens {
    Tokens {
        input: sum.input.saturating_sub(children.input),
        cache_read: sum.cache_read.saturating_sub(children.cache_read),
        cache_write_5m: sum.cache_write_5m.saturating_sub(children.cache_write_5m),
        cache_write_1h: sum.cache_write_1h.saturating_sub(children.cache_write_1h),
        output: sum.output.saturating_sub(children.output),
        reasoning: sum.reasoning.saturating_sub(children.reasoning),
    }
}

fn dollars(usage: &wire::Usage<'_>) -> Option<u64> {
    let cost = usage.cost.and_then(|raw| serde_json::from_str::<wire::Cost>(raw.get()).ok());
    cost.and_then(|cost| cost.total).and_then(json::nano_dollars)
}
