//! The transcript: a session as people like to read it.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::view::{Rows, Sink};
use crate::{
    cli::{
        output::{printable, styled},
        wrap::wrap,
    },
    error::Result,
    fact::{Carrier, Ending, Fact, Role},
    finding::{Finding, Severity},
    format::{Message, Origin, Unfolded},
    session::history::unfold,
    store::Record,
};

const TITLE: Style = Style::new().bold();
const TURN: Style = AnsiColor::Cyan.on_default().bold();
const PERSON: Style = AnsiColor::Blue.on_default().bold();
const MODEL: Style = AnsiColor::Green.on_default().bold();
const OURS: Style = AnsiColor::Magenta.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();
const PALE: Style = Style::new().dimmed();

/// How many lines of what a person said are shown unless told otherwise.
const FOLD: usize = 12;

/// How many columns of a call's arguments are shown unless told otherwise.
pub(in crate::cli::replay) const ARGUMENTS: usize = 120;

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// What a transcript needs besides the rows.
pub(super) struct Reading<'a> {
    /// What was found, by lines of the session's own file.
    pub findings: &'a [Finding],
    /// The steps of the journal, which name the side sessions that notes came from.
    pub steps: &'a [Record],
    /// Columns to wrap at; none where no terminal reads.
    pub width: Option<usize>,
}

/// The transcript of `rows`, message by message.
pub(super) fn print(rows: &Rows<'_>, reading: &Reading<'_>, sink: &mut Sink<'_>) -> Result<()> {
    let mut pen = Pen {
        rows,
        reading,
        told: 0,
        turn: 0,
        untold: true,
        spoke: None,
        inherited: 0,
        out: String::new(),
    };
    if rows.turns.is_none() {
        pen.head();
    }
    for message in &rows.history.messages {
        let turn = rows.turn(message);
        if rows.wanted(turn) {
            pen.message(message, turn)?;
        }
        if !sink(styled(&std::mem::take(&mut pen.out)).as_bytes())? {
            return Ok(());
        }
    }
    pen.foot();
    sink(styled(&pen.out).as_bytes()).map(drop)
}

/// Writes one message after the other.
struct Pen<'a> {
    rows: &'a Rows<'a>,
    reading: &'a Reading<'a>,
    /// How many findings were told.
    told: usize,
    /// The turn of the message before.
    turn: usize,
    /// Who spoke last in this turn: role, origin, and whether it was a result.
    spoke: Option<(Role, Origin, bool)>,
    /// Whether no message was shown yet.
    untold: bool,
    /// How many inherited messages were shown since the last one that is not.
    inherited: usize,
    out: String,
}

impl Pen<'_> {
    /// What session this is.
    fn head(&mut self) {
        let session = self.rows.thread.session;
        let header = session.header();
        let title = session.title().unwrap_or_default();
        if !title.trim().is_empty() {
            for part in self.wrapped(&printable(title.trim())) {
                let _ = writeln!(self.out, "{TITLE}{part}{TITLE:#}");
            }
        }
        let turns = self.rows.thread.turns.list.len();
        let counted = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        let mut words = vec![session.format.name().to_owned(), header.id.clone()];
        words.extend(header.cwd.clone());
        words.push(counted);
        let words: Vec<String> = words.iter().map(|word| printable(word)).collect();
        for part in self.wrapped(&words.join(" · ")) {
            let _ = writeln!(self.out, "{PALE}{part}{PALE:#}");
        }
        if let Some(parent) = &header.parent {
            let _ = writeln!(self.out, "{PALE}from {}{PALE:#}", printable(parent));
        }
    }

    /// What is left to tell at the end.
    fn foot(&mut self) {
        self.seam();
        let last = self.rows.thread.session.log.lines() + 1;
        let limit = if self.rows.turns.is_none() { usize::MAX } else { self.last_line().min(last) };
        self.findings(limit);
        if let Some(turn) = self.rows.thread.turns.open().filter(|_| self.rows.turns.is_none()) {
            let waiting = self.rows.thread.open_calls();
            let line = self.rows.thread.line_number(turn.opened);
            let calls = match waiting.as_slice() {
                [] => String::new(),
                calls => format!("; waiting for {}", printable(&calls.join(", "))),
            };
            let _ =
                writeln!(self.out, "\n{WARN}the turn opened on line {line} goes on{calls}{WARN:#}");
        }
    }

    /// The last line of the turns that are asked for.
    fn last_line(&self) -> usize {
        let turns = self.rows.thread.turns.list.iter().enumerate();
        let mut wanted = turns.rev().filter(|(nth, _)| self.rows.wanted(nth + 1));
        wanted.next().map_or(0, |(_, turn)| self.rows.thread.line_number(turn.last))
    }

    fn message(&mut self, message: &Message, turn: usize) -> Result<()> {
        let unfolded = unfold(self.rows.thread.session, message)?;
        if message.origin != Origin::Inherited {
            self.seam();
        }
        let line = self.rows.thread.session.log.place(message.line as usize).1;
        if self.told == 0 && self.rows.turns.is_some() {
            // What stands before the turns that are asked for is not their business.
            let before = |finding: &&Finding| finding.line.is_some_and(|own| own < line);
            self.told = self.reading.findings.iter().take_while(before).count();
        }
        self.findings(line);
        if turn != self.turn {
            self.spoke = None;
        }
        match turn {
            0 if turn != self.turn || self.untold => self.out.push('\n'),
            0 => {}
            turn if turn != self.turn => self.rule(turn),
            _ => {}
        }
        self.untold = false;
        self.turn = turn;
        self.inherited += usize::from(message.origin == Origin::Inherited);
        self.speaker(message, &unfolded);
        self.words(message, &unfolded);
        self.calls(message, &unfolded);
        Ok(())
    }

    /// A line under what was inherited.
    fn seam(&mut self) {
        let count = std::mem::take(&mut self.inherited);
        if count > 0 {
            let what = if count == 1 { "1 message" } else { &format!("{count} messages") };
            let _ = writeln!(self.out, "\n{PALE}── {what} above inherited ──{PALE:#}");
        }
    }

    /// What was found up to a line of the file.
    fn findings(&mut self, line: usize) {
        while let Some(finding) = self.reading.findings.get(self.told) {
            if finding.line.is_some_and(|own| own > line) {
                break;
            }
            self.told += 1;
            let (style, mark) = match finding.severity {
                Severity::Error => (BAD, "✗"),
                Severity::Warning => (WARN, "!"),
                Severity::Note => (PALE, "·"),
            };
            let place = finding.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            let (code, words) = (finding.code.name(), printable(&finding.message));
            let told = format!("{code} {words}{place}");
            for (nth, part) in self.wrapped(&told).into_iter().enumerate() {
                let mark = if nth == 0 { mark } else { " " };
                let rest = part.strip_prefix(code).filter(|_| nth == 0);
                let _ = match rest {
                    Some(rest) => writeln!(self.out, "{style}{mark} {code}{style:#}{rest}"),
                    None => writeln!(self.out, "{mark} {part}"),
                };
            }
        }
    }

    fn rule(&mut self, turn: usize) {
        let (style, state) = match self.rows.thread.turns.list[turn - 1].how {
            None => (WARN, "open"),
            Some(Ending::Completed) => (PALE, "completed"),
            Some(other) => (BAD, other.name()),
        };
        let _ = writeln!(self.out, "\n{TURN}── turn {turn} ──{TURN:#} {style}{state}{style:#}");
    }

    /// Who speaks, and from where.
    fn speaker(&mut self, message: &Message, unfolded: &Unfolded) {
        let result = !unfolded.results.is_empty() && message.role != Role::Assistant;
        // An answer may stand in several lines; results are told apart.
        let speaker = (message.role, message.origin, result);
        if self.spoke.replace(speaker) == Some(speaker) && !result && speaker.1 != Origin::Merge {
            return;
        }
        let style = match (message.origin, message.role) {
            (Origin::Inherited, _) => PALE,
            (Origin::Framing | Origin::Merge, _) => OURS,
            (_, Role::User) if !result => PERSON,
            (_, Role::Assistant) => MODEL,
            _ => PALE,
        };
        let source = match message.origin {
            Origin::Own => String::new(),
            Origin::Inherited => " (inherited)".into(),
            Origin::Framing => " (framing of a side session, source sidechat)".into(),
            Origin::Compaction => " (summary of what stood before)".into(),
            Origin::Merge => match self.side_of(message) {
                Some(side) => {
                    format!(" (note of side session {}, source sidechat)", printable(&side))
                }
                None => " (note of a side session, source sidechat)".into(),
            },
        };
        let source = match source.as_str() {
            "" => String::new(),
            source => format!("{PALE}{source}{PALE:#}"),
        };
        let name = if result { "result" } else { message.role.name() };
        let _ = writeln!(self.out, "{style}{name}{style:#}{source}");
    }

    /// The side session that a note came from, as far as the journal knows.
    fn side_of(&self, message: &Message) -> Option<String> {
        let session = self.rows.thread.session;
        let mark = session.facts.of(message.line).find_map(|fact| match fact {
            Fact::Carried(Carrier::Note, mark) => Some(session.facts.name(mark)),
            _ => None,
        })?;
        let told = self.reading.steps.iter().rev().find_map(|step| step.merged(mark));
        told.map(str::to_owned)
    }

    fn words(&mut self, message: &Message, unfolded: &Unfolded) {
        let both = [unfolded.text.as_str(), unfolded.output.as_str()];
        let both: Vec<&str> = both.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let text = printable(both.join("\n").trim_end());
        let inherited = message.origin == Origin::Inherited;
        let result = !unfolded.results.is_empty();
        let fold = match (self.rows.full, message.role, result) {
            (true, ..) => usize::MAX,
            (_, _, true) => 1,
            (_, Role::Assistant, _) => usize::MAX,
            _ => FOLD,
        };
        let lines = text.lines().count();
        // Of an answer there may be another part, in a line of its own.
        if lines == 0 && message.role != Role::Assistant {
            let _ = writeln!(self.out, "  {PALE}(no words){PALE:#}");
        }
        // A line that says that one is missing takes its place.
        let fold = if lines == fold.saturating_add(1) { lines } else { fold };
        for line in text.lines().take(fold) {
            for part in self.wrapped(line) {
                self.line(inherited, part);
            }
        }
        if lines > fold {
            let more = lines - fold;
            let _ = writeln!(self.out, "  {PALE}… {more} more lines with `--full`{PALE:#}");
        }
    }

    fn line(&mut self, inherited: bool, line: &str) {
        let _ = if line.is_empty() {
            writeln!(self.out)
        } else if inherited {
            writeln!(self.out, "  {PALE}{line}{PALE:#}")
        } else {
            writeln!(self.out, "  {line}")
        };
    }

    fn calls(&mut self, message: &Message, unfolded: &Unfolded) {
        let style = if message.origin == Origin::Inherited { PALE } else { Style::new() };
        for (_, name, arguments) in &unfolded.calls {
            let name = printable(name);
            if self.rows.full {
                let _ = writeln!(self.out, "  {PALE}→{PALE:#} {style}{name}{style:#}");
                for line in printable(arguments).lines() {
                    let _ = writeln!(self.out, "    {style}{line}{style:#}");
                }
                continue;
            }
            let room = self.reading.width.map(|width| width.saturating_sub(name.width() + 6));
            let gist = gist(arguments, room.unwrap_or(ARGUMENTS).clamp(20, ARGUMENTS));
            let _ =
                writeln!(self.out, "  {PALE}→{PALE:#} {style}{name}{style:#} {PALE}{gist}{PALE:#}");
        }
    }

    /// A line in parts that fit the terminal, broken at blanks where there are some.
    fn wrapped<'t>(&self, line: &'t str) -> Vec<&'t str> {
        let Some(width) = self.reading.width.map(|width| width.min(WIDEST).saturating_sub(3))
        else {
            return vec![line];
        };
        wrap(line, width.max(20))
    }
}

/// What matters most of a call's arguments, on one line of at most `room` columns.
pub(in crate::cli::replay) fn gist(arguments: &str, room: usize) -> String {
    const FIRST: [&str; 10] = [
        "command",
        "cmd",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
        "prompt",
        "description",
        "input",
    ];
    let value = serde_json::from_str::<serde_json::Value>(arguments).ok();
    let main = value.as_ref().and_then(|value| {
        let words = FIRST.iter().find_map(|key| value.get(key))?;
        match words {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Array(words) => {
                let words: Option<Vec<&str>> =
                    words.iter().map(serde_json::Value::as_str).collect();
                words.map(|words| words.join(" "))
            }
            _ => None,
        }
    });
    let text = printable(main.as_deref().unwrap_or(arguments));
    let one: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match wrap(&one, room).as_slice() {
        [] | [_] => one,
        [first, ..] => format!("{first}…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gist_of_a_call_is_its_command_or_path() {
        assert_eq!(gist(r#"{"timeout":3,"command":"ls\n-la"}"#, 20), "ls -la");
        assert_eq!(gist(r#"{"command":["bash","-lc","ls"]}"#, 20), "bash -lc ls");
        assert_eq!(gist("not json", 20), "not json");
        assert_eq!(gist(&"x".repeat(500), 20), format!("{}…", "x".repeat(20)));
    }
}
