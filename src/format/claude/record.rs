//! A side conversation in the client's own form for one: a helper's transcript `agent-aside_question-<16 hex>` beside
//! the session, whose lines carry the session's id. 2.1.100's own also hold a copy of the session; these hold none.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::wire::{self, text};
use crate::{
    error::Result,
    fact::{Fact, Facts, Tokens},
    format::{
        Tip, id,
        json::{self, Raw},
        record::{Exchange, Paid, Pointer, Pointing, Recorder, Scene, Stop},
    },
    log::Encoding,
};

pub(super) struct ClaudeRecorder;

/// How the ids of helpers that answer a side question begin.
const ASIDE: &str = "aside_question-";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a, M> {
    parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    agent_id: &'a str,
    message: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    r#type: &'static str,
    uuid: &'a str,
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entrypoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_branch: Option<String>,
    /// What the turn was besides what the client has a place for.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessctl: Option<Beside<'a>>,
}

#[derive(Serialize)]
struct Beside<'a> {
    v: u32,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct User<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Assistant<'a> {
    id: String,
    r#type: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block<'a>>,
    stop_reason: &'static str,
    stop_sequence: Option<&'a str>,
    usage: Usage,
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
    cache_creation: CacheCreation,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Serialize)]
struct CacheCreation {
    ephemeral_1h_input_tokens: u64,
    ephemeral_5m_input_tokens: u64,
}

#[derive(Serialize)]
struct OutputDetails {
    thinking_tokens: u64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let Tokens { cache_write_5m, cache_write_1h, .. } = tokens;
        Self {
            input_tokens: tokens.input,
            cache_creation_input_tokens: cache_write_5m.saturating_add(cache_write_1h),
            cache_read_input_tokens: tokens.cache_read,
            output_tokens: tokens.output,
            cache_creation: CacheCreation {
                ephemeral_1h_input_tokens: cache_write_1h,
                ephemeral_5m_input_tokens: cache_write_5m,
            },
            output_tokens_details: (tokens.reasoning > 0)
                .then_some(OutputDetails { thinking_tokens: tokens.reasoning }),
        }
    }
}

/// A link to the transcript of a pane. The client keeps a record without an id, and shows it to nobody.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SideQuestion<'a> {
    r#type: &'static str,
    session_id: &'a str,
    sessctl: Mark<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mark<'a> {
    v: u32,
    kind: &'static str,
    source: &'static str,
    btw_id: &'a str,
    side_session_id: &'a str,
    side_file: String,
    question: &'a str,
    started_at: String,
}

impl ClaudeRecorder {
    /// A line below the tip, which stays where it is.
    #[expect(clippy::too_many_arguments, reason = "what a line says")]
    fn line<M: Serialize>(
        scene: Scene<'_>,
        turn: &Exchange,
        kind: &'static str,
        uuid: &str,
        message: M,
        request: Option<&str>,
        beside: Option<Beside<'_>>,
        tip: &Tip,
    ) -> Vec<u8> {
        let like: wire::Record<'_> = serde_json::from_slice(scene.like).unwrap_or_default();
        let owned = |raw: Option<Raw<'_>>| text(raw).map(std::borrow::Cow::into_owned);
        let birth = scene.birth;
        json::line(&Line {
            parent_uuid: tip.last.as_deref(),
            is_sidechain: true,
            agent_id: birth.id.strip_prefix("agent-").unwrap_or(&birth.id),
            message,
            request_id: request,
            r#type: kind,
            uuid,
            timestamp: json::timestamp(turn.at),
            user_type: owned(like.user_type),
            entrypoint: owned(like.entrypoint),
            cwd: birth.cwd.as_deref(),
            session_id: &birth.parent,
            version: owned(like.version),
            git_branch: owned(like.git_branch),
            sessctl: beside,
        })
    }

    fn answer(
        scene: Scene<'_>,
        turn: &Exchange,
        part: &str,
        paid: &Paid,
        said: Option<&str>,
        tip: &mut Tip,
    ) -> Vec<u8> {
        let digest = turn.part(part);
        let answer = said.unwrap_or_default();
        let message = Assistant {
            id: format!("msg_{}", &digest[..24]),
            r#type: "message",
            role: "assistant",
            model: &paid.model,
            content: Some(Block { r#type: "text", text: answer })
                .filter(|block| !block.text.is_empty())
                .into_iter()
                .collect(),
            stop_reason: match paid.stop {
                Stop::Complete => "end_turn",
                Stop::Length => "max_tokens",
                // What was billed is known: null would say that the counters are not final.
                Stop::Failed => "error",
                Stop::Aborted => "aborted",
            },
            stop_sequence: None,
            usage: paid.tokens.into(),
        };
        let error = turn.said.error.as_deref().filter(|_| said.is_some());
        let provider = paid.provider.as_deref();
        let beside =
            Some(Beside { v: 1, kind: "aside", purpose: paid.purpose.as_deref(), provider, error });
        let beside =
            beside.filter(|it| it.purpose.is_some() || it.provider.is_some() || it.error.is_some());
        let request = turn.said.request_id.as_deref().filter(|_| said.is_some());
        let uuid = id::marked(id::RECORDED, &digest);
        let line = Self::line(scene, turn, "assistant", &uuid, message, request, beside, tip);
        if said.is_some() {
            tip.last = Some(uuid);
        }
        line
    }
}

impl Recorder for ClaudeRecorder {
    fn session_id(
        &self,
        parent: &str,
        _created: Option<chrono::DateTime<chrono::Utc>>,
        pane: &str,
    ) -> String {
        format!("agent-{ASIDE}{}", &id::digest(&["sessctl/side/1", parent, pane])[..16])
    }

    fn place(&self, _root: Option<&Path>, scene: Scene<'_>, _encoding: Encoding) -> PathBuf {
        let birth = scene.birth;
        let folder = birth.parent_path.with_file_name(&birth.parent);
        folder.join("subagents").join(format!("{}.jsonl", birth.id))
    }

    fn is_model(&self, facts: &Facts, line: u32) -> bool {
        facts.of(line).any(|fact| matches!(fact, Fact::Said(..)))
    }

    fn begin(&self, _scene: Scene<'_>, _first: &Exchange, _tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn turn(&self, scene: Scene<'_>, turn: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let uuid = self.mark(turn);
        let question = User { role: "user", content: &turn.said.question };
        let mut lines = vec![Self::line(scene, turn, "user", &uuid, question, None, None, tip)];
        tip.last = Some(uuid);
        // Beside the answer and not above it, so that they are no part of the conversation.
        for (nth, paid) in turn.said.auxiliary.iter().enumerate() {
            lines.push(Self::answer(scene, turn, &format!("auxiliary {nth}"), paid, None, tip));
        }
        let said = Some(turn.said.answer.as_str());
        lines.push(Self::answer(scene, turn, "answer", &turn.said.paid, said, tip));
        Ok(lines)
    }

    fn mark(&self, turn: &Exchange) -> String {
        id::marked(id::RECORDED, &turn.digest)
    }

    fn pointer(
        &self,
        pointer: &Pointer<'_>,
        parent: &Path,
        tip: &mut Tip,
        _taken: &dyn Fn(&str) -> bool,
    ) -> Pointing {
        let beside = parent.parent().and_then(|folder| pointer.file.strip_prefix(folder).ok());
        Pointing::Line(json::line(&SideQuestion {
            r#type: "side-question",
            session_id: &tip.session,
            sessctl: Mark {
                v: 1,
                kind: "pointer",
                source: "sidechat",
                btw_id: pointer.pane,
                side_session_id: pointer.session,
                side_file: beside.unwrap_or(pointer.file).display().to_string(),
                question: pointer.question,
                started_at: json::timestamp(pointer.at),
            },
        }))
    }
}
