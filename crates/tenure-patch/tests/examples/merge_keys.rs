//! The document about merge keys that clients send.

use crate::{Shape, doc, kind, refused, results_in, try_apply, two_way};
use tenure_patch::strategic::{self, Keys};
use tenure_value::Value;

/// A list whose merge key is `foo`, with more keys recommended.
fn list(recommended: &str) -> Shape {
    Shape::new(&format!(
        "
        type: object
        properties:
          list:
            type: array
            items: {{type: object, properties: {{foo: {{type: string}}, bar: {{type: string}}, baz: {{type: string}}, other: {{type: string}}}}}}
            x-kubernetes-patch-strategy: merge
            x-kubernetes-patch-merge-key: foo
            x-kubernetes-recommended-patch-merge-key: {recommended}"
    ))
}

fn taints() -> Shape {
    Shape::new(
        "
        type: object
        properties:
          taints:
            type: array
            items: {type: object, properties: {key: {type: string}, value: {type: string}, effect: {type: string}}}
            x-kubernetes-recommended-patch-merge-key: key",
    )
}

#[test]
fn clients_send_the_directive() {
    results_in(
        list("foo,bar").ty(),
        "list: [{foo: a, bar: x}, {foo: a, bar: y}]",
        "list: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: val}]",
        "list: [{foo: a, bar: x, other: val}, {foo: a, bar: y}]",
    );
}

#[test]
fn the_server_respects_the_directive() {
    let shape = list("foo,bar");
    let live = "list: [{foo: a, bar: y}]";
    results_in(shape.ty(), live, "list: [{foo: a, bar: x}]", "list: [{foo: a, bar: x}]");
    let result = try_apply(shape.ty(), live, "list: [{$patchMergeKey: [foo, bar], foo: a, bar: x}]").unwrap();
    assert_eq!(result.get("list").and_then(Value::as_array).unwrap().len(), 2);
}

#[test]
fn relation_with_set_element_order() {
    let shape = list("foo,bar");
    results_in(
        shape.ty(),
        "list: [{foo: a, bar: x}, {foo: a, bar: y}]",
        "
        $setElementOrder/list: [{foo: a, bar: y}, {foo: a, bar: x}]
        list: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: val}]",
        "list: [{foo: a, bar: y}, {foo: a, bar: x, other: val}]",
    );
    let twice = "
        list:
        - {$patchMergeKey: [foo, bar], foo: a, bar: x, other: '1'}
        - {$patchMergeKey: [foo, bar], foo: a, bar: x, other: '2'}";
    refused(shape.ty(), "list: [{foo: a, bar: x}]", twice, "identifies two entries");
}

#[test]
fn when_the_directive_contains_items_that_are_not_in_the_patch() {
    let shape = list("foo,bar");
    let live = "list: [{foo: a}, {foo: a, bar: x}]";
    results_in(
        shape.ty(),
        live,
        "list: [{$patchMergeKey: [foo, bar], foo: a, other: val}]",
        "list: [{foo: a, other: val}, {foo: a, bar: x}]",
    );
    results_in(
        shape.ty(),
        live,
        "list: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: val}]",
        "list: [{foo: a}, {foo: a, bar: x, other: val}]",
    );
}

#[test]
fn when_no_directive_is_in_the_patch() {
    results_in(
        list("foo,bar").ty(),
        "list: [{foo: a, bar: y}]",
        "list: [{foo: a, bar: x, other: val}]",
        "list: [{foo: a, bar: x, other: val}]",
    );
}

#[test]
fn when_the_directive_only_has_part_of_all_merge_keys() {
    let shape = list("foo,bar");
    let live = "list: [{foo: a, other: '0'}, {foo: b, bar: x, other: '1'}, {foo: b, bar: x, other: '2'}]";
    results_in(
        shape.ty(),
        live,
        "list: [{$patchMergeKey: [foo], foo: a, other: '3'}]",
        "list: [{foo: a, other: '3'}, {foo: b, bar: x, other: '1'}, {foo: b, bar: x, other: '2'}]",
    );
    refused(
        shape.ty(),
        live,
        "list: [{$patchMergeKey: [foo], foo: b, other: '3'}]",
        "matches 2 live entries",
    );
}

#[test]
fn when_the_directive_has_all_of_the_merge_keys() {
    results_in(
        list("foo,bar,baz").ty(),
        "list: [{foo: a, bar: x, baz: '1'}, {foo: a, bar: x, baz: '2'}]",
        "list: [{$patchMergeKey: [foo, bar, baz], foo: a, bar: x, baz: '2', other: o}]",
        "list: [{foo: a, bar: x, baz: '1'}, {foo: a, bar: x, baz: '2', other: o}]",
    );
}

#[test]
fn when_the_user_adds_or_deletes_a_field_which_is_a_merge_key() {
    let shape = list("foo,bar,baz");
    let live = "list: [{foo: a, bar: x}, {foo: a, bar: y}]";
    results_in(
        shape.ty(),
        live,
        "list: [{$patchMergeKey: [foo, bar], foo: a, bar: x, baz: m}]",
        "list: [{foo: a, bar: x, baz: m}, {foo: a, bar: y}]",
    );
    // The document's second example is ambiguous; it applies if one entry has the key.
    let removal = "list: [{$patchMergeKey: [foo, bar], foo: a, bar: null}]";
    refused(shape.ty(), live, removal, "matches 2 live entries");
    results_in(
        shape.ty(),
        "list: [{foo: a, bar: x}, {foo: b, bar: y}]",
        removal,
        "list: [{foo: a}, {foo: b, bar: y}]",
    );
}

#[test]
fn when_the_user_changes_a_field_which_is_a_merge_key() {
    let shape = list("foo,bar");
    let live = "list: [{foo: a, bar: x, other: val}]";
    results_in(
        shape.ty(),
        live,
        "
        list:
        - {$patchMergeKey: [foo, bar], $patch: delete, foo: a, bar: x}
        - {$patchMergeKey: [foo, bar], foo: a, bar: y}",
        "list: [{foo: a, bar: y}]",
    );
    results_in(
        shape.ty(),
        live,
        "list: [{$patchMergeKey: [foo], foo: a, bar: y}]",
        "list: [{foo: a, bar: y, other: val}]",
    );
}

#[test]
fn move_merge_key_to_the_correct_level_without_the_directive() {
    results_in(
        taints().ty(),
        "taints: [{key: a, effect: NoSchedule}, {key: b}]",
        "taints: [{key: a, value: v}]",
        "taints: [{key: a, value: v}]",
    );
}

#[test]
fn move_merge_key_to_the_correct_level_with_the_directive() {
    let patch = "taints: [{$patchMergeKey: [key], key: a, value: v}]";
    results_in(
        taints().ty(),
        "taints: [{key: a, effect: NoSchedule}, {key: b}]",
        patch,
        "taints: [{key: a, effect: NoSchedule, value: v}, {key: b}]",
    );
    let node = kind("v1", "Node");
    results_in(
        node,
        "spec: {taints: [{key: a, effect: NoSchedule}]}",
        "spec: {taints: [{$patchMergeKey: [key], key: a, value: v}]}",
        "spec: {taints: [{key: a, effect: NoSchedule, value: v}]}",
    );
}

#[test]
fn strategic_merge_patch_pkg_uses_all_recommended_keys() {
    let service = kind("v1", "Service");
    let (original, modified) = (
        "spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}",
        "spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, targetPort: 5353}]}",
    );
    let patch = two_way(service, original, modified, Keys::Recommended);
    let expected = "
        spec:
          $setElementOrder/ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]
          ports: [{$patchMergeKey: [port, protocol], port: 53, protocol: UDP, targetPort: 5353}]";
    assert_eq!(patch, doc(expected));
    let result = strategic::apply(
        &doc(original),
        &patch,
        service,
        &strategic::ApplyOptions::default().profile(crate::IMPROVED),
    )
    .unwrap();
    assert_eq!(result, doc(modified));
}

#[test]
fn version_skew_and_backward_compatibility() {
    let service = kind("v1", "Service");
    let newer = "spec: {ports: [{$patchMergeKey: [port, protocol], port: 80, protocol: TCP, nodePort: 1}]}";
    let older = "spec: {ports: [{port: 80, protocol: TCP, nodePort: 1}]}";
    let live = "spec: {ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}";
    assert_eq!(try_apply(service, live, newer).unwrap(), try_apply(service, live, older).unwrap());
}
