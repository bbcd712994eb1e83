//! YAML as Kubernetes reads it and `kubectl` prints it.

mod documents;

use documents::{as_read, values};
use proptest::prelude::*;
use tenure_value::{Duplicate, Error, Limits, Value, yaml};

fn parse(text: &str) -> Result<Value, String> {
    yaml::parse(text.as_bytes(), &Limits::default()).map_err(|error| error.to_string())
}

fn json(text: &str) -> String {
    parse(text).map_or_else(|error| format!("error: {error}"), |value| value.to_string())
}

#[test]
fn scalars_resolve_as_in_kubernetes() {
    let table = [
        ("", "null"),
        ("~", "null"),
        ("null", "null"),
        ("Null", "null"),
        ("nULL", "\"nULL\""),
        ("y", "true"),
        ("Y", "true"),
        ("yes", "true"),
        ("YES", "true"),
        ("yEs", "\"yEs\""),
        ("on", "true"),
        ("On", "true"),
        ("True", "true"),
        ("n", "false"),
        ("No", "false"),
        ("off", "false"),
        ("FALSE", "false"),
        ("'yes'", "\"yes\""),
        ("\"on\"", "\"on\""),
        ("0", "0"),
        ("-0", "0"),
        ("+12", "12"),
        ("010", "8"),
        ("0777", "511"),
        ("-010", "-8"),
        ("08", "8"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("-0x1f", "-31"),
        ("0xZ", "\"0xZ\""),
        ("0b101", "5"),
        ("-0b101", "-5"),
        ("1_000", "1000"),
        ("1_000.5", "1000.5"),
        ("_1", "\"_1\""),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709552000"),
        ("1.0", "1"),
        ("1.5", "1.5"),
        ("1.", "1"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e3", "1000"),
        ("1E-7", "1e-7"),
        ("1e999", "\"1e999\""),
        ("1e", "\"1e\""),
        (".", "\".\""),
        ("-", "[null]"),
        ("1:30", "\"1:30\""),
        ("190:20:30", "\"190:20:30\""),
        ("2001-01-01", "\"2001-01-01\""),
        ("2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\""),
        ("1.2.3", "\"1.2.3\""),
        ("100m", "\"100m\""),
        ("nan", "\"nan\""),
        ("!!str 12", "\"12\""),
        ("!!str yes", "\"yes\""),
        ("!!int \"12\"", "12"),
        ("!!float 1", "1"),
        ("!!bool on", "true"),
        ("!!binary aGVsbG8=", "\"hello\""),
        ("!custom 12", "\"12\""),
        ("!!null ~", "null"),
    ];
    for (text, expected) in table {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn keys_convert_to_names_as_in_kubernetes() {
    let table = [
        ("1: a", r#"{"1":"a"}"#),
        ("0x10: a", r#"{"16":"a"}"#),
        ("1.5: a", r#"{"1.5":"a"}"#),
        ("yes: a", r#"{"true":"a"}"#),
        ("\"yes\": a", r#"{"yes":"a"}"#),
        ("off: a", r#"{"false":"a"}"#),
        ("? a\n: b", r#"{"a":"b"}"#),
        ("{a, b: 1}", r#"{"a":null,"b":1}"#),
        ("~: a", "error: line 1, column 1: a key must not be null"),
        ("[a]: b", "error: line 1, column 3: a key must be a scalar, got list"),
    ];
    for (text, expected) in table {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn anchors_aliases_and_merges_are_expanded() {
    let table = [
        ("a: &x {b: 1}\nc: *x", r#"{"a":{"b":1},"c":{"b":1}}"#),
        ("a: &x [1, &y two]\nc: [*x, *y]", r#"{"a":[1,"two"],"c":[[1,"two"],"two"]}"#),
        ("base: &x {a: 1, b: 2}\nd:\n  <<: *x\n  b: 3", r#"{"base":{"a":1,"b":2},"d":{"a":1,"b":3}}"#),
        ("d:\n  <<: [{a: 1}, {a: 2, b: 2}]", r#"{"d":{"a":1,"b":2}}"#),
        ("\"<<\": 1", r#"{"\u003c\u003c":1}"#),
        ("<<: 1", "error: line 1, column 1: map merge requires map or sequence of maps as the value"),
        ("a: &x [*x]", "error: line 1, column 8, in a[0]: an anchor's value contains itself"),
    ];
    for (text, expected) in table {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn errors_have_position_and_field() {
    let table = [
        ("a: b: c", "line 1, column 5: mapping values are not allowed in this context"),
        (
            "a:\n  - .inf",
            "line 2, column 5, in a[0]: .inf is not a finite number; documents can only contain finite numbers",
        ),
        ("é: !!int x", "line 1, column 4, in é: cannot decode `x` as a !!int"),
        ("a: !!binary '*'", "line 1, column 4, in a: !!binary value contains invalid base64 data"),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
    }
    let error = yaml::parse(b"a: b\nc: \xff", &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 4: invalid UTF-8");
    assert_eq!(error.position().map(|position| position.offset), Some(8));
}

#[test]
fn tabs_are_allowed_outside_of_indentation() {
    let table = [
        ("a: \tb\n", r#"{"a":"b"}"#),
        ("a:\tb\nc:\td\n\n", r#"{"a":"b","c":"d"}"#),
        (
            "a:\t\t- x\n",
            "error: line 1, column 5, in a: block sequence entries are not allowed in this context",
        ),
        ("c: [\n\t1,\n\t{d:\te}\n]\n", r#"{"c":[1,{"d":"e"}]}"#),
        ("a: |\n  b:\tc\nd:\te\n", r#"{"a":"b:\tc\n","d":"e"}"#),
    ];
    for (text, expected) in table {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn messages_are_those_of_kubernetes() {
    let table = [
        ("apiVersion: v1\nkind: [\n", "yaml: line 2: did not find expected node content"),
        ("a: b: c\n", "yaml: mapping values are not allowed in this context"),
        ("a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context"),
        ("\tkey: v\n", "yaml: found character that cannot start any token"),
        ("a:\n\tb: c\n", "yaml: line 2: found character that cannot start any token"),
        ("- \ta\n", "yaml: found character that cannot start any token"),
        ("a: `b`\n", "yaml: found character that cannot start any token"),
        ("a: @b\n", "yaml: found character that cannot start any token"),
        ("[a, b\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("{a: b\n", "yaml: line 1: did not find expected ',' or '}'"),
    ];
    for (text, expected) in table {
        let error = yaml::parse(text.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(yaml::error_message(&error), expected, "{text}");
    }
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a0\ndata:\n  k: v\n  k: w\n";
    let (_, duplicates) = yaml::parse_checked(text.as_bytes(), &Limits::default()).unwrap();
    let message = "yaml: unmarshal errors:\n  line 7: key \"k\" already set in map";
    assert_eq!(yaml::duplicates_message(&duplicates), message);
}

#[test]
fn the_last_duplicate_field_wins_and_both_positions_are_reported() {
    let text = "a:\n  k: 1\n  j: [{x: 1, x: 2}]\n  k: 3\n1: a\n\"1\": b\n";
    let (value, duplicates) = yaml::parse_checked(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(value.to_string(), r#"{"1":"b","a":{"j":[{"x":2}],"k":3}}"#);
    let described: Vec<_> = duplicates.iter().map(Duplicate::to_string).collect();
    assert_eq!(
        described,
        [
            "line 3, column 14: duplicate field \"a.j[0].x\", first at line 3, column 8",
            "line 4, column 3: duplicate field \"a.k\", first at line 2, column 3",
            "line 6, column 1: duplicate field \"1\", first at line 5, column 1",
        ]
    );
}

#[test]
fn a_stream_contains_many_documents_and_empty_ones_are_skipped() {
    let text = "\u{feff}# nothing yet\n---\na: 1\n---\n# only a comment\n---\n- b\n...\n---\n\"c\"\n---\n";
    let documents = yaml::parse_all(text.as_bytes(), &Limits::default()).unwrap();
    let shown: Vec<_> = documents.iter().map(Value::to_string).collect();
    assert_eq!(shown, [r#"{"a":1}"#, r#"["b"]"#, r#""c""#]);
    assert_eq!(json("a: 1\n---\nb: 2\n"), r#"{"a":1}"#);
    assert_eq!(json("# only a comment\n"), "null");
}

#[test]
fn alias_expansion_and_nesting_are_limited() {
    let bomb: String = (1..30)
        .map(|at| format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 10].join(",")))
        .collect();
    let error = yaml::parse(format!("a0: &a0 x\n{bomb}").as_bytes(), &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::TooManyNodes { .. }), "{error}");

    let tower: String = (1..400).map(|at| format!("a{at}: &a{at} [*a{}]\n", at - 1)).collect();
    let error = yaml::parse(format!("a0: &a0 x\n{tower}").as_bytes(), &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::TooDeep { limit: Limits::DEPTH, .. }), "{error}");

    for open in ["[", "{a: ", "- ", "? "] {
        let error = yaml::parse(open.repeat(20_000).as_bytes(), &Limits::default()).unwrap_err();
        assert!(matches!(error, Error::TooDeep { .. }), "{open} {error}");
    }
}

#[test]
fn json_and_yaml_are_detected_and_parsed_equally() {
    let table = [
        (" {\"a\": 1.0, \"b\": [1e3, 1.5]}", r#"{"a":1,"b":[1000,1.5]}"#),
        ("{a: yes}", r#"{"a":true}"#),
        ("{\"a\": 1} # comment", r#"{"a":1}"#),
        ("a: 1", r#"{"a":1}"#),
        ("[1, 2]", "[1,2]"),
    ];
    for (text, expected) in table {
        let value = yaml::parse_any(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(value.to_string(), expected, "{text}");
        assert_eq!(parse(text), Ok(value), "{text}");
    }
    let (_, duplicates) = yaml::parse_any_checked(br#"{"a":{"b":1,"b":2}}"#, &Limits::default()).unwrap();
    assert_eq!(duplicates.iter().map(Duplicate::path).collect::<Vec<_>>(), ["a.b"]);
    for text in ["{\"a\": 1}\n---\n{}", "{a: yes}", "{\"a\": 1} # comment", "a: 1", "", "{"] {
        assert_eq!(yaml::parse_json_checked(text.as_bytes(), &Limits::default()), None, "{text}");
    }
    let parsed = yaml::parse_json_checked(b" {\"a\": 1.0}\n", &Limits::default());
    assert_eq!(parsed.unwrap().unwrap().0.to_string(), r#"{"a":1}"#);
}

#[test]
fn documents_format_as_in_kubectl() {
    let value: Value = r#"{
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "annotations": {"empty": "", "long": "a sentence that goes on and on until it does not fit into one line of eighty columns any more", "number": "12", "on": "yes"},
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {},
            "name": "web"
        },
        "spec": {
            "containers": [
                {"args": ["-c", "echo 'hi': # x", "- y", " lead", "trail ", "a: b", "tab\there", "*", "null", "~", "0x10", "1:30", "😀", "ü"],
                 "command": [["a", ["b"]], [], {}],
                 "image": "nginx:1.25", "ports": [{"containerPort": 80, "name": "http"}]},
                null
            ],
            "ratio": 1.5, "small": 1e-7, "whole": 3.0, "huge": 1e30, "flag": true,
            "script": "line one\n  line two\n\nline four\n", "chomped": "a\nb", "kept": "a\n\n", "spaced": " a\nb\n", "trailing": "a \nb\n"
        }
    }"#.parse().unwrap();
    let expected = r#"apiVersion: v1
kind: Pod
metadata:
  annotations:
    empty: ""
    long: a sentence that goes on and on until it does not fit into one line of eighty
      columns any more
    number: "12"
    "on": "yes"
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {}
  name: web
spec:
  chomped: |-
    a
    b
  containers:
  - args:
    - -c
    - 'echo ''hi'': # x'
    - '- y'
    - ' lead'
    - 'trail '
    - 'a: b'
    - "tab\there"
    - '*'
    - "null"
    - "~"
    - "0x10"
    - "1:30"
    - "\U0001F600"
    - ü
    command:
    - - a
      - - b
    - []
    - {}
    image: nginx:1.25
    ports:
    - containerPort: 80
      name: http
  - null
  flag: true
  huge: 1e+30
  kept: |+
    a

  ratio: 1.5
  script: |
    line one
      line two

    line four
  small: 1e-07
  spaced: |2
     a
    b
  trailing: "a \nb\n"
  whole: 3
"#;
    assert_eq!(yaml::to_string(&value), expected);
    assert_eq!(parse(expected), Ok(as_read(&value)));
}

/// Strings that contain indicators of the grammar.
fn tricky() -> impl Strategy<Value = Value> {
    "[ \n\t:#\\-'\"a0.?&*!|>%@`,\\[\\]{}~<=\r\u{85}\u{2028}é\\\\]{0,12}".prop_map(Value::from)
}

proptest! {
    #[test]
    fn output_parses_to_the_same_document(value in values()) {
        let text = yaml::to_string(&value);
        prop_assert_eq!(parse(&text), Ok(as_read(&value)), "{}", text);
    }

    #[test]
    fn tricky_strings_round_trip_in_any_position(a in tricky(), b in tricky(), c in "[ \n:#a-]{0,200}") {
        let names = Value::object([(a.as_str().unwrap(), b.clone()), (c.as_str(), a.clone())]);
        let merge = Value::object([("<<", Value::from("<<"))]);
        let value = Value::array([names, Value::array([Value::array([b, a.clone()]), a]), Value::from(c), merge]);
        let text = yaml::to_string(&value);
        prop_assert_eq!(parse(&text), Ok(value), "{}", text);
    }

    #[test]
    fn json_is_valid_yaml(value in values()) {
        let mut text = Vec::new();
        tenure_value::json::write(&value, &mut text);
        prop_assert_eq!(yaml::parse(&text, &Limits::default()), Ok(as_read(&value)));
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[ \n\t:#\\-'\"a0.?&*!|>%@`,\\[\\]{}~<]{0,40}") {
        let _ = yaml::parse_all(text.as_bytes(), &Limits::default());
    }
}
