//! The pack in tenure-schema is up to date with the facts, and complete.

#[path = "../../../conformance/recordings.rs"]
mod recordings;

use std::{collections::BTreeMap, path::Path};
use tenure_profile::KubernetesVersion;
use tenure_schema::{ListTopology, Relation, ScalarKind, Schema, Type, TypeRef, UnknownFields, builtin};
use tenure_value::{Limits, Value, json};

fn facts() -> Value {
    json::parse(include_bytes!("../data/kubernetes-1.36.json"), &Limits::TRUSTED).unwrap()
}

fn later_facts() -> Value {
    json::parse(include_bytes!("../data/kubernetes-1.37.json"), &Limits::TRUSTED).unwrap()
}

#[test]
fn the_delta_is_up_to_date() {
    let base = tenure_generate_pack::compile(Some(&facts()), None).unwrap();
    let written = tenure_generate_pack::compile(Some(&later_facts()), None).unwrap().to_delta(&base);
    assert!(
        Some(written.as_slice()) == builtin::delta(KubernetesVersion::V1_37),
        "write it again: cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.37.json \
         --base tools/generate-pack/data/kubernetes-1.36.json --out crates/tenure-schema/data/kubernetes-1.37.delta"
    );
    assert!(written.len() * 8 < builtin::PACK.len(), "{} bytes", written.len());
}

/// The types that a delta describes are those of the facts, and a type that both versions have keeps its number.
#[test]
fn a_delta_has_the_types_of_its_facts() {
    let whole = tenure_generate_pack::compile(Some(&later_facts()), None).unwrap();
    let delta = builtin::delta(KubernetesVersion::V1_37).unwrap();
    let schema = Schema::from_delta(builtin::PACK, delta).unwrap();
    let names = |schema: &Schema| schema.names().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let kinds = |schema: &Schema| {
        schema.kinds().map(|(kind, ty)| (kind.clone(), ty.name().cloned())).collect::<Vec<_>>()
    };
    assert_eq!(names(&schema), names(&whole));
    assert_eq!(kinds(&schema), kinds(&whole));
    for (name, ty) in whole.names() {
        let other = schema.named(name).unwrap();
        assert_eq!(other.outline(1).to_string(), ty.outline(1).to_string(), "{name}");
        if let Some(former) = Schema::builtin_at(KubernetesVersion::V1_36).named(name) {
            assert_eq!(former.id(), other.id(), "{name}");
        }
    }
    let status = schema.named("io.k8s.api.core.v1.PodStatus").unwrap();
    let Type::List(list) = status.below("nodeAllocatableResourceClaimStatuses").unwrap().get() else {
        panic!("a list")
    };
    assert!(matches!(list.topology, ListTopology::Keyed(_)));
}

#[test]
fn a_damaged_delta_is_an_error() {
    let delta = builtin::delta(KubernetesVersion::V1_37).unwrap();
    for at in (0..delta.len()).step_by(97) {
        let mut damaged = delta.to_vec();
        damaged[at] ^= 0x55;
        // It is read or refused, and never panics.
        _ = Schema::from_delta(builtin::PACK, damaged);
        assert!(Schema::from_delta(builtin::PACK, delta[..at].to_vec()).is_err(), "cut at {at}");
    }
    assert!(Schema::from_delta(delta, builtin::PACK).is_err());
}

#[test]
fn the_pack_is_up_to_date() {
    let written = tenure_generate_pack::compile(Some(&facts()), None).unwrap().to_pack();
    assert!(
        written == builtin::PACK,
        "write it again: cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.36.json \
         --out crates/tenure-schema/data/kubernetes-1.36.pack"
    );
}

#[test]
fn the_pack_of_metadata_is_up_to_date() {
    let name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let written =
        tenure_generate_pack::only(Schema::builtin_at(KubernetesVersion::V1_36), name).unwrap().to_pack();
    assert!(
        written == include_bytes!("../../../crates/tenure-schema/data/metadata.pack"),
        "write it again: cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.36.json \
         --only {name} --out crates/tenure-schema/data/metadata.pack"
    );
}

#[test]
fn the_pack_round_trips() {
    let schema = Schema::from_pack(builtin::PACK).unwrap();
    assert!(schema.to_pack() == builtin::PACK);
}

/// Counts the properties of all types in the facts.
fn count_facts(node: &Value, counts: &mut BTreeMap<String, usize>) {
    let Some(words) = node.as_object() else { return };
    let mut count = |what: String| *counts.entry(what).or_default() += 1;
    for (word, value) in words.iter() {
        match (word.as_str(), value) {
            ("node", Value::String(shape)) => count(format!("node {shape}")),
            ("listType", Value::String(kind)) if words.contains("items") => count(format!("list {kind}")),
            ("listMapKeys", Value::Array(keys)) => count(format!("list keys {keys:?}")),
            ("patchStrategy", Value::String(strategy)) => count(format!("strategy {strategy}")),
            ("patchMergeKey", Value::String(key)) => count(format!("merge key {key}")),
            ("default", default) => count(format!("default {default:?}")),
            ("enum", Value::Array(values)) => count(format!("enum of {}", values.len())),
            ("required", Value::Array(names)) => names.iter().for_each(|_| count("required".into())),
            ("mapType", Value::String(relation)) if relation == "atomic" => count("atomic".into()),
            // Its content is unknown, so it is atomic.
            ("anyFields", _) => {
                count("any fields".into());
                count("atomic".into());
            }
            _ => {}
        }
    }
    if words.get("node").and_then(Value::as_str) == Some("list") && !words.contains("listType") {
        count("list atomic".into());
    }
    let below = words.get("fields").and_then(Value::as_object);
    below.into_iter().flat_map(|fields| fields.iter()).for_each(|(_, field)| count_facts(field, counts));
    for inner in ["items", "values"] {
        words.get(inner).into_iter().for_each(|inner| count_facts(inner, counts));
    }
}

/// Counts the same in compiled types; a named type is counted once, an unnamed one at every use.
fn count_type(ty: TypeRef, counts: &mut BTreeMap<String, usize>) {
    let mut count = |what: String| *counts.entry(what).or_default() += 1;
    let mut slots = Vec::new();
    match ty.get() {
        Type::Struct(ty) => {
            count("node object".into());
            if ty.relation == Relation::Atomic {
                count("atomic".into());
            }
            if ty.fields.is_empty() && ty.unknown == UnknownFields::Preserved {
                count("any fields".into());
            }
            for field in &ty.fields {
                let strategy = field.patch.strategy;
                let words = [
                    (strategy.merge, "merge"),
                    (strategy.replace, "replace"),
                    (strategy.retain_keys, "retainKeys"),
                ];
                let words: Vec<_> = words.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
                if !words.is_empty() {
                    count(format!("strategy {}", words.join(",")));
                }
                field.patch.merge_key.iter().for_each(|key| count(format!("merge key {key}")));
                if field.required {
                    count("required".into());
                }
                slots.push(&field.slot);
            }
        }
        Type::Map(ty) => {
            count("node map".into());
            if ty.relation == Relation::Atomic {
                count("atomic".into());
            }
            slots.push(&ty.value);
        }
        Type::List(ty) => {
            count("node list".into());
            match &ty.topology {
                ListTopology::Atomic => count("list atomic".into()),
                ListTopology::Set => count("list set".into()),
                ListTopology::Keyed(keys) => {
                    count("list map".into());
                    let names = Value::array(keys.iter().map(|key| key.name.clone().into()));
                    count(format!("list keys {names:?}"));
                }
            }
            slots.push(&ty.item);
        }
        Type::Scalar(ty) => {
            if !ty.values.is_empty() {
                count(format!("enum of {}", ty.values.len()));
            }
            let named = ty.kind == ScalarKind::Quantity
                || ty.kind == ScalarKind::IntOrString
                || ty.format == "date-time";
            if named {
                count("node scalar".into());
            }
        }
        Type::Untyped => count("node any".into()),
    }
    for slot in slots {
        slot.default
            .iter()
            .for_each(|default| *counts.entry(format!("default {default:?}")).or_default() += 1);
        let below = ty.slot(slot);
        if below.name().is_none() && !is_claim_reference(below) {
            count_type(below, counts);
        }
    }
}

/// The claim of a volume is the only reference that makes its type granular.
fn is_claim_reference(ty: TypeRef) -> bool {
    matches!(ty.get(), Type::Struct(_))
}

#[test]
fn compiled_types_have_the_counts_of_the_facts() {
    let facts = facts();
    let mut expected = BTreeMap::new();
    let types = facts.get("types").and_then(Value::as_object).unwrap();
    types.iter().for_each(|(_, ty)| count_facts(ty, &mut expected));

    let schema = Schema::builtin_at(KubernetesVersion::V1_36);
    let mut counts = BTreeMap::new();
    schema.names().for_each(|(_, ty)| count_type(ty, &mut counts));
    assert_eq!(counts, expected);
    assert_eq!(schema.names().count(), types.len());

    // The exact numbers, to detect changes of the facts.
    let figures = [("list map", 59), ("list set", 16), ("list atomic", 292), ("strategy merge", 53)];
    for (what, figure) in figures {
        assert_eq!(counts.get(what), Some(&figure), "{what}");
    }
}

#[test]
fn every_kind_of_the_facts_has_its_type() {
    let facts = facts();
    let kinds = facts.get("kinds").and_then(Value::as_object).unwrap();
    let found: Vec<_> = Schema::builtin_at(KubernetesVersion::V1_36)
        .kinds()
        .map(|(kind, ty)| (kind.clone(), Value::from(ty.name().unwrap().clone())))
        .collect();
    assert_eq!(found, kinds.fields());
    for (kind, _) in kinds.iter() {
        let (api_version, name) = kind.split_once(' ').unwrap();
        assert!(Schema::builtin_at(KubernetesVersion::V1_36).kind(api_version, name).is_some());
    }
    assert!(Schema::builtin_at(KubernetesVersion::V1_36).kind("apps/v1", "Deploymen").is_none());
    assert!(Schema::builtin_at(KubernetesVersion::V1_36).kind("apps/v1 Deployment", "").is_none());
}

#[test]
fn a_reference_may_make_its_type_granular() {
    let schema = Schema::builtin_at(KubernetesVersion::V1_36);
    let spec = schema.named("io.k8s.api.core.v1.PersistentVolumeSpec").unwrap();
    let relation = |ty: TypeRef| match ty.get() {
        Type::Struct(structure) => structure.relation,
        other => panic!("{other:?}"),
    };
    assert_eq!(relation(spec.below("claimRef").unwrap()), Relation::Granular);
    let reference = schema.named("io.k8s.api.core.v1.ObjectReference").unwrap();
    assert_eq!(relation(reference), Relation::Atomic);
}

#[test]
fn keys_have_the_defaults_of_their_fields() {
    let spec = Schema::builtin_at(KubernetesVersion::V1_36).named("io.k8s.api.core.v1.ServiceSpec").unwrap();
    let Type::List(ports) = spec.below("ports").unwrap().get() else { panic!("ports is a list") };
    let ListTopology::Keyed(keys) = &ports.topology else { panic!("ports is keyed") };
    let keys: Vec<_> = keys.iter().map(|key| (key.name.as_str(), key.default.clone())).collect();
    assert_eq!(keys, [("port", Some(Value::Int(0))), ("protocol", Some("TCP".into()))]);
}

#[test]
fn published_definitions_add_types_and_change_none() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder of cargo");
    let file = target.join("definitions/v1.36.json");
    assert!(file.exists(), "{}: not there; scripts/test installs it", file.display());
    let definitions = json::parse(&std::fs::read(file).unwrap(), &Limits::TRUSTED).unwrap();
    let completed = tenure_generate_pack::compile(Some(&facts()), Some(&definitions)).unwrap();
    for (name, ty) in Schema::builtin_at(KubernetesVersion::V1_36).names() {
        let other = completed.named(name).unwrap_or_else(|| panic!("{name} is gone"));
        assert_eq!(other.outline(1).to_string(), ty.outline(1).to_string(), "{name}");
    }
    for (kind, ty) in Schema::builtin_at(KubernetesVersion::V1_36).kinds() {
        let (api_version, name) = kind.split_once(' ').unwrap();
        assert_eq!(completed.kind(api_version, name).and_then(TypeRef::name), ty.name(), "{kind}");
    }
    assert!(completed.names().count() >= Schema::builtin_at(KubernetesVersion::V1_36).names().count());
}

#[test]
#[ignore = "needs the complete recordings, in the folder that TENURE_SHARED names"]
fn complete_recordings_have_the_same_facts() {
    let recorded = recordings::complete("facts/schema.json").expect("TENURE_SHARED has the facts");
    let text = std::fs::read(&recorded).expect("the facts can be read");
    assert!(json::parse(&text, &Limits::TRUSTED).unwrap() == facts(), "{} has changed", recorded.display());
}
