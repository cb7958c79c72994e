//! Why a record was counted or not, and what the clients themselves summed up.

use serde_json::Value;

use crate::home::{Home, PI_ID, word};

const FOLDER: &str = "claude-code/plain-and-fork/projects/-home-ada-webshop";
const PARENT: &str = "11111111-1111-4111-8111-000000000001";
const FORK: &str = "cac9e9bc-4315-4fab-a139-590c15a05549";

fn claude() -> Home {
    let home = Home::new();
    for id in [PARENT, FORK] {
        home.copy(&format!("{FOLDER}/{id}.jsonl"), &format!("p/{id}.jsonl"));
    }
    home
}

fn rules(records: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let record = |record: &Value| {
        let path = text(&record["path"]);
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        (text(&record["rule"]), name, record["line"].as_u64().unwrap_or_default())
    };
    records.as_array().map(|records| records.iter().map(record).collect()).unwrap_or_default()
}

#[test]
fn every_record_of_an_answer_is_told_with_its_place_and_its_rule() {
    let home = claude();
    let told = home.report(0, &["usage", "p", "--explain", "msg_01Mock000000000000000001"]);
    assert_eq!(told["completions"], 1);
    let records = rules(&told["explained"][0]["records"]);
    let parent = format!("{PARENT}.jsonl");
    let counted: Vec<_> = records.iter().filter(|record| record.0 == "counted").collect();
    assert_eq!((counted.len(), &counted[0].1), (1, &parent), "{records:?}");
    assert!(records.iter().any(|record| record.0 == "same-answer" && record.1 == parent));
    assert!(
        records.iter().any(|record| record.0 == "copied" && record.1 == format!("{FORK}.jsonl"))
    );
    // The line is the one of the file.
    let text = std::fs::read_to_string(home.path(&format!("p/{parent}"))).unwrap();
    let line = text.lines().nth(usize::try_from(counted[0].2).unwrap() - 1).unwrap();
    assert!(line.contains("msg_01Mock000000000000000001"));
    for rule in ["counted", "same-answer", "copied"] {
        assert!(told["rules"][rule].is_string(), "{rule}");
    }
    let person = home.run(&["usage", "p", "--explain", "msg_01Mock000000000000000001"]).out;
    assert!(person.contains(&format!("{parent}:{}", counted[0].2)), "{person}");
}

#[test]
fn a_session_and_a_day_can_be_asked_for() {
    let home = claude();
    let sum = home.report(0, &["usage", "p"])["completions"].clone();
    let day = home.report(0, &["usage", "p", "--explain", "2026-11-29"]);
    assert_eq!(day["completions"], sum);
    let none = home.report(0, &["usage", "p", "--explain", "2026-11-28"]);
    assert_eq!((&none["completions"], &none["explained"]), (&0.into(), &serde_json::json!([])));
    // The fork's own answer, and three copies that are its parent's.
    let fork = home.report(0, &["usage", "p", "--explain", &FORK[..8]]);
    let sessions: Vec<&str> = fork["explained"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["session"].as_str().unwrap())
        .collect();
    assert_eq!(sessions, [PARENT, PARENT, PARENT, FORK]);
    // Sums of the client's own are no completions.
    assert!(rules(&fork["refused"]).iter().all(|record| record.0 == "sum"));
    let path = home.report(0, &["usage", "p", "--explain", &format!("p/{FORK}.jsonl")]);
    assert_eq!(path["explained"], fork["explained"]);
    assert_eq!(
        home.report(3, &["usage", "p", "--explain", "nothing-like-it"])["code"],
        "SESSION_NOT_FOUND"
    );
}

#[test]
fn what_a_range_or_a_choice_of_sessions_leaves_out_is_named() {
    let home = claude();
    let out = home.report(
        0,
        &["usage", "p", "--since", "2026-11-30", "--explain", "msg_01Mock000000000000000001"],
    );
    assert_eq!(out["explained"][0]["counted"], false);
    assert!(rules(&out["explained"][0]["records"]).iter().any(|record| record.0 == "out-of-range"));
    let fork = format!("p/{FORK}.jsonl");
    let own = home.report(0, &["usage", &fork, "--explain", "msg_01Mock000000000000000001"]);
    let records = rules(&own["explained"][0]["records"]);
    assert!(records.iter().any(|record| record.0 == "owner-elsewhere"), "{records:?}");
    let pi = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "pi.jsonl");
    let told = home.report(0, &["usage", word(&pi), "--explain", PI_ID]);
    assert_eq!(told["completions"], 3);
}

#[test]
fn repeats_of_a_running_total_are_refused_by_name() {
    let home = Home::new();
    let name = "rollout-2026-11-29T16-25-58-01a22820-a8d3-72d3-9f42-086a5db29e74.jsonl";
    let path = home.copy(&format!("codex/compact-interrupt/sessions/2026/11/29/{name}"), name);
    let told = home.report(0, &["usage", word(&path), "--explain", "01a22820-a8d3"]);
    let rules = rules(&told["refused"]);
    assert!(!rules.is_empty() && rules.iter().all(|record| record.0 == "said-again"), "{rules:?}");
    assert_eq!(told["rules"].as_object().unwrap().len(), 2);
}

#[test]
fn words_of_the_clients_own_are_refused_by_name() {
    // An error that it shows, and what it says where a tool's answer is missing.
    for (folder, id, line) in [
        ("api-error-final", "55555555-5555-4555-8555-000000000001", 29),
        ("killed-in-tool-loop/resumed", "22222222-2222-4222-8222-000000000051", 29),
    ] {
        let home = Home::new();
        let log = format!("claude-code/{folder}/projects/-home-ada-webshop/{id}.jsonl");
        let path = home.copy(&log, "log.jsonl");
        let told = home.report(0, &["usage", word(&path), "--explain", "log.jsonl"]);
        let refused = rules(&told["refused"]);
        assert!(refused.contains(&("synthetic".into(), "log.jsonl".into(), line)), "{refused:?}");
    }
}

#[test]
fn the_clients_own_sums_stand_beside_ours() {
    let home = claude();
    let both = home.report(0, &["usage", "p", "--reconcile"]);
    assert_eq!((&both["agree"], &both["differ"]), (&1.into(), &1.into()));
    let row = &both["rows"][0];
    assert_eq!((&row["session"], &row["agrees"]), (&PARENT.into(), &true.into()));
    assert_eq!(
        (&row["claimed"]["total"], &row["counted"]["total"]),
        (&53_263.into(), &53_263.into())
    );
    assert_eq!(row["cost_claimed"], 0.037_212);
    // The client lets a fork begin with its parent's sum.
    assert_eq!(both["rows"][1]["difference"]["total"], 53_263);
    // A file that lies in two places says the same twice.
    home.copy(&format!("{FOLDER}/{PARENT}.jsonl"), &format!("p/again/{PARENT}.jsonl"));
    assert_eq!(home.report(0, &["usage", "p", "--reconcile"])["rows"], both["rows"]);
    let person = home.run(&["usage", "p", "--reconcile"]).out;
    assert!(person.contains("1 agree, 1 differ"), "{person}");
}

#[test]
fn running_totals_agree_with_what_was_counted() {
    let home = Home::new();
    for case in ["compact-interrupt", "legacy-fork", "fork-paginated"] {
        let folder = format!("{}/fixtures/codex/{case}", env!("CARGO_MANIFEST_DIR"));
        let both = home.report(0, &["usage", &folder, "--reconcile"]);
        assert_eq!(both["differ"], 0, "{case}: {both}");
        assert!(both["agree"].as_u64() > Some(0), "{case}");
    }
}
