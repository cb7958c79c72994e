//! Ledgers: one row for each completion, the same bytes whenever the same is exported.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::home::{Home, word};

const CLAUDE: &str = "claude-code/plain-and-fork/projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl";

fn home() -> Home {
    let home = Home::new();
    home.pi();
    home.copy(
        CLAUDE,
        ".claude/projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl",
    );
    home
}

fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every file below a folder, with its bytes.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().display().to_string(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn a_ledger_has_a_row_for_each_completion_and_no_words_of_anybody() {
    let home = home();
    let report = home.report(0, &["usage", "--ledger", "l.ndjson"]);
    assert_eq!((&report["completions"], &report["ledger"][0]["rows"]), (&6.into(), &6.into()));
    let rows = rows(&home.path("l.ndjson"));
    let sum = |field: &str| rows.iter().map(|row| row[field].as_u64().unwrap()).sum::<u64>();
    for field in ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning"]
    {
        assert_eq!(sum(field), report["totals"][field].as_u64().unwrap(), "{field}");
    }
    let columns = [
        "completion_id",
        "client",
        "key_quality",
        "session_id",
        "root_session_id",
        "parent_session_id",
        "kind",
        "ts",
        "ts_quality",
        "provider",
        "model",
        "tier",
        "input",
        "output",
        "reasoning",
        "cache_read",
        "cache_write_5m",
        "cache_write_1h",
        "cost_recorded_nano",
        "cost_computed_nano",
        "price_version",
        "cwd",
        "copies",
        "host",
    ];
    let text = fs::read_to_string(home.path("l.ndjson")).unwrap();
    let order: Vec<usize> = columns
        .iter()
        .map(|column| text.lines().next().unwrap().find(&format!("\"{column}\":")).unwrap())
        .collect();
    assert!(
        order.is_sorted() && rows.iter().all(|row| row.as_object().unwrap().len() == columns.len())
    );
    assert!(rows.iter().all(|row| row["completion_id"].as_str().unwrap().len() == 32));
    assert!(
        rows.iter()
            .all(|row| row["ts"].as_str().unwrap().ends_with("000Z") && row["cwd"].is_null())
    );
    assert!(!text.contains("/home/ada") && !text.contains("Hello"));
    home.report(0, &["usage", "--ledger", "p.ndjson", "--with-paths", "--cost"]);
    let told = fs::read_to_string(home.path("p.ndjson")).unwrap();
    assert!(
        told.contains("\"cwd\":\"/home/ada/webshop\"")
            && told.contains("\"price_version\":\"genai-prices ")
    );
}

#[test]
fn the_same_is_the_same_bytes_and_nothing_but_a_ledger_is_replaced() {
    let home = home();
    for name in ["l.ndjson", "l.ndjson.zst"] {
        home.report(0, &["usage", "--ledger", name]);
        let first = fs::read(home.path(name)).unwrap();
        home.report(0, &["usage", "--ledger", name]);
        assert_eq!(fs::read(home.path(name)).unwrap(), first, "{name}");
    }
    let packed = fs::read(home.path("l.ndjson.zst")).unwrap();
    let text = zstd::decode_all(packed.as_slice()).unwrap();
    assert_eq!(text, fs::read(home.path("l.ndjson")).unwrap());
    fs::write(home.path("notes.ndjson"), "{\"mine\":1}\n").unwrap();
    let refused = home.report(4, &["usage", "--ledger", "notes.ndjson"]);
    assert_eq!(refused["code"], "SESSION_ALREADY_EXISTS");
    assert_eq!(fs::read_to_string(home.path("notes.ndjson")).unwrap(), "{\"mine\":1}\n");
    assert_eq!(home.report(2, &["usage", "--ledger", "l.xlsx"])["code"], "BAD_USAGE");
    home.report(2, &["usage", "--ledger", "l.ndjson", "--csv"]);
}

#[cfg(feature = "parquet")]
#[test]
fn a_folder_has_a_part_for_each_client_and_month_that_is_never_written_again() {
    let home = home();
    let report = home.report(0, &["usage", "--ledger", "fleet/"]);
    let parts = report["ledger"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|part| part["written"] == true));
    let before = tree(&home.path("fleet"));
    for (path, bytes) in &before {
        assert!(
            path.contains("/month=2026-11/part-")
                && bytes.starts_with(b"PAR1")
                && bytes.ends_with(b"PAR1")
        );
    }
    let again = home.report(0, &["usage", "--ledger", "fleet/"]);
    assert!(again["ledger"].as_array().unwrap().iter().all(|part| part["written"] == false));
    assert_eq!(tree(&home.path("fleet")), before);
    // What is new is a part of its own; the old one stays.
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", ".pi/agent/sessions/--x--/2026-11-29T16-20-33-147Z_01a2281b-b0f9-74f9-b07d-d389f5b79d81.jsonl");
    home.report(0, &["usage", "--ledger", "fleet/"]);
    let after = tree(&home.path("fleet"));
    assert_eq!(after.len(), 3);
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
    let one = home
        .command(&["usage", "--ledger", "one.parquet"])
        .env("SESSCTL_HOST", "a/b")
        .output()
        .unwrap();
    assert!(one.status.success());
    let path = home.path("one.parquet");
    assert!(fs::read(word(&path)).unwrap().starts_with(b"PAR1"));
}
