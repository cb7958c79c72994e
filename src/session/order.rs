//! Event numbers: each is one more than the last, or the log has a gap, a repeat, or two stories.

use serde_json::json;

use crate::{
    error::Result,
    fact::{Fact, Facts},
    finding::{Code, Finding},
    log::Log,
};

/// What is wrong with the numbers of a log, in file order. After a repeat or a step back the count goes on from there.
pub(super) fn check(log: &Log, facts: &Facts, name: &str) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    // Where the log that this one continues is not there, that is the finding; the numbers go on from wherever.
    let mut adrift = log
        .findings()
        .any(|finding| matches!(finding.code, Code::HistoryBaseMissing | Code::HistoryBaseCycle));
    let mut expected = 0u32;
    let mut before: Option<(u32, usize)> = None; // the last number and its line
    let mut stories = 1;
    // In front of what was taken out of a longer history stands a header from elsewhere in it.
    let header = facts.header.as_ref().and_then(|header| header.line).filter(|_| log.is_excerpt());
    for stated in facts.all().iter().filter(|stated| Some(stated.line) != header) {
        let line = stated.line as usize;
        let (first, count) = match stated.fact {
            Fact::Numbered { first, count } => (first, count),
            Fact::Unnumbered => {
                let finding =
                    Finding::new(Code::SeqMissing, "an event without its number").on(line + 1);
                findings.push(finding.with("expected", expected));
                expected = expected.saturating_add(1);
                continue;
            }
            _ => continue,
        };
        if std::mem::take(&mut adrift) {
            expected = first;
        }
        if first != expected {
            let number = |finding: Finding| {
                finding.on(line + 1).with("expected", expected).with("got", first).with(name, first)
            };
            let finding = match before {
                Some((last, at)) if first == last => {
                    let equal = log.line(at)? == log.line(line)?;
                    let message = format!("two events have the number {first}");
                    let pair = Finding {
                        lines: Some([at + 1, line + 1]),
                        ..Finding::new(Code::SeqRepeat, message)
                    };
                    pair.with("equal", equal)
                }
                Some((last, _)) if first < last => {
                    stories += 1;
                    let message = format!(
                        "number {first} follows {last}: another writer went on from an older state"
                    );
                    Finding::new(Code::SeqBack, message)
                }
                None if first < expected => {
                    Finding::new(Code::SeqBack, format!("the first number is {first}"))
                }
                _ => Finding::new(
                    Code::SeqGap,
                    format!("number {expected} is missing; {first} follows"),
                ),
            };
            findings.push(number(finding));
        }
        expected = first.saturating_add(count);
        before = Some((expected.saturating_sub(1), line));
    }
    for finding in findings.iter_mut().filter(|finding| finding.code == Code::SeqBack) {
        finding.fields.insert("stories".into(), json!(stories));
    }
    Ok(findings)
}
