//! Most of a rollout are lines that state little, however long they are: read in one pass, without being taken apart.
//!
//! What is not read here is read by the structs of [`super::wire`], which say what a line means.

use std::cell::RefCell;

use memchr::memmem;

use super::wire::{self, Counts, Info, Response, Shape};
use crate::format::{
    json::Count,
    scan::{Ask, Fields, Forms, Marks, Places},
};

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
    /// In a ledger: whether the model said it, or somebody else.
    Spoke(bool),
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

thread_local! {
    /// Forms are the same in all rollouts; for a ledger all lines are asked the same.
    static FORMS: RefCell<Forms> = const { RefCell::new(Forms::new()) };
}

/// The line, if it is one of those that can be read like this.
pub(super) fn line<'a>(bytes: &'a [u8], wanted: Wanted, marks: &mut Marks) -> Option<Line<'a>> {
    let mut places: Places<FIELDS> = [(0, 0); FIELDS];
    let asks = |part, key: &[u8]| asks(part, key, wanted);
    let fields = if wanted.path {
        Fields::read(bytes, marks, None, &mut places, asks)?
    } else {
        FORMS.with_borrow_mut(|forms| Fields::read(bytes, marks, Some(forms), &mut places, asks))?
    };
    if fields.names_characters() {
        // Half a character makes a line that the client cannot read, also where nobody looks.
        WORDS.iter().try_for_each(|word| fields.word(*word).map(drop))?;
    }
    let (timestamp, kind) = (fields.word(TIMESTAMP)??, fields.word(TYPE)??);
    let ordinal = fields.whole_number(ORDINAL)?.map(u32::try_from).transpose().ok()?;
    let whole = fields.value(PAYLOAD)?;
    let states = match kind {
        b"response_item" => item(&fields, whole, wanted)?,
        b"event_msg" => event(&fields, wanted)?,
        b"token_usage_record" if !wanted.usages => States::Nothing,
        b"token_usage_record" => States::Paid(response(&fields)?),
        b"turn_context" if !wanted.path => match fields.word(MODEL)? {
            Some(model) => States::Model(fields.word(TURN)?, model),
            None => States::Nothing,
        },
        b"world_state" | b"inter_agent_communication_metadata" => States::Nothing,
        _ => return None,
    };
    let names_characters = fields.names_characters();
    Some(Line { timestamp, ordinal, kind, states, names_characters })
}

/// A word of a line, which is text.
pub(super) fn text(word: Option<&[u8]>) -> Option<&str> {
    word.and_then(|word| std::str::from_utf8(word).ok())
}

// Parts of a line, the first of which is all of it.
const IN_LINE: u8 = 0;
const IN_PAYLOAD: u8 = 1;
const IN_INFO: u8 = 2;
const IN_TOTAL: u8 = 3;
const IN_LAST: u8 = 4;
const IN_USAGE: u8 = 5;

// Its fields.
const TIMESTAMP: u8 = 0;
const ORDINAL: u8 = 1;
const TYPE: u8 = 2;
const PAYLOAD: u8 = 3;
const KIND: u8 = 4;
const ID: u8 = 5;
const ROLE: u8 = 6;
const CALL: u8 = 7;
const CONTENT: u8 = 8;
const TURN: u8 = 9;
const THREAD: u8 = 10;
const RESPONSE: u8 = 11;
const MODEL: u8 = 12;
const INFO: u8 = 13;
const USAGE: u8 = 14;
const TOTAL: u8 = 15;
const LAST: u8 = 16;
/// From here on the counters of each of these.
const TOTAL_COUNTS: u8 = 17;
const LAST_COUNTS: u8 = 22;
const USAGE_COUNTS: u8 = 27;
/// Those that are text.
const WORDS: [u8; 10] = [TIMESTAMP, TYPE, KIND, ID, ROLE, CALL, TURN, THREAD, RESPONSE, MODEL];
/// How many of them somebody looks at. Those with higher numbers are only not to come twice.
const FIELDS: usize = 32;

/// What is asked of a key.
fn asks(part: u8, key: &[u8], wanted: Wanted) -> Ask {
    let counts = |first: u8| {
        let nth = match key {
            b"input_tokens" => 0,
            b"cached_input_tokens" => 1,
            b"cache_write_input_tokens" => 2,
            b"output_tokens" => 3,
            b"reasoning_output_tokens" => 4,
            _ => return Ask::Any,
        };
        Ask::Field(first + nth)
    };
    match part {
        IN_LINE => match key {
            b"timestamp" => Ask::Word(TIMESTAMP),
            b"ordinal" => Ask::Field(ORDINAL),
            b"type" => Ask::Word(TYPE),
            b"payload" => Ask::Part(PAYLOAD, IN_PAYLOAD),
            _ => Ask::Any,
        },
        IN_PAYLOAD => match key {
            b"type" => Ask::Word(KIND),
            b"id" => Ask::Word(ID),
            b"role" => Ask::Word(ROLE),
            b"call_id" => Ask::Word(CALL),
            b"content" => Ask::Field(CONTENT),
            b"turn_id" => Ask::Word(TURN),
            b"thread_id" => Ask::Word(THREAD),
            b"response_id" => Ask::Word(RESPONSE),
            b"model" => Ask::Word(MODEL),
            b"info" if wanted.usages => Ask::Part(INFO, IN_INFO),
            b"usage" if wanted.usages => Ask::Part(USAGE, IN_USAGE),
            b"info" => Ask::Field(32),
            b"usage" => Ask::Field(33),
            b"message" => Ask::Field(34),
            b"started_at" => Ask::Field(35),
            b"sandbox_policy" if !wanted.path => Ask::Field(36),
            // Whatever has these states more than is read here.
            b"num_turns"
            | b"thread_settings"
            | b"replacement_history"
            | b"sandbox_policy"
            | b"compaction_response_id" => Ask::Closer,
            _ => Ask::Any,
        },
        IN_INFO => match key {
            b"total_token_usage" => Ask::Part(TOTAL, IN_TOTAL),
            b"last_token_usage" => Ask::Part(LAST, IN_LAST),
            _ => Ask::Any,
        },
        IN_TOTAL => counts(TOTAL_COUNTS),
        IN_LAST => counts(LAST_COUNTS),
        _ => counts(USAGE_COUNTS),
    }
}

/// The counters in an object, if there is one.
fn counts(fields: &Fields<'_, '_>, whole: u8, first: u8) -> Option<Counts> {
    let count = |nth: u8| Count(fields.count(first + nth));
    fields.has(whole).then(|| Counts {
        input_tokens: count(0),
        cached_input_tokens: count(1),
        cache_write_input_tokens: count(2),
        output_tokens: count(3),
        reasoning_output_tokens: count(4),
    })
}

/// What an item states.
fn item<'a>(fields: &Fields<'a, '_>, whole: &'a [u8], wanted: Wanted) -> Option<States<'a>> {
    let (role, id) = (fields.word(ROLE)?, fields.word(ID)?);
    if !wanted.path {
        // What a ledger keeps of items is whether they are ours.
        let named = || id.is_some_and(|id| memmem::find(id, b"5e55c71").is_some());
        let shape = wire::shape(text(fields.word(KIND)?).unwrap_or_default());
        let spoke =
            wire::speaks(shape, text(role), text(id)).map_or(States::Nothing, States::Spoke);
        return (role != Some(b"developer") || !named()).then_some(spoke);
    }
    match wire::shape(text(fields.word(KIND)?).unwrap_or_default()) {
        Shape::Message if role == Some(b"assistant") => {
            Some(States::Answer(id, fields.value(CONTENT)))
        }
        Shape::Message => None,
        shape => Some(States::Item(shape, fields.word(CALL)?, whole)),
    }
}

/// What an event states.
fn event<'a>(fields: &Fields<'a, '_>, wanted: Wanted) -> Option<States<'a>> {
    let (kind, turn) = (fields.word(KIND)?.unwrap_or_default(), fields.word(TURN)?);
    if wanted.usages && kind == b"token_count" {
        let info = fields.has(INFO).then(|| Info {
            total_token_usage: counts(fields, TOTAL, TOTAL_COUNTS),
            last_token_usage: counts(fields, LAST, LAST_COUNTS),
        });
        return Some(States::Total(info, turn));
    }
    let states = turn.map_or(States::Nothing, States::During);
    (!EVENTS.contains(&kind)).then_some(states)
}

/// What a response cost.
fn response<'a>(fields: &Fields<'a, '_>) -> Option<Response<'a>> {
    let counts = counts(fields, USAGE, USAGE_COUNTS);
    let word = |field: u8| fields.word(field).map(text);
    Some(Response { counts, id: word(RESPONSE)?, turn: word(TURN)?, thread: word(THREAD)? })
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
