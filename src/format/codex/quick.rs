//! Most of a rollout are lines that state little, however long they are: read in one pass, without being taken apart.
//!
//! What is not read here is read by the structs of [`super::wire`], which say what a line means.

use super::wire::{self, Shape};
use crate::format::scan::Scan;

/// A line of which no more is to be known than stands here.
pub(super) struct Line<'a> {
    pub timestamp: &'a str,
    pub ordinal: Option<u32>,
    pub kind: &'a str,
    pub states: States<'a>,
    /// Whether a character is named by its number in it.
    pub names_characters: bool,
}

/// What it states beyond its number and its time.
pub(super) enum States<'a> {
    Nothing,
    /// An event that names a turn, but is neither its beginning nor its end.
    During(&'a str),
    /// An answer of the model: the message's id, and its content.
    Answer(Option<&'a str>, Option<&'a [u8]>),
    /// Another item: what it is, the call it belongs to, and all of it.
    Item(Shape, Option<&'a str>, &'a [u8]),
}

/// Events that state something.
const EVENTS: &[&str] = &[
    "task_started",
    "turn_started",
    "task_complete",
    "turn_complete",
    "turn_aborted",
    "user_message",
    "thread_rolled_back",
    "thread_settings_applied",
];

/// What is to be known.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// What was paid.
    pub usages: bool,
    /// What was said.
    pub path: bool,
}

/// The line, if it is one of those that can be read like this.
pub(super) fn line(bytes: &[u8], wanted: Wanted) -> Option<Line<'_>> {
    let mut scan = Scan::of(bytes);
    let (mut timestamp, mut ordinal, mut kind, mut payload) = (None, None, None, None);
    scan.object(|scan, key| {
        let fresh = match key {
            b"timestamp" => timestamp.replace(scan.text()??).is_none(),
            b"ordinal" => ordinal.replace(small(scan.value()?)?).is_none(),
            b"type" => kind.replace(scan.text()??).is_none(),
            b"payload" => payload.replace(Payload::read(scan)?).is_none(),
            _ => scan.value().is_some(),
        };
        fresh.then_some(())
    })?;
    if !scan.ends() {
        return None;
    }
    let (timestamp, kind, payload) = (timestamp?, kind?, payload?);
    let states = match kind {
        "response_item" => payload.item(wanted)?,
        "event_msg" => payload.event(wanted)?,
        "token_usage_record" if !wanted.usages => States::Nothing,
        "world_state" | "inter_agent_communication_metadata" => States::Nothing,
        _ => return None,
    };
    let names_characters = scan.names_characters();
    Some(Line { timestamp, ordinal, kind, states, names_characters })
}

fn small(digits: &[u8]) -> Option<u32> {
    (digits.len() < 10).then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

/// The values of [`wire::Payload`] that such a line needs.
#[derive(Default)]
struct Payload<'a> {
    whole: &'a [u8],
    kind: Option<&'a str>,
    id: Option<&'a str>,
    role: Option<&'a str>,
    call: Option<&'a str>,
    turn: Option<&'a str>,
    content: Option<&'a [u8]>,
}

impl<'a> Payload<'a> {
    fn read(scan: &mut Scan<'a>) -> Option<Self> {
        let mut payload = Self::default();
        let mut seen = 0_u32; // a key that comes twice is not for us to judge
        let start = scan.rest();
        scan.object(|scan, key| {
            let bit = match key {
                b"type" => {
                    payload.kind = scan.text()?;
                    0
                }
                b"id" => {
                    payload.id = scan.text()?;
                    1
                }
                b"role" => {
                    payload.role = scan.text()?;
                    2
                }
                b"call_id" => {
                    payload.call = scan.text()?;
                    3
                }
                b"content" => {
                    payload.content = Some(scan.value()?).filter(|value| value != b"null");
                    4
                }
                b"turn_id" => {
                    payload.turn = scan.text()?;
                    5
                }
                b"thread_id" => scan.text().map(|_| 6)?,
                b"response_id" => scan.text().map(|_| 7)?,
                b"model" => scan.text().map(|_| 8)?,
                b"message" => scan.value().map(|_| 9)?,
                b"info" => scan.value().map(|_| 10)?,
                b"usage" => scan.value().map(|_| 11)?,
                // Whatever has these states more than is read here.
                b"num_turns"
                | b"thread_settings"
                | b"replacement_history"
                | b"sandbox_policy"
                | b"compaction_response_id" => return None,
                _ => return scan.value().map(|_| ()),
            };
            let fresh = seen & 1 << bit == 0;
            seen |= 1 << bit;
            fresh.then_some(())
        })?;
        payload.whole = &start[..start.len() - scan.rest().len()];
        Some(payload)
    }

    fn may_be_ours(&self) -> bool {
        self.role == Some("developer") && self.id.is_some_and(|id| id.contains("5e55c71"))
    }

    fn item(self, wanted: Wanted) -> Option<States<'a>> {
        match wire::shape(self.kind.unwrap_or_default()) {
            Shape::Message if self.role == Some("assistant") => {
                Some(States::Answer(self.id, self.content))
            }
            // What a ledger keeps of messages is whether they are ours.
            Shape::Message if !wanted.path && !self.may_be_ours() => Some(States::Nothing),
            Shape::Message => None,
            shape => Some(States::Item(shape, self.call, self.whole)),
        }
    }

    fn event(self, wanted: Wanted) -> Option<States<'a>> {
        let kind = self.kind.unwrap_or_default();
        let counts = wanted.usages && kind == "token_count";
        let states = self.turn.map_or(States::Nothing, States::During);
        (!counts && !EVENTS.contains(&kind)).then_some(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &str) -> Option<&'static str> {
        let text = format!(
            r#"{{"timestamp":"t","ordinal":3,"type":"response_item","payload":{payload}}}"#
        );
        let line = line(text.as_bytes(), Wanted { usages: true, path: true })?;
        assert_eq!(line.ordinal, Some(3));
        Some(match line.states {
            States::Nothing | States::During(_) => "nothing",
            States::Answer(..) => "answer",
            States::Item(..) => "item",
        })
    }

    #[test]
    fn what_needs_a_closer_look_is_left_to_others() {
        assert_eq!(read(r#"{"type":"message","role":"assistant","content":[]}"#), Some("answer"));
        assert_eq!(read(r#"{"type":"reasoning","content":null}"#), Some("item"));
        for closer in [
            r#"{"type":"message","role":"user","content":[]}"#,
            r#"{"type":"reasoning","type":"reasoning"}"#,
            r#"{"type":"reasoning","id":7}"#,
            r#"{"type":"reas\u006fning"}"#,
            r#"{"type":"reasoning","summary":"a\qb"}"#,
            r#"{"type":"reasoning",}"#,
            "[]",
        ] {
            assert_eq!(read(closer), None, "{closer}");
        }
    }
}
