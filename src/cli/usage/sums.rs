//! What completions come to: rows, and how sure they are.

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::{
    report::{Copied, Damaged},
    scope::Read,
};
use crate::{
    ops::usage::{By, Row, Rows},
    session::ledger::{Completion, Ledger},
};

/// Rows of completions, and how many of these are not what they should be.
pub(super) struct Sums<'a> {
    rows: Rows<'a>,
    pub lower_bound: u64,
    pub orphans: u64,
    pub weak_keys: u64,
    pub kept: u64,
}

impl<'a> Sums<'a> {
    pub fn new(by: &'a [By], zone: Tz) -> Self {
        Self { rows: Rows::new(by, zone), lower_bound: 0, orphans: 0, weak_keys: 0, kept: 0 }
    }

    /// Whether it matters when something was.
    pub fn is_dated(&self) -> bool {
        self.rows.is_dated()
    }

    pub fn add(&mut self, completion: &Completion) {
        self.rows.add(completion);
        self.lower_bound += u64::from(completion.provisional);
        self.orphans += u64::from(completion.orphan);
        self.weak_keys += u64::from(completion.weak);
        self.kept += u64::from(completion.kept);
    }

    /// The rows in the order of their keys, and the sum of all of them.
    pub fn rows(self) -> (Vec<Row>, Row) {
        self.rows.finish()
    }
}

/// What is told beside the sums, whatever their range.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Beside {
    pub copied: Copied,
    pub unrecorded: u64,
    pub broken_lines: u64,
    pub unread: usize,
    pub damaged: Vec<Damaged>,
    pub files: usize,
}

impl Beside {
    pub fn of(ledger: &Ledger, read: &Read) -> Self {
        let counted = || read.accounts.iter().filter(|account| account.counted && !account.kept);
        let unread = read.unread.iter().map(|path| Damaged::unread(path));
        let mut damaged: Vec<Damaged> = counted().filter_map(Damaged::of).chain(unread).collect();
        damaged.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            copied: Copied { records: ledger.copied.0, total: ledger.copied.1 },
            unrecorded: ledger.unrecorded,
            broken_lines: ledger.broken_lines,
            unread: read.unread.len(),
            damaged,
            files: counted().count(),
        }
    }
}
