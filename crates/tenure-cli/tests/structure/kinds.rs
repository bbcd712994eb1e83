//! The paths that every request takes do not name built-in kinds: they use the `Strategy` of a resource, or the constants of
//! `tenure_builtin::role`. Adding a kind or a rule of a kind is a change of `tenure-builtin`.

use crate::{crates, modules, tokens};
use std::{collections::BTreeSet, path::Path};

/// The crates that are checked.
const CRATES: [&str; 18] = [
    "tenure-apply",
    "tenure-audit",
    "tenure-authentication",
    "tenure-authorization",
    "tenure-catalog",
    "tenure-cel",
    "tenure-codec",
    "tenure-fields",
    "tenure-history",
    "tenure-http",
    "tenure-meta",
    "tenure-patch",
    "tenure-schema",
    "tenure-server",
    "tenure-store",
    "tenure-transport",
    "tenure-ui",
    "tenure-value",
];

/// Files and folders that may name kinds, and the kinds that they may name; none for all.
const SUBJECTS: [(&str, &[&str]); 20] = [
    // Each file is about the kinds of its endpoint.
    ("tenure-server/src/subresources", &[]),
    ("tenure-catalog/src/scale_document.rs", &["Scale"]),
    // The addresses and ports of services.
    ("tenure-server/src/services", &[]),
    // RBAC, the objects of nodes, the rules of resource claims, and who may sign for pods.
    ("tenure-authorization/src/rbac", &[]),
    ("tenure-authorization/src/node", &[]),
    ("tenure-authorization/src/claim_status.rs", &[]),
    ("tenure-authorization/src/signing.rs", &[]),
    ("tenure-authorization/src/escalation.rs", &["ClusterRole", "Role"]),
    // Reviews that webhooks are sent, and whom a user may act as.
    ("tenure-authorization/src/review_document.rs", &["SubjectAccessReview"]),
    ("tenure-authentication/src/credentials/token_review.rs", &["TokenReview"]),
    ("tenure-authentication/src/impersonation.rs", &["nodes", "serviceaccounts"]),
    // Events of audit, and the segment of paths.
    ("tenure-audit/src/event.rs", &["Event"]),
    ("tenure-audit/src/policy.rs", &["namespaces"]),
    // The authorizer of kubelets.
    ("tenure-authorization/src/config.rs", &["Node"]),
    // The segment is part of the syntax of paths.
    ("tenure-http/src/request_path.rs", &["namespaces"]),
    // Kinds with fields of bytes.
    ("tenure-codec/src/cbor/byte_fields.rs", &[]),
    // Fields of EndpointSlices, and names that documents repeat.
    ("tenure-catalog/src/objects/webhook_route.rs", &["endpoints"]),
    ("tenure-value/src/json/frequent_names.rs", &[]),
    // An event cannot own objects of any kind.
    ("tenure-meta/src/object_meta/validate.rs", &["Event"]),
    // The page shows secrets hidden, and lists namespaces.
    ("tenure-ui/src/endpoint", &[]),
];

#[test]
fn kinds_are_named_only_where_they_are_the_subject() {
    let registry = tenure_builtin::registry().resources();
    let kinds: BTreeSet<&str> =
        registry.iter().flat_map(|registry| [registry.name.as_str(), registry.kind.as_str()]).collect();
    let mut named = Vec::new();
    let mut used = BTreeSet::new();
    for path in crates().into_iter().filter(|path| CRATES.iter().any(|name| path.ends_with(name))) {
        for (file, text) in modules::sources(&path.join("src")) {
            let shown = file.strip_prefix(path.parent().unwrap_or(Path::new(""))).unwrap_or(&file);
            let subject = SUBJECTS.iter().find(|(subject, _)| shown.starts_with(subject));
            let mut found = tokens::strings(&text);
            found.retain(|name| kinds.contains(name.as_str()));
            if let Some((subject, allowed)) = subject {
                found.retain(|name| !allowed.is_empty() && !allowed.contains(&name.as_str()));
                used.insert(*subject);
            }
            named.extend(found.into_iter().map(|name| format!("{}: {name:?}", shown.display())));
        }
    }
    assert!(named.is_empty(), "use tenure_builtin::role, or the strategy of the kind:\n{}", named.join("\n"));
    assert_eq!(used.len(), SUBJECTS.len(), "{used:?}");
}
