//! What serde derives, read by a scan: values that nobody asks for are passed over at its speed.

use std::cell::Cell;

use memchr::memmem;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};

use super::{
    Marks, Scan,
    ask::{PARSED, RAW, UNREAD},
};

/// What is shorter is read as fast without marks.
const SHORT: usize = 256;

/// The value that is all of `bytes`. What a scan does not take, `serde_json` does; an error is always its own.
pub fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    if bytes.len() < SHORT {
        return serde_json::from_slice(bytes);
    }
    let mut marks = SPARE.take();
    let value = marks.read(bytes);
    if marks.is_small() {
        SPARE.set(marks);
    }
    value
}

thread_local! {
    /// The memory of the value that was read last.
    static SPARE: Cell<Marks> = const { Cell::new(Marks::new()) };
}

impl Marks {
    /// The same, with the memory of the line before.
    pub fn read<'a, T: Deserialize<'a>>(&mut self, bytes: &'a [u8]) -> serde_json::Result<T> {
        scanned(bytes, self).map_or_else(|| serde_json::from_slice(bytes), Ok)
    }
}

fn scanned<'a, T: Deserialize<'a>>(bytes: &'a [u8], marks: &mut Marks) -> Option<T> {
    let mut scan = Scan::of(bytes, marks);
    let value = scan.typed()?;
    scan.ends().then_some(value)
}

impl<'a> Scan<'a, '_> {
    /// A value of a type that serde derives.
    pub fn typed<T: Deserialize<'a>>(&mut self) -> Option<T> {
        T::deserialize(self.here()).ok()
    }

    /// The value that the scan stands before, for what is read in more ways than one.
    pub fn here(&mut self) -> impl Deserializer<'a> {
        Value(self)
    }

    /// Where the next value begins.
    fn begin(&mut self) -> Result<usize> {
        self.next().ok_or(Refused::Line)?;
        Ok(self.at)
    }

    /// Goes behind a string that is one, or `null`.
    pub fn unread_text(&mut self) -> Option<()> {
        if self.is_null()? { Some(()) } else { self.unread().ok() }
    }

    /// Goes behind a string that is one.
    fn unread(&mut self) -> Result<()> {
        if self.next() != Some(b'"') {
            return Err(Refused::Shape);
        }
        let start = self.at;
        let text = self.quoted().ok_or(Refused::Line)?;
        // Half a character is none: the numbers of such halves begin with a D.
        let halves = |d: &[u8]| memmem::find(text, d).is_some();
        if self.seen.unicode && (halves(b"\\ud") || halves(b"\\uD")) {
            let quoted = &self.bytes[start..self.at];
            serde_json::from_slice::<String>(quoted).map_err(|_| Refused::Line)?;
        }
        Ok(())
    }
}

/// Why there is no value.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// A scan cannot take it, for whatever reason.
    Line,
    /// It can, but the value has another shape than was asked for.
    Shape,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no value for a scan")
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self::Shape
    }
}

type Result<T> = std::result::Result<T, Refused>;

/// The value that a scan stands before.
struct Value<'s, 'a, 'm>(&'s mut Scan<'a, 'm>);

impl<'a> Value<'_, 'a, '_> {
    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value> {
        let start = self.0.at;
        let text = self.0.quoted().ok_or(Refused::Line)?;
        let inner = self.0.at - 1 - text.len()..self.0.at - 1;
        if self.0.is_escaped(inner.clone()) {
            let quoted = &self.0.bytes[start..self.0.at];
            return visitor
                .visit_string(serde_json::from_slice(quoted).map_err(|_| Refused::Line)?);
        }
        let text = self.0.part(inner);
        visitor.visit_borrowed_str(text.ok_or(Refused::Line)?)
    }
}

impl<'de> Deserializer<'de> for Value<'_, 'de, '_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.next().ok_or(Refused::Line)? {
            b'"' => self.text(visitor),
            b'{' => {
                let scan = self.0;
                scan.take(b'{').ok_or(Refused::Line)?;
                let mut items = Items { scan, first: true, close: b'}' };
                let value = visitor.visit_map(&mut items)?;
                items.end()?;
                Ok(value)
            }
            b'[' => {
                let scan = self.0;
                scan.take(b'[').ok_or(Refused::Line)?;
                let mut items = Items { scan, first: true, close: b']' };
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            b't' => {
                self.0.literal(b"true").ok_or(Refused::Line).and_then(|()| visitor.visit_bool(true))
            }
            b'f' => self
                .0
                .literal(b"false")
                .ok_or(Refused::Line)
                .and_then(|()| visitor.visit_bool(false)),
            b'n' => {
                self.0.literal(b"null").ok_or(Refused::Line).and_then(|()| visitor.visit_unit())
            }
            _ => {
                let text = self.0.value().ok_or(Refused::Line)?;
                if text.len() < 20 && text.iter().all(u8::is_ascii_digit) {
                    let add = |sum, digit: &u8| sum * 10 + u64::from(digit - b'0');
                    return visitor.visit_u64(text.iter().fold(0, add));
                }
                let text = std::str::from_utf8(text).map_err(|_| Refused::Line)?;
                if let Ok(whole) = text.parse::<u64>() {
                    return visitor.visit_u64(whole);
                }
                // A zero with a sign is no integer to `serde_json`.
                if let Ok(whole) = text.parse::<i64>()
                    && whole != 0
                {
                    return visitor.visit_i64(whole);
                }
                visitor.visit_f64(serde_json::from_str(text).map_err(|_| Refused::Line)?)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0.next() == Some(b'n') {
            self.0.literal(b"null").ok_or(Refused::Line)?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        if name.as_bytes().first() != Some(&b'$') {
            return visitor.visit_newtype_struct(self);
        }
        match name {
            RAW => {
                let start = self.0.begin()?;
                self.0.value().ok_or(Refused::Line)?;
                visitor.visit_borrowed_str(self.0.part(start..self.0.at).ok_or(Refused::Line)?)
            }
            PARSED => visitor.visit_seq(Both { start: self.0.begin()?, scan: self.0, parts: 0 }),
            UNREAD => {
                self.0.unread()?;
                visitor.visit_unit()
            }
            // What others ask for by names of their own.
            _ => Err(Refused::Line),
        }
    }

    /// What is no list is not looked into to say what it is instead.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0.next() != Some(b'[') {
            return Err(Refused::Shape);
        }
        self.deserialize_any(visitor)
    }

    /// Most keys are compared with words, which needs no text.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0.next() != Some(b'"') || self.0.seen.unicode {
            return self.deserialize_any(visitor);
        }
        visitor.visit_borrowed_bytes(self.0.quoted().ok_or(Refused::Line)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.value().ok_or(Refused::Line)?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map struct enum
    }
}

/// A value in two parts, for [`Parsed`]: what it says, and how it stands.
struct Both<'s, 'a, 'm> {
    scan: &'s mut Scan<'a, 'm>,
    start: usize,
    parts: u8,
}

impl<'a> SeqAccess<'a> for Both<'_, 'a, '_> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        self.parts += 1;
        if self.parts > 1 {
            let bytes = &self.scan.bytes[self.start..self.scan.at];
            return seed.deserialize(de::value::BorrowedBytesDeserializer::new(bytes)).map(Some);
        }
        match seed.deserialize(Value(self.scan)) {
            // What a scan takes is what `serde_json` takes, so that this would find no value either.
            Err(Refused::Shape) => {
                self.scan.at = self.start;
                self.scan.value().ok_or(Refused::Line)?;
                Ok(None)
            }
            value => value.map(Some),
        }
    }
}

/// What stands in an object or a list.
struct Items<'s, 'a, 'm> {
    scan: &'s mut Scan<'a, 'm>,
    first: bool,
    close: u8,
}

impl Items<'_, '_, '_> {
    /// Whether there is another one, which the scan then stands before.
    fn more(&mut self) -> Result<bool> {
        let next = self.scan.next().ok_or(Refused::Line)?;
        if next == self.close {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            self.scan.take(b',').ok_or(Refused::Line)?;
            // Nothing may follow a comma but another one.
            if self.scan.next() == Some(self.close) {
                return Err(Refused::Line);
            }
        }
        Ok(true)
    }

    /// A visitor that has enough may leave some; those whom that would not suit read again.
    fn end(&mut self) -> Result<()> {
        self.scan.take(self.close).ok_or(Refused::Line)
    }
}

impl<'a> MapAccess<'a> for &mut Items<'_, 'a, '_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.more()? {
            return Ok(None);
        }
        if self.scan.next() != Some(b'"') {
            return Err(Refused::Line);
        }
        seed.deserialize(Value(self.scan)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value> {
        self.scan.take(b':').ok_or(Refused::Line)?;
        seed.deserialize(Value(self.scan))
    }
}

impl<'a> SeqAccess<'a> for &mut Items<'_, 'a, '_> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.more()? {
            return Ok(None);
        }
        seed.deserialize(Value(self.scan)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::format::json::{self, Text};

    /// One field of each kind that the clients' structs have.
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "compared as it is printed")]
    struct Sample<'a> {
        #[serde(borrow)]
        text: Option<Text<'a>>,
        count: Option<u64>,
        small: Option<u32>,
        signed: Option<i64>,
        real: Option<f64>,
        flag: Option<bool>,
        #[serde(borrow)]
        raw: Option<json::Raw<'a>>,
        #[serde(borrow)]
        list: Option<Vec<Text<'a>>>,
        #[serde(borrow)]
        inner: Option<Box<Sample<'a>>>,
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".into()),
            Just("-0".into()),
            Just("1e2".into()),
            Just("0.0051".into()),
            Just("18446744073709551616".into()),
            Just("{".into()),
            Just(",".into()),
            Just(r#""a\"b""#.into()),
            Just(r#""\ud800""#.into()),
            Just(r#""é""#.into()),
            any::<i64>().prop_map(|number| number.to_string()),
            "\"[a-z ]{0,70}\"",
        ];
        let key = prop_oneof![
            Just("text"),
            Just("count"),
            Just("small"),
            Just("signed"),
            Just("real"),
            Just("flag"),
            Just("raw"),
            Just("list"),
            Just("inner"),
            Just("other"),
            Just("te\\u0078t"),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            let field = (key.clone(), inner.clone());
            let fields = prop::collection::vec(field, 0..6).prop_map(|fields| {
                let fields = fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}"));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            });
            let list =
                prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(" , ")));
            prop_oneof![fields, list]
        })
    }

    proptest! {
        #[test]
        fn what_is_read_by_a_scan_is_what_serde_json_reads(text in value()) {
            let mut marks = Marks::default();
            if let Some(sample) = scanned::<Sample<'_>>(text.as_bytes(), &mut marks) {
                let parsed = serde_json::from_str::<Sample<'_>>(&text);
                prop_assert!(parsed.is_ok(), "{text}");
                prop_assert_eq!(format!("{sample:?}"), format!("{:?}", parsed.unwrap()));
            }
        }
    }

    #[test]
    fn so_are_the_lines_of_every_client_whole_and_damaged() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
        let (mut marks, mut read, mut refused) = (Marks::default(), 0, 0);
        for entry in walkdir::WalkDir::new(fixtures) {
            let path = entry.unwrap().into_path();
            if path.extension().is_none_or(|kind| kind != "jsonl") {
                continue;
            }
            let text = fs::read(&path).unwrap();
            for (nth, line) in text.split(|byte| *byte == b'\n').enumerate() {
                let mut damaged = line.to_vec();
                if let Some(byte) = damaged.get_mut(nth * 131 % line.len().max(1)) {
                    *byte = [b'"', b'\\', 0, 0xC3, b'}', b'7'][nth % 6];
                }
                for line in [line, &damaged] {
                    match scanned::<serde_json::Value>(line, &mut marks) {
                        Some(value) => {
                            let parsed: serde_json::Value = serde_json::from_slice(line).unwrap();
                            assert_eq!(value, parsed, "{} line {}", path.display(), nth + 1);
                            read += 1;
                        }
                        None => refused += 1,
                    }
                }
            }
        }
        assert!(read > 5_000 && refused > 100, "{read} read, {refused} refused");
    }
}
