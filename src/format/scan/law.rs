//! A law: what a log states is the same, whether its lines are read by a scan or by `serde_json` alone.

use std::{fs, io::Cursor, path::PathBuf};

use super::tests::BLIND;
use crate::{log::Log, session::Session};

fn logs() -> Vec<PathBuf> {
    let all = walkdir::WalkDir::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
    let path = |entry: walkdir::Result<walkdir::DirEntry>| entry.unwrap().into_path();
    let is_log = |path: &PathBuf| path.extension().is_some_and(|name| name == "jsonl");
    all.sort_by_file_name().into_iter().map(path).filter(is_log).collect()
}

/// All that is known of a log once it was read; the error's code where it is no session.
fn told(text: &[u8], blind: bool, all: bool) -> String {
    BLIND.set(blind);
    let log = Log::spool(Cursor::new(text)).unwrap();
    let read = if all { Session::read_usages(log, None) } else { Session::read(log, None) };
    BLIND.set(false);
    let session = match read {
        Ok(session) => session,
        Err(error) => return error.code().to_string(),
    };
    let facts = &session.facts;
    let beside =
        (&facts.title, &facts.first_prompt, &facts.prompts, &facts.cwd_first, &facts.client);
    let counts = (facts.carried, facts.newest, session.damage, &session.blank);
    let paid = (&facts.usages, &facts.claims, &facts.refused);
    format!(
        "{:#?}",
        (facts.all(), facts.names(), &facts.header, beside, counts, paid, &session.findings)
    )
}

#[test]
fn by_a_scan_or_without_a_log_states_the_same() {
    let mut sessions = 0;
    for path in logs() {
        let text = fs::read(&path).unwrap();
        for all in [false, true] {
            let [scanned, parsed] = [false, true].map(|blind| told(&text, blind, all));
            assert!(scanned == parsed, "{}\n{scanned}\n{parsed}", path.display());
            sessions += usize::from(scanned.contains("Stated"));
        }
    }
    assert!(sessions > 300, "{sessions} sessions");
}

#[test]
fn so_does_a_damaged_one() {
    // What breaks a line, what makes another value of it, and halves of characters that are named by their numbers.
    const DAMAGE: [&[u8]; 8] = [b"\"", b"\\", b"\xC3", b"}", b"null", b"7", b"\\ud83d", b"\\u0041"];
    let (mut sessions, mut damaged) = (0, 0);
    for path in logs() {
        let whole = fs::read(&path).unwrap();
        for (seed, piece) in DAMAGE.into_iter().enumerate() {
            // The first lines tell whose the log is; behind them a byte here and there is another one.
            let mut text = whole.clone();
            let first = text.iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
            for at in (first + seed * 17..text.len()).step_by(701 + 97 * seed) {
                for (byte, new) in text[at..].iter_mut().zip(piece) {
                    *byte = *new;
                }
            }
            let [scanned, parsed] = [false, true].map(|blind| told(&text, blind, seed % 2 == 0));
            assert!(
                scanned == parsed,
                "{} with {}\n{scanned}\n{parsed}",
                path.display(),
                String::from_utf8_lossy(piece)
            );
            sessions += usize::from(scanned.contains("Stated"));
            damaged += usize::from(scanned.contains("LineCorrupt"));
        }
    }
    assert!(sessions > 300 && damaged > 100, "{sessions} sessions, {damaged} damaged");
}
