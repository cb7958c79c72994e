//! Every way in which a command can fail: a stable code, an exit status, and what a script needs to decide.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::finding::Finding;

/// The result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure. Codes and exit statuses are an interface and never change; wording may improve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line makes no sense.
    #[error("{0}")]
    BadUsage(String),
    /// A text given as a session id has no form that the client would use.
    #[error("`{}` cannot be a session id", shown(.0))]
    InvalidSessionId(String),
    /// A title that no client could show.
    #[error("the title {0}")]
    InvalidTitle(&'static str),
    /// A note without a visible character.
    #[error("the note is empty")]
    NoteEmpty,
    /// A side session in which nobody has answered.
    #[error("side session {0} has no answer yet")]
    NoAnswer(String),
    /// The folder that a session belongs to is not on this machine.
    #[error("the session belongs to the folder {0}, which is not there")]
    NoFolder(PathBuf),
    /// No log of that name, id or title.
    #[error("no session `{0}`")]
    SessionNotFound(String),
    /// No session has that whole title.
    #[error("no session has the title `{}`", shown(title))]
    NoSuchTitle {
        /// What was asked for.
        title: String,
        /// Titles that hold it.
        near: Vec<String>,
    },
    /// No log at all is where one was looked for.
    #[error("{0}")]
    NothingThere(String),
    /// The named turn or leaf is not on the active path.
    #[error("no turn or entry `{wanted}`")]
    TurnNotFound {
        /// What was asked for.
        wanted: String,
        /// The turns there are, in order.
        known: Vec<String>,
    },
    /// The session that this one came from cannot be found.
    #[error("the parent `{0}` is not there")]
    ParentNotFound(String),
    /// The end of the session lies inside a turn.
    #[error("session {id} is inside a turn{}", waiting(open_calls))]
    OpenTurn {
        /// The session.
        id: String,
        /// Where the turn opened.
        line: usize,
        /// Calls without a result.
        open_calls: Vec<String>,
        /// What `--at last-turn` would cut at and leave out, for the hint.
        last: Option<LastBoundary>,
    },
    /// The named turn has not ended yet.
    #[error("turn {turn} has not ended{}", waiting(open_calls))]
    TurnInProgress {
        /// The turn, as it was asked for.
        turn: String,
        /// Where it opened.
        line: usize,
        /// Calls without a result.
        open_calls: Vec<String>,
    },
    /// The named place is none where a log may be cut.
    #[error("{0}")]
    InvalidBoundary(String),
    /// The file is a copy or an older generation of a session whose live log lies elsewhere.
    #[error("{path} is not the live log of session {id}; that is {live}")]
    SessionNotLive {
        /// The session.
        id: String,
        /// The file named.
        path: PathBuf,
        /// The live file.
        live: PathBuf,
    },
    /// Several logs answer to the name.
    #[error("{}", ambiguous(name, found))]
    SessionAmbiguous {
        /// What was asked for.
        name: String,
        /// The logs that answer to it.
        found: Vec<Candidate>,
    },
    /// The child is there already.
    #[error("{0} is there already")]
    AlreadyExists(PathBuf),
    /// The request id belongs to another request.
    #[error("request `{id}` was another one: {differs} differs")]
    RequestConflict {
        /// The request id.
        id: String,
        /// What is not as it was.
        differs: String,
    },
    /// The log changed between reading and writing.
    #[error("{path} changed while it was read: {what}")]
    SourceChanged {
        /// The log.
        path: PathBuf,
        /// What is not as it was.
        what: &'static str,
    },
    /// A client holds the session.
    #[error("session {id} is in use: {holder}")]
    SessionLocked {
        /// The session.
        id: String,
        /// Who holds it, as far as can be seen.
        holder: String,
    },
    /// A note over its cap; never cut.
    #[error("the note has {chars} characters, {max} are allowed")]
    NoteTooLong {
        /// Unicode scalar values after trimming.
        chars: usize,
        /// The cap.
        max: usize,
    },
    /// The session does not come from that parent.
    #[error("session {side} is no child of {parent}")]
    NotAChild {
        /// The side session.
        side: String,
        /// The parent named.
        parent: String,
    },
    /// We read this client's logs, or this version of them, but do not write them.
    #[error("{0} logs can be read but not written")]
    ReadOnlyFormat(String),
    /// The log is damaged, unbalanced or of an unknown kind.
    #[error("{0}")]
    Damaged(Box<Finding>),
    /// The answer to the question asked is no.
    #[error("{message}")]
    No {
        /// One of the codes with exit status 1.
        code: &'static str,
        /// What is not so.
        message: String,
    },
    /// A link where a file should be written.
    #[error("{0} is a symbolic link")]
    SymlinkRefused(PathBuf),
    /// Neither a file nor anything that can be read like one.
    #[error("{0} is not a regular file")]
    NotAFile(PathBuf),
    /// What was written could not be made durable, or did not read back as planned.
    #[error("{path}: {what}")]
    DurabilityFailed {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        what: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A client's command, or the one in its place, did not do what it was run for.
    #[error("{what}")]
    CommandFailed {
        /// What went wrong.
        what: String,
        /// Its exit status, if it ended by itself.
        status: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// What to do next.
        hint: Option<String>,
    },
    /// A bug of ours.
    #[error("{0}")]
    Internal(String),
}

/// A log that answers to a name.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its session.
    pub id: String,
    /// Where it lies.
    pub path: PathBuf,
}

impl std::fmt::Display for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.id, self.path.display())
    }
}

/// Where `--at last-turn` would cut.
#[derive(Clone, Copy, Debug)]
pub struct LastBoundary {
    /// How many turns it keeps.
    pub turns: usize,
    /// How many lines it leaves out.
    pub left_out: usize,
}

/// A name without what would break the line it is told on.
fn shown(name: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    name.chars().map(escaped).collect()
}

/// How many candidates are told in words; reports have them all.
const TOLD: usize = 5;

fn ambiguous(name: &str, found: &[Candidate]) -> String {
    let one = found.iter().all(|other| other.id == found[0].id);
    let told = found.iter().take(TOLD);
    let path = |log: &Candidate| log.path.display().to_string();
    let told: Vec<String> = told.map(|log| if one { path(log) } else { log.to_string() }).collect();
    let rest = found.len().saturating_sub(TOLD);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let (told, logs) = (told.join(", "), found.len());
    if one {
        format!("session {} lies in {logs} files: {told}{rest}", found[0].id)
    } else {
        format!("`{name}` is the name of {logs} sessions: {told}{rest}")
    }
}

fn waiting(calls: &[String]) -> String {
    match calls {
        [] => String::new(),
        [one] => format!("; call {one} has no result"),
        many => format!("; calls {} have no result", many.join(", ")),
    }
}

impl Error {
    /// An io error of `action` on `path`; kinds that a script would treat differently keep their own code.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| {
            // What a temporary file is called is nobody's business; the rest of such an error is its kind.
            let wrapped = source.get_ref().is_some() && source.raw_os_error().is_none();
            let source = if wrapped { io::Error::from(source.kind()) } else { source };
            Self::Io { action, path, source }
        }
    }

    /// A failure of our own logic.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal(what.into())
    }

    /// A name that stays the same when the wording does not.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.class().0
    }

    /// What the process exits with.
    #[must_use]
    pub fn exit(&self) -> u8 {
        self.class().1
    }

    fn class(&self) -> (&'static str, u8) {
        match self {
            Self::No { code, .. } => (code, 1),
            Self::BadUsage(_) | Self::NoFolder(_) => ("BAD_USAGE", 2),
            Self::InvalidSessionId(_) => ("INVALID_SESSION_ID", 2),
            Self::InvalidTitle(_) => ("INVALID_TITLE", 2),
            Self::NoteEmpty | Self::NoAnswer(_) => ("NOTE_EMPTY", 2),
            Self::SessionNotFound(_) | Self::NoSuchTitle { .. } | Self::NothingThere(_) => {
                ("SESSION_NOT_FOUND", 3)
            }
            Self::TurnNotFound { .. } => ("TURN_NOT_FOUND", 3),
            Self::ParentNotFound(_) => ("PARENT_NOT_FOUND", 3),
            Self::OpenTurn { .. } => ("OPEN_TURN", 4),
            Self::TurnInProgress { .. } => ("TURN_IN_PROGRESS", 4),
            Self::InvalidBoundary(_) => ("INVALID_BOUNDARY", 4),
            Self::SessionNotLive { .. } => ("SESSION_NOT_LIVE", 4),
            Self::SessionAmbiguous { .. } => ("SESSION_AMBIGUOUS", 4),
            Self::AlreadyExists(_) => ("SESSION_ALREADY_EXISTS", 4),
            Self::RequestConflict { .. } => ("REQUEST_CONFLICT", 4),
            Self::SourceChanged { .. } => ("SOURCE_CHANGED", 4),
            Self::SessionLocked { .. } => ("SESSION_LOCKED", 4),
            Self::NoteTooLong { .. } => ("NOTE_TOO_LONG", 4),
            Self::NotAChild { .. } => ("NOT_A_CHILD", 4),
            Self::ReadOnlyFormat(_) => ("READ_ONLY_FORMAT", 4),
            Self::Damaged(finding) => (finding.code.name(), 5),
            Self::SymlinkRefused(_) => ("SYMLINK_REFUSED", 6),
            Self::NotAFile(_) => ("NOT_A_FILE", 6),
            Self::DurabilityFailed { .. } => ("DURABILITY_FAILED", 6),
            Self::Io { source, .. } => (io_code(source), 6),
            Self::CommandFailed { .. } => ("COMMAND_FAILED", 6),
            Self::Internal(_) => ("INTERNAL", 70),
        }
    }

    /// The report fields that belong to this failure.
    #[must_use]
    pub fn details(&self) -> Map<String, Value> {
        let value = match self {
            Self::OpenTurn { open_calls, line, .. }
            | Self::TurnInProgress { open_calls, line, .. } => {
                json!({ "open_calls": open_calls, "line": line })
            }
            Self::TurnNotFound { known, .. } => json!({ "known_turns": known }),
            Self::SessionAmbiguous { found, .. } => {
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                json!({ "candidates": found })
            }
            Self::SessionNotLive { live, .. } => json!({ "live_path": live }),
            Self::NoteTooLong { chars, max } => json!({ "chars": chars, "max_chars": max }),
            Self::CommandFailed { status, signal, .. } => {
                json!({ "status": status, "signal": signal })
            }
            _ => json!({}),
        };
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// The same of the file `path`, where it is about the inside of one.
    #[must_use]
    pub fn within(self, path: &Path) -> Self {
        match self {
            Self::Damaged(mut finding) => {
                finding.path.get_or_insert_with(|| path.into());
                Self::Damaged(finding)
            }
            other => other,
        }
    }

    /// The line to look at, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::OpenTurn { line, .. } | Self::TurnInProgress { line, .. } => Some(*line),
            Self::Damaged(finding) => finding.line,
            _ => None,
        }
    }
}

fn io_code(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "IO_NO_SPACE",
        io::ErrorKind::FileTooLarge => "IO_LIMIT",
        io::ErrorKind::PermissionDenied => "IO_DENIED",
        io::ErrorKind::ReadOnlyFilesystem => "IO_READ_ONLY",
        _ => "IO_ERROR",
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        Self::Damaged(Box::new(finding))
    }
}
