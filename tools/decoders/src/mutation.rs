//! Mutations of documents. Most exchange, copy, repeat or remove a value, so that the result can still be read; the others change
//! bytes.

/// A small deterministic random number generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Random {
        // Neighbouring seeds must not give similar numbers.
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    /// Returns a number below a bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn one_of<'p, T: ?Sized>(&mut self, pool: &[&'p T]) -> &'p T {
        pool[self.below(pool.len())]
    }
}

/// Values that decoders stumble over.
const VALUES: [&str; 30] = [
    "null",
    "{}",
    "[]",
    "0",
    "-1",
    "1",
    "true",
    "false",
    "\"\"",
    "\"a\"",
    "\"*\"",
    "\"1Gi\"",
    "\"-5m\"",
    "\"5%\"",
    "\"0\"",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "1e-400",
    "0.1",
    "65536",
    "[null]",
    "[{}]",
    "[[]]",
    "{\"a\":null}",
    "{\"\":1}",
    "\"\\u0000\"",
    "\"\\ud83d\\ude00\"",
    "\"2026-02-30T25:61:61Z\"",
];

/// Bytes that mean something in one of the formats.
const BYTES: &[u8] =
    b"{}[]()\":,.=!<>&|*#-+/\\ \n\t\x00\x08\x0a\x12\x1f\x7f\x80\xff\xc3\xe2'`~@%$?;_0189aefknuvxAZ";

/// Returns a seed with a few mutations; `others` are seeds that parts are taken from.
pub fn mutate(seed: &[u8], others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let parts = parts(&bytes);
        let Some(part) = parts.get(random.below(parts.len())).filter(|part| part.start > 0) else {
            change_bytes(&mut bytes, random);
            continue;
        };
        match random.below(20) {
            0..=7 => drop(bytes.splice(part.start..part.end, random.one_of(&VALUES).bytes())),
            8..=11 => {
                let copy = copied(&bytes, others, random);
                bytes.splice(part.start..part.end, copy);
            }
            12..=14 => remove_entry(&mut bytes, part),
            15 | 16 => repeat_entry(&mut bytes, part, random),
            _ => change_bytes(&mut bytes, random),
        }
    }
    // Copies of copies would make the run slow, not better.
    bytes.truncate(1 << 16);
    bytes
}

/// A value of a text, with the name in front of it if it is a field.
#[derive(Clone, Copy)]
struct Part {
    entry: usize,
    start: usize,
    end: usize,
}

/// Finds the values of JSON. In other formats these are words and what is in brackets.
fn parts(bytes: &[u8]) -> Vec<Part> {
    let (mut parts, mut open, mut name) = (Vec::new(), Vec::new(), None);
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            b'"' => {
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                at = (at + 1).min(bytes.len());
                match bytes.get(at) {
                    Some(b':') => name = Some(start),
                    _ => parts.push(Part { entry: name.take().unwrap_or(start), start, end: at }),
                }
            }
            b'{' | b'[' => open.push((name.take().unwrap_or(start), start)),
            b'}' | b']' => {
                if let Some((entry, start)) = open.pop() {
                    parts.push(Part { entry, start, end: at });
                }
            }
            b',' | b':' | b' ' | b'\n' | b'\t' | b'\r' => {}
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b':' | b' ' | b'\n' | b'"');
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                parts.push(Part { entry: name.take().unwrap_or(start), start, end: at });
            }
        }
    }
    parts
}

/// Returns a value of this or of another document.
fn copied(bytes: &[u8], others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let from: &[u8] = match others.get(random.below(others.len())) {
        Some(other) if random.below(3) > 0 => other,
        _ => bytes,
    };
    let parts = parts(from);
    parts.get(random.below(parts.len())).map(|part| from[part.start..part.end].to_vec()).unwrap_or_default()
}

/// Removes a field or an item with the comma that separates it.
fn remove_entry(bytes: &mut Vec<u8>, part: &Part) {
    let (mut start, mut end) = (part.entry, part.end);
    if bytes.get(end) == Some(&b',') {
        end += 1;
    } else if start > 0 && bytes[start - 1] == b',' {
        start -= 1;
    }
    bytes.drain(start..end);
}

/// Repeats a field or an item.
fn repeat_entry(bytes: &mut Vec<u8>, part: &Part, random: &mut Random) {
    let mut copies = Vec::new();
    for _ in 0..=random.below(8) {
        copies.extend_from_slice(&bytes[part.entry..part.end]);
        copies.push(b',');
    }
    bytes.splice(part.entry..part.entry, copies);
}

fn change_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(12)).min(bytes.len());
    let byte = BYTES[random.below(BYTES.len())];
    match random.below(6) {
        0 => bytes.insert(at, byte),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let repeated = bytes[at..end].repeat(1 + random.below(40));
            bytes.splice(at..at, repeated);
        }
        3 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        4 if random.below(8) == 0 => bytes.truncate(at),
        _ if at < bytes.len() => bytes[at] = byte,
        _ => {}
    }
}
