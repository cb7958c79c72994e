//! New DSH lines, as the harness of each format would have written them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::numbered;
use crate::{
    error::Result,
    fact::{Carrier, Fact, Facts},
    format::{
        Adopted, Writer,
        json::{self, Raw, range},
        seam::{Context, Note, Tip, malformed},
    },
    log::{Reread, Splice},
};

pub(super) struct DshWriter;

/// Absent fields are omitted, never null; keys of our own are refused by newer harnesses.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    pub r#type: &'static str,
    pub version: u32,
    pub id: &'a str,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    pub parent_session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_seeded: Option<bool>,
    pub delegation_depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_preset: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<T> {
    r#type: &'static str,
    seq: u64,
    time: i64,
    data: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    surface_op: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignorable: Option<bool>,
}

#[derive(Serialize)]
struct EndSeed {
    #[serde(skip_serializing_if = "Option::is_none")]
    inherited: Option<bool>,
}

#[derive(Serialize)]
struct UserMessage<'a> {
    content: [TextBlock<'a>; 1],
    source: Source,
    role: &'static str,
    id: String,
}

#[derive(Serialize)]
struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// No key beyond these: 0.2.1 then refuses a format 0 session.
#[derive(Serialize)]
struct Source {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'static str>,
}

/// A title given by a person, which cites no message.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Title<'a> {
    title: &'a str,
    message_seqs: [u64; 0],
    source: Source,
}

#[derive(Deserialize)]
struct Numbers<'a> {
    #[serde(borrow)]
    seq: Raw<'a>,
    #[serde(borrow)]
    time: Raw<'a>,
}

/// The time of the last event on a line; the members of a packed row follow one another by gaps.
#[derive(Deserialize)]
struct LastTime<'a> {
    time: Option<i64>,
    time0: Option<i64>,
    #[serde(borrow)]
    data: Option<Raw<'a>>,
}

#[derive(Deserialize)]
struct Gaps {
    dt: Vec<i64>,
}

impl LastTime<'_> {
    fn millis(&self) -> i64 {
        let gaps = self.data.and_then(|data| serde_json::from_str::<Gaps>(data.get()).ok());
        let packed = self
            .time0
            .map(|first| gaps.map_or(0, |gaps| gaps.dt.iter().sum::<i64>()).saturating_add(first));
        self.time.or(packed).unwrap_or(0)
    }
}

impl Tip {
    /// One more event, no older than the last.
    pub(super) fn event<T: Serialize>(
        &mut self,
        kind: &'static str,
        at: DateTime<Utc>,
        data: T,
        surface_op: Option<&'static str>,
    ) -> Vec<u8> {
        self.time = self.time.max(at.timestamp_millis());
        let (seq, time) = (self.seq, self.time);
        let event = Event { r#type: kind, seq, time, data, surface_op, ignorable: None };
        self.seq += 1;
        json::line(&event)
    }

    /// One more event that a harness skips which does not know it.
    pub(super) fn ignorable<T: Serialize>(
        &mut self,
        kind: &'static str,
        at: DateTime<Utc>,
        data: T,
    ) -> Vec<u8> {
        self.time = self.time.max(at.timestamp_millis());
        let (seq, time, ignorable) = (self.seq, self.time, Some(true));
        let event = Event { r#type: kind, seq, time, data, surface_op: None, ignorable };
        self.seq += 1;
        json::line(&event)
    }
}

impl Writer for DshWriter {
    fn header(&self, context: Context<'_>) -> Vec<u8> {
        let birth = context.birth;
        let numeric = birth.version < 2;
        json::line(&Header {
            r#type: "session",
            version: birth.version,
            id: &birth.id,
            created_at: birth.at.timestamp_millis(),
            cwd: birth.cwd.as_deref(),
            parent_session: &birth.parent,
            seed_length: numeric.then_some(birth.seed_length),
            is_seeded: (!numeric).then_some(true),
            delegation_depth: 0,
            agent_preset: context.facts.header.as_ref().and_then(|header| header.preset.as_deref()),
        })
    }

    fn adopt(
        &self,
        _index: u32,
        _lines: &mut Reread<'_>,
        _context: Context<'_>,
    ) -> Result<Adopted> {
        Ok(Adopted::AsIs) // Numbers go on from the seed's, ids and turns are the parent's.
    }

    fn seal(&self, tip: &mut Tip, context: Context<'_>) -> Vec<Vec<u8>> {
        // The harness gives the mark the boundary event's time; without one the child's own.
        let at = DateTime::from_timestamp_millis(tip.time)
            .filter(|_| tip.seq > 0)
            .unwrap_or(context.birth.at);
        let data = EndSeed { inherited: (context.birth.version >= 2).then_some(true) };
        vec![tip.event("session/end-seed", at, data, None)]
    }

    fn setting(&self, line: &[u8], tip: &mut Tip, context: Context<'_>) -> Result<Vec<u8>> {
        let numbers: Numbers<'_> =
            serde_json::from_slice(line).map_err(|error| malformed(0, &error))?;
        let mut splice = Splice::default();
        tip.time = tip.time.max(context.birth.at.timestamp_millis());
        splice.replace(range(line, numbers.seq), tip.seq.to_string());
        splice.replace(range(line, numbers.time), tip.time.to_string());
        tip.seq += 1;
        Ok(splice.apply(line))
    }

    fn note(
        &self,
        note: &Note,
        at: DateTime<Utc>,
        tip: &mut Tip,
        _taken: &dyn Fn(&str) -> bool,
    ) -> Vec<u8> {
        let source = match tip.version {
            0..4 => Source { kind: "plugin", plugin: Some("sidechat") },
            _ => Source { kind: "plugin:sidechat", plugin: None },
        };
        let content = [TextBlock { r#type: "text", text: &note.text }];
        let data = UserMessage { content, source, role: "user", id: self.mark(note) };
        tip.event("user/message", at, data, Some("append"))
    }

    fn finish(
        &self,
        _labels: &[Vec<u8>],
        tip: &mut Tip,
        context: Context<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        let title = context.birth.title.as_deref().map(|title| {
            let data =
                Title { title, message_seqs: [], source: Source { kind: "user", plugin: None } };
            tip.event("session/title", context.birth.at, data, None)
        });
        Ok(title.into_iter().collect())
    }

    fn tip(&self, facts: &Facts, path: &[u32], last: Option<&[u8]>) -> Tip {
        let next = path.iter().rev().find_map(|line| numbered(facts, *line));
        let next = next.map_or(0, |(first, count)| u64::from(first) + u64::from(count));
        let version = facts.header.as_ref().map_or(0, |header| header.version);
        let time = last
            .and_then(|line| serde_json::from_slice::<LastTime<'_>>(line).ok())
            .map_or(0, |last| last.millis());
        Tip { seq: next, time, version, ..Tip::default() }
    }

    fn takes_note(&self, facts: &Facts, version: u32, path: &[u32]) -> bool {
        // 0.2.1-rc.2 cannot migrate an older log whose surface begins before the first step, and never opens it again.
        let stepped = || path.iter().any(|line| facts.of(*line).any(|fact| fact == Fact::Stepped));
        version >= 3 || stepped()
    }

    fn mends_tail(&self) -> bool {
        false // The loaders refuse a line that cannot be read as soon as a turn ends behind it.
    }

    fn mark(&self, note: &Note) -> String {
        let kind = if note.carrier == Carrier::Note { "note" } else { "framing" };
        format!("sidechat-{kind}-{}", &note.digest[..32])
    }
}
