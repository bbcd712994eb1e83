//! Variable-length integers with seven bits per byte, low bits first. Only the shortest encoding is valid.

/// Appends a number.
#[inline]
pub(super) fn write(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Decodes a number and returns it with its length; `None` if it is truncated, not minimal or exceeds 64
/// bits.
#[inline]
pub(super) fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    if let [low, high @ 1..0x80, ..] = bytes {
        return Some((u64::from(low & 0x7F) | u64::from(*high) << 7, 2));
    }
    let mut number = u64::from(first & 0x7F);
    for (at, byte) in bytes.iter().enumerate().take(10).skip(1) {
        let bits = u64::from(byte & 0x7F);
        if at == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * at);
        if byte & 0x80 == 0 {
            return (*byte != 0).then_some((number, at + 1));
        }
    }
    None
}

/// Zigzag-encodes a signed number, so that small absolute values are small.
pub(super) fn fold(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The inverse of [`fold`].
pub(super) fn unfold(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_encoding() {
        for number in [0, 1, 127, 128, 300, 1 << 14, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            write(number, &mut bytes);
            assert_eq!(read(&bytes), Some((number, bytes.len())));
            bytes.pop();
            assert_eq!(read(&bytes), None, "cut off");
        }
        assert_eq!(read(&[0x80, 0]), None, "not minimal");
        assert_eq!(read(&[0xFF; 10]), None, "exceeds 64 bits");
        assert_eq!(read(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]), None, "exceeds 64 bits");
    }

    #[test]
    fn signed_numbers_round_trip() {
        for number in [0, 1, -1, 2, -2, i64::MAX, i64::MIN] {
            assert_eq!(unfold(fold(number)), number);
        }
        assert_eq!(fold(-1), 1);
    }
}
