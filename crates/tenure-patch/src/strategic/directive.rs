//! The directives of a patch. A directive is a field whose name begins with `$`. A `$` field that the type declares
//! (`$ref`, `$schema`), or in a part without a type, is data. Fields are sorted by name, so directives come first.

use crate::{ErrorKind, PatchError};
use tenure_profile::{Improvement, Profile};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Object, Text, Value};

/// The name of the directive that replaces or deletes what carries it.
pub(crate) const PATCH: &str = "$patch";
/// The name of the directive that lists the fields to keep.
pub(crate) const RETAIN_KEYS: &str = "$retainKeys";
/// The name of the directive that lists the keys of a list's entries.
pub(crate) const PATCH_MERGE_KEY: &str = "$patchMergeKey";
/// What the name of an order directive begins with.
pub(crate) const SET_ELEMENT_ORDER: &str = "$setElementOrder";
/// What the name of a deletion list begins with.
pub(crate) const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// The most common order directives, by the name of the list.
const ORDERS: [(&str, &str); 10] = [
    ("containers", "$setElementOrder/containers"),
    ("env", "$setElementOrder/env"),
    ("ports", "$setElementOrder/ports"),
    ("volumes", "$setElementOrder/volumes"),
    ("volumeMounts", "$setElementOrder/volumeMounts"),
    ("conditions", "$setElementOrder/conditions"),
    ("initContainers", "$setElementOrder/initContainers"),
    ("imagePullSecrets", "$setElementOrder/imagePullSecrets"),
    ("finalizers", "$setElementOrder/finalizers"),
    ("addresses", "$setElementOrder/addresses"),
];

/// Returns the name of a directive for a list without allocating, if it is a common one.
pub(crate) fn common_name(prefix: &str, list: &str) -> Option<Text> {
    let (_, name) = ORDERS.iter().find(|(name, _)| *name == list).filter(|_| prefix == SET_ELEMENT_ORDER)?;
    Some(Text::new_static(name))
}

/// The meaning of a directive field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Directive<'n> {
    Patch,
    RetainKeys,
    MergeKeys,
    Order(&'n str),
    Deletions(&'n str),
    /// An order or deletion list without a slash and a name.
    Nameless,
    /// A directive of a newer client.
    Unknown,
}

/// Returns the directive that a field name stands for, if it is not an ordinary field of this type.
pub(crate) fn directive<'n>(name: &'n str, ty: TypeRef<'_>) -> Option<Directive<'n>> {
    if !name.starts_with('$') {
        return None;
    }
    let list = |rest: &'n str, directive: fn(&'n str) -> Directive<'n>| match rest.strip_prefix('/') {
        Some(list) => directive(list),
        None => Directive::Nameless,
    };
    match name {
        PATCH => Some(Directive::Patch),
        RETAIN_KEYS => Some(Directive::RetainKeys),
        PATCH_MERGE_KEY => Some(Directive::MergeKeys),
        _ => {
            if let Some(rest) = name.strip_prefix(SET_ELEMENT_ORDER) {
                Some(list(rest, Directive::Order))
            } else if let Some(rest) = name.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
                Some(list(rest, Directive::Deletions))
            } else if matches!(ty.get(), Type::Untyped) || ty.field(name).is_some() {
                None
            } else {
                Some(Directive::Unknown)
            }
        }
    }
}

/// Returns the fields whose names could be directives: a prefix of the fields, mostly empty.
pub(crate) fn possible_directives(object: &Object) -> &[(Text, Value)] {
    let fields = object.fields();
    let end = fields
        .iter()
        .take_while(|(name, _)| name.as_bytes().first().is_none_or(|byte| *byte <= b'$'))
        .count();
    &fields[..end]
}

/// The value of `$patch`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatchValue {
    Replace,
    Delete,
}

impl PatchValue {
    /// Reads the value of `$patch` in a map.
    pub(crate) fn read(value: &Value, map: &Object) -> Result<PatchValue, PatchError> {
        match value.as_str() {
            Some("replace") => Ok(PatchValue::Replace),
            Some("delete") => Ok(PatchValue::Delete),
            Some("merge") => Err(ErrorKind::MergeNotSpecifiable { map: map.clone() }.into()),
            _ => Err(ErrorKind::UnknownPatchValue { value: value.clone(), map: map.clone() }.into()),
        }
    }
}

/// Returns the value of `$patch` in an entry or a map, if present.
pub(crate) fn patch_value(map: &Object) -> Result<Option<PatchValue>, PatchError> {
    match possible_directives(map).iter().find(|(name, _)| name == PATCH) {
        Some((_, value)) => PatchValue::read(value, map).map(Some),
        None => Ok(None),
    }
}

/// Returns the names that `$retainKeys` lists, sorted; every field that the map sets must be one of them.
pub(crate) fn retained<'p>(
    map: &Object,
    listed: &'p Value,
    ty: TypeRef<'_>,
    profile: Profile,
) -> Result<Vec<&'p str>, PatchError> {
    let strict = profile.has(Improvement::RejectMalformedDirectives);
    let is_name = |name: &Value| if strict { name.as_str().is_some() } else { name.is_scalar() };
    let names = match listed {
        Value::Array(names) if names.iter().all(is_name) => names,
        _ => return Err(ErrorKind::BadRetainKeys { value: listed.clone() }.into()),
    };
    let mut names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    let is_listed = |name: &str| names.binary_search(&name).is_ok();
    for (name, value) in map {
        if !value.is_null() && !is_listed(name) && directive(name, ty).is_none() {
            return Err(ErrorKind::NotRetained { field: name.clone(), listed: listed.clone() }.into());
        }
    }
    Ok(names)
}

/// The directives for one list of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListDirectives<'p> {
    pub(crate) list: &'p str,
    pub(crate) order: Option<&'p Value>,
    pub(crate) deletions: Option<&'p Value>,
}

/// The directives of one map.
#[derive(Debug, Default)]
pub(crate) struct Directives<'p> {
    pub(crate) patch: Option<&'p Value>,
    pub(crate) retain_keys: Option<&'p Value>,
    /// Sorted by the name of the list.
    pub(crate) lists: Vec<ListDirectives<'p>>,
}

impl<'p> Directives<'p> {
    /// Reads the directives of a map. Unknown ones are ignored; `lint` reports them.
    pub(crate) fn read(map: &'p Object, ty: TypeRef<'_>) -> Result<Directives<'p>, PatchError> {
        let mut all = Directives::default();
        // Fields are sorted, so deletions come before orders, and both are sorted by list.
        let mut deletions: Vec<ListDirectives<'p>> = Vec::new();
        for (name, value) in possible_directives(map) {
            match directive(name, ty) {
                Some(Directive::Patch) => all.patch = Some(value),
                Some(Directive::RetainKeys) => all.retain_keys = Some(value),
                Some(Directive::Order(list)) => {
                    all.lists.push(ListDirectives { list, order: Some(value), deletions: None });
                }
                Some(Directive::Deletions(list)) => {
                    deletions.push(ListDirectives { list, order: None, deletions: Some(value) });
                }
                Some(Directive::Nameless) if map.get(PATCH).is_none() => {
                    return Err(ErrorKind::NamelessDirective { name: name.clone() }.into());
                }
                _ => {}
            }
        }
        if !deletions.is_empty() {
            all.lists.extend(deletions);
            all.lists.sort_by_key(|directives| directives.list);
            all.lists.dedup_by(|later, earlier| {
                let same = later.list == earlier.list;
                if same {
                    earlier.order = earlier.order.or(later.order);
                    earlier.deletions = earlier.deletions.or(later.deletions);
                }
                same
            });
        }
        Ok(all)
    }
}
