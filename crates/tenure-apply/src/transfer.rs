//! Fields change owners without a change of the object: a manager takes over what others own, everywhere or at some
//! paths, or fields are released.

use crate::{Identity, Manager, Managers, Timestamp};
use tenure_fields::{FieldSet, Path};

/// The result of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The managers afterwards.
    pub managers: Managers,
    /// Selected managers that name their fields at another version than the new owner; they keep them.
    pub left: Managers,
}

/// Moves all fields of the selected managers to the manager of the given identity, which need not exist before. Its
/// time is the given one if it gains any field.
pub fn adopt(
    managers: &Managers,
    to: &Identity<'_>,
    now: Timestamp,
    selected: impl Fn(&Manager) -> bool,
) -> Adoption {
    move_fields(managers, to, now, |manager| match selected(manager) {
        true => (manager.fields.clone(), None),
        false => (FieldSet::default(), Some(manager.clone())),
    })
}

/// Moves what the selected managers own at and below some paths to the manager of the given identity, which need not
/// exist before. Its time is the given one if it gains any field.
pub fn transfer(
    managers: &Managers,
    paths: &[Path],
    to: &Identity<'_>,
    now: Timestamp,
    selected: impl Fn(&Manager) -> bool,
) -> Adoption {
    move_fields(managers, to, now, |manager| match selected(manager) {
        true => (within(&manager.fields, paths), remaining(manager, paths)),
        false => (FieldSet::default(), Some(manager.clone())),
    })
}

/// Takes what the selected managers own at and below some paths away from them. The values stay until a client writes
/// them.
pub fn release(managers: &Managers, paths: &[Path], selected: impl Fn(&Manager) -> bool) -> Managers {
    let left = managers.iter().filter_map(|manager| match selected(manager) {
        true => remaining(manager, paths),
        false => Some(manager.clone()),
    });
    left.collect()
}

/// Moves to one manager what `split` takes from each of the others; `split` also returns what is left of the other.
fn move_fields(
    managers: &Managers,
    to: &Identity<'_>,
    now: Timestamp,
    split: impl Fn(&Manager) -> (FieldSet, Option<Manager>),
) -> Adoption {
    let is_new_owner = |manager: &Manager| manager.identity().is(to) && manager.api_version == to.api_version;
    let (mut kept, mut left) = (Vec::with_capacity(managers.len() + 1), Vec::new());
    let (mut before, mut taken) = (None, FieldSet::default());
    for manager in managers {
        if is_new_owner(manager) {
            before = Some(manager);
            continue;
        }
        let (part, rest) = split(manager);
        if part.is_empty() {
            kept.push(manager.clone());
        } else if manager.api_version != to.api_version {
            left.push(manager.clone());
            kept.push(manager.clone());
        } else {
            taken = taken.union(&part);
            kept.extend(rest);
        }
    }
    let owned = before.map(|before| before.fields.clone()).unwrap_or_default();
    let fields = owned.union(&taken);
    if fields == owned {
        kept.extend(before.cloned());
    } else {
        kept.push(Manager {
            name: to.name.into(),
            operation: to.operation,
            api_version: to.api_version.into(),
            subresource: to.subresource.into(),
            time: Some(now),
            fields,
        });
    }
    Adoption { managers: Managers::new(kept), left: Managers::new(left) }
}

/// Returns the part of a set at and below some paths.
fn within(fields: &FieldSet, paths: &[Path]) -> FieldSet {
    paths.iter().fold(FieldSet::default(), |part, path| part.union(&fields.with_prefix(path)))
}

/// Returns a manager without what is at and below some paths; `None` if nothing is left.
fn remaining(manager: &Manager, paths: &[Path]) -> Option<Manager> {
    let fields = paths.iter().fold(manager.fields.clone(), |fields, path| fields.without_prefix(path));
    (!fields.is_empty()).then(|| Manager { fields, ..manager.clone() })
}
