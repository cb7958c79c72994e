//! The pieces that several reports have in common.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{output::SourceLog, pick::Opened};
use crate::{
    finding::{Code, Finding},
    session::{Boundary, Session, Thread},
};

/// Where a session was cut.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BoundaryReport {
    /// How it was asked for.
    pub kind: &'static str,
    /// `turn:N`, `tip`, `start` or `line:N`.
    pub at: String,
    /// The last turn kept, as the client names it.
    pub turn_id: Option<String>,
    /// The same, counted from one.
    pub turn: Option<usize>,
    /// The last line kept, counted from one.
    pub line: usize,
    /// How many messages the model sees there.
    pub messages: usize,
    /// Whether something was left out.
    pub clipped: bool,
}

impl BoundaryReport {
    /// The boundary of `thread`, where the model sees `messages`.
    pub fn of(thread: &Thread<'_>, boundary: Boundary, messages: usize) -> Self {
        let turn = thread.last_turn(boundary);
        Self {
            kind: boundary.kind().name(),
            at: thread.name_of(boundary),
            turn_id: turn.map(|turn| thread.turn_name(turn)),
            turn: turn.map(|turn| turn + 1),
            line: thread.file_line_before(boundary),
            messages,
            clipped: !boundary.is_end(),
        }
    }
}

/// What a cut leaves behind.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Records behind the boundary or on other branches; none where the rest of a large log was not read.
    pub lines: Option<usize>,
    /// Messages of the active path behind the boundary.
    pub messages: Option<usize>,
}

/// A session that was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChildReport {
    /// Its id.
    pub id: String,
    /// Its file; none where the client starts it itself.
    pub path: Option<PathBuf>,
    /// Its title.
    pub title: Option<String>,
    /// Its working folder.
    pub cwd: Option<String>,
    /// Its file, relative to the store.
    pub store_path: Option<PathBuf>,
}

/// A session that another came from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ParentReport {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: Option<PathBuf>,
    /// Its client.
    pub format: &'static str,
}

impl ParentReport {
    /// The session that a child of `opened` names as its parent.
    pub fn of(opened: &Opened) -> Self {
        let (id, path) = opened.parent();
        Self { id, path: Some(path), format: opened.session.format.name() }
    }
}

/// The command that opens a result in its client.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Next {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where to run it.
    pub cwd: Option<String>,
}

impl Next {
    /// What opens `session`, whose log lies at `path`.
    pub fn of(session: &Session, path: &Path) -> Self {
        let layout = session.format.layout();
        let argv = layout.opens(session.id(), path, layout.root_of(path).is_some());
        Self { argv, cwd: session.header().cwd.clone() }
    }

    /// As it would be pasted into a shell.
    pub fn pasted(&self) -> String {
        let command = self.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        match &self.cwd {
            Some(cwd) => format!("cd {} && {command}", quoted(cwd)),
            None => command,
        }
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    // A leading `=` means something to some shells.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The log in the words of reports.
pub fn source(session: &Session, path: Option<PathBuf>) -> SourceLog {
    let header = session.header();
    SourceLog {
        id: header.id.clone(),
        path,
        format: session.format.name(),
        version: header.version,
        size: session.log.stamp().size,
    }
}

/// The fields of a JSON object.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A note where the model sees a summary of the older part, which stands on `line`.
pub fn compacted(line: Option<usize>) -> Option<Finding> {
    let message = "the model sees a summary of the older part; that is what is inherited";
    line.map(|line| Finding::new(Code::CompactedSource, message).on(line))
}
