//! The body of the fuzz target, also used by the tests of malicious input.

use tenure_value::{Limits, Value};

/// Decodes bytes, and checks that a decoded document can be encoded and decoded again.
pub fn cbor(bytes: &[u8]) {
    if let Ok((documents, used)) = tenure_codec::cbor::decode_sequence(bytes, &Limits::default()) {
        assert!(used <= bytes.len() && documents.len() <= used);
    }
    if let Ok(value) = tenure_codec::cbor::decode(bytes, &Limits::default()) {
        check(&value);
    }
}

/// Checks that a document is read as it was written, and that there is one way to write it.
pub fn check(value: &Value) {
    let written = tenure_codec::cbor::encode(value);
    let read =
        tenure_codec::cbor::decode(&written, &Limits::default()).expect("what was written can be read");
    assert_eq!(read, *value);
    assert_eq!(tenure_codec::cbor::encode(&read), written);
}
