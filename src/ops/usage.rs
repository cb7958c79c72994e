//! Completions into rows: ranges and groups, after de-duplication and never before.

use std::collections::HashMap;

use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Utc};
use chrono_tz::Tz;

use crate::{
    fact::{Tokens, Word},
    session::ledger::Completion,
};

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
    /// The session that made the call.
    Session,
    /// The root of its family.
    Family,
    /// The day in the zone.
    Day,
    /// The ISO week in the zone.
    Week,
    /// The month in the zone.
    Month,
    /// The model, as the log names it.
    Model,
    /// The client.
    Client,
    /// The working folder.
    Project,
    /// The kind of call.
    Kind,
}

impl By {
    /// Every group there is.
    pub const ALL: [Self; 9] = [
        Self::Session,
        Self::Family,
        Self::Day,
        Self::Week,
        Self::Month,
        Self::Model,
        Self::Client,
        Self::Project,
        Self::Kind,
    ];

    /// The key in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Family => "family",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Model => "model",
            Self::Client => "client",
            Self::Project => "project",
            Self::Kind => "kind",
        }
    }

    fn of(self, completion: &Completion, zone: Tz) -> String {
        let local = day_of(completion.at, zone);
        let dated = |format: &dyn Fn(NaiveDate) -> String| local.map_or_else(String::new, format);
        match self {
            Self::Session => completion.session.as_ref().to_owned(),
            Self::Family => completion.family.as_ref().to_owned(),
            Self::Day => dated(&|day| day.format("%Y-%m-%d").to_string()),
            Self::Week => {
                dated(&|day| format!("{}-W{:02}", day.iso_week().year(), day.iso_week().week()))
            }
            Self::Month => dated(&|day| day.format("%Y-%m").to_string()),
            Self::Model => completion.model.as_deref().unwrap_or("unknown").to_owned(),
            Self::Client => completion.client.into(),
            Self::Project => completion.cwd.as_deref().unwrap_or_default().to_owned(),
            Self::Kind => completion.kind.as_ref().to_owned(),
        }
    }
}

/// Money in nano-dollars, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Money {
    /// What the logs say; none where none says anything.
    pub recorded: Option<u64>,
    /// What a table of prices says; none where it says nothing.
    pub computed: Option<u64>,
    /// What was paid as far as is known: what the log says, or else what the table says.
    pub spent: u64,
    /// How many tokens the table has no price for.
    pub unpriced: u64,
    /// How many of these have no price in the log either.
    pub unknown: u64,
}

impl Money {
    fn add(&mut self, completion: &Completion) {
        let (recorded, computed) = (completion.cost_recorded, completion.cost_computed);
        for (sum, more) in [(&mut self.recorded, recorded), (&mut self.computed, computed)] {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
        self.spent = self.spent.saturating_add(recorded.or(computed).unwrap_or(0));
        self.unpriced = self.unpriced.saturating_add(completion.unpriced);
        if recorded.is_none() {
            self.unknown = self.unknown.saturating_add(completion.unpriced);
        }
    }
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The value of each group, in the order asked for.
    pub keys: Vec<String>,
    /// How many completions.
    pub completions: u64,
    /// How much.
    pub tokens: Tokens,
    /// What it cost.
    pub money: Money,
}

/// From when to when; either end may be open. The upper one is not part of it.
pub type Range = (Option<DateTime<Utc>>, Option<DateTime<Utc>>);

/// Whether something lies in a range. What has no time lies only in the range of all times.
#[must_use]
pub fn inside(at: Option<DateTime<Utc>>, (from, to): Range) -> bool {
    from.is_none_or(|from| at.is_some_and(|at| at >= from))
        && to.is_none_or(|to| at.is_some_and(|at| at < to))
}

/// The day of an instant in a zone.
#[must_use]
pub fn day_of(at: Option<DateTime<Utc>>, zone: Tz) -> Option<NaiveDate> {
    at.map(|at| at.with_timezone(&zone).date_naive())
}

/// The instant at which a day begins in a zone; where a change of clocks skips midnight, the first one after it.
#[must_use]
pub fn start_of(day: NaiveDate, zone: Tz) -> Option<DateTime<Utc>> {
    (0..24)
        .find_map(|hour| zone.from_local_datetime(&day.and_hms_opt(hour, 0, 0)?).earliest())
        .map(|at| at.to_utc())
}

/// Where the words of a completion lie, and its day if that matters.
type Words = ([usize; 6], Option<NaiveDate>);

/// Rows of completions that come one by one.
pub struct Rows<'a> {
    by: &'a [By],
    zone: Tz,
    dated: bool,
    rows: Vec<Row>,
    places: HashMap<Vec<String>, usize>,
    /// Where completions went that had the very same words.
    known: HashMap<Words, usize>,
    /// Where the last one went.
    last: Option<(Words, usize)>,
    /// These words: as long as they are here, no others lie at their place.
    words: Vec<[Option<Word>; 5]>,
    sum: Row,
}

impl<'a> Rows<'a> {
    /// No rows yet.
    #[must_use]
    pub fn new(by: &'a [By], zone: Tz) -> Self {
        Self {
            by,
            zone,
            dated: by.iter().any(|by| matches!(by, By::Day | By::Week | By::Month)),
            rows: Vec::new(),
            places: HashMap::new(),
            known: HashMap::new(),
            last: None,
            words: Vec::new(),
            sum: Row::default(),
        }
    }

    /// Whether it matters when something was.
    #[must_use]
    pub fn is_dated(&self) -> bool {
        self.dated
    }

    /// Adds one.
    pub fn add(&mut self, completion: &Completion) {
        let at = self.place(completion);
        for row in [&mut self.rows[at], &mut self.sum] {
            row.completions += 1;
            row.tokens.add(&completion.tokens);
            row.money.add(completion);
        }
    }

    /// The row that a completion belongs to. Most have the words of others, which are compared by where they lie.
    fn place(&mut self, completion: &Completion) -> usize {
        let address = |word: &Word| word.as_ptr() as usize;
        let optional = |word: &Option<Word>| word.as_ref().map_or(0, address);
        let words = [
            completion.client.as_ptr() as usize,
            address(&completion.session),
            address(&completion.family),
            address(&completion.kind),
            optional(&completion.model),
            optional(&completion.cwd),
        ];
        let day = if self.dated { day_of(completion.at, self.zone) } else { None };
        if let Some((last, at)) = &self.last
            && *last == (words, day)
        {
            return *at;
        }
        if let Some(known) = self.known.get(&(words, day)) {
            self.last = Some(((words, day), *known));
            return *known;
        }
        let keys: Vec<String> = self.by.iter().map(|by| by.of(completion, self.zone)).collect();
        let at = *self.places.entry(keys).or_insert_with_key(|keys| {
            self.rows.push(Row { keys: keys.clone(), ..Row::default() });
            self.rows.len() - 1
        });
        self.known.insert((words, day), at);
        self.last = Some(((words, day), at));
        let Completion { maker, kind, model, .. } = completion;
        let [session, family, kind] =
            [&maker.session, &maker.family, kind].map(|word| Some(word.clone()));
        self.words.push([session, family, kind, model.clone(), maker.cwd.clone()]);
        at
    }

    /// The rows in the order of their keys, and the sum of all of them.
    #[must_use]
    pub fn finish(mut self) -> (Vec<Row>, Row) {
        self.rows.sort_by(|a, b| a.keys.cmp(&b.keys));
        (self.rows, self.sum)
    }
}
