//! Usage without double counting: every billed completion once, whatever was forked, resumed or copied.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    ops::Deref,
    path::PathBuf,
    sync::Arc,
};

use chrono::{DateTime, Utc};
use hashbrown::{HashTable, hash_table::Entry};
use twox_hash::XxHash3_128;

use super::Session;
use crate::{
    fact::{Carrier, Claim, Fact, Key, Refused, Table, Telling, Tokens, Usage, Word},
    finding::Code,
    format::json,
};

/// One log as the ledger sees it.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its file.
    pub path: Option<PathBuf>,
    /// The client's name.
    pub client: &'static str,
    /// The session.
    pub session: Word,
    /// The session it came from.
    pub parent: Option<Word>,
    /// When it began.
    pub created: Option<DateTime<Utc>>,
    /// The working folder.
    pub cwd: Option<Word>,
    /// `main`, `fork`, `aside`, `subagent` or `compaction`.
    pub kind: &'static str,
    /// Its records.
    pub usages: Vec<Usage>,
    /// The client's own sums, where it keeps some.
    pub claims: Vec<Claim>,
    /// Records of usage that are no completions, where they were asked for.
    pub refused: Vec<Refused>,
    /// What its running total stood at first, and in which line, if it may go on with its parent's.
    pub carried: Option<(u32, Tokens)>,
    /// How many lines it has.
    pub lines: u64,
    /// Lines that could not be read.
    pub broken_lines: u64,
    /// Whether its last line has no end: a write in progress, or one that was cut.
    pub torn: bool,
    /// Whether its log is gone, and this is what was kept of it.
    pub kept: bool,
    /// Whether its completions are asked for; else it only tells who owns what.
    pub counted: bool,
}

/// One completion.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// Whose it is.
    pub maker: Arc<Maker>,
    /// The same on every machine: a hash of client and key.
    pub id: u128,
    /// What kind of call.
    pub kind: Word,
    /// When; a copy's time where the owner's log is gone.
    pub at: Option<DateTime<Utc>>,
    /// Who was paid, as the log names it.
    pub provider: Option<Word>,
    /// The model, as the log names it.
    pub model: Option<Word>,
    /// What else decides the price, where that is not the usual.
    pub tier: Option<Word>,
    /// How much.
    pub tokens: Tokens,
    /// What it cost in nano-dollars, as the log says.
    pub cost_recorded: Option<u64>,
    /// What it costs in nano-dollars by a table of prices, once it was looked up.
    pub cost_computed: Option<u64>,
    /// How many of its tokens that table has no price for.
    pub unpriced: u64,
    /// How many records state it, in whatever file.
    pub copies: u64,
    /// In how many logs it stands beside the one that it is counted by.
    pub copied: u64,
    /// Whether it is counted, and no mere copy of what is counted elsewhere, or nowhere.
    pub counts: bool,
    /// Whether the key is no id.
    pub weak: bool,
    /// Whether the counters were derived from a running total that lacks a record.
    pub derived: bool,
    /// Whether the owner's log is gone.
    pub orphan: bool,
    /// Whether no record has the final output.
    pub provisional: bool,
    /// Whether every log that states it is gone.
    pub kept: bool,
}

/// What all calls of one session have in common.
#[derive(Clone, Debug, Default)]
pub struct Maker {
    /// The client.
    pub client: &'static str,
    /// The session that made the call.
    pub session: Word,
    /// The root of the chain of sessions that it belongs to.
    pub family: Word,
    /// The session that the one that made the call came from.
    pub parent: Option<Word>,
    /// The working folder.
    pub cwd: Option<Word>,
}

/// What a completion says of its maker, as if it were its own.
impl Deref for Completion {
    type Target = Maker;

    fn deref(&self) -> &Maker {
        &self.maker
    }
}

/// What completions share, kept while a ledger is made.
#[derive(Default)]
pub(super) struct Shared {
    makers: Table<*const Account, Arc<Maker>>,
    kinds: Table<&'static str, Word>,
}

impl Shared {
    fn kind(&mut self, kind: &'static str) -> Word {
        self.kinds.entry(kind).or_insert_with(|| kind.into()).clone()
    }
}

/// What is told beside completions.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// When each model call was made that left no usage.
    pub unrecorded: Vec<Option<DateTime<Utc>>>,
    /// Lines that could not be read.
    pub broken_lines: u64,
}

impl Account {
    /// The account of a session that was read with its usages. `client` decides what its parent's name means.
    #[must_use]
    pub fn of(session: Session) -> Self {
        let parent = session.header().parent.as_deref().map(|parent| parent_id(&session, parent));
        let own_framing = session
            .facts
            .all()
            .iter()
            .filter(|stated| matches!(stated.fact, Fact::Carried(Carrier::Framing, _)))
            .any(|stated| {
                !session.facts.of(stated.line).any(|fact| matches!(fact, Fact::Copied(_)))
            });
        let header = session.header();
        let kind = match (header.errand, header.subagent, own_framing, &parent) {
            (Some(errand), ..) => errand.name(),
            (_, true, ..) => "subagent",
            (_, _, true, Some(_)) => "aside",
            (_, _, _, Some(_)) => "fork",
            _ => "main",
        };
        let header = session.header();
        Self {
            path: session.log.path().map(Into::into),
            client: session.format.name(),
            session: header.id.as_str().into(),
            parent: parent.map(Into::into),
            created: header.created,
            cwd: header.cwd.as_deref().map(Into::into),
            kind,
            carried: session.facts.carried,
            lines: session.log.lines() as u64,
            broken_lines: session.damage.lost,
            torn: session.findings.iter().any(|finding| finding.code == Code::TornTail),
            usages: session.facts.usages,
            claims: session.facts.claims,
            refused: session.facts.refused,
            kept: false,
            counted: true,
        }
    }

    /// What its file is called, compressed or not.
    fn file_name(&self) -> Option<&str> {
        let name = self.path.as_ref()?.file_name()?.to_str()?;
        Some(name.trim_end_matches(".zstd").trim_end_matches(".zst"))
    }
}

/// The id of a parent that is named by an id or by the path of its file.
#[must_use]
pub fn parent_id(session: &Session, parent: &str) -> String {
    let path = std::path::Path::new(parent);
    session.format.layout().name_id(path).unwrap_or_else(|| parent.to_owned())
}

/// The completions of `accounts` that count. Their order changes nothing. `adopt`: completions whose owner's log is gone
/// are counted under the owner's id; else they are only copies. `follow` tells which kinds of session belong to the family
/// of their parent.
#[must_use]
pub fn completions(
    accounts: &[Account],
    adopt: bool,
    follow: &dyn Fn(&str) -> bool,
) -> Vec<Completion> {
    let mut completions = Vec::new();
    each(accounts, adopt, follow, &mut |one| {
        completions.extend(Some(one).filter(|one| one.counts));
    });
    completions
}

/// Hands out the same and those that do not count, instead of keeping them: there may be millions.
pub fn each(
    accounts: &[Account],
    adopt: bool,
    follow: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(Completion),
) -> Beside {
    let family = Family::of(accounts);
    let mut shared = Shared::default();
    let mut missed: Vec<Missed> = Vec::new();
    // A compaction that left a log of its own is recorded after all.
    let mut told: BTreeSet<Word> = BTreeSet::new();
    let mut last: Option<Arc<Maker>> = None;
    each_completion(accounts, &family, &mut |copies| {
        let case = Case::of(copies, adopt);
        if !case.greatest.is_recorded() {
            if case.counts {
                let Completion { maker, at, .. } = case.completion(&family, follow, &mut shared);
                missed.push((maker.client, maker.session.clone(), at));
            }
            return;
        }
        if case.logs == 0 {
            return;
        }
        let completion = case.completion(&family, follow, &mut shared);
        let maker = &completion.maker;
        if case.counts && last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, maker)) {
            let own = family.0.get(maker.session.as_ref());
            if own.is_some_and(|own| own.kind == "compaction") {
                told.insert(maker.session.clone());
            }
            last = Some(maker.clone());
        }
        visit(completion);
    });
    missed.sort();
    for own in told.iter().filter_map(|session| family.0.get(session.as_ref())) {
        let is_its = |(client, session, _): &Missed| {
            *client == own.client && own.parent.as_ref() == Some(session)
        };
        if let Some(recorded) = missed.iter().position(is_its) {
            missed.remove(recorded);
        }
    }
    let unrecorded = missed.into_iter().map(|(.., at)| at).collect();
    Beside { unrecorded, broken_lines: broken_lines(accounts) }
}

/// A model call that left no usage: the client, the session, and when.
type Missed = (&'static str, Word, Option<DateTime<Utc>>);

/// How many lines could not be read. A file that lies in two places is one; where it went on it says more. Pages of a
/// session are several.
fn broken_lines(accounts: &[Account]) -> u64 {
    let mut most: HashMap<_, u64> = HashMap::new();
    for account in accounts.iter().filter(|account| account.counted) {
        let most = most.entry((account.client, &account.session, account.file_name())).or_default();
        *most = account.broken_lines.max(*most);
    }
    most.into_values().sum()
}

/// Hands out the records of each completion, its owner's first.
pub(super) fn each_completion<'a>(
    accounts: &'a [Account],
    family: &Family<'a>,
    visit: &mut dyn FnMut(&[Record<'a>]),
) {
    // The key of each record, and no more: there may be millions.
    let keys: Vec<u128> = accounts
        .iter()
        .flat_map(|account| account.usages.iter().map(|usage| key(account.client, usage.key)))
        .collect();
    let repeats = repeats(&keys);
    let (mut begin, mut first_of) = (0, Vec::with_capacity(accounts.len()));
    for account in accounts {
        first_of.push(begin);
        begin += account.usages.len();
    }
    let depths: Vec<usize> =
        accounts.iter().map(|account| family.above(account, &|_| true).len()).collect();
    let record = |nth: usize, at: usize| {
        let account = &accounts[nth];
        let (key, usage) = (keys[first_of[nth] + at], &account.usages[at]);
        Record { key, depth: depths[nth], account, usage }
    };
    let mut copies = Vec::new();
    for alike in repeats.chunk_by(|(a, _), (b, _)| a == b) {
        copies.extend(alike.iter().map(|(_, place)| {
            let nth = first_of.partition_point(|first| first <= place) - 1;
            record(nth, place - first_of[nth])
        }));
        // The owner is the one that did not inherit it, nearest to the root of the family; no order of files matters.
        copies.sort_by(|a, b| a.rank().cmp(&b.rank()));
        visit(&copies);
        copies.clear();
    }
    // Most have one record. These are handed out as they lie in memory, which is faster than from here to there.
    let mut repeated = vec![false; keys.len()];
    for (_, place) in repeats {
        repeated[place] = true;
    }
    for (nth, account) in accounts.iter().enumerate() {
        for at in 0..account.usages.len() {
            if !repeated[first_of[nth] + at] {
                visit(&[record(nth, at)]);
            }
        }
    }
}

/// The places of keys that stand at several, each with the first one of its key, in their order.
fn repeats(keys: &[u128]) -> Vec<(usize, usize)> {
    #[expect(clippy::cast_possible_truncation, reason = "half of a hash is one")]
    let hash = |key: u128| key as u64;
    let mut firsts: HashTable<usize> = HashTable::with_capacity(keys.len());
    let mut repeats = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        match firsts.entry(hash(*key), |first| keys[*first] == *key, |first| hash(keys[*first])) {
            Entry::Occupied(first) => repeats.push((*first.get(), place)),
            Entry::Vacant(new) => drop(new.insert(place)),
        }
    }
    let mut own: Vec<usize> = repeats.iter().map(|(first, _)| *first).collect();
    own.sort_unstable();
    own.dedup();
    repeats.extend(own.into_iter().map(|first| (first, first)));
    repeats.sort_unstable();
    repeats
}

/// What the records of one completion come to.
pub(super) struct Case<'a, 'b> {
    copies: &'b [Record<'a>],
    /// The record whose figures count: but for sums that grew in copies, the one with the greatest output.
    pub greatest: &'a Usage,
    /// In how many logs that are asked for it stands. An answer on several lines of one log is no copy of itself.
    pub logs: u64,
    /// Whether the owner's log is gone.
    pub orphan: bool,
    /// Whether it is counted, and not only a copy of what is counted elsewhere.
    pub counts: bool,
}

impl<'a, 'b> Case<'a, 'b> {
    /// The case of records with one key, the owner's first.
    pub fn of(copies: &'b [Record<'a>], adopt: bool) -> Self {
        let Record { account: owner, usage: own, .. } = copies[0];
        // That it was made is told by all of them.
        let some = copies.iter().any(|copy| copy.usage.is_recorded());
        let logs = if copies.len() == 1 { owner.counted.into() } else { logs(copies, some) };
        let orphan = own.inherited == Some(true);
        let counts = logs > 0 && if orphan { adopt } else { owner.counted };
        let usages = copies.iter().map(|copy| copy.usage);
        let usages = usages.filter(|usage| !some || usage.is_recorded());
        let greatest = if own.telling == Telling::Folded {
            usages.min_by_key(|usage| (usage.tokens.total(), usage.tokens))
        } else {
            // Of equals the last one is taken, and the owner's come first.
            let usages = usages.rev();
            usages.max_by_key(|usage| usage.finality())
        };
        let greatest = greatest.unwrap_or(own);
        Self { copies, greatest, logs, orphan, counts }
    }

    /// The completion that the records state.
    pub fn completion(
        &self,
        family: &Family<'a>,
        follow: &dyn Fn(&str) -> bool,
        shared: &mut Shared,
    ) -> Completion {
        let Record { key, account: owner, usage: own, .. } = self.copies[0];
        let orphan = self.orphan;
        let usages = || self.copies.iter().map(|copy| copy.usage);
        let paid = || usages().filter(|usage| usage.is_recorded());
        let kind = own.kind.clone();
        Completion {
            id: key,
            kind: kind.unwrap_or_else(|| shared.kind(if orphan { "main" } else { owner.kind })),
            maker: self.maker(family, follow, shared),
            provisional: paid().all(|usage| usage.provisional),
            copied: self.logs - u64::from(self.counts),
            counts: self.counts,
            at: if orphan { usages().filter_map(|usage| usage.at).min() } else { own.at },
            // What only one of the records says is true of all of them.
            provider: self.told(|usage| usage.provider.clone()),
            model: self.told(|usage| usage.model.clone()),
            tier: self.told(|usage| usage.tier.clone()),
            tokens: self.greatest.tokens,
            cost_recorded: self.told(|usage| usage.cost),
            cost_computed: None,
            unpriced: 0,
            copies: usages().map(|usage| 1 + u64::from(usage.again)).sum(),
            weak: self.greatest.weak,
            derived: self.greatest.derived,
            kept: self.copies.iter().all(|copy| copy.account.kept),
            orphan,
        }
    }

    fn maker(
        &self,
        family: &Family<'a>,
        follow: &dyn Fn(&str) -> bool,
        shared: &mut Shared,
    ) -> Arc<Maker> {
        let Record { account: owner, usage: own, .. } = self.copies[0];
        let Account { client, session, parent, cwd, .. } = owner;
        if self.orphan {
            let named = own.owner.clone().filter(|named| named != session);
            let session = named.or_else(|| parent.clone()).unwrap_or_else(|| session.clone());
            let (family, cwd) = (session.clone(), cwd.clone());
            return Arc::new(Maker { client, session, family, parent: None, cwd });
        }
        let maker = || {
            let family = family.above(owner, follow).pop().unwrap_or_else(|| session.clone());
            let (session, parent, cwd) = (session.clone(), parent.clone(), cwd.clone());
            Arc::new(Maker { client, session, family, parent, cwd })
        };
        shared.makers.entry(std::ptr::from_ref(owner)).or_insert_with(maker).clone()
    }

    /// What the record that counts says, or else the first other one that says it.
    fn told<T>(&self, say: impl Fn(&Usage) -> Option<T>) -> Option<T> {
        say(self.greatest).or_else(|| self.copies.iter().find_map(|copy| say(copy.usage)))
    }
}

/// In how many logs that are asked for records stand; of calls that left usage in `some`, such records.
fn logs(copies: &[Record<'_>], some: bool) -> u64 {
    let counted = || {
        let telling = copies.iter().filter(|copy| !some || copy.usage.is_recorded());
        telling.map(|copy| copy.account).filter(|account| account.counted)
    };
    // What was kept of a log that was moved is no copy.
    let logs = counted().filter(|account| !account.kept).map(std::ptr::from_ref);
    let mut logs: Vec<_> = logs.collect();
    logs.sort_unstable();
    logs.dedup();
    logs.len().max(counted().count().min(1)) as u64
}

/// One record of a completion.
pub(super) struct Record<'a> {
    /// The completion.
    pub key: u128,
    /// How many of the sessions at hand its session descends from.
    depth: usize,
    /// The log that it stands in.
    pub account: &'a Account,
    /// What it says.
    pub usage: &'a Usage,
}

impl Record<'_> {
    /// Where it stands among those of the same completion.
    fn rank(&self) -> impl Ord + '_ {
        let inherited = self.usage.inherited == Some(true);
        let Account { created, session, counted, .. } = self.account;
        // What a session tells of its subagent's calls is the subagent's.
        let told = self.usage.telling == Telling::Relayed && self.account.kind != "subagent";
        let elder = (inherited, told, self.depth, *created, session, !counted);
        // Of copies of one log the one that goes on furthest says most.
        (elder, self.usage.at, Reverse(self.account.lines), self.usage.line)
    }
}

/// Who descends from whom.
pub(super) struct Family<'a>(Table<&'a str, &'a Account>);

impl<'a> Family<'a> {
    pub fn of(accounts: &'a [Account]) -> Self {
        Self(accounts.iter().map(|account| (account.session.as_ref(), account)).collect())
    }

    /// The sessions above `account`, nearest first, as long as the kind of the lower one is one that `follow` takes.
    pub(super) fn above(&self, account: &'a Account, follow: &dyn Fn(&str) -> bool) -> Vec<Word> {
        let mut chain: Vec<Word> = Vec::new();
        let mut at = account;
        while let Some(parent) = at.parent.as_ref().filter(|_| follow(at.kind)) {
            if chain.contains(parent) || *parent == account.session {
                break; // a log that claims to descend from itself
            }
            chain.push(parent.clone());
            let Some(next) = self.0.get(parent.as_ref()) else { break };
            at = next;
        }
        chain
    }
}

/// The kinds of session that there are.
pub(super) const KINDS: [&str; 5] = ["main", "fork", "aside", "subagent", "compaction"];

/// What a completion is known by on every machine.
#[must_use]
pub fn key(client: &str, key: Key) -> u128 {
    let mut text = [0; 64];
    let (name, rest) = text.split_at_mut(client.len());
    name.copy_from_slice(client.as_bytes());
    rest[1..33].copy_from_slice(&json::digits(key.0));
    XxHash3_128::oneshot(&text[..client.len() + 33])
}
