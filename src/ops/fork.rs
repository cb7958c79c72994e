//! A child of a session: its own header, the seed, what is new. Side sessions are made by the same steps.

use std::{collections::HashSet, path::Path};

use super::Cut;
use crate::{
    error::{Error, Result},
    fact::{Base, Fact, Facts, Id, IdSet, Rare, index},
    format::{Adopted, Birth, Context, Format, Note, Rewire, Tip, Writer},
    log::Draft,
    session::Thread,
};

/// What the child is made of.
pub struct Child<'a> {
    /// The cut session.
    pub cut: &'a Cut<'a>,
    /// What is new.
    pub birth: &'a Birth,
    /// Whether the parent's context is inherited; else only its settings are.
    pub inherit: bool,
    /// The framing of a side session.
    pub framing: Option<&'a Note>,
    /// Where it will lie, if in a file.
    pub folder: Option<&'a Path>,
}

/// The parent's bytes up to the cut, for a child that refers to them: those of the file that holds the last line kept.
#[must_use]
pub fn base_of(cut: &Cut<'_>) -> Option<Base> {
    let session = cut.thread.session;
    let last = *cut.kept.last()?;
    let (path, bytes) = session.log.end_of(last as usize);
    let layout = session.format.layout();
    let file =
        path.and_then(|path| layout.file_id(path)).unwrap_or_else(|| session.id().to_owned());
    let end = session.facts.of(last).find_map(|fact| match fact {
        Fact::Numbered { first, count } => Some(u64::from(first) + u64::from(count)),
        _ => None,
    })?;
    Some(Base { file, end, bytes })
}

/// The first line of a child that goes on with its parent's lines as they stand, and whether these begin with the parent's
/// own header; nothing where no child is like that. `facts` are those of `header`, the parent's first line.
pub fn beginning(
    format: &dyn Format,
    facts: &Facts,
    birth: &Birth,
    header: &[u8],
) -> Option<(Vec<u8>, bool)> {
    let same = facts.header.as_ref()?.version == birth.version;
    let writer = format.writer(facts).ok().filter(|_| same)?;
    let rewire = Kept::default();
    let context = Context { facts, birth, rewire: &rewire, header };
    let first = writer.header(context);
    (!first.is_empty()).then(|| (first, writer.keeps_header(context)))
}

/// Drafts the child.
pub fn child<'a>(child: &Child<'a>) -> Result<Draft<'a>> {
    let Child { cut, birth, inherit, framing, folder } = child;
    let session = cut.thread.session;
    let writer = session.format.writer(&session.facts)?;
    let kept: &[u32] = if *inherit { &cut.kept } else { &[] };
    // What the child refers to it does not hold.
    let held: Vec<u32> = match birth.base {
        Some(_) => Vec::new(),
        None => kept.iter().copied().filter(|line| !cut.thread.is_joint(*line)).collect(),
    };
    let renumbers = session.format.renumbers(birth.version);
    if !renumbers {
        check_numbers(&session.facts, &held)?;
    }
    let rewire = Kept::new(&cut.thread, kept);
    let header = session.header().line.map(|line| session.log.line(line as usize)).transpose()?;
    let header = header.unwrap_or_default();
    let context = Context { facts: &session.facts, birth, rewire: &rewire, header: &header };

    let mut draft = Draft::of(&session.log).for_folder(*folder);
    let first = writer.header(context);
    if !first.is_empty() {
        draft.line(&first);
    }
    if *inherit
        && writer.keeps_header(context)
        && let Some(line) = session.header().line
    {
        draft.copy(line as usize);
    }
    let mut dropped = HashSet::new();
    let mut number = 1; // the header is the first event where headers are events
    let mut order = in_file_order(&session.facts, &held);
    if *inherit && birth.base.is_none() {
        cut.put_unreadable(&mut order);
    }
    let mut lines = session.log.reread();
    for line in order {
        if cut.unreadable.contains(&line) {
            draft.copy(line as usize);
            continue;
        }
        let numbered = renumbers.then(|| own_number(&session.facts, line)).flatten();
        if let Some(own) = numbered {
            if own != number {
                draft.line(&writer.renumber(lines.line(line as usize)?, number)?);
                number += 1;
                continue;
            }
            number += 1;
        }
        match writer.adopt(line, &mut lines, context)? {
            Adopted::AsIs => draft.copy(line as usize),
            Adopted::Spliced(splice) => draft.spliced(lines.line(line as usize)?, &splice),
            Adopted::Dropped => {
                dropped.insert(line);
            }
        }
    }
    let adopted: Vec<u32> = held.iter().copied().filter(|line| !dropped.contains(line)).collect();
    let last = adopted.last().map(|line| session.log.line(*line as usize)).transpose()?;
    let mut tip =
        Tip { version: birth.version, ..writer.tip(&session.facts, &adopted, last.as_deref()) };
    if renumbers {
        tip.seq = birth.base.as_ref().map_or(number, |base| base.end + 1);
    }
    add(&mut draft, writer.seal(&mut tip, context));
    if !inherit || writer.restates(context) {
        for line in settings(&cut.thread, cut.boundary.keep()) {
            draft.line(&writer.setting(&session.log.line(line as usize)?, &mut tip, context)?);
        }
    }
    if let Some(framing) = framing {
        draft.line(
            &writer.note(framing, birth.at, &mut tip, &|id| session.facts.known(id).is_some()),
        );
    }
    add(&mut draft, finish(writer, &cut.thread, &rewire, &mut tip, context)?);
    Ok(draft)
}

/// The order in which a child has the lines: that of the parent's file, in which a client finds what a compaction left
/// before its mark. Where the last record of the path is not the last in the file, the order of the path.
fn in_file_order(facts: &Facts, kept: &[u32]) -> Vec<u32> {
    let mut order = kept.to_vec();
    if facts.has(Rare::Linked) && kept.last() == kept.iter().max() {
        order.sort_unstable();
    }
    order
}

fn add(draft: &mut Draft<'_>, lines: Vec<Vec<u8>>) {
    for line in lines {
        draft.line(&line);
    }
}

/// The last lines; the labels are those of kept records, wherever in the log they stand.
fn finish(
    writer: &dyn Writer,
    thread: &Thread<'_>,
    rewire: &Kept,
    tip: &mut Tip,
    context: Context<'_>,
) -> Result<Vec<Vec<u8>>> {
    let facts = &thread.session.facts;
    let mut labels: Vec<(Id, u32)> = Vec::new();
    let all = if facts.has(Rare::Labelled) { facts.all() } else { &[] };
    for stated in all {
        let Fact::Labelled { target, set } = stated.fact else { continue };
        labels.retain(|(known, _)| *known != target);
        if set && (rewire.kept[index(target)] || rewire.calls.contains(&target)) {
            labels.push((target, stated.line));
        }
    }
    let mut lines: Vec<u32> = labels.into_iter().map(|(_, line)| line).collect();
    lines.dedup(); // one line can name several
    let labels = lines
        .into_iter()
        .map(|line| thread.session.log.line(line as usize))
        .collect::<Result<Vec<_>>>()?;
    writer.finish(&labels, tip, context)
}

/// The last setting of each kind among the first `keep` records.
fn settings(thread: &Thread<'_>, keep: usize) -> Vec<u32> {
    let mut last: Vec<(u8, u32)> = Vec::new();
    for &line in &thread.path()[..keep] {
        for fact in thread.session.facts.of(line) {
            let Fact::Setting(kind) = fact else { continue };
            last.retain(|(known, _)| *known != kind);
            last.push((kind, line));
        }
    }
    let mut lines: Vec<u32> = last.into_iter().map(|(_, line)| line).collect();
    lines.dedup(); // one line may hold several
    lines
}

/// The number of the event on a line.
fn own_number(facts: &Facts, line: u32) -> Option<u64> {
    facts.of(line).find_map(|fact| match fact {
        Fact::Numbered { first, .. } => Some(u64::from(first)),
        _ => None,
    })
}

/// A log whose events are numbered cannot lose one.
fn check_numbers(facts: &Facts, kept: &[u32]) -> Result<()> {
    let mut expected = None;
    for &line in kept {
        for fact in facts.of(line) {
            let Fact::Numbered { first, count } = fact else { continue };
            if expected.is_some_and(|expected| expected != first) {
                let message = format!(
                    "without the lines left out, event {first} on line {} would not follow the one before",
                    line + 1
                );
                return Err(Error::BadUsage(message));
            }
            expected = Some(first.saturating_add(count));
        }
    }
    Ok(())
}

/// What became of the parent's records, by id.
#[derive(Default)]
struct Kept {
    /// Records of the path in order, and whether the child has them.
    path: Vec<(Id, bool)>,
    /// Whether the child has a record, by the index of its id.
    kept: Vec<bool>,
    /// The calls in what is kept.
    calls: IdSet,
}

impl Kept {
    fn new(thread: &Thread<'_>, kept: &[u32]) -> Self {
        let facts = &thread.session.facts;
        let mut kept_lines = vec![false; thread.session.log.lines()];
        for line in kept {
            kept_lines[*line as usize] = true;
        }
        let record = |line: &u32| {
            let mut id = None;
            let mut useless = false;
            for fact in facts.of(*line) {
                match fact {
                    Fact::Linked { id: own, .. } => id = Some(own),
                    Fact::Labelled { .. } | Fact::Hollow => useless = true,
                    _ => {}
                }
            }
            id.map(|id| (id, kept_lines[*line as usize] && !useless))
        };
        let tree = if facts.has(Rare::Linked) { thread.path() } else { &[] };
        let path: Vec<(Id, bool)> = tree.iter().filter_map(record).collect();
        let mut kept = vec![false; facts.id_count()];
        for (id, has) in &path {
            kept[index(*id)] = *has;
        }
        let called = |fact: Fact| match fact {
            Fact::Called(call) => Some(call),
            _ => None,
        };
        // They are asked for by labels alone.
        let labelled = if facts.has(Rare::Labelled) { thread.path() } else { &[] };
        let calls = labelled.iter().filter(|line| kept_lines[**line as usize]);
        let calls = calls.flat_map(|line| facts.of(*line)).filter_map(called).collect();
        Self { path, kept, calls }
    }

    fn position(&self, id: Id) -> Option<usize> {
        self.path.iter().position(|(own, _)| *own == id)
    }
}

impl Rewire for Kept {
    fn parent(&self, id: Id) -> Option<Id> {
        if self.kept[index(id)] {
            return Some(id);
        }
        // The path is a chain, so that an ancestor stands before. What is no record of it has no place in the child.
        self.before(id)
    }

    fn before(&self, id: Id) -> Option<Id> {
        let at = self.position(id)?;
        self.path[..at].iter().rev().find(|(_, kept)| *kept).map(|(id, _)| *id)
    }

    fn successor(&self, id: Id) -> Option<Id> {
        if self.kept[index(id)] {
            return Some(id);
        }
        let at = self.position(id)?;
        self.path[at..].iter().find(|(_, kept)| *kept).map(|(id, _)| *id)
    }

    fn last(&self) -> Option<Id> {
        self.path.iter().rev().find(|(_, kept)| *kept).map(|(id, _)| *id)
    }

    fn keeps(&self, id: Id) -> bool {
        self.kept[index(id)]
    }
}
