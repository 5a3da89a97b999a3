//! What differs between two texts, line by line.

/// More pairs of lines than this are not compared: the texts are shown one after the other.
const MOST: usize = 1 << 20;

/// A line of one or both texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// In both.
    Same(&'a str),
    /// Only in the first.
    Removed(&'a str),
    /// Only in the second.
    Added(&'a str),
}

/// The lines of two texts, those that both have in common in one: as many as can be.
pub(super) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if before.len().saturating_mul(after.len()) > MOST {
        return removed(&before).chain(added(&after)).collect();
    }
    let common = common(&before, &after);
    let (mut left, mut right, mut all) = (0, 0, Vec::new());
    while left < before.len() && right < after.len() {
        if before[left] == after[right] {
            all.push(Line::Same(before[left]));
            (left, right) = (left + 1, right + 1);
        } else if common[left + 1][right] >= common[left][right + 1] {
            all.push(Line::Removed(before[left]));
            left += 1;
        } else {
            all.push(Line::Added(after[right]));
            right += 1;
        }
    }
    all.extend(removed(&before[left..]).chain(added(&after[right..])));
    all
}

fn removed<'a>(lines: &[&'a str]) -> impl Iterator<Item = Line<'a>> {
    lines.iter().map(|line| Line::Removed(line))
}

fn added<'a>(lines: &[&'a str]) -> impl Iterator<Item = Line<'a>> {
    lines.iter().map(|line| Line::Added(line))
}

/// How many lines the rests of both texts have in common, by where the rests begin.
fn common(before: &[&str], after: &[&str]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for left in (0..before.len()).rev() {
        for right in (0..after.len()).rev() {
            common[left][right] = if before[left] == after[right] {
                common[left + 1][right + 1] + 1
            } else {
                common[left + 1][right].max(common[left][right + 1])
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(lines: &[Line<'_>]) -> String {
        let line = |line: &Line<'_>| match line {
            Line::Same(text) => format!("  {text}"),
            Line::Removed(text) => format!("- {text}"),
            Line::Added(text) => format!("+ {text}"),
        };
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_common_is_said_once() {
        insta::assert_snapshot!(text(&lines("a\nb\nc\nd", "a\nx\nc\nd\ne")), @"
          a
        - b
        + x
          c
          d
        + e
        ");
    }

    proptest! {
        #[test]
        fn both_texts_can_be_read_back(before in "[ab\n]{0,30}", after in "[ab\n]{0,30}") {
            let all = lines(&before, &after);
            let kept = |keep: fn(&Line<'_>) -> bool| all.iter().filter(|line| keep(line)).map(|line| match line {
                Line::Same(text) | Line::Removed(text) | Line::Added(text) => *text,
            }).collect::<Vec<_>>();
            prop_assert_eq!(kept(|line| !matches!(line, Line::Added(_))), before.lines().collect::<Vec<_>>());
            prop_assert_eq!(kept(|line| !matches!(line, Line::Removed(_))), after.lines().collect::<Vec<_>>());
        }
    }
}
