//! The bytes of examples: the same data items that a kube-apiserver sends, with map keys in the deterministic order.

use tenure_value::{Limits, Value};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn value(text: &str) -> Value {
    text.parse().unwrap()
}

#[test]
fn values_have_the_shortest_deterministic_encoding() {
    for (json, bytes) in [
        ("null", "f6"),
        ("true", "f5"),
        ("false", "f4"),
        ("0", "00"),
        ("23", "17"),
        ("24", "1818"),
        ("255", "18ff"),
        ("256", "190100"),
        ("65536", "1a00010000"),
        ("4294967296", "1b0000000100000000"),
        ("9223372036854775807", "1b7fffffffffffffff"),
        ("-1", "20"),
        ("-24", "37"),
        ("-25", "3818"),
        ("-9223372036854775808", "3b7fffffffffffffff"),
        ("1.0", "f93c00"),
        ("1.5", "f93e00"),
        ("100000.0", "fa47c35000"),
        ("1e300", "fb7e37e43c8800759c"),
        ("18446744073709551615", "fa5f800000"),
        (r#""""#, "40"),
        (r#""a""#, "4161"),
        (r#""ü""#, "42c3bc"),
        ("[]", "80"),
        ("[1,[]]", "820180"),
        ("{}", "a0"),
        (r#"{"aa":1,"b":2,"":3,"a":4}"#, "a4 40 03 4161 04 4162 02 426161 01"),
    ] {
        let mut expected = hex("d9d9f7");
        expected.extend(hex(bytes));
        assert_eq!(tenure_codec::cbor::encode(&value(json)), expected, "{json}");
    }
}

#[test]
fn byte_fields_are_bytes_in_tag_22() {
    let secret = value(r#"{"apiVersion":"v1","data":{"a":"aGVsbG8=","bad":"a","e":""},"kind":"Secret"}"#);
    let data = "a3 4161 d645 68656c6c6f 4165 d640 43626164 4161";
    let expected =
        format!("d9d9f7 a3 44 64617461 {data} 44 6b696e64 46 536563726574 4a 61706956657273696f6e 42 7631");
    assert_eq!(tenure_codec::cbor::encode(&secret), hex(&expected));
    // In the items of a list, which have no kind of their own.
    let item = tenure_codec::cbor::item(&secret.as_object().unwrap().without("kind").into(), "v1", "Secret");
    assert!(item.windows(2).any(|pair| pair == [0xd6, 0x45]));
    // The same field of another kind is a string.
    let other = value(r#"{"apiVersion":"v1","data":{"a":"aGVsbG8="},"kind":"ConfigMap"}"#);
    assert!(!tenure_codec::cbor::encode(&other).contains(&0xd6));
}

#[test]
fn compact_managers_are_bytes_and_fields_v1_is_a_map() {
    let object = |fields: &str| {
        value(&format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"managedFields":[{{"fieldsV1":{fields}}}]}}}}"#
        ))
    };
    let compact = tenure_codec::cbor::encode(&object(r#""gQE=""#));
    assert!(compact.windows(4).any(|part| part == [0xd6, 0x42, 0x81, 0x01]));
    let expanded = tenure_codec::cbor::encode(&object(r#"{"f:spec":{}}"#));
    assert!(expanded.windows(9).any(|part| part == hex("a1 46 663a73706563 a0")));
}

#[test]
fn composed_documents_equal_documents_encoded_at_once() {
    let items: Vec<Value> = (0..30)
        .map(|at| value(&format!(r#"{{"data":{{"k":"aGk="}},"metadata":{{"name":"s{at}"}}}}"#)))
        .collect();
    let metadata = value(r#"{"resourceVersion":"7","continue":"x","remainingItemCount":3}"#);
    for count in [0, 1, 30] {
        let list = Value::object([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("SecretList")),
            ("metadata", metadata.clone()),
            ("items", Value::array(items[..count].iter().cloned())),
        ]);
        let (head, tail) = tenure_codec::cbor::list_envelope("v1", "SecretList", &metadata, Some(count));
        let encoded = items[..count].iter().flat_map(|item| tenure_codec::cbor::item(item, "v1", "Secret"));
        let composed: Vec<u8> = head.iter().copied().chain(encoded).chain(tail.iter().copied()).collect();
        assert_eq!(composed, tenure_codec::cbor::encode(&list));
    }
    let (head, tail) = tenure_codec::cbor::list_envelope("v1", "SecretList", &metadata, None);
    let list = tenure_codec::cbor::decode(&[head, tail].concat(), &Limits::default()).unwrap();
    assert_eq!(list.get("items"), Some(&Value::Null));
    let object = value(r#"{"apiVersion":"v1","data":{"a":"aGk="},"kind":"Secret"}"#);
    let event = tenure_codec::cbor::event("ADDED", &object);
    assert!(event.starts_with(&hex("d9d9f7 a2 44 74797065 45 4144444544 46 6f626a656374 d9d9f7 a3")));
    let expected = Value::object([("type", Value::from("ADDED")), ("object", object)]);
    assert_eq!(tenure_codec::cbor::decode(&event, &Limits::default()).unwrap(), expected);
}

#[test]
fn every_form_that_kubernetes_accepts_is_read() {
    for (bytes, json) in [
        // With and without the prefix; text and byte strings.
        ("d9d9f7 a1 61 61 61 62", r#"{"a":"b"}"#),
        ("a1 41 61 41 62", r#"{"a":"b"}"#),
        // Longer heads than needed, indefinite lengths.
        ("bf 7f 61 61 ff 5f 41 62 41 63 ff 41 64 9f 18 01 ff ff", r#"{"a":"bc","d":[1]}"#),
        // Later encodings, also of what a tag encloses.
        ("d6 42 fffe", r#""//4=""#),
        ("d5 43 fffe01", r#""__4B""#),
        ("d7 42 ffab", r#""ffab""#),
        ("d6 82 41 01 d7 41 01", r#"["AQ==","01"]"#),
        ("d6 61 61", r#""a""#),
        // Times.
        ("c0 74 323032342d30312d30325430333a30343a30355a", r#""2024-01-02T03:04:05Z""#),
        ("c1 1a 6553f100", r#""2023-11-14T22:13:20Z""#),
        ("c1 fb 41d954fc40200000", r#""2023-11-14T22:13:20.5Z""#),
        // Of other tags, the content.
        ("d9 04d2 61 61", r#""a""#),
        ("d9d9f7 d9d9f7 01", "1"),
        ("f9 3c00", "1.0"),
        ("fa 47c35000", "100000.0"),
    ] {
        let read = tenure_codec::cbor::decode(&hex(bytes), &Limits::default());
        assert_eq!(read, Ok(value(json)), "{bytes}");
    }
    // In a byte field, all later encodings stand for the same bytes, wherever the kind is.
    let object = |tag: &str| {
        hex(&format!(
            "a3 4a 62696e61727944617461 a1 41 62 {tag} 42 ff00 44 6b696e64 49 436f6e6669674d6170 4a 61706956657273696f6e 42 7631"
        ))
    };
    let expected = value(r#"{"apiVersion":"v1","binaryData":{"b":"/wA="},"kind":"ConfigMap"}"#);
    for tag in ["d5", "d6", "d7"] {
        assert_eq!(
            tenure_codec::cbor::decode(&object(tag), &Limits::default()),
            Ok(expected.clone()),
            "{tag}"
        );
    }
}
