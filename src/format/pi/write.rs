//! New pi lines, in the client's own order of keys. A child is always written as version 3.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use super::wire::Dialect;
use crate::{
    error::{Error, Result},
    fact::{Carrier, Fact, Facts},
    format::{
        Adopted, Writer, id,
        json::{self, Raw, range},
        seam::{Context, Note, Tip, malformed},
    },
    log::{Reread, Splice},
};

/// Writes pi's lines, and prime's, whose header says more.
pub(in crate::format) struct PiWriter(pub Dialect);

/// The first line of a session that came from another.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    pub r#type: &'static str,
    pub version: u32,
    pub id: &'a str,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    pub parent_session: String,
    /// prime's: without it prime derives one and rewrites the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rlm_depth: Option<u64>,
}

/// How deep below a session of a person a prime session is.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Depth {
    rlm_depth: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CustomMessage<'a> {
    r#type: &'static str,
    custom_type: &'static str,
    content: &'a str,
    display: bool,
    details: Details<'a>,
    id: &'a str,
    parent_id: Option<&'a str>,
    timestamp: String,
}

/// What identifies a framing or note; the fields are those of `carriers` as pi 1.6.0 and 0.73.1 kept them.
#[derive(Serialize)]
struct Details<'a> {
    v: u32,
    kind: &'static str,
    source: &'static str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<&'a [String; 2]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionInfo<'a> {
    r#type: &'static str,
    id: String,
    parent_id: Option<&'a str>,
    timestamp: String,
    name: &'a str,
}

/// The values of a line that a fork may have to replace.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pointers<'a> {
    #[serde(borrow)]
    id: Option<Raw<'a>>,
    /// Null is a value here: it has a place in the line.
    #[serde(default, borrow, deserialize_with = "present")]
    parent_id: Option<Raw<'a>>,
    #[serde(borrow)]
    timestamp: Option<Raw<'a>>,
    #[serde(borrow)]
    first_kept_entry_id: Option<Raw<'a>>,
    #[serde(borrow)]
    first_kept_entry_index: Option<Raw<'a>>,
    #[serde(borrow)]
    message: Option<Raw<'a>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw<'de>>, D::Error> {
    <Raw<'_>>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct RoleOf<'a> {
    #[serde(borrow)]
    role: Option<Raw<'a>>,
}

impl Writer for PiWriter {
    fn header(&self, context: Context<'_>) -> Vec<u8> {
        let birth = context.birth;
        // A fork is as deep as its source.
        let depth = || serde_json::from_slice::<Depth>(context.header).unwrap_or_default();
        let depth = (self.0 == Dialect::Prime).then(|| depth().rlm_depth.unwrap_or(0));
        json::line(&Header {
            r#type: "session",
            version: 3,
            id: &birth.id,
            timestamp: json::timestamp(birth.at),
            cwd: birth.cwd.as_deref(),
            parent_session: birth.parent_path.display().to_string(),
            rlm_depth: depth,
        })
    }

    fn adopt(&self, index: u32, lines: &mut Reread<'_>, context: Context<'_>) -> Result<Adopted> {
        let Context { facts, rewire, .. } = context;
        let bad = |error: serde_json::Error| malformed(index as usize + 1, &error);
        let version = facts.header.as_ref().map_or(3, |header| header.version);
        let mut own = None;
        let mut parent = None;
        let mut kept = None;
        for fact in facts.of(index) {
            match fact {
                Fact::Linked { id, parent: from, .. } => (own, parent) = (Some(id), from),
                Fact::Compacted { kept: from } => kept = from,
                Fact::Labelled { .. } => return Ok(Adopted::Dropped),
                _ => {}
            }
        }
        let new_parent = parent.and_then(|parent| rewire.parent(parent));
        let new_kept =
            kept.filter(|kept| Some(*kept) != own).and_then(|kept| rewire.successor(kept));
        let moved = new_parent != parent || new_kept.is_some_and(|new| Some(new) != kept);
        if version >= 3 && !moved {
            return Ok(Adopted::AsIs);
        }
        let line = lines.line(index as usize)?;
        let pointers: Pointers<'_> = serde_json::from_slice(line).map_err(bad)?;
        let mut splice = Splice::default();
        let parent_json = json::line(&new_parent.map(|id| facts.name(id)));
        if version < 2 {
            let id = json::line(&own.map(|id| facts.name(id)));
            identify(&mut splice, line, &pointers, id, parent_json);
            if let (Some(index), Some(kept)) = (pointers.first_kept_entry_index, new_kept.or(kept))
            {
                // The key stands right before its value and its colon; both are replaced together.
                let value = range(line, index);
                let name = br#""firstKeptEntryIndex""#;
                let key = memchr::memmem::rfind(&line[..value.start], name)
                    .ok_or_else(|| Error::internal("a value without its key"))?;
                splice.replace(
                    key..value.end,
                    [b"\"firstKeptEntryId\":", &json::line(&facts.name(kept))[..]].concat(),
                );
            }
        } else if new_parent != parent {
            match pointers.parent_id {
                Some(raw) => splice.replace(range(line, raw), parent_json),
                None => return Err(Error::internal("a parent without its key")),
            }
        }
        if let (Some(raw), Some(new)) = (pointers.first_kept_entry_id, new_kept)
            && Some(new) != kept
        {
            splice.replace(range(line, raw), json::line(&facts.name(new)));
        }
        if version < 3
            && let Some(message) = pointers.message
            && let Some(role) = serde_json::from_str::<RoleOf<'_>>(message.get()).map_err(bad)?.role
            && role.get() == "\"hookMessage\""
        {
            splice.replace(range(line, role), "\"custom\"");
        }
        Ok(if splice.is_empty() { Adopted::AsIs } else { Adopted::Spliced(splice) })
    }

    fn seal(&self, _tip: &mut Tip, _context: Context<'_>) -> Vec<Vec<u8>> {
        Vec::new() // Nothing says where a copy ends.
    }

    fn setting(&self, line: &[u8], tip: &mut Tip, context: Context<'_>) -> Result<Vec<u8>> {
        let id = free_id(&[&context.birth.id, "setting", &String::from_utf8_lossy(line)], context);
        let line = reborn(line, &id, tip, Some(&json::timestamp(context.birth.at)))?;
        tip.last = Some(id);
        Ok(line)
    }

    fn note(
        &self,
        note: &Note,
        at: DateTime<Utc>,
        tip: &mut Tip,
        taken: &dyn Fn(&str) -> bool,
    ) -> Vec<u8> {
        let short = note.digest[..8].to_owned();
        // On a collision inside the file the whole digest in the form of a UUID.
        let is_note = note.carrier == Carrier::Note;
        let prefix = if is_note { id::NOTE } else { id::FRAMING };
        let id = if taken(&short) { id::marked(prefix, &note.digest) } else { short };
        let line = json::line(&CustomMessage {
            r#type: "custom_message",
            custom_type: "sidechat",
            content: &note.text,
            display: true,
            details: Details {
                v: 1,
                kind: if is_note { "note" } else { "framing" },
                source: "sidechat",
                id: &note.digest,
                side: is_note.then_some(note.other.as_str()),
                parent: (!is_note).then_some(note.other.as_str()),
                range: is_note.then_some(&note.range),
            },
            id: &id,
            parent_id: tip.last.as_deref(),
            timestamp: json::timestamp(at),
        });
        tip.last = Some(id);
        line
    }

    fn finish(
        &self,
        labels: &[Vec<u8>],
        tip: &mut Tip,
        context: Context<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut lines = Vec::new();
        for label in labels {
            // As the client does it: new id, old timestamp.
            let label_text = String::from_utf8_lossy(label);
            let id = free_id(&[&context.birth.id, "label", &label_text], context);
            lines.push(reborn(label, &id, tip, None)?);
            tip.last = Some(id);
        }
        if let Some(title) = &context.birth.title {
            let id = free_id(&[&context.birth.id, "title", title], context);
            lines.push(json::line(&SessionInfo {
                r#type: "session_info",
                id: id.clone(),
                parent_id: tip.last.as_deref(),
                timestamp: json::timestamp(context.birth.at),
                name: title,
            }));
            tip.last = Some(id);
        }
        Ok(lines)
    }

    fn tip(&self, facts: &Facts, path: &[u32], _last: Option<&[u8]>) -> Tip {
        let last = path.iter().rev().flat_map(|line| facts.of(*line)).find_map(|fact| match fact {
            Fact::Linked { id, .. } => Some(facts.name(id).to_owned()),
            _ => None,
        });
        Tip { last, time: facts.newest, version: 3, ..Tip::default() }
    }

    fn mark(&self, note: &Note) -> String {
        note.digest.clone()
    }
}

/// `line` with another id and parent, and with another time if one is given.
fn reborn(line: &[u8], id: &str, tip: &Tip, time: Option<&str>) -> Result<Vec<u8>> {
    let pointers: Pointers<'_> =
        serde_json::from_slice(line).map_err(|error| malformed(0, &error))?;
    let mut splice = Splice::default();
    identify(&mut splice, line, &pointers, json::line(&id), json::line(&tip.last));
    if let (Some(raw), Some(time)) = (pointers.timestamp, time) {
        splice.replace(range(line, raw), json::line(&time));
    }
    Ok(splice.apply(line))
}

/// Gives an entry an id and a parent, in place of those that it has or right behind the opening brace: version 1 has
/// neither, but for what later versions or we ourselves added to such a log. The order of keys is free.
fn identify(splice: &mut Splice, line: &[u8], old: &Pointers<'_>, id: Vec<u8>, parent: Vec<u8>) {
    let mut missing = Vec::new();
    for (key, value, has) in [("id", id, old.id), ("parentId", parent, old.parent_id)] {
        match has {
            Some(raw) => splice.replace(range(line, raw), value),
            None => missing.extend([b"\"", key.as_bytes(), b"\":", &value, b","].concat()),
        }
    }
    if !missing.is_empty() {
        let brace = line.iter().position(|byte| *byte == b'{').map_or(0, |brace| brace + 1);
        splice.replace(brace..brace, missing);
    }
}

/// An id of the client's own length that no record of the parent has: one of eight digits is met by chance in a long log,
/// and a record whose parent has its own id is its own ancestor.
fn free_id(parts: &[&str], context: Context<'_>) -> String {
    let mut id = short_id(parts);
    while context.facts.known(&id).is_some() {
        id = short_id(&[parts, &[&id]].concat());
    }
    id
}

/// Eight hex digits like the client's, which depend on `parts` alone, so that a repeated request writes the same bytes.
pub(super) fn short_id(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    crate::format::json::hex(&hash.finalize()[..4])
}
