//! Validation of metadata: name, labels, annotations, finalizers, owner references, and their changes on
//! update.

use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath, NameFormat, Resource, Scope, format};
use tenure_value::{Object, Value};

/// The maximum total size of the annotations of an object.
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;
/// The maximum length of the name of a manager.
const MOST_MANAGER_BYTES: usize = 128;
/// The finalizer of definitions that still have objects.
pub const CRD_CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

fn metadata(object: &Value) -> Object {
    object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn text<'o>(of: &'o Object, name: &str) -> &'o str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'o>(of: &'o Object, name: &str) -> &'o [Value] {
    of.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

/// Validates the metadata of a new object.
pub fn check(resource: &Resource, object: &Value, errors: &mut FieldErrors) {
    check_new(&Rules::of(resource), object, errors);
}

/// Returns the errors in the metadata of an embedded object, which needs no name and no namespace; paths
/// start with `metadata`.
pub fn check_embedded(metadata: &Object) -> Vec<FieldError> {
    let named = |of: Object, name: &str| if of.contains(name) { of } else { of.with(name, "x") };
    let metadata = named(named(metadata.clone(), "name"), "namespace");
    let object = Value::object([("metadata", Value::from(metadata))]);
    let rules = Rules { names: NameFormat::Segment, scope: Scope::Namespaced, plain_finalizers: true };
    let mut errors = FieldErrors::default();
    check_new(&rules, &object, &mut errors);
    errors.into_vec()
}

/// The metadata rules of a kind.
struct Rules {
    names: NameFormat,
    scope: Scope,
    /// Whether finalizers need no domain.
    plain_finalizers: bool,
}

impl Rules {
    fn of(resource: &Resource) -> Rules {
        Rules {
            names: resource.strategy.names,
            scope: resource.scope,
            plain_finalizers: resource.strategy.plain_finalizers,
        }
    }
}

fn check_new(rules: &Rules, object: &Value, errors: &mut FieldErrors) {
    let of = metadata(object);
    let (name, prefix, names) = (text(&of, "name"), text(&of, "generateName"), rules.names);
    let mut invalid = |path: &str, value: &str, fault: Option<String>| {
        errors.extend(fault.map(|fault| FieldError::invalid(path, &value.into(), fault)));
    };
    if !prefix.is_empty() {
        invalid("metadata.generateName", prefix, format::name_prefix(names, prefix));
    }
    match name {
        "" => errors.push(FieldError::new(
            FieldErrorKind::Required,
            "metadata.name",
            &Value::Null,
            "name or generateName is required",
        )),
        name => invalid("metadata.name", name, format::object_name(names, name)),
    }
    named_by_content(names, object, name, errors);
    let namespace = text(&of, "namespace");
    match rules.scope {
        Scope::Namespaced if namespace.is_empty() => {
            errors.push(FieldError::new(FieldErrorKind::Required, "metadata.namespace", &Value::Null, ""))
        }
        Scope::Namespaced => {
            let fault = format::dns_label(namespace);
            errors.extend(
                fault.map(|fault| FieldError::invalid("metadata.namespace", &namespace.into(), fault)),
            );
        }
        Scope::Cluster => {}
    }
    parts(rules, &of, errors);
}

/// Kinds whose name follows from their content.
fn named_by_content(names: NameFormat, object: &Value, name: &str, errors: &mut FieldErrors) {
    let at = |path: &[&str]| object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
    let (expected, words) = match names {
        NameFormat::Definition => (
            format!("{}.{}", at(&["spec", "names", "plural"]), at(&["spec", "group"])),
            "spec.names.plural+\".\"+spec.group",
        ),
        NameFormat::Service => (
            format!("{}.{}", at(&["spec", "version"]), at(&["spec", "group"])),
            "spec.version+\".\"+spec.group",
        ),
        _ => return,
    };
    if name != expected && !name.is_empty() {
        errors.push(FieldError::invalid("metadata.name", &name.into(), format!("must be {words}")));
    }
}

/// Validates what create and update have in common.
fn parts(rules: &Rules, of: &Object, errors: &mut FieldErrors) {
    if of.get("generation").and_then(Value::as_i64).is_some_and(|generation| generation < 0) {
        let value = of.get("generation").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("metadata.generation", &value, "must be greater than or equal to 0"));
    }
    labels(&FieldPath::root().field("metadata").field("labels"), of.get("labels"), errors);
    annotations("metadata.annotations", of.get("annotations"), errors);
    for (at, finalizer) in items(of, "finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        let faults = format::qualified_name_faults(name);
        if !faults.is_empty() {
            errors.extend(
                faults.into_iter().map(|fault| FieldError::invalid("metadata.finalizers", finalizer, fault)),
            );
        } else if !rules.plain_finalizers
            && !name.contains('/')
            && !format::STANDARD_FINALIZERS.contains(&name)
            && name != CRD_CLEANUP_FINALIZER
        {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(format!("metadata.finalizers[{at}]"), finalizer, detail));
        }
    }
    let both = ["orphan", "foregroundDeletion"].map(|name| items(of, "finalizers").contains(&name.into()));
    if both == [true, true] {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        let value = of.get("finalizers").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("metadata.finalizers", &value, detail));
    }
    owners(of, errors);
    for (at, entry) in items(of, "managedFields").iter().enumerate() {
        let manager = entry.get("manager").and_then(Value::as_str).unwrap_or_default();
        if manager.len() > MOST_MANAGER_BYTES {
            let path = format!("metadata.managedFields[{at}].manager");
            let detail = format!("may not be more than {MOST_MANAGER_BYTES} bytes");
            errors.push(FieldError::new(FieldErrorKind::TooLong, &path, &Value::Null, detail));
        }
    }
}

/// Validates keys and values of labels.
pub fn labels(path: &FieldPath<'_>, labels: Option<&Value>, errors: &mut FieldErrors) {
    for (key, value) in labels.and_then(Value::as_object).map(Object::fields).unwrap_or_default() {
        for fault in format::qualified_name_faults(key) {
            errors.push(FieldError::invalid(path.to_string(), &key.clone().into(), fault));
        }
        if let Some(fault) = value.as_str().and_then(format::label_value) {
            errors.push(FieldError::invalid(path.to_string(), value, fault));
        }
    }
}

/// Validates the keys of annotations, and their total size.
pub fn annotations(path: &str, annotations: Option<&Value>, errors: &mut FieldErrors) {
    let mut bytes = 0;
    for (key, value) in annotations.and_then(Value::as_object).map(Object::fields).unwrap_or_default() {
        bytes += key.len() + value.as_str().map_or(0, str::len);
        // The domain of an annotation is case-insensitive.
        let faults = match key.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => format::qualified_name_faults(&key.to_lowercase()),
            false => format::qualified_name_faults(key),
        };
        for fault in faults {
            errors.push(FieldError::invalid(path, &key.clone().into(), fault));
        }
    }
    if bytes > MOST_ANNOTATION_BYTES {
        let detail = format!("may not be more than {MOST_ANNOTATION_BYTES} bytes");
        errors.push(FieldError::new(FieldErrorKind::TooLong, path, &Value::Null, detail));
    }
}

/// Returns the error in an `apiVersion`.
pub fn version_fault(api_version: &str) -> Option<&'static str> {
    let too_many = api_version.matches('/').count() > 1;
    too_many.then_some("must be a version, or a group and a version with one slash between them")
}

fn owners(of: &Object, errors: &mut FieldErrors) {
    let owners = items(of, "ownerReferences");
    for owner in owners {
        for name in ["apiVersion", "kind", "name", "uid"] {
            if owner.get(name).and_then(Value::as_str).unwrap_or_default().is_empty() {
                let path = format!("metadata.ownerReferences.{name}");
                let detail =
                    if name == "apiVersion" { "version must not be empty" } else { "must not be empty" };
                errors.push(FieldError::invalid(&path, &"".into(), detail));
            }
        }
        let kind = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Some(detail) = version_fault(kind("apiVersion")) {
            let path = "metadata.ownerReferences.apiVersion";
            errors.push(FieldError::invalid(path, &kind("apiVersion").into(), detail));
        }
        if (kind("apiVersion"), kind("kind")) == ("v1", "Event") {
            let detail = "is disallowed from being an owner";
            errors.push(FieldError::invalid("metadata.ownerReferences", owner, detail));
        }
    }
    let controllers = owners.iter().filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    if controllers.count() > 1 {
        let value = of.get("ownerReferences").cloned().unwrap_or_default();
        let detail = "Only one reference can have Controller set to true";
        errors.push(FieldError::invalid("metadata.ownerReferences", &value, detail));
    }
}

/// Validates the metadata of an updated object.
pub fn check_update(resource: &Resource, old: &Value, new: &Value, errors: &mut FieldErrors) {
    let rules = &Rules::of(resource);
    let (before, after) = (metadata(old), metadata(new));
    parts(rules, &after, errors);
    let prefix = text(&after, "generateName");
    if let Some(fault) = format::path_segment(prefix) {
        errors.push(FieldError::invalid("metadata.generateName", &prefix.into(), fault));
    }
    if before.get("deletionTimestamp").is_some() {
        let held = items(&before, "finalizers");
        let fresh: Vec<&Value> =
            items(&after, "finalizers").iter().filter(|name| !held.contains(name)).collect();
        if !fresh.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers {fresh:?}"
            );
            errors.push(FieldError::new(
                FieldErrorKind::Forbidden,
                "metadata.finalizers",
                &Value::Null,
                detail,
            ));
        }
    }
    let immutable =
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    for name in immutable {
        if rules.scope == Scope::Cluster && name == "namespace" {
            continue;
        }
        let (was, is) = (before.get(name).unwrap_or(&Value::Null), after.get(name).unwrap_or(&Value::Null));
        if was != is {
            errors.push(FieldError::invalid(format!("metadata.{name}"), is, "field is immutable"));
        }
    }
    let generation = |of: &Object| of.get("generation").and_then(Value::as_i64).unwrap_or(0);
    if generation(&after) < generation(&before) {
        let value = after.get("generation").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("metadata.generation", &value, "must not be decremented"));
    }
}
