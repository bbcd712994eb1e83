//! The data files, read when first needed. They are part of the binary, so a file that does not parse is a
//! fault of the build that every test sees; at run time it counts as an empty document.

use std::sync::LazyLock;
use tenure_value::{Text, Value};

macro_rules! document {
    ($(#[$doc:meta])* $name:ident, $file:literal) => {
        $(#[$doc])*
        pub(crate) static $name: LazyLock<Value> =
            LazyLock::new(|| include_str!(concat!("../../data/", $file)).parse().unwrap_or_default());
    };
}

document!(
    /// Groups and resources, one row each.
    RESOURCES,
    "resources.json"
);
document!(
    /// How values are emitted, and the defaulting rules.
    DEFAULTS,
    "defaults.json"
);

document!(
    /// What is invalid: checks by type, and checks of changes by kind.
    VALIDATION,
    "validation.json"
);

document!(
    /// Columns and cells of tables.
    TABLES,
    "tables.json"
);

document!(
    /// How the versions of a kind differ.
    CONVERSIONS,
    "conversions.json"
);

/// Reads members of a row of data.
pub(crate) trait Row {
    /// Returns a string; empty where there is none.
    fn text(&self, name: &str) -> Text;
    /// Returns a list of strings; empty where there is none.
    fn texts(&self, name: &str) -> Box<[Text]>;
    /// Returns the items of a list; none where there is no list.
    fn items(&self, name: &str) -> &[Value];
    /// Whether a member is `true`.
    fn flag(&self, name: &str) -> bool;
}

impl Row for Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_file_is_a_document() {
        for (document, member) in [
            (&RESOURCES, "resources"),
            (&DEFAULTS, "rules"),
            (&TABLES, "plain"),
            (&CONVERSIONS, "conversions"),
        ] {
            assert!(!document.items(member).is_empty(), "{member}");
        }
    }
}
