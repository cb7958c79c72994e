//! Reports as JSON and for people, hints, exit statuses.

use std::{
    cell::{Cell, RefCell},
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Global, again::Again, hint::hint, pager::Pager};
use crate::{
    env::Env,
    error::{Error, Result},
    finding::{Finding, Severity},
};

const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();
const PALE: Style = Style::new().dimmed();

/// What a verb found or did, in the words of reports and of people.
pub trait Report {
    /// The fields of the JSON report.
    fn json(&self) -> String;
    /// The same for people.
    fn human(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// The log that a verb looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourceLog {
    /// The session.
    pub id: String,
    /// Where it lies; none for standard input.
    pub path: Option<PathBuf>,
    /// The client.
    pub format: &'static str,
    /// The version of the format.
    pub version: u32,
    /// Size in bytes, as stored.
    pub size: u64,
}

/// Everything that is said at the end of a run.
#[derive(Default)]
pub struct Answer {
    /// The log looked at.
    pub source: Option<SourceLog>,
    /// The log that the findings are about, if not that one.
    pub found_in: Option<PathBuf>,
    /// What was found, whatever its severity.
    pub findings: Vec<Finding>,
    /// What was done or found out.
    pub report: Option<Box<dyn Report>>,
    /// Why it is no success.
    pub failure: Option<Error>,
    /// What to do next, where that is not said by a failure.
    pub hint: Option<String>,
    /// Whether nothing was to be written.
    pub dry_run: bool,
    /// The exit status of a run that has said everything already.
    pub said: Option<u8>,
    /// Whether the result itself went to standard output, so that the report must not.
    pub stdout_taken: bool,
}

impl Answer {
    /// A failure that is told together with what was found on the way.
    pub fn failed(mut self, error: Error) -> Self {
        self.failure = Some(error);
        self
    }
}

/// How to speak.
pub struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    closed: Cell<bool>,
    again: Again,
    pager: RefCell<Option<Pager>>,
}

impl Output {
    /// As the global options want it.
    pub fn new(global: &Global, again: Again) -> Self {
        match global.color {
            clap::ColorChoice::Always => anstream::ColorChoice::Always,
            clap::ColorChoice::Never => anstream::ColorChoice::Never,
            clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        }
        .write_global();
        Self {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            closed: Cell::new(false),
            again,
            pager: RefCell::default(),
        }
    }

    /// Whether reports are JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether nothing but the answer is wanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Writes to standard output; `false` once nobody reads it any more.
    pub fn write(&self, bytes: &[u8]) -> Result<bool> {
        if self.closed.get() {
            return Ok(false);
        }
        let written = match self.pager.borrow_mut().as_mut() {
            Some(pager) => pager.write(bytes),
            None => io::stdout().lock().write_all(bytes),
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.set(true);
                Ok(false)
            }
            Err(error) => Err(Error::io("write to", "standard output")(error)),
        }
    }

    /// Shows what follows in a pager, where there is one.
    pub fn page(&self, env: &Env) {
        *self.pager.borrow_mut() = Pager::start(env);
    }

    /// Waits until the pager was left. That its reader had enough does not end the run.
    pub fn end_page(&self) {
        if self.pager.borrow_mut().take().is_some() {
            self.closed.set(false);
        }
    }

    /// One line on standard output; the exit status.
    pub fn line(&self, text: &str) -> u8 {
        match self.write(format!("{text}\n").as_bytes()) {
            Ok(_) => 0,
            Err(error) => error.exit(),
        }
    }

    /// Says what came of `command`; the exit status.
    pub fn finish(&self, command: &str, answer: Result<Answer>) -> u8 {
        let answer = answer.unwrap_or_else(|error| Answer::default().failed(error));
        if let Some(exit) = answer.said {
            return exit;
        }
        let exit = answer.failure.as_ref().map_or(0, Error::exit);
        let said =
            if self.json { self.say_json(command, exit, &answer) } else { self.say(&answer) };
        match said {
            Ok(()) => exit,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
            Err(error) => {
                let error = Error::io("write to", "standard output")(error);
                let mut err = anstream::stderr().lock();
                let done = if exit == 0 { "; what was asked for was done" } else { "" };
                let _ = writeln!(err, "error[{}]: {error}{done}", error.code());
                error.exit()
            }
        }
    }

    fn say_json(&self, command: &str, exit: u8, answer: &Answer) -> io::Result<()> {
        let document = document(command, exit, answer, &self.again);
        if answer.stdout_taken {
            return writeln!(io::stderr().lock(), "{document}");
        }
        match self.write(format!("{document}\n").as_bytes()) {
            Err(Error::Io { source, .. }) => Err(source),
            _ => Ok(()),
        }
    }

    fn say(&self, answer: &Answer) -> io::Result<()> {
        let mut err = anstream::stderr().lock();
        let source = answer.source.as_ref().and_then(|source| source.path.clone());
        let within = match &answer.failure {
            Some(Error::Damaged(finding)) => finding.path.clone(),
            _ => None,
        };
        let path = within.or_else(|| answer.found_in.clone()).or(source);
        if !self.quiet {
            for finding in &answer.findings {
                let worth = self.verbose || finding.severity > Severity::Note;
                if worth && !same(answer.failure.as_ref(), finding) {
                    say_finding(&mut err, finding, path.as_ref())?;
                }
            }
        }
        if let Some(report) = &answer.report
            && (!self.quiet || answer.failure.as_ref().is_none_or(|no| no.exit() == 1))
        {
            let mut text = Vec::new();
            report.human(&mut text)?;
            if answer.stdout_taken {
                if !self.quiet {
                    err.write_all(&text)?;
                }
            } else {
                let shown = self.write(&text);
                if let Err(Error::Io { source, .. }) = shown {
                    return Err(source);
                }
            }
        }
        match (&answer.failure, &answer.hint) {
            (Some(error), known) => {
                let hint = hint(error, &self.again, path.as_deref()).or_else(|| known.clone());
                say_error(&mut err, error, path.as_ref(), hint)
            }
            (None, Some(hint)) if !self.quiet => writeln!(err, "{PALE}hint:{PALE:#} {hint}"),
            _ => Ok(()),
        }
    }
}

fn same(failure: Option<&Error>, finding: &Finding) -> bool {
    matches!(failure, Some(Error::Damaged(found)) if found.code == finding.code && found.line == finding.line)
}

/// The fields that every report begins with.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Common<'a> {
    /// Whether the exit status is 0.
    ok: bool,
    /// The verb.
    command: &'a str,
    /// The exit status.
    exit: u8,
    /// Why it is not 0.
    code: Option<&'static str>,
    /// The same for people.
    message: Option<String>,
    /// What to do about it.
    hint: Option<String>,
    /// The log looked at.
    source: &'a Option<SourceLog>,
    /// Errors in the log.
    findings: Vec<&'a Finding>,
    /// What is an error only under --strict, and errors behind the boundary.
    warnings: Vec<&'a Finding>,
    /// What is merely worth knowing.
    notes: Vec<&'a Finding>,
    /// Whether nothing was to be written.
    dry_run: bool,
}

/// What a failure tells besides, each where it belongs to the code.
#[derive(Serialize, JsonSchema)]
#[allow(dead_code)] // [`Error::details`] makes the fields; this says what they are.
pub(in crate::cli) struct Details {
    /// Calls without a result: `OPEN_TURN`, `TURN_IN_PROGRESS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_calls: Option<Vec<String>>,
    /// Where the turn opened, counted from one: `OPEN_TURN`, `TURN_IN_PROGRESS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The turns there are, in order: `TURN_NOT_FOUND`.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_turns: Option<Vec<String>>,
    /// The sessions that answer to the name: `SESSION_AMBIGUOUS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<String>>,
    /// The live log: `SESSION_NOT_LIVE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_path: Option<PathBuf>,
    /// The length of the note: `NOTE_TOO_LONG`.
    #[serde(skip_serializing_if = "Option::is_none")]
    chars: Option<usize>,
    /// What is allowed: `NOTE_TOO_LONG`.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_chars: Option<usize>,
    /// The exit status of the command, if it ended by itself: `COMMAND_FAILED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<i32>,
    /// The signal that ended it: `COMMAND_FAILED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
}

fn document(command: &str, exit: u8, answer: &Answer, again: &Again) -> String {
    let of = |severity: Severity| -> Vec<&Finding> {
        answer.findings.iter().filter(|finding| finding.severity == severity).collect()
    };
    let failure = answer.failure.as_ref();
    let mut findings = of(Severity::Error);
    if let Some(Error::Damaged(finding)) = failure
        && !findings.iter().any(|known| known.code == finding.code && known.line == finding.line)
    {
        findings.insert(0, finding);
    }
    let source = answer.source.as_ref().and_then(|source| source.path.as_deref());
    let path = answer.found_in.as_deref().or(source);
    let common = Common {
        ok: exit == 0,
        command,
        exit,
        code: failure.map(Error::code),
        message: failure.map(ToString::to_string),
        hint: failure.and_then(|error| hint(error, again, path)).or_else(|| answer.hint.clone()),
        source: &answer.source,
        findings,
        warnings: of(Severity::Warning),
        notes: of(Severity::Note),
        dry_run: answer.dry_run,
    };
    let mut document = serde_json::to_string(&common).expect("a report always serialises");
    let details = failure.map(Error::details).filter(|_| answer.report.is_none());
    let details = details.map(|details| Value::Object(details).to_string());
    for more in answer.report.iter().map(|report| report.json()).chain(details) {
        // Two objects into one, the order of fields kept.
        if more.len() > 2 {
            document.truncate(document.len() - 1);
            document.push(',');
            document.push_str(&more[1..]);
        }
    }
    document
}

fn say_finding(out: &mut dyn Write, finding: &Finding, path: Option<&PathBuf>) -> io::Result<()> {
    let (style, word) = match finding.severity {
        Severity::Error => (BAD, "error"),
        Severity::Warning => (WARN, "warning"),
        Severity::Note => (PALE, "note"),
    };
    writeln!(
        out,
        "{style}{word}[{}]{style:#}: {}",
        finding.code.name(),
        printable(&finding.message)
    )?;
    say_place(out, path, finding.line)
}

fn say_error(
    out: &mut dyn Write,
    error: &Error,
    path: Option<&PathBuf>,
    hint: Option<String>,
) -> io::Result<()> {
    writeln!(out, "{BAD}error[{}]{BAD:#}: {}", error.code(), printable(&error.to_string()))?;
    // Of other errors that are of no line, the message names the file.
    if error.line().is_some() || matches!(error, Error::Damaged(_)) {
        say_place(out, path, error.line())?;
    }
    match hint {
        Some(hint) => writeln!(out, "  {PALE}hint:{PALE:#} {}", printable(&hint)),
        None => Ok(()),
    }
}

fn say_place(out: &mut dyn Write, path: Option<&PathBuf>, line: Option<usize>) -> io::Result<()> {
    match (path, line) {
        (Some(path), Some(line)) => {
            writeln!(out, "  {PALE}-->{PALE:#} {}:{line}", printable(&path.display().to_string()))
        }
        (Some(path), None) => {
            writeln!(out, "  {PALE}-->{PALE:#} {}", printable(&path.display().to_string()))
        }
        (None, Some(line)) => writeln!(out, "  {PALE}-->{PALE:#} line {line}"),
        (None, None) => Ok(()),
    }
}

/// `text` without what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && !matches!(c, '\n' | '\t') || crate::ops::is_bidi_control(c) {
                '\u{FFFD}'
            } else {
                c
            }
        })
        .collect()
}

/// `text` with its styles, or without where standard output is no terminal.
pub fn styled(text: &str) -> String {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

/// What clap has to say; the exit status.
pub fn usage_error(mut error: clap::Error, args: &[OsString], again: &Again) -> u8 {
    let wrong = error.use_stderr();
    let hint = misplaced(&error, again);
    if let Some(hint) = &hint {
        let tips = vec![hint.clone().into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    if wrong && args.iter().any(|arg| arg == "--json") {
        let message = error.render().to_string();
        // The first paragraph: where arguments are missing, they stand below its first line.
        let lines = message.lines().map(str::trim).take_while(|line| !line.is_empty());
        let first = lines.collect::<Vec<_>>().join(" ");
        let failure = Error::BadUsage(first.strip_prefix("error: ").unwrap_or(&first).to_owned());
        let command = args
            .iter()
            .skip(1)
            .filter_map(|arg| arg.to_str())
            .find(|arg| !arg.starts_with('-'))
            .unwrap_or_default();
        let answer = Answer { hint, ..Answer::default() };
        let document = document(command, failure.exit(), &answer.failed(failure), again);
        let _ = writeln!(io::stdout().lock(), "{document}");
    } else if wrong {
        let text = error.render().ansi().to_string();
        let text = text.replacen("error:", "error[BAD_USAGE]:", 1);
        let _ = write!(anstream::stderr().lock(), "{text}");
    } else {
        let _ = error.print();
    }
    if wrong { 2 } else { 0 }
}

/// What was meant by a word where clap knows none: a folder behind `list`, a session in the place of a verb.
fn misplaced(error: &clap::Error, again: &Again) -> Option<String> {
    let (ContextKind::InvalidArg | ContextKind::InvalidSubcommand, ContextValue::String(word)) =
        error.context().find(|(kind, _)| {
            matches!(kind, ContextKind::InvalidArg | ContextKind::InvalidSubcommand)
        })?
    else {
        return None;
    };
    match error.kind() {
        ErrorKind::UnknownArgument if again.verb() == "list" && !word.starts_with('-') => {
            let (below, of) = (again.moved(word, "--store"), again.moved(word, "--cwd"));
            Some(format!(
                "{below} lists the logs below a folder, {of} the sessions that belong to one"
            ))
        }
        ErrorKind::InvalidSubcommand if Path::new(word).is_file() => {
            Some(format!("{} shows a session", again.other(&["replay", word])))
        }
        _ => None,
    }
}

/// `sessctl` alone, or with nothing but global options.
pub fn missing_command(output: &Output, definition: &mut clap::Command) -> u8 {
    if output.json {
        let failure = Error::BadUsage("no command was given".into());
        return output.finish("", Err(failure));
    }
    let _ = write!(anstream::stderr().lock(), "{}", definition.render_help().ansi());
    2
}

/// A number with a thin mark every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
