//! Converts recorded facts: one entry per type with abbreviated OpenAPI keywords. An unknown keyword is an
//! error, so that nothing recorded is lost.

use crate::{PackError, REFERENCE};
use tenure_value::{Object, Value};

/// The keywords, with their names in OpenAPI.
const WORDS: [(&str, &str); 11] = [
    ("default", "default"),
    ("enum", "enum"),
    ("format", "format"),
    ("listMapKeys", "x-kubernetes-list-map-keys"),
    ("listType", "x-kubernetes-list-type"),
    ("mapType", "x-kubernetes-map-type"),
    ("oneOf", "oneOf"),
    ("patchMergeKey", "x-kubernetes-patch-merge-key"),
    ("patchStrategy", "x-kubernetes-patch-strategy"),
    ("required", "required"),
    ("unions", "x-kubernetes-unions"),
];

/// The abbreviations for kinds of types.
const NODES: [(&str, Option<&str>); 5] = [
    ("object", Some("object")),
    ("map", Some("object")),
    ("list", Some("array")),
    ("scalar", None),
    ("any", None),
];

/// Returns the types as OpenAPI schemas by name.
pub(crate) fn schemas(facts: &Value) -> Result<Object, PackError> {
    let types = facts.get("types").and_then(Value::as_object).ok_or_else(|| PackError::Source {
        at: "the facts".into(),
        what: "\"types\" is missing".into(),
        expected: "facts must contain the objects \"types\" and \"kinds\"",
    })?;
    let converted: Result<Vec<_>, PackError> =
        types.iter().map(|(name, ty)| Ok((name.clone(), node(ty, name, types)?.into()))).collect();
    Ok(Object::from_unsorted(converted?))
}

fn node(given: &Value, at: &str, types: &Object) -> Result<Object, PackError> {
    let wrong = |what: String, expected| Err(PackError::Source { at: at.into(), what, expected });
    let Some(words) = given.as_object() else {
        return wrong(format!("a type is {}", given.kind()), "it must be an object");
    };
    let mut node = Object::default();
    for (word, value) in words.iter() {
        node = match (word.as_str(), value) {
            ("type", Value::String(_)) => node.with("type", value.clone()),
            ("ref", Value::String(name)) => node.with("$ref", format!("{REFERENCE}{name}")),
            ("items", _) => node.with("items", part(value, &format!("{at}[]"), types)?),
            ("values", _) => node.with("additionalProperties", part(value, &format!("{at}.*"), types)?),
            ("fields", Value::Object(_)) if words.contains("anyFields") => node,
            ("fields", Value::Object(fields)) => node.with("properties", properties(fields, at, types)?),
            ("anyFields" | "any", Value::Bool(true)) => node,
            // Types shared by all group versions have no kind.
            ("gvk", Value::Array(_)) => node.with("x-kubernetes-group-version-kind", value.clone()),
            ("gvk", Value::String(_)) => node,
            ("node", Value::String(shape)) => match NODES.iter().find(|(word, _)| word == shape) {
                Some((_, Some(given))) => node.with("type", *given),
                Some((_, None)) => node,
                None => {
                    return wrong(
                        format!("node is {shape:?}"),
                        "it must be object, map, list, scalar or any",
                    );
                }
            },
            (word, value) => match WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, keyword)) => node.with(*keyword, value.clone()),
                None => {
                    return wrong(format!("{word:?} is {value:?}"), "unknown keyword or value");
                }
            },
        };
    }
    Ok(node)
}

/// Converts the items of a list or the values of a map. Their zero is their default, which servers before 1.37 publish; the pack
/// has it for every version.
fn part(value: &Value, at: &str, types: &Object) -> Result<Object, PackError> {
    let word = |value: &Value, word: &str| value.get(word).and_then(Value::as_str).map(str::to_owned);
    let node = node(value, at, types)?;
    if node.contains("default") {
        return Ok(node);
    }
    let referred =
        value.get("ref").and_then(Value::as_str).map(|name| types.get(name).unwrap_or(&Value::Null));
    let zero = match (referred, word(value, "type").as_deref(), word(value, "format").as_deref()) {
        (Some(referred), ..) if word(referred, "node").as_deref() == Some("object") => {
            Some(Value::Object(Object::default()))
        }
        (None, Some("string"), None) => Some(Value::from("")),
        (None, Some("integer"), _) => Some(Value::Int(0)),
        (None, Some("boolean"), _) => Some(Value::Bool(false)),
        _ => None,
    };
    Ok(match zero {
        Some(zero) => node.with("default", zero),
        None => node,
    })
}

fn properties(fields: &Object, at: &str, types: &Object) -> Result<Object, PackError> {
    let converted: Result<Vec<_>, PackError> = fields
        .iter()
        .map(|(name, schema)| Ok((name.clone(), node(schema, &format!("{at}.{name}"), types)?.into())))
        .collect();
    Ok(Object::from_unsorted(converted?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_value::{Limits, json};

    fn read(text: &str) -> Result<Object, PackError> {
        schemas(&json::parse(text.as_bytes(), &Limits::TRUSTED).unwrap())
    }

    #[test]
    fn facts_are_converted_to_openapi() {
        let schemas = read(
            r#"{"types": {"a.B": {"node": "object", "required": ["c"], "fields": {
                "c": {"node": "list", "items": {"ref": "a.D", "default": {}}, "listType": "map", "listMapKeys": ["n"]},
                "e": {"node": "map", "values": {"type": "string", "format": "byte"}, "mapType": "atomic"}}}}}"#,
        );
        let expected = r##"{"a.B":{"properties":{"c":{"items":{"$ref":"#/components/schemas/a.D","default":{}},"type":"array","x-kubernetes-list-map-keys":["n"],"x-kubernetes-list-type":"map"},"e":{"additionalProperties":{"format":"byte","type":"string"},"type":"object","x-kubernetes-map-type":"atomic"}},"required":["c"],"type":"object"}}"##;
        assert_eq!(json::to_string(&schemas.unwrap().into()), expected);
    }

    #[test]
    fn the_zeros_of_parts_are_known_without_being_published() {
        let schemas = read(
            r#"{"types": {"a.A": {"node": "object"}, "a.Q": {"node": "scalar"}, "a.B": {"node": "object", "fields": {
                "c": {"node": "list", "items": {"ref": "a.A"}}, "d": {"node": "list", "items": {"ref": "a.Q"}},
                "e": {"node": "map", "values": {"type": "string"}}, "f": {"node": "list", "items": {"type": "integer"}}}}}}"#,
        );
        let text = json::to_string(schemas.unwrap().get("a.B").unwrap());
        let expected = r##"{"properties":{"c":{"items":{"$ref":"#/components/schemas/a.A","default":{}},"type":"array"},"d":{"items":{"$ref":"#/components/schemas/a.Q"},"type":"array"},"e":{"additionalProperties":{"default":"","type":"string"},"type":"object"},"f":{"items":{"default":0,"type":"integer"},"type":"array"}},"type":"object"}"##;
        assert_eq!(text, expected);
    }

    #[test]
    fn an_unknown_keyword_is_reported_with_its_path() {
        let error = read(r#"{"types": {"a.B": {"node": "object", "fields": {"c": {"colour": "red"}}}}}"#);
        assert_eq!(error.unwrap_err().to_string(), "a.B.c: \"colour\" is \"red\"; unknown keyword or value");
    }
}
