//! Most of a rollout are lines that state little, however long they are: read in one pass, without being taken apart.
//!
//! What is not read here is read by the structs of [`super::wire`], which say what a line means.

use memchr::memmem;

use super::wire::{self, Counts, Info, Response, Shape};
use crate::format::scan::{Marks, Scan, once};

/// A line of which no more is to be known than stands here.
pub(super) struct Line<'a> {
    pub timestamp: &'a [u8],
    pub ordinal: Option<u32>,
    pub kind: &'a [u8],
    pub states: States<'a>,
    /// Whether a character is named by its number in it.
    pub names_characters: bool,
}

/// What it states beyond its number and its time.
pub(super) enum States<'a> {
    Nothing,
    /// An event that names a turn, but is neither its beginning nor its end.
    During(&'a [u8]),
    /// An answer of the model: the message's id, and its content.
    Answer(Option<&'a [u8]>, Option<&'a [u8]>),
    /// Another item: what it is, the call it belongs to, and all of it.
    Item(Shape, Option<&'a [u8]>, &'a [u8]),
    /// An event with the running total, and the turn it names.
    Total(Option<Info>, Option<&'a [u8]>),
    /// What one response cost.
    Paid(Response<'a>),
    /// The model of a turn, where nothing else is to be known of it.
    Model(Option<&'a [u8]>, &'a [u8]),
}

/// Events that state something.
const EVENTS: &[&[u8]] = &[
    b"task_started",
    b"turn_started",
    b"task_complete",
    b"turn_complete",
    b"turn_aborted",
    b"user_message",
    b"thread_rolled_back",
    b"thread_settings_applied",
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
pub(super) fn line<'a>(bytes: &'a [u8], wanted: Wanted, marks: &mut Marks) -> Option<Line<'a>> {
    let mut scan = Scan::of(bytes, marks);
    let (mut timestamp, mut ordinal, mut kind, mut payload) = (None, None, None, None);
    scan.object(|scan, key| {
        let fresh = match key {
            b"timestamp" => timestamp.replace(scan.word()??).is_none(),
            b"ordinal" => ordinal.replace(u32::try_from(scan.whole_number()??).ok()?).is_none(),
            b"type" => kind.replace(scan.word()??).is_none(),
            b"payload" => payload.replace(Payload::read(scan, wanted)?).is_none(),
            _ => scan.value().is_some(),
        };
        fresh.then_some(())
    })?;
    if !scan.ends() {
        return None;
    }
    let (timestamp, kind, payload) = (timestamp?, kind?, payload?);
    let states = match kind {
        b"response_item" => payload.item(wanted)?,
        b"event_msg" => payload.event(wanted)?,
        b"token_usage_record" if !wanted.usages => States::Nothing,
        b"token_usage_record" => States::Paid(payload.response()),
        b"turn_context" if !wanted.path => payload.context(),
        b"world_state" | b"inter_agent_communication_metadata" => States::Nothing,
        _ => return None,
    };
    let names_characters = scan.names_characters();
    Some(Line { timestamp, ordinal, kind, states, names_characters })
}

/// The values of [`wire::Payload`] that such a line needs.
#[derive(Default)]
struct Payload<'a> {
    whole: &'a [u8],
    kind: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    role: Option<&'a [u8]>,
    call: Option<&'a [u8]>,
    turn: Option<&'a [u8]>,
    thread: Option<&'a [u8]>,
    response: Option<&'a [u8]>,
    model: Option<&'a [u8]>,
    content: Option<&'a [u8]>,
    info: Option<Info>,
    usage: Option<Counts>,
}

/// A word of a line, which is text.
pub(super) fn text(word: Option<&[u8]>) -> Option<&str> {
    word.and_then(|word| std::str::from_utf8(word).ok())
}

fn counts(scan: &mut Scan<'_, '_>) -> Option<Option<Counts>> {
    if scan.is_null()? {
        return Some(None);
    }
    let (mut counts, mut seen) = (Counts::default(), 0);
    scan.object(|scan, key| {
        let (bit, field) = match key {
            b"input_tokens" => (0, &mut counts.input_tokens),
            b"cached_input_tokens" => (1, &mut counts.cached_input_tokens),
            b"cache_write_input_tokens" => (2, &mut counts.cache_write_input_tokens),
            b"output_tokens" => (3, &mut counts.output_tokens),
            b"reasoning_output_tokens" => (4, &mut counts.reasoning_output_tokens),
            _ => return scan.value().map(|_| ()),
        };
        *field = scan.count()?;
        once(&mut seen, bit)
    })?;
    Some(Some(counts))
}

fn info(scan: &mut Scan<'_, '_>) -> Option<Option<Info>> {
    if scan.is_null()? {
        return Some(None);
    }
    let (mut info, mut seen) = (Info::default(), 0);
    scan.object(|scan, key| {
        let (bit, field) = match key {
            b"total_token_usage" => (0, &mut info.total_token_usage),
            b"last_token_usage" => (1, &mut info.last_token_usage),
            _ => return scan.value().map(|_| ()),
        };
        *field = counts(scan)?;
        once(&mut seen, bit)
    })?;
    Some(Some(info))
}

impl<'a> Payload<'a> {
    fn read(scan: &mut Scan<'a, '_>, wanted: Wanted) -> Option<Self> {
        let mut payload = Self::default();
        let mut seen = 0; // a key that comes twice is not for us to judge
        let start = scan.rest();
        scan.object(|scan, key| {
            let bit = match key {
                b"type" => {
                    payload.kind = scan.word()?;
                    0
                }
                b"id" => {
                    payload.id = scan.word()?;
                    1
                }
                b"role" => {
                    payload.role = scan.word()?;
                    2
                }
                b"call_id" => {
                    payload.call = scan.word()?;
                    3
                }
                b"content" => {
                    payload.content = Some(scan.value()?).filter(|value| value != b"null");
                    4
                }
                b"turn_id" => {
                    payload.turn = scan.word()?;
                    5
                }
                b"thread_id" => {
                    payload.thread = scan.word()?;
                    6
                }
                b"response_id" => {
                    payload.response = scan.word()?;
                    7
                }
                b"model" => {
                    payload.model = scan.word()?;
                    8
                }
                b"message" => scan.value().map(|_| 9)?,
                b"info" if !wanted.usages => scan.value().map(|_| 10)?,
                b"usage" if !wanted.usages => scan.value().map(|_| 11)?,
                b"info" => {
                    payload.info = info(scan)?;
                    10
                }
                b"usage" => {
                    payload.usage = counts(scan)?;
                    11
                }
                b"sandbox_policy" if !wanted.path => scan.value().map(|_| 12)?,
                // Whatever has these states more than is read here.
                b"num_turns"
                | b"thread_settings"
                | b"replacement_history"
                | b"sandbox_policy"
                | b"compaction_response_id" => return None,
                _ => return scan.value().map(|_| ()),
            };
            once(&mut seen, bit)
        })?;
        payload.whole = &start[..start.len() - scan.rest().len()];
        Some(payload)
    }

    fn may_be_ours(&self) -> bool {
        self.role == Some(b"developer")
            && self.id.is_some_and(|id| memmem::find(id, b"5e55c71").is_some())
    }

    fn item(self, wanted: Wanted) -> Option<States<'a>> {
        if !wanted.path {
            // What a ledger keeps of items is whether they are ours.
            return (!self.may_be_ours()).then_some(States::Nothing);
        }
        match wire::shape(text(self.kind).unwrap_or_default()) {
            Shape::Message if self.role == Some(b"assistant") => {
                Some(States::Answer(self.id, self.content))
            }
            Shape::Message => None,
            shape => Some(States::Item(shape, self.call, self.whole)),
        }
    }

    fn event(self, wanted: Wanted) -> Option<States<'a>> {
        let kind = self.kind.unwrap_or_default();
        if wanted.usages && kind == b"token_count" {
            return Some(States::Total(self.info, self.turn));
        }
        let states = self.turn.map_or(States::Nothing, States::During);
        (!EVENTS.contains(&kind)).then_some(states)
    }

    fn context(self) -> States<'a> {
        self.model.map_or(States::Nothing, |model| States::Model(self.turn, model))
    }

    fn response(self) -> Response<'a> {
        let Self { usage, response, turn, thread, .. } = self;
        Response { counts: usage, id: text(response), turn: text(turn), thread: text(thread) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &str) -> Option<&'static str> {
        let text = format!(
            r#"{{"timestamp":"t","ordinal":3,"type":"response_item","payload":{payload}}}"#
        );
        let line =
            line(text.as_bytes(), Wanted { usages: true, path: true }, &mut Marks::default())?;
        assert_eq!(line.ordinal, Some(3));
        Some(match line.states {
            States::Answer(..) => "answer",
            States::Item(..) => "item",
            _ => "nothing",
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
