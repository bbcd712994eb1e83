//! A cache of the field names of a document. Documents repeat few names many times, and cloning a [`Text`] is
//! several times cheaper than creating one. On a collision, the new name replaces the cached one.

use super::{
    frequent_names,
    name_key::{NameKey, hash},
    string,
};
use crate::Text;

#[derive(Default)]
pub(super) struct NameCache {
    names: Vec<(NameKey, Text)>,
    /// The number of slots to allocate when the first name is added.
    slots: usize,
}

impl NameCache {
    /// Sets the number of slots for a text of that length; in a short text few names repeat.
    pub(super) fn reserve(&mut self, length: usize) {
        self.slots = self.names.len().max(if length < 4096 { 16 } else { 64 });
    }

    /// Reads the name at `start` and returns it with its [`sort_prefix`](crate::prefix::sort_prefix) and the
    /// offset after its closing quote. Returns `None` for a name that is long, contains escapes, or is near
    /// the end of the text.
    #[inline]
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        text: Option<&str>,
        start: usize,
    ) -> Option<(&Text, u64, usize)> {
        let rest = bytes.get(start..)?;
        if let Some((name, order, length)) = frequent(rest) {
            return Some((name, order, start + length + 1));
        }
        let (key, length) = key(rest)?;
        let end = start + length;
        if self.names.len() < self.slots {
            self.names.clear();
            self.names.resize(self.slots, ([0; 2], Text::default()));
        }
        let slot = self.names.get_mut(hash(key) as usize & self.slots.wrapping_sub(1))?;
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

/// Returns the frequent name at the start of a text, up to its closing quote, with its
/// [`sort_prefix`](crate::prefix::sort_prefix) and its length.
#[inline(always)]
pub(super) fn frequent(text: &[u8]) -> Option<(&'static Text, u64, usize)> {
    let (key, length) = key(text)?;
    let order = key[0].swap_bytes();
    if length < 16 {
        return Some((frequent_names::find(key, |_| true)?, order, length));
    }
    let name = long(key, text)?;
    Some((name, order, name.len()))
}

/// Returns the frequent name of sixteen bytes or more at the start of a text.
#[inline(never)]
fn long(key: NameKey, text: &[u8]) -> Option<&'static Text> {
    let quoted = |rest: &[u8]| rest.first() == Some(&b'"');
    frequent_names::find(key, |name| text.strip_prefix(name.as_bytes()).is_some_and(quoted))
}

/// Returns the key of the name at the start of a text and the number of its bytes, sixteen at most. Escapes
/// and control characters are not checked: no frequent name contains any.
#[inline]
fn key(text: &[u8]) -> Option<(NameKey, usize)> {
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
    fn names_are_returned_unchanged_after_collisions() {
        let text: String = (0..500).map(|number| format!("{}name\"", number * 7919)).collect();
        let mut names = NameCache::default();
        names.reserve(1 << 20);
        for _ in 0..2 {
            let mut start = 0;
            for plain in text.split_terminator('"') {
                let end = start + plain.len() + 1;
                if start + 16 <= text.len() {
                    let (name, order, behind) = names.read(text.as_bytes(), Some(&text), start).unwrap();
                    assert_eq!(
                        (name.as_str(), order, behind),
                        (plain, crate::prefix::sort_prefix(plain), end)
                    );
                }
                start = end;
            }
        }
    }
}
