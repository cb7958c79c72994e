//! A copy that is begun while its source is read: what a client says of the first line is enough to know what the copy
//! will begin with.

use crate::{
    fact::{Fact, Facts, Id, Keep},
    format::Format,
    log::{Line, Log, Tee},
};

/// What is known of a log before it is read.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// Who wrote it.
    pub format: &'static dyn Format,
    /// The log.
    pub log: &'a Log,
    /// What the first line states, the header among it.
    pub facts: &'a Facts,
    /// The first line.
    pub line: &'a [u8],
}

/// Begins a copy, if one is wanted.
pub type Begins<'a> = &'a dyn Fn(Beginning<'_>) -> Option<Tee>;

/// What takes the lines of `log`, which is one plain file that begins with `head`.
pub(super) fn tee(
    log: &Log,
    format: &'static dyn Format,
    head: &[u8],
    begins: Begins<'_>,
) -> Option<Tee> {
    let end = memchr::memchr(b'\n', head)?;
    let whole = log.files() == 1 && log.findings().next().is_none();
    let bytes = head.get(..end).filter(|_| whole)?;
    let line = Line { index: 0, start: 0, inset: 0, bytes, crlf: false };
    let mut facts = Facts::new(Keep::Path);
    format.reader().read(&line, &mut facts).ok()?;
    facts.header.is_some().then(|| begins(Beginning { format, log, facts: &facts, line: bytes }))?
}

/// Watches whether the records of a log follow one another, so that a copy of one path holds all of them.
#[derive(Default)]
pub(super) struct Run {
    /// How many facts were looked at.
    seen: usize,
    last: Option<Id>,
}

impl Run {
    /// Whether a record was stated that a copy of the path could not hold where it stands.
    pub fn ends(&mut self, facts: &Facts) -> bool {
        let new = &facts.all()[self.seen..];
        self.seen = facts.all().len();
        new.iter().any(|stated| match stated.fact {
            Fact::Linked { id, parent, .. } => {
                let follows = parent == self.last;
                self.last = Some(id);
                !follows
            }
            Fact::Labelled { .. } | Fact::Hollow => true,
            _ => false,
        })
    }
}
