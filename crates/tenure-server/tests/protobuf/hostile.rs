//! Bytes that nobody should send: every answer is an error or a document, never a panic or a stall.

use crate::examples::examples;
use proptest::prelude::*;
use tenure_server::protobuf;
use tenure_value::{Limits, Value};

/// Reads bytes, and holds that what was read can be written and read again.
fn check(bytes: &[u8]) {
    let Ok(value) = protobuf::decode(bytes, &Limits::default()) else { return };
    let written = protobuf::encode(&value).expect("what was read has a kind");
    protobuf::decode(&written, &Limits::default()).expect("what was written can be read");
}

fn wrap(number: u8, content: &[u8]) -> Vec<u8> {
    let mut length = content.len();
    let mut out = vec![number << 3 | 2];
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(content);
    out
}

fn document(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let names = [wrap(1, api_version.as_bytes()), wrap(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), wrap(1, &names), wrap(2, raw)].concat()
}

fn refusal(bytes: &[u8], limits: &Limits) -> String {
    protobuf::decode(bytes, limits).unwrap_err().to_string()
}

#[test]
fn every_recorded_document_may_be_cut_or_changed_anywhere() {
    for (at, of) in examples().iter().enumerate().filter(|(at, _)| at % 7 == 0) {
        for cut in (0..of.protobuf.len()).step_by(3) {
            check(&of.protobuf[..cut]);
        }
        let mut changed = of.protobuf.clone();
        for place in (at % 5..changed.len()).step_by(5) {
            let was = std::mem::replace(&mut changed[place], [0, 0x7f, 0x80, 0xff][place % 4]);
            check(&changed);
            changed[place] = was;
        }
    }
}

#[test]
fn errors_say_what_and_where() {
    let limits = Limits::default();
    let metadata = |field: &[u8]| document("v1", "ConfigMap", &wrap(1, field));
    for (bytes, message) in [
        (b"{}".to_vec(), "does not begin with the bytes 6b 38 73 00 (\"k8s\" and a zero)"),
        (document("v1", "Nothing", &[]), "no kind \"Nothing\" is registered for version \"v1\" in protobuf"),
        (metadata(&wrap(1, &[0xff])), "metadata.name: is not valid UTF-8"),
        (metadata(&[0x08, 0x01]), "metadata.name: is written with wire type 0, expected 2"),
        (metadata(&[0x0a, 0x7f, 0x00]), "metadata: the bytes end before the value does"),
        (
            document("v1", "Pod", &wrap(2, &wrap(2, &wrap(1, &[0xc3])))),
            "spec.containers[0].name: is not valid UTF-8",
        ),
    ] {
        assert_eq!(refusal(&bytes, &limits), message);
    }
}

#[test]
fn depth_number_and_size_are_limited() {
    let limits = Limits { bytes: 4000, depth: 20, nodes: 50 };
    let mut schema = wrap(5, b"object");
    for _ in 0..30 {
        schema = wrap(28, &schema);
    }
    // 28 does not fit one byte of key, hence two.
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

proptest! {
    #[test]
    fn any_bytes_give_an_error_or_a_document(bytes in proptest::collection::vec(any::<u8>(), 0..300), of in 0usize..4) {
        let (version, kind) = [("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "Status"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition")][of];
        check(&bytes);
        check(&document(version, kind, &bytes));
    }
}
