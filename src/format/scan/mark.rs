//! The first pass over a line: where its strings begin and end, and whether it is text.

use std::{cell::Cell, ops::Range};

use fearless_simd::{Level, dispatch, i8x64, prelude::*, u8x64};

/// How many bytes are looked at together.
pub(super) const STEP: usize = 64;

/// How long a line is, at most, that is looked into as a whole for being text.
pub(super) const SHORT: usize = 1024;

/// How many steps a line has whose backslashes are not kept.
const LONG: usize = (1 << 20) / STEP;

/// Where the strings of a line begin and end: a bit for each byte. Kept from line to line for its memory, and for what it
/// tells of the line marked last.
#[derive(Debug)]
pub struct Marks {
    bits: Bits,
    /// How many steps the line has. What is behind them is left of a longer one, so that nothing need be cleared.
    steps: usize,
    pub(super) plain: bool,
}

/// A bit for each byte, and one for each step.
#[derive(Debug, Default)]
struct Bits {
    quotes: Vec<u64>,
    /// Where backslashes stand, unless the line is a long one: there it would cost more than it saves.
    slashes: Vec<u64>,
    /// Which steps hold anything beyond ASCII.
    wide: Vec<u64>,
}

thread_local! {
    /// What one log was marked in and the next one will be: new memory for each would cost more than small ones do.
    static SPARE: Cell<Option<Bits>> = const { Cell::new(None) };
}

impl Default for Marks {
    fn default() -> Self {
        Self { bits: SPARE.take().unwrap_or_default(), ..Self::new() }
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if self.is_small() {
            let bits = std::mem::take(&mut self.bits);
            // When a thread ends nothing is kept any more.
            let _ = SPARE.try_with(|spare| spare.set(Some(bits)));
        }
    }
}

impl Marks {
    pub(super) const fn new() -> Self {
        let bits = Bits { quotes: Vec::new(), slashes: Vec::new(), wide: Vec::new() };
        Self { bits, steps: 0, plain: false }
    }

    /// Whether its memory is worth keeping for the next line.
    pub(super) fn is_small(&self) -> bool {
        self.bits.quotes.capacity() <= 1 << 20
    }

    pub(super) fn quotes(&self) -> &[u64] {
        &self.bits.quotes[..self.steps]
    }

    /// Nothing of a long line.
    pub(super) fn slashes(&self) -> &[u64] {
        if self.steps < LONG { &self.bits.slashes[..self.steps] } else { &[] }
    }

    /// Whether the line marked last is known to name no character by its number.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Forgets the line marked last: the next one is read in another way.
    pub fn forget(&mut self) {
        self.plain = false;
    }

    /// Marks `bytes`: what was seen in it, and all of it as text where it was looked into as a whole. Nothing if it is no
    /// text, or holds what no string may hold.
    pub(super) fn look<'a>(&mut self, bytes: &'a [u8]) -> Option<(Seen, Option<&'a str>)> {
        let level = Level::new();
        let seen = dispatch!(level, simd => mark(simd, bytes, self))?;
        if seen.wide == 0 {
            return Some((seen, None)); // ASCII is text.
        }
        // What is beyond ASCII may stand in strings only, so that it does not matter where the line is no text.
        if seen.wide * 4 > bytes.len() / STEP {
            // Where much is, all of it is looked into at once, as it will have to be in any case.
            return Some((seen, Some(simdutf8::basic::from_utf8(bytes).ok()?)));
        }
        is_text(bytes, &self.bits.wide).then_some((seen, None))
    }
}

/// What was seen in a line when its strings were marked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// A backslash.
    pub escape: bool,
    /// An escape that names a character by its number.
    pub unicode: bool,
    /// How many steps hold anything beyond ASCII.
    wide: usize,
}

/// Marks the quotes of `bytes` that begin or end a string, and the steps that hold anything beyond ASCII. Nothing if there
/// is something in it that no string may hold: a control character, or an escape that is none.
#[expect(clippy::inline_always, reason = "only what is inlined uses the registers asked for")]
#[inline(always)]
fn mark<S: Simd>(simd: S, bytes: &[u8], marks: &mut Marks) -> Option<Seen> {
    marks.steps = bytes.len().div_ceil(STEP);
    let all = &marks.steps;
    let Bits { quotes, slashes, wide } = &mut marks.bits;
    let mut marking = Marking { bytes, ..Marking::default() };
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let keeps = *all < LONG;
    if !keeps {
        *quotes = vec![0; *all]; // New, so that of long strings nothing need be touched.
    } else if quotes.len() < *all {
        quotes.resize(*all, 0);
    }
    if keeps && slashes.len() < *all {
        slashes.resize(*all, 0);
    }
    wide.clear();
    let (mut here, mut unkept) = ([0; 64], [0; 64]);
    let mut kept = if keeps { slashes.chunks_mut(64) } else { [].chunks_mut(64) };
    for (steps, words) in steps.chunks(64).zip(quotes.chunks_mut(64)) {
        let slashes = kept.next().unwrap_or(&mut unkept);
        let quotes = if keeps { &mut *words } else { &mut here };
        for (step, (quotes, slashes)) in steps.iter().zip(quotes.iter_mut().zip(slashes)) {
            (*quotes, *slashes) = marking.take(u8x64::from_slice(simd, step))?;
        }
        if !keeps && here.iter().any(|quotes| *quotes != 0) {
            words[..steps.len()].copy_from_slice(&here[..steps.len()]);
        }
        wide.push(marking.wide >> (64 - steps.len()));
    }
    if !rest.is_empty() {
        let mut last = [b' '; STEP];
        last[..rest.len()].copy_from_slice(rest);
        let (quote, slash) = marking.take(u8x64::from_slice(simd, &last))?;
        quotes[steps.len()] = quote;
        if keeps {
            slashes[steps.len()] = slash;
        }
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
    fn take<S: Simd>(&mut self, step: u8x64<S>) -> Option<(u64, u64)> {
        // Nearly all is done without asking whether there is need: text is too mixed for such questions to be guessed.
        let equal = |byte: u8| step.simd_eq(byte).to_bitmask();
        let (quotes, slashes) = (equal(b'"'), equal(b'\\'));
        let (codes, escaped) = escapes(slashes, self.escaped);
        self.escaped = escaped;
        self.slashes |= slashes;
        let rare = codes & !(quotes | slashes | equal(b'n') | equal(b't'));
        if rare != 0 {
            self.unicode |= check(self.bytes, self.at, rare)?;
        }
        let quotes = quotes & !codes;
        self.wide >>= 1;
        // As a number with a sign all beyond ASCII is less than that too.
        let odd = step.bitcast::<i8x64<S>>().simd_lt(0x20).to_bitmask();
        if odd != 0 {
            let wide = step.simd_ge(0x80).to_bitmask();
            self.wide |= u64::from(wide != 0) << 63;
            let control = odd & !wide;
            if control != 0 && control & self.inside(quotes) != 0 {
                return None;
            }
        }
        self.before ^= quotes;
        self.at += STEP;
        Some((quotes, slashes))
    }

    /// The bytes of the step that stand in strings.
    fn inside(&self, quotes: u64) -> u64 {
        let open = u64::from(self.before.count_ones() % 2);
        let turns = [1, 2, 4, 8, 16, 32].into_iter();
        turns.fold(quotes ^ open, |mask, by| mask ^ mask << by)
    }
}

/// Whether one of the escapes at `at`, whose letters stand at the bits of `codes`, names a character by its number. Nothing
/// if one is none. (No method: what is borrowed does not stay in registers.)
fn check(bytes: &[u8], at: usize, mut codes: u64) -> Option<bool> {
    let mut unicode = false;
    while codes != 0 {
        let at = at + codes.trailing_zeros() as usize;
        codes &= codes - 1;
        match *bytes.get(at)? {
            b'/' | b'b' | b'f' | b'r' => {}
            b'u' => {
                let digits = bytes.get(at + 1..at + 5)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                unicode = true;
            }
            _ => return None,
        }
    }
    Some(unicode)
}

/// Which bytes stand behind a backslash that is none itself, and whether the first byte of the next step does.
/// (The carry of a subtraction runs through a row of backslashes and tells odd from even.)
#[inline]
fn escapes(slashes: u64, first: bool) -> (u64, bool) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let first = u64::from(first);
    let starts = slashes & !first;
    let codes = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    // Seldom does a step end in a backslash. Asked like this, the next one need not wait for what was found in this one.
    let last = if slashes >> (STEP - 1) == 0 { false } else { is_escaping(codes & slashes) };
    (codes ^ (slashes | first), last)
}

/// Whether the last byte of a step escapes the next one.
#[cold]
fn is_escaping(slashes: u64) -> bool {
    slashes >> (STEP - 1) != 0
}
