//! `usage --keep`: what clients delete still counts, once.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::home::{Home, PI_FOLDER, PI_ID, PI_NAME};

const KEPT: &str = ".local/state/sessctl/kept.ndjson.zst";

/// What must not change when logs go: all but which files there are.
fn told(home: &Home, args: &[&str]) -> Value {
    let mut report = home.report(0, &[args, &["--keep"]].concat());
    let fields = report.as_object_mut().unwrap();
    assert!(fields.remove("kept").is_some(), "--keep says how many come from what was kept");
    for field in ["files", "unread", "warnings"] {
        fields.remove(field);
    }
    report
}

fn ledger(home: &Home) -> String {
    let _ = fs::remove_file(home.path("ledger.ndjson"));
    home.report(0, &["usage", "store", "--keep", "--ledger", "ledger.ndjson", "--with-paths"]);
    fs::read_to_string(home.path("ledger.ndjson")).unwrap()
}

fn logs(home: &Home) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(home.path("store")).sort_by_file_name();
    let paths = entries.into_iter().map(|entry| entry.unwrap().into_path());
    paths.filter(|path| path.is_file()).collect()
}

#[test]
fn a_total_is_the_same_whichever_logs_are_deleted() {
    const BY: &[&str] = &["usage", "store", "--by", "family", "--by", "session", "--by", "kind"];
    let mut seen = 0;
    for set in ["claude-code", "codex", "pi", "prime", "dsh", "carriers", "cases"] {
        let home = Home::new();
        home.copy_folder(set, "store");
        // Older generations of a log are not counted, and would be found once the newer one is gone.
        let all = logs(&home);
        for pair in all.windows(2).filter(|pair| pair[0].parent() == pair[1].parent()) {
            let generation = |path: &PathBuf| {
                let name = path.file_name().unwrap().to_str().unwrap();
                name.strip_prefix("session.").map(|rest| rest.starts_with('v'))
            };
            // `session.jsonl` and `session.v3.jsonl`, in the order of names.
            if let (Some(_), Some(true)) = (generation(&pair[0]), generation(&pair[1])) {
                fs::remove_file(&pair[0]).unwrap();
            }
        }
        // Some of it tells of logs that are there.
        let told = |home: &Home| {
            let mut report = told(home, BY);
            let fields = report.as_object_mut().unwrap();
            fields
                .retain(|field, _| !["copied", "torn_tails", "damaged"].contains(&field.as_str()));
            report
        };
        let (want, rows) = (told(&home), ledger(&home));
        seen += usize::from(rows.lines().count() > 3);
        // Every third, every second of the rest, all.
        for step in [3, 2, 1] {
            for path in logs(&home).iter().step_by(step) {
                fs::remove_file(path).unwrap();
            }
            assert_eq!(told(&home), want, "{set}, {step}");
            assert_eq!(ledger(&home), rows, "{set}, {step}");
        }
        let gone = home.report(0, &["usage", "store", "--keep"]);
        assert_eq!((&gone["files"], &gone["kept"]), (&0.into(), &gone["completions"]), "{set}");
        // And nothing of it without being asked for.
        let without = home.report(0, &["usage", "store"]);
        assert_eq!((&without["completions"], without.get("kept")), (&0.into(), None));
    }
    assert!(seen >= 6, "{seen} sets with completions");
}

#[test]
fn what_comes_back_or_lies_elsewhere_counts_once() {
    let home = Home::new();
    let log = home.pi();
    let want = told(&home, &["usage"]);
    assert_eq!(want["completions"], 3);
    // Moved, there twice, gone, back again.
    let other = home.path(&format!("{PI_FOLDER}/2026-11-29T16-20-33-147Z_{PI_ID}.jsonl"));
    fs::rename(&log, &other).unwrap();
    assert_eq!(told(&home, &["usage"]), want);
    let report = home.report(0, &["usage", "--keep"]);
    assert_eq!((&report["files"], &report["kept"]), (&1.into(), &0.into()));
    fs::copy(&other, &log).unwrap();
    assert_eq!(told(&home, &["usage"])["totals"], want["totals"]);
    fs::remove_file(&log).unwrap();
    fs::remove_file(&other).unwrap();
    assert_eq!(told(&home, &["usage"]), want);
    let said = home.run(&["usage", "--keep"]).out;
    assert!(said.contains("3 completions kept of logs that are gone"), "{said}");
    home.pi();
    assert_eq!(told(&home, &["usage"]), want);
    assert!(!home.run(&["usage", "--keep"]).out.contains("kept"));
}

#[test]
fn a_log_is_kept_as_it_was_read_last() {
    let home = Home::new();
    let log = home.pi();
    let text = fs::read_to_string(&log).unwrap();
    let half = text.lines().take(8).fold(String::new(), |all, line| all + line + "\n");
    fs::write(&log, &half).unwrap();
    let before = told(&home, &["usage"]);
    fs::write(&log, &text).unwrap();
    let want = told(&home, &["usage"]);
    assert_ne!(before["totals"], want["totals"]);
    fs::remove_file(&log).unwrap();
    assert_eq!(told(&home, &["usage"]), want);
    // A range is applied to what was kept too.
    let day = |day| told(&home, &["usage", "--since", day])["completions"].clone();
    assert_eq!((day("2026-11-29"), day("2026-11-30")), (3.into(), 0.into()));
}

#[test]
fn a_fork_of_a_log_that_is_gone_owns_nothing_of_it() {
    let home = Home::new();
    let log = home.pi();
    home.report(0, &["fork", PI_ID]);
    let want = told(&home, &["usage", "--by", "session"]);
    assert_eq!(want["copied"]["records"], 3);
    fs::remove_file(&log).unwrap();
    let have = told(&home, &["usage", "--by", "session"]);
    assert_eq!((&have["rows"], &have["orphans"]), (&want["rows"], &0.into()));
    assert_eq!(home.report(0, &["usage"])["orphans"], 3);
}

#[test]
fn what_lay_in_another_folder_counts_there() {
    let home = Home::new();
    let fixture = "pi/pi-1.6.0-plain-3-turns.jsonl";
    for folder in ["one", "two"] {
        home.copy(fixture, &format!("{folder}/{PI_NAME}"));
        home.report(0, &["usage", folder, "--keep"]);
        fs::remove_file(home.path(&format!("{folder}/{PI_NAME}"))).unwrap();
    }
    let count = |args: &[&str]| {
        let report = home.report(0, &[&["usage", "--keep"], args].concat());
        report["completions"].as_u64().unwrap()
    };
    fs::create_dir_all(home.path("three")).unwrap();
    assert_eq!([count(&["one"]), count(&["two"]), count(&["three"]), count(&[])], [3, 3, 0, 0]);
    assert_eq!(count(&["one", "two"]), 3);
    assert_eq!(count(&["--store", "one"]), 3);
}

#[test]
fn nothing_is_kept_unasked_and_no_words_ever() {
    let home = Home::new();
    home.pi();
    home.report(0, &["usage"]);
    assert!(!home.path(KEPT).exists());
    home.report(0, &["usage", "--keep"]);
    let kept = fs::read(home.path(KEPT)).unwrap();
    let text = String::from_utf8(zstd::decode_all(&kept[..]).unwrap()).unwrap();
    assert_eq!(text.lines().count(), 1);
    let log = fs::read_to_string(home.path(&format!("{PI_FOLDER}/{PI_NAME}"))).unwrap();
    let said = log.split("\"text\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let said: Vec<&str> = said.filter(|said| said.len() > 8).collect();
    assert!(said.len() > 3 && !said.iter().any(|said| text.contains(said)));
    // The same again is not written again.
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(home.path(KEPT)).unwrap());
    let before = inode();
    home.report(0, &["usage", "--keep"]);
    assert_eq!(inode(), before);
}

#[test]
fn what_is_kept_nowhere_else_is_not_passed_over_when_it_is_damaged() {
    let home = Home::new();
    let log = home.pi();
    home.report(0, &["usage", "--keep"]);
    let whole = fs::read(home.path(KEPT)).unwrap();
    let line = zstd::decode_all(&whole[..]).unwrap();
    let other = String::from_utf8(line.clone()).unwrap().replacen("\"v\":1", "\"v\":2", 1);
    let broken = [&line[..], b"{\"v\":1,\"pa\n"].concat();
    let mut damaged: Vec<Vec<u8>> = vec![
        zstd::encode_all(other.as_bytes(), 0).unwrap(),
        zstd::encode_all(&broken[..], 0).unwrap(),
        b"nonsense".to_vec(),
    ];
    for at in (0..whole.len()).step_by(37) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        damaged.extend([bytes, whole[..at].to_vec()]);
    }
    fs::remove_file(&log).unwrap();
    for (nth, bytes) in damaged.into_iter().enumerate() {
        fs::write(home.path(KEPT), &bytes).unwrap();
        let ran = home.run(&["usage", "--keep", "--json"]);
        assert_eq!(ran.exit, 6, "{nth}: {} {}", ran.out, ran.err);
        assert_eq!(fs::read(home.path(KEPT)).unwrap(), bytes, "{nth}: it stays as it is");
        assert_eq!(home.run(&["usage", "--json"]).exit, 0);
    }
    fs::write(home.path(KEPT), &whole).unwrap();
    assert_eq!(home.report(0, &["usage", "--keep"])["kept"], 3);
}

#[test]
fn many_runs_at_once_lose_nothing() {
    let home = Home::new();
    home.copy_folder("pi", "store");
    home.copy_folder("codex", "store/codex");
    let want = home.report(0, &["usage", "store"]);
    let runs: Vec<_> = ["store", "store/codex", "store", "store/codex"]
        .iter()
        .map(|folder| home.command(&["usage", folder, "--keep", "-q"]).spawn().unwrap())
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    fs::remove_dir_all(home.path("store")).unwrap();
    fs::create_dir(home.path("store")).unwrap();
    let have = home.report(0, &["usage", "store", "--keep"]);
    for field in ["totals", "rows", "completions", "orphans", "unrecorded", "broken_lines"] {
        assert_eq!(have[field], want[field], "{field}");
    }
}

#[test]
fn a_damaged_ledger_is_named_with_its_line_and_left_alone() {
    let home = Home::new();
    home.pi();
    home.report(0, &["usage", "--keep"]);
    let kept = home.path(KEPT);
    let whole = fs::read(&kept).unwrap();
    let other = zstd::encode_all(&b"{\"x\":1}\n"[..], 0).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"no frame", &other] {
        fs::write(&kept, damaged).unwrap();
        let told = home.report(6, &["usage", "--keep"]);
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("line 1 of it") && message.contains("begun anew"), "{message}");
        assert_eq!(fs::read(&kept).unwrap(), damaged);
    }
}
