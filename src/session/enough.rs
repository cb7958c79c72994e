//! When a cut at a finished turn has seen enough of a log.

use super::At;
use crate::{
    fact::{Fact, Facts},
    format::Format,
};

/// Watches the facts of a log for the end of one turn.
pub(super) struct Enough<'a> {
    at: &'a At,
    /// How many facts were looked at.
    seen: usize,
    /// How many turns were opened.
    opened: usize,
    /// Whether the turn was opened.
    inside: bool,
    done: bool,
}

impl<'a> Enough<'a> {
    pub fn of(at: &'a At) -> Self {
        Self { at, seen: 0, opened: 0, inside: false, done: false }
    }

    /// Whether the turn has ended and nothing that follows can change that.
    pub fn reached(&mut self, format: &dyn Format, facts: &Facts) -> bool {
        let At::Turn(name) = self.at else { return false };
        let number = name.parse::<usize>().ok();
        for stated in &facts.all()[self.seen..] {
            match stated.fact {
                Fact::Opened(id) => {
                    self.done |= self.inside;
                    self.opened += 1;
                    self.inside =
                        number.map_or_else(|| facts.name(id) == name, |n| n == self.opened);
                }
                Fact::Closed { .. } => self.done |= std::mem::take(&mut self.inside),
                _ => {}
            }
        }
        self.seen = facts.all().len();
        self.done && facts.header.as_ref().is_some_and(|header| format.settled(header.version))
    }
}
