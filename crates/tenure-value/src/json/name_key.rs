//! Keys of field names in hash tables.

/// The first sixteen bytes of a name, padded with zeros. Names contain no zero bytes, so shorter names with equal keys
/// are equal.
pub(super) type NameKey = [u64; 2];

/// Returns the hash of a key.
#[inline]
pub(super) const fn hash(key: NameKey) -> u64 {
    (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}
