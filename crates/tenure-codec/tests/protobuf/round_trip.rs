//! Objects recorded as JSON round-trip through protobuf.

use crate::recordings::conversations;
use std::{fs, path::PathBuf};
use tenure_codec::protobuf;
use tenure_value::{Limits, Object, Value, json};

/// Returns an object without what protobuf does not represent: nulls, empty lists, and the kinds of nested
/// objects.
fn carried(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let is_nothing =
                |value: &Value| value.is_null() || matches!(value, Value::Array(items) if items.is_empty());
            let kept = fields.iter().filter(|(_, value)| !is_nothing(value));
            Value::Object(Object::from_sorted(kept.map(|(name, value)| match (name.as_str(), value) {
                ("volumeClaimTemplates", Value::Array(claims)) => {
                    (name.clone(), Value::array(claims.iter().map(|claim| carried(&bare(claim)))))
                }
                _ => (name.clone(), carried(value)),
            })))
        }
        Value::Array(items) => Value::array(items.iter().map(carried)),
        other => other.clone(),
    }
}

fn bare(object: &Value) -> Value {
    let fields = object.as_object().cloned().unwrap_or_default();
    fields.without("apiVersion").without("kind").into()
}

fn check(object: &Value, about: &str) {
    let written = protobuf::encode(object).unwrap_or_else(|error| panic!("{about}: {error}"));
    let read =
        protobuf::decode(&written, &Limits::default()).unwrap_or_else(|error| panic!("{about}: {error}"));
    assert_eq!(carried(&read), carried(object), "{about}");
    let again = protobuf::encode(&read).unwrap();
    assert_eq!(again, written, "{about}");
}

fn read(path: PathBuf) -> Option<Value> {
    let text = fs::read_to_string(&path).ok()?;
    // Recordings have placeholders for times and allocated numbers.
    let words = [
        ("\"<time>\"", "\"2026-11-15T00:45:20Z\""),
        ("\"TIME\"", "\"2026-11-15T00:45:20Z\""),
        ("odePort\": \"<allocated>\"", "odePort\": 30000"),
        ("odePort\":\"<allocated>\"", "odePort\":30000"),
    ];
    let text = words.iter().fold(text, |text, (word, meant)| text.replace(word, meant));
    let read = json::parse(text.as_bytes(), &Limits::TRUSTED);
    Some(read.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

#[test]
fn created_objects_of_every_kind_round_trip() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tenure-builtin/tests/facts/defaults-examples.json");
    let checked = each_object(&read(path).unwrap(), "output", "defaults-examples");
    assert!(checked >= 277, "{checked}");
}

#[test]
fn recorded_responses_round_trip() {
    let files = conversations().map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let documents = files.into_iter().flatten().filter_map(|file| Some((file.path(), read(file.path())?)));
    let checked: Vec<usize> = documents
        .map(|(path, document)| each_object(&document, "expect", &path.display().to_string()))
        .collect();
    // Files about custom resources and errors have no object that protobuf can represent.
    assert!(checked.iter().sum::<usize>() > 300, "{checked:?}");
}

/// Checks the objects with a protobuf encoding in members of a name, and returns their number.
fn each_object(value: &Value, member: &str, about: &str) -> usize {
    let children: Vec<(&str, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.as_str(), value)).collect(),
        Value::Array(items) => items.iter().map(|item| ("", item)).collect(),
        _ => return 0,
    };
    let below = children.into_iter().map(|(name, child)| {
        let object = child.get("body").unwrap_or(child);
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        if name != member {
            return each_object(child, member, about);
        }
        // If a recording omits parts, the object is incomplete.
        let whole = value.get("ignore").is_none();
        if !whole || text("kind") == "Status" || !protobuf::knows(text("apiVersion"), text("kind")) {
            return 0;
        }
        check(object, about);
        1
    });
    below.sum()
}
