//! Codex (`codex` of OpenAI): rollouts of four generations. Version 1 is bare items, 2 has wrapped lines and turns that are
//! not written down, 3 explicit turns, 4 numbered lines and children that only refer to their parent's bytes.
//!
//! What the model sees is rebuilt from response items and compactions alone, the turns from events alone. Facts were
//! established by running 0.20.0 to 0.171.0.

mod history;
mod layout;
mod quick;
mod read;
mod record;
mod tally;
mod wire;
mod write;

use std::ops::Range;

use super::{Format, Head, Layout, Message, Reader, Unfolded, Writer, record::Recorder};
use crate::{
    error::{Error, Result},
    fact::{Base, Fact, Facts, Id},
    log::Span,
};

/// The Codex client.
pub struct Codex;

/// The kind of a settings line, and of a context line, which stands in for it where there is none.
const SETTINGS: u8 = 0;
const CONTEXT: u8 = 1;

/// Bare items.
const BARE: u32 = 1;
/// What `codex exec --json` prints (0.171.0): sums of turns.
const PRINTED: u32 = 0;
/// Wrapped lines without explicit turns.
const WRAPPED: u32 = 2;
/// Explicit turns.
const LEGACY: u32 = 3;
/// Numbered lines.
const PAGINATED: u32 = 4;

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn versions(&self) -> (&'static [u32], &'static [u32]) {
        (&[BARE, WRAPPED, LEGACY, PAGINATED], &[WRAPPED, LEGACY, PAGINATED])
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        // The header may be damaged; any whole line near the start tells.
        let claim = |line| {
            wire::may_claim(line)
                && super::scan::read::<wire::Claim<'_>>(line).is_ok_and(|claim| claim.is_ours())
        };
        let mut lines = head.lines().filter(|line| !line.is_empty()).take(20);
        lines.clone().any(claim) || lines.next().is_some_and(wire::begins_header)
    }

    fn sums_up(&self, head: &Head<'_>) -> bool {
        head.lines().find(|line| !line.is_empty()).is_some_and(|line| wire::started(line).is_some())
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(read::CodexReader::default())
    }

    fn leaf(&self, _facts: &Facts) -> Option<Option<Id>> {
        None
    }

    fn history(&self, facts: &Facts, path: &[u32]) -> Vec<Message> {
        history::of(facts, path)
    }

    fn seed(&self, facts: &Facts, path: &[u32]) -> Option<usize> {
        history::seed(facts, path)
    }

    fn seed_length(&self, facts: &Facts, kept: &[u32]) -> u64 {
        // The header counts, whether it has a number or is copied as a line.
        let last = kept.last().and_then(|line| number(facts, *line));
        let lines: u64 = kept.iter().map(|line| self.weight(facts, *line)).sum();
        last.map_or(lines + u64::from(lines > 0), |last| u64::from(last) + 1)
    }

    fn weight(&self, facts: &Facts, line: u32) -> u64 {
        u64::from(!facts.of(line).any(|fact| matches!(fact, Fact::Joined(_))))
    }

    fn unfold(&self, body: &[u8]) -> Unfolded {
        wire::unfold(body)
    }

    fn unfold_item(&self, item: &[u8], into: &mut Unfolded) {
        wire::unfold_item(item, into);
    }

    fn seen(&self, item: &[u8]) -> Vec<Range<usize>> {
        wire::seen(item)
    }

    fn number_name(&self) -> &'static str {
        "ordinal"
    }

    fn number_of(&self, line: &[u8]) -> Option<u64> {
        serde_json::from_slice::<wire::Numbered>(line).ok()?.ordinal
    }

    fn base(&self, head: &Head<'_>) -> Option<Base> {
        wire::base(head.lines().find(|line| !line.is_empty())?)
    }

    fn refers(&self, version: u32) -> bool {
        version == PAGINATED
    }

    fn renumbers(&self, version: u32) -> bool {
        version == PAGINATED
    }

    fn settled(&self, version: u32) -> bool {
        version == PAGINATED // Only older logs have marks that take turns back.
    }

    fn system_prompt(&self, facts: &Facts, _path: &[u32]) -> Option<Span> {
        let line = facts.header.as_ref()?.line?;
        facts.of(line).find_map(|fact| match fact {
            Fact::Prompt(place) => Some(place.on(line)),
            _ => None,
        })
    }

    fn layout(&self) -> &dyn Layout {
        &layout::CodexLayout
    }

    fn recorder(&self) -> &dyn Recorder {
        &record::CodexRecorder
    }

    fn writer(&self, facts: &Facts) -> Result<&dyn Writer> {
        match facts.header.as_ref().map_or(BARE, |header| header.version) {
            BARE => Err(Error::ReadOnlyFormat("Codex rollouts of 0.29 and older".into())),
            _ => Ok(&write::CodexWriter),
        }
    }
}

/// The number of a line.
fn number(facts: &Facts, line: u32) -> Option<u32> {
    facts.of(line).find_map(|fact| match fact {
        Fact::Numbered { first, .. } => Some(first),
        _ => None,
    })
}

/// The milliseconds in a `UUIDv7`.
fn millis_of(id: &str) -> Option<i64> {
    let id = uuid::Uuid::parse_str(id).ok().filter(|id| id.get_version_num() == 7)?;
    Some(i64::try_from(id.as_u128() >> 80).unwrap_or(i64::MAX))
}
