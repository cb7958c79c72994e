//! New Codex lines, in the client's own order of keys.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{PAGINATED, number, wire};
use crate::{
    error::Result,
    fact::{Carrier, Fact, Facts},
    format::{
        Adopted, Writer, id,
        json::{self, Raw, range},
        seam::{Context, Note, Tip, malformed},
    },
    log::{Reread, Splice},
};

pub(super) struct CodexWriter;

/// A line of any type, as the client orders it.
#[derive(Serialize)]
pub(super) struct Line<'a, T> {
    pub timestamp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u64>,
    pub r#type: &'a str,
    pub payload: T,
}

/// A child's header: its own identity, and of its parent's what decides requests.
#[derive(Serialize)]
struct Meta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    account_scoped: Option<Raw<'a>>,
    session_id: &'a str,
    id: &'a str,
    forked_from_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from_ordinal_exclusive: Option<u64>,
    timestamp: &'a str,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_workspace_roots: Option<Roots<'a>>,
    originator: Given<'a>,
    cli_version: Given<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Raw<'a>>,
    source: Given<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_source: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_provider: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_instructions: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic_tools: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_mode: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_base: Option<HistoryBase<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multi_agent_version: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<Window>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<Raw<'a>>,
}

#[derive(Serialize)]
struct HistoryBase<'a> {
    thread_id: &'a str,
    end_ordinal_exclusive: u64,
    end_byte_offset: u64,
}

#[derive(Serialize)]
struct Window {
    window_id: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Roots<'a> {
    Kept(Raw<'a>),
    Own([&'a str; 1]),
}

/// A value as it stands in the parent's header, or what stands in for it: the client does not open a log without.
#[derive(Serialize)]
#[serde(untagged)]
enum Given<'a> {
    Kept(Raw<'a>),
    Own(&'static str),
}

impl<'a> Given<'a> {
    fn of(raw: Option<Raw<'a>>, own: &'static str) -> Self {
        raw.map_or(Self::Own(own), Self::Kept)
    }
}

#[derive(Serialize)]
struct Message<'a> {
    r#type: &'static str,
    id: &'a str,
    role: &'static str,
    content: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Part<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// The values of a settings or context line that a child, or another turn, has of its own.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub timestamp: Option<Raw<'a>>,
    #[serde(borrow)]
    pub ordinal: Option<Raw<'a>>,
    #[serde(borrow)]
    pub payload: Option<Settings<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Settings<'a> {
    #[serde(borrow)]
    thread_id: Option<Raw<'a>>,
    #[serde(borrow)]
    thread_settings: Option<Folders<'a>>,
    #[serde(borrow)]
    cwd: Option<Raw<'a>>,
    #[serde(borrow)]
    pub turn_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub root_turn_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub model: Option<Raw<'a>>,
    #[serde(borrow)]
    pub collaboration_mode: Option<Mode<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Mode<'a> {
    #[serde(borrow)]
    pub settings: Option<ModeSettings<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ModeSettings<'a> {
    #[serde(borrow)]
    pub model: Option<Raw<'a>>,
}

#[derive(Deserialize)]
struct Folders<'a> {
    #[serde(borrow)]
    cwd: Option<Raw<'a>>,
    #[serde(borrow)]
    runtime_workspace_roots: Option<Raw<'a>>,
}

impl Writer for CodexWriter {
    fn header(&self, context: Context<'_>) -> Vec<u8> {
        let Context { birth, header, .. } = context;
        let payload =
            serde_json::from_slice::<wire::Line<'_>>(header).ok().and_then(|line| line.payload);
        let payload = payload.map_or("{}", Raw::get);
        let parent: wire::Meta<'_> =
            serde_json::from_str(payload).expect("a header that was read can be read again");
        let paginated = birth.version == PAGINATED;
        let time = json::timestamp(birth.at);
        let own_cwd = parent.cwd.as_ref().map(|cwd| cwd.0.as_ref());
        let cwd = birth.cwd.as_deref().or(own_cwd).unwrap_or("/");
        let moved = Some(cwd) != own_cwd;
        // The provider's cache goes by this id: a side session asks with its parent's.
        let session = parent.session_id.as_ref().or(parent.id.as_ref()).filter(|_| birth.aside);
        let is_agent = parent.spawned().0;
        let base = birth.base.as_ref();
        let meta = Meta {
            account_scoped: parent.account_scoped,
            session_id: session.map_or(birth.id.as_str(), |session| &session.0),
            id: &birth.id,
            forked_from_id: &birth.parent,
            forked_from_ordinal_exclusive: base.map(|base| base.end),
            timestamp: &time,
            cwd,
            runtime_workspace_roots: parent
                .runtime_workspace_roots
                .map(|roots| if moved { Roots::Own([cwd]) } else { Roots::Kept(roots) }),
            originator: Given::of(parent.originator, "codex_cli_rs"),
            cli_version: Given::of(parent.cli_version, "0.0.0"),
            instructions: parent.instructions,
            source: Given::of(parent.source.filter(|_| !is_agent), "cli"),
            thread_source: parent.thread_source.filter(|_| !is_agent),
            model_provider: parent.model_provider,
            base_instructions: parent.base_instructions,
            dynamic_tools: parent.dynamic_tools,
            memory_mode: parent.memory_mode,
            history_mode: parent.history_mode.as_ref().map(|mode| mode.0.as_ref()),
            history_base: base.map(|base| HistoryBase {
                thread_id: &base.file,
                end_ordinal_exclusive: base.end,
                end_byte_offset: base.bytes,
            }),
            multi_agent_version: parent.multi_agent_version,
            context_window: parent.context_window.map(|_| Window { window_id: window(&birth.id) }),
            git: parent.git,
        };
        let ordinal = paginated.then(|| base.map_or(0, |base| base.end));
        json::line(&Line { timestamp: &time, ordinal, r#type: "session_meta", payload: meta })
    }

    fn keeps_header(&self, context: Context<'_>) -> bool {
        context.birth.version != PAGINATED // A copy begins with the header of what it copies.
    }

    fn adopt(
        &self,
        _index: u32,
        _lines: &mut Reread<'_>,
        _context: Context<'_>,
    ) -> Result<Adopted> {
        Ok(Adopted::AsIs) // Turns, calls and records keep their ids; what names the parent goes on to name it.
    }

    fn renumber(&self, line: &[u8], number: u64) -> Result<Vec<u8>> {
        let envelope: Envelope<'_> =
            serde_json::from_slice(line).map_err(|error| malformed(0, &error))?;
        let mut splice = Splice::default();
        if let Some(ordinal) = envelope.ordinal {
            splice.replace(range(line, ordinal), number.to_string());
        }
        Ok(splice.apply(line))
    }

    fn seal(&self, _tip: &mut Tip, _context: Context<'_>) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn restates(&self, context: Context<'_>) -> bool {
        // Without its own settings a child runs on the model that is configured, not on its parent's. Where the parent
        // has none, copied context lines say it.
        context.birth.base.is_some()
            || context
                .facts
                .all()
                .iter()
                .any(|stated| stated.fact == Fact::Setting(super::SETTINGS))
    }

    fn setting(&self, line: &[u8], tip: &mut Tip, context: Context<'_>) -> Result<Vec<u8>> {
        let envelope: Envelope<'_> =
            serde_json::from_slice(line).map_err(|error| malformed(0, &error))?;
        let birth = context.birth;
        let mut splice = Splice::default();
        let mut put = |raw: Option<Raw<'_>>, with: Vec<u8>| {
            if let Some(raw) = raw {
                splice.replace(range(line, raw), with);
            }
        };
        put(envelope.timestamp, json::line(&json::timestamp(birth.at)));
        put(envelope.ordinal, tip.seq.to_string().into_bytes());
        tip.seq += 1;
        if let Some(settings) = envelope.payload {
            put(settings.thread_id, json::line(&birth.id));
            let own = context.facts.header.as_ref().and_then(|header| header.cwd.as_deref());
            if let Some(cwd) = birth.cwd.as_deref().filter(|cwd| Some(*cwd) != own) {
                put(settings.cwd, json::line(&cwd));
                if let Some(folders) = settings.thread_settings {
                    put(folders.cwd, json::line(&cwd));
                    put(folders.runtime_workspace_roots, json::line(&[cwd]));
                }
            }
        }
        Ok(splice.apply(line))
    }

    fn note(
        &self,
        note: &Note,
        at: DateTime<Utc>,
        tip: &mut Tip,
        _taken: &dyn Fn(&str) -> bool,
    ) -> Vec<u8> {
        let tag = tag(note.carrier);
        let text = format!("<{tag}>\n{}\n</{tag}>", note.text);
        let payload = Message {
            r#type: "message",
            id: &self.mark(note),
            role: "developer",
            content: [Part { r#type: "input_text", text: &text }],
        };
        let ordinal = (tip.version == PAGINATED).then_some(tip.seq);
        tip.seq += 1;
        json::line(&Line {
            timestamp: &json::timestamp(at),
            ordinal,
            r#type: "response_item",
            payload,
        })
    }

    fn finish(
        &self,
        _labels: &[Vec<u8>],
        _tip: &mut Tip,
        _context: Context<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new()) // Names stand in the client's index or database.
    }

    fn tip(&self, facts: &Facts, _path: &[u32], _last: Option<&[u8]>) -> Tip {
        let last = facts.all().iter().rev().find_map(|stated| number(facts, stated.line));
        let version = facts.header.as_ref().map_or(0, |header| header.version);
        Tip {
            last: None,
            seq: last.map_or(0, |last| u64::from(last) + 1),
            time: facts.newest,
            version,
            ..Tip::default()
        }
    }

    fn words<'a>(&self, text: &'a str) -> &'a str {
        unwrapped(Carrier::Note, text.trim())
    }

    fn mark(&self, note: &Note) -> String {
        let prefix = if note.carrier == Carrier::Note { id::NOTE } else { id::FRAMING };
        format!("msg_{}", id::marked(prefix, &note.digest))
    }
}

/// The id of a child's context window.
fn window(child: &str) -> String {
    let digest = id::digest(&["sessctl/window/1", child]);
    id::marked(&digest[23..31], &digest)
}

fn tag(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Note => "sidechat_note",
        Carrier::Framing => "sidechat_framing",
    }
}

/// What stands between the tags of a carrier.
fn unwrapped(carrier: Carrier, words: &str) -> &str {
    let tag = tag(carrier);
    words
        .strip_prefix(&format!("<{tag}>\n"))
        .and_then(|words| words.strip_suffix(&format!("\n</{tag}>")))
        .unwrap_or(words)
}

/// The id of the framing of session `own` that says `words`, tag included.
pub(super) fn framing_id(own: &str, words: &str) -> String {
    let text = unwrapped(Carrier::Framing, words);
    format!("msg_{}", id::marked(id::FRAMING, &id::digest(&["sessctl/framing/1", own, text])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_the_real_client_was_shown() {
        let note = |carrier, digest: &str| Note {
            carrier,
            text: String::new(),
            digest: digest.into(),
            other: String::new(),
            range: [String::new(), String::new()],
        };
        let digest = "f04c59a75a071e712df92212fa11a32fc3340b811b3fa130a835dcf1a26aa70c";
        assert_eq!(
            CodexWriter.mark(&note(Carrier::Note, digest)),
            "msg_5e55c711-f04c-859a-b5a0-71e712df9221"
        );
        let text = "Side conversation: from here on you are a read-only advisor. Explain and answer questions about the session so far. Change nothing: edit no file, run nothing that writes. Do not go on with the task.";
        assert_eq!(
            framing_id(
                "01a22890-0000-7000-8000-000000000001",
                &format!("<sidechat_framing>\n{text}\n</sidechat_framing>")
            ),
            "msg_5e55c710-a80b-8061-b9d4-df391fd07450"
        );
    }
}
