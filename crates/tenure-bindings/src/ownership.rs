//! Who owns what, and what an apply would do, as documents.

use crate::{
    Error, Profile, Types,
    apply::{paths, time},
};
use std::time::{SystemTime, UNIX_EPOCH};
use tenure_apply::Timestamp;
use tenure_ownership::{
    ApplyingManager, Blame, Explanation, ForcedFields, LiveObject, Manifest, Target, kind_word,
};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Returns the owners of every field: `object`, `fields` and `absent`.
pub fn blame(live: &Value, types: &Types) -> Result<Value, Error> {
    let (live, ty) = read(live, types)?;
    Ok(Blame::of(&live, ty).to_value())
}

/// Explains one field, named in any notation: its value, owners and merge rules, and what each kind of write would do.
pub fn why(
    live: &Value,
    path: &str,
    now: Option<&str>,
    types: &Types,
    profile: Profile,
) -> Result<Value, Error> {
    let (live, ty) = read(live, types)?;
    let target = Target::of(&live, kind_word(live.api_version(), live.kind()));
    Ok(Explanation::of(&live, target, path, ty, profile, moment(now)?)?.to_value())
}

/// Who would apply, and how.
#[derive(Clone, Copy)]
pub struct Planned<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// Whether all conflicts would be forced.
    pub force: bool,
    /// The fields whose conflicts would be forced.
    pub force_paths: &'a [String],
    /// The time of the apply; now if it is not given.
    pub time: Option<&'a str>,
    /// Where types come from.
    pub types: &'a Types,
    /// Where the server would follow Kubernetes, and where it would improve on it.
    pub profile: Profile,
}

/// Returns what an apply would do: its action, the values and owners that change, conflicts with their causes, and what to look at.
pub fn plan(live: Option<&Value>, config: &Value, planned: &Planned<'_>) -> Result<Value, Error> {
    if planned.manager.is_empty() {
        return Err(Error::argument("the manager is empty; a plan needs the name of its field manager"));
    }
    let ty = planned.types.of(config, None)?;
    let manifest = Manifest::new(config.clone(), "", ty);
    let live = live.map(LiveObject::read).transpose()?;
    let force = match (planned.force, planned.force_paths) {
        (true, _) => ForcedFields::All,
        (false, []) => ForcedFields::None,
        (false, texts) => {
            paths(texts, &manifest)?;
            ForcedFields::Paths(texts.to_vec())
        }
    };
    let applier = ApplyingManager { manager: planned.manager.to_owned(), force, now: moment(planned.time)? };
    let applier = applier.for_manifest(&manifest);
    Ok(tenure_ownership::plan::offline(&manifest, live.as_ref(), &applier, planned.profile).to_value())
}

/// Splits a live object. Without a type its lists have one owner each, as on a server that does not know it.
fn read<'t>(live: &Value, types: &'t Types) -> Result<(LiveObject, TypeRef<'t>), Error> {
    let live = LiveObject::read(live)?;
    let ty = types.find(live.api_version(), live.kind()).unwrap_or_else(TypeRef::untyped);
    Ok((live, ty))
}

fn moment(text: Option<&str>) -> Result<Timestamp, Error> {
    match text {
        Some(text) => time(text),
        None => {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok(Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"alice",
        "operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}}]},"data":{"k":"v"}}"#;

    #[test]
    fn owners_explanations_and_plans_are_documents() {
        let types = Types::builtin();
        let live: Value = LIVE.parse().unwrap();
        let fields = blame(&live, &types).unwrap();
        let fields = fields.get("fields").and_then(Value::as_array).unwrap();
        let field = fields.iter().find(|field| field.get("path").and_then(Value::as_str) == Some(".data.k"));
        assert!(field.unwrap().get("owners").unwrap().to_string().contains("alice"));
        let explained =
            why(&live, "data.k", Some("2026-01-01T00:00:00Z"), &types, Profile::kubernetes()).unwrap();
        assert_eq!(explained.get("value"), Some(&Value::from("v")), "{explained}");
        assert!(why(&live, ".data.nothing.here", None, &types, Profile::kubernetes()).is_err());
        let config = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}"#
            .parse()
            .unwrap();
        let planned = Planned {
            manager: "bob",
            force: false,
            force_paths: &[],
            time: None,
            types: &types,
            profile: Profile::kubernetes(),
        };
        let shown = plan(Some(&live), &config, &planned).unwrap();
        assert_eq!(
            shown.get("conflicts").and_then(Value::as_array).map(|list| list.len()),
            Some(1),
            "{shown}"
        );
        let forced = [".data.k".to_owned()];
        let shown = plan(Some(&live), &config, &Planned { force_paths: &forced, ..planned }).unwrap();
        assert_eq!(
            shown.get("conflicts").and_then(Value::as_array).map(|list| list.len()),
            Some(0),
            "{shown}"
        );
    }
}
