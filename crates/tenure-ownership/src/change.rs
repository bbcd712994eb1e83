//! What a write did to an object, found by comparing the object before and after it.

use crate::{
    Difference, LiveObject,
    owner::{self, Owner, owners_of},
    plan::{differences, document},
};
use tenure_apply::{OwnershipChange, ownership_changes};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The difference between two states of an object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The managers whose entries are new, own other fields or have another time; if there are none, the owners of the values.
    pub authors: Vec<Owner>,
    /// The values that changed.
    pub values: Vec<Difference>,
    /// The managers that gained or lost fields.
    pub owners: Vec<OwnershipChange>,
    word: String,
}

impl Change {
    /// Compares two states of an object, whose kind is printed as `word`.
    pub fn between(before: &LiveObject, after: &LiveObject, word: &str, ty: TypeRef<'_>) -> Change {
        let is_author = |manager: &&tenure_apply::Manager| {
            let previous = before.managers.get(&manager.identity());
            previous.is_none_or(|previous| previous.time != manager.time || previous.fields != manager.fields)
        };
        let owners = ownership_changes(&before.state(), &after.state(), ty);
        // A manager that only lost fields did not write.
        let lost_only = |owner: &Owner| {
            let change = owners.iter().find(|change| change.owner.identity().is(&owner.identity()));
            let previous = before.managers.get(&owner.identity());
            change.is_some_and(|change| !change.is_empty() && change.gained.is_empty())
                && previous.is_some_and(|previous| previous.time == owner.time)
        };
        let authors = after.managers.iter().filter(is_author).map(Owner::from);
        let mut authors: Vec<Owner> = authors.filter(|author| !lost_only(author)).collect();
        let values = differences(Some(&before.object), &after.object, ty);
        if authors.is_empty() {
            // A second write of the same fields within a second, or without a time, leaves no other trace.
            for owner in values.iter().flat_map(|value| owners_of(&after.managers, &value.path)) {
                if !authors.contains(&owner) {
                    authors.push(owner);
                }
            }
        }
        Change {
            authors,
            values,
            owners: owners.into_iter().filter(|change| !change.is_empty()).collect(),
            word: word.to_owned(),
        }
    }

    /// Whether nothing changed that has an owner or a value of its own.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.owners.is_empty()
    }

    /// Returns the values that changed, with those of a Secret redacted.
    pub fn shown_values(&self) -> Vec<Difference> {
        self.values.iter().map(|value| document::redacted(value, &self.word)).collect()
    }

    /// Returns the change as a document; values of a Secret are not shown.
    pub fn to_value(&self) -> Value {
        let value = |difference| document::value(&document::redacted(difference, &self.word));
        Value::object([
            ("authors", owner::list(&self.authors)),
            ("values", Value::array(self.values.iter().map(value))),
            ("owners", Value::array(self.owners.iter().map(document::change))),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    fn live(managers: &str, colour: &str) -> LiveObject {
        let shown = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","managedFields":[{managers}]}},
                "data":{{"colour":"{colour}"}}}}"#
        );
        LiveObject::read(&shown.parse().unwrap()).unwrap()
    }

    fn manager(name: &str, operation: &str, time: &str, fields: &str) -> String {
        format!(
            r#"{{"manager":"{name}","operation":"{operation}","apiVersion":"v1","time":"{time}",
                "fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{{fields}}}}}}}"#
        )
    }

    #[test]
    fn the_author_is_the_writer_and_not_the_manager_that_lost_fields() {
        let colour = r#""f:colour":{}"#;
        let before = live(
            &[
                manager("alice", "Apply", "2026-01-01T00:00:00Z", r#""f:colour":{},"f:size":{}"#),
                manager("carol", "Apply", "2026-01-01T00:00:00Z", r#""f:x":{}"#),
            ]
            .join(","),
            "blue",
        );
        let after = live(
            &[
                manager("alice", "Apply", "2026-01-01T00:00:00Z", r#""f:size":{}"#),
                manager("carol", "Apply", "2026-01-01T00:00:00Z", r#""f:x":{}"#),
                manager("edit", "Update", "2026-01-01T00:01:00Z", colour),
            ]
            .join(","),
            "green",
        );
        let ty = Schema::builtin().kind("v1", "ConfigMap").unwrap();
        let change = Change::between(&before, &after, "configmap", ty);
        let authors: Vec<&str> = change.authors.iter().map(|author| author.name.as_str()).collect();
        assert_eq!(authors, ["edit"]);
        assert_eq!(change.values.len(), 1);
        let shown = Change::between(&before, &after, "secret", ty).to_value().to_string();
        assert!(shown.contains("***") && !shown.contains("green"), "{shown}");
        assert!(Change::between(&after, &after, "configmap", ty).is_empty());
        let again = live(&manager("edit", "Update", "2026-01-01T00:01:00Z", colour), "red");
        let once = live(&manager("edit", "Update", "2026-01-01T00:01:00Z", colour), "green");
        assert_eq!(Change::between(&once, &again, "configmap", ty).authors[0].name, "edit");
    }
}
