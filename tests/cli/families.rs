//! `replay --view lineage` of a session: the family it belongs to.

use std::fs;

use serde_json::Value;

use crate::{
    home::{Home, word},
    records,
};

#[test]
fn a_family_is_told_by_its_logs_alone() {
    let home = Home::new();
    let mut families = 0;
    for (client, parent) in records::sessions(&home) {
        let turns = home.report(0, &["replay", word(&parent)])["turns"].as_u64().unwrap();
        if turns < 2 {
            continue; // which has nothing to be forked at
        }
        families += 1;
        let fork = home.report(0, &["fork", word(&parent), "--at", "turn:1"]);
        let side = home.report(0, &["side", word(&parent)]);
        let side = &side["child"];
        let note = "It is **so**: \"tested\", naïve\nand twice as long.";
        home.report(0, &["merge", side["path"].as_str().unwrap(), "--note", note]);
        let told = home.path("told.ndjson");
        let turn = r#"{"question":"Q?","answer":"A.","model":"m","usage":{"input":9,"output":1}}"#;
        fs::write(&told, turn).unwrap();
        home.report(0, &["side", word(&parent), "--record", word(&told), "--pane", "7f"]);
        for journal in [true, false] {
            if !journal {
                fs::remove_dir_all(home.path(".local/state/sessctl")).unwrap();
            }
            let rows =
                home.report(0, &["replay", word(&parent), "--view", "lineage"])["rows"].clone();
            let rows = rows.as_array().unwrap();
            let at = rows.iter().position(|row| row["path"] == word(&parent)).unwrap();
            let merge = &rows[at]["merges"][0];
            assert_eq!(merge["text"], note, "{client}");
            assert_eq!(merge["side"], side["id"], "{client}, journal {journal}");
            let row = |id: &Value| rows.iter().find(|row| row["id"] == *id).unwrap();
            let fork_row = row(&fork["child"]["id"]);
            assert_eq!(fork_row["kind"], "fork", "{client}");
            assert_eq!(fork_row["boundary"]["at"], "turn:1", "{client}");
            assert_eq!(fork_row["boundary"]["messages"], fork["boundary"]["messages"], "{client}");
            assert_eq!(fork_row["seed_length"], fork["seed_length"], "{client}");
            assert_eq!(fork_row["parent"]["id"], rows[at]["id"], "{client}");
            assert_eq!(fork_row["parent"]["path"], word(&parent), "{client}");
            let side_row = row(&side["id"]);
            assert_eq!(side_row["kind"], "side", "{client}, journal {journal}");
            assert_eq!(side_row["boundary"]["turn"].as_u64(), Some(turns), "{client}");
            let mut asides = rows.iter().rev().filter(|row| row["kind"] == "aside");
            let aside = asides.find(|row| row["parent"]["id"] == rows[at]["id"]).unwrap();
            assert_eq!(aside["boundary"], Value::Null, "{client}");
            assert_eq!(aside["depth"].as_u64(), Some(rows[at]["depth"].as_u64().unwrap() + 1));
        }
        let tree = home.run(&["replay", side["id"].as_str().unwrap(), "--view", "lineage"]).out;
        let line = |what: &str| tree.lines().find(|line| line.contains(what)).unwrap();
        assert!(
            line("<- note of").ends_with("It is **so**: \"tested\", naïve"),
            "{client}: {tree}"
        );
        assert!(line("fork ").contains(" at turn:1 "), "{client}: {tree}");
    }
    assert_eq!(families, 7);
}

#[test]
fn a_child_that_was_put_elsewhere_belongs_to_the_family() {
    let home = Home::new();
    let parent = home.pi();
    let out = home.path("elsewhere/child.jsonl");
    home.report(0, &["fork", word(&parent), "--out", word(&out)]);
    for member in [&parent, &out] {
        let rows = home.report(0, &["replay", word(member), "--view", "lineage"])["rows"].clone();
        let paths: Vec<&str> =
            rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
        assert_eq!(paths, [word(&parent), word(&out)]);
    }
}
