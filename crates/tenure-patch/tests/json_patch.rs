//! JSON patch against the `json-patch` crate: on any document and patch both agree, or both refuse.

use proptest::prelude::*;
use tenure_patch::json::{self, Dialect, Options};
use tenure_value::Value;

/// Documents with few names, so that pointers often exist.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (0..4i32).prop_map(Into::into),
        "[ab~/]{0,2}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
            proptest::collection::btree_map("[ab~/]{1,2}", inner, 0..4)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn pointer() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof!["[ab]", Just("~0".into()), Just("~1".into()), "[0-3]", Just("-".into())],
        0..4,
    )
    .prop_map(|tokens| tokens.iter().map(|token| format!("/{token}")).collect())
}

fn operation() -> impl Strategy<Value = serde_json::Value> {
    (0..6usize, pointer(), pointer(), document()).prop_map(|(kind, path, from, value)| {
        let op = ["add", "remove", "replace", "move", "copy", "test"][kind];
        match op {
            "remove" => serde_json::json!({"op": op, "path": path}),
            "move" | "copy" => serde_json::json!({"op": op, "path": path, "from": from}),
            _ => serde_json::json!({"op": op, "path": path, "value": value}),
        }
    })
}

fn to_value(value: &serde_json::Value) -> Value {
    value.to_string().parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_agree(live in document(), operations in proptest::collection::vec(operation(), 0..4)) {
        let patch = serde_json::Value::Array(operations);
        let mut expected = live.clone();
        let parsed: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
        // A refused patch may leave their document half changed, so it is not compared.
        let accepted = json_patch::patch_unsafe(&mut expected, &parsed).is_ok();
        let options = Options::default().dialect(Dialect::Standard);
        match json::apply(&to_value(&live), &to_value(&patch), &options) {
            Ok(result) => prop_assert!(accepted && result == to_value(&expected), "{} {} {}", live, patch, result),
            Err(error) => prop_assert!(!accepted, "{} {} {}", live, patch, error),
        }
    }

    #[test]
    fn a_calculated_patch_is_accepted_by_both(original in document(), modified in document()) {
        let patch = json::diff(&to_value(&original), &to_value(&modified));
        let parsed: json_patch::Patch = serde_json::from_str(&patch.to_string()).unwrap();
        let mut expected = original.clone();
        json_patch::patch_unsafe(&mut expected, &parsed).unwrap();
        prop_assert_eq!(expected, modified);
    }
}
