//! Parses the `x-kubernetes-*` markers of a schema node. Unknown markers and values are errors, because a
//! misspelled marker would silently change how lists merge.

use super::place::Place;
use crate::{PatchMarks, PatchStrategy, Relation, SchemaError, spelling};
use tenure_value::{Object, Text, Value, json};

pub(crate) const LIST_TYPE: &str = "x-kubernetes-list-type";
pub(crate) const LIST_MAP_KEYS: &str = "x-kubernetes-list-map-keys";
pub(crate) const MAP_TYPE: &str = "x-kubernetes-map-type";
pub(crate) const PATCH_STRATEGY: &str = "x-kubernetes-patch-strategy";
pub(crate) const PATCH_MERGE_KEY: &str = "x-kubernetes-patch-merge-key";
pub(crate) const RECOMMENDED_KEYS: &str = "x-kubernetes-recommended-patch-merge-key";
pub(crate) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
pub(crate) const PRESERVE_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
pub(crate) const EMBEDDED_RESOURCE: &str = "x-kubernetes-embedded-resource";
pub(crate) const GROUP_VERSION_KIND: &str = "x-kubernetes-group-version-kind";

/// All markers, with their normalized names (without prefix, dashes and capitals). The last three do not
/// affect the topology and are left to users of the raw schema: validation rules, unions and selectable
/// fields.
const MARKERS: [(&str, &str); 13] = [
    (LIST_TYPE, "listtype"),
    (LIST_MAP_KEYS, "listmapkeys"),
    (MAP_TYPE, "maptype"),
    (PATCH_STRATEGY, "patchstrategy"),
    (PATCH_MERGE_KEY, "patchmergekey"),
    (RECOMMENDED_KEYS, "recommendedpatchmergekey"),
    (INT_OR_STRING, "intorstring"),
    (PRESERVE_UNKNOWN, "preserveunknownfields"),
    (EMBEDDED_RESOURCE, "embeddedresource"),
    (GROUP_VERSION_KIND, "groupversionkind"),
    ("x-kubernetes-validations", "validations"),
    ("x-kubernetes-unions", "unions"),
    ("x-kubernetes-selectable-fields", "selectablefields"),
];

/// Other names of markers in sources and documentation.
const OTHER_SPELLINGS: [(&str, &str); 2] = [(LIST_MAP_KEYS, "listmapkey"), (MAP_TYPE, "structtype")];

/// The value of `x-kubernetes-list-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListType {
    Atomic,
    Set,
    Map,
}

/// The markers that determine a type; those beside a reference override those of its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ShapeMarks {
    pub list_type: Option<ListType>,
    pub list_map_keys: Option<Box<[Text]>>,
    pub relation: Option<Relation>,
}

impl ShapeMarks {
    pub fn read(node: &Object, place: &Place) -> Result<ShapeMarks, SchemaError> {
        Ok(ShapeMarks {
            list_type: word(node, LIST_TYPE, place, &LIST_TYPES)?,
            list_map_keys: texts(node, LIST_MAP_KEYS, place)?,
            relation: word(node, MAP_TYPE, place, &MAP_TYPES)?,
        })
    }

    /// Returns these markers, with those of the referenced type as defaults.
    pub fn over(self, below: ShapeMarks) -> ShapeMarks {
        ShapeMarks {
            list_type: self.list_type.or(below.list_type),
            list_map_keys: self.list_map_keys.or(below.list_map_keys),
            relation: self.relation.or(below.relation),
        }
    }
}

const LIST_TYPES: [(&str, ListType); 3] =
    [("atomic", ListType::Atomic), ("set", ListType::Set), ("map", ListType::Map)];

const MAP_TYPES: [(&str, Relation); 3] = [
    ("granular", Relation::Granular),
    ("atomic", Relation::Atomic),
    // The older name of granular.
    ("separate", Relation::Granular),
];

/// Parses the markers of strategic merge patch.
pub(crate) fn patch_marks(node: &Object, place: &Place) -> Result<PatchMarks, SchemaError> {
    let merge_key = text(node, PATCH_MERGE_KEY, place)?;
    let recommended_keys = match text(node, RECOMMENDED_KEYS, place)? {
        Some(written) => recommended_keys(&written, merge_key.as_ref(), place)?,
        None => Box::default(),
    };
    Ok(PatchMarks { strategy: patch_strategy(node, place)?, merge_key, recommended_keys })
}

fn patch_strategy(node: &Object, place: &Place) -> Result<PatchStrategy, SchemaError> {
    let mut strategy = PatchStrategy::default();
    let Some(written) = text(node, PATCH_STRATEGY, place)? else { return Ok(strategy) };
    let wrong = |expected: &str| Err(wrong_value(PATCH_STRATEGY, place, &written.clone().into(), expected));
    for word in written.split([',', '|']) {
        let flag = match word {
            "merge" => &mut strategy.merge,
            "replace" => &mut strategy.replace,
            "retainKeys" => &mut strategy.retain_keys,
            _ => return wrong("it must be merge, replace, retainKeys, or merge,retainKeys"),
        };
        if std::mem::replace(flag, true) {
            return wrong("it contains a duplicate");
        }
    }
    match strategy.merge && strategy.replace {
        true => wrong("it must not contain both merge and replace"),
        false => Ok(strategy),
    }
}

fn recommended_keys(
    written: &Text,
    merge_key: Option<&Text>,
    place: &Place,
) -> Result<Box<[Text]>, SchemaError> {
    let wrong = |expected: &str| Err(wrong_value(RECOMMENDED_KEYS, place, &written.clone().into(), expected));
    let keys: Box<[Text]> = written.split(',').map(|key| Text::new(key.trim())).collect();
    if keys.iter().any(|key| key.is_empty()) {
        return wrong("it must be a comma-separated list of field names");
    }
    if keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key)) {
        return wrong("it contains a duplicate");
    }
    match (merge_key, keys.first()) {
        (Some(merge_key), Some(first)) if merge_key != first => {
            wrong(&format!("it must start with the merge key {merge_key:?}"))
        }
        _ => Ok(keys),
    }
}

/// Rejects unknown markers, with any value.
pub(crate) fn check_names(node: &Object, place: &Place) -> Result<(), SchemaError> {
    match node.iter().find_map(|(name, _)| marker_hint(name).map(|hint| (name, hint))) {
        Some((name, hint)) => {
            Err(SchemaError::UnknownMarker { at: place.to_string(), name: name.to_string(), hint })
        }
        None => Ok(()),
    }
}

/// Returns what to use instead of an unknown marker.
fn marker_hint(name: &str) -> Option<String> {
    if MARKERS.iter().any(|(marker, _)| *marker == name) {
        return None;
    }
    let mut spellings = MARKERS.iter().chain(&OTHER_SPELLINGS);
    match spellings.find(|(_, spelling)| bare(name).eq(spelling.bytes())) {
        Some((marker, _)) => Some(format!("use {marker:?}")),
        None if name.starts_with("x-ku") => {
            Some(match spelling::nearest(name, MARKERS.iter().map(|(marker, _)| *marker)) {
                Some(marker) => format!("did you mean {marker:?}?"),
                None => format!("markers are {}", MARKERS.map(|(marker, _)| marker).join(", ")),
            })
        }
        None => None,
    }
}

/// Normalizes a marker name: without prefix, dashes and capitals.
fn bare(name: &str) -> impl Iterator<Item = u8> {
    let name = name.strip_prefix("x-").unwrap_or(name);
    let name = match name.split_once('-') {
        Some((prefix, rest)) if prefix.starts_with("kube") || prefix == "k8s" => rest,
        _ => name,
    };
    name.bytes().filter(|byte| *byte != b'-').map(|byte| byte.to_ascii_lowercase())
}

/// Parses a marker that is a boolean or absent.
pub(crate) fn flag(node: &Object, name: &'static str, place: &Place) -> Result<bool, SchemaError> {
    match node.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(wrong_value(name, place, other, "it must be true or absent")),
    }
}

fn word<T: Copy>(
    node: &Object,
    name: &'static str,
    place: &Place,
    words: &[(&str, T)],
) -> Result<Option<T>, SchemaError> {
    let Some(value) = node.get(name) else { return Ok(None) };
    let meant = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
    match meant {
        Some((_, meaning)) => Ok(Some(*meaning)),
        None => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Err(wrong_value(name, place, value, &format!("it must be one of {}", words.join(", "))))
        }
    }
}

fn text(node: &Object, name: &'static str, place: &Place) -> Result<Option<Text>, SchemaError> {
    match node.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(other) => Err(wrong_value(name, place, other, "it must be a non-empty string")),
    }
}

fn texts(node: &Object, name: &'static str, place: &Place) -> Result<Option<Box<[Text]>>, SchemaError> {
    let Some(value) = node.get(name) else { return Ok(None) };
    let texts: Option<Box<[Text]>> = value.as_array().and_then(|items| {
        items.iter().map(|item| item.as_str().filter(|text| !text.is_empty()).map(Text::new)).collect()
    });
    match texts {
        Some(texts) if !texts.is_empty() => Ok(Some(texts)),
        _ => Err(wrong_value(name, place, value, "it must be a list of field names")),
    }
}

/// Returns the error for the value of a marker, truncated if it is long.
pub(crate) fn wrong_value(name: &'static str, place: &Place, found: &Value, expected: &str) -> SchemaError {
    let mut found = json::to_string(found);
    if found.len() > 80 {
        let end = (0..=77).rev().find(|at| found.is_char_boundary(*at)).unwrap_or(0);
        found.truncate(end);
        found.push_str("...");
    }
    SchemaError::MarkerValue { at: place.to_string(), name, found, expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_marker_names_are_correct() {
        for (marker, spelling) in MARKERS {
            assert!(bare(marker).eq(spelling.bytes()), "{marker}");
            assert_eq!(marker_hint(marker), None);
        }
    }

    #[test]
    fn unrelated_keywords_are_not_markers() {
        for keyword in ["type", "description", "x-go-name", "x-order", "maxLength", "", "x-", "-"] {
            assert_eq!(marker_hint(keyword), None, "{keyword}");
        }
        assert!(marker_hint(&format!("x-kubernetes-{}", "a".repeat(1000))).is_some());
    }
}
