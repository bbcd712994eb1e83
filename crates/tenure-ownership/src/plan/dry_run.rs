//! A plan from a server's answers to a dry run. The values and owners of conflicting fields, which an answer does not
//! contain, are looked up in the live object, so that any server works.

use super::{Conflict, Plan, Verdict};
use crate::{ApplyingManager, LiveObject, Manifest, Refusal, owner::owners_of};
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
    applier: &ApplyingManager,
) -> Plan {
    let verdict = match dry_run {
        DryRun::Applied(after) => Verdict::Applied(after),
        DryRun::Refused(refusal, forced) if refusal.is_conflict() => {
            Verdict::Conflicts(conflicts(&refusal, manifest, before.as_ref()), forced)
        }
        DryRun::Refused(Refusal { message, causes, .. }, _) => {
            let meant = manifest.meant_field(&message);
            let meant = meant.map(|path| format!("; did you mean {path}?")).unwrap_or_default();
            let message = format!("{message}{meant}");
            return Plan { problems: causes, ..Plan::refused(manifest, applier, before, message) };
        }
    };
    Plan::new(manifest, applier, before, verdict)
}

/// Returns the conflicting fields with their values and all their owners, in the order of their paths: that of a kube-apiserver changes
/// from one answer to the next, and a plan that was shown is compared with the one that is carried out.
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
    let mut conflicts: Vec<Conflict> = refusal.conflicting_fields().into_iter().map(conflict).collect();
    conflicts.sort_by(|one, other| one.path.elements().cmp(other.path.elements()));
    conflicts
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForcedFields;
    use tenure_apply::Timestamp;
    use tenure_schema::Schema;
    use tenure_value::Value;

    #[test]
    fn a_plan_does_not_depend_on_the_order_of_an_answer() {
        let ty = Schema::builtin().kind("v1", "ConfigMap").unwrap();
        let config: Value =
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1","b":"2"}}"#
                .parse()
                .unwrap();
        let manifest = Manifest::new(config.clone(), "c.yaml", ty);
        let applier =
            ApplyingManager { manager: "m".into(), force: ForcedFields::None, now: Timestamp::from_unix(0) };
        let plan = |fields: [&str; 2]| {
            let causes = fields.map(|field| {
                format!(r#"{{"reason":"FieldManagerConflict","field":"{field}","message":"conflict"}}"#)
            });
            let status = format!(r#"{{"reason":"Conflict","details":{{"causes":[{}]}}}}"#, causes.join(","));
            let refusal = Refusal::read(409, &status.parse().unwrap());
            let live = LiveObject::read(&config).unwrap();
            from_dry_run(&manifest, Some(live), DryRun::Refused(refusal, None), &applier).to_value()
        };
        assert_eq!(plan([".data.a", ".data.b"]), plan([".data.b", ".data.a"]));
    }
}
