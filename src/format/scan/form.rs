//! Lines read by what is asked of them, and by how those before them looked: a client writes the same few forms of lines
//! again and again, with other words in them.
//!
//! A line is compared with the forms that are known, stretch by stretch; behind each stretch stands a word or a number.
//! What fits none is walked through key by key, and teaches its form. A form holds nothing but what was found to be JSON
//! once, so that what fits is JSON as well, and has its fields in the same places.

use std::{cell::Cell, ops::Range};

use super::{Marks, Scan, skip::Skip};
use crate::format::json::{Count, Raw};

/// What a reader asks of the value of a key.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// Nothing.
    Any,
    /// Where it stands: it is the field with this number. Twice in one line is not for us to judge.
    Field(u8),
    /// The same for a string or `null`; what is neither needs a closer look.
    Word(u8),
    /// The same for an object or `null`. What is asked of the keys in it is what is asked in that part of the line.
    Part(u8, u8),
    /// A closer look: the line is not read here.
    Closer,
}

/// Where a value stands; it ends at zero where it is missing.
type Place = (u32, u32);

/// Where the fields of a line stand that have numbers below `N`.
pub type Places<const N: usize> = [Place; N];

/// The fields of a line.
#[derive(Debug)]
pub struct Fields<'a, 'm> {
    scan: Scan<'a, 'm>,
    places: &'m [Place],
}

impl<'a, 'm> Fields<'a, 'm> {
    /// The fields of `bytes`, if it is JSON that needs no closer look: those that there are `places` for, all of which are
    /// zero. `asks` tells what is asked of a key in a part of the line; the whole line is part zero. All lines that are
    /// compared with the same `forms` are asked for the same.
    pub fn read(
        bytes: &'a [u8],
        marks: &'m mut Marks,
        mut forms: Option<&mut Forms>,
        places: &'m mut [Place],
        asks: impl Fn(u8, &[u8]) -> Ask,
    ) -> Option<Self> {
        let mut scan = Scan::of(bytes, marks);
        if !forms.as_mut().is_some_and(|forms| forms.fit(scan.over(), places)) {
            walk(&mut scan, 0, &mut 0, places, &asks)?;
            scan.ends().then_some(())?;
            if let Some(forms) = forms {
                forms.learn(&mut scan, places.len(), &asks);
            }
        }
        Some(Self { scan, places })
    }

    /// A value as it stands; nothing where it is missing or `null`.
    #[must_use]
    pub fn value(&self, field: u8) -> Option<&'a [u8]> {
        let place = self.place(field)?;
        Some(&self.scan.bytes[place]).filter(|value| *value != b"null")
    }

    fn place(&self, field: u8) -> Option<Range<usize>> {
        let (start, end) = self.places[usize::from(field)];
        (end > 0).then_some(start as usize..end as usize)
    }

    /// Whether a value is that word.
    #[must_use]
    pub fn is(&self, field: u8, word: &[u8]) -> bool {
        self.value(field) == Some(word)
    }

    /// A string without its quotes, or nothing where there is none; `None` needs a closer look: it holds escapes.
    #[must_use]
    pub fn word(&self, field: u8) -> Option<Option<&'a [u8]>> {
        let Some(place) = self.place(field) else { return Some(None) };
        match &self.scan.bytes[place.clone()] {
            [b'"', word @ .., b'"'] => {
                (!self.scan.is_escaped(place.start + 1..place.end - 1)).then_some(Some(word))
            }
            _ => Some(None),
        }
    }

    /// Whether there is something, and not `null`.
    #[must_use]
    pub fn has(&self, field: u8) -> bool {
        self.value(field).is_some()
    }

    /// A whole number, or nothing where there is none; `None` needs a closer look.
    #[must_use]
    pub fn whole_number(&self, field: u8) -> Option<Option<u64>> {
        let Some(value) = self.value(field) else { return Some(None) };
        // As many digits as any number of that length needs.
        let few = (value.len() < 20).then_some(0);
        let number = value.iter().try_fold(few?, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
        });
        number.map(Some)
    }

    /// A token counter; zero where it is missing.
    #[must_use]
    pub fn count(&self, field: u8) -> u64 {
        let unusual = || self.value(field).and_then(|value| std::str::from_utf8(value).ok());
        match self.whole_number(field) {
            Some(number) => number.unwrap_or(0),
            None => Count::of(unusual().map(Raw::scanned)).0,
        }
    }

    /// Whether a character is named by its number somewhere in the line.
    #[must_use]
    pub fn names_characters(&self) -> bool {
        self.scan.names_characters()
    }
}

/// Finds the places of the fields in an object.
fn walk(
    scan: &mut Scan<'_, '_>,
    part: u8,
    seen: &mut u128,
    places: &mut [Place],
    asks: &impl Fn(u8, &[u8]) -> Ask,
) -> Option<()> {
    scan.object(|scan, key| {
        let ask = asks(part, key);
        let (Ask::Field(field) | Ask::Word(field) | Ask::Part(field, _)) = ask else {
            return if let Ask::Any = ask { scan.skip() } else { None };
        };
        let bit = 1_u128.checked_shl(field.into())?;
        (*seen & bit == 0).then(|| *seen |= bit)?;
        let start = scan.at();
        match (ask, scan.next()?) {
            (Ask::Part(_, inner), b'{') => walk(scan, inner, seen, places, asks)?,
            (Ask::Field(_), _) | (Ask::Word(_), b'"') | (_, b'n') => scan.skip()?,
            _ => return None,
        }
        if let Some(place) = places.get_mut(usize::from(field)) {
            *place = narrow(start, scan.at())?;
        }
        Some(())
    })
}

fn narrow(start: usize, end: usize) -> Option<Place> {
    Some((u32::try_from(start).ok()?, u32::try_from(end).ok()?))
}

/// How many words and numbers a form has at most.
const LEAVES: usize = 62;

/// How many bytes all its stretches have at most.
const MOST: usize = 16 * 1024;

/// How many stretches are known at once, whatever forms they belong to.
const STRETCHES: usize = 2048;

/// How much trust in forms there may be, and what learning another one takes of it.
const TRUST: u32 = 64;
const LESSON: u32 = 4;

/// How often a line is compared with forms where hardly any fits.
const SELDOM: u32 = 16;

/// Forms of lines, learnt from lines of any number of logs: a tree, since many begin alike.
#[derive(Debug)]
pub struct Forms {
    /// The bytes of all stretches.
    text: Vec<u8>,
    stretches: Vec<Stretch>,
    /// What lines begin with.
    begin: Next,
    /// Goes up with each line that fits, and down with each other: logs of ever new forms are not compared in vain.
    trust: u32,
    lines: u32,
}

/// A stretch of a form.
#[derive(Debug)]
struct Stretch {
    /// Where it stands in the text.
    text: Range<u32>,
    /// What comes behind it; nothing at the end of a line.
    leaf: Option<Leaf>,
    /// What comes behind that.
    next: Next,
    /// At the end of a line, its fields, from where to where.
    fields: Box<[(u8, Spot, Spot)]>,
}

/// Which stretches may come.
#[derive(Debug)]
struct Next {
    any: Vec<u32>,
    /// Which of them came last.
    likely: Cell<u32>,
}

impl Next {
    /// None.
    const fn new() -> Self {
        Self { any: Vec::new(), likely: Cell::new(u32::MAX) }
    }
}

/// A place in a form: behind as many bytes of a stretch.
type Spot = (u16, u32);

/// What may be another one in each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    /// A string, whose quotes belong to the stretches.
    Word,
    Number,
}

/// Where the stretches of a line begin.
type Starts = [usize; LEAVES + 1];

impl Forms {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self { text: Vec::new(), stretches: Vec::new(), begin: Next::new(), trust: TRUST, lines: 0 }
    }

    /// Whether the line has a known form; then its fields are found.
    fn fit(&mut self, line: Skip<'_, '_>, places: &mut [Place]) -> bool {
        self.lines = self.lines.wrapping_add(1);
        if self.trust == 0 && !self.lines.is_multiple_of(SELDOM) {
            return false;
        }
        let mut starts = [0; LEAVES + 1];
        let Some(last) = self.follow(line, &mut starts) else {
            self.trust = self.trust.saturating_sub(1);
            return false;
        };
        self.trust = (self.trust + 1).min(TRUST);
        let spot = |(stretch, behind): &Spot| starts[usize::from(*stretch)] + *behind as usize;
        for (field, start, end) in &self.stretches[last as usize].fields {
            #[expect(clippy::cast_possible_truncation, reason = "a line is shorter")]
            let place = (spot(start) as u32, spot(end) as u32);
            places[usize::from(*field)] = place;
        }
        true
    }

    /// Follows the line to its end, stretch by stretch. The last one, if all fit.
    fn follow(&self, line: Skip<'_, '_>, starts: &mut Starts) -> Option<u32> {
        let (mut next, mut at) = (&self.begin, 0);
        for start in starts {
            *start = at;
            // Where one fits no other does: what tells them apart stands before what comes behind them.
            let likely = next.likely.get();
            let behind = self.behind(likely, line, at).or_else(|| {
                let others = || next.any.iter().filter(|other| **other != likely);
                others().find_map(|other| {
                    let behind = self.behind(*other, line, at)?;
                    next.likely.set(*other);
                    Some(behind)
                })
            })?;
            let stretch = next.likely.get();
            match behind {
                Some(behind) => (next, at) = (&self.stretches[stretch as usize].next, behind),
                None => return Some(stretch),
            }
        }
        None
    }

    /// Where a stretch with its word or number ends that begins at `at`, if it does: nowhere at the end of a line.
    #[inline]
    fn behind(&self, stretch: u32, line: Skip<'_, '_>, at: usize) -> Option<Option<usize>> {
        let known = self.stretches.get(stretch as usize)?;
        let text = &self.text[known.text.start as usize..known.text.end as usize];
        line.bytes.get(at..)?.starts_with(text).then_some(())?;
        let behind = at + text.len();
        match known.leaf {
            Some(Leaf::Word) => line.string(behind).map(|end| Some(end - 1)),
            Some(Leaf::Number) => line.number(behind).map(Some),
            None => (behind == line.bytes.len()).then_some(None),
        }
    }

    /// Learns the form of a line that was walked through, with its fields below `kept`.
    fn learn(&mut self, scan: &mut Scan<'_, '_>, kept: usize, asks: &impl Fn(u8, &[u8]) -> Ask) {
        if self.trust < LESSON && !self.lines.is_multiple_of(SELDOM) {
            return;
        }
        self.trust = self.trust.saturating_sub(LESSON);
        let (mut seen, bytes) = (Seen::default(), scan.bytes);
        scan.again();
        if seen.read(scan, Some(0), asks).is_none() {
            return;
        }
        let size: usize = seen.stretches(bytes).map(<[u8]>::len).sum();
        // A key that is written in an unusual way is for a closer look.
        if size > MOST || seen.stretches(bytes).any(|text| text.contains(&b'\\')) {
            return;
        }
        if self.stretches.len() > STRETCHES {
            self.text.clear();
            self.stretches.clear();
            self.begin = Next::new();
        }
        let leaves = seen.leaves.iter().map(|(_, leaf)| Some(*leaf)).chain([None]);
        let mut last = None;
        for (text, leaf) in seen.stretches(bytes).zip(leaves) {
            last = Some(self.add(last, text, leaf));
        }
        let Some(last) = last else { return };
        self.stretches[last].fields = seen.spots(kept);
    }

    /// The number of a stretch behind another one.
    fn add(&mut self, before: Option<usize>, text: &[u8], leaf: Option<Leaf>) -> usize {
        let next = before.map_or(&self.begin, |before| &self.stretches[before].next);
        let known = next.any.iter().map(|stretch| *stretch as usize).find(|stretch| {
            let known = &self.stretches[*stretch];
            let place = known.text.start as usize..known.text.end as usize;
            known.leaf == leaf && &self.text[place] == text
        });
        if let Some(known) = known {
            return known;
        }
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let (number, start) = (self.stretches.len(), narrow(self.text.len()));
        self.text.extend_from_slice(text);
        let text = start..narrow(self.text.len());
        self.stretches.push(Stretch { text, leaf, next: Next::new(), fields: Box::default() });
        let next = before.map_or(&mut self.begin, |before| &mut self.stretches[before].next);
        next.any.push(narrow(number));
        number
    }
}

/// What stands in a line.
#[derive(Default)]
struct Seen {
    /// Words, without their quotes, and numbers, but for those that tell what something is.
    leaves: Vec<(Range<usize>, Leaf)>,
    fields: Vec<(u8, Range<usize>)>,
}

impl Seen {
    /// Reads a value; what is asked for in it if it is one of the parts.
    fn read(
        &mut self,
        scan: &mut Scan<'_, '_>,
        part: Option<u8>,
        asks: &impl Fn(u8, &[u8]) -> Ask,
    ) -> Option<()> {
        match scan.next()? {
            b'{' => scan.object(|scan, key| {
                let (field, inner) = match part.map_or(Ask::Any, |part| asks(part, key)) {
                    Ask::Field(field) | Ask::Word(field) => (Some(field), None),
                    Ask::Part(field, inner) => (Some(field), Some(inner)),
                    _ => (None, None),
                };
                let start = scan.at();
                match key {
                    b"type" | b"role" if scan.begins(b'"') => scan.skip()?,
                    _ => self.read(scan, inner, asks)?,
                }
                self.fields.extend(field.map(|field| (field, start..scan.at())));
                Some(())
            }),
            b'[' => scan.list(|scan| self.read(scan, None, asks)),
            first => {
                let start = scan.at();
                scan.skip()?;
                match first {
                    b'"' => self.leaves.push((start + 1..scan.at() - 1, Leaf::Word)),
                    b'-' | b'0'..=b'9' => self.leaves.push((start..scan.at(), Leaf::Number)),
                    _ => {}
                }
                (self.leaves.len() <= LEAVES).then_some(())
            }
        }
    }

    /// What stands before, between and behind the words and numbers.
    fn stretches<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let starts = std::iter::once(0).chain(self.leaves.iter().map(|(place, _)| place.end));
        let ends = self.leaves.iter().map(|(place, _)| place.start).chain([bytes.len()]);
        starts.zip(ends).map(|(start, end)| &bytes[start..end])
    }

    /// The fields below `kept` by the stretches that they begin and end in.
    fn spots(&self, kept: usize) -> Box<[(u8, Spot, Spot)]> {
        let spot = |at: usize| {
            let stretch = self.leaves.partition_point(|(place, _)| place.end <= at);
            let start = stretch.checked_sub(1).map_or(0, |before| self.leaves[before].0.end);
            let narrow = u32::try_from(at - start).unwrap_or(u32::MAX);
            (u16::try_from(stretch).unwrap_or(u16::MAX), narrow)
        };
        let fields = self.fields.iter().filter(|(field, _)| usize::from(*field) < kept);
        fields.map(|(field, place)| (*field, spot(place.start), spot(place.end))).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;

    const KEYS: [&str; 9] = ["type", "role", "id", "n", "list", "inner", "deep", "none", "k\\n"];

    /// Every key but one is asked for, in three parts.
    fn asks(part: u8, key: &[u8]) -> Ask {
        match KEYS.iter().position(|known| known.as_bytes() == key) {
            Some(5) if part < 2 => Ask::Part(part * 10 + 5, part + 1),
            Some(7) => Ask::Any,
            Some(2) if part < 3 => Ask::Word(part * 10 + 2),
            Some(nth) if part < 3 => Ask::Field(part * 10 + u8::try_from(nth).unwrap()),
            _ => Ask::Any,
        }
    }

    fn read(text: &[u8], forms: Option<&mut Forms>) -> Option<Places<30>> {
        let mut places = [(0, 0); 30];
        Fields::read(text, &mut Marks::default(), forms, &mut places, asks)?;
        Some(places)
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("[]".to_owned()),
            Just(r#""""#.to_owned()),
            Just(r#""\"""#.to_owned()),
            Just(r#""\u00e9""#.to_owned()),
            (-3..300_i32).prop_map(|number| number.to_string()),
            Just("1.5e3".to_owned()),
            select(&["text", "user", "a\\\\", "é"][..]).prop_map(|word| format!("{word:?}")),
            "[a-z,:{}]{0,70}".prop_map(|word| format!("\"{word}\"")),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|values| format!("[{}]", values.join(","))),
                prop::collection::vec((select(&KEYS[..]), inner), 0..4)
                    .prop_map(|fields| object(&fields)),
            ]
        })
    }

    fn object(fields: &[(&str, String)]) -> String {
        let fields = fields.iter().map(|(key, value)| format!("\"{key}\":{value}"));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    fn line() -> impl Strategy<Value = String> {
        let fields = prop::collection::vec((select(&KEYS[..]), value()), 0..6);
        (select(&["", " "][..]), fields)
            .prop_map(|(blank, fields)| blank.to_owned() + &object(&fields))
    }

    proptest! {
        #[test]
        fn what_fits_a_form_is_what_is_walked_through(
            lines in prop::collection::vec(line(), 1..12),
            edits in prop::collection::vec((0..12_usize, any::<usize>(), select(&br#""\{}[],:0a19- "#[..])), 0..24),
        ) {
            let mut forms = Forms::new();
            for line in &lines {
                prop_assert_eq!(read(line.as_bytes(), Some(&mut forms)), read(line.as_bytes(), None));
                prop_assert_eq!(read(line.as_bytes(), Some(&mut forms)), read(line.as_bytes(), None));
            }
            for (nth, at, byte) in edits {
                let mut line = lines[nth % lines.len()].clone().into_bytes();
                let at = at % line.len();
                line[at] = byte;
                let known = read(&line, Some(&mut forms));
                prop_assert_eq!(known, read(&line, None), "{}", String::from_utf8_lossy(&line));
            }
        }
    }

    /// How many lines in a row are found by a form that are made of those words.
    fn fitting(forms: &mut Forms, lines: &[String]) -> usize {
        let mut marks = Marks::default();
        let fits = lines.iter().filter(|line| {
            let scan = Scan::of(line.as_bytes(), &mut marks);
            forms.fit(scan.over(), &mut [(0, 0); 30])
        });
        fits.count()
    }

    #[test]
    fn a_form_is_learnt_once_and_what_has_no_form_is_not_asked_for_ever() {
        let mut forms = Forms::new();
        let lines: Vec<String> = (0..50)
            .map(|n| {
                format!(r#"{{"type":"text","id":"{n:x}","inner":{{"n":{n},"list":["{n}"]}}}}"#)
            })
            .collect();
        assert!(read(lines[0].as_bytes(), Some(&mut forms)).is_some());
        assert_eq!(fitting(&mut forms, &lines), lines.len());
        // Another kind is another form.
        let other = lines[1].replace("text", "user");
        assert_eq!(fitting(&mut forms, std::slice::from_ref(&other)), 0);

        let ever_new: Vec<String> = (0..9000).map(|n| format!(r#"{{"k{n}":"{n}"}}"#)).collect();
        for line in &ever_new {
            assert!(read(line.as_bytes(), Some(&mut forms)).is_some());
        }
        assert!(forms.trust < LESSON && forms.stretches.len() <= STRETCHES + LEAVES + 1);
        // When lines come that are alike, they are found again.
        for line in lines.iter().cycle().take(400) {
            assert!(read(line.as_bytes(), Some(&mut forms)).is_some());
        }
        assert_eq!(fitting(&mut forms, &lines), lines.len());
    }
}
