//! The sort prefix of a name: most comparisons of names are decided by it, without a look at the rest of the name.

/// Returns the first eight bytes of a string as a number. If the numbers of two strings differ, the strings compare
/// in the same way.
#[inline]
pub fn sort_prefix(text: &str) -> u64 {
    let bytes = text.as_bytes();
    match (bytes.first_chunk(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(eight), ..) => u64::from_be_bytes(*eight),
        (None, Some(first), Some(last)) => {
            // Four to seven bytes: the last four, shifted so that they overlap with the first four.
            let last = u64::from(u32::from_be_bytes(*last)) << (8 * (8 - bytes.len()));
            u64::from(u32::from_be_bytes(*first)) << 32 | last
        }
        _ => {
            bytes.iter().zip([56, 48, 40]).fold(0, |number, (byte, shift)| number | u64::from(*byte) << shift)
        }
    }
}
