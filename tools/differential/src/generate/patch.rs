//! Random patches made from random fields.

use super::over;
use crate::Random;
use tenure_value::Value;

/// Returns a merge patch: fields, some of them null.
pub(super) fn with_nulls(fields: &Value, random: &mut Random) -> Value {
    match fields {
        Value::Object(object) => {
            let fields = object.iter().map(|(name, value)| match random.one_in(8) {
                true => (name.clone(), Value::Null),
                false => (name.clone(), with_nulls(value, random)),
            });
            Value::object(fields.collect::<Vec<_>>())
        }
        other => other.clone(),
    }
}

/// Returns a strategic merge patch: fields, some of them null, with directives here and there.
pub(super) fn with_directives(fields: &Value, random: &mut Random) -> Value {
    match fields {
        Value::Object(object) => {
            let mut made: Vec<_> = object
                .iter()
                .map(|(name, value)| match random.one_in(12) {
                    true => (name.clone(), Value::Null),
                    false => (name.clone(), with_directives(value, random)),
                })
                .collect();
            let names: Vec<Value> = object.iter().map(|(name, _)| Value::from(name.clone())).collect();
            match random.below(30) {
                0 => made.push(("$patch".into(), "delete".into())),
                1 => made.push(("$patch".into(), "replace".into())),
                2 => made.push(("$retainKeys".into(), Value::array(names))),
                _ => {}
            }
            Value::object(made)
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| with_directives(item, random)).collect();
            if random.one_in(20) {
                items.push(Value::object([("$patch", Value::from("replace"))]));
            }
            Value::array(items)
        }
        other => other.clone(),
    }
}

/// Returns a JSON patch with places of an object.
pub(super) fn operations(object: &Value, random: &mut Random) -> Value {
    let mut places = Vec::new();
    collect(object, "", &mut places);
    places.retain(|(path, _)| {
        !matches!(path.as_str(), "/apiVersion" | "/kind" | "/metadata" | "/metadata/name")
    });
    let count = 1 + random.below(3);
    let operations = (0..count).filter(|_| !places.is_empty()).map(|_| {
        let (path, value) = random.pick(&places).clone();
        let operation = *random.pick(&["add", "add", "replace", "remove", "test"]);
        let head = Value::object([("op", Value::from(operation)), ("path", Value::from(path))]);
        match operation {
            "remove" => head,
            _ => over(&head, &Value::object([("value", value)])),
        }
    });
    Value::array(operations.collect::<Vec<_>>())
}

/// Collects every place of a document with its value.
fn collect(value: &Value, path: &str, places: &mut Vec<(String, Value)>) {
    let mut below = |name: &str, value: &Value| {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        places.push((path.clone(), value.clone()));
        collect(value, &path, places);
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| below(&at.to_string(), value));
        }
        _ => {}
    }
}
