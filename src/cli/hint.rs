//! What to do about a failure: words, and commands that work as they are pasted.

use std::path::{Path, PathBuf};

use super::again::Again;
use crate::{
    error::{Candidate, Error, LastBoundary},
    finding::{Code, Finding},
};

/// How many commands are offered where each stands for another session.
const TOLD: usize = 3;

/// What to do about `error`; `path` is the log in question, where there is one.
pub fn hint(error: &Error, again: &Again, path: Option<&Path>) -> Option<String> {
    Some(match error {
        Error::CommandFailed { hint, .. } => return hint.clone(),
        // A note goes to the end and nowhere else.
        Error::OpenTurn { .. } if again.verb() == "merge" => match path {
            Some(path) => {
                let wait = ["replay", &path.display().to_string(), "--wait", "10m"];
                format!("wait for the turn to end: {}", again.other(&wait))
            }
            None => "wait for the turn to end in its client".into(),
        },
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
                    let list = again.other(&["replay", &path, "--view", "turns"]);
                    format!("the turns are 1 to {turns}; {list} lists them")
                }
                None => format!("the turns are 1 to {turns}"),
            }
        }
        Error::InvalidBoundary(_) => {
            format!("cut at the end of a turn: {}", again.with("--at", "last-turn"))
        }
        Error::NoSuchTitle { title, near } if !near.is_empty() => {
            let command =
                |other: &String| again.instead(&format!("={title}"), &format!("={other}"));
            let commands: Vec<String> = near.iter().take(TOLD).map(command).collect();
            format!("a title is given whole: {}", commands.join(", or "))
        }
        Error::SessionNotFound(name) if is_short(name) => format!(
            "the start of an id has 8 characters or more; {} shows what is there",
            again.list()
        ),
        Error::InvalidSessionId(id) if again.is_value(id, "--id") => format!(
            "an id has at most 128 characters and no separators; without one the client's rule makes it: {}",
            again.without("--id")
        ),
        Error::SessionNotFound(_)
        | Error::NoSuchTitle { .. }
        | Error::NothingThere(_)
        | Error::InvalidSessionId(_) => {
            format!("{} shows what is there; `--store DIR` looks elsewhere", again.list())
        }
        Error::NotAFile(path) if path.is_dir() => {
            let list = again.other(&["list", "--store", &path.display().to_string()]);
            format!("{list} shows the sessions in it")
        }
        Error::SessionAmbiguous { name, found } => ambiguous(name, found, again),
        Error::NoFolder(_) if again.verb() == "side" => {
            format!("give it a folder of this machine: {}", again.with("--cwd", "."))
        }
        Error::NoFolder(_) => {
            "make that folder, or name a command that makes the note with `--condense-with`".into()
        }
        Error::SessionNotLive { path, live, .. } => {
            let live = live.display().to_string();
            let own = again.word(|word| Path::new(word).file_name() == path.file_name());
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

/// Whether a name looks like the start of an id that is too short to be taken for one.
fn is_short(name: &str) -> bool {
    name.len() < 8 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// The same command for each session or file that answers to `name`, as far as a person would look at them.
fn ambiguous(name: &str, found: &[Candidate], again: &Again) -> String {
    let title = format!("={name}");
    let own = again.word(|word| word == name || word == title);
    // A file is named where its id is another one's as well.
    let alone = |one: &Candidate| found.iter().filter(|other| other.id == one.id).count() == 1;
    let command = |one: &Candidate| match own {
        Some(own) if alone(one) => again.instead(own, &one.id),
        Some(own) => again.instead(own, &one.path.display().to_string()),
        None if again.verb() == "merge" => again.with("--into", &one.path.display().to_string()),
        None => one.path.display().to_string(),
    };
    let what = if found.iter().all(alone) { "say which one" } else { "name the file" };
    let commands: Vec<String> = found.iter().take(TOLD).map(command).collect();
    format!("{what}: {}", commands.join(", or "))
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
    if again.has("--ledger") {
        let free = free(path).display().to_string();
        return format!("write elsewhere: {}", again.with("--ledger", &free));
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
        Code::TornTail if verb == "usage" => "let the client close the session".into(),
        _ if verb == "usage" => return None, // which takes damage as it comes
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
