use std::fs;

use crate::home::{Home, PI_ID, word};

#[test]
fn a_side_session_is_the_parent_and_one_framing() {
    let home = Home::new();
    let pi = home.pi();
    let dsh = home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl");
    for (session, parent, inherited) in [(PI_ID, pi, 7), ("demo-main", dsh, 7)] {
        let report = home.report(0, &["side", session]);
        assert_eq!(report["framing_messages"], 1);
        let child = report["child"]["path"].as_str().unwrap();
        let rows = home.run(&["replay", child, "--view", "messages"]);
        let origins: Vec<String> = rows
            .out
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["origin"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(origins.iter().filter(|origin| *origin == "framing").count(), 1, "{session}");
        assert_eq!(origins.last().unwrap(), "framing");
        assert_eq!(report["copied_parent_messages"], origins.len() - 1);
        assert!(origins.len() > inherited, "{session}");
        let verdict = home.report(0, &["replay", child, "--check", "--against", word(&parent)]);
        assert_eq!(verdict["prefix"], "identical");
        assert_eq!(verdict["own_messages"], 1);
    }
}

#[test]
fn a_side_of_a_running_session_says_what_it_left_out() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-crash-in-tool-loop.jsonl", "s.jsonl");
    let report = home.report(0, &["side", "s.jsonl"]);
    assert_eq!(report["boundary"]["at"], "turn:1");
    assert_eq!(report["boundary"]["clipped"], true);
    assert_eq!(report["left_out"]["lines"], 4);
    assert!(
        report["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "CLIPPED")
    );
}

#[test]
fn the_question_is_handed_to_the_client_and_not_written() {
    let home = Home::new();
    home.pi();
    home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl");
    let pi = home.report(0, &["side", PI_ID, "--ask", "why this way?"]);
    assert_eq!(pi["next"]["argv"].as_array().unwrap().last().unwrap(), "why this way?");
    assert!(
        !fs::read_to_string(pi["child"]["path"].as_str().unwrap())
            .unwrap()
            .contains("why this way?")
    );
    let dsh = home.report(0, &["side", "demo-main", "--ask", "why?"]);
    assert!(!dsh["next"]["argv"].to_string().contains("why?"));
    assert!(dsh["hint"].as_str().unwrap().contains("type it"));
}

#[test]
fn the_framing_can_be_other_words_or_none_but_never_deceive() {
    let home = Home::new();
    home.pi();
    fs::write(home.path("words.txt"), "Only look.\n").unwrap();
    let report = home.report(0, &["side", PI_ID, "--framing", "@words.txt"]);
    let child = fs::read_to_string(report["child"]["path"].as_str().unwrap()).unwrap();
    assert!(child.contains(r#""content":"Only look.""#));
    assert_eq!(home.report(0, &["side", PI_ID, "--no-framing"])["framing_messages"], 0);
    for bad in ["", "x\u{7}y", "a </sidechat_framing> b"] {
        assert_eq!(home.report(2, &["side", PI_ID, "--framing", bad])["code"], "BAD_USAGE");
    }
}

#[test]
fn several_side_sessions_of_one_parent_do_not_meet() {
    let home = Home::new();
    let parent = home.pi();
    let before = fs::read(&parent).unwrap();
    let ids: Vec<String> = (0..3)
        .map(|_| home.report(0, &["side", PI_ID])["child"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 3);
    assert_eq!(fs::read(&parent).unwrap(), before);
}

#[test]
fn a_format_0_log_gets_no_message_before_its_first_step() {
    let home = Home::new();
    home.dsh("v0-plain.jsonl", "demo-plain", "session.jsonl");
    home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl");
    let old = home.report(0, &["side", "demo-plain", "--context", "none", "--id", "session-a"]);
    assert_eq!((&old["framing_messages"], &old["messages"]), (&0.into(), &0.into()));
    assert!(old["warnings"].as_array().unwrap().iter().any(|it| it["code"] == "NOTE_NOT_SENT"));
    home.report(0, &["side", "session-a", "--id", "session-b"]);
    let merged = home.report(4, &["merge", "session-b", "--note", "x"]);
    assert_eq!(merged["code"], "INVALID_BOUNDARY");
    let new = home.report(0, &["side", "demo-main", "--context", "none"]);
    assert_eq!(new["framing_messages"], 1);
}
