//! One pass over a line of JSON: every byte is looked at once, 64 at a time, and nothing is built.
//!
//! A log of a gigabyte is mostly long strings in lines that state little. What a scan takes is JSON as `serde_json` reads it, which
//! a test holds it to; what it does not take (other escapes in keys, deep nesting, anything broken) goes to `serde_json`,
//! whose word it is what a line means and what is wrong with it.

use wide::u8x16;

/// How deep values may lie in each other.
const DEPTH: usize = 64;

/// How many bytes are looked at together.
const STEP: usize = 64;

/// A place in a line. All methods give nothing where the line is not what they look for; the scan is over then.
#[derive(Debug)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Up to where what is beyond ASCII is known to be text.
    checked: usize,
    /// Whether a string had an escape that names a character by its number.
    unicode: bool,
    /// Whether the latest string had an escape.
    escaped: bool,
}

impl<'a> Scan<'a> {
    /// A scan that stands at the beginning of `bytes`.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, checked: 0, unicode: false, escaped: false }
    }

    /// Visits the fields of an object: `visit` is given each key as it stands and must read the value.
    pub fn object(
        &mut self,
        mut visit: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.next()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.key()?;
            self.take(b':')?;
            self.next()?;
            visit(self, key)?;
            match self.next()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// A value as it stands.
    pub fn value(&mut self) -> Option<&'a [u8]> {
        self.next()?;
        let start = self.at;
        self.skip(0)?;
        Some(&self.bytes[start..self.at])
    }

    /// What was not read yet, behind blanks.
    pub fn rest(&mut self) -> &'a [u8] {
        self.next();
        &self.bytes[self.at..]
    }

    /// A string without escapes, without its quotes; nothing where the value is `null`.
    pub fn text(&mut self) -> Option<Option<&'a str>> {
        if self.next()? == b'n' {
            return self.word(b"null").map(|()| None);
        }
        std::str::from_utf8(self.key()?).ok().map(Some)
    }

    /// Whether the line was read to its end.
    #[must_use]
    pub fn ends(&mut self) -> bool {
        self.next().is_none() && self.at == self.bytes.len()
    }

    /// Whether a character is named by its number somewhere in what was read.
    #[must_use]
    pub fn names_characters(&self) -> bool {
        self.unicode
    }

    /// A string without escapes, without its quotes.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let start = self.at;
        self.string()?;
        (!self.escaped).then(|| &self.bytes[start..self.at - 1])
    }

    /// The next byte that is no blank.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    fn skip(&mut self, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => {
                self.at += 1;
                self.string()
            }
            b'{' if depth < DEPTH => self.items(b'}', depth),
            b'[' if depth < DEPTH => self.items(b']', depth),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn items(&mut self, close: u8, depth: usize) -> Option<()> {
        self.at += 1;
        if self.next()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            if close == b'}' {
                self.take(b'"')?;
                self.string()?;
                self.take(b':')?;
            }
            self.skip(depth + 1)?;
            match self.next()? {
                b',' => self.at += 1,
                byte if byte == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.bytes[self.at] == b'-');
        match self.bytes.get(self.at)? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// Goes behind the closing quote of a string whose opening one was taken.
    #[inline]
    fn string(&mut self) -> Option<()> {
        self.escaped = false;
        // Most strings are short: keys, ids, kinds.
        if let Some(start) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            let marks = special(u8x16::from(*start)).to_bitmask();
            let end = self.at + marks.trailing_zeros() as usize;
            if marks != 0 && self.bytes[end] == b'"' {
                self.at = end + 1;
                return Some(());
            }
        }
        self.long_string()
    }

    fn long_string(&mut self) -> Option<()> {
        let bytes = self.bytes;
        let mut escaped = false; // whether the first byte of the step is
        let mut plain = true; // whether the step before had neither quotes nor backslashes
        loop {
            // The last step of a line ends with it: some of its bytes were read before.
            let skipped = (self.at + STEP).saturating_sub(bytes.len());
            let marks = match bytes.get(self.at - skipped.min(self.at)..) {
                Some(rest) if rest.len() >= STEP => Marks::of(rest),
                _ => return self.short_line(),
            };
            if skipped == STEP {
                return None; // the line ends inside of the string
            }
            if plain && !escaped && skipped == 0 && marks.is_plain() {
                self.at += STEP;
                continue;
            }
            let quotes = marks.equal(b'"') >> skipped;
            let slashes = marks.equal(b'\\') >> skipped;
            let mut ends = quotes;
            plain = quotes | slashes == 0;
            if slashes != 0 || escaped {
                let (codes, next) = escapes(slashes, escaped);
                escaped = next;
                ends &= !codes;
                self.escaped |= slashes & inside(ends) != 0;
                let usual = quotes | slashes | marks.equal(b'n') >> skipped;
                let rare = codes & !usual & inside(ends);
                if rare != 0 {
                    self.check(rare)?;
                }
            }
            if marks.has_other() {
                let control = marks.equal_or_below(0x1F) >> skipped & inside(ends);
                self.others(control, marks.wide() >> skipped & inside(ends))?;
            }
            if ends != 0 {
                self.at += ends.trailing_zeros() as usize + 1;
                return Some(());
            }
            self.at += STEP - skipped;
        }
    }

    /// The same on a line that is shorter than a step.
    fn short_line(&mut self) -> Option<()> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            match byte {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    self.escaped = true;
                    self.at += 1;
                    if !matches!(self.bytes.get(self.at)?, b'"' | b'\\' | b'n') {
                        self.check(1)?;
                    }
                }
                0..=0x1F => return None,
                0x80.. => self.others(0, 1)?,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether there is no control character, and whether what is beyond ASCII, at the bits of `wide`, is text.
    #[inline(never)]
    fn others(&mut self, control: u64, mut wide: u64) -> Option<()> {
        if control != 0 {
            return None;
        }
        while wide != 0 {
            // What is not ASCII stands together, and is text or not whatever stands around it.
            let from = self.at + wide.trailing_zeros() as usize;
            if from >= self.checked {
                let rest = &self.bytes[from..];
                let len = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
                std::str::from_utf8(&rest[..len]).ok()?;
                self.checked = from + len;
            }
            let done = self.checked - self.at;
            wide &= if done < STEP { u64::MAX << done } else { 0 };
        }
        Some(())
    }

    /// Whether what stands behind backslashes, at the bits of `codes`, may stand there.
    #[cold]
    fn check(&mut self, mut codes: u64) -> Option<()> {
        while codes != 0 {
            let at = self.at + codes.trailing_zeros() as usize;
            codes &= codes - 1;
            match *self.bytes.get(at)? {
                b'/' | b'b' | b'f' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.bytes.get(at + 1..at + 5)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.unicode = true;
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// The bits up to the first end of a string, that one included.
#[inline]
fn inside(ends: u64) -> u64 {
    ends ^ ends.wrapping_sub(1)
}

/// Which bytes stand behind a backslash that is none itself, and whether the first byte of the next step does.
/// (The carry of a subtraction runs through a row of backslashes and tells odd from even.)
#[inline]
fn escapes(slashes: u64, first: bool) -> (u64, bool) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let first = u64::from(first);
    let starts = slashes & !first;
    let codes = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    (codes ^ (slashes | first), (codes & slashes) >> (STEP - 1) != 0)
}

/// The bytes of a step, to be asked where something stands: the lowest bit is the first byte.
struct Marks {
    a: u8x16,
    b: u8x16,
    c: u8x16,
    d: u8x16,
}

impl Marks {
    /// The first step of `bytes`, which must hold one.
    #[inline]
    fn of(bytes: &[u8]) -> Self {
        let part = |nth: usize| {
            let part: [u8; 16] = bytes[nth * 16..][..16].try_into().expect("16 bytes are 16");
            u8x16::from(part)
        };
        Self { a: part(0), b: part(1), c: part(2), d: part(3) }
    }

    #[inline]
    fn mask(&self, of: impl Fn(u8x16) -> u8x16) -> u64 {
        let bits = |part| u64::from(of(part).to_bitmask());
        bits(self.a) | bits(self.b) << 16 | bits(self.c) << 32 | bits(self.d) << 48
    }

    #[inline]
    fn any(&self, of: impl Fn(u8x16) -> u8x16) -> bool {
        ((of(self.a) | of(self.b)) | (of(self.c) | of(self.d))).to_bitmask() != 0
    }

    #[inline]
    fn equal(&self, byte: u8) -> u64 {
        let byte = u8x16::splat(byte);
        self.mask(|part| part.simd_eq(byte))
    }

    #[inline]
    fn equal_or_below(&self, limit: u8) -> u64 {
        let limit = u8x16::splat(limit);
        self.mask(|part| part.min(limit).simd_eq(part))
    }

    /// Whether nothing stands here but plain parts of a string.
    #[inline]
    fn is_plain(&self) -> bool {
        !self.any(special)
    }

    /// Whether there are control characters, or anything beyond ASCII.
    #[inline]
    fn has_other(&self) -> bool {
        self.any(other)
    }

    /// What is beyond ASCII.
    #[inline]
    fn wide(&self) -> u64 {
        self.mask(|part| part)
    }
}

/// Marks control characters, and what is beyond ASCII. (A mask takes the highest bit of each byte.)
#[inline]
fn other(part: u8x16) -> u8x16 {
    part.min(u8x16::splat(0x1F)).simd_eq(part) | part
}

/// Marks the same, quotes and backslashes.
#[inline]
fn special(part: u8x16) -> u8x16 {
    let ends = part.simd_eq(u8x16::splat(b'"')) | part.simd_eq(u8x16::splat(b'\\'));
    other(part) | ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    fn scanned(bytes: &[u8]) -> Option<&[u8]> {
        let mut scan = Scan::of(bytes);
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
    }

    #[test]
    fn a_character_named_by_its_number_is_seen() {
        for (text, named) in
            [(r#""a\\u0041""#, false), (r#""a\u0041""#, true), (r#"{"\u0041":1}"#, true)]
        {
            let mut scan = Scan::of(text.as_bytes());
            assert!(scan.value().is_some());
            assert_eq!(scan.names_characters(), named, "{text}");
        }
    }
}
