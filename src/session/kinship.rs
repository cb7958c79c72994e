//! Who copied from whom, where the logs themselves do not say.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::PathBuf,
};

use chrono::{DateTime, Utc};

use super::{
    carry, gone,
    ledger::{Account, Family},
};
use crate::fact::{Key, Keys, Refusal, Refused, Table, Telling, Tokens, Usage, Word, figures_key};

/// Finds out what was copied from whom in logs that cannot tell by themselves. The order of `accounts` changes nothing.
pub fn align(accounts: &mut [Account]) {
    gone::forks(accounts);
    unmarked_forks(accounts);
    figures(accounts);
    carry::subtract(accounts);
    gone::copies(accounts);
    sums_of_children(accounts);
    sums_of_turns(accounts);
}

/// Leaves out what a client printed of a session that has a log.
fn sums_of_turns(accounts: &mut [Account]) {
    let is_sum = |usage: &Usage| usage.telling == Telling::Turn;
    if !accounts.iter().flat_map(|account| &account.usages).any(is_sum) {
        return;
    }
    let logs = accounts.iter().filter(|account| !account.usages.iter().any(is_sum));
    let logs: HashSet<(&'static str, Word)> =
        logs.map(|account| (account.client, account.session.clone())).collect();
    for account in accounts {
        if logs.contains(&(account.client, account.session.clone())) {
            refuse(account, is_sum);
        }
    }
}

/// Leaves out what a tool's result sums up of a session that the tool ran, where that has a log of its own: below a folder
/// named like the log that the result stands in, or like its session.
fn sums_of_children(accounts: &mut [Account]) {
    let is_sum = |usage: &Usage| usage.kind.as_deref() == Some("tool");
    let folders = |account: &Account| {
        let named = account.session.as_ref();
        let both = |path: &PathBuf| [path.with_extension(""), path.with_file_name(named)];
        account.path.iter().flat_map(both).collect::<Vec<PathBuf>>()
    };
    let parents = accounts.iter().filter(|account| account.usages.iter().any(is_sum));
    let parents: HashSet<PathBuf> = parents.flat_map(folders).collect();
    if parents.is_empty() {
        return;
    }
    let mut sums: HashMap<PathBuf, Vec<Tokens>> = HashMap::new();
    for account in accounts.iter() {
        let above = account.path.iter().flat_map(|path| path.ancestors().skip(1));
        for folder in above.filter(|folder| parents.contains(*folder)) {
            let mut sum = Tokens::default();
            let own = account.usages.iter().filter(|usage| usage.inherited != Some(true));
            own.for_each(|usage| sum.add(&usage.tokens));
            sums.entry(folder.to_owned()).or_default().push(sum);
        }
    }
    let mut found: HashSet<(&'static str, Key)> = HashSet::new();
    for account in accounts.iter() {
        for folder in folders(account) {
            let Some(children) = sums.get_mut(&folder) else { continue };
            for usage in account.usages.iter().filter(|usage| is_sum(usage)) {
                if let Some(child) = children.iter().position(|sum| *sum == usage.tokens) {
                    children.swap_remove(child);
                    found.insert((account.client, usage.key));
                }
            }
        }
    }
    refuse_all(accounts, &found);
}

/// Makes a session that begins with another one's answers its fork. Which of two is the copy shows in what each has of
/// its own: the later one began with it later. A parent that ended where the copy was made has nothing of its own.
fn unmarked_forks(accounts: &mut [Account]) {
    let roots: Vec<usize> = (0..accounts.len()).filter(|at| is_root(&accounts[*at])).collect();
    let firsts: Keys =
        roots.iter().filter_map(|at| accounts[*at].usages.first()).map(|usage| usage.key).collect();
    // Only a fork's first answer is looked for, so that no table of all answers is needed.
    let mut holders: Table<(&str, Key), Vec<usize>> = Table::default();
    for (at, account) in accounts.iter().enumerate() {
        for usage in account.usages.iter().filter(|usage| firsts.contains(&usage.key)) {
            let holders = holders.entry((account.client, usage.key)).or_default();
            if holders.last() != Some(&at) {
                holders.push(at);
            }
        }
    }
    let sessions: HashSet<&str> = accounts.iter().map(|one| one.session.as_ref()).collect();
    let mut found: Vec<(usize, Word, Keys)> = Vec::new();
    for &at in &roots {
        let own = &accounts[at];
        let Some(first) = own.usages.first() else { continue };
        let others: Vec<&Account> = holders
            .get(&(own.client, first.key))
            .into_iter()
            .flatten()
            .map(|other| &accounts[*other])
            .filter(|other| other.session != own.session)
            .filter(|other| matches!(other.kind, "main" | "fork"))
            .collect();
        let copied = |other: &&&Account| inherits(other, first.key).is_some();
        // A copy that names this session as the maker says nothing of a parent.
        let from_above = |other: &&&Account| {
            inherits(other, first.key).is_some_and(|copy| copy.owner.as_ref() != Some(&own.session))
        };
        // Another copy of a parent that is gone says whose the answers are.
        let gone = others.iter().filter(from_above).find_map(|other| {
            let parent = other.parent.as_ref()?;
            (!sessions.contains(parent.as_ref())).then(|| (*other, parent.clone()))
        });
        let elder = others
            .iter()
            .filter(|other| !copied(other))
            .filter(|other| seniority(other, own) < seniority(own, other))
            .max_by(|a, b| {
                let nearness = |other: &Account| shared(own, other);
                nearness(a).cmp(&nearness(b)).then_with(|| b.session.cmp(&a.session))
            });
        match (gone, elder) {
            (Some((sibling, parent)), _) => {
                let inherited = sibling.usages.iter().filter(|usage| usage.inherited == Some(true));
                found.push((at, parent, inherited.map(|usage| usage.key).collect()));
            }
            (None, Some(elder)) => found.push((at, elder.session.clone(), Keys::default())),
            (None, None) => {}
        }
    }
    for (at, parent, copied) in found {
        let account = &mut accounts[at];
        for usage in account.usages.iter_mut().filter(|usage| copied.contains(&usage.key)) {
            usage.inherited = Some(true);
        }
        (account.parent, account.kind) = (Some(parent), "fork");
    }
}

/// What a log says of the answer if it says that it copied it.
fn inherits(account: &Account, key: Key) -> Option<&Usage> {
    account.usages.iter().find(|usage| usage.key == key && usage.inherited == Some(true))
}

/// Whether a session may be a fork without saying so. Logs that tell what they inherited tell that there is nothing.
pub(super) fn is_root(account: &Account) -> bool {
    account.parent.is_none()
        && account.kind == "main"
        && account.usages.first().is_some_and(|usage| usage.inherited.is_none())
}

/// How many answers of `own` stand in `other` too.
fn shared(own: &Account, other: &Account) -> usize {
    let theirs: Keys = other.usages.iter().map(|usage| usage.key).collect();
    own.usages.iter().map(|usage| usage.key).collect::<Keys>().intersection(&theirs).count()
}

/// What puts one of two sessions with the same beginning first.
fn seniority<'a>(one: &'a Account, other: &Account) -> impl Ord + use<'a> {
    let theirs: Keys = other.usages.iter().map(|usage| usage.key).collect();
    let own: Option<DateTime<Utc>> = one
        .usages
        .iter()
        .filter(|usage| !theirs.contains(&usage.key))
        .filter_map(|usage| usage.at)
        .min();
    (one.created, own, &one.session)
}

/// Finds out which records are copies in logs that cannot tell by themselves: the longest row of figures at the beginning
/// that the parent has too, or, where the parent is gone, that another of its children has.
fn figures(accounts: &mut [Account]) {
    let unknown = |usage: &Usage| usage.inherited != Some(false) && usage.figures.is_some();
    let mut order: Vec<usize> = (0..accounts.len()).collect();
    order.sort_by_key(|at| (accounts[*at].created, accounts[*at].session.clone()));
    for &at in &order {
        let Some(parent) = accounts[at].parent.clone() else { continue };
        if !accounts[at].usages.iter().any(unknown) {
            continue;
        }
        let known = ancestor(accounts, at, &parent);
        copied_calls(accounts, at, &parent, known);
        copied_misses(accounts, at, &parent, known);
    }
}

/// Where the calls stand in a log of which usage is left. Those that left none may be told otherwise in copies, or not.
fn calls(account: &Account) -> Vec<usize> {
    let usages = account.usages.iter().enumerate();
    usages.filter(|(_, usage)| usage.is_recorded()).map(|(at, _)| at).collect()
}

/// Makes the calls at the beginning of a log the parent's, as far as they are.
fn copied_calls(accounts: &mut [Account], at: usize, parent: &Word, known: Option<usize>) {
    let own_calls = calls(&accounts[at]);
    // What stands before the first call that is known to be its own is copied, and nothing behind that is.
    let is_own = |call: &usize| accounts[at].usages[*call].inherited == Some(false);
    let own = own_calls.iter().position(is_own);
    let session = accounts[at].session.clone();
    let copies = match known {
        Some(known) => alike(&accounts[at], &accounts[known]),
        None => (0..accounts.len())
            .filter(|other| {
                let sibling = &accounts[*other];
                sibling.parent.as_ref() == Some(parent) && sibling.session != session
            })
            .map(|other| alike(&accounts[at], &accounts[other]))
            .max()
            .unwrap_or(0),
    };
    let their_calls = known.map(|known| calls(&accounts[known])).unwrap_or_default();
    for (nth, call) in own_calls.into_iter().enumerate().take(own.unwrap_or(copies)) {
        let Usage { figures: Some(figures), inherited, ref owner, .. } = accounts[at].usages[call]
        else {
            continue;
        };
        let told = inherited.is_some() && owner.as_ref() != Some(&session);
        let theirs = known.zip(their_calls.get(nth));
        let theirs = theirs.map(|(known, call)| &accounts[known].usages[*call]);
        let (key, owner) = match theirs.filter(|theirs| theirs.figures == Some(figures)) {
            Some(theirs) => (theirs.key, theirs.owner.clone().unwrap_or_else(|| parent.clone())),
            // Some tell by themselves whose they are.
            None if told => continue,
            None => (figures_key(parent, figures.get(), ""), parent.clone()),
        };
        let usage = &mut accounts[at].usages[call];
        (usage.key, usage.owner, usage.inherited) = (key, Some(owner), Some(true));
    }
}

/// The same of calls that left no usage: what stands before the last copied call is copied, and what the parent has.
fn copied_misses(accounts: &mut [Account], at: usize, parent: &Word, known: Option<usize>) {
    let own = &accounts[at].usages;
    let copied = own.iter().rposition(|usage| usage.is_recorded() && usage.inherited == Some(true));
    let misses = own.iter().enumerate().filter(|(_, usage)| !usage.is_recorded());
    let unknown = misses.filter(|(_, usage)| usage.inherited.is_none());
    let unknown: Vec<usize> = unknown.map(|(miss, _)| miss).collect();
    for miss in unknown {
        let Some(figures) = accounts[at].usages[miss].figures else { continue };
        let is_it = |usage: &&Usage| !usage.is_recorded() && usage.figures == Some(figures);
        let theirs = known.and_then(|known| accounts[known].usages.iter().find(is_it));
        let (key, owner) = match theirs {
            Some(theirs) => (theirs.key, theirs.owner.clone().unwrap_or_else(|| parent.clone())),
            None if copied < Some(miss) => continue,
            None => (figures_key(parent, figures.get(), ""), parent.clone()),
        };
        let usage = &mut accounts[at].usages[miss];
        (usage.key, usage.owner, usage.inherited) = (key, Some(owner), Some(true));
    }
}

/// How many calls at the beginning of two logs have the same figures.
fn alike(a: &Account, b: &Account) -> usize {
    let pairs = a.usages.iter().filter(|usage| usage.is_recorded());
    let pairs = pairs.zip(b.usages.iter().filter(|usage| usage.is_recorded()));
    pairs.take_while(|(a, b)| a.figures.is_some() && a.figures == b.figures).count()
}

/// The log that one begins like: its parent's, or where that is gone an older one, which is an ancestor's or has copied from
/// one as well: two calls in a row with the same totals are no chance. Siblings are looked at by others.
fn ancestor(accounts: &[Account], at: usize, parent: &Word) -> Option<usize> {
    let own = &accounts[at];
    let nearest = |is: &dyn Fn(&Account) -> bool| {
        let others = (0..accounts.len()).filter(|other| accounts[*other].client == own.client);
        let others = others.filter(|other| is(&accounts[*other]));
        // Of a log in two places, the one that goes on may say more.
        others.max_by_key(|other| (alike(own, &accounts[*other]), Reverse(*other)))
    };
    let elder = |other: &Account| {
        (other.created, &other.session) < (own.created, &own.session)
            && other.parent.as_ref() != Some(parent)
            && alike(own, other) > 1
    };
    nearest(&|other| other.session == *parent).or_else(|| nearest(&elder))
}

/// Leaves out what sessions tell of their children's calls, as far as the children's own logs have these. `children`:
/// whether what derives from a session is asked for at all.
pub fn hear_children(accounts: &mut [Account], children: bool) {
    let told = |usage: &Usage| usage.telling == Telling::Others;
    if !children {
        for account in accounts {
            refuse(account, told);
        }
        return;
    }
    if !accounts.iter().any(|account| account.usages.iter().any(told)) {
        return;
    }
    let family = Family::of(accounts);
    let figures = |usage: &Usage| {
        let Tokens { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = usage.tokens;
        [input, output, cache_read, cache_write_5m + cache_write_1h]
    };
    // The calls of the children of each session; a file that lies in two places is one.
    let mut calls: HashMap<(Word, [u64; 4]), usize> = HashMap::new();
    // Those of children whose own parents' logs are gone.
    let there: HashSet<Word> = accounts.iter().map(|account| account.session.clone()).collect();
    let mut lost: HashMap<[u64; 4], BTreeSet<Word>> = HashMap::new();
    let mut seen = HashSet::new();
    for account in accounts.iter().filter(|account| account.kind == "subagent") {
        let Some(parent) = &account.parent else { continue };
        for usage in account.usages.iter().filter(|usage| usage.telling == Telling::Folded) {
            if usage.inherited != Some(true) && seen.insert((account.client, usage.key)) {
                *calls.entry((parent.clone(), figures(usage))).or_default() += 1;
                if !there.contains(parent) {
                    lost.entry(figures(usage)).or_default().insert(parent.clone());
                }
            }
        }
    }
    // What was told, by whom: copies tell it again.
    let mut tellers: BTreeMap<(&'static str, Key), Teller> = BTreeMap::new();
    for account in accounts.iter() {
        for usage in account.usages.iter().filter(|usage| told(usage)) {
            let teller = tellers.entry((account.client, usage.key)).or_default();
            teller.figures = figures(usage);
            teller.names.push(account.session.clone());
            teller.names.extend(family.above(account, &|_| true));
        }
    }
    let mut heard = HashSet::new();
    for (told, Teller { figures, mut names }) in tellers {
        names.sort();
        // A session above one whose log is gone as well is named by nobody but its child.
        if names.iter().any(|name| !there.contains(name)) {
            names.extend(lost.get(&figures).into_iter().flatten().cloned());
        }
        let has = |name: &Word| calls.get(&(name.clone(), figures)) > Some(&0);
        if let Some(name) = names.into_iter().find(has) {
            *calls.entry((name, figures)).or_default() -= 1;
            heard.insert(told);
        }
    }
    refuse_all(accounts, &heard);
}

/// Leaves out the records of these keys, in all logs that have them: copies say the same.
fn refuse_all(accounts: &mut [Account], keys: &HashSet<(&'static str, Key)>) {
    for account in accounts {
        let client = account.client;
        refuse(account, |usage| keys.contains(&(client, usage.key)));
    }
}

/// Leaves out records that sum up what is counted elsewhere.
fn refuse(account: &mut Account, which: impl Fn(&Usage) -> bool) {
    let Account { usages, refused, .. } = account;
    usages.retain(|usage| {
        let out = which(usage);
        if out {
            refused.push(Refused { line: usage.line, at: usage.at, why: Refusal::Sum });
        }
        !out
    });
}

/// Something told of a child's call, and the sessions whose child it may have been.
#[derive(Default)]
struct Teller {
    figures: [u64; 4],
    names: Vec<Word>,
}
