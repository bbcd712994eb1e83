//! Custom resources with random structural schemas, versions and rules.

use super::{Kind, text};
use crate::Random;
use tenure_value::{Object, Value};

/// How deep schemas are nested.
const DEPTH: usize = 3;
/// The names of fields.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A custom resource: the schema of `spec` by version.
pub(super) struct Custom {
    versions: Vec<(&'static str, Value)>,
    storage: &'static str,
}

impl Custom {
    /// Generates a definition with one or two versions.
    pub fn random(random: &mut Random) -> Custom {
        let spec = object(DEPTH, random);
        let mut versions = vec![("v1", spec.clone())];
        if random.one_in(3) {
            versions.push(("v2", variant(&spec, random)));
        }
        let storage = random.pick(&versions).0;
        Custom { versions, storage }
    }

    /// Returns the definition, for the group `{id}.example.com`.
    pub fn definition(&self) -> Value {
        let versions = self.versions.iter().map(|(name, spec)| {
            let status =
                r#"{"type":"object","properties":{"phase":{"type":"string"},"count":{"type":"integer"}}}"#;
            let properties = [("spec", spec.clone()), ("status", status.parse().unwrap_or_default())];
            let schema =
                Value::object([("type", Value::from("object")), ("properties", Value::object(properties))]);
            let scale = r#"{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.count"}"#;
            let subresources =
                [("status", Value::Object(Object::default())), ("scale", scale.parse().unwrap_or_default())];
            Value::object([
                ("name", Value::from(*name)),
                ("served", Value::Bool(true)),
                ("storage", Value::Bool(*name == self.storage)),
                ("schema", Value::object([("openAPIV3Schema", schema)])),
                ("subresources", Value::object(subresources)),
            ])
        });
        let names = r#"{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}"#;
        let spec = Value::object([
            ("group", Value::from("{id}.example.com")),
            ("scope", Value::from("Namespaced")),
            ("names", names.parse().unwrap_or_default()),
            ("versions", Value::array(versions.collect::<Vec<_>>())),
        ]);
        Value::object([
            ("apiVersion", Value::from("apiextensions.k8s.io/v1")),
            ("kind", Value::from("CustomResourceDefinition")),
            ("metadata", Value::object([("name", Value::from("widgets.{id}.example.com"))])),
            ("spec", spec),
        ])
    }

    fn schema(&self, version: &str) -> &Value {
        let name = version.rsplit('/').next().unwrap_or_default();
        self.versions.iter().find(|(version, _)| *version == name).map_or(&Value::Null, |(_, schema)| schema)
    }
}

impl Kind for Custom {
    fn versions(&self) -> Vec<String> {
        self.versions.iter().map(|(name, _)| format!("{{id}}.example.com/{name}")).collect()
    }

    fn resource(&self) -> &str {
        "widgets"
    }

    fn name(&self) -> &str {
        "Widget"
    }

    fn fields(&self, random: &mut Random, version: &str) -> Value {
        let mut spec = value(self.schema(version), random);
        if let (true, Value::Object(fields)) = (random.one_in(4), &spec) {
            spec = fields.with("replicas", Value::from(random.below(4) as u64)).into();
        }
        Value::object([("spec", spec)])
    }

    fn base(&self) -> Value {
        Value::Object(Object::default())
    }

    fn status(&self, random: &mut Random, _: &str) -> Value {
        Value::object([("phase", text(random)), ("count", Value::from(random.below(3) as u64))])
    }

    fn has_scale(&self) -> bool {
        true
    }
}

fn with(schema: Value, name: &'static str, value: impl Into<Value>) -> Value {
    match schema {
        Value::Object(fields) => fields.with(name, value.into()).into(),
        other => other,
    }
}

fn typed(name: &'static str) -> Value {
    Value::object([("type", Value::from(name))])
}

/// Returns the schema of an object.
fn object(depth: usize, random: &mut Random) -> Value {
    let names: Vec<&'static str> = random.some(&NAMES).into_iter().copied().collect();
    let mut properties: Vec<(&str, Value)> =
        names.iter().map(|name| (*name, schema(depth.saturating_sub(1), random))).collect();
    if depth == DEPTH {
        properties.push(("replicas", typed("integer")));
    }
    let mut schema = with(typed("object"), "properties", Value::object(properties));
    if random.one_in(10) {
        schema = with(schema, "x-kubernetes-preserve-unknown-fields", true);
    }
    if depth < DEPTH && random.one_in(6) {
        schema = with(schema, "x-kubernetes-map-type", *random.pick(&["atomic", "granular"]));
    }
    if let (true, Some(name)) = (random.one_in(12), names.first()) {
        schema = with(schema, "required", Value::array([Value::from(*name)]));
    }
    if let (true, Some(name)) = (random.one_in(10), names.first()) {
        schema = ruled(schema, &format!("!has(self.{name}) || has(self.{name})"));
    }
    if random.one_in(12) {
        schema = ruled(schema, "self == oldSelf || true");
    }
    schema
}

fn ruled(schema: Value, rule: &str) -> Value {
    let rule = Value::object([("rule", Value::from(rule))]);
    with(schema, "x-kubernetes-validations", Value::array([rule]))
}

/// Returns the schema of a field.
fn schema(depth: usize, random: &mut Random) -> Value {
    let built = match random.below(if depth == 0 { 6 } else { 11 }) {
        0 | 1 => scalar(random),
        2 => with(typed("integer"), "maximum", 3),
        3 => typed("boolean"),
        4 => Value::object([("x-kubernetes-int-or-string", Value::Bool(true))]),
        5 => typed("number"),
        6 | 7 => object(depth, random),
        8 => with(typed("object"), "additionalProperties", schema(depth - 1, random)),
        9 => list(random, depth),
        _ => keyed(random, depth),
    };
    if random.one_in(8) { with(built, "nullable", true) } else { built }
}

fn scalar(random: &mut Random) -> Value {
    match random.below(8) {
        0 => with(typed("string"), "default", "dflt"),
        1 => with(typed("string"), "enum", Value::array(["1", "2", ""].map(Value::from))),
        2 => ruled(with(typed("string"), "maxLength", 8), "self != '3'"),
        _ => typed("string"),
    }
}

fn list(random: &mut Random, depth: usize) -> Value {
    match random.below(3) {
        0 => {
            let schema = with(typed("array"), "items", typed("string"));
            with(schema, "x-kubernetes-list-type", "set")
        }
        1 => with(typed("array"), "items", schema(depth - 1, random)),
        _ => with(with(typed("array"), "items", typed("string")), "x-kubernetes-list-type", "atomic"),
    }
}

fn keyed(random: &mut Random, depth: usize) -> Value {
    let key = match random.one_in(3) {
        true => with(typed("string"), "default", "k"),
        false => typed("string"),
    };
    let required = key.get("default").is_none();
    let mut properties = vec![("name", key)];
    properties.extend(random.some(&["a", "b"]).into_iter().map(|name| (*name, Value::Null)));
    let properties = properties.into_iter().map(|(name, property)| match property {
        Value::Null => (name, schema(depth - 1, random)),
        property => (name, property),
    });
    let mut items = with(typed("object"), "properties", Value::object(properties.collect::<Vec<_>>()));
    if required {
        items = with(items, "required", Value::array([Value::from("name")]));
    }
    let schema = with(with(typed("array"), "items", items), "x-kubernetes-list-type", "map");
    with(schema, "x-kubernetes-list-map-keys", Value::array([Value::from("name")]))
}

/// Returns the schema of another version: with a field removed or added.
fn variant(schema: &Value, random: &mut Random) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let properties = match (random.one_in(2), properties.iter().next().map(|(name, _)| name.clone())) {
        (true, Some(name)) if name != "replicas" => properties.without(&name),
        _ => properties.with("extra", typed("string")),
    };
    let required = schema.as_object().cloned().unwrap_or_default();
    let rest = required.without("required").without("x-kubernetes-validations");
    with(rest.into(), "properties", properties)
}

/// Returns a random value for a schema; sometimes an invalid one.
fn value(schema: &Value, random: &mut Random) -> Value {
    if random.one_in(30) {
        return Value::Null;
    }
    if random.one_in(40) {
        return Value::from("misfit");
    }
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return if random.one_in(2) { Value::from(random.below(3) as u64) } else { "5%".into() };
    }
    match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
        "string" => text(random),
        "integer" => Value::from(random.below(4) as u64),
        "number" => {
            random.pick(&[Value::from(1), Value::from(0), Value::float(1.5).unwrap_or_default()]).clone()
        }
        "boolean" => Value::Bool(random.one_in(2)),
        "array" => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("map") => {
                    let keys: Vec<&str> = random.some(&["x", "y", "z"]).into_iter().copied().collect();
                    let items = keys.into_iter().map(|key| match value(items, random) {
                        Value::Object(fields) if !random.one_in(12) => fields.with("name", key).into(),
                        other => other,
                    });
                    Value::array(items.collect::<Vec<_>>())
                }
                Some("set") => {
                    let some = random.some(&["p", "q", "r"]).into_iter().map(|item| Value::from(*item));
                    Value::array(some.collect::<Vec<_>>())
                }
                _ => Value::array((0..random.below(3)).map(|_| value(items, random)).collect::<Vec<_>>()),
            }
        }
        "object" => match schema.get("additionalProperties") {
            Some(each) => {
                let names: Vec<&str> = random.some(&["k", "l", "m"]).into_iter().copied().collect();
                Value::object(names.into_iter().map(|name| (name, value(each, random))).collect::<Vec<_>>())
            }
            None => {
                let properties =
                    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
                let mut fields = Vec::new();
                for (name, schema) in properties.iter().filter(|(name, _)| *name != "replicas") {
                    if !random.one_in(2) {
                        fields.push((name.clone(), value(schema, random)));
                    }
                }
                Value::object(fields)
            }
        },
        _ => Value::from("any"),
    }
}
