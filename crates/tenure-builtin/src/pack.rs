//! The data files, read when first needed. They are part of the binary, so a file that does not parse is a
//! fault of the build that every test sees; at run time it counts as an empty document.

use std::sync::LazyLock;
use tenure_value::Value;

macro_rules! document {
    ($(#[$doc:meta])* $name:ident, $file:literal) => {
        $(#[$doc])*
        pub(crate) static $name: LazyLock<Value> =
            LazyLock::new(|| include_str!(concat!("../data/", $file)).parse().unwrap_or_default());
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

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::Row;

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
