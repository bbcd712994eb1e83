//! The field names of one document, each made once. Documents repeat few names many times, and copying
//! a finished [`Text`] is several times cheaper than making one; a name that finds its slot taken by
//! another simply takes it over.

use super::string;
use crate::Text;

/// The first sixteen bytes of a name, zero behind its end; a name is never longer than this here and
/// holds no zero, so equal keys are equal names.
type Key = [u64; 2];

pub(super) struct Names(Vec<(Key, Text)>);

impl Names {
    /// Makes room for the names of a text of that length; in a short one few repeat.
    pub(super) fn new(length: usize) -> Names {
        Names(vec![([0; 2], Text::default()); if length < 4096 { 8 } else { 64 }])
    }

    /// Returns the name `plain`, which begins at `start` in the text, and its [`order_of`]; none for a
    /// long one, or one near the text's end.
    #[inline]
    pub(super) fn name(&mut self, text: &[u8], start: usize, plain: &str) -> Option<(&Text, u64)> {
        let key = key(text, start, plain.len())?;
        let mixed = (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = (mixed >> 32) as usize & (self.0.len() - 1);
        let slot = self.0.get_mut(place)?;
        if slot.0 != key {
            slot.0 = key;
            slot.1 = string::text(plain);
        }
        Some((&slot.1, key[0].swap_bytes()))
    }
}

/// The first eight bytes of a name as a number: where two numbers differ, their names differ alike.
pub(super) fn order_of(name: &str) -> u64 {
    let mut bytes = [0; 8];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    u64::from_be_bytes(bytes)
}

/// Reads a name of at most sixteen bytes as two words; none for a longer one, or near the text's end.
#[inline]
fn key(text: &[u8], start: usize, length: usize) -> Option<Key> {
    let bytes = text.get(start..)?.first_chunk::<16>()?;
    let words = u128::from_le_bytes(*bytes);
    let words = match length {
        0 => 0,
        1..=16 => words & (u128::MAX >> (128 - 8 * length)),
        _ => return None,
    };
    Some([words as u64, (words >> 64) as u64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_are_whoever_had_their_slot_before() {
        let text: String =
            (0..500).map(|number| format!("{}name", number * 7919)).collect::<Vec<_>>().join("\0");
        let mut names = Names::new(1 << 20);
        for _ in 0..2 {
            let mut start = 0;
            for plain in text.split('\0') {
                if let Some((name, order)) = names.name(text.as_bytes(), start, plain) {
                    assert_eq!((name.as_str(), order), (plain, order_of(plain)));
                }
                start += plain.len() + 1;
            }
        }
    }

    #[test]
    fn where_orders_differ_names_differ_alike() {
        let names = ["", "\0", "a", "a\0", "ab", "abcdefgh", "abcdefghi", "b", "é"];
        for a in names {
            for b in names {
                let (by_order, by_name) = (order_of(a).cmp(&order_of(b)), a.cmp(b));
                assert!(by_order.is_eq() || by_order == by_name, "{a:?} {b:?}");
            }
        }
    }
}
