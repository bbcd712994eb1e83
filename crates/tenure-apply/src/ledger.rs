//! What a change of the object means for each manager, at the version in which that manager names fields.
//! Objects are converted once per version, and only for versions that some manager uses.

use crate::{ApplyError, Difference, Evolution, Managers, Write, reconcile::reconcile};
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// The two states of an object around a write, and their difference at every version that is asked for.
pub(crate) struct Ledger<'a> {
    write: &'a Write<'a>,
    old: &'a Value,
    new: &'a Value,
    pages: Vec<(Text, Page)>,
}

/// A version's view of the write.
struct Page {
    /// The old object at this version, where it is not that of the write.
    old: Option<Value>,
    new: Option<Value>,
    /// The difference, without fields that the endpoint resets.
    difference: Difference,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(write: &'a Write<'a>, old: &'a Value, new: &'a Value) -> Ledger<'a> {
        Ledger { write, old, new, pages: Vec::new() }
    }

    /// Returns the difference at a version, or nothing where that version does not exist any more.
    pub(crate) fn difference(&mut self, api_version: &str) -> Result<Option<Difference>, ApplyError> {
        if let Some((_, page)) = self.pages.iter().find(|(version, _)| version == api_version) {
            return Ok(Some(page.difference.clone()));
        }
        let Some(ty) = self.write.versions.type_of(api_version) else { return Ok(None) };
        let (old, new) = (self.at(self.old, api_version)?, self.at(self.new, api_version)?);
        let difference =
            Difference::between(old.as_ref().unwrap_or(self.old), new.as_ref().unwrap_or(self.new), ty);
        let page = Page { old, new, difference: self.write.reset.outside_of(&difference) };
        let difference = page.difference.clone();
        self.pages.push((api_version.into(), page));
        Ok(Some(difference))
    }

    fn at(&self, object: &Value, api_version: &str) -> Result<Option<Value>, ApplyError> {
        if api_version == self.write.api_version {
            return Ok(None);
        }
        let failed = |problem| ApplyError::Conversion { api_version: api_version.into(), problem };
        self.write.versions.convert(object, api_version).map(Some).map_err(failed)
    }

    /// Returns the old and the new object at a version whose difference was asked for before.
    pub(crate) fn objects(&self, api_version: &str) -> (&Value, &Value) {
        let page = self.pages.iter().find(|(version, _)| version == api_version).map(|(_, page)| page);
        let old = page.and_then(|page| page.old.as_ref()).unwrap_or(self.old);
        (old, page.and_then(|page| page.new.as_ref()).unwrap_or(self.new))
    }
}

/// Returns the managers with sets as today's types have them; those at versions that no longer exist are
/// gone.
pub(crate) fn current(live: &Value, managers: &Managers, write: &Write<'_>) -> Result<Managers, ApplyError> {
    let mut kept = Managers::default();
    let mut converted: Vec<(Text, Value)> = Vec::new();
    for manager in managers {
        let version = manager.api_version.as_str();
        let Some(ty) = write.versions.type_of(version) else { continue };
        let former: Option<TypeRef<'_>> = write.versions.former_type_of(version);
        if write.versions.evolves() == Evolution::None && former.is_none() {
            kept.put(manager.clone());
            continue;
        }
        let object = if version == write.api_version {
            live
        } else {
            if !converted.iter().any(|(seen, _)| seen == version) {
                let failed = |problem| ApplyError::Conversion { api_version: version.into(), problem };
                converted.push((version.into(), write.versions.convert(live, version).map_err(failed)?));
            }
            converted.iter().find(|(seen, _)| seen == version).map_or(live, |(_, object)| object)
        };
        kept.put(match reconcile(&manager.fields, object, ty, former) {
            Some(fields) => manager.with_fields(fields),
            None => manager.clone(),
        });
    }
    Ok(kept)
}
