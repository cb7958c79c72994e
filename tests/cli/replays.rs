use std::{
    fs,
    io::{Read, Write},
    process::Stdio,
};

use crate::home::{Home, PI_ID, ran, word};

#[test]
fn one_changed_byte_in_a_child_is_found_and_numbered() {
    let home = Home::new();
    let parent = home.pi();
    home.report(0, &["fork", PI_ID, "--out", "c.jsonl"]);
    let child = fs::read_to_string(home.path("c.jsonl")).unwrap();
    fs::write(home.path("c.jsonl"), child.replacen("Hello there.", "Hello There.", 1)).unwrap();
    let report = home.report(1, &["replay", "c.jsonl", "--against", word(&parent)]);
    assert_eq!(report["code"], "PREFIX_DIVERGED");
    assert_eq!((&report["prefix"], &report["first_difference"]), (&"diverged".into(), &2.into()));
    assert!(report["message"].as_str().unwrap().contains("message 2"));
}

#[test]
fn a_changed_system_prompt_is_found_where_the_log_holds_it() {
    let home = Home::new();
    let parent = home.copy("dsh/v0-parent.jsonl", "p/session.jsonl");
    home.report(0, &["fork", word(&parent), "--out", "c.jsonl"]);
    let child = fs::read_to_string(home.path("c.jsonl")).unwrap();
    fs::write(
        home.path("c.jsonl"),
        child.replace("You are a demo coding agent.", "You are a demo Coding agent."),
    )
    .unwrap();
    let report = home.report(1, &["replay", "c.jsonl", "--against", word(&parent)]);
    assert_eq!(
        (&report["code"], &report["first_difference"]),
        (&"PREFIX_DIVERGED".into(), &0.into())
    );
}

#[test]
fn the_clients_own_broken_copy_is_told_from_its_parent() {
    let home = Home::new();
    let parent = home.copy("pi/pi-0.73.1-branch-summary-label.jsonl", "p.jsonl");
    let broken = home.copy("pi/pi-0.73.1-clone-label-orphan.jsonl", "c.jsonl");
    let report = home.report(1, &["replay", word(&broken), "--against", word(&parent)]);
    assert_eq!(report["code"], "PREFIX_DIVERGED");
    assert_eq!(report["first_difference"], 1);
    assert_eq!(report["findings"][0]["code"], "CHAIN_BROKEN");
}

#[test]
fn a_golden_file_and_a_hash_hold_a_log_to_its_history() {
    let home = Home::new();
    home.pi();
    let golden = home.run(&["replay", PI_ID, "--view", "messages"]).out;
    fs::write(home.path("golden.jsonl"), &golden).unwrap();
    let hash = home.run(&["replay", PI_ID, "--hash"]).out;
    home.report(0, &["replay", PI_ID, "--expect", "golden.jsonl"]);
    home.report(0, &["replay", PI_ID, "--expect", hash.trim()]);
    let short = golden.lines().take(3).collect::<Vec<_>>().join("\n");
    fs::write(home.path("golden.jsonl"), short).unwrap();
    let report = home.report(1, &["replay", PI_ID, "--expect", "golden.jsonl"]);
    assert_eq!(report["code"], "REPLAY_MISMATCH");
    assert!(report["message"].as_str().unwrap().contains("message 4"));
    assert_eq!(
        home.report(1, &["replay", PI_ID, "--expect", &"0".repeat(64)])["code"],
        "REPLAY_MISMATCH"
    );
}

#[test]
fn several_sessions_give_a_verdict_each_and_the_worst_status() {
    let home = Home::new();
    let good = home.pi();
    let bad = home.copy("pi/damaged/03-torn-middle.jsonl", "bad.jsonl");
    let ran_both = home.run(&["replay", "--check", word(&good), word(&bad)]);
    assert_eq!(ran_both.exit, 5);
    assert_eq!(ran_both.out.lines().count(), 2);
    assert!(ran_both.out.lines().next().unwrap().ends_with(": ok"));
    assert!(ran_both.out.contains("LINE_CORRUPT"));
    let mut child = home
        .command(&["replay", "--check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    write!(child.stdin.take().unwrap(), "{}\n{}\n", good.display(), bad.display()).unwrap();
    let paths = ran(&child.wait_with_output().unwrap());
    assert_eq!((paths.exit, paths.out), (5, ran_both.out));
    let json = home.run(&["replay", "--check", "--json", word(&good), word(&bad)]);
    assert_eq!(json.out.lines().count(), 2, "one report a line");
    assert_eq!(json.exit, 5);
}

#[test]
fn a_log_on_standard_input_is_read_like_a_file() {
    let home = Home::new();
    let file = home.pi();
    let mut child = home
        .command(&["replay", "-", "--hash"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(&file).unwrap()).unwrap();
    let piped = ran(&child.wait_with_output().unwrap());
    assert_eq!(piped.out, home.run(&["replay", word(&file), "--hash"]).out);
}

#[test]
fn damage_is_named_and_only_lenience_goes_on() {
    let home = Home::new();
    let bad = home.copy("pi/damaged/03-torn-middle.jsonl", "bad.jsonl");
    let plain = home.run(&["replay", word(&bad), "--view", "messages"]);
    assert_eq!(plain.exit, 5);
    assert!(
        plain.err.contains("error[LINE_CORRUPT]") && plain.err.contains("bad.jsonl:"),
        "{}",
        plain.err
    );
    let lenient = home.report(0, &["replay", word(&bad), "--lenient"]);
    assert_eq!(lenient["lost_records"], 1);
    assert_eq!(lenient["findings"][0]["code"], "LINE_CORRUPT");
    assert_eq!(home.report(5, &["fork", word(&bad)])["code"], "LINE_CORRUPT");
}

#[test]
fn what_is_not_sent_is_not_in_the_provider_view() {
    let home = Home::new();
    let path = home.copy("pi/pi-1.6.0-aborted-error-length.jsonl", "a.jsonl");
    let rows = |view: &str| home.run(&["replay", word(&path), "--view", view]).out.lines().count();
    assert_eq!(rows("messages"), 11);
    assert_eq!(rows("provider"), 9, "neither the aborted nor the failed answer is sent again");
    let crash = home.copy("pi/pi-1.6.0-crash-in-tool-loop.jsonl", "c.jsonl");
    let last = home.run(&["replay", word(&crash), "--view", "provider"]).out;
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!((&last["role"], &last["made_up"]), (&"tool".into(), &true.into()));
}

#[test]
fn another_branch_can_be_looked_at() {
    let home = Home::new();
    let path = home.copy("pi/pi-1.6.0-two-branches-label.jsonl", "b.jsonl");
    let own = home.report(0, &["replay", word(&path)]);
    assert_eq!(own["off_path_messages"], 4);
    let leaf = fs::read_to_string(&path).unwrap().lines().nth(7).unwrap().to_owned();
    let leaf: serde_json::Value = serde_json::from_str(&leaf).unwrap();
    let other = home.report(0, &["replay", word(&path), "--leaf", leaf["id"].as_str().unwrap()]);
    assert_ne!(other["hash"], own["hash"]);
    assert_eq!(
        home.report(3, &["replay", word(&path), "--leaf", "ffffffff"])["code"],
        "TURN_NOT_FOUND"
    );
}

#[test]
fn the_family_of_any_member_is_one_tree() {
    let home = Home::new();
    home.pi();
    let side = home.report(0, &["side", PI_ID])["child"].clone();
    let fork = home.report(0, &["fork", PI_ID, "--at", "turn:1"])["child"].clone();
    home.report(0, &["merge", side["path"].as_str().unwrap(), "--note", "x"]);
    for member in [PI_ID, side["id"].as_str().unwrap(), fork["id"].as_str().unwrap()] {
        let rows = home.report(0, &["replay", member, "--view", "lineage"])["rows"].clone();
        let kinds: Vec<&str> =
            rows.as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["main", "side", "fork"], "{member}");
        assert_eq!(rows[0]["merges"][0]["side"], side["id"]);
        assert_eq!(rows[2]["boundary"]["at"], "turn:1");
    }
}

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let home = Home::new();
    let path = home.pi();
    let mut child = home
        .command(&["replay", word(&path), "--view", "messages"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(child.wait().unwrap().success(), "{err}");
    assert_eq!(err, "");
}

#[test]
fn a_merge_that_is_gone_or_doubled_is_found() {
    let home = Home::new();
    let parent = home.pi();
    let side = home.report(0, &["side", PI_ID])["child"]["path"].as_str().unwrap().to_owned();
    let before = fs::read(&parent).unwrap();
    home.report(0, &["merge", &side, "--note", "x"]);
    let merged = fs::read(&parent).unwrap();
    fs::write(&parent, &before).unwrap();
    assert_eq!(
        home.report(1, &["replay", &side, "--against", word(&parent)])["code"],
        "MERGE_MISSING"
    );
    let note = String::from_utf8_lossy(&merged[before.len()..]).into_owned();
    let old: serde_json::Value = serde_json::from_str(&note).unwrap();
    let twin = note.replacen(
        &format!(r#""id":"{}","parentId""#, old["id"].as_str().unwrap()),
        r#""id":"dddddddd","parentId""#,
        1,
    );
    let twin = twin.replacen(old["parentId"].as_str().unwrap(), old["id"].as_str().unwrap(), 1);
    fs::write(&parent, [&merged[..], twin.as_bytes()].concat()).unwrap();
    assert_eq!(
        home.report(1, &["replay", &side, "--against", word(&parent)])["code"],
        "MERGE_REPEATED"
    );
}

#[test]
fn a_child_is_held_to_the_generation_it_was_forked_from() {
    let home = Home::new();
    let old = home.dsh("v0-compact.jsonl", "demo-compact", "session.jsonl");
    let side = home.report(0, &["side", "demo-compact"])["child"]["path"].clone();
    let side = side.as_str().unwrap();
    // The client migrates the parent when it opens it next.
    let migrated = "v4-migrated-from-v0-compact.jsonl";
    home.dsh(migrated, "demo-compact", "session.v4.jsonl");
    for parent in ["demo-compact", word(&old)] {
        let verdict = home.report(0, &["replay", side, "--against", parent, "--check"]);
        assert_eq!(verdict["prefix"], "identical");
    }
    home.report(0, &["merge", side, "--note", "x"]);
    for parent in ["demo-compact", word(&old)] {
        home.report(0, &["replay", side, "--against", parent, "--check"]);
    }
}

#[test]
fn nothing_in_common_is_no_proof() {
    let home = Home::new();
    let parent = home.pi();
    let other = home.copy("pi/pi-1.6.0-tool-calls.jsonl", "other.jsonl");
    let dsh = home.copy("dsh/v4-tools.jsonl", "v4.jsonl");
    home.report(0, &["fork", PI_ID, "--out", "c.jsonl"]);
    let whole = fs::read_to_string(&parent).unwrap();
    let header = whole.lines().next().unwrap().to_owned() + "\n";
    fs::write(home.path("header.jsonl"), header).unwrap();
    for stranger in ["header.jsonl", word(&other), word(&dsh)] {
        let report = home.report(1, &["replay", "c.jsonl", "--against", stranger]);
        assert_eq!(report["code"], "PREFIX_DIVERGED", "{stranger}");
        assert_eq!(
            (&report["prefix_messages"], &report["first_difference"]),
            (&0.into(), &1.into())
        );
        assert!(report["message"].as_str().unwrap().contains(word(&parent)), "the true parent");
    }
    let root = home.report(1, &["replay", word(&dsh), "--against", word(&dsh)]);
    assert!(root["message"].as_str().unwrap().contains("names no parent"));
    // Nothing was to be inherited of just this parent.
    home.report(0, &["fork", PI_ID, "--at", "start", "--out", "empty.jsonl"]);
    home.report(0, &["replay", "empty.jsonl", "--against", word(&parent)]);
}

#[test]
fn one_view_of_one_session_goes_into_a_file() {
    let home = Home::new();
    let parent = home.pi();
    let view = ["replay", PI_ID, "--view", "messages"];
    let printed = home.run(&view).out;
    home.report(0, &[&view[..], &["--out", "gold.jsonl"]].concat());
    assert_eq!(fs::read_to_string(home.path("gold.jsonl")).unwrap(), printed);
    for args in [
        &["replay", PI_ID, "--hash", "--out", "x"][..],
        &["replay", PI_ID, "--check", "--out", "x"],
        &["replay", PI_ID, word(&parent), "--view", "messages", "--out", "x"],
    ] {
        assert_eq!(home.report(2, args)["code"], "BAD_USAGE");
    }
    assert!(!home.path("x").exists());
}

#[test]
fn a_side_whose_labels_stand_behind_its_framing_is_its_parents_child() {
    for fixture in ["pi-1.6.0-branch-summary", "pi-0.73.1-branch-summary-label"] {
        let home = Home::new();
        let parent = home.copy(&format!("pi/{fixture}.jsonl"), "p.jsonl");
        home.report(0, &["side", word(&parent), "--out", "s.jsonl"]);
        let report = home.report(0, &["replay", "s.jsonl", "--against", word(&parent)]);
        assert_eq!(report["own_messages"], 1, "the framing");
    }
}
