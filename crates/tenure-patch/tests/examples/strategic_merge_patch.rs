//! The document that describes strategic merge patch as a whole.

use crate::{Shape, doc, kind, refused, results_in, try_apply};
use tenure_patch::merge;

const NGINX: &str = "spec: {containers: [{name: nginx, image: nginx-1.0}]}";
const BOTH: &str = "
spec:
  containers:
  - {name: nginx, image: nginx-1.0}
  - {name: log-tailer, image: log-tailer-1.0}";

#[test]
fn background() {
    let patch = "spec: {containers: [{name: log-tailer, image: log-tailer-1.0}]}";
    let result = try_apply(kind("v1", "Pod"), NGINX, patch).unwrap();
    let containers = result.at(["spec", "containers"]).unwrap().as_array().unwrap();
    assert_eq!(containers.len(), 2);
    assert_eq!(merge::apply(&doc(NGINX), &doc(patch)), doc(patch), "a merge patch replaces the list");
}

#[test]
fn replace_directive_map() {
    results_in(
        kind("v1", "Pod"),
        "spec: {hostNetwork: true, containers: [{name: log-tailer, image: log-tailer-1.0}]}",
        "spec: {$patch: replace, containers: [{name: nginx, image: nginx-1.0}]}",
        NGINX,
    );
}

#[test]
fn replace_directive_list_of_maps() {
    results_in(
        kind("v1", "Pod"),
        BOTH,
        "
        spec:
          containers:
          - {name: nginx, image: nginx-1.0}
          - $patch: replace",
        NGINX,
    );
}

#[test]
fn delete_directive_list_of_maps() {
    let patch = "
        spec:
          containers:
          - {name: nginx, image: nginx-1.0}
          - {$patch: delete, name: log-tailer}";
    results_in(kind("v1", "Pod"), BOTH, patch, NGINX);
    let twice =
        "spec: {containers: [{name: log-tailer}, {name: nginx, image: nginx-1.0}, {name: log-tailer}]}";
    results_in(kind("v1", "Pod"), twice, patch, NGINX);
}

#[test]
fn delete_directive_maps() {
    let live = "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}";
    let expected = "spec: {strategy: {type: RollingUpdate}}";
    for patch in ["{$patch: delete}", "null"] {
        let patch = format!("spec: {{strategy: {{rollingUpdate: {patch}}}}}");
        results_in(kind("apps/v1", "Deployment"), live, &patch, expected);
    }
}

#[test]
fn merge_directive() {
    // It is a strategy of types; a patch that contains it is refused with this reason.
    refused(kind("v1", "Pod"), NGINX, "spec: {$patch: merge, hostNetwork: true}", "remove it");
}

#[test]
fn delete_from_primitive_list_directive() {
    results_in(
        kind("v1", "ConfigMap"),
        "metadata: {finalizers: [a, b, c]}",
        "metadata: {$deleteFromPrimitiveList/finalizers: [b, c]}",
        "metadata: {finalizers: [a]}",
    );
    // A duplicate item is deleted completely.
    results_in(
        kind("v1", "ConfigMap"),
        "metadata: {finalizers: [a, b, c, b]}",
        "metadata: {$deleteFromPrimitiveList/finalizers: [b]}",
        "metadata: {finalizers: [a, c]}",
    );
}

#[test]
fn set_element_order_directive_list_of_primitives() {
    results_in(
        kind("v1", "ConfigMap"),
        "metadata: {finalizers: [a, b, c]}",
        "metadata: {$setElementOrder/finalizers: [b, c, a]}",
        "metadata: {finalizers: [b, c, a]}",
    );
}

#[test]
fn set_element_order_directive_list_of_maps() {
    results_in(
        kind("v1", "Pod"),
        "spec: {containers: [{name: a, image: x}, {name: b, image: y}, {name: c, image: z}]}",
        "spec: {$setElementOrder/containers: [{name: b}, {name: c}, {name: a}]}",
        "spec: {containers: [{name: b, image: y}, {name: c, image: z}, {name: a, image: x}]}",
    );
}

#[test]
fn retain_keys_directive_map() {
    let shape = Shape::new(
        "
        type: object
        properties:
          union:
            type: object
            x-kubernetes-patch-strategy: retainKeys
            properties:
              foo: {type: string}
              other: {type: string}
              another: {type: string}
              bar: {type: string}",
    );
    results_in(
        shape.ty(),
        "union: {foo: a, other: b}",
        "union: {$retainKeys: [another, bar], another: d, bar: c}",
        "union: {another: d, bar: c}",
    );
}

#[test]
fn client_version_skew() {
    let pod = kind("v1", "Pod");
    let newer = "spec: {$newer: [1], containers: [{name: nginx, image: nginx-2.0, $newer: {a: b}}]}";
    let older = "spec: {containers: [{name: nginx, image: nginx-2.0}]}";
    assert_eq!(try_apply(pod, NGINX, newer).unwrap(), try_apply(pod, NGINX, older).unwrap());
}

#[test]
fn changing_patch_format() {
    // A patch without a newer directive works as before the directive existed.
    results_in(
        kind("apps/v1", "Deployment"),
        "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}",
        "spec: {strategy: {type: Recreate}}",
        "spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}",
    );
}
