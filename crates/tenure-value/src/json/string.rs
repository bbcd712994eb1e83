//! The inside of a JSON string. Most strings are plain and are copied from the text as they are; the
//! decoder here is for the others, and replaces what is not Unicode by U+FFFD as Go does.

use crate::Text;

/// Whether a byte ends a plain run: a quote, a backslash or a control character.
const ENDS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = true;
        control += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// Returns the offset of the first byte from `start` on that is not plain, or the length of the text.
#[inline]
pub(super) fn plain_end(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| ENDS_PLAIN[usize::from(*byte)]).unwrap_or(rest.len())
}

/// Decodes a string from `start` whose first byte that is not plain is at `end`, and returns it with the
/// offset behind the closing quote; or the offset of the byte that is wrong and where that is.
#[cold]
pub(super) fn decode(text: &[u8], start: usize, end: usize) -> Result<(Text, usize), (usize, &'static str)> {
    let mut decoded = String::with_capacity(2 * (end - start) + 16);
    let (mut start, mut end) = (start, end);
    loop {
        push_plain(&mut decoded, text.get(start..end).unwrap_or_default());
        match text.get(end) {
            Some(b'"') => return Ok((Text::from(decoded), end + 1)),
            Some(b'\\') => start = escape(text, end + 1, &mut decoded)?,
            _ => return Err((end, "in string literal")),
        }
        end = plain_end(text, start);
    }
}

/// Appends bytes; each one that is no part of a character becomes U+FFFD.
fn push_plain(decoded: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

/// Decodes the escape whose backslash stands before `at`, and returns the offset behind it.
fn escape(text: &[u8], at: usize, decoded: &mut String) -> Result<usize, (usize, &'static str)> {
    let character = match text.get(at) {
        Some(letter @ (b'"' | b'\\' | b'/')) => char::from(*letter),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{C}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let (character, end) = unicode(text, at + 1)?;
            decoded.push(character);
            return Ok(end);
        }
        _ => return Err((at, "in string escape code")),
    };
    decoded.push(character);
    Ok(at + 1)
}

/// Decodes four hexadecimal digits, and the escape that follows where both are a surrogate pair.
fn unicode(text: &[u8], at: usize) -> Result<(char, usize), (usize, &'static str)> {
    let unit = hexadecimal(text, at)?;
    let end = at + 4;
    if (0xD800..0xDC00).contains(&unit)
        && text.get(end..end + 2) == Some(br"\u")
        && let Ok(low @ 0xDC00..=0xDFFF) = hexadecimal(text, end + 2)
        && let Some(pair) = char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    {
        return Ok((pair, end + 6));
    }
    Ok((char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), end))
}

fn hexadecimal(text: &[u8], at: usize) -> Result<u32, (usize, &'static str)> {
    let mut unit = 0;
    for at in at..at + 4 {
        let digit = text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        unit = unit << 4 | digit.ok_or((at, r"in \u hexadecimal character escape"))?;
    }
    Ok(unit)
}
