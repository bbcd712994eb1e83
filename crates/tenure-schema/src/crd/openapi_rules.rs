//! The keywords that the schema of a custom resource may use, and the requirements of list and map markers.

use super::violation::{Path, Report};
use crate::openapi::marks::{EMBEDDED_RESOURCE, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE_UNKNOWN};
use tenure_value::{Object, Value};

/// Keywords that must be absent, and their messages.
const UNSUPPORTED: [(&str, &str); 6] = [
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
    /// Inside of the apiVersion, the kind or the metadata of a resource, and where a default may not be, if it may not.
    Identity(Option<Place>),
    Elsewhere,
}

/// A place whose values cannot have a default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    ApiVersion,
    Kind,
    Metadata,
    /// The values of a map in the metadata of an embedded resource.
    Values,
}

impl Place {
    /// Returns the place of a field at the root of a resource.
    fn of(name: &str) -> Option<Place> {
        match name {
            "apiVersion" => Some(Place::ApiVersion),
            "kind" => Some(Place::Kind),
            "metadata" => Some(Place::Metadata),
            _ => None,
        }
    }

    fn refusal(self) -> &'static str {
        match self {
            Place::ApiVersion => "must not be set in top-level apiVersion",
            Place::Kind => "must not be set in top-level kind",
            Place::Metadata => "must not be set in top-level metadata",
            Place::Values => "must not be set inside additionalProperties applying to object metadata",
        }
    }
}

/// Returns why a schema cannot be read as a structural one; its structure is not checked then.
pub(super) fn unreadable(node: &Object) -> Option<&'static str> {
    const KEYWORDS: [(&str, &str); 7] = [
        ("id", "OpenAPIV3Schema 'id' is not supported"),
        ("$schema", "OpenAPIV3Schema 'schema' is not supported"),
        ("$ref", "OpenAPIV3Schema '$ref' is not supported"),
        ("patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported"),
        ("dependencies", "OpenAPIV3Schema 'dependencies' is not supported"),
        ("additionalItems", "OpenAPIV3Schema 'additionalItems' is not supported"),
        ("definitions", "OpenAPIV3Schema 'definitions' is not supported"),
    ];
    let is_set = |(keyword, _): &(&str, &str)| node.get(keyword).is_some_and(|value| !is_empty(value));
    if let Some((_, why)) = KEYWORDS.into_iter().find(is_set) {
        return Some(why);
    }
    if node.get("items").is_some_and(|items| items.as_array().is_some()) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array");
    }
    if node.get(PRESERVE_UNKNOWN).is_some_and(|flag| flag.as_bool() == Some(false)) {
        return Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined");
    }
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| node.get(name)?.as_array());
    let below = ["not", "items", "additionalProperties"].into_iter().filter_map(|name| node.get(name));
    let fields = properties(node).into_iter().flatten().map(|(_, field)| field);
    below.chain(fields).chain(lists.flatten()).filter_map(Value::as_object).find_map(unreadable)
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
    let word = node.get("type").filter(|word| !is_empty(word));
    if let Some(word) = word.filter(|word| !word.as_str().is_some_and(|word| TYPES.contains(&word))) {
        report.not_supported(&path.child("type"), word, &TYPES);
    }
    if let (Position::Identity(Some(place)), Some(_)) =
        (position, node.get("default").filter(|default| !default.is_null()))
    {
        report.forbidden(&path.child("default"), place.refusal());
    }
    for (keyword, message) in UNSUPPORTED {
        if node.get(keyword).is_some_and(|value| !is_empty(value)) {
            report.forbidden(&path.child(keyword), message);
        }
    }
    if word.and_then(Value::as_str) == Some("null") {
        let message = "type cannot be set to null, use nullable as an alternative";
        report.forbidden(&path.child("type"), message);
    }
    if node.get("items").is_some_and(|items| items.as_array().is_some_and(|items| !items.is_empty())) {
        report.forbidden(&path.child("items"), "items must be a schema object and not an array");
    }
    if matches!(position, Position::Identity(_)) && is_true(node, EMBEDDED_RESOURCE) {
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
    let inherited = match position {
        Position::Root => Position::Elsewhere,
        other => other,
    };
    if let Some(additional @ Value::Object(_)) = node.get("additionalProperties") {
        let position = match inherited {
            Position::Identity(_) => Position::Identity(Some(Place::Values)),
            other => other,
        };
        check(additional, &path.child("additionalProperties"), position, report);
    }
    let is_resource = position == Position::Root || is_true(node, EMBEDDED_RESOURCE);
    for (name, property) in properties(node).into_iter().flatten() {
        let position = match Place::of(name).filter(|_| is_resource) {
            Some(place) if position == Position::Root => Position::Identity(Some(place)),
            Some(_) if inherited == Position::Elsewhere => Position::Identity(None),
            _ => inherited,
        };
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
        if is_array && list_type.as_str() == Some("set") {
            check_set(node, path, report);
        }
        if !matches!(list_type.as_str(), Some("atomic" | "set" | "map")) {
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
        Some("set") => {
            let item = node.get("items").and_then(Value::as_object);
            item.into_iter().for_each(|item| check_item_nullable(item, "set", path, report));
        }
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
                // Kubernetes shows the type of the item.
                let found = item.get("type").cloned().unwrap_or_default();
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
    let items = path.child("items");
    let (marker, keyword) = match item.get("type").and_then(Value::as_str) {
        Some("object") => (MAP_TYPE, "objects"),
        Some("array") => (LIST_TYPE, "lists"),
        _ => return,
    };
    let found = item.get(marker).and_then(Value::as_str);
    let is_atomic = found == Some("atomic") || keyword == "lists" && found.is_none();
    if is_atomic {
        let right = format!(
            "the items of a set are identified by their value, which {keyword} do not support: every apply would \
             fail; use x-kubernetes-list-type map or atomic, or scalar items"
        );
        report.unworkable(&items.child("type"), &item.get("type").cloned().unwrap_or_default(), &right);
    } else {
        // Kubernetes shows the list type in both cases.
        let found = item.get(LIST_TYPE).cloned().unwrap_or_default();
        let right = "must be atomic as item of a list with x-kubernetes-list-type=set";
        report.invalid(&items.child(marker), &found, right);
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
