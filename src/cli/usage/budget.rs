//! `--fail-over`: a limit in dollars or tokens.

use std::{fs::File, io::ErrorKind, str::FromStr};

use schemars::JsonSchema;
use serde::Serialize;

use super::{report::dollars, table};
use crate::{cli::output::grouped, error::Error, ops::usage::Row};

/// A limit, such as `10usd` or `5Mtok`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    text: String,
    limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// Nano-dollars.
    Dollars(u64),
    Tokens(u64),
}

/// What was spent of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Spent {
    limit: String,
    /// In the unit of the limit.
    spent: f64,
    unit: &'static str,
    over: bool,
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no amount: try 10usd, 2.50usd, 5Mtok or 800ktok");
        let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(at);
        // What the number has to be multiplied with, as a power of ten.
        let (power, money) = match unit.to_ascii_lowercase().as_str() {
            "usd" => (9, true),
            "tok" => (0, false),
            "ktok" => (3, false),
            "mtok" => (6, false),
            "gtok" => (9, false),
            _ => return Err(wrong()),
        };
        let value = scaled(number.trim(), power).ok_or_else(wrong)?;
        let limit = if money { Limit::Dollars(value) } else { Limit::Tokens(value) };
        Ok(Self { text: text.to_owned(), limit })
    }
}

/// A decimal number times a power of ten, exactly; none where digits would be lost.
fn scaled(number: &str, power: usize) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > power {
        return None;
    }
    format!("{whole}{part:0<power$}").parse().ok()
}

impl Amount {
    /// Whether prices are needed to tell.
    pub fn is_money(&self) -> bool {
        matches!(self.limit, Limit::Dollars(_))
    }

    /// What `sum` is of the limit, and the failure if it is more, or may be: `unread` is something that is in no sum.
    pub fn check(&self, sum: &Row, unread: Option<&str>) -> (Spent, Option<Error>) {
        let (spent, limit, unit, text) = match self.limit {
            Limit::Dollars(limit) => (sum.money.spent, limit, "usd", table::money(sum.money.spent)),
            Limit::Tokens(limit) => {
                let total = sum.tokens.total();
                (total, limit, "tok", format!("{} tokens", grouped(total)))
            }
        };
        let over = spent > limit;
        let unpriced = match (self.limit, sum.money.unknown) {
            (Limit::Dollars(_), more @ 1..) => {
                format!(", and of {} tokens nothing says the cost", grouped(more))
            }
            _ => String::new(),
        };
        let message = format!("{text} is more than {}{unpriced}", self.text);
        #[expect(clippy::cast_precision_loss, reason = "no sum has 2^53 tokens")]
        let amount = if self.is_money() { dollars(spent) } else { spent as f64 };
        let report = Spent { limit: self.text.clone(), spent: amount, unit, over };
        let failure = match unread {
            _ if over => Some(Error::No { code: "OVER_BUDGET", message }),
            Some(path) => {
                // What can be opened is damaged.
                let opens = File::open(path).is_ok();
                let kind = if opens { ErrorKind::InvalidData } else { ErrorKind::PermissionDenied };
                Some(Error::io("count", path)(kind.into()))
            }
            None => None,
        };
        (report, failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        let limit = |text: &str| text.parse::<Amount>().map(|amount| amount.limit);
        assert_eq!(limit("10usd"), Ok(Limit::Dollars(10_000_000_000)));
        assert_eq!(limit("0.000000001USD"), Ok(Limit::Dollars(1)));
        assert_eq!(limit("5Mtok"), Ok(Limit::Tokens(5_000_000)));
        assert_eq!(limit("2.5ktok"), Ok(Limit::Tokens(2_500)));
        assert_eq!(limit("0 tok"), Ok(Limit::Tokens(0)));
        for wrong in
            ["", "10", "usd", "-1usd", "1.5tok", "1e3tok", "10eur", "1.0000000001usd", "1,000tok"]
        {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
