//! `matchLabelKeys` and `mismatchLabelKeys` of a pod that is created: for each label of the pod that they name, the selector beside them
//! gets a requirement with its value, which is what schedulers look at.

use tenure_meta::ValueExt;
use tenure_value::{Object, Value};

/// Returns the affinity of a pod with the requirements of its terms; `None` if there are none.
pub(super) fn affinity(affinity: &Value, labels: &Object) -> Option<Value> {
    let whole = affinity.as_object()?;
    let mut changed = None;
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(terms) = whole.get(name).and_then(Value::as_object) else { continue };
        let required = change_items(terms, "requiredDuringSchedulingIgnoredDuringExecution", |term| {
            with_requirements(term, labels)
        });
        let preferred = change_items(
            required.as_ref().unwrap_or(terms),
            "preferredDuringSchedulingIgnoredDuringExecution",
            |weighted| {
                let term = with_requirements(weighted.get("podAffinityTerm")?, labels)?;
                Some(Value::Object(weighted.as_object()?.with("podAffinityTerm", term)))
            },
        );
        if let Some(terms) = preferred.or(required) {
            changed = Some(changed.as_ref().unwrap_or(whole).with(name, Value::Object(terms)));
        }
    }
    changed.map(Value::Object)
}

/// Returns the spread constraints of the spec of a pod with their requirements; `None` if there are none.
pub(super) fn constraints(spec: &Value, labels: &Object) -> Option<Value> {
    const NAME: &str = "topologySpreadConstraints";
    let changed = change_items(spec.as_object()?, NAME, |constraint| with_requirements(constraint, labels))?;
    changed.get(NAME).cloned()
}

/// Changes items of a list; `None` if none of them changes.
fn change_items(
    object: &Object,
    name: &'static str,
    change: impl Fn(&Value) -> Option<Value>,
) -> Option<Object> {
    let items = object.get(name)?.as_array()?.items();
    let changes: Vec<Option<Value>> = items.iter().map(change).collect();
    if changes.iter().all(Option::is_none) {
        return None;
    }
    let items = changes.into_iter().zip(items).map(|(changed, item)| changed.unwrap_or_else(|| item.clone()));
    Some(object.with(name, Value::array(items)))
}

/// Adds the requirements to the selector of a term or constraint; one without a selector selects nothing.
fn with_requirements(term: &Value, labels: &Object) -> Option<Value> {
    let selector = term.get("labelSelector")?.as_object()?;
    let requirement = |key: &Value, operator: &'static str| {
        let value = labels.get(key.as_str()?)?.clone();
        let fields = [("key", key.clone()), ("operator", operator.into()), ("values", Value::array([value]))];
        Some(Value::object(fields))
    };
    let matching = term.items("matchLabelKeys").iter().filter_map(|key| requirement(key, "In"));
    let mismatching = term.items("mismatchLabelKeys").iter().filter_map(|key| requirement(key, "NotIn"));
    let added: Vec<Value> = matching.chain(mismatching).collect();
    if added.is_empty() {
        return None;
    }
    let present = selector.get("matchExpressions").and_then(Value::as_array);
    let present = present.map(|items| items.items()).unwrap_or_default();
    let all = Value::array(present.iter().cloned().chain(added));
    Some(Value::Object(
        term.as_object()?.with("labelSelector", Value::Object(selector.with("matchExpressions", all))),
    ))
}
