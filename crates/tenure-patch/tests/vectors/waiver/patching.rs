//! The rules for patches that are applied.

use super::tree::{any, lists, prune, rebuild, unordered_equal};
use crate::{
    line::Line,
    outcome::{Outcome, Verdict, applied, judge, run},
};
use tenure_schema::Schema;
use tenure_value::{Object, Value};

fn patch(line: &Line) -> Value {
    line.input("patch").unwrap_or_default()
}

fn result(line: &Line) -> Option<&Value> {
    line.raw.get("result")
}

pub fn is_an_error(line: &Line, schema: &Schema) -> Verdict {
    match run(line, schema) {
        Outcome::Error { .. } => Ok(()),
        Outcome::Result(value) => Err(format!("expected an error, got {value}")),
    }
}

/// A patch with a deletion list that is not a list, or items of `$retainKeys` that are not names, was accepted.
pub fn malformed_directive(line: &Line, _schema: &Schema) -> bool {
    let is_malformed = |value: &Value| {
        value.as_object().into_iter().flatten().any(|(name, value)| match value {
            Value::Null => false,
            Value::Array(names) => name == "$retainKeys" && names.iter().any(|name| name.as_str().is_none()),
            _ => name.starts_with("$deleteFromPrimitiveList/"),
        })
    };
    line.op == "apply" && result(line).is_some() && any(&patch(line), &is_malformed)
}

/// A map that sets more than its `$retainKeys` lists was accepted, where nothing is live.
pub fn exceeds_retained(line: &Line, _schema: &Schema) -> bool {
    let exceeds = |map: &Value| {
        let is_listed = |name: &str| match map.get("$retainKeys") {
            Some(Value::Array(names)) => names.iter().any(|listed| listed.as_str() == Some(name)),
            listed => listed.is_none(),
        };
        let set = map.as_object().into_iter().flatten();
        set.filter(|(name, value)| !value.is_null() && !name.starts_with('$'))
            .any(|(name, _)| !is_listed(name))
    };
    line.op == "apply" && result(line).is_some() && any(&patch(line), &exceeds)
}

/// The patch is refused for its `$retainKeys`, unless that is in a value which is taken literally.
pub fn retained_checked(line: &Line, schema: &Schema) -> Verdict {
    match run(line, schema) {
        Outcome::Error { message, .. } if message.contains("$retainKeys") => Ok(()),
        Outcome::Error { message, .. } => Err(message),
        Outcome::Result(_) => repaired(line, schema),
    }
}

/// `$patch: replace` in an entry with other fields emptied the list.
pub fn replaced_entry(line: &Line, _schema: &Schema) -> bool {
    line.op == "apply" && result(line).is_some() && any(&patch(line), &has_replaced_entry)
}

fn has_replaced_entry(value: &Value) -> bool {
    value.as_array().into_iter().flatten().any(is_replaced_entry)
}

fn is_replaced_entry(entry: &Value) -> bool {
    entry.get("$patch").and_then(Value::as_str) == Some("replace")
        && entry.as_object().is_some_and(|entry| entry.len() > 1)
}

/// The entry is in the result without the directive, if its list has a merge key; other lists are as recorded.
pub fn entry_replaced(line: &Line, schema: &Schema) -> Verdict {
    let mut expected = Vec::new();
    lists(&patch(line), line.ty(schema), &mut |_, list, marks| {
        if marks.merge_key.as_ref().is_some_and(|key| list.iter().all(|entry| entry.get(key).is_some())) {
            expected.extend(list.iter().filter(|entry| is_replaced_entry(entry)).map(without_directives));
        }
    });
    if expected.is_empty() {
        return judge(line, schema);
    }
    match run(line, schema) {
        Outcome::Result(result) if expected.iter().all(|entry| any(&result, &|part| part == entry)) => Ok(()),
        outcome => Err(outcome.show()),
    }
}

/// An integer beyond 63 bits was read as a float.
pub fn large_integers(line: &Line, _schema: &Schema) -> bool {
    let is_large = |value: &Value| matches!(value, Value::UInt(_));
    line.op == "apply"
        && (any(&patch(line), &is_large) || any(&line.input("original").unwrap_or_default(), &is_large))
}

pub fn large_integers_kept(line: &Line, schema: &Schema) -> Verdict {
    let as_float = |value: &Value| {
        rebuild(value, &|value| match value {
            Value::UInt(number) => Value::float(number.get() as f64),
            _ => None,
        })
    };
    match (run(line, schema), result(line)) {
        (Outcome::Result(value), Some(expected)) if as_float(&value) == as_float(expected) => Ok(()),
        (outcome, _) => Err(outcome.show()),
    }
}

/// An entry whose key is null joined its list, or was compared with others.
pub fn null_merge_key(line: &Line, schema: &Schema) -> bool {
    let mut found = false;
    let mut look = |document: &Value| {
        lists(document, line.ty(schema), &mut |_, list, marks| {
            found |= marks
                .merge_key
                .as_deref()
                .is_some_and(|key| list.iter().any(|entry| entry.get(key).is_some_and(Value::is_null)));
        });
    };
    if line.raw.get("error").is_some() {
        return false;
    }
    match line.op.as_str() {
        "apply" => result(line).into_iter().for_each(&mut look),
        _ => ["original", "modified", "current"]
            .iter()
            .filter_map(|name| line.input(name))
            .for_each(|document| look(&document)),
    }
    found
}

/// It is an error, unless the list is merely copied.
pub fn null_key_refused(line: &Line, schema: &Schema) -> Verdict {
    is_an_error(line, schema).or_else(|_| judge(line, schema))
}

/// A patch with an unknown value of `$patch` was accepted.
pub fn unknown_value(line: &Line, _schema: &Schema) -> bool {
    line.op == "apply" && result(line).is_some() && has_unknown_value(&patch(line))
}

/// Whether `$patch` has an unknown value somewhere; deleted and literally replaced parts do not count.
fn has_unknown_value(patch: &Value) -> bool {
    match (patch, patch.get("$patch").unwrap_or(&Value::Null)) {
        (Value::Object(fields), Value::Null) => fields.iter().any(|(_, field)| has_unknown_value(field)),
        (Value::Object(_), Value::String(word)) => !matches!(word.as_str(), "delete" | "replace" | "merge"),
        (Value::Object(_), _) => true,
        (Value::Array(items), _) => items.iter().any(has_unknown_value),
        _ => false,
    }
}

/// It is an error that names the value, unless the part is replaced literally.
pub fn unknown_value_refused(line: &Line, schema: &Schema) -> Verdict {
    match run(line, schema) {
        Outcome::Error { message, .. } if message.contains("$patch") => Ok(()),
        _ => judge(line, schema),
    }
}

/// `$patch: delete` on a map left an empty one.
pub fn deleted_map_left(line: &Line, _schema: &Schema) -> bool {
    // For a calculated patch, the recorded result of applying it counts.
    let (patch, result) = match line.op.as_str() {
        "apply" => (patch(line), result(line)),
        _ => (result(line).cloned().unwrap_or_default(), line.raw.get("applied")),
    };
    result.is_some_and(|result| without_deleted_maps(result, &patch) != *result)
}

/// An order of an empty list was refused.
pub fn nothing_to_order(line: &Line, _schema: &Schema) -> bool {
    let message = line.raw.get("error").and_then(Value::as_str).unwrap_or_default();
    line.op == "apply" && message == "no elements in any of the given slices"
}

/// The patch has the same effect as without its orders; only an order beside an empty list without a live list is still
/// refused.
pub fn order_ignored(line: &Line, schema: &Schema) -> Verdict {
    let unordered = prune(&patch(line), &|name, _| name.starts_with("$setElementOrder"));
    let options = tenure_patch::strategic::ApplyOptions::default().profile(crate::IMPROVED);
    let live = line.input("original").unwrap_or_default();
    let expected = tenure_patch::strategic::apply(&live, &unordered, line.ty(schema), &options);
    match (run(line, schema), expected) {
        (Outcome::Result(value), Ok(expected)) if unordered_equal(&value, &expected) => Ok(()),
        (Outcome::Error { message, .. }, _) if message.contains("has no items to order") => Ok(()),
        (outcome, _) => Err(outcome.show()),
    }
}

/// A patch failed because the type lacks a list that the patch orders.
pub fn unknown_order(line: &Line, _schema: &Schema) -> bool {
    let message = line.raw.get("error").and_then(Value::as_str).unwrap_or_default();
    let field = message.starts_with("unable to find api field").then(|| message.rsplit('"').nth(1)).flatten();
    line.op == "apply" && field.is_some_and(|field| !field.is_empty() && has_order(line, field))
}

fn has_order(line: &Line, list: &str) -> bool {
    any(&patch(line), &|part| part.get(&format!("$setElementOrder/{list}")).is_some())
}

/// The patch has the same effect as without the order.
pub fn unknown_order_dropped(line: &Line, schema: &Schema) -> Verdict {
    let message = line.raw.get("error").and_then(Value::as_str).unwrap_or_default();
    let unordered = prune(&patch(line), &|name, _| {
        name.strip_prefix("$setElementOrder/").is_some_and(|list| message.contains(&format!("\"{list}\"")))
    });
    let options = tenure_patch::strategic::ApplyOptions::default().profile(crate::IMPROVED);
    let live = line.input("original").unwrap_or_default();
    let expected = tenure_patch::strategic::apply(&live, &unordered, line.ty(schema), &options);
    match (run(line, schema), expected) {
        (Outcome::Result(value), Ok(expected)) if value == expected => Ok(()),
        (outcome, _) => Err(outcome.show()),
    }
}

/// A directive, or a null of the patch, was stored.
pub fn leaks(line: &Line, _schema: &Schema) -> bool {
    let (live, result) = match line.op.as_str() {
        "apply" => ("original", result(line)),
        "two-way" => ("original", line.raw.get("applied")),
        _ => ("current", line.raw.get("applied")),
    };
    let had_null = || any(&line.input(live).unwrap_or_default(), &has_null);
    result.is_some_and(|result| any(result, &has_directive) || any(result, &has_null) && !had_null())
}

fn has_directive(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.iter().any(|(name, _)| name.starts_with('$')))
}

fn has_null(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.iter().any(|(_, field)| field.is_null()))
}

/// The result must be the recorded one without the parts that should not be in it.
pub fn repaired(line: &Line, schema: &Schema) -> Verdict {
    let mut outcome = run(line, schema);
    let (mut patch, mut recorded) = (patch(line), result(line));
    if line.op != "apply" {
        if outcome.value() != recorded {
            return Err(outcome.show());
        }
        patch = outcome.value().cloned().unwrap_or_default();
        outcome = applied(line, schema, &patch);
        recorded = line.raw.get("applied");
    }
    let (Some(value), Some(recorded)) = (outcome.value(), recorded) else { return Err(outcome.show()) };
    if any(value, &has_directive) {
        return Err(format!("a directive is stored in {value}"));
    }
    let kept = without_deleted_maps(recorded, &patch);
    let expected = without_directives(&kept);
    // Deletions in a joining entry are left out; replacements are literal.
    for expected in [&expected, &without_directives(&without_deletions(&kept))] {
        if without_nulls(value) == without_nulls(expected) {
            return Ok(());
        }
    }
    Err(format!("\n   got      {value}\n   expected {expected}"))
}

/// Removes the entries of lists that carry `$patch`.
fn without_deletions(value: &Value) -> Value {
    rebuild(value, &|value| match value {
        Value::Array(items) => Some(Value::array(
            items.iter().filter(|item| item.get("$patch").is_none()).map(without_deletions),
        )),
        _ => None,
    })
}

fn without_directives(value: &Value) -> Value {
    prune(value, &|name, _| name.starts_with('$'))
}

fn without_nulls(value: &Value) -> Value {
    prune(value, &|_, value| value.is_null())
}

/// Removes the empty maps that stand where the patch deletes one.
pub fn without_deleted_maps(result: &Value, patch: &Value) -> Value {
    let says = |patch: &Value, word: &str| patch.get("$patch").and_then(Value::as_str) == Some(word);
    let deletes = |patch: &Value| says(patch, "delete");
    match (result, patch) {
        // Replacements are literal, without directives.
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
            // The entry of the patch is the one that shares a field's value and is not a deletion.
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

/// A null key matched the first of several entries.
pub fn doubtful_null_key(line: &Line, _schema: &Schema) -> bool {
    line.flag("doubtful")
        && result(line).is_some()
        && any(&patch(line), &|value| match (value.get("$patchMergeKey"), value.as_object()) {
            (Some(Value::Array(keys)), Some(entry)) => {
                keys.iter().filter_map(Value::as_str).any(|key| entry.get(key).is_some_and(Value::is_null))
            }
            _ => false,
        })
}
