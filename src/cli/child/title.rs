//! Titles of children: as given, or the parent's with the number of the fork behind it.

use std::collections::HashSet;

use serde_json::Value;

use super::home::Home;
use crate::{
    cli::pick::Opened,
    error::{Error, Result},
    ops,
    store::{self, Glance, Journal, Record, State},
};

/// The longest title, in characters.
const LONGEST_TITLE: usize = 500;

/// A title that every client can show.
pub(super) fn check(title: String) -> Result<String> {
    if title.trim().is_empty() {
        return Err(Error::InvalidTitle("is empty"));
    }
    if title.chars().any(|c| c.is_control() || ops::is_bidi_control(c)) {
        return Err(Error::InvalidTitle("holds a control character"));
    }
    if title.chars().count() > LONGEST_TITLE {
        return Err(Error::InvalidTitle("has more than 500 characters"));
    }
    Ok(title)
}

/// Titles that sessions of the store have, or that forks of this parent were given.
pub(super) fn taken(
    known: Vec<Glance>,
    journal: &Journal,
    parent: &str,
) -> Result<HashSet<String>> {
    let mut taken: HashSet<String> = known.into_iter().filter_map(|glance| glance.title).collect();
    // What failed or was cut off by a crash took no title.
    let of_parent = |record: &Record| {
        let source = record.source.get("id").and_then(Value::as_str);
        record.state == State::Committed && source == Some(parent)
    };
    taken.extend(
        journal.records()?.into_iter().filter(of_parent).filter_map(|record| record.written.title),
    );
    Ok(taken)
}

/// The title of the parent: its client's index has the last word, then the log, then our own record of its birth, then
/// what the client would show.
pub(super) fn of_parent(home: &Home, journal: &Journal, opened: &Opened) -> Result<Option<String>> {
    let layout = opened.session.format.layout();
    let id = opened.parent().0;
    let named = home.logs.as_deref().and_then(|logs| store::names(layout, logs).remove(&id));
    if named.is_some() {
        return Ok(named);
    }
    if opened.manifest.is_none() && opened.session.facts.title.is_none() {
        let born = |record: Record| {
            let birth = record.op != "merge" && record.written.id == id;
            birth.then_some(record.written.title).flatten()
        };
        if let Some(title) = journal.records()?.into_iter().rev().find_map(born) {
            return Ok(Some(title));
        }
    }
    Ok(opened.title())
}

/// `<parent title>(fork<num>)`, the first that is free.
pub(super) fn next(parent: Option<&str>, verb: &str, taken: &HashSet<String>) -> String {
    let parent: String = parent
        .unwrap_or("Untitled")
        .chars()
        .filter(|c| !c.is_control() && !ops::is_bidi_control(*c))
        .collect();
    let title = |num: u32| {
        let suffix = format!("({verb}{num})");
        let room = LONGEST_TITLE - suffix.chars().count();
        format!("{}{suffix}", parent.chars().take(room).collect::<String>())
    };
    (1..=u32::MAX).map(title).find(|title| !taken.contains(title)).unwrap_or(parent)
}
