//! Server-side apply: one manager declares all it wants of an object. The declaration is laid over the live
//! object, what the manager declared before and leaves out now goes unless others own it, and whoever owns
//! a field that would change must be asked first, or be forced.

use crate::{
    ApplyError, Conflict, Conflicts, Identity, Live, Manager, Managers, Operation, Owner, Presence, State,
    Write, contest,
    declare::declared,
    last_applied::{self, KUBECTL_MANAGER},
    ledger::{self, Ledger},
    merge::merge,
    prune::{prune, reinstate, restore},
    restate::restated,
    shape::is_zero,
    strip::strip,
    update::track,
};
use tenure_fields::{FieldSet, FieldSetBuilder, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// The manager that stands for what was there before anyone's fields were tracked.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Which contested fields an apply takes without asking.
#[derive(Clone, Copy, Debug, Default)]
pub enum Force<'a> {
    /// None.
    #[default]
    No,
    /// Those at and below these paths.
    Paths(&'a FieldSet),
    /// All.
    All,
}

impl Force<'_> {
    fn takes(&self, path: &[PathElement]) -> bool {
        match self {
            Force::No => false,
            Force::Paths(paths) => (1..=path.len()).any(|end| paths.has(&path[..end])),
            Force::All => true,
        }
    }
}

/// Returns the state after an apply. The object is the merged one: the caller fills in defaults, validates,
/// and then [settles](State::settle) the state.
pub fn apply(
    live: Live<'_>,
    config: &Value,
    write: &Write<'_>,
    force: Force<'_>,
) -> Result<State, ApplyError> {
    let ty = write.ty()?;
    if config.at(["metadata", "managedFields"]).is_some_and(|sent| !sent.is_null()) {
        return Err(ApplyError::ManagersSent);
    }
    let managers = if live.managers.is_empty() && live.presence == Presence::Stored {
        track(write.empty, live.object, live.managers, write, BEFORE_FIRST_APPLY)?
    } else {
        ledger::current(live.object, live.managers, write)?
    };
    let identity = write.identity(Operation::Apply);
    let last = managers.get(&identity).cloned();
    let known = last.as_ref().map(|last| last.fields.clone()).unwrap_or_default();
    let let_through = write.reset.let_through(config);
    let comparable = identity.name != KUBECTL_MANAGER
        && last.as_ref().is_some_and(|last| last.api_version == write.api_version);
    let (declared, fields, merged) =
        match comparable.then(|| restated(config, live.object, &known, ty)).flatten() {
            Some(merged) if merged.ptr_eq(live.object) => return Ok(State { object: merged, managers }),
            Some(merged) if let_through.ptr_eq(config) => (known.clone(), known, merged),
            _ => {
                // Whoever applies for the first time often applies what another applies, so that their sets are one.
                let similar = if last.is_some() {
                    &known
                } else {
                    managers.iter().map(|m| &m.fields).next().unwrap_or(&known)
                };
                let declared = write.reset.outside(&declared(config, ty, similar)?);
                let fields = strip(&declared);
                let fields = if fields == *similar { similar.clone() } else { fields };
                (declared, fields, merge(live.object, &let_through, ty))
            }
        };
    let state = Applied {
        live: live.object,
        config,
        let_through,
        merged,
        ty,
        write,
        identity,
        managers: &managers,
        last,
        declared,
        fields,
    };
    let untracked = live.managers.is_empty() && state.fields.is_empty();
    match state.carry_out(force) {
        // Nothing of what lives came from anywhere but from saying this before, which nobody comes to own.
        Ok(_) if untracked && merge(write.empty, config, ty) == *live.object => {
            Ok(State { object: live.object.clone(), managers: live.managers.clone() })
        }
        Err(ApplyError::Conflicts(conflicts)) if identity.name == KUBECTL_MANAGER => state.inherit(conflicts),
        outcome => outcome,
    }
}

/// An apply whose declaration has been read.
struct Applied<'a> {
    live: &'a Value,
    config: &'a Value,
    /// The configuration without what this endpoint resets.
    let_through: Value,
    /// What that makes of the live object.
    merged: Value,
    ty: TypeRef<'a>,
    write: &'a Write<'a>,
    identity: Identity<'a>,
    managers: &'a Managers,
    /// The applier as it was.
    last: Option<Manager>,
    /// What it declares now, with what nobody may own.
    declared: FieldSet,
    /// What it comes to own.
    fields: FieldSet,
}

impl Applied<'_> {
    fn carry_out(&self, force: Force<'_>) -> Result<State, ApplyError> {
        let object = self.pruned(&self.merged)?;
        let mut ledger = Ledger::new(self.write, self.live, &object);
        let mut after = Managers::default();
        let mut contested = Vec::new();
        let unchanged = object.ptr_eq(self.live) || object == *self.live;
        for manager in self.others() {
            if unchanged {
                after.put(manager.clone());
                continue;
            }
            let Some(difference) = ledger.difference(&manager.api_version)? else { continue };
            let (lost, conflicts) = self.claims(manager, &difference.written, &ledger, force);
            let left = manager.fields.difference(&lost).difference(&difference.removed);
            contested.push((Owner::from(manager), conflicts));
            if !left.is_empty() {
                after.put(manager.with_fields(left));
            }
        }
        if let Some(conflicts) = Conflicts::gather(contested) {
            return Err(ApplyError::Conflicts(conflicts));
        }
        if !self.fields.is_empty() {
            after.put(Manager {
                name: self.identity.name.into(),
                operation: Operation::Apply,
                api_version: self.identity.api_version.into(),
                subresource: self.identity.subresource.into(),
                // An apply that changes nothing of the object leaves the time as it was, or unknown.
                time: if unchanged && self.asks_nothing() {
                    self.last.as_ref().and_then(|last| last.time)
                } else {
                    Some(self.write.now)
                },
                fields: self.fields.clone(),
            });
        }
        after.sort();
        let object = if unchanged { self.live.clone() } else { object };
        let current = (self.identity.name == KUBECTL_MANAGER)
            .then(|| last_applied::brought_up_to_date(&object, self.config));
        Ok(State { object: current.flatten().unwrap_or(object), managers: after })
    }

    /// Whether not even fields that this endpoint resets would change the object.
    fn asks_nothing(&self) -> bool {
        self.let_through.ptr_eq(self.config) || merge(self.live, self.config, self.ty) == *self.live
    }

    /// What `kubectl` applied from the client it may take over without asking, if that settles everything.
    fn inherit(&self, conflicts: Conflicts) -> Result<State, ApplyError> {
        let inherited = last_applied::inheritance(self.live, self.ty, self.write);
        match conflicts.without(&inherited) {
            Some(rest) => Err(ApplyError::Conflicts(rest)),
            None => self.carry_out(Force::All),
        }
    }

    fn others(&self) -> impl Iterator<Item = &Manager> {
        self.managers.iter().filter(|manager| !manager.identity().is(&self.identity))
    }

    /// Returns the merged object without what the applier has left out since its last apply.
    fn pruned(&self, merged: &Value) -> Result<Value, ApplyError> {
        let Some(last) = self.last.as_ref().filter(|last| !last.fields.is_subset(&self.fields)) else {
            return Ok(merged.clone());
        };
        let (was, is) = (last.api_version.as_str(), self.write.api_version);
        let mut owned: Vec<(Text, FieldSet)> = vec![(is.into(), self.declared.clone())];
        for manager in self.others() {
            match owned.iter_mut().find(|(version, _)| *version == manager.api_version) {
                Some((_, fields)) => *fields = fields.union(&manager.fields),
                None => owned.push((manager.api_version.clone(), manager.fields.clone())),
            }
        }
        let at = |object: &Value, from: &str, to: &str| -> Result<Option<Value>, ApplyError> {
            if from == to {
                return Ok(Some(object.clone()));
            }
            if self.write.versions.type_of(to).is_none() {
                return Ok(None);
            }
            let failed = |problem| ApplyError::Conversion { api_version: to.into(), problem };
            self.write.versions.convert(object, to).map(Some).map_err(failed)
        };
        // What was declared at a version that is gone cannot be told any more, so it stays.
        let (Some(full), Some(ty)) = (at(merged, is, was)?, self.write.versions.type_of(was)) else {
            return Ok(merged.clone());
        };
        let none = FieldSet::default();
        let held_then = owned.iter().find(|(version, _)| version == was).map_or(&none, |(_, fields)| fields);
        let mut pruned = prune(&full, ty, &last.fields, held_then, self.write.versions.emptied());
        let mut version = was;
        for (other, fields) in owned.iter().filter(|(other, fields)| other != was && !fields.is_empty()) {
            let Some(ty) = self.write.versions.type_of(other) else { continue };
            if let (Some(full), Some(then)) = (at(merged, is, other)?, at(&pruned, version, other)?) {
                pruned = restore(&full, &then, ty, fields);
                version = other;
            }
        }
        if version != was {
            let Some(then) = at(&pruned, version, was)? else { return Ok(merged.clone()) };
            pruned = reinstate(&full, Some(&then), ty, &last.fields);
        }
        let pruned = at(&pruned, was, is)?.unwrap_or_else(|| merged.clone());
        // A part that is declared empty or null and has lost what others had put there is now just that.
        Ok(merge(&pruned, &self.let_through, self.ty))
    }

    /// Returns what another manager loses to this apply, and what it must be asked for.
    fn claims(
        &self,
        manager: &Manager,
        written: &FieldSet,
        ledger: &Ledger<'_>,
        force: Force<'_>,
    ) -> (FieldSet, Vec<Conflict>) {
        let touched = manager.fields.intersection(written);
        if touched.is_empty() {
            return (touched, Vec::new());
        }
        let (live, new) = ledger.objects(&manager.api_version);
        let ty = self.write.versions.type_of(&manager.api_version).unwrap_or_else(TypeRef::untyped);
        let (mut shared, mut conflicts) = (FieldSetBuilder::new(), Vec::new());
        contest::visit(&touched, (live, new), ty, |path, live, proposed| {
            // Both declare that there is nothing: the owner's zero was left out when the object was stored.
            if live.is_none() && proposed.is_none_or(is_zero) {
                shared.insert(path.elements());
            } else if !force.takes(path.elements()) {
                let (live, proposed) = (live.cloned(), proposed.cloned());
                conflicts.push(Conflict { path: path.clone(), owners: Vec::new(), live, proposed });
            }
        });
        let lost = touched.difference(&shared.finish());
        (lost, conflicts)
    }
}
