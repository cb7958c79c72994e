//! `sessctl side`

mod asking;
mod pane;
pub(super) mod record;

use std::{
    fs,
    io::{self, IsTerminal, Read, Write},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Run,
    child::{self, ContextArg, Made, Making, Order},
    output::{Answer, Report, printable},
    pick::{self, Pick},
};
use crate::{
    error::{Error, Result},
    format::{self, Format},
    ops,
    session::{At, Thread},
};
use asking::Asked;

/// Make a read-only advisor session, forked at the last finished turn
///
/// The child begins with the parent's own bytes, so that the provider's cache serves it, then has exactly one framing
/// message. The question is not written into it: it is handed to the client as its prompt.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = super::examples::SIDE)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// The question; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "TEXT")]
    ask: Option<String>,
    /// Put the question to the session at once, by the client's own command line, and print the answer in its log
    ///
    /// `SESSCTL_<CLIENT>_CMD`, such as `SESSCTL_CODEX_CMD`, names another program, with first arguments if need be.
    #[arg(long, requires = "ask")]
    run: bool,
    /// The same by another command, which the shell runs in the session's folder
    ///
    /// It finds the session in `SESSCTL_SESSION` and `SESSCTL_SESSION_PATH`, the question in `SESSCTL_QUESTION`, the
    /// client's name in `SESSCTL_CLIENT`, and in `"$@"` the arguments that the client's program would be given.
    #[arg(long, value_name = "COMMAND", requires = "ask")]
    run_with: Option<String>,
    /// Other words for the framing; @FILE reads them from a file, - from standard input
    #[arg(long, value_name = "TEXT", conflicts_with = "no_framing")]
    framing: Option<String>,
    /// Write no framing message
    #[arg(long)]
    no_framing: bool,
    /// Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N
    #[arg(long, value_name = "BOUNDARY", default_value = "last-turn", add = clap_complete::ArgValueCompleter::new(super::complete::boundaries))]
    at: At,
    /// Where to write the child instead of the client's own place
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    making: Making,
    #[command(flatten)]
    recording: record::Flags,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Sided {
    #[serde(flatten)]
    made: Made,
    framing_messages: usize,
    side_messages: usize,
    copied_parent_messages: usize,
    answer: Option<String>,
    #[serde(flatten)]
    asked: Asked,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    quiet: bool,
}

impl Sided {
    /// Counts again what a turn has changed.
    fn recount(&mut self, child: &Thread<'_>) {
        let messages = child.history(child.path().len(), child.seed).len();
        let made = &mut self.made;
        made.messages = messages;
        made.turns = child.turns.closed();
        (made.tool_calls, made.tool_results) = (child.turns.calls, child.turns.results);
        self.side_messages = messages.saturating_sub(self.copied_parent_messages);
    }

    /// The answer as it stands in the log; a terminal is not handed what it would obey.
    fn say(answer: &str, out: &mut dyn Write) -> io::Result<()> {
        if io::stdout().is_terminal() {
            return writeln!(out, "{}", printable(answer));
        }
        writeln!(out, "{answer}")
    }
}

impl Report for Sided {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(answer) = self.answer.as_ref().filter(|_| self.quiet) {
            return Self::say(answer, out);
        }
        let made = &self.made;
        let verb = match (self.dry_run, made.replayed) {
            (true, _) => "would open",
            (_, true) => "already opened",
            _ => "opened",
        };
        writeln!(
            out,
            "{verb} side session {} of {} at {} ({} messages inherited, {} framing)",
            made.child.id,
            made.parent.id,
            made.boundary.at,
            self.copied_parent_messages,
            self.framing_messages
        )?;
        if let Some(path) = &made.child.path {
            writeln!(out, "  file: {}", printable(&path.display().to_string()))?;
        }
        writeln!(out, "  open: {}", printable(&made.next.pasted()))?;
        if let Some(place) = self.asked.answered_in.as_ref().filter(|it| it.id != made.child.id) {
            let path = place.path.display().to_string();
            writeln!(out, "  answered in session {}: {}", place.id, printable(&path))?;
        }
        match (&self.answer, &self.asked.run) {
            (Some(answer), _) => {
                writeln!(out)?;
                Self::say(answer, out)
            }
            (None, Some(run)) if self.dry_run => {
                writeln!(out, "  run: {}", printable(&run.pasted()))
            }
            _ => Ok(()),
        }
    }
}

/// Said where `--ask` was given to a client that takes no question.
const UNTOLD: &str = "this client's command line takes no question: open the session and type it";

pub(super) fn run(run: &Run, args: &Args) -> Result<Answer> {
    let Args { making, .. } = args;
    pick::one_stdin(&[
        ("SESSION", Some(args.pick.words())),
        ("--ask", args.ask.as_deref()),
        ("--framing", args.framing.as_deref()),
        ("--title", making.title.as_deref()),
    ])?;
    if let Some(input) = &args.recording.record {
        let Args { pick, recording, out, .. } = args;
        return record::run(run, pick, recording, input, out.as_deref(), making.dry_run);
    }
    let runs = args.run || args.run_with.is_some();
    let ask = args.ask.as_deref().map(text_argument).transpose()?;
    let framing = match (&args.framing, args.no_framing) {
        (_, true) => None,
        (Some(text), _) => {
            Some(ops::trimmed(&text_argument(text)?).map_err(|error| match error {
                Error::NoteEmpty => {
                    Error::BadUsage("the framing is empty; `--no-framing` writes none".into())
                }
                error => error,
            })?)
        }
        (None, _) => Some(ops::FRAMING.to_owned()),
    };
    if ask.as_ref().is_some_and(|ask| ask.trim().is_empty()) {
        return Err(Error::BadUsage("the question is empty".into()));
    }
    let words = framing.clone();
    let order = Order {
        verb: "side",
        pick: &args.pick,
        at: &args.at,
        making,
        out: args.out.as_deref(),
        framing,
        sidecars: None,
        flatten: false,
        asks: ask.as_deref().filter(|_| runs),
        accepts: &|parent| if runs { asking::check(run, args, parent) } else { Ok(()) },
    };
    let (mut answer, made) = child::make(run, &order)?;
    let Some(mut made) = made else { return Ok(answer) };
    let takes = format::by_name(made.parent.format).is_some_and(takes_question);
    let fileless = made.child.path.is_none();
    // Without a log there is no other place for the framing.
    let said = [words.filter(|_| fileless), ask.clone().filter(|_| takes)];
    let said = said.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    made.next.argv.extend(Some(said.clone()).filter(|said| !said.is_empty()));
    let copied = if making.context == ContextArg::None { 0 } else { made.inherited };
    let mut sided = Sided {
        framing_messages: if fileless { 0 } else { made.framed },
        side_messages: made.messages - copied.min(made.messages),
        copied_parent_messages: copied,
        answer: None,
        asked: Asked { run: None, answered_in: None },
        dry_run: making.dry_run,
        quiet: run.global.quiet,
        made,
    };
    match &ask {
        Some(ask) if runs => {
            let question = if fileless { &said } else { ask };
            answer.failure = asking::ask(run, args, &mut sided, question).err();
        }
        Some(_) if !takes => answer.hint = Some(UNTOLD.into()),
        _ => {}
    }
    answer.report = Some(Box::new(sided));
    Ok(answer)
}

fn takes_question(format: &'static dyn Format) -> bool {
    format.layout().takes_question()
}

/// A text given on the command line: `@FILE` is a file's, `-` standard input's, `@@` stands for a leading `@`.
pub(super) fn text_argument(text: &str) -> Result<String> {
    let read = |bytes: Vec<u8>, from: &str| {
        String::from_utf8(bytes)
            .map_err(|_| Error::BadUsage(format!("{from} holds bytes that are no UTF-8")))
    };
    if text == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(Error::io("read", "standard input"))?;
        return Ok(read(bytes, "standard input")?.trim_end_matches(['\r', '\n']).to_owned());
    }
    match text.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => Ok(rest.to_owned()),
        Some(path) => Ok(read(fs::read(path).map_err(Error::io("read", path))?, path)?
            .trim_end_matches(['\r', '\n'])
            .to_owned()),
        None => Ok(text.to_owned()),
    }
}
