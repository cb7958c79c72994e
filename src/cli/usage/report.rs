//! What was counted, as a report, as comma-separated values, and for people.

use std::{
    io::{self, Write},
    path::Path,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::table;
use crate::{
    cli::{
        output::{Report, grouped, printable},
        wrap::wrap,
    },
    fact::Tokens,
    ops::usage::{By, Money, Row},
    session::ledger::Account,
    store::Part,
};

/// The sums, the rows, and what they do not say.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Counted {
    pub(super) completions: u64,
    pub(super) totals: Totals,
    #[serde(flatten)]
    pub(super) cost: Option<Cost>,
    /// Where prices were not asked for, nothing is known.
    #[serde(skip_serializing_if = "Option::is_some")]
    pub(super) unpriced_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price_version: Option<String>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(super) rows: Vec<Value>,
    pub(super) copied: Copied,
    pub(super) unrecorded: u64,
    pub(super) lower_bound: u64,
    pub(super) orphans: u64,
    /// With --keep: completions of logs that are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kept: Option<u64>,
    pub(super) weak_keys: u64,
    /// With a range: calls without a time, which lie in none, whether they left usage or not.
    pub(super) undated: u64,
    pub(super) broken_lines: u64,
    pub(super) torn_tails: usize,
    pub(super) unread: usize,
    /// The logs in which something could not be read.
    pub(super) damaged: Vec<Damaged>,
    pub(super) files: usize,
    /// Ledger files that were written, or lie there already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ledger: Option<Vec<Part>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<super::budget::Spent>,
    #[serde(skip)]
    pub(super) table: Vec<Row>,
    #[serde(skip)]
    pub(super) sum: Row,
    #[serde(skip)]
    pub(super) by: Vec<By>,
    #[serde(skip)]
    pub(super) form: Form,
    /// How wide the terminal is; without one nothing is cut and nothing is drawn.
    #[serde(skip)]
    pub(super) width: Option<usize>,
}

/// A log in which something could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::cli) struct Damaged {
    pub(super) path: String,
    pub(super) broken_lines: u64,
    /// Whether its last line has no end: a write in progress, or one that was cut.
    pub(super) torn_tail: bool,
    /// Whether nothing of it could be read.
    pub(super) unread: bool,
}

impl Damaged {
    /// What is damaged in a log that was counted.
    pub(super) fn of(account: &Account) -> Option<Self> {
        let Account { broken_lines, torn: torn_tail, .. } = *account;
        let path = account.path.as_ref().filter(|_| broken_lines > 0 || torn_tail)?;
        Some(Self { path: path.display().to_string(), broken_lines, torn_tail, unread: false })
    }

    /// A log that could not be read.
    pub(super) fn unread(path: &Path) -> Self {
        let path = path.display().to_string();
        Self { path, broken_lines: 0, torn_tail: false, unread: true }
    }
}

/// How people get it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Table,
    Compact,
    Csv,
    /// Only the sum and what lies beside it: the rows went into a ledger.
    Sum,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(super) struct Counters {
    input: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    pub output: u64,
    reasoning: u64,
    pub total: u64,
}

impl From<&Tokens> for Counters {
    fn from(tokens: &Tokens) -> Self {
        let Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning } =
            *tokens;
        let total = tokens.total();
        Self { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, total }
    }
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(super) struct Totals {
    #[serde(flatten)]
    tokens: Counters,
    #[serde(flatten)]
    cost: Option<Cost>,
}

/// Dollars: what the logs say, and what a table of prices says. Tokens that it has no price for.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(super) struct Cost {
    cost_recorded: Option<f64>,
    cost_computed: Option<f64>,
    unpriced_tokens: u64,
}

impl Cost {
    pub fn of(money: &Money) -> Self {
        Self {
            cost_recorded: money.recorded.map(dollars),
            cost_computed: money.computed.map(dollars),
            unpriced_tokens: money.unpriced,
        }
    }
}

impl Totals {
    /// The counters of a row, with its cost where that was asked for.
    pub fn of(row: &Row, cost: bool) -> Self {
        let cost = cost.then(|| Cost::of(&row.money));
        Self { tokens: (&row.tokens).into(), cost }
    }
}

#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(super) struct Copied {
    pub records: u64,
    pub total: u64,
}

/// A row of the JSON report: its keys, then the counters.
pub(super) fn json_row(row: &Row, by: &[By], cost: bool) -> Value {
    let mut fields = Map::new();
    for (by, key) in by.iter().zip(&row.keys) {
        fields.insert(by.name().into(), key.clone().into());
    }
    fields.insert("completions".into(), row.completions.into());
    if let Value::Object(totals) =
        serde_json::to_value(Totals::of(row, cost)).expect("numbers always serialise")
    {
        fields.extend(totals);
    }
    Value::Object(fields)
}

/// Nano-dollars as dollars, to the last digit.
#[expect(clippy::cast_precision_loss, reason = "sums below nine million dollars are exact")]
pub(super) fn dollars(nano: u64) -> f64 {
    nano as f64 / 1e9
}

impl Report for Counted {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.form {
            Form::Csv => return self.csv(out),
            Form::Sum => {}
            Form::Table | Form::Compact => {
                let compact = self.form == Form::Compact;
                let rows = table::Rows {
                    by: &self.by,
                    rows: &self.table,
                    sum: &self.sum,
                    cost: self.cost.is_some(),
                };
                out.write_all(rows.draw(compact, self.width).as_bytes())?;
            }
        }
        for part in self.ledger.iter().flatten() {
            let path = printable(&part.path.display().to_string());
            let state = if part.written { "" } else { " (there already)" };
            writeln!(out, "{path}: {} rows, {} bytes{state}", part.rows, part.bytes)?;
        }
        self.beside(out)
    }
}

impl Counted {
    /// What the sums do not say, in one line.
    fn beside(&self, out: &mut dyn Write) -> io::Result<()> {
        let counts = [
            (self.copied.records, "copied record", "copied records", " not counted again"),
            (self.unrecorded, "call", "calls", " that left no usage"),
            (self.lower_bound, "output", "outputs", " never finalised"),
            (self.orphans, "completion", "completions", " whose owner's log is gone"),
            (self.kept.unwrap_or(0), "completion", "completions", " kept of logs that are gone"),
            (self.weak_keys, "completion", "completions", " without an id"),
            (self.undated, "call", "calls", " without a time, in no range"),
            (self.broken_lines, "broken line", "broken lines", ""),
            (self.torn_tails as u64, "last line", "last lines", " without an end"),
            (self.unread as u64, "file or folder", "files or folders", " that could not be read"),
            (self.sum.money.unpriced, "token", "tokens", " without a price"),
        ];
        let told = counts.iter().filter(|(count, ..)| *count > 0);
        let told = told.map(|(count, one, many, what)| {
            format!("{} {}{what}", grouped(*count), if *count == 1 { one } else { many })
        });
        let told: Vec<String> = told.collect();
        let more = |count: usize| match count {
            0 => String::new(),
            _ => format!(" and in {} more, which --json names", grouped(count as u64)),
        };
        let named = self.damaged.split_first().map_or_else(String::new, |(first, others)| {
            let (path, more) = (printable(&first.path), more(others.len()));
            format!(" (damage in {path}{more}; `sessctl replay --check FILE` tells what it is)")
        });
        if told.is_empty() {
            return Ok(());
        }
        let line = format!("{}{named}", told.join(", "));
        wrap(&line, self.width.unwrap_or(usize::MAX))
            .iter()
            .try_for_each(|part| writeln!(out, "{part}"))
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
        let priced = ["cost_recorded", "cost_computed", "unpriced_tokens"];
        let money: &[&str] = if self.cost.is_some() { &priced } else { &[] };
        csv.write_record(
            self.by.iter().map(|by| by.name()).chain(heads).chain(money.iter().copied()),
        )?;
        for row in &self.table {
            let Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning } =
                row.tokens;
            let numbers = [
                row.completions,
                input,
                cache_read,
                cache_write_5m,
                cache_write_1h,
                output,
                reasoning,
                row.tokens.total(),
            ];
            let keys = row.keys.iter().map(|key| printable(key));
            let numbers = numbers.map(|number| number.to_string());
            let mut cells: Vec<String> = keys.chain(numbers).collect();
            if self.cost.is_some() {
                let amount = |nano: Option<u64>| nano.map_or_else(String::new, decimal);
                cells.push(amount(row.money.recorded));
                cells.push(amount(row.money.computed));
                cells.push(row.money.unpriced.to_string());
            }
            csv.write_record(cells)?;
        }
        csv.flush()
    }
}

/// Nano-dollars as a decimal number of dollars, without the zeros at its end.
fn decimal(nano: u64) -> String {
    let text = format!("{}.{:09}", nano / 1_000_000_000, nano % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
