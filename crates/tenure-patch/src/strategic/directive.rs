//! The directives of a patch and where they stand. A directive is a field whose name begins with `$`; a
//! `$` field that the type declares (`$ref`, `$schema`), or that stands where nothing is known of the
//! type, is data. All of them stand at the front of a map, since fields are sorted by name.

use crate::{Fault, PatchError};
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

/// The order directives that most patches have, by the name of the list.
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

/// Returns the name of a directive about a list, if it is a common one that need not be made.
pub(crate) fn common_name(prefix: &str, list: &str) -> Option<Text> {
    let (_, name) = ORDERS.iter().find(|(name, _)| *name == list).filter(|_| prefix == SET_ELEMENT_ORDER)?;
    Some(Text::new_static(name))
}

/// What a field of a patch says about the others.
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
    let list = |rest: &'n str, of: fn(&'n str) -> Directive<'n>| match rest.strip_prefix('/') {
        Some(list) => of(list),
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

/// Returns the fields whose names could be directives; a prefix of the fields, mostly empty.
pub(crate) fn front(object: &Object) -> &[(tenure_value::Text, Value)] {
    let fields = object.fields();
    let end = fields
        .iter()
        .take_while(|(name, _)| name.as_bytes().first().is_none_or(|byte| *byte <= b'$'))
        .count();
    &fields[..end]
}

/// What `$patch` says in a map that carries it.
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
            Some("merge") => Err(Fault::MergeNotSpecifiable { map: map.clone() }.into()),
            _ => Err(Fault::UnknownPatchValue { value: value.clone(), map: map.clone() }.into()),
        }
    }
}

/// Returns what `$patch` says in an entry or a map, if it is there.
pub(crate) fn patch_value(map: &Object) -> Result<Option<PatchValue>, PatchError> {
    match front(map).iter().find(|(name, _)| name == PATCH) {
        Some((_, value)) => PatchValue::read(value, map).map(Some),
        None => Ok(None),
    }
}

/// The directives for one list of a map, as far as they are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListDirectives<'p> {
    pub(crate) list: &'p str,
    pub(crate) order: Option<&'p Value>,
    pub(crate) deletions: Option<&'p Value>,
}

/// The directives of one map, sorted out.
#[derive(Debug, Default)]
pub(crate) struct Directives<'p> {
    pub(crate) patch: Option<&'p Value>,
    pub(crate) retain_keys: Option<&'p Value>,
    /// By list, sorted by the list's name.
    pub(crate) lists: Vec<ListDirectives<'p>>,
}

impl<'p> Directives<'p> {
    /// Reads the directives of a map; those nobody knows are left to lint.
    pub(crate) fn read(map: &'p Object, ty: TypeRef<'_>) -> Result<Directives<'p>, PatchError> {
        let mut all = Directives::default();
        for (name, value) in front(map) {
            match directive(name, ty) {
                Some(Directive::Patch) => all.patch = Some(value),
                Some(Directive::RetainKeys) => all.retain_keys = Some(value),
                Some(Directive::Order(list)) => all.list(list).order = Some(value),
                Some(Directive::Deletions(list)) => all.list(list).deletions = Some(value),
                Some(Directive::Nameless) if map.get(PATCH).is_none() => {
                    return Err(Fault::NamelessDirective { name: name.clone() }.into());
                }
                _ => {}
            }
        }
        Ok(all)
    }

    fn list(&mut self, list: &'p str) -> &mut ListDirectives<'p> {
        let at = match self.lists.binary_search_by(|known| known.list.cmp(list)) {
            Ok(at) => at,
            Err(at) => {
                self.lists.insert(at, ListDirectives { list, order: None, deletions: None });
                at
            }
        };
        &mut self.lists[at]
    }
}
