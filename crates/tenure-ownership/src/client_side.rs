//! What client-side apply and its like left behind, and how `kubectl apply --server-side` takes it over.
//!
//! Contract of [`upgrade`]: every manager that updated the annotation of client-side apply is gone afterwards. Its fields at the version
//! of the manager that applies are that manager's; those at other versions have no owner any more, as `kubectl` does it.

use tenure_apply::{BEFORE_FIRST_APPLY, LAST_APPLIED, Manager, Managers, Operation};
use tenure_fields::PathElement;

/// The managers under which manifests were written before server-side apply: by `kubectl apply` and `kubectl create` on
/// the client, and before ownership was tracked.
pub const CLIENT_SIDE_MANAGERS: [&str; 4] =
    [CLIENT_SIDE_APPLY, KUBECTL_LAST_APPLIED, "kubectl-create", BEFORE_FIRST_APPLY];

/// The manager of `kubectl apply` on the client.
const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";

/// The manager under which `kubectl apply --server-side` keeps the annotation of client-side apply.
pub const KUBECTL_LAST_APPLIED: &str = "kubectl-last-applied";

/// Whether a manager owns the annotation of client-side apply by an operation.
fn owns_last_applied(manager: &Manager, operation: Operation) -> bool {
    let path = ["metadata", "annotations", LAST_APPLIED].map(PathElement::field);
    manager.operation == operation && manager.fields.has(&path)
}

/// Whether client-side `kubectl apply` left a manager behind: it updated the annotation of client-side apply, or has the name that
/// `kubectl` gives it. `kubectl create` and `kubectl-last-applied`, under which server-side apply keeps the annotation, leave nothing.
pub fn is_left_over(manager: &Manager) -> bool {
    let is_named = manager.operation == Operation::Update && manager.name == CLIENT_SIDE_APPLY;
    is_named || owns_last_applied(manager, Operation::Update)
}

/// Whether a manager applies the annotation of client-side apply, so that an apply without it does not remove it.
pub fn is_last_applied_kept(managers: &Managers) -> bool {
    managers.iter().any(|manager| owns_last_applied(manager, Operation::Apply))
}

/// Returns the managers after `kubectl apply --server-side` as the manager `to` took over what was applied on the client; `None` if
/// nothing was.
pub fn upgrade(managers: &Managers, to: &str) -> Option<Managers> {
    let mut former: Vec<&str> = managers
        .iter()
        .filter(|manager| owns_last_applied(manager, Operation::Update))
        .map(|manager| manager.name.as_str())
        .collect();
    former.sort_unstable();
    former.dedup();
    let mut entries: Vec<Manager> = managers.iter().cloned().collect();
    let mut is_changed = false;
    for from in former {
        is_changed |= take_over(&mut entries, from, to);
    }
    is_changed.then(|| Managers::new(entries))
}

/// Merges the entries of a former manager into the one that applies, which becomes the first of them if there is none. Returns whether
/// there were any.
fn take_over(entries: &mut Vec<Manager>, from: &str, to: &str) -> bool {
    let is = |manager: &Manager, name: &str, operation: Operation| {
        manager.name == name && manager.operation == operation && manager.subresource.is_empty()
    };
    let own = entries.iter().position(|manager| is(manager, to, Operation::Apply));
    let Some(first) = entries.iter().position(|manager| is(manager, from, Operation::Update)) else {
        return false;
    };
    let at = own.unwrap_or(first);
    let Some(mut applier) = entries.get(at).cloned() else { return false };
    let version = applier.api_version.clone();
    let same = entries.iter().find(|one| is(one, from, Operation::Update) && one.api_version == version);
    if let Some(same) = same {
        applier.fields = applier.fields.union(&same.fields);
    }
    (applier.name, applier.operation) = (to.into(), Operation::Apply);
    if let Some(entry) = entries.get_mut(at) {
        *entry = applier;
    }
    entries.retain(|manager| !is(manager, from, Operation::Update));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_value::Value;

    fn entry(manager: &str, operation: &str, version: &str, fields: &str) -> String {
        format!(
            r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"{version}","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
        )
    }

    fn managers(entries: &[String]) -> Managers {
        let text = format!("[{}]", entries.join(","));
        Managers::from_value(&text.parse::<Value>().unwrap()).unwrap()
    }

    #[test]
    fn only_client_side_apply_leaves_managers_behind() {
        let annotated =
            r#"{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}"#;
        let data = r#"{"f:data":{"f:a":{}}}"#;
        let cases = [
            (entry("kubectl-client-side-apply", "Update", "v1", data), true),
            (entry("ci", "Update", "v1", annotated), true),
            (entry("kubectl-create", "Update", "v1", annotated), true),
            (entry("kubectl-create", "Update", "v1", data), false),
            (entry("kubectl-last-applied", "Apply", "v1", annotated), false),
            (entry("before-first-apply", "Update", "v1", data), false),
            (entry("kubectl", "Apply", "v1", data), false),
        ];
        for (entry, expected) in cases {
            assert_eq!(managers(std::slice::from_ref(&entry)).iter().all(is_left_over), expected, "{entry}");
        }
    }

    #[test]
    fn kubectl_merges_client_side_owners_into_the_one_that_applies() {
        let annotated = r#"{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:data":{"f:a":{}}}"#;
        let (b, both) =
            (r#"{"f:data":{"f:b":{}}}"#, annotated.replace(r#""f:a":{}"#, r#""f:a":{},"f:b":{}"#));
        let old = "kubectl-client-side-apply";
        let cases: [(&[String], Option<&[String]>); 5] = [
            // Nothing was applied on the client, or nobody updated the annotation.
            (&[entry("ci", "Update", "v1", b)], None),
            (&[entry("kubectl", "Apply", "v1", annotated), entry(old, "Update", "v1", b)], None),
            // The former manager becomes the one that applies, or is merged into it.
            (&[entry(old, "Update", "v1", annotated)], Some(&[entry("kubectl", "Apply", "v1", annotated)])),
            (
                &[entry("kubectl", "Apply", "v1", b), entry(old, "Update", "v1", annotated)],
                Some(&[entry("kubectl", "Apply", "v1", &both)]),
            ),
            // Fields at another version than that of the applier are lost.
            (
                &[entry("kubectl", "Apply", "v1", b), entry(old, "Update", "v2", annotated)],
                Some(&[entry("kubectl", "Apply", "v1", b)]),
            ),
        ];
        for (before, after) in cases {
            assert_eq!(upgrade(&managers(before), "kubectl"), after.map(managers), "{before:?}");
        }
    }
}
