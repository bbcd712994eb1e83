//! A bound on the number of updaters. Appliers are asked for what they own, so they stay; of updaters
//! beyond the bound, the oldest are folded into one bucket for each version.

use crate::{Manager, Managers, Operation};
use tenure_value::Text;

/// How many updaters an object keeps apart.
pub const MAX_UPDATERS: usize = 10;

/// The name of the manager that stands for the oldest updaters.
pub const ANCIENT_CHANGES: &str = "ancient-changes";

/// Folds the oldest updaters together until the limit holds or no two of one version are left to fold.
pub(crate) fn cap(managers: &mut Managers) {
    let is_updater = |manager: &&Manager| manager.operation == Operation::Update;
    let mut updaters: Vec<Manager> = managers.iter().filter(is_updater).cloned().collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATERS {
        return;
    }
    updaters.sort_by(|a, b| {
        let oldest = |manager: &Manager| manager.time.map_or(0, |time| time.unix());
        oldest(a)
            .cmp(&oldest(b))
            .then_with(|| a.name.cmp(&b.name))
            .then_with(|| a.api_version.cmp(&b.api_version))
            .then_with(|| a.subresource.cmp(&b.subresource))
    });
    let mut first_of: Vec<(Text, Manager)> = Vec::new();
    for manager in updaters {
        if count <= MAX_UPDATERS {
            break;
        }
        let version = manager.api_version.clone();
        let Some((_, first)) = first_of.iter().find(|(seen, _)| *seen == version) else {
            first_of.push((version, manager));
            continue;
        };
        let bucket = Manager {
            name: Text::new_static(ANCIENT_CHANGES),
            operation: Operation::Update,
            api_version: version,
            subresource: Text::default(),
            time: manager.time,
            fields: manager.fields.clone(),
        };
        let before = match managers.get(&bucket.identity()) {
            Some(bucket) => bucket.fields.clone(),
            None => managers.remove(&first.identity()).map(|first| first.fields).unwrap_or_default(),
        };
        managers.remove(&manager.identity());
        managers.put(Manager { fields: manager.fields.union(&before), ..bucket });
        count -= 1;
    }
}
