//! A side conversation that some other program held, as it is told: one record a line.

use serde::Deserialize;

use crate::{
    error::{Error, Result},
    fact::Tokens,
    format::record::{Paid, Said, Stop},
};

/// One record of the input.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    /// What was asked.
    question: String,
    /// What was answered; a turn that failed may have none.
    answer: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    usage: Option<Counters>,
    stop_reason: Option<String>,
    error: Option<String>,
    request_id: Option<String>,
    #[serde(default)]
    auxiliary: Vec<Auxiliary>,
}

/// A completion on the way to an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Auxiliary {
    purpose: Option<String>,
    stop_reason: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    usage: Option<Counters>,
}

/// Disjoint counters; one that is missing or null is zero. Reasoning is inside output.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counters {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write_5m: Option<u64>,
    cache_write_1h: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

impl Counters {
    fn tokens(self) -> Result<Tokens, String> {
        let tokens = Tokens {
            input: self.input.unwrap_or(0),
            cache_read: self.cache_read.unwrap_or(0),
            cache_write_5m: self.cache_write_5m.unwrap_or(0),
            cache_write_1h: self.cache_write_1h.unwrap_or(0),
            output: self.output.unwrap_or(0),
            reasoning: self.reasoning.unwrap_or(0),
        };
        if tokens.reasoning > tokens.output {
            return Err("`reasoning` is a part of `output` and cannot be more".into());
        }
        Ok(tokens)
    }
}

/// The turn on line `number` of the input, counted from 1.
pub fn settled(number: usize, line: &[u8]) -> Result<Said> {
    let bad = |why: String| Error::BadUsage(format!("line {number} of the records: {why}"));
    let told: Told = serde_json::from_slice(line).map_err(|error| bad(error.to_string()))?;
    if told.question.trim().is_empty() {
        return Err(bad("`question` is empty".into()));
    }
    let stop = |word: Option<&str>| match word {
        None => Ok(Stop::Complete),
        Some(word) => Stop::of(word).ok_or_else(|| {
            let known = "stop, length, error or aborted";
            bad(format!("`stopReason` is `{word}`; what is settled ended with {known}"))
        }),
    };
    let answer = told.answer.unwrap_or_default();
    let ended = stop(told.stop_reason.as_deref())?;
    if answer.is_empty() && ended == Stop::Complete {
        let hint = "a turn without one has a `stopReason` of `error` or `aborted`";
        return Err(bad(format!("`answer` is missing; {hint}")));
    }
    let paid = |purpose: Option<String>,
                provider: Option<String>,
                model: Option<String>,
                usage: Option<Counters>,
                stop: Stop| {
        let tokens = usage.unwrap_or_default().tokens().map_err(&bad)?;
        if model.is_none() && tokens != Tokens::default() {
            return Err(bad(
                "`model` is missing, so that nobody could tell what was paid for".into()
            ));
        }
        let model = model.unwrap_or_else(|| "unknown".into());
        Ok(Paid { purpose, provider, model, tokens, stop })
    };
    let own = paid(None, told.provider.clone(), told.model.clone(), told.usage, ended)?;
    let auxiliary = told.auxiliary.into_iter().map(|one| {
        let provider = one.provider.or_else(|| told.provider.clone());
        let purpose = one.purpose.unwrap_or_else(|| "auxiliary".into());
        let model = one.model.or_else(|| told.model.clone());
        paid(Some(purpose), provider, model, one.usage, stop(one.stop_reason.as_deref())?)
    });
    Ok(Said {
        auxiliary: auxiliary.collect::<Result<_>>()?,
        question: told.question,
        answer,
        error: told.error,
        paid: own,
        request_id: told.request_id.filter(|id| !id.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_all_that_was_paid_for() {
        let line = br#"{"question":"Q","answer":"A","provider":"p","model":"m","usage":{"input":10,"cache_read":null,"output":4,"reasoning":3},"stopReason":"end_turn","requestId":"r","auxiliary":[{"purpose":"summary","usage":{"input":5}},{"purpose":"overflow","model":"n","usage":{"input":7}}]}"#;
        let turn = settled(1, line).unwrap();
        let paid: Vec<u64> = turn.completions().map(|tokens| tokens.total()).collect();
        assert_eq!((paid, turn.paid.stop), (vec![5, 7, 14], Stop::Complete));
        assert_eq!(turn.auxiliary[0].model, "m");
        assert_ne!(turn.digest("s", "p", 1), turn.digest("s", "q", 1));
        assert_eq!(turn.digest("s", "p", 1), turn.digest("s", "p", 2));
    }

    #[test]
    fn what_cannot_be_counted_or_understood_is_named_with_its_line() {
        let bad = [
            ("{", "EOF"),
            (r#"{"answer":"A"}"#, "question"),
            (r#"{"question":"Q"}"#, "`answer` is missing"),
            (
                r#"{"question":"Q","answer":"A","stopReason":"toolUse"}"#,
                "`stopReason` is `toolUse`",
            ),
            (r#"{"question":"Q","answer":"A","usage":{"input":1}}"#, "`model` is missing"),
            (r#"{"question":"Q","answer":"A","model":"m","usage":{"tokens":1}}"#, "unknown field"),
            (r#"{"question":"Q","answer":"A","model":"m","usage":{"input":-1}}"#, "-1"),
            (
                r#"{"question":"Q","answer":"A","model":"m","usage":{"output":1,"reasoning":2}}"#,
                "part of",
            ),
        ];
        for (line, why) in bad {
            let error = settled(7, line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("line 7") && error.contains(why), "{line}: {error}");
        }
    }
}
