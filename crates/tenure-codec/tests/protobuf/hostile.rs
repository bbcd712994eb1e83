//! Malicious input: every result is an error or a document, never a panic or a hang.

use crate::{
    examples::examples,
    fuzzed::{self, check, document, wrap},
};
use proptest::prelude::*;
use std::{fs, path::Path};
use tenure_codec::protobuf;
use tenure_value::{Limits, Value};

fn refusal(bytes: &[u8], limits: &Limits) -> String {
    protobuf::decode(bytes, limits).unwrap_err().to_string()
}

#[test]
fn truncated_and_corrupted_documents_never_panic() {
    for (at, example) in examples().iter().enumerate().filter(|(at, _)| at % 7 == 0) {
        for cut in (0..example.protobuf.len()).step_by(3) {
            check(&example.protobuf[..cut]);
        }
        let mut changed = example.protobuf.clone();
        for place in (at % 5..changed.len()).step_by(5) {
            let was = std::mem::replace(&mut changed[place], [0, 0x7f, 0x80, 0xff][place % 4]);
            check(&changed);
            changed[place] = was;
        }
    }
}

#[test]
fn errors_have_the_path_of_the_field() {
    let limits = Limits::default();
    let metadata = |field: &[u8]| document("v1", "ConfigMap", &wrap(1, field));
    for (bytes, message) in [
        (b"{}".to_vec(), "does not start with the bytes 6b 38 73 00 (\"k8s\" and a zero)"),
        (document("v1", "Nothing", &[]), "no kind \"Nothing\" is registered for version \"v1\" in protobuf"),
        (metadata(&wrap(1, &[0xff])), "metadata.name: is not valid UTF-8"),
        (metadata(&[0x08, 0x01]), "metadata.name: has wire type 0, expected 2"),
        (metadata(&[0x0a, 0x7f, 0x00]), "metadata: the value is truncated"),
        (
            document("v1", "Pod", &wrap(2, &wrap(2, &wrap(1, &[0xc3])))),
            "spec.containers[0].name: is not valid UTF-8",
        ),
    ] {
        assert_eq!(refusal(&bytes, &limits), message);
    }
}

#[test]
fn fields_of_managers_that_are_not_json_spare_the_object() {
    let entry = |fields: &[u8]| [wrap(1, b"m"), wrap(7, &wrap(1, fields))].concat();
    for fields in [br#"{"f:data":{}}{"more":1}"#.as_slice(), b"{", b"text"] {
        // `managedFields` has the number 17, whose key takes two bytes.
        let metadata = [wrap(1, b"c"), vec![0x8a, 0x01], wrap(0, &entry(fields))[1..].to_vec()].concat();
        let bytes = document("v1", "ConfigMap", &wrap(1, &metadata));
        let decoded = protobuf::decode(&bytes, &Limits::default()).unwrap();
        assert_eq!(decoded.at(["metadata", "name"]), Some(&Value::from("c")));
        let managers = decoded.at(["metadata", "managedFields"]).and_then(Value::as_array).unwrap();
        assert!(managers[0].get("fieldsV1").is_some_and(|fields| fields.as_str().is_some()), "{decoded}");
    }
}

#[test]
fn depth_number_of_values_and_size_are_limited() {
    let limits = Limits { bytes: 4000, depth: 20, nodes: 50 };
    // `not` has the number 28, whose key takes two bytes.
    let nested = (0..30).fold(Vec::new(), |inner, _| {
        let mut out = vec![0xe2, 0x01];
        out.extend_from_slice(&wrap(0, &inner)[1..]);
        out
    });
    let version = wrap(4, &wrap(1, &nested));
    let deep = document("apiextensions.k8s.io/v1", "CustomResourceDefinition", &wrap(2, &wrap(7, &version)));
    assert!(
        refusal(&deep, &limits).ends_with("is nested more than 20 levels deep"),
        "{}",
        refusal(&deep, &limits)
    );
    let many = document("v1", "Pod", &wrap(2, &wrap(2, &[]).repeat(60)));
    assert!(refusal(&many, &limits).ends_with("has more than 50 values"), "{}", refusal(&many, &limits));
    let long = document("v1", "Pod", &vec![0; 5000]);
    assert!(refusal(&long, &limits).ends_with("has more than 4000 bytes"));
    let json = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let raw = document("apps/v1", "ControllerRevision", &wrap(2, &wrap(1, json.as_bytes())));
    assert!(protobuf::decode(&raw, &limits).is_err());
}

#[test]
fn unknown_fields_are_skipped() {
    let known = wrap(1, &wrap(1, b"a"));
    let unknown =
        [vec![0xf8, 0x01, 0x05], wrap(15, b"later"), vec![0x7d, 1, 2, 3, 4], known.clone()].concat();
    let read = |raw: &[u8]| protobuf::decode(&document("v1", "ConfigMap", raw), &Limits::default());
    assert_eq!(read(&unknown), read(&known));
    assert_eq!(read(&known).unwrap().at(["metadata", "name"]), Some(&Value::from("a")));
}

#[test]
fn repeated_fields_are_concatenated_or_replace_the_first() {
    let read = |raw: &[u8]| protobuf::decode(&document("v1", "ConfigMap", raw), &Limits::default()).unwrap();
    let names = |names: &[&str]| names.iter().flat_map(|name| wrap(1, name.as_bytes())).collect::<Vec<u8>>();
    let name = |object: &Value| object.at(["metadata", "name"]).cloned();
    assert_eq!(name(&read(&wrap(1, &names(&["a", "b"])))), Some(Value::from("b")));
    assert_eq!(name(&read(&wrap(1, &names(&["a", ""])))), None);
    // Lists and maps with interleaved entries are complete.
    let entry = |number, key: &[u8], value: &[u8]| wrap(number, &[wrap(1, key), wrap(2, value)].concat());
    let (label, note) = (|key: &[u8]| entry(11, key, b"v"), |key: &[u8]| entry(12, key, b"w"));
    let metadata = [label(b"b"), note(b"x"), wrap(14, b"one"), label(b"a"), wrap(14, b"two"), note(b"x")];
    let metadata = read(&wrap(1, &metadata.concat()));
    let expected: Value =
        r#"{"labels":{"a":"v","b":"v"},"annotations":{"x":"w"},"finalizers":["one","two"]}"#.parse().unwrap();
    assert_eq!(metadata.get("metadata"), Some(&expected));
    // The pieces are concatenated once, regardless of their number.
    let pieces = [label(b"k"), wrap(14, b"f")].concat().repeat(100_000);
    let finalizers = read(&wrap(1, &pieces)).at(["metadata", "finalizers"]).cloned();
    assert_eq!(finalizers.and_then(|list| list.as_array().map(|items| items.len())), Some(100_000));
}

#[test]
fn null_is_encoded_as_absent() {
    let read = |text: &str| protobuf::encode(&text.parse().unwrap()).unwrap();
    let with = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":null},"spec":null}"#;
    let without = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#;
    // Once before and once after the plan without nulls is cached.
    for _ in 0..2 {
        assert_eq!(read(with), read(without));
    }
}

#[test]
fn the_corpus_and_its_mutations_never_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/protobuf");
    let mut seen = 0;
    for file in fs::read_dir(folder).unwrap() {
        let saved = fs::read(file.unwrap().path()).unwrap();
        fuzzed::protobuf(&saved);
        for place in (0..saved.len()).step_by(2) {
            let mut changed = saved.clone();
            changed[place] = changed[place].wrapping_add(1 + place as u8);
            fuzzed::protobuf(&changed);
        }
        seen += 1;
    }
    assert!(seen >= 5);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzzed::protobuf(&bytes);
    }
}
