//! What every write has in common: the manager, the time, the endpoint and the kind; and the states before and after it.

use crate::{
    ApplyError, Evolution, Identity, Managers, Operation, ResetFields, Timestamp, Versions,
    document::check::check, kubernetes_text::malformed,
};
use tenure_profile::{Improvement, Profile};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Whether the object existed before the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The write creates it.
    New,
    /// It is stored.
    Stored,
}

/// The object that a write finds, at the version of the write.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The object, without `managedFields`. For a new object this is the empty object of its kind.
    pub object: &'a Value,
    /// Its managers.
    pub managers: &'a Managers,
    /// Whether it was there.
    pub presence: Presence,
}

/// The object that a write leaves, before the caller fills in defaults and validates.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The object, without `managedFields`.
    pub object: Value,
    /// Its managers.
    pub managers: Managers,
}

/// The manager, the time and the endpoint of a write.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    /// The manager's name; empty counts as `unknown`.
    pub manager: &'a str,
    /// The version of the object in this write.
    pub api_version: &'a str,
    /// The endpoint; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the write, which the manager's entry shows; `None` leaves it out.
    pub now: Option<Timestamp>,
    /// The kind's versions.
    pub versions: &'a dyn Versions,
    /// Fields that this endpoint takes from the live object; a write through it does not own them.
    pub reset: &'a ResetFields,
    /// The object of this kind in which nothing is set, as the caller writes it out.
    pub empty: &'a Value,
    /// Where this write follows Kubernetes, and where it improves on it.
    pub profile: Profile,
}

impl<'a> Write<'a> {
    /// Returns who the writer is.
    pub fn identity(&self, operation: Operation) -> Identity<'a> {
        let name = if self.manager.is_empty() { "unknown" } else { self.manager };
        Identity { name, operation, api_version: self.api_version, subresource: self.subresource }
    }

    /// Returns an object at another version that exists. Where the behaviour says so, a field that this version does not
    /// declare is an error.
    pub(crate) fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ApplyError> {
        let failed = |problem| ApplyError::Conversion { api_version: api_version.into(), problem };
        if self.profile.has(Improvement::ManagersSurviveVersions)
            || self.versions.evolves() == Evolution::None
        {
            return self.versions.convert(object, api_version).map_err(failed);
        }
        let converted = self.versions.convert_undeclared(object, api_version).map_err(failed)?;
        if let Some(ty) = self.versions.type_of(api_version) {
            check(&converted, ty).map_err(|mismatch| ApplyError::Undeclared {
                api_version: api_version.into(),
                mismatch: ApplyError::from(mismatch).to_string(),
            })?;
        }
        Ok(converted)
    }

    /// Returns why Kubernetes could not compare the fields of an object: a part does not fit its type. `None` for any object that the
    /// improvement covers.
    pub(crate) fn malformed(&self, object: &Value) -> Option<String> {
        if self.profile.has(Improvement::MalformedPartsTracked) {
            return None;
        }
        malformed(object, self.versions.type_of(self.api_version)?)
    }

    pub(crate) fn ty(&self) -> Result<TypeRef<'a>, ApplyError> {
        let unknown = || ApplyError::UnknownVersion { api_version: self.api_version.into() };
        self.versions.type_of(self.api_version).ok_or_else(unknown)
    }
}

impl State {
    /// Returns this state as a later write finds it.
    pub fn live(&self) -> Live<'_> {
        Live { object: &self.object, managers: &self.managers, presence: Presence::Stored }
    }

    /// Returns the live state, with its times, if nothing but times differs. Call this after filling in defaults and
    /// resetting fields.
    pub fn settle(self, live: Live<'_>) -> Settled {
        let unchanged = live.presence == Presence::Stored
            && self.managers.same_fields(live.managers)
            && self.object == *live.object;
        if unchanged {
            return Settled::Unchanged(State {
                object: live.object.clone(),
                managers: live.managers.clone(),
            });
        }
        Settled::Changed(self)
    }
}

/// A state that is ready to be stored, or need not be.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// There is something to write.
    Changed(State),
    /// The live state is equal; there is nothing to write.
    Unchanged(State),
}

impl Settled {
    /// Returns the state, whether it is to be written or not.
    pub fn into_state(self) -> State {
        match self {
            Settled::Changed(state) | Settled::Unchanged(state) => state,
        }
    }
}
