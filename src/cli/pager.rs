//! A pager for what is long, as git has one: only where a terminal reads.

use std::{
    io::{self, Write},
    process::{Child, Command, Stdio},
};

use crate::env::Env;

/// A running pager.
pub struct Pager {
    child: Child,
}

impl Pager {
    /// Starts what `SESSCTL_PAGER`, else `PAGER`, names, else `less`. None where that is empty, `cat`, or not there.
    pub fn start(env: &Env) -> Option<Self> {
        let named = |name| env.var(name).map(|value| value.to_string_lossy().into_owned());
        let command = named("SESSCTL_PAGER").or_else(|| named("PAGER"));
        let command = command.unwrap_or_else(|| "less".into());
        let command = command.trim();
        if command.is_empty() || command == "cat" {
            return None;
        }
        // A shell, since the variable may hold arguments; `exec`, so that one that is not there is seen by its status.
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("command -v {} >/dev/null || exit 127", first(command))]);
        if !shell.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let mut pager = Command::new("sh");
        pager.args(["-c", command]).stdin(Stdio::piped());
        if env.var("LESS").is_none() {
            pager.env("LESS", "FRX"); // Quit if it fits, colours, no clearing.
        }
        Some(Self { child: pager.spawn().ok()? })
    }

    /// Hands it more to show.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(input) => input.write_all(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// The program of a command line.
fn first(command: &str) -> String {
    let word = command.split_whitespace().next().unwrap_or_default();
    super::report::quoted(word)
}

impl Drop for Pager {
    /// Waits until the reader has seen enough.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
