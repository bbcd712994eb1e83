//! Lists: keys that are missing, repeated or ambiguous, and orders that do not cover their list.

use super::{Linter, Problem, Subject};
use crate::strategic::{
    ListStrategy, MergeKeys, PATCH, PATCH_MERGE_KEY, PatchMeta, SET_ELEMENT_ORDER, UnmarkedLists, item_type,
};
use std::collections::{HashMap, HashSet};
use tenure_fields::PathElement;
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

impl Linter {
    pub(super) fn list(&mut self, name: &Text, list: &Array, map: &Object, meta: PatchMeta<'_>) {
        let sent = list.iter().find_map(|entry| entry.get(PATCH_MERGE_KEY)).and_then(Value::as_array);
        let strategy = meta.list_strategy(UnmarkedLists::Replace, Profile::tenure());
        let keys = match (sent, strategy) {
            (Some(sent), _) => MergeKeys::Named(sent.iter().filter_map(Value::as_str).collect()),
            (None, ListStrategy::Keyed(keys)) => keys,
            (None, ListStrategy::Set) => return self.set(name, list, map),
            (None, ListStrategy::Replace) => return self.literal(&list.clone().into(), meta.ty),
        };
        if keys.len() == 0 {
            return;
        }
        let item = item_type(meta.ty);
        let replaced = list.iter().any(marks_list);
        let mut seen: HashMap<Object, &Object> = HashMap::with_capacity(list.len());
        for (at, entry) in list.iter().enumerate() {
            self.path.push(PathElement::Index(at as i64));
            match entry {
                Value::Object(_) if marks_list(entry) => {}
                Value::Object(entry) => {
                    self.keys(entry, &keys, meta, (!replaced).then_some(&mut seen));
                    if sent.is_some() && !replaced && !entry.contains(PATCH_MERGE_KEY) {
                        self.report(Problem::MergeKeysMissing);
                    }
                    match replaced {
                        true => self.literal_entry(entry, item),
                        false => self.map(entry, item),
                    }
                    if !replaced && patch_of(entry) == Some("replace") {
                        self.below(PathElement::field(PATCH), |linter| linter.report(Problem::ReplacesEntry));
                    }
                }
                other => self.report(Problem::NotAnObject(other.clone())),
            }
            self.path.pop();
        }
        self.order(name, map, |order| {
            let merging = list.iter().filter(|entry| entry.get(PATCH).is_none());
            uncovered(merging.filter_map(|entry| Some(keys.of(entry.as_object()?).into())), order, |entry| {
                entry.as_object().map_or_else(|| entry.clone(), |entry| keys.of(entry).into())
            })
        });
    }

    fn literal_entry(&mut self, entry: &Object, item: TypeRef<'_>) {
        self.literal(&entry.without(PATCH).without(PATCH_MERGE_KEY).into(), item);
    }

    /// Checks the keys of an entry, and whether another entry that was seen has them.
    fn keys<'e>(
        &mut self,
        entry: &'e Object,
        keys: &MergeKeys<'_>,
        meta: PatchMeta<'_>,
        seen: Option<&mut HashMap<Object, &'e Object>>,
    ) {
        let missing = |key: &&str| entry.get(key).is_none_or(Value::is_null);
        let required = match keys {
            MergeKeys::Named(_) => keys.names().next().filter(missing),
            MergeKeys::One { .. } => keys.names().find(missing),
            MergeKeys::Declared(declared) => {
                declared.iter().filter(|key| key.default.is_none()).map(|key| key.name.as_str()).find(missing)
            }
        };
        if let Some(key) = required {
            let key = Text::from(key);
            return self.report(Problem::NoMergeKey(key));
        }
        if let Some(key) = keys.names().find(|key| entry.get(key).is_some_and(|value| !value.is_scalar())) {
            let key = Text::from(key);
            return self.report(Problem::KeyNotScalar(key));
        }
        let Some(seen) = seen.filter(|_| patch_of(entry) != Some("delete")) else { return };
        let identity = keys.of(entry);
        if let Some(other) = seen.get(&identity) {
            let better = meta.recommended_keys().filter(|more| more.of(entry) != more.of(other));
            self.report(match better {
                Some(more) if !matches!(keys, MergeKeys::Named(_)) => Problem::KeyCannotTell {
                    key: identity.clone(),
                    recommended: more.names().map(Text::from).collect(),
                },
                _ => Problem::Repeated(identity.clone().into()),
            });
        }
        seen.entry(identity).or_insert(entry);
    }

    fn set(&mut self, name: &Text, list: &Array, map: &Object) {
        let mut seen = HashSet::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            if !seen.insert(item) {
                let problem = Problem::Repeated(item.clone());
                self.below(PathElement::Index(at as i64), |linter| linter.report(problem));
            }
        }
        self.order(name, map, |order| uncovered(list.iter().cloned(), order, Value::clone));
    }

    /// Checks that the order beside a list covers it.
    fn order(&mut self, name: &Text, map: &Object, uncovered: impl FnOnce(&Array) -> Vec<Value>) {
        let directive = format!("{SET_ELEMENT_ORDER}/{name}");
        let Some(Value::Array(order)) = map.get(&directive) else { return };
        if self.subject == Subject::Manifest || order.is_empty() {
            return;
        }
        for entry in uncovered(order) {
            self.report(Problem::OrderDoesNotCover { entry, directive: directive.as_str().into() });
        }
    }
}

/// Returns the entries that are missing from an order, or in another order. The first of several equal entries counts.
fn uncovered(
    entries: impl Iterator<Item = Value>,
    order: &Array,
    identity: impl Fn(&Value) -> Value,
) -> Vec<Value> {
    let mut positions: HashMap<Value, usize> = HashMap::with_capacity(order.len());
    for (at, entry) in order.iter().enumerate() {
        positions.entry(identity(entry)).or_insert(at);
    }
    let mut seen = HashSet::new();
    let mut last = 0;
    let mut missing = Vec::new();
    for entry in entries {
        match positions.get(&entry) {
            Some(position) if !seen.insert(*position) => {}
            Some(position) if *position >= last => last = *position,
            _ => missing.push(entry),
        }
    }
    missing
}

fn patch_of(entry: &Object) -> Option<&str> {
    entry.get(PATCH).and_then(Value::as_str)
}

/// Whether an entry says that the list replaces the live one.
fn marks_list(entry: &Value) -> bool {
    entry.as_object().is_some_and(|entry| {
        let directives = 1 + usize::from(entry.contains(PATCH_MERGE_KEY));
        patch_of(entry) == Some("replace") && entry.len() == directives
    })
}
