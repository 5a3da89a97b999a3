#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

use super::*;
use crate::graph::diagnostic::SourceFile;
use crate::graph::yaml;
use proptest::prelude::*;
use serde_json::json;

fn node(text: &str) -> Node {
    yaml::parse(&SourceFile::new("test.yaml", text)).unwrap().remove(0)
}

fn read(text: &str) -> Result<Schema, Vec<Diagnostic>> {
    let node = node(text);
    schema(node.get("spec"), node.get("types"))
}

/// The schema of a `spec` block.
fn spec(text: &str) -> Schema {
    schema(Some(&node(text)), None).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// The schema of one field, as JSON.
fn field(text: &str) -> Value {
    let schema = spec(&format!("f: {}", Value::from(text))).to_json_schema();
    schema["properties"]["f"].clone()
}

/// `category line:column` of every problem.
fn problems(text: &str) -> Vec<String> {
    let place = |problem: Diagnostic| {
        let at = problem.location.unwrap();
        format!("{} {}:{}", problem.category, at.line, at.column)
    };
    read(text).expect_err(text).into_iter().map(place).collect()
}

/// The message of the one problem of a field.
fn message(text: &str) -> String {
    let mut problems = schema(Some(&node(&format!("f: {}", Value::from(text)))), None).expect_err(text);
    assert_eq!(problems.len(), 1, "{text}: {problems:?}");
    let problem = problems.remove(0);
    format!("{}: {}", problem.category, problem.message)
}

/// `category path` of every problem of an instance.
fn refused(schema: &str, instance: Value) -> Vec<String> {
    let problems = admit(&spec(schema), &instance).expect_err(schema);
    problems.into_iter().map(|problem| format!("{} {}", problem.category, problem.path)).collect()
}

fn admitted(schema: &str, instance: Value) -> Value {
    admit(&spec(schema), &instance).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"))
}

#[test]
fn fields_become_json_schema() {
    for (text, want) in [
        ("string", json!({"type": "string"})),
        ("  float  ", json!({"type": "number"})),
        ("object", json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        ("[]object", json!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})),
        (
            "map[string] []integer",
            json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}),
        ),
        ("string | default=\"\"", json!({"type": "string", "default": ""})),
        (r#"string | default="a\\nb""#, json!({"type": "string", "default": "a\nb"})),
        ("integer | default=3 minimum=1 maximum=5.5", json!({"type": "integer", "default": 3, "minimum": 1.0, "maximum": 5.5})),
        ("boolean | default=false", json!({"type": "boolean", "default": false})),
        (
            "[]integer | default=[80, 443] maxItems=3",
            json!({"type": "array", "items": {"type": "integer"}, "default": [80, 443], "maxItems": 3}),
        ),
        (
            "object | default={\"a\":\"b\"}",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": {"a": "b"}}),
        ),
        ("string | enum=\"a, b\" description='x'", json!({"type": "string", "enum": ["a", "b"], "description": "'x'"})),
        ("integer | enum=\"1,2\"", json!({"type": "integer", "enum": [1, 2]})),
        ("[]string | uniqueItems=true", json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})),
        (
            "[]object | listType=map listMapKey=a listMapKey=b",
            json!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}),
        ),
        (
            "string | immutable=true validation=\"self.size() > 0\"",
            json!({"type": "string", "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "field is immutable"},
                {"rule": "self.size() > 0", "message": "validation failed"},
            ]}),
        ),
        ("string | required=false immutable=false", json!({"type": "string"})),
    ] {
        assert_eq!(field(text), want, "{text}");
    }
    assert!(spec("f: '[][][][][][][][][][][][][][][][]string'").at(&["f"]).is_some());
}

#[test]
fn markers_that_make_no_sense_are_refused() {
    for (text, want) in [
        ("number", "type-unknown: there is no type `number`"),
        ("[]", "type-empty: `[]` needs"),
        ("map[integer]string", "map-key-not-string: "),
        ("string |", "marker-without-value: no text may stand behind the last marker, not even a blank"),
        ("string | =x", "marker-without-key: "),
        ("string | Required=true", "marker-unknown: there is no marker `Required`"),
        ("string | default={\"a\"", "marker-unclosed-bracket: "),
        ("string | default=}", "marker-unmatched-bracket: `}` closes nothing"),
        ("string | default=\"", "marker-unclosed-quote: "),
        ("string | required=yes", "marker-value: `required`: `yes` is not true or false"),
        (r#"string | default="a\"b""#, "marker-value: `default`: `a\"b` cannot be a default"),
        (r#"string | default="\d""#, "marker-value: `default`: `\\d` cannot be a default"),
        ("boolean | default=T", "marker-value: `default`: `T` is no valid JSON"),
        ("boolean | default=1", "marker-value: the default does not fit its own field: true or false is needed"),
        ("integer | default=007", "marker-value: `default`: `007` is no valid JSON"),
        ("float | default=NaN", "marker-value: `default`: `NaN` is no number"),
        ("[]string | default={}", "marker-value: the default does not fit its own field: a list is needed"),
        ("string | default=c enum=\"a,b\"", "marker-value: the default does not fit its own field: \"c\" is not one of"),
        ("string | enum=\"a,,b\"", "marker-value: `enum`: an item of `enum` is empty"),
        ("float | enum=\"1\"", "marker-value: `enum`: `enum` goes with string and integer only"),
        ("integer | pattern=\"x\"", "marker-value: `pattern`: "),
        ("string | pattern=\"(\"", "marker-value: `pattern`: `(` is no valid regular expression"),
        ("string | minLength=-1", "marker-value: `minLength`: "),
        ("string | maxItems=1", "marker-value: `maxItems`: "),
        ("[]string | listType=set uniqueItems=true listMapKey=a", "marker-value: `listMapKey` needs `listType=map`"),
        ("[]string | uniqueItems=true listType=atomic", "marker-value: `listType`: `listType=atomic` contradicts"),
        ("[]object | listType=map listMapKey=a listMapKey=a", "marker-value: `listMapKey`: "),
        ("string | validation=\" \"", "marker-value: `validation`: the rule is empty"),
        ("string | validation=\"self ==\"", "marker-value: `validation`: the rule is no valid CEL"),
    ] {
        let found = message(text);
        assert!(found.starts_with(want), "{text}: {found}");
    }
}

#[test]
fn problems_are_found_where_they_are() {
    let text = "
spec:
  a: string | required=true defalt=\"x\"
  b: \"integer | default=x\"
  c: {d: 3, e: [], f: Nope}
  g:
  h: 'integer | minimum=1 maximum=x'
types:
  Cyclic: {again: '[]Other'}
  Other: Cyclic
";
    let want = [
        "type-cycle 9:11",
        "marker-unknown 3:29",
        "marker-value 4:17",
        "schema-field-type 5:10",
        "schema-field-type 5:16",
        "type-unknown 5:23",
        "schema-field-type 6:4",
        "marker-value 7:27",
    ];
    assert_eq!(problems(text), want);
    assert_eq!(problems("spec: text\n"), ["schema-field-type 1:7"]);
}

#[test]
fn custom_types_are_expanded() {
    let schema = read(
        "
types:
  Port: 'integer | required=true minimum=1 description=\"a port\"'
  Server: {host: 'string | default=\"localhost\"', port: Port}
  Servers: '[]Server'
spec:
  all: Servers
  one: 'Server | description=\"the one\"'
  port: 'Port | maximum=10'
",
    )
    .unwrap()
    .to_json_schema();
    let port = json!({"type": "integer", "minimum": 1.0, "description": "a port"});
    assert_eq!(schema["required"], json!(["port"]));
    let server = json!({"type": "object", "required": ["port"], "properties": {
        "host": {"type": "string", "default": "localhost"}, "port": port}});
    assert_eq!(schema["properties"]["all"], json!({"type": "array", "items": server}));
    assert_eq!(schema["properties"]["one"]["description"], "the one");
    assert_eq!(schema["properties"]["port"]["maximum"], 10.0);
}

#[test]
fn expansion_is_limited() {
    let doubled = |index: usize| format!("  T{index}: {{a: T{0}, b: T{0}}}\n", index + 1);
    let bomb = format!("types:\n{}  T30: string\nspec: {{a: T0}}\n", (0..30).map(doubled).collect::<String>());
    assert!(problems(&bomb).iter().any(|problem| problem.starts_with("type-too-large")));
    let chained = |index: usize| format!("  T{index}: {{a: T{}}}\n", index + 1);
    let chain = format!("types:\n{}  T5000: string\n", (0..5000).map(chained).collect::<String>());
    assert!(problems(&chain).iter().any(|problem| problem.starts_with("type-nesting")));
}

#[test]
fn defaults_are_filled_in() {
    let schema = "
vpc: {create: 'boolean | default=true', cidr: 'string | default=\"10.0.0.0/16\"'}
name: string
blocked: {must: 'string | required=true', size: 'integer | default=3'}
ratio: float
count: integer
list: '[]integer'
";
    let defaults = json!({"vpc": {"create": true, "cidr": "10.0.0.0/16"}});
    assert_eq!(admitted(schema, json!({})), defaults);
    assert_eq!(admitted(schema, Value::Null), defaults);
    assert_eq!(admitted(schema, json!({"vpc": null, "name": null})), defaults);
    assert_eq!(admitted(schema, json!({"vpc": {"create": null}})), defaults);
    let given = json!({"name": "", "blocked": {"must": "x"}, "ratio": 3, "count": 3.0, "list": [1, 2.0]});
    let admitted = admitted(schema, given);
    assert_eq!(admitted["blocked"], json!({"must": "x", "size": 3}));
    assert_eq!((&admitted["name"], &admitted["ratio"], &admitted["count"]), (&json!(""), &json!(3.0), &json!(3)));
    assert_eq!(admitted["list"], json!([1, 2]));
}

#[test]
fn instances_are_checked() {
    let schema = "
name: 'string | required=true minLength=2 maxLength=3 pattern=\"^[a-zé]+$\"'
size: 'integer | minimum=1 maximum=5'
kind: 'string | enum=\"a,b\"'
tags: 'map[string]string'
any: object
list: '[]string | minItems=1 maxItems=2 uniqueItems=true'
rule: 'string | validation=\"self.startsWith(''x'')\" validation=\"self == oldSelf\"'
nested: {deep: {must: 'string | required=true'}}
";
    let fine = json!({"name": "abé", "size": 5, "kind": "a", "tags": {"k": null, "l": "m"}, "any": {"x": null}, "list": ["a"], "rule": "xy"});
    let admitted = admitted(schema, fine);
    assert_eq!((&admitted["tags"], &admitted["any"]), (&json!({"l": "m"}), &json!({"x": null})));
    for (instance, want) in [
        (json!({}), vec!["required name"]),
        (json!({"name": null}), vec!["required name"]),
        (json!({"name": 5}), vec!["type name"]),
        (json!({"name": "a"}), vec!["minLength name"]),
        (json!({"name": "ABCD"}), vec!["maxLength name", "pattern name"]),
        (json!({"name": "ab", "size": 6, "kind": "c"}), vec!["maximum size", "enum kind"]),
        (json!({"name": "ab", "size": 1.5}), vec!["type size"]),
        (json!({"name": "ab", "size": "1"}), vec!["type size"]),
        (json!({"name": "ab", "list": []}), vec!["minItems list"]),
        (json!({"name": "ab", "list": ["a", null]}), vec!["type list[1]"]),
        (json!({"name": "ab", "list": ["a", "a"]}), vec!["duplicate-item list"]),
        (json!({"name": "ab", "tags": {"a.b/c": 1}}), vec!["type tags[\"a.b/c\"]"]),
        (json!({"name": "ab", "any": "text"}), vec!["type any"]),
        (json!({"name": "ab", "rule": "y"}), vec!["validation rule"]),
        (json!({"name": "ab", "nested": {"deep": {}}, "nmae": 1}), vec!["required nested.deep.must", "unknown-field nmae"]),
        (json!("text"), vec!["type "]),
    ] {
        assert_eq!(refused(schema, instance.clone()), want, "{instance}");
    }
}

#[test]
fn immutable_fields_may_come_and_go_but_not_change() {
    let schema = spec("a: 'string | immutable=true'\nb: {c: 'integer | immutable=true', d: string}\n");
    let changed = |old: Value, new: Value| -> Vec<String> {
        let problems = admit_change(&schema, &new, &old).err().unwrap_or_default();
        problems.into_iter().map(|problem| format!("{} {}", problem.category, problem.path)).collect()
    };
    let (old, new) = (json!({"a": "x", "b": {"c": 1}}), json!({"a": "y", "b": {"c": 2, "d": "z"}}));
    assert_eq!(changed(old, new), ["immutable a", "immutable b.c"]);
    assert!(changed(json!({"b": {"d": "x"}}), json!({"a": "y", "b": {"c": 2}})).is_empty());
    assert!(changed(json!({"a": "x"}), json!({})).is_empty());
}

#[test]
fn what_has_not_changed_is_not_held_against_new_limits() {
    let schema = spec("a: 'string | enum=\"x,y\"'\nl: '[]integer'\n");
    let old = json!({"a": "old", "l": [7]});
    assert!(admit_change(&schema, &json!({"a": "old", "l": [7, 8]}), &old).is_ok());
    assert_eq!(admit_change(&schema, &json!({"a": "new"}), &old).unwrap_err()[0].category, "enum");
    assert_eq!(admit_change(&schema, &json!({"a": 1}), &json!({"a": 1})).unwrap_err()[0].category, "type");
}

#[test]
fn problems_of_instances_are_found_in_the_document() {
    let schema = spec("a: {b: 'string | required=true', c: '[]integer'}\nversion: string\n");
    let instance = node("version: 1.30\na:\n  c: [1, x]\n  nope: 1\n");
    let problems = admit(&schema, &instance.to_json()).unwrap_err();
    let located: Vec<String> = locate(problems, &instance)
        .into_iter()
        .map(|problem| {
            let at = problem.location.unwrap();
            format!("{}:{} {} ({})", at.line, at.column, problem.message, problem.suggestion.unwrap_or_default())
        })
        .collect();
    let want = [
        "2:1 `spec.a.b`: the field `b` is required ()",
        "3:10 `spec.a.c[1]`: a whole number is needed, this is text ()",
        "4:3 `spec.a.nope`: there is no field `nope` ()",
        "1:10 `spec.version`: text is needed, this is a number (`1.30`) (quote it: \"1.30\")",
    ];
    assert_eq!(located, want);
}

proptest! {
    #[test]
    fn arbitrary_fields_do_not_panic(text in "\\PC{0,40}") {
        let _ = schema(Some(&node(&format!("f: {}", Value::from(text)))), None);
    }

    #[test]
    fn text_that_looks_like_a_field_does_not_panic(
        text in "(string|integer|boolean|float|object|\\[\\]|map\\[string\\]) ?(\\||)( |default=|required=|enum=|pattern=|listType=|map|true|\"|\\\\|\\{|\\}|\\[|\\]|1|,|a|é){0,12}"
    ) {
        if let Ok(schema) = schema(Some(&node(&format!("f: {}", Value::from(text)))), None) {
            for value in [json!({}), json!({"f": 1}), json!({"f": "a"}), json!({"f": [{"f": null}]}), json!([])] {
                let _ = admit(&schema, &value);
            }
        }
    }
}
