//! Validation of metadata: name, labels, annotations, finalizers, owner references, and their changes on
//! update.

use crate::{
    FieldError, FieldErrors, FieldPath, NameFormat, Resource, Scope,
    format::{self, Verdict},
};
use std::collections::BTreeSet;
use tenure_value::{Object, Value, go_text::Quoted};

/// The maximum total size of the annotations of an object.
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;
/// The maximum length of the name of a manager.
const MOST_MANAGER_BYTES: usize = 128;
/// The finalizer of definitions that still have objects.
pub const CRD_CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

fn metadata(object: &Value) -> Object {
    object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn text<'o>(object: &'o Object, name: &str) -> &'o str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'o>(object: &'o Object, name: &str) -> &'o [Value] {
    object.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

/// Validates the metadata of a new object.
pub fn check(resource: &Resource, object: &Value, errors: &mut FieldErrors) {
    check_new(&Rules::of(resource), object, errors);
}

/// Returns the errors in the metadata of an embedded object, which needs no name and no namespace; paths
/// start with `metadata`.
pub fn check_embedded(metadata: &Object) -> Vec<FieldError> {
    let named =
        |object: Object, name: &str| if object.contains(name) { object } else { object.with(name, "x") };
    let metadata = named(named(metadata.clone(), "name"), "namespace");
    let object = Value::object([("metadata", Value::from(metadata))]);
    let rules = Rules {
        names: NameFormat::Segment,
        scope: Scope::Namespaced,
        plain_finalizers: true,
        indexed_owners: false,
    };
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
    /// Whether errors of owner references name the entry.
    indexed_owners: bool,
}

impl Rules {
    fn of(resource: &Resource) -> Rules {
        Rules {
            names: resource.strategy.names,
            scope: resource.scope,
            plain_finalizers: resource.strategy.plain_finalizers,
            indexed_owners: resource.strategy.indexed_owners,
        }
    }
}

fn check_new(rules: &Rules, object: &Value, errors: &mut FieldErrors) {
    let meta = metadata(object);
    let name = text(&meta, "name");
    name_and_place(rules, &meta, errors);
    named_by_content(rules.names, object, name, errors);
    parts(&meta, &repeated_faults(rules, &meta), errors);
    kube_finalizers(rules, &meta, errors);
}

fn invalid(path: &str, value: &str, verdict: Verdict, errors: &mut FieldErrors) {
    errors.extend(verdict.into_iter().map(|fault| FieldError::invalid(path, &value.into(), fault)));
}

/// Validates name, namespace and generation.
fn name_and_place(rules: &Rules, object: &Object, errors: &mut FieldErrors) {
    let (name, prefix, names) = (text(object, "name"), text(object, "generateName"), rules.names);
    if !prefix.is_empty() {
        invalid("metadata.generateName", prefix, format::name_prefix(names, prefix), errors);
    }
    match name {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        name => invalid("metadata.name", name, format::object_name(names, name), errors),
    }
    let namespace = text(object, "namespace");
    match rules.scope {
        Scope::Namespaced if namespace.is_empty() => {
            errors.push(FieldError::required("metadata.namespace", ""))
        }
        Scope::Namespaced => invalid("metadata.namespace", namespace, format::dns_label(namespace), errors),
        Scope::Cluster => {}
    }
    if object.get("generation").and_then(Value::as_i64).is_some_and(|generation| generation < 0) {
        let value = object.get("generation").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("metadata.generation", &value, "must be greater than or equal to 0"));
    }
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

/// What is wrong with metadata and is reported by more than one check.
struct RepeatedFaults {
    labels_and_owners: Vec<FieldError>,
    managers: Vec<FieldError>,
}

fn repeated_faults(rules: &Rules, object: &Object) -> RepeatedFaults {
    let (mut labels, mut held) = (FieldErrors::default(), FieldErrors::default());
    labels_and_owners(rules, object, &mut labels);
    managers(object, &mut held);
    RepeatedFaults { labels_and_owners: labels.into_vec(), managers: held.into_vec() }
}

/// Validates labels, annotations, owners, finalizers and managers.
fn parts(object: &Object, faults: &RepeatedFaults, errors: &mut FieldErrors) {
    errors.extend(faults.labels_and_owners.iter().cloned());
    let finalizers = items(object, "finalizers");
    for finalizer in finalizers {
        let name = finalizer.as_str().unwrap_or_default();
        invalid("metadata.finalizers", name, format::qualified_name(name), errors);
    }
    if ["orphan", "foregroundDeletion"].iter().all(|name| finalizers.contains(&Value::from(*name))) {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        let value = object.get("finalizers").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("metadata.finalizers", &value, detail));
    }
    errors.extend(faults.managers.iter().cloned());
}

fn labels_and_owners(rules: &Rules, object: &Object, errors: &mut FieldErrors) {
    labels(&FieldPath::root().field("metadata").field("labels"), object.get("labels"), errors);
    annotations(&FieldPath::root().field("metadata").field("annotations"), object.get("annotations"), errors);
    owners(rules, object, errors);
}

fn managers(object: &Object, errors: &mut FieldErrors) {
    for (at, entry) in items(object, "managedFields").iter().enumerate() {
        let manager = entry.get("manager").and_then(Value::as_str).unwrap_or_default();
        if manager.len() > MOST_MANAGER_BYTES {
            let path = format!("metadata.managedFields[{at}].manager");
            errors.push(FieldError::too_long(path, MOST_MANAGER_BYTES as u64));
        }
    }
}

/// Validates finalizers without a domain: only those that Kubernetes knows have none.
fn kube_finalizers(rules: &Rules, object: &Object, errors: &mut FieldErrors) {
    if rules.plain_finalizers {
        return;
    }
    for (at, finalizer) in items(object, "finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        let standard = format::STANDARD_FINALIZERS.contains(&name) || name == CRD_CLEANUP_FINALIZER;
        if !name.contains('/') && !standard {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(format!("metadata.finalizers[{at}]"), finalizer, detail));
        }
    }
}

/// Validates keys and values of labels.
pub fn labels(path: &FieldPath<'_>, labels: Option<&Value>, errors: &mut FieldErrors) {
    for (key, value) in labels.and_then(Value::as_object).map(Object::fields).unwrap_or_default() {
        for fault in format::qualified_name(key) {
            errors.push(FieldError::invalid(path.to_string(), &key.clone().into(), fault));
        }
        for fault in value.as_str().map(format::label_value).unwrap_or_default() {
            errors.push(FieldError::invalid(path.to_string(), value, fault));
        }
    }
}

/// Validates the keys of annotations, and their total size.
pub fn annotations(path: &FieldPath<'_>, annotations: Option<&Value>, errors: &mut FieldErrors) {
    let mut bytes = 0;
    for (key, value) in annotations.and_then(Value::as_object).map(Object::fields).unwrap_or_default() {
        bytes += key.len() + value.as_str().map_or(0, str::len);
        // The domain of an annotation is case-insensitive.
        let faults = match key.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => format::qualified_name(&key.to_lowercase()),
            false => format::qualified_name(key),
        };
        for fault in faults {
            errors.push(FieldError::invalid(path.to_string(), &key.clone().into(), fault));
        }
    }
    if bytes > MOST_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(path.to_string(), MOST_ANNOTATION_BYTES as u64));
    }
}

/// Returns the error in an `apiVersion`.
pub fn version_fault(api_version: &str) -> Option<&'static str> {
    let too_many = api_version.matches('/').count() > 1;
    too_many.then_some("must be a version, or a group and a version with one slash between them")
}

fn owners(rules: &Rules, object: &Object, errors: &mut FieldErrors) {
    let mut controller: Option<String> = None;
    for (at, owner) in items(object, "ownerReferences").iter().enumerate() {
        let part = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        let place = match rules.indexed_owners {
            true => format!("metadata.ownerReferences[{at}]"),
            false => "metadata.ownerReferences".into(),
        };
        for name in ["apiVersion", "kind", "name", "uid"] {
            let path = format!("{place}.{name}");
            let error = match (name, part(name), rules.indexed_owners) {
                (_, "", true) => FieldError::required(path, "must not be empty"),
                ("apiVersion", version, true) if version_of(version).is_empty() => {
                    FieldError::invalid(path, &version.into(), "must be <group>/<version> or <version>")
                }
                ("apiVersion", version, false) if version_of(version).is_empty() => {
                    FieldError::invalid(path, &version.into(), "version must not be empty")
                }
                (_, "", false) => FieldError::invalid(path, &"".into(), "must not be empty"),
                _ => continue,
            };
            errors.push(error);
        }
        if (part("apiVersion"), part("kind")) == ("v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(place, owner, detail));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{}/{}", part("kind"), part("name"));
            if let Some(first) = &controller {
                let value = object.get("ownerReferences").cloned().unwrap_or_default();
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                );
                errors.push(FieldError::invalid("metadata.ownerReferences", &value, detail));
            } else {
                controller = Some(name);
            }
        }
    }
}

/// Returns the version of an `apiVersion`; empty if it has none, or more than one slash.
fn version_of(api_version: &str) -> &str {
    match api_version.split_once('/') {
        Some((_, version)) if version.contains('/') => "",
        Some((_, version)) => version,
        None => api_version,
    }
}

/// Validates the metadata of an updated object as for every resource: as that of an object, and what changed.
pub fn check_update(resource: &Resource, old: &Value, new: &Value, errors: &mut FieldErrors) {
    let rules = Rules { names: NameFormat::Segment, plain_finalizers: true, ..Rules::of(resource) };
    let meta = metadata(new);
    // They are reported with the metadata and again with its changes, and found once.
    let faults = repeated_faults(&rules, &meta);
    name_and_place(&rules, &meta, errors);
    parts(&meta, &faults, errors);
    changes(&rules, (old, new), &faults, errors);
}

/// Validates the changes of metadata as a kind does it, after [`check_update`].
pub fn check_changes(resource: &Resource, old: &Value, new: &Value, errors: &mut FieldErrors) {
    let rules = Rules::of(resource);
    let faults = repeated_faults(&rules, &metadata(new));
    changes(&rules, (old, new), &faults, errors);
}

/// Whether [`check`] and [`check_changes`] can find what [`check_update`] does not.
pub fn has_own_rules(resource: &Resource, new: &Value) -> bool {
    let (rules, meta) = (Rules::of(resource), metadata(new));
    let plain = |name: &Value| !name.as_str().unwrap_or_default().contains('/');
    !text(&meta, "generateName").is_empty()
        || !rules.plain_finalizers && items(&meta, "finalizers").iter().any(plain)
}

fn changes(rules: &Rules, (old, new): (&Value, &Value), faults: &RepeatedFaults, errors: &mut FieldErrors) {
    let (before, after) = (metadata(old), metadata(new));
    if before.get("deletionTimestamp").is_some() {
        let held = items(&before, "finalizers");
        let fresh = items(&after, "finalizers").iter().filter(|name| !held.contains(name));
        let fresh: BTreeSet<String> =
            fresh.map(|name| Quoted(name.as_str().unwrap_or_default()).to_string()).collect();
        if !fresh.is_empty() {
            let fresh = fresh.into_iter().collect::<Vec<_>>().join(", ");
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{fresh}}}"
            );
            errors.push(FieldError::forbidden("metadata.finalizers", detail));
        }
    }
    let generation = |metadata: &Object| metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
    if generation(&after) < generation(&before) {
        let value = after.get("generation").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("metadata.generation", &value, "must not be decremented"));
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
    errors.extend(faults.labels_and_owners.iter().cloned());
    errors.extend(faults.managers.iter().cloned());
    kube_finalizers(rules, &after, errors);
}
