//! A side conversation as prime 0.8.0's proposed store keeps it, and pi's loaders take it: a session of its own with
//! nothing but the new turns, in `btw-<pane>` below the artifacts of its parent.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    wire::Dialect,
    write::{self, Header},
};
use crate::{
    error::Result,
    fact::{Fact, Facts, Tokens},
    format::{
        Tip, id,
        json::{self, Raw},
        record::{Exchange, Left, Paid, Pointer, Pointing, Recorder, Scene, Stop},
    },
    log::Encoding,
};

/// Writes down side conversations of pi and of prime.
pub(in crate::format) struct PiRecorder(pub Dialect);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelChange<'a> {
    r#type: &'static str,
    id: String,
    parent_id: Option<&'a str>,
    timestamp: String,
    provider: &'a str,
    model_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a, M> {
    r#type: &'static str,
    id: &'a str,
    parent_id: Option<&'a str>,
    timestamp: String,
    message: M,
}

#[derive(Serialize)]
struct User<'a> {
    role: &'static str,
    content: [Text<'a>; 1],
    timestamp: i64,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Assistant<'a> {
    role: &'static str,
    content: Vec<Text<'a>>,
    api: &'a str,
    provider: &'a str,
    model: &'a str,
    usage: Usage,
    stop_reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    timestamp: i64,
    /// What a completion was for that is no answer; the loaders carry keys along that they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<&'a str>,
}

/// Mandatory with its cost: without, statistics and the next prompt of pi 1.6.0 fail. A cost of 0 means that nobody
/// knows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "is_zero")]
    cache_write_1h: u64,
    #[serde(skip_serializing_if = "is_zero")]
    reasoning: u64,
    total_tokens: u64,
    cost: Cost,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    input: u8,
    output: u8,
    cache_read: u8,
    cache_write: u8,
    total: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.input,
            output: tokens.output,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write_5m.saturating_add(tokens.cache_write_1h),
            cache_write_1h: tokens.cache_write_1h,
            reasoning: tokens.reasoning,
            total_tokens: tokens.total(),
            cost: Cost::default(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Custom<'a, D> {
    r#type: &'static str,
    custom_type: &'static str,
    data: D,
    id: &'a str,
    parent_id: Option<&'a str>,
    timestamp: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SideQuestion<'a> {
    btw_id: &'a str,
    session_file: String,
    session_id: &'a str,
    question: &'a str,
    started_at: String,
}

/// The parent's answer that new ones are modelled on.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Like<'a> {
    #[serde(borrow)]
    message: Option<Api<'a>>,
}

#[derive(Deserialize)]
struct Api<'a> {
    #[serde(borrow)]
    api: Option<Raw<'a>>,
    #[serde(borrow)]
    provider: Option<Raw<'a>>,
}

impl Like<'_> {
    /// The API and the provider of the parent's answers.
    fn of(line: &[u8]) -> [Option<String>; 2] {
        let text = |raw: Option<Raw<'_>>| serde_json::from_str::<String>(raw?.get()).ok();
        let answer: Like<'_> = serde_json::from_slice(line).unwrap_or_default();
        answer.message.map_or([None, None], |message| [text(message.api), text(message.provider)])
    }
}

impl PiRecorder {
    /// An answer, or a completion that was paid for on the way to one.
    fn answer(
        scene: Scene<'_>,
        turn: &Exchange,
        id: &str,
        paid: &Paid,
        text: &str,
        error: Option<&str>,
        tip: &mut Tip,
    ) -> Vec<u8> {
        let [api, provider] = Like::of(scene.like);
        let provider = paid.provider.clone().or(provider).unwrap_or_else(|| "unknown".into());
        let message = Assistant {
            role: "assistant",
            content: Some(Text { r#type: "text", text })
                .filter(|block| !block.text.is_empty())
                .into_iter()
                .collect(),
            api: api.as_deref().unwrap_or("unknown"),
            provider: &provider,
            model: &paid.model,
            usage: paid.tokens.into(),
            stop_reason: match paid.stop {
                Stop::Complete => "stop",
                Stop::Length => "length",
                Stop::Failed => "error",
                Stop::Aborted => "aborted",
            },
            error_message: error,
            timestamp: turn.at.timestamp_millis(),
            purpose: paid.purpose.as_deref(),
        };
        entry(id, turn.at, message, tip)
    }
}

/// A message entry, which becomes the tip.
fn entry<M: Serialize>(id: &str, at: DateTime<Utc>, message: M, tip: &mut Tip) -> Vec<u8> {
    let line = json::line(&Entry {
        r#type: "message",
        id,
        parent_id: tip.last.as_deref(),
        timestamp: json::timestamp(at),
        message,
    });
    tip.last = Some(id.to_owned());
    line
}

impl Recorder for PiRecorder {
    fn place(&self, root: Option<&Path>, scene: Scene<'_>, _encoding: Encoding) -> PathBuf {
        let birth = scene.birth;
        let beside = || birth.parent_path.parent().unwrap_or(Path::new("")).join(&birth.parent);
        let folder = match (self.0, root) {
            (Dialect::Prime, Some(root)) => {
                root.with_file_name("session-artifacts").join(&birth.parent)
            }
            _ => beside(),
        };
        folder.join(format!("btw-{}", scene.pane)).join(format!("{}.jsonl", birth.id))
    }

    fn is_model(&self, facts: &Facts, line: u32) -> bool {
        facts.of(line).any(|fact| matches!(fact, Fact::Answering(_)))
    }

    fn begin(&self, scene: Scene<'_>, first: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let birth = scene.birth;
        let header = Header {
            r#type: "session",
            version: 3,
            id: &birth.id,
            timestamp: json::timestamp(birth.at),
            cwd: birth.cwd.as_deref(),
            parent_session: birth.parent_path.display().to_string(),
            // A side question is no agent's run, so that it is not deeper than a person's session.
            rlm_depth: (self.0 == Dialect::Prime).then_some(0),
        };
        let provider = first.said.paid.provider.clone().or_else(|| Like::of(scene.like)[1].clone());
        let id = write::short_id(&[&birth.id, "model"]);
        let model = json::line(&ModelChange {
            r#type: "model_change",
            id: id.clone(),
            parent_id: None,
            timestamp: json::timestamp(birth.at),
            provider: provider.as_deref().unwrap_or("unknown"),
            model_id: &first.said.paid.model,
        });
        tip.last = Some(id);
        Ok(vec![json::line(&header), model])
    }

    fn turn(&self, scene: Scene<'_>, turn: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let question = User {
            role: "user",
            content: [Text { r#type: "text", text: &turn.said.question }],
            timestamp: turn.at.timestamp_millis(),
        };
        let mut lines = vec![entry(&self.mark(turn), turn.at, question, tip)];
        for (nth, paid) in turn.said.auxiliary.iter().enumerate() {
            let id = turn.part(&format!("auxiliary {nth}"))[..8].to_owned();
            lines.push(Self::answer(scene, turn, &id, paid, "", None, tip));
        }
        let id = turn.part("answer")[..8].to_owned();
        let (text, error) = (turn.said.answer.as_str(), turn.said.error.as_deref());
        lines.push(Self::answer(scene, turn, &id, &turn.said.paid, text, error, tip));
        Ok(lines)
    }

    fn mark(&self, turn: &Exchange) -> String {
        // Eight digits are the client's habit; by more than chance only a whole digest tells one request from another.
        if turn.said.request_id.is_some() {
            id::marked(id::RECORDED, &turn.digest)
        } else {
            turn.digest[..8].to_owned()
        }
    }

    fn status(&self, scene: Scene<'_>, left: &Left, tip: &mut Tip) -> Option<Vec<u8>> {
        // A pane that was left in good order has none.
        let (status, error_message) = match left.stop {
            Stop::Complete | Stop::Length => return None,
            Stop::Failed => ("error", left.error.as_deref()),
            Stop::Aborted => ("cancelled", None),
        };
        let after = tip.last.clone().unwrap_or_default();
        let id = write::short_id(&[&scene.birth.id, "status", &after]);
        Some(custom("side_question_status", Status { status, error_message }, id, left.at, tip))
    }

    fn pointer(
        &self,
        pointer: &Pointer<'_>,
        _parent: &Path,
        tip: &mut Tip,
        taken: &dyn Fn(&str) -> bool,
    ) -> Pointing {
        let data = SideQuestion {
            btw_id: pointer.pane,
            session_file: pointer.file.display().to_string(),
            session_id: pointer.session,
            question: pointer.question,
            started_at: json::timestamp(pointer.at),
        };
        let short = pointer.digest[..8].to_owned();
        let id = if taken(&short) { id::marked(id::RECORDED, &pointer.digest) } else { short };
        Pointing::Line(custom("side_question", data, id, pointer.at, tip))
    }
}

fn custom<D: Serialize>(
    custom_type: &'static str,
    data: D,
    id: String,
    at: DateTime<Utc>,
    tip: &mut Tip,
) -> Vec<u8> {
    let line = json::line(&Custom {
        r#type: "custom",
        custom_type,
        data,
        id: &id,
        parent_id: tip.last.as_deref(),
        timestamp: json::timestamp(at),
    });
    tip.last = Some(id);
    line
}
