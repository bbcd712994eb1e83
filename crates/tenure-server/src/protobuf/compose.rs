//! Messages made of parts that have been encoded already: an event around an object, a list around its items. The parts
//! are shared by many answers; only what stands around them is written for each.

use super::{
    encode::{Encoder, TAIL},
    error::{Error, Fault},
    plan::Plans,
    wire::{LENGTH, Writer},
};
use bytes::Bytes;
use tenure_value::Value;

/// The number that the items have in every list.
const ITEMS: u32 = 2;

/// Writes a document that names its kind as an item of a list, ready to stand between others.
pub fn item(document: &Value) -> Result<Bytes, Error> {
    let mut encoder = Encoder::new(Plans::recall());
    encoder.out.key(ITEMS, LENGTH);
    let start = encoder.out.begin();
    encoder.bare(document)?;
    encoder.out.end(start);
    Ok(encoder.finish())
}

/// Writes what stands before and after items of so many bytes in a list; `list` has everything but the items.
pub fn list_around(list: &Value, items: usize) -> Result<(Bytes, Bytes), Error> {
    let mut own = Encoder::new(Plans::default());
    own.bare(list)?;
    let mut head = Encoder::new(Plans::default());
    head.head(list);
    head.out.varint((own.out.0.len() + items) as u64);
    head.out.bytes(&own.out.0);
    Ok((head.out.0.into(), Bytes::from_static(TAIL)))
}

/// Writes a frame of a watch around an object that is encoded as a document of its own.
pub fn event_of(word: &str, document: &[u8]) -> Result<Bytes, Error> {
    let mut out = Writer(Vec::with_capacity(document.len() + word.len() + 32));
    out.bytes(&[0; 4]);
    out.field(1, word.as_bytes());
    let mut key = Writer::default();
    key.key(1, LENGTH);
    key.varint(document.len() as u64);
    out.key(2, LENGTH);
    out.varint((key.0.len() + document.len()) as u64);
    out.bytes(&key.0);
    out.bytes(document);
    let length = u32::try_from(out.0.len() - 4).map_err(|_| Fault::Bytes(u32::MAX as usize))?;
    if let Some(place) = out.0.first_chunk_mut() {
        *place = length.to_be_bytes();
    }
    Ok(out.0.into())
}

#[cfg(test)]
mod tests {
    use super::super::{encode, event};
    use super::*;

    fn pod(name: &str) -> Value {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}},"spec":{{"nodeName":"n"}}}}"#
        )
        .parse()
        .unwrap()
    }

    #[test]
    fn parts_make_the_same_bytes_as_the_whole() {
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
            let (head, tail) = list_around(&around, items.iter().map(Bytes::len).sum()).unwrap();
            assert_eq!([head, items.concat().into(), tail].concat(), encode(&list.into()).unwrap());
        }
        let document = encode(&pods[0]).unwrap();
        assert_eq!(event_of("ADDED", &document).unwrap(), event("ADDED", &pods[0]).unwrap());
    }

    #[test]
    fn a_kind_without_a_message_is_refused() {
        let other: Value = r#"{"apiVersion":"example.com/v1","kind":"Widget"}"#.parse().unwrap();
        assert!(item(&other).is_err() && list_around(&other, 0).is_err());
    }
}
