//! SIGKILL at random moments, before each call that changes something, and in the middle of each write.

use std::{
    thread,
    time::{Duration, Instant},
};

use rayon::prelude::*;

use crate::{
    Form, Row, faults,
    room::{CLIENTS, Client, Ran, Room, Verb, ended},
};

/// Rooms at work at once, each with its own share of the kills.
const SHARES: u64 = 8;

pub fn run(form: Form) -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a folder");
    let library = faults::library(folder.path());
    let kills = form.pick(300, 10_000);
    let verbs = Verb::ALL.into_iter().filter(|verb| *verb != Verb::Snapshot);
    let table = verbs.map(|verb| {
        let row = Row::of(format!("killed: {verb:?}").to_lowercase());
        let shares: Vec<u64> = (0..SHARES).collect();
        let rows = shares.into_par_iter().map(|share| {
            let client = CLIENTS[usize::try_from(share).expect("few") % CLIENTS.len()];
            let row = at_random(client, verb, kills / SHARES + 1, share + 1);
            // Some clients in the short form: the calls are mostly the same, but for older Codex, which names its sessions.
            let named = verb == Verb::Fork && client.0 == "codex, legacy";
            let exact = share < form.pick(1, SHARES) || named;
            if !exact {
                return row;
            }
            let at_each = |kind| at_each_call(client, verb, kind, &library);
            row.and(at_each("KILL")).and(at_each("CUT"))
        });
        rows.collect::<Vec<_>>().into_iter().fold(row, Row::and)
    });
    table.collect()
}

fn at_random(client: Client, verb: Verb, kills: u64, seed: u64) -> Row {
    let mut row = Row::default();
    let room = Room::for_verb(client, verb);
    let want = room.reference(verb);
    let mut random = Random(seed);
    let mut whole = Duration::from_millis(1);
    for nth in 0..kills {
        room.reset();
        let began = Instant::now();
        let mut child = room.command(&room.args(verb)).spawn().expect("it can be started");
        if nth % 16 == 0 {
            // How long it takes just now, on this machine.
            child.wait().expect("it ends");
            whole = began.elapsed();
            continue;
        }
        let share = u32::try_from(random.next() % 1100).expect("small");
        thread::sleep((whole * share / 1000).saturating_sub(began.elapsed()));
        child.kill().expect("it is ours");
        let ran = Ran::of(&child.wait_with_output().expect("it ends"));
        row.runs += 1;
        if ran.status.success() {
            continue; // It was faster.
        }
        row.hits += 1;
        if let Err(why) = room.judge(verb, &ran, &want) {
            row.lose(format!("{} {verb:?} killed after {share} of 1000: {why}", client.0));
        }
    }
    row
}

fn at_each_call(client: Client, verb: Verb, kind: &str, library: &std::path::Path) -> Row {
    let mut row = Row::default();
    let room = Room::for_verb(client, verb);
    let want = room.reference(verb);
    for nth in 1.. {
        room.reset();
        let mut command = room.command(&room.args(verb));
        faults::fail(&mut command, &room, library, kind, nth);
        let ran = ended(&mut command);
        row.runs += 1;
        let Ok(hit) = std::fs::read_to_string(room.path("fault")) else { break };
        row.hits += 1;
        if let Err(why) = room.judge(verb, &ran, &want) {
            row.lose(format!("{} {verb:?} {kind} at {}: {why}", client.0, hit.trim()));
        }
    }
    row
}

/// Numbers that are the same in every run of the test (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        self.0 ^= self.0 >> 29;
        self.0 ^= self.0 << 17;
        self.0 ^= self.0 >> 31;
        self.0
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("below a usize")
    }
}
