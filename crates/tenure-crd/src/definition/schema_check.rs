//! Validation of the schemas of a definition. `tenure-schema` checks the structure; this module checks
//! patterns, defaults and rules. A schema shared by all versions is reported once, at the path that
//! kube-apiserver uses.

use crate::{
    fill,
    node::{Additional, Identity, Node},
    pattern::Pattern,
    prune, rules, validate,
};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Previous, ValueExt};
use tenure_profile::{Improvement, Profile};
use tenure_schema::crd;
use tenure_value::{Object, Text, Value};

/// Validates the schemas of all versions.
pub(super) fn check(spec: &Value, profile: Profile, errors: &mut FieldErrors) {
    let versions = spec.items("versions");
    let schemas: Vec<Option<&Value>> = versions
        .iter()
        .map(|version| version.at(["schema", "openAPIV3Schema"]).filter(|schema| !schema.is_null()))
        .collect();
    for (at, _) in schemas.iter().enumerate().filter(|(_, schema)| schema.is_none()) {
        errors.push(FieldError::required(format!("spec.versions[{at}].schema.openAPIV3Schema"), ""));
    }
    let shared = schemas.windows(2).all(|pair| pair[0] == pair[1]);
    for (at, schema) in schemas.iter().enumerate() {
        let Some(schema) = schema else { continue };
        match (shared, at) {
            (true, 0) => check_schema(schema, "spec.validation.openAPIV3Schema", profile, errors),
            (true, _) => {}
            (false, at) => {
                let root = format!("spec.versions[{at}].schema.openAPIV3Schema");
                check_schema(schema, &root, profile, errors)
            }
        }
    }
}

/// Validates one schema; if its structure is invalid, nothing else is checked.
fn check_schema(schema: &Value, root: &str, profile: Profile, errors: &mut FieldErrors) {
    let mut violations = crd::check_structural_at(schema, root);
    if !profile.has(Improvement::RejectUnappliableLists) {
        violations.retain(|violation| violation.rule == crd::RuleOrigin::Kubernetes);
    }
    if !violations.is_empty() {
        errors.extend(violations.into_iter().map(|violation| {
            let kind =
                FieldErrorKind::from_reason(violation.reason.as_str()).unwrap_or(FieldErrorKind::Invalid);
            FieldError::with_message(kind, violation.path, violation.message)
        }));
        return;
    }
    let start = errors.len();
    let path = FieldPath::root();
    let node = Node::root(schema, profile);
    check_node(schema, Some(&node), &Surroundings::default(), &path.field(root), errors);
    if errors.len() == start {
        rules::check_definition(&node, schema, root, errors);
    }
}

/// The way from a resource to a value of its metadata, its apiVersion or its kind; empty elsewhere.
#[derive(Clone, Default)]
struct Surroundings(Vec<Step>);

#[derive(Clone)]
enum Step {
    Field(Text),
    Item,
}

impl Surroundings {
    /// Returns the surroundings of a field.
    fn field(&self, node: Option<&Node>, name: &str) -> Surroundings {
        let is_identity = node.is_some_and(|node| node.identity != Identity::None)
            && matches!(name, "apiVersion" | "kind" | "metadata");
        let from: &[Step] = if is_identity { &[] } else { &self.0 };
        if is_identity || !from.is_empty() {
            Surroundings(from.iter().cloned().chain([Step::Field(name.into())]).collect())
        } else {
            Surroundings::default()
        }
    }

    /// Returns the surroundings of an item.
    fn item(&self) -> Surroundings {
        match self.0.is_empty() {
            true => Surroundings::default(),
            false => Surroundings(self.0.iter().cloned().chain([Step::Item]).collect()),
        }
    }

    /// Returns a resource that has a value here and is otherwise valid; `None` outside of metadata.
    fn resource(&self, value: &Value) -> Option<Object> {
        let wrapped = self.0.iter().rev().fold(value.clone(), |value, step| match step {
            Step::Field(name) => Value::object([(name.clone(), value)]),
            Step::Item => Value::array([value]),
        });
        let fields = wrapped.as_object().filter(|_| !self.0.is_empty())?;
        let with = |fields: Object, name: &str, value: &str| match fields.contains(name) {
            true => fields,
            false => fields.with(name, value),
        };
        Some(with(with(fields.clone(), "apiVersion", "validation/v1"), "kind", "Validation"))
    }
}

/// Checks a schema and those below it. The compiled node comes along, so that each schema is compiled once; schemas inside
/// junctors have none, since a structural schema has no defaults there.
fn check_node(
    schema: &Value,
    node: Option<&Node>,
    around: &Surroundings,
    path: &FieldPath<'_>,
    errors: &mut FieldErrors,
) {
    let Some(from) = schema.as_object() else { return };
    check_values(from, path, errors);
    if let (Some(node), Some(default)) = (node, from.get("default").filter(|default| !default.is_null())) {
        check_default(node, default, around, &path.field("default"), errors);
    }
    for (name, below) in from.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let around = around.field(node, name);
        let node = node.and_then(|node| node.field(name));
        check_node(below, node, &around, &path.field("properties").key(name), errors);
    }
    for name in ["items", "additionalProperties", "not"] {
        if let Some(below @ Value::Object(_)) = from.get(name) {
            let node = node.and_then(|node| match (name, &node.additional) {
                ("items", _) => node.items.as_deref(),
                ("additionalProperties", Additional::Each(below)) => Some(&**below),
                _ => None,
            });
            check_node(below, node, &around.item(), &path.field(name), errors);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let below = from.get(name).and_then(Value::as_array);
        for (at, below) in below.map(|items| items.items()).unwrap_or_default().iter().enumerate() {
            check_node(below, None, around, &path.field(name).index(at), errors);
        }
    }
}

fn check_values(from: &Object, path: &FieldPath<'_>, errors: &mut FieldErrors) {
    if let Some(pattern) = from.get("pattern").and_then(Value::as_str)
        && let Err(why) = Pattern::check(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(path.field("pattern"), &pattern.into(), &detail));
    }
}

/// A default must be pruned, valid, and satisfy the rules. Inside the metadata of a resource unknown fields are dropped, and
/// what remains must be valid metadata.
fn check_default(
    node: &Node,
    default: &Value,
    around: &Surroundings,
    path: &FieldPath<'_>,
    errors: &mut FieldErrors,
) {
    let mut dropped = Vec::new();
    if let Some(resource) = around.resource(default) {
        if let Some(why) = validate::identity_fault(&resource) {
            let detail = format!("must result in valid metadata: {why}");
            return errors.push(FieldError::invalid(path, default, detail));
        }
    } else {
        prune::prune(node, default, Previous::UNKNOWN, &FieldPath::root(), &mut dropped);
    }
    if !dropped.is_empty() {
        let detail = format!("must not have fields that the schema does not name: {}", dropped.join(", "));
        errors.push(FieldError::invalid(path, default, &detail));
    }
    let filled = match fill::fill(node, default, Previous::UNKNOWN) {
        Ok(filled) => filled.unwrap_or_else(|| default.clone()),
        Err(error) => return errors.push(FieldError::invalid(path, default, error.to_string())),
    };
    let mut inner = FieldErrors::default();
    validate::check(node, &filled, None, &FieldPath::root(), &mut inner);
    if inner.is_empty() {
        let mut budget = rules::Budget::of_object();
        rules::check(node, &filled, None, &FieldPath::root(), &mut budget, &mut inner);
    }
    errors.extend(inner.into_vec().into_iter().map(|error| error.below(path)));
}
