//! A law: what a ledger keeps of a log is the same, whether its lines are looked through or taken apart.

use std::{fs, io::Cursor, path::PathBuf};

use sessctl::{
    error::Result,
    log::Log,
    session::{Session, ledger::Account},
};

fn logs() -> Vec<PathBuf> {
    let all = walkdir::WalkDir::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
    let path = |entry: walkdir::Result<walkdir::DirEntry>| entry.unwrap().into_path();
    let is_log = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".jsonl") || name.ends_with(".zstd") || name.ends_with(".zst")
    };
    all.sort_by_file_name().into_iter().map(path).filter(is_log).collect()
}

/// What `tell` tells of the account of a log, read in both ways; none where it is no session.
fn accounts(text: &[u8], tell: impl Fn(Account) -> String) -> Option<[String; 2]> {
    // What was paid for a last line counts whether it ends or not, what it says does not: here all of them end.
    let packed = text.starts_with(b"\x28\xB5\x2F\xFD") || text.ends_with(b"\n");
    let text = [text, if packed { b"" } else { b"\n" }].concat();
    let log = || Log::spool(Cursor::new(&text)).unwrap();
    let told = |session: Session| tell(Account::of(session));
    match (Session::read_ledger(log(), None), Session::read_usages(log(), None)) {
        (Ok(looked), Ok(mut read)) => {
            // A ledger takes the records of an answer in parts as one.
            let mut folded = Vec::new();
            read.facts.usages.drain(..).for_each(|usage| usage.put(&mut folded));
            read.facts.usages = folded;
            Some([told(looked), told(read)])
        }
        (looked, read) => {
            let code = |failed: Result<Session>| failed.err().map(|error| error.code());
            assert_eq!(code(looked), code(read));
            None
        }
    }
}

#[test]
fn looked_through_or_taken_apart_a_log_gives_the_same_account() {
    let mut counted = 0;
    for path in logs() {
        let text = fs::read(&path).unwrap();
        let Some([looked, read]) = accounts(&text, |account| format!("{account:#?}")) else {
            continue;
        };
        counted += usize::from(looked.contains("output:"));
        assert!(looked == read, "{}\n{looked}\n{read}", path.display());
    }
    assert!(counted > 60, "{counted} logs with usage");
}

#[test]
fn so_does_a_damaged_one() {
    let mut damaged = 0;
    for path in logs().iter().filter(|path| path.extension().is_some_and(|name| name == "jsonl")) {
        let whole = fs::read(path).unwrap();
        for (seed, byte) in [b'"', b'\\', 0, 0xC3, b'}', b'{', b'\n', b' '].into_iter().enumerate()
        {
            // The first lines tell whose the log is; behind them a byte here and there is another one.
            let mut text = whole.clone();
            let first = text.iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
            for at in (first + seed * 17..text.len()).step_by(701 + 97 * seed) {
                text[at] = byte;
            }
            // Whose a record is that was saved from damage may be told in two ways; what it cost may not.
            let figures = |account: Account| {
                let Account { usages, claims, carried, broken_lines, .. } = account;
                format!("{broken_lines} broken, {carried:?} {claims:?} {usages:#?}")
            };
            let Some([looked, read]) = accounts(&text, figures) else { continue };
            damaged += usize::from(!looked.starts_with("0 broken"));
            assert!(looked == read, "{} with {byte}\n{looked}\n{read}", path.display());
        }
    }
    assert!(damaged > 100, "{damaged} damaged logs");
}
