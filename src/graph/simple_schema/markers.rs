//! The markers behind the bar of a field, read exactly as kro reads them (kro.md 2.2).

/// A marker, its quotes and escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::graph) struct Marker {
    /// The name; one of [`NAMES`].
    pub(in crate::graph) name: &'static str,
    /// The value.
    pub(in crate::graph) value: String,
    /// Where the name starts, in bytes of the text that was read.
    pub(super) offset: usize,
}

/// Why markers cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::graph) struct MarkerError {
    /// kro's category.
    pub(in crate::graph) category: &'static str,
    pub(super) message: String,
    /// Where, in bytes of the text that was read.
    pub(super) offset: usize,
    /// What was probably meant.
    pub(super) suggestion: Option<String>,
}

/// The markers that exist.
pub(super) const NAMES: [&str; 16] = [
    "required",
    "default",
    "description",
    "enum",
    "minimum",
    "maximum",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "listType",
    "listMapKey",
    "immutable",
    "validation",
];

/// Reads the text behind the bar.
pub(in crate::graph) fn parse(text: &str) -> Result<Vec<Marker>, MarkerError> {
    let mut lexer = Lexer { text, markers: Vec::new(), open: None, start: 0, buffer: String::new(), in_quotes: false, depth: 0 };
    let mut is_escaped = false;
    for (offset, character) in text.char_indices() {
        is_escaped = lexer.read(offset, character, is_escaped)?;
    }
    lexer.finish()
}

struct Lexer<'a> {
    text: &'a str,
    markers: Vec<Marker>,
    /// The marker whose value is being read, and where it starts.
    open: Option<(&'static str, usize)>,
    /// Where the text in the buffer starts.
    start: usize,
    buffer: String,
    in_quotes: bool,
    /// Open brackets and braces; either closes either.
    depth: usize,
}

impl Lexer<'_> {
    /// Reads a character; answers whether it escapes the next one.
    fn read(&mut self, offset: usize, character: char, is_escaped: bool) -> Result<bool, MarkerError> {
        let is_bare = !self.in_quotes && self.depth == 0;
        match character {
            '=' if self.open.is_none() && is_bare => return self.open_marker(offset).map(|()| false),
            character if character.is_whitespace() && is_bare => {
                self.close_marker();
                return Ok(false);
            }
            '"' if !is_escaped => self.in_quotes = !self.in_quotes,
            '{' | '[' if !self.in_quotes => self.depth += 1,
            '}' | ']' if !self.in_quotes => self.depth = self.depth.checked_sub(1).ok_or_else(|| unmatched(character, offset))?,
            _ => {}
        }
        if self.buffer.is_empty() {
            self.start = offset;
        }
        self.buffer.push(character);
        Ok(character == '\\' && self.in_quotes && !is_escaped)
    }

    fn open_marker(&mut self, offset: usize) -> Result<(), MarkerError> {
        let name = std::mem::take(&mut self.buffer);
        let name = name.trim();
        let found = NAMES.into_iter().find(|known| *known == name);
        let Some(known) = found else {
            let (category, message) = match name {
                "" => ("marker-without-key", "there is no marker before this `=`".to_owned()),
                _ => ("marker-unknown", format!("there is no marker `{name}`")),
            };
            let offset = if name.is_empty() { offset } else { self.start };
            let meant = crate::graph::diagnostic::closest(name, NAMES).map(|meant| format!("did you mean `{meant}`?"));
            return Err(MarkerError { category, message, offset, suggestion: meant });
        };
        self.open = Some((known, self.start));
        Ok(())
    }

    /// Ends the value that is being read. Without one, blanks are skipped and the buffer stays.
    fn close_marker(&mut self) {
        if let Some((name, offset)) = self.open.take() {
            let value = clean(&std::mem::take(&mut self.buffer));
            self.markers.push(Marker { name, value, offset });
        }
    }

    fn finish(mut self) -> Result<Vec<Marker>, MarkerError> {
        if self.open.is_none() {
            let (offset, message) = match self.buffer.trim() {
                "" => (self.text.len(), "no text may stand behind the last marker, not even a blank".to_owned()),
                name => (self.start, format!("`{name}` is no marker with a value")),
            };
            let suggestion = Some("write markers as `name=value`, without blanks around the `=`".to_owned());
            return Err(MarkerError { category: "marker-without-value", message, offset, suggestion });
        }
        let offset = self.start;
        let unclosed =
            |category, what: &str| MarkerError { category, message: format!("{what} is not closed"), offset, suggestion: None };
        if self.in_quotes {
            return Err(unclosed("marker-unclosed-quote", "a quote"));
        }
        if self.depth > 0 {
            return Err(unclosed("marker-unclosed-bracket", "a bracket"));
        }
        self.close_marker();
        Ok(self.markers)
    }
}

fn unmatched(character: char, offset: usize) -> MarkerError {
    let message = format!("`{character}` closes nothing");
    MarkerError { category: "marker-unmatched-bracket", message, offset, suggestion: None }
}

/// Strips the quotes of a quoted value and resolves `\"` and `\\`; other backslashes stay.
fn clean(value: &str) -> String {
    let Some(quoted) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else {
        return value.trim().to_owned();
    };
    let mut cleaned = String::with_capacity(quoted.len());
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some(escaped)) => {
                if !matches!(escaped, '"' | '\\') {
                    cleaned.push('\\');
                }
                cleaned.push(escaped);
                characters.next();
            }
            // kro loses a backslash at the very end.
            ('\\', None) => {}
            _ => cleaned.push(character),
        }
    }
    cleaned
}
