//! The result of a server-side apply before it happens. A [`Plan`] describes one object; it is computed from the live
//! object alone ([`offline`]) or from a server's answer to a dry run ([`from_dry_run`]).

mod baseline;
mod difference;
pub(crate) mod document;
mod dry_run;
mod findings;
mod offline;
mod others;

pub use crate::client_side::CLIENT_SIDE_MANAGERS;
pub use difference::{Difference, differences};
pub use dry_run::{DryRun, conflicts_within, from_dry_run};
pub use findings::{Lingering, ZeroValue};
pub use offline::offline;

use crate::{ApplyingManager, Cause, Conflict, Diagnosis, LiveObject, Manifest, Target, diagnosis::diagnose};
use tenure_apply::{Managers, OwnershipChange, State, ownership_changes};
use tenure_fields::FieldSet;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// What an apply would do to one object.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The object.
    pub target: Target,
    /// The live object; `None` if it does not exist.
    pub before: Option<LiveObject>,
    /// The result.
    pub verdict: Verdict,
    /// The values that change; with force, if there are conflicts.
    pub values: Vec<Difference>,
    /// The fields that each manager gains and loses; with force, if there are conflicts.
    pub owners: Vec<OwnershipChange>,
    /// Why there are conflicts, and what settles them.
    pub causes: Vec<Diagnosis>,
    /// Zero values that the apply would claim.
    pub zeros: Vec<ZeroValue>,
    /// Fields that the manifest leaves out and that stay.
    pub lingering: Vec<Lingering>,
    /// Warnings of the server.
    pub warnings: Vec<String>,
    /// What a server that refuses the apply names as wrong, field by field.
    pub problems: Vec<Cause>,
    /// The fields of the manifest.
    pub declared: FieldSet,
}

/// The result of an apply.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It succeeds and leaves this object.
    Applied(LiveObject),
    /// It has conflicts; with force it would leave this object.
    Conflicts(Vec<Conflict>, Option<LiveObject>),
    /// It is refused for another reason.
    Refused(String),
    /// It is not an apply: the object is deleted.
    Deleted,
}

/// What happens to an object, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing changes.
    Unchanged,
    /// The object is created.
    Create,
    /// The values stay and the owners change.
    Owners,
    /// Values change.
    Change,
    /// The object is deleted.
    Delete,
    /// There are conflicts.
    Conflict,
    /// The apply is refused.
    Refused,
}

impl Action {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Action::Unchanged => "unchanged",
            Action::Create => "create",
            Action::Owners => "owners change",
            Action::Change => "change",
            Action::Delete => "delete",
            Action::Conflict => "conflict",
            Action::Refused => "refused",
        }
    }
}

impl Plan {
    /// Completes a verdict with everything that follows from it.
    pub fn new(
        manifest: &Manifest<'_>,
        applier: &ApplyingManager,
        before: Option<LiveObject>,
        verdict: Verdict,
    ) -> Plan {
        let after = match &verdict {
            Verdict::Applied(after) => Some(after),
            Verdict::Conflicts(_, after) => after.as_ref(),
            Verdict::Refused(_) | Verdict::Deleted => None,
        };
        let live = before.as_ref();
        let causes = match (&verdict, live) {
            (Verdict::Conflicts(conflicts, _), Some(live)) => diagnose(conflicts, manifest, live, applier),
            _ => Vec::new(),
        };
        let owners = |after: &LiveObject| {
            let missing =
                || State { object: Value::Object(Default::default()), managers: Managers::default() };
            let all =
                ownership_changes(&live.map_or_else(missing, LiveObject::state), &after.state(), manifest.ty);
            all.into_iter().filter(|change| !change.is_empty()).collect()
        };
        let values =
            |after: &LiveObject| differences(live.map(|live| &live.object), &after.object, manifest.ty);
        Plan {
            target: manifest.target.clone(),
            values: after.map(values).unwrap_or_default(),
            owners: after.map(owners).unwrap_or_default(),
            causes,
            zeros: findings::zero_values(manifest, &applier.manager, live),
            lingering: findings::lingering(manifest, &applier.manager, live, after),
            warnings: Vec::new(),
            problems: Vec::new(),
            declared: FieldSet::of(&manifest.config, manifest.ty).unwrap_or_default(),
            before,
            verdict,
        }
    }

    /// Returns the plan of an apply that is refused; the message names the source of the manifest.
    pub fn refused(
        manifest: &Manifest<'_>,
        applier: &ApplyingManager,
        before: Option<LiveObject>,
        problem: impl std::fmt::Display,
    ) -> Plan {
        let message = format!("{}: {problem}", manifest.source);
        Plan::new(manifest, applier, before, Verdict::Refused(message))
    }

    /// Returns the plan of a deletion.
    pub fn deletion(target: Target, before: LiveObject) -> Plan {
        Plan::bare(target, Some(before), Verdict::Deleted)
    }

    /// Returns the plan that gives an object the content and the owners of another state of it, or creates it.
    pub fn restoration(
        target: Target,
        before: Option<LiveObject>,
        after: LiveObject,
        ty: TypeRef<'_>,
    ) -> Plan {
        let none = || LiveObject { object: Value::Object(Default::default()), managers: Managers::default() };
        let old = before.clone().unwrap_or_else(none);
        let owners = ownership_changes(&old.state(), &after.state(), ty);
        let owners = owners.into_iter().filter(|change| !change.is_empty()).collect();
        let values = differences(before.as_ref().map(|live| &live.object), &after.object, ty);
        Plan { values, owners, ..Plan::bare(target, before, Verdict::Applied(after)) }
    }

    fn bare(target: Target, before: Option<LiveObject>, verdict: Verdict) -> Plan {
        Plan {
            target,
            before,
            verdict,
            values: Vec::new(),
            owners: Vec::new(),
            causes: Vec::new(),
            zeros: Vec::new(),
            lingering: Vec::new(),
            warnings: Vec::new(),
            problems: Vec::new(),
            declared: FieldSet::default(),
        }
    }

    /// Adds warnings of the server.
    pub fn with_warnings(mut self, warnings: Vec<String>) -> Plan {
        self.warnings.extend(warnings);
        self
    }

    /// Returns what happens, in one word.
    pub fn action(&self) -> Action {
        match (&self.verdict, &self.before) {
            (Verdict::Refused(_), _) => Action::Refused,
            (Verdict::Deleted, _) => Action::Delete,
            (Verdict::Conflicts(..), _) => Action::Conflict,
            (Verdict::Applied(_), None) => Action::Create,
            (Verdict::Applied(_), Some(_)) if !self.values.is_empty() => Action::Change,
            (Verdict::Applied(after), Some(before)) if !before.managers.same_fields(&after.managers) => {
                Action::Owners
            }
            (Verdict::Applied(_), Some(_)) => Action::Unchanged,
        }
    }

    /// Returns the object after the apply; with force, if there are conflicts.
    pub fn after(&self) -> Option<&LiveObject> {
        match &self.verdict {
            Verdict::Applied(after) => Some(after),
            Verdict::Conflicts(_, after) => after.as_ref(),
            Verdict::Refused(_) | Verdict::Deleted => None,
        }
    }

    /// Returns the conflicts; none if there is another verdict.
    pub fn conflicts(&self) -> &[Conflict] {
        match &self.verdict {
            Verdict::Conflicts(conflicts, _) => conflicts,
            _ => &[],
        }
    }
}
