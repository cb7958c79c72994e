use std::{fs, os::unix::fs::symlink};

use crate::home::{Home, PI_ID, word};

#[test]
fn a_wrong_command_line_is_told_in_the_form_that_was_asked_for() {
    let home = Home::new();
    let plain = home.run(&["fork"]);
    assert_eq!(plain.exit, 2);
    assert!(plain.err.contains("SESSION") && plain.out.is_empty());
    let json = home.run(&["fork", "--json", "--no-such-flag"]);
    assert_eq!(json.exit, 2);
    let report = json.report();
    assert_eq!(
        (&report["code"], &report["command"], &report["ok"]),
        (&"BAD_USAGE".into(), &"fork".into(), &false.into())
    );
    assert_eq!(home.run(&["--help"]).exit, 0);
    assert_eq!(home.run(&[]).exit, 2);
    assert_eq!(home.run(&["--json"]).exit, 2);
}

#[test]
fn the_version_tells_what_can_be_read_and_written() {
    let home = Home::new();
    assert_eq!(home.run(&["--version"]).out, format!("sessctl {}\n", env!("CARGO_PKG_VERSION")));
    let json: serde_json::Value =
        serde_json::from_str(&home.run(&["--version", "--json"]).out).unwrap();
    let dsh =
        json["formats"].as_array().unwrap().iter().find(|format| format["name"] == "dsh").unwrap();
    assert_eq!(dsh["writes"], serde_json::json!([0, 3, 4]));
}

#[test]
fn sessions_are_found_by_path_id_prefix_title_and_time() {
    let home = Home::new();
    let path = home.pi();
    for name in [word(&path), PI_ID, "01a2281b-b0", "=Hello there."] {
        assert_eq!(home.report(0, &["replay", name])["source"]["id"], PI_ID, "{name}");
    }
    assert_eq!(home.report(0, &["replay", "--last"])["source"]["id"], PI_ID);
    assert_eq!(home.report(0, &["replay", "--last=/home/ada/pi-demo"])["source"]["id"], PI_ID);
    assert_eq!(home.report(3, &["replay", "--last=/elsewhere"])["code"], "SESSION_NOT_FOUND");
    for (name, exit, code) in [
        ("01a2281", 3, "SESSION_NOT_FOUND"), // too short for a prefix
        ("nothing.jsonl", 3, "SESSION_NOT_FOUND"),
        ("no-such-session", 3, "SESSION_NOT_FOUND"),
        ("a/b", 2, "INVALID_SESSION_ID"),
        ("..", 6, "NOT_A_FILE"),
    ] {
        assert_eq!(home.report(exit, &["replay", name])["code"], code, "{name}");
    }
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", ".pi/agent/sessions/--x--/2026-11-29T16-20-33-147Z_01a2281b-b0f9-74f9-b07d-d389f5b79d81.jsonl");
    let ambiguous = home.report(4, &["replay", "01a2281b-b0f9"]);
    assert_eq!(ambiguous["code"], "SESSION_AMBIGUOUS");
    assert_eq!(ambiguous["candidates"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_no_log_is_named_for_what_it_is() {
    let home = Home::new();
    fs::write(home.path("empty.jsonl"), "").unwrap();
    fs::write(home.path("other.jsonl"), "{\"hello\":1}\n").unwrap();
    fs::write(home.path("words.jsonl"), "hello\n").unwrap();
    for (file, code) in [
        ("empty.jsonl", "EMPTY_FILE"),
        ("other.jsonl", "FORMAT_UNKNOWN"),
        ("words.jsonl", "FORMAT_UNKNOWN"),
    ] {
        for verb in ["replay", "fork", "side", "snapshot"] {
            assert_eq!(home.report(5, &[verb, file])["code"], code, "{verb} {file}");
        }
    }
    assert_eq!(
        home.report(5, &["replay", "other.jsonl", "--format", "pi"])["code"],
        "HEADER_MISSING"
    );
}

#[test]
fn links_are_read_but_never_written_through() {
    let home = Home::new();
    let parent = home.pi();
    symlink(&parent, home.path("link.jsonl")).unwrap();
    home.report(0, &["replay", "link.jsonl"]);
    symlink(home.path("nowhere"), home.path("child.jsonl")).unwrap();
    assert_eq!(home.report(6, &["fork", PI_ID, "--out", "child.jsonl"])["code"], "SYMLINK_REFUSED");
    assert!(!home.path("nowhere").exists());
}

#[test]
fn errors_name_place_and_remedy() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-crash-in-tool-loop.jsonl", "s.jsonl");
    let ran = home.run(&["fork", "s.jsonl"]);
    assert_eq!(ran.exit, 4);
    assert!(ran.err.starts_with("error[OPEN_TURN]: session "), "{}", ran.err);
    assert!(ran.err.contains("\n  --> ") && ran.err.contains("s.jsonl:"), "{}", ran.err);
    assert!(ran.err.contains("\n  hint: ") && ran.err.contains("--at last-turn"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "no colour without a terminal");
    assert!(home.run(&["fork", "s.jsonl", "--color", "always"]).err.contains('\u{1b}'));
}

#[test]
fn a_transcript_never_sends_control_sequences_to_a_terminal() {
    let home = Home::new();
    let path = home.pi();
    let text =
        fs::read_to_string(&path).unwrap().replacen("Hello there.", "\\u001b[2Jgone\\u202e", 1);
    fs::write(&path, text).unwrap();
    let shown = home.run(&["replay", word(&path)]).out;
    assert!(
        shown.contains("[2Jgone") && !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown}"
    );
}

#[test]
fn strictness_makes_errors_of_warnings() {
    let home = Home::new();
    let path = home.copy("pi/damaged/24-crlf.jsonl", "c.jsonl");
    home.report(0, &["replay", word(&path), "--check"]);
    assert_eq!(home.report(5, &["replay", word(&path), "--check", "--strict"])["code"], "CRLF");
    assert_eq!(home.report(5, &["fork", word(&path), "--strict"])["code"], "CRLF");
}
