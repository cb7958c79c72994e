//! Which command takes a turn, and how the session and the question reach it.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::fd::AsFd,
    path::Path,
    process::{self, Stdio},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::Seat;
use crate::{
    cli::{Run, report::Next},
    error::{Error, Result},
    format::Format,
};

/// What runs.
pub enum Taker {
    /// The client's own command line.
    Client(Vec<String>),
    /// Another command, by way of the shell; the arguments are those that the client's program would be given.
    Shell { script: OsString, arguments: Vec<String> },
}

/// A command that was run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ran {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where.
    pub cwd: Option<String>,
    /// Its exit status, if it ended by itself.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Ran {
    /// As it would be pasted into a shell.
    pub fn pasted(&self) -> String {
        Next { argv: self.argv.clone(), cwd: self.cwd.clone() }.pasted()
    }
}

impl Taker {
    /// Who answers `question` in the session on `seat`: `given` on the command line, what a variable names, else the
    /// client itself.
    pub fn of(run: &Run, seat: &Seat<'_>, given: Option<&str>, question: &str) -> Result<Self> {
        let Seat { format, id, path, in_store, .. } = *seat;
        let own = format.layout().asks(id, path, in_store, question);
        let arguments = || match &own {
            Some(own) => own[1..].to_vec(),
            None => vec![id.to_owned(), question.to_owned()],
        };
        if let Some(script) = given {
            return Ok(Self::Shell { script: script.into(), arguments: arguments() });
        }
        if let Some(program) = variable(run, format) {
            let mut script = program.to_owned();
            script.push(r#" "$@""#);
            return Ok(Self::Shell { script, arguments: arguments() });
        }
        own.map(Self::Client).ok_or_else(|| unknown(format))
    }

    /// Whether there will be a command for a session of `format` that belongs to `cwd`; asked before anything is made.
    pub fn check(
        run: &Run,
        format: &'static dyn Format,
        cwd: Option<&Path>,
        given: Option<&str>,
    ) -> Result<()> {
        if given.is_some() || variable(run, format).is_some() {
            return Ok(());
        }
        if format.layout().asks("", Some(Path::new("")), true, "").is_none() {
            return Err(unknown(format));
        }
        match cwd.filter(|cwd| !cwd.is_dir()) {
            Some(cwd) => Err(Error::NoFolder(cwd.into())),
            None => Ok(()),
        }
    }

    /// The words of the command.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Client(argv) => argv.clone(),
            Self::Shell { script, .. } => {
                vec!["sh".into(), "-c".into(), script.to_string_lossy().into_owned()]
            }
        }
    }

    /// What people know it by.
    pub fn name(&self) -> String {
        match self {
            Self::Client(argv) => argv.first().cloned().unwrap_or_default(),
            Self::Shell { script, .. } => {
                let script = script.to_string_lossy();
                script.strip_suffix(r#" "$@""#).unwrap_or(&script).to_owned()
            }
        }
    }

    /// The process to be, in the session's folder. The client's own command finds its environment as it is; another one
    /// is told by variables what it needs to know.
    pub fn process(&self, seat: &Seat<'_>, question: &str) -> process::Command {
        let mut process = match self {
            Self::Client(argv) => {
                let mut process = process::Command::new(argv.first().map_or("", String::as_str));
                process.args(argv.iter().skip(1));
                process
            }
            Self::Shell { script, arguments } => {
                let mut process = shell(script);
                process
                    .args(arguments)
                    .env("SESSCTL_CLIENT", seat.format.name())
                    .env("SESSCTL_SESSION", seat.id)
                    .env("SESSCTL_SESSION_PATH", seat.path.unwrap_or(Path::new("")))
                    .env("SESSCTL_QUESTION", question);
                process
            }
        };
        if let Some(cwd) = seat.folder() {
            process.current_dir(cwd);
        }
        process
    }
}

/// `sh -c` with a script whose `$0` is ours.
pub fn shell(script: &OsStr) -> process::Command {
    let mut process = process::Command::new("sh");
    process.arg("-c").arg(script).arg("sessctl");
    process
}

/// Standard error as a place for another program's standard output: ours holds nothing but the answer.
pub fn aside(quiet: bool) -> Stdio {
    let error = io::stderr().as_fd().try_clone_to_owned();
    error.ok().filter(|_| !quiet).map_or_else(Stdio::null, Stdio::from)
}

/// The command that a variable puts in the place of the client's program.
fn variable<'a>(run: &'a Run, format: &dyn Format) -> Option<&'a OsStr> {
    let set = |name: &String| run.env.var(name).filter(|program| !program.is_empty());
    names(format).iter().find_map(set).map(OsString::as_os_str)
}

/// `SESSCTL_CLAUDE_CODE_CMD`, or short `SESSCTL_CLAUDE_CMD`.
pub fn names(format: &dyn Format) -> Vec<String> {
    let name = format.name().to_uppercase();
    let short = name.split('-').next().unwrap_or_default().to_owned();
    let mut names = vec![format!("SESSCTL_{}_CMD", name.replace('-', "_"))];
    names.extend((short != name).then(|| format!("SESSCTL_{short}_CMD")));
    names
}

fn unknown(format: &dyn Format) -> Error {
    Error::BadUsage(format!(
        "no command line of {} is known that answers a question without a screen: name one with `--run-with` or `--condense-with`, or set {}",
        format.name(),
        names(format)[0]
    ))
}
