//! What to do about a failure: words, and commands that work as they are pasted.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::report::quoted;
use crate::{
    error::{Error, LastBoundary},
    finding::{Code, Finding},
};

/// The command line of this run, to be given again with a change.
#[derive(Clone, Debug, Default)]
pub struct Again {
    words: Vec<String>,
}

impl Again {
    /// The words behind the program's name; words that are no UTF-8 are not offered again.
    pub fn of(args: &[OsString]) -> Self {
        let words = args.iter().skip(1).map(|word| word.to_str().map(str::to_owned));
        Self { words: words.collect::<Option<_>>().unwrap_or_default() }
    }

    /// The verb.
    fn verb(&self) -> &str {
        const VERBS: [&str; 7] = ["fork", "snapshot", "side", "merge", "replay", "usage", "list"];
        let verb = self.words.iter().find(|word| VERBS.contains(&word.as_str()));
        verb.map(String::as_str).unwrap_or_default()
    }

    fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| is(word, flag))
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
    fn same(&self) -> String {
        pasted(&self.words)
    }

    /// The same with a flag that may be there already with another value.
    fn with(&self, flag: &str, value: &str) -> String {
        let mut words = self.left(flag);
        words.extend([flag.to_owned(), value.to_owned()]);
        pasted(&words)
    }

    /// The same with one more flag.
    fn and(&self, flag: &str, value: &str) -> String {
        pasted(&[self.words.as_slice(), &[flag.to_owned(), value.to_owned()]].concat())
    }

    /// The same without a flag.
    fn without(&self, flag: &str) -> String {
        pasted(&self.left(flag))
    }

    /// The same with another word in the place of one.
    fn instead(&self, word: &str, other: &str) -> String {
        let changed = |own: &String| if own == word { other.to_owned() } else { own.clone() };
        pasted(&self.words.iter().map(changed).collect::<Vec<_>>())
    }

    /// `sessctl list` over the same stores.
    fn list(&self) -> String {
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
        pasted(&words)
    }
}

fn is(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

fn pasted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("`sessctl {}`", words.join(" "))
}

/// What to do about `error`; `path` is the log in question, where there is one.
pub fn hint(error: &Error, again: &Again, path: Option<&Path>) -> Option<String> {
    Some(match error {
        Error::CommandFailed { hint, .. } => return hint.clone(),
        Error::OpenTurn { last: Some(last), .. } => open_turn(*last, again),
        Error::OpenTurn { last: None, .. } => "wait for the turn to end in its client".into(),
        Error::TurnInProgress { .. } => format!(
            "wait for the turn to end, or name an earlier one; {} takes the last that has ended",
            again.with("--at", "last-turn")
        ),
        Error::TurnNotFound { known, .. } if !known.is_empty() => {
            let turns = known.len();
            match path {
                Some(path) => {
                    let path = path.display().to_string();
                    let words = ["replay", &path, "--view", "turns"].map(str::to_owned);
                    format!("the turns are 1 to {turns}; {} lists them", pasted(&words))
                }
                None => format!("the turns are 1 to {turns}"),
            }
        }
        Error::InvalidBoundary(_) => {
            format!("cut at the end of a turn: {}", again.with("--at", "last-turn"))
        }
        Error::SessionNotFound(_) | Error::NothingThere(_) | Error::InvalidSessionId(_) => {
            format!("{} shows what is there; `--store DIR` looks elsewhere", again.list())
        }
        Error::NotAFile(path) if path.is_dir() => {
            let path = path.display().to_string();
            let words = ["list", "--store", &path].map(str::to_owned);
            format!("{} shows the sessions in it", pasted(&words))
        }
        Error::SessionAmbiguous { name, found } => match found.first().and_then(|one| named(one)) {
            Some(path) => format!("give more of the id, or a path: {}", again.instead(name, path)),
            None => "give more of the id, or the path of the file".into(),
        },
        Error::SessionNotLive { path, live, .. } => {
            let live = live.display().to_string();
            let own =
                again.words.iter().find(|word| Path::new(word).file_name() == path.file_name());
            match own {
                Some(own) => format!(
                    "use the live one: {}; or work on this one with `--allow SESSION_NOT_LIVE` and `--out`",
                    again.instead(own, &live)
                ),
                None => format!("use {live}, or `--allow SESSION_NOT_LIVE` with `--out`"),
            }
        }
        Error::AlreadyExists(path) => already_exists(path, again),
        Error::RequestConflict { .. } => {
            format!("use a new id for a new request, or none: {}", again.without("--request-id"))
        }
        Error::SourceChanged { .. } => format!("run it again: {}", again.same()),
        Error::SessionLocked { .. } => {
            format!("close the session in its client, then run it again: {}", again.same())
        }
        Error::NoteTooLong { chars, .. } => {
            let chars = chars.to_string();
            format!("shorten the note, or raise the cap: {}", again.with("--max-chars", &chars))
        }
        Error::NotAChild { .. } if again.has("--into") => {
            format!("let the lineage say which it is: {}", again.without("--into"))
        }
        Error::NotAChild { .. } | Error::ParentNotFound(_) => match again.verb() {
            "replay" => {
                "name the parent's file with `--against`, or its folder with `--store`".into()
            }
            "merge" => "name the parent's file with `--into`, or its folder with `--store`".into(),
            _ => "name the folder of the parent's file with `--store`".into(),
        },
        Error::Damaged(finding) => return damage(finding, again, path),
        _ => return None,
    })
}

/// The path in a candidate, which is an id and a path in brackets.
fn named(candidate: &str) -> Option<&str> {
    candidate.rsplit_once(" (").map(|(_, path)| path.trim_end_matches(')'))
}

fn open_turn(LastBoundary { turns, left_out }: LastBoundary, again: &Again) -> String {
    let lines = if left_out == 1 { "1 line".to_owned() } else { format!("{left_out} lines") };
    let (place, at) = match turns {
        0 => ("before it".to_owned(), "start"),
        turns => (format!("after turn {turns}"), "last-turn"),
    };
    let command = again.with("--at", at);
    format!("wait for the turn to end, or cut {place} with {command} (leaves out {lines})")
}

fn already_exists(path: &Path, again: &Again) -> String {
    if again.has("--out") {
        let free = free(path).display().to_string();
        return format!("write elsewhere: {}", again.with("--out", &free));
    }
    if again.has("--id") {
        return format!(
            "choose another id, or let the client's rule make one: {}",
            again.without("--id")
        );
    }
    "write elsewhere with `--out`".into()
}

/// A name like `path` that is free.
fn free(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|own| format!(".{}", own.to_string_lossy()));
    let name = |nth: usize| format!("{stem}-{nth}{}", extension.as_deref().unwrap_or_default());
    let mut nth = 2;
    while path.with_file_name(name(nth)).exists() {
        nth += 1;
    }
    path.with_file_name(name(nth))
}

fn damage(finding: &Finding, again: &Again, path: Option<&Path>) -> Option<String> {
    let (code, verb) = (finding.code.name(), again.verb());
    let allow = again.and("--allow", code);
    let makes = matches!(verb, "fork" | "side" | "snapshot");
    Some(match finding.code {
        Code::FormatUnknown => {
            "if you know whose log it is, name the client with `--format`".into()
        }
        Code::EmptyFile
        | Code::HeaderMissing
        | Code::VersionUnsupported
        | Code::RecordTooLarge
        | Code::HistoryBaseMissing
        | Code::HistoryBaseCycle => return None,
        Code::TornTail => match verb {
            // There only the client can mend it.
            "merge" if !mends(path) => {
                "open the session in its client and close it, which mends its log".into()
            }
            "merge" => format!(
                "let the client close the session, or end the tail before the note: {allow}"
            ),
            "replay" => format!("let the client close the session, or look all the same: {allow}"),
            _ => format!("let the client close the session, or leave the torn tail out: {allow}"),
        },
        Code::LineCorrupt | Code::RecordsFused | Code::NulBlock if makes => format!(
            "cut before it with `--at turn:N`, keep the line: {allow}, or leave it out: {}",
            again.and("--drop", code)
        ),
        _ if makes => format!("cut before it with `--at turn:N`, or go on: {allow}"),
        _ => format!("go on all the same: {allow}"),
    })
}

/// Whether a line end can be put behind the torn tail of a log: not in frames, nor in a folder of DSH's.
fn mends(path: Option<&Path>) -> bool {
    let packed = |path: &Path| {
        path.extension().is_some_and(|own| own == "zst" || own == "zstd")
            || super::client_at(path) == Some("dsh")
    };
    path.is_none_or(|path| !packed(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(words: &str) -> Again {
        Again { words: words.split(' ').map(str::to_owned).collect() }
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
        let odd = Again { words: vec!["replay".into(), "it's here".into()] };
        assert_eq!(odd.same(), "`sessctl replay 'it'\\''s here'`");
    }
}
