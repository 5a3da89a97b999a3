//! The type before the bar of a field: `string`, `[]map[string]Person`.

/// The deepest nesting of lists and maps that kro reads.
const MAX_NESTING: usize = 16;

/// A type as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeExpression {
    String,
    Integer,
    Boolean,
    Float,
    /// Any mapping.
    Object,
    List(Box<TypeExpression>),
    Map(Box<TypeExpression>),
    /// The name of a custom type.
    Custom(String),
}

/// Why a type cannot be read: kro's category and a message.
pub(super) type TypeError = (&'static str, String);

impl TypeExpression {
    /// Reads a type.
    pub(super) fn parse(text: &str) -> Result<Self, TypeError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(("type-empty", "the type is missing: `string | required=true`".to_owned()));
        }
        Self::parse_nested(text, 0)
    }

    fn parse_nested(text: &str, depth: usize) -> Result<Self, TypeError> {
        if depth > MAX_NESTING {
            return Err(("type-nesting", format!("lists and maps may be nested {MAX_NESTING} levels deep")));
        }
        let text = text.trim();
        if let Some(item) = text.strip_prefix("[]") {
            if item.is_empty() {
                return Err(("type-empty", "`[]` needs the type of its items: `[]string`".to_owned()));
            }
            return Ok(Self::List(Box::new(Self::parse_nested(item, depth + 1)?)));
        }
        if text.starts_with("map[") {
            let Some(value) = text.strip_prefix("map[string]") else {
                return Err(("map-key-not-string", format!("the keys of `{text}` have to be strings: `map[string]…`")));
            };
            if value.trim().is_empty() {
                return Err(("map-value-missing", "`map[string]` needs the type of its values".to_owned()));
            }
            return Ok(Self::Map(Box::new(Self::parse_nested(value, depth + 1)?)));
        }
        Ok(match text {
            "string" => Self::String,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "float" => Self::Float,
            "object" => Self::Object,
            name => Self::Custom(name.to_owned()),
        })
    }
}
