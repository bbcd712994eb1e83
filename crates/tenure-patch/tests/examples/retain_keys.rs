//! The document about clearing fields that are not in the patch.

use crate::{Shape, kind, refused, results_in, two_way};
use tenure_patch::strategic::Keys;

fn union() -> Shape {
    Shape::new(
        "
        type: object
        properties:
          union:
            type: object
            x-kubernetes-patch-strategy: retainKeys
            properties: {foo: {type: string}, bar: {type: string}, baz: {type: string}}
          unionName:
            type: object
            x-kubernetes-patch-strategy: retainKeys
            properties:
              discriminatorName: {type: string}
              fooField: {type: object, properties: {fooSubfield: {type: string}}}
              barField: {type: object, properties: {barSubfield: {type: string}}}
          state:
            type: object
            x-kubernetes-patch-strategy: retainKeys
            properties:
              running: {type: object, properties: {startedAt: {type: string}}}
              terminated: {type: object, properties: {exitCode: {type: integer}, finishedAt: {type: string}}}",
    )
}

#[test]
fn when_the_patch_does_not_have_the_directive() {
    results_in(union().ty(), "union: {foo: a, bar: x}", "union: {foo: b}", "union: {foo: b, bar: x}");
}

#[test]
fn when_the_patch_has_fields_that_are_not_in_the_list() {
    refused(union().ty(), "union: {}", "union: {$retainKeys: [foo], foo: a, bar: x}", "sets \"bar\"");
}

#[test]
fn when_the_list_has_fields_that_are_not_in_the_patch() {
    results_in(
        union().ty(),
        "union: {bar: x, baz: y}",
        "union: {$retainKeys: [foo, bar], foo: a}",
        "union: {foo: a, bar: x}",
    );
}

#[test]
fn non_inlined_non_discriminated_union() {
    let (live, file) =
        ("state: {running: {startedAt: now}}", "state: {terminated: {exitCode: 0, finishedAt: now}}");
    let patch = "state: {$retainKeys: [terminated], terminated: {exitCode: 0, finishedAt: now}}";
    results_in(union().ty(), live, patch, file);
    let calculated = two_way(union().ty(), "state: {}", file, Keys::Merge);
    assert_eq!(calculated, crate::doc(patch));
}

#[test]
fn non_inlined_discriminated_union() {
    let (live, file) = (
        "unionName: {discriminatorName: foo, fooField: {fooSubfield: val1}}",
        "unionName: {discriminatorName: bar, barField: {barSubfield: val2}}",
    );
    results_in(
        union().ty(),
        live,
        "
        unionName:
          $retainKeys: [discriminatorName, barField]
          discriminatorName: bar
          barField: {barSubfield: val2}",
        file,
    );
    let strategy = kind("apps/v1", "Deployment");
    results_in(
        strategy,
        "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}",
        "spec: {strategy: {$retainKeys: [type], type: Recreate}}",
        "spec: {strategy: {type: Recreate}}",
    );
}

#[test]
fn inlined_union_with_patch_merge_key_only() {
    let (live, file) = (
        "spec: {volumes: [{name: foo, emptyDir: {medium: Memory}}]}",
        "spec: {volumes: [{name: foo, hostPath: {path: /x}}]}",
    );
    let pod = kind("v1", "Pod");
    results_in(
        pod,
        live,
        "spec: {volumes: [{$retainKeys: [name, hostPath], name: foo, hostPath: {path: /x}}]}",
        file,
    );
    let patch = two_way(pod, live, file, Keys::Merge);
    let expected = "
        spec:
          $setElementOrder/volumes: [{name: foo}]
          volumes:
          - $retainKeys: [hostPath, name]
            emptyDir: null
            hostPath: {path: /x}
            name: foo";
    assert_eq!(patch, crate::doc(expected));
}

#[test]
fn version_skew() {
    // A server that does not know the directive ignores it; the rest is the patch without it.
    let pod = kind("v1", "Pod");
    let older = "spec: {volumes: [{name: foo, emptyDir: null, hostPath: {path: /x}}]}";
    results_in(
        pod,
        "spec: {volumes: [{name: foo, emptyDir: {}}]}",
        older,
        "spec: {volumes: [{name: foo, hostPath: {path: /x}}]}",
    );
}
