//! The decoder. It recurses as deep as the limits allow and reserves no more memory than the document has bytes.

use crate::cbor::{
    SELF_DESCRIBED,
    byte_fields::ByteFields,
    encode::{ARRAY, BYTES, MAP, NEGATIVE, TAG, TEXT, UNSIGNED},
    error::{Error, ErrorKind, shortened},
    float,
    later::LaterEncoding,
    tag,
};
use std::{borrow::Cow, cmp::Ordering};
use tenure_value::{Limits, Object, Text, Value};

/// Decodes a document of any kind.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Value, Error> {
    let (value, used) = first(bytes, limits)?;
    match bytes.len() - used {
        0 => Ok(value),
        more => Err(*Error::new(used, ErrorKind::Extraneous(more))),
    }
}

/// Decodes a sequence of documents, such as the events of a watch. Returns what is complete, and the number of bytes that it took.
pub fn decode_sequence(bytes: &[u8], limits: &Limits) -> Result<(Vec<Value>, usize), Error> {
    let (mut documents, mut used) = (Vec::new(), 0);
    while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
        match first(rest, limits) {
            Ok((document, length)) => {
                documents.push(document);
                used += length;
            }
            Err(error) if error.kind == ErrorKind::Truncated => break,
            Err(error) => return Err(Error { offset: used + error.offset, ..error }),
        }
    }
    Ok((documents, used))
}

/// Decodes the first document, and returns its length.
fn first(bytes: &[u8], limits: &Limits) -> Result<(Value, usize), Error> {
    if bytes.len() > limits.bytes {
        let kind = ErrorKind::Bytes { bytes: bytes.len(), limit: limits.bytes };
        return Err(*Error::new(0, kind));
    }
    let mut decoder = Decoder::new(bytes, limits);
    let value = decoder.document(ByteFields::NONE).map_err(|error| *error)?;
    if !decoder.other_encodings {
        return Ok((value, decoder.at));
    }
    // In a byte field, every tag of a later encoding stands for the same bytes. Only the kind tells which fields those are, and the
    // kind may come last.
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let bytes_of = ByteFields::of(text("apiVersion"), text("kind"));
    let mut decoder = Decoder::new(bytes, limits);
    let value = decoder.document(bytes_of).map_err(|error| *error)?;
    Ok((value, decoder.at))
}

struct Decoder<'a> {
    bytes: &'a [u8],
    limits: &'a Limits,
    at: usize,
    nodes: usize,
    /// Whether a byte string has another later encoding than base64.
    other_encodings: bool,
}

/// What encloses a data item.
#[derive(Clone, Copy)]
struct Within {
    depth: usize,
    later: Option<LaterEncoding>,
    bytes: ByteFields,
}

/// The head of a data item.
struct Head {
    offset: usize,
    major: u8,
    /// The low five bits of the first byte.
    low: u8,
    /// The number in the head; `None` for an indefinite length.
    number: Option<u64>,
}

type Result_<T> = Result<T, Box<Error>>;

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], limits: &'a Limits) -> Decoder<'a> {
        // The prefix does not count as a level of nesting.
        let at = if bytes.starts_with(&SELF_DESCRIBED) { SELF_DESCRIBED.len() } else { 0 };
        Decoder { bytes, limits, at, nodes: 0, other_encodings: false }
    }

    fn document(&mut self, bytes: ByteFields) -> Result_<Value> {
        self.value(Within { depth: 0, later: None, bytes })
    }

    fn take(&mut self, count: u64) -> Result_<&'a [u8]> {
        let start = self.at;
        let end = usize::try_from(count).ok().and_then(|count| start.checked_add(count));
        let taken = end.and_then(|end| self.bytes.get(start..end));
        let taken = taken.ok_or_else(|| Error::new(self.bytes.len(), ErrorKind::Truncated))?;
        self.at = start + taken.len();
        Ok(taken)
    }

    fn head(&mut self) -> Result_<Head> {
        let offset = self.at;
        let first = self.take(1)?.first().copied().unwrap_or_default();
        let (major, low) = (first >> 5, first & 31);
        let number = match low {
            0..=23 => Some(u64::from(low)),
            24..=27 => {
                let follows = self.take(1 << (low - 24))?;
                Some(follows.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            31 if matches!(major, BYTES | TEXT | ARRAY | MAP) => None,
            _ => return Err(Error::new(offset, ErrorKind::Head(first))),
        };
        Ok(Head { offset, major, low, number })
    }

    /// Whether the break of an item of indefinite length is next; if so, it is consumed.
    fn is_break(&mut self) -> bool {
        let ends = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(ends);
        ends
    }

    fn value(&mut self, within: Within) -> Result_<Value> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(Error::new(self.at, ErrorKind::Nodes(self.limits.nodes)));
        }
        let head = self.head()?;
        match (head.major, head.number) {
            (UNSIGNED, Some(number)) => integer(&head, i64::try_from(number).ok()),
            (NEGATIVE, Some(number)) => integer(&head, i64::try_from(number).ok().map(|number| !number)),
            (BYTES, _) => {
                let bytes = self.string(&head)?;
                match within.later {
                    Some(later) => {
                        self.other_encodings |= later != LaterEncoding::Base64;
                        let later = if within.bytes.is_here() { LaterEncoding::Base64 } else { later };
                        Ok(Value::from(later.text(&bytes)))
                    }
                    None => Ok(Value::String(text(&head, &bytes)?)),
                }
            }
            (TEXT, _) => {
                let bytes = self.string(&head)?;
                Ok(Value::String(text(&head, &bytes)?))
            }
            (ARRAY, _) => self.array(&head, within),
            (MAP, _) => self.map(&head, within),
            (TAG, Some(tag)) => self.tagged(&head, tag, within),
            (_, number) => self.simple(&head, number.unwrap_or_default()),
        }
    }

    fn enter(&self, head: &Head, within: Within) -> Result_<Within> {
        match within.depth < self.limits.depth {
            true => Ok(Within { depth: within.depth + 1, ..within }),
            false => Err(Error::new(head.offset, ErrorKind::Depth(self.limits.depth))),
        }
    }

    /// Reads the content of a byte or text string, whose chunks are joined.
    fn string(&mut self, head: &Head) -> Result_<Cow<'a, [u8]>> {
        if let Some(length) = head.number {
            return self.take(length).map(Cow::Borrowed);
        }
        let mut joined = Vec::new();
        while !self.is_break() {
            let chunk = self.head()?;
            let length = chunk.number.filter(|_| chunk.major == head.major);
            let length = length.ok_or_else(|| Error::new(chunk.offset, ErrorKind::Chunk))?;
            let content = self.take(length)?;
            // Every chunk of a text is a text.
            if head.major == TEXT {
                text(&chunk, content)?;
            }
            joined.extend_from_slice(content);
        }
        Ok(Cow::Owned(joined))
    }

    /// Whether an item of a list or map comes next, after `count` items.
    fn has_next(&mut self, length: Option<u64>, count: u64) -> bool {
        match length {
            Some(length) => count < length,
            None => !self.is_break(),
        }
    }

    /// Returns a capacity for a list or map: each item takes at least one byte.
    fn capacity(&self, length: Option<u64>) -> usize {
        let left = self.bytes.len() - self.at;
        length.map_or(0, |length| usize::try_from(length).unwrap_or(left).min(left).min(1024))
    }

    fn array(&mut self, head: &Head, within: Within) -> Result_<Value> {
        let within = self.enter(head, within)?;
        let below = Within { bytes: within.bytes.below("*"), ..within };
        let mut items = Vec::with_capacity(self.capacity(head.number));
        while self.has_next(head.number, items.len() as u64) {
            let item = self.value(below).map_err(|error| error.within(&format!("[{}]", items.len())))?;
            items.push(item);
        }
        Ok(Value::array(items))
    }

    fn map(&mut self, head: &Head, within: Within) -> Result_<Value> {
        let within = self.enter(head, within)?;
        let mut fields: Vec<(usize, Text, Value)> = Vec::with_capacity(self.capacity(head.number));
        while self.has_next(head.number, fields.len() as u64) {
            let key = self.head()?;
            if !matches!(key.major, BYTES | TEXT) {
                return Err(Error::new(key.offset, ErrorKind::Key(NAMES[usize::from(key.major)])));
            }
            let name = text(&key, &self.string(&key)?)?;
            let below = Within { bytes: within.bytes.below(&name), ..within };
            let value = self.value(below).map_err(|error| error.within(&name))?;
            fields.push((key.offset, name, value));
        }
        // By name, and among equals by position, so that the repetition is the later one.
        let ordered = |pair: &[(usize, Text, Value)]| match pair {
            [a, b] => a.1.cmp(&b.1) == Ordering::Less,
            _ => true,
        };
        if !fields.windows(2).all(ordered) {
            fields.sort_by(|a, b| a.1.cmp(&b.1));
        }
        let repeated = fields.windows(2).filter_map(|pair| match pair {
            [a, b] if a.1 == b.1 => Some(b),
            _ => None,
        });
        if let Some((offset, name, _)) = repeated.min_by_key(|(offset, ..)| *offset) {
            return Err(Error::new(*offset, ErrorKind::DuplicateKey(shortened(name).to_owned())));
        }
        let fields = fields.into_iter().map(|(_, name, value)| (name, value));
        Ok(Value::Object(Object::from_sorted(fields)))
    }

    fn tagged(&mut self, head: &Head, number: u64, within: Within) -> Result_<Value> {
        let within = self.enter(head, within)?;
        let later = LaterEncoding::of(number);
        match number {
            0 | 1 => {
                let content = self.value(within)?;
                let (time, wanted) = match number {
                    0 => (tag::text_time(&content), "an RFC 3339 time"),
                    _ => (tag::epoch_time(&content), "a number of seconds"),
                };
                let wrong = || Error::new(head.offset, ErrorKind::Time(number, wanted));
                time.map(Value::from).ok_or_else(wrong)
            }
            2 | 3 => Err(Error::new(head.offset, ErrorKind::Bignum(number))),
            // Of any other tag, only the content counts.
            _ => self.value(Within { later: later.or(within.later), ..within }),
        }
    }

    fn simple(&mut self, head: &Head, number: u64) -> Result_<Value> {
        let float = match head.low {
            20 => return Ok(Value::Bool(false)),
            21 => return Ok(Value::Bool(true)),
            22 => return Ok(Value::Null),
            25 => float::from_half(number as u16),
            26 => f64::from(f32::from_bits(number as u32)),
            27 => f64::from_bits(number),
            _ => return Err(Error::new(head.offset, ErrorKind::Simple(number as u8))),
        };
        let name = if float.is_nan() { "NaN" } else { "infinity" };
        Value::float(float).ok_or_else(|| Error::new(head.offset, ErrorKind::Float(name)))
    }
}

/// The names of the major types.
const NAMES: [&str; 8] = [
    "an integer",
    "an integer",
    "a byte string",
    "a text string",
    "a list",
    "a map",
    "a tag",
    "a simple value",
];

fn integer(head: &Head, number: Option<i64>) -> Result_<Value> {
    number.map(Value::Int).ok_or_else(|| Error::new(head.offset, ErrorKind::Integer))
}

fn text(head: &Head, bytes: &[u8]) -> Result_<Text> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Text::new(text)),
        Err(_) => Err(Error::new(head.offset, ErrorKind::Utf8)),
    }
}
