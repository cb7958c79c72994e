//! One completion as a row of a ledger: the same on every machine, so that joining ledgers is grouping by
//! `completion_id` and taking the row with the highest output, then the smallest session.

use chrono::SecondsFormat;
use serde::{Serialize, Serializer};

use crate::session::ledger::Completion;

/// What every row of one export has in common.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The name of the machine.
    pub host: String,
    /// The table of prices, where costs were computed.
    pub price_version: Option<String>,
    /// Whether working folders may leave the machine.
    pub paths: bool,
}

/// A row, in the order of its columns.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    /// 128 bits of a hash over client and key.
    #[serde(serialize_with = "hex")]
    pub completion_id: u128,
    /// The client.
    pub client: &'static str,
    /// `id`, `derived` or `weak`.
    pub key_quality: &'static str,
    /// The session that made the call.
    pub session_id: &'a str,
    /// The root of the chain of sessions that it belongs to.
    pub root_session_id: &'a str,
    /// The session that it came from.
    pub parent_session_id: Option<&'a str>,
    /// What kind of call.
    pub kind: &'a str,
    /// When, in microseconds since 1970; as text in UTC where the form has no times.
    #[serde(serialize_with = "time")]
    pub ts: Option<i64>,
    /// `own`, or `copied` where only copies are left.
    pub ts_quality: &'static str,
    /// Who was paid.
    pub provider: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// What else decides the price.
    pub tier: Option<&'a str>,
    /// Tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Tokens that the model put out.
    pub output: u64,
    /// The part of them that was reasoning.
    pub reasoning: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to it for five minutes.
    pub cache_write_5m: u64,
    /// Tokens written to it for an hour.
    pub cache_write_1h: u64,
    /// Nano-dollars, as the log says.
    pub cost_recorded_nano: Option<u64>,
    /// Nano-dollars, by the table of prices.
    pub cost_computed_nano: Option<u64>,
    /// That table.
    pub price_version: Option<&'a str>,
    /// The working folder.
    pub cwd: Option<&'a str>,
    /// How many records state it.
    pub copies: u64,
    /// The machine.
    pub host: &'a str,
}

impl<'a> Entry<'a> {
    /// The row of `completion`.
    #[must_use]
    pub fn of(completion: &'a Completion, origin: &'a Origin) -> Self {
        let tokens = &completion.tokens;
        Self {
            completion_id: completion.id,
            client: completion.client,
            key_quality: match (completion.weak, completion.derived) {
                (true, _) => "weak",
                (_, true) => "derived",
                _ => "id",
            },
            session_id: &completion.session,
            root_session_id: &completion.family,
            parent_session_id: completion.parent.as_deref(),
            kind: &completion.kind,
            ts: completion.at.map(|at| at.timestamp_micros()),
            ts_quality: if completion.orphan { "copied" } else { "own" },
            provider: completion.provider.as_deref(),
            model: completion.model.as_deref(),
            tier: completion.tier.as_deref(),
            input: tokens.input,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cache_read: tokens.cache_read,
            cache_write_5m: tokens.cache_write_5m,
            cache_write_1h: tokens.cache_write_1h,
            cost_recorded_nano: completion.cost_recorded,
            cost_computed_nano: completion.cost_computed,
            price_version: origin.price_version.as_deref(),
            cwd: completion.cwd.as_deref().filter(|_| origin.paths),
            copies: completion.copies,
            host: &origin.host,
        }
    }
}

/// The month of a completion in UTC, which is the same on every machine.
#[must_use]
pub fn month(completion: &Completion) -> String {
    completion.at.map_or_else(|| "unknown".into(), |at| at.format("%Y-%m").to_string())
}

/// A completion's id as text.
#[must_use]
pub fn id(id: u128) -> String {
    format!("{id:032x}")
}

fn hex<S: Serializer>(id: &u128, out: S) -> Result<S::Ok, S::Error> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    for (nth, byte) in id.to_be_bytes().into_iter().enumerate() {
        text[nth * 2] = DIGITS[usize::from(byte >> 4)];
        text[nth * 2 + 1] = DIGITS[usize::from(byte & 15)];
    }
    out.serialize_str(std::str::from_utf8(&text).expect("digits are text"))
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn time<S: Serializer>(micros: &Option<i64>, out: S) -> Result<S::Ok, S::Error> {
    let at = micros.and_then(chrono::DateTime::from_timestamp_micros);
    match at {
        Some(at) => out.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Micros, true)),
        None => out.serialize_none(),
    }
}
