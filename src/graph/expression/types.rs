//! Types as far as they are known without a schema, and the signatures of functions.

use crate::graph::schema::{Schema, Shape};
use cel::common::types::{
    BOOL_TYPE, BYTES_TYPE, DOUBLE_TYPE, DURATION_TYPE, DYN_TYPE, INT_TYPE, LIST_TYPE, MAP_TYPE, NULL_TYPE, OPTIONAL_TYPE,
    STRING_TYPE, TIMESTAMP_TYPE, TYPE_TYPE, Type, UINT_TYPE,
};
use std::fmt;

/// A type that is known before evaluation; `Dyn` is anything.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StaticType {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type,
    List(Box<StaticType>),
    Map(Box<StaticType>, Box<StaticType>),
    Optional(Box<StaticType>),
    /// A type of kro's libraries, by name: `net.IP`.
    Opaque(&'static str),
}

impl StaticType {
    pub(super) fn list(item: StaticType) -> Self {
        Self::List(Box::new(item))
    }

    pub(super) fn map(key: StaticType, value: StaticType) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// Whether values of both types can be compared, or stand in for one another, in kro's typed environment.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::Null, other) | (other, Self::Null) => other.is_nullable(),
            (Self::List(left), Self::List(right)) | (Self::Optional(left), Self::Optional(right)) => left.agrees_with(right),
            (Self::Map(left_key, left), Self::Map(right_key, right)) => {
                left_key.agrees_with(right_key) && left.agrees_with(right)
            }
            _ => self == other,
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::Null | Self::Timestamp | Self::Duration | Self::Optional(_) | Self::Opaque(_))
    }

    /// The type that covers both: the type itself where they are equal, else anything.
    pub(super) fn join(self, other: &Self) -> Self {
        if self == *other { self } else { Self::Dyn }
    }

    /// The shape of such a value in a document; `None` where that is not certain, or not one shape.
    pub(super) fn shape(&self) -> Option<Shape> {
        let schema = |part: &Self| Box::new(part.shape().map(Schema::of).unwrap_or_default());
        match self {
            Self::Bool => Some(Shape::Boolean),
            Self::Int | Self::Uint => Some(Shape::Integer),
            Self::Double => Some(Shape::Number),
            Self::String => Some(Shape::String),
            Self::List(item) => Some(Shape::Array(schema(item))),
            Self::Map(_, value) => Some(Shape::Map(schema(value))),
            Self::Optional(value) => value.shape(),
            Self::Dyn | Self::Null | Self::Bytes | Self::Timestamp | Self::Duration | Self::Type | Self::Opaque(_) => None,
        }
    }

    /// Whether `<` and its like are defined.
    pub(super) fn is_ordered(&self) -> bool {
        matches!(
            self,
            Self::Dyn
                | Self::Bool
                | Self::Int
                | Self::Uint
                | Self::Double
                | Self::String
                | Self::Bytes
                | Self::Timestamp
                | Self::Duration
        )
    }

    /// The type that the evaluator picks overloads by.
    pub(super) fn to_cel(&self) -> Type {
        match self {
            Self::Dyn => DYN_TYPE,
            Self::Null => NULL_TYPE,
            Self::Bool => BOOL_TYPE,
            Self::Int => INT_TYPE,
            Self::Uint => UINT_TYPE,
            Self::Double => DOUBLE_TYPE,
            Self::String => STRING_TYPE,
            Self::Bytes => BYTES_TYPE,
            Self::Timestamp => TIMESTAMP_TYPE,
            Self::Duration => DURATION_TYPE,
            Self::Type => TYPE_TYPE,
            Self::List(_) => LIST_TYPE,
            Self::Map(..) => MAP_TYPE,
            Self::Optional(_) => OPTIONAL_TYPE,
            Self::Opaque(name) => Type::new_unspecified_type(name),
        }
    }

    /// Reads `int`, `list(string)`, `map(string, list(string))`, `net.IP`; `T` and the like are anything.
    fn parse(text: &'static str) -> Self {
        let text = text.trim();
        let parameters = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(item) = parameters("list") {
            return Self::list(Self::parse(item));
        }
        if let Some(item) = parameters("optional") {
            return Self::Optional(Box::new(Self::parse(item)));
        }
        if let Some((key, value)) = parameters("map").and_then(|both| both.split_once(',')) {
            return Self::map(Self::parse(key), Self::parse(value));
        }
        match text {
            "null" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "timestamp" => Self::Timestamp,
            "duration" => Self::Duration,
            "type" => Self::Type,
            name if name.contains('.') => Self::Opaque(name),
            _ => Self::Dyn,
        }
    }
}

impl fmt::Display for StaticType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => formatter.write_str("dyn"),
            Self::Null => formatter.write_str("null"),
            Self::Bool => formatter.write_str("bool"),
            Self::Int => formatter.write_str("int"),
            Self::Uint => formatter.write_str("uint"),
            Self::Double => formatter.write_str("double"),
            Self::String => formatter.write_str("string"),
            Self::Bytes => formatter.write_str("bytes"),
            Self::Timestamp => formatter.write_str("timestamp"),
            Self::Duration => formatter.write_str("duration"),
            Self::Type => formatter.write_str("type"),
            Self::List(item) => write!(formatter, "list({item})"),
            Self::Map(key, value) => write!(formatter, "map({key}, {value})"),
            Self::Optional(item) => write!(formatter, "optional({item})"),
            Self::Opaque(name) => formatter.write_str(name),
        }
    }
}

/// One way to call a function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Signature {
    /// `size`, `json.marshal`; without the receiver's type for a method.
    pub(super) name: &'static str,
    /// Types of the arguments; a method's receiver comes first.
    pub(super) parameters: Vec<StaticType>,
    pub(super) result: StaticType,
}

impl Signature {
    /// Reads `json.marshal(dyn) -> string`.
    pub(super) fn function(text: &'static str) -> Option<Self> {
        let (call, result) = text.split_once(" -> ")?;
        let (name, parameters) = split_parameters(call)?;
        Some(Self { name, parameters, result: StaticType::parse(result) })
    }

    /// Reads `string.split(string, int) -> list(string)`.
    pub(super) fn method(text: &'static str) -> Option<Self> {
        let (call, result) = text.split_once(" -> ")?;
        let (receiver_and_name, mut parameters) = split_parameters(call)?;
        // The receiver's type may have a dot of its own: `net.IP.family`.
        let (receiver, name) = receiver_and_name.rsplit_once('.')?;
        parameters.insert(0, StaticType::parse(receiver));
        Some(Self { name, parameters, result: StaticType::parse(result) })
    }

    /// Whether arguments of these types are accepted.
    pub(super) fn accepts(&self, arguments: &[StaticType]) -> bool {
        self.parameters.len() == arguments.len()
            && self.parameters.iter().zip(arguments).all(|(parameter, argument)| parameter.agrees_with(argument))
    }
}

/// `f(list(T), int)` into `f` and its parameters, by the parenthesis that the last one closes.
fn split_parameters(call: &'static str) -> Option<(&'static str, Vec<StaticType>)> {
    let mut depth = 0_usize;
    let opening = call.char_indices().rev().find_map(|(index, character)| {
        match character {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(index)
    })?;
    let parameters = call.get(opening + 1..)?.strip_suffix(')')?;
    let name = call.get(..opening)?;
    Some((name, if parameters.is_empty() { Vec::new() } else { split_list(parameters) }))
}

/// Types between commas that stand in no parentheses.
fn split_list(text: &'static str) -> Vec<StaticType> {
    let mut depth = 0_usize;
    let is_separator = |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    };
    text.split(is_separator).map(StaticType::parse).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn signatures_are_read() {
        let marshal = Signature::function("json.marshal(dyn) -> string").unwrap();
        assert_eq!(
            (marshal.name, marshal.parameters, marshal.result),
            ("json.marshal", vec![StaticType::Dyn], StaticType::String)
        );
        let split = Signature::method("string.split(string, int) -> list(string)").unwrap();
        assert_eq!((split.name, split.parameters.len(), split.result), ("split", 3, StaticType::list(StaticType::String)));
        let merge = Signature::method("map(K,V).merge(map(K,V), list(T)) -> map(K,V)").unwrap();
        let any_map = StaticType::map(StaticType::Dyn, StaticType::Dyn);
        assert_eq!(merge.parameters, [any_map.clone(), any_map, StaticType::list(StaticType::Dyn)]);
        let ip = Signature::method("net.CIDR.ip() -> net.IP").unwrap();
        assert_eq!((ip.name, ip.parameters), ("ip", vec![StaticType::Opaque("net.CIDR")]));
    }

    #[test]
    fn null_agrees_with_little() {
        assert!(StaticType::Null.agrees_with(&StaticType::Dyn));
        assert!(StaticType::Null.agrees_with(&StaticType::Null));
        assert!(StaticType::Duration.agrees_with(&StaticType::Null));
        assert!(!StaticType::Null.agrees_with(&StaticType::String));
        assert!(!StaticType::list(StaticType::Int).agrees_with(&StaticType::list(StaticType::Double)));
    }
}
