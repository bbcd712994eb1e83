//! Edge cases of `FieldsV1`: what is accepted, what is rejected with which message, and how each element is
//! formatted.

use tenure_fields::{Error, FieldSet, Node, PathElement, fields_v1, fields_v1::Order};
use tenure_value::Value;

fn written(set: &FieldSet) -> String {
    String::from_utf8(fields_v1::to_vec(set)).unwrap()
}

fn read(text: &str) -> Result<String, Error> {
    let set = fields_v1::parse(text.as_bytes())?;
    if let Ok(value) = text.parse() {
        assert_eq!(fields_v1::from_value(&value), Ok(set.clone()), "{text}");
    }
    Ok(written(&set))
}

/// Texts that are in canonical form.
const CANONICAL: &[&str] = &[
    "{}",
    r#"{"f:a":{}}"#,
    r#"{"f:":{}}"#,
    r#"{"f:a":{".":{},"f:b":{}}}"#,
    r#"{"f:a.b/c":{},"f:a:b":{}}"#,
    r#"{"f:ключ":{},"f:😀":{}}"#,
    r#"{"f:a\"b\\c\n\u0001\u2028":{}}"#,
    r#"{"f:\u003ca\u003e\u0026":{}}"#,
    r#"{"f:l":{"v:\"a\\u003cb\"":{}}}"#,
    r#"{"f:l":{"k:{\"a\u003cb\":\"a\\u003cb\"}":{}}}"#,
    r#"{"f:l":{"v:\"quote \\\" backslash \\\\ tab \\t\"":{}}}"#,
    r#"{"f:l":{"v:1":{},"v:10":{},"v:2":{}}}"#,
    r#"{"f:l":{"v:-1":{},"v:0.5":{},"v:1e+21":{},"v:1e-7":{},"v:9223372036854775808":{}}}"#,
    r#"{"f:l":{"i:-1":{},"i:0":{},"i:10":{},"i:2":{}}}"#,
    r#"{"f:l":{"v:\"a\"":{},"v:1":{},"v:[1,\"a\"]":{},"v:false":{},"v:null":{},"v:true":{},"v:{\"a\":1}":{}}}"#,
    r#"{"f:l":{"k:{\"a\":null}":{},"k:{\"b\":true}":{},"k:{\"c\":{\"d\":[1]}}":{},"k:{}":{}}}"#,
    r#"{"f:l":{".":{},"f:x":{},"i:0":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"v:1":{}}}"#,
    r#"{"f:l":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{},"k:{\"containerPort\":9,\"protocol\":\"TCP\"}":{}}}"#,
];

#[test]
fn canonical_texts_round_trip() {
    for text in CANONICAL {
        assert_eq!(read(text).as_deref(), Ok(*text));
    }
}

#[test]
fn other_texts_become_canonical() {
    for (text, canonical) in [
        ("null", "{}"),
        (r#"{".":{}}"#, "{}"),
        (r#" { "f:a" : { } , "f:b" : null } "#, r#"{"f:a":{},"f:b":{}}"#),
        (r#"{"f:b":{},"f:a":{}}"#, r#"{"f:a":{},"f:b":{}}"#),
        (r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":{"f:b":{},".":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#),
        (r#"{"f:a":{".":[1,{"b":"}"}],"f:b":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#),
        (r#"{"f:\u0061\/":{}}"#, r#"{"f:a/":{}}"#),
        (r#"{"v:1.0":{},"v:1":{"f:a":{}}}"#, r#"{"v:1":{".":{},"f:a":{}}}"#),
        (r#"{"v:2.50":{}}"#, r#"{"v:2.5":{}}"#),
        (r#"{"k:{\"b\":1,\"a\":2}":{}}"#, r#"{"k:{\"a\":2,\"b\":1}":{}}"#),
        (r#"{"k: { \"a\" : 1.0 }":{}}"#, r#"{"k:{\"a\":1}":{}}"#),
        (r#"{"i:+007":{}}"#, r#"{"i:7":{}}"#),
        (r#"{"f:a":{"f:b":{}},"f:a":{}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#),
        (r#"{"v:\"a<b\"":{}}"#, r#"{"v:\"a\\u003cb\"":{}}"#),
    ] {
        let set = fields_v1::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(written(&set), canonical, "{text}");
    }
}

#[test]
fn unknown_qualifiers_are_ignored_with_their_children() {
    for (text, canonical) in [
        (r#"{"x:a":{"f:b":{}},"f:a":{}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":{"q:":7}}"#, r#"{"f:a":{}}"#),
        (r#"{"F:a":{"not an element":[]}}"#, "{}"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(canonical));
    }
}

#[test]
fn known_qualifiers_with_invalid_values_are_rejected() {
    for (name, problem) in [
        ("k:", "expected JSON after the colon: "),
        ("k:{", "expected JSON after the colon: "),
        ("k:[]", "expected an object of key fields after k:, found a list"),
        ("k:null", "expected an object of key fields after k:, found a null"),
        (r#"k:{"a":1}x"#, "expected JSON after the colon: "),
        (r#"k:{"a":"\u"}"#, "expected JSON after the colon: "),
        ("v:", "expected JSON after the colon: "),
        ("v:1 2", "expected JSON after the colon: "),
        ("v:tru", "expected JSON after the colon: "),
        ("i:", "expected an integer after i:"),
        ("i:x", "expected an integer after i:"),
        ("i:1.5", "expected an integer after i:"),
        ("i:99999999999999999999", "expected an integer after i:"),
        ("f", "expected \".\" or a qualifier of one letter, a colon and the element"),
        ("", "expected \".\" or a qualifier of one letter, a colon and the element"),
        ("..", "expected \".\" or a qualifier of one letter, a colon and the element"),
        ("spec", "expected \".\" or a qualifier of one letter, a colon and the element"),
        ("é:a", "expected \".\" or a qualifier of one letter, a colon and the element"),
    ] {
        let text = Value::object([("f:a", Value::object([(name, Value::object([("", Value::Null); 0]))]))]);
        let error = read(&text.to_string()).unwrap_err().to_string();
        let expected = format!("{name:?} is not a path element: {problem}");
        assert!(error.starts_with(&expected), "{error}\nshould begin with\n{expected}");
    }
}

#[test]
fn invalid_json_is_rejected_with_the_position() {
    for (text, error) in [
        ("", "line 1, column 1: found the end of the text, expected an object"),
        ("[]", "line 1, column 1: found '[', expected an object"),
        ("{", "line 1, column 2: found the end of the text, expected a member's name"),
        ("{\n \"f:a\"}", "line 2, column 7: found '}', expected a colon after the member's name"),
        (r#"{"f:a":1}"#, "line 1, column 8: found '1', expected an object"),
        (r#"{"f:a":{},}"#, "line 1, column 11: found '}', expected a member's name"),
        (
            r#"{"f:a":{} "f:b":{}}"#,
            "line 1, column 11: found '\"', expected a comma or the end of the object",
        ),
        (r#"{"f:a":{}}{}"#, "line 1, column 11: found '{', expected the end of the text"),
        ("{\"f:a\n\":{}}", "line 1, column 6: found '\\n', expected the closing quote of the member's name"),
        (
            r#"{"f:a\"#,
            "line 1, column 7: found the end of the text, expected the closing quote of the member's name",
        ),
    ] {
        assert_eq!(read(text).map_err(|error| error.to_string()), Err(error.to_owned()), "{text}");
    }
    assert!(fields_v1::parse(b"{\"f:\xff\":{}}").is_err());
    assert!(read(r#"{"f:\q":{}}"#).is_err());
    assert!(read(r#"{"x:a":{"b":}}"#).is_err());
    assert!(read(r#"{"x:a":{"b":"#).is_err());
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| format!("{}{{}}{}", r#"{"f:a":"#.repeat(depth), "}".repeat(depth));
    assert!(fields_v1::parse(nested(250).as_bytes()).is_ok());
    assert!(matches!(fields_v1::parse(nested(100_000).as_bytes()), Err(Error::TooDeep { .. })));
}

#[test]
fn the_order_of_members_is_detected_and_preserved() {
    let elements = r#"{"f:l":{"k:{\"p\":9}":{},"k:{\"p\":10}":{},"v:2":{},"v:10":{},"v:\"a\"":{},"i:3":{}}}"#;
    let names = r#"{"f:l":{"i:3":{},"k:{\"p\":10}":{},"k:{\"p\":9}":{},"v:\"a\"":{},"v:10":{},"v:2":{}}}"#;
    for (text, order) in [(elements, Order::Elements), (names, Order::Names)] {
        let (set, seen) = fields_v1::parse_ordered(text.as_bytes()).unwrap();
        assert_eq!(seen, order);
        let mut out = Vec::new();
        fields_v1::write_in(&set, seen, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
    assert_eq!(fields_v1::parse(elements.as_bytes()), fields_v1::parse(names.as_bytes()));
}

#[test]
fn levels_with_equal_text_share_memory() {
    let item = |name: &str| format!(r#""k:{{\"name\":\"{name}\"}}":{{".":{{}},"f:name":{{}}}}"#);
    let text = format!(r#"{{"f:l":{{{},{}}}}}"#, item("a"), item("b"));
    let set = fields_v1::parse(text.as_bytes()).unwrap();
    let items = set.children(&PathElement::field("l"));
    let [a, b]: &[Node] = items.nodes() else { panic!("{items:?} has two items") };
    assert!(a.children.ptr_eq(&b.children));
    assert!(a.included && b.included);
}

#[test]
fn integers_in_field_sets_stay_exact() {
    let text = r#"{"f:ids":{"v:9007199254740992":{},"v:9007199254740993":{}}}"#;
    assert_eq!(read(text).as_deref(), Ok(text));
    assert_eq!(read(r#"{"v:1.0":{},"v:1":{}}"#).as_deref(), Ok(r#"{"v:1":{}}"#));
}

#[test]
fn a_large_integral_float_is_formatted_with_all_digits() {
    // Its shortest digits as a float, 18446644073709552000, are another integer.
    let text = br#"{"f:ids":{"v:18446644073709551610.0":{},"v:[1.8446644073709552e19]":{}}}"#;
    let set = fields_v1::parse(text).unwrap();
    let written = fields_v1::to_vec(&set);
    assert_eq!(
        String::from_utf8_lossy(&written),
        r#"{"f:ids":{"v:18446644073709551616":{},"v:[18446644073709551616]":{}}}"#
    );
    assert_eq!(fields_v1::parse(&written).as_ref(), Ok(&set));
    assert_eq!(fields_v1::from_value(&fields_v1::to_value(&set)).as_ref(), Ok(&set));
}
