//! The tree to JSON, compact, names in order. What must be escaped depends on the [`Style`] and is
//! looked up byte by byte in a table, so that plain runs are copied whole.

use super::number;
use crate::Value;

/// Which characters a string shows in escaped form beyond those that JSON asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As Kubernetes writes: also `<`, `>`, `&`, U+2028 and U+2029, so that HTML and JavaScript may hold it.
    #[default]
    Kubernetes,
    /// Nothing more.
    Plain,
}

/// What a byte of a string needs: 0 nothing, `u` a numeric escape, `?` a look at what follows, or
/// the letter behind the backslash.
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
    // The first byte of U+2028 and U+2029, and of much else.
    table[0xE2] = b'?';
    table
};

/// Appends the value as JSON.
pub fn write_styled(value: &Value, style: Style, out: &mut Vec<u8>) {
    match style {
        Style::Kubernetes => write_value(value, &KUBERNETES, out),
        Style::Plain => write_value(value, &PLAIN, out),
    }
}

/// Appends a string in quotes.
pub fn write_text(text: &str, style: Style, out: &mut Vec<u8>) {
    match style {
        Style::Kubernetes => write_string(text, &KUBERNETES, out),
        Style::Plain => write_string(text, &PLAIN, out),
    }
}

fn write_value(value: &Value, escapes: &Escapes, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::UInt(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Float(number) => number::write_float(*number, out),
        Value::String(text) => write_string(text, escapes, out),
        Value::Array(items) => {
            let mut separator = b'[';
            for item in items {
                out.push(separator);
                separator = b',';
                write_value(item, escapes, out);
            }
            out.extend_from_slice(if separator == b'[' { b"[]" } else { b"]" });
        }
        Value::Object(object) => {
            let mut separator = b'{';
            for (name, value) in object {
                out.push(separator);
                separator = b',';
                write_string(name, escapes, out);
                out.push(b':');
                write_value(value, escapes, out);
            }
            out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
        }
    }
}

fn write_string(text: &str, escapes: &Escapes, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.push(b'"');
    match bytes.iter().position(|byte| escapes[usize::from(*byte)] != 0) {
        None => out.extend_from_slice(bytes),
        Some(first) => write_escaped(bytes, first, escapes, out),
    }
    out.push(b'"');
}

/// Writes a string whose first byte to escape is at `first`.
fn write_escaped(bytes: &[u8], first: usize, escapes: &Escapes, out: &mut Vec<u8>) {
    let (plain, rest) = bytes.split_at(first);
    out.extend_from_slice(plain);
    let mut rest = rest;
    while let [byte, after @ ..] = rest {
        let (byte, mut after) = (*byte, after);
        match escapes[usize::from(byte)] {
            0 => out.push(byte),
            b'u' => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            b'?' => match after {
                [0x80, last @ (0xA8 | 0xA9), behind @ ..] => {
                    out.extend_from_slice(if *last == 0xA8 { b"\\u2028" } else { b"\\u2029" });
                    after = behind;
                }
                _ => out.push(byte),
            },
            letter => out.extend_from_slice(&[b'\\', letter]),
        }
        rest = after;
    }
}
