//! Finds `${…}` in text, after kro's scanner; an expression that never ends is an error here.

use std::ops::Range;

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scanned {
    /// No expression.
    Literal,
    /// The whole text is one expression: it keeps the type of its value.
    Standalone(Span),
    /// Literal pieces and expressions: text.
    Text(Vec<Piece>),
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it stands.
    Literal(String),
    /// An expression.
    Expression(Span),
}

/// An expression inside a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The CEL source, as written between `${` and `}`.
    pub source: String,
    /// Offset of the source in the text, bytes.
    pub offset: usize,
}

/// Why a text cannot be scanned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// `${` inside an open expression.
    #[error("`${{` inside an expression")]
    Nested {
        /// Where, bytes.
        offset: usize,
    },
    /// `${` without `}`.
    #[error("`${{` without a closing `}}`")]
    Unterminated {
        /// Where the expression starts, bytes.
        offset: usize,
    },
}

/// Scans a text. CEL strings and comments are understood in full; where kro would read the text differently, see
/// [`kro_reads_differently`].
pub fn scan(text: &str) -> Result<Scanned, ScanError> {
    let mut pieces = Pieces::default();
    let mut position = 0;
    while let Some(start) = find(text, position, "${") {
        let source_start = start + 2;
        let end = end_of_expression(text, source_start)?.ok_or(ScanError::Unterminated { offset: start })?;
        pieces.add(text, position..start, source_start..end);
        position = end + 1;
    }
    Ok(pieces.finish(text, position))
}

/// Scans as kro does at the pinned commit: only double quotes are understood, an unterminated `${` is literal text.
/// Used by the conformance tests and to warn where kro and fleetctl disagree.
pub fn scan_as_kro(text: &str) -> Result<Scanned, ScanError> {
    let mut pieces = Pieces::default();
    let mut position = 0;
    let mut search = 0;
    while let Some(start) = find(text, search, "${") {
        let source_start = start + 2;
        if let Some(end) = end_of_expression_for_kro(text, source_start)? {
            pieces.add(text, position..start, source_start..end);
            position = end + 1;
            search = position;
        } else {
            search = start + 1;
        }
    }
    Ok(pieces.finish(text, position))
}

/// Whether kro finds other expressions than [`scan`] in a text that `scan` can read.
pub fn kro_reads_differently(text: &str) -> bool {
    let Ok(scanned) = scan(text) else { return false };
    // An expression that kro finds no end of is asked for first: kro's way to go on behind it takes quadratic time.
    let mut spans = scanned.spans();
    if spans.any(|span| !matches!(end_of_expression_for_kro(text, span.offset), Ok(Some(_)))) {
        return true;
    }
    scan_as_kro(text).as_ref() != Ok(&scanned)
}

impl Scanned {
    /// The expressions, in order.
    pub fn spans(&self) -> impl Iterator<Item = &Span> {
        let (standalone, pieces) = match self {
            Self::Literal => (None, &[][..]),
            Self::Standalone(span) => (Some(span), &[][..]),
            Self::Text(pieces) => (None, pieces.as_slice()),
        };
        standalone.into_iter().chain(pieces.iter().filter_map(|piece| match piece {
            Piece::Expression(span) => Some(span),
            Piece::Literal(_) => None,
        }))
    }
}

/// Collects the pieces of a text.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn add(&mut self, text: &str, literal: Range<usize>, source: Range<usize>) {
        self.add_literal(text, literal);
        let offset = source.start;
        let source = text.get(source).unwrap_or("").to_owned();
        self.0.push(Piece::Expression(Span { source, offset }));
    }

    fn add_literal(&mut self, text: &str, literal: Range<usize>) {
        let literal = text.get(literal).unwrap_or("");
        if !literal.is_empty() {
            self.0.push(Piece::Literal(literal.to_owned()));
        }
    }

    fn finish(mut self, text: &str, position: usize) -> Scanned {
        self.add_literal(text, position..text.len());
        match self.0.as_slice() {
            [] | [Piece::Literal(_)] => Scanned::Literal,
            [Piece::Expression(span)] => Scanned::Standalone(span.clone()),
            _ => Scanned::Text(self.0),
        }
    }
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|found| from + found)
}

/// Offset of the `}` that ends the expression whose source starts at an offset.
fn end_of_expression(text: &str, start: usize) -> Result<Option<usize>, ScanError> {
    let bytes = text.as_bytes();
    let mut open_braces = 0_usize;
    let mut position = start;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' | b'\'' => {
                position = end_of_string(bytes, start, position);
                continue;
            }
            b'/' if bytes.get(position + 1) == Some(&b'/') => {
                position = find(text, position, "\n").unwrap_or(bytes.len());
                continue;
            }
            b'$' if bytes.get(position + 1) == Some(&b'{') => return Err(ScanError::Nested { offset: position }),
            b'{' => open_braces += 1,
            b'}' if open_braces == 0 => return Ok(Some(position)),
            b'}' => open_braces -= 1,
            _ => {}
        }
        position += 1;
    }
    Ok(None)
}

/// Offset behind the CEL string whose first quote stands at `quote_at`; the end of the text for one that never ends. A
/// line break ends a string that is not in triple quotes: CEL allows none in it.
fn end_of_string(bytes: &[u8], expression: usize, quote_at: usize) -> usize {
    let quote = bytes.get(quote_at).copied().unwrap_or_default();
    let triple = [quote; 3];
    let is_triple = bytes.get(quote_at..quote_at + 3) == Some(&triple);
    let is_raw = is_raw_prefix(bytes.get(expression..quote_at).unwrap_or_default());
    let closing = if is_triple { &triple[..] } else { &triple[..1] };
    let mut position = quote_at + closing.len();
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'\\' if !is_raw => position += 1,
            b'\n' if !is_triple => return position,
            _ if bytes.get(position..position + closing.len()) == Some(closing) => return position + closing.len(),
            _ => {}
        }
        position += 1;
    }
    bytes.len()
}

/// Whether what stands before a quote makes the string raw: `r`, `R`, `br`, …, and nothing longer.
fn is_raw_prefix(before: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let start = before.iter().rposition(|byte| !is_name(byte)).map_or(0, |index| index + 1);
    matches!(before.get(start..).unwrap_or_default(), [b'r' | b'R'] | [b'b' | b'B', b'r' | b'R'])
}

fn end_of_expression_for_kro(text: &str, start: usize) -> Result<Option<usize>, ScanError> {
    let bytes = text.as_bytes();
    let mut open_braces = 0_usize;
    let mut in_string = false;
    let mut position = start;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'\\' if in_string => position += 1,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => open_braces += 1,
            b'}' if open_braces == 0 => return Ok(Some(position)),
            b'}' => open_braces -= 1,
            b'$' if bytes.get(position + 1) == Some(&b'{') && bytes.get(position.wrapping_sub(1)) != Some(&b'"') => {
                return Err(ScanError::Nested { offset: position });
            }
            _ => {}
        }
        position += 1;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use proptest::prelude::*;

    /// `literal`; `standalone` and the source; or the pieces, expressions with a `=` before them.
    fn read(scanned: Result<Scanned, ScanError>) -> Vec<String> {
        let piece = |piece| match piece {
            Piece::Literal(text) => text,
            Piece::Expression(span) => format!("={}", span.source),
        };
        match scanned {
            Ok(Scanned::Literal) => vec!["literal".into()],
            Ok(Scanned::Standalone(span)) => vec!["standalone".into(), span.source],
            Ok(Scanned::Text(pieces)) => pieces.into_iter().map(piece).collect(),
            Err(ScanError::Nested { offset }) => vec![format!("nested at {offset}")],
            Err(ScanError::Unterminated { offset }) => vec![format!("unterminated at {offset}")],
        }
    }

    #[test]
    fn texts_are_scanned() {
        let cases: &[(&str, &[&str])] = &[
            ("", &["literal"]),
            ("$ {a} $", &["literal"]),
            ("${a.b}", &["standalone", "a.b"]),
            ("${}", &["standalone", ""]),
            ("x-${a}", &["x-", "=a"]),
            ("${a}${b}", &["=a", "=b"]),
            ("${a}\n", &["=a", "\n"]),
            ("$${a}", &["$", "=a"]),
            ("\\${a}", &["\\", "=a"]),
            ("${c ? {'k': {}} : {}}", &["standalone", "c ? {'k': {}} : {}"]),
            (r#"${"}"}"#, &["standalone", r#""}""#]),
            (r#"${"a\"}"}"#, &["standalone", r#""a\"}""#]),
            (r#"${"${HOME}"}"#, &["standalone", r#""${HOME}""#]),
            ("${x == '}'}", &["standalone", "x == '}'"]),
            (r#"${x == '"'}"#, &["standalone", r#"x == '"'"#]),
            ("${'''a'}''}'''}", &["standalone", "'''a'}''}'''"]),
            (r"${r'\'}", &["standalone", r"r'\'"]),
            (r#"${br"\"} x"#, &[r#"=br"\""#, " x"]),
            (r"${var'\'}'}", &["standalone", r"var'\'}'"]),
            ("${a // }\n}", &["standalone", "a // }\n"]),
            (r#"${"http://x"}"#, &["standalone", r#""http://x""#]),
            ("é${ü}", &["é", "=ü"]),
            ("${outer(${inner})}", &["nested at 8"]),
            ("a ${b", &["unterminated at 2"]),
            ("${a} ${'b}", &["unterminated at 5"]),
            ("${a // b}", &["unterminated at 0"]),
        ];
        for (text, want) in cases {
            assert_eq!(read(scan(text)), *want, "{text:?}");
        }
    }

    #[test]
    fn kro_reads_only_double_quotes() {
        let cases: &[(&str, &[&str])] = &[
            ("${x == '}'}", &["=x == '", "'}"]),
            (r#"${x == '"'}"#, &["literal"]),
            ("${incomplete", &["literal"]),
            (r#"${"a} ${b}"#, &[r#"${"a} "#, "=b"]),
            ("${a} ${b} ${c", &["=a", " ", "=b", " ${c"]),
            (r#"${"a"${b}}"#, &["standalone", r#""a"${b}"#]),
            ("${outer(${inner})}", &["nested at 8"]),
            ("${a // b}", &["standalone", "a // b"]),
        ];
        for (text, want) in cases {
            assert_eq!(read(scan_as_kro(text)), *want, "{text:?}");
        }
    }

    #[test]
    fn differences_from_kro_are_found() {
        for text in ["${x == '}'}", r#"${x == '"'}"#, r#"${r"\"}"#, r#"${'''"'''}"#, "${a // }\n}"] {
            assert!(kro_reads_differently(text), "{text:?}");
        }
        for text in ["", "plain", "${a.b}-${c}", r#"${"}"}"#, "${x == 'y'}", r#"${x == '"' + '"'}"#] {
            assert!(!kro_reads_differently(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text(text in r#"([a-z'"\\/ \n{}$é]|\$\{|'''|"""|r'|//){0,40}"#) {
            for scanned in [scan(&text), scan_as_kro(&text)].into_iter().flatten() {
                for span in scanned.spans() {
                    prop_assert_eq!(text.get(span.offset..span.offset + span.source.len()), Some(span.source.as_str()));
                }
                if let Scanned::Text(pieces) = scanned {
                    let write = |piece: &Piece| match piece {
                        Piece::Literal(text) => text.clone(),
                        Piece::Expression(span) => format!("${{{}}}", span.source),
                    };
                    prop_assert_eq!(&pieces.iter().map(write).collect::<String>(), &text);
                }
            }
            kro_reads_differently(&text);
        }
    }
}
