//! The roles and bindings that every server has, and how they are restored at its start.
//!
//! Reconciling only adds: missing objects are created, and missing rules, subjects, selectors, labels and
//! annotations are restored. Additions stay. The annotation `autoupdate: "false"` keeps an object as it is.

use super::{GrantedRule, PolicyRule, escalation::missing_permissions};
use tenure_profile::KubernetesVersion;
use tenure_value::{Limits, Object, Value, json};

const DATA: &str = include_str!("../../data/rbac-bootstrap.json");
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// The lists of the data file in the order in which the server creates them.
const KINDS: [(&str, &str); 4] = [
    ("clusterroles", "ClusterRole"),
    ("clusterrolebindings", "ClusterRoleBinding"),
    ("roles", "Role"),
    ("rolebindings", "RoleBinding"),
];

/// The change that an object needs at the start of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// Nothing.
    Unchanged,
    /// It is missing: create it.
    Create(Value),
    /// Parts of it are missing: write this.
    Update(Value),
    /// Its `roleRef`, which cannot change, differs: delete it and create this.
    Recreate(Value),
}

/// Returns the roles and bindings that every server of a version of Kubernetes has.
pub fn bootstrap_objects(version: KubernetesVersion) -> Result<Vec<Value>, String> {
    let data = json::parse(DATA.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let data = tenure_builtin::at_version(&data, version)?;
    let of_kind = |(list, kind): (&str, &str)| -> Vec<Value> {
        let rows = data.get(list).and_then(Value::as_array);
        rows.into_iter().flat_map(|rows| rows.iter()).map(|row| object_of(row, kind)).collect()
    };
    Ok(KINDS.into_iter().flat_map(of_kind).collect())
}

/// Returns the object of a row, which has the fields of its metadata among its own.
fn object_of(row: &Value, kind: &str) -> Value {
    const METADATA: [&str; 4] = ["annotations", "labels", "name", "namespace"];
    let row = row.as_object().cloned().unwrap_or_default();
    let (metadata, own): (Vec<_>, Vec<_>) = row
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .partition(|(name, _)| METADATA.contains(&name.as_str()));
    let object = Object::from_sorted(own).with("metadata", Value::Object(Object::from_sorted(metadata)));
    Value::Object(object.with("apiVersion", API_VERSION).with("kind", kind))
}

/// Returns the name of the binding whose subjects, labels and annotations a missing binding takes over: it was a part of that
/// binding in earlier versions of Kubernetes.
pub fn split_from(expected: &Value) -> Option<&'static str> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text(expected.at(["metadata", "name"]));
    let is_split = name == "system:public-info-viewer" && text(expected.get("kind")) == "ClusterRoleBinding";
    is_split.then_some("system:discovery")
}

/// Returns a missing binding with the subjects, labels and annotations of the one that it was a part of.
pub fn split(expected: &Value, source: &Value) -> Value {
    let taken = |object: Object, field: &str, source: &Value| match source.get(field) {
        Some(value) => object.with(field, value.clone()),
        None => object.without(field),
    };
    let metadata = expected.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let from = source.get("metadata").unwrap_or(&Value::Null);
    let metadata =
        ["annotations", "labels"].iter().fold(metadata, |object, field| taken(object, field, from));
    let binding = expected.as_object().cloned().unwrap_or_default();
    Value::Object(taken(binding, "subjects", source).with("metadata", Value::Object(metadata)))
}

/// Compares a bootstrap object with the stored one.
pub fn reconcile(expected: &Value, stored: Option<&Value>) -> Reconciled {
    let Some(stored) = stored else { return Reconciled::Create(expected.clone()) };
    if stored.at(["metadata", "annotations", AUTOUPDATE]).and_then(Value::as_str) == Some("false") {
        return Reconciled::Unchanged;
    }
    if expected.get("roleRef") != stored.get("roleRef") {
        return Reconciled::Recreate(expected.clone());
    }
    let mut next = stored.as_object().cloned().unwrap_or_default();
    let mut metadata = next.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in ["annotations", "labels"] {
        let known = metadata.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        let given = expected.at(["metadata", field]).and_then(Value::as_object).cloned().unwrap_or_default();
        let missing = given.iter().filter(|(name, _)| !known.contains(name));
        let merged =
            missing.fold(known.clone(), |merged, (name, value)| merged.with(name.clone(), value.clone()));
        if merged.len() != known.len() {
            metadata = metadata.with(field, Value::Object(merged));
        }
    }
    next = next.with("metadata", Value::Object(metadata));
    next = with_missing_items(next, expected, "subjects");
    match expected.get("aggregationRule") {
        Some(rule) => next = with_missing_selectors(next, rule),
        None => next = with_missing_rules(next, expected),
    }
    let next = Value::Object(next);
    if next == *stored { Reconciled::Unchanged } else { Reconciled::Update(next) }
}

/// Adds the permissions that the rules of a stored role do not cover.
fn with_missing_rules(next: Object, expected: &Value) -> Object {
    if next.get("rules") == expected.get("rules") {
        return next;
    }
    let (owned, wanted) = (PolicyRule::list(next.get("rules")), PolicyRule::list(expected.get("rules")));
    let missing = missing_permissions(&unlimited(&owned), &unlimited(&wanted));
    let missing = missing.map(|missing| missing.permissions);
    let missing = missing.unwrap_or(wanted);
    if missing.is_empty() {
        return next;
    }
    let rules = items(next.get("rules")).chain(missing.iter().map(PolicyRule::to_value));
    next.with("rules", Value::array(rules))
}

fn unlimited(rules: &[PolicyRule]) -> Vec<GrantedRule<'_>> {
    rules.iter().map(GrantedRule::unlimited).collect()
}

fn with_missing_selectors(next: Object, rule: &Value) -> Object {
    const SELECTORS: &str = "clusterRoleSelectors";
    let known = next.get("aggregationRule").and_then(Value::as_object).cloned().unwrap_or_default();
    let merged = with_missing_items(known, rule, SELECTORS);
    next.with("aggregationRule", Value::Object(merged))
}

/// Appends the items of a list that the stored one lacks.
fn with_missing_items(next: Object, expected: &Value, field: &str) -> Object {
    let known: Vec<Value> = items(next.get(field)).collect();
    let missing: Vec<Value> = items(expected.get(field)).filter(|item| !known.contains(item)).collect();
    if missing.is_empty() { next } else { next.with(field, Value::array(known.into_iter().chain(missing))) }
}

fn items(list: Option<&Value>) -> impl Iterator<Item = Value> {
    let list = list.and_then(Value::as_array).cloned();
    list.into_iter().flat_map(|list| list.iter().cloned().collect::<Vec<_>>())
}
