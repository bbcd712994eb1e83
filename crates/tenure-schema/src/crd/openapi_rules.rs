//! The keywords that the schema of a custom resource may use, and the requirements of list and map markers. A
//! schema that violates these rules is not checked further.

use super::violation::{Path, Report};
use crate::openapi::marks::{EMBEDDED_RESOURCE, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE_UNKNOWN};
use tenure_value::{Object, Value};

/// Keywords that must be absent, and their messages.
const UNSUPPORTED: [(&str, &str); 7] = [
    ("$schema", "$schema is not supported"),
    ("id", "id is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("$ref", "$ref is not supported"),
];

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The position of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Root,
    Metadata,
    Elsewhere,
}

/// Checks a node and its descendants.
pub(super) fn check(node: &Value, path: &Path, position: Position, report: &mut Report) {
    let Some(node) = node.as_object() else {
        return report.invalid(path, node, "must be an object");
    };
    check_keywords(node, path, position, report);
    check_below(node, path, position, report);
    check_markers(node, path, report);
}

fn check_keywords(node: &Object, path: &Path, position: Position, report: &mut Report) {
    for (keyword, message) in UNSUPPORTED {
        if node.get(keyword).is_some_and(|value| !is_empty(value)) {
            report.forbidden(&path.child(keyword), message);
        }
    }
    match node.get("type") {
        None => {}
        Some(Value::String(word)) if word == "null" => {
            let message = "type cannot be set to null, use nullable as an alternative";
            report.forbidden(&path.child("type"), message);
        }
        Some(Value::String(word)) if word.is_empty() || TYPES.contains(&word.as_str()) => {}
        Some(other) => report.not_supported(&path.child("type"), other, &TYPES),
    }
    if node.get("items").is_some_and(|items| items.as_array().is_some()) {
        report.forbidden(&path.child("items"), "items must be a schema object and not an array");
    }
    if position == Position::Metadata && is_true(node, EMBEDDED_RESOURCE) {
        report.forbidden(&path.child(EMBEDDED_RESOURCE), "must not be used inside of resource meta");
    }
    if is_true(node, "uniqueItems") {
        let message = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        report.forbidden(&path.child("uniqueItems"), message);
    }
    let restricts =
        node.get("additionalProperties").is_some_and(|additional| additional.as_bool() != Some(true));
    if restricts && properties(node).is_some_and(|properties| !properties.is_empty()) {
        let message = "additionalProperties and properties are mutual exclusive";
        report.forbidden(&path.child("additionalProperties"), message);
    }
}

fn check_below(node: &Object, path: &Path, position: Position, report: &mut Report) {
    let inherited = if position == Position::Metadata { Position::Metadata } else { Position::Elsewhere };
    if let Some(additional @ Value::Object(_)) = node.get("additionalProperties") {
        check(additional, &path.child("additionalProperties"), inherited, report);
    }
    for (name, property) in properties(node).into_iter().flatten() {
        let is_resource = position == Position::Root || is_true(node, EMBEDDED_RESOURCE);
        let position = if is_resource && name == "metadata" { Position::Metadata } else { inherited };
        check(property, &path.property(name), position, report);
    }
    if let Some(not) = node.get("not") {
        check(not, &path.child("not"), inherited, report);
    }
    for junctor in ["allOf", "oneOf", "anyOf"] {
        for (index, schema) in node.get(junctor).and_then(Value::as_array).into_iter().flatten().enumerate() {
            check(schema, &path.index(junctor, index), inherited, report);
        }
    }
    if let Some(items @ Value::Object(_)) = node.get("items") {
        check(items, &path.child("items"), inherited, report);
    }
}

fn check_markers(node: &Object, path: &Path, report: &mut Report) {
    if let Some(flag @ Value::Bool(false)) = node.get(PRESERVE_UNKNOWN) {
        report.invalid(&path.child(PRESERVE_UNKNOWN), flag, "must be true or undefined");
    }
    if let Some(relation) = node.get(MAP_TYPE) {
        check_type(node, "object", MAP_TYPE, path, report);
        if !matches!(relation.as_str(), Some("atomic" | "granular")) {
            report.not_supported(&path.child(MAP_TYPE), relation, &["atomic", "granular"]);
        }
    }
    if let Some(list_type) = node.get(LIST_TYPE) {
        let is_array = check_type(node, "array", LIST_TYPE, path, report);
        if is_array && !matches!(list_type.as_str(), Some("atomic" | "set" | "map")) {
            report.not_supported(&path.child(LIST_TYPE), list_type, &["atomic", "set", "map"]);
        }
    }
    let keys = node.get(LIST_MAP_KEYS).and_then(Value::as_array);
    if keys.is_some_and(|keys| !keys.is_empty()) {
        let right = "must be map if x-kubernetes-list-map-keys is non-empty";
        match node.get(LIST_TYPE) {
            None => report.required(&path.child(LIST_TYPE), right),
            Some(Value::String(word)) if word == "map" => {}
            Some(other) => report.invalid(&path.child(LIST_TYPE), other, right),
        }
    }
    match node.get(LIST_TYPE).and_then(Value::as_str) {
        Some("map") => check_keyed(node, keys.map_or(&[], |keys| keys.items()), path, report),
        Some("set") => check_set(node, path, report),
        _ => {}
    }
}

/// Checks that a node has the type that a marker requires, and reports it otherwise.
fn check_type(node: &Object, name: &str, marker: &str, path: &Path, report: &mut Report) -> bool {
    let right = format!("must be {name} if {marker} is specified");
    match node.get("type") {
        Some(Value::String(word)) if word == name => return true,
        Some(word) if !is_empty(word) => report.invalid(&path.child("type"), word, &right),
        _ => report.required(&path.child("type"), &right),
    }
    false
}

fn check_keyed(node: &Object, keys: &[Value], path: &Path, report: &mut Report) {
    let keys_path = path.child(LIST_MAP_KEYS);
    let items_path = path.child("items");
    if keys.is_empty() {
        report.required(&keys_path, "must not be empty if x-kubernetes-list-type is map");
    }
    let Some(items) = node.get("items") else {
        return report.required(&items_path, "must have a schema if x-kubernetes-list-type is map");
    };
    let Some(item) = items.as_object() else { return };
    match item.get("type") {
        Some(Value::String(word)) if word == "object" => {}
        other => {
            let right = "must be object if parent array's x-kubernetes-list-type is map";
            let found = other.cloned().unwrap_or_else(|| Value::from(""));
            report.invalid(&items_path.child("type"), &found, right);
            return check_item_nullable(item, "map", path, report);
        }
    }
    for (at, key) in keys.iter().enumerate() {
        let whole = || Value::array(keys.iter().cloned());
        match key.as_str().and_then(|key| properties(item)?.get(key)) {
            Some(field) if matches!(field.get("type").and_then(Value::as_str), Some("array" | "object")) => {
                let right = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let found = field.get("type").cloned().unwrap_or_default();
                let key = key.as_str().unwrap_or_default();
                report.invalid(&items_path.property(key).child("type"), &found, right);
            }
            Some(_) => {}
            None => report.invalid(&keys_path, &whole(), "entries must all be names of item properties"),
        }
        if keys[..at].contains(key) {
            report.invalid(&keys_path, &whole(), "must not contain duplicate entries");
        }
    }
    check_item_nullable(item, "map", path, report);
    for key in keys.iter().filter_map(Value::as_str) {
        if let Some(field) = properties(item).and_then(|properties| properties.get(key)) {
            check_key(item, key, field, &items_path.property(key), report);
        }
    }
}

/// Checks that every item has a value for the key.
fn check_key(item: &Object, key: &str, field: &Value, path: &Path, report: &mut Report) {
    let required = item.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)));
    if !is_required && field.get("default").is_none_or(Value::is_null) {
        let right = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
        report.required(&path.child("default"), right);
    }
    if field.as_object().is_some_and(|field| is_true(field, "nullable")) {
        let right = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
        report.forbidden(&path.child("nullable"), right);
    }
    let untyped = field.get("type").is_none_or(is_empty);
    if untyped && !field.as_object().is_some_and(|field| is_true(field, "x-kubernetes-int-or-string")) {
        let found = field.get("type").cloned().unwrap_or_default();
        report.unworkable(
            &path.child("type"),
            &found,
            "this property identifies items, so it must have a scalar type",
        );
    }
}

fn check_set(node: &Object, path: &Path, report: &mut Report) {
    let Some(item) = node.get("items").and_then(Value::as_object) else { return };
    check_item_nullable(item, "set", path, report);
    let items = path.child("items");
    let (marker, keyword) = match item.get("type").and_then(Value::as_str) {
        Some("object") => (MAP_TYPE, "objects"),
        Some("array") => (LIST_TYPE, "lists"),
        _ => return,
    };
    let found = item.get(marker).cloned().unwrap_or_default();
    match found.as_str() {
        Some("atomic") => {
            let right = format!(
                "the items of a set are identified by their value, which {keyword} do not support: every apply would \
                 fail; use x-kubernetes-list-type map or atomic, or scalar items"
            );
            report.unworkable(&items.child("type"), &item.get("type").cloned().unwrap_or_default(), &right);
        }
        _ => report.invalid(
            &items.child(marker),
            &found,
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
    }
}

fn check_item_nullable(item: &Object, list_type: &str, path: &Path, report: &mut Report) {
    if is_true(item, "nullable") {
        let right = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        report.forbidden(&path.child("items").child("nullable"), &right);
    }
}

pub(super) fn properties(node: &Object) -> Option<&Object> {
    node.get("properties").and_then(Value::as_object)
}

pub(super) fn is_true(node: &Object, name: &str) -> bool {
    node.get(name).and_then(Value::as_bool) == Some(true)
}

/// Whether Kubernetes treats a value as absent.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
