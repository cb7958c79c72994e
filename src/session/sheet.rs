//! An account as it is written down: what one file states of what was paid, one record for each, never a sum. No words of
//! a conversation are in it.

use std::{collections::HashMap, num::NonZeroU128};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    ledger::{Account, KINDS},
    resume::Bookmark,
};
use crate::{
    fact::{Claim, Key, Telling, Tokens, Usage, Word},
    format,
};

/// An account without its path. Names that come again and again stand once, in `words`, and are meant by their place
/// there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sheet {
    client: String,
    session: String,
    parent: Option<String>,
    created: Option<Moment>,
    cwd: Option<String>,
    kind: String,
    /// By earlier versions: how many calls left no usage.
    unrecorded: u64,
    carried: Option<(u32, Counters)>,
    lines: u64,
    broken_lines: u64,
    torn: bool,
    words: Vec<String>,
    usages: Vec<Spent>,
    claims: Vec<Claimed>,
}

/// Seconds since 1970, and nanoseconds.
type Moment = (i64, u32);

/// The place of a word.
type Spot = Option<u32>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Spent {
    line: u32,
    key: u128,
    at: Option<Moment>,
    tokens: Counters,
    cost: Option<u64>,
    kind: Spot,
    provider: Spot,
    model: Spot,
    tier: Spot,
    owner: Spot,
    inherited: Option<bool>,
    weak: bool,
    derived: bool,
    provisional: bool,
    itemized: bool,
    telling: u8,
    figures: Option<u128>,
    again: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Claimed {
    line: u32,
    model: Spot,
    tokens: Counters,
    cost: Option<u64>,
}

/// Input, read from the cache, written to it for five minutes and for an hour, output, reasoning.
type Counters = [u64; 6];

const TELLINGS: [Telling; 7] = [
    Telling::Own,
    Telling::Folded,
    Telling::Others,
    Telling::Carried,
    Telling::Nothing,
    Telling::Relayed,
    Telling::Turn,
];

impl Sheet {
    /// The sheet of an account.
    #[must_use]
    pub fn of(account: &Account) -> Self {
        let mut words = Words::default();
        let usages = account.usages.iter().map(|usage| Spent::of(usage, &mut words)).collect();
        let claims = account.claims.iter().map(|claim| Claimed::of(claim, &mut words)).collect();
        Self {
            client: account.client.into(),
            session: account.session.as_ref().into(),
            parent: account.parent.as_deref().map(Into::into),
            created: account.created.map(moment),
            cwd: account.cwd.as_deref().map(Into::into),
            kind: account.kind.into(),
            unrecorded: 0,
            carried: account.carried.map(|(line, total)| (line, counters(&total))),
            lines: account.lines,
            broken_lines: account.broken_lines,
            torn: account.torn,
            words: words.list,
            usages,
            claims,
        }
    }

    /// The account that it is of. None where it names what this version does not know.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        let words: Vec<Word> = self.words.iter().map(|word| word.as_str().into()).collect();
        let usages = self.usages.iter().map(|spent| spent.usage(&words));
        let missed = (0..self.unrecorded).map(|nth| {
            let key = format!("{}\0{nth}", self.session).into();
            Some(Usage { key, telling: Telling::Nothing, ..Usage::default() })
        });
        let claims = self.claims.iter().map(|claimed| claimed.claim(&words));
        Some(Account {
            path: None,
            client: format::by_name(&self.client)?.name(),
            session: self.session.as_str().into(),
            parent: self.parent.as_deref().map(Into::into),
            created: time(self.created)?,
            cwd: self.cwd.as_deref().map(Into::into),
            kind: KINDS.into_iter().find(|kind| *kind == self.kind)?,
            usages: usages.chain(missed).collect::<Option<_>>()?,
            claims: claims.collect::<Option<_>>()?,
            refused: Vec::new(),
            carried: self.carried.map(|(line, total)| (line, tokens(total))),
            lines: self.lines,
            broken_lines: self.broken_lines,
            torn: self.torn,
            kept: false,
            counted: true,
        })
    }
}

impl Spent {
    fn of(usage: &Usage, words: &mut Words) -> Self {
        Self {
            line: usage.line,
            key: usage.key.0,
            at: usage.at.map(moment),
            tokens: counters(&usage.tokens),
            cost: usage.cost,
            kind: words.place(usage.kind.as_ref()),
            provider: words.place(usage.provider.as_ref()),
            model: words.place(usage.model.as_ref()),
            tier: words.place(usage.tier.as_ref()),
            owner: words.place(usage.owner.as_ref()),
            inherited: usage.inherited,
            weak: usage.weak,
            derived: usage.derived,
            provisional: usage.provisional,
            itemized: usage.itemized,
            telling: usage.telling as u8,
            figures: usage.figures.map(NonZeroU128::get),
            again: usage.again,
        }
    }

    fn usage(&self, words: &[Word]) -> Option<Usage> {
        Some(Usage {
            line: self.line,
            key: Key(self.key),
            weak: self.weak,
            derived: self.derived,
            kind: word(self.kind, words)?,
            provider: word(self.provider, words)?,
            model: word(self.model, words)?,
            tier: word(self.tier, words)?,
            at: time(self.at)?,
            tokens: tokens(self.tokens),
            cost: self.cost,
            inherited: self.inherited,
            provisional: self.provisional,
            itemized: self.itemized,
            owner: word(self.owner, words)?,
            figures: self.figures.and_then(NonZeroU128::new),
            telling: *TELLINGS.get(usize::from(self.telling))?,
            again: self.again,
        })
    }
}

impl Claimed {
    fn of(claim: &Claim, words: &mut Words) -> Self {
        Self {
            line: claim.line,
            model: words.place(claim.model.as_ref()),
            tokens: counters(&claim.tokens),
            cost: claim.cost,
        }
    }

    fn claim(&self, words: &[Word]) -> Option<Claim> {
        Some(Claim {
            line: self.line,
            model: word(self.model, words)?,
            tokens: tokens(self.tokens),
            cost: self.cost,
        })
    }
}

/// Words by their place.
#[derive(Default)]
struct Words {
    list: Vec<String>,
    places: HashMap<Word, u32>,
}

impl Words {
    fn place(&mut self, word: Option<&Word>) -> Spot {
        let word = word?;
        if let Some(known) = self.places.get(word) {
            return Some(*known);
        }
        let place = u32::try_from(self.list.len()).expect("a log has fewer lines");
        self.list.push(word.as_ref().into());
        self.places.insert(word.clone(), place);
        Some(place)
    }
}

/// The word at a place; the outer none is a place where there is no word.
fn word(place: Spot, words: &[Word]) -> Option<Option<Word>> {
    match place {
        None => Some(None),
        Some(place) => words.get(place as usize).map(|word| Some(word.clone())),
    }
}

fn moment(at: DateTime<Utc>) -> Moment {
    (at.timestamp(), at.timestamp_subsec_nanos())
}

/// The instant; the outer none is one that there cannot be.
fn time(at: Option<Moment>) -> Option<Option<DateTime<Utc>>> {
    match at {
        None => Some(None),
        Some((secs, nanos)) => DateTime::from_timestamp(secs, nanos).map(Some),
    }
}

fn counters(tokens: &Tokens) -> Counters {
    let Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning } = *tokens;
    [input, cache_read, cache_write_5m, cache_write_1h, output, reasoning]
}

fn tokens(counters: Counters) -> Tokens {
    let [input, cache_read, short, long, output, reasoning] = counters;
    Tokens { input, cache_read, cache_write_5m: short, cache_write_1h: long, output, reasoning }
}

/// What reading a file came to, as far as its bytes alone decide it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reading {
    /// It is a session's; with where it was read to, if a later run may go on there.
    Account(Box<Sheet>, Option<Box<Bookmark>>),
    /// No client that is known wrote it, or nothing is in it.
    Foreign,
    /// A session that cannot be read.
    Damaged,
}

impl Reading {
    /// As few bytes.
    #[must_use]
    pub fn pack(&self) -> Option<Vec<u8>> {
        postcard::to_stdvec(self).ok()
    }

    /// The reading that bytes were made of.
    #[must_use]
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}
