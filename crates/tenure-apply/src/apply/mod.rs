//! Server-side apply: one manager declares everything it wants of an object. [`apply`] is the whole algorithm, from
//! top to bottom; each step has a file of its own:
//!
//! 1. read the set of fields that the configuration declares ([`declare`]), or recognise that it is the set of the
//!    last apply ([`fast_path`]);
//! 2. merge the configuration into the live object ([`merge`]);
//! 3. remove what the manager declared last time, omits now, and no other manager owns ([`prune`]);
//! 4. compare the result with the live object at every version that some manager uses, and find the fields that
//!    change and have other owners ([`contested`]): they are conflicts unless the apply is forced;
//! 5. record the new owners.

mod contested;
mod declare;
mod fast_path;
mod kubectl;
mod merge;
mod prune;
mod trace;
mod union;

pub use kubectl::LAST_APPLIED;
pub use trace::{ApplyRule, Decision, Trace, apply_traced};

use crate::{
    ApplyError, Conflict, Conflicts, Emptied, Evolution, Identity, Live, Manager, Managers, Operation, Owner,
    Presence, State, Write,
    document::granularity::is_zero,
    tracking::{self, Differences, unowned},
};
use declare::declared;
use fast_path::apply_fast_path;
use kubectl::KUBECTL_MANAGER;
use merge::Merge;
use prune::{Prune, Pruned, contains_empty_list, left_out, reinstate, restore};
use tenure_fields::{FieldSet, FieldSetBuilder, PathElement};
use tenure_profile::{Improvement, Profile};
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// The manager of the fields that an object had before fields were tracked.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Which contested fields an apply takes from their owners.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Force<'a> {
    /// None: they are conflicts.
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
    if let Some(errors) = write.malformed(live.object) {
        let is_untracked = live.managers.is_empty() && live.presence == Presence::Stored;
        if !is_untracked {
            // What is wrong with the configuration comes first.
            declared(config, ty, &FieldSet::default())?;
        }
        return Err(ApplyError::MalformedLive { errors, is_untracked });
    }
    let managers = if live.managers.is_empty() && live.presence == Presence::Stored {
        tracking::track(write.empty, live.object, live.managers, write, BEFORE_FIRST_APPLY)?
    } else {
        tracking::current(live.object, live.managers, write)?
    };
    let identity = write.identity(Operation::Apply);
    let last = managers.get(&identity).cloned();
    let last_fields = last.as_ref().map(|last| last.fields.clone()).unwrap_or_default();
    let accepted = match live.presence {
        Presence::New => write.reset.accepted_of_new(config),
        _ => write.reset.accepted(config),
    };
    let merging = Merge { null_keys_are_defaults: write.profile.has(Improvement::NullKeysAreDefaults) };
    let comparable = identity.name != KUBECTL_MANAGER
        && last.as_ref().is_some_and(|last| last.api_version == write.api_version);
    let same_fields =
        comparable.then(|| apply_fast_path(config, live.object, &last_fields, ty, merging)).flatten();
    let (declared, fields, merged) = match same_fields {
        Some(merged) if merged.ptr_eq(live.object) => return Ok(State { object: merged, managers }),
        Some(merged) if accepted.ptr_eq(config) => (last_fields.clone(), last_fields, merged),
        _ => {
            // A first apply often declares what another manager applies; then both share one set.
            let similar = if last.is_some() {
                &last_fields
            } else {
                managers.iter().map(|m| &m.fields).next().unwrap_or(&last_fields)
            };
            let declared = write.reset.outside(&declared(config, ty, similar)?);
            let fields = unowned::without(&declared);
            let fields = if fields == *similar { similar.clone() } else { fields };
            (declared, fields, merging.merge(live.object, &accepted, ty))
        }
    };
    let request = Request {
        live: live.object,
        config,
        accepted,
        merged,
        ty,
        write,
        merging,
        identity,
        managers: &managers,
        last,
        declared,
        fields,
    };
    let untracked = live.managers.is_empty() && request.fields.is_empty();
    match request.decide(force) {
        // The configuration declares nothing that can be owned, and the live object came from the same
        // configuration: the object stays untracked.
        Ok(_) if untracked && merging.merge(write.empty, config, ty) == *live.object => {
            Ok(State { object: live.object.clone(), managers: live.managers.clone() })
        }
        Err(ApplyError::Conflicts(conflicts)) if identity.name == KUBECTL_MANAGER => {
            request.take_over_client_side(conflicts)
        }
        outcome => outcome,
    }
}

/// An apply whose configuration has been read and merged.
struct Request<'a> {
    live: &'a Value,
    config: &'a Value,
    /// The configuration without the fields that this endpoint resets.
    accepted: Value,
    /// The live object with that merged into it.
    merged: Value,
    ty: TypeRef<'a>,
    write: &'a Write<'a>,
    merging: Merge,
    identity: Identity<'a>,
    managers: &'a Managers,
    /// The applier's entry before this apply.
    last: Option<Manager>,
    /// The declared fields, including those that cannot be owned.
    declared: FieldSet,
    /// The fields that the applier owns afterwards.
    fields: FieldSet,
}

impl Request<'_> {
    fn profile(&self) -> Profile {
        self.write.profile
    }

    fn decide(&self, force: Force<'_>) -> Result<State, ApplyError> {
        let object = self.pruned(&self.merged)?;
        let object = match self.profile().has(Improvement::FormerMembersCleared) {
            true => self.without_former_members(object),
            false => object,
        };
        let mut differences = Differences::new(self.write, self.live, &object);
        let mut after = Managers::default();
        let mut contested = Vec::new();
        let unchanged = object.ptr_eq(self.live) || object == *self.live;
        for manager in self.others() {
            if unchanged {
                after.push(manager.clone());
                continue;
            }
            let Some(difference) = differences.at_version(&manager.api_version)? else { continue };
            let (lost, conflicts) = self.claims(manager, &difference.written, &differences, force);
            let left = manager.fields.difference(&lost).difference(&difference.removed);
            contested.push((Owner::from(manager), conflicts));
            if !left.is_empty() {
                after.push(manager.with_fields(left));
            }
        }
        if let Some(conflicts) = Conflicts::gather(contested) {
            return Err(ApplyError::Conflicts(conflicts));
        }
        if !self.fields.is_empty() {
            after.push(Manager {
                name: self.identity.name.into(),
                operation: Operation::Apply,
                api_version: self.identity.api_version.into(),
                subresource: self.identity.subresource.into(),
                // An apply that changes nothing of the object keeps the time of the last one, or none.
                time: if unchanged && self.requests_no_change() {
                    self.last.as_ref().and_then(|last| last.time)
                } else {
                    self.write.now
                },
                fields: self.fields.clone(),
            });
        }
        after.sort();
        let object = if unchanged { self.live.clone() } else { object };
        let annotated = (self.identity.name == KUBECTL_MANAGER)
            .then(|| kubectl::with_current_annotation(&object, self.config))
            .flatten();
        Ok(State { object: annotated.unwrap_or(object), managers: after })
    }

    /// Whether not even the fields that this endpoint resets would change the object.
    fn requests_no_change(&self) -> bool {
        self.accepted.ptr_eq(self.config) || self.merging.merge(self.live, self.config, self.ty) == *self.live
    }

    /// Forces the apply if `kubectl` applied all contested fields from the client before.
    fn take_over_client_side(&self, conflicts: Conflicts) -> Result<State, ApplyError> {
        let applied = kubectl::client_side_fields(self.live, self.ty, self.write);
        match conflicts.without(&applied) {
            Some(rest) => Err(ApplyError::Conflicts(rest)),
            None => self.decide(Force::All),
        }
    }

    fn others(&self) -> impl Iterator<Item = &Manager> {
        self.managers.iter().filter(|manager| !manager.identity().is(&self.identity))
    }

    /// Kubernetes reads the merged object at the version of the last apply, also if nothing was left out since: a field that this
    /// version does not declare is an error.
    fn check_last_version(&self, last: &Manager, merged: &Value) -> Result<(), ApplyError> {
        let is_read = !self.profile().has(Improvement::ManagersSurviveVersions)
            && self.write.versions.evolves() == Evolution::Possible
            && last.api_version != self.write.api_version
            && !last.fields.is_empty()
            && self.write.versions.type_of(&last.api_version).is_some();
        if is_read {
            self.write.convert(merged, &last.api_version)?;
        }
        Ok(())
    }

    /// Returns the merged object without what the applier has left out since its last apply.
    fn pruned(&self, merged: &Value) -> Result<Value, ApplyError> {
        let Some(last) = self.last.as_ref() else { return Ok(merged.clone()) };
        if last.fields.is_subset(&self.fields) {
            self.check_last_version(last, merged)?;
            return Ok(merged.clone());
        }
        let (was, is) = (last.api_version.as_str(), self.write.api_version);
        let mut owned: Vec<(Text, FieldSet)> = vec![(is.into(), self.declared.clone())];
        for manager in self.others() {
            match owned.iter_mut().find(|(version, _)| *version == manager.api_version) {
                Some((_, fields)) => *fields = fields.union(&manager.fields),
                None => owned.push((manager.api_version.clone(), manager.fields.clone())),
            }
        }
        let convert = |object: &Value, from: &str, to: &str| -> Result<Option<Value>, ApplyError> {
            if from == to {
                return Ok(Some(object.clone()));
            }
            if self.write.versions.type_of(to).is_none() {
                return Ok(None);
            }
            self.write.convert(object, to).map(Some)
        };
        // What was declared at a version that no longer exists cannot be found any more, so it stays.
        let (Some(full), Some(ty)) = (convert(merged, is, was)?, self.write.versions.type_of(was)) else {
            return Ok(merged.clone());
        };
        let none = FieldSet::default();
        let owned_there =
            owned.iter().find(|(version, _)| version == was).map_or(&none, |(_, fields)| fields);
        let emptied = match self.profile().has(Improvement::EmptiedPartsStay) {
            true => self.write.versions.emptied(),
            false => Emptied::AlwaysNull,
        };
        let rules = Prune {
            emptied,
            remove_incomplete_items: self.profile().has(Improvement::IncompleteItemsRemoved),
        };
        let left_out = match was == is {
            true => left_out(&last.fields, &self.declared),
            false => last.fields.clone(),
        };
        let Pruned { object: mut pruned, has_emptied_owned } = rules.prune(&full, ty, &left_out, owned_there);
        let mut version = was;
        for (other, fields) in owned.iter().filter(|(other, fields)| other != was && !fields.is_empty()) {
            let Some(ty) = self.write.versions.type_of(other) else { continue };
            if let (Some(full), Some(then)) = (convert(merged, is, other)?, convert(&pruned, version, other)?)
            {
                pruned = restore(&full, &then, ty, fields);
                version = other;
            }
        }
        if version != was {
            let Some(then) = convert(&pruned, version, was)? else { return Ok(merged.clone()) };
            pruned = reinstate(&full, Some(&then), ty, &last.fields, emptied);
        }
        // A list without items is in no set: whether it was removed only a merge can tell.
        let is_as_declared =
            was == is && owned.len() == 1 && !has_emptied_owned && !contains_empty_list(&self.accepted);
        let pruned = convert(&pruned, was, is)?.unwrap_or_else(|| merged.clone());
        if is_as_declared || !self.profile().has(Improvement::EmptiedPartsStay) {
            return Ok(pruned);
        }
        // A part that is declared empty or null, and has lost what others had put there, is as it is declared.
        Ok(self.merging.merge(&pruned, &self.accepted, self.ty))
    }

    /// Returns the object without the members of unions that the configuration switches away from and no manager owns.
    fn without_former_members(&self, object: Value) -> Value {
        let is_owned = |path: &[PathElement]| {
            let owners = self.others().map(|manager| &manager.fields);
            owners.chain([&self.fields]).any(|fields| union::contains(fields, path))
        };
        let switch = union::Switch { config: &self.accepted, live: self.live, is_owned: &is_owned };
        switch.apply(&object, self.ty).unwrap_or(object)
    }

    /// Returns what another manager loses to this apply, and its conflicts.
    fn claims(
        &self,
        manager: &Manager,
        written: &FieldSet,
        differences: &Differences<'_>,
        force: Force<'_>,
    ) -> (FieldSet, Vec<Conflict>) {
        let touched = manager.fields.intersection(written);
        if touched.is_empty() {
            return (touched, Vec::new());
        }
        let (live, new) = differences.objects(&manager.api_version);
        let ty = self.write.versions.type_of(&manager.api_version).unwrap_or_else(TypeRef::untyped);
        let (mut shared, mut conflicts) = (FieldSetBuilder::new(), Vec::new());
        contested::visit(&touched, (live, new), ty, |path, live, proposed| {
            // Both declare a zero: the owner's was left out when the object was stored.
            if self.profile().has(Improvement::SharedZeros) && live.is_none() && proposed.is_none_or(is_zero)
            {
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
