//! Validation of a schema of a definition. `tenure-schema` checks the structure; this module checks patterns, defaults and rules.

use crate::{
    fill,
    node::{Identity, Node},
    pattern::Pattern,
    prune, rules, validate,
};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Previous};
use tenure_profile::{Improvement, Profile};
use tenure_schema::crd;
use tenure_value::{Object, Text, Value};

/// The keywords that the root of a schema may have beside a status subresource, as Kubernetes names them.
const AT_ROOT: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";

/// Validates a schema: its structure; if that is valid its defaults; its keywords; and if all are valid, its rules.
pub(super) fn check(
    schema: &Value,
    root: &str,
    has_status: bool,
    profile: Profile,
    errors: &mut FieldErrors,
) {
    let start = errors.len();
    if has_status {
        check_root(schema, root, errors);
    }
    let pattern_fault = |pattern: &str| Pattern::check(pattern).err().map(|fault| fault.to_string());
    let mut violations = crd::check_structure(schema, root, &pattern_fault);
    if !profile.has(Improvement::RejectUnappliableLists) {
        violations.openapi.retain(|violation| violation.rule == crd::RuleOrigin::Kubernetes);
    }
    let is_structural = violations.structural.is_empty();
    report(violations.structural, errors);
    let path = FieldPath::root();
    let node = is_structural.then(|| Node::root(schema, profile));
    if let Some(node) = &node {
        // The root is a resource, as an embedded one.
        check_node(schema, node, &Surroundings::default(), &path.field(root), errors);
    }
    report(violations.openapi, errors);
    if let Some(node) = node.filter(|_| errors.len() == start) {
        rules::check_definition(&node, schema, root, errors);
    }
}

fn report(violations: Vec<crd::Violation>, errors: &mut FieldErrors) {
    errors.extend(violations.into_iter().map(|violation| {
        let kind = FieldErrorKind::from_reason(violation.reason.as_str()).unwrap_or(FieldErrorKind::Invalid);
        FieldError::with_message(kind, violation.path, violation.message)
    }));
}

/// Beside a status subresource, the root may have no keyword that says something about the whole object.
fn check_root(schema: &Value, root: &str, errors: &mut FieldErrors) {
    let word = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_set = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    let go_name = |name: &str| match name.strip_prefix("x-kubernetes-") {
        Some(rest) => rest.split('-').fold(String::from("X"), |name, part| name + &capitalized(part)),
        None => capitalized(name),
    };
    let set = schema.as_object().into_iter().flatten().filter(|(_, value)| is_set(value));
    let shown = || Value::object(set.clone().map(|(name, value)| (go_name(name), value.clone())));
    if set.clone().any(|(name, _)| !AT_ROOT.split(' ').any(|allowed| allowed == go_name(name))) {
        let detail = format!(
            "only [{AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
        );
        errors.push(FieldError::invalid(root, &shown(), detail));
    } else if !word.is_empty() && word != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(format!("{root}.type"), &word.into(), detail));
    }
}

fn capitalized(word: &str) -> String {
    let mut signs = word.chars();
    signs.next().into_iter().flat_map(char::to_uppercase).chain(signs).collect()
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

/// Checks the defaults of a schema and of those below it. The compiled node comes along, so that each schema is compiled once.
/// The values of a map are not looked at, as in Kubernetes, and schemas inside of junctors have no defaults.
fn check_node(
    schema: &Value,
    node: &Node,
    around: &Surroundings,
    path: &FieldPath<'_>,
    errors: &mut FieldErrors,
) {
    let Some(from) = schema.as_object() else { return };
    if let Some(default) = from.get("default").filter(|default| !default.is_null()) {
        check_default(node, default, around, &path.field("default"), errors);
    }
    if let (Some(below @ Value::Object(_)), Some(node)) = (from.get("items"), node.items.as_deref()) {
        check_node(below, node, &around.item(), &path.field("items"), errors);
    }
    for (name, below) in from.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(field) = node.field(name) {
            let around = around.field(Some(node), name);
            check_node(below, field, &around, &path.field("properties").key(name), errors);
        }
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
        errors.push(FieldError::invalid(path, default, "must not have unknown fields"));
    }
    let filled = match fill::fill(node, default, Previous::UNKNOWN) {
        Ok(filled) => filled.unwrap_or_else(|| default.clone()),
        Err(error) => return errors.push(FieldError::invalid(path, default, error.to_string())),
    };
    let mut inner = FieldErrors::default();
    validate::check_default(node, &filled, &FieldPath::root(), &mut inner);
    if inner.is_empty() {
        rules::Validation::run(node, &filled, None, &mut inner);
    }
    errors.extend(inner.into_vec().into_iter().map(|error| error.below(path)));
}
