//! The encoder. Maps are written in the order of their keys' bytes, shorter keys first, which is the order of RFC 8949, 4.2.1.

use crate::cbor::{SELF_DESCRIBED, byte_fields::ByteFields, float};
use tenure_value::{Object, Value, base64};

/// The major types.
pub(crate) const UNSIGNED: u8 = 0;
pub(crate) const NEGATIVE: u8 = 1;
pub(crate) const BYTES: u8 = 2;
pub(crate) const TEXT: u8 = 3;
pub(crate) const ARRAY: u8 = 4;
pub(crate) const MAP: u8 = 5;
pub(crate) const TAG: u8 = 6;
pub(crate) const SIMPLE: u8 = 7;

/// The tag of a byte string that is base64 in JSON.
pub(crate) const BASE64: u8 = 22;

/// Encodes a document of any kind, with the prefix of self-described CBOR.
///
/// An integer above 64 signed bits, which no decoder of Kubernetes accepts, becomes a float, as it is for Kubernetes in JSON.
pub fn encode(document: &Value) -> Vec<u8> {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut encoder = Encoder::with_capacity(1024);
    encoder.out.extend_from_slice(&SELF_DESCRIBED);
    match (document, kind.strip_suffix("List")) {
        (Value::Object(fields), Some(kind)) if fields.contains("items") => {
            encoder.map(fields, |encoder, name, value| match (name, value) {
                ("items", Value::Array(items)) => {
                    encoder.head(ARRAY, items.len() as u64);
                    for item in items.iter() {
                        encoder.value(item, ByteFields::of(api_version, kind));
                    }
                }
                _ => encoder.value(value, ByteFields::NONE),
            });
        }
        _ => encoder.value(document, ByteFields::of(api_version, kind)),
    }
    encoder.out
}

/// Encodes an object as an item of a list, without the prefix; the object itself may lack its version and kind.
pub fn item(object: &Value, api_version: &str, kind: &str) -> Vec<u8> {
    let mut encoder = Encoder::with_capacity(1024);
    encoder.value(object, ByteFields::of(api_version, kind));
    encoder.out
}

/// Writes data items.
pub(crate) struct Encoder {
    pub out: Vec<u8>,
    /// The positions of fields in the order of their keys, of all open maps.
    order: Vec<u32>,
}

impl Encoder {
    pub fn with_capacity(bytes: usize) -> Encoder {
        Encoder { out: Vec::with_capacity(bytes), order: Vec::new() }
    }

    /// Writes the head of a data item: its major type and a number.
    pub fn head(&mut self, major: u8, number: u64) {
        let major = major << 5;
        match number {
            0..=23 => self.out.push(major | number as u8),
            24..=0xff => self.out.extend_from_slice(&[major | 24, number as u8]),
            0x100..=0xffff => {
                self.out.push(major | 25);
                self.out.extend_from_slice(&(number as u16).to_be_bytes());
            }
            0x1_0000..=0xffff_ffff => {
                self.out.push(major | 26);
                self.out.extend_from_slice(&(number as u32).to_be_bytes());
            }
            _ => {
                self.out.push(major | 27);
                self.out.extend_from_slice(&number.to_be_bytes());
            }
        }
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        self.head(BYTES, text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    fn map(&mut self, fields: &Object, mut write: impl FnMut(&mut Encoder, &str, &Value)) {
        let fields = fields.fields();
        self.head(MAP, fields.len() as u64);
        let start = self.order.len();
        self.order.extend(0..fields.len() as u32);
        let name = |at: &u32| fields.get(*at as usize).map_or("", |(name, _)| name.as_str());
        // Fields are sorted by name already: a stable sort by length is all that is missing.
        self.order[start..].sort_by_key(|at| name(at).len());
        for at in start..start + fields.len() {
            let Some((name, value)) = fields.get(self.order[at] as usize) else { continue };
            self.string(name);
            write(self, name, value);
        }
        self.order.truncate(start);
    }

    /// Writes a value; strings in byte fields as bytes.
    pub fn value(&mut self, value: &Value, bytes: ByteFields) {
        match value {
            Value::Null => self.out.push(SIMPLE << 5 | 22),
            Value::Bool(flag) => self.out.push(SIMPLE << 5 | if *flag { 21 } else { 20 }),
            Value::Int(number) if *number < 0 => self.head(NEGATIVE, !*number as u64),
            Value::Int(number) => self.head(UNSIGNED, *number as u64),
            Value::UInt(number) => float::write(number.get() as f64, &mut self.out),
            Value::Float(number) => float::write(number.get(), &mut self.out),
            Value::String(text) => match bytes.is_here().then(|| base64::decode(text)) {
                // Only what decoding gives back exactly is written as bytes.
                Some(Ok(decoded)) if base64::encode(&decoded) == text.as_str() => {
                    self.head(TAG, u64::from(BASE64));
                    self.head(BYTES, decoded.len() as u64);
                    self.out.extend_from_slice(&decoded);
                }
                _ => self.string(text),
            },
            Value::Array(items) => {
                self.head(ARRAY, items.len() as u64);
                let below = bytes.below("*");
                for item in items.iter() {
                    self.value(item, below);
                }
            }
            Value::Object(fields) if bytes.is_none() => {
                self.map(fields, |encoder, _, value| encoder.value(value, ByteFields::NONE));
            }
            Value::Object(fields) => {
                self.map(fields, |encoder, name, value| encoder.value(value, bytes.below(name)));
            }
        }
    }
}
