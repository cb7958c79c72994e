//! `--statusline`: one short line for a prompt.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    report::{Cost, Totals},
    table,
};
use crate::{cli::output::Report, ops::usage::Row};

/// What was spent, in one line.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Line {
    completions: u64,
    totals: Totals,
    #[serde(flatten)]
    cost: Option<Cost>,
    statusline: String,
}

impl Line {
    /// Of a sum, with what is known of its cost where that is asked for.
    pub fn of(sum: &Row, cost: bool, today: bool) -> Self {
        let calls = if sum.completions == 1 { "call" } else { "calls" };
        let mut parts = vec![
            format!("{} tok", table::brief(sum.tokens.total())),
            format!("{} {calls}", table::brief(sum.completions)),
        ];
        if cost {
            let more = if sum.money.unknown > 0 { "+" } else { "" };
            parts.push(format!("{}{more}", table::money(sum.money.spent)));
        }
        let mut statusline = parts.join(" · ");
        if today {
            statusline.push_str(" today");
        }
        let totals = Totals::of(sum, cost);
        let cost = cost.then(|| Cost::of(&sum.money));
        Self { completions: sum.completions, totals, cost, statusline }
    }
}

impl Report for Line {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.statusline)
    }
}
