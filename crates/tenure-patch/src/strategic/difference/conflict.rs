//! Conflicts: places that a patch would change and that have changed live since the last apply. Both are
//! patches against the last applied document, so what they do to one place can be compared; doing the same
//! is no conflict, and neither is the order of a list.

use super::DifferenceOptions;
use crate::{
    Conflict,
    strategic::{
        directive::{PATCH, directive},
        plan::{self, Keys, Plan, Position},
    },
};
use tenure_fields::{Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Value};

/// Returns every place in which two patches of one document disagree.
pub(super) fn conflicts(
    patch: &Value,
    changed: &Value,
    ty: TypeRef<'_>,
    options: &DifferenceOptions<'_>,
) -> Vec<Conflict> {
    let mut search = Search { options, path: Path::default(), conflicts: Vec::new() };
    if let (Value::Object(patch), Value::Object(changed)) = (patch, changed) {
        search.maps(patch, changed, ty);
    }
    search.conflicts
}

struct Search<'o> {
    options: &'o DifferenceOptions<'o>,
    path: Path,
    conflicts: Vec<Conflict>,
}

impl Search<'_> {
    fn maps(&mut self, patch: &Object, changed: &Object, ty: TypeRef<'_>) {
        let marks = (patch.get(PATCH), changed.get(PATCH));
        if marks.0 != marks.1 {
            return self.conflict(&patch.clone().into(), &changed.clone().into());
        }
        for (name, value) in patch.iter().filter(|(name, _)| directive(name, ty).is_none()) {
            if let Some(other) = changed.get(name) {
                self.path.push(PathElement::field(name.clone()));
                let position = plan::position(ty, name, value).ok();
                self.values(value, other, position);
                self.path.pop();
            }
        }
    }

    fn values(&mut self, patch: &Value, changed: &Value, position: Option<Position<'_>>) {
        let ty = position.map_or(TypeRef::untyped(), |position| position.ty);
        match (patch, changed) {
            (Value::Object(_), Value::Object(_)) if position.is_some_and(|at| plan::replaces(at.marks)) => {}
            (Value::Object(patch), Value::Object(changed)) => self.maps(patch, changed, ty),
            (Value::Array(patch), Value::Array(changed)) => self.lists(patch, changed, position),
            (patch, changed) if patch == changed => {}
            (patch, changed) => self.conflict(patch, changed),
        }
    }

    fn lists(&mut self, patch: &Array, changed: &Array, position: Option<Position<'_>>) {
        match position.map(|position| (position.plan(self.options.unmarked_lists), position)) {
            Some((Plan::Set, _)) => {}
            Some((Plan::Keyed(keys), position)) => self.entries(patch, changed, &keys, position),
            _ if same_items(patch, changed) => {}
            _ if patch.len() != changed.len() => {
                self.conflict(&patch.clone().into(), &changed.clone().into())
            }
            _ => {
                for (at, (item, other)) in patch.iter().zip(changed).enumerate() {
                    self.path.push(PathElement::Index(at as i64));
                    self.values(item, other, None);
                    self.path.pop();
                }
            }
        }
    }

    fn entries(&mut self, patch: &Array, changed: &Array, keys: &Keys<'_>, position: Position<'_>) {
        let recommended = position.recommended_keys();
        for entry in patch.iter().filter_map(Value::as_object) {
            let keys = match &recommended {
                Some(recommended) if entry.contains(crate::strategic::directive::PATCH_MERGE_KEY) => {
                    recommended
                }
                _ => keys,
            };
            let identity = keys.of(entry);
            let found = changed.iter().filter_map(Value::as_object).find(|other| keys.of(other) == identity);
            if let Some(other) = found {
                self.path.push(PathElement::Key(identity));
                self.maps(entry, other, plan::item(position.ty));
                self.path.pop();
            }
        }
    }

    fn conflict(&mut self, patch: &Value, live: &Value) {
        self.conflicts.push(Conflict { path: self.path.clone(), patch: patch.clone(), live: live.clone() });
    }
}

/// Whether two lists of scalars have the same items in some order.
fn same_items(left: &Array, right: &Array) -> bool {
    let sorted = |list: &Array| {
        let mut items = list.to_vec();
        items.sort_unstable();
        items
    };
    left.len() == right.len()
        && left.iter().chain(right).all(Value::is_scalar)
        && sorted(left) == sorted(right)
}
