//! What `replay` prints: rows for scripts, a transcript and a tree for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    cli::{Run, output::printable, pick::Opened},
    error::Result,
    fact::Role,
    format::{Message, Origin, Unfolded, json::hex},
    session::{History, Thread, history::unfold},
};

/// The views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum View {
    /// For people: turns, roles, calls
    Transcript,
    /// What the model sees, one message a line
    Messages,
    /// The messages as the next request would carry them
    Provider,
    /// The turns, one a line
    Turns,
    /// Parent, forks, side sessions and merges
    Lineage,
}

/// Everything the views are made of.
pub struct Rows<'a> {
    /// The session along its path.
    pub thread: &'a Thread<'a>,
    /// Its messages.
    pub history: &'a History,
    /// How many records of the path are looked at.
    pub keep: usize,
    /// Only these turns, counted from one.
    pub turns: Option<(usize, usize)>,
    /// Fold nothing.
    pub full: bool,
}

#[derive(Serialize)]
struct MessageRow<'a> {
    index: usize,
    role: &'static str,
    text: &'a str,
    id: Option<&'a str>,
    line: usize,
    origin: &'static str,
    calls: Vec<CallRow<'a>>,
    results: &'a [String],
    sha256: String,
}

#[derive(Serialize)]
struct CallRow<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

const HEAD: Style = AnsiColor::Cyan.on_default().bold();
const NAME: Style = Style::new().bold();
const PALE: Style = Style::new().dimmed();

/// How many lines of one message a transcript shows unless told otherwise.
const FOLD: usize = 12;

/// A taker of output; it answers `false` once nobody reads any more.
type Sink<'s> = dyn FnMut(&[u8]) -> Result<bool> + 's;

impl Rows<'_> {
    /// The rows of a view, for a report.
    pub fn rows(&self, view: View, run: &Run, opened: &Opened) -> Result<Vec<Value>> {
        let mut rows = Vec::new();
        let mut take = |row: Value| {
            rows.push(row);
            Ok(true)
        };
        match view {
            View::Messages | View::Transcript => self.messages(&mut take)?,
            View::Provider => self.provider(&mut take)?,
            View::Turns => self.each_turn(&mut take)?,
            View::Lineage => rows = super::super::lineage::rows(run, opened)?,
        }
        Ok(rows)
    }

    /// Prints a view.
    pub fn print(&self, view: View, run: &Run, opened: &Opened, sink: &mut Sink<'_>) -> Result<()> {
        let mut line = |row: Value| sink(format!("{row}\n").as_bytes());
        match view {
            View::Messages => self.messages(&mut line),
            View::Provider => self.provider(&mut line),
            View::Turns => self.each_turn(&mut line),
            View::Transcript => self.transcript(sink),
            View::Lineage => sink(
                super::super::lineage::tree(&super::super::lineage::rows(run, opened)?).as_bytes(),
            )
            .map(|_| ()),
        }
    }

    fn wanted(&self, message: &Message) -> bool {
        let Some((from, to)) = self.turns else { return true };
        self.turn_of(message).is_some_and(|turn| (from..=to).contains(&turn))
    }

    /// The turn that a message stands in, counted from one.
    fn turn_of(&self, message: &Message) -> Option<usize> {
        let at = self.thread.path()[..self.keep].iter().position(|line| *line == message.line)?;
        self.thread
            .turns
            .list
            .iter()
            .position(|turn| (turn.first..=turn.last).contains(&at))
            .map(|turn| turn + 1)
    }

    fn messages(&self, take: &mut dyn FnMut(Value) -> Result<bool>) -> Result<()> {
        let session = self.thread.session;
        for (index, message) in
            self.history.messages.iter().enumerate().filter(|(_, message)| self.wanted(message))
        {
            let Unfolded { text, calls, results } = unfold(session, message)?;
            let row = MessageRow {
                index: index + 1,
                role: message.role.name(),
                text: &text,
                id: self.thread.id_on(message.line).map(|id| session.facts.name(id)),
                line: session.log.place(message.line as usize).1,
                origin: message.origin.name(),
                calls: calls
                    .iter()
                    .map(|(id, name, arguments)| CallRow { id, name, arguments })
                    .collect(),
                results: &results,
                sha256: hex(&self.history.digests[index]),
            };
            if !take(serde_json::to_value(row).expect("a row always serialises"))? {
                break;
            }
        }
        Ok(())
    }

    /// What the client leaves out is left out, and a missing result is made up as the client would.
    fn provider(&self, take: &mut dyn FnMut(Value) -> Result<bool>) -> Result<()> {
        let session = self.thread.session;
        let mut owed: Vec<String> = Vec::new();
        let mut rows = Vec::new();
        let make_up = |owed: &mut Vec<String>, rows: &mut Vec<Value>| {
            rows.extend(owed.drain(..).map(
                |call| json!({ "role": "tool", "text": "", "results": [call], "made_up": true }),
            ));
        };
        for message in self.history.messages.iter().filter(|message| message.sent) {
            let unfolded = unfold(session, message)?;
            if unfolded.results.is_empty() {
                make_up(&mut owed, &mut rows);
            }
            owed.retain(|call| !unfolded.results.contains(call));
            let made = unfolded.calls.iter().map(|(id, ..)| id);
            owed.extend(made.filter(|id| !unfolded.results.contains(id)).cloned());
            let calls: Vec<Value> = unfolded.calls.iter().map(|(id, name, arguments)| json!({ "id": id, "name": name, "arguments": arguments })).collect();
            rows.push(json!({ "role": message.role.name(), "text": unfolded.text, "calls": calls, "results": unfolded.results, "made_up": false }));
        }
        make_up(&mut owed, &mut rows);
        for row in rows {
            if !take(row)? {
                break;
            }
        }
        Ok(())
    }

    fn each_turn(&self, take: &mut dyn FnMut(Value) -> Result<bool>) -> Result<()> {
        for (nth, turn) in
            self.thread.turns.list.iter().enumerate().filter(|(_, turn)| turn.opened < self.keep)
        {
            if self.turns.is_some_and(|(from, to)| !(from..=to).contains(&(nth + 1))) {
                continue;
            }
            let (first, last) =
                (self.thread.line_number(turn.opened), self.thread.line_number(turn.last));
            let state = turn.how.map_or("open", |how| how.name());
            let row = json!({ "turn": nth + 1, "id": self.thread.turn_name(nth), "line": first, "lines": [first, last], "state": state });
            if !take(row)? {
                break;
            }
        }
        Ok(())
    }

    fn transcript(&self, sink: &mut Sink<'_>) -> Result<()> {
        let session = self.thread.session;
        let mut turn = None;
        for message in self.history.messages.iter().filter(|message| self.wanted(message)) {
            let now = self.turn_of(message);
            let mut text = String::new();
            if now.is_some() && now != turn {
                let number = now.unwrap_or_default();
                let state = self.thread.turns.list[number - 1].how.map_or("open", |how| how.name());
                let _ = writeln!(text, "{HEAD}turn {number}{HEAD:#} {PALE}{state}{PALE:#}");
            }
            turn = now;
            self.say(&mut text, message, &unfold(session, message)?);
            if !sink(styled(&text).as_bytes())? {
                break;
            }
        }
        Ok(())
    }

    fn say(&self, out: &mut String, message: &Message, unfolded: &Unfolded) {
        let origin = if message.origin == Origin::Own {
            String::new()
        } else {
            format!(" {PALE}({}){PALE:#}", message.origin.name())
        };
        let _ = writeln!(out, "{NAME}{}{NAME:#}{origin}", message.role.name());
        let text = printable(&unfolded.text);
        let fold = if self.full || message.role == Role::Assistant { usize::MAX } else { FOLD };
        let lines = text.lines().count();
        for line in text.lines().take(fold) {
            let _ = writeln!(out, "  {line}");
        }
        if lines > fold {
            let _ = writeln!(
                out,
                "  {PALE}... {} more lines, `--full` shows them{PALE:#}",
                lines - fold
            );
        }
        for (_, name, arguments) in &unfolded.calls {
            let arguments = printable(arguments).replace('\n', " ");
            let short: String =
                if self.full { arguments } else { arguments.chars().take(160).collect() };
            let _ = writeln!(out, "  {PALE}->{PALE:#} {} {short}", printable(name));
        }
    }
}

/// `text` with its styles, or without where standard output is no terminal.
fn styled(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}
