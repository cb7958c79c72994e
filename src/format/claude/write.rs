//! New Claude Code lines, in the client's own order of keys, and copies with new ids.
//!
//! The client stamps its session and an id into every line, and takes two files with the same ids for one
//! conversation; so a copy is spliced: session, record ids and every pointer to one are replaced, `forkedFrom` and
//! `requestSessionId` say where it comes from, and every other byte stays, those of the message above all.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::wire::{self, Fields, is, text};
use crate::{
    error::Result,
    fact::{Carrier, Fact, Facts},
    finding::{Code, Finding},
    format::{
        Adopted, Birth, Writer, id,
        json::{self, Raw, range},
        scan,
        seam::{Context, Note, Tip, malformed},
    },
    log::{Reread, Splice},
};

/// The oldest client that sends a `local_command` line to the model.
const SENDS_NOTES: [u32; 3] = [2, 1, 75];

/// Whether a key's value is what the model sees, or names no record, or is replaced as a whole: never looked into.
fn is_untouched(key: &str) -> bool {
    matches!(
        key,
        "message"
            | "content"
            | "toolUseResult"
            | "rendered"
            | "requestId"
            | "requestSessionId"
            | "sessctl"
            | "cwd"
            | "type"
            | "forkedFrom"
    )
}

pub(super) struct ClaudeWriter;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LocalCommand<'a> {
    parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    r#type: &'static str,
    subtype: &'static str,
    content: String,
    level: &'static str,
    timestamp: String,
    uuid: &'a str,
    is_meta: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entrypoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_branch: Option<String>,
    sessctl: Mark<'a>,
}

/// What a framing or note is recognised by; the client keeps it, and so do its forks.
#[derive(Serialize)]
struct Mark<'a> {
    v: u32,
    kind: &'static str,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<&'a [String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CustomTitle<'a> {
    r#type: &'static str,
    custom_title: &'a str,
    session_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LastPrompt<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_prompt: Option<&'a str>,
    leaf_uuid: &'a str,
    session_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkedFrom<'a> {
    session_id: &'a str,
    message_uuid: &'a str,
}

/// Of a message, who spoke.
#[derive(Deserialize)]
struct Model<'a> {
    #[serde(borrow)]
    model: Option<Raw<'a>>,
}

impl Writer for ClaudeWriter {
    fn header(&self, _context: Context<'_>) -> Vec<u8> {
        Vec::new()
    }

    fn adopt(&self, index: u32, lines: &mut Reread<'_>, context: Context<'_>) -> Result<Adopted> {
        let Context { facts, birth, rewire, .. } = context;
        let mut own = None;
        let mut parent = None;
        for fact in facts.of(index) {
            match fact {
                Fact::Linked { id, parent: from, .. } => (own, parent) = (Some(id), from),
                Fact::Hollow => return Ok(Adopted::Dropped),
                _ => {}
            }
        }
        let Some(own) = own else { return Ok(Adopted::Dropped) };
        let line = lines.line(index as usize)?;
        let session = facts.header.as_ref().map_or("", |header| header.id.as_str());
        let kept =
            |id| if rewire.keeps(id) { Some(reborn(&birth.id, facts.name(id))) } else { None };
        let mut copy = Copy::of(line, index, birth)?;
        // A part of an answer whose own parent is not on the path follows the part before it there.
        let follows = |parent| rewire.parent(parent).or_else(|| rewire.before(own));
        let new_parent = parent.and_then(follows);
        let new_parent = new_parent.map(|id| reborn(&birth.id, facts.name(id)));
        copy.set("parentUuid", &json::line(&new_parent));
        if let Some(logical) = copy.fields.get("logicalParentUuid") {
            let logical = text(Some(logical)).and_then(|id| facts.known(&id)).and_then(kept);
            copy.set("logicalParentUuid", &json::line(&logical));
        }
        if rewire.last() == Some(own)
            && let Some(time) = newest_time(facts, rewire, index)
        {
            copy.set("timestamp", &json::line(&json::timestamp(time)));
        }
        copy.rename(&|id| {
            let known = facts.known(id).is_some() && id != session;
            known.then(|| reborn(&birth.id, id))
        });
        copy.mark(session)?;
        Ok(Adopted::Spliced(copy.splice))
    }

    fn seal(&self, tip: &mut Tip, context: Context<'_>) -> Vec<Vec<u8>> {
        // What follows is the child's.
        let Context { facts, birth, .. } = context;
        tip.last = tip.last.take().map(|last| reborn(&birth.id, &last));
        tip.session.clone_from(&birth.id);
        let own = facts.header.as_ref().and_then(|header| header.cwd.as_ref());
        tip.cwd = birth.cwd.clone().filter(|cwd| Some(cwd) != own);
        tip.time += 1; // The leaf may have been made the newest by one.
        Vec::new()
    }

    fn setting(&self, line: &[u8], _tip: &mut Tip, _context: Context<'_>) -> Result<Vec<u8>> {
        Ok(line.to_vec()) // No line is a setting.
    }

    fn note(
        &self,
        note: &Note,
        at: DateTime<Utc>,
        tip: &mut Tip,
        _taken: &dyn Fn(&str) -> bool,
    ) -> Vec<u8> {
        let is_note = note.carrier == Carrier::Note;
        let like: wire::Record<'_> = serde_json::from_slice(&tip.like).unwrap_or_default();
        let owned = |raw: Option<Raw<'_>>| text(raw).map(std::borrow::Cow::into_owned);
        let id = self.mark(note);
        let time = at.timestamp_millis().max(tip.time.saturating_add(1));
        let time = DateTime::from_timestamp_millis(time).unwrap_or(at);
        let written = json::line(&LocalCommand {
            parent_uuid: tip.last.as_deref(),
            is_sidechain: false,
            r#type: "system",
            subtype: "local_command",
            content: format!("<local-command-stdout>{}</local-command-stdout>", note.text),
            level: "info",
            timestamp: json::timestamp(time),
            uuid: &id,
            is_meta: false,
            user_type: owned(like.user_type),
            entrypoint: owned(like.entrypoint),
            cwd: tip.cwd.clone().or_else(|| owned(like.cwd)),
            session_id: &tip.session,
            version: owned(like.version),
            git_branch: owned(like.git_branch),
            sessctl: Mark {
                v: 1,
                kind: if is_note { "note" } else { "framing" },
                source: "sidechat",
                side: is_note.then_some(note.other.as_str()),
                range: is_note.then_some(&note.range),
                parent: (!is_note).then_some(note.other.as_str()),
            },
        });
        tip.last = Some(id);
        written
    }

    fn mark_tip(&self, tip: &Tip) -> Vec<Vec<u8>> {
        let last = tip.last.as_deref().map(|leaf| {
            json::line(&LastPrompt {
                r#type: "last-prompt",
                last_prompt: tip.prompt.as_deref(),
                leaf_uuid: leaf,
                session_id: &tip.session,
            })
        });
        last.into_iter().collect()
    }

    fn unsent(&self, facts: &Facts) -> Option<Finding> {
        let version = facts.client.as_deref()?;
        let parts: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
        if parts.len() != 3 || parts.as_slice() >= SENDS_NOTES.as_slice() {
            return None;
        }
        let message =
            format!("client {version} does not send it to the model; 2.1.75 and later do");
        Some(Finding::new(Code::NoteNotSent, message))
    }

    fn sidecar(&self, line: &[u8], birth: &Birth) -> Result<Vec<u8>> {
        let mut copy = Copy::of(line, 0, birth)?;
        let renamed =
            ["parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "parentLastUuid"];
        for key in renamed {
            if let Some(old) = copy.fields.get(key).and_then(|raw| text(Some(raw))) {
                copy.set(key, &json::line(&reborn(&birth.id, &old)));
            }
        }
        if copy.fields.get("parentSessionId").is_some() {
            copy.set("parentSessionId", &json::line(&birth.id));
        }
        copy.mark(&birth.parent)?;
        Ok(copy.splice.apply(line))
    }

    fn finish(
        &self,
        labels: &[Vec<u8>],
        tip: &mut Tip,
        context: Context<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        let birth = context.birth;
        let mut lines = Vec::new();
        for line in labels {
            let copy = Copy::of(line, 0, birth)?;
            lines.push(copy.splice.apply(line));
        }
        lines.extend(birth.title.as_deref().map(|title| {
            json::line(&CustomTitle {
                r#type: "custom-title",
                custom_title: title,
                session_id: &birth.id,
            })
        }));
        lines.extend(self.mark_tip(tip));
        Ok(lines)
    }

    fn tip(&self, facts: &Facts, path: &[u32], last: Option<&[u8]>) -> Tip {
        let on_path = |line: u32| path.contains(&line);
        let asked = &facts.prompts.asked;
        let told = facts.prompts.told.clone();
        let prompt = match asked.last() {
            Some((line, words)) if on_path(*line) => told.or_else(|| Some(words.clone())),
            Some(_) => {
                asked.iter().rev().find(|(line, _)| on_path(*line)).map(|(_, words)| words.clone())
            }
            None => told,
        };
        let leaf = path.iter().rev().flat_map(|line| facts.of(*line)).find_map(|fact| match fact {
            Fact::Linked { id, .. } => Some(facts.name(id).to_owned()),
            _ => None,
        });
        Tip {
            last: leaf,
            time: facts.newest,
            version: 2,
            session: facts.header.as_ref().map_or_else(String::new, |header| header.id.clone()),
            like: last.unwrap_or_default().to_vec(),
            prompt,
            ..Tip::default()
        }
    }

    fn words<'a>(&self, text: &'a str) -> &'a str {
        let text = text.trim();
        let bare = text.strip_prefix("<local-command-stdout>");
        bare.and_then(|bare| bare.strip_suffix("</local-command-stdout>")).unwrap_or(text)
    }

    fn mark(&self, note: &Note) -> String {
        let prefix = if note.carrier == Carrier::Note { id::NOTE } else { id::FRAMING };
        id::marked(prefix, &note.digest)
    }
}

/// A line on its way into a child.
struct Copy<'a> {
    line: &'a [u8],
    fields: Fields<'a>,
    birth: &'a Birth,
    splice: Splice,
    /// The keys that are done.
    done: Vec<&'static str>,
}

impl<'a> Copy<'a> {
    /// With its session and its own id replaced.
    fn of(line: &'a [u8], index: u32, birth: &'a Birth) -> Result<Self> {
        let fields: Fields<'a> =
            scan::read(line).map_err(|error| malformed(index as usize + 1, &error))?;
        let mut copy = Self { line, fields, birth, splice: Splice::default(), done: Vec::new() };
        for key in ["sessionId", "session_id"] {
            if copy.fields.get(key).is_some() {
                copy.set(key, &json::line(&birth.id));
            }
        }
        if let Some(own) = copy.fields.get("uuid").and_then(|raw| text(Some(raw))) {
            copy.set("uuid", &json::line(&reborn(&birth.id, &own)));
        }
        Ok(copy)
    }

    /// Puts `value` in the place of a key's.
    fn set(&mut self, key: &'static str, value: &[u8]) {
        self.done.push(key);
        let Some(raw) = self.fields.get(key) else { return };
        if raw.get().as_bytes() != value {
            self.splice.replace(range(self.line, raw), value);
        }
    }

    /// Replaces the ids of records wherever else they stand in what is no part of the message.
    fn rename(&mut self, new: &dyn Fn(&str) -> Option<String>) {
        for (key, raw) in &self.fields.0 {
            let key = key.as_ref();
            if is_untouched(key) || self.done.contains(&key) {
                continue;
            }
            let at = range(self.line, *raw).start;
            let value = raw.get();
            for quote in memchr::memchr_iter(b'"', value.as_bytes()) {
                let Some(id) = value.get(quote + 1..quote + 37).filter(|id| is_uuid(id)) else {
                    continue;
                };
                if value.as_bytes().get(quote + 37) == Some(&b'"')
                    && let Some(new) = new(id)
                {
                    self.splice.replace(at + quote + 1..at + quote + 37, new);
                }
            }
        }
    }

    /// Whether these are the client's own words in the model's name.
    fn is_synthetic(&self) -> bool {
        let message = self.fields.get("message");
        let mentions = |words: &[u8]| {
            message.is_some_and(|raw| memchr::memmem::find(raw.get().as_bytes(), words).is_some())
        };
        // Most messages need not be read for that.
        if !mentions(wire::SYNTHETIC.as_bytes()) && !mentions(b"\\u") {
            return false;
        }
        let model: Option<Model<'_>> = wire::read(message);
        model.is_some_and(|message| is(message.model, wire::SYNTHETIC))
    }

    /// Says where the line comes from: the direct parent, and who made the call first.
    fn mark(&mut self, session: &str) -> Result<()> {
        let Some(own) = self.fields.get("uuid").and_then(|raw| text(Some(raw))) else {
            return Ok(());
        };
        let mut added = Vec::new();
        let from = json::line(&ForkedFrom { session_id: &self.birth.parent, message_uuid: &own });
        if self.fields.get("forkedFrom").is_some() {
            self.set("forkedFrom", &from);
        } else {
            added.extend_from_slice(b",\"forkedFrom\":");
            added.extend_from_slice(&from);
        }
        if is(self.fields.get("type"), "assistant")
            && self.fields.get("requestSessionId").is_none()
            && !self.is_synthetic()
        {
            let owner = self.fields.get("sessionId").and_then(|raw| text(Some(raw)));
            added.extend_from_slice(b",\"requestSessionId\":");
            added.extend_from_slice(&json::line(owner.as_deref().unwrap_or(session)));
        }
        if self.fields.get("sessionId").is_none() {
            added.extend_from_slice(b",\"sessionId\":");
            added.extend_from_slice(&json::line(&self.birth.id));
        }
        let end = memchr::memrchr(b'}', self.line)
            .ok_or_else(|| crate::error::Error::internal("an object without an end"))?;
        self.splice.replace(end..end, added);
        Ok(())
    }
}

/// The time that makes the leaf the newest of what is kept, if it is not.
fn newest_time(
    facts: &Facts,
    rewire: &dyn crate::format::Rewire,
    leaf: u32,
) -> Option<DateTime<Utc>> {
    let mut kept = false;
    let (mut own, mut others) = (i64::MIN, i64::MIN);
    for stated in facts.all() {
        match stated.fact {
            Fact::Linked { id, .. } => kept = rewire.keeps(id),
            Fact::At { secs, millis } if kept => {
                let time = i64::from(secs) * 1000 + i64::from(millis);
                let slot = if stated.line == leaf { &mut own } else { &mut others };
                *slot = (*slot).max(time);
            }
            _ => {}
        }
    }
    if own > others || others == i64::MIN {
        return None;
    }
    DateTime::from_timestamp_millis(others.saturating_add(1))
}

/// The id of a record in a child: the same whenever the same request is carried out again.
fn reborn(child: &str, id: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(child);
    hash.update([0]);
    hash.update(id);
    let d = json::hex(&hash.finalize()[..16]);
    let mut id = String::with_capacity(36);
    for part in [&d[..8], "-", &d[8..12], "-8", &d[12..15], "-"] {
        id.push_str(part);
    }
    id.push(id::variant(d.as_bytes()[15]));
    for part in [&d[16..19], "-", &d[19..31]] {
        id.push_str(part);
    }
    id
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "11111111-1111-4111-8111-111111111111";

    fn birth() -> Birth {
        Birth {
            id: "cccccccc-0000-4000-8000-000000000003".into(),
            at: DateTime::UNIX_EPOCH,
            cwd: None,
            title: None,
            parent: "aaaaaaaa-0000-4000-8000-000000000001".into(),
            parent_path: std::path::PathBuf::new(),
            seed_length: 0,
            version: 2,
            base: None,
            aside: false,
        }
    }

    #[test]
    fn a_new_id_is_a_uuid_that_depends_on_child_and_record_alone() {
        let id = reborn("child", OLD);
        assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 8);
        assert_eq!(id, reborn("child", OLD));
        assert_ne!(id, reborn("other", OLD));
    }

    #[test]
    fn ids_are_replaced_outside_of_messages_only() {
        let line = format!(
            r#"{{"parentUuid":null,"message":{{"content":"see \"{OLD}\" {{}}"}},"type":"user","uuid":"{OLD}","sessionId":"S","compactMetadata":{{"uuids":["{OLD}"]}},"toolUseResult":"{OLD}"}}"#
        );
        let birth = birth();
        let mut copy = Copy::of(line.as_bytes(), 0, &birth).unwrap();
        copy.rename(&|id| Some(reborn(&birth.id, id)));
        copy.mark("S").unwrap();
        let new = String::from_utf8(copy.splice.apply(line.as_bytes())).unwrap();
        let id = reborn(&birth.id, OLD);
        let want = format!(
            r#"{{"parentUuid":null,"message":{{"content":"see \"{OLD}\" {{}}"}},"type":"user","uuid":"{id}","sessionId":"{child}","compactMetadata":{{"uuids":["{id}"]}},"toolUseResult":"{OLD}","forkedFrom":{{"sessionId":"{parent}","messageUuid":"{OLD}"}}}}"#,
            child = birth.id,
            parent = birth.parent,
        );
        assert_eq!(new, want);
    }

    #[test]
    fn clients_that_would_not_send_a_note_are_known_by_their_version() {
        let unsent = |version: &str| {
            let mut facts = Facts::default();
            facts.client = Some(version.into());
            ClaudeWriter.unsent(&facts).is_some()
        };
        assert!(unsent("2.1.74") && unsent("2.0.60"));
        assert!(!unsent("2.1.75") && !unsent("2.1.332") && !unsent("3.0.0") && !unsent("dev"));
    }
}
