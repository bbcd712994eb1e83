//! Validation of built-in kinds: a valid object of each kind, changes that make it invalid with the path of
//! the error, and changes that do not. The cases are in `tests/data/rules.json`.

use crate::{
    defaults::Recorded,
    facts::{items, text},
    validation::create,
};
use tenure_value::Value;

fn cases() -> Vec<Value> {
    let cases: Value = include_str!("../data/rules.json").parse().unwrap();
    cases.as_array().unwrap().items().to_vec()
}

fn changed(base: &Value, patch: &Value) -> Value {
    tenure_patch::merge::apply(base, patch)
}

/// Returns the paths of the errors of an object.
fn faults(object: &Value) -> Vec<String> {
    match create(object, &mut Recorded::of(object)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.path.to_string()).collect(),
    }
}

#[test]
fn invalid_objects_are_rejected_with_the_path_of_the_error() {
    let (mut failures, mut count) = (Vec::new(), 0);
    for case in cases() {
        let base = case.get("base").unwrap();
        assert_eq!(faults(base), Vec::<String>::new(), "{}", text(&case, "about"));
        for row in items(&case, "refused") {
            let [patch, place] = row.as_array().unwrap().items() else { panic!("{row}") };
            count += 1;
            let found = faults(&changed(base, patch));
            if !found.iter().any(|path| path == place.as_str().unwrap()) {
                failures.push(format!("{}: {patch}: {place} expected, {found:?}", text(&case, "about")));
            }
        }
    }
    assert!(count > 80, "only {count} changes were tried");
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn valid_edge_cases_are_accepted() {
    let mut failures = Vec::new();
    for case in cases() {
        for patch in items(&case, "taken") {
            let found = faults(&changed(case.get("base").unwrap(), patch));
            if !found.is_empty() {
                failures.push(format!("{}: {patch}: {found:?}", text(&case, "about")));
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}
