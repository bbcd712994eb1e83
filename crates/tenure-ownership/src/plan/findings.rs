//! Warnings of a plan: zero values that a typed client may have serialized unintentionally, and fields that are missing
//! from the manifest but stay in the object because another manager owns them.

use crate::{
    LiveObject, Manifest,
    client_side::CLIENT_SIDE_MANAGERS,
    default_value::default_at,
    owner::{Owner, owners_of},
    path::{is_last_applied, is_server_maintained, is_status},
};
use tenure_apply::{Identity, LAST_APPLIED, Managers, Operation, ownership};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Limits, Value, json};

/// A zero value that the apply would claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ZeroValue {
    /// The field.
    pub path: Path,
    /// The value: `0`, `false`, `""`, `{}`, `[]` or `null`.
    pub value: Value,
}

/// A field that the manifest leaves out and that stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Lingering {
    /// The field.
    pub path: Path,
    /// The managers that keep it.
    pub owners: Vec<Owner>,
}

/// Returns the zero values of a manifest that its manager does not own yet. An empty object counts only where a typed
/// client serializes it by default; elsewhere, as in `emptyDir: {}`, it is intended.
pub fn zero_values(manifest: &Manifest<'_>, manager: &str, before: Option<&LiveObject>) -> Vec<ZeroValue> {
    let owned = before.and_then(|live| owned_by(live, manager)).unwrap_or_default();
    let leaves = ownership(&manifest.config, &Managers::default(), manifest.ty).into_iter();
    let zero = leaves.filter(|leaf| match &leaf.value {
        Value::Null | Value::Bool(false) | Value::Int(0) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => {
            object.is_empty() && default_at(&leaf.path, manifest.ty) == Some(&leaf.value)
        }
        _ => false,
    });
    // An apply owns neither what the server maintains nor the status, which generated manifests often have as `{}` or `null`.
    let claimed = |path: &Path| !is_server_maintained(path) && !is_status(path);
    let new = zero.filter(|leaf| !owned.has(&leaf.path) && claimed(&leaf.path));
    new.map(|leaf| ZeroValue { path: leaf.path, value: leaf.value }).collect()
}

/// Returns the fields that the manager or client-side apply declared before, that the manifest leaves out, and that are
/// still in the object afterwards.
pub fn lingering(
    manifest: &Manifest<'_>,
    manager: &str,
    before: Option<&LiveObject>,
    after: Option<&LiveObject>,
) -> Vec<Lingering> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let declared = FieldSet::of(&manifest.config, manifest.ty).unwrap_or_default();
    let mut left_out = owned_by(before, manager).unwrap_or_default();
    for other in before.managers.iter().filter(|other| CLIENT_SIDE_MANAGERS.contains(&other.name.as_str())) {
        left_out = left_out.union(&other.fields);
    }
    left_out = left_out.union(&last_applied(before, manifest.ty)).difference(&declared);
    let stays = |path: &Path| {
        path.resolve(&after.object, manifest.ty).is_some()
            && !is_last_applied(path)
            && !is_annotations(path)
            && !is_server_maintained(path)
    };
    let kept_by = |path: Path| {
        let mut owners = owners_of(&after.managers, &path);
        owners.retain(|owner| owner.name != manager || owner.operation != Operation::Apply);
        (!owners.is_empty()).then_some(Lingering { path, owners })
    };
    left_out.leaves().iter().filter(stays).filter_map(kept_by).collect()
}

/// Whether a path is that of all annotations: who owned the last one that is left, such as that of client-side apply, owns them, too.
fn is_annotations(path: &Path) -> bool {
    *path == ["metadata", "annotations"].map(PathElement::field).into_iter().collect()
}

fn owned_by(live: &LiveObject, manager: &str) -> Option<FieldSet> {
    let identity = Identity {
        name: manager,
        operation: Operation::Apply,
        api_version: live.api_version(),
        subresource: "",
    };
    live.managers.get(&identity).map(|manager| manager.fields.clone())
}

/// Returns what the annotation of `kubectl apply` declares.
fn last_applied(live: &LiveObject, ty: TypeRef<'_>) -> FieldSet {
    let text = live.object.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
    let applied = text.and_then(|text| json::parse(text.as_bytes(), &Limits::default()).ok());
    applied.and_then(|applied| FieldSet::of(&applied, ty).ok()).unwrap_or_default()
}
