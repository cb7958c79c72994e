//! `sessctl usage`

mod scope;

use std::io::{self, Write};

use chrono::{DateTime, Days, NaiveDate, Utc};
use chrono_tz::Tz;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use comfy_table::{CellAlignment, Table};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Run,
    output::{Answer, Output, Report},
};
use crate::{
    error::{Error, Result},
    fact::Tokens,
    ops::usage::{self, By, Row},
    session::ledger::Ledger,
};
use scope::Scope;

/// Account for every billed completion once
///
/// Whatever was forked, resumed, copied aside or repeated counts once, under the session that made the call. What a log
/// cannot tell is counted beside the totals, never as zero.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Sessions (path, id, =TITLE) or folders [default: all stores]
    #[arg(
        value_name = "SESSION|DIR",
        add = clap_complete::ArgValueCompleter::new(super::complete::sessions)
    )]
    what: Vec<String>,
    /// Group by; may be given several times [default: session]
    #[arg(long, value_name = "KEY", value_parser = keys())]
    by: Vec<By>,
    /// From this day or time on
    #[arg(long, value_name = "D", value_parser = when)]
    since: Option<When>,
    /// Up to this day, which is included, or time, which is not
    #[arg(long, value_name = "D", value_parser = when)]
    until: Option<When>,
    /// The zone of days, as an IANA name
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    timezone: Tz,
    /// Only the sessions named, without what derives from them
    #[arg(long, conflicts_with = "include_forks")]
    own: bool,
    /// With a session, also its forks
    #[arg(long)]
    include_forks: bool,
    /// Fewer columns
    #[arg(long, conflicts_with = "csv")]
    compact: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

/// The names of the groups, as clap lists them.
fn keys() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(By::name))
        .map(|name| By::ALL.into_iter().find(|by| by.name() == name).unwrap_or(By::Session))
}

/// A bound of a range.
#[derive(Clone, Copy, Debug)]
enum When {
    Day(NaiveDate),
    Time(DateTime<Utc>),
}

fn when(text: &str) -> Result<When, String> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").map(When::Day);
    let time = || DateTime::parse_from_rfc3339(text).map(|time| When::Time(time.to_utc()));
    day.or_else(|_| time())
        .map_err(|_| "expected a day like 2026-01-31 or a time like 2026-01-31T12:00:00Z".into())
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Counted {
    completions: u64,
    totals: Totals,
    #[schemars(with = "Vec<Map<String, Value>>")]
    rows: Vec<Value>,
    copied: Copied,
    unrecorded: u64,
    lower_bound: u64,
    orphans: u64,
    weak_keys: u64,
    broken_lines: u64,
    unread: usize,
    files: usize,
    #[serde(skip)]
    table: Vec<Row>,
    #[serde(skip)]
    by: Vec<By>,
    #[serde(skip)]
    form: Form,
}

/// How people get it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Table,
    Compact,
    Csv,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
struct Totals {
    input: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    output: u64,
    reasoning: u64,
    total: u64,
}

impl From<&Tokens> for Totals {
    fn from(tokens: &Tokens) -> Self {
        let Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning } =
            *tokens;
        Self {
            input,
            cache_read,
            cache_write_5m,
            cache_write_1h,
            output,
            reasoning,
            total: tokens.total(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Copied {
    records: u64,
    total: u64,
}

impl Report for Counted {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.form == Form::Csv {
            return self.csv(out);
        }
        let number = |number: u64| grouped(number);
        let columns = |row: &Row| -> Vec<String> {
            let tokens = &row.tokens;
            let write = tokens.cache_write_5m + tokens.cache_write_1h;
            let all = [
                row.completions,
                tokens.input,
                tokens.cache_read,
                write,
                tokens.output,
                tokens.total(),
            ];
            let all = all.map(number);
            if self.form == Form::Compact {
                vec![all[0].clone(), all[5].clone()]
            } else {
                all.to_vec()
            }
        };
        let heads: &[&str] = if self.form == Form::Compact {
            &["calls", "total"]
        } else {
            &["calls", "input", "cache read", "cache write", "output", "total"]
        };
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(self.by.iter().map(|by| by.name()).chain(heads.iter().copied()));
        for row in &self.table {
            table.add_row(
                row.keys.iter().map(|key| super::output::printable(key)).chain(columns(row)),
            );
        }
        let sum =
            Row { keys: Vec::new(), completions: self.completions, tokens: sum_of(&self.table) };
        let blank = self
            .by
            .iter()
            .enumerate()
            .map(|(nth, _)| if nth == 0 { "sum".to_owned() } else { String::new() });
        table.add_row(blank.chain(columns(&sum)));
        for column in table.column_iter_mut().skip(self.by.len()) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        self.beside(out)
    }
}

impl Counted {
    /// What the sums do not say, in one line.
    fn beside(&self, out: &mut dyn Write) -> io::Result<()> {
        let counts = [
            (self.copied.records, "copied records not counted again"),
            (self.unrecorded, "calls that left no usage"),
            (self.lower_bound, "outputs never finalised"),
            (self.orphans, "completions whose owner's log is gone"),
            (self.weak_keys, "completions without an id"),
            (self.broken_lines, "broken lines"),
            (self.unread as u64, "sessions that could not be read"),
        ];
        let told: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if told.is_empty() { Ok(()) } else { writeln!(out, "{}", told.join(", ")) }
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        let heads = [
            "completions",
            "input",
            "cache_read",
            "cache_write_5m",
            "cache_write_1h",
            "output",
            "reasoning",
            "total",
        ];
        csv.write_record(self.by.iter().map(|by| by.name()).chain(heads))?;
        for row in &self.table {
            let Totals {
                input,
                cache_read,
                cache_write_5m,
                cache_write_1h,
                output,
                reasoning,
                total,
            } = Totals::from(&row.tokens);
            let numbers = [
                row.completions,
                input,
                cache_read,
                cache_write_5m,
                cache_write_1h,
                output,
                reasoning,
                total,
            ];
            csv.write_record(
                row.keys
                    .iter()
                    .map(|key| super::output::printable(key))
                    .chain(numbers.map(|number| number.to_string())),
            )?;
        }
        csv.flush()
    }
}

fn sum_of(rows: &[Row]) -> Tokens {
    rows.iter().fold(Tokens::default(), |mut sum, row| {
        sum.add(&row.tokens);
        sum
    })
}

/// A number with a thin mark every three digits.
fn grouped(number: u64) -> String {
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

pub(super) fn run(run: &Run, args: &Args, _output: &Output) -> Result<Answer> {
    let scope = Scope::of(run, args)?;
    let adopts = scope.adopts;
    let (accounts, unread) = scope.accounts(run, args)?;
    let forks = args.include_forks;
    let families = move |kind: &str| {
        matches!(kind, "aside" | "subagent" | "compaction") || forks && kind == "fork"
    };
    let ledger = Ledger::of(&accounts, adopts, &families);
    let by = if args.by.is_empty() { vec![By::Session] } else { args.by.clone() };
    let range = range(args)?;
    let (rows, sum) = usage::rows(&ledger, &by, args.timezone, range);
    let counted = Counted {
        completions: sum.completions,
        totals: Totals::from(&sum.tokens),
        rows: rows.iter().map(|row| json_row(row, &by)).collect(),
        copied: Copied { records: ledger.copied.0, total: ledger.copied.1 },
        unrecorded: ledger.unrecorded,
        lower_bound: ledger.lower_bound(),
        orphans: ledger.orphans(),
        weak_keys: ledger.weak_keys(),
        broken_lines: ledger.broken_lines,
        unread,
        files: accounts.iter().filter(|account| account.counted).count(),
        table: rows,
        by,
        form: match (args.csv, args.compact) {
            (true, _) => Form::Csv,
            (_, true) => Form::Compact,
            _ => Form::Table,
        },
    };
    Ok(Answer { report: Some(Box::new(counted)), ..Answer::default() })
}

fn json_row(row: &Row, by: &[By]) -> Value {
    let mut fields = Map::new();
    for (by, key) in by.iter().zip(&row.keys) {
        fields.insert(by.name().into(), key.clone().into());
    }
    fields.insert("completions".into(), row.completions.into());
    if let Value::Object(totals) =
        serde_json::to_value(Totals::from(&row.tokens)).expect("numbers always serialise")
    {
        fields.extend(totals);
    }
    Value::Object(fields)
}

fn range(args: &Args) -> Result<usage::Range> {
    let zone = args.timezone;
    let start = |day: NaiveDate| {
        usage::start_of(day, zone)
            .ok_or_else(|| Error::BadUsage(format!("{day} does not begin in {zone}")))
    };
    let from = match args.since {
        Some(When::Day(day)) => Some(start(day)?),
        Some(When::Time(time)) => Some(time),
        None => None,
    };
    let to = match args.until {
        Some(When::Day(day)) => Some(start(day.checked_add_days(Days::new(1)).unwrap_or(day))?),
        Some(When::Time(time)) => Some(time),
        None => None,
    };
    Ok((from, to))
}
