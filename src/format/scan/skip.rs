//! Values that nobody asks for: passed over, and found to be whole.

use fearless_simd::{Level, dispatch, prelude::*, u8x64};

use super::mark::STEP;

/// How deep values may lie in each other.
const DEPTH: usize = 64;

/// How many values of a list are passed over one by one before many are expected.
const FEW: usize = 4;

/// A line and where its strings begin and end. All methods are given a place in it and give that behind what they passed
/// over; nothing where the line is not what they look for.
#[derive(Clone, Copy)]
pub(super) struct Skip<'a, 'm> {
    pub bytes: &'a [u8],
    pub quotes: &'m [u64],
}

impl Skip<'_, '_> {
    /// Behind the value that begins at `at`.
    pub fn value(self, mut at: usize) -> Option<usize> {
        if !matches!(self.bytes.get(at)?, b'{' | b'[') {
            return self.leaf(at);
        }
        // Those that are open, the innermost in the lowest bit: whether it is an object.
        let (mut objects, mut depth) = (0_u64, 0);
        loop {
            let byte = self.bytes[at];
            if matches!(byte, b'{' | b'[') {
                if depth == DEPTH {
                    return None;
                }
                depth += 1;
                objects = objects << 1 | u64::from(byte == b'{');
                at = self.blanks(at + 1);
                // What has just begun may end.
                let end = if byte == b'{' { b'}' } else { b']' };
                if *self.bytes.get(at)? != end {
                    if byte == b'{' {
                        at = self.key(at)?;
                    }
                    continue;
                }
            } else {
                if objects & 1 == 0 {
                    at = self.blanks(self.row(at));
                    if let b'{' | b'[' = self.bytes.get(at)? {
                        continue;
                    }
                }
                at = self.leaf(at)?;
            }
            // Behind a value stand ends of what it lies in, and then a comma.
            loop {
                at = match (*self.bytes.get(at)?, objects & 1) {
                    (b',', 0) => {
                        at = self.blanks(at + 1);
                        break;
                    }
                    (b',', _) => {
                        at = self.key(self.blanks(at + 1))?;
                        break;
                    }
                    (b'}', 1) | (b']', 0) if depth == 1 => return Some(at + 1),
                    (b'}', 1) | (b']', 0) => {
                        objects >>= 1;
                        depth -= 1;
                        at + 1
                    }
                    (b' ' | b'\t' | b'\r' | b'\n', _) => at + 1,
                    _ => return None,
                };
            }
            self.bytes.get(at)?;
        }
    }

    /// Behind strings and whole numbers with commas and nothing else between, of which lists may have many: the words of
    /// an answer as they came in, and when. What is not one of these or has no comma behind it is left.
    #[inline]
    fn row(self, mut at: usize) -> usize {
        for _ in 0..FEW {
            let behind = match self.bytes.get(at) {
                Some(b'"') => self.string(at + 1),
                Some(b'0'..=b'9') => self.whole_number(at),
                _ => None,
            };
            match behind {
                Some(behind) if self.bytes.get(behind) == Some(&b',') => at = behind + 1,
                _ => return at,
            }
        }
        let level = Level::new();
        dispatch!(level, simd => long_row(simd, self, at))
    }

    /// Behind a whole number.
    #[inline]
    fn whole_number(self, at: usize) -> Option<usize> {
        if *self.bytes.get(at)? == b'0' { Some(at + 1) } else { self.digits(at) }
    }

    /// Behind a key, its colon and blanks, where its value begins.
    #[inline]
    fn key(self, at: usize) -> Option<usize> {
        if *self.bytes.get(at)? != b'"' {
            return None;
        }
        let mut at = self.string(at + 1)?;
        if *self.bytes.get(at)? != b':' {
            at = self.blanks(at);
            (*self.bytes.get(at)? == b':').then_some(())?;
        }
        let at = self.blanks(at + 1);
        (at < self.bytes.len()).then_some(at)
    }

    /// The first place from `at` on where no blank stands.
    #[inline]
    fn blanks(self, mut at: usize) -> usize {
        // Clients write none.
        if self.bytes.get(at).is_none_or(|byte| *byte > b' ') {
            return at;
        }
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(at) {
            at += 1;
        }
        at
    }

    /// Behind a value in which no others lie.
    #[inline]
    fn leaf(self, at: usize) -> Option<usize> {
        match *self.bytes.get(at)? {
            b'"' => self.string(at + 1),
            b't' => self.literal(at, b"true"),
            b'f' => self.literal(at, b"false"),
            b'n' => self.literal(at, b"null"),
            b'-' | b'0'..=b'9' => self.number(at),
            _ => None,
        }
    }

    /// Behind `word`, if it stands there.
    pub fn literal(self, at: usize, word: &[u8]) -> Option<usize> {
        self.bytes[at..].starts_with(word).then_some(at + word.len())
    }

    /// Behind a number.
    #[inline]
    pub fn number(self, mut at: usize) -> Option<usize> {
        at += usize::from(*self.bytes.get(at)? == b'-');
        at = self.whole_number(at)?;
        match self.bytes.get(at) {
            Some(b'.' | b'e' | b'E') => self.fraction(at),
            _ => Some(at),
        }
    }

    fn fraction(self, mut at: usize) -> Option<usize> {
        if self.bytes[at] == b'.' {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(at) {
            at += 1;
            at += usize::from(matches!(self.bytes.get(at), Some(b'+' | b'-')));
            at = self.digits(at)?;
        }
        Some(at)
    }

    /// Behind one digit or more.
    #[inline]
    fn digits(self, start: usize) -> Option<usize> {
        let mut at = start;
        while self.bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > start).then_some(at)
    }

    /// Behind the closing quote of a string whose first byte stands at `at`.
    #[inline]
    pub fn string(self, at: usize) -> Option<usize> {
        let mut step = at / STEP;
        let mut quotes = self.quotes.get(step)? & (u64::MAX << (at % STEP));
        while quotes == 0 {
            step += 1;
            quotes = *self.quotes.get(step)?;
        }
        Some(step * STEP + quotes.trailing_zeros() as usize + 1)
    }
}

/// What [`Skip::row`] says, a step at a time.
#[expect(clippy::inline_always, reason = "only what is inlined uses the registers asked for")]
#[inline(always)]
fn long_row<S: Simd>(simd: S, line: Skip<'_, '_>, at: usize) -> usize {
    let (steps, _) = line.bytes.as_chunks::<STEP>();
    let mut behind = at;
    // Of the step before, in the lowest bit: whether a string is open, and whether the last byte is a comma, the end of
    // a string, a zero that begins a number.
    let (mut open, mut comma, mut end, mut zero) = (0, 0, 0, 0);
    let first = at / STEP;
    for (nth, (step, quotes)) in steps.iter().zip(line.quotes).enumerate().skip(first) {
        let from = if nth == first { at % STEP } else { 0 };
        let here = u64::MAX << from;
        if nth == first {
            comma = 1 << from; // The place behind one counts for both.
        }
        let quotes = quotes & here;
        let turns = [1, 2, 4, 8, 16, 32].into_iter();
        let inside = turns.fold(quotes ^ open, |mask, by| mask ^ mask << by);
        let (begins, ends) = (quotes & inside, quotes & !inside);
        let outside = here & !(inside | ends);
        let step = u8x64::from_slice(simd, step);
        let commas = step.simd_eq(b',').to_bitmask() & outside;
        let zeros = step.simd_eq(b'0').to_bitmask() & outside;
        let digits = step.simd_ge(b'0').to_bitmask() & step.simd_le(b'9').to_bitmask() & outside;
        let behind_comma = commas << 1 | comma;
        let first_zeros = zeros & behind_comma;
        let wrong = outside & !(commas | digits)
            | commas & behind_comma
            | begins & !behind_comma
            | (ends << 1 | end) & !commas
            | (first_zeros << 1 | zero) & digits;
        let right = wrong.checked_sub(1).map_or(u64::MAX, |below| below & !wrong);
        if let Some(last) = (commas & right).checked_ilog2() {
            behind = nth * STEP + last as usize + 1;
        }
        if wrong != 0 {
            break;
        }
        (open, comma, end, zero) = (inside >> 63, commas >> 63, ends >> 63, first_zeros >> 63);
    }
    behind
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Marks, Scan};

    fn passes(text: &str) -> bool {
        let mut marks = Marks::default();
        let mut scan = Scan::of(text.as_bytes(), &mut marks);
        scan.value().is_some() && scan.ends()
    }

    fn is_json(text: &str) -> bool {
        serde_json::from_str::<serde_json::Value>(text).is_ok()
    }

    /// Values as lists have many, and a few others.
    fn value() -> impl Strategy<Value = &'static str> {
        const USUAL: &[&str] =
            &[r#""word ""#, r#""""#, r#"",""#, r#""\"""#, r#""]""#, "0", "7", "10", "123456789012"];
        const RARE: &[&str] = &[
            "01", "00", "", " 3", "4 ", "-5", "6.0", "null", "x", r#""a"1"#, r#"2"b""#, "{}",
            "[9,9]", "/", ":",
        ];
        let weighed = |weight, values: &'static [&'static str]| {
            values.iter().map(move |value| (weight, Just(*value)))
        };
        prop::strategy::Union::new_weighted(weighed(90, USUAL).chain(weighed(1, RARE)).collect())
    }

    proptest! {
        #[test]
        fn a_list_is_passed_over_if_it_is_one(
            filler in 0..70_usize,
            values in prop::collection::vec(value(), 0..120),
        ) {
            let text = format!("{}[{}]", " ".repeat(filler), values.join(","));
            prop_assert_eq!(passes(&text), is_json(&text), "{}", text);
        }
    }

    #[test]
    fn rows_of_numbers_and_strings_are_passed_over_wherever_they_stand() {
        let rows = [
            ("1,2,3,4,5,6,7,8,9,0,0,14,2", true),
            ("1,2,3,4,5,6,7,8,", false),
            ("1,2,3,:,5,6,7,8", false),
            ("1,2,3,/,5,6,7,8", false),
            ("1,2,3,04,5,6,7,8,9", false),
            ("1,2,3.5,4,5,-6,7,8,9", true),
            (r#""a","b ","","\"",",","é","x""#, true),
            (r#""a","b",,"c""#, false),
            (r#""a","b" "c""#, false),
            (r#""a","b", "c" ,"d","e""#, true),
            (r#""a","b","c":1"#, false),
            (r#""a",1,"b",2,{"c":["d","e"]},"f""#, true),
        ];
        for filler in 0..140 {
            for (row, whole) in rows {
                let text = format!(r#"{{"{}":[{row}]}}"#, "k".repeat(filler));
                assert_eq!(passes(&text), whole, "{text}");
                assert_eq!(is_json(&text), whole, "{text}");
            }
        }
    }
}
