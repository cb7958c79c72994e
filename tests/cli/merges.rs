use std::{fs, fs::OpenOptions, io::Write, path::PathBuf};

use crate::home::{Home, PI_ID, word};

/// A parent and a side session of it; the side's path.
fn side_of(home: &Home, session: &str) -> String {
    home.report(0, &["side", session])["child"]["path"].as_str().unwrap().to_owned()
}

fn pi(home: &Home) -> (PathBuf, String) {
    (home.pi(), side_of(home, PI_ID))
}

#[test]
fn exactly_one_message_comes_back_however_often_it_is_merged() {
    let home = Home::new();
    for fixture in ["v0-main", "v3-main", "v4-main"] {
        let name = match &fixture[..2] {
            "v0" => "session.jsonl".to_owned(),
            version => format!("session.{version}.jsonl"),
        };
        let home = Home::new();
        let parent = home.dsh(&format!("{fixture}.jsonl"), "demo-main", &name);
        let side = side_of(&home, "demo-main");
        merge_twice(&home, &parent, &side);
    }
    let (parent, side) = pi(&home);
    merge_twice(&home, &parent, &side);
}

fn merge_twice(home: &Home, parent: &PathBuf, side: &str) {
    let before = fs::read(parent).unwrap();
    let first = home.report(0, &["merge", side, "--note", "keep cents"]);
    assert_eq!((&first["appended_messages"], &first["appended_lines"]), (&1.into(), &1.into()));
    assert_eq!(first["already_merged"], false);
    assert_eq!(first["note"]["chars"], 10);
    let once = fs::read(parent).unwrap();
    assert!(once.starts_with(&before), "the parent only grew");
    assert_eq!(once[before.len()..].split(|byte| *byte == b'\n').count(), 2);
    let again = home.report(0, &["merge", side, "--note", " keep cents\n"]);
    assert_eq!(again["already_merged"], true);
    assert_eq!(fs::read(parent).unwrap(), once);
    let repeat = home.report(0, &["merge", side, "--note", "keep cents", "--allow-repeat"]);
    assert_eq!(repeat["appended_messages"], 1);
    assert_ne!(repeat["note"]["id"], first["note"]["id"]);
    let rows = home.run(&["replay", word(parent), "--view", "messages"]).out;
    assert_eq!(rows.lines().filter(|row| row.contains(r#""origin":"merge""#)).count(), 2);
    let replay = home.report(0, &["replay", word(parent), "--check"]);
    assert_eq!(replay["merges"], 2);
    let against = home.report(0, &["replay", side, "--against", word(parent), "--check"]);
    assert_eq!(against["prefix"], "identical");
}

#[test]
fn the_last_answer_of_the_side_session_can_be_the_note() {
    let home = Home::new();
    home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl");
    let side = home.dsh("v4-side.jsonl", "demo-side", "session.v4.jsonl");
    let report = home.report(0, &["merge", word(&side), "--last-answer"]);
    assert_eq!(report["appended_messages"], 1);
    let rows = home.run(&["replay", "demo-main", "--view", "messages"]).out;
    let last: serde_json::Value = serde_json::from_str(rows.lines().last().unwrap()).unwrap();
    assert_eq!(last["text"], "Note: the split keeps each part testable alone.");
    assert!(report["side_tokens"].as_u64().unwrap() > 0);
    assert_eq!(home.report(0, &["merge", word(&side), "--last-answer"])["already_merged"], true);
}

#[test]
fn notes_are_judged_before_anything_is_read_of_the_parent() {
    let home = Home::new();
    let (parent, side) = pi(&home);
    fs::remove_file(&parent).unwrap();
    let code =
        |exit, note: &str| home.report(exit, &["merge", &side, "--note", note])["code"].clone();
    assert_eq!(code(2, " \n"), "NOTE_EMPTY");
    assert_eq!(code(4, &"x".repeat(2001)), "NOTE_TOO_LONG");
    assert_eq!(code(2, "a\u{1b}[31m"), "BAD_USAGE");
    assert_eq!(code(2, "</local-command-stdout>"), "BAD_USAGE");
    assert_eq!(code(3, "fine"), "PARENT_NOT_FOUND");
    home.report(3, &["merge", &side, "--note", &"\u{1F980}".repeat(2000)]);
}

#[test]
fn only_the_parent_that_the_lineage_names_takes_a_note() {
    let home = Home::new();
    let (_, side) = pi(&home);
    let other = home.copy("pi/pi-1.6.0-tool-calls.jsonl", "other.jsonl");
    let before = fs::read(&other).unwrap();
    let report = home.report(4, &["merge", &side, "--into", word(&other), "--note", "x"]);
    assert_eq!(report["code"], "NOT_A_CHILD");
    let alone = home.report(4, &["merge", word(&other), "--note", "x"]);
    assert_eq!(alone["code"], "NOT_A_CHILD");
    assert_eq!(fs::read(&other).unwrap(), before);
    home.report(0, &["merge", &side, "--into", PI_ID, "--note", "x"]);
}

#[test]
fn a_parent_inside_a_turn_or_with_a_torn_tail_is_left_alone() {
    let home = Home::new();
    let (parent, side) = pi(&home);
    let add = |text: &str| {
        OpenOptions::new().append(true).open(&parent).unwrap().write_all(text.as_bytes()).unwrap();
    };
    let whole = fs::read(&parent).unwrap();
    add(r#"{"type":"message","id":"eeeeeeee","parentId":"31be0408""#);
    assert_eq!(home.report(5, &["merge", &side, "--note", "x"])["code"], "TORN_TAIL");
    let torn = fs::read(&parent).unwrap();
    home.report(0, &["merge", &side, "--note", "x", "--allow", "TORN_TAIL"]);
    let after = fs::read(&parent).unwrap();
    assert!(after.starts_with(&[&torn[..], b"\n"].concat()), "one newline, then the note");
    fs::write(&parent, &whole).unwrap();
    add(
        "{\"type\":\"message\",\"id\":\"eeeeeeee\",\"parentId\":\"31be0408\",\"timestamp\":\"2026-11-29T18:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"more\",\"timestamp\":1}}\n",
    );
    let open = fs::read(&parent).unwrap();
    let refused = home.report(4, &["merge", &side, "--note", "y"]);
    assert_eq!(refused["code"], "OPEN_TURN");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains(" replay ") && hint.contains(parent.to_str().unwrap()), "{hint}");
    assert!(hint.contains(" --wait ") && !hint.contains("--at"), "{hint}");
    assert_eq!(fs::read(&parent).unwrap(), open);
}

#[test]
fn a_session_that_somebody_holds_is_refused() {
    let home = Home::new();
    let parent = home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl");
    let side = side_of(&home, "demo-main");
    let before = fs::read(&parent).unwrap();
    let lock = fs::File::create(parent.with_file_name("session.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(home.report(4, &["merge", &side, "--note", "x"])["code"], "SESSION_LOCKED");
    drop(lock);
    let writer = OpenOptions::new().append(true).open(&parent).unwrap();
    assert_eq!(home.report(4, &["merge", &side, "--note", "x"])["code"], "SESSION_LOCKED");
    drop(writer);
    assert_eq!(fs::read(&parent).unwrap(), before);
    home.report(0, &["merge", &side, "--note", "x"]);
}

#[test]
fn notes_go_into_compressed_logs_as_a_frame_of_their_own() {
    let home = Home::new();
    let parent = home.dsh("v4-plain.jsonl.zstd", "demo-plain", "session.v4.jsonl.zstd");
    let before = fs::read(&parent).unwrap();
    let side = side_of(&home, "demo-plain");
    home.report(0, &["merge", &side, "--note", "x"]);
    let after = fs::read(&parent).unwrap();
    assert!(after.starts_with(&before));
    assert!(after[before.len()..].starts_with(&[0x28, 0xB5, 0x2F, 0xFD]));
    assert_eq!(home.report(0, &["replay", "demo-plain", "--check"])["merges"], 1);
}

#[test]
fn many_merges_at_once_are_all_there_once() {
    let home = Home::new();
    let (parent, side) = pi(&home);
    let before = fs::read_to_string(&parent).unwrap().lines().count();
    let notes: Vec<String> = (0..12).map(|nth| format!("note {nth}")).collect();
    let running: Vec<_> = notes
        .iter()
        .map(|note| home.command(&["merge", &side, "--note", note]).spawn().unwrap())
        .collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let replay = home.report(0, &["replay", word(&parent), "--check"]);
    assert_eq!(replay["merges"], 12);
    assert_eq!(replay["lines"], before + 12);
}

#[test]
fn a_dry_run_of_a_merge_prints_the_line() {
    let home = Home::new();
    let (parent, side) = pi(&home);
    let before = fs::read(&parent).unwrap();
    let ran = home.run(&["merge", &side, "--note", "keep cents", "--dry-run"]);
    assert!(ran.out.contains(r#""customType":"sidechat""#), "{}", ran.out);
    assert_eq!(fs::read(&parent).unwrap(), before);
}

#[test]
fn a_whole_record_without_its_line_end_is_what_the_note_hangs_off() {
    let home = Home::new();
    let (parent, side) = pi(&home);
    let last = r#"{"type":"custom_message","customType":"other","content":"kept","display":true,"id":"aaaa1111","parentId":"31be0408","timestamp":"2026-11-29T18:00:00.000Z"}"#;
    OpenOptions::new().append(true).open(&parent).unwrap().write_all(last.as_bytes()).unwrap();
    let refused = home.run(&["merge", &side, "--note", "x"]);
    assert_eq!(refused.exit, 5);
    assert!(refused.err.contains(&format!("{}:11", parent.display())), "{}", refused.err);
    home.report(0, &["merge", &side, "--note", "x", "--allow", "TORN_TAIL"]);
    let text = fs::read_to_string(&parent).unwrap();
    assert!(text.lines().last().unwrap().contains(r#""parentId":"aaaa1111""#), "{text}");
    let replay = home.report(0, &["replay", word(&parent), "--check"]);
    assert_eq!((&replay["off_path_messages"], &replay["messages"]), (&0.into(), &9.into()));
}

#[test]
fn the_parent_of_a_loose_log_is_found_where_its_child_was_put() {
    let home = Home::new();
    home.copy("dsh/v4-main.jsonl", "w/session.v4.jsonl");
    let side = home.report(0, &["side", "w/session.v4.jsonl"])["child"]["path"].clone();
    let merged = home.report(0, &["merge", side.as_str().unwrap(), "--note", "x"]);
    assert_eq!(merged["parent"]["path"], word(&home.path("w/session.v4.jsonl")));
}

#[test]
fn a_version_1_parent_can_be_forked_after_a_note_came_back() {
    let home = Home::new();
    home.copy("pi/pi-0.27.9-v1-compaction.jsonl", "p.jsonl");
    home.report(0, &["side", "p.jsonl", "--out", "s.jsonl"]);
    home.report(0, &["merge", "s.jsonl", "--into", "p.jsonl", "--note", "x"]);
    let fork = home.report(0, &["fork", "p.jsonl", "--out", "c.jsonl"]);
    assert_eq!(fork["messages"], 11);
    home.report(0, &["replay", "c.jsonl", "--check", "--against", "p.jsonl"]);
    home.copy("pi/damaged/08-header-no-version.jsonl", "v.jsonl");
    assert_eq!(home.report(0, &["fork", "v.jsonl", "--out", "d.jsonl"])["messages"], 7);
}
