//! Reports and rows are what the shipped schemas say.

use std::{collections::HashMap, fs, path::Path, sync::OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::home::Home;

/// The shipped schemas by the names of their files.
fn schemas() -> &'static HashMap<String, Validator> {
    static SCHEMAS: OnceLock<HashMap<String, Validator>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
        let read = |path: &Path| {
            let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let schema = jsonschema::validator_for(&schema);
            (name.clone(), schema.unwrap_or_else(|error| panic!("{name}: {error}")))
        };
        fs::read_dir(folder).unwrap().map(|entry| read(&entry.unwrap().path())).collect()
    })
}

/// What is wrong with a document under one schema.
fn faults(name: &str, document: &Value) -> Vec<String> {
    let schema = schemas().get(name).unwrap_or_else(|| panic!("no schema {name}"));
    schema
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// A report must be as the schema of its command says.
pub fn check(report: &Value) {
    let command = report["command"].as_str().unwrap_or_default();
    let names: &[&str] = match command {
        "snapshot" => &["snapshot", "snapshot-check"],
        "replay" => &["replay", "list"],
        "side" => &["side", "side-record"],
        "usage" => &["usage", "usage-statusline", "usage-explain", "usage-reconcile"],
        known if schemas().contains_key(known) => &[known],
        _ => &["failure"],
    };
    let all: Vec<_> = names.iter().map(|name| faults(name, report)).collect();
    assert!(all.iter().any(Vec::is_empty), "{command}: {:?}\n{report}", all[0]);
}

#[test]
fn a_schema_refuses_what_is_no_report() {
    let home = Home::new();
    let report = home.report(0, &["fork", crate::home::word(&home.pi())]);
    assert!(faults("fork", &report).is_empty());
    let without = |key: &str| {
        let mut report = report.clone();
        report.as_object_mut().unwrap().remove(key);
        report
    };
    for key in ["ok", "command", "child", "boundary", "next", "seed_length", "dry_run"] {
        assert!(!faults("fork", &without(key)).is_empty(), "{key} is required");
    }
    let mut more = report.clone();
    more["surprise"] = json!(1);
    assert!(!faults("fork", &more).is_empty());
    let mut other = report;
    other["messages"] = json!("five");
    assert!(!faults("fork", &other).is_empty());
}

#[test]
fn rows_are_what_their_schemas_say() {
    let home = Home::new();
    let path = home.copy("pi/pi-1.6.0-tool-calls.jsonl", "s.jsonl");
    for view in ["messages", "provider", "turns"] {
        let rows = home.run(&["replay", crate::home::word(&path), "--view", view]).out;
        assert!(rows.lines().count() > 3, "{view}");
        for row in rows.lines() {
            let row = serde_json::from_str(row).unwrap();
            assert_eq!(faults(&format!("row-{view}"), &row), Vec::<String>::new(), "{row}");
        }
    }
    let family = home.report(0, &["replay", "s.jsonl", "--view", "lineage"]);
    for row in family["rows"].as_array().unwrap() {
        assert_eq!(faults("row-lineage", row), Vec::<String>::new());
    }
    let version = home.run(&["--version", "--json"]).out;
    assert!(faults("version", &serde_json::from_str(&version).unwrap()).is_empty());
}
