//! Owners and their dependents, by the uids of owners and the keys of dependents. Clones share memory, so that the controllers of a
//! fork begin with what those of its origin know.

use std::{ops::Bound, sync::Arc};
use tenure_store::CowMap;
use tenure_value::{Text, Value};

/// The dependents of every owner that has any.
#[derive(Clone, Default)]
pub struct OwnerGraph {
    /// Each pair of an owner and a dependent.
    dependents: CowMap<(Text, Arc<str>), ()>,
    owners: CowMap<Arc<str>, Arc<[Text]>>,
}

impl OwnerGraph {
    /// Records the owners that an object names.
    pub fn learn(&mut self, key: &str, object: &Value) {
        let owners: Arc<[Text]> = owner_references(object).map(|owner| Text::new(owner.uid)).collect();
        if self.owners.get(key) == Some(&owners) {
            return;
        }
        self.forget(key);
        let key: Arc<str> = key.into();
        for owner in owners.iter() {
            self.dependents.insert((owner.clone(), key.clone()), ());
        }
        if !owners.is_empty() {
            self.owners.insert(key, owners);
        }
    }

    /// Drops an object that is deleted or has no owner any more.
    pub fn forget(&mut self, key: &str) {
        let Some(owners) = self.owners.remove(key) else { return };
        let mut pair = (Text::default(), Arc::from(key));
        for owner in owners.iter() {
            pair.0 = owner.clone();
            self.dependents.remove(&pair);
        }
    }

    /// Returns the dependents of an owner.
    pub fn of(&self, uid: &str) -> Vec<String> {
        let first = (Text::new(uid), Arc::from(""));
        let pairs = self.dependents.range(Bound::Included(&first), None).map(|(pair, ())| pair);
        pairs.take_while(|(owner, _)| owner == uid).map(|(_, key)| key.to_string()).collect()
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
        let fork = dependents.clone();
        dependents.forget("a");
        dependents.forget("b");
        assert!(
            dependents.of("2").is_empty() && dependents.dependents.is_empty() && dependents.owners.is_empty()
        );
        assert_eq!(fork.of("1"), ["b"]);
    }
}
