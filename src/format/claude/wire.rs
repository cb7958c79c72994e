//! Claude Code's JSON as borrowing structs: only the fields that we use.
//!
//! Types and fields come every month, and one name means different things in different types; so all values are kept
//! raw, and one of the wrong kind is as good as none.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::super::Unfolded;

/// Any line.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub subtype: Option<&'a RawValue>,
    #[serde(borrow)]
    pub uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub parent_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    pub version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub is_sidechain: Option<&'a RawValue>,
    #[serde(borrow)]
    pub is_meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub is_compact_summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub is_api_error_message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub truncated_after_output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub compact_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub forked_from: Option<&'a RawValue>,
    #[serde(borrow)]
    pub request_session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub replacements: Option<&'a RawValue>,
    #[serde(borrow)]
    pub sessctl: Option<&'a RawValue>,
    #[serde(borrow)]
    pub leaf_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub last_prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    pub custom_title: Option<&'a RawValue>,
    #[serde(borrow)]
    pub ai_title: Option<&'a RawValue>,
    #[serde(borrow)]
    pub summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub git_branch: Option<&'a RawValue>,
    #[serde(borrow)]
    pub user_type: Option<&'a RawValue>,
    #[serde(borrow)]
    pub entrypoint: Option<&'a RawValue>,
    #[serde(borrow)]
    pub model_usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

/// A block of a message's content.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    pub signature: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

/// Counters of an answer, or of one of its iterations.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cache_read_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cache_creation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output_tokens_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub iterations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub service_tier: Option<&'a RawValue>,
    #[serde(borrow)]
    pub speed: Option<&'a RawValue>,
}

/// What an agent's result says beside its text.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentResult<'a> {
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

/// The client's own sum for one model of a session.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModelUsage<'a> {
    #[serde(borrow)]
    pub input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub thinking_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cache_read_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(rename = "cacheCreationEphemeral1hInputTokens", borrow)]
    pub cache_creation_1h: Option<&'a RawValue>,
    #[serde(rename = "costUSD")]
    pub cost_usd: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation<'a> {
    #[serde(borrow)]
    pub ephemeral_5m_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub ephemeral_1h_input_tokens: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails<'a> {
    #[serde(borrow)]
    pub thinking_tokens: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ForkedFrom<'a> {
    #[serde(borrow)]
    pub session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message_uuid: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CompactMetadata<'a> {
    #[serde(borrow)]
    pub preserved_messages: Option<&'a RawValue>,
    #[serde(borrow)]
    pub preserved_segment: Option<&'a RawValue>,
}

/// What a compaction keeps: a list in newer versions, a run of the chain in older ones.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Preserved<'a> {
    #[serde(borrow)]
    pub anchor_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub head_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tail_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub uuids: Option<&'a RawValue>,
}

/// A tool result that the client shows shortened.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Replacement<'a> {
    #[serde(borrow)]
    pub tool_use_id: Option<&'a RawValue>,
}

/// What identifies a framing or note of ours.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Mark<'a> {
    #[serde(borrow)]
    pub kind: Option<&'a RawValue>,
    #[serde(rename = "btwId", borrow)]
    pub btw_id: Option<&'a RawValue>,
}

/// What a progress line tells of a subagent: its record, or only the message of that.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Progress<'a> {
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
}

/// A value of any JSON type as `T`, if it has that shape.
pub(super) fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// A string, if the value is one.
pub(super) fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw.filter(|raw| raw.get().starts_with('"'))?.get();
    // Most strings hold no escape and stay in the line.
    let inner = &raw[1..raw.len() - 1];
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
}

/// Whether a value is that string.
pub(super) fn is(raw: Option<&RawValue>, word: &str) -> bool {
    text(raw).is_some_and(|text| text == word)
}

/// Whether a value is `true`.
pub(super) fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// The blocks of a content, none for a string.
pub(super) fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    let list = content.filter(|raw| raw.get().starts_with('['));
    // A block that is no object does not hide the others.
    let each = || {
        let list = read::<Vec<&RawValue>>(list).unwrap_or_default();
        list.into_iter().map(|raw| read(Some(raw)).unwrap_or_default()).collect()
    };
    read(list).unwrap_or_else(each)
}

/// Whether a text, or the first of a list of them, begins with `words`, which no escape is in. Outputs are long, so
/// that few are decoded.
pub(super) fn begins(content: Option<&RawValue>, words: &str) -> bool {
    content.is_some_and(|raw| {
        let raw = raw.get().as_bytes();
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
    let Ok(record) = serde_json::from_slice::<Record<'_>>(line) else { return false };
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
    let Ok(raw) = serde_json::from_slice::<&RawValue>(body) else { return unfolded };
    if let Some(text) = text(Some(raw)) {
        unfolded.text = text.into_owned();
        return unfolded;
    }
    let mut texts = Vec::new();
    let mut outputs = Vec::new();
    for block in blocks(Some(raw)) {
        let owned = |raw: Option<&RawValue>| text(raw).unwrap_or_default().into_owned();
        match text(block.kind).as_deref() {
            Some("text") => texts.push(owned(block.text)),
            Some("tool_use") => {
                let input = block.input.map_or("{}", RawValue::get).to_owned();
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
    unfolded.text = texts.join("\n");
    unfolded.output = outputs.join("\n");
    unfolded
}

/// The keys and values of an object as they stand in a line.
pub(super) struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) =
                    map.next_entry::<super::super::json::Text<'de>, &RawValue>()?
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
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }
}
