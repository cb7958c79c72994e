//! Most of a transcript tells nothing of what was paid: for a ledger its lines are looked through in one pass, without
//! being taken apart.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use std::ops::Range;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::wire::{CacheCreation, Message, OutputDetails, Paid, Record};
use crate::format::{
    json::{Count, Raw},
    scan::{Marks, Scan, once},
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
    /// An answer of the model. In a box, so that the other lines are not as wide as it is.
    pub answer: Option<Box<Answer<'a>>>,
}

/// An answer of the model, as far as it tells what was paid.
pub(super) struct Answer<'a> {
    pub record: Record<'a>,
    pub message: Message<'a>,
    pub paid: Option<Paid<'a>>,
}

/// What a line says of its session: values as they stand.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Whose<'a>([Option<&'a [u8]>; SPEAKERS]);

impl Whose<'_> {
    /// The same, kept beyond the line.
    pub fn kept(&self) -> Told {
        Told(self.0.map(|value| value.map(Into::into)))
    }
}

/// What a line said of its session.
#[derive(Serialize, Deserialize)]
pub(super) struct Told([Option<Box<[u8]>>; SPEAKERS]);

impl Told {
    pub fn is(&self, whose: &Whose<'_>) -> bool {
        self.0.iter().zip(&whose.0).all(|(told, value)| told.as_deref() == *value)
    }
}

/// The fields behind `userType` that say where a session is and which client is at work, as a line had them: mostly the
/// next one has the same, and is compared with them instead of being read.
#[derive(Default)]
pub(super) struct Whereabouts {
    bytes: Vec<u8>,
    /// A bit for each field.
    seen: u64,
    /// Where in `bytes` the values are that say whose a line is.
    speakers: [Option<Range<usize>>; SPEAKERS],
}

/// The values of a message.
#[derive(Default)]
struct Parts<'a> {
    id: Option<Raw<'a>>,
    model: Option<Raw<'a>>,
    stop_reason: Option<Raw<'a>>,
    paid: Option<Paid<'a>>,
}

impl<'a> Parts<'a> {
    fn read(scan: &mut Scan<'a, '_>) -> Option<Self> {
        let mut parts = Self::default();
        let mut seen = 0; // a key that comes twice is not for us to judge
        scan.object(|scan, key| {
            let bit = match key {
                b"id" => {
                    parts.id = scan.raw()?;
                    0
                }
                b"model" => {
                    parts.model = scan.raw()?;
                    1
                }
                b"stop_reason" => {
                    parts.stop_reason = scan.raw()?;
                    2
                }
                b"usage" => {
                    parts.paid = if scan.is_null()? { None } else { Some(paid(scan)?) };
                    3
                }
                b"content" => scan.value().map(|_| 4)?,
                _ => return scan.value().map(|_| ()),
            };
            once(&mut seen, bit)
        })?;
        Some(parts)
    }
}

/// The counters of an answer.
fn paid<'a>(scan: &mut Scan<'a, '_>) -> Option<Paid<'a>> {
    let mut paid = Paid::default();
    let mut seen = 0;
    scan.object(|scan, key| {
        let usage = &mut paid.usage;
        let (bit, field) = match key {
            b"input_tokens" => return counter(scan, 0, &mut usage.input_tokens, &mut seen),
            b"output_tokens" => return counter(scan, 1, &mut usage.output_tokens, &mut seen),
            b"cache_creation_input_tokens" => {
                return counter(scan, 2, &mut usage.cache_creation_input_tokens, &mut seen);
            }
            b"cache_read_input_tokens" => {
                return counter(scan, 3, &mut usage.cache_read_input_tokens, &mut seen);
            }
            b"cache_creation" => {
                if !scan.is_null()? {
                    paid.split = split(scan)?;
                }
                return once(&mut seen, 4);
            }
            b"output_tokens_details" => {
                if !scan.is_null()? {
                    paid.details = details(scan)?;
                }
                return once(&mut seen, 5);
            }
            b"iterations" => (6, &mut usage.iterations),
            b"service_tier" => (7, &mut usage.service_tier),
            b"speed" => (8, &mut usage.speed),
            b"type" => (9, &mut usage.kind),
            b"model" => (10, &mut usage.model),
            _ => return scan.value().map(|_| ()),
        };
        *field = scan.raw()?;
        once(&mut seen, bit)
    })?;
    Some(paid)
}

/// Reads the counter of a field.
fn counter(scan: &mut Scan<'_, '_>, bit: u8, field: &mut Count, seen: &mut u64) -> Option<()> {
    *field = scan.count()?;
    once(seen, bit)
}

fn split(scan: &mut Scan<'_, '_>) -> Option<CacheCreation> {
    let mut split = CacheCreation::default();
    let mut seen = 0;
    scan.object(|scan, key| {
        let (bit, field) = match key {
            b"ephemeral_5m_input_tokens" => (0, &mut split.ephemeral_5m_input_tokens),
            b"ephemeral_1h_input_tokens" => (1, &mut split.ephemeral_1h_input_tokens),
            _ => return scan.value().map(|_| ()),
        };
        counter(scan, bit, field, &mut seen)
    })?;
    Some(split)
}

fn details(scan: &mut Scan<'_, '_>) -> Option<OutputDetails> {
    let mut details = OutputDetails::default();
    let mut seen = 0;
    scan.object(|scan, key| {
        if key != b"thinking_tokens" {
            return scan.value().map(|_| ());
        }
        counter(scan, 0, &mut details.thinking_tokens, &mut seen)
    })?;
    Some(details)
}

/// What a copied record says of its original: the session, and the id of the record, which is another one each time.
fn origin<'a>(scan: &mut Scan<'a, '_>) -> Option<Option<&'a [u8]>> {
    let (mut session, mut seen) = (None, 0);
    scan.object(|scan, key| {
        let bit = match key {
            b"sessionId" => {
                session = Some(scan.value()?);
                0
            }
            b"messageUuid" => scan.value().map(|_| 1)?,
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    Some(session)
}

/// The line, if it is one that can be read like this.
pub(super) fn line<'a>(
    bytes: &'a [u8],
    marks: &mut Marks,
    place: &mut Whereabouts,
) -> Option<Line<'a>> {
    let mut scan = Scan::of(bytes, marks);
    let (mut kind, mut subtype, mut linked) = (None, None, false);
    let (mut meta, mut side, mut data): (bool, bool, &[u8]) = (false, false, b"");
    let mut parts = None;
    let mut whose = Whose::default();
    let mut values: [Option<Range<usize>>; VALUES] = Default::default();
    let mut seen = 0; // a key that comes twice is not for us to judge
    let mut run: Option<(Range<usize>, u64)> = None; // what may be the next line's place
    scan.object(|scan, key| {
        let bit = field(key);
        match bit {
            USER_TYPE => {
                scan.value()?;
                let start = scan.at();
                if !place.bytes.is_empty() && scan.repeats(&place.bytes) {
                    (seen & place.seen == 0).then_some(())?;
                    seen |= place.seen;
                    for (nth, value) in (0..).zip(&place.speakers) {
                        let Some(value) = value else { continue };
                        let value = start + value.start..start + value.end;
                        whose.0[nth] = Some(&bytes[value.clone()]);
                        values[nth + usize::from(SIDE)] = Some(value);
                    }
                } else {
                    run = Some((start..start, 0));
                }
            }
            TYPE => kind = scan.word()?,
            SUBTYPE => subtype = scan.word()?,
            UUID => linked = scan.word()?.is_some(),
            META => meta = scan.value()? == b"true",
            DATA => data = scan.value()?,
            ORIGIN if scan.rest().first() == Some(&b'{') => {
                let start = bytes.len() - scan.rest().len();
                let session = origin(scan)?;
                whose.0[usize::from(ORIGIN - SIDE)] = Some(session.unwrap_or(b"{}"));
                values[usize::from(ORIGIN)] = Some(start..bytes.len() - scan.rest().len());
            }
            SIDE..=REQUESTER => {
                let place = scan.place()?;
                let value = &bytes[place.clone()];
                whose.0[usize::from(bit - SIDE)] = Some(value);
                values[usize::from(bit)] = Some(place);
                side |= bit == SIDE && value == b"true";
            }
            MESSAGE if scan.rest().first() == Some(&b'{') => parts = Some(Parts::read(scan)?),
            TIMESTAMP..=TRUNCATED => values[usize::from(bit)] = Some(scan.place()?),
            UNKNOWN => return scan.value().map(|_| ()),
            _ => scan.value().map(|_| ())?,
        }
        match (&mut run, bit) {
            (Some((run, seen)), ENTRYPOINT | FOLDER | SESSION | VERSION | BRANCH) => {
                (run.end, *seen) = (scan.at(), *seen | 1 << bit);
            }
            (_, USER_TYPE) => {}
            (run, _) => learn(place, run.take(), bytes, &values),
        }
        once(&mut seen, bit)
    })?;
    learn(place, run, bytes, &values);
    let kind = kind?;
    let silent = match (kind, linked) {
        (b"user", linked) => linked,
        (b"assistant", _) => false,
        (b"system", true) => !matches!(subtype, Some(b"local_command" | b"compact_boundary")),
        // What a subagent's message cost may stand in it.
        (b"progress", true) => {
            !scan.names_characters() && memmem::find(data, b"\"usage\"").is_none()
        }
        (kind, false) => kind != b"cost-state",
        _ => true,
    };
    if !scan.ends() {
        return None;
    }
    let mut value = |field: u8| scan.raw_at(values[usize::from(field)].take()?)?;
    let answer = parts.filter(|_| kind == b"assistant" && linked).map(|parts| {
        let record = Record {
            session_id: value(SESSION),
            forked_from: value(ORIGIN),
            request_session_id: value(REQUESTER),
            timestamp: value(TIMESTAMP),
            is_api_error_message: value(FAILED),
            truncated_after_output: value(TRUNCATED),
            ..Record::default()
        };
        let message = Message {
            id: parts.id,
            model: parts.model,
            stop_reason: parts.stop_reason,
            ..Message::default()
        };
        Box::new(Answer { record, message, paid: parts.paid })
    });
    Some(Line { kind, silent, whose, meta, side, linked, answer })
}

/// Takes over the place that a line has.
fn learn(
    place: &mut Whereabouts,
    run: Option<(Range<usize>, u64)>,
    bytes: &[u8],
    values: &[Option<Range<usize>>; VALUES],
) {
    let Some((run, seen)) = run else { return };
    place.seen = seen;
    place.speakers = std::array::from_fn(|nth| {
        let value = values[nth + usize::from(SIDE)].as_ref()?;
        let inside = run.start <= value.start && value.end <= run.end;
        inside.then(|| value.start - run.start..value.end - run.start)
    });
    place.bytes.clear();
    place.bytes.extend_from_slice(&bytes[run]);
}

const TYPE: u8 = 0;
const SUBTYPE: u8 = 1;
const UUID: u8 = 2;
const META: u8 = 3;
const DATA: u8 = 4;
/// From here on what says whose a line is.
const SIDE: u8 = 5;
const SESSION: u8 = 6;
const FOLDER: u8 = 7;
const VERSION: u8 = 8;
const ORIGIN: u8 = 10;
/// The last of these.
const REQUESTER: u8 = 11;
/// How many these are.
const SPEAKERS: usize = (REQUESTER - SIDE) as usize + 1;
const TIMESTAMP: u8 = 12;
const FAILED: u8 = 13;
const TRUNCATED: u8 = 14;
/// How many fields have values that are kept.
const VALUES: usize = 15;
const MESSAGE: u8 = 17;
const BRANCH: u8 = 28;
const USER_TYPE: u8 = 29;
const ENTRYPOINT: u8 = 30;
/// No field that is looked at.
const UNKNOWN: u8 = 63;

/// The fields of [`super::wire::Record`] by numbers.
fn field(key: &[u8]) -> u8 {
    match key {
        b"type" => TYPE,
        b"subtype" => SUBTYPE,
        b"uuid" => UUID,
        b"isMeta" => META,
        b"data" => DATA,
        b"isSidechain" => SIDE,
        b"sessionId" => SESSION,
        b"cwd" => FOLDER,
        b"version" => VERSION,
        b"agentId" => 9,
        b"forkedFrom" => ORIGIN,
        b"requestSessionId" => REQUESTER,
        b"timestamp" => TIMESTAMP,
        b"isApiErrorMessage" => FAILED,
        b"truncatedAfterOutput" => TRUNCATED,
        b"parentUuid" => 15,
        b"isCompactSummary" => 16,
        b"message" => MESSAGE,
        b"content" => 18,
        b"compactMetadata" => 19,
        b"replacements" => 20,
        b"sessctl" => 21,
        b"leafUuid" => 22,
        b"lastPrompt" => 23,
        b"customTitle" => 24,
        b"aiTitle" => 25,
        b"summary" => 26,
        b"messageId" => 27,
        b"gitBranch" => BRANCH,
        b"userType" => USER_TYPE,
        b"entrypoint" => ENTRYPOINT,
        b"modelUsage" => 31,
        _ => UNKNOWN,
    }
}
