//! Descriptions of the metadata that every object has. The types of built-in kinds carry no descriptions; these are shared by all
//! of them and by all custom kinds.

use tenure_value::Value;

/// Types, their fields, and a sentence on each.
const DESCRIPTIONS: [(&str, &[(&str, &str)]); 2] = [
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        &[
            ("annotations", "Annotations are metadata of tools and people; selectors do not read them."),
            (
                "creationTimestamp",
                "CreationTimestamp is a timestamp of when the server made the object. Only the server sets it.",
            ),
            (
                "deletionGracePeriodSeconds",
                "The number of seconds that the object may take to terminate once it is being deleted. Only the server sets it.",
            ),
            (
                "deletionTimestamp",
                "DeletionTimestamp is the time at which the object is removed, set when a deletion is requested. Only the server sets it.",
            ),
            (
                "finalizers",
                "Finalizers must all be removed before a deleted object is removed; each is removed by the component that is responsible for it.",
            ),
            (
                "generateName",
                "GenerateName is the beginning of a name that the server completes, for an object that is created without one.",
            ),
            ("generation", "Generation counts the changes of the desired state. Only the server sets it."),
            ("labels", "Labels categorize objects; selectors of lists and controllers read them."),
            (
                "managedFields",
                "ManagedFields say which manager owns which fields. Only the server sets them.",
            ),
            ("name", "Name is unique among the objects of a resource in a namespace. It cannot be changed."),
            ("namespace", "Namespace is the space in which the name is unique. It cannot be changed."),
            (
                "ownerReferences",
                "OwnerReferences name the objects that this one depends on; when all of them are deleted, it is deleted too.",
            ),
            (
                "resourceVersion",
                "ResourceVersion is the version of the store at which the object last changed; clients may compare it for equality only.",
            ),
            ("selfLink", "SelfLink is not used any more."),
            ("uid", "UID is unique in time and space. Only the server sets it."),
        ],
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
        &[
            ("continue", "Continue is the token with which the client requests the rest of a list."),
            ("remainingItemCount", "The number of items after this page of a list, if the server knows it."),
            ("resourceVersion", "ResourceVersion is the version of the store at which the list was read."),
            ("selfLink", "SelfLink is not used any more."),
        ],
    ),
];

/// Returns a field of a type with a sentence on it, where there is one.
pub(super) fn described(text: &str, field: &str, written: Value) -> Value {
    let fields = DESCRIPTIONS.iter().find(|(name, _)| *name == text).map_or(&[][..], |(_, fields)| fields);
    let words = fields.iter().find(|(name, _)| *name == field);
    match (words, written) {
        (Some((_, words)), Value::Object(content)) => content.with("description", *words).into(),
        (_, written) => written,
    }
}
