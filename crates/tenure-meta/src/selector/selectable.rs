//! A field by which objects can be selected, and its value in an object.

use crate::value_ext::ValueExt;
use tenure_value::{Text, Value};

/// A field by which lists of a resource can be selected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SelectableField {
    /// The name in selectors: `spec.nodeName`.
    pub name: Text,
    /// The paths of the value in objects; the first existing one counts.
    pub paths: Box<[Text]>,
    /// The value of an absent field.
    pub absent: Text,
}

impl SelectableField {
    /// Returns a field whose name is its path, and whose absent value is the empty string.
    pub fn new(name: impl Into<Text>) -> SelectableField {
        let name = name.into();
        SelectableField { paths: [name.clone()].into(), name, absent: Text::default() }
    }

    /// Parses a row of data: a name, or an object with `name` and, if they differ, `paths` and `absent`.
    pub fn from_row(row: &Value) -> SelectableField {
        let name = row.as_str().map_or_else(|| row.text("name"), Text::new);
        let paths = row.texts("paths");
        let paths = if paths.is_empty() { [name.clone()].into() } else { paths };
        SelectableField { name, paths, absent: row.text("absent") }
    }

    /// Returns the value in an object as selectors write it.
    pub fn value(&self, object: &Value) -> Text {
        let found = self.paths.iter().filter_map(|path| object.at(path.split('.')));
        match found.into_iter().find(|value| value.as_str() != Some("")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(flag)) => Text::new(flag.to_string()),
            Some(Value::Int(number)) => Text::from(number.to_string()),
            _ => self.absent.clone(),
        }
    }
}
