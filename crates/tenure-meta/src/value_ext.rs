//! Access to members of a document with a known structure, with defaults for absent ones.

use tenure_value::{Text, Value};

/// Members of an object, read with a default for those that are absent.
pub trait ValueExt {
    /// Returns a string; empty if absent.
    fn text(&self, name: &str) -> Text;
    /// Returns a list of strings; empty if absent.
    fn texts(&self, name: &str) -> Box<[Text]>;
    /// Returns the items of a list; empty if absent.
    fn items(&self, name: &str) -> &[Value];
    /// Whether a member is `true`.
    fn flag(&self, name: &str) -> bool;
}

impl ValueExt for Value {
    fn text(&self, name: &str) -> Text {
        self.get(name).and_then(Value::as_str).map(Text::new).unwrap_or_default()
    }

    fn texts(&self, name: &str) -> Box<[Text]> {
        self.items(name).iter().filter_map(|item| item.as_str().map(Text::new)).collect()
    }

    fn items(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}
