//! The phrases of a table: for decoding, the steps of each code; for encoding, a trie that finds the longest
//! phrase at the start of a sequence of steps.

use super::{
    Table,
    prepared::{PhrasePart, prepare},
    step::Step,
};
use crate::compact::fingerprint::HashIndex;

/// The number of phrases with a code of one byte: the codes below those of single steps.
pub(crate) const SHORT_PHRASES: usize = 208;
/// The maximum number of phrases of a table: after the short ones, three pages of 256 with a code of two bytes.
pub(crate) const MAX_PHRASES: usize = SHORT_PHRASES + 3 * 256;

/// The phrases of a table, by code.
#[derive(Clone, Default)]
pub(crate) struct Phrases {
    steps: Vec<Step>,
    /// The start of each phrase in `steps`, and the end of the last one.
    starts: Vec<u32>,
    /// Each phrase prepared for decoding.
    prepared: Vec<Vec<PhrasePart>>,
    /// The trie state after the first step, by the identity of the step; 0 if no phrase starts with it.
    first: Vec<u16>,
    /// The trie state after a state and a step.
    next: HashIndex,
    /// The number of the phrase that ends in each state.
    codes: Vec<Option<u16>>,
}

fn edge(state: u16, identity: u16) -> u64 {
    // An odd factor keeps different edges distinct.
    ((u64::from(state) << 16 | u64::from(identity)).wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(28)
}

impl Phrases {
    /// Creates the phrases in the order of their codes; those beyond the maximum are dropped.
    pub(crate) fn new(phrases: &[Vec<Step>], table: &Table) -> Phrases {
        let mut all = Phrases { starts: vec![0], codes: vec![None], ..Phrases::default() };
        for (code, phrase) in phrases.iter().take(MAX_PHRASES).enumerate() {
            all.steps.extend_from_slice(phrase);
            all.starts.push(all.steps.len() as u32);
            all.prepared.push(prepare(phrase, table));
            all.add(code as u16, phrase);
        }
        all
    }

    fn add(&mut self, code: u16, phrase: &[Step]) {
        let mut state = 0;
        for (at, step) in phrase.iter().enumerate() {
            let identity = step.identity();
            let known = if at == 0 { self.begin(identity) } else { self.after(state, identity) };
            state = known.unwrap_or_else(|| {
                let new = self.codes.len() as u16;
                self.codes.push(None);
                if at == 0 {
                    let place = usize::from(identity);
                    self.first.resize(self.first.len().max(place + 1), 0);
                    self.first[place] = new;
                } else {
                    self.next.insert(edge(state, identity), new.into());
                }
                new
            });
        }
        if state != 0 {
            self.codes[usize::from(state)] = Some(code);
        }
    }

    #[inline]
    fn begin(&self, identity: u16) -> Option<u16> {
        self.first.get(usize::from(identity)).copied().filter(|state| *state != 0)
    }

    #[inline]
    fn after(&self, state: u16, identity: u16) -> Option<u16> {
        self.next.find(edge(state, identity), |_| true).map(|state| state as u16)
    }

    /// Returns the number of phrases.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns the steps of a code.
    #[inline]
    pub(crate) fn steps(&self, code: u16) -> Option<&[Step]> {
        let start = *self.starts.get(usize::from(code))?;
        let end = *self.starts.get(usize::from(code) + 1)?;
        self.steps.get(start as usize..end as usize)
    }

    /// Returns the parts of a phrase, prepared for decoding.
    #[inline]
    pub(crate) fn parts(&self, code: u16) -> Option<&[PhrasePart]> {
        self.prepared.get(usize::from(code)).map(Vec::as_slice)
    }

    /// Finds the longest phrase at the start of a sequence of steps, given by their identities, and its
    /// number of steps.
    #[inline]
    pub(crate) fn longest(&self, mut steps: impl Iterator<Item = u16>) -> Option<(u16, usize)> {
        let mut found = None;
        let mut state = self.begin(steps.next()?)?;
        let mut length = 1;
        loop {
            if let Some(code) = self.codes[usize::from(state)] {
                found = Some((code, length));
            }
            let Some(next) = steps.next().and_then(|identity| self.after(state, identity)) else {
                return found;
            };
            state = next;
            length += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::table::step::Shape;

    #[test]
    fn the_longest_matching_phrase_is_found() {
        let [a, b, c] = [1, 2, 3].map(|string| Step::Field(string, Shape::Itself));
        let phrases = [vec![a], vec![a, b, c], vec![b, c, Step::End], vec![Step::End]];
        let phrases = Phrases::new(&phrases, &Table::of_strings(1, ["a", "b", "c", "d"]));
        let found = |steps: &[Step]| phrases.longest(steps.iter().map(|step| step.identity()));
        assert_eq!(found(&[a, b, c, Step::End]), Some((1, 3)));
        assert_eq!(found(&[a, b, b]), Some((0, 1)));
        assert_eq!(found(&[b, c, Step::End]), Some((2, 3)));
        assert_eq!(found(&[b, c]), None);
        assert_eq!(found(&[c]), None);
        assert_eq!(phrases.steps(1), Some(&[a, b, c][..]));
        assert_eq!(phrases.steps(4), None);
    }
}
