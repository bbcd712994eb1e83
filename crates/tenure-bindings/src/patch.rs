//! Patches: strategic merge patch with the types of documents, JSON merge patch and JSON patch, which need none.

use crate::{Error, Profile, Types};
use tenure_apply::LAST_APPLIED;
use tenure_patch::{
    json,
    lint::{self, Subject},
    merge,
    strategic::{self, ApplyOptions, DiffOptions, Keys, LiveChanges, LiveOnly},
};
use tenure_value::{Limits, Object, Value};

/// The types of the documents, and how they are merged.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// Where types come from.
    pub types: &'a Types,
    /// The kind of the documents, where they do not say it.
    pub kind: Option<&'a str>,
    /// Where merging follows Kubernetes, and where it improves on it.
    pub profile: Profile,
}

/// Applies a strategic merge patch. `order` says where entries go that only the live list has: `kubernetes` or `documented`.
pub fn strategic_merge(live: &Value, patch: &Value, order: &str, typed: &Typed<'_>) -> Result<Value, Error> {
    let live_only = match order {
        "kubernetes" => LiveOnly::InPlace,
        "documented" => LiveOnly::InFront,
        other => {
            return Err(Error::argument(format!(
                "unknown order {other:?}; expected kubernetes or documented"
            )));
        }
    };
    let ty = typed.types.of(live, typed.kind)?;
    let options = ApplyOptions::default().profile(typed.profile).live_only(live_only);
    Ok(strategic::apply(live, patch, ty, &options)?)
}

/// Calculates the strategic merge patch from one document to another.
pub fn two_way(original: &Value, modified: &Value, keys: &str, typed: &Typed<'_>) -> Result<Value, Error> {
    let ty = typed
        .types
        .of(original, typed.kind)
        .or_else(|error| typed.types.of(modified, typed.kind).map_err(|_| error))?;
    let options = DiffOptions::default().profile(typed.profile).keys(matching(keys)?);
    Ok(strategic::two_way(original, modified, ty, &options)?)
}

/// Calculates the patch that brings a live object to a manifest, as `kubectl apply` does. Without `last_applied`, the annotation of the
/// live object has it. What both changed since is a conflict unless the manifest may overwrite it.
pub fn three_way(
    last_applied: Option<&Value>,
    modified: &Value,
    live: &Value,
    overwrite: bool,
    keys: &str,
    typed: &Typed<'_>,
) -> Result<Value, Error> {
    let annotated;
    let last_applied = match last_applied {
        Some(given) => given,
        None => {
            annotated = annotation(live)?;
            &annotated
        }
    };
    let ty = typed
        .types
        .of(live, typed.kind)
        .or_else(|error| typed.types.of(modified, typed.kind).map_err(|_| error))?;
    let changes = if overwrite { LiveChanges::Overwrite } else { LiveChanges::Keep };
    let options = DiffOptions::default().profile(typed.profile).keys(matching(keys)?);
    Ok(strategic::three_way(last_applied, modified, live, ty, changes, &options)?)
}

/// Applies a JSON merge patch, as the Kubernetes API does or as the standard says.
pub fn json_merge(live: &Value, patch: &Value, dialect: &str) -> Result<Value, Error> {
    Ok(match dialect_of(dialect)? {
        json::Dialect::Kubernetes => merge::apply_kubernetes(live, patch),
        _ => merge::apply(live, patch),
    })
}

/// Calculates the JSON merge patch from one document to another.
pub fn json_merge_diff(original: &Value, modified: &Value) -> Value {
    merge::diff(original, modified)
}

/// Applies a JSON patch, as the Kubernetes API does or as the standard says.
pub fn json_patch(live: &Value, operations: &Value, dialect: &str) -> Result<Value, Error> {
    let options = json::Options::default().dialect(dialect_of(dialect)?);
    Ok(json::apply(live, operations, &options)?)
}

/// Calculates the JSON patch from one document to another.
pub fn json_patch_diff(original: &Value, modified: &Value) -> Value {
    json::diff(original, modified)
}

/// Checks a patch, or a manifest from which patches will be calculated. Each finding has `path`, `problem` and `fix`.
pub fn lint(document: &Value, manifest: bool, typed: &Typed<'_>) -> Result<Value, Error> {
    let ty = typed.types.of(document, typed.kind)?;
    let subject = if manifest { Subject::Manifest } else { Subject::Patch };
    let findings = lint::lint(document, ty, subject);
    let shown = findings.iter().map(|finding| {
        let path = if finding.path.elements().is_empty() { String::new() } else { finding.path.to_string() };
        let parts =
            [("path", path), ("problem", finding.problem.to_string()), ("fix", finding.problem.fix())];
        Value::object(parts.map(|(name, text)| (name, Value::from(text))))
    });
    Ok(Value::array(shown))
}

fn matching(keys: &str) -> Result<Keys, Error> {
    match keys {
        "merge" => Ok(Keys::Merge),
        "recommended" => Ok(Keys::Recommended),
        other => Err(Error::argument(format!("unknown keys {other:?}; expected merge or recommended"))),
    }
}

fn dialect_of(name: &str) -> Result<json::Dialect, Error> {
    match name {
        "kubernetes" => Ok(json::Dialect::Kubernetes),
        "standard" => Ok(json::Dialect::Standard),
        other => Err(Error::argument(format!("unknown dialect {other:?}; expected kubernetes or standard"))),
    }
}

/// Reads the manifest of the last apply from the live object; without one nothing is removed.
fn annotation(live: &Value) -> Result<Value, Error> {
    let found = live.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
    let Some(text) = found.filter(|text| !text.is_empty()) else { return Ok(Object::default().into()) };
    tenure_value::json::parse(text.as_bytes(), &Limits::default())
        .map_err(|error| Error::argument(format!("metadata.annotations[{LAST_APPLIED:?}]: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn patches_are_those_of_the_libraries() {
        let types = Types::builtin();
        let typed = Typed { types: &types, kind: Some("Pod"), profile: Profile::kubernetes() };
        let live = value(r#"{"spec":{"containers":[{"name":"a","image":"x"}]}}"#);
        let patch = value(r#"{"spec":{"containers":[{"name":"b"}]}}"#);
        let merged = strategic_merge(&live, &patch, "kubernetes", &typed).unwrap();
        assert_eq!(merged.to_string(), r#"{"spec":{"containers":[{"name":"b"},{"image":"x","name":"a"}]}}"#);
        let back = two_way(&live, &merged, "merge", &typed).unwrap();
        assert_eq!(strategic_merge(&live, &back, "kubernetes", &typed).unwrap(), merged);
        let nameless = value(r#"{"spec":{"containers":[{"image":"y"}]}}"#);
        let error = strategic_merge(&live, &nameless, "kubernetes", &typed).unwrap_err();
        assert_eq!((error.kind, error.path.as_str()), (ErrorKind::Patch, ".spec.containers[0]"));
        assert_eq!(lint(&nameless, false, &typed).unwrap().as_array().unwrap().len(), 1);
        assert_eq!(json_merge(&live, &value(r#"{"spec":null}"#), "kubernetes").unwrap().to_string(), "{}");
        let failing = value(r#"[{"op":"test","path":"/spec","value":1}]"#);
        assert_eq!(json_patch(&live, &failing, "standard").unwrap_err().kind, ErrorKind::TestFailed);
        for error in [
            strategic_merge(&live, &patch, "random", &typed).unwrap_err(),
            two_way(&live, &patch, "none", &typed).unwrap_err(),
            json_merge(&live, &patch, "go").unwrap_err(),
        ] {
            assert!(error.kind == ErrorKind::Argument && error.message.contains("expected"), "{error}");
        }
    }

    #[test]
    fn the_last_applied_manifest_is_in_the_annotation() {
        let types = Types::builtin();
        let typed = Typed { types: &types, kind: None, profile: Profile::kubernetes() };
        let live = value(
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":
            "{\"data\":{\"a\":\"1\",\"b\":\"1\"}}"}},"data":{"a":"1","b":"2"}}"#,
        );
        let manifest = value(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"b":"3"}}"#);
        let error = three_way(None, &manifest, &live, false, "merge", &typed).unwrap_err();
        let conflicts: Vec<String> =
            error.conflicts.iter().map(|conflict| conflict.to_value().to_string()).collect();
        assert_eq!(conflicts, [r#"{"live":"2","owners":[],"path":".data.b","proposed":"3"}"#]);
        let patch = three_way(None, &manifest, &live, true, "merge", &typed).unwrap();
        assert_eq!(patch.get("data").unwrap().to_string(), r#"{"a":null,"b":"3"}"#);
    }
}
