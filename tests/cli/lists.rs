use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::home::{Home, PI_ID, word};

/// The rows of a list: depth, kind and id.
fn rows(report: &Value) -> Vec<(u64, &str, &str)> {
    report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (row["depth"].as_u64().unwrap(), text("kind"), text("id"))
        })
        .collect()
}

#[test]
fn children_are_listed_under_their_parents_and_families_by_their_newest_member() {
    let home = Home::new();
    let parent = home.pi();
    let other = home.copy(
        "pi/pi-1.6.0-tool-calls.jsonl",
        ".pi/agent/sessions/--x--/2026-11-29T16-20-33-147Z_01a2281c-0000-74f9-b07d-d389f5b79d81.jsonl",
    );
    let fork = home.report(0, &["fork", PI_ID, "--title", "Another way"]);
    let side = home.report(0, &["side", PI_ID, "--ask", "why?"]);
    let old = SystemTime::now() - Duration::from_secs(7200);
    for path in [&parent, &other] {
        fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let list = home.report(0, &["list"]);
    let [fork, side] = [&fork, &side].map(|made| made["child"]["id"].as_str().unwrap());
    let listed = rows(&list);
    assert_eq!(listed[0], (0, "main", PI_ID), "the newest member of the first family is a child");
    let children = [(1, "fork", fork), (1, "side", side)];
    assert!(children.iter().all(|child| listed[1..3].contains(child)), "{listed:?}");
    assert_eq!((listed.len(), listed[3].0, listed[3].1), (4, 0, "main"));
    let row = &list["rows"][0];
    assert_eq!((&row["client"], &row["turns"]), (&"pi".into(), &3.into()));
    assert_eq!((&row["title"], &row["cwd"]), (&"Hello there.".into(), &"/home/ada/pi-demo".into()));
    assert_eq!(row["size"], fs::metadata(&parent).unwrap().len());
    assert!((7200..7300).contains(&row["age"].as_i64().unwrap()));

    let shown = home.run(&["list"]);
    assert_eq!(shown.exit, 0);
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(lines[0].contains("client") && lines[0].contains("turns") && lines[0].contains("age"));
    assert!(lines[1].contains("Hello there.") && lines[1].contains("2h"), "{}", shown.out);
    assert!(
        shown.out.contains("└ Another way") && shown.out.contains("└ [side] "),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains('\u{1b}'));
    // What is shown of an id is enough to name the session.
    for line in &lines[1..] {
        home.report(0, &["replay", line.split_whitespace().next().unwrap()]);
    }
}

#[test]
fn a_list_is_narrowed_by_client_folder_and_number() {
    let home = Home::new();
    home.pi();
    home.copy_folder("claude-code/plain-and-fork/projects", ".claude/projects");
    assert_eq!(rows(&home.report(0, &["list", "--format", "pi"])).len(), 1);
    let claude = home.report(0, &["list", "--format", "claude-code"]);
    assert!(rows(&claude).len() >= 2, "{claude}");
    assert_eq!(rows(&home.report(0, &["list", "--cwd", "/home/ada/pi-demo"])).len(), 1);
    assert_eq!(
        rows(&home.report(0, &["list", "--cwd", "/home/ada"])).len(),
        rows(&claude).len() + 1
    );
    assert!(rows(&home.report(0, &["list", "--cwd", "/home/ad"])).is_empty());
    let one = home.report(0, &["list", "--limit", "1"]);
    assert_eq!(rows(&one).len(), 1);
    assert_eq!(one["older"], rows(&claude).len());
    assert_eq!(one["hint"], "`sessctl list --json --limit 2` shows older ones");
    home.report(2, &["list", "--limit", "0"]);
    home.report(2, &["list", "--limit", "many"]);
    let empty = home.report(0, &["list", "--store", "nowhere"]);
    assert!(rows(&empty).is_empty() && empty["hint"].is_string());
}

#[test]
fn the_view_of_lineage_without_a_session_is_the_list() {
    let home = Home::new();
    home.pi();
    let list = home.report(0, &["replay", "--view", "lineage", "--limit", "5"]);
    assert_eq!(rows(&list), [(0, "main", PI_ID)]);
    assert!(home.run(&["replay", "--view", "lineage"]).out.contains("Hello there."));
    assert_eq!(home.report(2, &["replay"])["code"], "BAD_USAGE");
    assert_eq!(home.report(2, &["replay", "--view", "turns"])["code"], "BAD_USAGE");
}

#[test]
fn damage_is_no_reason_to_leave_a_session_out_of_the_list() {
    let home = Home::new();
    home.copy("pi/damaged/01-torn-tail.jsonl", "store/a.jsonl");
    home.copy("pi/damaged/15-cycle.jsonl", "store/b.jsonl");
    fs::write(home.path("store/other.jsonl"), "{\"hello\":1}\n").unwrap();
    let list = home.report(0, &["list", "--store", "store"]);
    assert_eq!(rows(&list).len(), 2);
    assert_eq!(list["unread"], 1);
    let shown = home.run(&["list", "--store", word(&home.path("store"))]);
    assert_eq!((shown.exit, shown.out.lines().count()), (0, 3));
}

#[test]
fn replay_waits_for_the_open_turn_to_end() {
    let home = Home::new();
    let whole =
        fs::read_to_string(home.copy("pi/pi-1.6.0-tool-calls.jsonl", "whole.jsonl")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let log = home.path("s.jsonl");
    fs::write(&log, lines[..7].concat()).unwrap();
    let before = home.report(0, &["replay", "s.jsonl"]);
    assert_eq!(before["open_turns"], 1, "{before}");
    assert_eq!(home.report(4, &["replay", "s.jsonl", "--wait", "150ms"])["code"], "OPEN_TURN");
    let (log, rest) = (log.clone(), lines[7..].concat());
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        std::thread::sleep(Duration::from_millis(300));
        let mut file = fs::File::options().append(true).open(log).unwrap();
        file.write_all(rest.as_bytes()).unwrap();
    });
    let after = home.report(0, &["replay", "s.jsonl", "--wait", "1m"]);
    writer.join().unwrap();
    assert_eq!(after["open_turns"], 0);
    assert!(after["turns"].as_u64() > before["turns"].as_u64());
    home.report(2, &["replay", "s.jsonl", "--wait", "soon"]);
    home.report(2, &["replay", "-", "--wait", "1s"]);
}

#[test]
fn ids_of_files_that_are_called_anything_are_shown_as_far_as_they_differ() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "here/a.jsonl");
    let made = |name: &str| {
        let out = home.path(&format!("here/{name}.jsonl"));
        home.report(0, &["fork", "here/a.jsonl", "--out", out.to_str().unwrap()]);
    };
    made("b");
    made("c");
    let table = home.run(&["list", "--store", "here"]).out;
    let shown: Vec<&str> =
        table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(shown.len(), 3, "{table}");
    for id in shown {
        assert_eq!(home.run(&["replay", id, "--store", "here"]).exit, 0, "{id}: {table}");
    }
}
