//! Values that must be unique in a list and no longer are because of an apply: the writer gave an entry another key and left the
//! old one to another manager that owned it too. A validation error would hide that manager, so the duplicate is reported as a
//! conflict. A writer that never owned the other entry has simply repeated its value.

use tenure_apply::{Conflict, Conflicts, Identity, Managers, Owner};
use tenure_fields::{Path, PathElement};
use tenure_meta::Cause;
use tenure_schema::{Type, TypeRef};
use tenure_value::Value;

/// Returns the conflicts behind the faults of an applied object, if all of them stem from entries that the writer
/// let go and others hold; `before` and `after` are the managers around the apply.
pub(super) fn conflicts(
    faults: &[Cause],
    object: &Value,
    of: TypeRef<'_>,
    [before, after]: [&Managers; 2],
    writer: &Identity<'_>,
) -> Option<Conflicts> {
    let (had, has) = (&before.get(writer)?.fields, &after.get(writer)?.fields);
    let mut contested: Vec<(Owner, Vec<Conflict>)> = Vec::new();
    for fault in faults {
        let places = places(fault, object, of)?;
        let (own, foreign): (Vec<_>, Vec<_>) = places.into_iter().partition(|path| has.has(path.elements()));
        if own.is_empty() || !foreign.iter().all(|path| had.has(path.elements())) {
            return None;
        }
        let mut found = false;
        for path in foreign {
            let conflict = Conflict {
                live: path.resolve(object, of).cloned(),
                proposed: None,
                owners: Vec::new(),
                path,
            };
            for manager in after.iter().filter(|other| other.fields.has(conflict.path.elements())) {
                found = true;
                contested.push((Owner::from(manager), vec![conflict.clone()]));
            }
        }
        if !found {
            return None;
        }
    }
    Conflicts::gather(contested)
}

/// Returns the paths, by key, of all fields that have the value which a fault calls a duplicate.
fn places(fault: &Cause, object: &Value, of: TypeRef<'_>) -> Option<Vec<Path>> {
    if fault.reason != "FieldValueDuplicate" {
        return None;
    }
    let named = Path::parse_in(&fault.field, of, Some(object)).ok()?;
    let last = named.iter().rposition(|element| matches!(element, PathElement::Index(_)))?;
    let (entry, rest) = (named.get(..last)?, named.get(last + 1..)?);
    let mut list = (object, of, Path::default());
    for element in entry {
        list = below(list, element)?;
    }
    let field = |number: i64| {
        let mut place = below(list.clone(), &PathElement::Index(number))?;
        for element in rest {
            place = below(place, element)?;
        }
        Some(place)
    };
    let Some(PathElement::Index(number)) = named.get(last) else { return None };
    let (value, ..) = field(*number)?;
    let numbers = 0..list.0.as_array()?.len() as i64;
    let same = numbers.filter_map(field).filter(|(other, ..)| *other == value);
    Some(same.map(|(.., path)| path).collect())
}

/// A part of the object, its type, and the way there by key.
type Place<'v, 's> = (&'v Value, TypeRef<'s>, Path);

/// Goes one step further down.
fn below<'v, 's>((value, of, path): Place<'v, 's>, element: &PathElement) -> Option<Place<'v, 's>> {
    Some(match (element, of.get()) {
        (PathElement::Field(name), _) => (value.get(name)?, of.below(name)?, path.with(element.clone())),
        (PathElement::Index(number), Type::List(list)) => {
            let item = value.as_array()?.get(usize::try_from(*number).ok()?)?;
            (item, of.item()?, path.with(PathElement::of_item(item, list).ok()?))
        }
        _ => return None,
    })
}
