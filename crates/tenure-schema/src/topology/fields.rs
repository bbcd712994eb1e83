//! The fields of a struct, found by name. Every write looks up hundreds of them, so the sort prefixes of the
//! names are stored separately and compared without access to the fields.

use super::Field;
use std::ops::Deref;
use tenure_value::private::sort_prefix;

/// The fields of a struct, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fields {
    fields: Box<[Field]>,
    /// The sort prefix of each name.
    prefixes: Box<[u64]>,
}

impl Fields {
    /// Returns the field of that name.
    #[inline]
    pub fn find(&self, name: &str) -> Option<&Field> {
        let wanted = sort_prefix(name);
        let mut at = self.prefixes.partition_point(|other| *other < wanted);
        // Names with equal prefixes are adjacent, and few.
        while self.prefixes.get(at) == Some(&wanted) {
            let field = self.fields.get(at)?;
            if field.name == name {
                return Some(field);
            }
            at += 1;
        }
        None
    }

    /// Returns the fields as a vector, to be changed.
    pub fn into_vec(self) -> Vec<Field> {
        self.fields.into_vec()
    }

    /// Returns mutable references to the fields; their names must not change.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Field> {
        self.fields.iter_mut()
    }
}

impl From<Vec<Field>> for Fields {
    /// Creates the fields from any order.
    fn from(mut fields: Vec<Field>) -> Fields {
        if !fields.is_sorted_by(|before, after| before.name <= after.name) {
            fields.sort_by(|before, after| before.name.cmp(&after.name));
        }
        let prefixes = fields.iter().map(|field| sort_prefix(&field.name)).collect();
        Fields { fields: fields.into(), prefixes }
    }
}

impl FromIterator<Field> for Fields {
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> Fields {
        fields.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for Fields {
    type Target = [Field];

    #[inline]
    fn deref(&self) -> &[Field] {
        &self.fields
    }
}

impl<'f> IntoIterator for &'f Fields {
    type Item = &'f Field;
    type IntoIter = std::slice::Iter<'f, Field>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PatchMarks, Slot, TypeId};

    #[test]
    fn all_fields_are_found_and_no_other_names() {
        let names =
            ["terminationMessagePolicy", "a", "terminationMessagePath", "", "terminationGrace", "name"];
        let slot = Slot { type_id: TypeId(0), nullable: false, default: None };
        let field = |name: &&str| Field {
            name: (*name).into(),
            slot: slot.clone(),
            required: false,
            patch: PatchMarks::default(),
        };
        let fields: Fields = names.iter().map(field).collect();
        assert!(fields.is_sorted_by(|before, after| before.name < after.name));
        for name in names {
            assert_eq!(fields.find(name).map(|field| field.name.as_str()), Some(name));
        }
        for name in ["terminationMessage", "terminationMessagePathology", "b", "names", "zone"] {
            assert_eq!(fields.find(name), None, "{name}");
        }
    }
}
