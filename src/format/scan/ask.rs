//! What the structs of the clients may ask for beside what serde knows: values as they stand, with or without what they
//! say, and strings that nobody reads.
//!
//! Each asks by a name that a scan knows and answers in one pass. Whoever does not know it, such as `serde_json`, sees what
//! lies inside.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::read;
use crate::format::json::{Raw, Text};

/// The name of [`Raw`].
pub(super) const RAW: &str = "$sessctl::Raw";
/// The name of [`Parsed`].
pub(super) const PARSED: &str = "$sessctl::Parsed";
/// The name of [`Unread`].
pub(super) const UNREAD: &str = "$sessctl::Unread";

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Standing;

        impl<'de> Visitor<'de> for Standing {
            type Value = Raw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Raw<'de>, D::Error> {
                <&RawValue>::deserialize(deserializer).map(|raw| Raw::scanned(raw.get()))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Raw<'de>, E> {
                Ok(Raw::scanned(text))
            }
        }

        deserializer.deserialize_newtype_struct(RAW, Standing)
    }
}

/// Where a value stands, and what it says if it has the shape of a `T`.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'a, T> {
    /// No text, because nobody has looked into it for being one.
    bytes: &'a [u8],
    /// What it says.
    pub value: Option<T>,
}

impl<'a, T> Parsed<'a, T> {
    /// A value that stands as `bytes`.
    pub fn of(bytes: &'a [u8], value: Option<T>) -> Self {
        Self { bytes, value }
    }

    /// The value as it stands.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Parsed<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Both<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Both<T> {
            type Value = (Option<T>, &'de [u8]);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Self::Value, D::Error> {
                let bytes = Raw::deserialize(deserializer)?.get().as_bytes();
                Ok((read(bytes).ok(), bytes))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut both: A) -> Result<Self::Value, A::Error> {
                let value = both.next_element()?;
                let bytes = both.next_element()?.ok_or_else(|| Error::custom("no value"))?;
                Ok((value, bytes))
            }
        }

        let (value, bytes) = deserializer.deserialize_newtype_struct(PARSED, Both(PhantomData))?;
        Ok(Self { bytes, value })
    }
}

/// A string that must be one, but whose words nobody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = Unread;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Unread, D::Error> {
                Text::deserialize(deserializer).map(|_| Unread)
            }

            fn visit_unit<E>(self) -> Result<Unread, E> {
                Ok(Unread)
            }
        }

        deserializer.deserialize_newtype_struct(UNREAD, Words)
    }
}
