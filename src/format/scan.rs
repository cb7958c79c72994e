//! JSON looked through, and nothing built: where strings end is marked 64 bytes at a time, with the widest registers that
//! the machine has; then each token outside of strings is looked at once.
//!
//! A log of a gigabyte is mostly long strings in lines that state little. What a scan takes is JSON as `serde_json` reads it, which
//! a test holds it to; what it does not take (other escapes in keys, deep nesting, anything broken) goes to `serde_json`,
//! whose word it is what a line means and what is wrong with it.

mod ask;
mod de;
#[cfg(test)]
mod law;

use std::ops::Range;

use fearless_simd::{Level, dispatch, prelude::*, u8x64};

pub use ask::{Parsed, Unread};
pub use de::read;

use super::json::Raw;

/// How deep values may lie in each other.
const DEPTH: usize = 64;

/// How many bytes are looked at together.
const STEP: usize = 64;

/// Where the strings of a line begin and end: a bit for each byte. Kept from line to line for its memory, and for what it
/// tells of the line marked last.
#[derive(Debug, Default)]
pub struct Marks {
    quotes: Vec<u64>,
    wide: Vec<u64>,
    plain: bool,
}

impl Marks {
    /// Whether the line marked last is known to name no character by its number.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Forgets the line marked last: the next one is read in another way.
    pub fn forget(&mut self) {
        self.plain = false;
    }
}

/// A place in a line. All methods give nothing where the line is not what they look for; the scan is over then.
#[derive(Debug)]
pub struct Scan<'a, 'm> {
    bytes: &'a [u8],
    at: usize,
    quotes: &'m [u64],
    seen: Seen,
    /// The line as text, where that was looked into.
    whole: Option<&'a str>,
}

/// What was seen in a line when its strings were marked.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// A backslash.
    escape: bool,
    /// An escape that names a character by its number.
    unicode: bool,
    /// How many steps hold anything beyond ASCII.
    wide: usize,
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
        let level = Level::new();
        let (quotes, wide) = (&mut marks.quotes, &mut marks.wide);
        let seen = dispatch!(level, simd => mark(simd, bytes, quotes, wide));
        // What is beyond ASCII may stand in strings only, so that it does not matter where the line is no text.
        let mut whole = None;
        let seen = seen.filter(|seen| match seen.wide {
            0 => true,
            // Where much is, all of it is looked into at once, as it will have to be in any case.
            wide if wide * 4 > bytes.len() / STEP => {
                whole = simdutf8::basic::from_utf8(bytes).ok();
                whole.is_some()
            }
            _ => is_text(bytes, &marks.wide),
        });
        #[cfg(test)]
        let seen = seen.filter(|_| !tests::BLIND.get());
        let bytes = if seen.is_some() { bytes } else { b"" };
        marks.plain = seen.is_some_and(|seen| !seen.unicode);
        Self { bytes, at: 0, quotes: &marks.quotes, seen: seen.unwrap_or_default(), whole }
    }

    /// A part of the line as text.
    #[inline]
    fn part(&mut self, part: Range<usize>) -> Option<&'a str> {
        if self.whole.is_none() {
            if part.len() < STEP {
                return std::str::from_utf8(&self.bytes[part]).ok();
            }
            // Long parts may lie in each other: then the whole line is looked into, once.
            self.whole = simdutf8::basic::from_utf8(self.bytes).ok();
        }
        self.whole?.get(part)
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
        self.skip()?;
        Some(&self.bytes[start..self.at])
    }

    /// A value as it stands; nothing where it is `null`.
    pub fn raw(&mut self) -> Option<Option<Raw<'a>>> {
        let len = self.value()?.len();
        let value = self.part(self.at - len..self.at)?;
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

    /// What was not read yet, behind blanks.
    pub fn rest(&mut self) -> &'a [u8] {
        self.next();
        &self.bytes[self.at..]
    }

    /// A string without escapes, without its quotes; nothing where the value is `null`.
    #[inline]
    pub fn word(&mut self) -> Option<Option<&'a [u8]>> {
        if self.is_null()? {
            return Some(None);
        }
        let word = self.quoted()?;
        (!self.seen.escape || !word.contains(&b'\\')).then_some(Some(word))
    }

    /// The same as text.
    pub fn text(&mut self) -> Option<Option<&'a str>> {
        match self.word()? {
            Some(word) => self.part(self.at - 1 - word.len()..self.at - 1).map(Some),
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

    /// A key without its quotes. None of those that anybody looks for holds what can be escaped but by its number.
    fn key(&mut self) -> Option<&'a [u8]> {
        let key = self.quoted()?;
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

    fn skip(&mut self) -> Option<()> {
        match self.next()? {
            b'{' | b'[' => self.skip_nested(),
            _ => self.skip_leaf(),
        }
    }

    /// Goes behind an object or a list, whatever lies in it.
    fn skip_nested(&mut self) -> Option<()> {
        // Those that are open, the innermost in the lowest bit: whether it is an object.
        let (mut objects, mut depth) = (0_u64, 0);
        loop {
            let begun = match self.next()? {
                open @ (b'{' | b'[') if depth < DEPTH => {
                    self.at += 1;
                    objects = objects << 1 | u64::from(open == b'{');
                    depth += 1;
                    true
                }
                _ => {
                    self.skip_leaf()?;
                    false
                }
            };
            let mut ended = false;
            // Behind a value stands a comma or an end, and behind a beginning perhaps an end.
            loop {
                match (self.next()?, objects & 1) {
                    (b'}', 1) | (b']', 0) => {
                        self.at += 1;
                        objects >>= 1;
                        depth -= 1;
                        ended = true;
                        if depth == 0 {
                            return Some(());
                        }
                    }
                    (b',', _) if ended || !begun => {
                        self.at += 1;
                        break;
                    }
                    _ if begun && !ended => break,
                    _ => return None,
                }
            }
            if objects & 1 == 1 {
                self.take(b'"')?;
                self.string()?;
                self.take(b':')?;
            }
        }
    }

    #[inline]
    fn skip_leaf(&mut self) -> Option<()> {
        match self.next()? {
            b'"' => {
                self.at += 1;
                self.string()
            }
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
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
        let mut step = self.at / STEP;
        let mut quotes = self.quotes.get(step)? & (u64::MAX << (self.at % STEP));
        while quotes == 0 {
            step += 1;
            quotes = *self.quotes.get(step)?;
        }
        self.at = step * STEP + quotes.trailing_zeros() as usize + 1;
        Some(())
    }
}

/// Marks the quotes of `bytes` that begin or end a string, and the steps that hold anything beyond ASCII. Nothing if there
/// is something in it that no string may hold: a control character, or an escape that is none.
#[expect(clippy::inline_always, reason = "only what is inlined uses the registers asked for")]
#[inline(always)]
fn mark<S: Simd>(
    simd: S,
    bytes: &[u8],
    quotes: &mut Vec<u64>,
    wide: &mut Vec<u64>,
) -> Option<Seen> {
    let mut marking = Marking { bytes, ..Marking::default() };
    let (steps, rest) = bytes.as_chunks::<STEP>();
    quotes.clear();
    quotes.reserve(steps.len() + 1);
    wide.clear();
    for steps in steps.chunks(64) {
        for step in steps {
            quotes.push(marking.take(u8x64::from_slice(simd, step))?);
        }
        wide.push(marking.wide >> (64 - steps.len()));
    }
    if !rest.is_empty() {
        let mut last = [b' '; STEP];
        last[..rest.len()].copy_from_slice(rest);
        quotes.push(marking.take(u8x64::from_slice(simd, &last))?);
        if steps.len().is_multiple_of(64) {
            wide.push(0);
        }
        if let Some(word) = wide.last_mut() {
            *word |= (marking.wide >> 63) << (steps.len() % 64);
        }
    }
    let wide = wide.iter().map(|word| word.count_ones() as usize).sum();
    Some(Seen { escape: marking.slashes != 0, unicode: marking.unicode, wide })
}

/// Whether `bytes` are text, of whose steps those marked hold anything beyond ASCII: most text has little of that.
fn is_text(bytes: &[u8], wide: &[u64]) -> bool {
    let text = |steps: &Range<usize>| {
        let steps = steps.start * STEP..bytes.len().min(steps.end * STEP);
        simdutf8::basic::from_utf8(&bytes[steps]).is_ok()
    };
    // A character that reaches into the next step has marked that too.
    let mut run = 0..0;
    for (nth, word) in wide.iter().enumerate().filter(|(_, word)| **word != 0) {
        let first = nth * 64 + word.trailing_zeros() as usize;
        if first > run.end {
            if !text(&run) {
                return false;
            }
            run.start = first;
        }
        run.end = nth * 64 + 64 - word.leading_zeros() as usize;
    }
    text(&run)
}

/// The state between one step and the next.
#[derive(Default)]
struct Marking<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the first byte of the step is escaped.
    escaped: bool,
    /// All steps before, one laid over the other: an odd number of quotes means that a string is open.
    before: u64,
    slashes: u64,
    /// Which of the last 64 steps hold anything beyond ASCII, the newest in the highest bit.
    wide: u64,
    unicode: bool,
}

impl Marking<'_> {
    #[expect(clippy::inline_always, reason = "only what is inlined uses the registers asked for")]
    #[inline(always)]
    fn take<S: Simd>(&mut self, step: u8x64<S>) -> Option<u64> {
        // Nearly all is done without asking whether there is need: text is too mixed for such questions to be guessed.
        let equal = |byte: u8| step.simd_eq(byte).to_bitmask();
        let (quotes, slashes) = (equal(b'"'), equal(b'\\'));
        let (codes, escaped) = escapes(slashes, self.escaped);
        self.escaped = escaped;
        self.slashes |= slashes;
        let wide = step.simd_ge(0x80).to_bitmask() != 0;
        self.wide = self.wide >> 1 | u64::from(wide) << 63;
        let rare = codes & !(quotes | slashes | equal(b'n') | equal(b't'));
        if rare != 0 {
            self.check(rare)?;
        }
        let quotes = quotes & !codes;
        let control = step.simd_lt(0x20).to_bitmask();
        if control != 0 && control & self.inside(quotes) != 0 {
            return None;
        }
        self.before ^= quotes;
        self.at += STEP;
        Some(quotes)
    }

    /// The bytes of the step that stand in strings.
    fn inside(&self, quotes: u64) -> u64 {
        let open = u64::from(self.before.count_ones() % 2);
        let turns = [1, 2, 4, 8, 16, 32].into_iter();
        turns.fold(quotes ^ open, |mask, by| mask ^ mask << by)
    }

    /// Whether what stands behind backslashes, at the bits of `codes`, may stand there.
    fn check(&mut self, mut codes: u64) -> Option<()> {
        while codes != 0 {
            let at = self.at + codes.trailing_zeros() as usize;
            codes &= codes - 1;
            match *self.bytes.get(at)? {
                b'/' | b'b' | b'f' | b'r' => {}
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
