//! Decisions about conflicts. Each turns a conflict into another manifest or into a field to force, with which the apply is
//! planned again.

use crate::{Applier, Conflict, Force, LiveObject, Manifest};
use tenure_apply::Operation;

/// What to do about one conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Take the field: set my value and become its only owner.
    Take,
    /// Leave the value and its owners as they are.
    Theirs,
    /// Own their value together with them.
    Share,
    /// Do not own the field.
    LeaveOut,
}

/// Settles a conflict of an apply on the live object `before`.
pub fn settle(
    settlement: Settlement,
    conflict: &Conflict,
    before: Option<&LiveObject>,
    manifest: &mut Manifest<'_>,
    applier: &mut Applier,
) {
    let owned = before.is_some_and(|before| {
        before.managers.iter().any(|manager| {
            manager.name == applier.manager
                && manager.operation == Operation::Apply
                && manager.fields.has(&conflict.path)
        })
    });
    let settlement = match settlement {
        Settlement::Theirs if owned => Settlement::Share,
        Settlement::Theirs => Settlement::LeaveOut,
        other => other,
    };
    let location = conflict.path.pointer(&manifest.config, manifest.ty);
    let config = match (settlement, location, &conflict.live) {
        (Settlement::Take, ..) => {
            let mut paths = match &applier.force {
                Force::Paths(paths) => paths.clone(),
                _ => Vec::new(),
            };
            paths.push(conflict.path.to_string());
            applier.force = Force::Paths(paths);
            None
        }
        (Settlement::Share, Some(location), Some(live)) => location.replace(&manifest.config, live.clone()),
        (_, Some(location), _) => location.remove(&manifest.config),
        _ => None,
    };
    if let Some(config) = config {
        manifest.config = config;
    }
}
