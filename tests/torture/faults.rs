//! A failing disk: every call that changes something fails once, at each place and in each way, until a run is through
//! without having come to that place.

use std::{path::PathBuf, process::Command};

use rayon::prelude::*;

use crate::{
    Form, Row,
    room::{CLIENTS, Client, PI, Room, Verb, ended},
};

const KINDS: [&str; 8] = ["ENOSPC", "EIO", "EINTR", "EDQUOT", "EACCES", "SHORT", "TORN", "FULL"];

/// No verb makes more calls than that.
const MOST: usize = 2000;

/// The library that makes calls fail, built once.
pub fn library(into: &std::path::Path) -> PathBuf {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torture/faults.c");
    let library = into.join("faults.so");
    let built = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "a C compiler is there, as linking needs one"
    );
    library
}

pub fn run(form: Form) -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path());
    let mut jobs: Vec<(Client, Verb, &str, bool)> = Vec::new();
    for verb in Verb::ALL {
        for client in &CLIENTS {
            // Kinds differ in what is told, clients in what is done: in short, all kinds with one client and one verb, and
            // one kind with all.
            let all = form == Form::Long || *client == PI && verb == Verb::Fork;
            let some = *client == PI && verb != Verb::MergeAgain;
            let kinds: &[&str] = match (all, some) {
                (true, _) => &KINDS,
                (_, true) => &["ENOSPC", "EINTR", "TORN"],
                _ => &["TORN"],
            };
            jobs.extend(kinds.iter().map(|kind| (*client, verb, *kind, false)));
            if all || some {
                jobs.push((*client, verb, "EIO", true));
            }
        }
    }
    let rows: Vec<(Verb, Row)> = jobs
        .into_par_iter()
        .map(|(client, verb, kind, reads)| (verb, attack(client, verb, kind, reads, &library)))
        .collect();
    let mut table: Vec<Row> = Verb::ALL
        .iter()
        .map(|verb| Row::of(format!("failing disk: {verb:?}").to_lowercase()))
        .collect();
    for (verb, row) in rows {
        let nth = Verb::ALL.iter().position(|one| *one == verb).expect("one of all");
        table[nth] = std::mem::take(&mut table[nth]).and(row);
    }
    // What the faults hit says whether the library sees the calls at all.
    for row in &mut table {
        if row.hits == 0 {
            row.lose("no call failed: the calls of the binary are not seen");
        }
    }
    table.push(every_call_is_seen(&library));
    table
}

fn attack(client: Client, verb: Verb, kind: &str, reads: bool, library: &std::path::Path) -> Row {
    let mut row = Row::default();
    let room = Room::for_verb(client, verb);
    let want = room.reference(verb);
    for nth in 1..=MOST {
        room.reset();
        let mut command = room.command(&room.args(verb));
        fail(&mut command, &room, library, kind, nth);
        if reads {
            command.env("FAULT_READS", "1");
        }
        let ran = ended(&mut command);
        row.runs += 1;
        let Ok(hit) = std::fs::read_to_string(room.path("fault")) else {
            if ran.exit() != Some(0) {
                row.lose(format!("{} {verb:?}: fails by itself: {}", client.0, ran.told()));
            }
            return row;
        };
        row.hits += 1;
        // A file that cannot be read is told as one, however it is told.
        if reads && ran.exit().is_some_and(|exit| (1..6).contains(&exit)) {
            continue;
        }
        if let Err(why) = room.judge(verb, &ran, &want) {
            let hit = hit.trim();
            row.lose(format!("{} {verb:?} {kind} {hit}: {why}", client.0));
        }
    }
    row.lose(format!("{} {verb:?} {kind}: never came to an end", client.0));
    row
}

/// Lets call `nth` of `command` fail.
pub fn fail(command: &mut Command, room: &Room, library: &std::path::Path, kind: &str, nth: usize) {
    command.env("LD_PRELOAD", library).env("FAULT_KIND", kind).env("FAULT_AT", nth.to_string());
    command.env("FAULT_ROOT", room.path("")).env("FAULT_LOG", room.path("fault"));
}

/// Each sort of call that a write goes through can be made to fail: what the library does not see, it does not attack.
fn every_call_is_seen(library: &std::path::Path) -> Row {
    let mut row = Row::of("failing disk: calls seen");
    let mut seen = std::collections::BTreeSet::new();
    for verb in [Verb::Fork, Verb::Merge] {
        let room = Room::for_verb(PI, verb);
        for nth in 1..=MOST {
            room.reset();
            let mut command = room.command(&room.args(verb));
            fail(&mut command, &room, library, "EACCES", nth);
            ended(&mut command);
            row.runs += 1;
            let Ok(hit) = std::fs::read_to_string(room.path("fault")) else { break };
            row.hits += 1;
            seen.extend(hit.split(' ').nth(1).map(str::to_owned));
        }
    }
    for call in ["open", "write", "fsync", "fdatasync", "rename", "flock", "mkdir", "fchmod"] {
        if !seen.contains(call) {
            row.lose(format!("{call} was never made to fail, only {seen:?}"));
        }
    }
    row
}
