//! Most of a transcript tells nothing of what was paid: for a ledger its lines are looked through in one pass, without
//! being taken apart.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use std::hash::{DefaultHasher, Hasher as _};

use memchr::memmem;
use serde_json::value::RawValue;

use super::wire::{Message, Record};
use crate::format::scan::Scan;

/// What one pass tells of a line.
pub(super) struct Line<'a> {
    pub kind: &'a str,
    /// Whether it states nothing that a ledger keeps, beyond whose it is.
    pub silent: bool,
    /// A digest of what it says of its session.
    pub session: u64,
    /// Whether the client speaks in a person's place.
    pub meta: bool,
    /// Whether it belongs to a side chain.
    pub side: bool,
    /// Whether it is a record of the conversation.
    pub linked: bool,
    /// An answer of the model, as far as it tells what was paid.
    pub answer: Option<(Record<'a>, Message<'a>)>,
}

/// The values of a message as they stand.
#[derive(Default)]
struct Parts<'a> {
    id: Option<&'a [u8]>,
    model: Option<&'a [u8]>,
    stop_reason: Option<&'a [u8]>,
    usage: Option<&'a [u8]>,
}

impl<'a> Parts<'a> {
    fn read(scan: &mut Scan<'a>) -> Option<Self> {
        let mut parts = Self::default();
        let mut content = None;
        scan.object(|scan, key| {
            let part = match key {
                b"id" => &mut parts.id,
                b"model" => &mut parts.model,
                b"stop_reason" => &mut parts.stop_reason,
                b"usage" => &mut parts.usage,
                b"content" => &mut content,
                _ => return scan.value().map(|_| ()),
            };
            part.replace(scan.value()?).is_none().then_some(())
        })?;
        Some(parts)
    }
}

/// A value that was scanned.
fn raw(value: Option<&[u8]>) -> Option<&RawValue> {
    // `null` is no value to serde either.
    value.filter(|value| *value != b"null").and_then(|value| serde_json::from_slice(value).ok())
}

/// The line, if it is one that can be read like this.
pub(super) fn line(bytes: &[u8]) -> Option<Line<'_>> {
    let mut scan = Scan::of(bytes);
    let (mut kind, mut subtype, mut uuid) = (None, None, None);
    let (mut meta, mut side, mut data): (bool, bool, &[u8]) = (false, false, b"");
    let mut parts = None;
    let mut values: [Option<&[u8]>; VALUES] = [None; VALUES];
    let mut session = DefaultHasher::new();
    let mut seen = 0_u64; // a key that comes twice is not for us to judge
    scan.object(|scan, key| {
        let bit = field(key);
        match bit {
            TYPE => kind = scan.text()?,
            SUBTYPE => subtype = scan.text()?,
            UUID => uuid = scan.text()?,
            META => meta = scan.value()? == b"true",
            DATA => data = scan.value()?,
            SIDE..=REQUESTER => {
                let value = scan.value()?;
                side |= bit == SIDE && value == b"true";
                values[usize::from(bit)] = Some(value);
                session.write(&[b'\0', bit]);
                session.write(value);
            }
            MESSAGE if scan.rest().first() == Some(&b'{') => parts = Some(Parts::read(scan)?),
            TIMESTAMP..=TRUNCATED => values[usize::from(bit)] = Some(scan.value()?),
            UNKNOWN => return scan.value().map(|_| ()),
            _ => scan.value().map(|_| ())?,
        }
        let fresh = seen & 1 << bit == 0;
        seen |= 1 << bit;
        fresh.then_some(())
    })?;
    let kind = kind?;
    let silent = match (kind, uuid.is_some()) {
        ("user", linked) => linked,
        ("assistant", _) => false,
        ("system", true) => !matches!(subtype, Some("local_command" | "compact_boundary")),
        // What a subagent's message cost may stand in it.
        ("progress", true) => {
            !scan.names_characters() && memmem::find(data, b"\"usage\"").is_none()
        }
        (kind, false) => kind != "cost-state",
        _ => true,
    };
    let linked = uuid.is_some();
    if !scan.ends() {
        return None;
    }
    let value = |field: u8| raw(values[usize::from(field)]);
    let answer = parts.filter(|_| kind == "assistant" && linked).map(|parts| {
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
            id: raw(parts.id),
            model: raw(parts.model),
            stop_reason: raw(parts.stop_reason),
            usage: raw(parts.usage),
            content: None,
        };
        (record, message)
    });
    Some(Line { kind, silent, session: session.finish(), meta, side, linked, answer })
}

const TYPE: u8 = 0;
const SUBTYPE: u8 = 1;
const UUID: u8 = 2;
const META: u8 = 3;
const DATA: u8 = 4;
/// From here on what says whose a line is.
const SIDE: u8 = 5;
const SESSION: u8 = 6;
const ORIGIN: u8 = 10;
/// The last of these.
const REQUESTER: u8 = 11;
const TIMESTAMP: u8 = 12;
const FAILED: u8 = 13;
const TRUNCATED: u8 = 14;
/// How many fields have values that are kept.
const VALUES: usize = 15;
const MESSAGE: u8 = 17;
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
        b"cwd" => 7,
        b"version" => 8,
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
        b"gitBranch" => 28,
        b"userType" => 29,
        b"entrypoint" => 30,
        b"modelUsage" => 31,
        _ => UNKNOWN,
    }
}
