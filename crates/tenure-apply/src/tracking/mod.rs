//! The effect of a change of the object on its managers: which fields each owns afterwards. Each manager names fields at
//! a version of its own; objects are converted once per version, and only for versions that some manager uses.

mod limit;
mod reconcile;
pub(crate) mod unowned;

pub use limit::MAX_UPDATERS;

use crate::{ApplyError, Difference, Evolution, Manager, Managers, Operation, Write};
use reconcile::reconcile;
use tenure_profile::Improvement;
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// The two states of an object around a write, and their difference at every requested version.
pub(crate) struct Differences<'a> {
    write: &'a Write<'a>,
    old: &'a Value,
    new: &'a Value,
    versions: Vec<(Text, AtVersion)>,
}

/// The write as seen at one version.
struct AtVersion {
    /// The old object at this version; `None` at the version of the write.
    old: Option<Value>,
    new: Option<Value>,
    /// The difference, without fields that the endpoint resets.
    difference: Difference,
}

impl<'a> Differences<'a> {
    pub(crate) fn new(write: &'a Write<'a>, old: &'a Value, new: &'a Value) -> Differences<'a> {
        Differences { write, old, new, versions: Vec::new() }
    }

    /// Returns the difference at a version; `None` if that version no longer exists.
    pub(crate) fn at_version(&mut self, api_version: &str) -> Result<Option<Difference>, ApplyError> {
        if let Some((_, known)) = self.versions.iter().find(|(version, _)| version == api_version) {
            return Ok(Some(known.difference.clone()));
        }
        let Some(ty) = self.write.versions.type_of(api_version) else { return Ok(None) };
        let (old, new) = (self.convert(self.old, api_version)?, self.convert(self.new, api_version)?);
        let all = Difference::between(old.as_ref().unwrap_or(self.old), new.as_ref().unwrap_or(self.new), ty);
        // In Kubernetes built-in kinds name their reset fields for every version, custom resources for the version of the
        // request.
        let resets = self.write.profile.has(Improvement::ManagersSurviveVersions)
            || self.write.versions.evolves() == Evolution::None
            || api_version == self.write.api_version;
        let difference = if resets { self.write.reset.outside_of(&all) } else { all };
        self.versions.push((api_version.into(), AtVersion { old, new, difference: difference.clone() }));
        Ok(Some(difference))
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, ApplyError> {
        if api_version == self.write.api_version {
            return Ok(None);
        }
        self.write.convert(object, api_version).map(Some)
    }

    /// Returns the old and the new object at a version whose difference was requested before.
    pub(crate) fn objects(&self, api_version: &str) -> (&Value, &Value) {
        let known = self.versions.iter().find(|(version, _)| version == api_version).map(|(_, known)| known);
        let old = known.and_then(|known| known.old.as_ref()).unwrap_or(self.old);
        (old, known.and_then(|known| known.new.as_ref()).unwrap_or(self.new))
    }
}

/// Returns the managers with sets that fit the present types. Managers at versions that no longer exist are dropped,
/// or are an error where the behaviour says so.
pub(crate) fn current(live: &Value, managers: &Managers, write: &Write<'_>) -> Result<Managers, ApplyError> {
    let mut kept = Vec::with_capacity(managers.len() + 1);
    let mut converted: Vec<(Text, Value)> = Vec::new();
    for manager in managers {
        let version = manager.api_version.as_str();
        let Some(ty) = write.versions.type_of(version) else {
            if !write.profile.has(Improvement::RemovedVersionsDropped)
                && write.versions.evolves() == Evolution::Possible
            {
                return Err(ApplyError::RemovedVersion { api_version: manager.api_version.clone() });
            }
            continue;
        };
        let former: Option<TypeRef<'_>> = write
            .versions
            .former_type_of(version)
            .filter(|_| write.profile.has(Improvement::AtomicToGranular));
        if write.versions.evolves() == Evolution::None && former.is_none() {
            kept.push(manager.clone());
            continue;
        }
        let object = if version == write.api_version {
            live
        } else {
            if !converted.iter().any(|(seen, _)| seen == version) {
                converted.push((version.into(), write.convert(live, version)?));
            }
            converted.iter().find(|(seen, _)| seen == version).map_or(live, |(_, object)| object)
        };
        kept.push(match reconcile(&manager.fields, object, ty, former) {
            Some(fields) => manager.with_fields(fields),
            None => manager.clone(),
        });
    }
    Ok(Managers::unique(kept))
}

/// Returns the managers after a change of the object by one of them: a manager owns the fields that it changes, and removed
/// fields have no owner.
pub(crate) fn track(
    old: &Value,
    new: &Value,
    managers: &Managers,
    write: &Write<'_>,
    name: &str,
) -> Result<Managers, ApplyError> {
    let managers = current(old, managers, write)?;
    write.ty()?;
    let mut differences = Differences::new(write, old, new);
    let mut after = Managers::default();
    for manager in &managers {
        if let Some(difference) = differences.at_version(&manager.api_version)? {
            let fields = manager.fields.difference(&difference.written).difference(&difference.removed);
            if !fields.is_empty() {
                after.push(manager.with_fields(fields));
            }
        }
    }
    let own = differences.at_version(write.api_version)?;
    let taken = own.map(|difference| unowned::without(&difference.written)).unwrap_or_default();
    if !taken.is_empty() {
        let identity = Write { manager: name, ..*write }.identity(Operation::Update);
        let owned = after.get(&identity).map(|manager| manager.fields.clone()).unwrap_or_default();
        after.put(Manager {
            name: identity.name.into(),
            operation: Operation::Update,
            api_version: identity.api_version.into(),
            subresource: identity.subresource.into(),
            time: write.now,
            fields: owned.union(&taken),
        });
    }
    limit::merge_oldest_updaters(&mut after);
    after.sort();
    Ok(after)
}
