//! The deletion of a namespace: everything in it is deleted, finalizers are waited for, and when nothing is left the namespace is
//! removed. A namespace that has to wait says in its conditions what for.

use super::{
    Outcome,
    removal::{delete_all, replace},
};
use crate::write::Writer;
use std::{collections::BTreeMap, sync::Arc};
use tenure_catalog::{
    Target,
    object::{Stored, prefix, seconds},
};
use tenure_meta::ApiError;
use tenure_value::Value;

/// Where namespaces are in the store.
pub(super) const PREFIX: &str = "objects/core/namespaces/";
/// How many failed deletions are reported.
const FAILURES: usize = 10;
/// The finalizer in the spec that stands for the content.
const CONTENT: &str = "kubernetes";

/// What is still in a namespace.
#[derive(Default)]
struct Remaining {
    /// How many there are of each resource.
    objects: BTreeMap<String, usize>,
    /// How many objects each finalizer holds.
    finalizers: BTreeMap<String, usize>,
    /// Why something could not be deleted.
    failures: Vec<String>,
}

/// Removes what is in a namespace that is being deleted, and the namespace when it is empty.
pub(super) async fn remove(writer: &Arc<Writer>, name: &str) -> Result<Outcome, ApiError> {
    let objects = &writer.objects;
    let Some(target) = Target::of_key(&objects.catalog, &format!("{PREFIX}{name}")) else {
        return Ok(Outcome::Done);
    };
    let Some(namespace) = objects.read(&target).await? else { return Ok(Outcome::Done) };
    if namespace.object.at(["metadata", "deletionTimestamp"]).is_none() {
        return Ok(Outcome::Done);
    }
    let mut remaining = Remaining::default();
    for handler in objects.catalog.namespaced_resources() {
        let left = delete_all(writer, &prefix(&handler.resource, name)).await?;
        remaining.failures.extend(left.failures.iter().map(ToString::to_string));
        let left = left.entries;
        if left.is_empty() {
            continue;
        }
        let resource = &handler.resource;
        let dot = if resource.group.is_empty() { "" } else { "." };
        *remaining.objects.entry(format!("{}{dot}{}", resource.name, resource.group)).or_default() +=
            left.len();
        for entry in &left {
            let object = Stored::read(entry)?.object;
            let held = object.at(["metadata", "finalizers"]).and_then(Value::as_array).cloned();
            for finalizer in held.unwrap_or_default().iter().filter_map(Value::as_str) {
                *remaining.finalizers.entry(finalizer.to_string()).or_default() += 1;
            }
        }
    }
    if remaining.objects.is_empty() {
        return replace(writer, &target, &namespace, emptied(&namespace.object)).await;
    }
    let updated = with_conditions(&namespace.object, &remaining, seconds(objects.clock.now()).into());
    if updated != namespace.object {
        replace(writer, &target, &namespace, updated).await?;
    }
    Ok(Outcome::Later)
}

/// Returns a namespace without the finalizer of its content.
fn emptied(namespace: &Value) -> Value {
    let fields = namespace.as_object().cloned().unwrap_or_default();
    let spec = fields.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let finalizers = spec.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let others: Vec<Value> =
        finalizers.iter().filter(|name| name.as_str() != Some(CONTENT)).cloned().collect();
    let spec = if others.is_empty() {
        spec.without("finalizers")
    } else {
        spec.with("finalizers", Value::array(others))
    };
    Value::Object(fields.with("spec", spec))
}

/// Returns a namespace whose conditions say what it waits for.
fn with_conditions(namespace: &Value, remaining: &Remaining, now: Value) -> Value {
    let list = |counts: &BTreeMap<String, usize>, word: &str| {
        let each =
            counts.iter().map(|(resource, count)| format!("{resource}{word}{count} resource instances"));
        each.collect::<Vec<_>>().join(", ")
    };
    let finalizers = if remaining.finalizers.is_empty() {
        ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished".to_string())
    } else {
        let held = list(&remaining.finalizers, " in ");
        let message = format!("Some content in the namespace has finalizers remaining: {held}");
        ("True", "SomeFinalizersRemain", message)
    };
    let objects = list(&remaining.objects, " has ");
    let content = ("True", "SomeResourcesRemain", format!("Some resources are remaining: {objects}"));
    let deleted = match remaining.failures.as_slice() {
        [] => {
            let message = "All content successfully deleted, may be waiting on finalization".to_string();
            ("False", "ContentDeleted", message)
        }
        failures => {
            let (count, first) = (failures.len(), failures[..failures.len().min(FAILURES)].join(", "));
            let message = format!("Failed to delete all resource types, {count} remaining: {first}");
            ("True", "ContentDeletionFailed", message)
        }
    };
    let reported = [
        ("NamespaceDeletionContentFailure", deleted),
        ("NamespaceContentRemaining", content),
        ("NamespaceFinalizersRemaining", finalizers),
    ];
    let fields = namespace.as_object().cloned().unwrap_or_default();
    let status = fields.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let old = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let is = |condition: &Value, kind: &str| condition.get("type").and_then(Value::as_str) == Some(kind);
    let mut conditions: Vec<Value> = old
        .iter()
        .filter(|condition| !reported.iter().any(|(kind, _)| is(condition, kind)))
        .cloned()
        .collect();
    for (kind, (state, reason, message)) in reported {
        let before = old.iter().find(|condition| is(condition, kind));
        let same = before.filter(|condition| condition.get("status").and_then(Value::as_str) == Some(state));
        let since = same
            .and_then(|condition| condition.get("lastTransitionTime"))
            .cloned()
            .unwrap_or_else(|| now.clone());
        conditions.push(Value::object([
            ("type", Value::from(kind)),
            ("status", Value::from(state)),
            ("lastTransitionTime", since),
            ("reason", Value::from(reason)),
            ("message", Value::from(message)),
        ]));
    }
    Value::Object(fields.with("status", status.with("conditions", Value::array(conditions))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminating_namespace_reports_what_remains_and_since_when() {
        let namespace: Value =
            r#"{"kind":"Namespace","status":{"phase":"Terminating","conditions":[{"type":"Other"}]}}"#
                .parse()
                .unwrap();
        let mut remaining = Remaining::default();
        remaining.objects.insert("pods".into(), 2);
        remaining.finalizers.insert("example.com/held".into(), 1);
        let first = with_conditions(&namespace, &remaining, "then".into());
        let messages: Vec<&str> = first
            .at(["status", "conditions"])
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .filter_map(|condition| condition.get("message").and_then(Value::as_str))
            .collect();
        assert_eq!(
            messages[1..],
            [
                "Some resources are remaining: pods has 2 resource instances",
                "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
            ]
        );
        assert_eq!(
            with_conditions(&first, &remaining, "now".into()),
            first,
            "nothing new is nothing to write"
        );
        remaining.failures.push("pods \"p\" is forbidden: it stays".into());
        let failed = with_conditions(&first, &remaining, "now".into()).to_string();
        let message =
            r#"Failed to delete all resource types, 1 remaining: pods \"p\" is forbidden: it stays"#;
        assert!(failed.contains(message), "{failed}");
    }

    #[test]
    fn only_the_content_finalizer_is_removed() {
        let emptied_of = |text: &str| emptied(&text.parse().unwrap()).to_string();
        assert_eq!(emptied_of(r#"{"spec":{"finalizers":["kubernetes"]}}"#), r#"{"spec":{}}"#);
        assert_eq!(
            emptied_of(r#"{"spec":{"finalizers":["kubernetes","x/y"]}}"#),
            r#"{"spec":{"finalizers":["x/y"]}}"#
        );
    }
}
