//! Codex's JSON as borrowing structs: only the fields that we use.

use std::{borrow::Cow, ops::Range};

use serde::Deserialize;

use crate::{
    fact::{Base, Errand},
    format::{
        Unfolded,
        json::{self, Count, Raw, Text, range},
    },
};

/// What tells a rollout's line from others.
#[derive(Deserialize)]
pub(super) struct Claim<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    payload: Option<Raw<'a>>,
    #[serde(borrow)]
    record_type: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    timestamp: Option<Text<'a>>,
}

/// A line that `codex exec --json` prints.
#[derive(Deserialize)]
pub(super) struct Printed<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    thread_id: Option<Text<'a>>,
    pub usage: Option<Counts>,
}

/// The thread, in the first line of these.
pub(super) fn started(line: &[u8]) -> Option<Text<'_>> {
    let line: Printed<'_> = super::super::scan::read(line).ok()?;
    line.thread_id.filter(|_| line.kind.0 == "thread.started")
}

/// Whether a line may be a rollout's at all: most of other clients begin with their type and hold nothing of that name.
pub(super) fn may_claim(line: &[u8]) -> bool {
    let names = ["payload\"", "\\u00"];
    !line.starts_with(br#"{"type":""#)
        || names.iter().any(|name| memchr::memmem::find(line, name.as_bytes()).is_some())
}

impl Claim<'_> {
    pub fn is_ours(&self) -> bool {
        let wrapped = |kind: &Text<'_>| {
            [
                "session_meta",
                "response_item",
                "event_msg",
                "turn_context",
                "compacted",
                "world_state",
            ]
            .contains(&kind.0.as_ref())
                && self.payload.is_some_and(|payload| payload.get().starts_with('{'))
        };
        match &self.kind {
            Some(kind) => wrapped(kind),
            None => self.record_type.is_some() || self.is_bare_header(),
        }
    }

    pub fn is_bare_header(&self) -> bool {
        self.kind.is_none()
            && self.timestamp.is_some()
            && self.id.as_ref().is_some_and(|id| uuid::Uuid::parse_str(&id.0).is_ok())
    }
}

/// Whether bytes are the beginning of a header that is longer than what was read of it.
pub(super) fn begins_header(line: &[u8]) -> bool {
    let start = &line[..line.len().min(200)];
    let meta = br#""type":"session_meta","payload":{"#;
    start.starts_with(br#"{"timestamp":""#) && memchr::memmem::find(start, meta).is_some()
}

/// Any line: the envelope.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub timestamp: Option<Text<'a>>,
    pub ordinal: Option<u32>,
    #[serde(rename = "type", borrow)]
    pub kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub payload: Option<Raw<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Numbered {
    pub ordinal: Option<u64>,
}

/// What the payloads of lines, and items of the model's history, have in them.
#[derive(Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub role: Option<Text<'a>>,
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
    #[serde(borrow)]
    pub call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub turn_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub compaction_response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub message: Option<Raw<'a>>,
    pub num_turns: Option<u32>,
    #[serde(borrow)]
    pub started_at: Option<Raw<'a>>,
    #[serde(borrow)]
    pub info: Option<Raw<'a>>,
    #[serde(borrow)]
    pub usage: Option<Raw<'a>>,
    #[serde(borrow)]
    pub thread_settings: Option<Raw<'a>>,
    #[serde(borrow)]
    pub replacement_history: Option<Raw<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
    #[serde(borrow)]
    pub sandbox_policy: Option<Raw<'a>>,
}

impl Payload<'_> {
    /// The running total that an event tells of.
    pub fn info(&self) -> Option<Info> {
        json::counters(self.info?.get())
    }

    /// Whether the client of today can decode a context line: 0.47 named the kind of a sandbox by another key.
    pub fn is_current_context(&self) -> bool {
        #[derive(Deserialize)]
        struct Policy<'a> {
            #[serde(rename = "type", borrow)]
            kind: Option<Text<'a>>,
        }
        let Some(policy) = self.sandbox_policy else { return true };
        serde_json::from_str::<Policy<'_>>(policy.get()).is_ok_and(|policy| policy.kind.is_some())
    }
}

/// The header of a file.
#[derive(Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub session_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    pub cwd: Option<Text<'a>>,
    #[serde(borrow)]
    pub originator: Option<Raw<'a>>,
    #[serde(borrow)]
    pub cli_version: Option<Raw<'a>>,
    #[serde(borrow)]
    pub source: Option<Raw<'a>>,
    #[serde(borrow)]
    pub base_instructions: Option<Raw<'a>>,
    #[serde(borrow)]
    pub instructions: Option<Raw<'a>>,
    #[serde(borrow)]
    pub history_mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub history_base: Option<Raw<'a>>,
    #[serde(borrow)]
    pub forked_from_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub parent_thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub runtime_workspace_roots: Option<Raw<'a>>,
    pub subagent_history_start_ordinal: Option<u32>,
    // What a child takes over as it stands.
    #[serde(borrow)]
    pub account_scoped: Option<Raw<'a>>,
    #[serde(borrow)]
    pub thread_source: Option<Raw<'a>>,
    #[serde(borrow)]
    pub model_provider: Option<Raw<'a>>,
    #[serde(borrow)]
    pub dynamic_tools: Option<Raw<'a>>,
    #[serde(borrow)]
    pub memory_mode: Option<Raw<'a>>,
    #[serde(borrow)]
    pub multi_agent_version: Option<Raw<'a>>,
    #[serde(borrow)]
    pub git: Option<Raw<'a>>,
    #[serde(borrow)]
    pub context_window: Option<Raw<'a>>,
}

impl Meta<'_> {
    pub fn is_paginated(&self) -> bool {
        self.history_mode.as_ref().is_some_and(|mode| mode.0 == "paginated")
    }

    /// Whether an agent of the client's own is at work, and the thread that sent it.
    pub fn spawned(&self) -> (bool, Option<String>) {
        let source =
            self.source.and_then(|source| serde_json::from_str::<Source<'_>>(source.get()).ok());
        let Some(agent) = source.and_then(|source| source.subagent) else { return (false, None) };
        let spawn = serde_json::from_str::<Spawn<'_>>(agent.get()).ok();
        let parent =
            spawn.and_then(|spawn| spawn.thread_spawn).and_then(|spawn| spawn.parent_thread_id);
        (true, parent.map(|parent| parent.owned()))
    }

    /// What else than a part of the task was asked of it: `side_question` is what we write.
    pub fn errand(&self) -> Option<Errand> {
        let source: Source<'_> = serde_json::from_str(self.source?.get()).ok()?;
        let agent: Other<'_> = serde_json::from_str(source.subagent?.get()).ok()?;
        (agent.other.0 == "side_question").then_some(Errand::Aside)
    }
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow)]
    subagent: Option<Raw<'a>>,
}

#[derive(Deserialize)]
struct Spawn<'a> {
    #[serde(borrow)]
    thread_spawn: Option<SpawnOf<'a>>,
}

#[derive(Deserialize)]
struct Other<'a> {
    #[serde(borrow)]
    other: Text<'a>,
}

#[derive(Deserialize)]
struct SpawnOf<'a> {
    #[serde(borrow)]
    parent_thread_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct HistoryBase<'a> {
    #[serde(borrow)]
    thread_id: Text<'a>,
    end_ordinal_exclusive: u64,
    end_byte_offset: u64,
}

/// What the file that begins with `line` continues.
pub(super) fn base(line: &[u8]) -> Option<Base> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    line.kind.filter(|kind| kind.0 == "session_meta")?;
    let meta: Meta<'_> = serde_json::from_str(line.payload?.get()).ok()?;
    let base: HistoryBase<'_> = serde_json::from_str(meta.history_base?.get()).ok()?;
    Some(Base {
        file: base.thread_id.owned(),
        end: base.end_ordinal_exclusive,
        bytes: base.end_byte_offset,
    })
}

/// What one response cost.
pub(super) struct Response<'a> {
    pub counts: Option<Counts>,
    pub id: Option<&'a str>,
    pub turn: Option<&'a str>,
    pub thread: Option<&'a str>,
}

impl<'a> Response<'a> {
    pub fn of(payload: &'a Payload<'a>) -> Self {
        let text = |text: &'a Option<Text<'a>>| text.as_ref().map(|text| text.0.as_ref());
        Self {
            counts: payload.usage.and_then(|raw| json::counters(raw.get())),
            id: text(&payload.response_id),
            turn: text(&payload.turn_id),
            thread: text(&payload.thread_id),
        }
    }
}

/// A running total, and what the latest response added.
#[derive(Default, Deserialize)]
pub(super) struct Info {
    pub total_token_usage: Option<Counts>,
    pub last_token_usage: Option<Counts>,
}

/// Counters as the client gives them: what was cached is part of the input, reasoning part of the output.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    pub input_tokens: Count,
    pub cached_input_tokens: Count,
    pub cache_write_input_tokens: Count,
    pub output_tokens: Count,
    pub reasoning_output_tokens: Count,
}

/// A piece of a message's content.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

/// An item that is no message.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    arguments: Option<Raw<'a>>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
    #[serde(borrow)]
    action: Option<Raw<'a>>,
    #[serde(borrow)]
    output: Option<Raw<'a>>,
    #[serde(borrow)]
    summary: Option<Raw<'a>>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    encrypted_content: Option<Raw<'a>>,
}

/// What becomes of an item in the model's history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Message,
    Call,
    Result,
    /// Seen by the model with the message before it, and its own.
    Other,
    /// The same, but nothing that it said.
    Told,
    /// Never sent.
    Unseen,
}

pub(super) fn shape(kind: &str) -> Shape {
    match kind {
        "message" => Shape::Message,
        "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
            Shape::Call
        }
        "reasoning" | "web_search_call" | "image_generation_call" => Shape::Other,
        "compaction" | "agent_message" | "compaction_summary" | "context_compaction" => Shape::Told,
        kind if kind.ends_with("_output") => Shape::Result,
        _ => Shape::Unseen,
    }
}

/// Whether the model says an item, or somebody says something to it; none where neither is known. Messages that the client
/// writes in the model's name, such as a review's result, have a UUID in their ids (0.171.0), and earlier none.
pub(super) fn speaks(shape: Shape, role: Option<&str>, id: Option<&str>) -> Option<bool> {
    match shape {
        Shape::Message if role == Some("assistant") => {
            id.filter(|id| !id.contains('-')).map(|_| true)
        }
        Shape::Message | Shape::Result => Some(false),
        Shape::Call | Shape::Other => Some(true),
        Shape::Told | Shape::Unseen => None,
    }
}

/// The words of a message: a list of parts, or a string.
pub(super) fn unfold(body: &[u8]) -> Unfolded {
    Unfolded { text: words(body), ..Unfolded::default() }
}

pub(super) fn words(body: &[u8]) -> String {
    if body.first() == Some(&b'"') {
        return serde_json::from_slice::<Cow<'_, str>>(body).unwrap_or_default().into_owned();
    }
    let parts = serde_json::from_slice::<Vec<Part<'_>>>(body).unwrap_or_default();
    let texts = parts.into_iter().filter_map(|part| match (part.kind, part.text) {
        (_, Some(text)) => Some(text.0.into_owned()),
        (Some(kind), None) if kind.0 == "input_image" => Some("[image]".into()),
        _ => None,
    });
    json::joined(texts.collect())
}

/// Adds a call or a result.
pub(super) fn unfold_item(item: &[u8], into: &mut Unfolded) {
    let Ok(item) = serde_json::from_slice::<Item<'_>>(item) else { return };
    let kind = item.kind.unwrap_or_default();
    let Some(id) = item.call_id.or(item.id).map(|id| id.owned()) else { return };
    let text = |raw: Raw<'_>| {
        serde_json::from_str::<Cow<'_, str>>(raw.get())
            .map_or_else(|_| raw.get().to_owned(), Cow::into_owned)
    };
    match shape(&kind.0) {
        Shape::Call => {
            let name = item.name.map_or_else(|| kind.0.trim_end_matches("_call").to_owned(), text);
            let arguments =
                item.arguments.or(item.input).or(item.action).map_or_else(String::new, text);
            into.calls.push((id, name, arguments));
        }
        Shape::Result => into.results.push(id),
        _ => {}
    }
}

/// What the model sees of an item, in the order in which it is hashed.
pub(super) fn seen(bytes: &[u8]) -> Vec<Range<usize>> {
    let Ok(item) = serde_json::from_slice::<Item<'_>>(bytes) else { return Vec::new() };
    let kind = item.kind.unwrap_or_default();
    let values = match shape(&kind.0) {
        Shape::Call => vec![item.name, item.arguments.or(item.input).or(item.action)],
        Shape::Result => vec![item.output],
        Shape::Other | Shape::Told => {
            vec![item.summary, item.content, item.encrypted_content, item.action]
        }
        Shape::Message | Shape::Unseen => Vec::new(),
    };
    values.into_iter().flatten().map(|value| range(bytes, value)).collect()
}

/// Beginnings of user messages that the client puts in a person's place.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_action>",
    "<user_instructions>",
    "<skill>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
];

/// Whether a person wrote these words.
pub(super) fn is_typed(words: &str) -> bool {
    let words = words.trim_start();
    !INJECTED.iter().any(|beginning| words.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hashed_of_an_item_is_what_the_model_sees() {
        let text = |item: &str| -> Vec<String> {
            seen(item.as_bytes()).into_iter().map(|range| item[range].to_owned()).collect()
        };
        assert_eq!(
            text(
                r#"{"type":"function_call","id":"fc_1","call_id":"c","arguments":"{}","name":"run"}"#
            ),
            [r#""run""#, r#""{}""#]
        );
        assert_eq!(
            text(r#"{"type":"custom_tool_call","call_id":"c","name":"p","input":"x"}"#),
            [r#""p""#, r#""x""#]
        );
        assert_eq!(
            text(r#"{"type":"function_call_output","call_id":"c","output":"done"}"#),
            [r#""done""#]
        );
        assert_eq!(
            text(r#"{"type":"reasoning","encrypted_content":"e","content":null,"summary":[]}"#),
            ["[]", r#""e""#]
        );
        assert!(text(r#"{"type":"ghost_snapshot","content":"x"}"#).is_empty());
    }

    #[test]
    fn words_of_the_client_are_no_prompts() {
        for injected in INJECTED {
            assert!(!is_typed(&format!("{injected}\n...")));
        }
        assert!(is_typed("Draft a parser"));
    }
}
