//! An explanation of an apply: the rule that decided each path that the configuration declares or no longer declares. It
//! is derived from the inputs and the outcome, so an ordinary apply does not pay for it.

use super::{Force, apply, declare::declared};
use crate::{ApplyError, Live, Manager, Operation, Owner, State, Write, tracking::unowned};
use std::collections::HashMap;
use tenure_fields::{FieldSet, Path};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The rule that decided a part of an object.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ApplyRule {
    /// Declared; the live object had no such field.
    Added,
    /// Declared with another value than the live one; no other manager owned it.
    Set,
    /// Declared with the live value; no other manager owns it.
    Kept,
    /// Declared with the live value, or as the same zero; these own it too.
    Shared(Vec<Owner>),
    /// Declared with another value and taken from these, by force or because `kubectl` applied it before.
    Taken(Vec<Owner>),
    /// Declared with another value than these own: a conflict.
    Contested(Vec<Owner>),
    /// No longer declared, and no other manager owns it: removed.
    Removed,
    /// No longer declared; these owned a part of it that is invalid alone: removed.
    RemovedWith(Vec<Owner>),
    /// No longer declared; it stays because these own it.
    Released(Vec<Owner>),
    /// Declared, but this endpoint takes it from the live object.
    ResetByEndpoint,
}

/// A path and the rule that decided about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Where.
    pub path: Path,
    /// By what.
    pub rule: ApplyRule,
}

/// Every decision of one apply: what is declared in the order of paths, then what was given up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    decisions: Vec<Decision>,
}

impl Trace {
    /// Returns the decisions.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Returns the rule that decided about exactly this path.
    pub fn at(&self, path: &Path) -> Option<&ApplyRule> {
        self.decisions.iter().find(|decision| decision.path == *path).map(|decision| &decision.rule)
    }
}

/// Applies a configuration and says which rule decided about each path it touches; a conflict is traced too.
pub fn apply_traced(
    live: Live<'_>,
    config: &Value,
    write: &Write<'_>,
    force: Force<'_>,
) -> (Result<State, ApplyError>, Trace) {
    let outcome = apply(live, config, write, force);
    let trace = Tracer::new(live, config, write).and_then(|tracer| tracer.trace(&outcome));
    (outcome, trace.unwrap_or_default())
}

struct Tracer<'a> {
    live: Live<'a>,
    config: &'a Value,
    write: &'a Write<'a>,
    ty: TypeRef<'a>,
    declared: FieldSet,
}

impl<'a> Tracer<'a> {
    fn new(live: Live<'a>, config: &'a Value, write: &'a Write<'a>) -> Option<Tracer<'a>> {
        let ty = write.ty().ok()?;
        let declared = unowned::without(&declared(config, ty, &FieldSet::default()).ok()?);
        Some(Tracer { live, config, write, ty, declared })
    }

    fn trace(&self, outcome: &Result<State, ApplyError>) -> Option<Trace> {
        let mut decisions: Vec<Decision> = Vec::new();
        let object = match outcome {
            Ok(state) => &state.object,
            Err(ApplyError::Conflicts(_)) => self.live.object,
            Err(_) => return None,
        };
        let mut contested: HashMap<&Path, &[Owner]> = HashMap::new();
        if let Err(ApplyError::Conflicts(conflicts)) = outcome {
            for conflict in conflicts.iter().rev() {
                contested.insert(&conflict.path, &conflict.owners);
            }
        }
        for path in self.declared.iter() {
            let rule = self.declared_rule(&path, outcome, &contested);
            decisions.push(Decision { path, rule });
        }
        let identity = self.write.identity(Operation::Apply);
        if let (Ok(_), Some(last)) = (outcome, self.live.managers.get(&identity)) {
            for path in last.fields.difference(&self.declared).iter() {
                let owners = self.owners(&path);
                let rule = match (path.resolve(object, self.ty), owners.is_empty()) {
                    (Some(_), _) => ApplyRule::Released(owners),
                    (None, true) => ApplyRule::Removed,
                    (None, false) => ApplyRule::RemovedWith(owners),
                };
                decisions.push(Decision { path, rule });
            }
        }
        Some(Trace { decisions })
    }

    fn declared_rule(
        &self,
        path: &Path,
        outcome: &Result<State, ApplyError>,
        contested: &HashMap<&Path, &[Owner]>,
    ) -> ApplyRule {
        let elements = path.elements();
        let mut alone = FieldSet::default();
        alone.insert(elements);
        if self.write.reset.outside(&alone).is_empty() {
            return ApplyRule::ResetByEndpoint;
        }
        if let Some(owners) = contested.get(path) {
            return ApplyRule::Contested(owners.to_vec());
        }
        let owners = self.owners(path);
        let keeps = |owner: &Owner| match outcome {
            Ok(state) => {
                state.managers.get(&owner.identity()).is_some_and(|manager| manager.fields.has(elements))
            }
            Err(_) => true,
        };
        let (shared, taken): (Vec<Owner>, Vec<Owner>) = owners.into_iter().partition(keeps);
        if !taken.is_empty() {
            return ApplyRule::Taken(taken);
        }
        if !shared.is_empty() {
            return ApplyRule::Shared(shared);
        }
        match (path.resolve(self.live.object, self.ty), path.resolve(self.config, self.ty)) {
            (None, _) => ApplyRule::Added,
            (Some(live), Some(declared)) if live.is_scalar() && !live.same(declared) => ApplyRule::Set,
            (Some(live), Some(declared)) if self.is_leaf(path) && !live.same(declared) => ApplyRule::Set,
            _ => ApplyRule::Kept,
        }
    }

    /// Whether no path below this one is declared.
    fn is_leaf(&self, path: &Path) -> bool {
        self.declared.below(path.elements()).is_empty()
    }

    /// Returns the others who owned a path before the apply, at its version.
    fn owners(&self, path: &Path) -> Vec<Owner> {
        let identity = self.write.identity(Operation::Apply);
        let owns = |manager: &&Manager| {
            !manager.identity().is(&identity)
                && manager.api_version == self.write.api_version
                && manager.fields.has(path.elements())
        };
        self.live.managers.iter().filter(owns).map(Owner::from).collect()
    }
}
