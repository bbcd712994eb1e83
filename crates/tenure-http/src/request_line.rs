//! Request lines with characters that clients should escape and do not, such as `?labelSelector=a>1`. Go's servers take them as they are;
//! the parser of hyper refuses them.

/// Returns the first bytes of a request with these characters escaped in the target, if its first line has any.
pub(super) fn escaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    let target = memchr::memchr(b' ', &bytes[..end])?;
    let is_plain = |byte: &u8| !matches!(byte, b'"' | b'<' | b'>' | b'`');
    let first = target + bytes[target..end].iter().position(|byte| !is_plain(byte))?;
    let mut escaped = Vec::with_capacity(bytes.len() + 16);
    escaped.extend_from_slice(&bytes[..first]);
    for byte in &bytes[first..end] {
        match is_plain(byte) {
            true => escaped.push(*byte),
            false => escaped.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    escaped.extend_from_slice(&bytes[end..]);
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn the_target_alone_is_escaped() {
        let cases = [
            ("GET /a?b=c>1,d<2 HTTP/1.1\r\nX: <>\r\n\r\n", "GET /a?b=c%3E1,d%3C2 HTTP/1.1\r\nX: <>\r\n\r\n"),
            ("GET /\"`? HTTP/1.1", "GET /%22%60? HTTP/1.1"),
        ];
        for (given, expected) in cases {
            assert_eq!(escaped(given.as_bytes()).as_deref(), Some(expected.as_bytes()), "{given}");
        }
        for given in ["GET /a?b=c%3E1 HTTP/1.1\r\nX: <>\r\n\r\n", "<html>", "G<T\r\n /<", ""] {
            assert_eq!(escaped(given.as_bytes()), None, "{given}");
        }
    }
}
