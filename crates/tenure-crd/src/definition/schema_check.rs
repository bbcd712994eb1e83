//! Which schemas a definition may have. The structure is `tenure-schema`'s to judge; here stand patterns, defaults against
//! their own schema, and rules. A schema that all versions share is reported once, at the place
//! where a kube-apiserver reports it.

use crate::{fault, fill, node::Identity, node::Node, pattern::Pattern, prune, rules, validate};
use tenure_meta::{Before, Cause, FieldPath, Row};
use tenure_schema::crd;
use tenure_value::{Object, Value};

/// Checks the schemas of all versions.
pub(super) fn check(spec: &Value, faults: &mut Vec<Cause>) {
    let versions = spec.items("versions");
    let schemas: Vec<Option<&Value>> = versions
        .iter()
        .map(|version| version.at(["schema", "openAPIV3Schema"]).filter(|schema| !schema.is_null()))
        .collect();
    for (at, _) in schemas.iter().enumerate().filter(|(_, schema)| schema.is_none()) {
        faults.push(fault::required(format!("spec.versions[{at}].schema.openAPIV3Schema"), ""));
    }
    let shared = schemas.windows(2).all(|pair| pair[0] == pair[1]);
    for (at, schema) in schemas.iter().enumerate() {
        let Some(schema) = schema else { continue };
        match (shared, at) {
            (true, 0) => check_schema(schema, "spec.validation.openAPIV3Schema", faults),
            (true, _) => {}
            (false, at) => {
                check_schema(schema, &format!("spec.versions[{at}].schema.openAPIV3Schema"), faults)
            }
        }
    }
}

/// Checks one schema; what stands on a broken structure is not looked at.
pub(crate) fn check_schema(schema: &Value, root: &str, faults: &mut Vec<Cause>) {
    let violations = crd::check_structural_at(schema, root);
    if !violations.is_empty() {
        faults.extend(violations.into_iter().map(|violation| Cause {
            reason: violation.reason.as_str().into(),
            message: violation.message,
            field: violation.path,
            extension: None,
        }));
        return;
    }
    let start = faults.len();
    let path = FieldPath::root();
    check_node(schema, Identity::Root, &path.field(root), faults);
    if faults.len() == start {
        rules::check_definition(&Node::root(schema), schema, root, faults);
    }
}

fn check_node(schema: &Value, identity: Identity, path: &FieldPath<'_>, faults: &mut Vec<Cause>) {
    let Some(from) = schema.as_object() else { return };
    check_values(from, path, faults);
    if let Some(default) = from.get("default").filter(|default| !default.is_null()) {
        check_default(schema, default, identity, &path.field("default"), faults);
    }
    for (name, below) in from.get("properties").and_then(Value::as_object).into_iter().flatten() {
        check_node(below, Identity::None, &path.field("properties").key(name), faults);
    }
    for name in ["items", "additionalProperties", "not"] {
        if let Some(below @ Value::Object(_)) = from.get(name) {
            check_node(below, Identity::None, &path.field(name), faults);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let below = from.get(name).and_then(Value::as_array);
        for (at, below) in below.map(|items| items.items()).unwrap_or_default().iter().enumerate() {
            check_node(below, Identity::None, &path.field(name).index(at), faults);
        }
    }
}

fn check_values(from: &Object, path: &FieldPath<'_>, faults: &mut Vec<Cause>) {
    if let Some(pattern) = from.get("pattern").and_then(Value::as_str)
        && let Some(why) = Pattern::fault(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        faults.push(fault::invalid(path.field("pattern"), &pattern.into(), &detail));
    }
}

/// A default must be what pruning leaves, validation accepts and the rules allow.
fn check_default(
    schema: &Value,
    default: &Value,
    identity: Identity,
    path: &FieldPath<'_>,
    faults: &mut Vec<Cause>,
) {
    let node = Node::compile(schema, identity);
    let mut dropped = Vec::new();
    prune::prune(&node, default, Before::NOTHING, &FieldPath::root(), &mut dropped);
    if !dropped.is_empty() {
        let detail = format!("must not have fields that the schema does not name: {}", dropped.join(", "));
        faults.push(fault::invalid(path, default, &detail));
    }
    let filled = fill::fill(&node, default, Before::NOTHING).unwrap_or_else(|| default.clone());
    let mut inner = Vec::new();
    validate::check(&node, &filled, None, &FieldPath::root(), &mut inner);
    if inner.is_empty() {
        let mut budget = rules::Budget::of_object();
        rules::check(&node, &filled, None, &FieldPath::root(), &mut budget, &mut inner);
    }
    for mut cause in inner {
        let dot = if cause.field.is_empty() || cause.field.starts_with('[') { "" } else { "." };
        cause.field = format!("{path}{dot}{}", cause.field);
        faults.push(cause);
    }
}
