//! The text that JSON has for a byte string in an "expected later encoding" tag (RFC 8949, 3.4.5.2).

use tenure_value::base64;

/// How a byte string is written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaterEncoding {
    /// base64url without padding, tag 21.
    Base64Url,
    /// base64, tag 22.
    Base64,
    /// Hexadecimal in lower case, tag 23.
    Base16,
}

impl LaterEncoding {
    /// Returns the encoding of a tag.
    pub fn of(tag: u64) -> Option<LaterEncoding> {
        match tag {
            21 => Some(LaterEncoding::Base64Url),
            22 => Some(LaterEncoding::Base64),
            23 => Some(LaterEncoding::Base16),
            _ => None,
        }
    }

    /// Returns the text of bytes.
    pub fn text(self, bytes: &[u8]) -> String {
        match self {
            LaterEncoding::Base64 => base64::encode(bytes),
            LaterEncoding::Base64Url => {
                let text = base64::encode(bytes);
                text.trim_end_matches('=').replace('+', "-").replace('/', "_")
            }
            LaterEncoding::Base16 => {
                let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
                bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
            }
        }
    }
}
