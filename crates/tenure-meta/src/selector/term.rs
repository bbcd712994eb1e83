//! The requirements of a selector that an index can answer: a label that is present, a label or a field with one of some values.

use super::selectable::SelectableField;
use tenure_value::{Text, Value};

/// What objects can be indexed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IndexedBy {
    /// The value of a label.
    Label(Text),
    /// The value of a field.
    Field(SelectableField),
}

impl IndexedBy {
    /// Returns the value of an object; `None` if it does not have the label.
    pub fn value(&self, object: &Value) -> Option<Text> {
        match self {
            IndexedBy::Label(label) => {
                object.at(["metadata", "labels", label.as_str()]).and_then(Value::as_str).map(Text::new)
            }
            IndexedBy::Field(field) => Some(field.value(object)),
        }
    }
}

/// A requirement that an index can answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexTerm {
    /// The label or field.
    pub by: IndexedBy,
    /// The values that match; `None` if any value does.
    pub values: Option<Vec<Text>>,
}

impl IndexTerm {
    /// Whether an object meets the requirement.
    pub fn matches(&self, object: &Value) -> bool {
        let value = self.by.value(object);
        value.is_some_and(|value| self.values.as_ref().is_none_or(|values| values.contains(&value)))
    }
}
