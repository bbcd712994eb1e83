//! Definitions and objects as recorded from a kube-apiserver: what is refused and why, what an accepted object looks
//! like. `data/custom.json` holds definitions and cases; a case without an object is about the definition.

use tenure_server::custom::{Definition, check_create};
use tenure_value::Value;

fn recorded() -> Value {
    include_str!("data/custom.json").parse().expect("the recorded cases are a document")
}

fn items<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

/// The causes of a failure as reason, message and field.
fn causes(of: &[tenure_server::Cause]) -> Vec<Value> {
    let row = |cause: &tenure_server::Cause| {
        Value::object([
            ("reason", Value::from(cause.reason.clone())),
            ("message", Value::from(cause.message.as_str())),
            ("field", Value::from(cause.field.as_str())),
        ])
    };
    of.iter().map(row).collect()
}

#[test]
fn definitions_and_objects_fare_as_recorded() {
    let recorded = recorded();
    let definitions = items(&recorded, "definitions");
    let mut differences = Vec::new();
    for case in items(&recorded, "cases") {
        let name = case.get("name").and_then(Value::as_str).unwrap_or_default();
        let definition = &definitions[case.get("definition").and_then(Value::as_i64).unwrap() as usize];
        let wrong = causes(&check_create(definition));
        let Some(object) = case.get("object") else {
            if wrong != items(case, "causes") {
                differences.push(format!("{name}: {wrong:?} instead of {:?}", case.get("causes")));
            }
            continue;
        };
        assert_eq!(wrong, Vec::<Value>::new(), "{name}");
        let definition = Definition::read(definition).unwrap();
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap();
        let version = definition.version_of(api_version).unwrap();
        let decoded = match case.get("applied").is_some() {
            true => version.complete_applied(object),
            false => version.complete(object),
        };
        let decoded = decoded.unwrap();
        let wrong = causes(&version.validate_create(&decoded.value));
        let expected: Vec<Value> =
            items(case, "causes").iter().filter(|cause| !is_echo(cause)).cloned().collect();
        if wrong != expected {
            differences.push(format!("{name}: {wrong:?} instead of {expected:?}"));
        }
        if let Some(result) = case.get("result") {
            let fields = decoded.value.as_object().unwrap().without("metadata");
            let fields = if version.has_status { fields.without("status") } else { fields };
            if Value::from(fields.clone()) != *result {
                differences.push(format!("{name}: {fields:?} instead of {result:?}"));
            }
        }
        if case.get("complaints").is_some() {
            let complaints: Vec<Value> =
                decoded.complaints.iter().map(|text| Value::from(text.as_str())).collect();
            assert_eq!(complaints, items(case, "complaints"), "{name}");
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A wrong type is reported twice by a kube-apiserver, the second time without its place.
fn is_echo(cause: &Value) -> bool {
    let message = cause.get("message").and_then(Value::as_str).unwrap_or_default();
    cause.get("field") == Some(&"<nil>".into()) && message.contains("Checked value must be of type")
}
