//! Most of a transcript tells nothing of what was paid: for a ledger its lines are looked through in one pass, without
//! being taken apart.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use std::ops::Range;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::bill::{self, Bill, Counters};
use crate::format::{
    json,
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
    /// An answer of the model.
    pub answer: Option<Answer<'a>>,
}

/// An answer of the model.
pub(super) struct Answer<'a> {
    /// What was paid for it; counters that it has not are zero.
    pub bill: Bill<'a>,
    /// Whether it is an error that the client shows.
    pub failed: bool,
    /// Whether it was cut.
    pub truncated: bool,
}

/// What a line says of its session: values as they stand.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Whose<'a>([Option<&'a [u8]>; SPEAKERS]);

impl<'a> Whose<'a> {
    fn of(&self, field: u8) -> Option<&'a [u8]> {
        self.0[usize::from(field - SIDE)].filter(|value| *value != b"null")
    }

    /// Whether the record says of itself that another session made it; nothing where that takes a closer look.
    fn is_inherited(&self) -> Option<bool> {
        let requester = self.of(REQUESTER).filter(|value| value.starts_with(b"\""));
        let Some(requester) = requester else { return Some(self.of(ORIGIN).is_some()) };
        let escaped = |value: &[u8]| value.contains(&b'\\');
        let session = self.of(SESSION);
        let close = escaped(requester) || session.is_some_and(escaped);
        (!close).then(|| self.of(ORIGIN).is_some() || session != Some(requester))
    }

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
    id: Option<&'a [u8]>,
    model: Option<&'a [u8]>,
    stopped: bool,
    paid: Paid<'a>,
}

impl<'a> Parts<'a> {
    fn read(scan: &mut Scan<'a, '_>) -> Option<Self> {
        let mut parts = Self::default();
        let mut seen = 0; // a key that comes twice is not for us to judge
        scan.object(|scan, key| {
            let bit = match key {
                b"id" => {
                    parts.id = scan.word()?;
                    0
                }
                b"model" => {
                    parts.model = scan.word()?;
                    1
                }
                b"stop_reason" => {
                    parts.stopped = scan.word()?.is_some();
                    2
                }
                b"usage" => {
                    if !scan.is_null()? {
                        parts.paid = Paid::read(scan)?;
                    }
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

/// What an answer says of what was paid.
#[derive(Default)]
struct Paid<'a> {
    counters: Counters,
    speed: Option<&'a [u8]>,
    service: Option<&'a [u8]>,
    iterations: Option<&'a [u8]>,
}

impl<'a> Paid<'a> {
    fn read(scan: &mut Scan<'a, '_>) -> Option<Self> {
        let mut paid = Self::default();
        let mut seen = 0;
        scan.object(|scan, key| {
            let Self { counters, .. } = &mut paid;
            let (bit, counter) = match key {
                b"input_tokens" => (0, &mut counters.input),
                b"output_tokens" => (1, &mut counters.output),
                b"cache_creation_input_tokens" => (2, &mut counters.cache_write),
                b"cache_read_input_tokens" => (3, &mut counters.cache_read),
                b"cache_creation" => {
                    return split(scan, counters).and_then(|()| once(&mut seen, 4));
                }
                b"output_tokens_details" => {
                    return details(scan, counters).and_then(|()| once(&mut seen, 5));
                }
                b"iterations" => {
                    paid.iterations = Some(scan.value()?);
                    return once(&mut seen, 6);
                }
                b"service_tier" => {
                    paid.service = scan.word()?;
                    return once(&mut seen, 7);
                }
                b"speed" => {
                    paid.speed = scan.word()?;
                    return once(&mut seen, 8);
                }
                b"type" => return scan.value().and_then(|_| once(&mut seen, 9)),
                b"model" => return scan.value().and_then(|_| once(&mut seen, 10)),
                _ => return scan.value().map(|_| ()),
            };
            *counter = scan.count()?.0;
            once(&mut seen, bit)
        })?;
        Some(paid)
    }
}

fn split(scan: &mut Scan<'_, '_>, counters: &mut Counters) -> Option<()> {
    if scan.is_null()? {
        return Some(());
    }
    let mut seen = 0;
    scan.object(|scan, key| {
        let (bit, counter) = match key {
            b"ephemeral_5m_input_tokens" => (0, &mut counters.cache_write_5m),
            b"ephemeral_1h_input_tokens" => (1, &mut counters.cache_write_1h),
            _ => return scan.value().map(|_| ()),
        };
        *counter = scan.count()?.0;
        once(&mut seen, bit)
    })
}

fn details(scan: &mut Scan<'_, '_>, counters: &mut Counters) -> Option<()> {
    if scan.is_null()? {
        return Some(());
    }
    let mut seen = 0;
    scan.object(|scan, key| {
        if key != b"thinking_tokens" {
            return scan.value().map(|_| ());
        }
        counters.thinking = scan.count()?.0;
        once(&mut seen, 0)
    })
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
    let (mut meta, mut failed, mut truncated) = (false, false, false);
    let (mut data, mut timestamp): (&[u8], _) = (b"", None);
    let mut parts = None;
    let mut whose = Whose::default();
    let mut places: [Option<Range<usize>>; SPEAKERS] = Default::default();
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
                    for (nth, value) in place.speakers.iter().enumerate() {
                        let Some(value) = value else { continue };
                        let value = start + value.start..start + value.end;
                        whose.0[nth] = Some(&bytes[value.clone()]);
                        places[nth] = Some(value);
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
                whose.0[usize::from(ORIGIN - SIDE)] = Some(origin(scan)?.unwrap_or(b"{}"));
            }
            SIDE..=REQUESTER => {
                let place = scan.place()?;
                whose.0[usize::from(bit - SIDE)] = Some(&bytes[place.clone()]);
                places[usize::from(bit - SIDE)] = Some(place);
            }
            MESSAGE if scan.rest().first() == Some(&b'{') => parts = Some(Parts::read(scan)?),
            TIMESTAMP => timestamp = scan.word()?,
            FAILED => failed = scan.value()? == b"true",
            TRUNCATED => truncated = scan.value()? == b"true",
            UNKNOWN => return scan.value().map(|_| ()),
            _ => scan.value().map(|_| ())?,
        }
        match (&mut run, bit) {
            (Some((run, seen)), ENTRYPOINT | FOLDER | SESSION | VERSION | BRANCH) => {
                (run.end, *seen) = (scan.at(), *seen | 1 << bit);
            }
            (_, USER_TYPE) => {}
            (run, _) => learn(place, run.take(), bytes, &places),
        }
        once(&mut seen, bit)
    })?;
    learn(place, run, bytes, &places);
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
    let side = whose.of(SIDE) == Some(b"true");
    let answer = match parts {
        Some(Parts { id, model, stopped, paid }) if kind == b"assistant" && linked => {
            let bill = Bill {
                id,
                model,
                timestamp,
                at: timestamp.and_then(json::moment),
                tier: bill::tier(paid.speed, paid.service),
                tokens: paid.counters.into(),
                iterations: paid.iterations,
                inherited: whose.is_inherited()?,
                provisional: !stopped,
            };
            Some(Answer { bill, failed, truncated })
        }
        _ => None,
    };
    Some(Line { kind, silent, whose, meta, side, linked, answer })
}

/// Takes over the place that a line has.
fn learn(
    place: &mut Whereabouts,
    run: Option<(Range<usize>, u64)>,
    bytes: &[u8],
    places: &[Option<Range<usize>>; SPEAKERS],
) {
    let Some((run, seen)) = run else { return };
    place.seen = seen;
    place.speakers = std::array::from_fn(|nth| {
        let value = places[nth].as_ref()?;
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
