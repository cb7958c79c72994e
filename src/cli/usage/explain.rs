//! `--explain`: every record that was counted and every one that was refused, with its place and the rule.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
};

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Serialize;

use super::report::Counters;
use crate::{
    cli::{
        Run,
        output::{Report, grouped, printable},
    },
    error::{Candidate, Error, Result},
    fact::{Key, Refused},
    ops::{export, usage::day_of},
    session::{
        explain::Explained,
        ledger::{Account, key},
    },
    store::{self, FoundBy, Glance},
};

/// What is to be explained.
pub(super) enum Question {
    /// A day, in a zone.
    Day(NaiveDate, Tz),
    /// A completion, an answer as its client names it, or a session.
    Id(String),
    /// A session's file.
    File(PathBuf),
}

impl Question {
    /// The question `text`. What names no session of the stores may be an id of something else.
    pub fn of(run: &Run, text: &str, zone: Tz) -> Result<Self> {
        if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            return Ok(Self::Day(day, zone));
        }
        let found = match run.store.find(text) {
            Ok(found) => found,
            Err(error @ (Error::SessionAmbiguous { .. } | Error::NoSuchTitle { .. })) => {
                return Err(error);
            }
            Err(_) => return Ok(Self::Id(text.to_owned())),
        };
        let session = || Some(Glance::at(&found.path)?.header.id);
        let id = if found.by == FoundBy::Path { None } else { session() };
        Ok(id.map_or_else(|| Self::File(run.env.absolute(&found.path)), Self::Id))
    }

    /// What is known of what was `asked`. Nothing is an answer for a day alone.
    pub fn answer(
        &self,
        asked: &str,
        told: &[Explained],
        accounts: &[Account],
    ) -> Result<Explanation> {
        if let Self::Id(name) = self {
            one_session(name, accounts)?;
        }
        let explanation = Explanation::of(self, told, accounts);
        if explanation.is_empty() && !matches!(self, Self::Day(..)) {
            return Err(Error::SessionNotFound(asked.to_owned()));
        }
        Ok(explanation)
    }

    /// Whether it is about a completion.
    pub fn is_about(&self, one: &Explained) -> bool {
        let completion = &one.completion;
        match self {
            Self::Day(day, zone) => {
                let on = |at: Option<DateTime<Utc>>| day_of(at, *zone) == Some(*day);
                on(completion.at) || one.records.iter().any(|record| on(record.at))
            }
            Self::Id(name) => {
                let named = || key(completion.client, Key::from(name.clone())) == completion.id;
                begins(&export::id(completion.id), name)
                    || begins(&completion.session, name)
                    || one.records.iter().any(|record| begins(&record.session, name))
                    || named()
            }
            Self::File(path) => one.records.iter().any(|record| record.path.as_ref() == Some(path)),
        }
    }

    /// Whether it is about a record of a log that is no completion.
    fn is_about_refused(&self, account: &Account, refused: &Refused) -> bool {
        match self {
            Self::Day(day, zone) => day_of(refused.at, *zone) == Some(*day),
            Self::Id(name) => begins(&account.session, name),
            Self::File(path) => account.path.as_ref() == Some(path),
        }
    }
}

/// Refuses the beginning of the ids of several sessions.
fn one_session(name: &str, accounts: &[Account]) -> Result<()> {
    let asked = accounts.iter().filter(|account| account.counted);
    let fits = asked.filter(|account| begins(&account.session, name));
    let found: BTreeMap<&str, &Account> =
        fits.map(|account| (account.session.as_ref(), account)).collect();
    if found.len() < 2 || found.contains_key(name) {
        return Ok(());
    }
    let candidate = |(id, account): (&str, &Account)| {
        Some(Candidate { id: id.to_owned(), path: account.path.clone()? })
    };
    let found = found.into_iter().filter_map(candidate).collect();
    Err(Error::SessionAmbiguous { name: name.to_owned(), found })
}

fn begins(id: &str, name: &str) -> bool {
    id == name || name.len() >= store::PREFIX && id.starts_with(name)
}

/// The answer.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Explanation {
    /// How many completions of it are in the sums.
    completions: u64,
    explained: Vec<One>,
    refused: Vec<Record>,
    /// The rules that came up, in a sentence each.
    rules: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize, JsonSchema)]
struct One {
    completion_id: String,
    counted: bool,
    /// Whether its output was never told to the end.
    lower_bound: bool,
    client: &'static str,
    session: String,
    family: String,
    kind: String,
    model: Option<String>,
    ts: Option<String>,
    #[serde(flatten)]
    tokens: Counters,
    records: Vec<Record>,
}

#[derive(Serialize, JsonSchema)]
struct Record {
    rule: &'static str,
    path: Option<PathBuf>,
    line: usize,
    session: String,
    ts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    tokens: Option<Counters>,
}

impl Explanation {
    /// Of completions, and of the records in `accounts` that are none.
    pub(super) fn of(question: &Question, explained: &[Explained], accounts: &[Account]) -> Self {
        let mut rules = BTreeMap::new();
        let ones = explained.iter().map(|one| {
            let completion = &one.completion;
            let records = one.records.iter().map(|record| {
                rules.insert(record.rule.name(), record.rule.why());
                Record {
                    rule: record.rule.name(),
                    path: record.path.clone(),
                    line: record.line,
                    session: record.session.as_ref().into(),
                    ts: record.at.map(text),
                    tokens: Some(Counters::from(&record.tokens)),
                }
            });
            One {
                records: records.collect(),
                completion_id: export::id(completion.id),
                counted: one.counts,
                lower_bound: completion.provisional && one.counts,
                client: completion.client,
                session: completion.session.as_ref().into(),
                family: completion.family.as_ref().into(),
                kind: completion.kind.as_ref().into(),
                model: completion.model.as_deref().map(Into::into),
                ts: completion.at.map(text),
                tokens: Counters::from(&completion.tokens),
            }
        });
        let mut ones: Vec<One> = ones.collect();
        ones.sort_by(|a, b| (&a.ts, &a.completion_id).cmp(&(&b.ts, &b.completion_id)));
        let mut refused = Vec::new();
        for account in accounts {
            for one in &account.refused {
                if account.counted && question.is_about_refused(account, one) {
                    rules.insert(one.why.name(), one.why.why());
                    refused.push(Record {
                        rule: one.why.name(),
                        path: account.path.clone(),
                        line: one.line as usize + 1,
                        session: account.session.as_ref().into(),
                        ts: one.at.map(text),
                        tokens: None,
                    });
                }
            }
        }
        let completions = ones.iter().filter(|one| one.counted).count() as u64;
        Self { completions, explained: ones, refused, rules }
    }

    /// Whether nothing is known of it.
    fn is_empty(&self) -> bool {
        self.explained.is_empty() && self.refused.is_empty()
    }
}

fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl Report for Explanation {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_empty() {
            writeln!(out, "no record of usage, counted or refused")?;
        }
        for one in &self.explained {
            let state = match (one.counted, one.lower_bound) {
                (true, true) => "counted, its output not to the end",
                (true, false) => "counted",
                (false, _) => "not counted",
            };
            writeln!(
                out,
                "{} {state}: {} {} {}, {}, {} tokens, session {}",
                &one.completion_id[..16],
                one.client,
                one.kind,
                printable(one.model.as_deref().unwrap_or("unknown")),
                one.ts.as_deref().unwrap_or("no time"),
                grouped(one.tokens.total),
                printable(&one.session),
            )?;
            for record in &one.records {
                record.say(out)?;
            }
        }
        if !self.refused.is_empty() {
            writeln!(out, "no completions:")?;
        }
        for record in &self.refused {
            record.say(out)?;
        }
        if !self.rules.is_empty() {
            writeln!(out)?;
        }
        for (rule, why) in &self.rules {
            writeln!(out, "{rule}: {why}")?;
        }
        Ok(())
    }
}

impl Record {
    fn say(&self, out: &mut dyn Write) -> io::Result<()> {
        let path = self.path.as_ref().map_or_else(String::new, |path| path.display().to_string());
        let counters = self.tokens.as_ref().map_or_else(String::new, |tokens| {
            format!("  ({} in all, {} out)", grouped(tokens.total), grouped(tokens.output))
        });
        writeln!(out, "  {:<15} {}:{}{counters}", self.rule, printable(&path), self.line)
    }
}
