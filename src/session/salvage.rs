//! What a damaged line still holds: records behind zero bytes, broken characters, or fused with a torn neighbour.

use std::ops::Range;

use memchr::{memchr_iter, memmem};
use serde::de::IgnoredAny;

use crate::finding::{Code, Finding};

/// How many places of one line are tried as the start of a record.
const TRIES: usize = 4096;

/// What came of a line that could not be read.
pub(super) enum Repair {
    /// Records that can be read from `text`, which is the line with unreadable bytes replaced one by one.
    Records { text: Vec<u8>, pieces: Vec<Range<usize>>, findings: Vec<Finding>, lost: u64 },
    /// The kind of damage is known, and nothing is left.
    Lost(Vec<Finding>),
    /// Good JSON that is no record of its client.
    WrongShape,
    /// Something else; the next line may tell.
    Broken,
}

/// Looks for records in `line`. Places in findings are offsets in the line.
pub(super) fn repair(line: &[u8], is_record: &dyn Fn(&[u8]) -> bool) -> Repair {
    let mut findings = Vec::new();
    let mut text = line.to_vec();
    let nul = blank_nuls(&mut text);
    if let Some(nul) = &nul {
        let finding = Finding::new(Code::NulBlock, format!("{} zero bytes", nul.len()));
        findings
            .push(Finding { byte: Some(nul.start as u64), ..finding }.with("byte_len", nul.len()));
    }
    if let Some(at) = blank_broken_utf8(&mut text) {
        findings.push(Finding {
            byte: Some(at as u64),
            ..Finding::new(Code::InvalidUtf8, "bytes that are no UTF-8")
        });
    }
    while let Some(at) = lone_surrogate(&text) {
        text[at + 2..at + 6].copy_from_slice(b"fffd");
    }
    if !findings.is_empty() || text != line {
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return Repair::Lost(findings);
        }
        if is_record(trimmed) {
            let start = text.len() - text.trim_ascii_start().len();
            let piece = start..start + trimmed.len();
            return Repair::Records { pieces: vec![piece], text, findings, lost: 0 };
        }
    } else if serde_json::from_slice::<IgnoredAny>(line).is_ok() {
        return Repair::WrongShape;
    }
    let (pieces, lost) = records_in(&text, is_record);
    if pieces.is_empty() {
        return if nul.is_some() { Repair::Lost(findings) } else { Repair::Broken };
    }
    if nul.is_none() {
        let message = format!("{} whole and {lost} broken records on one line", pieces.len());
        findings.push(
            Finding::new(Code::RecordsFused, message)
                .with("saved_records", pieces.len())
                .with("lost_records", lost),
        );
    }
    Repair::Records { text, pieces, findings, lost }
}

/// The whole records in a line, and how many broken ones stand between them.
fn records_in(line: &[u8], is_record: &dyn Fn(&[u8]) -> bool) -> (Vec<Range<usize>>, u64) {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut lost = 0;
    let mut from = 0; // behind the last whole record
    for start in memmem::find_iter(line, b"{\"").take(TRIES) {
        if start < from {
            continue; // inside a record that was found
        }
        let mut values =
            serde_json::Deserializer::from_slice(&line[start..]).into_iter::<IgnoredAny>();
        if !matches!(values.next(), Some(Ok(_))) {
            continue;
        }
        let end = start + values.byte_offset();
        if is_record(&line[start..end]) {
            lost += u64::from(!line[from..start].trim_ascii().is_empty());
            pieces.push(start..end);
            from = end;
        }
    }
    lost += u64::from(!line[from..].trim_ascii().is_empty());
    (pieces, lost)
}

/// Puts blanks in place of zero bytes; the first run of them.
fn blank_nuls(text: &mut [u8]) -> Option<Range<usize>> {
    let zeros: Vec<usize> = memchr_iter(0, text).collect();
    let first = *zeros.first()?;
    for at in &zeros {
        text[*at] = b' ';
    }
    let len = zeros.iter().enumerate().take_while(|(nth, at)| **at == first + nth).count();
    Some(first..first + len)
}

/// Puts question marks in place of bytes that are no UTF-8; the first of them.
fn blank_broken_utf8(text: &mut [u8]) -> Option<usize> {
    let mut first = None;
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&text[from..]) {
        let at = from + error.valid_up_to();
        let len = error.error_len().unwrap_or(text.len() - at);
        text[at..at + len].fill(b'?');
        first.get_or_insert(at);
        from = at + len;
    }
    first
}

/// Where an escape names half a character without its other half.
pub(super) fn lone_surrogate(line: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = memmem::find(&line[from..], b"\\u").map(|at| at + from) {
        from = at + 2;
        let slashes = line[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if slashes % 2 == 1 {
            continue; // an escaped backslash, and a plain `u`
        }
        match unit(line, at) {
            Some(0xD800..=0xDBFF) => match unit(line, at + 6) {
                Some(0xDC00..=0xDFFF) => from = at + 12,
                _ => return Some(at),
            },
            Some(0xDC00..=0xDFFF) => return Some(at),
            _ => {}
        }
    }
    None
}

/// The UTF-16 unit that the escape at `at` names.
fn unit(line: &[u8], at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_characters_are_found_and_whole_ones_are_not() {
        assert_eq!(lone_surrogate(br#""\ud83e\udd80 \\ud800 \u0041""#), None);
        assert_eq!(lone_surrogate(br#""a\ud83e""#), Some(2));
        assert_eq!(lone_surrogate(br#""\udd80\ud83e""#), Some(1));
    }

    #[test]
    fn a_record_is_saved_from_behind_a_torn_one() {
        let line = br#"{"a":{"x":1},"b{"a":{"x":2},"b":1}"#;
        let whole = |bytes: &[u8]| memmem::find(bytes, b"\"b\":1").is_some();
        let (pieces, lost) = records_in(line, &whole);
        assert_eq!((pieces.len(), pieces[0].start, pieces[0].end, lost), (1, 15, line.len(), 1));
        assert_eq!(records_in(br#"{"b":1}{"b":1}"#, &whole), (vec![0..7, 7..14], 0));
    }
}
