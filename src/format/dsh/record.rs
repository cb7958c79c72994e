//! A side conversation as a log of the parent's own format, in a folder of ours below the parent's, where the harness
//! looks for nothing.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use super::write::Header;
use crate::{
    error::Result,
    fact::Tokens,
    format::{
        Tip, id, json as line,
        record::{Exchange, Paid, Pointer, Pointing, Recorder, Scene, Stop},
    },
    log::Encoding,
};

pub(super) struct DshRecorder;

/// Counters are disjoint, reasoning inside output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_read_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let some = |count: u64| Some(count).filter(|count| *count > 0);
        Self {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_tokens: some(tokens.cache_read),
            cache_write_tokens: some(tokens.cache_write_5m.saturating_add(tokens.cache_write_1h)),
            reasoning_tokens: some(tokens.reasoning),
        }
    }
}

impl Recorder for DshRecorder {
    fn session_id(&self, parent: &str, created: Option<DateTime<Utc>>, pane: &str) -> String {
        let digest = id::digest(&["sessctl/side/1", parent, pane]);
        let millis = created.map_or(0, |created| created.timestamp_millis());
        format!("session-{}", id::dated(millis, &digest))
    }

    fn place(&self, _root: Option<&Path>, scene: Scene<'_>, encoding: Encoding) -> PathBuf {
        let birth = scene.birth;
        let suffix = if encoding == Encoding::Zstd { ".zstd" } else { "" };
        let name = match birth.version {
            0 => format!("session.jsonl{suffix}"),
            version => format!("session.v{version}.jsonl{suffix}"),
        };
        let folder = birth.parent_path.parent().unwrap_or(Path::new(""));
        folder.join("side").join(scene.pane).join(name)
    }

    fn begin(&self, scene: Scene<'_>, _first: &Exchange, _tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let birth = scene.birth;
        Ok(vec![line::line(&Header {
            r#type: "session",
            version: birth.version,
            id: &birth.id,
            created_at: birth.at.timestamp_millis(),
            cwd: birth.cwd.as_deref(),
            parent_session: &birth.parent,
            seed_length: None,
            is_seeded: (birth.version >= 2).then_some(false),
            delegation_depth: 0,
            agent_preset: None,
        })])
    }

    fn turn(&self, scene: Scene<'_>, turn: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let number = turn.nth;
        let mut lines = Vec::new();
        let mut put = |kind, data: Value, surface: Option<&'static str>| {
            lines.push(tip.event(kind, turn.at, data, surface));
        };
        put("turn/start", json!({"turn": number}), None);
        let calls = turn.said.auxiliary.len() + 1;
        for (nth, paid) in turn.said.auxiliary.iter().chain([&turn.said.paid]).enumerate() {
            let (step, is_last) = (nth + 1, nth + 1 == calls);
            put("step/start", json!({"turn": number, "step": step}), None);
            if nth == 0 {
                let words = json!({
                    "content": [{"type": "text", "text": turn.said.question}],
                    "source": {"kind": "user"}, "role": "user", "id": self.mark(turn),
                });
                put("user/message", words, Some("append"));
            }
            let provider = paid.provider.as_deref().unwrap_or("unknown");
            let reason = if number == 1 && nth == 0 { "initial" } else { "change" };
            let config = json!({"provider": provider, "model": paid.model});
            put("request/header", json!({"header": {"config": config}, "reason": reason}), None);
            // A message without content is none on the surface; its usage counts all the same.
            let answer =
                Some(turn.said.answer.as_str()).filter(|answer| is_last && !answer.is_empty());
            put("assistant/message", answered(scene, turn, step, paid, answer), Some("append"));
            put("step/end", json!({"turn": number, "step": step}), None);
        }
        let message = || turn.said.error.as_deref().unwrap_or("the side question failed");
        let reason = match turn.said.paid.stop {
            Stop::Complete => json!({"kind": "completed"}),
            Stop::Length => json!({"kind": "max-tokens"}),
            Stop::Aborted => json!({"kind": "aborted", "reason": {"kind": "user"}}),
            Stop::Failed => {
                json!({"kind": "error", "error": {"message": message(), "code": "SIDE_QUESTION_FAILED"}})
            }
        };
        put("turn/end", json!({"turn": number, "reason": reason}), None);
        Ok(lines)
    }

    fn mark(&self, turn: &Exchange) -> String {
        format!("sidechat-question-{}", &turn.digest[..32])
    }

    fn pointer(
        &self,
        pointer: &Pointer<'_>,
        parent: &Path,
        tip: &mut Tip,
        _taken: &dyn Fn(&str) -> bool,
    ) -> Pointing {
        let folder = parent.parent().unwrap_or(Path::new(""));
        let file = pointer.file.strip_prefix(folder).unwrap_or(pointer.file).display().to_string();
        let data = json!({
            "v": 1, "btwId": pointer.pane, "sideSessionId": pointer.session, "file": file,
            "question": pointer.question,
        });
        if tip.version >= 4 {
            Pointing::Line(tip.ignorable("plugin:sessctl/side", pointer.at, data))
        } else {
            // Older harnesses refuse a log with an event that they do not know.
            let beside = pointer.file.with_file_name("pointer.json");
            Pointing::File(beside, [line::line(&data), b"\n".to_vec()].concat())
        }
    }
}

/// What the model gave, or what was paid for on the way.
fn answered(
    scene: Scene<'_>,
    turn: &Exchange,
    step: usize,
    paid: &Paid,
    answer: Option<&str>,
) -> Value {
    let content: Vec<Value> =
        answer.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let id = format!("sidechat-answer-{}", &turn.part(&format!("answer {step}"))[..32]);
    let provider = paid.provider.as_deref().unwrap_or("unknown");
    let mut data = json!({
        "turn": turn.nth, "step": step,
        "message": {
            "role": "assistant", "content": content,
            "source": {"kind": "model", "provider": provider, "model": paid.model}, "id": id,
        },
        "usage": Usage::from(paid.tokens),
    });
    if scene.birth.version >= 2 {
        data["stream"] = json!([]);
    }
    data
}
