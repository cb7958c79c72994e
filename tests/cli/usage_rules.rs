//! What one billed completion is, rule by rule, on logs of a few lines.

use std::fs;

use serde_json::{Value, json};

use crate::{
    home::Home,
    made::{
        PARENT, SESSION, answer, child, claude, codex, meta, pi, record, spent, started, sums,
        told, total, write,
    },
};

#[test]
fn a_tie_is_won_by_the_record_that_tells_its_calls_apart_and_then_by_the_final_one() {
    let home = Home::new();
    let mut apart = answer("a", 5, 10);
    apart["message"]["stop_reason"] = Value::Null;
    let call = json!([{ "type": "message", "input_tokens": 5, "output_tokens": 10 }]);
    apart["message"]["usage"]["iterations"] = call;
    let mut early = answer("b", 90, 10);
    early["message"]["stop_reason"] = Value::Null;
    claude(&home, &[apart, answer("a", 9, 10), early, answer("b", 7, 10)]);
    assert_eq!(sums(&told(&home)), (2, 15 + 17));
}

#[test]
fn what_stands_in_a_line_where_its_kind_has_nothing_is_not_paid() {
    let home = Home::new();
    let inner = answer("inner", 1000, 1000);
    let mut odd = answer("odd", 0, 0);
    odd["message"].as_object_mut().unwrap().remove("usage");
    odd["data"] = json!({ "message": inner });
    let mut progress = answer("told", 100, 100);
    progress["type"] = "progress".into();
    progress["data"] =
        json!({ "message": { "type": "assistant", "message": { "note": "usage" } } });
    claude(&home, &[answer("a", 1, 1), odd, progress]);
    assert_eq!(sums(&told(&home)), (1, 2));
}

#[test]
fn what_was_paid_counts_without_an_id_of_the_record_and_without_an_end_of_the_line() {
    let home = Home::new();
    let mut nameless = answer("b", 10, 10);
    nameless.as_object_mut().unwrap().remove("uuid");
    let inner = answer("c", 100, 100);
    let mut progress = json!({ "type": "progress", "data": { "message": inner } });
    claude(&home, &[answer("a", 1, 1), nameless, progress.take(), answer("d", 1000, 1000)]);
    let report = told(&home);
    assert_eq!(
        (sums(&report), &report["broken_lines"], &report["torn_tails"]),
        ((4, 2222), &1.into(), &0.into())
    );
    let path = home.path(&format!(".claude/projects/-x/{SESSION}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();
    let report = told(&home);
    assert_eq!((sums(&report), &report["torn_tails"]), ((4, 2222), &1.into()));
    // Cut in its middle it is no record.
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    let report = told(&home);
    assert_eq!((sums(&report), &report["torn_tails"]), ((3, 222), &1.into()));
}

#[test]
fn an_error_that_a_model_was_paid_for_counts() {
    let home = Home::new();
    let mut paid = answer("b", 10, 10);
    paid["isApiErrorMessage"] = true.into();
    let mut own = answer("c", 7, 7);
    own["isApiErrorMessage"] = true.into();
    own["message"]["model"] = "<synthetic>".into();
    claude(&home, &[answer("a", 1, 1), paid, own]);
    assert_eq!(sums(&told(&home)), (2, 22));
}

#[test]
fn a_session_alone_is_without_its_helpers_calls() {
    let home = Home::new();
    let inner = answer("helper", 10, 1);
    let progress = json!({ "type": "progress", "uuid": "p", "data": { "message": inner } });
    claude(&home, &[answer("a", 1, 1), progress]);
    let mut own = answer("helper", 10, 10);
    own["isSidechain"] = true.into();
    own["sessionId"] = SESSION.into();
    own["agentId"] = "0123abcd".into();
    own["timestamp"] = "2026-09-01T10:00:01.000Z".into();
    let agent = format!(".claude/projects/-x/{SESSION}/subagents/agent-0123abcd.jsonl");
    write(&home, &agent, &(own.to_string() + "\n"));
    assert_eq!(sums(&told(&home)), (2, 22));
    assert_eq!(sums(&home.report(0, &["usage", SESSION])), (2, 22));
    assert_eq!(sums(&home.report(0, &["usage", SESSION, "--own"])), (1, 2));
    // Without a log of its own there is nothing else to count it by.
    fs::remove_file(home.path(&agent)).unwrap();
    assert_eq!(sums(&home.report(0, &["usage", SESSION, "--own"])), (2, 2 + 11));
}

#[test]
fn of_a_parent_that_is_gone_what_stands_before_a_childs_first_turn_is_the_parents() {
    let home = Home::new();
    for nth in 2..4 {
        let id = format!("01a05c72-74c0-7000-8000-00000000000{nth}");
        let turn = started(&format!("01a05c72-9bd0-7000-8000-00000000001{nth}"));
        // Both make calls with the same figures, which are paid twice.
        let calls = [total(350, 50), total(430, 80)];
        let copied = [child(&id), meta(PARENT, &json!({})), total(100, 100), total(300, 200), turn];
        codex(&home, &id, &[&copied[..], &calls[..]].concat());
    }
    let report = told(&home);
    assert_eq!((sums(&report), &report["orphans"]), ((6, 560), &2.into()));
    let rows: Vec<(&str, u64)> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["kind"].as_str().unwrap(), row["total"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("main", 300), ("subagent", 260)]);
}

#[test]
fn a_fork_of_a_fork_that_is_gone_begins_with_what_the_first_session_was_paid() {
    let begun = |id: &str, minute: u32, parent: Option<&str>| {
        let mut header = meta(id, &json!({ "forked_from_id": parent }));
        header["payload"]["timestamp"] = format!("2026-09-01T10:{minute:02}:00.000Z").into();
        header
    };
    let (middle, last) =
        ("01a05c6a-0000-7000-8000-000000000002", "01a05c6b-0000-7000-8000-000000000003");
    let calls = [total(100, 100), total(300, 200), total(350, 50), total(430, 80)];
    let home = Home::new();
    codex(&home, PARENT, &[&[begun(PARENT, 0, None)][..], &calls[..2]].concat());
    let headers =
        [begun(last, 9, Some(middle)), begun(middle, 5, Some(PARENT)), begun(PARENT, 0, None)];
    codex(&home, last, &[&headers[..], &calls[..]].concat());
    assert_eq!(sums(&told(&home)), (4, 430));
    // So do two whose own parents are both gone.
    fs::remove_dir_all(home.path(".codex")).unwrap();
    codex(&home, last, &[&headers[..], &calls[..3]].concat());
    let cousin = "01a05c6c-0000-7000-8000-000000000004";
    let headers = [begun(cousin, 20, Some(PARENT)), begun(PARENT, 0, None)];
    codex(&home, cousin, &[&headers[..], &calls[..2], &[total(307, 7)]].concat());
    assert_eq!(sums(&told(&home)), (4, 350 + 7));
}

#[test]
fn what_an_agents_log_numbers_as_its_parents_is_the_parents() {
    let id = "01a05c72-74c0-7000-8000-000000000002";
    let mut first = child(id);
    first["payload"]["history_mode"] = "paginated".into();
    first["payload"]["subagent_history_start_ordinal"] = 3.into();
    let turn = started("01a05c72-9bd0-7000-8000-000000000012");
    let mut lines = [first, total(100, 100), total(300, 200), turn, total(350, 50)];
    for (ordinal, line) in lines.iter_mut().enumerate() {
        line["ordinal"] = ordinal.into();
    }
    let home = Home::new();
    codex(&home, id, &lines);
    let report = told(&home);
    assert_eq!((sums(&report), &report["orphans"]), ((3, 350), &2.into()));
    let turn = started("01a05c6a-0000-7000-8000-000000000011");
    codex(&home, PARENT, &[meta(PARENT, &json!({})), turn, total(100, 100), total(300, 200)]);
    let report = told(&home);
    assert_eq!((sums(&report), &report["orphans"]), ((3, 350), &0.into()));
    assert_eq!(report["copied"], json!({ "records": 2, "total": 300 }));
}

#[test]
fn a_total_that_a_child_goes_on_with_is_without_its_parents_calls() {
    let plain = |sum: u64| {
        let mut event = total(sum, 0);
        event["payload"]["info"].as_object_mut().unwrap().remove("last_token_usage");
        event
    };
    let at = |mut event: Value, time: &str| {
        event["timestamp"] = format!("2026-09-01T{time}.000Z").into();
        event
    };
    let born = |id: &str, parent: &str, time: &str| {
        let created = format!("2026-09-01T{time}.000Z");
        meta(id, &json!({ "forked_from_id": parent, "timestamp": created }))
    };
    let (id, third) =
        ("01a05c72-74c0-7000-8000-000000000002", "01a05c7b-9c80-7000-8000-000000000003");
    let home = Home::new();
    // A counter that starts anew, and a call behind the fork.
    let calls = [
        at(total(1000, 1000), "10:11:00"),
        at(total(100, 100), "10:12:00"),
        at(total(300, 200), "10:13:00"),
        at(total(900, 600), "10:25:00"),
    ];
    codex(&home, PARENT, &[&[meta(PARENT, &json!({}))][..], &calls].concat());
    let own = [at(plain(350), "10:21:00"), at(plain(380), "10:22:00")];
    codex(&home, id, &[&[born(id, PARENT, "10:20:00")][..], &own].concat());
    assert_eq!(sums(&told(&home)), (6, 1900 + 50 + 30));
    assert_eq!(sums(&home.report(0, &["usage", id])), (2, 50 + 30));
    // A child of the child, which first says its parent's total again.
    let own = [at(plain(350), "10:31:00"), at(plain(357), "10:32:00")];
    codex(&home, third, &[&[born(third, id, "10:21:30")][..], &own].concat());
    let report = told(&home);
    assert_eq!((sums(&report), &report["weak_keys"]), ((7, 1900 + 80 + 7), &0.into()));
    let rows = report["rows"].as_array().unwrap().iter();
    let kinds: Vec<(&str, u64)> =
        rows.map(|row| (row["kind"].as_str().unwrap(), row["total"].as_u64().unwrap())).collect();
    assert_eq!(kinds, [("fork", 87), ("main", 1900)]);
    // Nobody knows what a parent came to whose log is gone.
    let log = |id: &str| {
        home.path(&format!(".codex/sessions/2026/09/01/rollout-2026-09-01T10-10-00-{id}.jsonl"))
    };
    fs::remove_file(log(third)).unwrap();
    fs::remove_file(log(PARENT)).unwrap();
    let report = told(&home);
    assert_eq!((sums(&report), &report["weak_keys"]), ((2, 380), &1.into()));
}

#[test]
fn a_turns_model_may_be_named_behind_other_turns() {
    let context = |turn: &str, model: &str| json!({ "type": "turn_context", "payload": { "turn_id": turn, "model": model, "cwd": "/x" } });
    let home = Home::new();
    codex(
        &home,
        PARENT,
        &[
            meta(PARENT, &json!({})),
            context("ta", "ma"),
            record("ta", &"r1".into(), 10),
            record("tb", &"r2".into(), 20),
            record("tc", &"r3".into(), 40),
            context("tc", "mc"),
            context("tb", "mb"),
        ],
    );
    let report = told(&home);
    let rows = report["rows"].as_array().unwrap().iter();
    let models: Vec<(&str, u64)> =
        rows.map(|row| (row["model"].as_str().unwrap(), row["total"].as_u64().unwrap())).collect();
    assert_eq!(models, [("ma", 10), ("mb", 20), ("mc", 40)]);
}

#[test]
fn a_response_without_an_id_counts_and_a_compactions_is_known_by_its_id_alone() {
    let home = Home::new();
    let compacted = json!({ "message": "all of it", "compaction_response_id": "r2" });
    codex(
        &home,
        PARENT,
        &[
            meta(PARENT, &json!({})),
            record("t", &Value::Null, 10),
            record("t", &"r2".into(), 20),
            json!({ "type": "compacted", "payload": compacted }),
        ],
    );
    let report = told(&home);
    assert_eq!((sums(&report), &report["weak_keys"]), ((2, 30), &1.into()));
    let rows = report["rows"].as_array().unwrap().iter();
    let kinds: Vec<(&str, u64)> =
        rows.map(|row| (row["kind"].as_str().unwrap(), row["total"].as_u64().unwrap())).collect();
    assert_eq!(kinds, [("compaction", 20), ("main", 10)]);
}

#[test]
fn of_a_counter_that_comes_twice_the_last_counts_as_in_the_clients() {
    let twice = |path: &std::path::Path, once: &str, twice: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(once), "{once} in {text}");
        fs::write(path, text.replace(once, twice)).unwrap();
    };
    let home = Home::new();
    claude(&home, &[answer("a", 1, 1), answer("b", 10, 10)]);
    let log = home.path(&format!(".claude/projects/-x/{SESSION}.jsonl"));
    twice(&log, r#""output_tokens":10"#, r#""output_tokens":3,"output_tokens":10"#);
    assert_eq!(sums(&told(&home)), (2, 22));

    let home = Home::new();
    codex(&home, PARENT, &[meta(PARENT, &json!({})), total(100, 100), total(300, 200)]);
    let log = home
        .path(&format!(".codex/sessions/2026/09/01/rollout-2026-09-01T10-10-00-{PARENT}.jsonl"));
    twice(&log, r#""input_tokens":200"#, r#""input_tokens":7,"input_tokens":200"#);
    assert_eq!(sums(&told(&home)), (2, 300));

    let home = Home::new();
    let log = home.pi();
    let before = sums(&home.report(0, &["usage"]));
    twice(&log, r#""usage":{"input":"#, r#""usage":{"input":5,"input":"#);
    assert_eq!(sums(&home.report(0, &["usage", "--no-cache"])), before);
}

#[test]
fn a_sum_of_a_session_that_a_tool_ran_is_not_paid_beside_that() {
    const OWN: &str = "2026-09-01T10-00-00-000Z_01a0d239-fe96-7532-bec6-000000000001";
    let home = Home::new();
    let id = |nth: u32| format!("01a0d239-fe96-7532-bec6-00000000000{nth}");
    let own = [spent(1, "assistant", 15), spent(2, "toolResult", 330), spent(3, "toolResult", 7)];
    pi(&home, &format!("{OWN}.jsonl"), &id(1), &own);
    // Alone it is all that there is.
    assert_eq!(sums(&told(&home)), (3, 352));
    let run = [spent(11, "assistant", 110), spent(12, "assistant", 220)];
    pi(&home, &format!("{OWN}/run-0/session.jsonl"), &id(2), &run);
    assert_eq!(sums(&told(&home)), (4, 352));
    // Some call the folder after the session.
    let [log, other] = [OWN, &id(1)].map(|name| format!(".pi/agent/sessions/--x--/{name}"));
    fs::rename(home.path(&log), home.path(&other)).unwrap();
    assert_eq!(sums(&told(&home)), (4, 352));
    fs::rename(home.path(&other), home.path(&log)).unwrap();
    // A fork says it again, and so does a copy of the log elsewhere.
    let fork = "2026-09-01T11-00-00-000Z_01a0d239-fe96-7532-bec6-000000000003";
    pi(&home, &format!("{fork}.jsonl"), &id(3), &own);
    let text =
        fs::read_to_string(home.path(&format!(".pi/agent/sessions/--x--/{fork}.jsonl"))).unwrap();
    let parent = home.path(&format!(".pi/agent/sessions/--x--/{OWN}.jsonl")).display().to_string();
    let named = format!("\"parentSession\":{parent:?},\"timestamp\":\"2026-09-01T11:00:00.000Z\"");
    let text = text.replacen("\"timestamp\":\"2026-09-01T10:00:00.000Z\"", &named, 1);
    assert!(text.contains("parentSession"));
    write(&home, &format!(".pi/agent/sessions/--x--/{fork}.jsonl"), &text);
    let copy = fs::read_to_string(&parent).unwrap();
    write(&home, &format!(".pi/agent/sessions/--y--/{OWN}.jsonl"), &copy);
    assert_eq!(sums(&told(&home)), (4, 352));
}

#[test]
fn a_record_that_its_client_refuses_is_a_broken_line() {
    let home = Home::new();
    let mut odd = spent(2, "assistant", 100);
    odd["message"]["stopReason"] = 7.into();
    let name = "2026-09-01T10-00-00-000Z_01a0d239-fe96-7532-bec6-000000000001.jsonl";
    pi(&home, name, "01a0d239-fe96-7532-bec6-000000000001", &[spent(1, "assistant", 15), odd]);
    let report = told(&home);
    assert_eq!((sums(&report), &report["broken_lines"]), ((1, 15), &1.into()));
    assert_eq!(report["damaged"][0]["broken_lines"], 1);
}

#[test]
fn a_compaction_that_left_no_usage_is_told_once_and_by_its_own_session() {
    let home = Home::new();
    let compacted = json!({ "type": "compacted", "payload": { "message": "all of it" } });
    let turn = started("01a05c6a-0000-7000-8000-000000000011");
    codex(
        &home,
        PARENT,
        &[meta(PARENT, &json!({})), turn.clone(), total(100, 100), compacted.clone()],
    );
    assert_eq!(told(&home)["unrecorded"], 1);
    // A child has a copy of it.
    let id = "01a05c72-74c0-7000-8000-000000000002";
    let own = started("01a05c72-9bd0-7000-8000-000000000012");
    let copied = [child(id), meta(PARENT, &json!({})), turn, total(100, 100), compacted];
    codex(&home, id, &[&copied[..], &[own, total(150, 50)]].concat());
    let report = told(&home);
    assert_eq!((sums(&report), &report["unrecorded"]), ((2, 150), &1.into()));
    // A compaction of another client that has a log of its own says nothing of it.
    claude(&home, &[answer("a", 1, 1)]);
    let mut call = answer("summary", 9, 9);
    call["isSidechain"] = true.into();
    call["agentId"] = "acompact-0123ab".into();
    call["sessionId"] = SESSION.into();
    call["timestamp"] = "2026-09-01T10:00:01.000Z".into();
    let agent = format!(".claude/projects/-x/{SESSION}/subagents/agent-acompact-0123ab.jsonl");
    write(&home, &agent, &(call.to_string() + "\n"));
    let report = told(&home);
    assert_eq!((sums(&report), &report["unrecorded"]), ((4, 170), &1.into()));
}

#[test]
fn a_childs_calls_are_the_childs_whichever_of_its_ancestors_are_gone() {
    let id = |nth: u32| format!("01a2282d-9435-71aa-9554-b510a3eabc1{nth}");
    let path = |home: &Home, nth: u32| {
        home.path(&format!(".prime/agent/sessions/{}.jsonl", id(nth))).display().to_string()
    };
    let usage =
        |input: u64| json!({ "input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
    let mut own = spent(2, "assistant", 8);
    own["timestamp"] = "2026-09-01T10:00:21.000Z".into();
    // A session, a fork of it and a fork of that: in forks an answer holds what its child cost.
    let told_of = json!({
        "type": "child_usage_attributed", "id": "000000aa", "parentId": "00000001", "targetId": "00000001",
        "timestamp": "2026-09-01T10:00:06.000Z", "childUsage": usage(33), "aggregateUsage": usage(143),
    });
    for gone in [&[][..], &[0], &[1], &[0, 1]] {
        let home = Home::new();
        let log = |name: &str, nth: u32, depth: u32, parent: Option<u32>, entries: &[Value]| {
            let begun = if depth > 0 { 5 } else { 10 * nth };
            let header = json!({
                "type": "session", "version": 3, "id": id(nth), "timestamp": format!("2026-09-01T10:00:{begun:02}.000Z"),
                "cwd": "/x", "rlmDepth": depth, "parentSession": parent.map(|parent| path(&home, parent)),
            });
            let lines =
                std::iter::once(&header).chain(entries).map(|entry| entry.to_string() + "\n");
            write(&home, name, &lines.collect::<String>());
        };
        for (nth, parent) in [(0, None), (1, Some(0)), (2, Some(1))] {
            let held = spent(1, "assistant", if nth == 0 { 110 } else { 143 });
            let entries = [held, told_of.clone(), own.clone()];
            let entries = if nth == 2 { &entries[..] } else { &entries[..2] };
            if !gone.contains(&nth) {
                log(&format!(".prime/agent/sessions/{}.jsonl", id(nth)), nth, 0, parent, entries);
            }
        }
        let folder = format!(".prime/agent/session-artifacts/{}/sub-9a8b7c6d", id(0));
        let child = [spent(11, "assistant", 33)];
        log(&format!("{folder}/{}.jsonl", id(3)), 3, 1, Some(0), &child);
        let report = home.report(0, &["usage", "--no-cache"]);
        assert_eq!(sums(&report), (3, 110 + 33 + 8), "without {gone:?}: {report}");
    }
}

#[test]
fn in_dsh_an_answer_without_an_id_counts_and_so_does_an_attempt_that_ended_its_turn() {
    let fixture = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dsh").join(name);
        fs::read_to_string(path).unwrap()
    };
    let tell = |text: &str| {
        let home = Home::new();
        write(&home, "log.jsonl", text);
        let report = home.report(0, &["usage", "log.jsonl", "--no-cache"]);
        (sums(&report), report["weak_keys"].as_u64().unwrap())
    };
    let is_answer = |line: &&str| line.contains(r#""type":"assistant/message""#);
    // The id is what stands behind the source of the first answer.
    let text = fixture("v4-compact.jsonl");
    let (whole, weak) = tell(&text);
    let answer = text.lines().find(is_answer).unwrap();
    let start = answer.find(r#","id":""#).unwrap();
    let end = start + answer[start..].find("},").unwrap();
    let nameless = text.replace(answer, &[&answer[..start], &answer[end..]].concat());
    assert_ne!(nameless, text);
    assert_eq!(tell(&nameless), (whole, weak + 1));
    // In format 0 a sample of the counters comes before the answer.
    let text = fixture("v0-plain.jsonl");
    let (whole, weak) = tell(&text);
    let answer = text.lines().find(is_answer).unwrap();
    let cut: String = text.split_inclusive('\n').filter(|line| line.trim_end() != answer).collect();
    assert_eq!(tell(&cut), (whole, weak + 1));
}

#[test]
fn a_copy_that_names_the_maker_makes_no_fork_of_it() {
    const COPY: &str = "44444444-1111-4111-8111-000000000003";
    let home = Home::new();
    claude(&home, &[answer("a", 1, 1), answer("b", 2, 2)]);
    // A fork of a fork that is gone: its copies name that one, and who made the calls.
    let log = format!(".claude/projects/-x/{SESSION}.jsonl");
    let text = fs::read_to_string(home.path(&log)).unwrap();
    let copied = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["sessionId"] = COPY.into();
        line["forkedFrom"] = json!({ "sessionId": "33333333-1111-4111-8111-000000000002", "messageUuid": line["uuid"] });
        line["requestSessionId"] = SESSION.into();
        line.to_string() + "\n"
    };
    let lines: String = text.lines().map(copied).collect();
    write(&home, &format!(".claude/projects/-x/{COPY}.jsonl"), &lines);
    claude(&home, &[answer("a", 1, 1), answer("b", 2, 2), answer("c", 3, 3)]);
    let report = told(&home);
    assert_eq!((sums(&report), &report["orphans"]), ((3, 12), &0.into()));
    assert_eq!(report["rows"][0]["kind"], "main");
    assert_eq!(sums(&home.report(0, &["usage", SESSION])), (3, 12));
}

#[test]
fn a_fork_of_a_fork_that_is_gone_keeps_the_times_and_is_no_double() {
    // Nothing names a turn, and the times are those of the first session.
    let (gone, last) =
        ("01a05c6b-0000-7000-8000-000000000002", "01a05c72-74c0-7000-8000-000000000003");
    let calls = [total(100, 100), total(300, 200)];
    let home = Home::new();
    let older = json!({ "timestamp": "2026-09-01T09:00:00.000Z" });
    codex(&home, PARENT, &[&[meta(PARENT, &older)][..], &calls].concat());
    let born = |id: &str| {
        let created = "2026-09-01T12:00:00.000Z";
        meta(id, &json!({ "forked_from_id": gone, "timestamp": created }))
    };
    codex(&home, last, &[&[born(last)][..], &calls].concat());
    let report = told(&home);
    assert_eq!((sums(&report), &report["orphans"]), ((2, 300), &0.into()));
    // Without it two children have one parent.
    let log = format!(".codex/sessions/2026/09/01/rollout-2026-09-01T10-10-00-{PARENT}.jsonl");
    fs::remove_file(home.path(&log)).unwrap();
    let other = "01a05c72-74c0-7000-8000-000000000004";
    codex(&home, other, &[&[born(other)][..], &calls].concat());
    let report = told(&home);
    assert_eq!((sums(&report), &report["orphans"]), ((2, 300), &2.into()));
}

#[test]
fn what_a_client_asks_by_itself_owns_nothing_that_it_copied() {
    let home = Home::new();
    claude(&home, &[answer("a", 1, 1)]);
    let helper = |id: &str, at: &str| {
        let mut line = answer(id, 1, 1);
        line["isSidechain"] = true.into();
        line["agentId"] = "aprompt_suggestion-0123456789abcdef".into();
        line["sessionId"] = SESSION.into();
        line["timestamp"] = format!("2026-09-01T10:00:{at}.000Z").into();
        line.to_string() + "\n"
    };
    let agent = format!(
        ".claude/projects/-x/{SESSION}/subagents/agent-aprompt_suggestion-0123456789abcdef.jsonl"
    );
    write(&home, &agent, &(helper("a", "01") + &helper("own", "05")));
    let kinds = || {
        let report = told(&home);
        let rows = report["rows"].as_array().unwrap().clone();
        let kinds: Vec<String> =
            rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect();
        (kinds.join(" "), report["orphans"].as_u64().unwrap())
    };
    assert_eq!(kinds(), ("aside main".into(), 0));
    let other = home.path(&format!(".claude/projects/-x/{SESSION}.jsonl"));
    fs::remove_file(other).unwrap();
    // Nothing but the copy tells of the parent's answer.
    assert_eq!(told(&home)["completions"], 2);
}

#[test]
fn an_advisor_of_a_helper_is_the_helpers() {
    let home = Home::new();
    let mut inner = answer("h", 10, 10);
    inner["message"]["usage"]["iterations"] = json!([{ "type": "advisor_message", "model": "big", "input_tokens": 100, "output_tokens": 1 }]);
    let progress = json!({ "type": "progress", "uuid": "p", "data": { "message": inner } });
    claude(&home, &[answer("a", 1, 1), progress]);
    let mut own = inner;
    own["isSidechain"] = true.into();
    own["sessionId"] = SESSION.into();
    own["agentId"] = "a0123abcd".into();
    own["timestamp"] = "2026-09-01T10:00:01.000Z".into();
    let agent = format!(".claude/projects/-x/{SESSION}/subagents/agent-a0123abcd.jsonl");
    write(&home, &agent, &(own.to_string() + "\n"));
    assert_eq!(sums(&told(&home)), (3, 2 + 20 + 101));
    let report = home.report(0, &["usage", "--by", "session", "--by", "kind"]);
    let rows = report["rows"].as_array().unwrap().iter();
    let advisor = rows.clone().find(|row| row["kind"] == "advisor").unwrap();
    assert_eq!(advisor["session"], "agent-a0123abcd", "{report}");
}

#[test]
fn what_codex_printed_counts_where_no_log_says_it() {
    let home = Home::new();
    let turn = |input: u64| {
        let usage = json!({ "input_tokens": input, "cached_input_tokens": 5, "output_tokens": 2 });
        json!({ "type": "turn.completed", "usage": usage }).to_string() + "\n"
    };
    let item =
        json!({ "type": "item.completed", "item": { "type": "agent_message", "text": "x" } });
    let begin = json!({ "type": "thread.started", "thread_id": PARENT });
    let text = format!("{begin}\n{item}\n{}{}", turn(10), turn(10));
    write(&home, "logs/exec.jsonl", &text);
    let report = home.report(0, &["usage", "logs"]);
    assert_eq!((sums(&report), &report["weak_keys"]), ((2, 24), &2.into()));
    assert_eq!(report["rows"][0]["session"], PARENT);
    assert_eq!(sums(&home.report(0, &["usage", "logs/exec.jsonl"])), (2, 24));
    // They have no time, which is told where one is asked for.
    let day = home.report(0, &["usage", "logs", "--since", "2026-09-01"]);
    assert_eq!((sums(&day), &day["undated"]), ((0, 0), &2.into()));
    // It is no log to any other verb.
    assert_eq!(home.report(5, &["replay", "logs/exec.jsonl"])["code"], "FORMAT_UNKNOWN");
    codex(&home, PARENT, &[meta(PARENT, &json!({})), total(300, 300)]);
    fs::rename(home.path(".codex"), home.path("logs/codex")).unwrap();
    assert_eq!(sums(&home.report(0, &["usage", "logs"])), (1, 300));
}
