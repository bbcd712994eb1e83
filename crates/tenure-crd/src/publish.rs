//! The schema of a version as OpenAPI: in version 3 as in the definition, in version 2 without unsupported
//! keywords. apiVersion, kind and metadata are added as in every object.

use super::{
    definition::{Definition, Version},
    path::SimplePath,
};
use tenure_meta::OpenApiVersion;
use tenure_value::{Object, Value};

const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const API_VERSION: &str = "APIVersion defines the version of the schema that this object is written in.";
const KIND: &str = "Kind is the type of this object, in camel case.";
const STANDARD: &str = "Standard object's metadata.";

/// Keywords that version 2 does not support.
const NOT_IN_V2: [&str; 6] = ["nullable", "allOf", "anyOf", "oneOf", "not", "default"];

impl Definition {
    /// Returns the component name of the kind in a version: `com.example.v1.Widget`.
    pub fn component_name(&self, version: &Version) -> String {
        let group: Vec<&str> = self.group.split('.').rev().collect();
        format!("{}.{}.{}", group.join("."), version.name, self.names.kind)
    }

    /// Returns the components of a version: the kind and its list, each with its name. They reference the
    /// common metadata.
    pub fn components(&self, version: &Version, dialect: OpenApiVersion) -> Vec<(String, Value)> {
        let name = self.component_name(version);
        let list_name = name.replace(&format!(".{}", self.names.kind), &format!(".{}", self.names.list_kind));
        let list = self.list_component(version, &name, dialect);
        vec![(name, self.component(version, dialect)), (list_name, list)]
    }

    fn component(&self, version: &Version, dialect: OpenApiVersion) -> Value {
        let identity = ("x-kubernetes-group-version-kind", self.identity(version, &self.names.kind));
        let schema = match dialect {
            OpenApiVersion::V3 => published(version.schema()),
            // Clients treat the properties of version 2 as complete.
            OpenApiVersion::V2 if preserves(version.schema()) => {
                let whole = Value::object([("type", Value::from("object")), identity]);
                return with_selectable_fields(whole, version);
            }
            OpenApiVersion::V2 => reduced(version.schema()),
        };
        let fields = schema.as_object().cloned().unwrap_or_default();
        let properties = fields.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let properties = properties
            .with("apiVersion", described(API_VERSION))
            .with("kind", described(KIND))
            .with("metadata", reference(METADATA, STANDARD, dialect));
        let whole = fields.with("type", "object").with("properties", properties).with(identity.0, identity.1);
        with_selectable_fields(whole.into(), version)
    }

    fn list_component(&self, version: &Version, item: &str, dialect: OpenApiVersion) -> Value {
        let items = Value::object([
            ("type", Value::from("array")),
            ("description", Value::from(format!("List of {}.", self.names.plural))),
            ("items", plain_reference(item, dialect)),
        ]);
        Value::object([
            ("type", Value::from("object")),
            (
                "description",
                Value::from(format!("{} is a list of {}", self.names.list_kind, self.names.kind)),
            ),
            ("required", Value::array(["items".into()])),
            (
                "properties",
                Value::object([
                    ("apiVersion", described(API_VERSION)),
                    ("kind", described(KIND)),
                    ("metadata", reference(LIST_METADATA, "Standard list metadata.", dialect)),
                    ("items", items),
                ]),
            ),
            ("x-kubernetes-group-version-kind", self.identity(version, &self.names.list_kind)),
        ])
    }

    fn identity(&self, version: &Version, kind: &str) -> Value {
        Value::array([Value::object([
            ("group", Value::from(self.group.clone())),
            ("version", Value::from(version.name.clone())),
            ("kind", Value::from(kind)),
        ])])
    }
}

/// Adds the fields that field selectors may name.
fn with_selectable_fields(component: Value, version: &Version) -> Value {
    match component {
        Value::Object(fields) if !version.selectable.is_empty() => {
            let path_of = |path: &SimplePath| Value::object([("fieldPath", Value::from(path.selector()))]);
            let selectable = Value::array(version.selectable.iter().map(path_of));
            fields.with("x-kubernetes-selectable-fields", selectable).into()
        }
        other => other,
    }
}

fn described(words: &str) -> Value {
    Value::object([("type", Value::from("string")), ("description", Value::from(words))])
}

fn plain_reference(name: &str, dialect: OpenApiVersion) -> Value {
    let place = match dialect {
        OpenApiVersion::V2 => "#/definitions/",
        OpenApiVersion::V3 => "#/components/schemas/",
    };
    Value::object([("$ref", Value::from(format!("{place}{name}")))])
}

/// Returns a reference with a description; version 3 ignores siblings of a reference, so it is wrapped there.
fn reference(name: &str, words: &str, dialect: OpenApiVersion) -> Value {
    let plain = plain_reference(name, dialect);
    match dialect {
        OpenApiVersion::V3 => {
            Value::object([("allOf", Value::array([plain])), ("description", Value::from(words))])
        }
        OpenApiVersion::V2 => {
            let fields = plain.as_object().cloned().unwrap_or_default();
            fields.with("description", words).into()
        }
    }
}

/// Version 3 publishes a schema unchanged, except that embedded resources get the common fields of objects.
fn published(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut out = mapped(fields, &published);
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        let properties = out.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let properties = [("apiVersion", described(API_VERSION)), ("kind", described(KIND))]
            .into_iter()
            .fold(properties, |properties, (name, schema)| properties.with(name, schema))
            .with("metadata", reference(METADATA, STANDARD, OpenApiVersion::V3));
        out = out.with("properties", properties);
    }
    out.into()
}

/// Applies a change to every child schema.
fn mapped(fields: &Object, change: &dyn Fn(&Value) -> Value) -> Object {
    Object::from_sorted(fields.iter().map(|(name, value)| {
        let value = match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                Object::from_sorted(properties.iter().map(|(name, below)| (name.clone(), change(below))))
                    .into()
            }
            ("items" | "additionalProperties" | "not", below @ Value::Object(_)) => change(below),
            ("allOf" | "anyOf" | "oneOf", Value::Array(below)) => Value::array(below.iter().map(change)),
            (_, value) => value.clone(),
        };
        (name.clone(), value)
    }))
}

fn is_set(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn preserves(schema: &Value) -> bool {
    is_set(schema, "x-kubernetes-preserve-unknown-fields")
}

/// Reduces a schema to what version 2 supports. Where a client would reject values that the server accepts
/// (`null`, either of two types, unknown fields), the schema is omitted, so that client-side validation does
/// not get in the way.
fn reduced(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut out = mapped(fields, &reduced);
    for name in NOT_IN_V2 {
        out = out.without(name);
    }
    if preserves(schema) {
        out = ["type", "properties", "items", "required", "additionalProperties"]
            .iter()
            .fold(out, |out, name| out.without(name));
    }
    if is_set(schema, "x-kubernetes-int-or-string") {
        out = out.without("type");
    }
    if is_set(schema, "nullable") {
        out = out.without("type").without("items").without("properties").without("required");
    }
    if out.get("type").and_then(Value::as_str) == Some("array") && !out.contains("items") {
        out = out.without("type");
    }
    without_nullable(out, fields).into()
}

/// Removes nullable properties from the required ones, since version 2 cannot express them.
fn without_nullable(out: Object, fields: &Object) -> Object {
    let Some(required) = out.get("required").and_then(Value::as_array) else { return out };
    let nullable = |name: &Value| {
        let property = fields.get("properties").and_then(|properties| properties.get(name.as_str()?));
        property.is_some_and(|schema| is_set(schema, "nullable"))
    };
    let kept: Vec<Value> = required.iter().filter(|name| !nullable(name)).cloned().collect();
    match kept.len() {
        0 => out.without("required"),
        count if count == required.len() => out,
        _ => out.with("required", Value::array(kept)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_profile::Profile;

    fn definition(schema: &str) -> Definition {
        let text = format!(
            r#"{{"metadata":{{"name":"widgets.a.example.com"}},"spec":{{"group":"a.example.com","names":{{"kind":"Widget","plural":"widgets"}},"scope":"Namespaced",
            "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
        );
        Definition::read(&text.parse().unwrap(), Profile::kubernetes()).unwrap()
    }

    #[test]
    fn a_kind_is_published_with_the_common_fields_of_objects() {
        let definition = definition(
            r#"{"type":"object","description":"A widget","properties":{"spec":{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}}}"#,
        );
        let components = definition.components(&definition.versions[0], OpenApiVersion::V3);
        assert_eq!(components[0].0, "com.example.a.v1.Widget");
        assert_eq!(components[1].0, "com.example.a.v1.WidgetList");
        let widget = &components[0].1;
        assert_eq!(
            widget.at(["properties", "spec", "properties", "l", "x-kubernetes-list-type"]),
            Some(&"set".into())
        );
        assert!(widget.at(["properties", "metadata", "allOf"]).is_some());
        let identity = widget.get("x-kubernetes-group-version-kind").unwrap().as_array().unwrap();
        assert_eq!(identity[0].get("group"), Some(&"a.example.com".into()));
        let items = components[1].1.at(["properties", "items", "items", "$ref"]);
        assert_eq!(items, Some(&"#/components/schemas/com.example.a.v1.Widget".into()));
    }

    #[test]
    fn version_2_omits_what_it_cannot_express() {
        let definition = definition(
            r#"{"type":"object","required":["a","c"],"properties":{"a":{"type":"string","nullable":true,"default":"x"},"b":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
            "c":{"type":"object","properties":{"d":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true}}}"#,
        );
        let components = definition.components(&definition.versions[0], OpenApiVersion::V2);
        let properties = components[0].1.get("properties").unwrap();
        assert_eq!(properties.get("a").unwrap().to_string(), "{}");
        assert_eq!(properties.get("b").unwrap().to_string(), r#"{"x-kubernetes-int-or-string":true}"#);
        assert_eq!(
            properties.get("c").unwrap().to_string(),
            r#"{"x-kubernetes-preserve-unknown-fields":true}"#
        );
        assert_eq!(components[0].1.get("required").unwrap().to_string(), r#"["c"]"#);
    }

    #[test]
    fn version_2_has_no_schema_for_a_kind_that_keeps_unknown_fields() {
        let definition = definition(
            r#"{"type":"object","description":"open","properties":{"a":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true}"#,
        );
        let schema = |dialect| definition.components(&definition.versions[0], dialect)[0].1.clone();
        assert_eq!(
            schema(OpenApiVersion::V2).to_string(),
            r#"{"type":"object","x-kubernetes-group-version-kind":[{"group":"a.example.com","kind":"Widget","version":"v1"}]}"#
        );
        assert!(schema(OpenApiVersion::V3).at(["properties", "a"]).is_some());
    }
}
