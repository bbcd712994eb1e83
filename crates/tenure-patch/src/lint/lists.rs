//! Lists under lint: keys that are missing, repeated or too few, and orders that do not cover.

use super::{Look, Problem, Subject};
use crate::strategic::{
    PATCH_MERGE_KEY, SET_ELEMENT_ORDER,
    plan::{self, Keys, Plan, Position},
};
use tenure_fields::PathElement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

impl Look {
    pub(super) fn list(&mut self, name: &Text, list: &Array, map: &Object, position: Position<'_>) {
        let sent = list.iter().find_map(|entry| entry.get(PATCH_MERGE_KEY)).and_then(Value::as_array);
        let keys = match (sent, position.plan(self.unmarked)) {
            (Some(sent), _) => Keys::Named(sent.iter().filter_map(Value::as_str).collect()),
            (None, Plan::Keyed(keys)) => keys,
            (None, Plan::Set) => return self.set(name, list, map),
            (None, Plan::Replace) => return self.literal(&list.clone().into(), position.ty),
        };
        if keys.len() == 0 {
            return;
        }
        let item = plan::item(position.ty);
        let replaced = list.iter().any(|entry| is_directed(entry, "replace"));
        let mut seen: Vec<(Object, &Object)> = Vec::new();
        for (at, entry) in list.iter().enumerate() {
            self.path.push(PathElement::Index(at as i64));
            match entry {
                Value::Object(entry) => {
                    if !is_directed(&entry.clone().into(), "replace") {
                        self.keys(entry, &keys, &position, &mut seen);
                    }
                    if sent.is_some() && !entry.contains(PATCH_MERGE_KEY) {
                        self.find(Problem::MergeKeysMissing);
                    }
                    match replaced {
                        true => self.literal_entry(entry, item),
                        false => self.map(entry, item),
                    }
                }
                other => self.find(Problem::NotAnObject(other.clone())),
            }
            self.path.pop();
        }
        self.order(name, map, |order| {
            let merging = list.iter().filter(|entry| entry.get("$patch").is_none());
            uncovered(merging.filter_map(|entry| Some(keys.of(entry.as_object()?).into())), order, |entry| {
                entry.as_object().map_or_else(|| entry.clone(), |entry| keys.of(entry).into())
            })
        });
    }

    fn literal_entry(&mut self, entry: &Object, item: TypeRef<'_>) {
        let without = entry.without("$patch");
        self.literal(&without.into(), item);
    }

    /// Looks over the keys of an entry, and whether another entry has them.
    fn keys<'e>(
        &mut self,
        entry: &'e Object,
        keys: &Keys<'_>,
        position: &Position<'_>,
        seen: &mut Vec<(Object, &'e Object)>,
    ) {
        let missing = |key: &&str| entry.get(key).is_none_or(Value::is_null);
        let required = match keys {
            Keys::Named(_) => keys.names().next().filter(missing),
            Keys::One(_) => keys.names().find(missing),
            Keys::Declared(declared) => {
                declared.iter().filter(|key| key.default.is_none()).map(|key| key.name.as_str()).find(missing)
            }
        };
        if let Some(key) = required {
            let key = Text::from(key);
            return self.find(Problem::NoMergeKey(key));
        }
        if let Some(key) = keys.names().find(|key| entry.get(key).is_some_and(|value| !value.is_scalar())) {
            let key = Text::from(key);
            return self.find(Problem::KeyNotScalar(key));
        }
        let identity = keys.of(entry);
        if is_directed(&entry.clone().into(), "delete") {
            return;
        }
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == identity) {
            let telling = position.recommended_keys().filter(|more| more.of(entry) != more.of(other));
            self.find(match telling {
                Some(more) if !matches!(keys, Keys::Named(_)) => Problem::KeyCannotTell {
                    key: identity.clone(),
                    recommended: more.names().map(Text::from).collect(),
                },
                _ => Problem::Repeated(identity.clone().into()),
            });
        }
        seen.push((identity, entry));
    }

    fn set(&mut self, name: &Text, list: &Array, map: &Object) {
        for (at, item) in list.iter().enumerate() {
            if list[..at].contains(item) {
                self.below(PathElement::Index(at as i64), |look| look.find(Problem::Repeated(item.clone())));
            }
        }
        self.order(name, map, |order| uncovered(list.iter().cloned(), order, Value::clone));
    }

    /// Looks whether the order beside a list covers it.
    fn order(&mut self, name: &Text, map: &Object, uncovered: impl FnOnce(&Array) -> Vec<Value>) {
        let directive = format!("{SET_ELEMENT_ORDER}/{name}");
        let Some(Value::Array(order)) = map.get(&directive) else { return };
        if self.subject == Subject::Manifest || order.is_empty() {
            return;
        }
        for entry in uncovered(order) {
            self.find(Problem::OrderDoesNotCover { entry, directive: directive.as_str().into() });
        }
    }
}

/// Returns the entries that an order lacks, or has in another order.
fn uncovered(
    entries: impl Iterator<Item = Value>,
    order: &Array,
    identity: impl Fn(&Value) -> Value,
) -> Vec<Value> {
    let order: Vec<Value> = order.iter().map(identity).collect();
    let mut last = 0;
    let mut missing = Vec::new();
    for entry in entries {
        match order.iter().position(|ordered| *ordered == entry) {
            Some(place) if place >= last => last = place,
            _ => missing.push(entry),
        }
    }
    missing
}

fn is_directed(entry: &Value, word: &str) -> bool {
    entry.get("$patch").and_then(Value::as_str) == Some(word)
}
