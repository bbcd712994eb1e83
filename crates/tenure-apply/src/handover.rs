//! Single fields change hands, or are let go. As with an adoption the object is not touched: only who owns what.

use crate::{Adoption, Identity, Manager, Managers, Timestamp};
use tenure_fields::{FieldSet, Path};

/// Moves what some managers own at and below some paths to one of the given identity, which need not exist before.
/// Its time is the given one if it comes to own anything new.
pub fn transfer(
    managers: &Managers,
    paths: &[Path],
    heir: &Identity<'_>,
    now: Timestamp,
    meant: impl Fn(&Manager) -> bool,
) -> Adoption {
    let is_heir = |manager: &Manager| manager.identity().is(heir) && manager.api_version == heir.api_version;
    let (mut kept, mut left) = (Vec::with_capacity(managers.len() + 1), Vec::new());
    let (mut before, mut taken) = (None, FieldSet::default());
    for manager in managers {
        if is_heir(manager) {
            before = Some(manager);
            continue;
        }
        let part = if meant(manager) { within(&manager.fields, paths) } else { FieldSet::default() };
        if part.is_empty() {
            kept.push(manager.clone());
        } else if manager.api_version != heir.api_version {
            left.push(manager.clone());
            kept.push(manager.clone());
        } else {
            taken = taken.union(&part);
            kept.extend(remaining(manager, paths));
        }
    }
    let owned = before.map(|before| before.fields.clone()).unwrap_or_default();
    let fields = owned.union(&taken);
    if fields == owned {
        kept.extend(before.cloned());
    } else {
        kept.push(Manager {
            name: heir.name.into(),
            operation: heir.operation,
            api_version: heir.api_version.into(),
            subresource: heir.subresource.into(),
            time: Some(now),
            fields,
        });
    }
    Adoption { managers: Managers::new(kept), left: Managers::new(left) }
}

/// Takes what some managers own at and below some paths away from them. What nobody owns then stays as it is until
/// somebody writes it.
pub fn release(managers: &Managers, paths: &[Path], meant: impl Fn(&Manager) -> bool) -> Managers {
    let left = managers.iter().filter_map(|manager| match meant(manager) {
        true => remaining(manager, paths),
        false => Some(manager.clone()),
    });
    left.collect()
}

/// Returns the part of a set at and below some paths.
fn within(fields: &FieldSet, paths: &[Path]) -> FieldSet {
    paths.iter().fold(FieldSet::default(), |part, path| part.union(&fields.with_prefix(path)))
}

/// Returns a manager without what is at and below some paths, unless nothing is left.
fn remaining(manager: &Manager, paths: &[Path]) -> Option<Manager> {
    let fields = paths.iter().fold(manager.fields.clone(), |fields, path| fields.without_prefix(path));
    (!fields.is_empty()).then(|| Manager { fields, ..manager.clone() })
}
