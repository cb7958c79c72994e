use crate::home::Home;

#[test]
fn every_code_command_and_topic_is_explained() {
    let home = Home::new();
    let codes = home.run(&["help", "codes"]);
    assert_eq!(codes.exit, 0);
    let names: Vec<&str> = codes.out.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert!(names.len() > 70, "{}", codes.out);
    for line in names {
        let code = line.split_whitespace().next().unwrap();
        let text = home.run(&["help", code]);
        assert_eq!(text.exit, 0, "{code}");
        assert!(text.out.starts_with(code) && text.out.contains("What to do: "), "{}", text.out);
        assert!(!text.out.contains("```") && !text.out.contains('\u{1b}'), "{}", text.out);
    }
    for verb in ["fork", "snapshot", "side", "merge", "replay", "usage", "list"] {
        let text = home.run(&["help", verb]).out;
        assert!(text.contains(&format!("Usage: sessctl {verb}")), "{text}");
    }
    for (topic, word) in [
        ("boundaries", "last-turn"),
        ("formats", "claude-code"),
        ("exit-status", "70"),
        ("open-turn", "OPEN_TURN"),
    ] {
        let text = home.run(&["help", topic]);
        assert!(text.exit == 0 && text.out.contains(word), "{topic}: {}", text.out);
    }
    assert!(home.run(&["help"]).out.contains("Usage: sessctl"));
    assert_eq!(home.report(0, &["help", "TORN_TAIL"])["topic"], "TORN_TAIL");
    let unknown = home.report(2, &["help", "TAIL"]);
    assert!(unknown["message"].as_str().unwrap().contains("TORN_TAIL"), "{unknown}");
}

#[test]
fn missing_arguments_are_named_in_the_report() {
    let home = Home::new();
    let report = home.report(2, &["fork"]);
    let message = report["message"].as_str().unwrap();
    assert!(message.ends_with("SESSION>") && message.contains("not provided"), "{message}");
}
