//! The commands agree with the server on every recorded conversation: before each apply, `plan` predicts its result, and
//! `blame` shows the owners in `managedFields`.

mod agreement;
pub mod http;
mod replay;
mod step;

use crate::harness::{TestCluster, offline};
use agreement::Plans;
use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};
use tempfile::TempDir;
use tenure_value::{Limits, Value, json};

/// Whether a scenario has requests of other users than the administrator, as whom plans are made.
fn has_other_users(scenario: &Value) -> bool {
    let steps =
        scenario.get("steps").and_then(Value::as_array).map(|steps| steps.items()).unwrap_or_default();
    steps.iter().any(|step| ["as", "token", "anonymous"].iter().any(|name| step.get(name).is_some()))
}

/// Returns all recorded scenarios of the administrator.
fn scenarios() -> Vec<Value> {
    let directory: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("recordings")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let text = std::fs::read(file).expect("a recording");
        let scenarios = json::parse(&text, &Limits::TRUSTED).expect("JSON");
        scenarios.as_array().map(|all| all.to_vec()).expect("a list")
    };
    files.iter().flat_map(read).filter(|scenario| !has_other_users(scenario)).collect()
}

#[test]
fn every_plan_is_what_the_apply_that_follows_does() {
    // Owners that do not exist stay: the conversations were recorded without controllers, and nothing may change between a plan and its apply.
    let cluster = TestCluster::start_with(&["--controllers", "*,-garbage-collector-controller"]);
    let all = scenarios();
    let (next, total) = (Mutex::new(all.iter().enumerate()), Mutex::new(Plans::default()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((number, scenario)) = next.lock().expect("a lock").next() else { return };
                    let plans = replay::scenario(&cluster, scenario, &format!("s{number}"));
                    total.lock().expect("a lock").add(plans);
                }
            });
        }
    });
    let total = total.into_inner().expect("a lock");
    assert!(total.differences.is_empty(), "{}", total.differences.join("\n"));
    println!(
        "{} plans: {} applied, {} contested, {} refused",
        total.count(),
        total.applied,
        total.contested,
        total.refused
    );
    assert!(total.applied > 250 && total.contested > 40 && total.refused > 50, "too few were compared");
}

/// Returns a response with valid times; recordings have TIME for any.
fn timed(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            Value::object(object.iter().map(|(name, value)| match (name.as_str(), value) {
                ("time", Value::String(_)) => (name.clone(), Value::from("2027-01-01T00:00:00Z")),
                _ => (name.clone(), timed(value)),
            }))
        }
        Value::Array(items) => Value::array(items.iter().map(timed)),
        other => other.clone(),
    }
}

#[test]
fn blame_shows_exactly_the_owners_of_every_recorded_object() {
    let directory = TempDir::new().expect("a directory");
    let mut compared = 0;
    for (number, scenario) in scenarios().iter().enumerate() {
        let steps = scenario.get("steps").and_then(Value::as_array).expect("steps");
        let objects: Vec<Value> =
            steps.iter().filter_map(agreement::managed).map(|object| timed(&object)).collect();
        if objects.is_empty() {
            continue;
        }
        let list = Value::object([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("List")),
            ("items", Value::array(objects.iter().cloned())),
        ]);
        let file = directory.path().join(format!("{number}.json"));
        std::fs::write(&file, json::to_vec(&list)).expect("a file");
        let file = file.to_string_lossy().into_owned();
        let mut line = vec!["blame".to_owned(), "-o".into(), "json".into(), "-f".into(), file];
        for (at, definition) in agreement::definitions(steps).iter().enumerate() {
            let file = directory.path().join(format!("{number}-{at}.json"));
            std::fs::write(&file, json::to_vec(definition)).expect("a file");
            line.extend(["--schema".into(), file.to_string_lossy().into_owned()]);
        }
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let output = offline(&line, "").exits_with(0).json();
        let sheets = match &output {
            Value::Array(sheets) => sheets.to_vec(),
            one => vec![one.clone()],
        };
        assert_eq!(sheets.len(), objects.len());
        for (sheet, object) in sheets.iter().zip(&objects) {
            agreement::same_owners(sheet, object);
            compared += 1;
        }
    }
    assert!(compared > 400, "only {compared} objects were compared");
}
