//! One write of a saved plan, with everything that is needed to show it, to see whether it still holds, and to carry it out.

use super::withheld::{Withholding, has_withheld, is_secret};
use crate::{
    Action, ApplyingManager, ForcedFields, LiveObject, Manifest, OwnershipError, Plan, Target, Verdict,
};
use tenure_apply::Operation;
use tenure_fields::{FieldSet, PathElement};
use tenure_value::{Object, Value};

/// One write.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// The object.
    pub target: Target,
    /// Where the manifest was read; empty if there is none.
    pub source: String,
    /// What is written.
    pub write: PlannedWrite,
    /// The object as the plan saw it; `None` if it did not exist.
    pub before: Option<LiveObject>,
    /// The fields whose values and owners the step relies on.
    pub relies: FieldSet,
    /// What the write does, as [`Plan::to_value`] shows it; values of a Secret are not in it.
    pub preview: Value,
    /// Whether values of a Secret are digests, because the step was read from a document.
    pub(super) withheld: bool,
}

/// What is written to an object.
#[derive(Clone, Debug)]
pub enum PlannedWrite {
    /// A server-side apply.
    Apply {
        /// The configuration.
        config: Value,
        /// The field manager.
        manager: String,
        /// Which conflicting fields are taken.
        force: ForcedFields,
    },
    /// The object gets this content and these owners; it is created if it does not exist.
    Restore(LiveObject),
    /// The object is deleted.
    Delete,
}

impl PlannedWrite {
    /// Returns the word for it.
    pub fn word(&self) -> &'static str {
        match self {
            PlannedWrite::Apply { .. } => "apply",
            PlannedWrite::Restore(_) => "restore",
            PlannedWrite::Delete => "delete",
        }
    }
}

impl PlannedStep {
    /// Returns the step of an apply; `None` if nothing would change. An apply that has conflicts or is refused cannot be kept.
    pub fn apply(
        manifest: &Manifest<'_>,
        applier: &ApplyingManager,
        plan: &Plan,
    ) -> Result<Option<PlannedStep>, OwnershipError> {
        let refuse = |problem: &str| OwnershipError::NotSavable {
            target: plan.target.to_string(),
            problem: problem.to_owned(),
        };
        match plan.action() {
            Action::Unchanged => return Ok(None),
            Action::Conflict => return Err(refuse("it has conflicts; settle them first")),
            Action::Refused => return Err(refuse("the server refuses it")),
            Action::Create | Action::Owners | Action::Change | Action::Delete => {}
        }
        let write = PlannedWrite::Apply {
            config: manifest.config.clone(),
            manager: applier.manager.clone(),
            force: applier.force.clone(),
        };
        let managers = plan.before.iter().flat_map(|before| before.managers.iter());
        let own = managers.filter(|one| one.name == applier.manager && one.operation == Operation::Apply);
        let relies = own.fold(plan.declared.clone(), |fields, own| fields.union(&own.fields));
        Ok(Some(PlannedStep::new(plan, write, manifest.source.clone(), relies)))
    }

    /// Returns the step of a deletion or of a restored state, which `plan` shows; `None` if it shows neither or nothing would change.
    pub fn of_plan(plan: &Plan) -> Option<PlannedStep> {
        let write = match &plan.verdict {
            Verdict::Deleted => PlannedWrite::Delete,
            Verdict::Applied(after) if plan.action() != Action::Unchanged => {
                PlannedWrite::Restore(after.clone())
            }
            _ => return None,
        };
        Some(PlannedStep::new(plan, write, String::new(), FieldSet::default()))
    }

    fn new(plan: &Plan, write: PlannedWrite, source: String, mut relies: FieldSet) -> PlannedStep {
        for difference in &plan.values {
            relies.insert(&difference.path);
        }
        for change in &plan.owners {
            relies = relies.union(&change.gained).union(&change.lost).union(&change.removed);
        }
        // The status is not written by any step.
        let relies = FieldSet::from_nodes(
            relies.nodes().iter().filter(|node| node.element != PathElement::field("status")).cloned(),
        );
        PlannedStep {
            target: plan.target.clone(),
            source,
            write,
            before: plan.before.clone(),
            relies,
            preview: timeless(&plan.to_value()),
            withheld: false,
        }
    }

    /// Whether values of a Secret are digests.
    pub fn is_withheld(&self) -> bool {
        self.withheld && self.is_secret()
    }

    pub(super) fn is_secret(&self) -> bool {
        is_secret(&self.target.api_version, &self.target.kind)
    }

    /// Whether the step has every value that it writes.
    pub fn is_complete(&self) -> bool {
        match &self.write {
            PlannedWrite::Apply { config, .. } => !has_withheld(config),
            PlannedWrite::Restore(after) => !self.is_secret() || !has_withheld(&after.object),
            PlannedWrite::Delete => true,
        }
    }

    /// Puts the values of a Secret back into an apply, from a manifest that must be the one that was planned.
    pub fn complete(&mut self, manifest: &Value, salt: Withholding<'_>) -> Result<(), OwnershipError> {
        if !self.is_withheld() {
            return Ok(());
        }
        let PlannedWrite::Apply { config, .. } = &mut self.write else { return Ok(()) };
        if salt.object(manifest) != *config {
            return Err(OwnershipError::OtherValues { target: self.target.to_string() });
        }
        *config = manifest.clone();
        Ok(())
    }

    /// Whether a manifest describes the object of this step.
    pub fn is_of(&self, manifest: &Manifest<'_>) -> bool {
        let (mine, other) = (&self.target, &manifest.target);
        (&mine.api_version, &mine.kind, &mine.namespace, &mine.name)
            == (&other.api_version, &other.kind, &other.namespace, &other.name)
    }
}

/// Returns a plan as a document without the time of the apply, which is another when it is carried out.
fn timeless(shown: &Value) -> Value {
    let Some(object) = shown.as_object() else { return shown.clone() };
    let owners = object.get("owners").and_then(Value::as_array).into_iter().flat_map(|owners| owners.iter());
    let owners = owners.map(|owner| {
        let owner: Object = owner.as_object().cloned().unwrap_or_default();
        Value::Object(owner.without("time"))
    });
    Value::Object(object.with("owners", Value::array(owners)))
}
