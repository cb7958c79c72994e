use std::fs;

use crate::home::{Home, PI_ID, word};

#[test]
fn a_snapshot_is_the_same_every_time_and_becomes_a_child_without_its_source() {
    let home = Home::new();
    let parent = home.pi();
    let one = home.run(&["snapshot", PI_ID, "--at", "turn:2"]).out;
    assert_eq!(one, home.run(&["snapshot", PI_ID, "--at", "turn:2"]).out);
    let manifest: serde_json::Value = serde_json::from_str(one.lines().next().unwrap()).unwrap();
    assert_eq!(manifest["messages"], 5);
    assert_eq!(manifest["source"]["id"], PI_ID);
    assert_eq!(manifest["meta"]["seedLength"], 7);
    let source = fs::read_to_string(&parent).unwrap();
    let seed: Vec<&str> = source.lines().skip(1).take(7).collect();
    assert_eq!(one.lines().skip(1).collect::<Vec<_>>(), seed, "lines as they stand");
    fs::write(home.path("s.snap"), &one).unwrap();
    let direct = home.report(0, &["fork", PI_ID, "--at", "turn:2", "--out", "direct.jsonl"]);
    fs::remove_file(&parent).unwrap();
    let later = home.report(0, &["fork", "s.snap", "--out", "later.jsonl"]);
    assert_eq!(later["messages"], 5);
    assert_eq!(later["seed_hash"], direct["seed_hash"]);
    assert_eq!(later["parent"]["id"], PI_ID);
    let verdict = home.report(0, &["replay", "later.jsonl", "--check", "--against", "s.snap"]);
    assert_eq!(verdict["prefix"], "identical");
}

#[test]
fn a_check_says_whether_the_source_still_begins_so() {
    let home = Home::new();
    let parent = home.dsh("v0-parent.jsonl", "demo-parent", "session.jsonl");
    home.report(0, &["snapshot", "demo-parent", "--at", "turn:1", "--out", "s.snap"]);
    let same = home.report(0, &["snapshot", "demo-parent", "--check", "s.snap"]);
    assert_eq!(same["prefix"], "identical");
    let text = fs::read_to_string(&parent).unwrap();
    assert!(text.contains("What is a session log?"), "the fixture says so");
    let text = text.replacen("What is a session log?", "What is a Session log?", 1);
    fs::write(&parent, text).unwrap();
    let differs = home.report(1, &["snapshot", word(&parent), "--check", "s.snap"]);
    assert_eq!(differs["code"], "PREFIX_DIVERGED");
}

#[test]
fn a_snapshot_that_was_cut_or_changed_makes_no_child() {
    let home = Home::new();
    home.pi();
    let whole = home.run(&["snapshot", PI_ID]).out;
    let lines: Vec<&str> = whole.lines().collect();
    let changed = [
        whole.replacen("Hello there.", "Hello There.", 2).replacen(
            "Hello There.",
            "Hello there.",
            1,
        ),
        lines[..lines.len() - 2].join("\n") + "\n",
    ];
    for text in changed {
        assert_ne!(text, whole);
        fs::write(home.path("s.snap"), text).unwrap();
        let report = home.report(1, &["fork", "s.snap", "--out", "c.jsonl"]);
        assert_eq!(report["code"], "PREFIX_DIVERGED");
    }
    fs::write(home.path("s.snap"), whole.replacen(r#""version":1"#, r#""version":99"#, 1)).unwrap();
    let report = home.report(5, &["fork", "s.snap", "--out", "c.jsonl"]);
    assert_eq!(report["code"], "VERSION_UNSUPPORTED");
    assert!(!home.path("c.jsonl").exists());
}

#[test]
fn a_snapshot_with_a_number_twice_makes_no_child() {
    let home = Home::new();
    let name = "rollout-2026-11-29T16-25-56-01a22820-a1cd-78f0-a7db-aadcf675cf49.jsonl";
    let folder = "sessions/2026/11/29";
    let path = home
        .copy(&format!("codex/fork-paginated/{folder}/{name}"), &format!(".codex/{folder}/{name}"));
    home.report(0, &["snapshot", word(&path), "--out", "s.snap"]);
    home.report(0, &["fork", "s.snap", "--out", "whole.jsonl"]);
    let text = fs::read_to_string(home.path("s.snap")).unwrap();
    assert!(text.contains(r#""ordinal":9,"#), "the fixture has so many lines");
    // The messages are what they were, so that their hash is.
    for (damaged, code) in [(r#""ordinal":8,"#, "SEQ_REPEAT"), (r#""ordinal":2,"#, "SEQ_BACK")] {
        fs::write(home.path("s.snap"), text.replacen(r#""ordinal":9,"#, damaged, 1)).unwrap();
        let refused = home.report(5, &["fork", "s.snap", "--out", "child.jsonl"]);
        assert_eq!(refused["code"], code, "{refused}");
        assert!(!home.path("child.jsonl").exists());
    }
}
