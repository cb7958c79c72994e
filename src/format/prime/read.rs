//! prime's lines as facts: pi's, and what a session tells of its children's calls.
//!
//! When an answer of a child ends, the session that spawned it gets a `child_usage_attributed` entry. The answer that
//! spawned the child stays as it was in the file, but every load adds the child's usage to it in memory, and the next
//! copy or rewrite writes that sum out. So an answer's own usage is what its line says, less what was added by then.

use std::collections::{HashMap, HashSet};

use memchr::memmem;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::super::{
    Fault, Reader,
    json::{self, Raw, Text},
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
#[derive(Default, Serialize, Deserialize)]
pub(super) struct PrimeReader {
    pi: PiReader,
    /// The answers, by a digest of their entry's id.
    answers: HashMap<u64, Answer>,
    /// Digests of what was told of children so far: a line that comes twice adds nothing.
    told: HashSet<u64>,
}

/// An answer to which the calls of children may have been added.
#[derive(Serialize, Deserialize)]
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
    rlm_depth: Option<Raw<'a>>,
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
    child_usage: wire::Usage,
    aggregate_usage: Option<wire::Usage>,
}

impl Reader for PrimeReader {
    fn read(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let line = *line;
        let began = facts.header.is_some();
        let calls = facts.usages.len();
        self.pi.read(&line, facts)?;
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

    fn is_plain(&self) -> bool {
        self.pi.is_plain()
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        self.pi.is_record(bytes)
    }
}

impl PrimeReader {
    fn answered(&mut self, usage: usize, facts: &mut Facts) {
        let record = &mut facts.usages[usage];
        if record.kind.is_some() || !record.is_recorded() {
            return; // a tool's, a summary's: nothing is ever added to these
        }
        record.telling = Telling::Folded;
        let written = (record.tokens, record.cost);
        let children = (Tokens::default(), 0);
        self.answers.insert(self.pi.last, Answer { usage, written, children });
    }

    fn attribute(&mut self, line: Line<'_>, told: &Attribution<'_>, facts: &mut Facts) {
        let child = read::tokens(&told.child_usage);
        let cost = told.child_usage.cost.0;
        let digest = |text: &str| XxHash3_64::oneshot(text.as_bytes());
        let new = self.told.insert(digest(&format!("{}\0{}", told.target_id.0, told.id.0)));
        if let Some(answer) = self.answers.get_mut(&digest(&told.target_id.0)).filter(|_| new) {
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
        let at = told.timestamp.as_ref().and_then(json::moment);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{log::Log, session::Session};

    const HEADER: &str = r#"{"type":"session","version":3,"id":"01a2282d-9435-71aa-9554-b510a3eabc16","timestamp":"2026-11-29T16:40:05.430Z","cwd":"/w","rlmDepth":0}"#;

    fn answer(input: u64, output: u64) -> String {
        format!(
            r#"{{"type":"message","id":"b39d09c9","parentId":null,"timestamp":"2026-11-29T16:40:06.000Z","message":{{"role":"assistant","content":[],"provider":"p","model":"m","usage":{{"input":{input},"output":{output}}},"stopReason":"stop"}}}}"#
        )
    }

    fn told(id: u32, child: [u64; 2], sum: [u64; 2]) -> String {
        let [input, output] = child;
        let [all, out] = sum;
        format!(
            r#"{{"type":"child_usage_attributed","id":"{id:08x}","parentId":"b39d09c9","timestamp":"2026-11-29T16:40:07.000Z","targetId":"b39d09c9","childUsage":{{"input":{input},"output":{output}}},"aggregateUsage":{{"input":{all},"output":{out}}}}}"#
        )
    }

    /// The own usage of the one answer in a log, and what was told of children.
    fn own(lines: &[String]) -> ([u64; 2], usize) {
        let text = format!("{HEADER}\n{}\n", lines.join("\n"));
        let session = Session::read_usages(Log::spool(text.as_bytes()).unwrap(), None).unwrap();
        assert_eq!(session.format.name(), "prime");
        let usages = &session.facts.usages;
        let folded: Vec<&Usage> =
            usages.iter().filter(|usage| usage.telling == Telling::Folded).collect();
        assert_eq!(folded.len(), 1);
        let tokens = folded[0].tokens;
        ([tokens.input, tokens.output], usages.len() - 1)
    }

    #[test]
    fn an_answer_is_less_by_what_its_line_already_held() {
        let children = [told(1, [10, 1], [110, 6]), told(2, [20, 2], [130, 8])];
        let with = |line: String, told: usize| [&[line][..], &children[..told]].concat();
        // Never written again; written after both, and after the first of them.
        assert_eq!(own(&with(answer(100, 5), 2)), ([100, 5], 2));
        assert_eq!(own(&with(answer(130, 8), 2)), ([100, 5], 2));
        assert_eq!(own(&with(answer(110, 6), 2)), ([100, 5], 2));
        assert_eq!(own(&with(answer(110, 6), 1)), ([100, 5], 1));
        // A line that comes twice adds nothing.
        let twice = [&with(answer(130, 8), 2)[..], &[children[0].clone()]].concat();
        assert_eq!(own(&twice).0, [100, 5]);
        // A sum without anything told of it is all that can be known.
        assert_eq!(own(&with(answer(130, 8), 0)), ([130, 8], 0));
    }

    #[test]
    fn what_is_told_badly_changes_nothing() {
        let bad = r#"{"type":"child_usage_attributed","id":"00000001","parentId":"b39d09c9","timestamp":"2026-11-29T16:40:07.000Z","targetId":7}"#;
        assert_eq!(own(&[answer(100, 5), bad.to_owned()]), ([100, 5], 0));
        let quoted = r#"{"type":"message","id":"00000002","parentId":"b39d09c9","timestamp":"2026-11-29T16:40:07.000Z","message":{"role":"user","content":"\"child_usage_attributed\""}}"#;
        assert_eq!(own(&[answer(100, 5), quoted.to_owned()]), ([100, 5], 0));
    }
}
