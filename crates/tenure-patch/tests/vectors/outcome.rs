//! The outcome of a line's inputs, and whether it is the recorded one.

use crate::line::Line;
use tenure_patch::strategic::Improvement;
use tenure_patch::{ErrorClass, PatchError, strategic};
use tenure_schema::Schema;
use tenure_value::{Limits, Value};

pub type Verdict = Result<(), String>;

/// The result of an operation: a document, or an error and whether it is a conflict.
pub enum Outcome {
    Result(Value),
    Error { conflict: bool, message: String },
}

impl Outcome {
    fn of(result: Result<Value, PatchError>) -> Outcome {
        match result {
            Ok(value) => Outcome::Result(read_back(&value)),
            Err(error) => {
                Outcome::Error { conflict: error.class() == ErrorClass::Conflict, message: error.to_string() }
            }
        }
    }

    pub fn show(&self) -> String {
        match self {
            Outcome::Result(value) => value.to_string(),
            Outcome::Error { message, .. } => format!("error: {message}"),
        }
    }

    pub fn value(&self) -> Option<&Value> {
        match self {
            Outcome::Result(value) => Some(value),
            Outcome::Error { .. } => None,
        }
    }
}

/// Writes and reads a document, as over a connection: an integral float becomes an integer.
pub fn read_back(value: &Value) -> Value {
    value.to_string().parse().unwrap()
}

fn apply_options(line: &Line) -> strategic::ApplyOptions {
    strategic::ApplyOptions::default().profile(line.profile)
}

/// Runs the line's operation.
pub fn run(line: &Line, schema: &Schema) -> Outcome {
    let ty = line.ty(schema);
    let unreadable = || Outcome::Error { conflict: false, message: "not JSON".into() };
    let (Some(original), Some(patch)) = (line.input("original"), line.input("patch")) else {
        return unreadable();
    };
    let modified = line.input("modified").unwrap_or_default();
    let current = line.input("current").unwrap_or_default();
    let options = strategic::DiffOptions::default().profile(line.profile);
    let live_changes = match line.flag("overwrite") {
        true => strategic::LiveChanges::Overwrite,
        false => strategic::LiveChanges::Keep,
    };
    let tree = match line.op.as_str() {
        "two-way" => strategic::two_way(&original, &modified, ty, &options),
        "three-way" => strategic::three_way(&original, &modified, &current, ty, live_changes, &options),
        "apply" => strategic::apply(&original, &patch, ty, &apply_options(line)),
        op => panic!("{}: unknown operation {op}", line.id),
    };
    if [&original, &modified, &current, &patch].into_iter().all(|input| read_back(input) == *input) {
        let limits = Limits::default();
        let [original, modified, current, patch] =
            [&original, &modified, &current, &patch].map(|input| input.to_string().into_bytes());
        let text = match line.op.as_str() {
            "two-way" => strategic::text::two_way(&original, &modified, ty, &options, &limits),
            "three-way" => {
                let inputs = (&original, &modified, &current);
                strategic::text::three_way(inputs.0, inputs.1, inputs.2, ty, live_changes, &options, &limits)
            }
            _ => strategic::text::apply(&original, &patch, ty, &apply_options(line), &limits),
        };
        let written = tree.clone().map(|value| value.to_string().into_bytes());
        assert_eq!(text, written, "{}: the result from text to text differs", line.id);
    }
    Outcome::of(tree)
}

/// Applies a calculated patch to its target.
pub fn applied(line: &Line, schema: &Schema, patch: &Value) -> Outcome {
    let target = if line.op == "three-way" { "current" } else { "original" };
    let live = line.input(target).unwrap_or_default();
    Outcome::of(strategic::apply(&live, patch, line.ty(schema), &apply_options(line)))
}

/// Compares with the recorded outcome.
pub fn judge(line: &Line, schema: &Schema) -> Verdict {
    if line.op == "round-trip" {
        return round_trip(line, schema);
    }
    let outcome = run(line, schema);
    let mut difference = String::new();
    for recorded in line.outcomes() {
        match compare(line, schema, &outcome, &recorded) {
            Ok(()) => return documented(line, schema),
            Err(reason) => difference = reason,
        }
    }
    Err(difference)
}

fn compare(line: &Line, schema: &Schema, outcome: &Outcome, recorded: &Value) -> Verdict {
    match (outcome, recorded.get("result"), recorded.get("error")) {
        (Outcome::Error { conflict, message }, None, Some(_)) => {
            let expected = recorded.get("conflict").and_then(Value::as_bool).unwrap_or(false);
            if *conflict == expected { Ok(()) } else { Err(format!("conflict: {conflict}, {message}")) }
        }
        (Outcome::Result(value), Some(expected), _) => {
            if !same(line, value, expected) {
                return Err(format!("\n   got      {value}\n   expected {expected}"));
            }
            match recorded.get("applied") {
                None => applied_error(line, schema, value, recorded),
                Some(expected) => match applied(line, schema, value).value() {
                    Some(result) if same(line, result, expected) => Ok(()),
                    _ => Err("the patch gives another result when applied".into()),
                },
            }
        }
        _ => Err(format!("\n   got      {}\n   recorded {}", outcome.show(), shown(recorded))),
    }
}

/// Compares with a recorded failure to apply the calculated patch. In the `tenure` behaviour it may be applicable.
fn applied_error(line: &Line, schema: &Schema, patch: &Value, recorded: &Value) -> Verdict {
    let failed = recorded.get("applied_error").is_some() || recorded.get("applied_crash").is_some();
    match applied(line, schema, patch) {
        Outcome::Result(result) if failed && !line.profile.has(Improvement::DropDirectives) => {
            Err(format!("{patch} applies and gives {result}"))
        }
        _ => Ok(()),
    }
}

fn shown(recorded: &Value) -> String {
    match (recorded.get("result"), recorded.get("error")) {
        (Some(result), _) => result.to_string(),
        (_, Some(error)) => format!("error {error}"),
        _ => String::new(),
    }
}

/// Checks the placement that the order design's examples have.
fn documented(line: &Line, schema: &Schema) -> Verdict {
    let Some(expected) = line.raw.get("documented_order") else { return Ok(()) };
    let options = apply_options(line).live_only(strategic::LiveOnly::InFront);
    let (original, patch) = (line.input("original").unwrap(), line.input("patch").unwrap());
    let result =
        strategic::apply(&original, &patch, line.ty(schema), &options).map_err(|error| error.to_string())?;
    let mut lists = Vec::new();
    collect_lists(&result, &mut lists);
    if lists.contains(expected) {
        Ok(())
    } else {
        Err(format!("documented order {expected} is not in {lists:?}"))
    }
}

/// Collects the lists of a document, entries by name.
fn collect_lists(value: &Value, lists: &mut Vec<Value>) {
    match value {
        Value::Array(items) => {
            lists.push(
                items
                    .iter()
                    .map(|item| item.get("name").unwrap_or(item).clone())
                    .collect::<tenure_value::Array>()
                    .into(),
            );
            items.iter().for_each(|item| collect_lists(item, lists));
        }
        Value::Object(fields) => fields.iter().for_each(|(_, field)| collect_lists(field, lists)),
        _ => {}
    }
}

/// Compares two documents; the order of lists is ignored if the line requires it.
fn same(line: &Line, value: &Value, expected: &Value) -> bool {
    if line.flag("unordered") { sorted(value) == sorted(expected) } else { value == expected }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort();
            Value::array(items)
        }
        Value::Object(fields) => {
            Value::object(fields.iter().map(|(name, field)| (name.clone(), sorted(field))))
        }
        scalar => scalar.clone(),
    }
}

/// Calculates a patch with the recommended keys: each named list has them, and the patch leads to the modified document.
fn round_trip(line: &Line, schema: &Schema) -> Verdict {
    let ty = line.ty(schema);
    let (original, modified) = (line.input("original").unwrap(), line.input("modified").unwrap());
    let options = strategic::DiffOptions::default().profile(line.profile).keys(strategic::Keys::Recommended);
    let patch = strategic::two_way(&original, &modified, ty, &options).map_err(|error| error.to_string())?;
    for (list, keys) in line.raw.get("expect_merge_keys").and_then(Value::as_object).unwrap() {
        let entries = patch.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        if entries.iter().any(|entry| entry.get("$patchMergeKey") != Some(keys)) {
            return Err(format!("{list} does not carry {keys}: {patch}"));
        }
    }
    let result =
        strategic::apply(&original, &patch, ty, &apply_options(line)).map_err(|error| error.to_string())?;
    if same(line, &result, &modified) { Ok(()) } else { Err(format!("{patch} gives {result}")) }
}
