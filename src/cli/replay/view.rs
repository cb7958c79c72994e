//! What `replay` prints: rows for scripts, a tree for people.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::transcript::{self, Reading};
use crate::{
    cli::{Run, lineage, pick::Opened},
    error::Result,
    fact::{Ending, Fact, Id, Role},
    format::{Message, Unfolded, json::hex},
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
    /// One page of the whole family, for a browser
    Html,
}

impl View {
    /// What it shows of a session, in words.
    pub fn what(self) -> &'static str {
        match self {
            Self::Transcript => "the transcript",
            Self::Messages => "the messages",
            Self::Provider => "the next request",
            Self::Turns => "the turns",
            Self::Lineage => "the lineage",
            Self::Html => "the page",
        }
    }
}

/// Everything the views are made of.
pub struct Rows<'a> {
    pub(super) thread: &'a Thread<'a>,
    pub(super) history: &'a History,
    keep: usize,
    /// Only these turns, counted from one.
    pub(super) turns: Option<(usize, usize)>,
    /// Fold nothing.
    pub(super) full: bool,
    /// The turn that each line stands in, counted from one; 0 is none.
    turn_of: Vec<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct MessageRow<'a> {
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

#[derive(Serialize, JsonSchema)]
struct CallRow<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

/// A message of a request, made of several of the log.
struct Joined {
    role: Role,
    texts: Vec<String>,
    calls: Vec<(String, String, String)>,
    results: Vec<String>,
    made_up: bool,
}

impl Joined {
    fn of(role: Role) -> Self {
        Self { role, texts: Vec::new(), calls: Vec::new(), results: Vec::new(), made_up: false }
    }

    /// What the client puts in the place of an answer that never came.
    fn no_response() -> Self {
        let texts = vec!["No response requested.".to_owned()];
        Self { texts, made_up: true, ..Self::of(Role::Assistant) }
    }
}

/// A message of the next request; `made_up` where the client gives a missing result itself.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct SentRow<'a> {
    role: &'static str,
    text: &'a str,
    calls: Vec<CallRow<'a>>,
    results: &'a [String],
    made_up: bool,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct TurnRow {
    turn: usize,
    id: String,
    state: &'static str,
    line: usize,
    lines: [usize; 2],
}

/// A taker of output; it answers `false` once nobody reads any more.
pub(super) type Sink<'s> = dyn FnMut(&[u8]) -> Result<bool> + 's;

/// A taker of rows, each a JSON object.
type Take<'s> = dyn FnMut(String) -> Result<bool> + 's;

impl<'a> Rows<'a> {
    /// The views of `thread` behind its first `keep` records.
    pub fn new(
        thread: &'a Thread<'a>,
        history: &'a History,
        keep: usize,
        turns: Option<(usize, usize)>,
        full: bool,
    ) -> Self {
        let mut turn_of = vec![0; thread.session.log.lines()];
        for (nth, turn) in thread.turns.list.iter().enumerate() {
            for line in &thread.path()[turn.first..=turn.last] {
                turn_of[*line as usize] = nth + 1;
            }
        }
        Self { thread, history, keep, turns, full, turn_of }
    }

    /// The rows of a view, for a report.
    pub fn rows(&self, view: View, run: &Run, opened: &Opened) -> Result<Vec<Box<RawValue>>> {
        let mut rows = Vec::new();
        self.each(view, run, opened, &mut |row| {
            rows.push(RawValue::from_string(row).expect("a row is JSON"));
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Prints a view.
    pub fn print(
        &self,
        view: View,
        run: &Run,
        opened: &Opened,
        reading: &Reading<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        match view {
            View::Transcript => transcript::print(self, reading, sink),
            View::Lineage => sink(lineage::tree(&lineage::rows(run, opened)?).as_bytes()).map(drop),
            _ => self.each(view, run, opened, &mut |row| sink(format!("{row}\n").as_bytes())),
        }
    }

    fn each(&self, view: View, run: &Run, opened: &Opened, take: &mut Take<'_>) -> Result<()> {
        match view {
            View::Messages | View::Transcript => self.messages(take),
            View::Provider => self.provider(take),
            View::Turns => self.each_turn(take),
            View::Lineage | View::Html => {
                lineage::rows(run, opened)?.iter().try_for_each(|row| take(json(row)).map(drop))
            }
        }
    }

    pub(super) fn wanted(&self, turn: usize) -> bool {
        self.turns.is_none_or(|(from, to)| (from..=to).contains(&turn))
    }

    pub(super) fn turn(&self, message: &Message) -> usize {
        self.turn_of.get(message.line as usize).copied().unwrap_or(0)
    }

    fn messages(&self, take: &mut Take<'_>) -> Result<()> {
        let session = self.thread.session;
        for (nth, message) in self.history.messages.iter().enumerate() {
            if !self.wanted(self.turn(message)) {
                continue;
            }
            let Unfolded { text, calls, results, output: _ } = unfold(session, message)?;
            let row = MessageRow {
                index: nth + 1,
                role: message.role.name(),
                text: &text,
                id: self.thread.id_on(message.line).map(|id| session.facts.name(id)),
                line: session.log.place(message.line as usize).1,
                origin: message.origin.name(),
                calls: call_rows(&calls),
                results: &results,
                sha256: hex(&self.history.digests[nth]),
            };
            if !take(json(&row))? {
                break;
            }
        }
        Ok(())
    }

    /// What the client leaves out is left out, and a missing result is made up as the client would.
    fn provider(&self, take: &mut Take<'_>) -> Result<()> {
        if self.thread.session.format.joins() {
            return self.joined(take);
        }
        let mut owed: Vec<String> = Vec::new();
        for message in self.history.messages.iter().filter(|message| message.sent) {
            let Unfolded { text, calls, results, output: _ } =
                unfold(self.thread.session, message)?;
            if results.is_empty() {
                make_up(&mut owed, take)?;
            }
            owed.retain(|call| !results.contains(call));
            let made = calls.iter().map(|(id, ..)| id);
            owed.extend(made.filter(|id| !results.contains(id)).cloned());
            let (role, calls) = (message.role.name(), call_rows(&calls));
            let row = SentRow { role, text: &text, calls, results: &results, made_up: false };
            if !take(json(&row))? {
                return Ok(());
            }
        }
        make_up(&mut owed, take)
    }

    /// The same where a request holds the lines of one answer as one message, and neighbouring messages of the user
    /// as one. A call that was given up further up is left out; at the end its result is made up.
    fn joined(&self, take: &mut Take<'_>) -> Result<()> {
        let session = self.thread.session;
        let sent: Vec<&Message> = self.history.messages.iter().filter(|one| one.sent).collect();
        let unfolded =
            sent.iter().map(|one| unfold(session, one)).collect::<Result<Vec<Unfolded>>>()?;
        let answered: HashSet<&String> = unfolded.iter().flat_map(|one| &one.results).collect();
        let part_of = |message: &Message| {
            session.facts.of(message.line).find_map(|fact| match fact {
                Fact::Part(answer) => Some(answer),
                _ => None,
            })
        };
        let spoken = |line: u32| session.facts.of(line).any(|fact| fact == Fact::Spoken);
        // The client has given up a call when something else was said than its answer and the results of that.
        let given_up = |call: &String, at: usize| {
            let part = part_of(sent[at]);
            let later = sent[at + 1..].iter().zip(&unfolded[at + 1..]);
            let mut other = later.filter(|(message, one)| match message.role {
                Role::Assistant => part_of(message) != part,
                _ => one.results.is_empty() && spoken(message.line),
            });
            !answered.contains(call) && other.next().is_some()
        };
        let unanswered = self.unanswered();
        let mut rows: Vec<Joined> = Vec::new();
        let mut parts: HashMap<Id, usize> = HashMap::new();
        for (at, (message, one)) in sent.iter().zip(&unfolded).enumerate() {
            let part = part_of(message);
            let calls: Vec<_> =
                one.calls.iter().filter(|(id, ..)| !given_up(id, at)).cloned().collect();
            if calls.is_empty() && !one.calls.is_empty() && one.text.is_empty() {
                continue;
            }
            let known = match part {
                Some(part) => parts.get(&part).copied(),
                None => rows
                    .len()
                    .checked_sub(1)
                    .filter(|last| rows[*last].role == message.role && message.role == Role::User),
            };
            let row = known.unwrap_or_else(|| {
                rows.push(Joined::of(message.role));
                rows.len() - 1
            });
            parts.extend(part.map(|part| (part, row)));
            let row = &mut rows[row];
            row.texts.extend(Some(one.text.clone()).filter(|text| !text.is_empty()));
            row.calls.extend(calls);
            row.results.extend(one.results.iter().cloned());
            if unanswered == Some(message.line) {
                rows.push(Joined::no_response());
            }
        }
        let owed: Vec<String> = rows
            .iter()
            .flat_map(|row| &row.calls)
            .map(|(id, ..)| id.clone())
            .filter(|call| !answered.contains(call))
            .collect();
        if !owed.is_empty() {
            let at = rows.iter().rposition(|row| row.role == Role::Assistant && !row.made_up);
            let at = at.map_or(rows.len(), |at| at + 1);
            if rows.get(at).is_none_or(|row| row.role != Role::User) {
                rows.insert(at, Joined { made_up: true, ..Joined::of(Role::User) });
            }
            rows[at].results.extend(owed);
            if unanswered.is_none() {
                rows.insert(at + 1, Joined::no_response());
            }
        }
        for row in &rows {
            let sent = SentRow {
                role: row.role.name(),
                text: &row.texts.join("\n"),
                calls: call_rows(&row.calls),
                results: &row.results,
                made_up: row.made_up,
            };
            if !take(json(&sent))? {
                break;
            }
        }
        Ok(())
    }

    /// The record that waits for an answer, if one does: the client gives it itself before it goes on.
    fn unanswered(&self) -> Option<u32> {
        let facts = &self.thread.session.facts;
        let path = self.thread.path()[..self.keep].iter().rev();
        let mut asked = path.filter_map(|line| {
            let counts = |fact| match fact {
                Fact::Awaited => Some(Some(*line)),
                Fact::Answering(_) | Fact::Said(Role::Assistant, _) => Some(None),
                _ => None,
            };
            facts.of(*line).find_map(counts)
        });
        asked.next().flatten()
    }

    fn each_turn(&self, take: &mut Take<'_>) -> Result<()> {
        let turns = self.thread.turns.list.iter().enumerate();
        for (nth, turn) in turns.filter(|(_, turn)| turn.opened < self.keep) {
            if !self.wanted(nth + 1) {
                continue;
            }
            let lines = [turn.opened, turn.last].map(|at| self.thread.line_number(at));
            let row = TurnRow {
                turn: nth + 1,
                id: self.thread.turn_name(nth),
                state: turn.how.map_or("open", Ending::name),
                line: lines[0],
                lines,
            };
            if !take(json(&row))? {
                break;
            }
        }
        Ok(())
    }
}

fn call_rows(calls: &[(String, String, String)]) -> Vec<CallRow<'_>> {
    calls.iter().map(|(id, name, arguments)| CallRow { id, name, arguments }).collect()
}

/// The results that the client gives to calls which got none.
fn make_up(owed: &mut Vec<String>, take: &mut Take<'_>) -> Result<()> {
    for call in owed.drain(..) {
        let results = [call];
        let row =
            SentRow { role: "tool", text: "", calls: Vec::new(), results: &results, made_up: true };
        take(json(&row))?;
    }
    Ok(())
}

fn json(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("a row always serialises")
}
