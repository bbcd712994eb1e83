//! What a plan adds to another plan of the same object: the plan of a pull request without what the manifests of its base do already.

use super::{Conflict, Difference, Plan, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use tenure_apply::OwnershipChange;
use tenure_fields::Path;

impl Plan {
    /// Leaves out what a plan of the same object from other manifests contains, too: the same values, conflicts, owners and findings.
    pub fn beyond(mut self, baseline: &Plan) -> Plan {
        let values: BTreeMap<&Path, &Difference> =
            baseline.values.iter().map(|value| (&value.path, value)).collect();
        self.values.retain(|value| values.get(&value.path) != Some(&value));
        let same = |one: &OwnershipChange, other: &OwnershipChange| {
            one.owner.identity().is(&other.owner.identity())
                && (&one.gained, &one.lost, &one.removed) == (&other.gained, &other.lost, &other.removed)
        };
        self.owners.retain(|change| !baseline.owners.iter().any(|other| same(change, other)));
        let zeros: BTreeSet<&Path> = baseline.zeros.iter().map(|zero| &zero.path).collect();
        self.zeros.retain(|zero| !zeros.contains(&zero.path));
        let lingering: BTreeSet<&Path> = baseline.lingering.iter().map(|field| &field.path).collect();
        self.lingering.retain(|field| !lingering.contains(&field.path));
        self.warnings.retain(|warning| !baseline.warnings.contains(warning));
        let known: BTreeMap<&Path, &Conflict> =
            baseline.conflicts().iter().map(|one| (&one.path, one)).collect();
        let unchanged = self.before.clone().filter(|_| self.values.is_empty() && self.owners.is_empty());
        self.verdict = match self.verdict {
            Verdict::Conflicts(mut conflicts, forced) => {
                conflicts
                    .retain(|one| known.get(&one.path).is_none_or(|other| other.proposed != one.proposed));
                match (conflicts.is_empty(), forced) {
                    (true, Some(forced)) => Verdict::Applied(unchanged.unwrap_or(forced)),
                    (_, forced) => Verdict::Conflicts(conflicts, forced),
                }
            }
            Verdict::Applied(after) => Verdict::Applied(unchanged.unwrap_or(after)),
            refused => refused,
        };
        let left: BTreeSet<Path> = self.conflicts().iter().map(|conflict| conflict.path.clone()).collect();
        for cause in &mut self.causes {
            cause.paths.retain(|path| left.contains(path));
        }
        self.causes.retain(|cause| !cause.paths.is_empty());
        self
    }
}
