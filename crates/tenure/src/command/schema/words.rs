//! How a place of a type merges, in plain words: what each kind of write does there.

use tenure_schema::{Field, List, ListTopology, Located, PatchMarks, Type, TypeRef, merging::Manner};
use tenure_value::Text;

/// The writes that are told apart, and what each does at a place.
pub struct Words {
    /// Server-side apply.
    pub apply: String,
    /// Strategic merge patch.
    pub strategic: String,
    /// JSON merge patch.
    pub merge: &'static str,
}

impl Words {
    /// Returns what the writes do at a place.
    pub fn of(place: &Located<'_>) -> Words {
        Words { apply: apply(place.of), strategic: strategic(place), merge: merge(place.of) }
    }
}

fn apply(of: TypeRef<'_>) -> String {
    let whole = "held and replaced as a whole by whoever applies it";
    match (Manner::of(of), of.get()) {
        (Some(Manner::Whole), _) => whole.into(),
        (Some(Manner::Set), _) => "each item is held on its own; items of others stay".into(),
        (Some(Manner::ByField), _) => "each field is held on its own; fields of others stay".into(),
        (Some(Manner::Keyed(keys)), _) => {
            let named: Vec<String> = keys
                .iter()
                .map(|key| match &key.default {
                    Some(default) => format!("{} ({default} where absent)", key.name),
                    None => key.name.to_string(),
                })
                .collect();
            format!(
                "entries are told apart by {}; each field of each entry is held on its own, and entries of others stay",
                named.join(" and ")
            )
        }
        (None, Type::Untyped) => "as the value looks: an object field by field, anything else as one value".into(),
        (None, _) => "held as one value".into(),
    }
}

fn strategic(place: &Located<'_>) -> String {
    let marks = place.field.map(|field| &field.patch);
    match place.of.get() {
        Type::List(list) => strategic_list(list, marks, place.of),
        Type::Struct(_) | Type::Map(_) if marks.is_some_and(|marks| marks.strategy.replace) => {
            "replaces the whole".into()
        }
        Type::Struct(_) | Type::Map(_) if marks.is_some_and(|marks| marks.strategy.retain_keys) => {
            "merges field by field; a calculated patch clears the fields it does not list ($retainKeys)".into()
        }
        Type::Struct(_) | Type::Map(_) => "merges field by field; null removes a field".into(),
        Type::Untyped => "merges objects field by field, replaces anything else".into(),
        Type::Scalar(_) => "sets the value; null removes it".into(),
    }
}

fn strategic_list(list: &List, marks: Option<&PatchMarks>, of: TypeRef<'_>) -> String {
    let Some(marks) = marks.filter(|marks| marks.strategy.merge) else {
        return match marks.map(|marks| marks.recommended_keys.as_ref()) {
            Some(keys @ [_, ..]) => format!(
                "replaces the list; a patch can merge it by {} with $patchMergeKey",
                joined(keys.iter())
            ),
            _ => "replaces the list".into(),
        };
    };
    let mut told = match (&marks.merge_key, &list.topology) {
        (Some(key), _) => format!("merges by {key}"),
        (None, ListTopology::Keyed(keys)) => {
            format!("merges by its list keys {}", joined(keys.iter().map(|key| &key.name)))
        }
        (None, _) if matches!(of.slot(&list.item).get(), Type::Scalar(_)) => "merges as a set".into(),
        (None, _) => "is refused: there is no key to merge by".into(),
    };
    if marks.recommended_keys.len() > 1 {
        told += &format!(
            ", which cannot tell all entries apart: send $patchMergeKey: [{}]",
            marks.recommended_keys.join(", ")
        );
    }
    if marks.strategy.retain_keys {
        told += "; a calculated patch clears the fields of an entry it does not list ($retainKeys)";
    }
    told
}

fn joined<'t>(names: impl Iterator<Item = &'t Text>) -> String {
    names.map(Text::as_str).collect::<Vec<_>>().join(" and ")
}

fn merge(of: TypeRef<'_>) -> &'static str {
    match of.get() {
        Type::List(_) => "replaces the list",
        Type::Struct(_) | Type::Map(_) => "merges field by field; null removes a field",
        Type::Scalar(_) => "sets the value; null removes it",
        Type::Untyped => "merges objects field by field, replaces anything else",
    }
}

/// Says whether the field must be there and what stands there otherwise; empty where there is nothing to say.
pub fn presence(field: Option<&Field>) -> String {
    let Some(field) = field else { return String::new() };
    let required = field.required.then(|| "required".to_owned());
    let default = field.slot.default.as_ref().map(|default| format!("{default} where absent"));
    let nullable = field.slot.nullable.then(|| "may be null".to_owned());
    required.into_iter().chain(default).chain(nullable).collect::<Vec<_>>().join(", ")
}
