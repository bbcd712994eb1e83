//! Conflicts that explain themselves: what is contested, who owns it, what stands there and what was
//! proposed. The text and its order are those that clients of Kubernetes know.

use crate::{Identity, Manager, Operation, Timestamp};
use std::fmt;
use tenure_fields::{FieldSet, Path};
use tenure_value::{Text, Value};

/// One of those who own a contested field.
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

    /// Returns the owner's place among the owners of a message.
    fn rank(&self) -> (String, &str, &str, &str) {
        // The closing quote takes part, as it does where managers are compared in their written form.
        (format!("{}\"", self.name), self.operation.as_str(), &self.api_version, &self.subresource)
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
    /// The field, in the words of the owners' version.
    pub path: Path,
    /// Everyone who owns it, in the order of the message.
    pub owners: Vec<Owner>,
    /// What stands there, if anything does.
    pub live: Option<Value>,
    /// What the configuration would put there.
    pub proposed: Option<Value>,
}

/// All conflicts of one apply, by path; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflicts {
    list: Vec<Conflict>,
    /// Per owner, the places of its conflicts in the order in which they are told.
    told: Vec<(Owner, Vec<usize>)>,
}

/// One line of a conflict's `details.causes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The contested field, as `.spec.replicas`.
    pub field: String,
    /// Who owns it, as `conflict with "alice"`.
    pub message: String,
}

impl Conflicts {
    /// Gathers what each owner contests, if anything; each owner's fields come in the order in which they are
    /// told, and their own lists of owners are filled in here.
    pub fn gather(contested: Vec<(Owner, Vec<Conflict>)>) -> Option<Conflicts> {
        let mut contested: Vec<_> =
            contested.into_iter().filter(|(_, conflicts)| !conflicts.is_empty()).collect();
        if contested.is_empty() {
            return None;
        }
        contested.sort_by(|(a, _), (b, _)| a.rank().cmp(&b.rank()));
        let mut list: Vec<Conflict> = Vec::new();
        let mut told = Vec::with_capacity(contested.len());
        for (owner, conflicts) in contested {
            let mut places = Vec::with_capacity(conflicts.len());
            for conflict in conflicts {
                let same = |other: &Conflict| {
                    other.path == conflict.path
                        && other.live == conflict.live
                        && other.proposed == conflict.proposed
                };
                let at = list.iter().position(same).unwrap_or_else(|| {
                    list.push(conflict);
                    list.len() - 1
                });
                list[at].owners.push(owner.clone());
                places.push(at);
            }
            told.push((owner, places));
        }
        Some(Conflicts { list, told })
    }

    /// Returns the conflicts over other fields than these.
    pub(crate) fn without(&self, fields: &FieldSet) -> Option<Conflicts> {
        let left = |(owner, places): &(Owner, Vec<usize>)| {
            let places = places.iter().map(|at| &self.list[*at]);
            let places = places.filter(|conflict| !fields.has(conflict.path.elements()));
            let conflicts = places.map(|conflict| Conflict { owners: Vec::new(), ..conflict.clone() });
            (owner.clone(), conflicts.collect())
        };
        Conflicts::gather(self.told.iter().map(left).collect())
    }

    /// Walks the contested fields.
    pub fn iter(&self) -> std::slice::Iter<'_, Conflict> {
        self.list.iter()
    }

    /// Returns the causes, one for each owner of each field.
    pub fn causes(&self) -> Vec<Cause> {
        let of = |(owner, places): &(Owner, Vec<usize>)| {
            let message = format!("conflict with {}", owner.identity());
            let cause =
                |at: &usize| Cause { field: self.list[*at].path.to_string(), message: message.clone() };
            places.iter().map(cause).collect::<Vec<_>>()
        };
        self.told.iter().flat_map(of).collect()
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
        let causes: usize = self.told.iter().map(|(_, places)| places.len()).sum();
        if let ([(owner, places)], 1) = (self.told.as_slice(), causes) {
            let path = places.first().and_then(|at| self.list.get(*at)).map(|conflict| &conflict.path);
            let path = path.map(Path::to_string).unwrap_or_default();
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {path}", owner.identity());
        }
        write!(f, "Apply failed with {causes} conflicts: ")?;
        for (at, (owner, places)) in self.told.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(f, "{line}conflicts with {}:", owner.identity())?;
            for at in places {
                write!(f, "\n- {}", self.list[*at].path)?;
            }
        }
        Ok(())
    }
}
