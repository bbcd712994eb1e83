//! Ownership after any write but an apply: the writer owns what it changes, removed fields have no owner, and everything
//! else keeps its owners. Updates never conflict.

use crate::{ApplyError, Evolution, Live, Manager, Managers, Presence, State, Versions, Write, tracking};
use tenure_profile::Behaviour;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The `managedFields` of a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Requested<'a> {
    /// Nothing: the live managers count. Subresources always use this.
    Live,
    /// The value of `metadata.managedFields` in the new object of a built-in kind, if there is one.
    Entries(Option<&'a Value>),
    /// The same of a custom resource, where an empty list equals a missing one, as recorded.
    EntriesOfCustom(Option<&'a Value>),
}

/// Returns the state after a write of a whole object. `new` has no `managedFields`; what the request had
/// there is `requested`.
pub fn update(
    live: Live<'_>,
    new: &Value,
    requested: Requested<'_>,
    write: &Write<'_>,
) -> Result<State, ApplyError> {
    let managers = match (requested, live.presence) {
        // A new object has no other managers, regardless of the request.
        (_, Presence::New) => Managers::default(),
        (Requested::EntriesOfCustom(Some(Value::Array(entries))), _) if entries.is_empty() => {
            live.managers.clone()
        }
        (Requested::Entries(Some(value)) | Requested::EntriesOfCustom(Some(value)), _) => {
            match sent_managers(value) {
                Sent::Reset => Managers::default(),
                Sent::Nothing => live.managers.clone(),
                Sent::Managers(managers) => reconciled(managers, live, write)?,
            }
        }
        _ => live.managers.clone(),
    };
    // An object without managers is not tracked until the first apply.
    if managers.is_empty() && live.presence == Presence::Stored {
        return Ok(State { object: new.clone(), managers });
    }
    let tracked = match write.malformed(live.object).or_else(|| write.malformed(new)) {
        Some(errors) => Err(ApplyError::MalformedLive { errors, is_untracked: false }),
        None => tracking::track(live.object, new, &managers, write, write.manager),
    };
    let managers = match tracked {
        // Kubernetes writes the object all the same: without managers, or with those that it had.
        Err(
            ApplyError::MalformedLive { .. }
            | ApplyError::RemovedVersion { .. }
            | ApplyError::Undeclared { .. },
        ) => match write.profile.behaves(Behaviour::ManagersKeptOnFailure) {
            true => live.managers.clone(),
            false => Managers::default(),
        },
        tracked => tracked?,
    };
    Ok(State { object: new.clone(), managers })
}

enum Sent {
    Nothing,
    Reset,
    Managers(Managers),
}

/// An empty list or one empty entry requests a reset; an invalid value is ignored, so that clients
/// that do not understand the field cannot destroy it.
fn sent_managers(value: &Value) -> Sent {
    let empty = |entry: &Value| entry.as_object().is_some_and(|entry| entry.is_empty());
    match value {
        Value::Array(entries) if entries.is_empty() => Sent::Reset,
        Value::Array(entries) if entries.len() == 1 && entries.iter().all(empty) => Sent::Reset,
        value => match Managers::from_value(value) {
            Ok(managers) if !managers.is_empty() => Sent::Managers(managers),
            _ => Sent::Nothing,
        },
    }
}

/// Sets from a request may name parts of what is atomic, regardless of the schema's history.
fn reconciled(managers: Managers, live: Live<'_>, write: &Write<'_>) -> Result<Managers, ApplyError> {
    struct Evolving<'a>(&'a dyn Versions);
    impl Versions for Evolving<'_> {
        fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
            self.0.type_of(api_version)
        }
        fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
            self.0.convert(object, api_version)
        }
        fn evolves(&self) -> Evolution {
            Evolution::Possible
        }
    }
    let evolving = Evolving(write.versions);
    let write = Write { versions: &evolving, ..*write };
    if live.managers == &managers {
        return Ok(managers);
    }
    // Versions that do not exist go when the write is tracked, where they would go in any case.
    let known: Managers = managers
        .iter()
        .filter(|manager| write.versions.type_of(&manager.api_version).is_some())
        .cloned()
        .collect();
    let unknown = managers.len() - known.len();
    let known = tracking::current(live.object, &known, &write)?;
    Ok(if unknown == 0 {
        known
    } else {
        known.iter().chain(unknown_of(&managers, &write)).cloned().collect()
    })
}

fn unknown_of<'m>(managers: &'m Managers, write: &'m Write<'_>) -> impl Iterator<Item = &'m Manager> {
    managers.iter().filter(|manager| write.versions.type_of(&manager.api_version).is_none())
}
