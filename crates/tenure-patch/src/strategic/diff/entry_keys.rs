//! The keys of a list whose patch is calculated, and how the patch writes them.

use super::key_text;
use crate::{
    ErrorKind, PatchError,
    strategic::{
        directive::{PATCH, PATCH_MERGE_KEY},
        key_index::{KeyIndex, Numbers},
        merge_keys::MergeKeys,
        patch_meta::PatchMeta,
    },
};
use tenure_fields::PathElement;
use tenure_schema::{ListTopology, Type};
use tenure_value::{Array, Object, Text, Value};

/// The keys of a list and how a patch writes them.
pub(super) struct EntryKeys<'s> {
    pub(super) keys: MergeKeys<'s>,
    /// The values of absent keys, for entries that a server may have completed.
    defaults: Vec<Option<&'s Value>>,
    /// The value of `$patchMergeKey`, if entries carry it.
    directive: Option<Value>,
}

impl<'s> EntryKeys<'s> {
    /// Returns the keys by which a list is matched.
    pub(super) fn new(keys: MergeKeys<'s>, meta: PatchMeta<'s>, two_way: bool) -> EntryKeys<'s> {
        let directive = match &keys {
            MergeKeys::Named(names) => Some(Value::array(names.iter().map(|name| Value::from(*name)))),
            MergeKeys::One { .. } | MergeKeys::Declared(_) => None,
        };
        let defaults = match (meta.ty.get(), &keys) {
            (Type::List(list), MergeKeys::Named(names)) if !two_way => match &list.topology {
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

    /// Whether entries carry `$patchMergeKey`.
    pub(super) fn are_sent(&self) -> bool {
        self.directive.is_some()
    }

    pub(super) fn read<'v>(
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

    /// Returns the keys of a list; `modified` is for the error if an item is not an object.
    pub(super) fn index<'v>(&self, list: &'v [Value], modified: &[Value]) -> Result<KeyIndex<'v>, PatchError>
    where
        's: 'v,
    {
        let mut index = KeyIndex::new(self.keys.len(), list.len(), self.numbers());
        for (at, entry) in list.iter().enumerate() {
            self.read(entry_map(entry, list, modified)?, at, index.keys_mut())?;
            index.seal();
        }
        Ok(index)
    }

    /// Returns how numbers in the keys are compared.
    pub(super) fn numbers(&self) -> Numbers {
        match self.keys {
            MergeKeys::Named(_) => Numbers::ByAmount,
            _ => Numbers::Exact,
        }
    }

    /// Returns the keys of three lists as text, if they differ in kind and are to be compared as text.
    pub(super) fn texts(&self, lists: [&[Value]; 3]) -> Result<Vec<Vec<Value>>, PatchError> {
        let MergeKeys::One { name, .. } = &self.keys else { return Ok(Vec::new()) };
        if key_text::uniform(lists.iter().copied().flatten().filter_map(|entry| entry.get(*name))) {
            return Ok(Vec::new());
        }
        let read = |list: &[Value]| {
            let mut values = Vec::with_capacity(list.len());
            for (at, entry) in list.iter().enumerate() {
                self.read(entry_map(entry, list, lists[0])?, at, &mut values)?;
            }
            Ok(values.into_iter().flatten().map(|key| Value::from(&*key_text::text(key))).collect())
        };
        lists.into_iter().map(read).collect()
    }

    /// Returns an entry that joins the list.
    pub(super) fn added(&self, entry: &Object) -> Value {
        match &self.directive {
            Some(directive) => entry.with(PATCH_MERGE_KEY, directive.clone()).into(),
            None => entry.clone().into(),
        }
    }

    /// Returns the fields by which a patch finds a live entry.
    pub(super) fn identity(&self, live: &Object) -> impl Iterator<Item = (Text, Value)> {
        let keys = self.keys.names().filter_map(|name| Some((Text::from(name), live.get(name)?.clone())));
        let directive = self.directive.clone().map(|keys| (Text::new_static(PATCH_MERGE_KEY), keys));
        keys.chain(directive)
    }

    /// Returns the entry of a patch that deletes a live entry.
    pub(super) fn deletion(&self, entry: &Object) -> Value {
        let marker = (Text::new_static(PATCH), Value::String(Text::new_static("delete")));
        let keys = Object::from_unsorted([marker].into_iter().chain(self.keys.fields_of(entry)).collect());
        match &self.directive {
            Some(directive) => keys.with(PATCH_MERGE_KEY, directive.clone()).into(),
            None => keys.into(),
        }
    }
}

/// Whether keys identify every entry of some lists.
pub(super) fn identify<'v>(keys: &MergeKeys<'v>, lists: impl IntoIterator<Item = &'v [Value]>) -> bool {
    let mut lists = lists.into_iter();
    lists.all(|list| {
        let mut index = KeyIndex::new(keys.len(), list.len(), Numbers::ByAmount);
        let is_keyed = |entry: &'v Value| {
            let keyed = entry.as_object().is_some_and(|entry| keys.read(entry, index.keys_mut()).is_ok());
            if keyed {
                index.seal();
            }
            keyed
        };
        list.iter().all(is_keyed) && !index.repeats()
    })
}

/// Returns an entry of a list that merges by key as the object that it must be.
pub(super) fn entry_map<'v>(
    entry: &'v Value,
    list: &[Value],
    modified: &[Value],
) -> Result<&'v Object, PatchError> {
    match entry {
        Value::Object(map) => Ok(map),
        Value::Array(_) => Err(ErrorKind::ListOfLists { item: entry.clone() }.into()),
        _ => {
            let (live, patch) = (Array::from(list.to_vec()), Array::from(modified.to_vec()));
            Err(ErrorKind::MixedItems { live, patch }.into())
        }
    }
}
