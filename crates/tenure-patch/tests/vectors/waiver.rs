//! The rules by which a recorded line is not followed. Each is named after its entry in
//! `docs/differences.md`, recognises the defect in what was recorded, and says what holds instead.

use crate::{
    line::Line,
    outcome::{Outcome, Verdict, run},
};
use tenure_schema::Schema;
use tenure_value::{Object, Value};

pub struct Waiver {
    /// The heading of the entry in `docs/differences.md`.
    pub entry: &'static str,
    /// Whether a recorded line shows the defect.
    pub shows: fn(&Line) -> bool,
    /// What Tenure promises for such a line.
    pub promise: fn(&Line, &Schema) -> Verdict,
}

pub const WAIVERS: &[Waiver] = &[
    Waiver { entry: "Large integers keep their digits", shows: large_integers, promise: large_integers_kept },
    Waiver { entry: "A null merge key is an error", shows: null_merge_key, promise: is_an_error },
    Waiver { entry: "A deleted map is gone", shows: deleted_map_left, promise: repaired },
    Waiver { entry: "Directives and nulls are never stored", shows: leaks, promise: repaired },
    Waiver {
        entry: "A null key that could mean several entries",
        shows: doubtful_null_key,
        promise: is_an_error,
    },
];

/// Returns the first rule that recognises the line.
pub fn waiver(line: &Line) -> Option<&'static Waiver> {
    WAIVERS.iter().find(|waiver| (waiver.shows)(line))
}

fn patch(line: &Line) -> Value {
    line.input("patch").unwrap_or_default()
}

fn result(line: &Line) -> Option<&Value> {
    line.raw.get("result")
}

fn is_an_error(line: &Line, schema: &Schema) -> Verdict {
    match run(line, schema) {
        Outcome::Error { .. } => Ok(()),
        Outcome::Result(value) => Err(format!("an error was promised, not {value}")),
    }
}

/// Whether some part of a document fits.
fn any(value: &Value, fits: &impl Fn(&Value) -> bool) -> bool {
    fits(value)
        || match value {
            Value::Object(fields) => fields.iter().any(|(_, field)| any(field, fits)),
            Value::Array(items) => items.iter().any(|item| any(item, fits)),
            _ => false,
        }
}

/// An integer beyond 63 bits was read as a float.
fn large_integers(line: &Line) -> bool {
    let is_large = |value: &Value| matches!(value, Value::UInt(_));
    line.op == "apply"
        && (any(&patch(line), &is_large) || any(&line.input("original").unwrap_or_default(), &is_large))
}

fn large_integers_kept(line: &Line, schema: &Schema) -> Verdict {
    let as_float = |value: &Value| {
        rebuild(value, &|value| match value {
            Value::UInt(number) => Some(Value::Float(*number as f64)),
            _ => None,
        })
    };
    match (run(line, schema), result(line)) {
        (Outcome::Result(value), Some(expected)) if as_float(&value) == as_float(expected) => Ok(()),
        (outcome, _) => Err(outcome.show()),
    }
}

fn rebuild(value: &Value, change: &impl Fn(&Value) -> Option<Value>) -> Value {
    match (change(value), value) {
        (Some(value), _) => value,
        (None, Value::Object(fields)) => {
            Value::object(fields.iter().map(|(name, field)| (name.clone(), rebuild(field, change))))
        }
        (None, Value::Array(items)) => Value::array(items.iter().map(|item| rebuild(item, change))),
        (None, value) => value.clone(),
    }
}

/// An entry whose key is null joined its list.
fn null_merge_key(line: &Line) -> bool {
    let has_null_key = |value: &Value| match value {
        Value::Array(items) => items.iter().any(|item| {
            ["name", "port", "containerPort", "type", "uid", "ip", "mountPath", "devicePath", "topologyKey"]
                .iter()
                .any(|key| {
                    item.get(key).is_some_and(Value::is_null)
                        && items.iter().any(|other| other.get(key).is_some_and(|value| !value.is_null()))
                })
        }),
        _ => false,
    };
    line.op == "apply" && result(line).is_some_and(|result| any(result, &has_null_key))
}

/// `$patch: delete` on a map left an empty one.
fn deleted_map_left(line: &Line) -> bool {
    line.op == "apply"
        && result(line).is_some_and(|result| without_deleted_maps(result, &patch(line)) != *result)
}

/// A directive, or a null of the patch, was stored.
fn leaks(line: &Line) -> bool {
    let had_null = || any(&line.input("original").unwrap_or_default(), &has_null);
    line.op == "apply"
        && result(line)
            .is_some_and(|result| any(result, &has_directive) || any(result, &has_null) && !had_null())
}

fn has_directive(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.iter().any(|(name, _)| name.starts_with('$')))
}

fn has_null(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.iter().any(|(_, field)| field.is_null()))
}

/// What was recorded, without what should not be in it: the result has to be that.
fn repaired(line: &Line, schema: &Schema) -> Verdict {
    let outcome = run(line, schema);
    let (Some(value), Some(recorded)) = (outcome.value(), result(line)) else { return Err(outcome.show()) };
    if any(value, &has_directive) {
        return Err(format!("a directive is stored in {value}"));
    }
    let expected = without_directives(&without_deleted_maps(recorded, &patch(line)));
    if without_nulls(value) == without_nulls(&expected) {
        return Ok(());
    }
    Err(format!("\n   got      {value}\n   expected {expected}"))
}

fn without_directives(value: &Value) -> Value {
    prune(value, &|name, _| name.starts_with('$'))
}

fn without_nulls(value: &Value) -> Value {
    prune(value, &|_, value| value.is_null())
}

fn prune(value: &Value, drop: &impl Fn(&str, &Value) -> bool) -> Value {
    match value {
        Value::Object(fields) => Value::object(
            fields
                .iter()
                .filter(|(name, field)| !drop(name, field))
                .map(|(name, field)| (name.clone(), prune(field, drop))),
        ),
        Value::Array(items) => Value::array(items.iter().map(|item| prune(item, drop))),
        scalar => scalar.clone(),
    }
}

/// Removes the empty maps that stand where the patch deletes one.
fn without_deleted_maps(result: &Value, patch: &Value) -> Value {
    let says = |patch: &Value, word: &str| patch.get("$patch").and_then(Value::as_str) == Some(word);
    let deletes = |patch: &Value| says(patch, "delete");
    match (result, patch) {
        // What replaces is taken word for word, directives left out.
        (result, patch) if says(patch, "replace") => result.clone(),
        (Value::Object(fields), Value::Object(patch)) => {
            let mut kept = Vec::new();
            for (name, field) in fields {
                let patched = patch.get(name).cloned().unwrap_or_default();
                let is_left = deletes(&patched) && field.as_object().is_some_and(Object::is_empty);
                let is_leaked = deletes(&patched) && *field == patched;
                if !is_left && !is_leaked {
                    kept.push((name.clone(), without_deleted_maps(field, &patched)));
                }
            }
            Value::object(kept)
        }
        (Value::Array(items), Value::Array(patches)) => Value::array(items.iter().map(|item| {
            // The entry of the patch is the one that shares a field's value and is no deletion.
            let entry = patches.iter().filter(|patch| !deletes(patch)).find(|patch| shares_key(item, patch));
            entry.map_or_else(|| item.clone(), |entry| without_deleted_maps(item, entry))
        })),
        (result, _) => result.clone(),
    }
}

fn shares_key(item: &Value, patch: &Value) -> bool {
    ["name", "port", "containerPort", "type", "uid", "ip", "mountPath", "devicePath", "topologyKey"]
        .iter()
        .find_map(|key| Some(item.get(key)? == patch.get(key)?))
        .unwrap_or(false)
}

/// A null key took the first of several entries.
fn doubtful_null_key(line: &Line) -> bool {
    line.flag("doubtful")
        && result(line).is_some()
        && any(&patch(line), &|value| match (value.get("$patchMergeKey"), value.as_object()) {
            (Some(Value::Array(keys)), Some(entry)) => {
                keys.iter().filter_map(Value::as_str).any(|key| entry.get(key).is_some_and(Value::is_null))
            }
            _ => false,
        })
}
