//! Calls that left no usage, or not all of it, are told: each once, at its time, by the session that made it.

use std::fs;

use serde_json::{Value, json};

use crate::{
    home::Home,
    made::{
        PARENT, SESSION, answer, claude, codex, event, meta, pi, record, started, sums, told,
        total, write,
    },
};

const OTHER: &str = "22222222-1111-4111-8111-000000000002";

/// A line where a compaction ended.
fn boundary(uuid: &str) -> Value {
    json!({ "type": "system", "subtype": "compact_boundary", "uuid": uuid, "content": "c" })
}

/// The log of the made session as a fork by the client's own flag has it: nothing but the session is another one.
fn fork(home: &Home) {
    let text = fs::read_to_string(home.path(&format!(".claude/projects/-x/{SESSION}.jsonl")));
    let own = answer("own", 3, 3).to_string().replacen('{', "{\"parentUuid\":null,\"isSidechain\":false,\"cwd\":\"/x\",\"sessionId\":\"SESSION\",\"version\":\"2.1.0\",\"timestamp\":\"2026-09-01T11:00:00.000Z\",", 1);
    let text = text.unwrap() + &own.replace("SESSION", SESSION) + "\n";
    write(home, &format!(".claude/projects/-x/{OTHER}.jsonl"), &text.replace(SESSION, OTHER));
}

#[test]
fn a_compaction_that_a_fork_copied_is_told_once() {
    let home = Home::new();
    claude(&home, &[answer("a", 1, 1), boundary("b"), answer("c", 1, 1)]);
    fork(&home);
    let report = told(&home);
    assert_eq!((sums(&report), &report["unrecorded"]), ((3, 10), &1.into()));
    // It is the parent's to tell, as long as that is here.
    assert_eq!(home.report(0, &["usage", OTHER])["unrecorded"], 0);
    assert_eq!(home.report(0, &["usage", SESSION])["unrecorded"], 1);
    let explained = home.report(0, &["usage", "--explain", SESSION]).to_string();
    assert!(explained.contains(r#""rule":"unrecorded""#), "{explained}");
    // A range is one of calls, whether they left usage or not, and of copies.
    for (args, unrecorded, copied) in [
        (&["--since", "2026-09-01T10:00:02Z"][..], 1, 1),
        (&["--until", "2026-09-01T10:00:02Z"], 0, 1),
        (&["--since", "2026-09-01T10:30:00Z"], 0, 0),
    ] {
        for cache in [&[][..], &["--no-cache"]] {
            let report = home.report(0, &[&["usage"], args, cache].concat());
            let told = (&report["unrecorded"], &report["copied"]["records"]);
            assert_eq!(told, (&unrecorded.into(), &copied.into()), "{args:?}");
        }
    }
    fs::remove_file(home.path(&format!(".claude/projects/-x/{SESSION}.jsonl"))).unwrap();
    assert_eq!(told(&home)["unrecorded"], 1);
}

#[test]
fn a_copy_that_lost_its_counters_tells_no_more_than_that_a_call_was_made() {
    let home = Home::new();
    let zero = json!({
        "input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
        "cache_creation": { "ephemeral_5m_input_tokens": 336, "ephemeral_1h_input_tokens": 62 },
    });
    let mut copy = answer("a", 0, 0);
    copy["message"]["usage"] = zero;
    copy["requestSessionId"] = OTHER.into();
    claude(&home, &[copy, answer("b", 1, 1)]);
    let report = told(&home);
    assert_eq!((sums(&report), &report["unrecorded"]), ((1, 2), &1.into()));
    // The log of the session that made it has all of it.
    let whole = answer("a", 100, 10).to_string().replacen('{', &format!("{{\"parentUuid\":null,\"isSidechain\":false,\"cwd\":\"/x\",\"sessionId\":\"{OTHER}\",\"timestamp\":\"2026-09-01T09:00:00.000Z\","), 1);
    write(&home, &format!(".claude/projects/-x/{OTHER}.jsonl"), &(whole + "\n"));
    let report = told(&home);
    assert_eq!((sums(&report), &report["unrecorded"]), ((2, 112), &0.into()));
}

#[test]
fn a_stream_that_broke_off_behind_a_call_leaves_a_lower_bound() {
    let home = Home::new();
    let mut cut = answer("a", 100, 2);
    cut["message"]["stop_reason"] = "tool_use".into();
    let mut said = answer("said", 0, 0);
    said["message"]["model"] = "<synthetic>".into();
    said["isApiErrorMessage"] = true.into();
    said["streamCutCause"] = "stream_truncated".into();
    claude(&home, &[cut.clone(), said, answer("b", 1, 1)]);
    let report = told(&home);
    assert_eq!((sums(&report), &report["lower_bound"]), ((2, 104), &1.into()));
    let explained = home.report(0, &["usage", "--explain", "2026-09-01"]);
    let bounds = explained["explained"].as_array().unwrap().iter();
    assert_eq!(bounds.filter(|one| one["lower_bound"] == true).count(), 1);
    let person = home.run(&["usage", "--explain", "2026-09-01"]).out;
    assert!(person.contains("counted, its output not to the end"), "{person}");
    claude(&home, &[cut, answer("b", 1, 1)]);
    assert_eq!(told(&home)["lower_bound"], 0);
}

#[test]
fn in_pi_what_was_cut_short_is_a_lower_bound_or_left_no_usage() {
    let home = Home::new();
    let said = |id: &str, output: u64, reason: &str, content: &Value| {
        json!({
            "type": "message", "id": id, "parentId": null, "timestamp": "2026-09-01T10:00:05.000Z",
            "message": {
                "role": "assistant", "provider": "p", "model": "m", "responseId": id, "stopReason": reason,
                "content": content, "usage": { "input": output * 10, "output": output },
            },
        })
    };
    let words = json!([{ "type": "text", "text": "half" }]);
    let compaction = json!({
        "type": "compaction", "id": "0000000c", "parentId": null, "timestamp": "2026-09-01T10:00:06.000Z",
        "summary": "s", "tokensBefore": 9,
    });
    pi(
        &home,
        "2026-09-01T10-00-00-000Z_01a05c69-4d00-7000-8000-00000000000a.jsonl",
        "01a05c69-4d00-7000-8000-00000000000a",
        &[
            said("00000001", 2, "aborted", &words),
            said("00000002", 0, "error", &words),
            said("00000003", 0, "error", &json!([])),
            said("00000004", 5, "stop", &words),
            said("00000005", 0, "stop", &words),
            compaction.clone(),
            compaction,
        ],
    );
    let report = told(&home);
    assert_eq!((sums(&report), &report["lower_bound"]), ((2, 77), &1.into()));
    // The second answer, and one compaction, which stands there twice.
    assert_eq!(report["unrecorded"], 2);
}

#[test]
fn in_codex_an_answer_without_usage_before_the_next_one_or_its_turns_end_is_told() {
    let home = Home::new();
    let turn = "01a05c6a-0000-7000-8000-000000000011";
    let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
    let said =
        |id: &str| item(json!({ "type": "message", "role": "assistant", "id": id, "content": [] }));
    let call =
        item(json!({ "type": "function_call", "call_id": "c", "name": "x", "arguments": "" }));
    let result = item(json!({ "type": "function_call_output", "call_id": "c", "output": "" }));
    let ended = event(&json!({ "type": "task_complete", "turn_id": turn }));
    let paid = |id: &str| record(turn, &id.into(), 10);
    for (lines, unrecorded) in [
        (vec![said("msg_1"), paid("r1")], 0),
        (vec![call.clone(), result.clone(), paid("r1"), said("msg_1"), paid("r2")], 0),
        (vec![call.clone(), result.clone(), said("msg_1"), paid("r2")], 1),
        (vec![said("msg_1"), said("msg_2"), paid("r1"), call, result, ended.clone()], 1),
        (vec![said("msg_1"), total(10, 10)], 0),
        (vec![total(10, 10), said("msg_1"), total(10, 10)], 1),
        // Words that the client wrote in the model's name.
        (vec![said("msg_01a05c6a-0000-7000-8000-000000000012")], 0),
    ] {
        let begin = [meta(PARENT, &json!({})), started(turn)];
        codex(&home, PARENT, &[&begin[..], &lines, std::slice::from_ref(&ended)].concat());
        assert_eq!(told(&home)["unrecorded"], unrecorded, "{lines:?}");
    }
}

#[test]
fn in_codex_a_compaction_is_known_by_its_place_where_turns_have_no_ids() {
    let home = Home::new();
    let compacted = |words: &str| json!({ "type": "compacted", "payload": { "message": words } });
    let born = |id: &str| meta(id, &json!({ "forked_from_id": PARENT }));
    let (one, two) =
        ("01a05c72-74c0-7000-8000-000000000002", "01a05c72-74c0-7000-8000-000000000003");
    let begin = [total(100, 100), compacted("all of it"), total(150, 50)];
    codex(&home, PARENT, &[&[meta(PARENT, &json!({}))][..], &begin].concat());
    for id in [one, two] {
        let own = [compacted("own"), total(200, 50)];
        codex(&home, id, &[&[born(id)][..], &begin, &own].concat());
    }
    // The children compacted the same history, but are two.
    let report = told(&home);
    assert_eq!((sums(&report), &report["unrecorded"]), ((4, 250), &3.into()));
    // What both have copied is the parent's, even if that is gone.
    let parent = format!(".codex/sessions/2026/09/01/rollout-2026-09-01T10-10-00-{PARENT}.jsonl");
    fs::remove_file(home.path(&parent)).unwrap();
    let later = [total(999, 999)];
    codex(&home, two, &[&[born(two)][..], &begin, &later].concat());
    let report = told(&home);
    assert_eq!((report["orphans"].clone(), &report["unrecorded"]), (2.into(), &2.into()));
}

#[test]
fn what_left_no_usage_never_tells_copies_of_calls_apart() {
    let born = |id: &str| meta(id, &json!({ "forked_from_id": PARENT }));
    let child = "01a05c72-74c0-7000-8000-000000000002";
    let compacted = |more: &Value| {
        let mut payload = json!({ "message": "all of it" });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "type": "compacted", "payload": payload })
    };
    let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
    let said =
        |id: &str| item(json!({ "type": "message", "role": "assistant", "id": id, "content": [] }));
    let result = item(json!({ "type": "function_call_output", "call_id": "c", "output": "" }));
    let plain = [compacted(&json!({}))];
    let cut = [said("msg_1"), result, said("msg_2")];
    for (theirs, copy, unrecorded) in [
        (&plain[..], &plain[..], 1),
        (&plain, &[compacted(&json!({ "window": 1, "replacement_history": null }))], 1),
        (&plain, &[], 1),
        (&[], &plain, 1),
        (&cut, &cut, 1),
    ] {
        let home = Home::new();
        let log = |middle: &[Value]| {
            [&[total(100, 100)][..], middle, &[total(300, 200), total(350, 50)]].concat()
        };
        codex(&home, PARENT, &[&[meta(PARENT, &json!({}))][..], &log(theirs)].concat());
        codex(&home, child, &[&[born(child)][..], &log(copy), &[total(357, 7)]].concat());
        let report = told(&home);
        let told = (sums(&report), report["unrecorded"].as_u64().unwrap(), &report["orphans"]);
        assert_eq!(told, ((4, 357), unrecorded, &0.into()), "{theirs:?} {copy:?}");
    }
}

#[test]
fn a_call_without_a_time_is_told_where_a_range_is_asked_for() {
    let home = Home::new();
    let name = "old-0.20.0/sessions/2026/11/29/rollout-2026-11-29T16-26-39-094d6f2a-b588-4ddc-a020-7174db8bce43.jsonl";
    home.copy(&format!("codex/{name}"), ".codex/sessions/2026/11/29/rollout-2026-11-29T16-26-39-094d6f2a-b588-4ddc-a020-7174db8bce43.jsonl");
    let whole = home.report(0, &["usage"]);
    assert!(whole["unrecorded"].as_u64().unwrap() > 0 && whole["undated"] == 0, "{whole}");
    let day = home.report(0, &["usage", "--since", "2026-01-01"]);
    assert_eq!((&day["unrecorded"], &day["undated"]), (&0.into(), &whole["unrecorded"]));
}
