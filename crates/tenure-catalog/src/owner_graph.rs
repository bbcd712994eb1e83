//! Owners and their dependents, by the uids of owners and the keys of dependents.

use std::collections::{BTreeSet, HashMap};
use tenure_value::{Text, Value};

/// The dependents of every owner that has any.
#[derive(Default)]
pub struct OwnerGraph {
    of: HashMap<Text, BTreeSet<String>>,
    owners: HashMap<String, Vec<Text>>,
}

impl OwnerGraph {
    /// Records the owners that an object names.
    pub fn learn(&mut self, key: &str, object: &Value) {
        let owners: Vec<Text> = owner_references(object).map(|owner| Text::new(owner.uid)).collect();
        if self.owners.get(key) == Some(&owners) {
            return;
        }
        self.forget(key);
        for owner in &owners {
            self.of.entry(owner.clone()).or_default().insert(key.to_string());
        }
        if !owners.is_empty() {
            self.owners.insert(key.to_string(), owners);
        }
    }

    /// Drops an object that is deleted or has no owner any more.
    pub fn forget(&mut self, key: &str) {
        for owner in self.owners.remove(key).unwrap_or_default() {
            if let Some(dependents) = self.of.get_mut(&owner) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.of.remove(&owner);
                }
            }
        }
    }

    /// Returns the dependents of an owner.
    pub fn of(&self, uid: &str) -> Vec<String> {
        self.of.get(uid).map(|dependents| dependents.iter().cloned().collect()).unwrap_or_default()
    }
}

/// Returns the owners that an object names.
pub fn owner_references(object: &Value) -> impl Iterator<Item = OwnerReference<'_>> {
    let list = object.at(["metadata", "ownerReferences"]).and_then(Value::as_array);
    list.into_iter().flat_map(|list| list.iter()).map(|reference| {
        let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
        OwnerReference {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            blocks: reference.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or(false),
        }
    })
}

/// An owner as its dependent names it.
pub struct OwnerReference<'a> {
    /// The API version of its kind.
    pub api_version: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Whether the owner waits for this dependent when it is deleted in the foreground.
    pub blocks: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned_by(uids: &[&str]) -> Value {
        let references = uids.iter().map(|uid| Value::object([("uid", Value::from(*uid))]));
        Value::object([("metadata", Value::object([("ownerReferences", Value::array(references))]))])
    }

    #[test]
    fn dependents_are_found_until_they_are_forgotten() {
        let mut dependents = OwnerGraph::default();
        dependents.learn("a", &owned_by(&["1", "2"]));
        dependents.learn("b", &owned_by(&["1"]));
        assert_eq!(dependents.of("1"), ["a", "b"]);
        dependents.learn("a", &owned_by(&["2"]));
        assert_eq!((dependents.of("1"), dependents.of("2")), (vec!["b".to_string()], vec!["a".to_string()]));
        dependents.forget("a");
        dependents.forget("b");
        assert!(dependents.of("2").is_empty() && dependents.of.is_empty() && dependents.owners.is_empty());
    }
}
