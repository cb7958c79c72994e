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
