//! Paths that the API server itself maintains.

use tenure_apply::LAST_APPLIED;
use tenure_fields::{Path, PathElement};

/// Fields that identify an object or that the server writes; they have no owner.
const SERVER_MAINTAINED: [&[&str]; 10] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "generation"],
    &["metadata", "creationTimestamp"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "selfLink"],
];

/// Whether a path identifies the object or is written by the server.
pub(crate) fn is_server_maintained(path: &Path) -> bool {
    SERVER_MAINTAINED.iter().any(|names| is(path, names))
}

/// Whether a path is the status as a whole.
pub(crate) fn is_status(path: &Path) -> bool {
    is(path, &["status"])
}

/// Whether a path is the annotation in which `kubectl apply` keeps the last manifest.
pub(crate) fn is_last_applied(path: &Path) -> bool {
    is(path, &["metadata", "annotations", LAST_APPLIED])
}

fn is(path: &Path, names: &[&str]) -> bool {
    let same = |(element, name): (&PathElement, &&str)| matches!(element, PathElement::Field(field) if field == *name);
    path.len() == names.len() && path.iter().zip(names).all(same)
}
