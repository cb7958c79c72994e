//! Proof that a child begins with its parent's history, and that each merge stands where it should, once.

use crate::{
    error::Result,
    fact::{Carrier, Fact},
    format::Origin,
    session::{History, Session, Thread, lineage},
};

/// A child beside its parent.
pub struct Against {
    /// The child's history up to the end of its seed.
    pub prefix: History,
    /// The parent's history up to the boundary of the fork.
    pub parent: History,
    /// How many messages the child has of its own.
    pub own_messages: usize,
    /// The first message that differs, counted from one; 0 is the system prompt.
    pub first_difference: Option<usize>,
    /// How many records the child inherited.
    pub inherited: usize,
    /// The inherited length in the client's own unit.
    pub seed_length: u64,
}

/// Compares the child as it stands at the end of its seed with the parent as it stood at the fork.
pub fn against(child: &Session, leaf: Option<&str>, parent: &Session) -> Result<Against> {
    let thread = child.thread(leaf)?;
    let seed = lineage::seed(&thread, parent);
    let prefix = History::of(&thread, seed.kept, seed.kept)?;
    let all = thread.history(thread.path().len(), seed.kept).len();
    let (old, keep) = lineage::origin(&seed, parent)?;
    let old = History::of(&old, keep, 0)?;
    let inherits = !prefix.messages.is_empty();
    let first_difference = if prefix.system != old.system && inherits {
        Some(0)
    } else {
        prefix.first_difference(&old).map(|at| at + 1)
    };
    // Nothing in common is no proof, unless nothing was to be inherited of just this parent.
    let older = thread.history(thread.seed, thread.seed);
    let claims = older.iter().any(|message| message.origin == Origin::Inherited);
    let unproven = !inherits && (claims || !lineage::may_name(child, parent));
    let first_difference =
        first_difference.or_else(|| unproven.then_some(prefix.messages.len() + 1));
    let own_messages = all.saturating_sub(prefix.messages.len());
    Ok(Against {
        prefix,
        parent: old,
        own_messages,
        first_difference,
        inherited: seed.kept,
        seed_length: seed.length,
    })
}

/// The marks of the notes on the active path of a session, in order.
pub fn merges(session: &Session, leaf: Option<&str>) -> Result<Vec<String>> {
    Ok(merges_on(&session.thread(leaf)?))
}

/// The marks of the notes on a path, in order.
#[must_use]
pub fn merges_on(thread: &Thread<'_>) -> Vec<String> {
    let session = thread.session;
    let facts = thread.path().iter().flat_map(|line| session.facts.of(*line));
    let marks = facts.filter_map(|fact| match fact {
        Fact::Carried(Carrier::Note, mark) => Some(session.facts.name(mark).to_owned()),
        _ => None,
    });
    marks.collect()
}
