//! Damaged bytes, read in this process: cut at every byte, flipped, zeroed, doubled, swapped, fused. Nothing panics or hangs,
//! and what cannot be read as it was written is named.

use std::{
    cell::Cell,
    io::Cursor,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use rayon::prelude::*;
use sessctl::{
    finding::{Code, Severity},
    format::Birth,
    log::{Encoding, Log},
    ops::{self, Child, Intent, Policy},
    session::{At, History, Session, resume, sheet::Sheet},
};

use crate::{
    Form, Row,
    kills::Random,
    room::{CLIENTS, Room, Verb, ended},
};

/// The largest log that is damaged at every byte.
const LARGEST: usize = 64 * 1024;

/// A megabyte is read within that.
const A_SECOND: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether what panics here is told in the table.
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

pub fn run(form: Form) -> Vec<Row> {
    let tells = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !TOLD.get() {
            tells(panic);
        }
    }));
    let logs = logs();
    let clients = ["claude-code", "codex", "dsh", "pi", "prime"];
    let mut table = vec![told(cut_anywhere(&logs, form))];
    table.extend(clients.map(|client| told(mutants(client, &logs, form))));
    table.extend([told(frames(form)), told(snapshots(form))]);
    let _ = std::panic::take_hook();
    table
}

/// A row, which is told as soon as it is there: the next one may take long.
fn told(row: Row) -> Row {
    println!("{}: {} runs, {} losses", row.attack, row.runs, row.losses.len());
    row.losses.iter().take(5).for_each(|loss| println!("LOSS {loss}"));
    row
}

/// A log that is to be damaged.
struct Victim {
    name: String,
    client: &'static str,
    bytes: Vec<u8>,
}

/// All plain logs among the fixtures that are not too large.
fn logs() -> Vec<Victim> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = walkdir::WalkDir::new(&fixtures).sort_by_file_name().into_iter();
    let files = files.filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    logs.filter_map(|path| {
        let bytes = std::fs::read(&path).ok().filter(|bytes| bytes.len() <= LARGEST)?;
        let client = read(&bytes).ok()?.format.name();
        let name = path.strip_prefix(&fixtures).ok()?.display().to_string();
        Some(Victim { name, client, bytes })
    })
    .collect()
}

fn read(bytes: &[u8]) -> sessctl::error::Result<Session> {
    Session::read_usages(Log::spool(Cursor::new(bytes))?, None)
}

/// What a reading came to.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// Digests of what the model sees; none where nothing could be read.
    digests: Option<Vec<[u8; 32]>>,
    /// Errors by their codes.
    errors: Vec<Code>,
    /// Anything that was said at all.
    told: usize,
}

/// Reads `bytes` to the end: facts, path, turns, messages, usage.
fn see(bytes: &[u8], forks: bool) -> Result<Seen, String> {
    let began = Instant::now();
    TOLD.set(true);
    let seen = catch_unwind(AssertUnwindSafe(|| seen(bytes, forks)));
    TOLD.set(false);
    let seen = seen.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        format!("panics: {}", text.unwrap_or_default())
    })??;
    let megabytes = u32::try_from(bytes.len() / 1_000_000).unwrap_or(u32::MAX).max(1);
    let slow = began.elapsed() > A_SECOND * megabytes * if cfg!(debug_assertions) { 10 } else { 1 };
    if slow { Err(format!("took {:?}", began.elapsed())) } else { Ok(seen) }
}

fn seen(bytes: &[u8], forks: bool) -> Result<Seen, String> {
    let failed = |error: sessctl::error::Error| error.to_string();
    let session = match read(bytes) {
        Ok(session) => session,
        Err(error) if error.exit() == 5 => {
            return Ok(Seen { digests: None, errors: vec![Code::FormatUnknown], told: 1 });
        }
        Err(error) => return Err(format!("fails with {}: {error}", error.code())),
    };
    let thread = session.thread(None).map_err(failed)?;
    let history = History::of(&thread, thread.path().len(), thread.seed).map_err(failed)?;
    for message in &history.messages {
        sessctl::session::history::unfold(&session, message).map_err(failed)?;
    }
    let findings = thread.findings();
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let seen = Seen {
        errors: errors.map(|finding| finding.code).collect(),
        told: findings.len(),
        digests: Some(history.digests),
    };
    // What is only counted is counted as what is read; but what was paid for a last line counts whether it ends or not.
    let packed = bytes.starts_with(b"\x28\xB5\x2F\xFD");
    let end: &[u8] = if packed || bytes.ends_with(b"\n") { b"" } else { b"\n" };
    let ended = [bytes, end].concat();
    let ledger = Log::spool(Cursor::new(&ended)).and_then(|log| Session::read_ledger(log, None));
    let session = if end.is_empty() { session } else { read(&ended).map_err(failed)? };
    // A ledger takes the records of an answer in parts as one.
    let spent = |session: &Session| -> u64 {
        let mut usages = Vec::new();
        session.facts.usages.iter().cloned().for_each(|usage| usage.put(&mut usages));
        usages.iter().map(|usage| usage.tokens.total()).sum()
    };
    let (full, scan) = (spent(&session), ledger.map(|ledger| spent(&ledger)).map_err(failed)?);
    if full != scan {
        return Err(format!("the scan counts {scan} and the full read {full}"));
    }
    // Some of each kind.
    if bytes.len().is_multiple_of(8) {
        let same = resumed(bytes).map_err(failed)?;
        same.then_some(()).ok_or("read on from its half it is not counted as at once")?;
    }
    if forks {
        fork(&session)?;
    }
    Ok(seen)
}

/// Whether a log that was read when it had half of its bytes, and then on from there, is counted as it is at once.
fn resumed(bytes: &[u8]) -> sessctl::error::Result<bool> {
    let log = |len: usize| Log::spool(Cursor::new(&bytes[..len]));
    let half = log(bytes.len() / 2).and_then(|log| resume::read(log, None, None));
    let before = half.ok().and_then(|(account, bookmark)| Some((bookmark?, account)));
    let (have, _) = resume::read(log(bytes.len())?, None, before)?;
    let (want, _) = resume::read(log(bytes.len())?, None, None)?;
    Ok(Sheet::of(&have) == Sheet::of(&want))
}

/// A child of what can be read is what was inherited.
fn fork(session: &Session) -> Result<(), String> {
    let policy = Policy::default();
    let intent = Intent { at: &At::LastTurn, leaf: None, policy: &policy };
    let Ok(cut) = ops::cut(session, &intent) else { return Ok(()) };
    let at = DateTime::<Utc>::from_timestamp_millis(1_780_000_000_000).expect("a time");
    let birth = Birth {
        id: "01a2281b-ffff-74f9-b07d-d389f5b79d80".into(),
        at,
        cwd: session.header().cwd.clone(),
        title: Some("A child".into()),
        parent: session.id().into(),
        parent_path: "/home/ada/parent.jsonl".into(),
        seed_length: session.format.seed_length(&session.facts, &cut.kept),
        version: session.format.written_version(session.header().version),
        base: None,
        aside: false,
    };
    let child = Child { cut: &cut, birth: &birth, inherit: true, framing: None, folder: None };
    let Ok(draft) = ops::child(&child) else { return Ok(()) };
    let mut bytes = Vec::new();
    let written = draft.write_as(Encoding::Plain, &mut bytes);
    written.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let have = Session::read(Log::spool(Cursor::new(bytes)).expect("memory"), Some(session.format));
    let have = have.map_err(|error| format!("a child that cannot be read: {error}"))?;
    let digests = |session: &Session, keep: Option<usize>| {
        let thread = session.thread(None).map_err(|error| error.to_string())?;
        let keep = keep.unwrap_or(thread.path().len());
        History::of(&thread, keep, thread.seed)
            .map(|history| history.digests)
            .map_err(|error| error.to_string())
    };
    if digests(&have, None)? != digests(session, Some(cut.boundary.keep()))? {
        return Err("a child that remembers something else".into());
    }
    Ok(())
}

/// Every cut between two bytes: what was whole before it is read, and that something is missing is said.
fn cut_anywhere(logs: &[Victim], form: Form) -> Row {
    let name = format!("logs cut at {} byte", form.pick("every 127th", "every"));
    let chosen: Vec<&Victim> = (0..40).map(|nth| &logs[nth * logs.len() / 40]).collect();
    let rows = chosen.into_par_iter().map(|log| {
        let mut row = Row::default();
        let mut whole = (usize::MAX, Seen::default());
        let ends = log.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
        for at in (1..log.bytes.len()).step_by(form.pick(127, 1)) {
            row.runs += 1;
            row.hits += 1;
            let end = ends.iter().rev().find(|end| **end <= at).copied().unwrap_or(0);
            if end > 0 && whole.0 != end {
                match see(&log.bytes[..end], false) {
                    Ok(seen) => whole = (end, seen),
                    Err(why) => row.lose(format!("{} cut at {end}: {why}", log.name)),
                }
            }
            match see(&log.bytes[..at], false) {
                Err(why) => row.lose(format!("{} cut at {at}: {why}", log.name)),
                Ok(_) if end == at => {}
                Ok(seen) if seen.digests.is_none() => {}
                Ok(seen) if !seen.errors.contains(&Code::TornTail) => {
                    row.lose(format!("{} cut at {at}: a torn tail is not told", log.name));
                }
                Ok(seen) if seen.digests != whole.1.digests => {
                    row.lose(format!(
                        "{} cut at {at}: the lines before say something else",
                        log.name
                    ));
                }
                Ok(_) => {}
            }
        }
        row
    });
    rows.collect::<Vec<_>>().into_iter().fold(Row::of(format!("40 {name}")), Row::and)
}

/// One of the things that disks, editors and two writers do to a file; what it was.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) -> &'static str {
    if bytes.is_empty() {
        return "nothing left"; // An earlier damage took it all.
    }
    let at = random.below(bytes.len());
    let some = |random: &mut Random, most: usize| 1 + random.below(most);
    let lines = |bytes: &[u8]| {
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    match random.below(10) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            "a bit flipped"
        }
        1 => {
            bytes[at] = u8::try_from(random.below(256)).expect("a byte");
            "a byte replaced"
        }
        2 => {
            let len = some(random, 4096);
            bytes.iter_mut().skip(at).take(len).for_each(|byte| *byte = 0);
            "zeroed"
        }
        3 => {
            let len = some(random, 200).min(bytes.len() - at);
            bytes.drain(at..at + len);
            "bytes gone"
        }
        4 => {
            let mut all = lines(bytes);
            let nth = random.below(all.len());
            all.insert(nth, all[nth].clone());
            *bytes = all.concat();
            "a line doubled"
        }
        5 => {
            let mut all = lines(bytes);
            let (one, two) = (random.below(all.len()), random.below(all.len()));
            all.swap(one, two);
            *bytes = all.concat();
            "lines swapped"
        }
        6 => {
            let ends = memchr::memchr_iter(b'\n', bytes).collect::<Vec<_>>();
            if !ends.is_empty() {
                bytes.remove(ends[random.below(ends.len())]);
            }
            "lines fused"
        }
        7 => {
            let from = random.below(bytes.len());
            let piece = bytes[from..].iter().take(some(random, 300)).copied().collect::<Vec<_>>();
            bytes.splice(at..at, piece);
            "a piece from elsewhere between"
        }
        8 => {
            bytes.insert(at, b'\n');
            "a line split"
        }
        _ => {
            let piece = [
                &b"\xff\xfe"[..],
                b"\"",
                b"\\ud800",
                b"{",
                b"]",
                b"\r",
                b"\xef\xbb\xbf",
                b"1e999",
                b"\\u0000",
            ];
            let piece = piece[random.below(piece.len())];
            bytes.splice(at..at, piece.iter().copied());
            "something put in"
        }
    }
}

/// Whether every line that holds anything is JSON.
fn is_json(bytes: &[u8]) -> bool {
    const BOM: &[u8] = b"\xef\xbb\xbf"; // told as what it is
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_prefix(BOM).unwrap_or(line));
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty());
    lines.all(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}

fn mutants(client: &'static str, logs: &[Victim], form: Form) -> Row {
    let wanted: u64 = form.pick(1_000, 1_000_000);
    let logs: Vec<&Victim> =
        logs.iter().filter(|log| log.client == client && log.bytes.len() < 24 * 1024).collect();
    assert!(!logs.is_empty(), "no log of {client}");
    // One alone, by its number, to look into what it came to.
    let one = std::env::var("SESSCTL_MUTANT").ok().and_then(|nth| nth.parse::<u64>().ok());
    let numbers = one.map_or(0..wanted, |nth| nth..nth + 1);
    let rows = numbers.into_par_iter().map(|nth| {
        let mut row = Row { runs: 1, hits: 1, ..Row::default() };
        let mut random = Random(nth * 2 + 1);
        let log = logs[random.below(logs.len())];
        let mut bytes = log.bytes.clone();
        let whats: Vec<_> =
            (0..=random.below(3) / 2).map(|_| damage(&mut bytes, &mut random)).collect();
        if bytes.is_empty() {
            return row;
        }
        let told = || format!("{client} mutant {nth} ({}, {})", log.name, whats.join(", "));
        if one.is_some() {
            let path = std::env::temp_dir().join(format!("{client}-mutant-{nth}.jsonl"));
            std::fs::write(&path, &bytes).expect("written");
        }
        match see(&bytes, nth % 8 == 0) {
            Err(why) => row.lose(format!("{}: {why}", told())),
            Ok(seen) if seen.errors.is_empty() && !is_json(&bytes) => {
                row.lose(format!("{}: a line that is no JSON is not told", told()));
            }
            Ok(_) => {}
        }
        row
    });
    rows.reduce(Row::default, Row::and).named(format!("mutants: {client}"))
}

/// Compressed logs have checksums: equal, or told.
fn frames(form: Form) -> Row {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dsh/v4-plain.jsonl.zstd");
    let bytes = std::fs::read(path).expect("the fixture is there");
    let original = see(&bytes, true).expect("the fixture can be read");
    let mut ends = vec![0];
    while let Some(at) = ends.last().copied().filter(|at| *at < bytes.len()) {
        let len = zstd::zstd_safe::find_frame_compressed_size(&bytes[at..]).expect("a frame");
        ends.push(at + len);
    }
    let wanted: u64 = form.pick(500, 1_000_000);
    let mutants = (0..wanted).into_par_iter().map(|nth| {
        let mut row = Row { runs: 1, hits: 1, ..Row::default() };
        let mut random = Random(nth * 2 + 1);
        let mut bytes = bytes.clone();
        let what = damage(&mut bytes, &mut random);
        match see(&bytes, false) {
            Err(why) => row.lose(format!("zstd mutant {nth} ({what}): {why}")),
            // A frame that is there twice, or lies elsewhere, is whole: what the lines say tells.
            Ok(seen) if seen.told == 0 && seen != original => {
                row.lose(format!("zstd mutant {nth} ({what}): other messages and nothing is told"));
            }
            Ok(_) => {}
        }
        row
    });
    let cuts = (1..bytes.len()).into_par_iter().step_by(form.pick(9, 1)).map(|at| {
        let mut row = Row { runs: 1, hits: 1, ..Row::default() };
        match see(&bytes[..at], false) {
            Err(why) => row.lose(format!("zstd cut at {at}: {why}")),
            Ok(seen) if seen.errors.is_empty() && !ends.contains(&at) => {
                row.lose(format!("zstd cut at {at}: nothing is told"));
            }
            Ok(_) => {}
        }
        row
    });
    let all = mutants.reduce(Row::default, Row::and).and(cuts.reduce(Row::default, Row::and));
    all.named("mutants and cuts: zstd frames")
}

/// A snapshot that is not what it was makes no child, or the same one.
fn snapshots(form: Form) -> Row {
    let shares: Vec<u64> = (0..8).collect();
    let rows = shares.into_par_iter().map(|share| {
        let mut row = Row::default();
        let mut room =
            Room::for_verb(CLIENTS[usize::try_from(share).expect("few")], Verb::Snapshot);
        let made = ended(&mut room.command(&room.args(Verb::Snapshot)));
        assert_eq!(made.exit(), Some(0), "{}", made.told());
        room.save();
        let (snapshot, child) = (room.path("out.snapshot"), room.path("child.jsonl"));
        let [from, to] = [&snapshot, &child].map(|path| path.to_str().expect("plain"));
        let makes =
            || room.run(&["fork", from, "--out", to, "--allow", "SESSION_NOT_LIVE", "--json"]);
        let told = |ran: &crate::room::Ran| ran.report()["boundary"]["messages"].as_u64();
        let whole = makes();
        assert_eq!(whole.exit(), Some(0), "{}", whole.told());
        let hash = |child: &str| room.run(&["replay", child, "--hash"]).out;
        let (messages, wanted) = (told(&whole), hash(to));
        let bytes = std::fs::read(&snapshot).expect("it was made");
        for nth in 0..form.pick(6, 1_250) {
            let mut random = Random(nth * 16 + share + 1);
            let mut bytes = bytes.clone();
            let what = damage(&mut bytes, &mut random);
            let _ = std::fs::remove_file(&child);
            std::fs::write(&snapshot, &bytes).expect("written");
            let ran = makes();
            row.runs += 1;
            row.hits += 1;
            let same = || told(&ran) == messages && hash(to) == wanted;
            let fits = match ran.exit() {
                Some(0) => child.exists() && same(),
                Some(1..=5) => !child.exists(),
                _ => false,
            };
            if !fits {
                row.lose(format!("snapshot {share}.{nth} ({what}): {}", ran.told()));
            }
        }
        row
    });
    rows.collect::<Vec<_>>().into_iter().fold(Row::of("damaged snapshots"), Row::and)
}
