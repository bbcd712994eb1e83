//! Ownership reports: every leaf of an object with its owners, and the fields that each manager gains, loses and shares between two
//! states. A dry run shows it, and `blame` prints it.

use crate::{
    Difference, Managers, Owner, State,
    document::granularity::{Granularity, below, granularity, is_bare},
    document::items,
};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// A part of an object that is owned as one, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldOwners {
    /// Its path.
    pub path: Path,
    /// Its value.
    pub value: Value,
    /// Its owners, in the order of the managers; empty for defaults.
    pub owners: Vec<Owner>,
}

/// Returns every leaf of an object with its owners. Managers at other versions count where their version
/// names the field in the same words.
pub fn ownership(object: &Value, managers: &Managers, ty: TypeRef<'_>) -> Vec<FieldOwners> {
    Report::of(object, managers, ty, Depth::Leaves)
}

/// Returns every place of an object that has owners of its own, each before what is inside it: what
/// [`ownership`] returns, and the objects, maps, lists and items on the way, whose owners are those that own the
/// place as such.
pub fn ownership_by_place(object: &Value, managers: &Managers, ty: TypeRef<'_>) -> Vec<FieldOwners> {
    Report::of(object, managers, ty, Depth::Places)
}

/// The places that are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Places without parts that have their own owners.
    Leaves,
    /// All that can be owned.
    Places,
}

struct Report<'a> {
    managers: &'a Managers,
    depth: Depth,
    path: Path,
    leaves: Vec<FieldOwners>,
}

impl Report<'_> {
    fn of(object: &Value, managers: &Managers, ty: TypeRef<'_>, depth: Depth) -> Vec<FieldOwners> {
        let mut report = Report { managers, depth, path: Path::default(), leaves: Vec::new() };
        let whole: Vec<Option<FieldSet>> =
            managers.iter().map(|manager| Some(manager.fields.clone())).collect();
        report.parts(object, &whole, ty);
        report.leaves
    }

    fn parts(&mut self, value: &Value, below_here: &[Option<FieldSet>], ty: TypeRef<'_>) {
        match (granularity(ty), value) {
            (Granularity::Granular | Granularity::Deduced, Value::Object(object)) => {
                for (name, value) in object {
                    self.place(value, PathElement::Field(name.clone()), below_here, below(ty, name));
                }
            }
            (Granularity::Items(topology, item_type), Value::Array(array)) => {
                for (index, item) in array.iter().enumerate() {
                    let element = items::element(item, topology, index);
                    let element = element.unwrap_or(PathElement::Index(index as i64));
                    self.place(item, element, below_here, item_type);
                }
            }
            _ => {}
        }
    }

    fn place(&mut self, value: &Value, element: PathElement, above: &[Option<FieldSet>], ty: TypeRef<'_>) {
        let nodes = || above.iter().map(|set| set.as_ref().and_then(|set| set.node(&element)));
        let entered = match (granularity(ty), value) {
            (Granularity::Granular | Granularity::Deduced, Value::Object(_))
            | (Granularity::Items(..), Value::Array(_)) => !is_bare(value),
            _ => false,
        };
        if !entered || self.depth == Depth::Places {
            let owned = nodes().zip(self.managers).filter(|(node, _)| node.is_some_and(|node| node.included));
            let owners = owned.map(|(_, manager)| Owner::from(manager)).collect();
            self.leaves.push(FieldOwners {
                path: self.path.with(element.clone()),
                value: value.clone(),
                owners,
            });
        }
        if entered {
            let below: Vec<Option<FieldSet>> =
                nodes().map(|node| node.map(|node| node.children.clone())).collect();
            self.path.push(element);
            self.parts(value, &below, ty);
            self.path.pop();
        }
    }
}

/// The effect of a change of state on one manager.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnershipChange {
    /// The manager as it is afterwards, or as it was if it is gone.
    pub owner: Owner,
    /// The fields that it owns now and did not before.
    pub gained: FieldSet,
    /// The fields that it no longer owns and that are still in the object.
    pub lost: FieldSet,
    /// The fields that it owned and that were removed.
    pub removed: FieldSet,
    /// The fields that it now owns together with others.
    pub shared: FieldSet,
}

impl OwnershipChange {
    /// Whether what the manager owns is what it owned.
    pub fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty() && self.removed.is_empty()
    }
}

/// Returns what changed for each manager between two states of an object, in the order of the managers.
pub fn ownership_changes(before: &State, after: &State, ty: TypeRef<'_>) -> Vec<OwnershipChange> {
    let gone = Difference::between(&before.object, &after.object, ty).removed;
    let none = FieldSet::default();
    let now = after.managers.iter().map(|manager| {
        let was = before.managers.get(&manager.identity()).map_or(&none, |manager| &manager.fields);
        let others = after.managers.iter().filter(|other| !other.identity().is(&manager.identity()));
        let others = others.fold(none.clone(), |owned, other| owned.union(&other.fields));
        let missing = was.difference(&manager.fields);
        OwnershipChange {
            owner: Owner::from(manager),
            gained: manager.fields.difference(was),
            lost: missing.difference(&gone),
            removed: missing.intersection(&gone),
            shared: manager.fields.intersection(&others),
        }
    });
    let vanished = before.managers.iter().filter(|manager| after.managers.get(&manager.identity()).is_none());
    let vanished = vanished.map(|manager| OwnershipChange {
        owner: Owner::from(manager),
        gained: none.clone(),
        lost: manager.fields.difference(&gone),
        removed: manager.fields.intersection(&gone),
        shared: none.clone(),
    });
    now.chain(vanished).collect()
}
