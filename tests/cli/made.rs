//! Logs of a few lines, made to show a rule of counting, and what is counted in them.

use std::fs;

use serde_json::{Value, json};

use crate::home::Home;

pub const SESSION: &str = "11111111-1111-4111-8111-000000000001";

/// A transcript of Claude Code: a prompt, and records that lack what all have.
pub fn claude(home: &Home, records: &[Value]) {
    let prompt =
        json!({ "type": "user", "uuid": "u0", "message": { "role": "user", "content": "hi" } });
    let lines = std::iter::once(&prompt).chain(records).enumerate().map(|(nth, record)| {
        let mut line = json!({
            "parentUuid": null, "isSidechain": false, "cwd": "/x", "sessionId": SESSION, "version": "2.1.0",
            "timestamp": format!("2026-09-01T10:00:{nth:02}.000Z"),
        });
        line.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
        line.to_string() + "\n"
    });
    write(home, &format!(".claude/projects/-x/{SESSION}.jsonl"), &lines.collect::<String>());
}

pub fn write(home: &Home, name: &str, text: &str) {
    let path = home.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn answer(id: &str, input: u64, output: u64) -> Value {
    let usage = json!({ "input_tokens": input, "output_tokens": output });
    let message = json!({ "id": id, "model": "m", "stop_reason": "end_turn", "usage": usage });
    json!({ "type": "assistant", "uuid": format!("{id}-{input}"), "message": message })
}

/// The completions and the tokens of a report.
pub fn sums(report: &Value) -> (u64, u64) {
    (report["completions"].as_u64().unwrap(), report["totals"]["total"].as_u64().unwrap())
}

/// The same, with and without the index, and by the way that tells of every record.
pub fn told(home: &Home) -> Value {
    let report = home.report(0, &["usage", "--by", "kind", "--by", "model"]);
    let plain = home.report(0, &["usage", "--by", "kind", "--by", "model", "--no-cache"]);
    assert_eq!(report, plain);
    let day = home.report(0, &["usage", "--explain", "2026-09-01"]);
    assert_eq!(day["completions"], report["completions"]);
    let explained = day["explained"].as_array().unwrap().iter();
    let total: u64 = explained.filter_map(|one| one["total"].as_u64()).sum();
    assert_eq!(total, report["totals"]["total"].as_u64().unwrap());
    report
}

pub const PARENT: &str = "01a05c69-4d00-7000-8000-000000000001";

pub fn codex(home: &Home, id: &str, lines: &[Value]) {
    let line = |line: &Value| {
        let mut line = line.clone();
        if line["timestamp"].is_null() {
            line["timestamp"] = "2026-09-01T10:10:00.000Z".into();
        }
        line.to_string() + "\n"
    };
    let name = format!(".codex/sessions/2026/09/01/rollout-2026-09-01T10-10-00-{id}.jsonl");
    write(home, &name, &lines.iter().map(line).collect::<String>());
}

pub fn meta(id: &str, more: &Value) -> Value {
    let mut payload = json!({
        "id": id, "timestamp": "2026-09-01T10:10:00.000Z", "cwd": "/x", "originator": "codex",
        "cli_version": "0.90.0", "source": "cli", "model_provider": "openai",
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "type": "session_meta", "payload": payload })
}

pub fn child(id: &str) -> Value {
    let source = json!({ "subagent": { "thread_spawn": { "parent_thread_id": PARENT } } });
    meta(id, &json!({ "source": source, "forked_from_id": PARENT }))
}

pub fn event(payload: &Value) -> Value {
    json!({ "type": "event_msg", "payload": payload })
}

pub fn total(total: u64, last: u64) -> Value {
    let counts = |input: u64| {
        json!({
            "input_tokens": input, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0,
            "total_tokens": input,
        })
    };
    let info = json!({ "total_token_usage": counts(total), "last_token_usage": counts(last) });
    event(&json!({ "type": "token_count", "info": info }))
}

pub fn started(turn: &str) -> Value {
    event(&json!({ "type": "task_started", "turn_id": turn }))
}

pub fn record(turn: &str, response: &Value, input: u64) -> Value {
    let usage = json!({ "input_tokens": input, "output_tokens": 0, "total_tokens": input });
    let payload =
        json!({ "thread_id": PARENT, "turn_id": turn, "response_id": response, "usage": usage });
    json!({ "type": "token_usage_record", "payload": payload })
}

pub fn pi(home: &Home, name: &str, id: &str, entries: &[Value]) {
    let header = json!({
        "type": "session", "version": 3, "id": id, "timestamp": "2026-09-01T10:00:00.000Z", "cwd": "/x",
    });
    let lines = std::iter::once(&header).chain(entries).map(|entry| entry.to_string() + "\n");
    write(home, &format!(".pi/agent/sessions/--x--/{name}"), &lines.collect::<String>());
}

pub fn spent(nth: u32, role: &str, input: u64) -> Value {
    let usage = json!({ "input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
    let message = json!({
        "role": role, "provider": "p", "model": "m", "content": [], "stopReason": "stop", "usage": usage,
    });
    json!({
        "type": "message", "id": format!("{nth:08x}"), "parentId": null,
        "timestamp": format!("2026-09-01T10:00:{nth:02}.000Z"), "message": message,
    })
}
