//! Attacks on what is promised: nothing lost, nothing made up, whole or not at all.
//!
//! Without more, the numbers of each change (minutes); with `SESSCTL_TORTURE=long` those of `just torture`. A word on the
//! command line runs the attacks whose name holds it. The table at the end is what `docs/reliability.md` quotes.

mod damage;
mod faults;
mod full;
mod kills;
mod large;
mod races;
mod room;

use std::time::Instant;

/// How hard is attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Along with every change.
    Short,
    /// Before a release.
    Long,
}

impl Form {
    /// One of two numbers.
    pub fn pick<T>(self, short: T, long: T) -> T {
        if self == Self::Long { long } else { short }
    }
}

/// What one attack came to: a row of the table.
#[derive(Debug, Default)]
pub struct Row {
    /// What was attacked.
    pub attack: String,
    /// How often something was run.
    pub runs: usize,
    /// How often a fault was put in, a process killed, bytes damaged.
    pub hits: usize,
    /// Each time that a promise was broken, in words.
    pub losses: Vec<String>,
}

impl Row {
    /// A row without anything yet.
    pub fn of(attack: impl Into<String>) -> Self {
        Self { attack: attack.into(), ..Self::default() }
    }

    /// Both together, under the name of the first.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.runs += other.runs;
        self.hits += other.hits;
        self.losses.extend(other.losses);
        self
    }

    /// The same under a name.
    #[must_use]
    pub fn named(mut self, attack: impl Into<String>) -> Self {
        self.attack = attack.into();
        self
    }

    /// Notes a broken promise.
    pub fn lose(&mut self, what: impl Into<String>) {
        self.losses.push(what.into());
    }
}

/// An attack: its name, and what it does.
type Attack = (&'static str, fn(Form) -> Vec<Row>);

const ATTACKS: [Attack; 6] = [
    ("faults", faults::run),
    ("kills", kills::run),
    ("full", full::run),
    ("large", large::run),
    ("races", races::run),
    ("damage", damage::run),
];

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if std::env::args().any(|word| word == "--list") {
        for (name, _) in ATTACKS {
            println!("{name}: test");
        }
        return;
    }
    let long = std::env::var_os("SESSCTL_TORTURE").is_some_and(|form| form == "long");
    let form = if long { Form::Long } else { Form::Short };
    let wanted =
        |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let mut rows = Vec::new();
    for (_, attack) in ATTACKS.iter().filter(|(name, _)| wanted(name)) {
        let began = Instant::now();
        for row in attack(form) {
            rows.push((row, began.elapsed().as_secs()));
        }
    }
    if rows.is_empty() {
        return;
    }
    println!("\n| attack | runs | faults, kills, damages | losses |\n|---|---:|---:|---:|");
    for (Row { attack, runs, hits, losses }, _) in &rows {
        println!("| {attack} | {runs} | {hits} | {} |", losses.len());
    }
    let losses: Vec<&String> = rows.iter().flat_map(|(row, _)| &row.losses).collect();
    println!();
    for loss in losses.iter().take(60) {
        eprintln!("LOSS {loss}\n");
    }
    let idle: Vec<&str> =
        rows.iter().filter(|(row, _)| row.runs == 0).map(|(row, _)| &*row.attack).collect();
    assert!(idle.is_empty(), "attacks that never ran: {idle:?}");
    if !losses.is_empty() {
        eprintln!("{} promises were broken", losses.len());
        std::process::exit(1);
    }
}
