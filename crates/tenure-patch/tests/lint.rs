//! The findings of lint: each problem with its path and its fix, and none in correct patches.

use tenure_patch::lint::{Subject, lint};
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Limits, Value, yaml};

fn doc(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap()
}

fn findings(kind: &str, subject: Subject, text: &str) -> Vec<String> {
    let (version, kind) = kind.split_once(' ').unwrap();
    let ty = Schema::builtin().kind(version, kind).unwrap();
    lint(&doc(text), ty, subject).iter().map(ToString::to_string).collect()
}

#[test]
fn every_problem_is_found_with_its_path_and_its_fix() {
    for (kind, patch, expected) in [
        (
            "v1 Pod",
            "{spec: {$patch: nope}}",
            r#".spec.$patch: $patch cannot be "nope"; write "replace" or "delete""#,
        ),
        (
            "v1 Pod",
            "{spec: {$newer: 1}}",
            ".spec.$newer: the directive $newer is unknown and ignored; remove it, unless a newer server knows it",
        ),
        (
            "v1 Pod",
            "{spec: {$setElementOrder: []}}",
            ".spec.$setElementOrder: $setElementOrder does not name a list; write $setElementOrder/LIST",
        ),
        (
            "v1 Pod",
            "{spec: {$setElementOrder/hostNetwork: []}}",
            ".spec.$setElementOrder/hostNetwork: $setElementOrder/hostNetwork has no meaning here; it belongs beside a list of that name",
        ),
        (
            "v1 Pod",
            "{spec: {$setElementOrder/containers: x}}",
            r#".spec.$setElementOrder/containers: $setElementOrder/containers cannot be "x"; write a list"#,
        ),
        (
            "v1 Pod",
            "{spec: {$setElementOrder/containers: [a, b]}}",
            r#".spec.$setElementOrder/containers: $setElementOrder/containers cannot be "a"; write maps, each with the merge key of an entry"#,
        ),
        (
            "v1 Pod",
            "{spec: {$deleteFromPrimitiveList/containers: [{name: a}]}}",
            ".spec.$deleteFromPrimitiveList/containers: $deleteFromPrimitiveList/containers has no meaning here; it belongs beside a list of scalars; delete a map with $patch: delete in its entry",
        ),
        (
            "v1 Pod",
            "{spec: {$patchMergeKey: [name]}}",
            ".spec.$patchMergeKey: $patchMergeKey has no meaning here; it belongs in every entry of a list",
        ),
        (
            "v1 Pod",
            "{spec: {containers: [{name: a, $patchMergeKey: name}]}}",
            r#".spec.containers[0].$patchMergeKey: $patchMergeKey cannot be "name"; write a list of key names"#,
        ),
        (
            "v1 Pod",
            "{spec: {containers: [{image: x}]}}",
            r#".spec.containers[0]: the entry has no value for its merge key "name"; set it"#,
        ),
        (
            "v1 Pod",
            "{spec: {containers: [{name: {a: b}}]}}",
            r#".spec.containers[0]: the merge key "name" is a list or an object; make it a string, a number or a boolean"#,
        ),
        (
            "v1 Pod",
            "{spec: {containers: [{name: a}, {name: a}]}}",
            r#".spec.containers[1]: {"name":"a"} occurs more than once in the list; keep one of them"#,
        ),
        (
            "v1 Service",
            "{spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}}",
            r#".spec.ports[1]: {"port": 53} does not tell this entry from another; send $patchMergeKey: [port, protocol] in every entry"#,
        ),
        (
            "v1 Service",
            "{spec: {ports: [{port: 53, $patchMergeKey: [port, protocol]}, {port: 80}]}}",
            ".spec.ports[1]: $patchMergeKey is missing; other entries have it; repeat it in every entry",
        ),
        (
            "v1 Pod",
            "{spec: {$setElementOrder/containers: [{name: a}], containers: [{name: b}]}}",
            r#".spec.containers: {"name":"b"} is missing from $setElementOrder/containers or in another order; list every entry of the patch, in the same order"#,
        ),
        (
            "v1 ConfigMap",
            "{metadata: {$setElementOrder/finalizers: [a, b], finalizers: [b, a]}}",
            r#".metadata.finalizers: "a" is missing from $setElementOrder/finalizers or in another order; list every entry of the patch, in the same order"#,
        ),
        (
            "v1 ConfigMap",
            "{metadata: {finalizers: [a, a]}}",
            r#".metadata.finalizers[1]: "a" occurs more than once in the list; keep one of them"#,
        ),
        (
            "apps/v1 Deployment",
            "{spec: {strategy: {$retainKeys: [type], type: X, rollingUpdate: {}}}}",
            r#".spec.strategy.$retainKeys: the patch sets "rollingUpdate", which $retainKeys does not list; add "rollingUpdate" to $retainKeys, or set it to null"#,
        ),
        (
            "apps/v1 Deployment",
            "{spec: {strategy: {$retainKeys: type}}}",
            r#".spec.strategy.$retainKeys: $retainKeys cannot be "type"; write a list of field names"#,
        ),
        (
            "v1 Pod",
            "{spec: {tolerations: [{key: a, $patch: delete}]}}",
            ".spec.tolerations[0].$patch: $patch has no effect in a value that is taken literally; remove it",
        ),
        (
            "v1 Pod",
            "{spec: {$patch: replace, containers: [{name: a, $retainKeys: []}]}}",
            ".spec.containers[0].$retainKeys: $retainKeys has no effect in a value that is taken literally; remove it",
        ),
        (
            "v1 Pod",
            "{spec: {bogus: {}}}",
            r#".spec.bogus: the type has no field "bogus"; check its spelling, or remove it"#,
        ),
        ("v1 Pod", "[]", "[] is not an object; write an object"),
    ] {
        assert_eq!(findings(kind, Subject::Patch, patch), [expected], "{patch}");
    }
}

#[test]
fn correct_patches_have_no_findings() {
    for (kind, patch) in [
        (
            "v1 Pod",
            "{spec: {containers: [{name: a, image: x}, {name: b, $patch: delete}, {name: a, $patch: delete}]}}",
        ),
        (
            "v1 Pod",
            "{spec: {$setElementOrder/containers: [{name: a}, {name: b}], containers: [{name: b, image: x}, {name: c, $patch: delete}]}}",
        ),
        (
            "v1 Pod",
            "{spec: {containers: [{name: a}, {$patch: replace}], nodeSelector: {$patch: replace, a: b}}}",
        ),
        (
            "v1 Service",
            "{spec: {ports: [{port: 53, protocol: TCP, $patchMergeKey: [port, protocol]}, {port: 53, protocol: UDP, $patchMergeKey: [port, protocol]}]}}",
        ),
        (
            "v1 ConfigMap",
            "{metadata: {$deleteFromPrimitiveList/finalizers: [a], finalizers: [b]}, data: {a: b, c: null}}",
        ),
        (
            "apps/v1 Deployment",
            "{spec: {strategy: {$retainKeys: [type], type: Recreate, rollingUpdate: null}}}",
        ),
    ] {
        assert_eq!(findings(kind, Subject::Patch, patch), [""; 0], "{patch}");
    }
}

#[test]
fn a_manifest_has_no_directives_and_unambiguous_keys() {
    let manifest =
        "{spec: {$patch: replace, ports: [{port: 80, protocol: TCP}, {port: 80, protocol: UDP}, {name: x}]}}";
    assert_eq!(
        findings("v1 Service", Subject::Manifest, manifest),
        [
            ".spec.$patch: the manifest contains the directive $patch; remove it; directives belong in patches",
            r#".spec.ports[1]: {"port": 80} does not tell this entry from another; send $patchMergeKey: [port, protocol] in every entry"#,
            r#".spec.ports[2]: the entry has no value for its merge key "port"; set it"#,
        ],
    );
}

#[test]
fn without_a_type_lint_reports_a_json_merge_patch() {
    let found = lint(&doc("{a: {b: 1}}"), TypeRef::untyped(), Subject::Patch);
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().contains("JSON merge patch"));
}

#[test]
fn an_unknown_patch_value_is_found_without_a_document() {
    assert_eq!(
        findings("v1 Pod", Subject::Patch, "{spec: {securityContext: {$patch: Delete, runAsUser: 1}}}"),
        [r#".spec.securityContext.$patch: $patch cannot be "Delete"; write "replace" or "delete""#],
    );
}
