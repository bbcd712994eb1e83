//! Undoes a past change: a three-way merge of the live object, with the version that the change left as the base and the
//! version before it as the goal. What was changed again since is a conflict.

use std::collections::BTreeMap;
use tenure_apply::{Manager, Managers, State};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_ownership::Difference;
use tenure_schema::{ListTopology, Type, TypeRef};
use tenure_value::{Object, Text, Value};

/// Fields that a server maintains, which no undo touches.
const MAINTAINED: [&[&str]; 8] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "generation"],
    &["metadata", "creationTimestamp"],
    &["metadata", "managedFields"],
    &["metadata", "selfLink"],
];

/// What to do about fields that were changed again since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave them as they are.
    Keep,
    /// Give them the value from before the change all the same.
    Overwrite,
}

/// A field that was changed again since.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The field.
    pub path: Path,
    /// The value from before the change, which an undo would restore; `None` to remove the field.
    pub wanted: Option<Value>,
    /// The value that the change left.
    pub left: Option<Value>,
    /// The value now.
    pub found: Option<Value>,
}

/// How to undo a change.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The object after the undo, without `managedFields`.
    pub object: Value,
    /// What the undo changes in the live object.
    pub edits: Vec<Difference>,
    /// The conflicts with later changes.
    pub conflicts: Vec<Conflict>,
}

/// Plans how to undo the change between two versions of an object that is now `live`.
pub fn plan(live: &Value, before: &Value, after: &Value, ty: TypeRef<'_>, on_conflict: OnConflict) -> Plan {
    let mut merge = Merge { on_conflict, path: Path::default(), edits: Vec::new(), conflicts: Vec::new() };
    let object = merge.value(Some(live), Some(after), Some(before), ty).unwrap_or_default();
    Plan { object, edits: merge.edits, conflicts: merge.conflicts }
}

struct Merge {
    on_conflict: OnConflict,
    path: Path,
    edits: Vec<Difference>,
    conflicts: Vec<Conflict>,
}

impl Merge {
    /// Returns the value at the current path after the undo; `base` is what the change left, `goal` what was before it.
    fn value(
        &mut self,
        live: Option<&Value>,
        base: Option<&Value>,
        goal: Option<&Value>,
        ty: TypeRef<'_>,
    ) -> Option<Value> {
        let keep = live.cloned();
        if base == goal || live == goal || self.is_maintained() {
            return keep;
        }
        match (live, base, goal) {
            (Some(Value::Object(live)), Some(Value::Object(base)), Some(Value::Object(goal))) => {
                return Some(self.object(live, base, goal, ty));
            }
            (Some(Value::Array(_)), Some(Value::Array(_)), Some(Value::Array(_)))
                if let Some(items) = Items::of(live, base, goal, ty) =>
            {
                return Some(self.items(items, ty));
            }
            _ => {}
        }
        if live == base || self.on_conflict == OnConflict::Overwrite {
            self.edits.push(Difference { path: self.path.clone(), before: keep, after: goal.cloned() });
        }
        if live == base {
            return goal.cloned();
        }
        self.conflicts.push(Conflict {
            path: self.path.clone(),
            wanted: goal.cloned(),
            left: base.cloned(),
            found: live.cloned(),
        });
        match self.on_conflict {
            OnConflict::Keep => live.cloned(),
            OnConflict::Overwrite => goal.cloned(),
        }
    }

    fn is_maintained(&self) -> bool {
        let is = |names: &[&str]| {
            names.len() == self.path.len()
                && self
                    .path
                    .iter()
                    .zip(names.iter())
                    .all(|(element, name)| matches!(element, PathElement::Field(field) if field == *name))
        };
        MAINTAINED.iter().any(|names| is(names))
    }

    fn object(&mut self, live: &Object, base: &Object, goal: &Object, ty: TypeRef<'_>) -> Value {
        let mut names: Vec<&Text> =
            [live, base, goal].into_iter().flat_map(|side| side.iter().map(|(name, _)| name)).collect();
        names.sort_unstable();
        names.dedup();
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            self.path.push(PathElement::Field(name.clone()));
            let below = ty.below(name).unwrap_or_else(TypeRef::untyped);
            let value = self.value(live.get(name), base.get(name), goal.get(name), below);
            self.path.pop();
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        Value::Object(Object::from_sorted(fields))
    }

    fn items(&mut self, items: Items, ty: TypeRef<'_>) -> Value {
        let below = ty.item().unwrap_or_else(TypeRef::untyped);
        let mut merged = Vec::with_capacity(items.order.len());
        for element in &items.order {
            let value_in = |list: &BTreeMap<PathElement, Value>| list.get(element).cloned();
            let (live, base, goal) = (value_in(&items.live), value_in(&items.base), value_in(&items.goal));
            self.path.push(element.clone());
            let value = self.value(live.as_ref(), base.as_ref(), goal.as_ref(), below);
            self.path.pop();
            merged.extend(value);
        }
        Value::array(merged)
    }
}

/// The items of three versions of a list, by their keys.
struct Items {
    live: BTreeMap<PathElement, Value>,
    base: BTreeMap<PathElement, Value>,
    goal: BTreeMap<PathElement, Value>,
    /// Those of the live list in their order, then the others.
    order: Vec<PathElement>,
}

impl Items {
    /// Returns the items; `None` for an atomic list, and where two items have the same keys.
    fn of(
        live: Option<&Value>,
        base: Option<&Value>,
        goal: Option<&Value>,
        ty: TypeRef<'_>,
    ) -> Option<Items> {
        let Type::List(list) = ty.get() else { return None };
        if list.topology == ListTopology::Atomic {
            return None;
        }
        let mut order = Vec::new();
        let mut read = |value: Option<&Value>| {
            let mut items = BTreeMap::new();
            for item in value?.as_array()?.iter() {
                let element = PathElement::of_item(item, list).ok()?;
                order.push(element.clone());
                if items.insert(element, item.clone()).is_some() {
                    return None;
                }
            }
            Some(items)
        };
        let (live, base, goal) = (read(live)?, read(base)?, read(goal)?);
        let mut seen = std::collections::BTreeSet::new();
        order.retain(|element| seen.insert(element.clone()));
        Some(Items { live, base, goal, order })
    }
}

/// Returns the managers after an undo: the fields that it restored belong to those who owned them before the change, and no
/// longer to the manager that carried it out.
pub fn owners(written: &Managers, before: &State, restored: &[Difference], undoer: &str) -> Managers {
    let touched = |fields: &FieldSet| {
        let below = |path: &Path| fields.with_prefix(path);
        restored.iter().fold(FieldSet::default(), |all, edit| all.union(&below(&edit.path)))
    };
    let mut managers: Vec<Manager> = Vec::new();
    for manager in written {
        let fields = match manager.name == undoer {
            true => manager.fields.difference(&touched(&manager.fields)),
            false => manager.fields.clone(),
        };
        if !fields.is_empty() {
            managers.push(manager.with_fields(fields));
        }
    }
    for owner in &before.managers {
        let regained = touched(&owner.fields);
        if regained.is_empty() {
            continue;
        }
        match managers.iter_mut().find(|manager| manager.identity().is(&owner.identity())) {
            Some(manager) => *manager = manager.with_fields(manager.fields.union(&regained)),
            None => managers.push(owner.with_fields(regained)),
        }
    }
    Managers::new(managers)
}
