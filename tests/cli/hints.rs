//! Hints are commands that work as they are pasted, and the words fit the verb.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::home::{Home, PI_ID, Ran, ran, word};

/// The commands in a hint.
fn commands(report: &Value) -> Vec<String> {
    let hint = report["hint"].as_str().unwrap_or_default();
    let quoted = hint.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.starts_with("sessctl ")).map(str::to_owned).collect()
}

/// Runs a line in a shell that finds the binary.
fn paste(home: &Home, line: &str) -> Ran {
    let mut shell = std::process::Command::new("sh");
    let bin = Path::new(env!("CARGO_BIN_EXE_sessctl")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    shell.args(["-c", line]).env_clear().env("HOME", home.path("")).env("PATH", path);
    ran(&shell.current_dir(home.path("")).output().unwrap())
}

/// The first command of a hint, which must work.
fn helps(home: &Home, exit: i32, code: &str, args: &[&str]) {
    let report = home.report(exit, args);
    assert_eq!(report["code"], code, "{args:?}");
    let commands = commands(&report);
    assert!(!commands.is_empty(), "{args:?}: {}", report["hint"]);
    for command in commands {
        let ran = paste(home, &command.replace(" --json", ""));
        assert_eq!(ran.exit, 0, "{command}: {} {}", ran.out, ran.err);
    }
}

#[test]
fn every_hint_with_a_command_is_one_that_works() {
    let home = Home::new();
    home.pi();
    home.copy("pi/pi-1.6.0-crash-in-tool-loop.jsonl", "open turn.jsonl");
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    home.copy("pi/damaged/01-torn-tail.jsonl", "torn.jsonl");
    home.report(0, &["fork", "work.jsonl", "--out", "there.jsonl"]);
    helps(&home, 4, "OPEN_TURN", &["fork", "open turn.jsonl", "--out", "a.jsonl"]);
    helps(&home, 4, "OPEN_TURN", &["snapshot", "open turn.jsonl", "--at=tip"]);
    helps(&home, 3, "TURN_NOT_FOUND", &["fork", "work.jsonl", "--at", "turn:99"]);
    helps(&home, 4, "INVALID_BOUNDARY", &["snapshot", "work.jsonl", "--at", "line:6"]);
    helps(&home, 3, "SESSION_NOT_FOUND", &["replay", "nothing.jsonl", "--store", "."]);
    helps(&home, 3, "SESSION_NOT_FOUND", &["replay", "=No such title"]);
    helps(&home, 2, "INVALID_SESSION_ID", &["replay", "a b"]);
    helps(&home, 6, "NOT_A_FILE", &["replay", "."]);
    helps(&home, 4, "SESSION_ALREADY_EXISTS", &["fork", "work.jsonl", "--out", "there.jsonl"]);
    helps(&home, 4, "SESSION_ALREADY_EXISTS", &["snapshot", "work.jsonl", "--out", "there.jsonl"]);
    helps(&home, 4, "SESSION_ALREADY_EXISTS", &["fork", PI_ID, "--id", PI_ID]);
    helps(&home, 4, "SESSION_NOT_LIVE", &["fork", "torn.jsonl", "--out", "b.jsonl"]);
    helps(&home, 5, "TORN_TAIL", &["replay", "torn.jsonl", "--check"]);
    let bare = Home::new();
    bare.copy("pi/damaged/01-torn-tail.jsonl", "torn.jsonl");
    helps(&bare, 5, "TORN_TAIL", &["fork", "torn.jsonl", "--out", "b.jsonl"]);
    home.report(0, &["fork", PI_ID, "--request-id", "r"]);
    helps(&home, 4, "REQUEST_CONFLICT", &["fork", PI_ID, "--request-id", "r", "--at", "turn:1"]);
    let side = home.report(0, &["side", PI_ID]);
    let side = side["child"]["id"].as_str().unwrap();
    let merge = ["merge", side, "--note", "twelve words", "--max-chars", "5"];
    helps(&home, 4, "NOTE_TOO_LONG", &merge);
    helps(&home, 4, "NOT_A_CHILD", &["merge", side, "--into", "work.jsonl", "--note", "x"]);
}

#[test]
fn damage_is_never_met_again_by_the_command_of_its_hint() {
    let home = Home::new();
    let damaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pi/damaged");
    let mut tried = 0;
    for entry in fs::read_dir(damaged).unwrap() {
        let name = PathBuf::from(entry.unwrap().file_name());
        let name = name.to_str().unwrap();
        home.copy(&format!("pi/damaged/{name}"), name);
        for (nth, verb) in ["fork", "side", "snapshot", "replay"].into_iter().enumerate() {
            let out = format!("{nth}-{name}");
            let args = match verb {
                "replay" => vec![verb, name, "--check", "--json"],
                _ => vec![verb, name, "--out", &out, "--json"],
            };
            let ran = home.run(&args);
            if ran.exit != 5 {
                continue;
            }
            let before = ran.report();
            for command in commands(&before) {
                let after = paste(&home, &command);
                let same = after.exit == 5 && after.report()["code"] == before["code"];
                assert!(after.exit != 2 && !same, "{command}: {}{}", after.out, after.err);
                fs::remove_file(home.path(&out)).ok();
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn hints_fit_the_verb() {
    let home = Home::new();
    home.pi();
    let against = home.report(3, &["replay", PI_ID, "--against", "nosuch-session"]);
    assert!(against["hint"].as_str().unwrap().contains("--against"), "{against}");
    let last = home.report(3, &["replay", "--last", "--store", "nowhere"]);
    assert_eq!(last["message"], "no session is there");
}

#[test]
fn what_may_not_be_searched_is_denied_and_not_absent() {
    let home = Home::new();
    let path = home.copy("pi/pi-1.6.0-tool-calls.jsonl", "closed/work.jsonl");
    let folder = path.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o600)).unwrap();
    let root = fs::metadata(&path).is_ok(); // whom no right stops
    let ran = home.run(&["replay", word(&path), "--json"]);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    if root {
        eprintln!("skipped: this user may search every folder");
        return;
    }
    assert_eq!((ran.exit, &ran.report()["code"]), (6, &"IO_DENIED".into()));
}

#[test]
fn a_folder_that_is_not_there_is_no_id() {
    let home = Home::new();
    for verb in ["usage", "replay"] {
        assert_eq!(home.report(3, &[verb, "nosuchdir/"])["code"], "SESSION_NOT_FOUND");
    }
    let raw = home.report(2, &["replay", "a\nb"]);
    assert_eq!(raw["message"], "`a\\nb` cannot be a session id");
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    let home = Home::new();
    home.pi();
    for args in [
        &["fork", PI_ID, "--request-id", ""][..],
        &["fork", PI_ID, "--allow", "TORN_TAIL", "--drop", "TORN_TAIL"],
        &["snapshot", PI_ID, "--allow", "TORN_TAIL", "--drop", "TORN_TAIL"],
        &["side", PI_ID, "--ask", "-", "--framing", "-"],
        &["side", "-", "--ask", "-"],
        &["usage", PI_ID, "--own", "--include-forks"],
        &["replay", PI_ID, "--turns", "5..2"],
        &["replay", PI_ID, "--turns", "0"],
    ] {
        assert_eq!(home.report(2, args)["code"], "BAD_USAGE", "{args:?}");
    }
}

#[test]
fn what_goes_to_standard_output_is_opened_by_no_command() {
    let home = Home::new();
    let ran = home.run(&["fork", word(&home.pi()), "--out", "-"]);
    assert_eq!(ran.exit, 0);
    assert!(!ran.err.contains("open:") && !ran.err.contains("file:"), "{}", ran.err);
}

#[test]
fn nothing_is_left_of_a_request_that_failed_and_no_error_names_a_temporary_file() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    home.report(4, &["fork", "work.jsonl", "--at", "line:6", "--request-id", "r"]);
    let requests = home.path(".local/state/sessctl/requests");
    assert!(fs::read_dir(requests).map_or(0, Iterator::count) == 0);
    fs::create_dir(home.path("closed")).unwrap();
    fs::set_permissions(home.path("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    let ran = home.run(&["fork", "work.jsonl", "--out", "closed/child.jsonl"]);
    assert!(!ran.err.contains(".sessctl-") && !ran.err.contains(".tmp"), "{}", ran.err);
}
