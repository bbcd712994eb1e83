//! Strings of the binary encoding: as a reference to the table or to an earlier literal of the document, as a
//! literal that shares a prefix with the previous one, or in full. Encoder and decoder number the literals of
//! a document in the same way: each one of two or more bytes, in document order.

use super::{codes, varint};
use crate::compact::{
    Table,
    fingerprint::{self, HashIndex},
};

/// The literals of a document so far.
#[derive(Default)]
pub(super) struct Literals<'a> {
    texts: Vec<&'a str>,
    numbers: HashIndex,
}

impl<'a> Literals<'a> {
    /// Removes all literals so that others can be borrowed; the memory is kept.
    pub(super) fn emptied<'b>(mut self) -> Literals<'b> {
        self.texts.clear();
        self.numbers.clear();
        Literals { texts: self.texts.into_iter().map(|_| "").collect(), numbers: self.numbers }
    }

    /// Appends a string, and returns its hash.
    #[inline]
    pub(super) fn write(&mut self, text: &'a str, table: &Table, out: &mut Vec<u8>) -> u64 {
        match text.as_bytes() {
            [] => {
                out.push(0);
                return 0;
            }
            [byte @ codes::CHARACTER_FIRST..=codes::CHARACTER_LAST] => {
                out.push(*byte);
                return u64::from(*byte);
            }
            _ => {}
        }
        let hash = fingerprint::text(text);
        match table.number_hashed(text, hash) {
            Some(number) => paged(number, codes::TABLE_PAGES, codes::TABLE_FAR, out),
            None => self.write_foreign(text, hash, out),
        }
        hash
    }

    /// Appends a string with this hash that is not in the table.
    #[inline]
    pub(super) fn write_foreign(&mut self, text: &'a str, hash: u64, out: &mut Vec<u8>) {
        match self.numbers.find(hash, |number| self.texts[number as usize] == text) {
            Some(number) if number < codes::SEEN_IN_ONE.into() => out.push(codes::SEEN + number as u8),
            Some(number) => {
                let number = number - u32::from(codes::SEEN_IN_ONE);
                paged(number, codes::SEEN_PAGES, codes::SEEN_FAR, out);
            }
            None => {
                literal(text, self.texts.last().copied().unwrap_or_default(), out);
                if text.len() > 1 {
                    self.numbers.insert(hash, self.texts.len() as u32);
                    self.texts.push(text);
                }
            }
        }
    }
}

/// Appends a number in two bytes if it is on one of the eight pages, otherwise after a code of its own.
fn paged(number: u32, pages: u8, far: u8, out: &mut Vec<u8>) {
    if number < u32::from(codes::PAGES) << 8 {
        out.extend_from_slice(&[pages + (number >> 8) as u8, number as u8]);
    } else {
        out.push(far);
        varint::write(number.into(), out);
    }
}

fn literal(text: &str, before: &str, out: &mut Vec<u8>) {
    if let Some(bytes) = uuid(text) {
        out.push(codes::UUID);
        out.extend_from_slice(&bytes);
        return;
    }
    let same = shared(text, before);
    let rest = &text.as_bytes()[same..];
    if (codes::LIKE_LEAST..=codes::LIKE_MOST).contains(&same)
        && (1..=codes::LIKE_REST_MOST).contains(&rest.len())
    {
        out.push(codes::LIKE + ((same - codes::LIKE_LEAST) * codes::LIKE_REST_MOST + rest.len() - 1) as u8);
        out.extend_from_slice(rest);
    } else if same > 2 {
        out.push(codes::LIKE_FAR);
        varint::write(same as u64, out);
        varint::write(rest.len() as u64, out);
        out.extend_from_slice(rest);
    } else {
        if text.len() <= codes::SHORT_MOST.into() {
            out.push(text.len() as u8);
        } else {
            out.push(codes::LONG);
            varint::write(text.len() as u64 - 32, out);
        }
        out.extend_from_slice(text.as_bytes());
    }
}

/// Returns the length of the common prefix in whole characters.
fn shared(text: &str, before: &str) -> usize {
    let same = text.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// The positions of the dashes of a UUID.
const DASHES: [usize; 4] = [8, 13, 18, 23];

/// Returns the bytes of a lowercase UUID.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (at, byte) in text.iter().enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'-' if DASHES.contains(&at) => continue,
            _ => return None,
        };
        *bytes.get_mut(digits / 2)? |= digit << (4 * (1 - digits % 2));
        digits += 1;
    }
    (digits == 32).then_some(bytes)
}

/// Formats a UUID.
pub(super) fn uuid_text(bytes: &[u8; 16]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    for byte in bytes {
        if DASHES.contains(&text.len()) {
            text.push('-');
        }
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowercase_uuid_is_sixteen_bytes() {
        let text = "0a9d2b9e-779e-11e7-b422-42010a8001be";
        assert_eq!(uuid(text).map(|bytes| uuid_text(&bytes)).as_deref(), Some(text));
        for other in [
            "0A9D2B9E-779E-11E7-B422-42010A8001BE",
            "0a9d2b9e-779e-11e7-b422-42010a8001b",
            "0a9d2b9e-779e-11e7-b422042010a8001be",
            "0a9d2b9e--79e-11e7-b422-42010a8001be",
            "0a9d2b9e0779e011e70b4220-2010a8001be",
        ] {
            assert_eq!(uuid(other), None, "{other}");
        }
    }

    #[test]
    fn a_common_prefix_ends_at_a_character_boundary() {
        assert_eq!(shared("größe", "gröse"), "grö".len());
        assert_eq!(shared("ä", "ö"), 0, "only their first bytes are equal");
    }

    #[test]
    fn a_string_takes_the_fewest_bytes() {
        let table = Table::of_strings(1, ["spec"]);
        let mut seen = Literals::default();
        let mut written = |text| {
            let mut out = Vec::new();
            seen.write(text, &table, &mut out);
            out
        };
        assert_eq!(written("spec"), [0xA8, 0]);
        assert_eq!(written(""), [0]);
        assert_eq!(written("k"), *b"k");
        assert_eq!(written("\u{7F}"), [1, 0x7F]);
        assert_eq!(written("VAR_1"), *b"\x05VAR_1");
        assert_eq!(written("VAR_2"), [0xC0 + 3 * 4, b'2']);
        assert_eq!(written("VAR_1"), [0x80]);
        assert_eq!(written("VAR_200000"), *b"\xB3\x05\x0500000");
        assert_eq!(written("VAR_2"), [0x81]);
    }
}
