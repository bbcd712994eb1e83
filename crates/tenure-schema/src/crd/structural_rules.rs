//! Structural schemas: the type of every value is declared exactly once, outside of `allOf`, `anyOf`, `oneOf`
//! and `not`; schemas inside of these only restrict it.

use super::{
    openapi_rules::{is_empty, is_true, properties},
    violation::{Path, Report},
};
use crate::openapi::marks::{
    EMBEDDED_RESOURCE, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE_UNKNOWN,
};
use tenure_value::{Object, Value};

/// The position of a node, on which the message for a missing type depends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords that are only allowed outside of logical junctors, and their messages.
const OUTSIDE_ONLY: [(&str, &str); 13] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE_UNKNOWN, "must be false to be structural"),
    (EMBEDDED_RESOURCE, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    (LIST_MAP_KEYS, "must be empty to be structural"),
    (LIST_TYPE, "must be undefined to be structural"),
    (MAP_TYPE, "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

/// The only fields and keywords allowed in the metadata of an object.
const METADATA_FIELDS: [&str; 2] = ["name", "generateName"];
const METADATA_KEYWORDS: [&str; 3] = ["type", "properties", "default"];

/// What is wrong with a pattern, if something is.
pub(super) type PatternFault<'f> = &'f dyn Fn(&str) -> Option<String>;

/// Checks a schema; violations are sorted as in kube-apiserver.
pub(super) fn check(schema: &Object, path: &Path, pattern_fault: PatternFault<'_>, report: &mut Report) {
    check_node(schema, Level::Root, path, report);
    check_patterns(schema, path, pattern_fault, report);
    check_complete(schema, path, report);
    report.0.sort_by_cached_key(ToString::to_string);
}

/// Checks the patterns of a node and of those below it.
fn check_patterns(node: &Object, path: &Path, pattern_fault: PatternFault<'_>, report: &mut Report) {
    if let Some((pattern, why)) =
        node.get("pattern").and_then(|pattern| Some((pattern, pattern_fault(pattern.as_str()?)?)))
    {
        let right = format!("must be a valid regular expression, but isn't: {why}");
        report.invalid(&path.child("pattern"), pattern, &right);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = node.get(name).and_then(Value::as_object) {
            check_patterns(below, &path.child(name), pattern_fault, report);
        }
    }
    for (name, property) in properties(node).into_iter().flatten() {
        if let Some(property) = property.as_object() {
            check_patterns(property, &path.property(name), pattern_fault, report);
        }
    }
    under_junctors(node, |junctor, index, inner| {
        check_patterns(inner, &joined(path, junctor, index), pattern_fault, report);
    });
}

fn check_node(node: &Object, level: Level, path: &Path, report: &mut Report) {
    let word = node.get("type").and_then(Value::as_str).unwrap_or_default();
    let items = node.get("items").and_then(Value::as_object);
    match items {
        Some(items) => check_node(items, Level::Item, &path.child("items"), report),
        None if word == "array" => report.required(&path.child("items"), "must be specified"),
        None => {}
    }
    for (name, property) in properties(node).into_iter().flatten() {
        if let Some(property) = property.as_object() {
            check_node(property, Level::Field, &path.property(name), report);
        }
    }
    check_additional(node, level, path, report);
    check_int_or_string(node, path, report);
    check_restrictions(node, path, report);
    check_own_type(node, word, level, path, report);
    check_identity(node, level, path, report);
}

fn check_additional(node: &Object, level: Level, path: &Path, report: &mut Report) {
    let Some(additional) = node.get("additionalProperties") else { return };
    let path_below = path.child("additionalProperties");
    if level == Level::Root {
        report.forbidden(&path_below, "must not be used at the root");
    }
    if is_true(node, EMBEDDED_RESOURCE) {
        report.forbidden(&path_below, "must not be used if x-kubernetes-embedded-resource is set");
    }
    if let Some(additional) = additional.as_object() {
        check_node(additional, Level::Field, &path_below, report);
    }
}

fn check_int_or_string(node: &Object, path: &Path, report: &mut Report) {
    if !is_true(node, INT_OR_STRING) {
        return;
    }
    for marker in [PRESERVE_UNKNOWN, EMBEDDED_RESOURCE] {
        if is_true(node, marker) {
            let right = "must be false if x-kubernetes-int-or-string is true";
            report.invalid(&path.child(marker), &Value::Bool(true), right);
        }
    }
}

fn check_own_type(node: &Object, word: &str, level: Level, path: &Path, report: &mut Report) {
    let path = path.child("type");
    let found = Value::from(word);
    if is_true(node, EMBEDDED_RESOURCE) && word != "object" {
        let right = "must be object if x-kubernetes-embedded-resource is true";
        match word {
            "" => report.required(&path, right),
            _ => report.invalid(&path, &found, right),
        }
    } else if word.is_empty() && !is_true(node, INT_OR_STRING) && !is_true(node, PRESERVE_UNKNOWN) {
        report.required(
            &path,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        );
    }
    if level == Level::Root && !word.is_empty() && word != "object" {
        report.invalid(&path, &found, "must be object at the root");
    }
}

/// Checks the declarations of apiVersion, kind and metadata of an object.
fn check_identity(node: &Object, level: Level, path: &Path, report: &mut Report) {
    let embedded = is_true(node, EMBEDDED_RESOURCE);
    let fields = properties(node);
    if level == Level::Root || embedded {
        for (name, right, kind) in [
            ("kind", "must be string", "string"),
            ("apiVersion", "must be string", "string"),
            ("metadata", "must be object", "object"),
        ] {
            if let Some(field) = fields.and_then(|fields| fields.get(name)) {
                let found = field.get("type").cloned().unwrap_or_else(|| Value::from(""));
                if found.as_str() != Some(kind) {
                    report.invalid(&path.property(name).child("type"), &found, right);
                }
            }
        }
    }
    let metadata = fields.and_then(|fields| fields.get("metadata")).and_then(Value::as_object);
    if let (Level::Root, Some(metadata)) = (level, metadata) {
        let has_more = metadata
            .iter()
            .any(|(word, value)| !METADATA_KEYWORDS.contains(&word.as_str()) && !is_empty(value));
        let names_more = properties(metadata)
            .is_some_and(|fields| fields.iter().any(|(name, _)| !METADATA_FIELDS.contains(&name.as_str())));
        if has_more || names_more {
            let right = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            report.forbidden(&path.property("metadata"), right);
        }
    }
    let declares = fields.is_some_and(|fields| !fields.is_empty());
    if embedded && !declares && !is_true(node, PRESERVE_UNKNOWN) {
        let right = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        report.required(&path.child("properties"), right);
    }
}

/// Visits the direct children of the junctors of a node.
fn under_junctors<'n>(node: &'n Object, mut visit: impl FnMut(&'static str, Option<usize>, &'n Object)) {
    for junctor in JUNCTORS {
        let schemas = node.get(junctor).and_then(Value::as_array).into_iter().flatten();
        for (index, schema) in schemas.enumerate() {
            schema.as_object().into_iter().for_each(|schema| visit(junctor, Some(index), schema));
        }
    }
    if let Some(not) = node.get("not").and_then(Value::as_object) {
        visit("not", None, not);
    }
}

fn joined<'p>(path: &'p Path<'p>, junctor: &'p str, index: Option<usize>) -> Path<'p> {
    match index {
        Some(index) => path.index(junctor, index),
        None => path.child(junctor),
    }
}

/// Checks the children of the junctors of a node outside of junctors.
fn check_restrictions(node: &Object, path: &Path, report: &mut Report) {
    // The one exception: an integer or a string, directly or within allOf.
    let has_both = is_int_or_string(node);
    let first = node.get("allOf").and_then(Value::as_array).and_then(|all| all.first()?.as_object());
    let has_both_within = first.is_some_and(is_int_or_string);
    under_junctors(node, |junctor, index, inner| match (junctor, index) {
        ("anyOf", _) if has_both => {}
        ("allOf", Some(0)) if has_both_within => {
            let inner = inner.without("anyOf");
            check_inside(&inner, &path.index("allOf", 0), report);
        }
        _ => check_inside(inner, &joined(path, junctor, index), report),
    });
}

fn is_int_or_string(node: &Object) -> bool {
    let has_only = |schema: &Value, field: &str| {
        schema.as_object().is_some_and(|schema| schema.len() == 1)
            && schema.get("type").and_then(Value::as_str) == Some(field)
    };
    match node.get("anyOf").and_then(Value::as_array).map(|any| any.items()) {
        Some([integer, string]) => has_only(integer, "integer") && has_only(string, "string"),
        _ => false,
    }
}

/// Checks a node inside of a junctor.
fn check_inside(node: &Object, path: &Path, report: &mut Report) {
    under_junctors(node, |junctor, index, inner| check_inside(inner, &joined(path, junctor, index), report));
    if let Some(items) = node.get("items").and_then(Value::as_object) {
        check_inside(items, &path.child("items"), report);
    }
    for (name, property) in properties(node).into_iter().flatten() {
        property.as_object().into_iter().for_each(|inner| check_inside(inner, &path.property(name), report));
    }
    for (keyword, right) in OUTSIDE_ONLY {
        let is_set = node.get(keyword).is_some_and(|value| match (keyword, value) {
            ("default" | "additionalProperties", value) => !value.is_null(),
            (_, Value::Bool(flag)) => *flag,
            (_, value) => !is_empty(value),
        });
        if is_set {
            report.forbidden(&path.child(keyword), right);
        }
    }
    if properties(node).is_some_and(|fields| fields.contains("metadata")) {
        report.forbidden(&path.property("metadata"), "must not be specified in a nested context");
    }
}

/// Checks that everything restricted by junctors at the root is declared outside of them. kube-apiserver does
/// not check this for other junctors, and existing definitions rely on that.
fn check_complete(root: &Object, path: &Path, report: &mut Report) {
    under_junctors(root, |junctor, index, inner| {
        check_described(inner, root, &joined(path, junctor, index), path, report);
    });
}

fn check_described(
    inner: &Object,
    outer: &Object,
    inner_path: &Path,
    outer_path: &Path,
    report: &mut Report,
) {
    under_junctors(inner, |junctor, index, deeper| {
        check_described(deeper, outer, &joined(inner_path, junctor, index), outer_path, report);
    });
    if let Some(items) = inner.get("items").and_then(Value::as_object) {
        let (inner_path, outer_path) = (inner_path.child("items"), outer_path.child("items"));
        match outer.get("items").and_then(Value::as_object) {
            Some(outer) => check_described(items, outer, &inner_path, &outer_path, report),
            None => report.required(&outer_path, &format!("because it is defined in {inner_path}")),
        }
    }
    for (name, property) in properties(inner).into_iter().flatten() {
        let (inner_path, outer_path) = (inner_path.property(name), outer_path.property(name));
        let described = properties(outer).and_then(|fields| fields.get(name));
        match (property.as_object(), described.and_then(Value::as_object)) {
            (Some(property), Some(outer)) => {
                check_described(property, outer, &inner_path, &outer_path, report)
            }
            (Some(_), None) => {
                report.required(&outer_path, &format!("because it is defined in {inner_path}"))
            }
            (None, _) => {}
        }
    }
}
