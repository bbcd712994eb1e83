//! Values that must be unique in a list and no longer are because of an apply: the writer gave an entry another key and left the
//! old one to another manager that owned it too. A validation error would hide that manager, so the duplicate is reported as a
//! conflict. A writer that never owned the other entry has simply repeated its value.

use std::collections::{BTreeMap, btree_map::Entry};
use tenure_apply::{Conflict, Conflicts, Identity, Managers, Owner};
use tenure_fields::{Path, PathElement};
use tenure_meta::Cause;
use tenure_schema::{Type, TypeRef};
use tenure_value::Value;

/// Returns the conflicts behind the errors of an applied object, if all of them stem from entries that the writer
/// gave up and others own; `before` and `after` are the managers around the apply.
pub fn conflicts(
    errors: &[Cause],
    object: &Value,
    ty: TypeRef<'_>,
    [before, after]: [&Managers; 2],
    writer: &Identity<'_>,
) -> Option<Conflicts> {
    let (had, has) = (&before.get(writer)?.fields, &after.get(writer)?.fields);
    let mut contested: Vec<(Owner, Vec<Conflict>)> = Vec::new();
    // Each list is read once, and each value of it is looked at once, however many errors name it.
    let mut lists: BTreeMap<(Path, Path), ListValues<'_>> = BTreeMap::new();
    for error in errors {
        let (list, index, rest) = duplicate(error)?;
        let list = match lists.entry((list, rest)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (list, rest) = new.key();
                let values = ListValues::read(list, rest, object, ty)?;
                new.insert(values)
            }
        };
        let value = list.by_index.get(index).copied().flatten()?;
        // The error that named the value first has taken its places.
        let Some(places) = list.places.remove(value) else { continue };
        let (own, foreign): (Vec<_>, Vec<_>) = places.into_iter().partition(|path| has.has(path.elements()));
        if own.is_empty() || !foreign.iter().all(|path| had.has(path.elements())) {
            return None;
        }
        let mut found = false;
        for path in foreign {
            let conflict = Conflict {
                live: path.resolve(object, ty).cloned(),
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

/// Returns what an error calls a duplicate: the path of the list, the index of the entry, and the path of the field in it.
fn duplicate(error: &Cause) -> Option<(Path, usize, Path)> {
    if error.reason != "FieldValueDuplicate" {
        return None;
    }
    // Without the object, so that indexes stay indexes.
    let named = Path::parse(&error.field).ok()?;
    let last = named.iter().rposition(|element| matches!(element, PathElement::Index(_)))?;
    let Some(PathElement::Index(index)) = named.get(last) else { return None };
    let (list, rest) = (named.get(..last)?, named.get(last + 1..)?);
    Some((Path::from(list), usize::try_from(*index).ok()?, Path::from(rest)))
}

/// The values of one field in all entries of a list.
struct ListValues<'v> {
    /// `None` for an entry without the field.
    by_index: Vec<Option<&'v Value>>,
    /// The paths, by key, of the fields that have a value.
    places: BTreeMap<&'v Value, Vec<Path>>,
}

impl<'v> ListValues<'v> {
    fn read(list: &Path, field: &Path, object: &'v Value, ty: TypeRef<'_>) -> Option<ListValues<'v>> {
        let root = (object, ty, Path::default());
        let list = list.iter().try_fold(root, below)?;
        let count = list.0.as_array()?.len();
        let (mut by_index, mut places) = (Vec::with_capacity(count), BTreeMap::<_, Vec<Path>>::new());
        for index in 0..count {
            let entry = below(list.clone(), &PathElement::Index(index as i64));
            let found = entry.and_then(|entry| field.iter().try_fold(entry, below));
            by_index.push(found.as_ref().map(|(value, ..)| *value));
            if let Some((value, _, path)) = found {
                places.entry(value).or_default().push(path);
            }
        }
        Some(ListValues { by_index, places })
    }
}

/// A part of the object, its type, and the way there by key.
type Place<'v, 's> = (&'v Value, TypeRef<'s>, Path);

/// Goes one step down.
fn below<'v, 's>((value, ty, path): Place<'v, 's>, element: &PathElement) -> Option<Place<'v, 's>> {
    Some(match (element, ty.get()) {
        (PathElement::Field(name), _) => (value.get(name)?, ty.below(name)?, path.with(element.clone())),
        (PathElement::Index(number), Type::List(list)) => {
            let item = value.as_array()?.get(usize::try_from(*number).ok()?)?;
            (item, ty.item()?, path.with(PathElement::of_item(item, list).ok()?))
        }
        _ => return None,
    })
}
