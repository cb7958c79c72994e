//! Why each record of usage was counted or not.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::ledger::{Account, Case, Completion, Family, Shared, each_completion};
use crate::fact::{Tokens, Word};

/// Why a record of a completion counts, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Its figures are the completion's.
    Counted,
    /// Another record of the same answer in the same session.
    SameAnswer,
    /// A copy in another log.
    Copied,
    /// The completion lies outside of the range.
    OutOfRange,
    /// The session that made the call is not asked for.
    OwnerElsewhere,
    /// The log of the session that made the call is gone, and only sessions by name are asked for.
    OwnerGone,
    /// It left no usage.
    Unrecorded,
}

impl Rule {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::SameAnswer => "same-answer",
            Self::Copied => "copied",
            Self::OutOfRange => "out-of-range",
            Self::OwnerElsewhere => "owner-elsewhere",
            Self::OwnerGone => "owner-gone",
            Self::Unrecorded => "unrecorded",
        }
    }

    /// The rule, in a sentence.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Counted => "of all its records the one with the greatest output",
            Self::SameAnswer => "another record of the same answer in the same session",
            Self::Copied => "a copy in another log; the session that made the call is counted",
            Self::OutOfRange => "the completion lies outside of the range",
            Self::OwnerElsewhere => "the session that made the call is not asked for",
            Self::OwnerGone => "the log of the session that made the call is not here",
            Self::Unrecorded => "a call that left no usage: nobody can say what it came to",
        }
    }
}

/// One record of a completion.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The file.
    pub path: Option<PathBuf>,
    /// The line, counted from one.
    pub line: usize,
    /// The session whose log it is.
    pub session: Word,
    /// When, as the record says.
    pub at: Option<DateTime<Utc>>,
    /// How much, as the record says.
    pub tokens: Tokens,
    /// What became of it.
    pub rule: Rule,
}

/// A completion with all of its records.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What the records state.
    pub completion: Completion,
    /// Whether it is in the sums.
    pub counts: bool,
    /// The records, the owner's first.
    pub records: Vec<Seen>,
}

/// Every completion that `wanted` wants to know of, with all of its records, in the order of their ids. The rest is as
/// for the ledger; `inside` tells whether a completion lies in the range.
#[must_use]
pub fn explain(
    accounts: &[Account],
    adopt: bool,
    follow: &dyn Fn(&str) -> bool,
    inside: &dyn Fn(&Completion) -> bool,
    wanted: &dyn Fn(&Explained) -> bool,
) -> Vec<Explained> {
    let family = Family::of(accounts);
    let mut told = Vec::new();
    let mut shared = Shared::default();
    each_completion(accounts, &family, &mut |copies| {
        let case = Case::of(copies, adopt);
        if case.logs == 0 {
            return; // of no log that is asked for
        }
        let completion = case.completion(&family, follow, &mut shared);
        let inside = inside(&completion);
        let paid = case.greatest.is_recorded();
        let verdict = match (case.counts, inside) {
            (true, true) if !paid => Rule::Unrecorded,
            (true, true) => Rule::Counted,
            (true, false) => Rule::OutOfRange,
            (false, _) if case.orphan => Rule::OwnerGone,
            (false, _) => Rule::OwnerElsewhere,
        };
        let first = copies.iter().find(|copy| std::ptr::eq(copy.usage, case.greatest));
        let records = copies.iter().map(|copy| {
            let rule = match first {
                Some(first) if std::ptr::eq(first.usage, copy.usage) => verdict,
                Some(first) if std::ptr::eq(first.account, copy.account) => Rule::SameAnswer,
                _ => Rule::Copied,
            };
            Seen {
                path: copy.account.path.clone(),
                line: copy.usage.line as usize + 1,
                session: copy.account.session.clone(),
                at: copy.usage.at,
                tokens: copy.usage.tokens,
                rule,
            }
        });
        let one = Explained {
            counts: case.counts && inside && paid,
            records: records.collect(),
            completion,
        };
        if wanted(&one) {
            told.push(one);
        }
    });
    told.sort_by_key(|one| one.completion.id);
    told
}
