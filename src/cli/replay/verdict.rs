//! What makes the answer of `replay` no: another prefix, a note that is missing or repeated, another history, damage.

use std::{
    fs,
    io::{self, BufRead},
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Args;
use crate::{
    cli::Run,
    error::{Error, Result},
    finding::Finding,
    format::json::hex,
    ops::{self, Policy},
    session::{History, Session, Thread},
    store::{self, State},
};

/// A child beside its parent.
#[derive(Serialize, JsonSchema)]
pub(super) struct AgainstReport {
    pub prefix: &'static str,
    pub prefix_messages: usize,
    pub own_messages: usize,
    first_difference: Option<usize>,
    seed_length: u64,
}

/// The first error that makes the answer no.
pub(super) fn damage(args: &Args, findings: &[Finding], policy: &Policy) -> Option<Error> {
    if args.lenient {
        return None;
    }
    let counts = |finding: &&Finding| policy.stops(finding) && (args.check || finding.code.loses());
    findings.iter().find(counts).map(|finding| finding.clone().into())
}

/// Whether the child begins with the parent's history, and whether its notes stand in the live parent, once.
pub(super) fn compare(
    run: &Run,
    args: &Args,
    child: &Thread<'_>,
    parent: &Session,
    live: &Session,
) -> Result<(AgainstReport, Option<Error>)> {
    let against = ops::against(child.session, args.leaf.as_deref(), parent)?;
    let prefix = if against.first_difference.is_none() { "identical" } else { "diverged" };
    let report = AgainstReport {
        prefix,
        prefix_messages: against.prefix.messages.len(),
        own_messages: against.own_messages,
        first_difference: against.first_difference,
        seed_length: against.seed_length,
    };
    let no = |code, message| Some(Error::No { code, message });
    let verdict = match against.first_difference {
        Some(0) => no("PREFIX_DIVERGED", "the system prompt is not the parent's".into()),
        Some(at) if at > against.prefix.messages.len() => {
            let named = child.session.header().parent.as_deref();
            let named = named.map_or("it names no parent".to_owned(), |named| {
                format!("it names {named} as its parent")
            });
            let parent = parent.id();
            no("PREFIX_DIVERGED", format!("message {at} is not one of {parent}, and {named}"))
        }
        Some(at) => no("PREFIX_DIVERGED", format!("message {at} is not the parent's")),
        None => merged_once(run, child.session, live)?,
    };
    Ok((report, verdict))
}

/// Every note that was merged stands on the parent's path, once.
fn merged_once(run: &Run, child: &Session, parent: &Session) -> Result<Option<Error>> {
    let marks = ops::merges(parent, None)?;
    for (at, mark) in marks.iter().enumerate() {
        if marks[..at].contains(mark) {
            return Ok(Some(Error::No {
                code: "MERGE_REPEATED",
                message: format!("the note {mark} stands twice in {}", parent.id()),
            }));
        }
    }
    let Ok(journal) = run.journal() else { return Ok(None) };
    let mine = |record: &store::Record| {
        record.op == "merge"
            && record.state == State::Committed
            && record.written.id == parent.id()
            && record.source.get("id").and_then(Value::as_str) == Some(child.id())
    };
    for record in journal.records()?.into_iter().filter(mine) {
        let Some(mark) = record.written.note else { continue };
        if !marks.contains(&mark) {
            return Ok(Some(Error::No {
                code: "MERGE_MISSING",
                message: format!("the note {mark} is not in {} any more", parent.id()),
            }));
        }
    }
    Ok(None)
}

/// What counts of a row of a golden file.
#[derive(serde::Deserialize)]
struct Golden {
    sha256: String,
}

/// A golden file made by `--view messages`, or a hash.
pub(super) fn expect(expected: &str, history: &History) -> Result<Option<Error>> {
    let no = |message: String| Ok(Some(Error::No { code: "REPLAY_MISMATCH", message }));
    let is_hash = expected.len() == 64 && expected.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        let hash = history.hash();
        return if hash.eq_ignore_ascii_case(expected) {
            Ok(None)
        } else {
            no(format!("the hash is {hash}"))
        };
    }
    let file = fs::File::open(expected).map_err(Error::io("read", expected))?;
    let mut rows = 0;
    for line in io::BufReader::new(file).lines() {
        let line = line.map_err(Error::io("read", expected))?;
        if line.trim().is_empty() {
            continue;
        }
        let row: Golden = serde_json::from_str(&line).map_err(|_| {
            Error::BadUsage(format!("{expected} was not made by `--view messages`"))
        })?;
        match history.digests.get(rows) {
            None => return no(format!("message {} is missing; the log has {rows}", rows + 1)),
            Some(digest) if hex(digest) != row.sha256 => {
                let role = history.messages[rows].role.name();
                return no(format!(
                    "message {} ({role}, line {}) is another one",
                    rows + 1,
                    history.messages[rows].line + 1
                ));
            }
            Some(_) => rows += 1,
        }
    }
    if rows == history.digests.len() {
        Ok(None)
    } else {
        no(format!("message {} is new; {rows} were expected", rows + 1))
    }
}
