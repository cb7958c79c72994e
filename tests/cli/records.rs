//! `side --record`: side conversations that another program held.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::home::{Home, PI_ID, ran, word};

/// Three settled turns: a plain one, one with two auxiliary completions, one that failed and was billed.
const TURNS: &str = r#"{"question":"What is the file called?","answer":"notes.txt","provider":"loop","model":"demo-large","usage":{"input":100,"cache_read":1200,"output":4},"stopReason":"stop","requestId":"r1"}
{"question":"And how many lines?","answer":"Three lines.","provider":"loop","model":"demo-large","usage":{"input":120,"cache_read":1250,"output":6,"reasoning":2},"stopReason":"stop","requestId":"r2","auxiliary":[{"purpose":"summary","usage":{"input":800,"output":40}},{"purpose":"overflow","model":"demo-small","usage":{"input":2100}}]}

{"question":"Will this bill me?","provider":"loop","model":"demo-small","usage":{"input":700,"cache_write_5m":10,"cache_write_1h":5,"output":3},"stopReason":"error","error":"boom","requestId":"r3"}
"#;
/// What these cost.
const SPENT: u64 = 1304 + 1376 + 840 + 2100 + 718;

/// A session of each client and form where the client keeps it, with the marks of its own folder.
pub fn sessions(home: &Home) -> Vec<(&'static str, PathBuf)> {
    let claude = "11111111-1111-4111-8111-000000000001";
    let codex = "rollout-2026-11-29T16-25-56-01a22820-a1cd-78f0-a7db-aadcf675cf49.jsonl";
    let legacy = "rollout-2026-11-29T16-26-11-01a22820-d992-7883-b853-2f16776d94ba.jsonl";
    let prime = "01a2282d-9435-71aa-9554-b510a3eabc16";
    let early = "01a2282d-9555-7502-ad69-5e7ca1f44ef4";
    let day = "sessions/2026/11/29";
    vec![
        ("pi", home.pi()),
        ("dsh 0", home.dsh("v0-parent.jsonl", "demo-parent", "session.jsonl")),
        ("dsh 4", home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl")),
        (
            "claude",
            home.copy(
                &format!("claude-code/plain-and-fork/projects/-home-ada-webshop/{claude}.jsonl"),
                &format!(".claude/projects/-home-ada-webshop/{claude}.jsonl"),
            ),
        ),
        (
            "codex",
            home.copy(
                &format!("codex/fork-paginated/{day}/{codex}"),
                &format!(".codex/{day}/{codex}"),
            ),
        ),
        (
            "codex legacy",
            home.copy(
                &format!("codex/legacy-fork/{day}/{legacy}"),
                &format!(".codex/{day}/{legacy}"),
            ),
        ),
        (
            "prime",
            home.copy(
                &format!("prime/.prime/agent/sessions/{prime}.jsonl"),
                &format!(".prime/agent/sessions/{prime}.jsonl"),
            ),
        ),
        // A parent without any answer yet.
        (
            "prime, early",
            home.copy(
                &format!("prime/.prime/agent/sessions/{early}.jsonl"),
                &format!(".prime/agent/sessions/{early}.jsonl"),
            ),
        ),
    ]
}

fn told(home: &Home, text: &str) -> PathBuf {
    let path = home.path("turns.ndjson");
    fs::write(&path, text).expect("written");
    path
}

fn lines_in(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

fn count(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_else(|| panic!("{key} in {report}"))
}

/// What `usage` says of a session: all of it, and what was spent beside it.
fn spent(home: &Home, session: &Path) -> (u64, u64) {
    let usage = home.report(0, &["usage", word(session), "--by", "kind"]);
    let asides = usage["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "aside");
    (count(&usage["totals"], "total"), asides.map(|row| count(row, "total")).sum())
}

#[test]
fn a_conversation_is_kept_beside_its_session_and_counted_once() {
    let home = Home::new();
    let turns = told(&home, TURNS);
    for (client, parent) in sessions(&home) {
        let before = fs::read(&parent).unwrap();
        let (all, asides) = spent(&home, &parent);
        let context = home.report(0, &["replay", word(&parent)])["hash"].clone();
        let record = ["side", word(&parent), "--record", word(&turns), "--pane", "7f"];
        let first = home.report(0, &record);
        assert_eq!(count(&first, "recorded"), 3, "{client}");
        assert_eq!((count(&first, "completions"), count(&first, "side_tokens")), (5, SPENT));
        assert_eq!(count(&first, "copied_parent_messages") + count(&first, "framing_messages"), 0);
        assert_eq!(first["pointer"]["there"], true, "{client}");

        // The parent grew by whole lines at most, which its model never sees.
        let after = fs::read(&parent).unwrap();
        let added = after.strip_prefix(&before[..]).unwrap_or_else(|| panic!("{client}: changed"));
        let lines = lines_in(added);
        let has_place = !client.starts_with("codex") && client != "dsh 0";
        assert_eq!(lines, usize::from(has_place), "{client}");
        assert_eq!(home.report(0, &["replay", word(&parent)])["hash"], context, "{client}");

        // The transcript is sound, says what was said, and is nobody's latest session.
        let transcript = PathBuf::from(first["child"]["path"].as_str().unwrap());
        let checked = home.report(0, &["replay", word(&transcript), "--check"]);
        assert_eq!((count(&checked, "turns"), count(&checked, "open_turns")), (3, 0), "{client}");
        let rows = home.run(&["replay", word(&transcript), "--view", "messages"]).out;
        for words in ["What is the file called?", "notes.txt", "Three lines.", "Will this bill me?"]
        {
            assert_eq!(rows.matches(words).count(), 1, "{client}: {words}");
        }
        let listed = home.report(0, &["list", "--limit", "100"]).to_string();
        assert!(listed.contains(word(&parent)), "{client}: {listed}");
        assert_eq!(spent(&home, &parent), (all + SPENT, asides + SPENT), "{client}");

        // The same again changes nothing.
        let kept = fs::read(&transcript).unwrap();
        let again = home.report(0, &record);
        assert_eq!((count(&again, "recorded"), count(&again, "repeated")), (0, 3), "{client}");
        assert_eq!(again["pointer"], json!({"there": true, "written": false}), "{client}");
        assert_eq!(fs::read(&parent).unwrap(), after, "{client}");
        assert_eq!(fs::read(&transcript).unwrap(), kept, "{client}");

        // One more turn goes into the same transcript, another pane into another one.
        let more = told(&home, &TURNS.lines().next().unwrap().replace("r1", "r4"));
        let record = ["side", word(&parent), "--record", word(&more), "--pane", "7f"];
        assert_eq!(home.report(0, &record)["child"]["path"], first["child"]["path"], "{client}");
        assert!(fs::read(&transcript).unwrap().starts_with(&kept), "{client}");
        assert_eq!(fs::read(&parent).unwrap(), after, "{client}");
        let other = home.report(0, &["side", word(&parent), "--record", word(&more)]);
        assert_ne!(other["child"]["path"], first["child"]["path"], "{client}");
        assert_ne!(other["pane"], "7f");
        assert_eq!(spent(&home, &parent).1, asides + SPENT + 1304 * 2, "{client}");
        told(&home, TURNS);
    }
}

#[test]
fn panes_stay_out_of_the_latest_session_and_of_forks() {
    let home = Home::new();
    let turns = told(&home, TURNS);
    for (client, parent) in sessions(&home) {
        home.report(0, &["side", word(&parent), "--record", word(&turns), "--pane", "7f"]);
        let format = match client.split([' ', ',']).next().unwrap() {
            "claude" => "claude-code",
            name => name,
        };
        let last = home.report(0, &["replay", "--last", "--format", format]);
        assert_ne!(last["source"]["path"], Value::Null, "{client}");
        let at = last["source"]["path"].as_str().unwrap();
        for part in ["btw-", "/side/", "subagents"] {
            assert!(!at.contains(part), "{client}: {at}");
        }
    }
    let fork = home.report(0, &["fork", PI_ID]);
    assert_eq!(fork["not_carried"], json!(["asides:1"]));
    assert_eq!(
        count(&home.report(0, &["usage", fork["child"]["id"].as_str().unwrap()]), "completions"),
        0
    );
}

#[test]
fn nothing_is_written_that_was_only_planned_or_cannot_be_understood() {
    let home = Home::new();
    let parent = home.pi();
    let before = fs::read(&parent).unwrap();
    let turns = told(&home, TURNS);
    let plan = home.report(0, &["side", PI_ID, "--record", word(&turns), "--dry-run"]);
    assert_eq!((count(&plan, "recorded"), plan["pointer"]["written"] == true), (3, false));
    let bad = ["../x", "", ".", "a/b", "a\u{202e}b", "-x"].map(|pane| format!("--pane={pane}"));
    for pane in &bad {
        let report = home.report(2, &["side", PI_ID, "--record", word(&turns), pane]);
        assert_eq!(report["code"], "BAD_USAGE", "{pane}");
    }
    for input in ["", "\n\n", "{}\n", "nonsense\n"] {
        let turns = told(&home, input);
        let report = home.report(2, &["side", PI_ID, "--record", word(&turns)]);
        assert_eq!(report["code"], "BAD_USAGE", "{input:?}");
    }
    assert_eq!(home.report(6, &["side", PI_ID, "--record", "nowhere"])["code"], "IO_ERROR");
    assert_eq!(home.run(&["side", PI_ID, "--record", "x", "--ask", "y"]).exit, 2);
    assert_eq!(home.run(&["side", PI_ID, "--pane", "y"]).exit, 2);
    assert_eq!(fs::read(&parent).unwrap(), before);
    assert_eq!(fs::read_dir(parent.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn records_are_durable_one_by_one_as_they_come_in() {
    let home = Home::new();
    let parent = home.pi();
    let mut command = home.command(&["side", PI_ID, "--record", "-", "--pane", "7f", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let first = TURNS.lines().next().unwrap();
    writeln!(input, "{first}").unwrap();
    let folder = parent.with_file_name(PI_ID).join("btw-7f");
    let there = || fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    for _ in 0..1000 {
        if there() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert!(there(), "the first record waits for the second one");
    writeln!(input, "{{\"question\":\"cut off").unwrap();
    drop(input);
    let ran = ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.exit, 2);
    let message = ran.report()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("line 2") && message.contains("the 1 records before it are kept"),
        "{message}"
    );
    assert_eq!(spent(&home, &parent).1, 1304);
}

#[test]
fn a_pointer_that_cannot_be_written_leaves_nothing_behind() {
    let home = Home::new();
    let parent = home.pi();
    let turns = told(&home, TURNS);
    let mut torn = fs::read(&parent).unwrap();
    torn.extend(b"{\"type\":\"mess");
    fs::write(&parent, &torn).unwrap();
    let record = ["side", word(&parent), "--record", word(&turns), "--pane", "7f"];
    assert_eq!(home.report(5, &record)["code"], "TORN_TAIL");
    assert_eq!(fs::read(&parent).unwrap(), torn);
    assert!(!parent.with_file_name(PI_ID).exists());
    // Without one the conversation is kept all the same.
    let kept = home.report(0, &[&record[..], &["--no-pointer"]].concat());
    assert_eq!(kept["pointer"], json!({"there": false, "written": false}));
    assert_eq!(fs::read(&parent).unwrap(), torn);
    assert_eq!(spent(&home, &parent).1, SPENT);
    // Once the parent is whole again, the pointer is made up for.
    torn.truncate(torn.len() - 13);
    fs::write(&parent, &torn).unwrap();
    let again = home.report(0, &record);
    assert_eq!(again["pointer"], json!({"there": true, "written": true}));
    assert_eq!((count(&again, "recorded"), count(&again, "repeated")), (0, 3));
    let pointer = fs::read_to_string(&parent).unwrap().lines().last().unwrap().to_owned();
    assert!(pointer.contains("What is the file called?"), "{pointer}");
}

#[test]
fn a_pane_says_how_it_was_left() {
    let home = Home::new();
    let parent = home.pi();
    let turns = told(&home, TURNS);
    for (status, want) in
        [("complete", None), ("cancelled", Some("cancelled")), ("error", Some("error"))]
    {
        let record =
            ["side", PI_ID, "--record", word(&turns), "--pane", status, "--status", status];
        let report = home.report(0, &record);
        let text = fs::read_to_string(report["child"]["path"].as_str().unwrap()).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let left =
            (last["customType"] == "side_question_status").then(|| last["data"]["status"].as_str());
        assert_eq!(left.flatten(), want, "{status}");
    }
    assert_eq!(spent(&home, &parent).1, SPENT * 3);
}

#[test]
fn a_pane_that_the_client_began_goes_on_in_the_clients_own_file() {
    let home = Home::new();
    let root = "01a2282d-9435-71aa-9554-b510a3eabc16";
    let pane =
        format!("session-artifacts/{root}/btw-1f2e3d4c/01a2282d-9469-76bd-97b3-a22da767d99f.jsonl");
    let files = [format!("sessions/{root}.jsonl"), pane.clone()];
    let [parent, transcript] = files.map(|file| {
        home.copy(&format!("prime/.prime/agent/{file}"), &format!(".prime/agent/{file}"))
    });
    let (before, kept) = (fs::read(&parent).unwrap(), fs::read(&transcript).unwrap());
    let turns = told(&home, TURNS);
    let report = home.report(0, &["side", root, "--record", word(&turns), "--pane", "1f2e3d4c"]);
    assert_eq!(report["child"]["path"], word(&transcript));
    assert_eq!(report["child"]["id"], "01a2282d-9469-76bd-97b3-a22da767d99f");
    assert_eq!(report["pointer"], json!({"there": true, "written": false}));
    assert_eq!(fs::read(&parent).unwrap(), before);
    assert!(fs::read(&transcript).unwrap().starts_with(&kept));
    assert_eq!(spent(&home, &parent).1, 5620 + SPENT);
}

/// A transcript of the fixtures as another program would have told it.
fn retold(transcript: &Path) -> String {
    let text = fs::read_to_string(transcript).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages: Vec<Value> = entries
        .filter(|entry| entry["type"] == "message")
        .map(|entry| entry["message"].clone())
        .collect();
    let said =
        |message: &Value| message["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let usage = |message: &Value| {
        let count = |key: &str| message["usage"][key].clone();
        json!({
            "input": count("input"), "output": count("output"), "cache_read": count("cacheRead"),
            "cache_write_5m": count("cacheWrite"),
        })
    };
    let mut told = String::new();
    let turns = messages.chunk_by(|_, next| next["role"] != "user");
    for turn in turns {
        let (answer, auxiliary) = turn[1..].split_last().unwrap();
        let auxiliary: Vec<Value> = auxiliary
            .iter()
            .map(|one| json!({"purpose": "auxiliary", "model": one["model"], "usage": usage(one), "stopReason": one["stopReason"]}))
            .collect();
        let record = json!({
            "question": said(&turn[0]), "answer": said(answer), "provider": answer["provider"],
            "model": answer["model"], "usage": usage(answer), "stopReason": answer["stopReason"],
            "error": answer["errorMessage"], "auxiliary": auxiliary,
        });
        told += &record.to_string();
        told.push('\n');
    }
    told
}

/// What counts of an entry: who said what, and what it cost.
fn kept(transcript: &Path) -> Vec<Value> {
    let text = fs::read_to_string(transcript).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let what = |entry: Value| match entry["type"].as_str() {
        Some("session") => json!([entry["cwd"], entry["rlmDepth"], entry["version"]]),
        Some("model_change") => json!([entry["provider"], entry["modelId"]]),
        Some("custom") => json!([entry["customType"], entry["data"]]),
        _ => {
            let message = &entry["message"];
            let counts = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];
            let counts = counts.map(|key| message["usage"][key].clone());
            json!([
                message["role"],
                message["provider"],
                message["model"],
                message["stopReason"],
                counts
            ])
        }
    };
    entries.map(what).collect()
}

#[test]
fn panes_that_prime_held_come_out_as_prime_would_keep_them() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/prime/.prime/agent");
    let mut panes = 0;
    let artifacts = walkdir::WalkDir::new(fixtures.join("session-artifacts"));
    for entry in artifacts.into_iter().map(Result::unwrap) {
        let transcript = entry.path();
        let pane = transcript.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let Some(pane) = pane.strip_prefix("btw-").filter(|_| entry.file_type().is_file()) else {
            continue;
        };
        panes += 1;
        let parent = transcript.parent().unwrap().parent().unwrap().file_name().unwrap();
        let name = format!(".prime/agent/sessions/{}.jsonl", parent.to_str().unwrap());
        let home = Home::new();
        let parent = home.copy(&format!("prime/{name}"), &name);
        let turns = told(&home, &retold(transcript));
        let status = kept(transcript).pop().unwrap()[1]["status"].as_str().map(str::to_owned);
        let status = status.map(|status| format!("--status={status}"));
        let mut record = vec!["side", word(&parent), "--record", word(&turns), "--pane", pane];
        record.extend(status.as_deref());
        let report = home.report(0, &record);
        let made = Path::new(report["child"]["path"].as_str().unwrap());
        let place = |path: &Path| {
            path.parent()
                .unwrap()
                .strip_prefix(path.ancestors().nth(4).unwrap())
                .unwrap()
                .to_owned()
        };
        assert_eq!(place(made), place(transcript));
        assert_eq!(kept(made), kept(transcript), "{pane}");
    }
    assert_eq!(panes, 4);
}

#[test]
fn interrupted_at_any_moment_it_leaves_the_parent_whole_and_the_next_run_makes_it_good() {
    let home = Home::new();
    let turns = told(&home, TURNS);
    let mut cut = 0;
    for (nth, (client, parent)) in sessions(&home).into_iter().cycle().take(56).enumerate() {
        let before = fs::read(&parent).unwrap();
        let (_, asides) = spent(&home, &parent);
        let pane = format!("p{nth}");
        let record = ["side", word(&parent), "--record", word(&turns), "--pane", &pane];
        let mut child =
            home.command(&record).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(1500 * nth as u64));
        child.kill().unwrap();
        cut += usize::from(!child.wait().unwrap().success());
        let after = fs::read(&parent).unwrap();
        let added = after.strip_prefix(&before[..]).unwrap_or_else(|| panic!("{client}: changed"));
        let lines = lines_in(added);
        assert!(lines <= 1 && (added.is_empty() || added.ends_with(b"\n")), "{client}");
        assert_eq!(home.run(&["replay", word(&parent)]).exit, 0, "{client}");
        home.report(0, &record);
        assert_eq!(spent(&home, &parent).1, asides + SPENT, "{client}");
        let now = fs::read(&parent).unwrap();
        assert!(lines_in(&now[before.len()..]) <= 1, "{client}");
    }
    assert!(cut > 0, "every run was through before it was killed");
    let left = walkdir::WalkDir::new(home.path("")).into_iter().filter_map(Result::ok);
    let left: Vec<_> = left
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().display().to_string())
        .filter(|path| path.contains(".jsonl") && !path.contains(".tmp"))
        .filter(|path| fs::read(path).is_ok_and(|bytes| !bytes.ends_with(b"\n")))
        .collect();
    assert!(left.is_empty(), "half files: {left:?}");
}
