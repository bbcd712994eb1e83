//! JSON: what the parser accepts, what it rejects with which position, and the exact output.

mod documents;

use documents::{as_read, values};
use proptest::prelude::*;
use tenure_value::{Duplicate, Error, Limits, Value, json};

fn parse(text: &str) -> Result<Value, Error> {
    json::parse(text.as_bytes(), &Limits::default())
}

#[test]
fn numbers_keep_their_kind_and_range() {
    let table = [
        ("0", Value::Int(0)),
        ("-0", Value::Int(0)),
        ("80", Value::Int(80)),
        ("80.0", Value::float(80.0).unwrap()),
        ("8e1", Value::float(80.0).unwrap()),
        ("-1.5E-3", Value::float(-0.0015).unwrap()),
        ("999999999999999999", Value::Int(999_999_999_999_999_999)),
        ("9223372036854775807", Value::Int(i64::MAX)),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("9223372036854775808", Value::unsigned(9_223_372_036_854_775_808)),
        ("18446744073709551615", Value::unsigned(u64::MAX)),
        ("18446744073709551616", Value::float(18_446_744_073_709_551_616.0).unwrap()),
        ("-9223372036854775809", Value::float(-9_223_372_036_854_775_808.0).unwrap()),
        ("1e308", Value::float(1e308).unwrap()),
        ("1e-999", Value::float(0.0).unwrap()),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn floats_format_as_in_go() {
    let table = [
        (0.0, "0"),
        (-0.0, "-0"),
        (80.0, "80"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (1e-6, "0.000001"),
        (9.99e-7, "9.99e-7"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.25e22, "-1.25e+22"),
        (1e100, "1e+100"),
        (f64::MAX, "1.7976931348623157e+308"),
        (5e-324, "5e-324"),
        (123_456_789.125, "123456789.125"),
    ];
    for (number, expected) in table {
        assert_eq!(json::to_string(&Value::float(number).unwrap()), expected);
    }
}

#[test]
fn strings_are_decoded_and_invalid_unicode_is_replaced() {
    let table: [(&[u8], &str); 13] = [
        (br#""""#, ""),
        (br#""plain""#, "plain"),
        (br#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (br#""\u0041\u00e9\u20AC""#, "Aé€"),
        (br#""\ud83d\ude00""#, "😀"),
        (br#""\ud83d""#, "\u{fffd}"),
        (br#""\ud83dx""#, "\u{fffd}x"),
        (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (br#""\ud83d\u0041""#, "\u{fffd}A"),
        (br#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        ("\"é€😀 with more than twenty-three bytes\"".as_bytes(), "é€😀 with more than twenty-three bytes"),
        (b"\"a\xffb\"", "a\u{fffd}b"),
        (b"\"a\xe2\x82\"", "a\u{fffd}\u{fffd}"),
    ];
    for (text, expected) in table {
        assert_eq!(json::parse(text, &Limits::default()), Ok(Value::from(expected)), "{expected}");
    }
}

#[test]
fn strings_are_escaped_as_in_kubernetes() {
    let text =
        Value::from("<a href=\"x\">&\\ \u{0}\u{1f}\u{7f} \u{8}\u{c}\n\r\t é \u{2028}\u{2029}\u{202a} /");
    assert_eq!(
        json::to_string(&text),
        "\"\\u003ca href=\\\"x\\\"\\u003e\\u0026\\\\ \\u0000\\u001f\u{7f} \\b\\f\\n\\r\\t é \\u2028\\u2029\u{202a} /\""
    );
    let mut plain = Vec::new();
    json::write_styled(&text, json::Style::Plain, &mut plain);
    assert_eq!(
        String::from_utf8(plain).as_deref(),
        Ok("\"<a href=\\\"x\\\">&\\\\ \\u0000\\u001f\u{7f} \\b\\f\\n\\r\\t é \u{2028}\u{2029}\u{202a} /\"")
    );
}

#[test]
fn output_is_compact_and_sorted() {
    let value =
        parse(" { \"b\" : [ ] , \"a\" : { } ,\n\"c\":[true,false,null,-1,{\"z\":\"y\",\"x\":1.0}]}\t");
    let value = value.as_ref().map(Value::to_string);
    assert_eq!(value.as_deref(), Ok(r#"{"a":{},"b":[],"c":[true,false,null,-1,{"x":1,"z":"y"}]}"#));
}

#[test]
fn syntax_errors_have_position_and_field() {
    let table: [(&[u8], &str); 29] = [
        (b"", "line 1, column 1: unexpected end of JSON input"),
        (b" \n ", "line 2, column 2: unexpected end of JSON input"),
        (b"{", "line 1, column 2: unexpected end of JSON input"),
        (b"[1,", "line 1, column 4, in [1]: unexpected end of JSON input"),
        (
            b"{\"a\":\n{\"b\":[1,2,x]}}",
            "line 2, column 11, in a.b[2]: invalid character 'x' looking for beginning of value",
        ),
        (
            b"{\"a\":[{\"b\":[1],\"c\":x",
            "line 1, column 20, in a[0].c: invalid character 'x' looking for beginning of value",
        ),
        (b"{\"a\":1}x", "line 1, column 8: invalid character 'x' after top-level value"),
        (b"{\"a\" 1}", "line 1, column 6: invalid character '1' after object key"),
        (b"{\"a\":1 \"b\"}", "line 1, column 8: invalid character '\"' after object key:value pair"),
        (b"{\"a\":1,}", "line 1, column 8: invalid character '}' looking for beginning of object key string"),
        (b"{a:1}", "line 1, column 2: invalid character 'a' looking for beginning of object key string"),
        (b"[1 2]", "line 1, column 4: invalid character '2' after array element"),
        (b"[1,]", "line 1, column 4, in [1]: invalid character ']' looking for beginning of value"),
        (b"[1}", "line 1, column 3: invalid character '}' after array element"),
        (b"tru", "line 1, column 4: unexpected end of JSON input"),
        (b"trux", "line 1, column 4: invalid character 'x' in literal true (expecting 'e')"),
        (b"nul!", "line 1, column 4: invalid character '!' in literal null (expecting 'l')"),
        (b"01", "line 1, column 2: invalid character '1' after top-level value"),
        (b"-", "line 1, column 2: unexpected end of JSON input"),
        (b"-x", "line 1, column 2: invalid character 'x' in numeric literal"),
        (b"1.", "line 1, column 3: unexpected end of JSON input"),
        (b"1.x", "line 1, column 3: invalid character 'x' after decimal point in numeric literal"),
        (b"1e+x", "line 1, column 4: invalid character 'x' in exponent of numeric literal"),
        (b"\"a\nb\"", "line 1, column 3: invalid character '\\n' in string literal"),
        (b"\"a", "line 1, column 3: unexpected end of JSON input"),
        (b"\"\\x\"", "line 1, column 3: invalid character 'x' in string escape code"),
        (b"\"\\u00g0\"", "line 1, column 6: invalid character 'g' in \\u hexadecimal character escape"),
        (
            "{\"é\":\u{feff}1}".as_bytes(),
            "line 1, column 6, in é: invalid character 'ï' looking for beginning of value",
        ),
        (b"{\"n\":[1e999]}", "line 1, column 7, in n[0]: number 1e999 is out of range"),
    ];
    for (text, expected) in table {
        let shown = json::parse(text, &Limits::default()).map_err(|error| error.to_string());
        assert_eq!(shown, Err(expected.to_owned()), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn the_last_duplicate_field_wins_and_both_positions_are_reported() {
    let text = "{\"b\":1,\n \"a\":{\"x\":[{\"k\":{\"k\":0},\"j\":\",{\",\"\\u006b\":2,\"k\":3}],\"x\":{}},\n\"b\":[1]}";
    let (value, duplicates) = json::parse_checked(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(value.to_string(), r#"{"a":{"x":{}},"b":[1]}"#);
    let described: Vec<_> = duplicates.iter().map(Duplicate::to_string).collect();
    assert_eq!(
        described,
        [
            "line 2, column 34: duplicate field \"a.x[0].k\", first at line 2, column 13",
            "line 2, column 53: duplicate field \"a.x\", first at line 2, column 7",
            "line 3, column 1: duplicate field \"b\", first at line 1, column 2",
        ]
    );
}

#[test]
fn a_document_without_repeated_fields_has_no_duplicates() {
    let text = br#"{"b":{"a":1,"b":2},"a":{"b":1,"a":2},"c":[{"a":1},{"a":1}]}"#;
    assert_eq!(json::parse_checked(text, &Limits::default()).map(|(_, described)| described), Ok(vec![]));
}

#[test]
fn the_number_of_reported_duplicates_is_limited() {
    let text = format!("[{}0]", r#"{"a":1,"a":2},"#.repeat(50_000));
    let (_, duplicates) = json::parse_checked(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(duplicates.len(), Duplicate::MAX);
}

#[test]
fn limits_are_enforced() {
    let limits = Limits { bytes: 20, depth: 3, nodes: 5 };
    let parse = |text: &str| json::parse(text.as_bytes(), &limits).map_err(|error| error.to_string());
    assert!(parse("[[[1,2]]]").is_ok());
    assert_eq!(parse("[[[[]]]]"), Err("line 1, column 4: nested more than 3 levels deep".into()));
    assert_eq!(parse("[1,2,3,4,5]"), Err("line 1, column 12: the document has more than 5 values".into()));
    assert_eq!(parse(&" ".repeat(21)), Err("the document has 21 bytes; at most 20 are accepted".into()));
}

#[test]
fn deep_nesting_is_rejected_without_exhausting_the_stack() {
    for open in ["[", "{\"a\":"] {
        let error = parse(&open.repeat(100_000)).unwrap_err();
        assert!(matches!(error, Error::TooDeep { limit: Limits::DEPTH, .. }), "{error}");
    }
}

#[test]
fn the_deepest_document_can_be_traversed_recursively() {
    let levels = Limits::DEPTH / 2;
    let text = format!("{}1{}", r#"[{"a":"#.repeat(levels), "}]".repeat(levels));
    let value = parse(&text).unwrap();
    assert_eq!(value.to_string(), text);
    assert!(value.same(&parse(&text).unwrap()) && value == value.clone());
    let shown = tenure_value::yaml::to_string(&value);
    assert_eq!(tenure_value::yaml::parse(shown.as_bytes(), &Limits::default()), Ok(value));
}

#[test]
fn similar_documents_share_equal_parts_at_corresponding_positions() {
    let mut reader = json::Reader::new(Limits::default());
    let first =
        reader.read_base(br#"{"a":{"x":[1]},"b":{"y":{"z":1}},"list":[{"n":1},{"n":2},{"n":3}]}"#).unwrap();
    let text = br#"{"new":{},"b":{"more":{},"y":{"z":1}},"list":[{"n":0},{"n":1},{"n":2},{"n":4},{"n":3}]}"#;
    let alike = reader.read_similar(text).unwrap();
    assert_eq!(Ok(&alike), json::parse(text, &Limits::default()).as_ref());
    assert!(first.at(["b", "y"]).unwrap().ptr_eq(alike.at(["b", "y"]).unwrap()));
    let items = |value: &Value| value.get("list").and_then(Value::as_array).cloned().unwrap();
    let shared = |at: usize, other: usize| items(&alike)[at].ptr_eq(&items(&first)[other]);
    assert!(shared(1, 0) && shared(2, 1) && shared(4, 2));
}

#[test]
fn limits_apply_to_each_similar_document() {
    let limits = Limits { nodes: 6, ..Limits::default() };
    let mut reader = json::Reader::new(limits);
    assert!(reader.read_base(br#"{"a":[1,2,3]}"#).is_ok());
    assert!(reader.read_similar(br#"{"a":[1,2,3]}"#).is_ok());
    let more = br#"{"a":[1,2,3],"b":1,"c":2}"#;
    assert_eq!(reader.read_similar(more), json::parse(more, &limits));
    assert!(matches!(reader.read_similar(more), Err(Error::TooManyNodes { limit: 6, .. })));
}

/// Replaces the value at a position, counted in document order, with another.
fn grafted(value: &Value, part: &Value, place: usize) -> Value {
    match value {
        Value::Object(object) if place > 0 && !object.is_empty() => {
            let (name, old) = &object.fields()[place % object.len()];
            object.with(name.clone(), grafted(old, part, place / 2)).into()
        }
        Value::Array(items) if place > 0 && !items.is_empty() => {
            let at = place % items.len();
            let mut items = items.to_vec();
            match place % 3 {
                0 => items.insert(at, part.clone()),
                1 => drop(items.remove(at)),
                _ => items[at] = grafted(&items[at], part, place / 2),
            }
            Value::array(items)
        }
        _ => part.clone(),
    }
}

proptest! {
    #[test]
    fn output_parses_to_the_same_document(value in values()) {
        for style in [json::Style::Kubernetes, json::Style::Plain] {
            let mut out = Vec::new();
            json::write_styled(&value, style, &mut out);
            prop_assert_eq!(json::parse(&out, &Limits::default()), Ok(as_read(&value)));
        }
    }

    #[test]
    fn the_parser_agrees_with_serde_json(text in "[\\[\\]{}\",:0-9.eE+\\-a-c\\\\u \n]{0,24}") {
        let ours = parse(&text);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(theirs) => {
                let reprinted = json::parse(theirs.to_string().as_bytes(), &Limits::default()).unwrap();
                prop_assert!(ours.as_ref().is_ok_and(|ours| ours.same(&reprinted)), "{ours:?} {reprinted:?}");
            }
            // serde_json rejects lone surrogates, which Go replaces.
            Err(_) => prop_assert!(ours.is_err() || text.contains("\\u"), "{ours:?}"),
        }
    }

    #[test]
    fn sharing_does_not_change_documents(
        first in values(),
        parts in prop::collection::vec((values(), any::<prop::sample::Index>()), 1..4),
    ) {
        let written = first.to_string();
        let mut alike = first;
        for (part, place) in parts {
            alike = grafted(&alike, &part, place.index(16));
        }
        let mut reader = json::Reader::new(Limits::default());
        prop_assert_eq!(reader.read_base(written.as_bytes()), parse(&written));
        for text in [alike.to_string(), written.clone(), "[".to_owned(), alike.to_string()] {
            prop_assert_eq!(reader.read_similar(text.as_bytes()), parse(&text));
            prop_assert_eq!(reader.read(text.as_bytes()), parse(&text));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = json::parse_checked(&bytes, &Limits::default());
    }
}
