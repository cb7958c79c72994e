//! Values that nobody asks for: passed over, and found to be whole.

use super::mark::STEP;

/// How deep values may lie in each other.
const DEPTH: usize = 64;

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
        loop {
            let behind = match self.bytes.get(at) {
                Some(b'"') => {
                    at = self.strings(at);
                    self.string(at + 1)
                }
                Some(b'0'..=b'9') => {
                    at = self.small_numbers(at);
                    self.whole_number(at)
                }
                _ => None,
            };
            match behind {
                Some(behind) if self.bytes.get(behind) == Some(&b',') => at = behind + 1,
                _ => return at,
            }
        }
    }

    /// The last string of those that stand behind each other from `at` on.
    #[inline]
    fn strings(self, at: usize) -> usize {
        let mut step = at / STEP;
        let Some(quotes) = self.quotes.get(step) else { return at };
        // The lowest bit is that of the quote that begins the string at `begin`.
        let (mut quotes, mut begin) = (quotes & (u64::MAX << (at % STEP)), at);
        loop {
            quotes &= quotes.wrapping_sub(1);
            while quotes == 0 {
                step += 1;
                let Some(more) = self.quotes.get(step) else { return begin };
                quotes = *more;
            }
            let end = step * STEP + quotes.trailing_zeros() as usize;
            if self.bytes.get(end + 1..end + 3) != Some(b",\"") {
                return begin;
            }
            begin = end + 2;
            quotes &= quotes.wrapping_sub(1);
            if quotes == 0 {
                step = begin / STEP;
                let Some(more) = self.quotes.get(step) else { return begin };
                quotes = *more & (u64::MAX << (begin % STEP));
            }
        }
    }

    /// Behind numbers of one digit with commas behind them, as long as there are four.
    #[inline]
    fn small_numbers(self, mut at: usize) -> usize {
        const LANES: u64 = 0x0001_0001_0001_0001;
        while let Some(four) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let four = u64::from_le_bytes(*four);
            let commas = four >> 8 & (0xFF * LANES) == u64::from(b',') * LANES;
            let above = (four & (0xFF * LANES)).wrapping_sub(u64::from(b'0') * LANES);
            // What is less than zero has the bits above set, and ten or more carries into them.
            let digits = (above | above.wrapping_add(0x76 * LANES)) & (0xFF80 * LANES) == 0;
            if !commas || !digits {
                break;
            }
            at += 8;
        }
        at
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
        let at = self.blanks(self.string(at + 1)?);
        (*self.bytes.get(at)? == b':').then_some(())?;
        let at = self.blanks(at + 1);
        (at < self.bytes.len()).then_some(at)
    }

    /// The first place from `at` on where no blank stands.
    #[inline]
    fn blanks(self, mut at: usize) -> usize {
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

    fn literal(self, at: usize, word: &[u8]) -> Option<usize> {
        self.bytes[at..].starts_with(word).then_some(at + word.len())
    }

    #[inline]
    fn number(self, mut at: usize) -> Option<usize> {
        at += usize::from(self.bytes[at] == b'-');
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

#[cfg(test)]
mod tests {
    use super::super::{Marks, Scan};

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
                let mut marks = Marks::default();
                let mut scan = Scan::of(text.as_bytes(), &mut marks);
                let passed = scan.value().is_some() && scan.ends();
                assert_eq!(passed, whole, "{text}");
                assert_eq!(
                    serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                    whole,
                    "{text}"
                );
            }
        }
    }
}
