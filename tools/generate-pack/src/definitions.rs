//! Converts the definitions published in the PyPI package `kubernetes-validate`: OpenAPI under `$defs`, with
//! optional fields as `[T, "null"]`, without defaults, and with enums only for `kind` and `apiVersion`.

use crate::{PackError, REFERENCE};
use tenure_value::{Object, Text, Value};

const PUBLISHED_REFERENCE: &str = "#/$defs/";

/// Keywords that do not affect the topology, or that are specific to the published definitions.
const IGNORED: [&str; 2] = ["description", "enum"];

/// Keywords that a server publishes and the published definitions lack.
const ONLY_RECORDED: [&str; 3] = ["default", "enum", "format"];

const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// Returns the definitions as OpenAPI v3 schemas by name.
pub(crate) fn schemas(definitions: &Value) -> Result<Object, PackError> {
    let found = definitions.get("$defs").and_then(Value::as_object).ok_or_else(|| PackError::Source {
        at: "the definitions".into(),
        what: "\"$defs\" is missing".into(),
        expected: "it must contain the definitions by name",
    })?;
    let schemas = found.iter().map(|(name, definition)| {
        let schema = match name.as_str() {
            INT_OR_STRING => Value::object([("format", "int-or-string".into())]),
            _ => node(definition),
        };
        (name.clone(), schema)
    });
    Ok(Object::from_sorted(schemas.collect::<Vec<_>>()))
}

/// Converts a schema and its children.
fn node(given: &Value) -> Value {
    let Some(words) = given.as_object() else { return given.clone() };
    let kept = words.iter().filter(|(word, _)| !IGNORED.contains(&word.as_str()));
    let fields = kept.filter_map(|(word, value)| {
        let value = match (word.as_str(), value) {
            ("properties", Value::Object(properties)) => each(properties, node).into(),
            ("items" | "additionalProperties", Value::Object(_)) => node(value),
            // All structs are closed in the published definitions, which is the default here.
            ("additionalProperties", Value::Bool(false)) => return None,
            ("oneOf", Value::Array(choices)) => Value::array(choices.iter().map(node)),
            ("type", Value::Array(words)) => {
                words.iter().find(|word| word.as_str() != Some("null")).cloned().unwrap_or_default()
            }
            ("$ref", Value::String(reference)) => match reference.strip_prefix(PUBLISHED_REFERENCE) {
                Some(name) => format!("{REFERENCE}{name}").into(),
                None => value.clone(),
            },
            // Types shared by all group versions have no kind.
            ("x-kubernetes-group-version-kind", Value::Array(kinds)) if kinds.len() > 1 => return None,
            _ => value.clone(),
        };
        Some((word.clone(), value))
    });
    Object::from_sorted(fields.collect::<Vec<_>>()).into()
}

fn each(object: &Object, change: impl Fn(&Value) -> Value) -> Object {
    Object::from_sorted(object.iter().map(|(name, value)| (name.clone(), change(value))).collect::<Vec<_>>())
}

/// Returns the published types, completed by keywords that only the recorded ones have.
pub(crate) fn complete(published: &Object, recorded: &Object) -> Object {
    let schemas = each_named(published, |name, schema| match recorded.get(name) {
        Some(known) => complete_node(schema, known),
        None => schema.clone(),
    });
    recorded
        .iter()
        .filter(|(name, _)| !published.contains(name))
        .fold(schemas, |schemas, (name, schema)| schemas.with(name.clone(), schema.clone()))
}

fn complete_node(published: &Value, recorded: &Value) -> Value {
    let (Some(words), Some(known)) = (published.as_object(), recorded.as_object()) else {
        return published.clone();
    };
    let completed = each_named(words, |word, value| match (word.as_str(), known.get(word)) {
        ("properties", Some(Value::Object(known))) => match value {
            Value::Object(fields) => each_named(fields, |name, field| match known.get(name) {
                Some(known) => complete_node(field, known),
                None => field.clone(),
            })
            .into(),
            other => other.clone(),
        },
        ("items" | "additionalProperties", Some(known)) => complete_node(value, known),
        _ => value.clone(),
    });
    let missing = ONLY_RECORDED.iter().filter(|word| !completed.contains(word));
    let added: Vec<_> = missing.filter_map(|word| Some((*word, known.get(word)?.clone()))).collect();
    added.into_iter().fold(completed, |node, (word, value)| node.with(word, value)).into()
}

fn each_named(object: &Object, change: impl Fn(&Text, &Value) -> Value) -> Object {
    let fields: Vec<_> = object.iter().map(|(name, value)| (name.clone(), change(name, value))).collect();
    Object::from_sorted(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_value::{Limits, json};

    fn parse(text: &str) -> Value {
        json::parse(text.as_bytes(), &Limits::TRUSTED).unwrap()
    }

    const PUBLISHED: &str = r##"{"$defs": {
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"oneOf": [{"type": ["string", "null"]}, {"type": ["integer", "null"]}]},
        "a.B": {"description": "Words.", "type": ["object", "null"], "additionalProperties": false, "required": ["kind"], "properties": {
            "kind": {"type": "string", "enum": ["B"]},
            "ports": {"type": ["array", "null"], "items": {"$ref": "#/$defs/a.C"}, "x-kubernetes-list-type": "atomic"},
            "labels": {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}}}},
        "a.C": {"type": "object", "properties": {}, "x-kubernetes-group-version-kind": [{"kind": "C"}, {"kind": "D"}]}}}"##;

    #[test]
    fn published_definitions_are_converted_to_openapi() {
        let found = schemas(&parse(PUBLISHED)).unwrap();
        let expected = parse(
            r##"{"io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"format": "int-or-string"},
            "a.B": {"type": "object", "required": ["kind"], "properties": {
                "kind": {"type": "string"},
                "ports": {"type": "array", "items": {"$ref": "#/components/schemas/a.C"}, "x-kubernetes-list-type": "atomic"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
            "a.C": {"type": "object", "properties": {}}}"##,
        );
        assert_eq!(Value::from(found), expected);
    }

    #[test]
    fn keywords_that_only_a_server_publishes_are_kept() {
        let published = schemas(&parse(PUBLISHED)).unwrap();
        let recorded = parse(
            r#"{"a.B": {"properties": {"labels": {"additionalProperties": {"default": "", "type": "string"}},
                "kind": {"enum": ["x", "y"], "type": "string"}, "ports": {"items": {"default": {}}}}},
                "a.Only": {"type": "string"}}"#,
        );
        let completed = complete(&published, recorded.as_object().unwrap());
        let field = |path: &[&str]| completed.get("a.B").unwrap().at(path.iter().copied()).cloned();
        assert_eq!(field(&["properties", "labels", "additionalProperties", "default"]), Some("".into()));
        assert_eq!(field(&["properties", "ports", "items", "default"]), Some(Object::default().into()));
        assert_eq!(field(&["properties", "kind", "enum"]), Some(parse(r#"["x", "y"]"#)));
        assert!(completed.contains("a.Only") && completed.contains("a.C"));
    }

    #[test]
    fn a_file_without_definitions_is_rejected() {
        let error = schemas(&parse("{}")).unwrap_err().to_string();
        assert_eq!(error, "the definitions: \"$defs\" is missing; it must contain the definitions by name");
    }
}
