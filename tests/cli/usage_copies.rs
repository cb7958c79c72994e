//! Whose an answer is where the logs do not say that they were copied.

use std::fs;

use crate::home::{Home, PI_ID};

const FOLDER: &str = "claude-code/plain-and-fork/projects/-home-ada-webshop";
const PARENT: &str = "11111111-1111-4111-8111-000000000001";
const FORK: &str = "cac9e9bc-4315-4fab-a139-590c15a05549";

/// A parent and its fork, from which every mark of the copy was taken.
fn unmarked() -> Home {
    let home = Home::new();
    home.copy(&format!("{FOLDER}/{PARENT}.jsonl"), &format!("p/{PARENT}.jsonl"));
    let fork = home.copy(&format!("{FOLDER}/{FORK}.jsonl"), &format!("p/{FORK}.jsonl"));
    let text = fs::read_to_string(&fork).unwrap();
    let mark = format!(",\"requestSessionId\":\"{PARENT}\"");
    assert_eq!(text.matches(&mark).count(), 4);
    fs::write(&fork, text.replace(&mark, "")).unwrap();
    home
}

#[test]
fn a_fork_without_a_mark_is_told_by_what_it_begins_with() {
    let home = unmarked();
    let rows = home.report(0, &["usage", "p", "--by", "kind", "--by", "session"])["rows"].clone();
    let row = |at: usize| {
        let row = &rows[at];
        (row["kind"].clone(), row["session"].clone(), row["completions"].clone())
    };
    assert_eq!(row(0), ("fork".into(), FORK.into(), 1.into()));
    assert_eq!(row(1), ("main".into(), PARENT.into(), 3.into()));
}

#[test]
fn of_two_sessions_with_one_beginning_the_later_one_is_the_fork() {
    let home = unmarked();
    // The copy was made before the parent's last answer, which is older than the fork's own.
    let fork = home.path(&format!("p/{FORK}.jsonl"));
    let text = fs::read_to_string(&fork).unwrap();
    let last = "\"id\":\"msg_01Mock000000000000000003\"";
    let shorter: String = text.split_inclusive('\n').filter(|line| !line.contains(last)).collect();
    assert_ne!(shorter.len(), text.len());
    fs::write(&fork, shorter).unwrap();
    let rows = home.report(0, &["usage", "p", "--by", "kind", "--by", "session"])["rows"].clone();
    assert_eq!((&rows[0]["session"], &rows[0]["completions"]), (&FORK.into(), &1.into()));
    assert_eq!((&rows[1]["session"], &rows[1]["completions"]), (&PARENT.into(), &3.into()));
}

#[test]
fn the_end_of_a_log_does_not_decide_whose_it_is() {
    let home = Home::new();
    let path = home.pi();
    let mut text = fs::read_to_string(&path).unwrap();
    // Another client's words, cut in the middle.
    text.push_str(
        "{\"parentUuid\":\"c15d5101-7ae0-452d-acb8-62d3b0c17efe\",\"type\":\"user\",\"mess",
    );
    fs::write(&path, text).unwrap();
    let report = home.report(0, &["usage", "--by", "session", "--by", "client"]);
    assert_eq!((&report["completions"], &report["unread"]), (&3.into(), &0.into()));
    assert_eq!(report["rows"][0]["session"], PI_ID);
    assert_eq!(report["rows"][0]["client"], "pi");
}

const ASIDE: &str = "claude-code/aside-question-2.1.100/projects/-home-ada-webshop";
const ASKED: &str = "44444444-4444-4444-8444-000000002100";
const HELPER: &str = "subagents/agent-aside_question-d958ffa3d9ec6ce2.jsonl";

/// The aside of a session whose log is gone, and a copy of that log under a new id, which then went on.
fn gone(mark: &str) -> Home {
    let home = Home::new();
    home.copy(&format!("{ASIDE}/{ASKED}/{HELPER}"), &format!("p/{ASKED}/{HELPER}"));
    copied(&home, &format!("{ASIDE}/{ASKED}.jsonl"), ASKED, mark);
    home
}

/// A session's log as a fork's; `mark` stands on the answers that were made before a compaction.
fn copied(home: &Home, fixture: &str, session: &str, mark: &str) {
    let fork = home.copy(fixture, &format!("p/{FORK}.jsonl"));
    let text = fs::read_to_string(&fork).unwrap().replace(session, FORK);
    let mark = |line: &str| {
        let before = ["00000000097\"", "00000000099\""].iter().any(|id| line.contains(id));
        if before { line.replacen('{', &format!("{{{mark}"), 1) } else { line.to_owned() }
    };
    fs::write(&fork, text.split_inclusive('\n').map(mark).collect::<String>()).unwrap();
}

/// Kind, session and number of the completions in each row.
fn kinds(home: &Home) -> Vec<(String, String, u64)> {
    let report = home.report(0, &["usage", "p", "--by", "kind", "--by", "session"]);
    let row = |row: &serde_json::Value| {
        let word = |key: &str| row[key].as_str().unwrap().to_owned();
        (word("kind"), word("session"), row["completions"].as_u64().unwrap())
    };
    report["rows"].as_array().unwrap().iter().map(row).collect()
}

fn row(kind: &str, session: &str, completions: u64) -> (String, String, u64) {
    (kind.into(), session.into(), completions)
}

#[test]
fn an_aside_owns_nothing_that_another_log_has_too() {
    let helper = HELPER.trim_start_matches("subagents/").trim_end_matches(".jsonl");
    let rows = [row("aside", helper, 1), row("fork", FORK, 1), row("main", ASKED, 2)];
    // The fork says what it copied.
    assert_eq!(kinds(&gone(&format!("\"requestSessionId\":\"{ASKED}\","))), rows);
    // It does not, and the aside of the session that is gone tells.
    assert_eq!(kinds(&gone("")), rows);
}

#[test]
fn what_two_asides_have_is_their_sessions() {
    let home = gone("");
    fs::remove_file(home.path(&format!("p/{FORK}.jsonl"))).unwrap();
    let first = fs::read_to_string(home.path(&format!("p/{ASKED}/{HELPER}"))).unwrap();
    let second = HELPER.replace("d958", "d959");
    let text = first.replace("d958", "d959").replace("00000000100\"", "00000000101\"");
    fs::write(home.path(&format!("p/{ASKED}/{second}")), text).unwrap();
    let kinds = kinds(&home);
    assert!(kinds.contains(&row("main", ASKED, 2)), "{kinds:?}");
    let asides = kinds.iter().filter(|(kind, _, own)| kind == "aside" && *own == 1);
    assert_eq!((asides.count(), kinds.len()), (2, 3), "{kinds:?}");
}

#[test]
fn of_a_session_and_one_that_is_gone_the_later_one_is_the_fork() {
    let home = gone("");
    // The session went its own way before the one that is gone was asked what it has not.
    let path = home.path(&format!("p/{FORK}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("2026-11-29T16:28:18.255Z", "2026-11-29T16:28:00.319Z")).unwrap();
    let helper = home.path(&format!("p/{ASKED}/{HELPER}"));
    let text = fs::read_to_string(&helper).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&helper, format!("{text}{}\n", last.replace("00000000100\"", "00000000101\"")))
        .unwrap();
    assert!(kinds(&home).contains(&row("main", FORK, 3)));
}

#[test]
fn what_a_log_repeats_of_another_sessions_subagent_makes_it_a_fork() {
    let folder = "claude-code/old-2.1.75-subagent-growing/projects/-home-ada-webshop";
    let session = "99999999-9999-4999-8999-000000002175";
    let agent = "subagents/agent-a61e5c1be0de544bd.jsonl";
    let home = Home::new();
    let path = home.copy(&format!("{folder}/{session}/{agent}"), &format!("p/{session}/{agent}"));
    copied(&home, &format!("{folder}/{session}.jsonl"), session, "");
    // Older versions repeat in the session what its subagents say.
    let call = fs::read_to_string(path).unwrap();
    let call = call.lines().find(|line| line.contains("\"assistant\"")).unwrap();
    let told = format!(
        "{{\"type\":\"progress\",\"parentUuid\":null,\"isSidechain\":false,\"sessionId\":\"{FORK}\",\
         \"uuid\":\"5b0c9f3e-0b8f-4c36-9a52-5d7f8f1f0a01\",\"data\":{{\"message\":{call}}}}}\n"
    );
    let fork = home.path(&format!("p/{FORK}.jsonl"));
    let text = fs::read_to_string(&fork).unwrap();
    let result = text.split_inclusive('\n').position(|line| line.contains("tool_result")).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.insert(result, &told);
    fs::write(&fork, lines.concat()).unwrap();
    let rows = [row("fork", FORK, 1), row("main", session, 1)];
    let kinds = kinds(&home);
    assert!(rows.iter().all(|row| kinds.contains(row)), "{kinds:?}");
    assert!(kinds.contains(&row("subagent", "agent-a61e5c1be0de544bd", 2)), "{kinds:?}");
}
