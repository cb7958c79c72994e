use crate::home::{Home, PI_ID, ran};

/// What a shell is offered for the last of these words.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let words = [&["--", "sessctl"], words].concat();
    let mut command = home.command(&words);
    command.env("COMPLETE", "fish");
    let ran = ran(&command.output().unwrap());
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn sessions_are_completed_by_id_and_title() {
    let home = Home::new();
    home.pi();
    home.report(0, &["fork", PI_ID, "--title", "Another way"]);
    for verb in ["fork", "side", "merge", "snapshot", "replay", "usage"] {
        let ids = offered(&home, &[verb, "01a2281b"]);
        assert_eq!(ids, [format!("{PI_ID}\tpi Hello there.")], "{verb}");
    }
    assert_eq!(offered(&home, &["replay", "=Hello"]), [format!("=Hello there.\tpi {PI_ID}")]);
    assert_eq!(offered(&home, &["merge", "x", "--into", "01a2281b"]).len(), 1);
    assert!(offered(&home, &["fork", "99999999"]).is_empty());
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    assert_eq!(offered(&home, &["replay", "wor"]), ["work.jsonl"]);
}

#[test]
fn codes_and_topics_are_completed() {
    let home = Home::new();
    assert_eq!(offered(&home, &["help", "TORN"]), ["TORN_TAIL"]);
    assert_eq!(offered(&home, &["help", "bound"]), ["boundaries"]);
    assert_eq!(offered(&home, &["fork", "x", "--allow", "line"]), ["LINE_CORRUPT"]);
    let verbs = offered(&home, &["f"]);
    assert!(verbs.len() == 1 && verbs[0].starts_with("fork\t"), "{verbs:?}");
}
