//! Escapes in string and bytes literals, and quoting for printing.

use std::fmt::Write;
use tenure_value::Text;

/// Returns the string of a literal.
pub(crate) fn unescape(body: &str, raw: bool) -> Result<Text, String> {
    let body = unify_line_ends(body);
    if raw || !body.contains('\\') {
        return Ok(body.as_str().into());
    }
    let mut out = String::with_capacity(body.len());
    let mut rest = body.as_str();
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let (code, length, is_byte) = escaped(escape)?;
        // In a string, \x41 and \101 are characters.
        let _ = is_byte;
        out.push(char::from_u32(code).ok_or("invalid unicode code point")?);
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out.into())
}

/// Returns the bytes of a literal.
pub(crate) fn unescape_bytes(body: &str, raw: bool) -> Result<Vec<u8>, String> {
    let body = unify_line_ends(body);
    if raw {
        return Ok(body.into_bytes());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body.as_str();
    while let Some((before, escape)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        let (code, length, is_byte) = escaped(escape)?;
        if matches!(escape.as_bytes().first(), Some(b'u' | b'U')) {
            return Err(format!(
                "unable to unescape string: \\{} is not a byte",
                escape.get(..1).unwrap_or_default()
            ));
        }
        match u8::try_from(code) {
            Ok(byte) if is_byte || byte < 0x80 => out.push(byte),
            _ => return Err("unable to unescape string".into()),
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

fn unify_line_ends(body: &str) -> String {
    match body.contains('\r') {
        true => body.replace("\r\n", "\n").replace('\r', "\n"),
        false => body.to_string(),
    }
}

/// Parses an escape after its backslash: the code, the length of the escape, and whether it denotes a byte.
fn escaped(escape: &str) -> Result<(u32, usize, bool), String> {
    let first = escape.chars().next().ok_or("unable to unescape string, found '\\' as last character")?;
    let plain = |code: char| Ok((u32::from(code), first.len_utf8(), false));
    let digits = |from: usize, count: usize, radix: u32| {
        let digits =
            escape.get(from..from + count).filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok());
        code.map(|code| (code, from + count)).ok_or_else(|| format!("unable to unescape string: \\{first}"))
    };
    match first {
        'a' => plain('\x07'),
        'b' => plain('\x08'),
        'f' => plain('\x0c'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\x0b'),
        '\\' | '\'' | '"' | '`' | '?' => plain(first),
        'x' | 'X' => digits(1, 2, 16).map(|(code, length)| (code, length, true)),
        'u' => digits(1, 4, 16).map(|(code, length)| (code, length, false)),
        'U' => digits(1, 8, 16).map(|(code, length)| (code, length, false)),
        '0'..='3' => digits(0, 3, 8).map(|(code, length)| (code, length, true)),
        other => Err(format!("Syntax error: token recognition error at: '\\{other}'")),
    }
}

/// Quotes a string so that it parses to the same string.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Quotes bytes so that they parse to the same bytes.
pub(crate) fn quote_bytes(bytes: &[u8], out: &mut String) {
    out.push_str("b\"");
    for byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(char::from(*byte)),
            // Writing to a string cannot fail.
            other => drop(write!(out, "\\x{other:02x}")),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_denote_characters_or_bytes() {
        for (body, expected) in
            [(r"a\n", "a\n"), (r"\x41\101\u0041\U00000041", "AAAA"), (r"\U0001F600", "😀"), ("\r\n", "\n")]
        {
            assert_eq!(unescape(body, false).as_deref(), Ok(expected), "{body}");
        }
        assert_eq!(unescape(r"\n", true).as_deref(), Ok(r"\n"));
        assert_eq!(unescape_bytes(r"\xff\377", false), Ok(vec![255, 255]));
        for wrong in [r"\q", r"\x4", r"\ud800", r"\400"] {
            assert!(unescape(wrong, false).is_err(), "{wrong}");
        }
    }
}
