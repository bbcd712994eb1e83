//! The length of a document in the output of this crate, without decoding it.

use crate::cbor::encode::{ARRAY, BYTES, MAP, TAG, TEXT};

/// Returns the length of the first document of a sequence that this crate has encoded; `None` if it is not complete.
pub fn encoded_length(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut items) = (0usize, 1u64);
    while items > 0 {
        let first = *bytes.get(at)?;
        at += 1;
        let number = match first & 31 {
            low @ 0..=23 => u64::from(low),
            low @ 24..=27 => {
                let follows = bytes.get(at..at + (1 << (low - 24)))?;
                at += follows.len();
                follows.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
            // Nothing that is encoded here has an indefinite length.
            _ => return None,
        };
        items -= 1;
        match first >> 5 {
            BYTES | TEXT => at = at.checked_add(usize::try_from(number).ok()?)?,
            ARRAY => items = items.checked_add(number)?,
            MAP => items = items.checked_add(number.checked_mul(2)?)?,
            TAG => items += 1,
            _ => {}
        }
    }
    (at <= bytes.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbor::{encode, event};
    use tenure_value::Value;

    #[test]
    fn a_document_is_as_long_as_its_encoding() {
        for text in [
            "null",
            "-7",
            "1.5",
            "[]",
            r#"{"a":[true,{"b":null},[1,65536,4294967296,-1.25e300]],"c":"x"}"#,
            r#"{"apiVersion":"v1","kind":"Secret","data":{"k":"AAEC","l":""}}"#,
        ] {
            let object: Value = text.parse().unwrap();
            for bytes in [encode(&object), event("ADDED", &object).to_vec()] {
                for end in 0..bytes.len() {
                    assert_eq!(encoded_length(&bytes[..end]), None, "{text} {end}");
                }
                let more = [&bytes[..], &bytes].concat();
                assert_eq!(encoded_length(&more), Some(bytes.len()), "{text}");
            }
        }
        let long = encode(&Value::from("x".repeat(70_000)));
        assert_eq!(encoded_length(&long), Some(long.len()));
        assert_eq!(encoded_length(b"\x5f\x41a\xff"), None);
        assert_eq!(encoded_length(b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff"), None);
    }
}
