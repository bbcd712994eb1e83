//! The JSON printer: compact, names in order. A string is copied and searched for characters to escape eight
//! bytes at a time; the escapes come from a table.

use super::number;
use crate::{Object, Value};

/// Which characters are escaped in addition to those required by JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As Kubernetes does: also `<`, `>`, `&`, U+2028 and U+2029, so that the output is safe in HTML and
    /// JavaScript.
    #[default]
    Kubernetes,
    /// No others.
    Plain,
}

/// The escape of each byte: 0 for none, `u` for a numeric escape, `?` if it depends on the following bytes,
/// or the letter after the backslash.
type Escapes = [u8; 256];

const PLAIN: Escapes = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[b'\t' as usize] = b't';
    table[b'\n' as usize] = b'n';
    table[0x0C] = b'f';
    table[b'\r' as usize] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

const KUBERNETES: Escapes = {
    let mut table = PLAIN;
    table[b'<' as usize] = b'u';
    table[b'>' as usize] = b'u';
    table[b'&' as usize] = b'u';
    // The first byte of U+2028 and U+2029, and of many other characters.
    table[0xE2] = b'?';
    table
};

/// Appends the value as JSON.
pub fn write_styled(value: &Value, style: Style, out: &mut Vec<u8>) {
    Printer::append(out, style, |printer| printer.value(value));
}

/// Appends a quoted string.
pub fn write_text(text: &str, style: Style, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    if !is_plain(bytes) {
        return Printer::append(out, style, |printer| printer.escaped(bytes));
    }
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    out.extend_from_slice(bytes);
    out.push(b'"');
}

/// Prints objects whose members the caller goes through itself, to know where they begin.
pub struct ObjectPrinter(Printer);

impl ObjectPrinter {
    /// Calls `print` with a printer that appends to `out`.
    pub fn append(out: &mut Vec<u8>, style: Style, print: impl FnOnce(&mut ObjectPrinter)) {
        let mut printer = ObjectPrinter(Printer::start(out, style));
        print(&mut printer);
        *out = printer.0.finish();
    }

    /// Prints an object; `print` is given the offset at which a member begins, and prints its value.
    pub fn object(
        &mut self,
        object: &Object,
        mut print: impl FnMut(&mut ObjectPrinter, usize, &str, &Value),
    ) {
        let mut separator = b'{';
        for (name, value) in object {
            let start = self.0.length + 1;
            self.0.name(separator, name);
            separator = b',';
            print(self, start, name, value);
        }
        self.0.bytes(if separator == b'{' { b"{}" } else { b"}" });
    }

    /// Prints a value.
    pub fn value(&mut self, value: &Value) {
        self.0.value(value);
    }
}

/// Whether no byte needs escaping in any style. The last words may overlap.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |word: &[u8; 8]| special(u64::from_le_bytes(*word)) == 0;
    match (bytes.last_chunk(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(last), _, _) => plain(last) && bytes.as_chunks().0.iter().all(plain),
        (_, Some(first), Some(last)) => special(pair(*first, *last)) == 0,
        _ => bytes.iter().all(|byte| KUBERNETES[usize::from(*byte)] == 0),
    }
}

/// Returns two words of four bytes as one.
fn pair(first: [u8; 4], last: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(first)) << 32 | u64::from(u32::from_le_bytes(last))
}

/// Writes into a buffer with spare initialized bytes, so that the capacity is checked once per string.
struct Printer {
    buffer: Vec<u8>,
    /// Where the output begins.
    start: usize,
    /// The length of the output.
    length: usize,
    escapes: &'static Escapes,
}

impl Printer {
    /// Calls `print` with a printer that appends to `out`.
    fn append(out: &mut Vec<u8>, style: Style, print: impl FnOnce(&mut Printer)) {
        let mut printer = Printer::start(out, style);
        print(&mut printer);
        *out = printer.finish();
    }

    fn start(out: &mut Vec<u8>, style: Style) -> Printer {
        let escapes = match style {
            Style::Kubernetes => &KUBERNETES,
            Style::Plain => &PLAIN,
        };
        let start = out.len();
        Printer { buffer: std::mem::take(out), start, length: start, escapes }
    }

    /// Returns the buffer with what was printed.
    fn finish(mut self) -> Vec<u8> {
        self.buffer.truncate(self.length);
        self.buffer
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Object(object) => {
                let mut separator = b'{';
                for (name, value) in object {
                    self.name(separator, name);
                    separator = b',';
                    match value {
                        Value::String(text) => self.string(text),
                        value => self.value(value),
                    }
                }
                self.bytes(if separator == b'{' { b"{}" } else { b"}" });
            }
            Value::Array(items) => {
                let mut separator = b'[';
                for item in items {
                    self.byte(separator);
                    separator = b',';
                    self.value(item);
                }
                self.bytes(if separator == b'[' { b"[]" } else { b"]" });
            }
            Value::Int(number) => self.bytes(itoa::Buffer::new().format(*number).as_bytes()),
            Value::UInt(number) => self.bytes(itoa::Buffer::new().format(number.get()).as_bytes()),
            Value::Float(number) => {
                let mut written = Vec::with_capacity(32);
                number::write_float(number.get(), &mut written);
                self.bytes(&written);
            }
            Value::Bool(true) => self.bytes(b"true"),
            Value::Bool(false) => self.bytes(b"false"),
            Value::Null => self.bytes(b"null"),
        }
    }

    /// Writes what is before the value of a member.
    #[inline]
    fn name(&mut self, separator: u8, name: &str) {
        let bytes = name.as_bytes();
        if let [before, open, body @ .., close, colon] = self.room(bytes.len() + 4)
            && copy_plain(bytes, body)
        {
            (*before, *open, *close, *colon) = (separator, b'"', b'"', b':');
            self.length += bytes.len() + 4;
            return;
        }
        self.byte(separator);
        self.escaped(bytes);
        self.byte(b':');
    }

    #[inline]
    fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if let [open, body @ .., close] = self.room(bytes.len() + 2)
            && copy_plain(bytes, body)
        {
            *open = b'"';
            *close = b'"';
            self.length += bytes.len() + 2;
            return;
        }
        self.escaped(bytes);
    }

    /// Writes a string that may contain bytes to escape.
    #[inline(never)]
    fn escaped(&mut self, bytes: &[u8]) {
        self.byte(b'"');
        let mut rest = bytes;
        while let Some(word) = rest.first_chunk::<8>() {
            let found = special(u64::from_le_bytes(*word));
            let plain = (found.trailing_zeros() / 8) as usize;
            // All eight bytes are written; those from the first special one on are overwritten.
            self.room(8).copy_from_slice(word);
            self.length += plain;
            rest = rest.get(plain..).unwrap_or_default();
            if found != 0 {
                rest = self.escape(rest);
            }
        }
        while !rest.is_empty() {
            rest = self.escape(rest);
        }
        self.byte(b'"');
    }

    /// Writes the first byte, escaped if necessary, and returns the bytes after it.
    #[inline]
    fn escape<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let [byte, after @ ..] = bytes else { return bytes };
        match (self.escapes[usize::from(*byte)], after) {
            (0, _) => self.byte(*byte),
            (b'u', _) => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                self.bytes(b"\\u00");
                self.bytes(&digits);
            }
            (b'?', [0x80, last @ (0xA8 | 0xA9), behind @ ..]) => {
                self.bytes(if *last == 0xA8 { b"\\u2028" } else { b"\\u2029" });
                return behind;
            }
            (b'?', _) => self.byte(*byte),
            (letter, _) => self.bytes(&[b'\\', letter]),
        }
        after
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.room(1).first_mut() {
            *place = byte;
        }
        self.length += 1;
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Returns a slice for the next bytes to write.
    #[inline]
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.buffer.len() - self.length < bytes {
            self.grow(bytes);
        }
        &mut self.buffer[self.length..self.length + bytes]
    }

    /// Grows in proportion to what this printer has written, so that a short text at the end of a large
    /// buffer does not initialize all of its capacity.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        const LEAST: usize = 128;
        let ahead = (self.length - self.start).max(bytes).max(LEAST);
        self.buffer.resize(self.length + ahead, 0);
    }
}

/// Copies a string to a slice of the same length. Returns false if a byte may need escaping. For every length
/// this takes two or more loads and stores of fixed size, which may overlap.
#[inline]
fn copy_plain(from: &[u8], to: &mut [u8]) -> bool {
    let mut found = 0;
    if let (Some(last), Some(place)) = (from.last_chunk::<8>(), to.last_chunk_mut::<8>()) {
        *place = *last;
        found |= suspect(u64::from_le_bytes(*last));
        for (word, place) in from.as_chunks::<8>().0.iter().zip(to.as_chunks_mut::<8>().0) {
            *place = *word;
            found |= suspect(u64::from_le_bytes(*word));
        }
    } else if let (Some(first), Some(last)) = (from.first_chunk::<4>(), from.last_chunk::<4>()) {
        if let Some(place) = to.first_chunk_mut::<4>() {
            *place = *first;
        }
        if let Some(place) = to.last_chunk_mut::<4>() {
            *place = *last;
        }
        found = suspect(pair(*first, *last));
    } else {
        for (byte, place) in from.iter().zip(to) {
            *place = *byte;
            found |= u64::from(KUBERNETES[usize::from(*byte)]);
        }
    }
    found == 0 || is_plain(from)
}

/// Checks eight bytes at once: zero only if none of them needs escaping. Takes fewer steps than [`special`], and finds some bytes that
/// need none, such as a space.
#[inline]
fn suspect(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES * 0x80;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x28) | equal(word | (ONES * 0x02), b'>') | equal(word, b'\\') | word) & HIGH
}

/// Checks eight bytes at once: zero if none of them needs escaping in any style; otherwise the lowest set bit
/// belongs to the first byte that may, and the bits above it are undefined.
#[inline]
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES * 0x80;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    // One bit distinguishes `<` from `>`, and one `"` from `&`; a non-ASCII character may be U+2028.
    let angles = equal(word | (ONES * 0x02), b'>');
    let quotes = equal(word | (ONES * 0x04), b'&');
    (angles | quotes | equal(word, b'\\') | below(word, 0x20) | word) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_of_a_word_is_found() {
        for byte in 0..=255u8 {
            for at in 0..8 {
                let mut word = *b"!#;=[]~ ";
                word[at] = byte;
                let needs = |byte: &u8| KUBERNETES[usize::from(*byte)] != 0 || *byte >= 0x80;
                let expected = word.iter().position(needs).unwrap_or(8);
                let found = special(u64::from_le_bytes(word)).trailing_zeros() / 8;
                assert_eq!(found as usize, expected, "{byte:#x} at {at}");
                assert!(expected == 8 || suspect(u64::from_le_bytes(word)) != 0, "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn strings_of_every_length_are_copied_completely() {
        let text = "abcdefghijklmnopqrstuvwxyz0123456789";
        for length in 0..=text.len() {
            for special in 0..length {
                let mut plain = text[..length].to_owned();
                let mut out = b"before".to_vec();
                write_text(&plain, Style::Plain, &mut out);
                assert_eq!(out, format!("before\"{plain}\"").as_bytes());
                plain.replace_range(special..=special, "\"");
                out.clear();
                write_text(&plain, Style::Plain, &mut out);
                assert_eq!(out, format!("\"{}\"", plain.replace('"', "\\\"")).as_bytes());
            }
        }
    }
}
