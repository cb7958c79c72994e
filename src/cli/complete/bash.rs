//! How bash asks for completions. It splits words at `=` and `:`, with which titles and boundaries are written, wants
//! blanks quoted, and shows nothing but what it would insert: the script minds all of that.

use std::{ffi::OsString, io, path::Path};

use clap_complete::{engine::complete, env::EnvCompleter};

/// Between two candidates; between a candidate and what is said of it.
const MARKS: [char; 2] = ['\u{b}', '\t'];

/// `COMPLETE=bash`.
pub(in crate::cli) struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        program: &str,
        completer: &str,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let completer = crate::cli::report::quoted(completer);
        let script = include_str!("complete.bash");
        let script = script.replace("VARIABLE", variable).replace("COMPLETER", &completer);
        out.write_all(script.replace("PROGRAM", program).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let at = words.len().saturating_sub(1);
        let [end, split] = MARKS;
        for candidate in complete(command, words, at, folder)? {
            let value = candidate.get_value().to_string_lossy();
            let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
            let help = help.lines().next().unwrap_or_default().replace(MARKS, " ");
            write!(out, "{value}{split}{help}{end}")?;
        }
        Ok(())
    }
}
