use std::{fs, path::Path};

use crate::home::{Home, PI_ID, word};

#[test]
fn a_fork_spends_nothing_until_somebody_speaks_in_it() {
    let home = Home::new();
    home.pi();
    let alone = home.report(0, &["usage"]);
    assert_eq!((&alone["completions"], &alone["totals"]["total"]), (&3.into(), &533.into()));
    let child = home.report(0, &["fork", PI_ID])["child"]["path"].as_str().unwrap().to_owned();
    let both = home.report(0, &["usage"]);
    assert_eq!(both["totals"], alone["totals"]);
    assert_eq!(both["copied"], serde_json::json!({ "records": 3, "total": 533 }));
    let own = home.report(0, &["usage", &child, "--own"]);
    assert_eq!((&own["completions"], &own["copied"]["records"]), (&0.into(), &3.into()));
}

#[test]
fn side_sessions_count_with_their_parent_and_forks_only_when_asked_for() {
    let home = Home::new();
    home.copy(
        "dsh/v4-main.jsonl",
        ".dsh/sessions/--home-ada-dsh-demo--/demo-main/session.v4.jsonl",
    );
    home.copy(
        "dsh/v4-side.jsonl",
        ".dsh/sessions/--home-ada-dsh-demo--/demo-side/session.v4.jsonl",
    );
    let own = home.report(0, &["usage", "demo-main", "--own"]);
    let family = home.report(0, &["usage", "demo-main", "--by", "kind"]);
    assert!(
        family["completions"].as_u64() > own["completions"].as_u64()
            || family["rows"].as_array().unwrap().len() == 1
    );
    let all = home.report(0, &["usage", "--include-forks", "--by", "family"]);
    let leaf = home.report(0, &["usage"]);
    assert_eq!(all["totals"], leaf["totals"], "both views have one sum");
}

#[test]
fn the_order_and_number_of_copies_change_nothing() {
    let home = Home::new();
    for name in ["a", "b", "c"] {
        home.copy("pi/pi-1.6.0-tool-calls.jsonl", &format!("{name}/one.jsonl"));
        home.copy("pi/pi-1.6.0-fork-whole-file.jsonl", &format!("{name}/two.jsonl"));
    }
    let one = home.report(0, &["usage", "a", "--by", "session"]);
    let many = home.report(0, &["usage", "c", "b", "a", "--by", "session"]);
    assert_eq!(one["rows"], many["rows"]);
    assert_eq!(one["totals"], many["totals"]);
}

#[test]
fn a_child_whose_parent_is_gone_is_counted_under_the_parents_id() {
    let home = Home::new();
    home.pi();
    let child = home.report(0, &["fork", PI_ID])["child"]["path"].as_str().unwrap().to_owned();
    fs::create_dir(home.path("alone")).unwrap();
    fs::copy(&child, home.path("alone/child.jsonl")).unwrap();
    let orphaned = home.report(0, &["usage", "alone", "--store", "alone"]);
    assert_eq!((&orphaned["completions"], &orphaned["orphans"]), (&3.into(), &3.into()));
    assert_eq!(orphaned["rows"][0]["session"], PI_ID);
}

#[test]
fn ranges_are_days_of_a_zone_and_apply_after_copies_are_told_apart() {
    let home = Home::new();
    home.pi();
    let count = |args: &[&str]| home.report(0, &[&["usage"], args].concat())["completions"].clone();
    assert_eq!(count(&["--since", "2026-11-29", "--until", "2026-11-29"]), 3);
    assert_eq!(count(&["--since", "2026-11-30"]), 0);
    assert_eq!(count(&["--since", "2026-11-30", "--timezone", "Asia/Tokyo"]), 3);
    assert_eq!(count(&["--until", "2026-11-29T16:20:33.6Z"]), 1);
    let rows = home
        .report(0, &["usage", "--by", "day", "--by", "model", "--timezone", "Asia/Tokyo"])["rows"]
        .clone();
    assert_eq!((&rows[0]["day"], &rows[0]["model"]), (&"2026-11-30".into(), &"demo-small".into()));
}

#[test]
fn people_get_a_table_and_spreadsheets_get_commas() {
    let home = Home::new();
    let path = home.pi();
    let table = home.run(&["usage", word(&path)]).out;
    assert!(table.lines().next().unwrap().contains("cache read"), "{table}");
    assert!(table.contains("533"));
    let csv = home.run(&["usage", word(&path), "--csv"]).out;
    assert_eq!(
        csv.lines().next().unwrap(),
        "session,completions,input,cache_read,cache_write_5m,cache_write_1h,output,reasoning,total"
    );
    assert_eq!(csv.lines().nth(1).unwrap(), format!("{PI_ID},3,437,64,0,0,32,0,533"));
}

#[test]
fn calls_that_left_no_usage_are_told_and_never_zero() {
    let home = Home::new();
    home.copy("dsh/v0-ends.jsonl", "e.jsonl");
    assert!(home.report(0, &["usage", "e.jsonl"])["unrecorded"].as_u64().unwrap() >= 1);
    let old = home.copy("pi/pi-0.73.1-compaction.jsonl", "c.jsonl");
    assert_eq!(home.report(0, &["usage", word(&old)])["unrecorded"], 1);
}

#[test]
fn a_file_that_is_no_session_is_never_counted_as_nothing() {
    let home = Home::new();
    fs::write(home.path("empty.jsonl"), "").unwrap();
    fs::write(home.path("other.jsonl"), "{\"x\":1}\n").unwrap();
    assert_eq!(home.report(5, &["usage", "empty.jsonl"])["code"], "EMPTY_FILE");
    assert_eq!(home.report(5, &["usage", "other.jsonl"])["code"], "FORMAT_UNKNOWN");
    // A folder may hold such files, but a session that is damaged beyond reading is told.
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "pi.jsonl");
    let report = home.report(0, &["usage", "."]);
    assert_eq!((&report["files"], &report["unread"]), (&1.into(), &0.into()));
    let cut = home.copy("dsh/v0-plain.jsonl.zstd", "d/session.jsonl.zstd");
    fs::write(&cut, &fs::read(&cut).unwrap()[..40]).unwrap();
    let report = home.report(0, &["usage", "."]);
    assert_eq!((&report["files"], &report["unread"]), (&1.into(), &1.into()));
}

#[test]
fn side_transcripts_stand_under_their_parent() {
    let home = Home::new();
    let root = "01a2282d-9435-71aa-9554-b510a3eabc16";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/prime/.prime");
    for entry in walkdir::WalkDir::new(&folder).into_iter().map(Result::unwrap) {
        if entry.file_type().is_file() {
            let below = entry.path().strip_prefix(&folder).unwrap().to_str().unwrap();
            home.copy(&format!("prime/.prime/{below}"), &format!(".prime/{below}"));
        }
    }
    let table = home.run(&["usage", root]).out;
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("01a2282d-")).collect();
    let depths: Vec<usize> =
        rows.iter().map(|row| row.chars().take_while(|c| *c == ' ').count() / 2).collect();
    // The session, a pane, a child with a child of its own, two panes more.
    assert_eq!(depths, [0, 1, 1, 2, 1, 1], "{table}");
    assert!(rows[0].contains(root), "{table}");
    let json = home.report(0, &["usage", root]);
    assert_eq!(json["rows"][0]["session"], root);
    assert_eq!(json["totals"]["total"], 17_059);
}

#[test]
fn damage_is_told_with_the_logs_that_have_it() {
    let home = Home::new();
    let whole = fs::read_to_string(home.pi()).unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let id = "22222222-2222-4222-8222-222222222222";
    let other = whole.replace(PI_ID, id);
    let second = other.lines().nth(2).unwrap();
    let broken = other.replacen(second, &second[..second.len() / 2], 1);
    // A whole log, one with a line that is cut, one at whose end somebody writes, and one of which nothing is left.
    write("store/a.jsonl", &whole);
    let broken = write("store/b.jsonl", &broken);
    let torn = write("store/c.jsonl", other[..other.len() - 30].trim_end());
    let cut = home.copy("dsh/v0-plain.jsonl.zstd", "store/d/session.jsonl.zstd");
    fs::write(&cut, &fs::read(&cut).unwrap()[..40]).unwrap();
    let unread = cut.display().to_string();
    for _ in 0..2 {
        let told = home.report(0, &["usage", "store"]);
        let fields = ["broken_lines", "torn_tails", "unread", "files"];
        let counts = fields.map(|field| told[field].as_u64().unwrap());
        assert_eq!(counts, [1, 1, 1, 3], "{told}");
        let log = |path: &str, broken: u64, torn: bool, unread: bool| {
            serde_json::json!({
                "path": path, "broken_lines": broken, "torn_tail": torn, "unread": unread,
            })
        };
        let damaged = [
            log(&broken, 1, false, false),
            log(&torn, 0, true, false),
            log(&unread, 0, false, true),
        ];
        assert_eq!(told["damaged"], serde_json::json!(damaged));
    }
    // No budget can be kept of what nobody could count, and damage is not a matter of rights.
    let budget = home.report(6, &["usage", "store", "--fail-over", "1Gtok"]);
    assert_eq!((&budget["code"], &budget["completions"].is_u64()), (&"IO_ERROR".into(), &true));
    assert!(budget["message"].as_str().unwrap().contains(&unread), "{budget}");
    let person = home.run(&["usage", "store"]).out;
    for part in ["1 broken line,", "1 last line without an end", &broken, "in 2 more", "--check"] {
        assert!(person.contains(part), "{part}: {person}");
    }
}

#[test]
fn a_log_may_come_by_standard_input() {
    let home = Home::new();
    let path = home.pi();
    let want = home.report(0, &["usage", word(&path), "--by", "model"]);
    let told = |args: &[&str]| {
        let mut command = home.command(&[args, &["--json"]].concat());
        let out = command.stdin(fs::File::open(&path).unwrap()).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&out.stdout).unwrap()
    };
    let have = told(&["usage", "-", "--by", "model"]);
    assert_eq!((&have["rows"], &have["files"]), (&want["rows"], &1.into()));
    let kept = told(&["usage", "-", "--keep"]);
    assert_eq!(kept["completions"], want["completions"]);
    assert_eq!(told(&["usage", "-", "--explain", PI_ID])["completions"], want["completions"]);
    let twice = told(&["usage", "-", "-"]);
    assert_eq!((&twice["exit"], &twice["code"]), (&2.into(), &"BAD_USAGE".into()));
}

#[test]
fn a_range_that_is_empty_and_a_zone_that_is_none_are_refused() {
    let home = Home::new();
    home.pi();
    for (args, word) in [
        (&["--since", "2026-11-30", "--until", "2026-11-29"][..], "the range is empty"),
        (&["--timezone", "Mars/Olympus"][..], "Europe/Berlin"),
    ] {
        let told = home.report(2, &[&["usage"], args].concat());
        assert!(told["message"].as_str().unwrap().contains(word), "{told}");
    }
    let day = home.report(0, &["usage", "--since", "2026-11-29", "--until", "2026-11-29"]);
    assert_eq!(day["completions"], 3);
}

#[test]
fn where_nothing_is_nothing_is_counted_and_that_is_said() {
    let home = Home::new();
    fs::create_dir(home.path("empty")).unwrap();
    for args in [&["usage"][..], &["usage", "empty"]] {
        let told = home.report(0, args);
        assert_eq!((&told["completions"], &told["files"]), (&0.into(), &0.into()));
        assert!(told["hint"].as_str().unwrap().contains("no log is there"), "{told}");
    }
    home.pi();
    assert!(home.report(0, &["usage"])["hint"].is_null());
}
