//! Where a log may be cut: no turn is open there, no call waits, and nothing that belongs together comes apart.

use std::str::FromStr;

use super::{Thread, turn::Turn};
use crate::{
    error::{Error, LastBoundary, Result},
    fact::{Fact, Id},
};

/// The place that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The end of the active path; refused when that is no boundary.
    Tip,
    /// The last boundary of the active path; what follows is left out.
    LastTurn,
    /// Before everything that belongs to the first turn.
    Start,
    /// Behind a turn, by its number or an id.
    Turn(String),
    /// Behind an event.
    Seq(u32),
    /// Behind a line of the session's own file, counted from one.
    Line(usize),
    /// Behind so many records of the path, as an earlier run found it.
    Records(usize),
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("tip", _) => Ok(Self::Tip),
            ("last-turn", _) => Ok(Self::LastTurn),
            ("start", _) => Ok(Self::Start),
            (_, Some(("turn", turn))) if !turn.is_empty() => Ok(Self::Turn(turn.into())),
            (_, Some(("seq", number))) => {
                number.parse().map(Self::Seq).map_err(|_| format!("`{number}` is no event number"))
            }
            (_, Some(("line", number))) => {
                number.parse().map(Self::Line).map_err(|_| format!("`{number}` is no line number"))
            }
            _ => Err("expected tip, last-turn, start, turn:N, turn:ID, seq:N or line:N".into()),
        }
    }
}

impl At {
    /// How it is asked for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Tip => Kind::Tip,
            Self::LastTurn => Kind::LastTurn,
            Self::Start => Kind::Start,
            Self::Turn(_) => Kind::Turn,
            Self::Seq(_) => Kind::Seq,
            Self::Line(_) | Self::Records(_) => Kind::Line,
        }
    }
}

/// How a boundary was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `tip`
    Tip,
    /// `last-turn`
    LastTurn,
    /// `start`
    Start,
    /// `turn:...`
    Turn,
    /// `seq:N`
    Seq,
    /// `line:N`
    Line,
}

impl Kind {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tip => "tip",
            Self::LastTurn => "last-turn",
            Self::Start => "start",
            Self::Turn => "turn",
            Self::Seq => "seq",
            Self::Line => "line",
        }
    }
}

/// A place where a log may be cut. Only this module makes one, so whoever holds it need not check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    keep: usize,
    kind: Kind,
    end: bool,
}

impl Boundary {
    /// The boundary at `at`, or why there is none. `forgiven`: an unbalanced call further up does not matter.
    pub fn find(thread: &Thread<'_>, at: &At, forgiven: bool) -> Result<Self> {
        let all = thread.path().len();
        let (kind, keep) = match at {
            At::Tip => (Kind::Tip, all),
            At::LastTurn => (Kind::LastTurn, last(thread, forgiven)),
            At::Start => (Kind::Start, thread.turns.list.first().map_or(all, |turn| turn.first)),
            At::Turn(name) => {
                let turn = named(thread, name)?;
                if turn.how.is_none() {
                    let line = thread.line_number(turn.opened);
                    return Err(Error::TurnInProgress {
                        turn: name.clone(),
                        line,
                        open_calls: thread.open_calls(),
                    });
                }
                (Kind::Turn, turn.last + 1)
            }
            At::Seq(number) => (Kind::Seq, behind_event(thread, *number)?),
            At::Line(number) => (Kind::Line, behind_line(thread, *number)?),
            At::Records(keep) => (Kind::Line, (*keep).min(all)),
        };
        if let Some(turn) = around(thread, keep) {
            return Err(match kind {
                Kind::Tip => open_turn(thread, turn),
                _ => Error::InvalidBoundary(format!(
                    "{} is inside the turn that opens on line {}",
                    describe(at),
                    thread.line_number(turn.opened)
                )),
            });
        }
        if let Some(from) = held(thread, keep) {
            let line = thread.line_number(from);
            return Err(Error::InvalidBoundary(format!(
                "{} is inside the compaction that starts on line {line}",
                describe(at)
            )));
        }
        Ok(Self { keep, kind, end: keep == all })
    }

    /// The end of a thread that is only looked at, boundary or not.
    #[must_use]
    pub fn end_of(thread: &Thread<'_>) -> Self {
        Self { keep: thread.path().len(), kind: Kind::Tip, end: true }
    }

    /// How many records of the path stand before the cut.
    #[must_use]
    pub fn keep(self) -> usize {
        self.keep
    }

    /// How it was asked for.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Whether the whole path stands before it.
    #[must_use]
    pub fn is_end(self) -> bool {
        self.end
    }
}

fn describe(at: &At) -> String {
    match at {
        At::Tip => "the tip".into(),
        At::LastTurn => "the last turn".into(),
        At::Start => "the start".into(),
        At::Turn(name) => format!("the end of turn {name}"),
        At::Seq(number) => format!("seq:{number}"),
        At::Line(number) => format!("line:{number}"),
        At::Records(keep) => format!("the place behind {keep} records"),
    }
}

/// The turn that a cut behind `keep` records would go through.
fn around<'a>(thread: &'a Thread<'_>, keep: usize) -> Option<&'a Turn> {
    let turns = &thread.turns;
    turns
        .list
        .iter()
        .chain(&turns.retracted)
        .find(|turn| turn.opened < keep && (turn.how.is_none() || turn.last >= keep))
}

/// The first record of the unit that a cut behind `keep` records would go through.
fn held(thread: &Thread<'_>, keep: usize) -> Option<usize> {
    let through =
        |(from, to): &&(usize, Option<usize>)| *from < keep && to.is_none_or(|to| to >= keep);
    thread.turns.held.iter().find(through).map(|(from, _)| *from)
}

fn last(thread: &Thread<'_>, forgiven: bool) -> usize {
    let turns = &thread.turns;
    let mut keep = thread.path().len();
    if let Some(broken) = turns.broken.filter(|_| !forgiven) {
        let turn = turns.list.iter().rev().find(|turn| turn.first <= broken);
        keep = turn.map_or(broken, |turn| turn.first);
    }
    loop {
        let before = keep;
        if let Some(turn) = around(thread, keep) {
            keep = turn.first;
        }
        if let Some(from) = held(thread, keep) {
            keep = from;
        }
        if keep == before {
            return keep;
        }
    }
}

fn open_turn(thread: &Thread<'_>, turn: &Turn) -> Error {
    let keep = last(thread, true);
    let turns =
        thread.turns.list.iter().filter(|turn| turn.how.is_some() && turn.last < keep).count();
    Error::OpenTurn {
        id: thread.session.id().into(),
        line: thread.line_number(turn.opened),
        open_calls: thread.open_calls(),
        last: Some(LastBoundary { turns, left_out: thread.path().len() - keep }),
    }
}

/// A turn by its number, its own id, or the id of any record in it.
fn named<'a>(thread: &'a Thread<'_>, name: &str) -> Result<&'a Turn> {
    let turns = &thread.turns.list;
    let unknown = || Error::TurnNotFound { wanted: name.into(), known: thread.turn_names() };
    let by_number = name.parse::<usize>().ok().and_then(|number| turns.get(number.checked_sub(1)?));
    if let Some(turn) = by_number {
        return Ok(turn);
    }
    let facts = &thread.session.facts;
    let ids: Vec<Id> = facts.all_known(name).collect();
    let is = |id: Option<Id>| id.is_some_and(|id| ids.contains(&id));
    if let Some(turn) = turns.iter().find(|turn| is(turn.id)) {
        return Ok(turn);
    }
    let opens = |at: usize| {
        facts
            .of(thread.path()[at])
            .any(|fact| matches!(fact, Fact::Opened(id) if ids.contains(&id)))
    };
    let at = (0..thread.path().len())
        .find(|at| is(thread.record_id(*at)) || opens(*at))
        .ok_or_else(unknown)?;
    turns.iter().find(|turn| (turn.first..=turn.last).contains(&at)).ok_or_else(unknown)
}

fn behind_event(thread: &Thread<'_>, wanted: u32) -> Result<usize> {
    let facts = &thread.session.facts;
    let mut numbered = false;
    for (at, line) in thread.path().iter().enumerate() {
        for fact in facts.of(*line) {
            let Fact::Numbered { first, count } = fact else { continue };
            numbered = true;
            let last = first.saturating_add(count - 1);
            if last == wanted {
                return Ok(at + 1);
            }
            if (first..last).contains(&wanted) {
                return Err(Error::InvalidBoundary(format!(
                    "event {wanted} stands inside the packed row of line {}",
                    line + 1
                )));
            }
        }
    }
    Err(Error::InvalidBoundary(if numbered {
        format!("there is no event {wanted}")
    } else {
        "the records of this log have no numbers".into()
    }))
}

fn behind_line(thread: &Thread<'_>, number: usize) -> Result<usize> {
    // People count in the session's own file.
    let first = thread.session.log.own_first();
    let lines = thread.session.log.lines() - first;
    if number == 0 || number > lines {
        return Err(Error::InvalidBoundary(format!(
            "there is no line {number}; the log has {lines}"
        )));
    }
    let index = first + number - 1;
    if thread.session.header().line.is_some_and(|line| line as usize == index) {
        return Ok(thread.path().iter().take_while(|line| (**line as usize) < index).count());
    }
    let at = thread.path().iter().position(|line| *line as usize == index);
    at.map(|at| at + 1)
        .ok_or_else(|| Error::InvalidBoundary(format!("line {number} is not on the active path")))
}
