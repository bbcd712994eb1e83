//! The rules for patches that are calculated.

use super::tree::{any, lists, prune};
use crate::{
    line::Line,
    outcome::{Outcome, Verdict, applied, read_back, run},
};
use std::collections::BTreeSet;
use tenure_patch::strategic::{self, DiffOptions, LiveChanges};
use tenure_schema::Schema;
use tenure_value::{Array, Object, Value};

const INPUTS: [&str; 3] = ["original", "modified", "current"];

fn is_calculated(line: &Line) -> bool {
    line.op == "two-way" || line.op == "three-way"
}

fn keeps(line: &Line) -> bool {
    line.op == "three-way" && !line.flag("overwrite")
}

fn input(line: &Line, name: &str) -> Value {
    line.input(name).unwrap_or_default()
}

/// The document that the line's patch is applied to.
fn target(line: &Line) -> Value {
    input(line, if line.op == "two-way" { "original" } else { "current" })
}

/// The names of the lists in which a merge key occurs twice.
fn lists_with_shared_keys(line: &Line, schema: &Schema) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for document in INPUTS {
        lists(&input(line, document), line.ty(schema), &mut |name, list, marks| {
            let key = marks.merge_key.as_deref();
            let keys: Vec<_> =
                key.map(|key| list.iter().map(|entry| entry.get(key)).collect()).unwrap_or_default();
            if (1..keys.len()).any(|at| keys[..at].contains(&keys[at])) {
                names.insert(name.to_string());
            }
        });
    }
    names
}

/// A merge key occurs twice in a list: entries are paired arbitrarily, and a deletion removes all of them.
pub fn shared_keys(line: &Line, schema: &Schema) -> bool {
    let message = line.raw.get("error").and_then(Value::as_str).unwrap_or_default();
    let is_about_order =
        message.is_empty() || message.contains("doesn't match $setElementOrder") || line.flag("conflict");
    is_calculated(line) && is_about_order && !lists_with_shared_keys(line, schema).is_empty()
}

/// The patch leads to the manifest; other lists than those with shared keys are patched as recorded.
pub fn survivors(line: &Line, schema: &Schema) -> Verdict {
    let patch = match run(line, schema) {
        Outcome::Result(patch) => patch,
        Outcome::Error { conflict: true, .. } if keeps(line) => return Ok(()),
        outcome => return Err(outcome.show()),
    };
    if let Some(recorded) = line.raw.get("result") {
        let shared = lists_with_shared_keys(line, schema);
        let (calculated, expected) = (without_lists(&patch, &shared), without_lists(recorded, &shared));
        if calculated != expected {
            return Err(format!("\n   got      {calculated}\n   expected {expected}"));
        }
    }
    leads_to_manifest(line, schema, &patch)
}

/// Removes some lists from a patch, their orders, and maps that are then empty.
fn without_lists(patch: &Value, names: &BTreeSet<String>) -> Value {
    let is_named = |name: &str| {
        let list = name.rsplit_once('/').filter(|_| name.starts_with('$')).map_or(name, |(_, list)| list);
        names.contains(list)
    };
    let mut patch = prune(patch, &|name, _| is_named(name) || name.starts_with("$setElementOrder"));
    loop {
        let is_empty = |value: &Value| match value {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.iter().all(|item| {
                item.as_object().is_some_and(|fields| fields.len() == 1 && !fields.contains("$patch"))
            }),
            _ => false,
        };
        let pruned = prune(&patch, &|_, value| is_empty(value));
        if pruned == patch {
            return patch;
        }
        patch = pruned;
    }
}

/// Checks that the patch leads to `modified` if no other client changed the document.
fn leads_to_manifest(line: &Line, schema: &Schema, patch: &Value) -> Verdict {
    let outcome = applied(line, schema, patch);
    let Some(result) = outcome.value() else { return Err(format!("{patch} fails: {}", outcome.show())) };
    let modified = read_back(&input(line, "modified"));
    if target(line) == input(line, "original") && without_nulls(result) != without_nulls(&modified) {
        return Err(format!("{patch}\n   gives    {result}\n   expected {modified}"));
    }
    let mut problem = Ok(());
    let mut entries = Vec::new();
    lists(&modified, line.ty(schema), &mut |name, list, marks| {
        entries.push((name.to_string(), list.len(), marks.merge_key.is_some()))
    });
    let mut results = Vec::new();
    lists(result, line.ty(schema), &mut |name, list, _| results.push((name.to_string(), list.len())));
    for (name, length, keyed) in entries {
        if keyed && !results.iter().any(|(other, found)| *other == name && *found >= length) {
            problem = Err(format!("{name} lost entries: {result}"));
        }
    }
    problem
}

fn without_nulls(value: &Value) -> Value {
    prune(value, &|_, value| value.is_null())
}

/// The names of the sets that fit.
fn sets(line: &Line, schema: &Schema, document: &str, fits: impl Fn(&Array) -> bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    lists(&input(line, document), line.ty(schema), &mut |name, list, marks| {
        let is_set = marks.strategy.merge && marks.merge_key.is_none();
        if is_set && list.iter().all(Value::is_scalar) && fits(list) {
            names.insert(name.to_string());
        }
    });
    names
}

/// A set was put into the order of its text, and the recorded patch has no order for it.
pub fn unnoticed_order(line: &Line, schema: &Schema) -> bool {
    let Some(recorded) = line.raw.get("result") else { return false };
    let document = if line.op == "two-way" { "original" } else { "current" };
    let is_moved = |list: &Array| {
        let from = |other: &Array| other != list && sorted(other) == sorted(list);
        list.is_sorted() && !sets(line, schema, document, from).is_empty()
    };
    let is_ordered = |name: &String| {
        let directive = format!("$setElementOrder/{name}");
        any(recorded, &|value| value.get(&directive).is_some())
    };
    is_calculated(line) && sets(line, schema, "modified", is_moved).iter().any(|name| !is_ordered(name))
}

fn sorted(list: &Array) -> Vec<Value> {
    let mut items = list.to_vec();
    items.sort();
    items
}

/// A live or original set has an item twice.
pub fn repeated_items(line: &Line, schema: &Schema) -> bool {
    let repeats = |list: &Array| (1..list.len()).any(|at| list[..at].contains(&list[at]));
    is_calculated(line)
        && ["original", "current"].iter().any(|document| !sets(line, schema, document, repeats).is_empty())
}

/// The patch differs from the recorded one in sets alone, and leads to the manifest.
pub fn leads_there(line: &Line, schema: &Schema) -> Verdict {
    let Outcome::Result(patch) = run(line, schema) else { return Err(run(line, schema).show()) };
    let mut names = BTreeSet::new();
    for document in INPUTS {
        names.extend(sets(line, schema, document, |_| true));
    }
    if let Some(recorded) = line.raw.get("result")
        && without_lists(&patch, &names) != without_lists(recorded, &names)
    {
        return Err(format!("\n   got      {patch}\n   expected {recorded}"));
    }
    leads_to_manifest(line, schema, &patch)
}

/// Both sides deleted from one set, which ended in a failed lookup.
pub fn same_deletion(line: &Line, _schema: &Schema) -> bool {
    let is_lookup = |outcome: &Value| {
        let message = outcome.get("error").and_then(Value::as_str).unwrap_or_default();
        message.contains("unable to find api field") && message.contains("$deleteFromPrimitiveList")
    };
    keeps(line) && line.outcomes().iter().any(is_lookup)
}

/// There is a patch, or another conflict.
pub fn no_internal_error(line: &Line, schema: &Schema) -> Verdict {
    match run(line, schema) {
        Outcome::Result(patch) => leads_to_manifest(line, schema, &patch),
        Outcome::Error { conflict: true, message } if !message.contains("$deleteFromPrimitiveList") => Ok(()),
        outcome => Err(outcome.show()),
    }
}

/// The manifest dropped a map to which others had added, which was a conflict.
pub fn removed_map(line: &Line, _schema: &Schema) -> bool {
    keeps(line)
        && line.flag("conflict")
        && !removed_maps(&input(line, "original"), &input(line, "modified"), &input(line, "current"))
            .is_empty()
}

/// The live maps that the original has and the modified document lacks, where live ones have more fields.
fn removed_maps(original: &Value, modified: &Value, live: &Value) -> Vec<(Object, Object)> {
    let (Value::Object(original), Value::Object(live)) = (original, live) else { return Vec::new() };
    let mut maps = Vec::new();
    for (name, value) in original {
        match (value, modified.get(name), live.get(name)) {
            (Value::Object(before), None, Some(Value::Object(now))) if any_addition(before, now) => {
                maps.push((before.clone(), now.clone()));
            }
            (value, Some(modified), Some(live)) => maps.extend(removed_maps(value, modified, live)),
            _ => {}
        }
    }
    maps
}

fn any_addition(before: &Object, now: &Object) -> bool {
    now.iter().any(|(name, value)| match (before.get(name), value) {
        (None, _) => true,
        (Some(Value::Object(before)), Value::Object(now)) => any_addition(before, now),
        _ => false,
    })
}

/// After the patch, fields that others added exist and applied ones do not; or another field conflicts.
pub fn additions_stay(line: &Line, schema: &Schema) -> Verdict {
    let patch = match run(line, schema) {
        Outcome::Result(patch) => patch,
        Outcome::Error { conflict: true, .. } => return Ok(()),
        outcome => return Err(outcome.show()),
    };
    let outcome = applied(line, schema, &patch);
    let Some(result) = outcome.value() else { return Err(outcome.show()) };
    for (before, now) in
        removed_maps(&input(line, "original"), &input(line, "modified"), &input(line, "current"))
    {
        let expected = Value::object(
            now.iter()
                .filter(|(name, value)| match before.get(*name) {
                    None => true,
                    Some(before) => match (before, value) {
                        (Value::Object(before), Value::Object(now)) => any_addition(before, now),
                        _ => false,
                    },
                })
                .map(|(name, _)| (name.clone(), Value::Null)),
        );
        let has_all = |value: &Value| {
            value.as_object().is_some_and(|fields| {
                fields.iter().map(|(name, _)| name).eq(expected
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(name, _)| name))
            })
        };
        if !any(result, &has_all) {
            return Err(format!("{patch} gives {result}"));
        }
    }
    Ok(())
}

/// Checking for conflicts sorted a list of the patch.
pub fn reordered_by_comparing(line: &Line, schema: &Schema) -> bool {
    let Some(recorded) = line.raw.get("result") else { return false };
    keeps(line)
        && overwriting(line, schema).is_some_and(|patch| {
            patch != *recorded && with_sorted_lists(&patch) == with_sorted_lists(recorded)
        })
}

fn overwriting(line: &Line, schema: &Schema) -> Option<Value> {
    let [original, modified, current] = INPUTS.map(|name| input(line, name));
    let options = DiffOptions::default().profile(line.profile);
    strategic::three_way(&original, &modified, &current, line.ty(schema), LiveChanges::Overwrite, &options)
        .ok()
        .map(|patch| read_back(&patch))
}

fn with_sorted_lists(value: &Value) -> Value {
    super::tree::rebuild(value, &|value| match value {
        Value::Array(list) if list.iter().all(Value::is_scalar) => Some(Value::array(sorted(list))),
        _ => None,
    })
}

/// The patch is the one of overwriting, with lists as in the manifest.
pub fn as_overwriting(line: &Line, schema: &Schema) -> Verdict {
    match (run(line, schema), overwriting(line, schema)) {
        (Outcome::Result(patch), Some(expected)) if patch == expected => Ok(()),
        (outcome, _) => Err(outcome.show()),
    }
}

/// Whether an object somewhere has both members of a union.
fn has_two_members(document: &Value) -> bool {
    let is_set = |object: &Object, name: &str| object.get(name).is_some_and(|value| !value.is_null());
    any(document, &|part| {
        part.as_object().is_some_and(|object| is_set(object, "value") && is_set(object, "valueFrom"))
    })
}

/// The recorded patch leaves a live member of a union beside the one that the manifest sets.
pub fn two_members(line: &Line, schema: &Schema) -> bool {
    let leads_to_both = |patch: &Value| {
        let options = strategic::ApplyOptions::default().profile(crate::IMPROVED);
        strategic::apply(&input(line, "current"), patch, line.ty(schema), &options)
            .is_ok_and(|result| has_two_members(&result))
    };
    line.op == "three-way"
        && !INPUTS.iter().any(|document| has_two_members(&input(line, document)))
        && line.raw.get("result").is_some_and(leads_to_both)
}

/// The member that the manifest sets is left, or the live one is a conflict if nothing may be overwritten.
pub fn one_member(line: &Line, schema: &Schema) -> Verdict {
    match run(line, schema) {
        Outcome::Result(patch) => match applied(line, schema, &patch) {
            Outcome::Result(result) if !has_two_members(&result) => Ok(()),
            outcome => Err(outcome.show()),
        },
        Outcome::Error { conflict: true, .. } if keeps(line) => Ok(()),
        outcome => Err(outcome.show()),
    }
}

/// The manifest adds a union, of which the recorded patch says nothing but its fields.
pub fn added_union(line: &Line, schema: &Schema) -> bool {
    let union = |document: &str| input(line, document).at(["spec", "strategy"]).cloned();
    let is_union = || {
        let field = line.ty(schema).below("spec").and_then(|spec| spec.field("strategy").cloned());
        field.is_some_and(|field| field.patch.strategy.retain_keys)
    };
    line.op == "two-way"
        && union("original").is_none()
        && union("modified").is_some_and(|union| union.as_object().is_some())
        && is_union()
}

/// The patch is the recorded one, and lists the fields of the union.
pub fn union_retained(line: &Line, schema: &Schema) -> Verdict {
    let Outcome::Result(patch) = run(line, schema) else { return Err(run(line, schema).show()) };
    let names = patch.at(["spec", "strategy", "$retainKeys"]).and_then(Value::as_array).cloned();
    let set = patch.at(["spec", "strategy"]).and_then(Value::as_object).into_iter().flatten();
    let set: Vec<Value> =
        set.filter(|(name, _)| !name.starts_with('$')).map(|(name, _)| Value::from(name.clone())).collect();
    if names.map(|names| names.to_vec()) != Some(set) {
        return Err(format!("no fields are listed: {patch}"));
    }
    leads_to_manifest(line, schema, &patch)
}
