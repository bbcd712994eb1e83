//! Fields that no manager can own: what identifies the object, and what the server maintains.

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
pub(crate) fn is_unowned(name: &str) -> bool {
    TOP.contains(&name)
}

/// Whether a field of `metadata` is in no manager's set.
pub(crate) fn is_unowned_in_metadata(name: &str) -> bool {
    METADATA.contains(&name)
}

/// Returns a set without the fields that no manager can own.
pub(crate) fn without(fields: &FieldSet) -> FieldSet {
    static UNOWNED: OnceLock<FieldSet> = OnceLock::new();
    let unowned = UNOWNED.get_or_init(|| {
        let mut set = FieldSetBuilder::new();
        TOP.iter().for_each(|name| set.insert(&[PathElement::field(*name)]));
        let metadata = PathElement::field("metadata");
        METADATA.iter().for_each(|name| set.insert(&[metadata.clone(), PathElement::field(*name)]));
        set.finish()
    });
    fields.difference(unowned)
}
