//! The body of the fuzz target, also used by the tests of malicious input.

use tenure_codec::protobuf;
use tenure_value::Limits;

/// Decodes bytes as they are and as objects of several kinds, which random input rarely contains.
pub fn protobuf(bytes: &[u8]) {
    check(bytes);
    if let Some((selector, raw)) = bytes.split_first() {
        let (version, kind) = KINDS[usize::from(*selector) % KINDS.len()];
        check(&document(version, kind, raw));
    }
}

const KINDS: [(&str, &str); 5] = [
    ("v1", "Pod"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ControllerRevision"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("v1", "WatchEvent"),
];

/// Decodes bytes, and checks that a decoded document can be encoded and decoded again.
pub fn check(bytes: &[u8]) {
    let Ok(value) = protobuf::decode(bytes, &Limits::default()) else { return };
    let written = protobuf::encode(&value).expect("what was read has a kind");
    protobuf::decode(&written, &Limits::default()).expect("what was written can be read");
}

/// Encodes a field whose key takes one byte.
pub fn wrap(number: u8, content: &[u8]) -> Vec<u8> {
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

/// Adds the envelope to the bytes of an object.
pub fn document(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let names = [wrap(1, api_version.as_bytes()), wrap(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), wrap(1, &names), wrap(2, raw)].concat()
}
