//! JSON looked through, and nothing built: where strings end is marked 64 bytes at a time, with the widest registers that
//! the machine has; then each token outside of strings is looked at once.
//!
//! A log of a gigabyte is mostly long strings in lines that state little. What a scan takes is JSON as `serde_json` reads it, which
//! a test holds it to; what it does not take (other escapes in keys, deep nesting, anything broken) goes to `serde_json`,
//! whose word it is what a line means and what is wrong with it.

mod ask;
mod de;
mod form;
#[cfg(test)]
mod law;
mod mark;
mod skip;

use std::ops::Range;

pub use ask::{Parsed, Unread};
pub use de::read;
pub use form::{Ask, Fields, Forms, Places};
pub use mark::Marks;

use self::{
    mark::{SHORT, STEP, Seen},
    skip::Skip,
};
use super::json::{Count, Raw, Text};

/// A place in a line. All methods give nothing where the line is not what they look for; the scan is over then.
#[derive(Debug)]
pub struct Scan<'a, 'm> {
    bytes: &'a [u8],
    at: usize,
    quotes: &'m [u64],
    slashes: &'m [u64],
    seen: Seen,
    /// The line as text, where that was looked into.
    whole: Option<&'a str>,
}

/// Nothing if the key with that number came before in its object: which of two counts is for `serde_json` to judge.
pub fn once(seen: &mut u64, number: u8) -> Option<()> {
    let fresh = *seen & 1 << number == 0;
    *seen |= 1 << number;
    fresh.then_some(())
}

impl<'a, 'm> Scan<'a, 'm> {
    /// A scan that stands at the beginning of `bytes`.
    #[must_use]
    pub fn of(bytes: &'a [u8], marks: &'m mut Marks) -> Self {
        let seen = marks.look(bytes);
        #[cfg(test)]
        let seen = seen.filter(|_| !tests::BLIND.get());
        let bytes = if seen.is_some() { bytes } else { b"" };
        let (seen, whole) = seen.unwrap_or_default();
        marks.plain = !bytes.is_empty() && !seen.unicode;
        Self { bytes, at: 0, quotes: marks.quotes(), slashes: marks.slashes(), seen, whole }
    }

    /// A part of the line as text.
    #[inline]
    fn part(&mut self, part: Range<usize>) -> Option<&'a str> {
        if self.whole.is_none() {
            if part.len() < STEP && self.bytes.len() > SHORT {
                return std::str::from_utf8(&self.bytes[part]).ok();
            }
            // Long parts may lie in each other, and short lines have many: then the whole line is looked into, once.
            self.whole = simdutf8::basic::from_utf8(self.bytes).ok();
        }
        self.whole?.get(part)
    }

    /// Goes behind `text`, if that is what stands here to the byte.
    #[inline]
    pub fn follows<const N: usize>(&mut self, text: &[u8; N]) -> Option<()> {
        let is = self.bytes[self.at..].first_chunk() == Some(text);
        is.then(|| self.at += N)
    }

    /// Where it stands.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes back to the beginning.
    pub fn again(&mut self) {
        self.at = 0;
    }

    /// Visits the values of a list.
    pub fn list(&mut self, visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.items(b'[', b']', visit)
    }

    /// What `pass` passes over, as it stands.
    pub fn span(&mut self, pass: impl FnOnce(&mut Self) -> Option<()>) -> Option<&'a [u8]> {
        self.next()?;
        let start = self.at;
        pass(self)?;
        Some(&self.bytes[start..self.at])
    }

    /// Whether the value that comes next begins with `byte`.
    pub fn begins(&mut self, byte: u8) -> bool {
        self.next() == Some(byte)
    }

    /// Visits the fields of an object: `visit` is given each key as it stands and must read the value.
    pub fn object(
        &mut self,
        mut visit: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.items(b'{', b'}', |scan| {
            let key = scan.key()?;
            visit(scan, key)
        })
    }

    /// Visits what stands between two brackets.
    #[inline]
    fn items(
        &mut self,
        open: u8,
        close: u8,
        mut visit: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open)?;
        if self.next()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            visit(self)?;
            match self.next()? {
                b',' => {
                    self.at += 1;
                    self.next()?;
                }
                byte if byte == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// A value as it stands.
    pub fn value(&mut self) -> Option<&'a [u8]> {
        self.place().map(|place| &self.bytes[place])
    }

    /// A value as it stands; nothing where it is `null`.
    pub fn raw(&mut self) -> Option<Option<Raw<'a>>> {
        let value = self.place()?;
        self.raw_at(value)
    }

    /// Where a value stands in the line.
    pub fn place(&mut self) -> Option<Range<usize>> {
        self.next()?;
        let start = self.at;
        self.skip()?;
        Some(start..self.at)
    }

    /// The value that stands there; nothing where it is `null`.
    pub fn raw_at(&mut self, place: Range<usize>) -> Option<Option<Raw<'a>>> {
        let value = self.part(place)?;
        Some((value != "null").then(|| Raw::scanned(value)))
    }

    /// Whether the value is `null`, which is passed over then.
    pub fn is_null(&mut self) -> Option<bool> {
        let null = self.next()? == b'n';
        if null {
            self.literal(b"null")?;
        }
        Some(null)
    }

    /// A whole number of few digits; nothing where the value is `null`. Others are for `serde` to judge.
    #[inline]
    pub fn whole_number(&mut self) -> Option<Option<u64>> {
        if self.is_null()? {
            return Some(None);
        }
        let (mut number, mut len) = (0_u64, 0);
        let text = &self.bytes[self.at..];
        let next = loop {
            match text.get(len) {
                Some(digit @ b'0'..=b'9') if len < 19 => {
                    number = number * 10 + u64::from(digit - b'0');
                    len += 1;
                }
                next => break next,
            }
        };
        let whole = len == 1 || len > 1 && text[0] != b'0';
        if !whole || matches!(next, Some(b'0'..=b'9' | b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += len;
        Some(Some(number))
    }

    /// A token counter; an unusual one is taken as it stands.
    #[inline]
    pub fn count(&mut self) -> Option<Count> {
        match self.whole_number() {
            Some(number) => Some(Count(number.unwrap_or(0))),
            None => self.raw().map(Count::of),
        }
    }

    /// A string without escapes, without its quotes; nothing where the value is `null`.
    #[inline]
    pub fn word(&mut self) -> Option<Option<&'a [u8]>> {
        if self.is_null()? {
            return Some(None);
        }
        let word = self.quoted()?;
        let end = self.at - 1;
        (!self.is_escaped(end - word.len()..end)).then_some(Some(word))
    }

    /// The same as text.
    pub fn text(&mut self) -> Option<Option<Text<'a>>> {
        match self.word()? {
            Some(word) => {
                let text = self.part(self.at - 1 - word.len()..self.at - 1)?;
                Some(Some(Text(text.into())))
            }
            None => Some(None),
        }
    }

    /// Whether the line was read to its end.
    #[must_use]
    pub fn ends(&mut self) -> bool {
        self.next().is_none() && self.at == self.bytes.len()
    }

    /// Whether a character is named by its number somewhere in the line.
    #[must_use]
    pub fn names_characters(&self) -> bool {
        self.seen.unicode
    }

    /// The key that begins here, without its quotes; its value comes next. None of those that anybody looks for holds what
    /// can be escaped but by its number.
    #[inline]
    fn key(&mut self) -> Option<&'a [u8]> {
        if *self.bytes.get(self.at)? != b'"' {
            return None;
        }
        let start = self.at + 1;
        self.at = self.over().string(start)?;
        let key = &self.bytes[start..self.at - 1];
        self.take(b':')?;
        self.next()?;
        (!self.seen.unicode || !key.contains(&b'\\')).then_some(key)
    }

    /// A string as it stands, without its quotes.
    #[inline]
    fn quoted(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let start = self.at;
        self.string()?;
        Some(&self.bytes[start..self.at - 1])
    }

    /// Whether a backslash stands in a part of the line, behind which there is more.
    #[inline]
    fn is_escaped(&self, part: Range<usize>) -> bool {
        if !self.seen.escape {
            return false;
        }
        let from = u64::MAX << (part.start % STEP);
        let to = (1 << (part.end % STEP)) - 1;
        let Some(steps) = self.slashes.get(part.start / STEP..=part.end / STEP) else {
            return memchr::memchr(b'\\', &self.bytes[part]).is_some();
        };
        match steps {
            [only] => only & from & to != 0,
            [begin, rest @ .., end] => {
                begin & from != 0 || end & to != 0 || rest.iter().any(|step| *step != 0)
            }
            [] => false,
        }
    }

    /// The next byte that is no blank.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            // Clients write no blanks.
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// Goes behind the value that comes next, whatever it is.
    fn skip(&mut self) -> Option<()> {
        self.next()?;
        self.at = self.over().value(self.at)?;
        Some(())
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
        self.at = self.over().literal(self.at, word)?;
        Some(())
    }

    /// Goes behind the closing quote of a string whose opening one was taken.
    #[inline]
    fn string(&mut self) -> Option<()> {
        self.at = self.over().string(self.at)?;
        Some(())
    }

    /// What passes over values.
    fn over(&self) -> Skip<'a, 'm> {
        Skip { bytes: self.bytes, quotes: self.quotes }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    thread_local! {
        /// Whether nothing is taken, so that all goes the other way.
        pub(super) static BLIND: Cell<bool> = const { Cell::new(false) };
    }

    fn scanned(bytes: &[u8]) -> Option<&[u8]> {
        let mut marks = Marks::default();
        let mut scan = Scan::of(bytes, &mut marks);
        let value = scan.value()?;
        scan.ends().then_some(value)
    }

    fn parsed(bytes: &[u8]) -> Option<&[u8]> {
        serde_json::from_slice::<&RawValue>(bytes).ok().map(|value| value.get().as_bytes())
    }

    /// Pieces of JSON, whole and broken, short and longer than a step.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("{".to_owned()),
            Just("}".into()),
            Just("[".into()),
            Just("]".into()),
            Just(",".into()),
            Just(":".into()),
            Just("\"".into()),
            Just("\\".into()),
            Just("\\\\".into()),
            Just("\\n".into()),
            Just("\\\"".into()),
            Just("\\u00e9".into()),
            Just("\\u12".into()),
            Just("\\q".into()),
            Just("é".into()),
            Just("\t".into()),
            Just(" ".into()),
            Just("-1.5e+3".into()),
            Just("01".into()),
            Just("true".into()),
            Just("null".into()),
            Just("\"key\":".into()),
            Just("\"a\\\\\"".into()),
            "[a-z0-9 ]{0,90}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn what_a_scan_takes_is_what_serde_takes(text in text(), filler in 0_usize..130) {
            // As it is, and inside a string and a list, so that steps and ends fall everywhere.
            let text = text.as_slice();
            let filler = vec![b'x'; filler];
            for text in [
                text.to_vec(),
                [b"[\"", text, filler.as_slice(), b"\"]"].concat(),
                [b"{\"", filler.as_slice(), b"\":", text, b"}"].concat(),
            ] {
                prop_assert_eq!(scanned(&text), parsed(&text), "{}", String::from_utf8_lossy(&text));
            }
        }

        #[test]
        fn bytes_that_are_no_text_are_not_taken(text in prop::collection::vec(any::<u8>(), 0..90)) {
            let text = [b"\"", text.as_slice(), b"\""].concat();
            prop_assert_eq!(scanned(&text), parsed(&text));
        }

        #[test]
        fn what_is_no_text_is_found_wherever_it_stands(
            pieces in prop::collection::vec((0..6000_usize, 0..6_usize), 1..5),
        ) {
            // Rows of letters over many steps, with one character or a part of one between.
            let wide: [&[u8]; 6] = ["é".as_bytes(), "🦀".as_bytes(), "ü€".as_bytes(), b"", b"\xC3", b"\x80"];
            let mut text = b"\"".to_vec();
            for (letters, piece) in pieces {
                text.resize(text.len() + letters, b'x');
                text.extend_from_slice(wide[piece]);
            }
            text.push(b'"');
            let whole = std::str::from_utf8(&text).is_ok();
            prop_assert_eq!(scanned(&text).is_some(), whole);
        }
    }

    #[test]
    fn a_long_line_is_read_like_a_short_one() {
        let long = "one line of many bytes ".repeat(60_000);
        let mut marks = Marks::default();
        for text in [
            format!(r#"{{"a":"{long}","b":["x","{long}\"{long}"],"c":"d"}}"#),
            format!(r#"["a",["b\\","{long}"],{{"{long}":1}}]"#),
            format!(r#"["{long}"x]"#),
            format!(r#"["{long}\q"]"#),
            format!(r#"["{long}"#),
            r#"["a"]"#.to_owned(),
        ] {
            let mut scan = Scan::of(text.as_bytes(), &mut marks);
            let value = scan.value().filter(|_| scan.ends());
            assert!(value == parsed(text.as_bytes()), "{} bytes", text.len());
        }
        let text = format!(r#"["{long}","a\tb","{long}"]"#);
        let words: Vec<String> = marks.read(text.as_bytes()).unwrap();
        assert!(words == [long.clone(), "a\tb".into(), long]);
    }

    #[test]
    fn a_character_named_by_its_number_is_seen() {
        for (text, named) in
            [(r#""a\\u0041""#, false), (r#""a\u0041""#, true), (r#"{"\u0041":1}"#, true)]
        {
            let mut marks = Marks::default();
            let mut scan = Scan::of(text.as_bytes(), &mut marks);
            assert!(scan.value().is_some());
            assert_eq!(scan.names_characters(), named, "{text}");
        }
    }
}
