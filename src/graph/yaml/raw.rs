//! What the YAML parser hands over: values with spans, before they are checked.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// A value as the parser resolves it.
#[derive(Debug)]
pub(super) enum Raw {
    Null,
    Boolean(bool),
    Integer(i64),
    /// A whole number above the signed 64 bits.
    TooLarge,
    Float(f64),
    String(String),
    Sequence(Vec<Spanned<Raw>>),
    Mapping(Vec<(Spanned<RawKey>, Spanned<Raw>)>),
}

/// A key of a mapping as the parser resolves it.
#[derive(Debug)]
pub(super) enum RawKey {
    Text(String),
    Boolean(bool),
    /// A number; its text is what the document says.
    Number,
    /// Nothing, a list or a mapping.
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(i64::try_from(value).map_or(Raw::TooLarge, Raw::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Raw::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = mapping.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Mapping(entries))
    }
}

impl<'de> Deserialize<'de> for RawKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawKeyVisitor)
    }
}

struct RawKeyVisitor;

impl<'de> Visitor<'de> for RawKeyVisitor {
    type Value = RawKey;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_unit<E>(self) -> Result<RawKey, E> {
        Ok(RawKey::Other("nothing"))
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawKey, E> {
        Ok(RawKey::Boolean(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<RawKey, E> {
        Ok(RawKey::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<RawKey, E> {
        Ok(RawKey::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<RawKey, E> {
        Ok(RawKey::Number)
    }

    fn visit_str<E>(self, value: &str) -> Result<RawKey, E> {
        Ok(RawKey::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<RawKey, E> {
        Ok(RawKey::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<RawKey, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RawKey::Other("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<RawKey, A::Error> {
        while mapping.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(RawKey::Other("a mapping"))
    }
}
