//! JSON merge patch (RFC 7396): maps merge, `null` removes, everything else is replaced. It needs no type and cannot
//! fail. The Kubernetes API differs in one point: it also removes the `null` fields of maps inside a new list.

use tenure_value::{Object, Text, Value};

/// Applies a merge patch.
///
/// ```
/// use tenure_patch::merge;
/// use tenure_value::Value;
///
/// let live: Value = r#"{"a": {"b": 1, "c": 2}}"#.parse().unwrap();
/// let patch: Value = r#"{"a": {"b": null, "d": 3}}"#.parse().unwrap();
/// assert_eq!(merge::apply(&live, &patch).to_string(), r#"{"a":{"c":2,"d":3}}"#);
/// ```
pub fn apply(live: &Value, patch: &Value) -> Value {
    merged(Some(live), patch, Lists::Literal).unwrap_or_else(|| live.clone())
}

/// Applies a merge patch like the Kubernetes API: a list that does not replace a map loses the `null` fields of the maps
/// inside it. The standard takes a list as it is.
pub fn apply_kubernetes(live: &Value, patch: &Value) -> Value {
    merged(Some(live), patch, Lists::WithoutNulls).unwrap_or_else(|| live.clone())
}

/// What happens to the `null` fields inside a new list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Literal,
    WithoutNulls,
}

/// Returns the patched value, or `None` if it does not change.
fn merged(live: Option<&Value>, patch: &Value, lists: Lists) -> Option<Value> {
    let Value::Object(patch) = patch else {
        if live == Some(patch) {
            return None;
        }
        let literal = lists == Lists::Literal || matches!(live, Some(Value::Object(_)));
        return Some(if literal { patch.clone() } else { without_nulls(patch) });
    };
    let (live, replaced) = match live {
        Some(Value::Object(live)) => (live.fields(), false),
        _ => ([].as_slice(), true),
    };
    let mut kept: Option<Vec<(Text, Value)>> = replaced.then(Vec::new);
    let mut at = 0;
    let mut taken = 0;
    for (name, value) in patch {
        let (here, found) = match live[at..].binary_search_by(|(field, _)| field.cmp(name)) {
            Ok(offset) => (at + offset, true),
            Err(offset) => (at + offset, false),
        };
        at = here + usize::from(found);
        let new = match value {
            Value::Null if !found => continue,
            Value::Null => None,
            value => match merged(found.then(|| &live[here].1), value, lists) {
                None => continue,
                new => new,
            },
        };
        let kept = kept.get_or_insert_with(|| Vec::with_capacity(live.len() + patch.len()));
        kept.extend_from_slice(&live[taken..here]);
        kept.extend(new.map(|value| (name.clone(), value)));
        taken = at;
    }
    let mut kept = kept?;
    kept.extend_from_slice(&live[taken..]);
    Some(Object::from_sorted(kept).into())
}

/// Returns a value without the `null` fields of the maps in it; a `null` item of a list stays.
fn without_nulls(value: &Value) -> Value {
    pruned(value).unwrap_or_else(|| value.clone())
}

/// Returns a value without the `null` fields of the maps in it, if it has any.
fn pruned(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let mut changed = false;
            let mut kept = Vec::with_capacity(fields.len());
            for (name, value) in fields {
                let below = pruned(value);
                changed |= value.is_null() || below.is_some();
                if !value.is_null() {
                    kept.push((name.clone(), below.unwrap_or_else(|| value.clone())));
                }
            }
            changed.then(|| Object::from_sorted(kept).into())
        }
        Value::Array(items) => {
            let pruned: Vec<Option<Value>> = items.iter().map(pruned).collect();
            pruned.iter().any(Option::is_some).then(|| {
                let items = pruned.into_iter().zip(items);
                Value::array(items.map(|(pruned, item)| pruned.unwrap_or_else(|| item.clone())))
            })
        }
        _ => None,
    }
}

/// Returns the merge patch that leads from one document to another.
///
/// A merge patch cannot set a field to `null`: where the modified document has a `null` field, the patch
/// removes it.
pub fn diff(original: &Value, modified: &Value) -> Value {
    match (original, modified) {
        (Value::Object(original), Value::Object(modified)) => {
            Object::from_sorted(difference(original, modified)).into()
        }
        (_, modified) => modified.clone(),
    }
}

fn difference(original: &Object, modified: &Object) -> Vec<(Text, Value)> {
    let mut fields = Vec::new();
    let (mut left, mut right) = (original.iter().peekable(), modified.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((name, _)), Some((other, _))) => name.cmp(other),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return fields,
        };
        let before = if order.is_le() { left.next() } else { None };
        let after = if order.is_ge() { right.next() } else { None };
        match (before, after) {
            (Some((_, before)), Some((_, after))) if before == after => {}
            (Some((name, Value::Object(before))), Some((_, Value::Object(after)))) => {
                fields.push((name.clone(), Object::from_sorted(difference(before, after)).into()));
            }
            (_, Some((name, after))) => fields.push((name.clone(), after.clone())),
            (Some((name, _)), None) => fields.push((name.clone(), Value::Null)),
            (None, None) => {}
        }
    }
}

/// Calculates the merge patch that brings a live document to a manifest. It sets what the manifest has and the live
/// document lacks, removes what the last applied manifest had and this one lacks, and keeps fields that other clients set. Lists
/// are replaced.
///
/// ```
/// use tenure_patch::merge;
/// use tenure_value::Value;
///
/// let read = |text: &str| text.parse::<Value>().unwrap();
/// let (last, manifest) = (read(r#"{"a": 1, "b": 1}"#), read(r#"{"a": 2}"#));
/// let patch = merge::three_way(&last, &manifest, &read(r#"{"a": 1, "b": 1, "c": 1}"#));
/// assert_eq!(patch.to_string(), r#"{"a":2,"b":null}"#);
/// ```
pub fn three_way(last_applied: &Value, modified: &Value, live: &Value) -> Value {
    let set = keep(&diff(live, modified), Kept::Values).unwrap_or_else(|| Object::default().into());
    match keep(&diff(last_applied, modified), Kept::Removals) {
        Some(removals) => joined(&removals, &set),
        None => set,
    }
}

/// A half of a patch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// What it sets.
    Values,
    /// What it removes.
    Removals,
}

fn keep(patch: &Value, kept: Kept) -> Option<Value> {
    match (patch, kept) {
        (Value::Object(fields), _) if !fields.is_empty() => {
            let fields = fields.iter().filter_map(|(name, value)| Some((name.clone(), keep(value, kept)?)));
            let fields: Vec<(Text, Value)> = fields.collect();
            (!fields.is_empty()).then(|| Object::from_sorted(fields).into())
        }
        (Value::Null, Kept::Removals) => Some(Value::Null),
        (Value::Null, Kept::Values) | (_, Kept::Removals) => None,
        (value, Kept::Values) => Some(value.clone()),
    }
}

/// Returns one patch for two, of which the second wins.
fn joined(first: &Value, second: &Value) -> Value {
    let (Value::Object(fields), Value::Object(others)) = (first, second) else { return second.clone() };
    let both = others.iter().map(|(name, other)| {
        let value = fields.get(name).map_or_else(|| other.clone(), |value| joined(value, other));
        (name.clone(), value)
    });
    // Of two fields with one name the later counts.
    let all: Vec<(Text, Value)> = fields.fields().iter().cloned().chain(both).collect();
    Object::from_unsorted(all).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    /// The test cases of RFC 7396, appendix A.
    const CASES: [(&str, &str, &str); 15] = [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", "null"),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ];

    #[test]
    fn the_cases_of_the_standard_pass() {
        for (live, patch, expected) in CASES {
            assert_eq!(apply(&value(live), &value(patch)), value(expected), "{live} {patch}");
        }
    }

    #[test]
    fn the_kubernetes_api_removes_nulls_in_the_maps_of_a_new_list() {
        for (live, patch, expected) in [
            ("{}", r#"{"l":[{"a":null,"b":1},null]}"#, r#"{"l":[{"b":1},null]}"#),
            (r#"{"l":[1]}"#, r#"{"l":[[{"a":{"b":null}}]]}"#, r#"{"l":[[{"a":{}}]]}"#),
            (r#"{"l":{}}"#, r#"{"l":[{"a":null}]}"#, r#"{"l":[{"a":null}]}"#),
            (r#"{"l":[{"a":null}]}"#, r#"{"l":[{"a":null}]}"#, r#"{"l":[{"a":null}]}"#),
        ] {
            assert_eq!(apply_kubernetes(&value(live), &value(patch)), value(expected), "{live} {patch}");
            assert_eq!(apply(&value(live), &value(patch)), value(patch), "the standard: {live} {patch}");
        }
    }

    #[test]
    fn a_diff_leads_from_one_document_to_the_other() {
        for (original, _, modified) in CASES {
            let (original, modified) = (value(original), value(modified));
            if modified.get("e").is_none() {
                assert_eq!(apply(&original, &diff(&original, &modified)), modified);
            }
        }
    }

    #[test]
    fn a_three_way_patch_brings_a_live_document_to_a_manifest() {
        for (last, modified, live, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#, r#"{"a":1}"#, "{}"),
            (
                r#"{"a":1,"b":{"c":1,"d":1}}"#,
                r#"{"a":2,"b":{"c":1}}"#,
                r#"{"a":1,"b":{"c":1,"d":1,"e":1}}"#,
                r#"{"a":2,"b":{"d":null}}"#,
            ),
            (r#"{"b":{"c":1}}"#, "{}", r#"{"b":{"c":1,"e":1}}"#, r#"{"b":null}"#),
            (r#"{"a":1}"#, r#"{"a":1,"m":{}}"#, r#"{"a":3,"x":1}"#, r#"{"a":1,"m":{}}"#),
            (r#"{"l":[1,2]}"#, r#"{"l":[1]}"#, r#"{"l":[1,2,3]}"#, r#"{"l":[1]}"#),
            ("{}", r#"{"a":{"b":{"c":1}}}"#, "{}", r#"{"a":{"b":{"c":1}}}"#),
            (r#"{"a":{"x":1}}"#, r#"{"a":5}"#, r#"{"a":{"x":1}}"#, r#"{"a":5}"#),
        ] {
            let patch = three_way(&value(last), &value(modified), &value(live));
            assert_eq!(patch, value(expected), "{last} {modified} {live}");
        }
    }

    #[test]
    fn unchanged_parts_are_shared() {
        let live = value(r#"{"a":{"b":1},"c":{"d":2}}"#);
        let patched = apply(&live, &value(r#"{"c":{"d":3},"a":{"b":1}}"#));
        assert!(patched.get("a").unwrap().ptr_eq(live.get("a").unwrap()));
        assert!(apply(&live, &value(r#"{"c":{"d":2}}"#)).ptr_eq(&live));
    }
}
