//! Conversations of bad requests: an object of any built-in kind is created, and then written in ways of which one thing is wrong: a
//! value, a type, a field too many or too few, a name, a version, a content type, a query. Errors are compared as whole documents.

use super::{APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC};
use crate::{Conversation, Errors, Random, Step};
use tenure_builtin::registry_at;
use tenure_meta::{Resource, Scope};
use tenure_profile::KubernetesVersion;
use tenure_value::{Object, Text, Value};

/// Valid objects of built-in kinds.
const EXAMPLES: &str = include_str!("../../../../crates/tenure-builtin/tests/facts/defaults-examples.json");

/// Values that are wrong nearly everywhere.
const VALUES: [&str; 22] = [
    "null",
    "true",
    "-1",
    "0",
    "1.5",
    "99999999999",
    "\"\"",
    "\"text\"",
    "\"A b!\"",
    "\"UPPER_Case\"",
    "\"-x\"",
    "\"10Gi\"",
    "\"1e3\"",
    "\"12:00\"",
    "[]",
    "{}",
    "[\"a\"]",
    "[{}]",
    "[null]",
    "{\"a\":\"b\"}",
    "{\"name\":\"\"}",
    "\"x.y/z\"",
];

/// Names of objects that are wrong.
const NAMES: [&str; 7] = ["UPPER", "a_b", "-a", "a/b", "..", "", "a b"];

/// Metadata that is wrong, or odd.
const METADATA: [&str; 16] = [
    r#"{"labels":{"a b":"c"}}"#,
    r#"{"labels":{"a":"b c"}}"#,
    r#"{"labels":{"a":1}}"#,
    r#"{"labels":[]}"#,
    r#"{"annotations":{"a b":"c"}}"#,
    r#"{"finalizers":["bad"]}"#,
    r#"{"finalizers":"x"}"#,
    r#"{"ownerReferences":[{"name":"x"}]}"#,
    r#"{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":""}]}"#,
    r#"{"generation":-1}"#,
    r#"{"resourceVersion":"x"}"#,
    r#"{"resourceVersion":"1"}"#,
    r#"{"uid":"other"}"#,
    r#"{"namespace":"elsewhere"}"#,
    r#"{"creationTimestamp":"soon"}"#,
    r#"{"managedFields":[{"manager":"x"}]}"#,
];

/// Queries that are wrong, or odd.
const QUERIES: [&str; 8] = [
    "fieldValidation=Strict",
    "fieldValidation=Ignore",
    "fieldValidation=Nope",
    "dryRun=Nope",
    "dryRun=All",
    "force=true",
    "fieldManager=",
    "fieldManager=%00",
];

/// Content types, of which most are wrong.
const TYPES: [&str; 4] =
    ["text/plain", "application/xml", "application/json;x=y", "application/vnd.kubernetes.protobuf"];

impl Conversation {
    /// Generates the conversation of bad requests of a seed, about a kind of a version of Kubernetes.
    pub fn generate_bad(seed: u64, version: KubernetesVersion) -> Conversation {
        let mut random = Random::new(seed);
        let examples = examples();
        loop {
            let example = random.pick(&examples).clone();
            let text = |name: &str| example.get(name).and_then(Value::as_str).unwrap_or_default();
            let found = registry_at(version).of_kind(text("apiVersion"), text("kind"));
            if let Some(resource) = found.filter(|resource| is_plain(resource)) {
                return conversation(&example, resource, &mut random);
            }
        }
    }
}

/// Whether an object of a resource can be made without others, by anybody, and stays as it is.
fn is_plain(resource: &Resource) -> bool {
    let moves = [
        "APIService",
        "CertificateSigningRequest",
        "CustomResourceDefinition",
        "Event",
        "IPAddress",
        "Namespace",
        "Node",
        "ResourceQuota",
        "ServiceCIDR",
    ];
    !moves.contains(&resource.kind.as_str()) && !resource.kind.ends_with("WebhookConfiguration")
}

fn examples() -> Vec<Value> {
    let document: Value = EXAMPLES.parse().unwrap_or_default();
    let rows = document.get("examples").and_then(Value::as_array).cloned().unwrap_or_default();
    rows.iter().filter_map(|row| row.get("input").cloned()).collect()
}

/// One object, and how it is addressed.
struct Subject<'r> {
    resource: &'r Resource,
    object: Value,
}

fn conversation(example: &Value, resource: &Resource, random: &mut Random) -> Conversation {
    let name = if resource.scope == Scope::Namespaced { "o" } else { "o-{id}" };
    let metadata = example.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = metadata.without("namespace").with("name", name);
    let object = with(example, "metadata", metadata.into());
    let subject = Subject { resource, object };
    let mut steps = vec![subject.request("POST", "", JSON, subject.object.clone(), &[])];
    steps.extend((0..8 + random.below(12)).map(|_| subject.bad(name, random)));
    if resource.scope != Scope::Namespaced {
        steps.push(subject.request("DELETE", name, "", Value::Null, &[]));
    }
    Conversation { definition: None, steps, errors: Errors::Whole }
}

impl Subject<'_> {
    fn request(
        &self,
        method: &'static str,
        below: &str,
        media_type: &'static str,
        body: Value,
        query: &[&str],
    ) -> Step {
        let root = if self.resource.group.is_empty() { "api" } else { "apis" };
        let namespace = if self.resource.scope == Scope::Namespaced { "namespaces/{ns}/" } else { "" };
        let collection = format!("/{root}/{}/{namespace}{}", self.resource.api_version, self.resource.name);
        let below = if below.is_empty() { String::new() } else { format!("/{below}") };
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        Step { method, path: format!("{collection}{below}{query}"), media_type, body }
    }

    /// Returns a request with one thing wrong.
    fn bad(&self, name: &str, random: &mut Random) -> Step {
        let mut query: Vec<&str> = Vec::new();
        let mut object = self.object.clone();
        let mut media_type = None;
        match random.below(20) {
            0..8 => object = changed(&object, random),
            8..11 => object = without_field(&object, random),
            11..13 => object = with_field(&object, random),
            13..15 => {
                let wrong = random.pick(&METADATA).parse().unwrap_or_default();
                object = super::over(&object, &Value::object([("metadata", wrong)]));
            }
            15 => {
                let wrong = Value::object([("name", Value::from(*random.pick(&NAMES)))]);
                object = super::over(&object, &Value::object([("metadata", wrong)]));
            }
            16 => {
                object = with(
                    &object,
                    "apiVersion",
                    random.pick(&["", "v9", "apps/v1", "a/b/c", "nope/v1"]).to_string().into(),
                )
            }
            17 => {
                object = with(
                    &object,
                    "kind",
                    random.pick(&["", "Nope", "Pod", "List", "Status"]).to_string().into(),
                )
            }
            18 => query.push(*random.pick(&QUERIES)),
            _ => media_type = Some(*random.pick(&TYPES)),
        }
        let patch =
            || object.as_object().map(|object| Value::from(object.without("apiVersion").without("kind")));
        match random.below(10) {
            0..3 => {
                // A second object, which is not made: the first one is there already where all is right.
                self.request("POST", "", media_type.unwrap_or(JSON), object, &query)
            }
            3..5 => self.request("PUT", name, media_type.unwrap_or(JSON), object, &query),
            5..7 => {
                query.push("fieldManager=m");
                self.request("PATCH", name, media_type.unwrap_or(APPLY), object, &query)
            }
            7 => {
                self.request("PATCH", name, media_type.unwrap_or(MERGE), patch().unwrap_or_default(), &query)
            }
            8 => self.request(
                "PATCH",
                name,
                media_type.unwrap_or(STRATEGIC),
                patch().unwrap_or_default(),
                &query,
            ),
            _ => {
                let operation = random.pick(&["replace", "add", "remove", "test", "nope"]).to_string();
                let value: Value = random.pick(&VALUES).parse().unwrap_or_default();
                let paths = pointers(&self.object);
                let path = random.pick(&paths).clone();
                let operation = [("op", Value::from(operation)), ("path", path.into()), ("value", value)];
                self.request(
                    "PATCH",
                    name,
                    media_type.unwrap_or(JSON_PATCH),
                    Value::array([Value::object(operation)]),
                    &query,
                )
            }
        }
    }
}

fn with(object: &Value, name: &str, value: Value) -> Value {
    object.as_object().map_or(Value::Null, |object| Value::from(object.with(name, value)))
}

/// Returns the places of a document, as JSON pointers.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let below = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    found.push(below.clone());
                    walk(value, &below, found);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    found.push(format!("{path}/{at}"));
                    walk(item, &format!("{path}/{at}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// Returns a document with one of its values, but for those that identify it, made by `change` from the value.
fn edited(
    value: &Value,
    random: &mut Random,
    change: &dyn Fn(&mut Random, Option<&Value>) -> Option<Value>,
) -> Value {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let names: Vec<&Text> = fields
                .iter()
                .map(|(name, _)| name)
                .filter(|name| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
                .collect();
            if names.is_empty() {
                return value.clone();
            }
            let name = (*random.pick(&names)).clone();
            let part = fields.get(&name).cloned().unwrap_or_default();
            let deeper = matches!(&part, Value::Object(_) | Value::Array(_)) && !random.one_in(4);
            match deeper {
                true => fields.with(name, edited(&part, random, change)).into(),
                false => match change(random, Some(&part)) {
                    Some(new) => fields.with(name, new).into(),
                    None => Value::from(fields.without(&name)),
                },
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            let mut items = items.items().to_vec();
            match random.one_in(5) {
                true => match change(random, Some(&items[at])) {
                    Some(new) => items[at] = new,
                    None => drop(items.remove(at)),
                },
                false => items[at] = edited(&items[at].clone(), random, change),
            }
            Value::array(items)
        }
        other => change(random, Some(other)).unwrap_or_default(),
    }
}

/// Returns a document with another value somewhere.
fn changed(object: &Value, random: &mut Random) -> Value {
    edited(object, random, &|random, _| random.pick(&VALUES).parse().ok())
}

/// Returns a document without one of its fields or items.
fn without_field(object: &Value, random: &mut Random) -> Value {
    edited(object, random, &|_, _| None)
}

/// Returns a document with a field that its type does not have.
fn with_field(object: &Value, random: &mut Random) -> Value {
    edited(object, random, &|random, part| {
        let fields = part.and_then(Value::as_object).cloned().unwrap_or_else(Object::default);
        Some(fields.with("nope", random.pick(&VALUES).parse::<Value>().unwrap_or_default()).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_sent_and_a_seed_makes_the_same_requests() {
        for version in KubernetesVersion::ALL {
            assert_eq!(Conversation::generate_bad(3, version), Conversation::generate_bad(3, version));
            let kinds: std::collections::BTreeSet<String> = (0..600)
                .filter_map(|seed| Conversation::generate_bad(seed, version).steps.first().cloned())
                .filter_map(|step| step.body.get("kind").and_then(Value::as_str).map(ToString::to_string))
                .collect();
            assert!(kinds.len() > 35, "{kinds:?}");
        }
    }

    #[test]
    fn one_thing_is_wrong() {
        let object: Value = r#"{"apiVersion":"v1","kind":"K","spec":{"a":1,"b":[{"c":2}]}}"#.parse().unwrap();
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let made = [without_field(&object, &mut random), with_field(&object, &mut random)];
            for made in made {
                assert_ne!(made, object);
                assert_eq!(made.get("kind"), object.get("kind"));
            }
        }
        assert_eq!(pointers(&object).len(), 7);
    }
}
