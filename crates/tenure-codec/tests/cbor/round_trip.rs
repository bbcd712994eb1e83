//! Whatever document is encoded, decoding returns it, and its bytes follow the rules of deterministic encoding.

use crate::fuzzed::check;
use proptest::prelude::*;
use tenure_value::{Limits, Value};

fn document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-300i64..300).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", Value::float),
        any::<f32>().prop_filter_map("finite", |number| Value::float(f64::from(number))),
        any::<String>().prop_map(Value::from),
        "[a-zA-Z0-9+/]{0,12}={0,2}".prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::array),
            prop::collection::btree_map("[a-z]{0,30}", inner, 0..6).prop_map(Value::object),
        ]
    })
}

/// The kinds with byte fields, and one without.
fn object() -> impl Strategy<Value = Value> {
    let kinds = prop_oneof![
        Just(("v1", "Secret", "data")),
        Just(("v1", "ConfigMap", "binaryData")),
        Just(("apiregistration.k8s.io/v1", "APIService", "spec")),
        Just(("example.com/v1", "Widget", "metadata")),
        Just(("v1", "SecretList", "items")),
    ];
    (kinds, document()).prop_map(|((api_version, kind, field), value)| {
        Value::object([("apiVersion", Value::from(api_version)), ("kind", Value::from(kind)), (field, value)])
    })
}

proptest! {
    #[test]
    fn a_document_is_read_as_it_was_written(value in document()) {
        check(&value);
    }

    #[test]
    fn an_object_with_byte_fields_is_read_as_it_was_written(value in object()) {
        check(&value);
    }

    #[test]
    fn every_beginning_of_a_document_is_incomplete(value in document()) {
        let bytes = tenure_codec::cbor::encode(&value);
        for end in 0..bytes.len() {
            let error = tenure_codec::cbor::decode(&bytes[..end], &Limits::default()).unwrap_err();
            assert_eq!(error.kind, tenure_codec::cbor::ErrorKind::Truncated);
            let (documents, used) = tenure_codec::cbor::decode_sequence(&bytes[..end], &Limits::default()).unwrap();
            assert_eq!((documents.len(), used), (0, 0));
        }
    }

    #[test]
    fn a_sequence_is_read_as_it_was_written(values in prop::collection::vec(document(), 0..4)) {
        let mut bytes: Vec<u8> = values.iter().flat_map(tenure_codec::cbor::encode).collect();
        let length = bytes.len();
        bytes.extend_from_slice(&[0xd9, 0xd9]);
        let read = tenure_codec::cbor::decode_sequence(&bytes, &Limits::default()).unwrap();
        assert_eq!(read, (values, length));
    }
}
