//! A disk that is really full: the system's own limit on the size of files, and a small file system in memory.

use std::{fs, path::Path, process::Command};

use rayon::prelude::*;

use crate::{
    Form, Row,
    room::{CLIENTS, PI, Room, Verb, ended},
};

const SIZES: u64 = 50;

pub fn run(form: Form) -> Vec<Row> {
    let verbs = [Verb::Fork, Verb::Side, Verb::Record, Verb::Merge, Verb::Snapshot];
    let clients = form.pick(&CLIENTS[..2], &CLIENTS);
    let jobs: Vec<_> =
        verbs.iter().flat_map(|verb| clients.iter().map(|one| (*one, *verb))).collect();
    let rows = jobs.par_iter().map(|(client, verb)| {
        let mut row = Row::default();
        let room = Room::for_verb(*client, *verb);
        let want = room.reference(*verb);
        // From nothing to more than the largest file; the shell counts in blocks of 512 or 1,024 bytes, so that sizes are
        // few blocks and the files are made to end between them.
        for nth in 0..SIZES {
            room.reset();
            let mut args = vec![
                "-c".to_owned(),
                format!(r#"trap "" XFSZ; ulimit -f {nth}; exec "$0" "$@""#),
                env!("CARGO_BIN_EXE_sessctl").to_owned(),
            ];
            args.extend(room.args(*verb));
            let ran = ended(&mut room.command_of(Path::new("/bin/sh"), &args));
            row.runs += 1;
            row.hits += usize::from(ran.exit() != Some(0));
            if ran.exit() != Some(0) && ran.code() != "IO_LIMIT" {
                row.lose(format!("{} {verb:?} under {nth} blocks: {}", client.0, ran.told()));
            }
            if let Err(why) = room.judge(*verb, &ran, &want) {
                row.lose(format!("{} {verb:?} under {nth} blocks: {why}", client.0));
            }
        }
        row
    });
    let limit = rows.collect::<Vec<_>>().into_iter().fold(Row::of("size limit of files"), Row::and);
    let mut table = vec![limit];
    table.extend(small_disk());
    table
}

/// A file system of a few pages, where one may be mounted.
fn small_disk() -> Option<Row> {
    let mut row = Row::of("small file system, full");
    for nth in 0..SIZES {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        let size = format!("size={}k", 4 * (8 + nth));
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at);
        let mounted = mount.output().is_ok_and(|done| done.status.success());
        if !mounted {
            eprintln!("NOT RUN: a small file system cannot be mounted here (wants root)");
            return None;
        }
        let room = Room::new(PI);
        let child = at.join("child.jsonl");
        let source = at.join("parent.jsonl");
        let copied = fs::copy(&room.parent, &source);
        fs::remove_file(&room.parent).expect("it is ours"); // the copy is the session now
        let _ = fs::write(at.join("filler"), vec![b'x'; 1024 * 1024]); // as much as goes in
        let freed = usize::try_from(nth).expect("few") * 400;
        let filler = fs::OpenOptions::new().write(true).open(at.join("filler"));
        if let Ok(file) = filler {
            let len = file.metadata().map_or(0, |meta| meta.len());
            let _ = file.set_len(len.saturating_sub(freed as u64 * 4));
        }
        if copied.is_ok() {
            let [source, child] = [&source, &child].map(|path| path.to_str().expect("plain"));
            let ran = room.run(&["fork", source, "--out", child, "--json"]);
            row.runs += 1;
            row.hits += usize::from(ran.exit() != Some(0));
            let there = Path::new(child).exists();
            let fits = match ran.exit() {
                Some(0) => there && room.run(&["replay", "--check", child]).exit() == Some(0),
                Some(6) => !there && ran.code() == "IO_NO_SPACE",
                _ => false,
            };
            let left = fs::read_dir(at).map_or(0, |all| {
                let names = all.filter_map(Result::ok).map(|entry| entry.file_name());
                names.filter(|name| name.to_string_lossy().starts_with(".sessctl")).count()
            });
            if !fits || left > 0 {
                row.lose(format!("{size}: {} files left, {}", left, ran.told()));
            }
        }
        let _ = Command::new("umount").arg(at).status();
    }
    Some(row)
}
