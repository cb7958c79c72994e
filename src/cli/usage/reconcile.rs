//! `--reconcile`: our sums beside those that the client itself keeps.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use comfy_table::{CellAlignment, Table};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    report::dollars,
    table::{lines, shortened, widest},
};
use crate::{
    cli::{
        output::{Report, grouped, printable},
        wrap::wrap,
    },
    fact::{Claim, Tokens, Word},
    session::ledger::{Account, Completion},
    store,
};

/// Both sums of every session whose client keeps one.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Reconciled {
    /// How many sums agree.
    agree: usize,
    /// How many do not.
    differ: usize,
    rows: Vec<Row>,
    /// How wide the terminal is.
    #[serde(skip)]
    width: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Row {
    client: &'static str,
    session: String,
    /// None where the client keeps one sum over all models.
    model: Option<String>,
    /// What the client says.
    claimed: Counters<u64>,
    /// What was counted.
    counted: Counters<u64>,
    /// What the client says more.
    difference: Counters<i64>,
    /// Dollars, as the client says.
    cost_claimed: Option<f64>,
    agrees: bool,
}

#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct Counters<N> {
    input: N,
    cache_read: N,
    cache_write: N,
    output: N,
    total: N,
}

impl From<&Tokens> for Counters<u64> {
    fn from(tokens: &Tokens) -> Self {
        Self {
            input: tokens.input,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write_5m.saturating_add(tokens.cache_write_1h),
            output: tokens.output,
            total: tokens.total(),
        }
    }
}

impl Counters<u64> {
    fn of<'a>(completions: impl Iterator<Item = &'a Completion>) -> Self {
        let mut sum = Tokens::default();
        for one in completions {
            sum.add(&one.tokens);
        }
        Self::from(&sum)
    }

    fn less(self, other: Self) -> Counters<i64> {
        let less = |a: u64, b: u64| {
            i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(if a > b {
                i64::MAX
            } else {
                i64::MIN
            })
        };
        Counters {
            input: less(self.input, other.input),
            cache_read: less(self.cache_read, other.cache_read),
            cache_write: less(self.cache_write, other.cache_write),
            output: less(self.output, other.output),
            total: less(self.total, other.total),
        }
    }
}

/// Client, session, and the model where the client keeps a sum for each.
type Scope<'a> = (&'static str, &'a str, Option<Word>);

impl Reconciled {
    /// Of the sessions that were counted.
    pub fn of(accounts: &[Account], completions: &[Completion], width: Option<usize>) -> Self {
        let mut claims: BTreeMap<Scope<'_>, Vec<&Claim>> = BTreeMap::new();
        for account in accounts.iter().filter(|account| account.counted) {
            for claim in &account.claims {
                let scope = (account.client, account.session.as_ref(), claim.model.clone());
                let same = claims.entry(scope).or_default();
                // A file that lies in two places says the same twice; another file of the session says something else.
                if !same.contains(&claim) {
                    same.push(claim);
                }
            }
        }
        let rows: Vec<Row> = claims
            .into_iter()
            .map(|(scope, claims)| Row::of(&scope, &claims, completions))
            .collect();
        let agree = rows.iter().filter(|row| row.agrees).count();
        Self { agree, differ: rows.len() - agree, rows, width }
    }

    /// The rows, with names of at most that length.
    fn table(&self, most: Option<usize>) -> Table {
        let mut ids: Vec<String> = self.rows.iter().map(|row| row.session.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        // The start of an id is taken for it, as far as it tells it from others.
        let id = |id: &str| {
            let apart = if most == Some(store::PREFIX) { 0 } else { store::start_of(id, &ids) };
            let enough = most.map_or(usize::MAX, |most| most.max(apart));
            printable(id).chars().take(enough).collect::<String>()
        };
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(["client", "session", "model", "client's sum", "counted", "more"]);
        for row in &self.rows {
            let more = row.difference.total;
            let sign = if more < 0 { "-" } else { "" };
            table.add_row([
                row.client.to_owned(),
                id(&row.session),
                shortened(&printable(row.model.as_deref().unwrap_or("all")), most),
                grouped(row.claimed.total),
                grouped(row.counted.total),
                format!("{sign}{}", grouped(more.unsigned_abs())),
            ]);
        }
        for column in table.column_iter_mut().skip(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

impl Row {
    fn of(scope: &Scope<'_>, claims: &[&Claim], completions: &[Completion]) -> Self {
        let (client, session, model) = scope;
        let mut claimed = Tokens::default();
        for claim in claims {
            claimed.add(&claim.tokens);
        }
        let cost = claims.iter().filter_map(|claim| claim.cost).reduce(u64::saturating_add);
        let here = |one: &&Completion| {
            let named = || one.model.as_deref().unwrap_or_default().split('[').next();
            one.client == *client
                && match model {
                    // A sum of each model is over the session and its helpers.
                    Some(model) => {
                        one.family.as_ref() == *session && named() == Some(model.as_ref())
                    }
                    None => one.session.as_ref() == *session,
                }
        };
        // Some versions leave compactions out of a running total.
        let talk = |one: &&Completion| model.is_some() || one.kind.as_ref() != "compaction";
        let claimed = Counters::from(&claimed);
        let all = Counters::of(completions.iter().filter(here));
        let without = Counters::of(completions.iter().filter(here).filter(talk));
        let counted = if claimed == without { without } else { all };
        let difference = claimed.less(counted);
        Self {
            client,
            session: (*session).to_owned(),
            model: model.as_deref().map(Into::into),
            claimed,
            counted,
            difference,
            cost_claimed: cost.map(dollars),
            agrees: claimed == counted,
        }
    }
}

impl Report for Reconciled {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let fits = |drawn: &String| self.width.is_none_or(|width| widest(drawn) <= width);
        let length = |row: &Row| row.session.len().max(row.model.as_ref().map_or(0, String::len));
        let longest = self.rows.iter().map(length).max().unwrap_or(0);
        let lengths = (store::PREFIX..=longest.max(store::PREFIX)).rev();
        let mut drawn = lengths.map(|most| lines(&self.table(Some(most))));
        let narrowest = || lines(&self.table(Some(store::PREFIX)));
        let drawn = drawn.find(fits).unwrap_or_else(narrowest);
        out.write_all(drawn.as_bytes())?;
        writeln!(out, "{} agree, {} differ", self.agree, self.differ)?;
        if self.differ > 0 {
            let why = "more: calls that left no record, such as compactions, titles and side questions, or a fork that \
                       goes on from its parent's sum; less: calls of a process that was killed";
            for part in wrap(why, self.width.unwrap_or(usize::MAX)) {
                writeln!(out, "{part}")?;
            }
        }
        Ok(())
    }
}
