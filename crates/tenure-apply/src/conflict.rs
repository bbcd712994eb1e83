//! Conflicts: the contested fields with their owners, their live values and the proposed ones. The text and its order
//! are those of Kubernetes.

use crate::{Identity, Manager, Operation, Timestamp};
use std::{collections::HashMap, fmt};
use tenure_fields::{FieldSet, Path};
use tenure_value::{
    Text, Value,
    json::{self, Style},
};

/// One of the owners of a conflicting field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The manager's name.
    pub name: Text,
    /// How it writes.
    pub operation: Operation,
    /// The version in which it names the field.
    pub api_version: Text,
    /// The endpoint it wrote through; empty for the object itself.
    pub subresource: Text,
    /// When its fields last changed, where known.
    pub time: Option<Timestamp>,
}

impl Owner {
    /// Returns who this is.
    pub fn identity(&self) -> Identity<'_> {
        Identity {
            name: &self.name,
            operation: self.operation,
            api_version: &self.api_version,
            subresource: &self.subresource,
        }
    }

    /// Returns the identifier by which Kubernetes orders managers in a message: the JSON of the entry without time and
    /// fields. The version is part of it for updaters only.
    fn identifier(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.name.len() + self.subresource.len());
        let mut text = |name: &str, value: &str| {
            if !value.is_empty() {
                out.extend_from_slice(name.as_bytes());
                json::write_text(value, Style::Kubernetes, &mut out);
            }
        };
        text("{\"manager\":", &self.name);
        text(",\"operation\":", self.operation.as_str());
        if self.operation == Operation::Update {
            text(",\"apiVersion\":", &self.api_version);
        }
        text(",\"subresource\":", &self.subresource);
        out.push(b'}');
        out
    }
}

impl From<&Manager> for Owner {
    fn from(manager: &Manager) -> Owner {
        Owner {
            name: manager.name.clone(),
            operation: manager.operation,
            api_version: manager.api_version.clone(),
            subresource: manager.subresource.clone(),
            time: manager.time,
        }
    }
}

/// A field that an apply would change and others own.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The field, at the version of its owners.
    pub path: Path,
    /// Everyone who owns it, in the order of the message.
    pub owners: Vec<Owner>,
    /// The live value, if there is one.
    pub live: Option<Value>,
    /// The value in the configuration.
    pub proposed: Option<Value>,
}

/// All conflicts of one apply, by path; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflicts {
    list: Vec<Conflict>,
    /// For each owner its conflicts, as positions in the list, in the order of the message.
    by_owner: Vec<(Owner, Vec<usize>)>,
}

/// One line of a conflict's `details.causes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The contested field, as `.spec.replicas`.
    pub field: String,
    /// The owner, as `conflict with "alice"`.
    pub message: String,
}

impl Conflicts {
    /// Gathers what each owner contests, if anything; each owner's fields come in the order of the message,
    /// and their lists of owners are filled in here.
    pub fn gather(contested: Vec<(Owner, Vec<Conflict>)>) -> Option<Conflicts> {
        let mut contested: Vec<_> =
            contested.into_iter().filter(|(_, conflicts)| !conflicts.is_empty()).collect();
        if contested.is_empty() {
            return None;
        }
        contested.sort_by_cached_key(|(owner, _)| owner.identifier());
        // A path is contested more than once if several own it, and with other values at another version.
        let mut places_of: HashMap<Path, Vec<usize>> = HashMap::new();
        let mut list: Vec<Conflict> = Vec::new();
        let mut by_owner = Vec::with_capacity(contested.len());
        for (owner, conflicts) in contested {
            let mut places = Vec::with_capacity(conflicts.len());
            for conflict in conflicts {
                let known = places_of.entry(conflict.path.clone()).or_default();
                let same = |at: &&usize| {
                    let other: &Conflict = &list[**at];
                    other.live == conflict.live && other.proposed == conflict.proposed
                };
                let at = known.iter().find(same).copied().unwrap_or_else(|| {
                    list.push(conflict);
                    known.push(list.len() - 1);
                    list.len() - 1
                });
                list[at].owners.push(owner.clone());
                places.push(at);
            }
            by_owner.push((owner, places));
        }
        Some(Conflicts { list, by_owner })
    }

    /// Returns the conflicts over other fields than these.
    pub(crate) fn without(&self, fields: &FieldSet) -> Option<Conflicts> {
        let left = |(owner, places): &(Owner, Vec<usize>)| {
            let places = places.iter().map(|at| &self.list[*at]);
            let places = places.filter(|conflict| !fields.has(conflict.path.elements()));
            let conflicts = places.map(|conflict| Conflict { owners: Vec::new(), ..conflict.clone() });
            (owner.clone(), conflicts.collect())
        };
        Conflicts::gather(self.by_owner.iter().map(left).collect())
    }

    /// Walks the contested fields.
    pub fn iter(&self) -> std::slice::Iter<'_, Conflict> {
        self.list.iter()
    }

    /// Returns the causes, one for each owner of each field.
    pub fn causes(&self) -> Vec<Cause> {
        let conflicts = |(owner, places): &(Owner, Vec<usize>)| {
            let message = format!("conflict with {}", owner.identity());
            let cause =
                |at: &usize| Cause { field: self.list[*at].path.to_string(), message: message.clone() };
            places.iter().map(cause).collect::<Vec<_>>()
        };
        self.by_owner.iter().flat_map(conflicts).collect()
    }
}

impl<'a> IntoIterator for &'a Conflicts {
    type Item = &'a Conflict;
    type IntoIter = std::slice::Iter<'a, Conflict>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes: usize = self.by_owner.iter().map(|(_, places)| places.len()).sum();
        if let ([(owner, places)], 1) = (self.by_owner.as_slice(), causes) {
            let path = places.first().and_then(|at| self.list.get(*at)).map(|conflict| &conflict.path);
            let path = path.map(Path::to_string).unwrap_or_default();
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {path}", owner.identity());
        }
        write!(f, "Apply failed with {causes} conflicts: ")?;
        for (at, (owner, places)) in self.by_owner.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(f, "{line}conflicts with {}:", owner.identity())?;
            for at in places {
                write!(f, "\n- {}", self.list[*at].path)?;
            }
        }
        Ok(())
    }
}
