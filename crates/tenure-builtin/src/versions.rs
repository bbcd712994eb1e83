//! Reads a data file as one version of Kubernetes has it. What all versions share stands there once; what differs is marked:
//!
//! - a row of a list with `"since": "1.37"` is absent before that version, and one with `"until": "1.37"` from that version on;
//! - the members of `"since 1.37": {…}` replace those of the object that they stand in, or join them, from that version on; members
//!   that are objects are merged, and `null` removes one.

use tenure_profile::KubernetesVersion;
use tenure_value::{Object, Value};

/// Returns a document of data as a version of Kubernetes has it, without the marks of its rows; an error names a mark that is wrong.
pub fn at(document: &Value, version: KubernetesVersion) -> Result<Value, String> {
    Ok(changed(document, version)?.unwrap_or_else(|| document.clone()))
}

/// Returns a document as a version has it; `None` if nothing in it is marked, so that it is shared.
fn changed(document: &Value, version: KubernetesVersion) -> Result<Option<Value>, String> {
    match document {
        document if !is_marked(document) => Ok(None),
        Value::Array(items) => {
            let mut present = Vec::with_capacity(items.len());
            for item in items.iter() {
                if is_present(item, version)? {
                    present.push(changed(item, version)?.unwrap_or_else(|| item.clone()));
                }
            }
            Ok(Some(Value::array(present)))
        }
        Value::Object(object) => {
            let mut members = Vec::with_capacity(object.len());
            for (name, value) in object.iter().filter(|(name, _)| !is_mark(name)) {
                members.push((name.clone(), changed(value, version)?.unwrap_or_else(|| value.clone())));
            }
            let mut result = Object::from_unsorted(members);
            for (name, changes) in object.iter() {
                let Some(since) = name.strip_prefix(SINCE) else { continue };
                if since.parse::<KubernetesVersion>().map_err(|error| error.to_string())? <= version {
                    let changes = changes.as_object().ok_or_else(|| format!("{name} must be an object"))?;
                    result = merged(&result, changes, version)?;
                }
            }
            Ok(Some(Value::Object(result)))
        }
        _ => Ok(None),
    }
}

const SINCE: &str = "since ";

/// Whether something in a document is marked. Those who ask go on with its parts, of which data has a few levels.
fn is_marked(document: &Value) -> bool {
    match document {
        Value::Array(items) => items.iter().any(is_marked),
        Value::Object(object) => object.iter().any(|(name, value)| is_mark(name) || is_marked(value)),
        _ => false,
    }
}

fn is_mark(name: &str) -> bool {
    matches!(name, "since" | "until") || name.starts_with(SINCE)
}

/// Whether a version has a row.
fn is_present(row: &Value, version: KubernetesVersion) -> Result<bool, String> {
    let mark = |name: &str| {
        let mark = row.get(name).and_then(Value::as_str);
        mark.map(|mark| mark.parse::<KubernetesVersion>().map_err(|error| error.to_string())).transpose()
    };
    Ok(mark("since")?.is_none_or(|since| since <= version)
        && mark("until")?.is_none_or(|until| until > version))
}

fn merged(object: &Object, changes: &Object, version: KubernetesVersion) -> Result<Object, String> {
    let unchanged = object.iter().filter(|(name, _)| !changes.contains(name));
    let mut members: Vec<_> = unchanged.map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, change) in changes.iter() {
        let former = object.get(name).and_then(Value::as_object);
        let value = match (change, former) {
            (Value::Null, _) => continue,
            (Value::Object(change), Some(former)) => Value::Object(merged(former, change, version)?),
            (change, _) => at(change, version)?,
        };
        members.push((name.clone(), value));
    }
    Ok(Object::from_unsorted(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_as_a_version_has_it() {
        let document = r#"{
            "rows": [{"a": 1}, {"a": 2, "since": "1.37"}, {"a": 3, "until": "1.37"}],
            "row": {"kept": 1, "changed": {"x": 1, "y": 2}, "gone": true,
                "since 1.37": {"changed": {"y": 3}, "gone": null, "new": [1]}}
        }"#;
        let document: Value = document.parse().unwrap();
        for (version, expected) in [
            (
                KubernetesVersion::V1_36,
                r#"{"row":{"changed":{"x":1,"y":2},"gone":true,"kept":1},"rows":[{"a":1},{"a":3}]}"#,
            ),
            (
                KubernetesVersion::V1_37,
                r#"{"row":{"changed":{"x":1,"y":3},"kept":1,"new":[1]},"rows":[{"a":1},{"a":2}]}"#,
            ),
        ] {
            assert_eq!(at(&document, version).unwrap().to_string(), expected, "{version}");
        }
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        for wrong in [r#"{"since 1.9": {}}"#, r#"[{"since": "soon"}]"#, r#"{"since 1.37": 1}"#] {
            assert!(at(&wrong.parse().unwrap(), KubernetesVersion::V1_37).is_err(), "{wrong}");
        }
    }
}
