//! Objects of kinds with two versions round-trip through the other version.

use crate::{
    facts::{self, items, text},
    recordings,
};
use tenure_builtin::Kinds;
use tenure_value::Value;

#[test]
fn objects_round_trip_through_the_other_version() {
    let kinds = Kinds::at(recordings::version());
    let facts = facts::read("defaults-examples.json");
    let mut count = 0;
    for example in items(&facts, "examples") {
        let text_of = example.get("output").unwrap().to_string();
        let output: &Value = &text_of.replace("\\u003ctime\\u003e", "2024-01-01T00:00:00Z").parse().unwrap();
        let here = kinds.registry().of_kind(text(output, "apiVersion"), text(output, "kind")).unwrap();
        for there in kinds.registry().forms_of(here).filter(|form| form.api_version != here.api_version) {
            let converted = kinds.convert(output, here, there).unwrap();
            assert_eq!(text(&converted, "apiVersion"), there.api_version);
            let complete = kinds.complete(there, &converted, Default::default()).unwrap();
            assert_eq!(complete.strict_errors, Vec::<String>::new(), "{}", text(example, "name"));
            let back = kinds.convert(&converted, there, here).unwrap();
            let ordered = |value: &Value| match value.at(["spec", "metrics"]).and_then(Value::as_array) {
                Some(metrics) => {
                    let mut metrics = metrics.items().to_vec();
                    metrics.sort();
                    let spec = value.get("spec").and_then(Value::as_object).unwrap();
                    value
                        .as_object()
                        .unwrap()
                        .with("spec", spec.with("metrics", Value::array(metrics)))
                        .into()
                }
                None => value.clone(),
            };
            assert_eq!(ordered(&back), ordered(output), "{}", text(example, "name"));
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn different_kinds_are_not_converted() {
    let kind = |api_version, kind| {
        tenure_builtin::registry_at(recordings::version()).of_kind(api_version, kind).unwrap()
    };
    let object = Value::object([("kind", Value::from("Pod"))]);
    let refused = Kinds::at(recordings::version()).convert(&object, kind("v1", "Pod"), kind("v1", "Service"));
    assert!(refused.unwrap_err().contains("not the same kind"));
}
