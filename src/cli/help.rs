//! `sessctl help`: commands, codes and topics, each from the one place where it is written down.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write},
};

use anstyle::Style;
use clap_complete::ArgValueCompleter;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Run, complete,
    output::{Answer, Report, styled},
    wrap,
};
use crate::{error::Error, format};

/// The pages of all codes, which the project's documentation shows as well.
const CODES: &str = include_str!("../../docs/codes.md");

const BOUNDARIES: &str = include_str!("../../docs/help/boundaries.md");

const EXIT_STATUS: &str = include_str!("../../docs/help/exit-status.md");

const ENVIRONMENT: &str = include_str!("../../docs/help/environment.md");

const NAME: Style = Style::new().bold();

/// Explain a command, a code or a topic
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A command, a code such as `OPEN_TURN`, or one of: boundaries, codes, environment, exit-status,
    /// formats
    #[arg(value_name = "COMMAND|CODE|TOPIC", add = ArgValueCompleter::new(complete::topics))]
    topic: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Explained {
    topic: String,
    text: String,
    /// Whether it is a page of the documentation.
    #[serde(skip)]
    written: bool,
}

impl Report for Explained {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        // Help of clap's own making is as wide as it should be already.
        let terminal = terminal_size::terminal_size().filter(|_| io::stdout().is_terminal());
        let width = terminal.map(|(width, _)| usize::from(width.0)).filter(|_| self.written);
        let text = width.map_or_else(|| self.text.clone(), |width| wrap::page(&self.text, width));
        let mut fenced = false;
        for line in text.lines() {
            if line.starts_with("```") {
                fenced = !fenced;
            } else if fenced {
                writeln!(out, "    {line}")?;
            } else if let Some(heading) = line.strip_prefix('#') {
                let heading = heading.trim_start_matches('#').trim_start();
                writeln!(out, "{}", styled(&format!("{NAME}{heading}{NAME:#}")))?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }
}

pub(super) fn run(run: &Run, args: &Args) -> Answer {
    let topic = args.topic.clone().unwrap_or_default();
    let Some(text) = text(run, &topic) else {
        let (codes, commands) = (run.again.other(&["help", "codes"]), run.again.other(&["help"]));
        let hint = Some(format!("{codes} lists the codes, {commands} the commands"));
        return Answer { hint, ..Answer::default() }.failed(unknown(&topic));
    };
    let written =
        !topic.is_empty() && super::definition().find_subcommand(topic.as_str()).is_none();
    Answer { report: Some(Box::new(Explained { topic, text, written })), ..Answer::default() }
}

fn text(run: &Run, topic: &str) -> Option<String> {
    let mut definition = super::definition();
    definition.build();
    match topic {
        "" => return Some(definition.render_long_help().to_string()),
        "boundaries" | "boundary" => return Some(BOUNDARIES.into()),
        "exit-status" | "exit" => return Some(EXIT_STATUS.into()),
        "environment" | "env" => return Some(ENVIRONMENT.into()),
        "formats" => return Some(formats(run)),
        "codes" => return Some(codes()),
        _ => {}
    }
    if let Some(command) = definition.find_subcommand_mut(topic) {
        return Some(command.render_long_help().to_string());
    }
    entry(&topic.to_uppercase().replace('-', "_")).map(str::to_owned)
}

/// The entries of the page of codes: name and whole text.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    CODES.split("\n### ").skip(1).map(|entry| {
        let end = entry.find("\n## ").unwrap_or(entry.len());
        let name = entry.lines().next().unwrap_or_default();
        (name, entry[..end].trim_end())
    })
}

/// The names of all codes.
pub(super) fn names() -> Vec<&'static str> {
    entries().map(|(name, _)| name).collect()
}

fn entry(code: &str) -> Option<&'static str> {
    entries().find(|(name, _)| *name == code).map(|(_, text)| text)
}

/// Every code with the first sentence of its entry.
fn codes() -> String {
    let widest = entries().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, text): (&str, &str)| {
        let first = text.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
        let sentence = first.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned();
        format!("  {name:widest$}  {sentence}\n")
    };
    format!(
        "Codes\n\n{}\n`sessctl help CODE` says how it comes about and what to do.\n",
        entries().map(line).collect::<String>()
    )
}

/// The clients: versions that are read and written, and where their logs are looked for.
fn formats(run: &Run) -> String {
    let mut text = String::from("Formats\n");
    let list = |versions: &[u32]| {
        let all: Vec<String> = versions.iter().map(u32::to_string).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    };
    for format in format::ALL {
        let (reads, writes) = format.versions();
        let (name, reads, writes) = (format.name(), list(reads), list(writes));
        let _ = writeln!(text, "\n  {name}\n    versions read: {reads}; written: {writes}");
        for root in format.layout().roots(&run.env) {
            let _ = writeln!(text, "    looked for in {}", root.display());
        }
    }
    text + "\nThe log itself tells whose it is; `--format NAME` says so where it cannot. Logs in zstd are read like plain ones.\n`--store DIR` or SESSCTL_STORE looks below another folder instead.\n"
}

fn unknown(topic: &str) -> Error {
    let wanted = topic.to_uppercase();
    let near = entries()
        .map(|(name, _)| name)
        .find(|name| !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(name)));
    let near = near.map(|name| format!("; do you mean {name}?")).unwrap_or_default();
    Error::BadUsage(format!("nothing is known of `{topic}`{near}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::finding::{Code, Severity};

    /// The quoted words of a source file that look like codes.
    fn quoted(source: &str) -> BTreeSet<&str> {
        let like = |word: &&str| {
            word.len() > 5
                && word.contains('_')
                && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        source.split('"').skip(1).step_by(2).filter(like).collect()
    }

    #[test]
    fn every_code_has_an_entry_that_says_how_it_comes_about_and_what_to_do() {
        let sources = [
            include_str!("../error.rs"),
            include_str!("replay/verdict.rs"),
            include_str!("snapshot.rs"),
        ];
        let mut codes: BTreeSet<&str> = sources.iter().flat_map(|source| quoted(source)).collect();
        codes.extend(Code::ALL.iter().map(|code| code.name()));
        codes.insert("INTERNAL");
        assert!(codes.len() > 70, "{codes:?}");
        for code in codes {
            let text =
                entry(code).unwrap_or_else(|| panic!("{code} has no entry in docs/codes.md"));
            for part in ["\nHow it comes about: ", "\nWhat to do: ", "\n```text\n"] {
                assert!(text.contains(part), "{code} has no {part:?}");
            }
            assert!(
                text.contains(&format!("[{code}]: ")),
                "the example of {code} is of another one"
            );
        }
    }

    #[test]
    fn codes_stand_under_their_exit_status() {
        let group = |code: &str| {
            let at = CODES.find(&format!("\n### {code}\n")).unwrap();
            let heading = CODES[..at].rfind("\n## ").unwrap() + 4;
            CODES[heading..].lines().next().unwrap()
        };
        for code in Code::ALL {
            let wanted = match code.severity() {
                Severity::Error => "Exit status 5",
                Severity::Warning => "Warnings",
                Severity::Note => "Notes",
            };
            assert!(group(code.name()).starts_with(wanted), "{}", code.name());
        }
        for (code, exit) in [("OPEN_TURN", 4), ("BAD_USAGE", 2), ("IO_DENIED", 6), ("INTERNAL", 70)]
        {
            assert!(group(code).starts_with(&format!("Exit status {exit}")), "{code}");
        }
    }

    #[test]
    fn every_variable_is_on_the_page() {
        let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut told = BTreeSet::new();
        for file in crate::store::files_below(&sources) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let words = text.split('"').skip(1).step_by(2).map(str::to_owned);
            let ends = ["_DIR", "_HOME", "_STORE", "_HOST", "_PAGER", "_PROMPT", "_COLOR"];
            told.extend(words.filter(|word| {
                ends.iter().any(|end| word.ends_with(end))
                    && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
                    && word.starts_with(|c: char| c != '_')
            }));
        }
        assert!(told.len() > 10, "{told:?}");
        for name in told.iter().filter(|name| *name != "CARGO_MANIFEST_DIR") {
            assert!(ENVIRONMENT.contains(name.as_str()), "{name}");
        }
    }

    #[test]
    fn no_code_is_explained_twice() {
        let names: Vec<&str> = entries().map(|(name, _)| name).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), once.len());
    }
}
