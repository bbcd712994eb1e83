//! What a plan says beside what happens: zeros that a typed client may have written without meaning them, and fields
//! that are left out of the manifest and stay, because another manager holds them.

use super::holders_of;
use crate::live::LiveObject;
use tenure_apply::{Identity, LAST_APPLIED, Managers, Operation, Owner, ownership};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::{Slot, Type, TypeRef};
use tenure_value::{Limits, Value, json};

/// The managers under which manifests were written from the client: by `kubectl apply` and `kubectl create`, and before
/// anyone's fields were tracked.
pub const CLIENT_SIDE: [&str; 4] =
    ["kubectl-client-side-apply", "kubectl-last-applied", "kubectl-create", "before-first-apply"];

/// A zero that would be claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Zero {
    /// The field.
    pub path: Path,
    /// The zero: `0`, `false`, `""`, `{}`, `[]` or `null`.
    pub value: Value,
}

/// A field that is left out and stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Lingering {
    /// The field.
    pub path: Path,
    /// Those who hold it.
    pub holders: Vec<Owner>,
}

/// Returns the zeros of a manifest that its manager does not hold yet. An empty object counts only where a typed client
/// would write it without being asked; elsewhere, as in `emptyDir: {}`, it says something.
pub fn zeros(config: &Value, ty: TypeRef<'_>, manager: &str, before: Option<&LiveObject>) -> Vec<Zero> {
    let held = before.and_then(|live| held_by(&live.managers, manager, live.api_version()));
    let held = held.unwrap_or_default();
    let nobody = Managers::default();
    let leaves = ownership(config, &nobody, ty).into_iter();
    let accidental = leaves.filter(|leaf| {
        let written_unasked =
            || slot_of(&leaf.path, ty).and_then(|slot| slot.default.as_ref()) == Some(&leaf.value);
        match &leaf.value {
            Value::Null | Value::Bool(false) | Value::Int(0) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => object.is_empty() && written_unasked(),
            _ => false,
        }
    });
    let new = accidental.filter(|leaf| !held.has(&leaf.path));
    new.map(|leaf| Zero { path: leaf.path, value: leaf.value }).collect()
}

/// Returns the position in its type where a path ends.
fn slot_of<'s>(path: &Path, ty: TypeRef<'s>) -> Option<&'s Slot> {
    let (last, way) = path.split_last()?;
    let mut of = ty;
    for element in way {
        of = match element {
            PathElement::Field(name) => of.below(name)?,
            _ => of.item()?,
        };
    }
    match (of.get(), last) {
        (Type::Struct(of), PathElement::Field(name)) => of.field(name).map(|field| &field.slot),
        (Type::Map(map), _) => Some(&map.value),
        (Type::List(list), _) => Some(&list.item),
        _ => None,
    }
}

/// Returns the fields that a manager declared before, or that were applied from the client, and that the manifest leaves
/// out, but that would still be there afterwards.
pub fn lingering(
    config: &Value,
    ty: TypeRef<'_>,
    manager: &str,
    before: Option<&LiveObject>,
    after: Option<&LiveObject>,
) -> Vec<Lingering> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let declared = FieldSet::of(config, ty).unwrap_or_default();
    let mut given_up = held_by(&before.managers, manager, before.api_version()).unwrap_or_default();
    for other in before.managers.iter().filter(|other| CLIENT_SIDE.contains(&other.name.as_str())) {
        given_up = given_up.union(&other.fields);
    }
    given_up = given_up.union(&last_applied(before, ty)).difference(&declared);
    let stays = |path: &Path| path.resolve(&after.object, ty).is_some() && !is_annotation(path);
    let mut found: Vec<Lingering> = Vec::new();
    for path in given_up.leaves().iter().filter(stays) {
        let holders = holders_of(&after.managers, &path);
        let others: Vec<Owner> = holders
            .into_iter()
            .filter(|holder| holder.name != manager || holder.operation != Operation::Apply)
            .collect();
        if !others.is_empty() {
            found.push(Lingering { path, holders: others });
        }
    }
    found
}

fn held_by(managers: &Managers, manager: &str, api_version: &str) -> Option<FieldSet> {
    let identity = Identity { name: manager, operation: Operation::Apply, api_version, subresource: "" };
    managers.get(&identity).map(|manager| manager.fields.clone())
}

/// Returns what the annotation of `kubectl apply` declares.
fn last_applied(live: &LiveObject, ty: TypeRef<'_>) -> FieldSet {
    let text = live.object.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
    let applied = text.and_then(|text| json::parse(text.as_bytes(), &Limits::default()).ok());
    applied.and_then(|applied| FieldSet::of(&applied, ty).ok()).unwrap_or_default()
}

/// Whether a path is what nobody means to remove: what `kubectl` keeps for itself, or what tells the object apart.
fn is_annotation(path: &Path) -> bool {
    super::leads_along(path, &["metadata", "annotations", LAST_APPLIED])
        || super::leads_along(path, &["metadata", "name"])
        || super::leads_along(path, &["metadata", "namespace"])
        || super::leads_along(path, &["apiVersion"])
        || super::leads_along(path, &["kind"])
}
