//! Most of a transcript tells nothing of what was paid: for a ledger its lines are looked through in one pass, without
//! being taken apart.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use std::hash::{DefaultHasher, Hasher as _};

use memchr::memmem;

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
}

/// The line, if it is one that can be read like this.
pub(super) fn line(bytes: &[u8]) -> Option<Line<'_>> {
    let mut scan = Scan::of(bytes);
    let (mut kind, mut subtype, mut uuid) = (None, None, None);
    let (mut meta, mut side, mut data): (bool, bool, &[u8]) = (false, false, b"");
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
                session.write(&[b'\0', bit]);
                session.write(value);
            }
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
    scan.ends().then(|| Line { kind, silent, session: session.finish(), meta, side, linked })
}

const TYPE: u8 = 0;
const SUBTYPE: u8 = 1;
const UUID: u8 = 2;
const META: u8 = 3;
const DATA: u8 = 4;
/// From here on what says whose a line is.
const SIDE: u8 = 5;
/// The last of these.
const REQUESTER: u8 = 11;
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
        b"sessionId" => 6,
        b"cwd" => 7,
        b"version" => 8,
        b"agentId" => 9,
        b"forkedFrom" => 10,
        b"requestSessionId" => REQUESTER,
        b"parentUuid" => 12,
        b"timestamp" => 13,
        b"isCompactSummary" => 14,
        b"isApiErrorMessage" => 15,
        b"truncatedAfterOutput" => 16,
        b"message" => 17,
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
