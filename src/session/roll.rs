//! The completions of a ledger as they are left to the next run over the same files: each as far as sums need it.

use std::{borrow::Cow, hash::BuildHasher as _, sync::Arc};

use chrono::{DateTime, Utc};
use hashbrown::{DefaultHashBuilder, HashTable};
use serde::{Deserialize, Serialize};

use super::ledger::{Completion, Maker};
use crate::{
    fact::{Tokens, Word},
    format,
};

/// The completions of some files, together where they have much in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Roll<'a> {
    #[serde(borrow)]
    groups: Vec<Group<'a>>,
    /// The completions of all groups, one behind the other.
    #[serde(borrow)]
    packed: Cow<'a, [u8]>,
}

/// What some completions have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Common<'a> {
    client: &'a str,
    session: &'a str,
    family: &'a str,
    kind: &'a str,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    tier: Option<&'a str>,
    cwd: Option<&'a str>,
}

/// It, and of how many.
type Group<'a> = (Common<'a>, u64);

/// A completion begins with what is so of it.
const TIMED: u64 = 1;
const WEAK: u64 = 2;
const ORPHAN: u64 = 4;
const PROVISIONAL: u64 = 8;
/// It has a time finer than milliseconds.
const FINE: u64 = 16;
/// It has a cost.
const COSTED: u64 = 32;
/// It stands in other logs too.
const COPIED: u64 = 128;
/// It has more counters than input, reading from the cache and output.
const MORE: u64 = 64;

/// A roll that completions are written to, one after the other.
#[derive(Default)]
pub struct Scribe {
    groups: Vec<Page>,
    /// Places in `groups`, by what is common there.
    places: HashTable<usize>,
    hasher: DefaultHashBuilder,
    /// Where the last one was written.
    last: Option<usize>,
}

/// What some completions have in common, and what each has of its own.
struct Page {
    /// One of them.
    first: Completion,
    count: u64,
    /// The time of the last one, in milliseconds.
    last: i64,
    packed: Vec<u8>,
}

impl Scribe {
    /// Writes a completion down.
    pub fn add(&mut self, completion: &Completion) {
        let at = self.place(completion);
        self.last = Some(at);
        let page = &mut self.groups[at];
        page.count += 1;
        write(completion, &mut page.last, &mut page.packed);
    }

    fn place(&mut self, completion: &Completion) -> usize {
        // Most have the words of the one before, which lie at the same place.
        if let Some(last) = self.last.filter(|last| is_alike(&self.groups[*last].first, completion))
        {
            return last;
        }
        let (groups, hasher) = (&self.groups, &self.hasher);
        let common = Common::of(completion);
        let hash = hasher.hash_one(&common);
        let is = |at: &usize| Common::of(&groups[*at].first) == common;
        if let Some(at) = self.places.find(hash, is) {
            return *at;
        }
        let at = groups.len();
        let rehash = |at: &usize| hasher.hash_one(Common::of(&groups[*at].first));
        self.places.insert_unique(hash, at, rehash);
        let first = completion.clone();
        self.groups.push(Page { first, count: 0, last: 0, packed: Vec::new() });
        at
    }

    /// What was written.
    #[must_use]
    pub fn roll(&self) -> Roll<'_> {
        let mut pages: Vec<&Page> = self.groups.iter().collect();
        pages.sort_by(|a, b| Common::of(&a.first).cmp(&Common::of(&b.first)));
        let packed: Vec<&[u8]> = pages.iter().map(|page| page.packed.as_slice()).collect();
        let packed = packed.concat().into();
        let groups = pages.iter().map(|page| (Common::of(&page.first), page.count)).collect();
        Roll { groups, packed }
    }
}

/// Whether two completions have the very same words.
fn is_alike(a: &Completion, b: &Completion) -> bool {
    let same = |a: &Option<Word>, b: &Option<Word>| match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a.as_ptr(), b.as_ptr()),
        (None, None) => true,
        _ => false,
    };
    Arc::ptr_eq(&a.maker, &b.maker)
        && std::ptr::eq(a.kind.as_ptr(), b.kind.as_ptr())
        && same(&a.provider, &b.provider)
        && same(&a.model, &b.model)
        && same(&a.tier, &b.tier)
}

impl Roll<'_> {
    /// Hands on every completion; without its time unless `timed`, since that takes some. None where it is no roll that
    /// this version made.
    pub fn each(&self, timed: bool, visit: &mut dyn FnMut(&Completion)) -> Option<()> {
        let mut rest = &self.packed[..];
        for (common, count) in &self.groups {
            let mut completion = common.completion()?;
            let mut last = 0;
            for _ in 0..*count {
                read(&mut rest, &mut last, timed, &mut completion)?;
                visit(&completion);
            }
        }
        rest.is_empty().then_some(())
    }
}

impl<'a> Common<'a> {
    fn of(completion: &'a Completion) -> Self {
        Self {
            client: completion.client,
            session: &completion.session,
            family: &completion.family,
            kind: &completion.kind,
            provider: completion.provider.as_deref(),
            model: completion.model.as_deref(),
            tier: completion.tier.as_deref(),
            cwd: completion.cwd.as_deref(),
        }
    }

    /// A completion that has it, and nothing of its own.
    fn completion(&self) -> Option<Completion> {
        Some(Completion {
            maker: Arc::new(Maker {
                client: format::by_name(self.client)?.name(),
                session: self.session.into(),
                family: self.family.into(),
                parent: None,
                cwd: self.cwd.map(Word::from),
            }),
            kind: self.kind.into(),
            provider: self.provider.map(Word::from),
            model: self.model.map(Word::from),
            tier: self.tier.map(Word::from),
            counts: true,
            ..Completion::default()
        })
    }
}

/// Writes what a completion has of its own. Times are steps from the one before, in milliseconds.
fn write(completion: &Completion, last: &mut i64, out: &mut Vec<u8>) {
    let Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, reasoning } =
        completion.tokens;
    let more = [cache_write_5m, cache_write_1h, reasoning];
    let fine = completion.at.map_or(0, |at| at.timestamp_subsec_nanos() % 1_000_000);
    let flags = [
        (completion.at.is_some(), TIMED),
        (completion.weak, WEAK),
        (completion.orphan, ORPHAN),
        (completion.provisional, PROVISIONAL),
        (fine > 0, FINE),
        (completion.cost_recorded.is_some(), COSTED),
        (more != [0; 3], MORE),
        (completion.copied > 0, COPIED),
    ];
    put(flags.iter().filter(|(is, _)| *is).map(|(_, flag)| flag).sum(), out);
    if let Some(at) = completion.at {
        let millis = at.timestamp_millis();
        let step = millis.wrapping_sub(*last);
        put(((step << 1) ^ (step >> 63)).cast_unsigned(), out);
        *last = millis;
    }
    if fine > 0 {
        put(fine.into(), out);
    }
    let more = if more == [0; 3] { &[][..] } else { &more };
    let numbers = [input, cache_read, output].into_iter();
    numbers
        .chain(more.iter().copied())
        .chain(completion.cost_recorded)
        .chain(Some(completion.copied).filter(|copied| *copied > 0))
        .for_each(|number| put(number, out));
}

/// Reads it again into `completion`, which has the rest already.
#[inline]
fn read(rest: &mut &[u8], last: &mut i64, timed: bool, completion: &mut Completion) -> Option<()> {
    let flags = take(rest)?;
    completion.at = None;
    if flags & TIMED != 0 {
        let step = take(rest)?;
        *last = last.wrapping_add((step >> 1).cast_signed() ^ -(step & 1).cast_signed());
    }
    let fine = if flags & FINE != 0 { u32::try_from(take(rest)?).ok()? } else { 0 };
    if timed && flags & TIMED != 0 {
        completion.at = Some(instant(*last, fine)?);
    }
    completion.weak = flags & WEAK != 0;
    completion.orphan = flags & ORPHAN != 0;
    completion.provisional = flags & PROVISIONAL != 0;
    let [input, cache_read, output] = [take(rest)?, take(rest)?, take(rest)?];
    completion.tokens = Tokens { input, cache_read, output, ..Tokens::default() };
    if flags & MORE != 0 {
        completion.tokens.cache_write_5m = take(rest)?;
        completion.tokens.cache_write_1h = take(rest)?;
        completion.tokens.reasoning = take(rest)?;
    }
    completion.cost_recorded = if flags & COSTED != 0 { Some(take(rest)?) } else { None };
    completion.copied = if flags & COPIED != 0 { take(rest)? } else { 0 };
    Some(())
}

fn instant(millis: i64, fine: u32) -> Option<DateTime<Utc>> {
    let within = u32::try_from(millis.rem_euclid(1000)).ok()? * 1_000_000;
    DateTime::from_timestamp(millis.div_euclid(1000), within.checked_add(fine)?)
}

/// Writes a number, seven bits a byte, the lowest first; the highest bit says that more follow.
fn put(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7F {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

#[inline]
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;

    fn completion() -> impl Strategy<Value = Completion> {
        let number = || prop_oneof![Just(0), 0..200_u64, any::<u64>()];
        let time = prop_oneof![
            Just(None),
            (0..4_000_000_000_000_i64).prop_map(DateTime::from_timestamp_millis),
            (any::<i32>(), 0..1_999_999_999_u32).prop_map(
                |(secs, nanos)| DateTime::from_timestamp(secs.into(), nanos % 1_000_000_000)
            ),
            Just(Some(DateTime::<Utc>::MAX_UTC - TimeDelta::nanoseconds(999_999))),
            Just(Some(DateTime::<Utc>::MIN_UTC)),
        ];
        let word =
            || prop_oneof![Just(None), Just(Some(Word::from("a"))), Just(Some(Word::from("bb")))];
        let words = (word(), word(), word(), word(), word(), 0..5_usize);
        let flags = any::<[bool; 3]>();
        (words, prop::array::uniform6(number()), time, prop::option::of(number()), flags).prop_map(
            |((session, kind, model, tier, cwd, client), tokens, at, cost, flags)| {
                let [input, cache_read, short, long, output, reasoning] = tokens;
                Completion {
                    maker: Arc::new(Maker {
                        client: format::ALL[client].name(),
                        session: session.clone().unwrap_or_default(),
                        family: session.unwrap_or_default(),
                        parent: None,
                        cwd,
                    }),
                    kind: kind.unwrap_or_default(),
                    provider: model.clone(),
                    model,
                    tier,
                    tokens: Tokens {
                        input,
                        cache_read,
                        cache_write_5m: short,
                        cache_write_1h: long,
                        output,
                        reasoning,
                    },
                    at,
                    cost_recorded: cost,
                    weak: flags[0],
                    orphan: flags[1],
                    provisional: flags[2],
                    copied: tokens[0] % 3,
                    counts: true,
                    ..Completion::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_a_roll_was_made_of_comes_out_of_it(
            completions in prop::collection::vec(completion(), 0..20),
        ) {
            let mut scribe = Scribe::default();
            for one in &completions {
                scribe.add(one);
            }
            let roll = scribe.roll();
            let told = |completion: &Completion| format!("{completion:?}");
            let mut have = Vec::new();
            prop_assert!(roll.each(true, &mut |one| have.push(told(one))).is_some());
            let mut want: Vec<String> = completions.iter().map(told).collect();
            have.sort();
            want.sort();
            prop_assert_eq!(have, want);
            // A roll that was cut is none.
            let mut cut = roll.clone();
            if cut.packed.to_mut().pop().is_some() {
                let read = cut.each(true, &mut |_| {});
                prop_assert_eq!(read, None);
            }
        }
    }
}
