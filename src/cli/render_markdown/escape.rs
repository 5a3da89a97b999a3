//! Texts of others inside Markdown, such that they mean nothing but themselves.

use crate::cli::style::clean;
use std::fmt::Write as _;

/// Words of a message, on one line. What could be markup, a mention, a reference or an address is written by its number.
pub(super) fn prose(text: &str) -> String {
    // GitHub looks for these once markup is gone: a space of no width keeps them from being found.
    escaped(text).replace("&#64;", "&#64;&#8203;").replace("&#35;", "&#35;&#8203;")
}

/// A name or id, on one line. In `<code>` instead of backticks, since a `|` between those would end a cell.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

fn escaped(text: &str) -> String {
    let text = one_line(text);
    // Spaces before a text can make it code.
    let text = text.trim();
    let mut escaped = String::new();
    for (at, letter) in text.char_indices() {
        if is_harmless(letter, &text[..at], &text[at + letter.len_utf8()..]) {
            escaped.push(letter);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "&#{};", u32::from(letter));
        }
    }
    escaped
}

/// Whether a character between these means nothing but itself.
fn is_harmless(letter: char, before: &str, after: &str) -> bool {
    let is_number = before.bytes().all(|byte| byte.is_ascii_digit());
    match letter {
        // Lists begin with these.
        '-' | '+' | '=' => !before.is_empty(),
        // `1.` and `1)` begin lists too, and `www.` an address.
        '.' | ')' => !is_number && !before.ends_with(['w', 'W']),
        ':' => !after.starts_with('/'),
        ' ' | ',' | '/' | '(' | '\'' | '"' | '?' | '%' | ';' => true,
        _ => letter.is_ascii_alphanumeric() || !letter.is_ascii(),
    }
}

/// Lines in a fence that none of them can close.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let text = clean(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// A text on one line, as it looks.
pub(super) fn one_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_no_markup() {
        let lines = [
            prose("a | b\nc"),
            prose("<script>*x* [y](https://z) `q`"),
            prose("@team see #12"),
            code("a|b`c</code>"),
            prose("\u{202e}abc\u{1b}[31m"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        a &#124; b c
        &#60;script&#62;&#42;x&#42; &#91;y&#93;(https&#58;//z) &#96;q&#96;
        &#64;&#8203;team see &#35;&#8203;12
        <code>a&#124;b&#96;c&#60;/code&#62;</code>
        �abc�&#91;31m
        ");
    }

    #[test]
    fn a_fence_is_longer_than_any_in_it() {
        insta::assert_snapshot!(fenced("diff", "+ a\n````\n- b\n"), @"
        `````diff
        + a
        ````
        - b
        `````
        ");
    }

    proptest! {
        #[test]
        fn nothing_of_ascii_that_could_be_markup_is_left(text in "[ -~\n\t]{0,60}") {
            let number = regex::Regex::new("&#[0-9]+;").unwrap();
            let list = regex::Regex::new("^([-+=]|[0-9]+[.)])").unwrap();
            for escaped in [prose(&text), code(&text).replace("<code>", "").replace("</code>", "")] {
                let bare = number.replace_all(&escaped, "").into_owned();
                let is_plain = |c: char| c.is_ascii_alphanumeric() || " ,-/+=.():'\"?%;\u{fffd}".contains(c);
                prop_assert!(bare.chars().all(is_plain), "{}", bare);
                let addresses = ["://", "www.", "WWW."];
                prop_assert!(!addresses.iter().any(|address| escaped.contains(address)), "{}", escaped);
                prop_assert!(!list.is_match(&escaped), "{}", escaped);
            }
        }

        #[test]
        fn no_line_ends_its_fence(text in "[`~a\n ]{0,60}") {
            let block = fenced("diff", &text);
            let (fence, rest) = block.split_once("diff\n").unwrap();
            let inside = rest.strip_suffix(&format!("\n{fence}\n")).unwrap();
            prop_assert!(inside.lines().all(|line| !line.trim_start().starts_with(fence)));
        }
    }
}
