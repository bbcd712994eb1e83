//! The merge keys of the built-in types: which are too weak, and what is recommended instead.

use tenure_schema::{ListTopology, Schema, Type, audit, crd, openapi};
use tenure_value::{Limits, json};

fn descriptions(schema: &Schema) -> Vec<String> {
    audit::weak_keys(schema).iter().map(ToString::to_string).collect()
}

#[test]
fn weak_keys_of_the_built_in_types() {
    let expected = [
        "io.k8s.api.batch.v1.JobStatus.conditions by type: the key is not declared unique",
        "io.k8s.api.core.v1.Container.env by name: entries with equal list map keys are accepted",
        "io.k8s.api.core.v1.Container.ports by containerPort, better containerPort+protocol: list map keys are more specific; entries with equal list map keys are accepted",
        "io.k8s.api.core.v1.EphemeralContainer.env by name: entries with equal list map keys are accepted",
        "io.k8s.api.core.v1.EphemeralContainer.ports by containerPort, better containerPort+protocol: list map keys are more specific; entries with equal list map keys are accepted",
        "io.k8s.api.core.v1.NodeStatus.addresses by type, better type+address: list map keys are not unique either",
        "io.k8s.api.core.v1.PodSpec.imagePullSecrets by name: entries with equal list map keys are accepted",
        "io.k8s.api.core.v1.PodSpec.topologySpreadConstraints by topologyKey, better topologyKey+whenUnsatisfiable: list map keys are more specific",
        "io.k8s.api.core.v1.PodStatus.hostIPs by ip: the key is not declared unique",
        "io.k8s.api.core.v1.PodVolumeHealth.healthConditions by status, better status+reason: list map keys are more specific",
        "io.k8s.api.core.v1.ServiceAccount.secrets by name: the key is optional",
        "io.k8s.api.core.v1.ServiceSpec.ports by port, better port+protocol: list map keys are more specific",
        "io.k8s.api.core.v1.VolumeHealthStatus.healthConditions by status, better status+reason: list map keys are more specific",
    ];
    assert_eq!(descriptions(Schema::builtin()), expected);
}

#[test]
fn recommended_keys_start_with_the_merge_key_and_name_fields_of_the_entries() {
    let mut found = Vec::new();
    for (name, ty) in Schema::builtin().names() {
        for (field, below) in ty.fields().filter(|(field, _)| !field.patch.recommended_keys.is_empty()) {
            let keys = &field.patch.recommended_keys;
            let item = below.item().unwrap();
            assert!(keys.iter().all(|key| item.field(key).is_some()), "{name}.{}", field.name);
            assert!(field.patch.merge_key.as_ref().is_none_or(|key| keys.first() == Some(key)));
            if let (Type::List(list), true) = (below.get(), field.patch.merge_key.is_some()) {
                let ListTopology::Keyed(map_keys) = &list.topology else { panic!("{name}.{}", field.name) };
                assert!(map_keys.iter().all(|key| keys.contains(&key.name)));
            }
            found.push(format!("{}.{} {}", name.rsplit('.').next().unwrap(), field.name, keys.join(",")));
        }
    }
    let expected = [
        "Container.ports containerPort,protocol",
        "EphemeralContainer.ports containerPort,protocol",
        "NodeSelectorTerm.matchExpressions key,operator",
        "NodeSpec.taints key,effect",
        "NodeStatus.addresses type,address",
        "PodSpec.tolerations key,operator,effect",
        "PodSpec.topologySpreadConstraints topologyKey,whenUnsatisfiable",
        "PodVolumeHealth.healthConditions status,reason",
        "ServiceSpec.ports port,protocol",
        "VolumeHealthStatus.healthConditions status,reason",
        "Scheduling.tolerations key,operator,effect",
    ];
    assert_eq!(found, expected);
}

#[test]
fn lists_without_a_key_and_optional_keys_are_found() {
    let document = br#"{"components": {"schemas": {"T": {"properties": {
        "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
        "none": {"type": "array", "items": {"properties": {"a": {}}}, "x-kubernetes-patch-strategy": "merge"},
        "replaced": {"type": "array", "items": {"properties": {"a": {}}}, "x-kubernetes-patch-merge-key": "a"},
        "loose": {"type": "array", "items": {"properties": {"a": {"type": "string"}}},
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a"},
        "strict": {"type": "array", "items": {"required": ["a"], "properties": {"a": {"type": "string"}}},
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a"}}}}}}"#;
    let schema = openapi::compile_v3(&json::parse(document, &Limits::TRUSTED).unwrap()).unwrap();
    let expected = ["T.loose by a: the key is optional", "T.none by nothing: no merge key"];
    assert_eq!(descriptions(&schema), expected);
}

#[test]
fn lists_of_custom_resources_are_named_by_kind_and_path() {
    let definition = br#"{"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [{"name": "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "good": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                "items": {"type": "object", "required": ["a"],
                    "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}},
            "loose": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                "items": {"type": "object", "required": ["a"],
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}}}}}}}]}}"#;
    let schema = crd::compile(&json::parse(definition, &Limits::TRUSTED).unwrap()).unwrap();
    let expected = [
        "example.com/v1 Widget.spec.loose by a+b: the key is optional",
        "example.com/v1 Widget.spec.set by nothing: no merge key",
    ];
    assert_eq!(descriptions(&schema), expected);
}
