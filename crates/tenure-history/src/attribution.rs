//! Who made a change that was only observed: two versions of an object and their `managedFields` are all that is known.
//!
//! The writer is the one manager whose entry is new, has another time or gained fields; if no entry is, the one manager that owns
//! the values that changed, since whoever sets a value owns it. A write that only removes fields leaves no trace of its manager, and
//! one that sets the owners of others leaves several: both have no writer here. An answer is never a guess.

use crate::{Values, Verb, changes};
use tenure_apply::{Manager, Operation, State};
use tenure_schema::TypeRef;

/// The author of an observed change, as far as the versions tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// How it was written. An update and a patch look the same: both are an update.
    pub verb: Verb,
    /// The manager; empty if the versions do not tell.
    pub manager: String,
    /// The subresource; empty for the object itself, and if it is unknown.
    pub subresource: String,
}

/// Returns the author of the change between two versions that followed each other, at least one of which exists.
pub fn attribute(before: Option<&State>, after: Option<&State>, ty: TypeRef<'_>) -> Attribution {
    let Some(after) = after else { return unknown(Verb::Delete) };
    let writer = writer(before, after, ty);
    let is_marked = |state: &State| {
        state.object.at(["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
    };
    let verb = match (before, writer) {
        (None, _) => Verb::Create,
        (Some(before), None) if !is_marked(before) && is_marked(after) => Verb::Delete,
        (_, Some(writer)) if writer.operation == Operation::Apply => Verb::Apply,
        _ => Verb::Update,
    };
    match writer {
        Some(writer) => Attribution {
            verb,
            manager: writer.name.to_string(),
            subresource: writer.subresource.to_string(),
        },
        None => unknown(verb),
    }
}

fn unknown(verb: Verb) -> Attribution {
    Attribution { verb, manager: String::new(), subresource: String::new() }
}

/// Returns the managers that wrote between two versions, as far as their entries tell.
pub fn writers<'s>(before: Option<&State>, after: &'s State) -> Vec<&'s Manager> {
    let has_written = |manager: &&Manager| {
        let earlier = before.and_then(|before| before.managers.get(&manager.identity()));
        earlier.is_none_or(|earlier| {
            earlier.time != manager.time || !manager.fields.difference(&earlier.fields).is_empty()
        })
    };
    after.managers.iter().filter(has_written).collect()
}

fn writer<'s>(before: Option<&State>, after: &'s State, ty: TypeRef<'_>) -> Option<&'s Manager> {
    match writers(before, after).as_slice() {
        [writer] => return Some(writer),
        [] => {}
        _ => return None,
    }
    // A second write within the same second leaves the entries as they were.
    let before = before?;
    let changed = changes(Some(&before.object), Some(&after.object), ty, Values::Kept);
    let set: Vec<_> = changes_that_set(&changed).collect();
    let mut owners = after.managers.iter().filter(|manager| set.iter().any(|path| manager.fields.has(path)));
    let owner = owners.next()?;
    owners.next().is_none().then_some(owner)
}

fn changes_that_set(changed: &[tenure_ownership::Difference]) -> impl Iterator<Item = &tenure_fields::Path> {
    changed.iter().filter(|change| change.after.is_some()).map(|change| &change.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_apply::Managers;
    use tenure_value::Value;

    /// A version: its data, and managers as `name operation second field field…`.
    fn version(data: &str, managers: &[&str]) -> State {
        let object: Value = format!(r#"{{"metadata":{{"name":"a"}},"data":{data}}}"#).parse().unwrap();
        let entry = |text: &&str| {
            let words: Vec<&str> = text.split(' ').collect();
            let fields: Vec<String> = words[3..].iter().map(|name| format!(r#""f:{name}":{{}}"#)).collect();
            format!(
                r#"{{"manager":"{}","operation":"{}","apiVersion":"v1","time":"2026-01-01T00:00:0{}Z","fieldsType":"FieldsV1",
                "fieldsV1":{{"f:data":{{{}}}}}}}"#,
                words[0],
                words[1],
                words[2],
                fields.join(",")
            )
        };
        let entries: Vec<String> = managers.iter().map(entry).collect();
        let entries: Value = format!("[{}]", entries.join(",")).parse().unwrap();
        State { object, managers: Managers::from_value(&entries).unwrap() }
    }

    #[test]
    fn the_writer_is_known_or_not_named() {
        let base = version(r#"{"x":"1","y":"1"}"#, &["a Apply 1 x", "b Update 1 y"]);
        let cases = [
            // The time of the writer changes.
            (version(r#"{"x":"2","y":"1"}"#, &["a Apply 2 x", "b Update 1 y"]), "a", Verb::Apply),
            // A new manager.
            (
                version(r#"{"x":"1","y":"1","z":"1"}"#, &["a Apply 1 x", "b Update 1 y", "c Update 1 z"]),
                "c",
                Verb::Update,
            ),
            // Within the same second: a field gained, a value changed.
            (version(r#"{"x":"1","y":"1","z":"1"}"#, &["a Apply 1 x", "b Update 1 y z"]), "b", Verb::Update),
            (version(r#"{"x":"1","y":"2"}"#, &["a Apply 1 x", "b Update 1 y"]), "b", Verb::Update),
            // A takeover: the loser keeps its time.
            (version(r#"{"x":"2","y":"1"}"#, &["b Update 2 x y"]), "b", Verb::Update),
            // A removal could be by anyone, and so could an edit of the owners.
            (version(r#"{"y":"1"}"#, &["b Update 1 y"]), "", Verb::Update),
            (version(r#"{"x":"1","y":"1"}"#, &["a Apply 2 y", "b Update 2 x"]), "", Verb::Update),
        ];
        for (after, manager, verb) in cases {
            let found = attribute(Some(&base), Some(&after), TypeRef::untyped());
            assert_eq!((found.manager.as_str(), found.verb), (manager, verb), "{after:?}");
        }
        let created = attribute(None, Some(&version(r#"{"x":"1"}"#, &["a Apply 1 x"])), TypeRef::untyped());
        assert_eq!((created.manager.as_str(), created.verb), ("a", Verb::Create));
        assert_eq!(attribute(Some(&base), None, TypeRef::untyped()).verb, Verb::Delete);
    }
}
