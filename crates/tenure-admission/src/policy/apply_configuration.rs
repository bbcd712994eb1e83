//! Changes of mutating policies: an apply configuration is merged by server-side apply, a JSON patch is applied.

use super::PolicyChange;
use crate::{Cluster, ResourceVariant};
use tenure_apply::{
    Force, Live, Managers, Presence, ResetFields, SingleVersion, Write, kubernetes_type_errors,
};
use tenure_meta::FieldPath;
use tenure_patch::ErrorClass;
use tenure_profile::{Improvement, Profile};
use tenure_schema::{ListTopology, Relation, Type, TypeRef};
use tenure_value::{Object, Value};

/// Returns an object of a variant with a change.
pub(crate) fn changed(
    cluster: &dyn Cluster,
    object: &Value,
    change: &PolicyChange,
    variant: &ResourceVariant,
) -> Result<Value, String> {
    match change {
        PolicyChange::Patch(patch) => {
            let options = tenure_patch::json::Options::default();
            match tenure_patch::json::apply(object, patch, &options) {
                // A patch whose test fails is not meant for this object.
                Err(error) if error.class() == ErrorClass::TestFailed => Ok(object.clone()),
                patched => patched.map_err(|error| match cluster.profile().has(Improvement::ClientErrors) {
                    true => error.to_string(),
                    false => format!("JSON Patch: {}", error.json_in_kubernetes()),
                }),
            }
        }
        PolicyChange::Apply(config) => {
            let mut merged = Err(String::from("the type of the object is not known"));
            cluster
                .with_type(variant, &mut |ty| merged = merge(object, config, variant, ty, cluster.profile()))
                .map_err(|error| error.to_string())?;
            merged.map_err(|why| format!("error applying patch: {why}"))
        }
    }
}

fn merge(
    object: &Value,
    config: &Value,
    variant: &ResourceVariant,
    ty: TypeRef<'_>,
    profile: Profile,
) -> Result<Value, String> {
    let (api_version, kind) = (variant.api_version(), &variant.kind.2);
    let fields = config.as_object().ok_or("an ApplyConfiguration must be an object: Object{…}")?;
    let config: Value = fields.with("apiVersion", api_version.clone()).with("kind", kind.clone()).into();
    if !profile.has(Improvement::ClientErrors)
        && let Some(errors) = kubernetes_type_errors(&config, ty)
    {
        return Err(format!("failed to convert patch object to typed object: {errors}"));
    }
    check_granular(&config, ty, profile)?;
    let versions = SingleVersion::new(api_version.clone(), ty);
    let write = Write {
        manager: "policy",
        api_version: &api_version,
        subresource: "",
        now: None,
        versions: &versions,
        reset: &ResetFields::None,
        profile,
        empty: &Value::object([("apiVersion", api_version.clone().into()), ("kind", kind.clone().into())]),
    };
    let (kept, bare) = split_server_fields(object);
    let managers = Managers::default();
    let live = Live { object: &bare, managers: &managers, presence: Presence::Stored };
    let state = tenure_apply::apply(live, &config, &write, Force::All).map_err(|error| error.to_string())?;
    Ok(with_server_fields(state.object, kept))
}

/// The fields of `metadata` that the server adds to a stored object.
const SERVER_FIELDS: [&str; 2] = ["managedFields", "resourceVersion"];

/// Returns the fields that the server adds, and the object without them.
fn split_server_fields(object: &Value) -> (Vec<(&'static str, Value)>, Value) {
    let metadata = metadata(object);
    let kept = SERVER_FIELDS.iter().filter_map(|name| Some((*name, metadata.get(name)?.clone()))).collect();
    let bare = SERVER_FIELDS.iter().fold(metadata, |metadata, name| metadata.without(name));
    (kept, with_metadata(object, bare))
}

fn with_server_fields(object: Value, kept: Vec<(&'static str, Value)>) -> Value {
    let metadata =
        kept.into_iter().fold(metadata(&object), |metadata, (name, value)| metadata.with(name, value));
    with_metadata(&object, metadata)
}

fn metadata(object: &Value) -> Object {
    object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn with_metadata(object: &Value, metadata: Object) -> Value {
    object.as_object().cloned().unwrap_or_default().with("metadata", metadata).into()
}

/// Checks that a configuration sets nothing that can only be replaced as a whole: what it does not name would be lost.
fn check_granular(config: &Value, ty: TypeRef<'_>, profile: Profile) -> Result<(), String> {
    let mut paths = Vec::new();
    find_atomics(FieldPath::root(), config, ty, &mut paths);
    if paths.is_empty() {
        return Ok(());
    }
    let advice = if profile.has(Improvement::ClientErrors) { "; use a JSONPatch" } else { "" };
    Err(format!(
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}{advice}",
        paths.join(", ")
    ))
}

/// Adds the paths of the lists and objects below a value whose type declares them atomic. As in Kubernetes, only declared
/// fields and the items of their lists count: the values of a map and what the schema does not know may be replaced.
fn find_atomics(path: FieldPath<'_>, value: &Value, ty: TypeRef<'_>, paths: &mut Vec<String>) {
    match (value, ty.get()) {
        (Value::Object(_), Type::Map(map)) if map.relation == Relation::Atomic => {
            paths.push(format!(".{path}"))
        }
        (Value::Object(fields), Type::Struct(structure)) => {
            if structure.relation == Relation::Atomic {
                paths.push(format!(".{path}"));
            }
            for (name, value) in fields.iter() {
                if let Some(field) = structure.field(name) {
                    find_atomics(path.field(name), value, ty.slot(&field.slot), paths);
                }
            }
        }
        (Value::Array(items), Type::List(list)) => {
            if list.topology == ListTopology::Atomic {
                paths.push(format!(".{path}"));
            }
            for (at, value) in items.iter().enumerate() {
                find_atomics(path.index(at), value, ty.slot(&list.item), paths);
            }
        }
        (Value::Array(_), Type::Untyped) => paths.push(format!(".{path}")),
        _ => {}
    }
}
