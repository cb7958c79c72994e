use crate::home::{Home, word};

/// A session with a side session of its first two turns whose answer was merged; the side session's id.
fn family(home: &Home) -> String {
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    let side = home.report(
        0,
        &["side", "work.jsonl", "--at", "turn:2", "--ask", "why?", "--out", "aside.jsonl"],
    );
    home.report(0, &["merge", "aside.jsonl", "--into", "work.jsonl", "--note", "Only reads."]);
    side["child"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_transcript_shows_turns_calls_and_where_words_come_from() {
    let home = Home::new();
    let side = family(&home);
    let parent = home.run(&["replay", "work.jsonl"]).out;
    assert!(parent.starts_with("List the files here.\npi · "), "{parent}");
    assert!(
        parent.contains("── turn 3 ── completed\nuser\n  Run two things at once.\n"),
        "{parent}"
    );
    assert!(parent.contains("  → bash wc -l < notes.txt\nresult\n  3\n"), "{parent}");
    let note = format!("user (note of side session {side}, source sidechat)\n  Only reads.\n");
    assert!(parent.ends_with(&note), "{parent}");
    let child = home.run(&["replay", "aside.jsonl"]).out;
    assert!(
        child.contains("user (inherited)\n")
            && child.contains("── 11 messages above inherited ──\n")
    );
    assert!(
        child.contains("user (framing of a side session, source sidechat)\n  Side conversation")
    );
    assert!(!child.contains('\u{1b}'), "no colour without a terminal");
    let coloured = home.run(&["replay", "aside.jsonl", "--color", "always"]).out;
    assert!(coloured.contains("\u{1b}[2mList the files here.") || coloured.contains("\u{1b}[2m"));
}

#[test]
fn long_results_are_folded_and_turns_chosen() {
    let home = Home::new();
    family(&home);
    let folded = home.run(&["replay", "work.jsonl", "--turns", "2"]).out;
    assert!(folded.contains("  alpha\n  … 2 more lines with `--full`\n"), "{folded}");
    assert!(
        !folded.contains("turn 1") && !folded.contains("turn 3") && !folded.contains("Only reads.")
    );
    let full = home.run(&["replay", "work.jsonl", "--turns", "2..3", "--full"]).out;
    assert!(full.contains("  alpha\n  beta\n") && full.contains("turn 3"), "{full}");
    assert!(!full.contains("--full"));
    assert!(full.contains("→ bash\n    {\"command\":"), "{full}");
}

#[test]
fn findings_stand_at_their_place() {
    let home = Home::new();
    let path = home.copy("pi/damaged/24-crlf.jsonl", "c.jsonl");
    let crlf = home.run(&["replay", word(&path)]).out;
    assert!(crlf.contains("! CRLF "), "{crlf}");
    home.copy("pi/damaged/17-unknown-type-no-id.jsonl", "u.jsonl");
    let damaged = home.run(&["replay", "u.jsonl"]);
    assert_eq!(damaged.exit, 5);
    let at = damaged.out.find("✗ LINE_CORRUPT").expect("it is named among the lines");
    assert!(at > damaged.out.find("turn 1").unwrap(), "{}", damaged.out);
    let open = home.copy("pi/pi-1.6.0-crash-in-tool-loop.jsonl", "o.jsonl");
    let open = home.run(&["replay", word(&open)]).out;
    assert!(open.trim_end().lines().last().unwrap().contains("goes on; waiting for "), "{open}");
}

#[test]
fn what_has_no_words_says_so_unless_they_follow() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    let pi = home.run(&["replay", "work.jsonl"]).out;
    assert_eq!(pi.matches("(no words)").count(), 1, "{pi}");
    assert!(pi.contains("system\n  (no words)\n"), "{pi}");
    // One line of an answer may hold nothing but thoughts.
    let log = "claude-code/plain-and-fork/projects/-home-ada-webshop/cac9e9bc-4315-4fab-a139-590c15a05549.jsonl";
    home.copy(log, "claude.jsonl");
    let claude = home.run(&["replay", "claude.jsonl"]).out;
    assert!(claude.contains("It sums price") && !claude.contains("(no words)"), "{claude}");
}
