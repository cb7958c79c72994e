//! A side conversation as a rollout of an agent of the client's own, `{"subagent":{"other":"side_question"}}`: no list
//! shows it, no picker takes it for the latest thread, and it opens by its id.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    LEGACY, PAGINATED,
    layout::CodexLayout,
    wire,
    write::{Envelope, Line},
};
use crate::{
    error::Result,
    fact::{Fact, Facts, Tokens},
    format::{
        Layout, Tip, id,
        json::{self, Raw, range},
        record::{Exchange, Paid, Pointer, Pointing, Recorder, Scene, Stop},
        seam::malformed,
    },
    log::{Encoding, Splice},
};

pub(super) struct CodexRecorder;

#[derive(Clone, Copy, Default, Serialize)]
struct Usage {
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_input_tokens: u64,
    output_tokens: u64,
    reasoning_output_tokens: u64,
    total_tokens: u64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let written = tokens.cache_write_5m.saturating_add(tokens.cache_write_1h);
        Self {
            input_tokens: tokens.input.saturating_add(tokens.cache_read).saturating_add(written),
            cached_input_tokens: tokens.cache_read,
            cache_write_input_tokens: written,
            output_tokens: tokens.output,
            reasoning_output_tokens: tokens.reasoning,
            total_tokens: tokens.total(),
        }
    }
}

/// The lines of one turn, in order.
struct Page<'a> {
    tip: &'a mut Tip,
    time: String,
    millis: i64,
    thread: &'a str,
    turn: String,
    lines: Vec<Vec<u8>>,
}

impl Page<'_> {
    fn put<T: Serialize>(&mut self, kind: &str, payload: T) {
        let ordinal = ordinal(self.tip);
        let line = Line { timestamp: &self.time, ordinal, r#type: kind, payload };
        self.lines.push(json::line(&line));
    }

    fn event(&mut self, payload: &Value) {
        self.put("event_msg", payload);
    }

    /// What a person sees of an item; the two generations show it differently.
    fn shows(&mut self, item: &Value, legacy: &Value) {
        if self.tip.version == PAGINATED {
            let (thread, turn, millis) = (self.thread, self.turn.clone(), self.millis);
            self.event(&json!({
                "type": "item_completed", "thread_id": thread, "turn_id": turn, "item": item,
                "started_at_ms": millis, "completed_at_ms": millis,
            }));
        } else {
            self.event(legacy);
        }
    }

    /// A completion: its own record, and the running count that older readers go by.
    fn spends(&mut self, paid: &Paid, response: &str, session: &str, sums: &mut [Tokens; 2]) {
        for sum in sums.iter_mut() {
            sum.add(&paid.tokens);
        }
        let [turn, thread] = sums.map(Usage::from);
        let usage = Usage::from(paid.tokens);
        let (own, turn_id) = (self.thread, self.turn.clone());
        self.put(
            "token_usage_record",
            json!({
                "thread_id": own, "turn_id": turn_id, "session_id": session, "root_turn_id": turn_id,
                "response_id": response, "usage": usage, "turn_token_usage": turn, "thread_token_usage": thread,
            }),
        );
        self.event(&json!({
            "type": "token_count",
            "info": {"total_token_usage": thread, "last_token_usage": usage, "model_context_window": null},
            "rate_limits": null,
        }));
    }
}

/// The number of the next line, in the generation whose lines have numbers.
fn ordinal(tip: &mut Tip) -> Option<u64> {
    let ordinal = (tip.version == PAGINATED).then_some(tip.seq);
    tip.seq += 1;
    ordinal
}

impl Recorder for CodexRecorder {
    fn place(&self, root: Option<&Path>, scene: Scene<'_>, encoding: Encoding) -> PathBuf {
        match root {
            Some(root) => CodexLayout.place(root, scene.birth, encoding),
            None => CodexLayout.beside(&scene.birth.parent_path, scene.birth),
        }
    }

    fn is_model(&self, facts: &Facts, line: u32) -> bool {
        // Settings that stand in for a context line say more than that.
        let states = |kind| facts.of(line).any(|fact| fact == Fact::Setting(kind));
        states(super::CONTEXT) && !states(super::SETTINGS)
    }

    fn begin(&self, scene: Scene<'_>, _first: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let birth = scene.birth;
        let payload = serde_json::from_slice::<wire::Line<'_>>(scene.header).ok();
        let payload = payload.and_then(|line| line.payload).map_or("{}", Raw::get);
        let parent: wire::Meta<'_> =
            serde_json::from_str(payload).map_err(|error| malformed(1, &error))?;
        let time = json::timestamp(birth.at);
        // Bare rollouts of old clients open in no client of today; the transcript does.
        tip.version = if parent.is_paginated() { PAGINATED } else { LEGACY };
        let session = parent.session_id.as_ref().or(parent.id.as_ref());
        let mut meta = json!({
            "session_id": session.map_or(birth.parent.as_str(), |session| session.0.as_ref()),
            "id": birth.id,
            "parent_thread_id": birth.parent,
            "timestamp": time,
            "cwd": birth.cwd.as_deref().unwrap_or("/"),
            "originator": parent.originator.map_or(r#""codex_cli_rs""#, Raw::get),
            "source": {"subagent": {"other": "side_question"}},
            "thread_source": "subagent",
            "history_mode": if tip.version == PAGINATED { "paginated" } else { "legacy" },
        });
        let kept = [
            ("originator", parent.originator),
            ("cli_version", parent.cli_version),
            ("model_provider", parent.model_provider),
            ("account_scoped", parent.account_scoped),
            ("git", parent.git),
        ];
        for (key, raw) in kept {
            if let Some(value) = raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) {
                meta[key] = value;
            }
        }
        for (key, own) in [("originator", "codex_cli_rs"), ("cli_version", "0.0.0")] {
            if !meta[key].is_string() {
                meta[key] = own.into();
            }
        }
        let ordinal = ordinal(tip);
        let line = Line { timestamp: &time, ordinal, r#type: "session_meta", payload: meta };
        Ok(vec![json::line(&line)])
    }

    fn turn(&self, scene: Scene<'_>, turn: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>> {
        let millis = turn.at.timestamp_millis();
        let seconds = turn.at.timestamp();
        // Turns are told apart from inherited ones by the time in their ids.
        let turn_id = id::dated(millis, &turn.part("turn"));
        let header: Option<wire::Meta<'_>> = serde_json::from_slice::<wire::Line<'_>>(scene.header)
            .ok()
            .and_then(|line| serde_json::from_str(line.payload?.get()).ok());
        let session = header.and_then(|meta| meta.session_id.or(meta.id));
        let session = session.map_or_else(|| scene.birth.parent.clone(), |session| session.owned());
        let mut page = Page {
            tip,
            time: json::timestamp(turn.at),
            millis,
            thread: &scene.birth.id,
            turn: turn_id.clone(),
            lines: Vec::new(),
        };
        page.event(&json!({
            "type": "task_started", "turn_id": turn_id, "root_turn_id": turn_id,
            "started_at": seconds, "model_context_window": null, "collaboration_mode_kind": "default",
        }));
        let context = context(scene, turn, &turn_id, page.tip, &page.time);
        page.lines.push(context);
        let text = &turn.said.question;
        page.put(
            "response_item",
            json!({
                "type": "message", "id": self.mark(turn), "role": "user",
                "content": [{"type": "input_text", "text": text}],
            }),
        );
        page.shows(
            &json!({
                "type": "UserMessage", "id": id::dated(millis, &turn.part("shown")),
                "content": [{"type": "text", "text": text, "text_elements": []}],
            }),
            &json!({"type": "user_message", "message": text, "images": [], "local_images": [], "text_elements": []}),
        );
        let mut sums = [Tokens::default(), turn.before];
        for (nth, paid) in turn.said.auxiliary.iter().enumerate() {
            let digest = turn.part(&format!("auxiliary {nth}"));
            page.spends(paid, &format!("resp_{}", &digest[..32]), &session, &mut sums);
        }
        let said = Some(&turn.said.answer).filter(|answer| !answer.is_empty());
        let digest = turn.part("answer");
        if let Some(answer) = said {
            let id = format!("msg_{}", id::marked(id::RECORDED, &digest));
            page.shows(
                &json!({"type": "AgentMessage", "id": id, "content": [{"type": "Text", "text": answer}]}),
                &json!({"type": "agent_message", "message": answer}),
            );
            page.put(
                "response_item",
                json!({
                    "type": "message", "id": id, "role": "assistant",
                    "content": [{"type": "output_text", "text": answer, "annotations": []}],
                }),
            );
        }
        page.spends(&turn.said.paid, &format!("resp_{}", &digest[..32]), &session, &mut sums);
        if turn.said.paid.stop == Stop::Failed {
            let message = turn.said.error.as_deref().unwrap_or("the side question failed");
            page.event(&json!({"type": "error", "message": message, "codex_error_info": "other"}));
        }
        if turn.said.paid.stop == Stop::Aborted {
            page.event(&json!({
                "type": "turn_aborted", "turn_id": turn_id, "reason": "interrupted",
                "completed_at": seconds, "duration_ms": 0,
            }));
        } else {
            page.event(&json!({
                "type": "task_complete", "turn_id": turn_id, "last_agent_message": said,
                "completed_at": seconds, "duration_ms": 0,
            }));
        }
        Ok(page.lines)
    }

    fn mark(&self, turn: &Exchange) -> String {
        format!("msg_{}", id::marked(id::RECORDED, &turn.digest))
    }

    fn pointer(
        &self,
        _pointer: &Pointer<'_>,
        _parent: &Path,
        _tip: &mut Tip,
        _taken: &dyn Fn(&str) -> bool,
    ) -> Pointing {
        Pointing::Journal // Every line of a log is an item, an event or a setting to the client.
    }
}

/// The line that names the turn's model: the parent's last one with the turn's own values, else a plain one.
fn context(scene: Scene<'_>, turn: &Exchange, turn_id: &str, tip: &mut Tip, time: &str) -> Vec<u8> {
    let line = scene.like;
    let model_line: Option<Envelope<'_>> = serde_json::from_slice(line).ok();
    let model = &turn.said.paid.model;
    let numbered = tip.version == PAGINATED;
    let number = ordinal(tip);
    let fits = |like: &Envelope<'_>| like.ordinal.is_some() == numbered;
    let Some(Envelope { timestamp, ordinal, payload: Some(own) }) = model_line.filter(fits) else {
        let payload = json!({
            "turn_id": turn_id, "cwd": scene.birth.cwd.as_deref().unwrap_or("/"), "approval_policy": "never",
            "sandbox_policy": {"type": "read-only"}, "model": model, "summary": "auto",
        });
        let line = Line { timestamp: time, ordinal: number, r#type: "turn_context", payload };
        return json::line(&line);
    };
    let mut splice = Splice::default();
    let mut put = |raw: Option<Raw<'_>>, with: Vec<u8>| {
        if let Some(raw) = raw {
            splice.replace(range(line, raw), with);
        }
    };
    put(timestamp, json::line(&time));
    put(ordinal, number.unwrap_or_default().to_string().into_bytes());
    put(own.turn_id, json::line(&turn_id));
    put(own.root_turn_id, json::line(&turn_id));
    put(own.model, json::line(model));
    let mode = own.collaboration_mode.and_then(|mode| mode.settings);
    put(mode.and_then(|settings| settings.model), json::line(model));
    splice.apply(line)
}
