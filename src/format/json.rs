//! Pieces that every client's JSON is read with.

use std::{borrow::Cow, ops::Range};

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{fact::Place, log::Line};

/// A string that stays in the log's own bytes unless it holds an escape.
// A newtype, because serde borrows a `Cow` field but never the `Cow` in an `Option<Cow>`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Text<'_> {
    /// A copy that outlives the line.
    #[must_use]
    pub fn owned(&self) -> String {
        self.0.as_ref().to_owned()
    }
}

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A value as it stands in a line, not looked into: an object of any depth is no more than a text. How it is read says
/// the scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// A value that a scan has found.
    #[must_use]
    pub fn scanned(text: &'a str) -> Self {
        Self(text)
    }

    /// The value as it stands.
    #[must_use]
    pub fn get(self) -> &'a str {
        self.0
    }
}

impl AsRef<[u8]> for Raw<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A time as three of the clients write it: UTC, to the millisecond.
#[must_use]
pub fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A time as logs have it. The form in which clients write theirs is read by hand: it stands in every line, and chrono's own
/// parser takes any form there is.
#[must_use]
pub fn moment(text: impl AsRef<[u8]>) -> Option<DateTime<Utc>> {
    let text = text.as_ref();
    let any = || DateTime::parse_from_rfc3339(std::str::from_utf8(text).ok()?).ok();
    usual(text).or_else(|| any().map(|time| time.to_utc()))
}

/// `2026-01-31T23:59:59.999Z`.
fn usual(text: &[u8]) -> Option<DateTime<Utc>> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if !marks.iter().all(|(at, mark)| text[*at] == *mark) {
        return None;
    }
    let number = |range: Range<usize>| {
        text[range].iter().try_fold(0, |number: u32, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
        })
    };
    let day =
        NaiveDate::from_ymd_opt(i32::try_from(number(0..4)?).ok()?, number(5..7)?, number(8..10)?)?;
    let time =
        day.and_hms_milli_opt(number(11..13)?, number(14..16)?, number(17..19)?, number(20..23)?)?;
    Some(time.and_utc())
}

/// Where a value stands in its line; nowhere when it is missing.
#[must_use]
pub fn place(line: Line<'_>, value: Option<impl AsRef<[u8]>>) -> Place {
    value.map_or(Place::default(), |value| line.span(value.as_ref()).into())
}

/// The bytes of `line` that `raw` was read from.
#[must_use]
pub fn range(line: &[u8], raw: Raw<'_>) -> Range<usize> {
    let start = raw.get().as_ptr() as usize - line.as_ptr() as usize;
    start..start + raw.get().len()
}

/// The line's number in facts, counted from zero.
#[must_use]
pub fn index(line: Line<'_>) -> u32 {
    u32::try_from(line.index).unwrap_or(u32::MAX)
}

/// A token counter: zero unless it is a number that makes one. Some providers report fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub u64);

impl Count {
    /// The counter that a value is.
    #[must_use]
    pub fn of(value: Option<Raw<'_>>) -> Self {
        let Some(text) = value.map(Raw::get) else { return Self(0) };
        if let Ok(whole) = text.parse::<u64>() {
            return Self(whole);
        }
        match text.parse::<f64>() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be a count"
            )]
            Ok(number) if number.is_finite() && (0.0..1e18).contains(&number) => {
                Self(number as u64)
            }
            _ => Self(0),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<Raw<'de>>::deserialize(deserializer).map(Self::of)
    }
}

/// Reads counters. Where a key comes twice the last one counts, as in the clients, which are written in JavaScript or
/// keep what they are sent.
#[must_use]
pub fn counters<T: DeserializeOwned>(text: &str) -> Option<T> {
    let again = || serde_json::from_str(&last_of_each(text)?).ok();
    serde_json::from_str(text).ok().or_else(again)
}

/// A value in which no key comes twice any more.
#[must_use]
pub fn last_of_each(text: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Value>(text).ok().map(|value| value.to_string())
}

/// An amount of dollars as whole nano-dollars; none where it cannot be one.
#[must_use]
pub fn nano_dollars(dollars: f64) -> Option<u64> {
    let nano = (dollars * 1e9).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be an amount"
    )]
    (nano.is_finite() && (0.0..1e18).contains(&nano)).then_some(nano as u64)
}

/// Texts as the lines of one. A single one, which may be most of a log, is not copied.
#[must_use]
pub fn joined(mut texts: Vec<String>) -> String {
    if texts.len() == 1 { texts.remove(0) } else { texts.join("\n") }
}

/// Bytes as lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 0xF)]));
    }
    hex
}

/// A number in hexadecimal digits, with all zeros.
#[must_use]
pub fn digits(number: u128) -> [u8; 32] {
    std::array::from_fn(|nth| DIGITS[(number >> (124 - 4 * nth)) as usize & 0xF])
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Compact JSON with the fields in the order of the struct.
#[must_use]
pub fn line<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings and numbers always serialise")
}
