//! The postings of a collection: for every label, every value of a label and every value of an indexed field the entries that
//! have it, in the order of their keys. Pure data, at one revision; [`super`] brings it up to date.

use std::{
    borrow::Borrow,
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
    ops::Bound,
    sync::Arc,
};
use tenure_meta::{IndexTerm, IndexedBy, SelectableField};
use tenure_store::Entry;
use tenure_value::{Limits, Text, Value, json};

/// How many entries one query visits; the next one continues behind them.
const VISITS: usize = 8192;

/// The bytes of an entry, of a posting of it, and of a term, roughly.
const WEIGHTS: (usize, usize, usize) = (176, 16, 192);

/// The entries of a collection by what selectors can ask for.
#[derive(Default)]
pub(super) struct Postings {
    all: BTreeSet<Item>,
    numbers: HashMap<Term, u32>,
    slots: Vec<Slot>,
    /// The slots that no term uses.
    free: Vec<u32>,
    /// How many postings all entries have together.
    count: usize,
}

/// A label or field with a value, or a label with any value.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Term {
    Label(Text, Option<Text>),
    /// The place of the field among those that are indexed.
    Field(usize, Text),
}

struct Slot {
    term: Term,
    posting: Posting,
}

/// The entries that have a term. Many terms, such as the hash of a pod template, have a single one.
enum Posting {
    One(Item),
    Many(BTreeSet<Item>),
}

/// An entry and the numbers of its terms.
struct Indexed {
    entry: Entry,
    terms: Arc<[u32]>,
}

/// An indexed entry, ordered by its key.
#[derive(Clone)]
struct Item(Arc<Indexed>);

impl Item {
    fn key(&self) -> &[u8] {
        &self.0.entry.key
    }
}

impl Borrow<[u8]> for Item {
    fn borrow(&self) -> &[u8] {
        self.key()
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Item) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Item) -> Ordering {
        self.key().cmp(other.key())
    }
}

/// Returns the terms of an entry with these labels and values of the indexed fields.
fn terms(labels: &Value, fields: Vec<Text>) -> impl Iterator<Item = Term> {
    let labels = labels.as_object().into_iter().flat_map(|labels| labels.iter());
    let labels = labels.filter_map(|(label, value)| Some((label, value.as_str()?)));
    let labels = labels.flat_map(|(label, value)| {
        [Term::Label(label.clone(), None), Term::Label(label.clone(), Some(Text::new(value)))]
    });
    labels.chain(fields.into_iter().enumerate().map(|(place, value)| Term::Field(place, value)))
}

/// The postings of a whole collection, whose entries are added in the order of their keys. Nothing is compared before the end, and
/// the labels that many entries have are read once.
#[derive(Default)]
pub(super) struct Builder {
    postings: Postings,
    all: Vec<Item>,
    /// The entries of each term, by its number.
    entries: Vec<Vec<Item>>,
    /// The terms of labels, by their text.
    known: HashMap<Box<[u8]>, Arc<[u32]>>,
}

/// How many labels a builder remembers.
const KNOWN_LABELS: usize = 4096;

impl Builder {
    /// Returns the bytes that the postings take so far, roughly.
    pub fn weight(&self) -> usize {
        self.postings.weight() + self.all.len() * WEIGHTS.0
    }

    /// Adds an entry with the text of its labels; returns false if it cannot be read.
    pub fn push_text(&mut self, entry: &Entry, labels: &[u8]) -> bool {
        let terms = match self.known.get(labels) {
            Some(terms) => terms.clone(),
            None => {
                let Ok(read) = json::parse(labels, &Limits::TRUSTED) else { return false };
                let terms = self.numbers(&read, Vec::new());
                if self.known.len() < KNOWN_LABELS {
                    self.known.insert(labels.into(), terms.clone());
                }
                terms
            }
        };
        self.add(entry, terms);
        true
    }

    /// Adds an entry with its labels and the values of the indexed fields.
    pub fn push(&mut self, entry: &Entry, labels: &Value, fields: Vec<Text>) {
        let terms = self.numbers(labels, fields);
        self.add(entry, terms);
    }

    fn numbers(&mut self, labels: &Value, fields: Vec<Text>) -> Arc<[u32]> {
        let Postings { numbers, slots, .. } = &mut self.postings;
        let number = |term: Term| match numbers.get(&term) {
            Some(number) => *number,
            None => {
                let number = slots.len() as u32;
                numbers.insert(term.clone(), number);
                slots.push(Slot { term, posting: Posting::Many(BTreeSet::new()) });
                self.entries.push(Vec::new());
                number
            }
        };
        terms(labels, fields).map(number).collect()
    }

    fn add(&mut self, entry: &Entry, terms: Arc<[u32]>) {
        self.postings.count += terms.len();
        let item = Item(Arc::new(Indexed { entry: entry.clone(), terms }));
        for number in item.0.terms.iter() {
            if let Some(entries) = self.entries.get_mut(*number as usize) {
                entries.push(item.clone());
            }
        }
        self.all.push(item);
    }

    /// Returns the postings.
    pub fn finish(self) -> Postings {
        let Builder { mut postings, all, entries, .. } = self;
        for (slot, mut entries) in postings.slots.iter_mut().zip(entries) {
            slot.posting = match entries.pop() {
                Some(only) if entries.is_empty() => Posting::One(only),
                last => Posting::Many(entries.into_iter().chain(last).collect()),
            };
        }
        // From entries that are in order, a set is built without a search for each of them.
        postings.all = all.into_iter().collect();
        postings
    }
}

impl Posting {
    fn len(&self) -> usize {
        match self {
            Posting::One(_) => 1,
            Posting::Many(items) => items.len(),
        }
    }

    fn insert(&mut self, item: Item) {
        match self {
            Posting::Many(items) => {
                items.insert(item);
            }
            Posting::One(other) => *self = Posting::Many([other.clone(), item].into()),
        }
    }

    /// Iterates over the entries from a key on.
    fn from(&self, start: &[u8]) -> Box<dyn Iterator<Item = &Item> + '_> {
        match self {
            Posting::One(item) => Box::new(Some(item).filter(|item| item.key() >= start).into_iter()),
            Posting::Many(items) => {
                Box::new(items.range::<[u8], _>((Bound::Included(start), Bound::Unbounded)))
            }
        }
    }
}

/// What a query asks for.
pub(super) struct Query<'a> {
    /// The requirements, which all must hold.
    pub terms: &'a [IndexTerm],
    /// The fields that are indexed.
    pub fields: &'a [SelectableField],
    /// The prefix of the keys.
    pub prefix: &'a [u8],
    /// The first key; empty for the beginning.
    pub from: &'a [u8],
    /// The most entries.
    pub limit: usize,
}

/// Entries in the order of their keys, and where to continue, if there may be more.
pub(super) type Found = (Vec<Entry>, Option<bytes::Bytes>);

impl Postings {
    /// Whether nothing is indexed.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the bytes that this takes, roughly.
    pub fn weight(&self) -> usize {
        self.all.len() * WEIGHTS.0 + self.count * WEIGHTS.1 + self.numbers.len() * WEIGHTS.2
    }

    /// Whether an entry is indexed as it is.
    pub fn has(&self, entry: &Entry) -> bool {
        self.reaches(&entry.key)
            && self.all.get(&entry.key[..]).is_some_and(|item| item.0.entry.modified == entry.modified)
    }

    /// Whether a key is not behind all others, as each is while a collection is indexed in its order.
    fn reaches(&self, key: &[u8]) -> bool {
        self.all.last().is_some_and(|last| last.key() >= key)
    }

    /// Removes the entries whose keys are not among these, which are sorted.
    pub fn retain(&mut self, entries: &[Entry]) {
        let mut rest = entries.iter().peekable();
        let mut gone = Vec::new();
        for item in &self.all {
            while rest.next_if(|entry| &entry.key[..] < item.key()).is_some() {}
            if rest.peek().is_none_or(|entry| &entry.key[..] != item.key()) {
                gone.push(item.0.entry.key.clone());
            }
        }
        for key in gone {
            self.remove(&key);
        }
    }

    /// Indexes an entry with the labels of its object and the values of the indexed fields, in place of its former state.
    pub fn insert(&mut self, entry: &Entry, labels: &Value, fields: Vec<Text>) {
        self.remove(&entry.key);
        let terms = terms(labels, fields);
        // The numbers first: the entry is shared by all its postings.
        let numbers: Vec<(u32, Option<Term>)> = terms.map(|term| self.number(term)).collect();
        let terms = numbers.iter().map(|(number, _)| *number).collect();
        let item = Item(Arc::new(Indexed { entry: entry.clone(), terms }));
        self.count += numbers.len();
        for (number, new) in numbers {
            match (new, self.slots.get_mut(number as usize)) {
                (Some(term), Some(slot)) => *slot = Slot { term, posting: Posting::One(item.clone()) },
                (Some(term), None) => self.slots.push(Slot { term, posting: Posting::One(item.clone()) }),
                (None, Some(slot)) => slot.posting.insert(item.clone()),
                (None, None) => {}
            }
        }
        self.all.insert(item);
    }

    /// Returns the number of a term, and the term itself if its slot does not have it yet.
    fn number(&mut self, term: Term) -> (u32, Option<Term>) {
        if let Some(number) = self.numbers.get(&term) {
            return (*number, None);
        }
        // The slots that are taken before they are filled are those behind the last one, in order.
        let next = self.numbers.len() as u32;
        let number = self.free.pop().unwrap_or(next);
        self.numbers.insert(term.clone(), number);
        (number, Some(term))
    }

    /// Removes the entry of a key.
    pub fn remove(&mut self, key: &[u8]) {
        if !self.reaches(key) {
            return;
        }
        let Some(item) = self.all.take(key) else { return };
        self.count -= item.0.terms.len();
        for number in item.0.terms.iter() {
            let Some(slot) = self.slots.get_mut(*number as usize) else { continue };
            let is_empty = match &mut slot.posting {
                Posting::One(_) => true,
                Posting::Many(items) => {
                    items.remove(key);
                    items.is_empty()
                }
            };
            if is_empty {
                slot.posting = Posting::Many(BTreeSet::new());
                self.numbers.remove(&slot.term);
                self.free.push(*number);
            }
        }
    }

    /// Finds entries; keys in `without` are skipped.
    pub fn find<T>(&self, query: &Query<'_>, without: &BTreeMap<bytes::Bytes, T>) -> Found {
        let mut terms: Vec<Vec<u32>> =
            query.terms.iter().map(|term| self.resolve(term, query.fields)).collect();
        // The requirement that fewest entries meet chooses, the others filter.
        terms.sort_by_key(|numbers| self.entries(numbers));
        let Some((chosen, others)) = terms.split_first() else { return (Vec::new(), None) };
        let start = query.from.max(query.prefix);
        let mut sources: Vec<_> = chosen
            .iter()
            .filter_map(|number| self.slots.get(*number as usize))
            .map(|slot| slot.posting.from(start))
            .collect();
        let mut heads: BinaryHeap<(Reverse<&Item>, usize)> = BinaryHeap::new();
        for (place, source) in sources.iter_mut().enumerate() {
            heads.extend(source.next().map(|item| (Reverse(item), place)));
        }
        let (mut found, mut visited) = (Vec::new(), 0);
        while let Some((Reverse(item), place)) = heads.pop() {
            if !item.key().starts_with(query.prefix) {
                continue;
            }
            if found.len() == query.limit || visited == VISITS {
                return (found, Some(item.0.entry.key.clone()));
            }
            visited += 1;
            heads.extend(sources[place].next().map(|item| (Reverse(item), place)));
            let holds = |numbers: &Vec<u32>| numbers.iter().any(|number| item.0.terms.contains(number));
            if others.iter().all(holds) && !without.contains_key(item.key()) {
                found.push(item.0.entry.clone());
            }
        }
        (found, None)
    }

    /// Returns the numbers of the terms of which an entry needs one.
    fn resolve(&self, term: &IndexTerm, fields: &[SelectableField]) -> Vec<u32> {
        let number = |term: &Term| self.numbers.get(term).copied();
        let mut numbers: Vec<u32> = match (&term.by, &term.values) {
            (IndexedBy::Label(label), None) => {
                number(&Term::Label(label.clone(), None)).into_iter().collect()
            }
            (IndexedBy::Label(label), Some(values)) => {
                let term = |value: &Text| Term::Label(label.clone(), Some(value.clone()));
                values.iter().filter_map(|value| number(&term(value))).collect()
            }
            (IndexedBy::Field(field), values) => {
                let place = fields.iter().position(|known| known == field).unwrap_or(usize::MAX);
                let term = |value: &Text| Term::Field(place, value.clone());
                values.iter().flatten().filter_map(|value| number(&term(value))).collect()
            }
        };
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn entries(&self, numbers: &[u32]) -> usize {
        let slots = numbers.iter().filter_map(|number| self.slots.get(*number as usize));
        slots.map(|slot| slot.posting.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tenure_store::Revision;

    fn entry(number: usize) -> Entry {
        let revision = Revision::from_number(1);
        Entry {
            key: format!("k/{number:03}").into(),
            value: "".into(),
            created: revision,
            modified: revision,
        }
    }

    proptest! {
        #[test]
        fn built_postings_are_those_of_single_entries(
            objects in prop::collection::vec(prop::collection::btree_map("[ab]", "[xyz]{0,2}", 0..3), 0..40),
            removed in prop::collection::vec(0usize..40, 0..8),
        ) {
            let (mut single, mut builder) = (Postings::default(), Builder::default());
            for (number, labels) in objects.iter().enumerate() {
                let labels = Value::object(labels.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))));
                single.insert(&entry(number), &labels, Vec::new());
                match number % 2 {
                    0 => prop_assert!(builder.push_text(&entry(number), labels.to_string().as_bytes())),
                    _ => builder.push(&entry(number), &labels, Vec::new()),
                }
            }
            let mut built = builder.finish();
            for number in removed {
                single.remove(&entry(number).key);
                built.remove(&entry(number).key);
            }
            prop_assert_eq!(built.weight(), single.weight());
            for label in ["a", "b", "c"] {
                for value in [None, Some(""), Some("x"), Some("xy")] {
                    let values = value.map(|value| vec![Text::new(value)]);
                    let terms = [IndexTerm { by: IndexedBy::Label(label.into()), values }];
                    let query = Query { terms: &terms, fields: &[], prefix: b"k/", from: b"k/003", limit: 5 };
                    let (none, keys) = (BTreeMap::<bytes::Bytes, ()>::new(), |(found, next): Found| {
                        (found.into_iter().map(|entry| entry.key).collect::<Vec<_>>(), next)
                    });
                    prop_assert_eq!(keys(built.find(&query, &none)), keys(single.find(&query, &none)));
                }
            }
        }
    }
}
