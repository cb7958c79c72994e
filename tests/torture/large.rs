//! Logs that are larger than what is held of them: a line of 256 MB in one of each client, and children that are begun
//! while their parent is read.

use std::fs;

use rayon::prelude::*;

use crate::{
    Form, Row, faults,
    room::{CLIENTS, Client, Room, Verb, ended},
};

/// More than a child may have that is read back whole.
const LARGE: usize = 66 << 20;

pub fn run(form: Form) -> Vec<Row> {
    let mut table = vec![long_lines(form.pick(4, 256) << 20)];
    if form == Form::Long {
        table.push(large_children());
    }
    table
}

/// Makes one text of the log so many bytes longer; whether it is a log of plain lines.
fn grow(room: &mut Room, size: usize) -> bool {
    const TEXT: &[u8] = br#""text":""#;
    let bytes = fs::read(&room.parent).expect("it is there");
    let header = bytes.iter().position(|byte| *byte == b'\n').expect("it has lines");
    let at = bytes[header..].windows(TEXT.len()).position(|bytes| bytes == TEXT);
    let Some(at) = at.map(|at| header + at + TEXT.len()) else { return false };
    let filler = br"of many bytes, \u0022quoted\u0022 \\ and so on; ".repeat(size / 48 + 1);
    fs::write(&room.parent, [&bytes[..at], &filler[..], &bytes[at..]].concat()).expect("written");
    room.save();
    true
}

fn longest_line(path: &str) -> usize {
    let bytes = fs::read(path).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0)
}

fn long_lines(size: usize) -> Row {
    let mut row = Row::of(format!("a line of {} MiB", size >> 20));
    for client in &CLIENTS {
        let mut room = Room::new(*client);
        if !grow(&mut room, size) {
            continue;
        }
        row.runs += 2;
        row.hits += 2;
        let parent = room.word();
        let checked = room.run(&["replay", "--check", "--json", &parent]);
        if checked.exit() != Some(0) {
            row.lose(format!("{}: {}", client.0, checked.told()));
        }
        let forked = room.run(&["fork", &parent, "--flatten", "--json"]);
        let child = forked.report()["child"]["path"].as_str().map_or(0, longest_line);
        if forked.exit() != Some(0) || child < size {
            row.lose(format!("{}: a line of {child} bytes, {}", client.0, forked.told()));
        }
    }
    row
}

/// A failing disk and kills in forks of large logs: at each of the first calls, then at some of the many writes alike, which
/// begin and end at any.
fn large_children() -> Row {
    let folder = tempfile::tempdir().expect("a folder");
    let library = faults::library(folder.path());
    let wanted = ["pi", "claude", "codex, legacy"];
    let clients: Vec<&Client> =
        CLIENTS.iter().filter(|client| wanted.contains(&client.0)).collect();
    let kinds = ["ENOSPC", "TORN", "KILL", "CUT"];
    let jobs: Vec<_> =
        clients.iter().flat_map(|client| kinds.iter().map(|kind| (**client, *kind))).collect();
    let rows = jobs.par_iter().map(|(client, kind)| {
        let mut row = Row::default();
        let mut room = Room::new(*client);
        assert!(grow(&mut room, LARGE), "{client:?} has a text");
        let want = room.reference(Verb::Fork);
        let calls = (1..40).chain((40..).step_by(31));
        for nth in calls {
            room.reset();
            let mut command = room.command(&room.args(Verb::Fork));
            faults::fail(&mut command, &room, &library, kind, nth);
            let ran = ended(&mut command);
            row.runs += 1;
            let Ok(hit) = fs::read_to_string(room.path("fault")) else { break };
            row.hits += 1;
            if let Err(why) = room.judge(Verb::Fork, &ran, &want) {
                row.lose(format!("{} large, {kind} at {}: {why}", client.0, hit.trim()));
            }
        }
        row
    });
    let name = "failing disk and kills: forks of large logs";
    rows.collect::<Vec<_>>().into_iter().fold(Row::of(name), Row::and)
}
