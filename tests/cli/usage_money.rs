//! Money: what the logs say, what a table says, and what neither says.

use std::fs;

use crate::home::{Home, word};

const CLAUDE: &str = "claude-code/plain-and-fork/projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl";

#[test]
fn the_table_comes_to_what_the_client_itself_reckoned() {
    let home = Home::new();
    let path = home.copy(CLAUDE, "11111111-1111-4111-8111-000000000001.jsonl");
    let report = home.report(0, &["usage", word(&path), "--cost"]);
    assert_eq!(report["cost_computed"], 0.037_212);
    assert_eq!(report["totals"]["cost_computed"], 0.037_212);
    assert_eq!(report["rows"][0]["cost_computed"], 0.037_212);
    assert_eq!(report["cost_recorded"], serde_json::Value::Null);
    assert_eq!(report["unpriced_tokens"], 0);
    assert!(report["price_version"].as_str().unwrap().starts_with("genai-prices "));
    // Unasked, nothing is known of prices, which is not nothing.
    let plain = home.report(0, &["usage", word(&path)]);
    assert_eq!(plain["unpriced_tokens"], serde_json::Value::Null);
    assert!(plain.get("cost_computed").is_none());
    let csv = home.run(&["usage", word(&path), "--cost", "--csv"]).out;
    assert!(csv.lines().next().unwrap().ends_with(",cost_recorded,cost_computed,unpriced_tokens"));
    assert!(csv.lines().nth(1).unwrap().ends_with(",,0.037212,0"), "{csv}");
    assert!(home.run(&["usage", word(&path), "--cost"]).out.contains("$0.0372"));
}

#[test]
fn models_without_a_price_are_told_as_tokens() {
    let home = Home::new();
    let path = home.pi();
    let report = home.report(0, &["usage", "--cost"]);
    assert_eq!(report["cost_computed"], serde_json::Value::Null);
    assert_eq!(report["unpriced_tokens"], report["totals"]["total"]);
    assert!(home.run(&["usage", word(&path), "--cost"]).out.contains("533 tokens without a price"));
}

#[test]
fn a_file_of_prices_takes_the_place_of_those_built_in() {
    let home = Home::new();
    let path = home.copy(CLAUDE, "c.jsonl");
    let prices = r#"[{"id":"anthropic","name":"A","api_pattern":"x","models":[{"id":"claude-opus-5-5",
        "match":{"equals":"claude-opus-5-5"},"prices":{"input_mtok":1,"output_mtok":1,"cache_read_mtok":1,
        "cache_write_mtok":1,"cache_write_1h_mtok":1}}]}]"#;
    fs::write(home.path("prices.json"), prices).unwrap();
    let report = home.report(0, &["usage", word(&path), "--cost", "--prices", "prices.json"]);
    assert_eq!(report["cost_computed"], 0.053_263); // a millionth for each of 53,263 tokens
    assert!(report["price_version"].as_str().unwrap().starts_with("sha256:"));
    fs::write(home.path("prices.json"), "{}").unwrap();
    let wrong = home.report(2, &["usage", word(&path), "--cost", "--prices", "prices.json"]);
    assert!(wrong["message"].as_str().unwrap().contains("prices.json is no table of prices"));
    home.report(6, &["usage", word(&path), "--cost", "--prices", "gone.json"]);
    home.report(2, &["usage", word(&path), "--prices", "prices.json"]);
}

#[test]
fn a_budget_is_a_question_with_an_exit_status() {
    let home = Home::new();
    let path = home.copy(CLAUDE, "c.jsonl");
    let ask =
        |exit: i32, amount: &str| home.report(exit, &["usage", word(&path), "--fail-over", amount]);
    for (exit, amount) in [
        (0, "53263tok"), // not more than the limit
        (1, "53262tok"),
        (0, "0.1Mtok"),
        (1, "50ktok"),
        (0, "0.037212usd"),
        (1, "0.037211usd"),
    ] {
        let report = ask(exit, amount);
        assert_eq!(report["code"] == "OVER_BUDGET", exit == 1, "{amount}");
        assert_eq!(report["budget"]["over"], exit == 1, "{amount}");
        assert_eq!(report["completions"], 3, "the report is whole all the same");
    }
    assert_eq!(ask(2, "10eur")["code"], "BAD_USAGE");
    // A limit in money says what it could not see.
    home.pi();
    let ran = home.run(&["usage", ".", "--fail-over", "0.01usd"]);
    assert_eq!(ran.exit, 1);
    assert!(
        ran.err.contains("$0.0377 is more than 0.01usd\n"),
        "what the log says needs no price: {}",
        ran.err
    );
    let claude = fs::read_to_string(&path).unwrap();
    fs::write(
        home.path("u.jsonl"),
        claude.replace("claude-opus-5-5", "claude-opus-55").replace("msg_01", "msg_02"),
    )
    .unwrap();
    let ran = home.run(&["usage", ".", "--fail-over", "0.01usd"]);
    assert!(ran.err.contains("0.01usd, and of 53,263 tokens nothing says the cost"), "{}", ran.err);
}

#[test]
fn a_prompt_gets_one_short_line() {
    let home = Home::new();
    let path = home.copy(CLAUDE, "c.jsonl");
    let line = |args: &[&str]| home.run(&[&["usage", "--statusline"], args].concat()).out;
    assert_eq!(line(&[word(&path)]), "53.2k tok · 3 calls\n");
    assert_eq!(line(&[word(&path), "--cost"]), "53.2k tok · 3 calls · $0.0372\n");
    assert_eq!(line(&[]), "0 tok · 0 calls today\n");
    let json = home.report(0, &["usage", "--statusline", word(&path)]);
    assert_eq!(
        (&json["completions"], &json["statusline"]),
        (&3.into(), &"53.2k tok · 3 calls".into())
    );
}
