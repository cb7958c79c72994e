//! Hints are commands that work as they are pasted, and the words fit the verb.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::home::{Home, PI_ID, Ran, install, ran, word};

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
    let notes = home.path("notes.txt");
    fs::write(&notes, "no log\n").unwrap();
    let told = home.run(&["replay", PI_ID, "--against", "notes.txt"]);
    assert_eq!(told.exit, 5, "{}", told.err);
    assert!(told.err.contains("notes.txt:1"), "not the log that is fine: {}", told.err);
    let against = home.report(3, &["replay", PI_ID, "--against", "nosuch-session"]);
    assert!(against["hint"].as_str().unwrap().contains("--against"), "{against}");
    let last = home.report(3, &["replay", "--last", "--store", "nowhere"]);
    assert_eq!(last["message"], "no session is there");
}

#[test]
fn to_count_nothing_needs_to_be_allowed() {
    let home = Home::new();
    home.copy("pi/damaged/01-torn-tail.jsonl", "torn.jsonl");
    // As another client's log it is damaged beyond what counting takes as it comes.
    for client in ["claude-code", "dsh", "codex"] {
        let report = home.report(5, &["usage", "torn.jsonl", "--format", client]);
        let hint = report["hint"].as_str().unwrap_or_default();
        assert!(!hint.contains("--allow"), "{client}: {report}");
    }
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

/// The command in backquotes behind `words` in what was said.
fn command_behind(said: &str, words: &str) -> String {
    let rest = said.split(words).nth(1).unwrap_or_else(|| panic!("no {words:?} in {said}"));
    rest.split('`').nth(1).expect("a command follows").to_owned()
}

#[test]
fn a_program_that_is_not_installed_is_called_as_it_was() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-crash-in-tool-loop.jsonl", "open turn.jsonl");
    let binary = env!("CARGO_BIN_EXE_sessctl");
    let mut command = home.command(&["fork", "open turn.jsonl", "--out", "a.jsonl", "--json"]);
    let report = ran(&command.env("PATH", "/usr/bin:/bin").output().unwrap()).report();
    let hint = command_behind(report["hint"].as_str().unwrap(), "cut after turn 1 with");
    assert!(hint.starts_with(&format!("{binary} fork ")), "{hint}");
    assert_eq!(paste(&home, &hint).exit, 0, "{hint}");
    install(Path::new(binary), &home.path("mine"));
    let ran = paste(&home, "./mine help NOTHING");
    assert!(ran.err.contains("`./mine help codes`"), "{}", ran.err);
}

#[test]
fn a_side_session_without_an_answer_is_no_empty_note() {
    let home = Home::new();
    home.pi();
    let made = home.report(0, &["side", PI_ID, "--out", "aside.jsonl"]);
    let merge = ["merge", "aside.jsonl", "--last-answer"];
    let report = home.report(2, &merge);
    let side = made["child"]["id"].as_str().unwrap();
    assert_eq!(report["code"], "NOTE_EMPTY");
    assert_eq!(report["message"], format!("side session {side} has no answer yet"));
    let opens = home.run(&["side", PI_ID, "--out", "other.jsonl"]).out;
    let opens = opens.lines().last().unwrap().trim().strip_prefix("open: ").unwrap();
    let hint = report["hint"].as_str().unwrap();
    assert_eq!(hint, format!("open it and ask there: `{}`", opens.replace("other", "aside")));
    assert!(home.run(&merge).err.contains(hint));
    let condensed = home.report(2, &["merge", "aside.jsonl", "--condense-with", "cat"]);
    assert_eq!((&condensed["message"], &condensed["hint"]), (&report["message"], &report["hint"]));
    let empty = home.report(2, &["merge", "aside.jsonl", "--note", " "]);
    assert_eq!((&empty["code"], &empty["message"]), (&report["code"], &"the note is empty".into()));
}

#[test]
fn a_session_of_another_machine_is_given_a_folder_of_this_one() {
    let home = Home::new();
    home.pi();
    let ask = ["side", PI_ID, "--ask", "why?", "--run"];
    let report = home.report(2, &ask);
    assert_eq!(report["code"], "BAD_USAGE");
    let hint = command_behind(report["hint"].as_str().unwrap(), "folder of this machine");
    assert!(hint.ends_with("--cwd ."), "{hint}");
    // What is left to fail is that no client is installed here.
    let after = paste(&home, &hint).report();
    assert_eq!(after["code"], "COMMAND_FAILED", "{after}");
}

#[test]
fn a_folder_behind_list_and_a_session_without_a_verb_are_understood() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "logs/work.jsonl");
    let report = home.report(2, &["list", "logs", "--limit", "3"]);
    assert_eq!(report["code"], "BAD_USAGE");
    assert_eq!(commands(&report).len(), 2, "{report}");
    let said = home.run(&["list", "logs", "--limit", "3"]);
    assert_eq!(said.exit, 2);
    let (below, of) = ("sessctl list --limit 3 --store logs", "sessctl list --limit 3 --cwd logs");
    for command in [below, of] {
        assert!(said.err.contains(&format!("`{command}`")), "{}", said.err);
        assert_eq!(paste(&home, command).exit, 0);
    }
    assert!(paste(&home, below).out.contains("01a2281b"));
    let ran = home.run(&["logs/work.jsonl"]);
    assert!(ran.err.contains("`sessctl replay logs/work.jsonl`"), "{}", ran.err);
    assert_eq!(home.report(2, &["list", "--lmit", "3"])["hint"], Value::Null);
}

#[test]
fn of_several_files_with_one_id_each_is_offered() {
    let home = Home::new();
    for name in ["a/work.jsonl", "b/work.jsonl"] {
        home.copy("pi/pi-1.6.0-tool-calls.jsonl", name);
    }
    let id = "01a2281b-b8fc-73b4-86fd-6b65558447af";
    for name in [id, "01a2281b", "=List the files here."] {
        let report = home.report(4, &["replay", name, "--store", "."]);
        assert_eq!(report["code"], "SESSION_AMBIGUOUS");
        let (message, hint) =
            (report["message"].as_str().unwrap(), report["hint"].as_str().unwrap());
        assert!(message.starts_with(&format!("session {id} lies in 2 files: ")), "{message}");
        assert!(!message.contains("/./") && hint.starts_with("name the file: "), "{hint}");
        let commands = commands(&report);
        assert_eq!(commands.len(), 2, "{hint}");
        for (command, folder) in commands.iter().zip(["a", "b"]) {
            let path = fs::canonicalize(home.path("")).unwrap().join(folder).join("work.jsonl");
            assert!(command.contains(word(&path)), "{command}");
            assert_eq!(paste(&home, command).exit, 0, "{command}");
        }
    }
}

#[test]
fn of_several_sessions_with_one_title_each_is_offered() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    for out in ["x.jsonl", "y.jsonl"] {
        home.report(0, &["fork", "work.jsonl", "--at", "turn:2", "--title", "Twice", "--out", out]);
    }
    let report = home.report(4, &["replay", "=Twice", "--store", "."]);
    assert!(report["message"].as_str().unwrap().starts_with("`Twice` is the name of 2 sessions"));
    assert!(report["hint"].as_str().unwrap().starts_with("say which one: "));
    assert_eq!(commands(&report).len(), 2);
    for command in commands(&report) {
        assert!(!command.contains(".jsonl"), "{command}");
        assert_eq!(paste(&home, &command).exit, 0, "{command}");
    }
}

#[test]
fn the_beginning_of_a_title_or_of_an_id_leads_to_the_whole_of_it() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    let report = home.report(3, &["replay", "=list the", "--store", "."]);
    assert_eq!(report["message"], "no session has the title `list the`");
    let whole = commands(&report);
    assert_eq!(whole, ["sessctl replay '=List the files here.' --store . --json"]);
    assert_eq!(paste(&home, &whole[0]).exit, 0);
    let other = home.report(3, &["replay", "=Nothing like it", "--store", "."]);
    assert!(other["hint"].as_str().unwrap().starts_with("`sessctl list --store .`"), "{other}");
    let short = home.report(3, &["replay", "01a2281", "--store", "."]);
    assert!(short["hint"].as_str().unwrap().contains("8 characters or more"), "{short}");
}
