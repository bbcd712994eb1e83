//! The field names of one document, each made once. Documents repeat few names many times, and copying
//! a finished [`Text`] is several times cheaper than making one; a name that finds its slot taken by
//! another simply takes it over.

use super::{known, string};
use crate::Text;

/// The first sixteen bytes of a name, zero behind its end; a name holds no zero, so equal keys of shorter
/// names are equal names.
pub(super) type Key = [u64; 2];

#[derive(Default)]
pub(super) struct Names {
    made: Vec<(Key, Text)>,
    /// How many slots there are when a name first needs one.
    slots: usize,
}

impl Names {
    /// Makes room for the names of a text of that length; in a short one few repeat.
    pub(super) fn make_room(&mut self, length: usize) {
        self.slots = self.made.len().max(if length < 4096 { 16 } else { 64 });
    }

    /// Reads the name that begins at `start` in the text, and returns it with its [`beginning`](crate::order::beginning) and the offset
    /// behind its closing quote; none for a long one, one to be decoded, and one near the text's end.
    #[inline]
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        text: Option<&str>,
        start: usize,
    ) -> Option<(&Text, u64, usize)> {
        let rest = bytes.get(start..)?;
        if let Some((name, order, length)) = known(rest) {
            return Some((name, order, start + length + 1));
        }
        let (key, length) = key(rest)?;
        let end = start + length;
        if self.made.len() < self.slots {
            self.made.clear();
            self.made.resize(self.slots, ([0; 2], Text::default()));
        }
        let slot = self.made.get_mut(mix(key) as usize & self.slots.wrapping_sub(1))?;
        if slot.0 != key || length == 16 {
            if length == 16 || string::plain_end(bytes, start) != end {
                return None;
            }
            slot.1 = string::text(text?.get(start..end)?);
            slot.0 = key;
        }
        Some((&slot.1, key[0].swap_bytes(), end + 1))
    }
}

/// Returns the name up to the quote with which a text begins, its [`beginning`](crate::order::beginning) and its length,
/// if it is one that is always known.
#[inline(always)]
pub(super) fn known(text: &[u8]) -> Option<(&'static Text, u64, usize)> {
    let (key, length) = key(text)?;
    let order = key[0].swap_bytes();
    if length < 16 {
        return Some((known::find(key, |_| true)?, order, length));
    }
    let name = long(key, text)?;
    Some((name, order, name.len()))
}

/// Returns the known name with which a text begins; it has sixteen bytes or more.
#[inline(never)]
fn long(key: Key, text: &[u8]) -> Option<&'static Text> {
    let quoted = |behind: &[u8]| behind.first() == Some(&b'"');
    known::find(key, |name| text.strip_prefix(name.as_bytes()).is_some_and(quoted))
}

/// Spreads keys over slots.
#[inline]
pub(super) const fn mix(key: Key) -> u64 {
    (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// Reads a name up to its closing quote, or its first sixteen bytes, and returns how many they are. Whether
/// it holds an escape or a control character is not looked at: no name that is known does.
#[inline]
fn key(text: &[u8]) -> Option<(Key, usize)> {
    let words = u128::from_le_bytes(*text.first_chunk()?);
    let (low, high) = (words as u64, (words >> 64) as u64);
    let before = |quotes: u64| !(u64::MAX << (quotes.trailing_zeros() & 0x38));
    let quotes = string::quotes(low);
    if quotes != 0 {
        return Some(([low & before(quotes), 0], (quotes.trailing_zeros() / 8) as usize));
    }
    let quotes = string::quotes(high);
    if quotes != 0 {
        return Some(([low, high & before(quotes)], 8 + (quotes.trailing_zeros() / 8) as usize));
    }
    Some(([low, high], 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_are_whoever_had_their_slot_before() {
        let text: String = (0..500).map(|number| format!("{}name\"", number * 7919)).collect();
        let mut names = Names::default();
        names.make_room(1 << 20);
        for _ in 0..2 {
            let mut start = 0;
            for plain in text.split_terminator('"') {
                let end = start + plain.len() + 1;
                if start + 16 <= text.len() {
                    let (name, order, behind) = names.read(text.as_bytes(), Some(&text), start).unwrap();
                    assert_eq!((name.as_str(), order, behind), (plain, crate::order::beginning(plain), end));
                }
                start = end;
            }
        }
    }
}
