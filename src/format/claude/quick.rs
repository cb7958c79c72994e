//! Most of a transcript tells nothing of what was paid: for a ledger its lines are looked through in one pass, without
//! being taken apart.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use std::cell::RefCell;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::bill::{self, Bill, Counters};
use crate::format::{
    json,
    scan::{Ask, Fields, Forms, Marks, Places},
};

/// What one pass tells of a line.
pub(super) struct Line<'a> {
    pub kind: &'a [u8],
    /// Whether it states nothing that a ledger keeps, beyond whose it is.
    pub silent: bool,
    pub whose: Whose<'a>,
    /// Whether the client speaks in a person's place.
    pub meta: bool,
    /// Whether it belongs to a side chain.
    pub side: bool,
    /// Whether it is a record of the conversation.
    pub linked: bool,
    /// An answer of the model, its own or one that it tells of.
    pub answer: Option<Answer<'a>>,
}

/// An answer of the model.
pub(super) struct Answer<'a> {
    /// What was paid for it; counters that it has not are zero.
    pub bill: Bill<'a>,
    /// Whether it was cut.
    pub truncated: bool,
}

/// What a line says of its session: values as they stand.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Whose<'a>([Option<&'a [u8]>; SPEAKERS]);

/// How many values say it.
const SPEAKERS: usize = 7;

/// What a line said of its session.
#[derive(Serialize, Deserialize)]
pub(super) struct Told([Option<Box<[u8]>>; SPEAKERS]);

thread_local! {
    /// Forms are the same in all transcripts.
    static FORMS: RefCell<Forms> = const { RefCell::new(Forms::new()) };
}

/// The line, if it is one that can be read like this.
pub(super) fn line<'a>(bytes: &'a [u8], marks: &mut Marks) -> Option<Line<'a>> {
    let mut places: Places<FIELDS> = [(0, 0); FIELDS];
    let fields = FORMS
        .with_borrow_mut(|forms| Fields::read(bytes, marks, Some(forms), &mut places, asks))?;
    let kind = fields.word(TYPE)??;
    // A message at a place where this kind of line has none.
    let strange = if kind == b"progress" { MESSAGE } else { TOLD };
    (!fields.has(strange)).then_some(())?;
    let linked = fields.word(UUID)?.is_some();
    let silent = match (kind, linked) {
        (b"user", linked) => linked,
        (b"assistant", _) => false,
        (b"system", true) => {
            !matches!(fields.word(SUBTYPE)?, Some(b"local_command" | b"compact_boundary"))
        }
        // What a subagent's message cost may stand in it.
        (b"progress", _) => {
            let usage = || memmem::find(fields.value(DATA)?, b"\"usage\"");
            !fields.names_characters() && usage().is_none()
        }
        (kind, false) => kind != b"cost-state",
        _ => true,
    };
    let whose = Whose::of(&fields);
    let answers = match kind {
        b"assistant" => linked && fields.has(MESSAGE),
        // A subagent's message, told again.
        b"progress" if !silent && fields.is(TOLD_TYPE, b"\"assistant\"") => {
            fields.has(TOLD_MESSAGE)
        }
        _ => false,
    };
    let answer = if answers { Some(Answer::of(&fields, &whose)?) } else { None };
    let (meta, side) = (fields.is(META, b"true"), fields.is(SIDE, b"true"));
    Some(Line { kind, silent, whose, meta, side, linked, answer })
}

impl<'a> Answer<'a> {
    /// The answer of a line; nothing where that takes a closer look.
    fn of(fields: &Fields<'a, '_>, whose: &Whose<'a>) -> Option<Self> {
        let timestamp = fields.word(TIMESTAMP)?;
        let counters = Counters {
            input: fields.count(INPUT),
            output: fields.count(OUTPUT),
            thinking: fields.count(THINKING),
            cache_read: fields.count(CACHE_READ),
            cache_write: fields.count(CACHE_WRITE),
            cache_write_5m: fields.count(CACHE_WRITE_5M),
            cache_write_1h: fields.count(CACHE_WRITE_1H),
        };
        let bill = Bill {
            id: fields.word(ID)?,
            model: fields.word(MODEL)?,
            timestamp,
            at: timestamp.and_then(json::moment),
            tier: bill::tier(fields.word(SPEED)?, fields.word(SERVICE)?),
            tokens: counters.into(),
            iterations: fields.value(ITERATIONS),
            inherited: whose.is_inherited()?,
            requester: whose.requester()?,
            provisional: fields.word(STOP)?.is_none(),
        };
        let truncated = fields.is(TRUNCATED, b"true") || fields.word(CUT)?.is_some();
        Some(Self { bill, truncated })
    }
}

impl<'a> Whose<'a> {
    fn of(fields: &Fields<'a, '_>) -> Self {
        let origin = match fields.value(ORIGIN) {
            // The id of the record, which stands there too, is another one each time.
            Some([b'{', ..]) => fields.value(ORIGIN_SESSION).or(Some(b"{}")),
            origin => origin,
        };
        let [side, session, folder, version, agent, requester] =
            [SIDE, SESSION, FOLDER, VERSION, AGENT, REQUESTER].map(|field| fields.value(field));
        Self([session, requester, origin, side, folder, version, agent])
    }

    /// Whether the record says of itself that another session made it; nothing where that takes a closer look.
    fn is_inherited(&self) -> Option<bool> {
        let [_, _, origin, ..] = self.0;
        Some(self.requester()?.is_some() || origin.is_some())
    }

    /// The session that made it, where the record names another one than its own.
    fn requester(&self) -> Option<Option<&'a [u8]>> {
        let [session, requester, ..] = self.0;
        let Some([b'"', named @ .., b'"']) = requester else { return Some(None) };
        let escaped = |value: &[u8]| value.contains(&b'\\');
        let close = escaped(named) || session.is_some_and(escaped);
        (!close).then(|| Some(named).filter(|_| session != requester))
    }

    /// The same, kept beyond the line.
    pub fn kept(&self) -> Told {
        Told(self.0.map(|value| value.map(Into::into)))
    }
}

impl Told {
    pub fn is(&self, whose: &Whose<'_>) -> bool {
        self.0.iter().zip(&whose.0).all(|(told, value)| told.as_deref() == *value)
    }
}

// Parts of a line, the first of which is all of it.
const IN_LINE: u8 = 0;
const IN_MESSAGE: u8 = 1;
const IN_USAGE: u8 = 2;
const IN_SPLIT: u8 = 3;
const IN_DETAILS: u8 = 4;
const IN_ORIGIN: u8 = 5;
const IN_DATA: u8 = 6;
const IN_TOLD: u8 = 7;

// Its fields.
const TYPE: u8 = 0;
const SUBTYPE: u8 = 1;
const UUID: u8 = 2;
const META: u8 = 3;
const DATA: u8 = 4;
const SIDE: u8 = 5;
const SESSION: u8 = 6;
const FOLDER: u8 = 7;
const VERSION: u8 = 8;
const AGENT: u8 = 9;
const REQUESTER: u8 = 10;
const ORIGIN: u8 = 11;
const ORIGIN_SESSION: u8 = 12;
const TIMESTAMP: u8 = 13;
const TRUNCATED: u8 = 14;
const MESSAGE: u8 = 15;
const ID: u8 = 16;
const MODEL: u8 = 17;
const STOP: u8 = 18;
const USAGE: u8 = 19;
const INPUT: u8 = 20;
const OUTPUT: u8 = 21;
const CACHE_WRITE: u8 = 22;
const CACHE_READ: u8 = 23;
const SPLIT: u8 = 24;
const CACHE_WRITE_5M: u8 = 25;
const CACHE_WRITE_1H: u8 = 26;
const DETAILS: u8 = 27;
const THINKING: u8 = 28;
const ITERATIONS: u8 = 29;
const SERVICE: u8 = 30;
const SPEED: u8 = 31;
const TOLD: u8 = 32;
const TOLD_TYPE: u8 = 33;
const TOLD_MESSAGE: u8 = 34;
const CUT: u8 = 35;
/// How many of them somebody looks at. Those with higher numbers are only not to come twice.
const FIELDS: usize = 36;

/// What is asked of a key: all that [`super::wire`] knows, which alone judges of one that comes twice.
fn asks(part: u8, key: &[u8]) -> Ask {
    let field = match part {
        IN_LINE => match key {
            b"message" => return Ask::Part(MESSAGE, IN_MESSAGE),
            b"forkedFrom" => return Ask::Part(ORIGIN, IN_ORIGIN),
            b"data" => return Ask::Part(DATA, IN_DATA),
            b"type" => return Ask::Word(TYPE),
            b"subtype" => return Ask::Word(SUBTYPE),
            b"uuid" => return Ask::Word(UUID),
            b"timestamp" => return Ask::Word(TIMESTAMP),
            _ => in_record(key),
        },
        IN_DATA if key == b"message" => return Ask::Part(TOLD, IN_TOLD),
        // A record as well, but another one.
        IN_TOLD => match key {
            b"message" => return Ask::Part(TOLD_MESSAGE, IN_MESSAGE),
            b"type" => Some(TOLD_TYPE),
            _ => in_record(key).map(|field| field + 64),
        },
        IN_MESSAGE => match key {
            b"usage" => return Ask::Part(USAGE, IN_USAGE),
            b"id" => return Ask::Word(ID),
            b"model" => return Ask::Word(MODEL),
            b"stop_reason" => return Ask::Word(STOP),
            b"content" => Some(56),
            _ => None,
        },
        IN_USAGE => match key {
            b"cache_creation" => return Ask::Part(SPLIT, IN_SPLIT),
            b"output_tokens_details" => return Ask::Part(DETAILS, IN_DETAILS),
            b"input_tokens" => Some(INPUT),
            b"output_tokens" => Some(OUTPUT),
            b"cache_creation_input_tokens" => Some(CACHE_WRITE),
            b"cache_read_input_tokens" => Some(CACHE_READ),
            b"iterations" => Some(ITERATIONS),
            b"service_tier" => return Ask::Word(SERVICE),
            b"speed" => return Ask::Word(SPEED),
            b"type" => Some(36),
            b"model" => Some(37),
            _ => None,
        },
        IN_SPLIT => match key {
            b"ephemeral_5m_input_tokens" => Some(CACHE_WRITE_5M),
            b"ephemeral_1h_input_tokens" => Some(CACHE_WRITE_1H),
            _ => None,
        },
        IN_DETAILS => (key == b"thinking_tokens").then_some(THINKING),
        IN_ORIGIN => match key {
            b"sessionId" => Some(ORIGIN_SESSION),
            b"messageUuid" => Some(38),
            _ => None,
        },
        _ => None,
    };
    field.map_or(Ask::Any, Ask::Field)
}

/// The fields of a record, but for those that may hold others.
fn in_record(key: &[u8]) -> Option<u8> {
    Some(match key {
        b"type" => TYPE,
        b"subtype" => SUBTYPE,
        b"uuid" => UUID,
        b"isMeta" => META,
        b"isSidechain" => SIDE,
        b"sessionId" => SESSION,
        b"cwd" => FOLDER,
        b"version" => VERSION,
        b"agentId" => AGENT,
        b"requestSessionId" => REQUESTER,
        b"timestamp" => TIMESTAMP,
        b"isApiErrorMessage" => 57,
        b"truncatedAfterOutput" => TRUNCATED,
        b"streamCutCause" => CUT,
        b"parentUuid" => 39,
        b"isCompactSummary" => 40,
        b"content" => 41,
        b"compactMetadata" => 42,
        b"replacements" => 43,
        b"sessctl" => 44,
        b"leafUuid" => 45,
        b"lastPrompt" => 46,
        b"customTitle" => 47,
        b"aiTitle" => 48,
        b"summary" => 49,
        b"messageId" => 50,
        b"gitBranch" => 51,
        b"userType" => 52,
        b"entrypoint" => 53,
        b"modelUsage" => 54,
        b"toolUseResult" => 55,
        // Where a record is told, these are not asked for more closely.
        b"forkedFrom" => ORIGIN,
        b"data" => DATA,
        _ => return None,
    })
}
