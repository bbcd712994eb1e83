//! Guarantees where other implementations lose data or surprise people, with exact inputs.

use tenure_patch::strategic::{Improvement, Profile};
use tenure_patch::{
    ErrorClass, ErrorKind, PatchError,
    strategic::{
        self, ApplyOptions, DiffOptions, KeySource, Keys, LiveChanges, OrderSource, PatchDecision, PatchRule,
        Precondition, UnmarkedLists,
    },
};
use tenure_schema::{Schema, TypeRef, openapi};
use tenure_value::{Limits, Value, yaml};

/// Every improvement, also the one that servers leave off.
const IMPROVED: Profile = Profile::tenure().with(Improvement::RejectUnknownPatchValues);

fn doc(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap()
}

fn kind(version: &str, kind: &str) -> TypeRef<'static> {
    Schema::builtin().kind(version, kind).unwrap()
}

fn apply(ty: TypeRef<'_>, live: &Value, patch: &Value) -> Result<Value, PatchError> {
    strategic::apply(live, patch, ty, &ApplyOptions::default().profile(IMPROVED))
}

/// Applies a manifest to a live document as `apply` on the command line does.
fn applied(
    ty: TypeRef<'_>,
    [last, manifest, live]: [&str; 3],
    live_changes: LiveChanges,
    keys: Keys,
) -> Result<Value, PatchError> {
    let options = DiffOptions::default().profile(IMPROVED).keys(keys);
    let live = doc(live);
    let patch = strategic::three_way(&doc(last), &doc(manifest), &live, ty, live_changes, &options)?;
    apply(ty, &live, &patch)
}

fn env(entries: &str) -> String {
    format!("spec: {{containers: [{{name: c, env: [{entries}]}}]}}")
}

#[test]
fn of_two_entries_with_one_key_the_remaining_one_is_kept() {
    let live = env("{name: '1'}, {name: '2', value: dup1}, {name: '3'}, {name: '2', value: dup2}");
    let manifest = env("{name: '1'}, {name: '2', value: dup2}, {name: '3'}");
    for keys in [Keys::Merge, Keys::Recommended] {
        let result =
            applied(kind("v1", "Pod"), [&live, &manifest, &live], LiveChanges::Overwrite, keys).unwrap();
        assert_eq!(result, doc(&manifest));
    }
}

#[test]
fn one_member_of_a_union_excludes_the_others() {
    let pod = kind("v1", "Pod");
    let from = "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}";
    let table = [
        // Set live by another client, and by the last apply.
        ("{name: A}", from, "{name: A, value: x}"),
        ("{name: A, value: x}", from, "{name: A, value: x}"),
        ("{name: A}", "{name: A, value: y}", from),
        ("", from, "{name: A, value: x}"),
    ];
    for (last, manifest, live) in table {
        for keys in [Keys::Merge, Keys::Recommended] {
            let documents = [env(last), env(manifest), env(live)];
            let documents = documents.each_ref().map(String::as_str);
            let result = applied(pod, documents, LiveChanges::Overwrite, keys).unwrap();
            assert_eq!(result, doc(&env(manifest)), "{last} {manifest} {live}");
        }
    }
    // Without overwriting, a member that was set live is a conflict, with its path.
    let documents = [env("{name: A}"), env(from), env("{name: A, value: x}")];
    let error =
        applied(pod, documents.each_ref().map(String::as_str), LiveChanges::Keep, Keys::Merge).unwrap_err();
    let [conflict] = error.conflicts() else { panic!("{error}") };
    assert_eq!(conflict.path.to_string(), r#".spec.containers[name="c"].env[name="A"].value"#);
    assert_eq!((&conflict.patch, &conflict.live), (&Value::Null, &Value::from("x")));
    // If the manifest itself sets both members, both are kept.
    let both = env("{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}");
    let result = applied(
        pod,
        [&env("{name: A}"), &both, &env("{name: A, value: x}")],
        LiveChanges::Overwrite,
        Keys::Merge,
    );
    assert_eq!(result.unwrap(), doc(&both));
}

#[test]
fn an_entry_of_another_client_stays_when_a_list_with_repeated_keys_is_written_whole() {
    let last = env("{name: '2', value: dup1}, {name: '2', value: dup2}");
    let live = env("{name: s, value: sidecar}, {name: '2', value: dup1}, {name: '2', value: dup2}");
    let manifest = env("{name: '2', value: dup2}");
    let result = applied(kind("v1", "Pod"), [&last, &manifest, &live], LiveChanges::Overwrite, Keys::Merge);
    assert_eq!(result.unwrap(), doc(&env("{name: s, value: sidecar}, {name: '2', value: dup2}")));
}

#[test]
fn a_port_for_two_protocols_keeps_both() {
    let service = kind("v1", "Service");
    let live = "spec: {ports: [{port: 80, protocol: TCP}]}";
    let both = "spec: {ports: [{port: 80, protocol: TCP}, {port: 80, protocol: UDP}]}";
    for keys in [Keys::Merge, Keys::Recommended] {
        let result = applied(service, [live, both, live], LiveChanges::Overwrite, keys).unwrap();
        assert_eq!(result, doc(both));
        let options = DiffOptions::default().profile(IMPROVED).keys(keys);
        let unchanged = strategic::two_way(&doc(both), &doc(both), service, &options).unwrap();
        assert_eq!(unchanged, doc("{}"), "the same list unchanged stays unchanged");
    }
}

#[test]
fn a_port_with_a_defaulted_protocol_is_matched() {
    let service = kind("v1", "Service");
    let result = applied(
        service,
        [
            "spec: {ports: [{port: 80}]}",
            "spec: {ports: [{port: 80, targetPort: 8080}, {port: 80, protocol: UDP}]}",
            "spec: {ports: [{port: 80, protocol: TCP, nodePort: 30080}]}",
        ],
        LiveChanges::Overwrite,
        Keys::Recommended,
    );
    let expected = "
        spec:
          ports:
          - {port: 80, protocol: TCP, nodePort: 30080, targetPort: 8080}
          - {port: 80, protocol: UDP}";
    assert_eq!(result.unwrap(), doc(expected));
}

#[test]
fn a_patch_with_the_port_alone_works_if_it_is_unambiguous() {
    let live = doc("spec: {ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}");
    let patch = doc("spec: {ports: [{port: 53, nodePort: 30053}]}");
    let result = apply(kind("v1", "Service"), &live, &patch).unwrap();
    let expected = "spec: {ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP, nodePort: 30053}]}";
    assert_eq!(result, doc(expected));
}

#[test]
fn a_repeated_pull_secret_is_not_an_order_error() {
    let secrets = "spec: {imagePullSecrets: [{name: a}, {name: b}, {name: a}]}";
    let pod = kind("v1", "Pod");
    let result = applied(pod, [secrets, secrets, secrets], LiveChanges::Overwrite, Keys::Merge);
    assert_eq!(result.unwrap(), doc(secrets));
    let order = "spec: {$setElementOrder/imagePullSecrets: [{name: a}, {name: b}, {name: a}], \
                 imagePullSecrets: [{name: a}, {name: a}, {name: b}]}";
    let result = apply(pod, &doc("spec: {imagePullSecrets: [{name: b}, {name: a}]}"), &doc(order)).unwrap();
    assert_eq!(result, doc("spec: {imagePullSecrets: [{name: a}, {name: b}]}"));
}

#[test]
fn the_same_deletion_on_both_sides_is_not_a_conflict() {
    let result = applied(
        kind("v1", "ConfigMap"),
        ["metadata: {finalizers: [a, b]}", "metadata: {finalizers: [a]}", "metadata: {finalizers: [a]}"],
        LiveChanges::Keep,
        Keys::Merge,
    );
    assert_eq!(result.unwrap(), doc("metadata: {finalizers: [a]}"));
}

#[test]
fn a_map_that_left_the_manifest_keeps_what_others_added() {
    let map = kind("v1", "ConfigMap");
    let (last, manifest) = ("data: {u: '1'}", "{}");
    let run = |live: &str| applied(map, [last, manifest, live], LiveChanges::Keep, Keys::Merge);
    assert_eq!(run("data: {u: '1', c: '2'}").unwrap(), doc("data: {c: '2'}"));
    assert_eq!(run("data: {u: '1'}").unwrap(), doc("{}"), "an absent map is not an empty one");
    assert_eq!(run("data: {c: '2'}").unwrap(), doc("data: {c: '2'}"));
    let error = run("data: {u: changed, c: '2'}").unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
}

#[test]
fn a_conflict_names_the_path_and_both_values() {
    let error = applied(
        kind("v1", "Pod"),
        [
            "spec: {containers: [{name: a, image: old}]}",
            "spec: {containers: [{name: a, image: mine}]}",
            "spec: {containers: [{name: a, image: theirs}]}",
        ],
        LiveChanges::Keep,
        Keys::Merge,
    )
    .unwrap_err();
    let [conflict] = error.conflicts() else { panic!("{error}") };
    assert_eq!(conflict.path.to_string(), r#".spec.containers[name="a"].image"#);
    assert_eq!((&conflict.patch, &conflict.live), (&Value::from("mine"), &Value::from("theirs")));
}

#[test]
fn deleting_a_map_equals_setting_it_to_null() {
    let cases = [
        (kind("v1", "Pod"), "spec: {securityContext: {fsGroup: 1}}", "securityContext"),
        (kind("policy/v1", "PodDisruptionBudget"), "spec: {selector: {matchLabels: {a: b}}}", "selector"),
        (kind("v1", "Pod"), "spec: {hostname: a}", "securityContext"),
    ];
    for (ty, live, field) in cases {
        let deleted = apply(ty, &doc(live), &doc(&format!("spec: {{{field}: {{$patch: delete}}}}"))).unwrap();
        let null = apply(ty, &doc(live), &doc(&format!("spec: {{{field}: null}}"))).unwrap();
        assert_eq!(deleted, null);
    }
}

#[test]
fn every_error_names_the_full_path_and_the_offending_value() {
    let pod = kind("v1", "Pod");
    let live = "spec: {containers: [{name: a, env: [{name: X}]}], tolerations: [{key: a}]}";
    for (patch, path, value) in [
        (
            "spec: {containers: [{name: a, env: [{value: '1'}]}]}",
            r#".spec.containers[name="a"].env[0]"#,
            r#"{"value":"1"}"#,
        ),
        ("spec: {$patch: nope}", ".spec", "nope"),
        ("spec: {$setElementOrder/containers: x}", ".spec.containers", "\"x\""),
        ("spec: {$setElementOrder/tolerations: [{key: b}]}", ".spec.tolerations", r#"{"key":"a"}"#),
        ("spec: {containers: [x]}", ".spec.containers", "\"x\""),
        ("spec: {containers: [{name: {a: b}}]}", ".spec.containers[0]", r#"{"a":"b"}"#),
    ] {
        let error = apply(pod, &doc(live), &doc(patch)).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("{path}: ")) && message.contains(value), "{message}");
        assert_eq!(error.path().to_string(), path);
        assert_eq!(error.class(), ErrorClass::BadPatch);
    }
}

#[test]
fn custom_resources_merge_by_their_list_keys() {
    let (schema, id) = openapi::compile_one(&doc("
        type: object
        properties:
          rules:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [port, protocol]
            items:
              type: object
              properties: {port: {type: integer}, protocol: {type: string, default: TCP}, to: {type: string}}
          tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
          atoms: {type: array, items: {type: string}}"))
    .unwrap();
    let ty = schema.at(id);
    let live =
        doc("{rules: [{port: 53, to: a}, {port: 53, protocol: UDP, to: b}], tags: [r, s], atoms: [p]}");
    let patch = doc("{rules: [{port: 53, protocol: TCP, to: c}], tags: [t], atoms: [q]}");
    let merging = ApplyOptions::default().profile(IMPROVED).unmarked_lists(UnmarkedLists::Merge);
    let result = strategic::apply(&live, &patch, ty, &merging).unwrap();
    let expected = "
        rules: [{port: 53, protocol: TCP, to: c}, {port: 53, protocol: UDP, to: b}]
        tags: [t, r, s]
        atoms: [q]";
    assert_eq!(result, doc(expected));
    assert_eq!(
        strategic::apply(&live, &patch, ty, &ApplyOptions::default().profile(IMPROVED)).unwrap(),
        patch,
        "replaced by default"
    );
    let options = DiffOptions::default().profile(IMPROVED).unmarked_lists(UnmarkedLists::Merge);
    let calculated = strategic::two_way(&live, &result, ty, &options).unwrap();
    assert_eq!(strategic::apply(&live, &calculated, ty, &merging).unwrap(), result);
}

#[test]
fn a_definition_determines_how_lists_merge() {
    let definition = doc(
        "
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: things.example.com}
        spec:
          group: example.com
          scope: Namespaced
          names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
          versions:
          - name: v1
            served: true
            storage: true
            schema:
              openAPIV3Schema:
                type: object
                properties:
                  spec:
                    type: object
                    properties:
                      ports:
                        type: array
                        x-kubernetes-list-type: map
                        x-kubernetes-list-map-keys: [port, protocol]
                        items:
                          type: object
                          required: [port]
                          properties: {port: {type: integer}, protocol: {type: string, default: TCP}, to: {type: string}}
                      parts:
                        type: array
                        x-kubernetes-list-type: map
                        x-kubernetes-list-map-keys: [name]
                        items: {type: object, required: [name], properties: {name: {type: string}, to: {type: string}}}",
    );
    let schema = tenure_schema::crd::compile(&definition).unwrap();
    let ty = schema.kind("example.com/v1", "Thing").unwrap();
    let live = doc(
        "spec: {ports: [{port: 53, protocol: UDP}, {port: 53, to: a}], parts: [{name: a, to: x}, {name: b}]}",
    );
    let patch = doc("spec: {ports: [{port: 53, protocol: TCP, to: b}], parts: [{name: b, to: y}]}");
    let expected = "spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, to: b}], parts: [{name: a, to: x}, {name: b, to: y}]}";
    assert_eq!(apply(ty, &live, &patch).unwrap(), doc(expected));
}

#[test]
fn fields_that_must_not_change_are_guarded() {
    let pod = kind("v1", "Pod");
    let guards = [Precondition::unchanged(["kind"]), Precondition::unchanged(["metadata", "name"])];
    let options = DiffOptions::default().profile(IMPROVED).preconditions(&guards);
    let original = doc("{kind: Pod, metadata: {name: a, labels: {x: y}}}");
    let renamed = doc("{kind: Pod, metadata: {name: b, labels: {x: y}}}");
    let error = strategic::two_way(&original, &renamed, pod, &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Precondition { .. }), "{error}");
    let relabelled = doc("{kind: Pod, metadata: {name: a, labels: {x: z}}}");
    assert!(strategic::two_way(&original, &relabelled, pod, &options).is_ok());
    assert!(strategic::two_way(&original, &doc("{kind: Pod}"), pod, &options).is_err());
}

#[test]
fn a_dollar_field_that_the_type_declares_is_data() {
    let crd = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let live = doc("spec: {versions: [{name: v1, schema: {openAPIV3Schema: {$ref: a}}}]}");
    let patch = doc("spec: {versions: [{name: v1, schema: {openAPIV3Schema: {$ref: b, $schema: c}}}]}");
    assert_eq!(apply(crd, &live, &patch).unwrap(), patch);
}

#[test]
fn apply_explained_records_the_deciding_rules() {
    let live = doc(
        "{metadata: {finalizers: [a]}, spec: {strategy: {type: A, rollingUpdate: {}}, paused: true, template: {spec: {containers: [{name: a, image: x}, {name: b}], tolerations: []}}}}",
    );
    let patch = doc("
        metadata: {finalizers: [b]}
        spec:
          strategy: {$retainKeys: [type], type: B}
          paused: null
          template:
            spec:
              $setElementOrder/containers: [{name: c}, {name: a}]
              containers: [{name: c}, {name: a, image: y}, {name: b, $patch: delete}]
              tolerations: [{key: k}]");
    let ty = kind("apps/v1", "Deployment");
    let (result, trace) =
        strategic::apply_explained(&live, &patch, ty, &ApplyOptions::default().profile(IMPROVED)).unwrap();
    assert_eq!(result, apply(ty, &live, &patch).unwrap());
    let rules: Vec<(String, PatchRule)> = trace
        .decisions()
        .iter()
        .map(|PatchDecision { path, rule, .. }| (path.to_string(), rule.clone()))
        .collect();
    let containers = ".spec.template.spec.containers";
    let by_name = PatchRule::MergedByKey(KeySource::MergeKey, vec!["name".into()]);
    for (path, rule) in [
        (".metadata.finalizers".to_string(), PatchRule::MergedAsSet),
        (".metadata.finalizers".to_string(), PatchRule::Ordered(OrderSource::PatchList)),
        (".spec.strategy.rollingUpdate".to_string(), PatchRule::Cleared),
        (".spec.strategy.type".to_string(), PatchRule::Set),
        (".spec.paused".to_string(), PatchRule::RemovedByNull),
        (format!("{containers}[name=\"b\"]"), PatchRule::RemovedByDirective),
        (format!("{containers}[name=\"c\"]"), PatchRule::Added),
        (format!("{containers}[name=\"a\"]"), by_name),
        (format!("{containers}[name=\"a\"].image"), PatchRule::Set),
        (containers.to_string(), PatchRule::Ordered(OrderSource::Directive)),
        (".spec.template.spec.tolerations".to_string(), PatchRule::ReplacedByStrategy),
    ] {
        assert!(rules.contains(&(path.clone(), rule.clone())), "{path} {rule:?} is not in {rules:#?}");
    }
    let (_, trace) = strategic::apply_explained(
        &live,
        &patch,
        TypeRef::untyped(),
        &ApplyOptions::default().profile(IMPROVED),
    )
    .unwrap();
    assert_eq!(trace.decisions()[0].rule, PatchRule::NoSchema);
}

#[test]
fn an_unknown_patch_value_is_always_an_error() {
    let deployment = kind("apps/v1", "Deployment");
    let live = doc("spec: {replicas: 1, template: {spec: {containers: [{name: c}]}}}");
    let pod = |rest: &str| format!("spec: {{template: {{spec: {{{rest}}}}}}}");
    let table = [
        // Instead of a scalar, of a missing value, inside a new value, inside a new entry, in a new list.
        ("spec: {replicas: {$patch: x}}".to_owned(), ".spec.replicas"),
        (pod("securityContext: {$patch: Delete, runAsUser: 1}"), ".spec.template.spec.securityContext"),
        (pod("affinity: {nodeAffinity: {$patch: x}}"), ".spec.template.spec.affinity.nodeAffinity"),
        (
            pod("containers: [{name: d, securityContext: {$patch: 1}}]"),
            ".spec.template.spec.containers[name=\"d\"].securityContext",
        ),
        (pod("volumes: [{name: v, $patch: x}]"), ".spec.template.spec.volumes[0]"),
    ];
    for (patch, path) in table {
        let error = apply(deployment, &live, &doc(&patch)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnknownPatchValue { .. }), "{patch}: {error}");
        assert!(error.to_string().starts_with(path), "{patch}: {error}");
    }
    // Known values, a null, and literal replacements stay as they were.
    for (patch, result) in [
        (pod("securityContext: {$patch: null, runAsUser: 1}"), "{runAsUser: 1}"),
        (pod("securityContext: {$patch: delete, runAsUser: 1}"), "null"),
    ] {
        let patched = apply(deployment, &live, &doc(&patch)).unwrap();
        let context =
            patched.at(["spec", "template", "spec", "securityContext"]).cloned().unwrap_or_default();
        assert_eq!(context, doc(result), "{patch}");
    }
    let recorded = ApplyOptions::default().profile(Profile::tenure());
    let patch = doc(&pod("securityContext: {$patch: Delete, runAsUser: 1}"));
    assert_eq!(strategic::apply(&live, &patch, deployment, &recorded).unwrap(), live);
    let replaced = pod("$patch: replace, containers: [{name: c, securityContext: {$patch: x}}]");
    assert!(apply(deployment, &live, &doc(&replaced)).is_ok());
}

#[test]
fn replace_in_an_entry_replaces_that_entry() {
    let pod = kind("v1", "Pod");
    let live = doc("spec: {containers: [{name: a, image: x, tty: true}, {name: b}]}");
    let patch = doc("spec: {containers: [{$patch: replace, name: a, image: y}, {$patch: replace, name: c}]}");
    let result = apply(pod, &live, &patch).unwrap();
    assert_eq!(result, doc("spec: {containers: [{name: a, image: y}, {name: c}, {name: b}]}"));
    let whole = doc("spec: {containers: [{name: c}, {$patch: replace}]}");
    assert_eq!(apply(pod, &live, &whole).unwrap(), doc("spec: {containers: [{name: c}]}"));
    let kubernetes = ApplyOptions::default().profile(Profile::kubernetes());
    let recorded = strategic::apply(&live, &patch, pod, &kubernetes).unwrap();
    assert_eq!(recorded, doc("spec: {containers: []}"));
}

#[test]
fn an_order_of_an_unknown_list_is_dropped() {
    let deployment = kind("apps/v1", "Deployment");
    let options = ApplyOptions::default().profile(Profile::tenure());
    for (patch, expected) in [
        ("spec: {replicas: 2, $setElementOrder/newList: [a]}", "spec: {replicas: 2}"),
        ("spec: {newList: [a], $setElementOrder/newList: [a]}", "spec: {replicas: 1, newList: [a]}"),
    ] {
        let (live, patch) = (doc("spec: {replicas: 1}"), doc(patch));
        let (result, dropped) = strategic::apply_with_dropped(&live, &patch, deployment, &options).unwrap();
        let dropped: Vec<String> = dropped.iter().map(ToString::to_string).collect();
        assert_eq!((result, dropped), (doc(expected), vec![".spec.$setElementOrder/newList".to_owned()]));
        let kubernetes = ApplyOptions::default().profile(Profile::kubernetes());
        assert!(strategic::apply(&live, &patch, deployment, &kubernetes).is_err());
    }
    let (_, dropped) =
        strategic::apply_with_dropped(&doc("{}"), &doc("spec: {replicas: 1}"), deployment, &options).unwrap();
    assert_eq!(dropped, []);
}

#[test]
fn a_union_that_a_two_way_patch_adds_clears_the_default() {
    let deployment = kind("apps/v1", "Deployment");
    let (old, new) = (doc("spec: {replicas: 1}"), doc("spec: {replicas: 1, strategy: {type: Recreate}}"));
    let patch = |profile| {
        strategic::two_way(&old, &new, deployment, &DiffOptions::default().profile(profile)).unwrap()
    };
    assert_eq!(patch(IMPROVED), doc("spec: {strategy: {$retainKeys: [type], type: Recreate}}"));
    assert_eq!(patch(Profile::kubernetes()), doc("spec: {strategy: {type: Recreate}}"));
    let live = doc("spec: {replicas: 1, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}");
    assert_eq!(apply(deployment, &live, &patch(IMPROVED)).unwrap(), new);
}

#[test]
fn malformed_directives_are_errors() {
    for (version, name, live, patch, expected) in [
        (
            "v1",
            "ConfigMap",
            "metadata: {finalizers: [a]}",
            "metadata: {$deleteFromPrimitiveList/finalizers: a}",
            ".metadata.finalizers: $deleteFromPrimitiveList/finalizers is a string, \"a\"; it must be a list",
        ),
        ("v1", "ConfigMap", "{}", "metadata: {$deleteFromPrimitiveList/finalizers: 1}", ""),
        (
            "apps/v1",
            "Deployment",
            "spec: {strategy: {type: A}}",
            "spec: {strategy: {$retainKeys: [1], type: null}}",
            ".spec.strategy: $retainKeys is [1]; it must be a list of field names",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec: {replicas: 1}",
            "spec: {strategy: {$retainKeys: [type], type: A, rollingUpdate: {}}}",
            ".spec.strategy: the patch sets \"rollingUpdate\", which is missing from $retainKeys [\"type\"]; add it",
        ),
    ] {
        let ty = kind(version, name);
        match apply(ty, &doc(live), &doc(patch)) {
            Err(error) => assert_eq!(error.to_string(), expected),
            Ok(result) => assert!(expected.is_empty(), "{patch} gives {result}"),
        }
        let kubernetes = ApplyOptions::default().profile(Profile::kubernetes());
        assert!(strategic::apply(&doc(live), &doc(patch), ty, &kubernetes).is_ok(), "{patch}");
    }
}

#[test]
fn a_numeric_key_matches_by_amount_with_and_without_patch_merge_key() {
    let service = kind("v1", "Service");
    let live = doc("spec: {ports: [{port: 80, protocol: TCP, nodePort: 30080}]}");
    let patch =
        doc("spec: {ports: [{$patchMergeKey: [port, protocol], port: 80.0, protocol: TCP, name: web}]}");
    let result = apply(service, &live, &patch).unwrap();
    let ports = result.at(["spec", "ports"]).and_then(Value::as_array).unwrap();
    assert_eq!(ports.len(), 1, "{result}");
    let manifest = "spec: {ports: [{port: 80.0, protocol: TCP, nodePort: 30080, name: web}]}";
    for keys in [Keys::Merge, Keys::Recommended] {
        let options = DiffOptions::default().profile(IMPROVED).keys(keys);
        let patch = strategic::two_way(&live, &doc(manifest), service, &options).unwrap();
        let ports = patch.at(["spec", "ports"]).and_then(Value::as_array).unwrap();
        assert_eq!(ports.len(), 1, "{patch}");
    }
}

#[test]
fn a_change_of_one_of_two_ports_with_one_number_has_no_conflict() {
    let service = kind("v1", "Service");
    let last = "spec: {ports: [{port: 53, protocol: TCP, name: t}, {port: 53, protocol: UDP, name: u}]}";
    let manifest = "
        spec:
          ports:
          - {port: 53, protocol: TCP, name: t}
          - {port: 53, protocol: UDP, name: u, appProtocol: dns}";
    let live = "
        spec:
          ports:
          - {port: 53, protocol: TCP, name: t, nodePort: 30001, targetPort: 53}
          - {port: 53, protocol: UDP, name: u, nodePort: 30002, targetPort: 53}";
    let expected = "
        spec:
          ports:
          - {port: 53, protocol: TCP, name: t, nodePort: 30001, targetPort: 53}
          - {port: 53, protocol: UDP, name: u, nodePort: 30002, targetPort: 53, appProtocol: dns}";
    for keys in [Keys::Merge, Keys::Recommended] {
        for changes in [LiveChanges::Keep, LiveChanges::Overwrite] {
            let result = applied(service, [last, manifest, live], changes, keys).unwrap();
            assert_eq!(result, doc(expected), "{keys:?} {changes:?}");
        }
    }
    let changed = live.replace("name: u,", "name: u, appProtocol: other,");
    let error = applied(service, [last, manifest, &changed], LiveChanges::Keep, Keys::Merge).unwrap_err();
    let [conflict] = error.conflicts() else { panic!("{error}") };
    assert_eq!(conflict.path.to_string(), r#".spec.ports[port=53,protocol="UDP"].appProtocol"#);
    assert_eq!((&conflict.patch, &conflict.live), (&Value::from("dns"), &Value::from("other")));
}

#[test]
fn recommended_keys_patch_lists_without_a_merge_strategy() {
    let node = kind("v1", "Node");
    let original = "spec: {taints: [{key: a, effect: NoSchedule, value: x}, {key: b, effect: NoExecute}]}";
    let modified = "spec: {taints: [{key: a, effect: NoSchedule, value: y}, {key: c, effect: NoExecute}]}";
    let options = DiffOptions::default().profile(IMPROVED).keys(Keys::Recommended);
    let patch = strategic::two_way(&doc(original), &doc(modified), node, &options).unwrap();
    let taints = patch.at(["spec", "taints"]).and_then(Value::as_array).unwrap();
    assert!(taints.iter().all(|taint| taint.get("$patchMergeKey").is_some()), "{patch}");
    assert_eq!(apply(node, &doc(original), &patch).unwrap(), doc(modified));
    // Entries of another client stay.
    let live = "spec: {taints: [{key: s, effect: NoSchedule}, {key: a, effect: NoSchedule, value: x}, {key: b, effect: NoExecute}]}";
    let result = applied(node, [original, modified, live], LiveChanges::Keep, Keys::Recommended).unwrap();
    let expected = "spec: {taints: [{key: s, effect: NoSchedule}, {key: a, effect: NoSchedule, value: y}, {key: c, effect: NoExecute}]}";
    assert_eq!(result, doc(expected));
    // Entries that the keys do not identify are replaced with the whole list.
    let pod = kind("v1", "Pod");
    let tolerations =
        ("spec: {tolerations: [{operator: Exists}]}", "spec: {tolerations: [{key: a}, {operator: Exists}]}");
    let patch = strategic::two_way(&doc(tolerations.0), &doc(tolerations.1), pod, &options).unwrap();
    assert_eq!(patch, doc(tolerations.1));
}
