//! One turn in a session, taken by its client: a command runs, and what was said is read from the log and never from
//! the screen.

mod answer;
mod command;
mod process;

use std::{io::Write, os::unix::process::ExitStatusExt, path::Path};

use self::{
    answer::Before,
    command::{aside, shell},
    process::{Ended, Watch},
};
use super::{Run, output::printable, report::Next};
use crate::{
    error::{Error, Result},
    format::Format,
};

pub use self::{
    answer::{Answered, Exchange, exchanges, log_of, standing},
    command::{Ran, Taker},
};

/// The session in which a turn is taken.
#[derive(Clone, Copy)]
pub struct Seat<'a> {
    /// Its client.
    pub format: &'static dyn Format,
    /// Its id.
    pub id: &'a str,
    /// Its log; none where the client has yet to start it.
    pub path: Option<&'a Path>,
    /// Whether that lies where the client keeps its own.
    pub in_store: bool,
    /// The folder it belongs to.
    pub cwd: Option<&'a str>,
}

impl Seat<'_> {
    /// The folder it belongs to, if that is there.
    fn folder(&self) -> Option<&Path> {
        self.cwd.map(Path::new).filter(|cwd| cwd.is_dir())
    }
}

/// A turn that was taken.
pub struct Taken {
    /// What ran.
    pub ran: Ran,
    /// The answer in the log.
    pub answer: Option<Answered>,
    /// Why it is none that counts.
    pub failure: Option<Error>,
}

/// Takes turns, one after the other.
pub struct Table<'a> {
    run: &'a Run,
    watch: Watch,
}

impl<'a> Table<'a> {
    /// From here on, what ends this run ends the turn first.
    pub fn new(run: &'a Run) -> Result<Self> {
        let watch = Watch::new().map_err(Error::io("watch for signals of", "this process"))?;
        Ok(Self { run, watch })
    }

    /// Has `taker` answer `question` on `seat`. Does not return where this run was told to end meanwhile.
    pub fn take(&mut self, seat: &Seat<'_>, taker: &Taker, question: &str) -> Result<Taken> {
        let before = Before::of(self.run, seat)?;
        let mut process = taker.process(seat, question);
        process.stdout(aside(self.run.global.quiet));
        let name = taker.name();
        if !self.run.global.quiet && !self.run.global.json {
            say(&format!("running `{name}` in session {}", seat.id));
        }
        let mut ran = Ran {
            argv: taker.argv(),
            cwd: seat.folder().map(|cwd| cwd.display().to_string()),
            status: None,
            signal: None,
        };
        let ended = match self.watch.run(&mut process, None, false) {
            Ok(ended) => ended,
            Err(error) => {
                let failure = Some(failed(&ran, unstarted(&name, &error, seat), seat));
                return Ok(Taken { ran, answer: None, failure });
            }
        };
        self.end_if_told(&ended, Some(seat));
        ran.status = ended.status.code();
        ran.signal = ended.status.signal();
        let (answer, silence) = match before.answer(self.run, seat, question)? {
            Ok(answer) => (Some(answer), None),
            Err(why) => (None, Some(why)),
        };
        let how = how_it_ended(&ran).map(|how| format!("`{name}` {how}"));
        let silent = || silence.map(|why| format!("`{name}` left no answer in the log: {why}"));
        let failure = how.or_else(silent).map(|what| failed(&ran, what, seat));
        Ok(Taken { ran, answer, failure })
    }

    /// Has a command of the user make something of `input`: its standard output.
    pub fn filter(
        &mut self,
        seat: &Seat<'_>,
        script: &str,
        question: &str,
        input: String,
        variables: &[(&str, String)],
    ) -> Result<String> {
        let mut process = shell(script.as_ref());
        process
            .env("SESSCTL_CLIENT", seat.format.name())
            .env("SESSCTL_SESSION", seat.id)
            .env("SESSCTL_SESSION_PATH", seat.path.unwrap_or(Path::new("")))
            .env("SESSCTL_QUESTION", question)
            .envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = seat.folder() {
            process.current_dir(cwd);
        }
        let fail = |what: String, status, signal| Error::CommandFailed {
            what,
            status,
            signal,
            hint: None,
        };
        let ended = self
            .watch
            .run(&mut process, Some(input.into_bytes()), true)
            .map_err(|error| fail(unstarted(script, &error, seat), None, None))?;
        self.end_if_told(&ended, None);
        let ran = Ran {
            argv: Vec::new(),
            cwd: None,
            status: ended.status.code(),
            signal: ended.status.signal(),
        };
        if ended.output.len() as u64 >= process::LONGEST {
            let what = format!("`{script}` puts out more than a note can be");
            return Err(fail(what, ran.status, ran.signal));
        }
        if let Some(how) = how_it_ended(&ran) {
            return Err(fail(format!("`{script}` {how}"), ran.status, ran.signal));
        }
        let what = || format!("`{script}` put out bytes that are no UTF-8");
        String::from_utf8(ended.output).map_err(|_| fail(what(), ran.status, None))
    }

    /// Ends this run if it was told to, and says what is left.
    fn end_if_told(&self, ended: &Ended, seat: Option<&Seat<'_>>) {
        let Some(signal) = ended.interrupted else { return };
        if let Some(seat) = seat.filter(|_| !self.run.global.quiet) {
            say(&format!("interrupted; {}", left(seat)));
        }
        process::end_by(signal);
    }
}

/// A word to who waits.
fn say(what: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(what));
}

fn failed(ran: &Ran, what: String, seat: &Seat<'_>) -> Error {
    Error::CommandFailed { what, status: ran.status, signal: ran.signal, hint: Some(left(seat)) }
}

fn unstarted(name: &str, error: &std::io::Error, seat: &Seat<'_>) -> String {
    let other = match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("; {} names another program", command::names(seat.format)[0])
        }
        _ => String::new(),
    };
    format!("`{name}` cannot be run: {error}{other}")
}

/// How a command ended, if not well.
fn how_it_ended(ran: &Ran) -> Option<String> {
    match (ran.status, ran.signal) {
        (Some(0), _) => None,
        (Some(status), _) => Some(format!("ended with exit status {status}")),
        (None, Some(signal)) => Some(format!("was ended by signal {signal}")),
        (None, None) => Some("did not end".into()),
    }
}

/// What there is of a session in which no turn came to its end.
fn left(seat: &Seat<'_>) -> String {
    let layout = seat.format.layout();
    let argv = match seat.path {
        Some(path) => layout.opens(seat.id, path, seat.in_store),
        None => layout.starts(seat.id).unwrap_or_default(),
    };
    let next = Next { argv, cwd: seat.cwd.map(Into::into) };
    format!("the side session is there, to be opened with `{}`", next.pasted())
}
