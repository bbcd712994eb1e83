//! Who holds what, told in the terms of the object: every leaf with its holders, and between two states what
//! each manager gained, lost, shares and saw removed. This is what a dry-run shows and `blame` prints.

use crate::{
    Difference, Holder, Managers, State, items,
    shape::{Shape, below, is_bare, shape},
};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// A part of an object that is held as one, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// Where it stands.
    pub path: Path,
    /// What stands there.
    pub value: Value,
    /// Who holds it, in the order of the managers; nobody where it is a default.
    pub holders: Vec<Holder>,
}

/// Returns every leaf of an object with its holders. Managers at other versions count where their version
/// names the field in the same words.
pub fn ownership(object: &Value, managers: &Managers, ty: TypeRef<'_>) -> Vec<Leaf> {
    Report::of(object, managers, ty, Depth::Leaves)
}

/// Returns every place of an object that has holders of its own, each before what is inside it: what
/// [`ownership`] returns, and the objects, maps, lists and items on the way, whose holders are those who hold the
/// place as such.
pub fn holdings(object: &Value, managers: &Managers, ty: TypeRef<'_>) -> Vec<Leaf> {
    Report::of(object, managers, ty, Depth::Places)
}

/// What is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// What has no parts with holders of their own.
    Leaves,
    /// All that can be held.
    Places,
}

struct Report<'a> {
    managers: &'a Managers,
    depth: Depth,
    path: Path,
    leaves: Vec<Leaf>,
}

impl Report<'_> {
    fn of(object: &Value, managers: &Managers, ty: TypeRef<'_>, depth: Depth) -> Vec<Leaf> {
        let mut report = Report { managers, depth, path: Path::default(), leaves: Vec::new() };
        let whole: Vec<Option<FieldSet>> =
            managers.iter().map(|manager| Some(manager.fields.clone())).collect();
        report.parts(object, &whole, ty);
        report.leaves
    }

    fn parts(&mut self, value: &Value, below_here: &[Option<FieldSet>], ty: TypeRef<'_>) {
        match (shape(ty), value) {
            (Shape::Granular | Shape::Deduced, Value::Object(object)) => {
                for (name, value) in object {
                    self.place(value, PathElement::Field(name.clone()), below_here, below(ty, name));
                }
            }
            (Shape::Items(topology, of), Value::Array(array)) => {
                for (index, item) in array.iter().enumerate() {
                    let element = items::element(item, topology, index);
                    let element = element.unwrap_or(PathElement::Index(index as i64));
                    self.place(item, element, below_here, of);
                }
            }
            _ => {}
        }
    }

    fn place(&mut self, value: &Value, element: PathElement, above: &[Option<FieldSet>], ty: TypeRef<'_>) {
        let nodes = || above.iter().map(|set| set.as_ref().and_then(|set| set.node(&element)));
        let entered = match (shape(ty), value) {
            (Shape::Granular | Shape::Deduced, Value::Object(_)) | (Shape::Items(..), Value::Array(_)) => {
                !is_bare(value)
            }
            _ => false,
        };
        if !entered || self.depth == Depth::Places {
            let held = nodes().zip(self.managers).filter(|(node, _)| node.is_some_and(|node| node.included));
            let holders = held.map(|(_, manager)| Holder::from(manager)).collect();
            self.leaves.push(Leaf { path: self.path.with(element.clone()), value: value.clone(), holders });
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

/// What a change of state means for one manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The manager, as it is afterwards; as it was, where it is gone.
    pub holder: Holder,
    /// What it holds now and did not before.
    pub gained: FieldSet,
    /// What it held and does not any more, though it is still there.
    pub lost: FieldSet,
    /// What it held and is not there any more.
    pub removed: FieldSet,
    /// What it holds now together with someone else.
    pub shared: FieldSet,
}

impl Change {
    /// Whether what the manager holds is what it held.
    pub fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty() && self.removed.is_empty()
    }
}

/// Returns what changed for each manager between two states of an object, in the order of the managers.
pub fn changes(before: &State, after: &State, ty: TypeRef<'_>) -> Vec<Change> {
    let gone = Difference::between(&before.object, &after.object, ty).removed;
    let none = FieldSet::default();
    let now = after.managers.iter().map(|manager| {
        let was = before.managers.get(&manager.identity()).map_or(&none, |manager| &manager.fields);
        let others = after.managers.iter().filter(|other| !other.identity().is(&manager.identity()));
        let others = others.fold(none.clone(), |held, other| held.union(&other.fields));
        let missing = was.difference(&manager.fields);
        Change {
            holder: Holder::from(manager),
            gained: manager.fields.difference(was),
            lost: missing.difference(&gone),
            removed: missing.intersection(&gone),
            shared: manager.fields.intersection(&others),
        }
    });
    let vanished = before.managers.iter().filter(|manager| after.managers.get(&manager.identity()).is_none());
    let vanished = vanished.map(|manager| Change {
        holder: Holder::from(manager),
        gained: none.clone(),
        lost: manager.fields.difference(&gone),
        removed: manager.fields.intersection(&gone),
        shared: none.clone(),
    });
    now.chain(vanished).collect()
}
