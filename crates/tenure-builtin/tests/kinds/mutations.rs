//! Examples with one field changed are accepted and refused as kube-apiserver did.

use crate::{
    defaults::{Recorded, named},
    facts::{self, items, text},
    recordings,
    validation::create,
};
use tenure_builtin::{CreateContext, Kinds};
use tenure_meta::{Endpoint, FieldError, Previous};
use tenure_value::Value;

/// Returns a value with the one at a path replaced, or deleted.
fn changed(value: &Value, path: &[Value], to: Option<&Value>) -> Value {
    let Some((first, rest)) = path.split_first() else { return to.cloned().unwrap_or_default() };
    match (value, first) {
        (Value::Object(fields), Value::String(name)) => match (fields.get(name), to) {
            (_, None) if rest.is_empty() => fields.without(name).into(),
            (below, _) => fields.with(name.clone(), changed(below.unwrap_or(&Value::Null), rest, to)).into(),
        },
        (Value::Array(list), Value::Int(at)) => {
            let at = usize::try_from(*at).unwrap();
            let keep = |place: usize| !(place == at && rest.is_empty() && to.is_none());
            Value::array(
                list.iter()
                    .enumerate()
                    .filter(|(place, _)| keep(*place))
                    .map(|(place, item)| if place == at { changed(item, rest, to) } else { item.clone() }),
            )
        }
        (value, step) => panic!("{step} of {value}"),
    }
}

#[test]
fn changed_examples_are_accepted_and_refused_as_recorded() {
    let (examples, mutations) = (facts::read("defaults-examples.json"), facts::read("mutations.json"));
    let examples = items(&examples, "examples");
    let (mut failures, rows) = (Vec::new(), items(&mutations, "rows"));
    for (number, row) in rows.iter().enumerate() {
        let example = example_of(examples, row);
        let output = example.get("output").unwrap();
        let to = replacement(row);
        let input = changed(&named(example.get("input").unwrap(), output), items(row, "path"), to.as_ref());
        let created = create(&input, &mut Recorded::of(output));
        let wanted = row.get("accepted") == Some(&Value::Bool(true));
        if created.is_ok() != wanted {
            let errors = created.err().unwrap_or_default();
            failures.push(format!("{number}: {} {row}: {errors:?}", text(example, "name")));
        }
    }
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), rows.len(), failures.join("\n"));
}

/// Returns the value that a row sets; `None` if it deletes the field.
fn replacement(row: &Value) -> Option<Value> {
    match row.get("to") {
        Some(Value::String(long)) if long == "x*300" => Some(Value::from("x".repeat(300))),
        to => to.cloned(),
    }
}

/// Returns the errors of an update of an object.
pub fn update(
    live: &Value,
    endpoint: Endpoint<'_>,
    new: &Value,
    around: &mut Recorded<'_>,
) -> Result<(), Vec<FieldError>> {
    let kinds = Kinds::at(recordings::version());
    let resource = kinds.registry().of_kind(text(live, "apiVersion"), text(live, "kind")).unwrap();
    let completed = match kinds.complete(resource, new, around.now()) {
        Ok(completed) => completed.value,
        Err(error) => return Err(vec![FieldError::invalid(&error.path, &Value::Null, error.message)]),
    };
    let updated = kinds.prepare_update(resource, endpoint, live, &completed, around);
    match kinds.validate_update(resource, endpoint, live, &updated) {
        errors if errors.is_empty() => Ok(()),
        errors => Err(errors),
    }
}

#[test]
fn changed_objects_are_accepted_and_refused_as_recorded() {
    let (examples, updates) = (facts::read("defaults-examples.json"), facts::read("updates.json"));
    let (examples, rows) = (items(&examples, "examples"), items(&updates, "rows"));
    let mut failures = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let example = example_of(examples, row);
        let output = example.get("output").unwrap();
        let mut around = Recorded::of(output);
        let live = create(&named(example.get("input").unwrap(), output), &mut around).unwrap();
        let new = changed(&live, items(row, "path"), replacement(row).as_ref());
        let result = update(&live, Endpoint::Main, &new, &mut around);
        if result.is_ok() != (row.get("accepted") == Some(&Value::Bool(true))) {
            failures.push(format!("{number}: {} {row}: {result:?}", text(example, "name")));
        }
    }
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn changed_statuses_are_accepted_and_refused_as_recorded() {
    let (examples, statuses) = (facts::read("defaults-examples.json"), facts::read("statuses.json"));
    let (examples, kinds) = (items(&examples, "examples"), items(&statuses, "kinds"));
    let (mut failures, mut total) = (Vec::new(), 0);
    for kind in kinds {
        let example = example_of(examples, kind);
        let output = example.get("output").unwrap();
        let mut around = Recorded::of(output);
        let live = create(&named(example.get("input").unwrap(), output), &mut around).unwrap();
        let status = kind.get("status").unwrap();
        for row in items(kind, "rows") {
            let status = changed(status, items(row, "path"), replacement(row).as_ref());
            let new = live.as_object().unwrap().with("status", status).into();
            let result = update(&live, Endpoint::Status, &new, &mut around);
            total += 1;
            if result.is_ok() != (row.get("accepted") == Some(&Value::Bool(true))) {
                failures.push(format!("{} {row}: {result:?}", text(example, "name")));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {total}\n{}", failures.len(), failures.join("\n"));
}

/// Returns the example that a row is about.
pub fn example_of<'v>(examples: &'v [Value], row: &Value) -> &'v Value {
    &examples[usize::try_from(row.get("example").and_then(Value::as_i64).unwrap()).unwrap()]
}

/// Whether a value has the parent of what a path leads to.
fn reaches(value: &Value, path: &[Value]) -> bool {
    match (value, path) {
        (Value::Object(_), [_]) | (_, []) => true,
        (Value::Array(items), [Value::Int(at), rest @ ..]) => {
            usize::try_from(*at).ok().and_then(|at| items.get(at)).is_some_and(|item| reaches(item, rest))
        }
        (Value::Object(fields), [Value::String(name), rest @ ..]) => {
            fields.get(name).is_some_and(|value| reaches(value, rest))
        }
        _ => false,
    }
}

#[test]
fn what_is_as_in_the_live_object_is_not_looked_at_again() {
    let examples = facts::read("defaults-examples.json");
    let examples = items(&examples, "examples");
    let rows =
        ["mutations.json", "updates.json"].map(|file| items(&facts::read(file), "rows").to_vec()).concat();
    let (kinds, mut failures, mut compared) = (Kinds::at(recordings::version()), Vec::new(), 0);
    for (number, row) in rows.iter().enumerate() {
        let example = example_of(examples, row);
        let output = example.get("output").unwrap();
        let around = &mut Recorded::of(output);
        let Ok(live) = create(&named(example.get("input").unwrap(), output), around) else { continue };
        let resource = kinds.registry().of_kind(text(&live, "apiVersion"), text(&live, "kind")).unwrap();
        if !reaches(&live, items(row, "path")) {
            continue;
        }
        let given = changed(&live, items(row, "path"), replacement(row).as_ref());
        let complete = |before| {
            let completed = kinds.complete_after(resource, &given, before, around.now());
            completed.map(|completed| completed.value).map_err(|error| error.message)
        };
        let (whole, part) = (complete(Previous::UNKNOWN), complete(Previous::of(&live)));
        if whole != part {
            failures.push(format!("{number}: {row}: {whole:?} is {part:?}"));
        }
        let Ok(new) = part else { continue };
        let validate =
            |before| kinds.validate_update_after(resource, Endpoint::Main, &live, &new, before, around.now());
        let (whole, part) = (validate(Previous::UNKNOWN), validate(Previous::of(&live)));
        if whole != part {
            failures.push(format!("{number}: {row}: {whole:?} are {part:?}"));
        }
        compared += 1;
    }
    assert!(failures.is_empty(), "{} of {compared}\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 1_000, "{compared}");
}
