//! Running totals that a child goes on with where its parent's stood, and that hold all of the parent's calls.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::ledger::Account;
use crate::fact::{Key, Refusal, Refused, Telling, Tokens, Word};

/// Looks at the first running total of each child that goes on with its parent's. Where it is what the parent's stood at,
/// it says the parent's last call again. Where nothing else says what the call came to that it stands for, what the parent
/// had spent is taken from it; if the parent's log is gone, it stays as it is, and counts as weak.
pub(super) fn subtract(accounts: &mut [Account]) {
    let mut found: HashMap<(&'static str, Key), Option<Tokens>> = HashMap::new();
    for child in accounts.iter() {
        let Some((line, total)) = child.carried else { continue };
        let own = child.usages.iter().find(|usage| usage.line == line);
        let Some(own) = own.filter(|own| own.inherited != Some(true)) else { continue };
        let unsaid = own.telling == Telling::Carried;
        // A total that is one call's alone is no parent's.
        if !unsaid && own.tokens == total {
            continue;
        }
        let before = before(accounts, child, child.created, &mut HashSet::new());
        let left = before.map(|calls| since(total, &calls));
        if unsaid || left == Some(Tokens::default()) {
            found.insert((child.client, own.key), left);
        }
    }
    if found.is_empty() {
        return;
    }
    for account in accounts {
        let Account { client, usages, refused, .. } = account;
        usages.retain_mut(|usage| {
            match found.get(&(*client, usage.key)) {
                None => return true,
                Some(None) => usage.weak = true,
                Some(Some(left)) => (usage.tokens, usage.derived) = (*left, true),
            }
            let moved = usage.tokens != Tokens::default();
            if !moved {
                refused.push(Refused { line: usage.line, at: usage.at, why: Refusal::Unmoved });
            }
            moved
        });
    }
}

/// What the parent of `child` had been paid up to a time, the earliest first, with what its own total was carried on from.
/// None where its log is not here.
fn before(
    accounts: &[Account],
    child: &Account,
    until: Option<DateTime<Utc>>,
    seen: &mut HashSet<Word>,
) -> Option<Vec<Tokens>> {
    let name = child.parent.as_ref().filter(|name| seen.insert((*name).clone()))?;
    let logs = accounts.iter().filter(|one| one.client == child.client && one.session == *name);
    let calls = |log: &Account| {
        let usages = log.usages.iter().filter(|usage| usage.at <= until);
        usages.map(|usage| (usage.tokens, usage.telling)).collect::<Vec<_>>()
    };
    // Of a log in two places, the one that goes on says more.
    let (log, calls) = logs.map(|log| (log, calls(log))).max_by_key(|(_, calls)| calls.len())?;
    let replays = log.usages.iter().any(|usage| usage.inherited == Some(true));
    let above = if replays { None } else { before(accounts, log, log.created, seen) };
    // What a total that was carried on itself comes to holds what is above it already.
    let above = above.filter(|_| calls.first().is_none_or(|(_, told)| *told != Telling::Carried));
    let own = calls.into_iter().map(|(tokens, _)| tokens);
    Some(above.unwrap_or_default().into_iter().chain(own).collect())
}

/// What is left of a total less the latest calls that went into it: a counter may have started anew before these.
fn since(total: Tokens, calls: &[Tokens]) -> Tokens {
    let steps = calls.iter().rev();
    steps
        .scan(total, |left, call| {
            *left = left.less(call)?;
            Some(*left)
        })
        .last()
        .unwrap_or(total)
}
