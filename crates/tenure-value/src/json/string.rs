//! Decoding of JSON strings. Most strings contain no escapes and are copied from the text; the decoder is for
//! the others, and replaces invalid Unicode with U+FFFD as Go does.

use crate::Text;

/// Returns the offset of the first byte from `start` on that is a quote, a backslash or a control
/// character, or the length of the text.
#[inline]
pub(super) fn plain_end(text: &[u8], start: usize) -> usize {
    let (words, rest) = text.get(start..).unwrap_or_default().as_chunks::<8>();
    let mut at = start;
    for word in words {
        let ends = ends_plain(u64::from_le_bytes(*word));
        if ends != 0 {
            return at + (ends.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).unwrap_or(rest.len())
}

/// Checks eight bytes at once: the lowest set bit of the result belongs to the first quote; the bits above it
/// are undefined.
#[inline]
pub(super) fn quotes(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let word = word ^ (ONES * 0x22);
    word.wrapping_sub(ONES) & !word & (ONES * 0x80)
}

/// Checks eight bytes at once: the lowest set bit of the result belongs to the first byte that ends a plain
/// run; the bits above it are undefined.
#[inline]
fn ends_plain(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let quotes = below(word ^ (ONES * 0x22), 1);
    let backslashes = below(word ^ (ONES * 0x5C), 1);
    let controls = below(word, 0x20);
    (quotes | backslashes | controls) & (ONES * 0x80)
}

/// Creates a string, inline if it is short.
#[inline]
pub(super) fn text(plain: &str) -> Text {
    const INLINE: usize = 23;
    if plain.len() <= INLINE { Text::new_inline(plain) } else { Text::new(plain) }
}

/// Decodes a string from `start` whose first byte that is not plain is at `end`, and returns the offset after
/// the closing quote; or the offset of the invalid byte with its context.
pub(super) fn decode(
    text: &[u8],
    start: usize,
    end: usize,
    decoded: &mut String,
) -> Result<usize, (usize, &'static str)> {
    decoded.clear();
    let (mut start, mut end) = (start, end);
    loop {
        push_plain(decoded, text.get(start..end).unwrap_or_default());
        match text.get(end) {
            Some(b'"') => return Ok(end + 1),
            Some(b'\\') => start = escape(text, end + 1, decoded)?,
            _ => return Err((end, "in string literal")),
        }
        end = plain_end(text, start);
    }
}

/// Appends bytes; each invalid byte becomes U+FFFD.
fn push_plain(decoded: &mut String, bytes: &[u8]) {
    if let Ok(plain) = std::str::from_utf8(bytes) {
        decoded.push_str(plain);
        return;
    }
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

/// Decodes the escape after the backslash at `at - 1`, and returns the offset after it.
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

/// Decodes four hexadecimal digits, and the following escape if both form a surrogate pair.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_ends_at_the_first_special_byte() {
        for byte in 0..=255 {
            for at in 0..20 {
                let mut text = *b"abcdefgh\x7f\xc3\xa9!#[]^~ yz";
                text[at] = byte;
                let expected =
                    text.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).unwrap_or(20);
                assert_eq!(plain_end(&text, 0), expected, "{byte:#x} at {at}");
                assert_eq!(plain_end(&text, at), expected, "{byte:#x} at {at}, from there");
            }
        }
    }
}
