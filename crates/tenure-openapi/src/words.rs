//! What people read of the metadata that every object has: the types of built-in kinds carry no descriptions, and this is
//! the part that all of them, and all custom kinds, have in common.

use tenure_value::Value;

/// Types, their fields, and a sentence on each.
const WORDS: [(&str, &[(&str, &str)]); 2] = [
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        &[
            ("annotations", "Annotations are notes of tools and people; nothing selects by them."),
            (
                "creationTimestamp",
                "CreationTimestamp is a timestamp of when the server made the object. Only the server sets it.",
            ),
            (
                "deletionGracePeriodSeconds",
                "How many seconds the object may take to end once it is being deleted. Only the server sets it.",
            ),
            (
                "deletionTimestamp",
                "DeletionTimestamp is the time at which the object goes, set once a deletion was asked for. Only the server sets it.",
            ),
            (
                "finalizers",
                "Finalizers must all be gone before a deleted object goes; each is taken away by whoever put it there.",
            ),
            (
                "generateName",
                "GenerateName is the beginning of a name that the server completes, for an object that is created without one.",
            ),
            ("generation", "Generation counts the changes of what is wanted. Only the server sets it."),
            ("labels", "Labels sort objects, and lists and controllers select by them."),
            ("managedFields", "ManagedFields tell who holds which fields. Only the server sets them."),
            (
                "name",
                "Name tells the object from all others of its resource and namespace. It cannot be changed.",
            ),
            ("namespace", "Namespace is the space in which the name is unique. It cannot be changed."),
            (
                "ownerReferences",
                "OwnerReferences name the objects that this one depends on; once all are gone, it goes too.",
            ),
            (
                "resourceVersion",
                "ResourceVersion is the version of the store at which the object last changed; to be compared for equality alone.",
            ),
            ("selfLink", "SelfLink is not used any more."),
            ("uid", "UID tells the object from all others that ever were. Only the server sets it."),
        ],
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
        &[
            ("continue", "Continue is given back to the server for the rest of a list that came in part."),
            ("remainingItemCount", "How many items follow this part of a list, where the server knows."),
            ("resourceVersion", "ResourceVersion is the version of the store at which the list was read."),
            ("selfLink", "SelfLink is not used any more."),
        ],
    ),
];

/// Returns a field of a type with a sentence on it, where there is one.
pub(super) fn described(of: &str, field: &str, written: Value) -> Value {
    let fields = WORDS.iter().find(|(name, _)| *name == of).map_or(&[][..], |(_, fields)| fields);
    let words = fields.iter().find(|(name, _)| *name == field);
    match (words, written) {
        (Some((_, words)), Value::Object(content)) => content.with("description", *words).into(),
        (_, written) => written,
    }
}
