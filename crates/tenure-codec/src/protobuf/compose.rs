//! Messages composed of encoded parts: an event around an object, a list around its items. The parts are
//! shared by many responses; only what surrounds them is encoded for each.

use super::{
    encode::{Encoder, TAIL, encode},
    error::{Error, ErrorKind},
    managers::ShownManagers,
    plan::Plans,
    wire::{LENGTH, Writer},
};
use bytes::Bytes;
use tenure_value::Value;

/// The field number of the items of every list.
const ITEMS: u32 = 2;

/// Encodes a document with its kind as an item of a list.
pub fn item(document: &Value) -> Result<Bytes, Error> {
    item_with_managers(document, None)
}

/// Encodes the same with the managers of the document, which are stored separately.
pub fn item_with_managers(document: &Value, managers: Option<ShownManagers<'_>>) -> Result<Bytes, Error> {
    let mut encoder = Encoder::new(Plans::recall());
    encoder.managers = managers;
    encoder.out.key(ITEMS, LENGTH);
    let start = encoder.out.begin();
    encoder.bare(document)?;
    encoder.out.end(start);
    Ok(encoder.finish())
}

/// Encodes the bytes before and after the items of a list, which take `items` bytes; `list` has everything
/// but the items.
pub fn list_envelope(list: &Value, items: usize) -> Result<(Bytes, Bytes), Error> {
    let mut own = Encoder::new(Plans::default());
    own.bare(list)?;
    let mut head = Encoder::new(Plans::default());
    head.head(list);
    let own = own.out.finish();
    head.out.varint((own.len() + items) as u64);
    head.out.bytes(&own);
    Ok((head.out.finish().into(), Bytes::from_static(TAIL)))
}

/// Encodes a watch frame around an object that is already encoded.
pub fn event_from_encoded(word: &str, document: &[u8]) -> Result<Bytes, Error> {
    let mut own = Writer::default();
    own.key(1, LENGTH);
    own.varint(document.len() as u64);
    let own = own.finish();
    let mut head = Writer::default();
    head.field(1, word.as_bytes());
    head.key(2, LENGTH);
    head.varint((own.len() + document.len()) as u64);
    let head = head.finish();
    let length = u32::try_from(head.len() + own.len() + document.len())
        .map_err(|_| ErrorKind::Bytes(u32::MAX as usize))?;
    Ok([&length.to_be_bytes(), &head[..], &own, document].concat().into())
}

/// Encodes a watch frame: its length in four bytes, and an event with the object.
pub fn event(word: &str, object: &Value) -> Result<Bytes, Error> {
    event_from_encoded(word, &encode(object)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> Value {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}},"spec":{{"nodeName":"n"}}}}"#
        )
        .parse()
        .unwrap()
    }

    #[test]
    fn composed_messages_equal_messages_encoded_at_once() {
        let pods: Vec<Value> = (0..40).map(|at| pod(&format!("pod-{at}"))).collect();
        let metadata: Value =
            r#"{"resourceVersion":"7","continue":"x","remainingItemCount":3}"#.parse().unwrap();
        let around = Value::object([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("PodList")),
            ("metadata", metadata),
        ]);
        for count in [0, 1, 40] {
            let list = around.as_object().unwrap().with("items", Value::array(pods[..count].iter().cloned()));
            let items: Vec<Bytes> = pods[..count].iter().map(|pod| item(pod).unwrap()).collect();
            let (head, tail) = list_envelope(&around, items.iter().map(Bytes::len).sum()).unwrap();
            assert_eq!([head, items.concat().into(), tail].concat(), encode(&list.into()).unwrap());
        }
        let document = encode(&pods[0]).unwrap();
        assert_eq!(event_from_encoded("ADDED", &document).unwrap(), event("ADDED", &pods[0]).unwrap());
    }

    #[test]
    fn a_kind_without_a_message_is_rejected() {
        let other: Value = r#"{"apiVersion":"example.com/v1","kind":"Widget"}"#.parse().unwrap();
        assert!(item(&other).is_err() && list_envelope(&other, 0).is_err());
    }
}
