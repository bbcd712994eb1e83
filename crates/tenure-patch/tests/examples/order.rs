//! The document about the order of lists. Its examples put items that only the live list has in front.

use crate::{doc, kind, refused, results_in, results_in_documented_order, try_apply, two_way};
use tenure_patch::strategic::{ApplyOptions, Keys, LiveOnly};
use tenure_value::Value;

fn env(list: &str) -> String {
    format!("spec: {{containers: [{{name: c, {list}}}]}}")
}

/// Lists of names, as entries of `env` with a value each.
fn entries(names: &str, value: &str) -> String {
    let entries: Vec<String> =
        names.split_whitespace().map(|name| format!("{{name: {name}, value: {value}}}")).collect();
    format!("[{}]", entries.join(", "))
}

fn keys(names: &str) -> String {
    let keys: Vec<String> = names.split_whitespace().map(|name| format!("{{name: {name}}}")).collect();
    format!("[{}]", keys.join(", "))
}

/// Checks the order of a list of maps after a patch.
fn orders(live: &str, order: Option<&str>, patched: &str, expected: &str) {
    let live = env(&format!("env: {}", entries(live, "old")));
    let order = order.map_or(String::new(), |order| format!("$setElementOrder/env: {}, ", keys(order)));
    let patch = env(&format!("{order}env: {}", entries(patched, "new")));
    let options = ApplyOptions::default().profile(crate::IMPROVED).live_only(LiveOnly::InFront);
    let pod = kind("v1", "Pod");
    let result = tenure_patch::strategic::apply(&doc(&live), &doc(&patch), pod, &options).unwrap();
    let list = result.at(["spec"]).unwrap().get("containers").unwrap().as_array().unwrap();
    let names: Vec<&str> = list[0]
        .get("env")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|entry| entry.get("name").unwrap().as_str().unwrap())
        .collect();
    assert_eq!(names.join(" "), expected);
}

#[test]
fn proposed_change() {
    orders("", Some("A B C"), "A C", "A C");
    orders("S1 B S2", Some("A B C"), "A C", "S1 S2 A B C");
}

#[test]
fn proposed_change_rejections() {
    let pod = kind("v1", "Pod");
    let live = env("env: [{name: A}, {name: B}]");
    let order = "is missing from $setElementOrder";
    refused(
        pod,
        &live,
        &env("$setElementOrder/env: [{name: A}, {name: B}], env: [{name: B}, {name: A}]"),
        order,
    );
    refused(pod, &live, &env("$setElementOrder/env: [{name: A}], env: [{name: B}]"), order);
}

#[test]
fn an_order_ends_after_the_entry_that_replaces_the_list() {
    let pod = kind("v1", "Pod");
    let live = env("env: [{name: A}, {name: B}]");
    let first = env("$setElementOrder/env: [{name: A}], env: [{$patch: replace}, {name: A, value: new}]");
    results_in(pod, &live, &first, &env("env: [{name: A, value: new}]"));
    let last = env("$setElementOrder/env: [{name: A}], env: [{name: A, value: new}, {$patch: replace}]");
    refused(pod, &live, &last, "is missing from $setElementOrder");
    let inside =
        env("$setElementOrder/env: [{name: A}, {name: Z}], env: [{name: A, value: new}, {$patch: replace}]");
    results_in(pod, &live, &inside, &env("env: [{name: A, value: new}]"));
}

#[test]
fn a_deletion_from_a_missing_list_may_have_any_keys() {
    let pod = kind("v1", "Pod");
    let patch = env("$setElementOrder/env: [{name: A}], env: [{name: A, value: new}, {$patch: delete}]");
    results_in(pod, "spec: {containers: [{name: c}]}", &patch, &env("env: [{name: A, value: new}]"));
    refused(pod, &env("env: [{name: B}]"), &patch, "no value for merge key");
}

#[test]
fn when_set_element_order_is_not_present_and_patching_a_list() {
    orders("B C A", None, "A B D", "C A B D");
}

#[test]
fn set_element_order_may_contain_elements_not_present_in_the_patch_list() {
    orders("B A", Some("A B"), "", "A B");
}

#[test]
fn when_the_list_to_be_merged_contains_elements_not_found_in_set_element_order() {
    orders("C B D A E", Some("A B"), "A B", "C D E A B");
}

#[test]
fn when_set_element_order_contains_elements_not_found_in_the_list_to_be_merged() {
    orders("A B", Some("C A B"), "A B", "A B");
}

#[test]
fn version_skew_and_backwards_compatibility() {
    // An older client sends no order, an older server ignores it: the result has the same items.
    let pod = kind("v1", "Pod");
    let live = env("env: [{name: A}, {name: B}]");
    let sorted = |patch: &str| {
        let result = try_apply(pod, &live, &env(patch)).unwrap();
        let containers = result.at(["spec", "containers"]).and_then(Value::as_array).cloned().unwrap();
        let mut list = containers[0].get("env").and_then(Value::as_array).unwrap().to_vec();
        list.sort();
        list
    };
    let newer =
        sorted("$setElementOrder/env: [{name: C}, {name: A}], env: [{name: C}, {name: B, $patch: delete}]");
    assert_eq!(newer, sorted("env: [{name: C}, {name: B, $patch: delete}]"));
}

const ENV_ORIGINAL: &str =
    "env: [{name: ENV1, value: foo}, {name: ENV2, value: bar}, {name: ENV3, value: baz}]";
const ENV_MODIFIED: &str =
    "env: [{name: ENV1, value: foo}, {name: ENV2, value: bar}, {name: ENV6, value: new-env}]";
const ENV_LIVE: &str = "env: [{name: ENV2, value: bar}, {name: ENV5, value: server-added-2}, \
    {name: ENV1, value: foo}, {name: ENV3, value: baz}, {name: ENV4, value: server-added-1}]";

#[test]
fn example_list_of_maps() {
    let pod = kind("v1", "Pod");
    let patch = two_way(pod, &env(ENV_ORIGINAL), &env(ENV_MODIFIED), Keys::Merge);
    let expected = env("$setElementOrder/env: [{name: ENV1}, {name: ENV2}, {name: ENV6}], \
         env: [{name: ENV6, value: new-env}, {name: ENV3, $patch: delete}]");
    assert_eq!(patch.at(["spec"]).unwrap().get("containers"), doc(&expected).at(["spec", "containers"]));
    results_in_documented_order(
        pod,
        &env(ENV_LIVE),
        &expected,
        &env("env: [{name: ENV5, value: server-added-2}, {name: ENV4, value: server-added-1}, \
             {name: ENV1, value: foo}, {name: ENV2, value: bar}, {name: ENV6, value: new-env}]"),
    );
}

#[test]
fn example_list_of_primitives() {
    let map = kind("v1", "ConfigMap");
    let (original, modified) = ("metadata: {finalizers: [a, b, c]}", "metadata: {finalizers: [a, b, f]}");
    let patch = "
        metadata:
          $setElementOrder/finalizers: [a, b, f]
          $deleteFromPrimitiveList/finalizers: [c]
          finalizers: [f]";
    assert_eq!(two_way(map, original, modified, Keys::Merge), doc(patch));
    let live = "metadata: {finalizers: [b, e, a, c, d]}";
    results_in_documented_order(map, live, patch, "metadata: {finalizers: [e, d, a, b, f]}");
    results_in(map, live, patch, "metadata: {finalizers: [e, a, b, f, d]}");
}

#[test]
fn alternative_use_the_patch_list_to_set_order_reason_of_rejection() {
    // With a separate order list, a writer that knows only the position of an entry does not restore the entry.
    let pod = kind("v1", "Pod");
    let live = env("env: [{name: a, value: A}, {name: b, value: B}, {name: c, value: C}]");
    let order = "$setElementOrder/env: [{name: a}, {name: c}]";
    let first = try_apply(pod, &live, &env(&format!("{order}, env: [{{name: b, $patch: delete}}]"))).unwrap();
    let second =
        env("$setElementOrder/env: [{name: a}, {name: b}, {name: c}], env: [{name: a, value: changed}]");
    let result = tenure_patch::strategic::apply(&first, &doc(&second), pod, &Default::default()).unwrap();
    assert_eq!(result, doc(&env("env: [{name: a, value: changed}, {name: c, value: C}]")));
}
