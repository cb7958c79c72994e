//! What was counted, as it is answered.

use std::io::IsTerminal;

use super::{
    Args,
    report::{Cost, Counted, Form, Totals, json_row},
    statusline::Line,
    sums::{Beside, Sums},
    table,
};
use crate::{
    cli::output::Answer,
    ops::usage::{self, By},
    session::ledger::Completion,
    store,
};

/// What was counted.
pub(super) struct Told<'a> {
    pub sums: Sums<'a>,
    pub beside: Beside,
    pub range: usage::Range,
    pub today: bool,
    pub price_version: Option<String>,
    pub written: Option<Vec<store::Part>>,
    /// Those that are shown under their parents.
    pub completions: Vec<Completion>,
}

impl<'a> Told<'a> {
    /// Sums, and no more.
    pub fn of(sums: Sums<'a>, beside: Beside, range: usage::Range) -> Self {
        Self {
            sums,
            beside,
            range,
            today: false,
            price_version: None,
            written: None,
            completions: Vec::new(),
        }
    }
}

/// The answer to what was asked.
pub(super) fn answer(args: &Args, by: &[By], told: Told<'_>) -> Answer {
    let Told { sums, beside, range, today, price_version, written, completions } = told;
    let Sums { lower_bound, orphans, weak_keys, kept, copied, mut undated, .. } = sums;
    let (unrecorded, outside): (Vec<_>, Vec<_>) =
        beside.unrecorded.into_iter().partition(|at| usage::inside(*at, range));
    undated += outside.iter().filter(|at| at.is_none()).count() as u64;
    let (rows, sum) = sums.rows();
    let unread = beside.damaged.iter().find(|log| log.unread).map(|log| log.path.as_str());
    let (spent, failure) = args.fail_over.as_ref().map(|limit| limit.check(&sum, unread)).unzip();
    let answer =
        |report| Answer { report: Some(report), failure: failure.flatten(), ..Answer::default() };
    if args.statusline {
        return answer(Box::new(Line::of(&sum, args.cost, today)));
    }
    let cost = args.cost;
    let json_rows = rows.iter().map(|row| json_row(row, by, cost)).collect();
    let rows = if completions.is_empty() { rows } else { table::under_parents(rows, &completions) };
    let counted = Counted {
        completions: sum.completions,
        totals: Totals::of(&sum, cost),
        cost: cost.then(|| Cost::of(&sum.money)),
        unpriced_tokens: cost.then_some(sum.money.unpriced),
        price_version: price_version.filter(|_| cost),
        rows: json_rows,
        copied,
        unrecorded: unrecorded.len() as u64,
        lower_bound,
        orphans,
        kept: args.keep.then_some(kept),
        weak_keys,
        undated,
        broken_lines: beside.broken_lines,
        torn_tails: beside.damaged.iter().filter(|log| log.torn_tail).count(),
        unread: beside.unread,
        damaged: beside.damaged,
        files: beside.files,
        form: match (args.csv, args.compact) {
            (true, _) => Form::Csv,
            (_, true) => Form::Compact,
            _ if written.is_some() => Form::Sum,
            _ => Form::Table,
        },
        ledger: written,
        budget: spent,
        table: rows,
        sum,
        by: by.to_vec(),
        width: width(),
    };
    let nothing = counted.files == 0 && counted.completions == 0 && counted.unread == 0;
    let hint = nothing.then(|| "no log is there; `--store DIR` looks elsewhere".to_owned());
    Answer { hint, ..answer(Box::new(counted)) }
}

/// How wide the terminal is that the answer goes to.
pub(super) fn width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}
