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
