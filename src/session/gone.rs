//! Whose an answer is where the log of the session that made it is gone, and other logs do not say that they copied it.
//!
//! A helper of the client's is named by its own log as some session's. Asides and compactions begin with a copy of that
//! session, and a subagent's calls are repeated in it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, Utc};

use super::{
    kinship::is_root,
    ledger::{Account, Family},
};
use crate::fact::{Key, Keys, Table, Usage, Word};

/// Makes a session that holds what a helper of a session that is gone knows a fork of it. All before the last such
/// record was copied; what stands between it and the fork's first own answer cannot be told from that.
pub(super) fn forks(accounts: &mut [Account]) {
    let ghosts = Ghost::all(accounts);
    let mut known: Table<Key, BTreeSet<(&str, &Word)>> = Table::default();
    for (name, ghost) in &ghosts {
        for key in ghost.called.iter().chain(ghost.copied.keys()) {
            known.entry(*key).or_default().insert(*name);
        }
    }
    let mut found: Vec<(usize, Word, usize)> = Vec::new();
    for (at, own) in accounts.iter().enumerate().filter(|(_, account)| is_root(account)) {
        let names = own.usages.iter().filter_map(|usage| known.get(&usage.key)).flatten();
        let names: BTreeSet<_> = names.filter(|(client, _)| *client == own.client).collect();
        let parent = names
            .into_iter()
            .filter_map(|name| Some((ghosts.get(name)?.begins(own)?, name.1)))
            .max_by(|(a, first), (b, second)| a.cmp(b).then_with(|| second.cmp(first)));
        if let Some((copied, parent)) = parent {
            found.push((at, parent.clone(), copied));
        }
    }
    for (at, parent, copied) in found {
        let account = &mut accounts[at];
        for usage in &mut account.usages[..copied] {
            (usage.inherited, usage.owner) = (Some(true), Some(parent.clone()));
        }
        (account.parent, account.kind) = (Some(parent), "fork");
    }
}

/// A session that is gone, as far as its helpers' logs tell.
#[derive(Default)]
struct Ghost {
    /// What its subagents were paid.
    called: Keys,
    /// What its helpers copied of it, and when it was made.
    copied: Table<Key, Option<DateTime<Utc>>>,
}

impl Ghost {
    /// Those that helpers which cannot tell what they copied name as theirs.
    fn all(accounts: &[Account]) -> BTreeMap<(&str, &Word), Self> {
        let sessions: HashSet<&str> = accounts.iter().map(|one| one.session.as_ref()).collect();
        let mut ghosts: BTreeMap<_, Self> = BTreeMap::new();
        for helper in accounts.iter().filter(|account| account.usages.iter().all(is_untold)) {
            let Some(parent) = &helper.parent else { continue };
            let Some(last) = helper.usages.last() else { continue };
            if sessions.contains(parent.as_ref()) {
                continue;
            }
            let ghost = ghosts.entry((helper.client, parent)).or_default();
            if helper.kind == "subagent" {
                ghost.called.extend(helper.usages.iter().map(|usage| usage.key));
            } else if is_copyist(helper) {
                // Its own is the last answer, with what an advisor was paid for it.
                let begins = helper.usages.iter().find(|usage| usage.key == last.key);
                let own = begins.map_or(last.line, |usage| usage.line);
                let copied = helper.usages.iter().take_while(|usage| usage.line < own);
                for usage in copied {
                    let at = ghost.copied.entry(usage.key).or_insert(usage.at);
                    *at = usage.at.min(*at);
                }
            }
        }
        ghosts
    }

    /// How many records at the beginning of `own` are copies of this one's. Which of the two is the copy shows in
    /// subagents, whose calls stand in nobody's log before they are made, or else in who began first with what the
    /// other has not.
    fn begins(&self, own: &Account) -> Option<usize> {
        let knows = |usage: &Usage| {
            self.called.contains(&usage.key) || self.copied.contains_key(&usage.key)
        };
        let copied = 1 + own.usages.iter().rposition(knows)?;
        let (begin, rest) = own.usages.split_at(copied);
        let called = begin.iter().any(|usage| is_told(usage) && self.called.contains(&usage.key));
        let shared: Keys = begin.iter().map(|usage| usage.key).collect();
        let missing = self.copied.iter().filter(|(key, _)| !shared.contains(key));
        let first = missing.filter_map(|(_, at)| *at).min();
        let elder = first.is_none() || rest.iter().filter_map(|usage| usage.at).min() > first;
        (called || elder).then_some(copied)
    }
}

/// Marks what asides and compactions copied: all that the log of another session has too. The main log may be gone.
pub(super) fn copies(accounts: &mut [Account]) {
    let mut holders: Table<(&str, Key), Vec<usize>> = Table::default();
    let copyists: Vec<usize> =
        (0..accounts.len()).filter(|at| is_copyist(&accounts[*at])).collect();
    for account in copyists.iter().map(|at| &accounts[*at]) {
        let untold = account.usages.iter().filter(|usage| is_untold(usage));
        holders.extend(untold.map(|usage| ((account.client, usage.key), Vec::new())));
    }
    if holders.is_empty() {
        return;
    }
    for (at, account) in accounts.iter().enumerate() {
        for usage in &account.usages {
            if let Some(holders) = holders.get_mut(&(account.client, usage.key))
                && holders.last() != Some(&at)
            {
                holders.push(at);
            }
        }
    }
    let family = Family::of(accounts);
    let above: Vec<_> = accounts.iter().map(|account| family.above(account, &|_| true)).collect();
    let mut found: Vec<(usize, Keys)> = Vec::new();
    for &at in &copyists {
        let own = &accounts[at];
        // A side session may have been forked in its turn.
        let another = |other: &usize| {
            accounts[*other].session != own.session && !above[*other].contains(&own.session)
        };
        let copied = |usage: &&Usage| {
            let holders = holders.get(&(own.client, usage.key));
            holders.is_some_and(|holders| holders.iter().any(another))
        };
        found.push((at, own.usages.iter().filter(copied).map(|usage| usage.key).collect()));
    }
    for (at, copied) in found {
        let usages = accounts[at].usages.iter_mut();
        for usage in usages.filter(|usage| is_untold(usage) && copied.contains(&usage.key)) {
            usage.inherited = Some(true);
        }
    }
}

/// Whether a session begins with a copy of the one that it was asked beside of.
fn is_copyist(account: &Account) -> bool {
    account.parent.is_some() && matches!(account.kind, "aside" | "compaction")
}

/// Whether the log cannot tell whether it copied the record, nor its figures.
fn is_untold(usage: &Usage) -> bool {
    usage.inherited.is_none() && usage.figures.is_none()
}

/// Whether the record repeats a subagent's call.
fn is_told(usage: &Usage) -> bool {
    usage.kind.as_deref() == Some("subagent")
}
