//! The patch of a list whose entries are matched by key: what changes in each entry, what joins, what
//! leaves, and the order of the whole. A key that several entries share cannot say which one is meant; such
//! lists are left to [`repeated`](super::repeated).

use super::{
    DifferenceKeys,
    dress::{dress, dress_map},
    fields::{ListPatch, Sides, Walk},
    key_text,
};
use crate::{
    Fault, PatchError,
    strategic::{
        directive::{PATCH, PATCH_MERGE_KEY},
        index::Index,
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
pub(super) struct Side<'v> {
    pub(super) entries: Vec<&'v Object>,
    pub(super) index: Index<'v>,
    taken: Vec<bool>,
}

/// Where an entry of the modified list stands in the two others.
#[derive(Clone, Copy)]
struct Match {
    original: Option<usize>,
    live: Option<usize>,
}

impl Walk<'_> {
    pub(super) fn entries(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: Keys<'_>,
        position: Position<'_>,
    ) -> Result<ListPatch, PatchError> {
        let nothing = Array::default();
        let (original, live) = (sides.original.unwrap_or(&nothing), sides.live.unwrap_or(&nothing));
        let keys = self.entry_keys(keys, position, sides.same());
        if original.is_empty() && live.is_empty() {
            return Ok(self.new_list(sides.live, modified, &keys, position));
        }
        let other = if sides.same() { Vec::new() } else { objects(original, modified)? };
        let maps = [objects(modified, modified)?, other, objects(live, modified)?];
        let texts = keys.texts(&maps)?;
        let [maps, original_maps, live_maps] = maps;
        let mut texts = texts.iter();
        let mut modified = Side::read(maps, &keys, texts.next())?;
        let mut original = Side::read(original_maps, &keys, texts.next())?;
        let mut live = Side::read(live_maps, &keys, texts.next())?;
        if let Some(matches) = pair(&mut modified, &mut original, &mut live, sides.same()) {
            let removals = self.removals;
            let lists = [&modified, &original, &live];
            let patch = self.matched(lists, &matches, &keys, position, sides.same())?;
            if patch.is_empty() || !modified.repeats() {
                return Ok(patch);
            }
            self.removals = removals;
        }
        self.repeated(sides, &modified.entries, &keys, position)
    }

    /// Writes a list whole. Merged into an empty one, entries that share their keys would become one.
    fn new_list(
        &self,
        live: Option<&Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        position: Position<'_>,
    ) -> ListPatch {
        let items = match dress(&modified.clone().into(), Some(position), self.options) {
            Value::Array(items) => items.to_vec(),
            _ => modified.to_vec(),
        };
        let side = objects(modified, modified).and_then(|maps| Side::read(maps, keys, None));
        match side {
            Ok(side) if live.is_some() && side.repeats() => replacement(modified.to_vec()),
            _ => ListPatch { items, new: live.is_none(), ..ListPatch::default() },
        }
    }

    /// Writes the patch of a list in which every key occurs once.
    fn matched(
        &mut self,
        [modified, original, live]: [&Side<'_>; 3],
        matches: &[Match],
        keys: &EntryKeys<'_>,
        position: Position<'_>,
        two_way: bool,
    ) -> Result<ListPatch, PatchError> {
        let item = plan::item(position.ty);
        let retain = plan::retains(position.marks);
        let mut patch = ListPatch::default();
        let removals = self.removals;
        for (entry, found) in modified.entries.iter().zip(matches) {
            let in_live = found.live.map(|at| live.entries[at]);
            let in_original = if two_way { in_live } else { found.original.map(|at| original.entries[at]) };
            if in_live.is_none() && in_original.is_none() {
                patch.items.push(keys.whole(&dress_map(entry, item, self.options)));
                continue;
            }
            let sides = Sides { original: in_original, live: in_live };
            let below = self
                .object(sides, entry, item, retain)
                .map_err(|error| error.under(PathElement::Key(keys.keys.of(entry))))?;
            match in_live {
                None => patch.items.push(keys.whole(&below)),
                Some(live) if !below.is_empty() => patch.items.push(keys.identified(&below, live)),
                Some(_) => {}
            }
        }
        let gone = if two_way { live } else { original };
        let mut deletions: Vec<(&Object, &[Option<&Value>])> = (0..gone.entries.len())
            .filter(|at| !gone.taken[*at])
            .map(|at| {
                let found = if two_way { Some(at) } else { live.index.find(gone.index.keys(at), 0) };
                (found.map_or(gone.entries[at], |at| live.entries[at]), gone.index.keys(at))
            })
            .collect();
        deletions.sort_by(|left, right| compare_keys(left.1, right.1));
        self.removals += deletions.len();
        let removed = self.removals > removals;
        patch.items.extend(deletions.iter().map(|(entry, _)| keys.deletion(entry)));
        let moved = || {
            live.entries.len() != modified.entries.len()
                || matches.iter().enumerate().any(|(at, found)| found.live != Some(at))
        };
        if removed || !live.entries.is_empty() && (!patch.items.is_empty() || moved()) {
            let identify = |(entry, found): (&&Object, &Match)| {
                Value::Object(keys.keys.of(
                    found.live.filter(|_| keys.directive.is_some()).map_or(*entry, |at| live.entries[at]),
                ))
            };
            patch.order = modified.entries.iter().zip(matches).map(identify).collect();
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

/// Finds every entry of the modified list in the two others; nothing if one of them can be meant twice.
fn pair(
    modified: &mut Side<'_>,
    original: &mut Side<'_>,
    live: &mut Side<'_>,
    two_way: bool,
) -> Option<Vec<Match>> {
    let mut matches = Vec::with_capacity(modified.entries.len());
    for at in 0..modified.entries.len() {
        let wanted = modified.index.keys(at);
        let in_live = live.take(wanted, at)?;
        let in_original = if two_way { in_live } else { original.take(wanted, at)? };
        if in_live.is_none() && in_original.is_none() && modified.index.find(wanted, at + 1).is_some() {
            return None;
        }
        matches.push(Match { original: in_original, live: in_live });
    }
    let shares = |side: &Side<'_>| {
        (0..side.entries.len())
            .any(|at| !side.taken[at] && modified.index.find(side.index.keys(at), 0).is_some())
    };
    (!shares(live) && !shares(original)).then_some(matches)
}

impl<'v> Side<'v> {
    fn read<'s: 'v>(
        entries: Vec<&'v Object>,
        keys: &EntryKeys<'s>,
        texts: Option<&'v Vec<Value>>,
    ) -> Result<Side<'v>, PatchError> {
        let mut index = Index::new(keys.keys.len(), entries.len());
        for (at, entry) in entries.iter().enumerate() {
            match texts {
                Some(texts) => index.keys_mut().push(texts.get(at)),
                None => keys.read(entry, at, index.keys_mut())?,
            }
            index.seal();
        }
        let taken = vec![false; entries.len()];
        Ok(Side { entries, index, taken })
    }

    /// Whether two entries share their keys.
    fn repeats(&self) -> bool {
        (0..self.index.len()).any(|at| self.index.find(self.index.keys(at), 0) != Some(at))
    }

    /// Takes the entry that has these keys, if there is one; nothing at all if it was taken before.
    fn take(&mut self, wanted: &[Option<&Value>], near: usize) -> Option<Option<usize>> {
        let found = if near < self.index.len() && self.index.keys(near) == wanted {
            Some(near)
        } else {
            self.index.find(wanted, 0)
        };
        if let Some(at) = found
            && std::mem::replace(&mut self.taken[at], true)
        {
            return None;
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
    fn texts(&self, lists: &[Vec<&Object>; 3]) -> Result<Vec<Vec<Value>>, PatchError> {
        let Keys::One(name) = &self.keys else { return Ok(Vec::new()) };
        if key_text::uniform(lists.iter().flatten().filter_map(|entry| entry.get(name))) {
            return Ok(Vec::new());
        }
        let read = |list: &Vec<&Object>| {
            let mut values = Vec::with_capacity(list.len());
            for (at, entry) in list.iter().enumerate() {
                self.read(entry, at, &mut values)?;
            }
            Ok(values.into_iter().flatten().map(|key| Value::from(&*key_text::text(key))).collect())
        };
        lists.iter().map(read).collect()
    }

    /// Writes an entry that joins the list.
    fn whole(&self, entry: &Object) -> Value {
        match &self.directive {
            Some(directive) => entry.with(PATCH_MERGE_KEY, directive.clone()).into(),
            None => entry.clone().into(),
        }
    }

    /// Writes the changes of an entry, with the keys by which the live entry is found.
    fn identified(&self, changes: &Object, live: &Object) -> Value {
        let mut fields: Vec<(Text, Value)> = Vec::with_capacity(changes.len() + self.keys.len() + 1);
        fields.extend(changes.iter().map(|(name, value)| (name.clone(), value.clone())));
        if self.directive.is_some() {
            fields.retain(|(name, _)| !self.keys.names().any(|key| key == name));
        }
        // Of two fields with one name the later wins: the key that finds the entry is that of the live one.
        for name in self.keys.names() {
            fields.extend(live.get(name).map(|value| (Text::from(name), value.clone())));
        }
        let directive = self.directive.clone().map(|keys| (Text::new_static(PATCH_MERGE_KEY), keys));
        fields.extend(directive);
        Object::from_unsorted(fields).into()
    }

    fn deletion(&self, entry: &Object) -> Value {
        let keys = self.keys.of(entry).with(PATCH, "delete");
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

/// Returns the entries of a list as maps; a list that merges by key has no other items.
fn objects<'v>(list: &'v Array, modified: &Array) -> Result<Vec<&'v Object>, PatchError> {
    let as_map = |item: &'v Value| match item {
        Value::Object(map) => Ok(map),
        Value::Array(_) => Err(Fault::ListOfLists { item: item.clone() }),
        _ => Err(Fault::MixedItems { live: list.clone(), patch: modified.clone() }),
    };
    list.iter().map(as_map).collect::<Result<_, _>>().map_err(PatchError::from)
}

/// Returns the list that a patch writes to replace a live one.
pub(super) fn replacement(entries: Vec<Value>) -> ListPatch {
    let marker = Value::object([(PATCH, Value::from("replace"))]);
    ListPatch { items: entries.into_iter().chain([marker]).collect(), new: true, ..ListPatch::default() }
}
