//! Several managers become one: the way out of fields that an old name still owns. The object is not
//! touched, so nothing changes for anyone but the bookkeeping.

use crate::{Identity, Manager, Managers, Timestamp};

/// What became of an adoption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The managers afterwards.
    pub managers: Managers,
    /// Managers that were meant but name their fields at another version than the heir; they stay.
    pub left: Managers,
}

/// Merges all managers that are meant into one of the given identity, which need not exist before. Its time
/// is the given one if it comes to own anything new.
pub fn adopt(
    managers: &Managers,
    heir: &Identity<'_>,
    now: Timestamp,
    meant: impl Fn(&Manager) -> bool,
) -> Adoption {
    let is_heir = |manager: &Manager| manager.identity().is(heir) && manager.api_version == heir.api_version;
    let mut kept: Vec<Manager> = Vec::with_capacity(managers.len());
    let mut left: Vec<Manager> = Vec::new();
    let mut fields = Default::default();
    let mut before: Option<Manager> = None;
    for manager in managers {
        if is_heir(manager) {
            before = Some(manager.clone());
        } else if !meant(manager) {
            kept.push(manager.clone());
            continue;
        } else if manager.api_version != heir.api_version {
            left.push(manager.clone());
            kept.push(manager.clone());
            continue;
        }
        fields = manager.fields.union(&fields);
    }
    if !fields.is_empty() {
        let unchanged = before.filter(|before| before.fields == fields);
        kept.push(unchanged.unwrap_or_else(|| Manager {
            name: heir.name.into(),
            operation: heir.operation,
            api_version: heir.api_version.into(),
            subresource: heir.subresource.into(),
            time: Some(now),
            fields,
        }));
    }
    Adoption { managers: Managers::new(kept), left: Managers::new(left) }
}
