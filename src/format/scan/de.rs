//! What serde derives, read by a scan: values that nobody asks for are passed over at its speed.

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};

use super::{Marks, Scan};

/// The name by which `serde_json` asks for a value as it stands. Were it another one some day, all would go the other way
/// of [`read`].
const RAW: &str = "$serde_json::private::RawValue";

/// What is shorter is read as fast without marks.
const SHORT: usize = 256;

/// The value that is all of `bytes`. What a scan does not take, `serde_json` does; an error is always its own.
pub fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    if bytes.len() < SHORT {
        return serde_json::from_slice(bytes);
    }
    scanned(bytes, &mut Marks::default()).map_or_else(|| serde_json::from_slice(bytes), Ok)
}

fn scanned<'a, T: Deserialize<'a>>(bytes: &'a [u8], marks: &mut Marks) -> Option<T> {
    let mut scan = Scan::of(bytes, marks);
    let value = T::deserialize(Value(&mut scan)).ok()?;
    scan.ends().then_some(value)
}

/// A scan cannot take it, for whatever reason.
#[derive(Debug)]
pub struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no value for a scan")
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }
}

type Result<T> = std::result::Result<T, Refused>;

/// The value that a scan stands before.
struct Value<'s, 'a, 'm>(&'s mut Scan<'a, 'm>);

impl<'a> Value<'_, 'a, '_> {
    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value> {
        let start = self.0.at;
        let text = self.0.quoted().ok_or(Refused)?;
        if self.0.seen.escape && text.contains(&b'\\') {
            let quoted = &self.0.bytes[start..self.0.at];
            return visitor.visit_string(serde_json::from_slice(quoted).map_err(|_| Refused)?);
        }
        let text = self.0.part(self.0.at - 1 - text.len()..self.0.at - 1);
        visitor.visit_borrowed_str(text.ok_or(Refused)?)
    }
}

impl<'de> Deserializer<'de> for Value<'_, 'de, '_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.next().ok_or(Refused)? {
            b'"' => self.text(visitor),
            b'{' => {
                let scan = self.0;
                scan.take(b'{').ok_or(Refused)?;
                let mut items = Items { scan, first: true, close: b'}' };
                let value = visitor.visit_map(&mut items)?;
                items.end()?;
                Ok(value)
            }
            b'[' => {
                let scan = self.0;
                scan.take(b'[').ok_or(Refused)?;
                let mut items = Items { scan, first: true, close: b']' };
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            b't' => self.0.literal(b"true").ok_or(Refused).and_then(|()| visitor.visit_bool(true)),
            b'f' => {
                self.0.literal(b"false").ok_or(Refused).and_then(|()| visitor.visit_bool(false))
            }
            b'n' => self.0.literal(b"null").ok_or(Refused).and_then(|()| visitor.visit_unit()),
            _ => {
                let text = self.0.value().ok_or(Refused)?;
                let text = std::str::from_utf8(text).map_err(|_| Refused)?;
                if let Ok(whole) = text.parse::<u64>() {
                    return visitor.visit_u64(whole);
                }
                // A zero with a sign is no integer to `serde_json`.
                if let Ok(whole) = text.parse::<i64>()
                    && whole != 0
                {
                    return visitor.visit_i64(whole);
                }
                visitor.visit_f64(serde_json::from_str(text).map_err(|_| Refused)?)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0.next() == Some(b'n') {
            self.0.literal(b"null").ok_or(Refused)?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        let len = self.0.value().ok_or(Refused)?.len();
        let value = self.0.part(self.0.at - len..self.0.at).ok_or(Refused)?;
        visitor.visit_map(Raw(Some(value)))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.value().ok_or(Refused)?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier
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
        let next = self.scan.next().ok_or(Refused)?;
        if next == self.close {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            self.scan.take(b',').ok_or(Refused)?;
            // Nothing may follow a comma but another one.
            if self.scan.next() == Some(self.close) {
                return Err(Refused);
            }
        }
        Ok(true)
    }

    /// A visitor that has enough may leave some; those whom that would not suit read again.
    fn end(&mut self) -> Result<()> {
        self.scan.take(self.close).ok_or(Refused)
    }
}

impl<'a> MapAccess<'a> for &mut Items<'_, 'a, '_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.more()? {
            return Ok(None);
        }
        if self.scan.next() != Some(b'"') {
            return Err(Refused);
        }
        seed.deserialize(Value(self.scan)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value> {
        self.scan.take(b':').ok_or(Refused)?;
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

/// A value as it stands, in the form in which `serde_json` hands it out.
struct Raw<'a>(Option<&'a str>);

impl<'a> MapAccess<'a> for Raw<'a> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.0.is_none() {
            return Ok(None);
        }
        seed.deserialize(RAW.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value> {
        let value = self.0.take().ok_or(Refused)?;
        seed.deserialize(de::value::BorrowedStrDeserializer::new(value))
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
