//! A plan from a server's answers to a dry run. The values and owners of conflicting fields, which an answer does not
//! contain, are looked up in the live object, so that any server works.

use super::{Conflict, Plan, Verdict};
use crate::{Applier, LiveObject, Manifest, Refusal, owner::owners_of};
use tenure_fields::Path;

/// The answer to a dry run.
#[derive(Clone, Debug)]
pub enum DryRun {
    /// The object after the apply.
    Applied(LiveObject),
    /// The apply is refused; if only for conflicts, the object after an apply with force.
    Refused(Refusal, Option<LiveObject>),
}

/// Returns the plan that a dry run shows.
pub fn from_dry_run(
    manifest: &Manifest<'_>,
    before: Option<LiveObject>,
    dry_run: DryRun,
    applier: &Applier,
) -> Plan {
    let verdict = match dry_run {
        DryRun::Applied(after) => Verdict::Applied(after),
        DryRun::Refused(refusal, forced) if refusal.is_conflict() => {
            Verdict::Conflicts(conflicts(&refusal, manifest, before.as_ref()), forced)
        }
        DryRun::Refused(Refusal { message, causes, .. }, _) => {
            return Plan { problems: causes, ..Plan::refused(manifest, applier, before, message) };
        }
    };
    Plan::new(manifest, applier, before, verdict)
}

/// Returns the conflicting fields with their values and all their owners.
fn conflicts(refusal: &Refusal, manifest: &Manifest<'_>, before: Option<&LiveObject>) -> Vec<Conflict> {
    let live = before.map(|before| &before.object);
    let conflict = |field: &str| {
        let path = Path::parse_in(field, manifest.ty, live)
            .or_else(|_| Path::parse_in(field, manifest.ty, Some(&manifest.config)))
            .unwrap_or_default();
        Conflict {
            owners: before.map(|before| owners_of(&before.managers, &path)).unwrap_or_default(),
            live: live.and_then(|live| path.resolve(live, manifest.ty)).cloned(),
            proposed: path.resolve(&manifest.config, manifest.ty).cloned(),
            path,
        }
    };
    refusal.conflicting_fields().into_iter().map(conflict).collect()
}

/// Whether every conflicting field is at or below one of the given paths.
pub fn conflicts_within(
    refusal: &Refusal,
    paths: &[String],
    manifest: &Manifest<'_>,
    before: &LiveObject,
) -> bool {
    let read = |text: &str| Path::parse_in(text, manifest.ty, Some(&before.object)).ok();
    let paths: Vec<Path> = paths.iter().filter_map(|path| read(path)).collect();
    let within = |field: Path| paths.iter().any(|path| field.starts_with(path));
    refusal.conflicting_fields().into_iter().all(|field| read(field).is_some_and(within))
}
