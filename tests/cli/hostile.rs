//! What somebody who means harm would put into names, headers, lines and folders.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    home::{Home, PI_FOLDER, PI_ID, Ran, ran, word},
    records::sessions,
};

/// Everything below a home, links as links.
fn names(home: &Home) -> BTreeSet<PathBuf> {
    let all = walkdir::WalkDir::new(home.path("")).into_iter().filter_map(Result::ok);
    all.map(walkdir::DirEntry::into_path).collect()
}

/// A run that has to end by itself, and not with a bug of ours.
fn ends(home: &Home, args: &[&str]) -> Ran {
    let mut child = home
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let [out, err] =
        [Box::new(out) as Box<dyn std::io::Read + Send>, Box::new(err)].map(|mut pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).map(|_| bytes).unwrap_or_default()
            })
        });
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if began.elapsed() > Duration::from_secs(120) {
            child.kill().expect("it is ours");
            panic!("{args:?} does not end");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let [stdout, stderr] = [out, err].map(|thread| thread.join().expect("a pipe is read"));
    let ran = ran(&std::process::Output { status, stdout, stderr });
    assert!((0..=6).contains(&ran.exit), "{args:?}: {} {} {}", ran.exit, ran.out, ran.err);
    ran
}

/// Words that are no ids: paths, nothing, control and bidirectional characters, too long.
fn bad_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "../x",
        "..",
        ".",
        "/etc/x",
        "a/b",
        "a\\..\\b",
        "a\nb",
        "a\u{1b}[2Jb",
        "a\u{202e}b",
        "a\u{7f}",
        "a\u{85}b",
        "%2e%2e%2f",
        "x y/../z",
        "\u{feff}x",
        "a\u{2028}b",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("x".repeat(300));
    names
}

#[test]
fn an_id_is_never_a_way_to_another_folder() {
    let home = Home::new();
    for (client, parent) in sessions(&home) {
        let before = names(&home);
        for id in bad_names() {
            let made = home.run(&["fork", word(&parent), &format!("--id={id}"), "--json"]);
            assert_eq!(made.exit, 2, "{client} {id:?}: {}", made.out);
            assert_eq!(names(&home), before, "{client} {id:?}");
            if !home.path(&id).exists() {
                let found = home.run(&["replay", &id, "--json"]);
                assert!([2, 3].contains(&found.exit), "{client} {id:?}: {}", found.out);
            }
        }
    }
}

#[test]
fn what_a_header_says_leads_nowhere() {
    let home = Home::new();
    let outside: BTreeSet<PathBuf> = {
        sessions(&home);
        names(&home)
    };
    for (client, path) in sessions(&home) {
        let text = fs::read_to_string(&path).unwrap();
        let ids = text.lines().next().and_then(|line| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            let places = [&line["id"], &line["sessionId"], &line["payload"]["id"]];
            places.iter().find_map(|id| id.as_str().map(str::to_owned))
        });
        let id = ids.unwrap_or_else(|| panic!("{client} has an id"));
        for bad in bad_names().into_iter().chain(["../../../../../../tmp/evil".into(), "\0".into()])
        {
            let quoted = |text: &str| serde_json::to_string(text).unwrap();
            fs::write(&path, text.replace(&quoted(&id), &quoted(&bad))).unwrap();
            for verb in [
                vec!["fork", word(&path), "--allow", "SESSION_NOT_LIVE"],
                vec!["side", word(&path), "--allow", "SESSION_NOT_LIVE"],
                vec!["replay", word(&path), "--view", "transcript"],
                vec!["usage", word(&path)],
            ] {
                let ran = ends(&home, &verb);
                let raw = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
                assert!(
                    !ran.out.contains(raw) && !ran.err.contains(raw),
                    "{client} {bad:?} {verb:?}: {} {}",
                    ran.out,
                    ran.err
                );
            }
            for made in names(&home).difference(&outside) {
                let name = made.to_string_lossy();
                assert!(
                    !name.contains(char::is_control) && !name.contains("evil"),
                    "{client} {bad:?}: {name}"
                );
                let home = home.path("");
                let below = made.strip_prefix(&home).unwrap();
                let place =
                    below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
                assert!(
                    [".pi", ".dsh", ".claude", ".codex", ".prime", ".local", ".cache"]
                        .contains(&&*place),
                    "{client} {bad:?}: {name}"
                );
            }
        }
        fs::write(&path, &text).unwrap();
    }
}

/// The pi session with other words in its header.
fn with_header(home: &Home, key: &str, value: &serde_json::Value) -> PathBuf {
    let path = home.pi();
    let text = fs::read_to_string(&path).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_str(header).unwrap();
    header[key] = value.clone();
    fs::write(&path, format!("{header}\n{rest}")).unwrap();
    path
}

#[test]
fn a_parent_or_a_folder_that_is_no_log_is_looked_at_and_left() {
    let home = Home::new();
    let pipe = home.path("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let long = "/x".repeat(3000);
    let places = [
        "/dev/zero",
        "/proc/self/mem",
        "/proc/kmsg",
        word(&pipe),
        "/",
        "../../../../etc/passwd",
        "\0",
        &long,
        "a\u{1b}[31mb",
    ];
    for place in places {
        for key in ["parentSession", "cwd"] {
            let path = with_header(&home, key, &json!(place));
            for verb in [
                vec!["replay", "--check", word(&path)],
                vec!["replay", "--against", place, word(&path)],
                vec!["usage", word(&path), "--include-forks"],
                vec!["usage"],
                vec!["list"],
                vec!["replay", "--view", "lineage", word(&path)],
                vec!["merge", word(&path), "--note", "A note."],
                vec!["fork", word(&path), "--dry-run"],
            ] {
                if verb.iter().any(|word| word.contains('\0')) {
                    continue; // No command line can hold it.
                }
                let ran = ends(&home, &verb);
                assert!(
                    !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
                    "{verb:?}: {} {}",
                    ran.out,
                    ran.err
                );
            }
        }
    }
}

#[test]
fn what_is_no_file_is_never_waited_for() {
    let home = Home::new();
    let parent = home.pi();
    let beside = |name: &str| parent.with_file_name(name);
    let pipe = beside("2026-11-29T16-20-34-146Z_01a2281b-b0f9-74f9-b07d-d389f5b79d81.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink(
        "/dev/zero",
        beside("2026-11-29T16-20-35-146Z_01a2281b-b0f9-74f9-b07d-d389f5b79d82.jsonl"),
    )
    .unwrap();
    symlink(".", beside("loop")).unwrap();
    symlink("nowhere", beside("gone.jsonl")).unwrap();
    for session in [word(&pipe), "/dev/zero", "/dev/null", "/"] {
        for verb in ["fork", "side", "snapshot", "replay"] {
            let ran = ends(&home, &[verb, session, "--json"]);
            assert_ne!(ran.exit, 0, "{verb} {session}: {}", ran.out);
        }
        let out = home.run(&["fork", PI_ID, "--out", session, "--json"]);
        assert_ne!(out.exit, 0, "{session}");
    }
    // Those that lie in a store are in nobody's way.
    for verb in [vec!["usage"], vec!["list"], vec!["fork", PI_ID], vec!["replay", "--last"]] {
        assert_eq!(ends(&home, &verb).exit, 0, "{verb:?}");
    }
}

#[test]
fn a_log_behind_a_link_is_read_but_not_written_to() {
    let home = Home::new();
    let parent = home.pi();
    let side =
        home.report(0, &["side", word(&parent)])["child"]["path"].as_str().unwrap().to_owned();
    let real = home.path("elsewhere.jsonl");
    fs::rename(&parent, &real).unwrap();
    symlink(&real, &parent).unwrap();
    let before = fs::read(&real).unwrap();
    assert_eq!(home.run(&["replay", word(&parent)]).exit, 0);
    let report = home.report(6, &["merge", &side, "--note", "A note.", "--into", word(&parent)]);
    assert_eq!(report["code"], "SYMLINK_REFUSED");
    assert_eq!(fs::read(&real).unwrap(), before);
}

#[test]
fn a_parent_that_is_swapped_for_a_link_while_a_note_is_merged_leads_nowhere() {
    let home = Home::new();
    let parent = home.pi();
    let side =
        home.report(0, &["side", word(&parent)])["child"]["path"].as_str().unwrap().to_owned();
    let whole = fs::read(&parent).unwrap();
    // What somebody would like to be written to.
    let victim = home.path("victim");
    fs::write(&victim, &whole).unwrap();
    let (aside, stop) = (home.path("aside.jsonl"), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&parent, &aside).unwrap();
                symlink(&victim, &parent).unwrap();
                thread::sleep(Duration::from_micros(300));
                fs::remove_file(&parent).unwrap();
                fs::rename(&aside, &parent).unwrap();
                thread::sleep(Duration::from_micros(300));
            }
        });
        for nth in 0..40 {
            ends(
                &home,
                &["merge", &side, "--note", &format!("Note {nth}."), "--into", word(&parent)],
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read(&victim).unwrap(), whole);
    assert!(fs::read(&parent).unwrap().starts_with(&whole));
}

#[test]
fn lines_that_trip_parsers_are_read_or_named() {
    let home = Home::new();
    let path = home.pi();
    let whole = fs::read_to_string(&path).unwrap();
    let last: serde_json::Value = serde_json::from_str(whole.lines().last().unwrap()).unwrap();
    let entry = |data: &str| {
        format!(
            r#"{{"type":"custom","id":"deadbee1","parentId":{},"timestamp":"2026-11-29T16:30:00.000Z","customType":"x","data":{data}}}"#,
            last["id"]
        )
    };
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deeper = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let keys = format!("{{{}}}", vec![r#""k":1"#; 5000].join(","));
    let cases: [(&str, String); 12] = [
        ("deep", entry(&deep)),
        ("deep objects", entry(&deeper)),
        ("one key many times", entry(&keys)),
        ("a number beyond all", entry("1e400")),
        ("digits", entry(&"9".repeat(100_000))),
        ("half a pair", entry(r#""\ud800""#)),
        ("line separators", entry("\"\u{2028}\u{2029}\"")),
        ("a mark inside", format!("\u{feff}{}", entry("1"))),
        ("carriage return", format!("{}\r", entry("1"))),
        ("two types", entry("1").replacen('{', r#"{"type":"message","#, 1)),
        ("never closed", "{\"type\":\"custom\",\"data\":\"".to_owned() + &"x".repeat(1_000_000)),
        ("only brackets", "[".repeat(1_000_000)),
    ];
    let lines = whole.lines().count() as u64;
    for (what, line) in cases {
        fs::write(&path, format!("{whole}{line}\n")).unwrap();
        let checked = ends(&home, &["replay", "--check", word(&path), "--json"]).report();
        let told: Vec<_> = ["findings", "warnings"]
            .iter()
            .flat_map(|key| checked[key].as_array().unwrap())
            .collect();
        if checked["exit"] != 0 {
            assert_eq!(checked["exit"], 5, "{what}");
            assert!(
                told.iter()
                    .any(|finding| finding["line"] == lines + 1 || finding["code"] == "CRLF"),
                "{what}: {checked}"
            );
        }
        // What stands before is there in any case.
        assert!(checked["messages"].as_u64() >= Some(6), "{what}: {checked}");
        for verb in [
            vec!["usage", word(&path)],
            vec!["fork", word(&path), "--dry-run"],
            vec!["replay", "--view", "html", word(&path)],
        ] {
            ends(&home, &verb);
        }
    }
}

#[test]
fn a_very_long_line_is_a_line() {
    let home = Home::new();
    let path = home.pi();
    let whole = fs::read_to_string(&path).unwrap();
    let last: serde_json::Value = serde_json::from_str(whole.lines().last().unwrap()).unwrap();
    let text = "x".repeat(64 << 20);
    let line = format!(
        r#"{{"type":"custom","id":"deadbee1","parentId":{},"timestamp":"2026-11-29T16:30:00.000Z","customType":"x","data":"{text}"}}"#,
        last["id"]
    );
    fs::write(&path, format!("{whole}{line}\n")).unwrap();
    assert_eq!(ends(&home, &["replay", "--check", word(&path)]).exit, 0);
    let child =
        home.report(0, &["fork", word(&path)])["child"]["path"].as_str().unwrap().to_owned();
    assert!(fs::metadata(child).unwrap().len() > 64 << 20);
}

#[test]
fn a_frame_that_swells_beyond_measure_is_too_large() {
    let home = Home::new();
    let path = home.path("session.v4.jsonl.zstd");
    for byte in [b'\n', 0] {
        let mut packed = Vec::new();
        let mut encoder = zstd::stream::write::Encoder::new(&mut packed, 1).unwrap();
        let block = vec![byte; 1 << 20];
        for _ in 0..300 {
            std::io::Write::write_all(&mut encoder, &block).unwrap();
        }
        encoder.finish().unwrap();
        let header = fs::read(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dsh/v4-plain.jsonl.zstd"),
        )
        .unwrap();
        fs::write(&path, [header, packed].concat()).unwrap();
        let report = home.report(5, &["replay", "--check", word(&path)]);
        assert_eq!(report["code"], "RECORD_TOO_LARGE", "{report}");
        assert_eq!(home.report(5, &["fork", word(&path)])["code"], "RECORD_TOO_LARGE");
    }
}

#[test]
fn rights_are_the_owners_alone_whatever_the_umask() {
    for umask in ["000", "077", "777"] {
        let home = Home::new();
        let turns = home.path("turns.ndjson");
        fs::write(&turns, "{\"question\":\"q\",\"answer\":\"a\",\"requestId\":\"r\"}\n").unwrap();
        // All but the one that is inside a turn.
        let logs = sessions(&home).into_iter().filter(|(client, _)| !client.ends_with("early"));
        let logs: Vec<_> = logs.collect();
        let before = names(&home);
        for (client, parent) in &logs {
            // With all rights taken away nothing could be made at all, but by a root user.
            for verb in
                [vec!["fork"], vec!["side"], vec!["side", "--record", word(&turns), "--pane", "p"]]
            {
                let mut args = vec![verb[0], word(parent)];
                args.extend(&verb[1..]);
                let mut command = home.command(&[]);
                let program = command.get_program().to_owned();
                let mut shell = Command::new("/bin/sh");
                shell
                    .arg("-c")
                    .arg(format!("umask {umask}; exec \"$0\" \"$@\""))
                    .arg(program)
                    .args(&args);
                shell
                    .env_clear()
                    .env("HOME", home.path(""))
                    .current_dir(home.path(""))
                    .stdin(Stdio::null());
                command.stdin(Stdio::null());
                let made = ran(&shell.output().unwrap());
                if umask != "777" {
                    assert_eq!(made.exit, 0, "{client} {verb:?}: {} {}", made.out, made.err);
                }
            }
        }
        for made in names(&home).difference(&before) {
            let meta = fs::symlink_metadata(made).unwrap();
            let want = if meta.is_dir() { 0o700 } else { 0o600 };
            let mode = meta.permissions().mode() & 0o777;
            assert!(
                mode & !want == 0 && (umask == "777" || mode == want),
                "{umask} {}: {mode:o}",
                made.display()
            );
        }
    }
}

#[test]
fn ids_that_differ_in_case_or_composition_are_two() {
    let home = Home::new();
    home.pi();
    // One accent, written in two ways, and a letter, large and small: a file system may take each pair for one name.
    let mut made = Vec::new();
    for title in ["Caf\u{e9}", "Cafe\u{301}", "CAF\u{c9}"] {
        let report = home.report(0, &["fork", PI_ID, "--title", title]);
        assert_eq!(report["child"]["title"], title);
        made.push(report["child"]["path"].as_str().unwrap().to_owned());
    }
    assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), 3);
    for id in ["01A2281B-FFFF-74F9-B07D-D389F5B79D80", "01a2281b-ffff-74f9-b07d-d389f5b79d80"] {
        let ran = home.run(&["fork", PI_ID, "--id", id, "--json"]);
        assert!([0, 2].contains(&ran.exit), "{id}: {}", ran.out);
    }
    assert!(fs::read_dir(home.path(PI_FOLDER)).unwrap().count() >= 5);
}
