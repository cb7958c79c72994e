//! Where a child's own part begins.

use std::{collections::HashSet, path::Path};

use super::{Session, Thread, ledger};
use crate::{
    error::Result,
    fact::{Fact, Facts, Role},
    log::Span,
};

/// How many records at the beginning of `path` are older than the session itself: copies, as far as one log can tell.
pub(super) fn older(facts: &Facts, path: &[u32]) -> usize {
    let is_older =
        |line: &u32| facts.of(*line).any(|fact| matches!(fact, Fact::Linked { older: true, .. }));
    path.iter().rposition(is_older).map_or(0, |last| last + 1)
}

/// What the child inherited from `parent`. Where the client leaves no mark, the seed ends at the last record that the parent has too, by id
/// and time.
#[must_use]
pub fn seed(child: &Thread<'_>, parent: &Session) -> Seed {
    let (facts, format) = (&child.session.facts, child.session.format);
    if let Some(kept) = format.seed(facts, child.path()) {
        let inherited = &child.path()[..kept];
        let original = |line: &u32| {
            facts.of(*line).find_map(|fact| match fact {
                Fact::Copied(id) => Some(facts.name(id).to_owned()),
                _ => None,
            })
        };
        let last = inherited.iter().rev().find_map(original);
        let weight = inherited.iter().map(|line| format.weight(facts, *line)).sum();
        return Seed { kept, last, length: format.seed_length(facts, inherited), weight };
    }
    if format.leaf(facts).is_none() {
        let kept = said_alike(child, parent);
        let inherited = &child.path()[..kept];
        let weight = inherited.iter().map(|line| format.weight(facts, *line)).sum();
        return Seed { kept, last: None, length: format.seed_length(facts, inherited), weight };
    }
    let theirs: HashSet<(&str, u32)> =
        parent.facts.all().iter().filter_map(|stated| linked(&parent.facts, stated.fact)).collect();
    let copied = |line: &u32| {
        facts
            .of(*line)
            .filter_map(|fact| linked(facts, fact))
            .find(|record| theirs.contains(record))
    };
    let kept =
        child.path().iter().rposition(|line| copied(line).is_some()).map_or(0, |last| last + 1);
    let last = kept
        .checked_sub(1)
        .and_then(|last| copied(&child.path()[last]))
        .map(|(id, _)| id.to_owned());
    Seed { kept, last, length: kept as u64, weight: kept as u64 }
}

/// The parent as it stood when the seed was taken: the path with its last copied record as the tip, on whatever branch
/// that is, and how many records of it.
pub fn origin<'a>(seed: &Seed, parent: &'a Session) -> Result<(Thread<'a>, usize)> {
    let thread = parent.thread(seed.last.as_deref())?;
    let keep = match seed.last {
        Some(_) => thread.path().len(),
        None => records_for(parent, thread.path(), seed.weight),
    };
    Ok((thread, keep))
}

/// How many records of the parent weigh `length` in all.
fn records_for(parent: &Session, path: &[u32], length: u64) -> usize {
    let mut left = length;
    path.iter()
        .take_while(|line| {
            let own = parent.format.weight(&parent.facts, **line);
            let fits = own <= left;
            left = left.saturating_sub(own);
            fits
        })
        .count()
}

/// Whether the lineage of `child` names `parent`: its id, or the name of its file.
#[must_use]
pub fn names(child: &Session, parent: &Session) -> bool {
    let Some(named) = child.header().parent.as_deref() else { return false };
    let name = |path: &Path| path.file_name().map(ToOwned::to_owned);
    let by_path = Path::new(named).is_absolute()
        && name(Path::new(named)) == parent.log.path().and_then(name);
    let same = ledger::parent_id(child, named) == parent.id() || by_path;
    same && child.id() != parent.id()
}

/// Whether `child` can be one of `parent`: where it names a path that does not tell an id, the file may have moved.
#[must_use]
pub fn may_name(child: &Session, parent: &Session) -> bool {
    let moved =
        |named: &str| Path::new(named).is_absolute() && ledger::parent_id(child, named) == named;
    names(child, parent)
        || child.id() != parent.id()
            && child.format.name() == parent.format.name()
            && child.header().parent.as_deref().is_some_and(moved)
}

/// How many records of the child stand before the first message that the parent does not have at the same place: the
/// last resort where records have no ids and the client leaves no mark.
fn said_alike(child: &Thread<'_>, parent: &Session) -> usize {
    let Ok(theirs) = parent.thread(None) else { return 0 };
    let spoken = theirs.path().iter().flat_map(|line| messages(parent, *line));
    let mut spoken = spoken.peekable();
    let mut alike = false;
    for (at, line) in child.path().iter().enumerate() {
        for own in messages(child.session, *line) {
            let same = |their: &(Role, Span)| {
                let texts = (child.session.log.text(own.1), parent.log.text(their.1));
                own.0 == their.0 && matches!(texts, (Ok(own), Ok(their)) if own == their)
            };
            if spoken.next_if(same).is_none() {
                return at;
            }
            alike = true;
        }
    }
    if alike { child.path().len() } else { 0 } // Settings alone are no history.
}

fn messages(session: &Session, line: u32) -> impl Iterator<Item = (Role, Span)> {
    session.facts.of(line).filter_map(move |fact| match fact {
        Fact::Said(role, place) => Some((role, place.on(line))),
        _ => None,
    })
}

/// The inherited part of a child.
#[derive(Clone, Debug)]
pub struct Seed {
    /// How many records of the child's path it has.
    pub kept: usize,
    /// The parent's record that it ends with, where records have ids.
    pub last: Option<String>,
    /// Its length in the client's own unit.
    pub length: u64,
    /// How much of the parent's history it is, in the unit of [`crate::format::Format::weight`].
    pub weight: u64,
}

fn linked(facts: &Facts, fact: Fact) -> Option<(&str, u32)> {
    match fact {
        Fact::Linked { id, stamp, .. } => Some((facts.name(id), stamp)),
        _ => None,
    }
}
