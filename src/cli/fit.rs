//! Making text fit: cut, shortened in the middle, wrapped. Widths are columns of a terminal, so wide characters count
//! twice and colours not at all.

use console::{measure_text_width, strip_ansi_codes, truncate_str};

/// The first word of an address is not shortened to less than this.
const LEAST: usize = 6;

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    measure_text_width(text)
}

/// The text, cut at the end if it is too wide.
pub fn cut(text: &str, columns: usize) -> String {
    truncate_str(text, columns, "…").into_owned()
}

/// The text with spaces up to a width; a wider one stays as it is.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The same, the spaces in front.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// An address that is shortened in the middle if it is too wide: its last word says most, its first one comes next.
pub fn middle(address: &str, columns: usize) -> String {
    if width(address) <= columns {
        return address.to_owned();
    }
    let segments: Vec<&str> = address.split('/').collect();
    if let [first, .., last] = segments.as_slice() {
        // What tells instances apart stands at the beginning.
        let room = columns.saturating_sub(width(last) + 3);
        let begun = if room < LEAST || segments.len() < 3 { String::new() } else { middle(first, room) };
        let candidates = [format!("{begun}/…/{last}"), format!("…/{last}"), (*last).to_owned()];
        let candidates = candidates.into_iter().skip(usize::from(begun.is_empty()));
        if let Some(shortened) = candidates.into_iter().find(|candidate| width(candidate) <= columns) {
            return shortened;
        }
    }
    let word = segments.last().copied().unwrap_or(address);
    let before = columns.saturating_sub(1) / 2;
    let head = truncate_str(word, before, "").into_owned();
    let room = columns.saturating_sub(1).saturating_sub(width(&head));
    let mut tail = word;
    while width(tail) > room {
        let mut characters = tail.chars();
        characters.next();
        tail = characters.as_str();
    }
    if columns == 0 { String::new() } else { format!("{head}…{tail}") }
}

/// The first of the texts that fits, else the last one cut.
pub fn first_that_fits(texts: &[String], columns: usize) -> String {
    let fitting = texts.iter().find(|text| width(text) <= columns);
    fitting.cloned().unwrap_or_else(|| texts.last().map(|text| cut(text, columns)).unwrap_or_default())
}

/// Every line that is too wide, wrapped at spaces. What is wrapped stands below the value where a label stands before it,
/// else four columns further in. Words are never broken: an ARN has to survive being copied.
pub fn wrap(text: &str, columns: usize) -> String {
    let wrapped: Vec<String> = text.lines().map(|line| wrap_line(line, columns)).collect();
    let end = if text.ends_with('\n') { "\n" } else { "" };
    wrapped.join("\n") + end
}

/// A question, wrapped like [`wrap`]; the space that its answer stands after stays.
pub fn question(text: &str, columns: usize) -> String {
    let end = if text.ends_with(' ') { " " } else { "" };
    wrap(text.trim_end(), columns.saturating_sub(end.len())) + end
}

fn wrap_line(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let hanging = hanging(&strip_ansi_codes(line), columns);
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut is_empty = true;
    for word in words(text) {
        let needed = width(word.trim_end());
        // A word that fits nowhere stays where it is.
        if !is_empty && width(&current) + needed > columns && hanging + needed <= columns {
            lines.push(current.trim_end().to_owned());
            current = " ".repeat(hanging);
        }
        current.push_str(word);
        is_empty = false;
    }
    lines.push(current.trim_end().to_owned());
    lines.join("\n")
}

/// Where wrapped lines begin: a label ends with two spaces or more.
fn hanging(line: &str, columns: usize) -> usize {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let words = words(text);
    let label = words.iter().position(|word| word.ends_with("  ")).filter(|position| *position < 3);
    let value = label.map(|position| indent + words.iter().take(position + 1).map(|word| width(word)).sum::<usize>());
    value.filter(|value| *value * 2 < columns).unwrap_or((indent + 4).min(columns / 2))
}

/// Words with the spaces after them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(' ').unwrap_or(rest.len());
        let end = rest[word..].find(|character| character != ' ').map_or(rest.len(), |spaces| word + spaces);
        let (first, others) = rest.split_at(end);
        words.push(first);
        rest = others;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shortened_in_the_middle() {
        let shortened = |columns| middle("EksCluster/workload-cluster1/vpc/natGateway1", columns);
        let texts: Vec<_> = [44, 30, 14, 11, 8, 1].map(shortened).into_iter().collect();
        let expected = [
            "EksCluster/workload-cluster1/vpc/natGateway1",
            "EksCluster/…/natGateway1",
            "…/natGateway1",
            "natGateway1",
            "nat…way1",
            "…",
        ];
        assert_eq!(texts, expected);
        for columns in 0..50 {
            assert!(width(&shortened(columns)) <= columns, "{columns}");
        }
    }

    #[test]
    fn wide_characters_are_never_cut_in_half() {
        assert_eq!(cut("東京リージョン", 6), "東京…");
        assert_eq!(middle("東京リージョン", 6), "東…ン");
        assert_eq!(width(&pad("東京", 6)), 6);
    }

    #[test]
    fn questions_are_wrapped_and_keep_their_last_space() {
        let text = "Destroy EksCluster/one, 22 objects in all? Only `yes` is taken for an answer: ";
        for columns in [40, 80] {
            let wrapped = question(text, columns);
            assert!(wrapped.ends_with(": "), "{wrapped}");
            assert!(wrapped.lines().all(|line| width(line) <= columns), "{wrapped}");
            assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        }
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(cut("\u{1b}[31mfailed\u{1b}[0m", 6), "\u{1b}[31mfailed\u{1b}[0m");
    }

    #[test]
    fn long_lines_are_wrapped_at_spaces_and_words_stay_whole() {
        let text = "short\n  a line of several words  in columns\n  why  because of all of this\n  arn:aws:eks:us-west-2:222222222222:cluster/one\n";
        insta::assert_snapshot!(wrap(text, 20), @"
        short
          a line of several
              words  in
              columns
          why  because of
               all of this
          arn:aws:eks:us-west-2:222222222222:cluster/one
        ");
        assert!(wrap(text, 20).ends_with('\n'));
        let coloured = "\u{1b}[31m  - delete\u{1b}[0m  natGateway1  nat-0ab";
        assert_eq!(wrap(coloured, 30), "\u{1b}[31m  - delete\u{1b}[0m  natGateway1\n            nat-0ab");
    }
}
