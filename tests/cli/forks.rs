use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::home::{Home, PI_FOLDER, PI_ID, word};

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn a_fork_lies_where_the_client_looks_and_names_its_parent() {
    let home = Home::new();
    let parent = home.pi();
    let before = fs::read(&parent).unwrap();
    let report = home.report(0, &["fork", PI_ID]);
    let child = Path::new(text(&report["child"]["path"]));
    assert!(child.starts_with(home.path(PI_FOLDER)), "{}", child.display());
    assert_eq!(
        text(&report["child"]["store_path"]),
        word(child.strip_prefix(home.path(".pi/agent")).unwrap())
    );
    let lines = fs::read_to_string(child).unwrap();
    let header = lines.lines().next().unwrap();
    assert!(header.contains(&format!(r#""parentSession":"{}""#, parent.display())), "{header}");
    assert!(header.contains(text(&report["child"]["id"])));
    assert_eq!(report["messages"], 7);
    assert_eq!(report["turns"], 3);
    assert_eq!(report["seed_length"], 9);
    assert_eq!(text(&report["boundary"]["at"]), "turn:3");
    assert_eq!(report["next"]["argv"][2], report["child"]["id"]);
    assert_eq!(fs::read(&parent).unwrap(), before, "the source is the same file afterwards");
    let mode = fs::metadata(child).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn titles_count_the_forks_of_one_parent_and_skip_what_is_taken() {
    let home = Home::new();
    home.pi();
    let title = |args: &[&str]| text(&home.report(0, args)["child"]["title"]).to_owned();
    assert_eq!(title(&["fork", PI_ID]), "Hello there.(fork1)");
    assert_eq!(title(&["fork", PI_ID, "--title", "Hello there.(fork2)"]), "Hello there.(fork2)");
    assert_eq!(title(&["fork", PI_ID, "--out", "elsewhere/c.jsonl"]), "Hello there.(fork3)");
    let report = home.report(0, &["fork", PI_ID, "--title", "Hello there.(fork1)"]);
    assert_eq!(report["warnings"][0]["code"], "TITLE_IN_USE");
    let of_fork = title(&["fork", "=Hello there.(fork3)", "--store", "elsewhere"]);
    assert_eq!(of_fork, "Hello there.(fork3)(fork1)");
    for bad in ["", "a\tb", "\u{202E}x", &"x".repeat(501)] {
        assert_eq!(home.report(2, &["fork", PI_ID, "--title", bad])["code"], "INVALID_TITLE");
    }
}

#[test]
fn the_same_request_gives_the_same_child_and_another_one_a_conflict() {
    let home = Home::new();
    let parent = home.pi();
    let first = home.report(0, &["fork", PI_ID, "--request-id", "r1"]);
    // The parent goes on; the request is still the same one.
    let mut lines = fs::read_to_string(&parent).unwrap();
    lines.push_str(r#"{"type":"session_info","id":"aaaaaaaa","parentId":"31be0408","timestamp":"2026-11-29T17:00:00.000Z","name":"later"}"#);
    lines.push('\n');
    fs::write(&parent, lines).unwrap();
    let again = home.report(0, &["fork", PI_ID, "--request-id", "r1"]);
    assert_eq!(first["replayed"], false);
    assert_eq!(again["replayed"], true);
    assert_eq!(first["child"], again["child"]);
    assert_eq!(first["messages"], again["messages"]);
    assert_eq!(first["boundary"]["at"], again["boundary"]["at"]);
    let other = home.report(4, &["fork", PI_ID, "--request-id", "r1", "--at", "turn:1"]);
    assert_eq!(other["code"], "REQUEST_CONFLICT");
    assert_eq!(fs::read_dir(home.path(PI_FOLDER)).unwrap().count(), 2);
}

#[test]
fn what_a_crash_left_prepared_is_finished_or_made_again_but_never_twice() {
    let home = Home::new();
    home.pi();
    let first = home.report(0, &["fork", PI_ID, "--request-id", "r1"]);
    let journal = home.path(".local/state/sessctl/lineage.jsonl");
    let prepared = fs::read_to_string(&journal).unwrap().lines().next().unwrap().to_owned() + "\n";
    let child = Path::new(text(&first["child"]["path"]));
    let bytes = fs::read(child).unwrap();
    // Killed between the write and the last step.
    fs::write(&journal, &prepared).unwrap();
    let finished = home.report(0, &["fork", PI_ID, "--request-id", "r1"]);
    assert_eq!(finished["replayed"], true);
    assert_eq!(finished["child"]["id"], first["child"]["id"]);
    assert_eq!(fs::read_to_string(&journal).unwrap().lines().count(), 2);
    // Killed before the write: the same child, byte for byte.
    fs::write(&journal, &prepared).unwrap();
    fs::remove_file(child).unwrap();
    let made = home.report(0, &["fork", PI_ID, "--request-id", "r1"]);
    assert_eq!(made["child"], first["child"]);
    assert_eq!(fs::read(child).unwrap(), bytes);
    assert_eq!(fs::read_dir(home.path(PI_FOLDER)).unwrap().count(), 2);
}

#[test]
fn a_dry_run_tells_the_plan_and_writes_nothing() {
    let home = Home::new();
    home.pi();
    let report = home.report(0, &["fork", PI_ID, "--dry-run", "--at", "turn:2"]);
    assert_eq!(report["dry_run"], true);
    assert_eq!(report["messages"], 5);
    assert_eq!(report["turns"], 2);
    assert_eq!(report["left_out"]["messages"], 2);
    assert!(!Path::new(text(&report["child"]["path"])).exists());
    assert!(!home.path(".local").exists(), "no journal either");
}

#[test]
fn every_form_of_boundary_cuts_where_it_says() {
    let home = Home::new();
    let path = home.copy("dsh/v0-parent.jsonl", "w/session.jsonl");
    let parent = fs::read_to_string(&path).unwrap();
    let turn_one =
        parent.lines().position(|line| line.contains(r#""type":"turn/end""#)).unwrap() + 1;
    let seq = 37;
    for at in ["turn:1".to_owned(), format!("line:{turn_one}"), format!("seq:{seq}")] {
        let report = home.report(0, &["fork", "w/session.jsonl", "--at", &at]);
        assert_eq!(text(&report["boundary"]["at"]), "turn:1", "{at}");
        assert_eq!(report["seed_length"], 38, "{at}");
        assert_eq!(report["boundary"]["line"], turn_one, "{at}");
    }
    for (at, code) in [
        ("seq:16", "INVALID_BOUNDARY"),
        ("line:999", "INVALID_BOUNDARY"),
        ("seq:12", "INVALID_BOUNDARY"),
    ] {
        assert_eq!(home.report(4, &["fork", "w/session.jsonl", "--at", at])["code"], code, "{at}");
    }
    let unknown = home.report(3, &["fork", "w/session.jsonl", "--at", "turn:9"]);
    assert_eq!(unknown["code"], "TURN_NOT_FOUND");
    assert_eq!(unknown["known_turns"], serde_json::json!(["1", "2", "3"]));
    let start = home.report(0, &["fork", "w/session.jsonl", "--at", "start"]);
    assert_eq!((&start["messages"], &start["turns"]), (&0.into(), &0.into()));
    assert_eq!(text(&start["boundary"]["at"]), "start");
}

#[test]
fn a_running_turn_is_refused_by_name_and_clipped_only_when_asked() {
    let home = Home::new();
    home.copy("dsh/v4-crash.jsonl", "w/session.v4.jsonl");
    let open = home.report(4, &["fork", "w/session.v4.jsonl"]);
    assert_eq!(open["code"], "OPEN_TURN");
    assert_eq!(open["open_calls"].as_array().unwrap().len(), 1);
    let named = home.report(4, &["fork", "w/session.v4.jsonl", "--at", "turn:2"]);
    assert_eq!(named["code"], "TURN_IN_PROGRESS");
    let clipped = home.report(0, &["fork", "w/session.v4.jsonl", "--at", "last-turn"]);
    assert_eq!(text(&clipped["boundary"]["at"]), "turn:1");
    assert!(
        clipped["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "CLIPPED")
    );
    assert_eq!(fs::read_dir(home.path("w")).unwrap().count(), 2, "the log and one child");
}

#[test]
fn a_child_id_is_checked_and_never_taken_twice() {
    let home = Home::new();
    home.pi();
    home.report(0, &["fork", PI_ID, "--id", "my-fork"]);
    assert_eq!(
        home.report(4, &["fork", PI_ID, "--id", "my-fork"])["code"],
        "SESSION_ALREADY_EXISTS"
    );
    for bad in ["", "../x", "a b", ".hidden", &"x".repeat(129)] {
        assert_eq!(
            home.report(2, &["fork", PI_ID, &format!("--id={bad}")])["code"],
            "INVALID_SESSION_ID"
        );
    }
    home.report(0, &["fork", PI_ID, "--out", "x.jsonl"]);
    assert_eq!(
        home.report(4, &["fork", PI_ID, "--out", "x.jsonl"])["code"],
        "SESSION_ALREADY_EXISTS"
    );
}

#[test]
fn a_working_folder_decides_the_place() {
    let home = Home::new();
    home.pi();
    home.dsh("v4-plain.jsonl", "demo-plain", "session.v4.jsonl");
    let pi = home.report(0, &["fork", PI_ID, "--cwd", "/srv/other"]);
    assert!(text(&pi["child"]["store_path"]).starts_with("sessions/--srv-other--/"));
    let dsh = home.report(0, &["fork", "demo-plain", "--cwd", "/srv/other", "--id", "session-x"]);
    assert_eq!(
        text(&dsh["child"]["store_path"]),
        "sessions/--srv-other--/session-x/session.v4.jsonl"
    );
}

#[test]
fn a_child_without_context_has_the_settings_and_nothing_else() {
    let home = Home::new();
    home.pi();
    home.dsh("v4-plain.jsonl", "demo-plain", "session.v4.jsonl");
    for (session, settings) in [(PI_ID, "model_change"), ("demo-plain", "sandbox/mode")] {
        let report = home.report(0, &["fork", session, "--context", "none"]);
        assert_eq!(
            (&report["messages"], &report["seed_length"]),
            (&0.into(), &0.into()),
            "{session}"
        );
        let child = fs::read_to_string(text(&report["child"]["path"])).unwrap();
        assert!(child.contains(settings), "{child}");
        home.report(0, &["replay", text(&report["child"]["path"]), "--check"]);
    }
}

#[test]
fn compressed_stores_get_compressed_children() {
    let home = Home::new();
    let parent = home.dsh("v4-plain.jsonl.zstd", "demo-plain", "session.v4.jsonl.zstd");
    let report = home.report(0, &["fork", "demo-plain", "--id", "session-z"]);
    let child = home.path(".dsh/sessions/--home-ada-dsh-demo--/session-z/session.v4.jsonl.zstd");
    assert_eq!(Path::new(text(&report["child"]["path"])), child);
    assert!(fs::read(&child).unwrap().starts_with(&[0x28, 0xB5, 0x2F, 0xFD]));
    let verdict = home.report(0, &["replay", word(&child), "--check", "--against", word(&parent)]);
    assert_eq!(verdict["prefix"], "identical");
    // A loose plain log goes into the same store in the store's form.
    home.copy("dsh/v4-tools.jsonl", "loose.jsonl");
    let other = home.report(0, &["fork", "loose.jsonl", "--store", ".dsh", "--id", "session-y"]);
    assert!(text(&other["child"]["path"]).ends_with("session-y/session.v4.jsonl.zstd"));
}

#[test]
fn only_the_highest_generation_of_a_session_is_live() {
    let home = Home::new();
    let old = home.dsh("v0-fork-turn1.jsonl", "demo-fork-turn1", "session.jsonl");
    let new =
        home.dsh("v4-migrated-from-v0-fork-turn1.jsonl", "demo-fork-turn1", "session.v4.jsonl");
    let refused = home.report(4, &["fork", word(&old)]);
    assert_eq!(refused["code"], "SESSION_NOT_LIVE");
    assert_eq!(text(&refused["live_path"]), word(&new));
    assert_eq!(text(&home.report(0, &["replay", "demo-fork-turn1"])["source"]["path"]), word(&new));
    home.report(0, &["replay", word(&old)]);
    home.report(0, &["fork", word(&old), "--allow", "SESSION_NOT_LIVE", "--out", "old.jsonl"]);
}

#[test]
fn old_pi_versions_are_migrated_in_the_child_and_left_alone_in_the_parent() {
    let home = Home::new();
    for (fixture, messages) in
        [("pi-0.27.9-v1-compaction.jsonl", 10), ("pi-0.32.3-v2-tools-compaction.jsonl", 9)]
    {
        let parent = home.copy(&format!("pi/{fixture}"), &format!("w/{fixture}"));
        let before = fs::read(&parent).unwrap();
        let report =
            home.report(0, &["fork", word(&parent), "--out", &format!("child-of-{fixture}")]);
        assert_eq!(report["messages"], messages);
        let child = fs::read_to_string(home.path(&format!("child-of-{fixture}"))).unwrap();
        assert!(child.starts_with(r#"{"type":"session","version":3,"#));
        assert!(
            child
                .lines()
                .skip(1)
                .all(|line| line.contains(r#""id":"#) && line.contains(r#""parentId":"#))
        );
        assert!(!child.contains("firstKeptEntryIndex"));
        let verdict = home.report(
            0,
            &["replay", &format!("child-of-{fixture}"), "--check", "--against", word(&parent)],
        );
        assert_eq!(
            (text(&verdict["prefix"]), &verdict["prefix_messages"]),
            ("identical", &messages.into())
        );
        assert_eq!(fs::read(&parent).unwrap(), before);
    }
}

#[test]
fn labels_are_written_again_behind_the_copy() {
    let home = Home::new();
    let parent = home.copy("pi/pi-1.6.0-two-branches-label.jsonl", "p.jsonl");
    let report = home.report(0, &["fork", word(&parent), "--out", "c.jsonl"]);
    assert_eq!(report["messages"], 7);
    assert_eq!(report["left_out"]["lines"], 4, "the entries of the other branch");
    let child = fs::read_to_string(home.path("c.jsonl")).unwrap();
    let labels: Vec<&str> =
        child.lines().filter(|line| line.contains(r#""type":"label""#)).collect();
    let old = fs::read_to_string(&parent)
        .unwrap()
        .lines()
        .find(|line| line.contains(r#""type":"label""#))
        .unwrap()
        .to_owned();
    let field = |line: &str, key: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()[key].clone()
    };
    assert_eq!(labels.len(), 1);
    for same in ["targetId", "label", "timestamp"] {
        assert_eq!(field(labels[0], same), field(&old, same));
    }
    assert_ne!(field(labels[0], "id"), field(&old, "id"));
    home.report(0, &["replay", "c.jsonl", "--check", "--against", word(&parent)]);
}

#[test]
fn a_torn_tail_is_never_copied() {
    let home = Home::new();
    home.copy("pi/damaged/01-torn-tail.jsonl", "torn.jsonl");
    assert_eq!(home.report(5, &["fork", "torn.jsonl"])["code"], "TORN_TAIL");
    let allowed =
        home.report(0, &["fork", "torn.jsonl", "--allow", "TORN_TAIL", "--out", "c.jsonl"]);
    assert_eq!(allowed["messages"], 7);
    home.report(0, &["replay", "c.jsonl", "--check"]);
    let earlier = home.report(0, &["fork", "torn.jsonl", "--at", "turn:2", "--out", "d.jsonl"]);
    assert_eq!(earlier["messages"], 5);
}

#[test]
fn the_child_can_go_to_standard_output() {
    let home = Home::new();
    home.pi();
    let ran = home.run(&["fork", PI_ID, "--out", "-", "--json"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.out.starts_with(r#"{"type":"session","version":3,"#));
    let report: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(report["command"], "fork");
}

#[test]
fn children_made_at_once_have_each_a_title_and_an_id() {
    let home = Home::new();
    let parent = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "p/pi.jsonl");
    let start = |args: &[&str]| {
        let args = [&["fork", word(&parent), "--json"], args].concat();
        home.command(&args).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let named: Vec<_> = (0..8).map(|_| start(&["--id", "one"])).collect();
    let ends = named.into_iter().map(|child| child.wait_with_output().unwrap().status.code());
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    assert_eq!((ends[0], &ends[1..]), (Some(0), &[Some(4); 7][..]));
    let others: Vec<_> = (0..8).map(|_| start(&[])).collect();
    let titles = others.into_iter().map(|child| {
        let report = crate::home::ran(&child.wait_with_output().unwrap()).report();
        text(&report["child"]["title"]).to_owned()
    });
    let titles: std::collections::HashSet<_> = titles.collect();
    assert_eq!(titles.len(), 8, "{titles:?}");
}

#[test]
fn a_child_never_takes_its_parents_id() {
    let home = Home::new();
    let pi = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "pi.jsonl");
    let dsh = home.copy("dsh/v4-tools.jsonl", "v4.jsonl");
    for (log, id) in [(&pi, PI_ID), (&dsh, "demo-tools")] {
        let report = home.report(4, &["fork", word(log), "--id", id, "--out", "d/c.jsonl"]);
        assert_eq!(report["code"], "SESSION_ALREADY_EXISTS");
    }
    assert!(!home.path("d").exists());
}

#[test]
fn a_line_that_cannot_be_read_is_kept_or_left_out_as_asked() {
    let home = Home::new();
    for (fixture, name) in [
        ("pi/pi-1.6.0-plain-3-turns.jsonl", "pi.jsonl"),
        ("dsh/v4-tools.jsonl", "dsh.jsonl"),
        (
            "claude-code/plain-and-fork/projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl",
            "claude.jsonl",
        ),
    ] {
        let log = home.copy(fixture, name);
        let text = fs::read_to_string(&log).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(6, "{\"broken");
        fs::write(&log, lines.join("\n") + "\n").unwrap();
        let broken = |path: &str| {
            fs::read_to_string(home.path(path)).unwrap().matches("{\"broken\n").count()
        };
        let report = home.report(5, &["fork", name, "--out", "no.jsonl"]);
        assert_eq!(
            (&report["code"], &report["findings"][0]["line"]),
            (&"LINE_CORRUPT".into(), &7.into())
        );
        for (flag, count) in [("--allow", 1), ("--drop", 0)] {
            let child = format!("{}-{name}", &flag[2..]);
            let report = home.report(0, &["fork", name, "--out", &child, flag, "LINE_CORRUPT"]);
            assert_eq!(report["warnings"][0]["code"], "LINE_CORRUPT");
            assert_eq!(broken(&child), count, "{name} {flag}");
            let seed = format!("{child}.snap");
            home.report(0, &["snapshot", name, "--out", &seed, flag, "LINE_CORRUPT"]);
            assert_eq!(broken(&seed), count, "{seed}");
        }
    }
}

#[test]
fn a_title_is_no_record_that_the_parent_has() {
    let home = Home::new();
    let parent = home.pi();
    // The id that the title of this child would have, as another record's: found by chance among thousands of forks.
    let lines = fs::read_to_string(&parent).unwrap();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let lines = lines.replace(text(&last["id"]), "f0000dd5");
    fs::write(&parent, lines).unwrap();
    let id = "01a22c6b-1c77-7603-b5a5-951ce4e6fb14";
    let report = home.report(0, &["fork", PI_ID, "--id", id, "--title", "t592"]);
    let child = fs::read_to_string(text(&report["child"]["path"])).unwrap();
    let ids = child.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ids: std::collections::BTreeSet<String> =
        ids.map(|record| record["id"].to_string()).collect();
    assert_eq!(ids.len(), child.lines().count(), "each record has an id of its own");
}

#[test]
fn a_part_of_an_answer_that_hangs_nowhere_stays_a_part_of_it() {
    let home = Home::new();
    let session = "44444444-4444-4444-8444-0000000000aa";
    let id = |nth: u32| format!("55555555-5555-4555-8555-{nth:012}");
    let line = |kind: &str, nth: u32, parent: Option<u32>, message: serde_json::Value| {
        let record = serde_json::json!({"parentUuid": parent.map(id), "isSidechain": false, "type": kind, "message": message,
            "uuid": id(nth), "timestamp": format!("2026-11-29T16:00:0{nth}.000Z"), "cwd": "/work", "sessionId": session,
            "version": "2.1.260"});
        record.to_string()
    };
    let part = |text: &str| {
        serde_json::json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let lines = [
        line("user", 1, None, serde_json::json!({"role": "user", "content": "Hello?"})),
        line("assistant", 2, Some(7), part("The second part.")), // what it hung off is gone
        line("assistant", 3, Some(1), part("The first part.")),
    ];
    let path = home.path(&format!(".claude/projects/-work/{session}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("{}\n", lines.join("\n"))).unwrap();
    let texts = |session: &str| {
        let report = home.report(0, &["replay", "--view", "messages", session]);
        let rows = report["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| text(&row["text"]).to_owned()).collect::<Vec<_>>()
    };
    let said = texts(session);
    assert_eq!(said, ["Hello?", "The first part.", "The second part."]);
    let child = home.report(0, &["fork", session]);
    assert_eq!(texts(text(&child["child"]["id"])), said);
}
