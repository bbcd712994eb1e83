//! The ownership of one object in numbers, for lists of many.

use crate::{LiveObject, owner::Owner, path::is_server_maintained};
use tenure_apply::ownership;
use tenure_schema::TypeRef;
use tenure_value::{Object, Value, json};

/// How many fields an object has, and how many of them have owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its managers, one entry each.
    pub managers: Vec<Owner>,
    /// The fields that can have an owner.
    pub fields: usize,
    /// Those of them without one.
    pub unowned: usize,
    /// Those with several.
    pub shared: usize,
    /// The size of `managedFields` as JSON.
    pub bytes: usize,
}

impl Summary {
    /// Counts the fields of an object.
    pub fn of(live: &LiveObject, ty: TypeRef<'_>) -> Summary {
        let mut summary = Summary {
            managers: live.managers.iter().map(Owner::from).collect(),
            fields: 0,
            unowned: 0,
            shared: 0,
            bytes: json::to_vec(&live.managers.to_value()).len(),
        };
        for field in ownership(&live.object, &live.managers, ty) {
            if is_server_maintained(&field.path) {
                continue;
            }
            summary.fields += 1;
            summary.unowned += usize::from(field.owners.is_empty());
            summary.shared += usize::from(field.owners.len() > 1);
        }
        summary
    }

    /// Returns the summary as a document.
    pub fn to_value(&self) -> Value {
        let count = |count: usize| Value::from(count as i64);
        Value::Object(
            Object::default()
                .with("managers", crate::owner::list(&self.managers))
                .with("fields", count(self.fields))
                .with("unowned", count(self.unowned))
                .with("shared", count(self.shared))
                .with("bytes", count(self.bytes)),
        )
    }
}
