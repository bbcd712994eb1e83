//! Schemas from recorded conversations and vectors: schemas that kube-apiserver rejected are rejected with the same
//! messages, all others compile. The folder `shared` beside the workspace is optional.

#[path = "../../../conformance/recordings.rs"]
mod recordings;

use std::{fs, path::Path};
use tenure_schema::{
    Field, ListTopology, Schema, Type, TypeRef,
    crd::{self, RuleOrigin},
    openapi,
};
use tenure_value::{Limits, Value, json};

fn read(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    json::parse(&text, &Limits::TRUSTED).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Calls a function with every step of every recorded conversation.
fn for_each_step(mut visit: impl FnMut(&Value)) {
    for folder in recordings::conversations() {
        for file in fs::read_dir(folder).unwrap() {
            let conversations = read(&file.unwrap().path());
            for conversation in conversations.as_array().unwrap() {
                conversation
                    .get("steps")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .for_each(&mut visit);
            }
        }
    }
}

/// Returns the causes of a rejection that concern the schema, except for those that need a validator of values.
fn recorded_causes(step: &Value) -> Vec<(String, String, String)> {
    let causes = step.at(["expect", "body", "details", "causes"]).and_then(Value::as_array);
    let text = |cause: &Value, name| cause.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    causes
        .into_iter()
        .flatten()
        .map(|cause| (text(cause, "field"), text(cause, "reason"), text(cause, "message")))
        .filter(|(field, _, _)| field.contains("openAPIV3Schema") && !field.ends_with(".default"))
        .collect()
}

#[test]
fn definitions_are_rejected_and_accepted_as_recorded() {
    let (mut accepted, mut refused) = (0, 0);
    for_each_step(|step| {
        let Some(body) = step.get("body") else { return };
        if body.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
            return;
        }
        let versions = body.at(["spec", "versions"]).and_then(Value::as_array);
        let schemas =
            versions.into_iter().flatten().filter_map(|version| version.at(["schema", "openAPIV3Schema"]));
        let found: Vec<_> = schemas
            .flat_map(|schema| crd::check_structural_at(schema, "spec.validation.openAPIV3Schema"))
            .filter(|violation| violation.rule == RuleOrigin::Kubernetes)
            .map(|violation| (violation.path, violation.reason.as_str().to_string(), violation.message))
            .collect();
        assert_eq!(found, recorded_causes(step), "{body:?}");
        match found.is_empty() {
            true => {
                accepted += 1;
                crd::compile(body).unwrap_or_else(|error| panic!("{error}: {body:?}"));
            }
            false => refused += 1,
        }
    });
    assert!(accepted > 20 && refused >= 8, "{accepted} accepted, {refused} refused");
}

/// Describes the properties of a field that matter for patch and apply.
fn merging(field: &Field, ty: TypeRef) -> String {
    let topology = match ty.get() {
        Type::List(list) => match &list.topology {
            ListTopology::Keyed(keys) => {
                format!("{:?}", keys.iter().map(|key| &key.name).collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        },
        Type::Struct(ty) => format!("{:?}", ty.relation),
        Type::Map(ty) => format!("{:?}", ty.relation),
        Type::Scalar(ty) => format!("{:?}", ty.kind),
        Type::Untyped => "untyped".into(),
    };
    format!(
        "{}: {topology} {:?} {:?} {}",
        field.name, field.patch.strategy, field.patch.merge_key, field.required
    )
}

#[test]
fn openapi_of_a_server_compiles_to_the_types_of_the_pack() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/openapi-v3.json");
    let schema = openapi::compile_v3(&read(&path)).unwrap();
    let describe = |ty: TypeRef| ty.fields().map(|(field, below)| merging(field, below)).collect::<Vec<_>>();
    let mut compared = 0;
    for (name, ty) in schema.names() {
        let Some(packed) = Schema::builtin_at(recordings::version()).named(name) else { continue };
        assert_eq!(describe(ty), describe(packed), "{name}");
        compared += 1;
    }
    assert!(compared > 100, "{compared} types compared");
}

#[test]
fn schemas_with_recommended_keys_compile() {
    let path = recordings::repository().join("crates/tenure-patch/tests/vectors/patch-merge-key.jsonl");
    for line in fs::read_to_string(path).unwrap().lines() {
        let line = json::parse(line.as_bytes(), &Limits::TRUSTED).unwrap();
        let (schema, root) = openapi::compile_one(line.get("schema").unwrap()).unwrap();
        let (field, ty) = schema.at(root).fields().next().unwrap();
        assert!(matches!(ty.get(), Type::List(_)), "{line:?}");
        let recommended = line
            .at(["schema", "properties", &field.name, "x-kubernetes-recommended-patch-merge-key"])
            .and_then(Value::as_str);
        assert_eq!(field.patch.recommended_keys.join(","), recommended.unwrap_or_default());
    }
}
