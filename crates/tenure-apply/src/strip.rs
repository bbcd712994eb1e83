//! Fields that nobody may own: what identifies the object and what the server keeps about it.

use std::sync::OnceLock;
use tenure_fields::{FieldSet, FieldSetBuilder, PathElement};

/// Top-level fields that are in no manager's set.
const TOP: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Fields of `metadata` that are in no manager's set.
const METADATA: [&str; 9] = [
    "clusterName",
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Whether a top-level field is in no manager's set.
pub(crate) fn is_nobodys(name: &str) -> bool {
    TOP.contains(&name)
}

/// Whether a field of `metadata` is in no manager's set.
pub(crate) fn is_nobodys_in_metadata(name: &str) -> bool {
    METADATA.contains(&name)
}

/// Returns a set without the fields that nobody may own.
pub(crate) fn strip(fields: &FieldSet) -> FieldSet {
    static NOBODYS: OnceLock<FieldSet> = OnceLock::new();
    let nobodys = NOBODYS.get_or_init(|| {
        let mut set = FieldSetBuilder::new();
        TOP.iter().for_each(|name| set.insert(&[PathElement::field(*name)]));
        let metadata = PathElement::field("metadata");
        METADATA.iter().for_each(|name| set.insert(&[metadata.clone(), PathElement::field(*name)]));
        set.finish()
    });
    fields.difference(nobodys)
}
