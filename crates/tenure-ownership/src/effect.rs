//! What each kind of write does to a field of a type, in words.

use crate::LiveObject;
use tenure_apply::Manager;
use tenure_schema::{
    Field, List, ListTopology, Located, PatchMarks, Relation, Type, TypeRef,
    audit::{WeakKey, Weakness},
    merging::{MergeChange, MergeStrategy},
};
use tenure_value::{Text, Value};

/// The effect of each kind of write.
pub struct Effects {
    /// Server-side apply.
    pub apply: String,
    /// Strategic merge patch.
    pub strategic: String,
    /// JSON merge patch.
    pub merge: &'static str,
}

impl Effects {
    /// Describes the writes to a field.
    pub fn of(place: &Located<'_>) -> Effects {
        Effects { apply: apply(place.ty), strategic: strategic(place), merge: merge(place.ty) }
    }
}

fn apply(ty: TypeRef<'_>) -> String {
    match (MergeStrategy::of(ty), ty.get()) {
        (Some(MergeStrategy::Atomic), _) => "atomic: owned and replaced as a unit".into(),
        (Some(MergeStrategy::Set), _) => {
            "a set: each item is owned separately; items of other managers stay".into()
        }
        (Some(MergeStrategy::Granular), _) => {
            "each field is owned separately; fields of other managers stay".into()
        }
        (Some(MergeStrategy::Keyed(keys)), _) => {
            let named: Vec<String> = keys
                .iter()
                .map(|key| match &key.default {
                    Some(default) => format!("{} (default {default})", key.name),
                    None => key.name.to_string(),
                })
                .collect();
            let unit = match ty.item().is_some_and(is_atomic) {
                true => "each entry is atomic: owned and replaced as a unit",
                false => "each field of each entry is owned separately",
            };
            format!("a list keyed by {}; {unit}; entries of other managers stay", named.join(" and "))
        }
        (None, Type::Untyped) => {
            "no type: an object is owned field by field, anything else as one value".into()
        }
        (None, _) => "owned as one value".into(),
    }
}

fn strategic(place: &Located<'_>) -> String {
    let marks = place.field.map(|field| &field.patch);
    match place.ty.get() {
        Type::List(list) => strategic_list(list, marks, place.ty),
        Type::Struct(_) | Type::Map(_) if marks.is_some_and(|marks| marks.strategy.replace) => {
            "replaces it".into()
        }
        Type::Struct(_) | Type::Map(_) if marks.is_some_and(|marks| marks.strategy.retain_keys) => {
            "merges field by field; a computed patch clears the fields it does not list ($retainKeys)".into()
        }
        Type::Struct(_) | Type::Map(_) => "merges field by field; null removes a field".into(),
        Type::Untyped => "merges objects field by field, replaces anything else".into(),
        Type::Scalar(_) => "sets the value; null removes it".into(),
    }
}

fn strategic_list(list: &List, marks: Option<&PatchMarks>, ty: TypeRef<'_>) -> String {
    let Some(marks) = marks.filter(|marks| marks.strategy.merge) else {
        return match marks.map(|marks| marks.recommended_keys.as_ref()) {
            Some(keys @ [_, ..]) => format!(
                "replaces the list; a patch can merge it by {} with $patchMergeKey",
                joined(keys.iter())
            ),
            _ => "replaces the list".into(),
        };
    };
    let mut effect = match (&marks.merge_key, &list.topology) {
        (Some(key), _) => format!("merges by {key}"),
        (None, ListTopology::Keyed(keys)) => {
            format!("merges by its list keys {}", joined(keys.iter().map(|key| &key.name)))
        }
        (None, _) if matches!(ty.slot(&list.item).get(), Type::Scalar(_)) => "merges as a set".into(),
        (None, _) => "is refused: the list has no merge key".into(),
    };
    if marks.recommended_keys.len() > 1 {
        effect +=
            &format!(", which is not unique: send $patchMergeKey: [{}]", marks.recommended_keys.join(", "));
    }
    if marks.strategy.retain_keys {
        effect += "; a computed patch clears the fields of an entry that it does not list ($retainKeys)";
    }
    effect
}

fn joined<'t>(names: impl Iterator<Item = &'t Text>) -> String {
    names.map(Text::as_str).collect::<Vec<_>>().join(" and ")
}

fn merge(ty: TypeRef<'_>) -> &'static str {
    match ty.get() {
        Type::List(_) => "replaces the list",
        Type::Struct(_) | Type::Map(_) => "merges field by field; null removes a field",
        Type::Scalar(_) => "sets the value; null removes it",
        Type::Untyped => "merges objects field by field, replaces anything else",
    }
}

/// Describes whether a field is required, its default, and whether it may be null; empty if none applies.
pub fn presence(field: Option<&Field>) -> String {
    let Some(field) = field else { return String::new() };
    let required = field.required.then(|| "required".to_owned());
    let default = field.slot.default.as_ref().map(|default| format!("default {default}"));
    let nullable = field.slot.nullable.then(|| "may be null".to_owned());
    required.into_iter().chain(default).chain(nullable).collect::<Vec<_>>().join(", ")
}

/// Whether values of a type are owned as a unit.
fn is_atomic(ty: TypeRef<'_>) -> bool {
    match ty.get() {
        Type::Struct(ty) => ty.relation == Relation::Atomic,
        Type::Map(ty) => ty.relation == Relation::Atomic,
        Type::List(_) | Type::Scalar(_) | Type::Untyped => false,
    }
}

/// Returns how a place in a kind and the fields below it merge, as a document.
pub fn to_value(api_version: &str, kind: &str, place: &Located<'_>) -> Value {
    let effects = Effects::of(place);
    let what = |place: &Located<'_>| {
        let outline = place.ty.outline(0).to_string();
        Value::from(outline.trim_end())
    };
    let inner = place.ty.locate("[]").unwrap_or_else(|_| place.clone());
    let fields = inner.ty.fields().map(|(field, ty)| {
        let below = Located { path: place.path.clone(), field: Some(field), ty };
        let effects = Effects::of(&below);
        Value::object([
            ("name", Value::from(field.name.clone())),
            ("type", what(&below)),
            ("required", Value::from(field.required)),
            ("presence", Value::from(presence(Some(field)))),
            ("hasFields", Value::from(inner_fields(ty))),
            ("serverSideApply", Value::from(effects.apply)),
            ("strategicMergePatch", Value::from(effects.strategic)),
        ])
    });
    let default = place.field.and_then(|field| field.slot.default.clone());
    Value::object(
        [
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("path", Value::from(place.path.to_string())),
            ("type", what(place)),
            ("required", Value::from(place.field.is_some_and(|field| field.required))),
            ("presence", Value::from(presence(place.field))),
            ("serverSideApply", Value::from(effects.apply)),
            ("strategicMergePatch", Value::from(effects.strategic)),
            ("jsonMergePatch", Value::from(effects.merge)),
            ("fields", Value::array(fields)),
        ]
        .into_iter()
        .chain(default.map(|default| ("default", default))),
    )
}

/// Whether a type, or the entries of a list of it, have fields.
fn inner_fields(ty: TypeRef<'_>) -> bool {
    ty.locate("[]").map_or(ty, |place| place.ty).fields().next().is_some()
}

/// Returns what would be better than a weak merge key.
pub fn advice(weak: &WeakKey) -> String {
    let has = |weakness| weak.reasons.contains(&weakness);
    if !weak.recommended_keys.is_empty() {
        return format!("recommended: {}, sent as $patchMergeKey", weak.recommended_keys.join("+"));
    }
    if has(Weakness::NoKey) {
        return "recommended: list type map with keys that every entry has, or atomic".into();
    }
    if has(Weakness::KeyMayBeMissing) {
        return "recommended: make the key required, or give it a default".into();
    }
    if has(Weakness::Repeats) {
        return "no key is unique: entries may be equal in all of them; give each entry its own".into();
    }
    "recommended: declare the list as a map with this key, so that uniqueness is validated".into()
}

/// Returns a weak merge key as a document.
pub fn weak_key_to_value(weak: &WeakKey) -> Value {
    let texts = |texts: &[tenure_value::Text]| Value::array(texts.iter().cloned().map(Value::from));
    let reasons = weak.reasons.iter().map(|reason| Value::from(reason.to_string()));
    Value::object([
        ("type", Value::from(weak.parent.clone())),
        ("field", Value::from(weak.field.clone())),
        ("mergeKey", weak.merge_key.clone().map_or(Value::Null, Value::from)),
        ("mapKeys", texts(&weak.map_keys)),
        ("recommendedKeys", texts(&weak.recommended_keys)),
        ("reasons", Value::array(reasons)),
        ("advice", Value::from(advice(weak))),
    ])
}

/// Returns the managers of an object that own fields affected by a change of the types of an apiVersion.
pub fn affected_managers<'l>(
    live: &'l LiveObject,
    api_version: &str,
    change: &MergeChange,
) -> impl Iterator<Item = &'l Manager> {
    let at_version =
        move |manager: &&Manager| manager.api_version == api_version && manager.fields.reaches(&change.path);
    live.managers.iter().filter(at_version)
}

/// Returns a change of how a list or a map merges as a document; `affected` are objects and managers that own fields there.
pub fn change_to_value<'m>(
    change: &MergeChange,
    affected: impl Iterator<Item = (String, &'m Manager)>,
) -> Value {
    let affected = affected.map(|(object, manager)| {
        Value::object([
            ("object", Value::from(object)),
            ("manager", Value::from(manager.name.clone())),
            ("operation", Value::from(manager.operation.as_str())),
        ])
    });
    Value::object([
        ("path", Value::from(change.path.to_string())),
        ("before", Value::from(change.before.to_string())),
        ("after", Value::from(change.after.to_string())),
        ("consequence", Value::from(change.consequence())),
        ("affects", Value::array(affected)),
    ])
}
