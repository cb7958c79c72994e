//! What only whole logs tell of a family: where each parent was cut, and which notes came back.
//!
//! A log that cannot be read leaves its member as its ends tell: a tree is drawn of what is there.

use std::{collections::HashMap, path::PathBuf};

use super::{Member, MergeRow};
use crate::{
    cli::{Run, report::BoundaryReport},
    error::Result,
    fact::{Carrier, Fact},
    format::{self, Origin},
    ops,
    session::{At, Outline, Session, history, lineage},
    store::{self, Record},
};

/// Completes the members. `steps` are those of the journal, newest first.
pub(super) fn read(run: &Run, members: &mut [Member], steps: &[&Record]) {
    let sessions: HashMap<PathBuf, Session> = members
        .iter()
        .filter_map(|member| Some((member.path.clone(), open(run, member).ok()?)))
        .collect();
    let paths: HashMap<String, PathBuf> =
        members.iter().map(|member| (member.id.clone(), member.path.clone())).collect();
    let sides: Vec<(String, String, Vec<[String; 2]>)> = members
        .iter()
        .filter_map(|member| {
            let parent = member.parent.as_ref()?.id.clone();
            Some((parent, member.id.clone(), ranges(sessions.get(&member.path)?)))
        })
        .collect();
    for member in members {
        let Some(session) = sessions.get(&member.path) else { continue };
        let own = sides.iter().filter(|(parent, ..)| *parent == member.id);
        let own: Vec<_> = own.map(|(_, side, ranges)| (side.as_str(), ranges.as_slice())).collect();
        member.merges = notes(session, &own, steps).unwrap_or_default();
        let Some(parent) = &mut member.parent else { continue };
        let Some(path) = paths.get(&parent.id) else { continue };
        parent.path = Some(path.clone());
        if let Some(parent) = sessions.get(path) {
            let _ = cut(session, parent, member);
        }
    }
}

fn open(run: &Run, member: &Member) -> Result<Session> {
    Session::read(store::open(&member.path, Some(&run.store))?, format::by_name(member.format))
}

/// Where the parent was cut, as the two logs tell.
fn cut(child: &Session, parent: &Session, member: &mut Member) -> Result<()> {
    let thread = child.thread(None)?;
    let seed = lineage::seed(&thread, parent);
    let framed = thread
        .history(thread.path().len(), seed.kept)
        .iter()
        .any(|message| message.origin == Origin::Framing);
    if framed && member.kind == "fork" {
        member.kind = "side".into();
    }
    if seed.kept == 0 && !matches!(member.kind.as_str(), "fork" | "side") {
        return Ok(()); // A helper that was told all it knows inherited nothing.
    }
    let (old, keep) = lineage::origin(&seed, parent)?;
    let outline = Outline::of(&old, keep, 0)?;
    member.seed_length = Some(seed.length);
    member.compacted_source = outline.compacted.is_some();
    let boundary = old.boundary(&At::Records(keep), true)?;
    member.boundary = Some(BoundaryReport::of(&old, boundary, outline.messages));
    Ok(())
}

/// The ranges that a note of a side session may stand for: none where a person wrote it, or its last answer.
fn ranges(side: &Session) -> Vec<[String; 2]> {
    let last = side.thread(None).and_then(|thread| ops::last_answer(&thread, thread.seed));
    [[String::new(), String::new()]].into_iter().chain(last.ok().map(|(_, range)| range)).collect()
}

/// The notes on the active path. Of which side session one is, the journal tells, or else the digest does.
fn notes(
    session: &Session,
    sides: &[(&str, &[[String; 2]])],
    steps: &[&Record],
) -> Result<Vec<MergeRow>> {
    let thread = session.thread(None)?;
    let writer = session.format.writer(&session.facts)?;
    let mut rows = Vec::new();
    for message in thread.history(thread.path().len(), thread.seed) {
        let mark = session.facts.of(message.line).find_map(|fact| match fact {
            Fact::Carried(Carrier::Note, mark) => Some(session.facts.name(mark).to_owned()),
            _ => None,
        });
        let Some(mark) = mark else { continue };
        let text = writer.words(&history::unfold(session, &message)?.text).to_owned();
        let step = steps.iter().find(|step| step.merged(&mark).is_some());
        let told = step.and_then(|step| step.merged(&mark)).map(str::to_owned);
        let is_of = |side: &str, range: &[String; 2]| {
            writer.mark(&ops::note(side, range, text.clone(), 1)) == mark
        };
        let found = || {
            let fits = |(side, ranges): &&(&str, &[[String; 2]])| {
                ranges.iter().any(|range| is_of(side, range))
            };
            sides.iter().find(fits).map(|(side, _)| (*side).to_owned())
        };
        rows.push(MergeRow {
            side: told.or_else(found),
            note: Some(mark),
            line: Some(session.log.place(message.line as usize).1),
            text: Some(text),
            at: step.map(|step| step.at),
        });
    }
    Ok(rows)
}
