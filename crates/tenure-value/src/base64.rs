//! Standard base64 with padding. The decoder skips line breaks, as Go does.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = (group >> (18 - 6 * at) & 63) as usize;
            out.push(if at <= chunk.len() { char::from(ALPHABET[digit]) } else { '=' });
        }
    }
    out
}

/// Decodes bytes; the error is the offset of the first invalid byte.
pub fn decode(text: impl AsRef<[u8]>) -> Result<Vec<u8>, usize> {
    let text = text.as_ref();
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut digits, mut padding) = (0u32, 0, 0);
    for (at, byte) in text.iter().copied().enumerate().filter(|(_, byte)| !matches!(byte, b'\n' | b'\r')) {
        if byte == b'=' {
            padding += 1;
            if digits < 2 || digits + padding > 4 {
                return Err(at);
            }
            if digits + padding == 4 {
                out.extend((0..digits - 1).map(|byte| (group << (6 * padding) >> (16 - 8 * byte)) as u8));
                digits = 4;
            }
            continue;
        }
        // After one of two paddings, the error is where the second should be.
        let wrong = if digits == 2 && padding == 1 { at - 1 } else { at };
        let digit = value(byte).filter(|_| padding == 0).ok_or(wrong)?;
        if digits == 4 {
            (group, digits) = (0, 0);
        }
        group = group << 6 | digit;
        digits += 1;
        if digits == 4 {
            out.extend([(group >> 16) as u8, (group >> 8) as u8, group as u8]);
            (group, digits) = (0, 0);
        }
    }
    match digits {
        0 | 4 => Ok(out),
        _ if padding > 0 => Err(text.len()),
        incomplete => Err(text.len() - incomplete),
    }
}

fn value(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_bytes_decode_to_the_same() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("hello\n", "aGVsbG8K"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text), Ok(bytes.as_bytes().to_vec()), "{text}");
        }
        assert_eq!(decode("Zm9v\nYg==\n"), Ok(b"foob".to_vec()));
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&all)), Ok(all));
    }

    #[test]
    fn invalid_base64_is_rejected_with_the_offset() {
        for (text, at) in
            [("***", 0), ("Zg", 0), ("Zg=", 3), ("Z", 0), ("Zg==Z", 4), ("Zg===", 4), ("Zm=v", 2), ("=", 0)]
        {
            assert_eq!(decode(text), Err(at), "{text}");
        }
    }
}
