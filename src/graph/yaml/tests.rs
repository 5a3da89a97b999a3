#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::time::{Duration, Instant};

fn file(text: &str) -> Arc<SourceFile> {
    SourceFile::new("test.yaml", text)
}

fn documents(text: &str) -> Vec<Value> {
    parse(&file(text)).unwrap().iter().map(Node::to_json).collect()
}

fn one(text: &str) -> Value {
    let [document] = <[Value; 1]>::try_from(documents(text)).unwrap();
    document
}

/// `category line:column` of every problem.
fn problems(text: &str) -> Vec<String> {
    let problems = parse(&file(text)).unwrap_err();
    let place = |problem: &Diagnostic| problem.location.as_ref().map(|at| format!("{}:{}", at.line, at.column));
    problems.iter().map(|problem| format!("{} {}", problem.category, place(problem).unwrap_or_default())).collect()
}

/// The location of the value below a dotted path.
fn place(text: &str, path: &str) -> Location {
    let nodes = parse(&file(text)).unwrap();
    let mut node = &nodes[0];
    for name in path.split('.') {
        node = name.parse::<usize>().map_or_else(|_| node.get(name).unwrap(), |index| &node.items()[index]);
    }
    node.location.clone()
}

#[test]
fn scalars_are_read_as_yaml_1_1() {
    let text = "a: yes\nb: off\nc: 'yes'\nd: 010\ne: 0x10\nf: 1_000\ng: ~\nh:\ni: 1.30\nj: 2024-01-02\nk: 1:30\nl: !!str 5\n";
    let want = json!({"a": true, "b": false, "c": "yes", "d": 8, "e": 16, "f": 1000, "g": null, "h": null, "i": 1.3,
        "j": "2024-01-02", "k": "1:30", "l": "5"});
    assert_eq!(one(text), want);
}

#[test]
fn keys_that_are_no_text_say_so() {
    let nodes = parse(&file("n: 1\n1: 2\n'y': 3\n1.5: 4\n")).unwrap();
    let keys: Vec<(&str, bool)> = nodes[0].entries().iter().map(|(key, _)| (key.text.as_str(), key.is_text)).collect();
    assert_eq!(keys, [("false", false), ("1", false), ("y", true), ("1.5", false)]);
    assert_eq!(problems("~: 1\n? [a]\n: 2\n? {b: c}\n: 3\n"), ["yaml-key 1:1", "yaml-key 2:3", "yaml-key 4:3"]);
}

#[test]
fn empty_documents_are_left_out() {
    assert_eq!(documents("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n"), [json!({"a": 1}), json!({"b": 2})]);
    assert!(documents("").is_empty());
    assert!(documents("# only a comment\n").is_empty());
}

#[test]
fn byte_order_mark_and_carriage_returns_are_fine() {
    assert_eq!(one("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n"), json!({"a": 1, "b": "x\ny\n"}));
    assert_eq!(place("\u{feff}a: ünï\r\nb: 'x'\r\n", "a").text(), "ünï");
    assert_eq!(place("\u{feff}a: ünï\r\nb: 'x'\r\n", "b").text(), "'x'");
}

#[test]
fn places_can_be_sliced() {
    let text = "é: ${ä.x}\nlist: [1, \"two\"]\nblock: |\n  ${one}\n  ${two}\n";
    assert_eq!(place(text, "é").text(), "${ä.x}");
    assert_eq!(place(text, "list.1").text(), "\"two\"");
    assert_eq!(place(text, "block").text(), "${one}\n  ${two}\n");
    let second = place(text, "block").part(9, 6);
    assert_eq!((second.text(), second.line, second.column), ("${two}", 5, 3));
}

#[test]
fn aliases_stand_where_they_are_defined() {
    let text = "a: &a {k: 1}\nb: *a\nc:\n  <<: *a\n  l: 2\n";
    assert_eq!(one(text), json!({"a": {"k": 1}, "b": {"k": 1}, "c": {"l": 2, "k": 1}}));
    assert_eq!(place(text, "b.k").line, 1);
}

#[test]
fn every_duplicate_key_is_reported_with_both_places() {
    let text = "a: 1\nb:\n  c: 1\n  c: 2\na: 3\nno: 1\nfalse: 2\n";
    assert_eq!(problems(text), ["duplicate-key 4:3", "duplicate-key 5:1", "duplicate-key 7:1"]);
    let message = parse(&file(text)).unwrap_err().remove(1).message;
    assert_eq!(message, "the key `a` is here twice: first at line 1, column 1, and again at line 5, column 1");
}

#[test]
fn broken_yaml_has_a_place() {
    for (text, want) in [
        ("a:\n\t- b\n", "yaml-syntax 2:2"),
        ("a:\n  b: 1\n c: 2\n", "yaml-syntax 3:2"),
        ("a: 'x\n", "yaml-syntax 1:4"),
        ("a: *nope\n", "yaml-syntax 1:4"),
        ("a: }\n", "yaml-syntax 1:4"),
        ("a: b: c\n", "yaml-syntax 1:5"),
        ("a: \u{1}\n", "yaml-syntax 1:4"),
        ("a: .inf\n", "yaml-number 1:4"),
        ("a: 9223372036854775808\n", "yaml-number 1:4"),
        ("a: -18446744073709551616\n", "yaml-number 1:4"),
    ] {
        assert_eq!(problems(text), [want], "{text:?}");
    }
}

#[test]
fn an_expression_that_breaks_yaml_is_to_be_quoted() {
    for text in ["a: ${a ? b : c}\n", "a: [${a}, ${b}]\n", "a: ${{'k': 1}}\n"] {
        let problem = parse(&file(text)).unwrap_err().remove(0);
        assert!(problem.suggestion.unwrap().starts_with("quote the expression"), "{text}");
    }
    assert_eq!(parse(&file("a: b: c\n")).unwrap_err()[0].suggestion, None);
}

#[test]
fn documents_after_a_broken_one_are_still_read() {
    let text = "a: {\n---\nb: 1\nb: 2\n---\nc: }\n--- # last\nd: 1\nd: 2\n";
    assert_eq!(problems(text), ["yaml-syntax 1:4", "yaml-syntax 6:4", "duplicate-key 9:1"]);
}

#[test]
fn limits_are_kept() {
    assert!(one(&("[".repeat(100) + &"]".repeat(100))).is_array());
    assert_eq!(problems(&("[".repeat(10_000) + &"]".repeat(10_000))), ["yaml-too-complex 1:256"]);
    let blocks: String = (0..10_000).map(|depth| " ".repeat(depth) + "a:\n").collect();
    assert_eq!(problems(&blocks), ["yaml-too-large "]);
    let blocks: String = (0..1_000).map(|depth| " ".repeat(depth) + "a:\n").collect();
    assert_eq!(problems(&blocks), ["yaml-too-complex 101:101"]);
    let level = |level: usize| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(","));
    let bomb = format!("a0: &a0 [x,x,x,x,x,x,x,x,x]\n{}", (1..9).map(level).collect::<String>());
    assert!(problems(&bomb)[0].starts_with("yaml-too-complex"));
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let file = file(&"a: [".repeat(50 << 18));
    let begin = Instant::now();
    assert_eq!(parse(&file).unwrap_err()[0].category, "yaml-too-large");
    assert!(begin.elapsed() < Duration::from_secs(1));
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in "\\PC*") {
        let _ = parse(&file(&text));
    }

    #[test]
    fn text_that_looks_like_yaml_does_not_panic(text in "([a-c&*!|>'\"\\[\\]{}:,#?\\-0-9.~%@`$\\\\é\u{feff}\r\n\t ]|: |- |---\n|<<: |\\$\\{){0,60}") {
        let documents = parse(&file(&text));
        for node in documents.unwrap_or_default() {
            prop_assert!(text.get(node.location.offset..node.location.offset + node.location.length).is_some());
        }
    }
}
