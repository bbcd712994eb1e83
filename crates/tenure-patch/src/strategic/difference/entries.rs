//! The patch of a list whose entries are matched by key: what changes in each entry, what joins, what
//! leaves, and the order of the whole. A key that several entries share cannot say which one is meant; such
//! lists are left to [`repeated`](super::repeated).

use super::{
    DifferenceKeys,
    dress::{dress, dress_map},
    fields::{ListPatch, Sides, Walk},
    key_text,
    settled::map_is_settled,
};
use crate::{
    Fault, PatchError,
    strategic::{
        directive::{PATCH, PATCH_MERGE_KEY},
        index::{Index, fingerprint},
        plan::{self, Keys, Position},
    },
};
use std::cmp::Ordering;
use tenure_fields::PathElement;
use tenure_schema::{ListTopology, Type};
use tenure_value::{Array, Object, Text, Value};

/// The keys of a list and how a patch writes them.
pub(super) struct EntryKeys<'s> {
    pub(super) keys: Keys<'s>,
    /// What an absent key counts as, where entries are compared that a server may have completed.
    defaults: Vec<Option<&'s Value>>,
    /// The value of `$patchMergeKey`, if entries carry it.
    directive: Option<Value>,
}

/// One of the lists that are compared.
struct Side<'v> {
    list: &'v [Value],
    index: Index<'v>,
    taken: Vec<bool>,
}

/// Where the entries of the modified list stand in the two others.
enum Pairing {
    /// In the same places; nothing joined or left.
    Aligned,
    /// In these places.
    Found {
        matches: Vec<Match>,
        /// The entries that are to be deleted, by their place in the original list and in the live one.
        gone: Vec<(usize, Option<usize>)>,
    },
}

#[derive(Clone, Copy)]
struct Match {
    original: Option<usize>,
    live: Option<usize>,
}

/// The lists that are compared; in a two-way patch the original is the live one.
#[derive(Clone, Copy)]
struct Lists<'v> {
    modified: &'v [Value],
    original: &'v [Value],
    live: &'v [Value],
    two_way: bool,
}

impl Walk<'_> {
    pub(super) fn entries(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: Keys<'_>,
        position: Position<'_>,
    ) -> Result<ListPatch, PatchError> {
        let lists = Lists {
            modified,
            original: sides.original.map_or(&[], Array::items),
            live: sides.live.map_or(&[], Array::items),
            two_way: sides.same(),
        };
        let keys = self.entry_keys(keys, position, lists.two_way);
        if lists.original.is_empty() && lists.live.is_empty() {
            return Ok(self.new_list(sides.live, modified, &keys, position));
        }
        let removals = self.removals;
        let pairing = match lists.are_aligned(&keys.keys) {
            true => Some(Pairing::Aligned),
            false => lists.pair(&keys)?,
        };
        if let Some(pairing) = pairing {
            let patch = self.matched(lists, &pairing, &keys, position)?;
            if patch.is_empty() || !self.repeats(modified, &keys)? {
                return Ok(patch);
            }
            self.removals = removals;
        }
        self.repeated(sides, modified, &keys, position)
    }

    /// Whether two entries of a list share their keys.
    fn repeats(&mut self, list: &[Value], keys: &EntryKeys<'_>) -> Result<bool, PatchError> {
        if let Keys::One(name) = keys.keys {
            self.prints.clear();
            self.prints.extend(list.iter().map(|entry| fingerprint(&[entry.get(name)])));
            self.prints.sort_unstable();
            if self.prints.windows(2).all(|pair| pair[0] != pair[1]) {
                return Ok(false);
            }
        }
        let side = Side::read(list, list, keys, None)?;
        Ok((0..side.index.len()).any(|at| side.index.first_like(at) != at))
    }

    /// Writes a list whole. Merged into an empty one, entries that share their keys would become one.
    fn new_list(
        &mut self,
        live: Option<&Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        position: Position<'_>,
    ) -> ListPatch {
        if live.is_some() && self.repeats(modified, keys).unwrap_or(false) {
            return replacement(modified.to_vec());
        }
        let items = match dress(&modified.clone().into(), Some(position), self.options) {
            Value::Array(items) => items.to_vec(),
            _ => modified.to_vec(),
        };
        ListPatch { items, new: live.is_none(), ..ListPatch::default() }
    }

    /// Writes the patch of a list in which every key occurs once.
    fn matched(
        &mut self,
        lists: Lists<'_>,
        pairing: &Pairing,
        keys: &EntryKeys<'_>,
        position: Position<'_>,
    ) -> Result<ListPatch, PatchError> {
        let item = plan::item(position.ty);
        let retain = plan::retains(position.marks);
        let mut patch = ListPatch::default();
        let removals = self.removals;
        for (at, entry) in lists.modified.iter().enumerate() {
            let Value::Object(entry) = entry else { continue };
            let found = pairing.of(at);
            let in_live = lists.live_entry(found);
            let in_original = if lists.two_way { in_live } else { lists.original_entry(found) };
            if in_live.is_none() && in_original.is_none() {
                patch.items.push(keys.whole(&dress_map(entry, item, self.options)));
                continue;
            }
            let sides = Sides { original: in_original, live: in_live };
            if sides.share(entry) && map_is_settled(entry, item, self.options.unmarked_lists) {
                continue;
            }
            let begun = self
                .object(sides, entry, item, retain)
                .map_err(|error| error.under(PathElement::Key(keys.keys.of(entry))))?;
            match in_live {
                None => {
                    let below = self.finish(begun).unwrap_or_else(|| entry.clone());
                    patch.items.push(keys.whole(&below));
                }
                Some(live) => {
                    if keys.directive.is_some() {
                        // Keys that only differ by their defaults stay as the live entry has them.
                        keys.keys.names().for_each(|name| self.take_back(&begun, name));
                    }
                    let changes = self.finish_with(begun, keys.identity(live));
                    patch.items.extend(changes.map(Value::Object));
                }
            }
        }
        if let Pairing::Found { gone, .. } = pairing {
            let deletion = |(original, live): &(usize, Option<usize>)| {
                let entry = live.map_or(lists.original.get(*original), |at| lists.live.get(at));
                entry.and_then(Value::as_object).map(|entry| keys.deletion(entry))
            };
            patch.items.extend(gone.iter().filter_map(deletion));
            self.removals += gone.len();
        }
        let removed = self.removals > removals;
        if removed || !lists.live.is_empty() && (!patch.items.is_empty() || pairing.moves(lists)) {
            let identify = |(at, entry): (usize, &Value)| {
                let live = lists.live_entry(pairing.of(at)).filter(|_| keys.directive.is_some());
                Some(Value::Object(keys.keys.of(live.or(entry.as_object())?)))
            };
            patch.order.reserve_exact(lists.modified.len());
            patch.order.extend(lists.modified.iter().enumerate().filter_map(identify));
        }
        Ok(patch)
    }

    fn entry_keys<'s>(&self, keys: Keys<'s>, position: Position<'s>, two_way: bool) -> EntryKeys<'s> {
        let recommended = match (self.options.keys, &keys) {
            (DifferenceKeys::Recommended, Keys::One(_)) => position.recommended_keys(),
            _ => None,
        };
        let directive = recommended.as_ref().map(|keys| Value::array(keys.names().map(Value::from)));
        let keys = recommended.unwrap_or(keys);
        let defaults = match (position.ty.get(), &keys) {
            (Type::List(list), Keys::Named(names)) if !two_way => match &list.topology {
                ListTopology::Keyed(declared) => names
                    .iter()
                    .map(|name| declared.iter().find(|key| key.name == **name)?.default.as_ref())
                    .collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        EntryKeys { keys, defaults, directive }
    }
}

impl<'v> Lists<'v> {
    fn live_entry(self, found: Match) -> Option<&'v Object> {
        found.live.and_then(|at| self.live.get(at)).and_then(Value::as_object)
    }

    fn original_entry(self, found: Match) -> Option<&'v Object> {
        found.original.and_then(|at| self.original.get(at)).and_then(Value::as_object)
    }

    /// Whether all lists have the same keys in the same places, as they mostly have.
    fn are_aligned(self, keys: &Keys<'_>) -> bool {
        let same = |entry: &Value, other: &Value| {
            let (Value::Object(entry), Value::Object(other)) = (entry, other) else { return false };
            keys.names().enumerate().all(|(at, name)| match (entry.get(name), other.get(name)) {
                (Some(Value::Null), _) => false,
                (Some(key), Some(other)) => key.is_scalar() && key == other,
                (None, None) => at > 0,
                _ => false,
            })
        };
        let alike = |list: &[Value]| {
            list.len() == self.modified.len()
                && self.modified.iter().zip(list).all(|(entry, other)| same(entry, other))
        };
        alike(self.live) && (self.two_way || alike(self.original))
    }

    /// Finds every entry of the modified list in the two others; nothing if one of them can be meant twice.
    fn pair(self, keys: &EntryKeys<'_>) -> Result<Option<Pairing>, PatchError> {
        let original = if self.two_way { &[] } else { self.original };
        let texts = keys.texts([self.modified, original, self.live])?;
        let mut texts = texts.iter();
        let modified = Side::read(self.modified, self.modified, keys, texts.next())?;
        let mut original = Side::read(original, self.modified, keys, texts.next())?;
        let mut live = Side::read(self.live, self.modified, keys, texts.next())?;
        let mut matches = Vec::with_capacity(self.modified.len());
        for at in 0..self.modified.len() {
            let (Some(in_live), Some(in_original)) =
                (live.take(&modified.index, at), original.take(&modified.index, at))
            else {
                return Ok(None);
            };
            let in_original = if self.two_way { in_live } else { in_original };
            if in_live.is_none() && in_original.is_none() && modified.index.first_like(at) != at {
                return Ok(None);
            }
            matches.push(Match { original: in_original, live: in_live });
        }
        let shares = |side: &Side<'_>, at: &usize| modified.index.find_like(&side.index, *at, *at).is_some();
        if live.left().any(|at| shares(&live, &at)) || original.left().any(|at| shares(&original, &at)) {
            return Ok(None);
        }
        let side = if self.two_way { &live } else { &original };
        let in_live = |at: usize| live.index.find_like(&side.index, at, at);
        let mut gone: Vec<(usize, Option<usize>)> = side.left().map(|at| (at, in_live(at))).collect();
        gone.sort_by(|left, right| compare_keys(side.index.keys(left.0), side.index.keys(right.0)));
        Ok(Some(Pairing::Found { matches, gone }))
    }
}

impl Pairing {
    /// Returns where an entry of the modified list stands in the others.
    fn of(&self, at: usize) -> Match {
        match self {
            Pairing::Aligned => Match { original: Some(at), live: Some(at) },
            Pairing::Found { matches, .. } => {
                matches.get(at).copied().unwrap_or(Match { original: None, live: None })
            }
        }
    }

    /// Whether the live list stands in another order than the modified one.
    fn moves(&self, lists: Lists<'_>) -> bool {
        match self {
            Pairing::Aligned => false,
            Pairing::Found { matches, .. } => {
                lists.live.len() != matches.len()
                    || matches.iter().enumerate().any(|(at, found)| found.live != Some(at))
            }
        }
    }
}

impl<'v> Side<'v> {
    fn read<'s: 'v>(
        list: &'v [Value],
        modified: &[Value],
        keys: &EntryKeys<'s>,
        texts: Option<&'v Vec<Value>>,
    ) -> Result<Side<'v>, PatchError> {
        let mut index = Index::new(keys.keys.len(), list.len());
        for (at, entry) in list.iter().enumerate() {
            let entry = as_map(entry, list, modified)?;
            match texts {
                Some(texts) => index.keys_mut().push(texts.get(at)),
                None => keys.read(entry, at, index.keys_mut())?,
            }
            index.seal();
        }
        Ok(Side { list, index, taken: Vec::new() })
    }

    /// Walks the entries that were not taken.
    fn left(&self) -> impl Iterator<Item = usize> {
        (0..self.list.len()).filter(|at| !self.taken.get(*at).copied().unwrap_or_default())
    }

    /// Takes the entry that has the keys of an entry of another list, if there is one; nothing at all if it
    /// was taken before.
    fn take(&mut self, wanted: &Index<'_>, number: usize) -> Option<Option<usize>> {
        let found = self.index.find_like(wanted, number, number);
        if let Some(at) = found {
            self.taken.resize(self.list.len(), false);
            if std::mem::replace(&mut self.taken[at], true) {
                return None;
            }
        }
        Some(found)
    }
}

impl<'s> EntryKeys<'s> {
    fn read<'v>(
        &self,
        entry: &'v Object,
        at: usize,
        values: &mut Vec<Option<&'v Value>>,
    ) -> Result<(), PatchError>
    where
        's: 'v,
    {
        let from = values.len();
        self.keys.read(entry, values).map_err(|error| error.under(PathElement::Index(at as i64)))?;
        for (value, default) in values[from..].iter_mut().zip(&self.defaults) {
            *value = value.or(*default);
        }
        Ok(())
    }

    /// Returns the keys of three lists as text, if they differ in kind and are to be paired as text.
    fn texts(&self, lists: [&[Value]; 3]) -> Result<Vec<Vec<Value>>, PatchError> {
        let Keys::One(name) = &self.keys else { return Ok(Vec::new()) };
        if key_text::uniform(lists.iter().copied().flatten().filter_map(|entry| entry.get(*name))) {
            return Ok(Vec::new());
        }
        let read = |list: &[Value]| {
            let mut values = Vec::with_capacity(list.len());
            for (at, entry) in list.iter().enumerate() {
                self.read(as_map(entry, list, lists[0])?, at, &mut values)?;
            }
            Ok(values.into_iter().flatten().map(|key| Value::from(&*key_text::text(key))).collect())
        };
        lists.into_iter().map(read).collect()
    }

    /// Writes an entry that joins the list.
    fn whole(&self, entry: &Object) -> Value {
        match &self.directive {
            Some(directive) => entry.with(PATCH_MERGE_KEY, directive.clone()).into(),
            None => entry.clone().into(),
        }
    }

    /// Returns the fields by which a patch finds a live entry.
    fn identity(&self, live: &Object) -> impl Iterator<Item = (Text, Value)> {
        let keys = self.keys.names().filter_map(|name| Some((Text::from(name), live.get(name)?.clone())));
        let directive = self.directive.clone().map(|keys| (Text::new_static(PATCH_MERGE_KEY), keys));
        keys.chain(directive)
    }

    fn deletion(&self, entry: &Object) -> Value {
        let marker = (Text::new_static(PATCH), Value::String(Text::new_static("delete")));
        let keys = Object::from_unsorted([marker].into_iter().chain(self.keys.fields_of(entry)).collect());
        match &self.directive {
            Some(directive) => keys.with(PATCH_MERGE_KEY, directive.clone()).into(),
            None => keys.into(),
        }
    }
}

fn compare_keys(left: &[Option<&Value>], right: &[Option<&Value>]) -> Ordering {
    let compare = |(left, right): (&Option<&Value>, &Option<&Value>)| match (left, right) {
        (Some(left), Some(right)) => key_text::compare(left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    };
    left.iter().zip(right).map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Returns an entry as the map that every entry of a list that merges by key is.
fn as_map<'v>(entry: &'v Value, list: &[Value], modified: &[Value]) -> Result<&'v Object, PatchError> {
    match entry {
        Value::Object(map) => Ok(map),
        Value::Array(_) => Err(Fault::ListOfLists { item: entry.clone() }.into()),
        _ => {
            let (live, patch) = (Array::from(list.to_vec()), Array::from(modified.to_vec()));
            Err(Fault::MixedItems { live, patch }.into())
        }
    }
}

/// Returns the list that a patch writes to replace a live one.
pub(super) fn replacement(entries: Vec<Value>) -> ListPatch {
    let marker = Value::object([(PATCH, Value::from("replace"))]);
    ListPatch { items: entries.into_iter().chain([marker]).collect(), new: true, ..ListPatch::default() }
}
