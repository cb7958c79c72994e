//! Many at once: merges into one parent, forks with one id, and a writer that knows of no lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    Form, Row,
    room::{PI, Ran, Room, Verb},
};

const PROCESSES: usize = 8;

pub fn run(form: Form) -> Vec<Row> {
    vec![
        merges(form.pick(12, 200)),
        one_id(50),
        one_request(50),
        foreign_writer(form.pick(30, 1000), false),
        foreign_writer(form.pick(10, 200), true),
    ]
}

/// The lines of a log, each one record.
fn records(bytes: &[u8]) -> Result<Vec<Value>, String> {
    if !bytes.ends_with(b"\n") {
        return Err("the log ends inside a line".into());
    }
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let text = String::from_utf8_lossy(line).into_owned();
            serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
        })
        .collect()
}

/// Each process merges its own notes; every note stands in the parent once, whole, and in the order of its process.
fn merges(each: usize) -> Row {
    let mut row = Row::of(format!("{PROCESSES} processes, {each} merges each, one parent"));
    let room = Room::for_verb(PI, Verb::Merge);
    let before = fs::read(&room.parent).expect("it is there");
    let side = fs::read_to_string(room.path("side")).expect("it was made");
    let failed: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let (room, side) = (&room, &side);
                scope.spawn(move || {
                    let notes = (0..each).map(|nth| format!("note {process}-{nth}."));
                    notes
                        .filter_map(|note| {
                            let ran = room.run(&["merge", side, "--note", &note, "--json"]);
                            (ran.exit() != Some(0)).then(|| format!("{note}: {}", ran.told()))
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    row.runs = PROCESSES * each;
    row.hits = row.runs;
    row.losses.extend(failed);
    let after = fs::read(&room.parent).expect("it is there");
    let Some(added) = after.strip_prefix(&before[..]) else {
        row.lose("the parent is not what it was");
        return row;
    };
    match records(added) {
        Err(why) => row.lose(why),
        Ok(notes) => {
            let texts: Vec<&str> =
                notes.iter().filter_map(|note| note["content"].as_str()).collect();
            let once: BTreeSet<&str> = texts.iter().copied().collect();
            if notes.len() != row.runs || once.len() != row.runs {
                row.lose(format!("{} lines, {} notes, not {}", notes.len(), once.len(), row.runs));
            }
            for pair in notes.windows(2) {
                if pair[1]["parentId"] != pair[0]["id"] {
                    row.lose(format!("a note that hangs elsewhere: {}", pair[1]));
                }
            }
        }
    }
    row
}

/// How many children there are beside the parent, and how the runs ended.
fn forks(args: &[&str], times: usize) -> (usize, BTreeMap<String, usize>, BTreeSet<String>) {
    let room = Room::new(PI);
    let parent = room.word();
    let ends: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..times)
            .map(|_| {
                let (room, parent) = (&room, &parent);
                scope.spawn(move || {
                    let ran = room.run(&[&["fork", parent, "--json"], args].concat());
                    let child = ran.report()["child"]["id"].as_str().map(str::to_owned);
                    (format!("{:?} {}", ran.exit(), ran.code()), child)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut ways = BTreeMap::new();
    for (end, _) in &ends {
        *ways.entry(end.clone()).or_default() += 1;
    }
    let children = ends.into_iter().filter_map(|(_, child)| child).collect();
    let folder = room.parent.parent().expect("a file has a folder");
    (fs::read_dir(folder).expect("it is there").count() - 1, ways, children)
}

fn one_id(times: usize) -> Row {
    let mut row = Row { runs: times, hits: times, ..Row::of(format!("{times} forks with one id")) };
    let (files, ways, _) = forks(&["--id", "01a2281b-ffff-74f9-b07d-d389f5b79d80"], times);
    let want =
        [("Some(0) ".to_owned(), 1), ("Some(4) SESSION_ALREADY_EXISTS".to_owned(), times - 1)];
    if files != 1 || ways != BTreeMap::from(want) {
        row.lose(format!("{files} files, {ways:?}"));
    }
    row
}

fn one_request(times: usize) -> Row {
    let name = format!("{times} forks with one request id");
    let mut row = Row { runs: times, hits: times, ..Row::of(name) };
    let (files, ways, children) = forks(&["--request-id", "r"], times);
    if files != 1 || children.len() != 1 || ways != BTreeMap::from([("Some(0) ".to_owned(), times)])
    {
        row.lose(format!("{files} files, {children:?}, {ways:?}"));
    }
    row
}

/// Somebody appends a line every 5 ms without any lock. What is said to be done is done and right; the rest is refused.
fn foreign_writer(times: usize, holds: bool) -> Row {
    let how = if holds { "keeps the log open" } else { "opens it each time" };
    let mut row = Row::of(format!("a writer without a lock that {how}: {times} forks and merges"));
    let room = Room::for_verb(PI, Verb::Merge);
    let before = fs::read(&room.parent).expect("it is there");
    let side = fs::read_to_string(room.path("side")).expect("it was made");
    let stop = AtomicBool::new(false);
    let (mut noted, mut refused) = (BTreeSet::new(), 0);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| write_on(&room, &stop, holds));
        let parent = room.word();
        for nth in 0..times {
            row.runs += 2;
            let fork = room.run(&["fork", &parent, "--title", &format!("t{nth}"), "--json"]);
            match fork.exit() {
                Some(0) => {
                    let child = fork.report()["child"]["path"].as_str().map(fs::read);
                    let child = child.and_then(Result::ok).unwrap_or_default();
                    let now = fs::read(&room.parent).expect("it is there");
                    if let Err(why) = is_fork(&child, &now) {
                        row.lose(format!("fork {nth}: {why}"));
                    }
                }
                _ if refuses(&fork) => refused += 1,
                _ => row.lose(format!("fork {nth}: {}", fork.told())),
            }
            let note = format!("note {nth}.");
            let merge = room.run(&["merge", &side, "--note", &note, "--json"]);
            match merge.exit() {
                Some(0) => drop(noted.insert(note)),
                _ if refuses(&merge) => refused += 1,
                _ => row.lose(format!("merge {nth}: {}", merge.told())),
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("no panic")
    });
    row.hits = written;
    let after = fs::read(&room.parent).expect("it is there");
    let Some(added) = after.strip_prefix(&before[..]) else {
        row.lose("the parent is not what it was");
        return row;
    };
    match records(added) {
        Err(why) => row.lose(format!("a fused line: {why}")),
        Ok(lines) => {
            let foreign = lines.iter().filter(|line| line["customType"] == "foreign");
            let numbers: Vec<_> = foreign.filter_map(|line| line["data"].as_u64()).collect();
            if numbers != (0..written as u64).collect::<Vec<_>>() {
                row.lose(format!("{} of {written} lines of the writer", numbers.len()));
            }
            let texts: Vec<_> = lines.iter().filter_map(|line| line["content"].as_str()).collect();
            for note in &noted {
                let there = texts.iter().filter(|text| *text == note).count();
                if there != 1 {
                    row.lose(format!("{note} was merged and stands there {there} times"));
                }
            }
            let twice = texts.iter().collect::<BTreeSet<_>>().len() != texts.len();
            if twice {
                row.lose("a note stands there twice");
            }
        }
    }
    if noted.is_empty() && refused == 0 {
        row.lose("nothing was tried");
    }
    row
}

/// Whether it ended with what is right when somebody else writes; a line may be on its way just now.
fn refuses(ran: &Ran) -> bool {
    ["SOURCE_CHANGED", "SESSION_LOCKED", "TORN_TAIL"].contains(&&*ran.code())
}

/// A child's inherited lines are the parent's, in order and each whole.
fn is_fork(child: &[u8], parent: &[u8]) -> Result<(), String> {
    let (child, parent) = (records(child)?, parent.split(|byte| *byte == b'\n'));
    let ids: BTreeSet<String> = parent
        .filter_map(|line| {
            serde_json::from_slice::<Value>(line).ok()?["id"].as_str().map(str::to_owned)
        })
        .collect();
    let own = |line: &&Value| line["type"] == "session" || line["type"] == "session_info";
    let foreign = child.iter().filter(|line| !own(line));
    for line in foreign {
        if !line["id"].as_str().is_some_and(|id| ids.contains(id)) {
            return Err(format!("a line that the parent does not have: {line}"));
        }
    }
    Ok(())
}

/// Appends a whole line every 5 ms, each behind the last line it sees; how many there were.
fn write_on(room: &Room, stop: &AtomicBool, holds: bool) -> usize {
    let open = || fs::OpenOptions::new().append(true).open(&room.parent).expect("it is there");
    let held = holds.then(open);
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        let bytes = fs::read(&room.parent).expect("it is there");
        let last = records(&bytes).ok().and_then(|records| records.last().cloned());
        let last = last.map_or(Value::Null, |last| last["id"].clone());
        let line = serde_json::json!({"type":"custom","id":format!("f{written:07x}"),"parentId":last,"timestamp":"2026-11-29T17:00:00.000Z","customType":"foreign","data":written});
        let line = format!("{line}\n");
        match &held {
            Some(file) => (&mut &*file).write_all(line.as_bytes()),
            None => open().write_all(line.as_bytes()),
        }
        .expect("written");
        written += 1;
        thread::sleep(Duration::from_millis(5));
    }
    written
}
