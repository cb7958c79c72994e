//! What `usage` is asked: places, names, days, forms, and what it says where it cannot answer.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;

use crate::home::{Home, PI_FOLDER, PI_ID, word};

const OTHER: &str = "22222222-2222-4222-8222-222222222221";
const THIRD: &str = "22222222-2222-4222-8222-222222222222";

/// A copy of the plain session under another id.
fn session(home: &Home, id: &str) {
    let text = fs::read_to_string(home.pi()).unwrap().replace(PI_ID, id);
    let name = format!("{PI_FOLDER}/2026-11-29T16-20-34-146Z_{id}.jsonl");
    fs::write(home.path(&name), text).unwrap();
}

#[test]
fn a_folder_that_cannot_be_looked_into_is_no_empty_one() {
    let home = Home::new();
    let calls = home.report(0, &["usage"])["completions"].clone();
    assert_eq!(calls, 0, "what is not there is empty");
    home.pi();
    // Nobody gets into a circle, not even root.
    fs::create_dir_all(home.path(".codex")).unwrap();
    let closed = home.path(".codex/sessions");
    symlink("sessions", &closed).unwrap();
    for _ in 0..2 {
        let told = home.report(0, &["usage"]);
        assert_eq!((&told["completions"], &told["unread"]), (&3.into(), &1.into()));
        let log = json!({ "path": closed, "broken_lines": 0, "torn_tail": false, "unread": true });
        assert_eq!(told["damaged"], json!([log]));
    }
    let person = home.run(&["usage"]).out;
    assert!(person.contains("1 file or folder that could not be read"), "{person}");
    // A budget that nobody can vouch for is not kept.
    let told = home.report(6, &["usage", "--fail-over", "1Gtok"]);
    assert_eq!((&told["code"], &told["budget"]["over"]), (&"IO_DENIED".into(), &false.into()));
    assert!(told["message"].as_str().unwrap().contains(word(&closed)), "{told}");
    assert_eq!(home.report(1, &["usage", "--fail-over", "1tok"])["code"], "OVER_BUDGET");
    // What is not found may lie there.
    for name in [OTHER, "=No such title", "--last=/elsewhere"] {
        assert_eq!(home.report(6, &["replay", name])["code"], "IO_DENIED", "{name}");
    }
    let hint = home.report(0, &["list"])["hint"].clone();
    assert!(hint.as_str().unwrap().contains(word(&closed)), "{hint}");
    fs::remove_dir_all(home.path(".pi")).unwrap();
    assert_eq!(home.report(6, &["list"])["code"], "IO_DENIED");
}

#[test]
fn a_parents_file_may_be_called_anything() {
    let home = Home::new();
    let parent = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "n/work.jsonl");
    let usage = json!({
        "input": 10, "output": 5, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "reasoning": 0,
    });
    let turn = json!({
        "question": "q", "answer": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "stop",
    });
    let turns = home.path("turns.ndjson");
    fs::write(&turns, turn.to_string() + "\n").unwrap();
    let record = ["side", word(&parent), "--record", word(&turns), "--pane", "p1"];
    assert_eq!(home.run(&record).exit, 0);
    let alone = home.report(0, &["usage", word(&parent), "--own"]);
    for place in [&["usage", "n/work.jsonl"][..], &["usage", PI_ID, "--store", "n"]] {
        let told = home.report(0, &[place, &["--by", "kind"]].concat());
        let kinds: Vec<&str> = told["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["aside", "main"], "{place:?}");
        let sum = |told: &serde_json::Value| told["totals"]["total"].as_u64().unwrap();
        assert_eq!(sum(&told), sum(&alone) + 15);
    }
}

#[test]
fn one_folder_by_two_names_is_read_once() {
    let home = Home::new();
    home.pi();
    symlink(home.path(".pi"), home.path("link")).unwrap();
    let once = home.report(0, &["usage", ".pi"]);
    for other in ["link", ".pi/agent/../agent", ".pi/agent/sessions"] {
        let told = home.report(0, &["usage", ".pi", other]);
        for field in ["files", "copied", "rows"] {
            assert_eq!(told[field], once[field], "{other}: {field}");
        }
    }
}

#[test]
fn the_session_written_last_can_be_asked_for() {
    let home = Home::new();
    home.pi();
    for last in ["--last", "--last=/home/ada/pi-demo"] {
        let told = home.report(0, &["usage", last]);
        assert_eq!((&told["completions"], &told["rows"][0]["session"]), (&3.into(), &PI_ID.into()));
    }
    assert_eq!(home.report(3, &["usage", "--last=/elsewhere"])["code"], "SESSION_NOT_FOUND");
    assert_eq!(home.run(&["usage", PI_ID, "--last"]).exit, 2);
}

#[test]
fn a_session_that_is_explained_is_named_as_elsewhere() {
    let home = Home::new();
    for id in [OTHER, THIRD] {
        session(&home, id);
    }
    fs::remove_file(home.pi()).unwrap();
    for place in [&[][..], &[".pi"]] {
        let ask =
            |exit, name| home.report(exit, &[&["usage"], place, &["--explain", name]].concat());
        assert_eq!(ask(0, OTHER)["explained"].as_array().unwrap().len(), 3);
        let told = ask(4, "22222222");
        assert_eq!(told["code"], "SESSION_AMBIGUOUS");
        assert_eq!(told["candidates"].as_array().unwrap().len(), 2);
        assert_eq!(ask(4, "=Hello there.")["code"], "SESSION_AMBIGUOUS");
    }
    let wrong = home.report(3, &["usage", "--explain", "=Hello"]);
    assert!(wrong["hint"].as_str().unwrap().contains("'=Hello there.'"), "{wrong}");
    // Of one log alone, nothing is told of its neighbours.
    session(&home, PI_ID);
    let name = format!("{PI_FOLDER}/2026-11-29T16-20-34-146Z_{OTHER}.jsonl");
    let told = home.report(0, &["usage", &name, "--explain", "2026-11-29"]);
    let rows = told["explained"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["records"].to_string().contains(OTHER)), "{told}");
}

#[test]
fn days_may_be_told_from_today() {
    let home = Home::new();
    let path = home.pi();
    let text = fs::read_to_string(&path).unwrap();
    let day = |back: i64| {
        let day = chrono::Utc::now().date_naive() - chrono::TimeDelta::days(back);
        day.format("%Y-%m-%d").to_string()
    };
    // Not at the edge of a day: the test may run at midnight.
    fs::write(&path, text.replace("2026-11-29", &day(10))).unwrap();
    for (args, calls) in [
        (&["--since", "12d"][..], 3),
        (&["--since", "8d"], 0),
        (&["--since", "today"], 0),
        (&["--until", "yesterday"], 3),
        (&["--until", "12d"], 0),
        (&["--since", "12d", "--until", "8d", "--timezone", "local"], 3),
    ] {
        let told = home.report(0, &[&["usage"], args].concat());
        assert_eq!(told["completions"], calls, "{args:?}");
    }
    for wrong in ["-1d", "tomorrow", "d", "1w"] {
        let told = home.report(2, &["usage", "--since", wrong]);
        assert!(told["message"].as_str().unwrap().contains("yesterday"), "{told}");
    }
}

#[test]
fn what_would_not_be_heeded_is_refused() {
    let home = Home::new();
    home.pi();
    for args in [
        &["--explain", PI_ID, "--by", "day"][..],
        &["--explain", PI_ID, "--cost"],
        &["--reconcile", "--by", "day"],
        &["--reconcile", "--cost"],
        &["--statusline", "--by", "day"],
        &["--csv", "--json"],
        &["--ledger", "-"],
    ] {
        let ran = home.run(&[&["usage"], args].concat());
        assert_eq!(ran.exit, 2, "{args:?}: {}", ran.out);
    }
    assert!(!home.path("-").exists());
    let twice = home.run(&["usage", "--by", "day", "--by", "day", "--csv"]).out;
    assert_eq!(twice, home.run(&["usage", "--by", "day", "--csv"]).out);
    // What a ledger is not is not written over, and the way out is one that there is.
    fs::write(home.path("x.ndjson"), "mine\n").unwrap();
    let told = home.report(4, &["usage", "--ledger", "x.ndjson"]);
    assert!(told["hint"].as_str().unwrap().contains("--ledger"), "{told}");
    // That the answer is no is an answer.
    let quiet = home.run(&["-q", "usage", "--by", "client", "--fail-over", "1tok"]);
    assert!(quiet.exit == 1 && quiet.out.contains("sum"), "{}", quiet.out);
}

#[test]
fn a_file_that_is_no_session_is_named() {
    let home = Home::new();
    let path = home.pi();
    fs::write(home.path("no.jsonl"), "no session\n").unwrap();
    fs::write(home.path("empty.jsonl"), "").unwrap();
    for name in ["no.jsonl", "empty.jsonl"] {
        for args in [&["usage", word(&path), name][..], &["replay", name], &["fork", name]] {
            let ran = home.run(args);
            assert_eq!(ran.exit, 5, "{args:?}");
            assert!(
                ran.err.contains(&format!("{name}\n")) || ran.err.contains(&format!("{name}:1\n")),
                "{}",
                ran.err
            );
        }
    }
}
