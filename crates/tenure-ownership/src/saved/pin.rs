//! What a saved plan relies on. Before a step is carried out, the live object is compared with the one that the plan saw; a plan
//! that no longer holds is refused with what changed and who changed it.

use super::{PlannedStep, PlannedWrite, Withholding};
use crate::{Change, Difference, LiveObject, Target, owner};
use std::fmt::Write;
use tenure_apply::{OwnershipChange, Timestamp};
use tenure_fields::{FieldSet, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value, json};

/// What must not have changed when a plan is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// The objects: their uids and resourceVersions.
    #[default]
    Versions,
    /// The values and owners of the fields that a step relies on. Other fields may change.
    Fields,
}

impl Pinning {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Pinning::Versions => "versions",
            Pinning::Fields => "fields",
        }
    }

    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Pinning> {
        [Pinning::Versions, Pinning::Fields].into_iter().find(|pinning| pinning.word() == word)
    }
}

/// Why a step no longer holds.
#[derive(Clone, Debug)]
pub struct Stale {
    /// The object.
    pub target: Target,
    /// What happened to it.
    pub what: Staleness,
}

/// What happened to an object since it was planned.
#[derive(Clone, Debug)]
pub enum Staleness {
    /// It did not exist and was created.
    Created(Box<LiveObject>),
    /// It was deleted.
    Deleted,
    /// It was deleted, and another of the same name was created.
    Replaced(Box<LiveObject>),
    /// It was changed.
    Changed(Box<Change>),
}

impl PlannedStep {
    /// Compares the live object with the one that the step was planned for; `None` if the step still holds.
    pub fn check(
        &self,
        live: Option<&LiveObject>,
        pinning: Pinning,
        withholding: Withholding<'_>,
        ty: TypeRef<'_>,
    ) -> Option<Stale> {
        let uid = |live: &LiveObject| live.object.at(["metadata", "uid"]).cloned();
        let what = match (&self.before, live) {
            (None, None) => return None,
            (None, Some(live)) => Staleness::Created(Box::new(live.clone())),
            (Some(_), None) => Staleness::Deleted,
            (Some(before), Some(live)) if uid(before) != uid(live) => {
                Staleness::Replaced(Box::new(live.clone()))
            }
            (Some(before), Some(live)) => {
                if before.resource_version() == live.resource_version() {
                    return None;
                }
                let live = match self.is_withheld() {
                    true => LiveObject { object: withholding.object(&live.object), ..live.clone() },
                    false => live.clone(),
                };
                let change = Change::between(before, &live, &self.target.word, ty);
                let change = match pinning {
                    Pinning::Versions => change,
                    Pinning::Fields => self.relevant(change),
                };
                if pinning == Pinning::Fields && change.is_empty() {
                    return None;
                }
                Staleness::Changed(Box::new(change))
            }
        };
        Some(Stale { target: self.target.clone(), what })
    }

    /// Returns the part of a change that matters for this step.
    fn relevant(&self, mut change: Change) -> Change {
        let is_status = |element: Option<&PathElement>| element == Some(&PathElement::field("status"));
        if matches!(self.write, PlannedWrite::Delete) {
            // A deletion relies on everything that a person or a tool wrote.
            change.values.retain(|value| !is_status(value.path.first()));
            change.owners.retain(|change| change.owner.subresource != "status");
        } else {
            let relied = |set: &FieldSet| set.intersection(&self.relies);
            change.values.retain(|value| {
                (1..=value.path.len()).any(|end| {
                    value.path.get(..end).is_some_and(|part| {
                        let node = self.relies.node_at(part);
                        node.is_some_and(|node| {
                            node.included && (end == value.path.len() || node.children.is_empty())
                        })
                    })
                })
            });
            for owner in &mut change.owners {
                owner.gained = relied(&owner.gained);
                owner.lost = relied(&owner.lost);
                owner.removed = relied(&owner.removed);
            }
        }
        change.owners.retain(|owner| !owner.is_empty());
        let (values, owners) = (&change.values, &change.owners);
        let is_involved = |author: &owner::Owner| {
            let changed = owners.iter().any(|change| change.owner.identity().is(&author.identity()));
            changed || owners.is_empty() || !values.is_empty()
        };
        change.authors.retain(is_involved);
        change
    }
}

/// How many changes a message names.
const NAMED: usize = 8;

impl Stale {
    /// Returns what happened as text: one line for the object, one for each change.
    pub fn describe(&self, now: Timestamp) -> String {
        let by = |owners: &[owner::Owner]| match owners {
            [] => String::new(),
            owners => format!(" by {}", owner::describe_all(owners, now)),
        };
        let managers =
            |live: &LiveObject| by(&live.managers.iter().map(owner::Owner::from).collect::<Vec<_>>());
        let target = &self.target;
        match &self.what {
            Staleness::Created(live) => {
                format!("{target}: did not exist when the plan was made; it was created{}", managers(live))
            }
            Staleness::Deleted => format!("{target}: was deleted since the plan was made"),
            Staleness::Replaced(live) => {
                format!("{target}: was deleted since the plan was made and created again{}", managers(live))
            }
            Staleness::Changed(change) => {
                let mut text =
                    format!("{target}: was changed since the plan was made{}", by(&change.authors));
                let lines: Vec<String> = change
                    .shown_values()
                    .iter()
                    .map(value_line)
                    .chain(change.owners.iter().map(owner_line))
                    .collect();
                for line in lines.iter().take(NAMED) {
                    // Writing to a string does not fail.
                    let _ = write!(text, "\n    {line}");
                }
                if lines.len() > NAMED {
                    let _ = write!(text, "\n    and {} more", lines.len() - NAMED);
                }
                if lines.is_empty() {
                    text += "; only fields that the server maintains differ";
                }
                text
            }
        }
    }

    /// Returns what happened as a document; values of a Secret are not shown.
    pub fn to_value(&self) -> Value {
        let object = Object::default().with("object", self.target.to_value());
        let owners = |live: &LiveObject| {
            owner::list(&live.managers.iter().map(owner::Owner::from).collect::<Vec<_>>())
        };
        Value::Object(match &self.what {
            Staleness::Created(live) => object.with("reason", "created").with("authors", owners(live)),
            Staleness::Deleted => object.with("reason", "deleted"),
            Staleness::Replaced(live) => object.with("reason", "replaced").with("authors", owners(live)),
            Staleness::Changed(change) => object.with("reason", "changed").with("change", change.to_value()),
        })
    }
}

fn value_line(difference: &Difference) -> String {
    let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "(not set)".to_owned(), json::to_string);
    format!("{}: {} → {}", difference.path, side(&difference.before), side(&difference.after))
}

fn owner_line(change: &OwnershipChange) -> String {
    let name = &change.owner.name;
    let list = |set: &FieldSet| {
        let leaves = set.leaves();
        let paths: Vec<String> = leaves.iter().take(3).map(|path| path.to_string()).collect();
        let more = leaves.len().saturating_sub(paths.len());
        if more > 0 { format!("{} and {more} more", paths.join(", ")) } else { paths.join(", ") }
    };
    let mut parts = Vec::new();
    for (word, set) in
        [("gained", &change.gained), ("lost", &change.lost), ("lost the removed", &change.removed)]
    {
        if !set.is_empty() {
            parts.push(format!("{word} {}", list(set)));
        }
    }
    format!("{name} {}", parts.join("; "))
}
