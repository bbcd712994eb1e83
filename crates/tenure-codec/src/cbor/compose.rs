//! Documents composed of encoded parts: an event around an object, a list around its items. The parts are shared by many
//! responses; only what surrounds them is encoded for each.

use crate::cbor::{
    SELF_DESCRIBED,
    byte_fields::ByteFields,
    encode::{ARRAY, Encoder, MAP, encode},
};
use bytes::Bytes;
use tenure_value::Value;

/// Encodes the bytes before and after the items of a list; `items` is how many there are, or `None` for a list whose `items` are
/// null.
pub fn list_envelope(
    api_version: &str,
    kind: &str,
    metadata: &Value,
    items: Option<usize>,
) -> (Bytes, Bytes) {
    let mut head = Encoder::with_capacity(64);
    head.out.extend_from_slice(&SELF_DESCRIBED);
    head.head(MAP, 4);
    head.string("kind");
    head.string(kind);
    head.string("items");
    match items {
        Some(count) => head.head(ARRAY, count as u64),
        None => head.value(&Value::Null, ByteFields::NONE),
    }
    let mut tail = Encoder::with_capacity(128);
    tail.string("metadata");
    tail.value(metadata, ByteFields::NONE);
    tail.string("apiVersion");
    tail.string(api_version);
    (head.out.into(), tail.out.into())
}

/// Encodes a watch event around an object that is already encoded.
pub fn event_from_encoded(word: &str, document: &[u8]) -> Bytes {
    let mut event = Encoder::with_capacity(32 + document.len());
    event.out.extend_from_slice(&SELF_DESCRIBED);
    event.head(MAP, 2);
    event.string("type");
    event.string(word);
    event.string("object");
    event.out.extend_from_slice(document);
    event.out.into()
}

/// Encodes a watch event with an object.
pub fn event(word: &str, object: &Value) -> Bytes {
    event_from_encoded(word, &encode(object))
}
