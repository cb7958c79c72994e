//! Claude Code's JSON as borrowing structs: only the fields that we use.
//!
//! Types and fields come every month, and one name means different things in different types; so all values are kept
//! raw, and one of the wrong kind is as good as none.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{MapAccess, Visitor},
};

use super::super::{
    Unfolded,
    json::{self, Count, Raw},
    scan::{self, Parsed},
};

/// Any line.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Raw<'a>>,
    #[serde(borrow)]
    pub subtype: Option<Raw<'a>>,
    #[serde(borrow)]
    pub uuid: Option<Raw<'a>>,
    #[serde(borrow)]
    pub parent_uuid: Option<Raw<'a>>,
    #[serde(borrow)]
    pub session_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Raw<'a>>,
    #[serde(borrow)]
    pub cwd: Option<Raw<'a>>,
    #[serde(borrow)]
    pub version: Option<Raw<'a>>,
    #[serde(borrow)]
    pub agent_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub is_sidechain: Option<Raw<'a>>,
    #[serde(borrow)]
    pub is_meta: Option<Raw<'a>>,
    #[serde(borrow)]
    pub is_compact_summary: Option<Raw<'a>>,
    #[serde(borrow)]
    pub is_api_error_message: Option<Raw<'a>>,
    #[serde(borrow)]
    pub truncated_after_output: Option<Raw<'a>>,
    /// Why a stream broke off, in the client's own words behind it (2.1.332).
    #[serde(borrow)]
    pub stream_cut_cause: Option<Raw<'a>>,
    #[serde(borrow)]
    pub message: Option<Parsed<'a, Box<Message<'a>>>>,
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
    #[serde(borrow)]
    pub compact_metadata: Option<Raw<'a>>,
    #[serde(borrow)]
    pub forked_from: Option<Raw<'a>>,
    #[serde(borrow)]
    pub request_session_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub data: Option<Raw<'a>>,
    #[serde(borrow)]
    pub replacements: Option<Raw<'a>>,
    #[serde(borrow)]
    pub sessctl: Option<Raw<'a>>,
    #[serde(borrow)]
    pub leaf_uuid: Option<Raw<'a>>,
    #[serde(borrow)]
    pub last_prompt: Option<Raw<'a>>,
    #[serde(borrow)]
    pub custom_title: Option<Raw<'a>>,
    #[serde(borrow)]
    pub ai_title: Option<Raw<'a>>,
    #[serde(borrow)]
    pub summary: Option<Raw<'a>>,
    #[serde(borrow)]
    pub message_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub git_branch: Option<Raw<'a>>,
    #[serde(borrow)]
    pub user_type: Option<Raw<'a>>,
    #[serde(borrow)]
    pub entrypoint: Option<Raw<'a>>,
    #[serde(borrow)]
    pub model_usage: Option<Raw<'a>>,
    #[serde(borrow)]
    pub tool_use_result: Option<Raw<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub model: Option<Raw<'a>>,
    #[serde(borrow)]
    pub content: Option<Parsed<'a, Vec<Block<'a>>>>,
    #[serde(borrow)]
    pub stop_reason: Option<Raw<'a>>,
    #[serde(borrow)]
    pub usage: Option<Raw<'a>>,
}

impl<'a> Message<'a> {
    /// The value that the model sees.
    pub fn body(&self) -> Option<&'a [u8]> {
        self.content.as_ref().map(Parsed::bytes)
    }

    /// The same as text.
    fn raw(&self) -> Option<Raw<'a>> {
        std::str::from_utf8(self.body()?).ok().map(Raw::scanned)
    }

    /// The words in it.
    pub fn words(&self) -> Cow<'a, str> {
        let listed = || self.body().map(|body| unfold(body).text).unwrap_or_default();
        text(self.raw()).unwrap_or_else(|| listed().into())
    }

    /// The blocks of it, none for a string.
    pub fn blocks(&self) -> Cow<'_, [Block<'a>]> {
        let known = self.content.as_ref().and_then(|content| content.value.as_deref());
        known.map_or_else(|| blocks(self.raw()).into(), Cow::Borrowed)
    }
}

/// A block of a message's content.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Raw<'a>>,
    #[serde(borrow)]
    pub text: Option<Raw<'a>>,
    #[serde(borrow)]
    pub thinking: Option<Raw<'a>>,
    #[serde(borrow)]
    pub signature: Option<Raw<'a>>,
    #[serde(borrow)]
    pub id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub name: Option<Raw<'a>>,
    #[serde(borrow)]
    pub input: Option<Raw<'a>>,
    #[serde(borrow)]
    pub tool_use_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
}

/// Counters of an answer, or of one of its iterations.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Raw<'a>>,
    #[serde(borrow)]
    pub model: Option<Raw<'a>>,
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub cache_creation_input_tokens: Count,
    pub cache_read_input_tokens: Count,
    #[serde(borrow)]
    pub cache_creation: Option<Raw<'a>>,
    #[serde(borrow)]
    pub output_tokens_details: Option<Raw<'a>>,
    #[serde(borrow)]
    pub iterations: Option<Raw<'a>>,
    #[serde(borrow)]
    pub service_tier: Option<Raw<'a>>,
    #[serde(borrow)]
    pub speed: Option<Raw<'a>>,
}

/// What an agent's result says beside its text.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentResult<'a> {
    #[serde(borrow)]
    pub usage: Option<Raw<'a>>,
}

/// The client's own sum for one model of a session.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModelUsage {
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub thinking_tokens: Count,
    pub cache_read_input_tokens: Count,
    pub cache_creation_input_tokens: Count,
    #[serde(rename = "cacheCreationEphemeral1hInputTokens")]
    pub cache_creation_1h: Count,
    #[serde(rename = "costUSD")]
    pub cost_usd: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    pub ephemeral_5m_input_tokens: Count,
    pub ephemeral_1h_input_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub thinking_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ForkedFrom<'a> {
    #[serde(borrow)]
    pub session_id: Option<Raw<'a>>,
    #[serde(borrow)]
    pub message_uuid: Option<Raw<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CompactMetadata<'a> {
    #[serde(borrow)]
    pub preserved_messages: Option<Raw<'a>>,
    #[serde(borrow)]
    pub preserved_segment: Option<Raw<'a>>,
}

/// What a compaction keeps: a list in newer versions, a run of the chain in older ones.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Preserved<'a> {
    #[serde(borrow)]
    pub anchor_uuid: Option<Raw<'a>>,
    #[serde(borrow)]
    pub head_uuid: Option<Raw<'a>>,
    #[serde(borrow)]
    pub tail_uuid: Option<Raw<'a>>,
    #[serde(borrow)]
    pub uuids: Option<Raw<'a>>,
}

/// A tool result that the client shows shortened.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Replacement<'a> {
    #[serde(borrow)]
    pub tool_use_id: Option<Raw<'a>>,
}

/// What identifies a framing or note of ours.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Mark<'a> {
    #[serde(borrow)]
    pub kind: Option<Raw<'a>>,
    #[serde(rename = "btwId", borrow)]
    pub btw_id: Option<Raw<'a>>,
}

/// What a progress line tells of a subagent: its record, or only the message of that.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Progress<'a> {
    #[serde(borrow)]
    pub message: Option<Raw<'a>>,
}

/// A value of any JSON type as `T`, if it has that shape.
pub(super) fn read<'a, T: Deserialize<'a>>(raw: Option<Raw<'a>>) -> Option<T> {
    scan::read(raw?.get().as_bytes()).ok()
}

/// A string, if the value is one.
pub(super) fn text(raw: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    let raw = raw.filter(|raw| raw.get().starts_with('"'))?.get();
    // Most strings hold no escape and stay in the line.
    let inner = &raw[1..raw.len() - 1];
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
}

/// Whether a value is that string.
pub(super) fn is(raw: Option<Raw<'_>>, word: &str) -> bool {
    text(raw).is_some_and(|text| text == word)
}

/// The model of what the client says in the model's name.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// Whether a value is `true`.
pub(super) fn is_true(raw: Option<Raw<'_>>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// The blocks of a content, none for a string.
pub(super) fn blocks(content: Option<Raw<'_>>) -> Vec<Block<'_>> {
    let list = content.filter(|raw| raw.get().starts_with('['));
    // A block that is no object does not hide the others.
    let each = || {
        let list = read::<Vec<Raw<'_>>>(list).unwrap_or_default();
        list.into_iter().map(|raw| read(Some(raw)).unwrap_or_default()).collect()
    };
    read(list).unwrap_or_else(each)
}

/// Whether a text, or the first of a list of them, begins with `words`, which no escape is in. Outputs are long, so
/// that few are looked through and fewer decoded.
pub(super) fn begins(content: Option<Raw<'_>>, words: &str) -> bool {
    content.is_some_and(|raw| {
        let raw = raw.get().as_bytes();
        if let [b'"', text @ ..] = raw
            && !text[..words.len().min(text.len())].contains(&b'\\')
        {
            return text.starts_with(words.as_bytes());
        }
        memchr::memmem::find(raw, words.as_bytes()).is_some() && unfold(raw).text.starts_with(words)
    })
}

/// Whether a line is one that only this client writes: its ids, or the first record of old files.
pub(super) fn claims(line: &[u8]) -> bool {
    // Most lines of other clients have none of the names in them.
    let names = ["uuid\"", "sessionId\"", "messageId\"", "leafUuid\"", "\\u00"];
    if !names.iter().any(|name| memchr::memmem::find(line, name.as_bytes()).is_some()) {
        return false;
    }
    let Ok(record) = scan::read::<Record<'_>>(line) else { return false };
    if text(record.kind).is_none() {
        return false;
    }
    let linked = text(record.uuid).is_some() && record.message.is_some();
    text(record.session_id).is_some()
        || linked
        || is(record.kind, "file-history-snapshot") && record.message_id.is_some()
        || is(record.kind, "summary") && record.leaf_uuid.is_some()
}

/// Whether a line that is cut begins as only this client's do.
pub(super) fn cut_claim(line: &[u8]) -> bool {
    line.starts_with(b"{\"parentUuid\":")
}

/// A message's value: a string or blocks. A tool's result stands in a message of the user's, but is not the user's
/// text.
pub(super) fn unfold(body: &[u8]) -> Unfolded {
    let mut unfolded = Unfolded::default();
    let Ok(raw) = serde_json::from_slice::<Raw<'_>>(body) else { return unfolded };
    if let Some(text) = text(Some(raw)) {
        unfolded.text = text.into_owned();
        return unfolded;
    }
    let mut texts = Vec::new();
    let mut outputs = Vec::new();
    for block in blocks(Some(raw)) {
        let owned = |raw: Option<Raw<'_>>| text(raw).unwrap_or_default().into_owned();
        match text(block.kind).as_deref() {
            Some("text") => texts.push(owned(block.text)),
            Some("tool_use") => {
                let input = block.input.map_or("{}", Raw::get).to_owned();
                unfolded.calls.push((owned(block.id), owned(block.name), input));
            }
            Some("tool_result") => {
                unfolded.results.push(owned(block.tool_use_id));
                let inner = block.content.map(|raw| unfold(raw.get().as_bytes()).text);
                outputs.extend(inner.filter(|inner| !inner.is_empty()));
            }
            _ => {}
        }
    }
    unfolded.text = json::joined(texts);
    unfolded.output = json::joined(outputs);
    unfolded
}

/// How many fields a line has at most, mostly.
const USUAL: usize = 24;

/// The keys and values of an object as they stand in a line.
pub(super) struct Fields<'a>(pub Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Vec<(Cow<'de, str>, Raw<'de>)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::with_capacity(USUAL);
                while let Some((key, value)) =
                    map.next_entry::<super::super::json::Text<'de>, Raw<'_>>()?
                {
                    fields.push((key.0, value));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Each).map(Fields)
    }
}

impl<'a> Fields<'a> {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }
}
