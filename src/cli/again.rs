//! The command line of this run, to be given again with a change, and how the program was called.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::report::quoted;
use crate::env::Env;

/// Flags with a value that names no session that is there.
const VALUED: [&str; 11] = [
    "--ask",
    "--cwd",
    "--format",
    "--framing",
    "--id",
    "--note",
    "--out",
    "--pane",
    "--request-id",
    "--store",
    "--title",
];

/// The command line of this run, to be given again with a change.
#[derive(Clone, Debug)]
pub struct Again {
    program: String,
    words: Vec<String>,
}

impl Again {
    /// The words of the command line; words that are no UTF-8 are not offered again.
    pub fn of(args: &[OsString], env: &Env) -> Self {
        let words = args.iter().skip(1).map(|word| word.to_str().map(str::to_owned));
        let program = args.first().map_or_else(String::new, |called| name_of(called, env));
        Self { program, words: words.collect::<Option<_>>().unwrap_or_default() }
    }

    /// The verb.
    pub fn verb(&self) -> &str {
        const VERBS: [&str; 7] = ["fork", "snapshot", "side", "merge", "replay", "usage", "list"];
        let verb = self.words.iter().find(|word| VERBS.contains(&word.as_str()));
        verb.map(String::as_str).unwrap_or_default()
    }

    /// Whether a flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| is(word, flag))
    }

    /// Whether that is the value of a flag.
    pub fn is_value(&self, value: &str, flag: &str) -> bool {
        let apart = self.words.windows(2).any(|two| two[0] == flag && two[1] == value);
        apart || self.words.iter().any(|word| word.strip_prefix(flag) == Some(&format!("={value}")))
    }

    /// The first word of this command line that fits.
    pub fn word(&self, fits: impl Fn(&str) -> bool) -> Option<&str> {
        self.words.iter().map(String::as_str).find(|word| fits(word))
    }

    /// The words without a flag and its value.
    fn left(&self, flag: &str) -> Vec<String> {
        let mut left = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if word == flag {
                words.next();
            } else if !is(word, flag) {
                left.push(word.clone());
            }
        }
        left
    }

    /// The same command.
    pub fn same(&self) -> String {
        self.pasted(&self.words)
    }

    /// The same with a flag that may be there already with another value.
    pub fn with(&self, flag: &str, value: &str) -> String {
        self.pasted(&added(self.left(flag), flag, value))
    }

    /// The same with one more flag.
    pub fn and(&self, flag: &str, value: &str) -> String {
        self.pasted(&added(self.words.clone(), flag, value))
    }

    /// The same without a flag.
    pub fn without(&self, flag: &str) -> String {
        self.pasted(&self.left(flag))
    }

    /// The same with another word in the place of one that names a session. The same word may stand behind a flag as well.
    pub fn instead(&self, word: &str, other: &str) -> String {
        let mut words = self.words.clone();
        let mut places = words.iter().enumerate().filter(|(_, own)| *own == word).map(|(at, _)| at);
        let is_value = |at: usize| at > 0 && VALUED.contains(&words[at - 1].as_str());
        let first = places.clone().next();
        if let Some(at) = places.find(|at| !is_value(*at)).or(first) {
            other.clone_into(&mut words[at]);
        }
        self.pasted(&words)
    }

    /// The same with a word as the value of a flag.
    pub fn moved(&self, word: &str, flag: &str) -> String {
        let rest = self.words.iter().filter(|own| *own != word).cloned().collect();
        self.pasted(&added(rest, flag, word))
    }

    /// `sessctl list` over the same stores.
    pub fn list(&self) -> String {
        let mut words = vec!["list".to_owned()];
        let mut own = self.words.iter();
        while let Some(word) = own.next() {
            if word == "--store" {
                words.push(word.clone());
                words.extend(own.next().cloned());
            } else if word.starts_with("--store=") {
                words.push(word.clone());
            }
        }
        self.pasted(&words)
    }

    /// Another command of this program.
    pub fn other(&self, words: &[&str]) -> String {
        self.pasted(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn pasted(&self, words: &[String]) -> String {
        let words = std::iter::once(&self.program).chain(words);
        format!("`{}`", words.map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }
}

fn is(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The words with one more flag, which has no meaning behind a lone `--`.
fn added(mut words: Vec<String>, flag: &str, value: &str) -> Vec<String> {
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(at..at, [flag.to_owned(), value.to_owned()]);
    words
}

/// What to type for the program that was called as `called`: a shell finds it under its own name, or by that path.
fn name_of(called: &OsString, env: &Env) -> String {
    let path = Path::new(called);
    if path.components().count() > 1 {
        let own = fs::canonicalize(path).ok();
        let found = env.var("PATH").and_then(|folders| {
            let candidates = std::env::split_paths(folders).map(|folder| folder.join("sessctl"));
            candidates.into_iter().find(|candidate| candidate.is_file())
        });
        let same = |found: PathBuf| fs::canonicalize(found).ok() == own;
        if own.is_none() || !found.is_some_and(same) {
            return called.to_string_lossy().into_owned();
        }
    }
    path.file_name().unwrap_or(called).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(words: &str) -> Again {
        let words = words.split(' ').map(str::to_owned).collect();
        Again { program: "sessctl".into(), words }
    }

    #[test]
    fn a_command_is_given_again_with_its_flags() {
        let fork = again("fork s.jsonl --at=tip --store a b");
        assert_eq!(
            fork.with("--at", "last-turn"),
            "`sessctl fork s.jsonl --store a b --at last-turn`"
        );
        assert_eq!(fork.list(), "`sessctl list --store a`");
        assert_eq!(again("merge s --into p x").without("--into"), "`sessctl merge s x`");
        // The same word may be where the result goes.
        let twice = again("fork --out s.jsonl s.jsonl --title s.jsonl");
        assert_eq!(
            twice.instead("s.jsonl", "live"),
            "`sessctl fork --out s.jsonl live --title s.jsonl`"
        );
        assert_eq!(again("merge x --into id").instead("id", "p"), "`sessctl merge x --into p`");
        assert!(again("fork --id ../x s").is_value("../x", "--id"));
        assert!(again("fork --id=../x s").is_value("../x", "--id"));
        assert!(!again("fork ../x --id y").is_value("../x", "--id"));
        assert_eq!(again("fork -- -s").and("--at", "start"), "`sessctl fork --at start -- -s`");
        let odd = Again { program: "my tool".into(), words: vec!["replay".into(), "it's".into()] };
        assert_eq!(odd.same(), "`'my tool' replay 'it'\\''s'`");
    }

    #[test]
    fn a_program_that_is_not_on_the_path_is_called_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        fs::write(home.join("sessctl"), "").unwrap();
        let called = |name: &str, path: &str| {
            name_of(&OsString::from(name), &Env::new(home, &[("PATH", path)]))
        };
        let full = home.join("sessctl").display().to_string();
        assert_eq!(called(&full, "/nowhere"), full);
        assert_eq!(called(&full, &home.display().to_string()), "sessctl");
        assert_eq!(called("sessctl", "/nowhere"), "sessctl");
        assert_eq!(called("./nowhere/sessctl", &home.display().to_string()), "./nowhere/sessctl");
    }
}
