//! Completions into rows: ranges and groups, after de-duplication and never before.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Utc};
use chrono_tz::Tz;

use crate::{
    fact::Tokens,
    session::ledger::{Completion, Ledger},
};

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let local = completion.at.map(|at| at.with_timezone(&zone).date_naive());
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

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The value of each group, in the order asked for.
    pub keys: Vec<String>,
    /// How many completions.
    pub completions: u64,
    /// How much.
    pub tokens: Tokens,
}

/// From when to when; either end may be open. The upper one is not part of it.
pub type Range = (Option<DateTime<Utc>>, Option<DateTime<Utc>>);

/// The instant at which a day begins in a zone; where a change of clocks skips midnight, the first one after it.
#[must_use]
pub fn start_of(day: NaiveDate, zone: Tz) -> Option<DateTime<Utc>> {
    (0..24)
        .find_map(|hour| zone.from_local_datetime(&day.and_hms_opt(hour, 0, 0)?).earliest())
        .map(|at| at.to_utc())
}

/// The rows of a ledger, in the order of their keys, and the sum of all of them.
#[must_use]
pub fn rows(ledger: &Ledger, by: &[By], zone: Tz, range: Range) -> (Vec<Row>, Row) {
    let mut rows: BTreeMap<Vec<String>, Row> = BTreeMap::new();
    let mut sum = Row::default();
    let inside = |completion: &&Completion| {
        let (from, to) = range;
        let at = completion.at;
        from.is_none_or(|from| at.is_some_and(|at| at >= from))
            && to.is_none_or(|to| at.is_some_and(|at| at < to))
    };
    for completion in ledger.completions.iter().filter(inside) {
        let keys: Vec<String> = by.iter().map(|by| by.of(completion, zone)).collect();
        let row = rows.entry(keys.clone()).or_insert_with(|| Row { keys, ..Row::default() });
        for row in [row, &mut sum] {
            row.completions += 1;
            row.tokens.add(&completion.tokens);
        }
    }
    (rows.into_values().collect(), sum)
}
