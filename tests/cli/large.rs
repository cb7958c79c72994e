//! Children of logs so large that they are begun while the log is read.

use std::{fs, io::Write, path::PathBuf};

use serde_json::{Value, json};

use crate::home::{Home, PI_FOLDER, word};

const ID: &str = "01a2281b-0000-7000-8000-000000000001";

/// Lines of a pi session of more than 64 MiB, in turns of a prompt and an answer.
fn lines() -> Vec<String> {
    let text = "One line of many bytes, \"quoted\" \\ and more. ".repeat(1 << 15);
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": ID, "timestamp": "2026-11-29T16:00:00.000Z", "cwd": "/work"}).to_string(),
    ];
    for nth in 0..50 {
        let said = [json!({"type": "text", "text": text})];
        let message = if nth % 2 == 0 {
            json!({"role": "user", "content": said, "timestamp": 1})
        } else {
            json!({"role": "assistant", "content": said, "stopReason": "stop", "timestamp": 1})
        };
        lines.push(record(nth, nth.checked_sub(1), &message));
    }
    lines
}

fn record(nth: u32, parent: Option<u32>, message: &Value) -> String {
    let id = |nth: u32| format!("f{nth:07x}");
    json!({"type": "message", "id": id(nth), "parentId": parent.map(id), "timestamp": "2026-11-29T16:00:01.000Z", "message": message})
        .to_string()
}

fn put(home: &Home, lines: &[String]) -> PathBuf {
    let path = home.path(&format!("{PI_FOLDER}/2026-11-29T16-00-00-000Z_{ID}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    path
}

/// The child's lines without its own: the header in front, the title behind.
fn inherited(report: &Value) -> Vec<String> {
    let child = fs::read_to_string(report["child"]["path"].as_str().unwrap()).unwrap();
    let lines: Vec<&str> = child.strip_suffix('\n').unwrap().split('\n').collect();
    let own = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let (first, last) = (own(lines[0]), own(lines[lines.len() - 1]));
    assert_eq!((&first["type"], &first["id"]), (&"session".into(), &report["child"]["id"]));
    assert_eq!((&last["type"], &last["name"]), (&"session_info".into(), &report["child"]["title"]));
    lines[1..lines.len() - 1].iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn a_large_child_has_the_lines_of_its_path_and_no_others() {
    let home = Home::new();
    let mut lines = lines();
    let parent = put(&home, &lines);
    let whole = home.report(0, &["fork", word(&parent)]);
    assert!(inherited(&whole) == lines[1..], "all lines");
    // A working folder changes the first line, and where the rest begins.
    let moved = home.report(0, &["fork", word(&parent), "--cwd", "/", "--title", "moved"]);
    assert!(inherited(&moved) == lines[1..], "all lines");

    // What stands behind the last turn is left out, and so is a branch that nobody went on from.
    let prompt = json!({"role": "user", "content": "and then?", "timestamp": 1});
    lines.insert(5, record(1000, Some(2), &prompt));
    lines.push(record(1001, Some(49), &prompt));
    let parent = put(&home, &lines);
    let cut = home.report(0, &["fork", word(&parent), "--at", "last-turn", "--title", "cut"]);
    let mut path = lines[1..lines.len() - 1].to_vec();
    path.remove(4);
    assert!(inherited(&cut) == path, "the path alone");
    let files = walkdir::WalkDir::new(home.path(".pi")).into_iter().map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file());
    assert_eq!(files.count(), 4, "a parent and three children, and nothing else");
}
