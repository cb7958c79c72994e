//! What `usage` says is the same with and without its index, whatever became of the logs or of the index.

use std::{
    fs::{self, File, FileTimes},
    io::Write as _,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, SystemTime},
};

use rayon::prelude::*;

use crate::home::{Home, PI_FOLDER, PI_NAME, Ran, ran, word};

const INDEX: &str = ".local/state/sessctl/usage.index";
const ROLL: &str = ".local/state/sessctl/usage.roll";

/// Views that together tell everything that is told of an account.
const VIEWS: [&[&str]; 4] = [
    &["usage", "--store", "store", "--json", "--by", "session", "--by", "kind", "--by", "model"],
    &["usage", "--store", "store", "--by", "day", "--since", "2026-11-29T16:20:00Z", "--cost"],
    &["usage", "store", "--ledger", "ledger.ndjson", "--with-paths", "--json"],
    &["usage", "store", "--reconcile", "--json"],
];

/// A command that trusts the index of files that lie still since a moment ago, where a person's would wait for seconds.
fn usage(home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.env("SESSCTL_CACHE_AFTER", "0");
    command
}

fn told(command: &mut Command) -> (i32, String, String) {
    let Ran { exit, out, err } = ran(&command.output().unwrap());
    (exit, out, err)
}

/// Lets the clock of the file system go on.
fn wait() {
    thread::sleep(Duration::from_millis(25));
}

/// Holds every view to what is told without the index, with what is in the index now and with what this left there.
fn same(home: &Home, what: &str) {
    let ledger = home.path("ledger.ndjson");
    let all = |args: &[&str]| {
        let _ = fs::remove_file(&ledger);
        (told(&mut usage(home, args)), fs::read_to_string(&ledger).ok())
    };
    for view in VIEWS {
        let want = all(&[view, &["--no-cache"]].concat());
        assert_eq!(want.1.is_some(), view.contains(&"--ledger"));
        let have = all(view);
        assert!(have == want, "{what}, {view:?}:\n{have:#?}\nnot\n{want:#?}");
    }
}

/// Whether a run takes everything from the index: then it writes none.
fn is_served(home: &Home, args: &[&str]) -> bool {
    let state = |name| fs::metadata(home.path(name)).map(|meta| (meta.ino(), meta.mtime_nsec()));
    let states = || [INDEX, ROLL].map(|name| state(name).ok());
    let before = states();
    assert_eq!(told(&mut usage(home, args)).0, 0);
    before[0].is_some() && states() == before
}

/// Every set of fixtures that has logs.
fn sets() -> Vec<String> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    let mut sets = names(&fixtures);
    assert_eq!(sets.len(), 7);
    sets.sort();
    sets
}

fn logs(home: &Home) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(home.path("store")).sort_by_file_name();
    let paths = entries.into_iter().map(|entry| entry.unwrap().into_path());
    paths.filter(|path| path.is_file()).collect()
}

fn append(path: &Path, bytes: &[u8]) {
    let text = [fs::read(path).unwrap(), bytes.to_vec()].concat();
    fs::write(path, text).unwrap();
}

fn times(path: &Path) -> FileTimes {
    let meta = fs::metadata(path).unwrap();
    FileTimes::new().set_accessed(meta.accessed().unwrap()).set_modified(meta.modified().unwrap())
}

/// Writes other bytes of the same length, and takes care that the time of writing does not tell.
fn swap(path: &Path, anew: bool) {
    let (bytes, times) = (fs::read(path).unwrap(), times(path));
    let digit = |byte: u8| if byte.is_ascii_digit() { b'0' + (byte - b'0' + 1) % 10 } else { byte };
    let half = bytes.len() / 2;
    let other: Vec<u8> = bytes[..half]
        .iter()
        .copied()
        .chain(bytes[half..].iter().map(|byte| digit(*byte)))
        .collect();
    if anew {
        let beside = path.with_extension("beside");
        fs::write(&beside, other).unwrap();
        fs::rename(&beside, path).unwrap();
    } else {
        fs::write(path, other).unwrap();
    }
    File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

/// What may become of a log, by a name; the second is another one.
type Change = (&'static str, fn(&Path, &Path));

const CHANGES: [Change; 11] = [
    ("nothing", |_, _| {}),
    ("grown by lines", |path, _| {
        let text = fs::read(path).unwrap();
        let line = text.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
        append(path, line);
    }),
    ("grown by another's", |path, other| append(path, &fs::read(other).unwrap())),
    ("grown by a torn line", |path, _| append(path, br#"{"type":"assistant","messa"#)),
    ("touched", |path, _| {
        let later = SystemTime::now() + Duration::from_secs(3600);
        File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    }),
    ("swapped in place", |path, _| swap(path, false)),
    ("swapped by name", |path, _| swap(path, true)),
    ("truncated", |path, _| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }),
    ("replaced", |path, other| {
        let beside = path.with_extension("beside");
        fs::copy(other, &beside).unwrap();
        fs::rename(&beside, path).unwrap();
    }),
    ("moved", |path, _| {
        let folder = path.with_file_name("moved");
        fs::create_dir_all(&folder).unwrap();
        fs::rename(path, folder.join(path.file_name().unwrap())).unwrap();
    }),
    ("deleted", |path, _| fs::remove_file(path).unwrap()),
];

#[test]
fn every_set_of_logs_counts_the_same_with_and_without_the_index() {
    let served: usize = sets()
        .into_par_iter()
        .map(|set| {
            let home = Home::new();
            let mut served = 0;
            for (what, change) in &CHANGES {
                let _ = fs::remove_dir_all(home.path("store"));
                home.copy_folder(&set, "store");
                wait();
                for view in [VIEWS[0], VIEWS[3]] {
                    told(&mut usage(&home, view));
                    served += usize::from(is_served(&home, view));
                }
                assert!(home.path(ROLL).exists());
                let all = logs(&home);
                assert!(!all.is_empty());
                for (nth, path) in all.iter().enumerate() {
                    // Some of them stay as they are, so that some are read anew and some are not.
                    if nth % 3 != 1 {
                        change(path, &all[(nth + 3) % all.len()]);
                    }
                }
                same(&home, &format!("{set}, {what}"));
                wait();
                same(&home, &format!("{set}, {what}, later"));
            }
            served
        })
        .sum();
    assert_eq!(
        served,
        7 * CHANGES.len() * 2,
        "sets whose second reading was served from the index"
    );
}

#[test]
fn a_log_that_is_taken_for_another_clients_is_read_again() {
    let home = Home::new();
    home.copy_folder("pi", "store");
    home.copy_folder("codex", "store/codex");
    let args = ["usage", "store", "--json", "--by", "session"];
    for client in ["pi", "codex", "dsh", "pi"] {
        wait();
        let asked = [&args[..], &["--format", client]].concat();
        for args in [&args[..], &asked] {
            let want = told(&mut usage(&home, &[args, &["--no-cache"]].concat()));
            for _ in 0..2 {
                assert_eq!(told(&mut usage(&home, args)), want, "{args:?}");
            }
        }
    }
}

#[test]
fn what_changed_a_moment_ago_is_read_again() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "store/a.jsonl");
    let args = &["usage", "store"];
    // As a person runs it: nothing is kept of a file that has just been written.
    assert_eq!(told(&mut home.command(args)).0, 0);
    assert!(!home.path(INDEX).exists());
    wait();
    assert!(!is_served(&home, args));
    assert!(is_served(&home, args));
    swap(&home.path("store/a.jsonl"), false);
    assert!(!is_served(&home, args));
    // A time to come tells nothing of the next change.
    let file = File::options().write(true).open(home.path("store/a.jsonl")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    wait();
    same(&home, "a time to come");
    assert!(is_served(&home, args), "the old index stays as it is");
}

#[test]
fn whatever_is_wrong_with_the_index_nothing_else_is_counted() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", &format!("{PI_FOLDER}/{PI_NAME}"));
    wait();
    let args = &["usage", "--json", "--by", "session"];
    let want = told(&mut usage(&home, args));
    assert!(want.1.contains("\"completions\":"), "{want:?}");
    let index = fs::read(home.path(INDEX)).unwrap();
    assert!((400..4000).contains(&index.len()), "{}", index.len());
    let words = ["Make a file", "notes.txt"];
    let text = String::from_utf8_lossy(&index);
    assert!(text.contains(PI_FOLDER) && !words.iter().any(|word| text.contains(word)));
    // What it is, who wrote it, the piece, the list with its path and marks, where that begins, how long it is, its digest.
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    for at in (0..index.len()).step_by(29).chain(index.len() - 33..index.len()) {
        let mut other = index.clone();
        other[at] ^= 0x11;
        damaged.push(other);
    }
    damaged.extend([0, 1, 39, 40, index.len() - 1].map(|len| index[..len].to_vec()));
    let roll = fs::read(home.path(ROLL)).unwrap();
    assert!((100..1000).contains(&roll.len()), "{}", roll.len());
    let damaged = damaged.into_iter().map(|bytes| ("usage.index", &index, bytes));
    // The same of what it all came to; no index lies beside it.
    let mut others: Vec<Vec<u8>> =
        (0..roll.len()).step_by(3).map(|len| roll[..len].to_vec()).collect();
    for at in 0..roll.len() {
        let mut other = roll.clone();
        other[at] ^= if at % 2 == 0 { 1 } else { 0x80 };
        others.push(other);
    }
    others.extend([[&roll[..], b"\0"].concat(), [&roll[..], &roll[..]].concat()]);
    let others = others.into_iter().map(|bytes| ("usage.roll", &roll, bytes));
    let damaged: Vec<_> = damaged.chain(others).collect();
    damaged.into_par_iter().enumerate().for_each(|(nth, (name, whole, bytes))| {
        let state = home.path(&format!("state-{nth}"));
        fs::create_dir(&state).unwrap();
        fs::write(state.join(name), bytes).unwrap();
        let have = told(usage(&home, args).env("SESSCTL_STATE_DIR", &state));
        assert!(have == want, "damage {nth} of {name}: {have:?}");
        // And it is a whole one again.
        assert_eq!(fs::read(state.join(name)).unwrap(), *whole, "damage {nth}");
        fs::remove_dir_all(&state).unwrap();
    });
}

#[test]
fn a_parent_that_turns_up_elsewhere_is_seen() {
    let home = Home::new();
    let parent = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "elsewhere/parent.jsonl");
    fs::create_dir(home.path("store")).unwrap();
    home.report(0, &["fork", word(&parent), "--out", "store/child.jsonl"]);
    let text = fs::read(&parent).unwrap();
    fs::remove_file(&parent).unwrap();
    let args = ["usage", "--store", "store", "--json", "--by", "session"];
    let count = |args: &[&str]| {
        let (_, out, _) = told(&mut usage(&home, args));
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["completions"].as_u64().unwrap()
    };
    wait();
    assert_eq!([count(&args), count(&args)], [3, 3]);
    assert!(is_served(&home, &args));
    for place in [parent.clone(), home.path(&format!("store/{PI_NAME}"))] {
        fs::write(&place, &text).unwrap();
        let plain = count(&[&args[..], &["--no-cache"]].concat());
        assert_eq!([count(&args), count(&args)], [plain, plain], "{}", place.display());
        assert_eq!(plain, if place == parent { 0 } else { 3 }, "{}", place.display());
        fs::remove_file(&place).unwrap();
        assert_eq!(count(&args), 3);
    }
}

#[test]
fn without_a_place_for_the_index_there_is_none() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "store/a.jsonl");
    fs::write(home.path("file"), "no folder").unwrap();
    wait();
    let args = &["usage", "store", "--json"];
    let want = told(&mut usage(&home, &[&args[..], &["--no-cache"]].concat()));
    assert!(!home.path(".local").exists(), "--no-cache leaves no index");
    for state in ["/dev/null/below", "file", "/proc/nowhere"] {
        let state = home.path(state);
        assert_eq!(told(usage(&home, args).env("SESSCTL_STATE_DIR", &state)), want, "{state:?}");
    }
    // What lies in its place is not followed or waited for.
    fs::create_dir_all(home.path("odd/usage.index")).unwrap();
    std::os::unix::fs::symlink(home.path("file"), home.path("odd/usage.index.new")).unwrap();
    assert_eq!(told(usage(&home, args).env("SESSCTL_STATE_DIR", home.path("odd"))), want);
    assert_eq!(fs::read_to_string(home.path("file")).unwrap(), "no folder");
}

#[test]
fn many_runs_at_once_agree_and_leave_a_whole_index() {
    let home = Home::new();
    home.copy_folder("claude-code", "store");
    home.copy_folder("codex", "store/codex");
    wait();
    let args = &["usage", "store", "--json", "--by", "session"];
    let want = told(&mut usage(&home, &[&args[..], &["--no-cache"]].concat()));
    let log = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "other/a.jsonl");
    for round in 0..4 {
        let mut runs: Vec<_> = (0..8)
            .map(|_| usage(&home, args).stdout(std::process::Stdio::piped()).spawn().unwrap())
            .collect();
        // Another one writes into the index meanwhile, if it gets at it.
        append(&log, b"\n");
        wait();
        told(&mut usage(&home, &["usage", "other"]));
        for run in runs.drain(..) {
            let output = run.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), want.1, "round {round}");
        }
        wait();
        told(&mut usage(&home, args));
        assert!(is_served(&home, args), "round {round}");
    }
}

#[test]
fn the_index_forgets_files_that_are_gone() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "one/a.jsonl");
    home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "two/b.jsonl");
    wait();
    let index = || String::from_utf8_lossy(&fs::read(home.path(INDEX)).unwrap()).into_owned();
    told(&mut usage(&home, &["usage", "one"]));
    told(&mut usage(&home, &["usage", "two"]));
    assert!(index().contains("one/a.jsonl") && index().contains("two/b.jsonl"));
    assert!(is_served(&home, &["usage", "one"]) && is_served(&home, &["usage", "two"]));
    fs::remove_file(home.path("one/a.jsonl")).unwrap();
    append(&home.path("two/b.jsonl"), b"\n");
    wait();
    told(&mut usage(&home, &["usage", "two"]));
    assert!(!index().contains("one/a.jsonl") && index().contains("two/b.jsonl"));
}

/// An answer of pi's that is long.
fn answer(nth: usize) -> String {
    let text = "an answer of some length ".repeat(400);
    format!(
        r#"{{"type":"message","id":"{nth:08x}","parentId":null,"timestamp":"2026-11-29T16:20:00.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"provider":"p","model":"m","responseId":"r{nth}","usage":{{"input":{nth},"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":9}},"stopReason":"stop"}}}}"#
    ) + "\n"
}

#[test]
fn of_a_log_that_grew_only_what_is_new_is_read() {
    let home = Home::new();
    let log = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "store/a.jsonl");
    let mut file = File::options().append(true).open(&log).unwrap();
    let add = |file: &mut File, count: std::ops::Range<usize>| {
        count.for_each(|nth| file.write_all(answer(nth).as_bytes()).unwrap());
    };
    add(&mut file, 1..100);
    let args = ["usage", "store", "--json", "--by", "session"];
    let count = |more: &[&str]| {
        let (_, out, _) = told(&mut usage(&home, &[&args[..], more].concat()));
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        ["completions", "broken_lines"].map(|field| report[field].as_u64().unwrap())
    };
    wait();
    assert_eq!(count(&[]), [3 + 99, 0]);
    same(&home, "before it grew");
    add(&mut file, 100..110);
    same(&home, "grown");
    wait();
    same(&home, "grown, later");
    assert!(is_served(&home, &args));
    // It shows where something was broken that nobody reads again: no client ever writes there.
    let place = fs::metadata(&log).unwrap().len() / 2;
    std::os::unix::fs::FileExt::write_all_at(
        &File::options().write(true).open(&log).unwrap(),
        &vec![b'"'; 20_000],
        place,
    )
    .unwrap();
    add(&mut file, 110..111);
    assert_eq!(count(&[]), [3 + 110, 0]);
    let [left, broken] = count(&["--no-cache"]);
    assert!(left < 3 + 110 && broken > 0, "{left}, {broken}");
    // Where it is written anew it is read anew.
    let text = fs::read(&log).unwrap();
    fs::write(
        &log,
        [&text[..2000], &text[5000..], answer(111).as_bytes(), answer(112).as_bytes()].concat(),
    )
    .unwrap();
    same(&home, "written anew");
}

#[test]
fn a_file_that_took_a_logs_place_is_not_that_log_grown() {
    let home = Home::new();
    let log = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "store/a.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    text.extend((1..100).map(answer));
    let mut reused = 0;
    for nth in 2..12 {
        fs::write(&log, &text).unwrap();
        let before = fs::metadata(&log).unwrap().ino();
        wait();
        same(&home, "at first");
        // What changed lies far from both ends.
        let (begin, rest) = text.split_at(text.len() / 3);
        let (middle, end) = rest.split_at(rest.len() / 2);
        let middle = middle.replace(r#""output":2"#, &format!(r#""output":{nth}"#)[..10]);
        fs::remove_file(&log).unwrap();
        fs::write(&log, [begin, &middle, end, &answer(nth + 100)].concat()).unwrap();
        reused += usize::from(fs::metadata(&log).unwrap().ino() == before);
        same(&home, "in its place");
        fs::remove_file(&log).unwrap();
    }
    // Some file systems never give a number twice.
    eprintln!("{reused} of 10 had the inode of the one before");
}
