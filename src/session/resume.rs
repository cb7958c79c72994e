//! Reading a log that grew behind where an earlier run read it to.

use serde::{Deserialize, Serialize};

use super::{Session, intake::Intake, ledger::Account, take_tail, whose};
use crate::{
    error::Result,
    fact::{Facts, Gist, Keep},
    format::Format,
    log::{Log, Reached},
};

/// Where a log was read to, and what was known there beyond what was paid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bookmark {
    client: String,
    reached: Reached,
    /// What the client's reader knew.
    reader: Vec<u8>,
    gist: Gist,
}

impl Bookmark {
    /// None where what follows may depend on something else: damage, of which the next line may be a part, or another
    /// file that has to be read again.
    fn of(log: &Log, format: &dyn Format, intake: &Intake, facts: &Facts) -> Result<Option<Self>> {
        let known = || Some((intake.memory()?, Gist::of(facts)?));
        let (Some((reader, gist)), Some(reached)) = (known(), log.reached()?) else {
            return Ok(None);
        };
        Ok(Some(Self { client: format.name().into(), reached, reader, gist }))
    }
}

/// The account of a log, and a bookmark for the next run. `before`: that of an earlier run, and what was paid by then.
/// What comes of it is what comes of reading all.
pub fn read(
    mut log: Log,
    wanted: Option<&'static dyn Format>,
    before: Option<(Bookmark, Account)>,
) -> Result<(Account, Option<Bookmark>)> {
    // What follows may tell that the log is another client's.
    let (format, head) = whose(&log, wanted, true)?;
    let begun = before.and_then(|(bookmark, account)| begin(format, bookmark, account));
    let begun = match begun {
        Some((reached, intake, facts)) if log.go_on(&reached)? => Some((intake, facts)),
        _ => None,
    };
    let (mut intake, mut facts) = begun.unwrap_or_else(|| {
        log.put_back(head);
        (Intake::new(format.reader()), Facts::new(Keep::Usages))
    });
    log.each(|line| {
        intake.take(line, &mut facts);
        Ok(())
    })?;
    let tail = take_tail(&log, format, &mut intake, &mut facts)?;
    // Once the line of a tail ends it is read again, so that what was paid for it must not be known by then.
    let bookmark = if tail { None } else { Bookmark::of(&log, format, &intake, &facts)? };
    let session = Session::settled(log, format, intake, facts, false)?;
    Ok((Account::of(session), bookmark))
}

/// What is known where a bookmark stands.
fn begin(
    format: &dyn Format,
    bookmark: Bookmark,
    account: Account,
) -> Option<(Reached, Intake, Facts)> {
    (bookmark.client == format.name()).then_some(())?;
    let mut reader = format.reader();
    reader.unpack(&bookmark.reader)?;
    let facts = bookmark.gist.facts(account.usages, account.claims);
    Some((bookmark.reached, Intake::new(reader), facts))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::session::sheet::Sheet;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

    fn read_at(
        path: &Path,
        before: Option<&(Bookmark, Account)>,
    ) -> Option<(Account, Option<Bookmark>)> {
        let log = Log::open(path).unwrap();
        let read = read(log, None, before.cloned());
        if let (Some((bookmark, _)), Ok(_)) = (before, &read) {
            assert!(Log::open(path).unwrap().go_on(&bookmark.reached).unwrap());
        }
        read.ok()
    }

    /// What a session is called and what was asked in it first.
    fn words(path: &Path) -> Vec<String> {
        let session = Log::open(path).and_then(|log| Session::read(log, None)).ok();
        let facts = session.map(|session| session.facts);
        let words = facts.into_iter().flat_map(|facts| {
            let asked = facts.prompts.asked.into_iter().map(|(_, words)| words);
            asked.chain([facts.title, facts.first_prompt, facts.prompts.told].into_iter().flatten())
        });
        words
            .map(|words| words.chars().take(20).collect())
            .filter(|words: &String| words.len() > 7)
            .collect()
    }

    /// Where a log may have ended when it was read: behind some of its lines, and inside of one.
    fn ends(text: &[u8]) -> Vec<usize> {
        let lines: Vec<usize> = memchr::memchr_iter(b'\n', text).map(|at| at + 1).collect();
        let step = lines.len().div_ceil(24).max(1);
        let ends = lines.iter().step_by(step).copied();
        ends.flat_map(|end| [end, (end + 40).min(text.len())]).chain([text.len()]).collect()
    }

    #[test]
    fn a_log_that_grew_says_what_it_says_when_it_is_read_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (mut logs, mut resumed, mut whole, mut said) = (0, 0, 0, 0);
        for entry in walkdir::WalkDir::new(FIXTURES).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.path().extension().is_none_or(|name| name != "jsonl") {
                continue;
            }
            // What a file is called and where it lies tells things too.
            let path = folder.path().join(entry.path().strip_prefix(FIXTURES).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = fs::read(entry.path()).unwrap();
            let words = words(entry.path());
            said += words.len();
            let mut before = None;
            for end in ends(&text) {
                fs::write(&path, &text[..end]).unwrap();
                let want = read_at(&path, None);
                let have = read_at(&path, before.as_ref());
                resumed += usize::from(before.is_some());
                let sheet = |read: &Option<(Account, Option<Bookmark>)>| {
                    read.as_ref().map(|(account, bookmark)| {
                        (Sheet::of(account), bookmark.as_ref().map(|bookmark| bookmark.reached))
                    })
                };
                assert_eq!(sheet(&have), sheet(&want), "{} up to byte {end}", path.display());
                // As it is written down and read again.
                before = have.and_then(|(account, bookmark)| {
                    let bytes = postcard::to_stdvec(&(bookmark?, Sheet::of(&account))).unwrap();
                    for word in &words {
                        let found = memchr::memmem::find(&bytes, word.as_bytes());
                        assert_eq!(found, None, "{}: {word}", path.display());
                    }
                    let (bookmark, sheet): (Bookmark, Sheet) =
                        postcard::from_bytes(&bytes).unwrap();
                    Some((bookmark, sheet.account().unwrap()))
                });
                whole += usize::from(before.is_none());
            }
            logs += 1;
        }
        assert!(logs > 250 && resumed > 10 * whole, "{logs} logs, {resumed} resumed, {whole} not");
        assert!(said > 250, "{said} titles and prompts");
    }

    #[test]
    fn a_log_that_was_written_anew_is_read_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let text = fs::read(Path::new(FIXTURES).join("pi/pi-1.6.0-plain-3-turns.jsonl")).unwrap();
        fs::write(&path, &text).unwrap();
        let reached =
            Log::open(&path).and_then(|log| read(log, None, None)).unwrap().1.unwrap().reached;
        let goes_on = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            Log::open(&path).unwrap().go_on(&reached).unwrap()
        };
        assert!(goes_on(&text) && goes_on(&[&text[..], b"{}\n"].concat()));
        assert!(!goes_on(&text[..text.len() - 1]));
        for at in [0, text.len() / 2, text.len() - 1] {
            let mut other = text.clone();
            other[at] ^= 1;
            assert!(!goes_on(&other), "byte {at}");
        }
    }
}
