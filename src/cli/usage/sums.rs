//! What completions come to: rows, and how sure they are.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::{
    report::{Copied, Damaged},
    scope::Read,
};
use crate::{
    ops::usage::{self, By, Row, Rows},
    session::ledger::{self, Completion},
};

/// Rows of completions, and how many of these are not what they should be.
pub(super) struct Sums<'a> {
    rows: Rows<'a>,
    pub lower_bound: u64,
    pub orphans: u64,
    pub weak_keys: u64,
    pub kept: u64,
    pub copied: Copied,
    /// Completions of which nobody knows when they were made, so that they lie in no range.
    pub undated: u64,
}

impl<'a> Sums<'a> {
    pub fn new(by: &'a [By], zone: Tz) -> Self {
        Self {
            rows: Rows::new(by, zone),
            lower_bound: 0,
            orphans: 0,
            weak_keys: 0,
            kept: 0,
            copied: Copied::default(),
            undated: 0,
        }
    }

    /// Whether it matters when something was.
    pub fn is_dated(&self) -> bool {
        self.rows.is_dated()
    }

    /// A completion in the range. One that does not count is a copy of one that does, or of one that nobody asks for.
    pub fn add(&mut self, completion: &Completion) {
        let Copied { records, total } = &mut self.copied;
        *records += completion.copied;
        let tokens = completion.copied.saturating_mul(completion.tokens.total());
        *total = total.saturating_add(tokens);
        if !completion.counts {
            return;
        }
        self.rows.add(completion);
        self.lower_bound += u64::from(completion.provisional);
        self.orphans += u64::from(completion.orphan);
        self.weak_keys += u64::from(completion.weak);
        self.kept += u64::from(completion.kept);
    }

    /// The same if it lies in the range.
    pub fn add_inside(&mut self, completion: &Completion, range: usage::Range) {
        if usage::inside(completion.at, range) {
            self.add(completion);
        } else {
            self.undated += u64::from(completion.at.is_none() && completion.counts);
        }
    }

    /// The rows in the order of their keys, and the sum of all of them.
    pub fn rows(self) -> (Vec<Row>, Row) {
        self.rows.finish()
    }
}

/// What is told beside the sums.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Beside {
    /// When each call was made that left no usage.
    pub unrecorded: Vec<Option<DateTime<Utc>>>,
    pub broken_lines: u64,
    pub unread: usize,
    pub damaged: Vec<Damaged>,
    pub files: usize,
}

impl Beside {
    pub fn of(beside: ledger::Beside, read: &Read) -> Self {
        let counted = || read.accounts.iter().filter(|account| account.counted && !account.kept);
        let unread = read.unread.iter().map(|path| Damaged::unread(path));
        let mut damaged: Vec<Damaged> = counted().filter_map(Damaged::of).chain(unread).collect();
        damaged.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            unrecorded: beside.unrecorded,
            broken_lines: beside.broken_lines,
            unread: read.unread.len(),
            damaged,
            files: counted().count(),
        }
    }
}
