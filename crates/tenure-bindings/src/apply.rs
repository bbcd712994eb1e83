//! Server-side apply and update of whole objects with their managers, as a server does before it fills in defaults and validates.

use crate::{Error, Profile, Types, kind_versions::KindVersions};
use tenure_apply::{
    Force, Live, Managers, Presence, Requested, ResetFields, Settled, State, Timestamp, Versions, Write,
};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_ownership::{LiveObject, Manifest, without_managers};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Object, Value};

/// Who writes, how, and when.
#[derive(Clone, Copy)]
pub struct Writing<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The endpoint: empty for the object itself, or `status`.
    pub subresource: &'a str,
    /// The time that the manager's entry shows, as in RFC 3339; `None` leaves it out.
    pub time: Option<&'a str>,
    /// Where types come from.
    pub types: &'a Types,
    /// Where the write follows Kubernetes, and where it improves on it.
    pub profile: Profile,
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object with `metadata.managedFields`, before defaults and validation.
    pub object: Value,
    /// Whether the object or the owners of its fields differ from the live ones.
    pub changed: bool,
}

/// The most bytes of a manager's name, as in Kubernetes.
const MANAGER_BYTES: usize = 128;

/// Applies a configuration to the live object, or creates the object if there is none. All conflicts are forced, or those at and below
/// paths in any notation.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    force: bool,
    force_paths: &[String],
    writing: &Writing<'_>,
) -> Result<Applied, Error> {
    if writing.manager.is_empty() {
        return Err(Error::argument("the manager is empty; an apply needs the name of its field manager"));
    }
    let kind = KindVersions::of(writing.types, config)?;
    let forced;
    let force = match (force, force_paths) {
        (true, _) => Force::All,
        (false, []) => Force::No,
        (false, texts) => {
            let manifest = Manifest::new(config.clone(), "", kind.ty());
            forced = paths(texts, &manifest)?;
            Force::Paths(&forced)
        }
    };
    writing.carry_out(&kind, live, |live, write| tenure_apply::apply(live, config, write, force))
}

/// Writes a whole object, as PUT does: the manager owns what it changes. Without a live object, it is created.
pub fn update(live: Option<&Value>, object: &Value, writing: &Writing<'_>) -> Result<Applied, Error> {
    let kind = KindVersions::of(writing.types, object)?;
    let sent = object.at(["metadata", "managedFields"]);
    let requested = match (writing.subresource, kind.is_custom()) {
        ("", true) => Requested::EntriesOfCustom(sent),
        ("", false) => Requested::Entries(sent),
        _ => Requested::Live,
    };
    let new = without_managers(object);
    writing.carry_out(&kind, live, |live, write| {
        let new = match live.presence {
            Presence::Stored => taken(live.object, &new, write.reset),
            Presence::New => new.clone(),
        };
        tenure_apply::update(live, &new, requested, write)
    })
}

impl Writing<'_> {
    fn carry_out(
        &self,
        kind: &KindVersions<'_>,
        live: Option<&Value>,
        change: impl FnOnce(Live<'_>, &Write<'_>) -> Result<State, tenure_apply::ApplyError>,
    ) -> Result<Applied, Error> {
        if self.manager.len() > MANAGER_BYTES {
            let found = self.manager.len();
            let message = format!("the name of the manager has {found} bytes; it may have {MANAGER_BYTES}");
            return Err(Error::argument(message));
        }
        let (empty, reset) = (kind.empty(), kind.reset(self.subresource));
        let write = Write {
            manager: self.manager,
            api_version: &kind.api_version,
            subresource: self.subresource,
            now: self.time.map(time).transpose()?,
            versions: kind,
            reset: &reset,
            empty: &empty,
            profile: self.profile,
        };
        let found = live.map(|live| at_version(kind, live)).transpose()?;
        let none = Managers::default();
        let live = match &found {
            Some(found) => {
                Live { object: &found.object, managers: &found.managers, presence: Presence::Stored }
            }
            None => Live { object: &empty, managers: &none, presence: Presence::New },
        };
        let state = change(live, &write)?;
        let state = State { object: without_nulls(&state.object, kind.ty()), ..state };
        let (state, changed) = match state.settle(live) {
            Settled::Changed(state) => (state, true),
            Settled::Unchanged(state) => (state, false),
        };
        Ok(Applied { object: LiveObject::from(state).to_value(), changed })
    }
}

/// Reads a live object at the version of the write.
fn at_version(kind: &KindVersions<'_>, live: &Value) -> Result<LiveObject, Error> {
    let text = |name: &str| live.get(name).and_then(Value::as_str);
    let mut found = LiveObject::read(live)?;
    if text("apiVersion") != Some(&kind.api_version) {
        let converted = kind.convert(&found.object, &kind.api_version);
        found.object = converted.map_err(|problem| {
            let from = text("apiVersion").unwrap_or("no apiVersion");
            Error::argument(format!(
                "the live object has {from} and the other one {}: {problem}; both must be of one kind",
                kind.api_version
            ))
        })?;
    }
    Ok(found)
}

/// Reads a time, as in RFC 3339.
pub(crate) fn time(text: &str) -> Result<Timestamp, Error> {
    let wrong = || Error::argument(format!("the time {text:?} is not one such as \"2026-01-31T12:00:00Z\""));
    Timestamp::parse(text).ok_or_else(wrong)
}

/// Reads the paths of fields that a configuration sets. One that it does not set would be forced without effect.
pub(crate) fn paths(texts: &[String], manifest: &Manifest<'_>) -> Result<FieldSet, Error> {
    let paths = texts.iter().map(|text| manifest.field(text)).collect::<Result<Vec<Path>, _>>()?;
    Ok(paths.iter().collect())
}

/// Returns the new object with what its endpoint takes from the live one.
fn taken(live: &Value, new: &Value, reset: &ResetFields) -> Value {
    match reset {
        ResetFields::None => new.clone(),
        ResetFields::These(fields) => {
            fields.into_iter().fold(new.clone(), |new, path| copied(live, &new, path.elements()))
        }
        ResetFields::AllBut(fields) => {
            fields.into_iter().fold(live.clone(), |all, path| copied(new, &all, path.elements()))
        }
    }
}

/// Returns a value with the field at a path of names as another value has it.
fn copied(from: &Value, to: &Value, path: &[PathElement]) -> Value {
    let [PathElement::Field(name), rest @ ..] = path else { return to.clone() };
    let (source, fields) = (from.get(name), to.as_object().cloned().unwrap_or_default());
    match (source, rest) {
        (None, []) => fields.without(name).into(),
        (Some(source), []) => fields.with(name.clone(), source.clone()).into(),
        (source, rest) => {
            let below = fields.get(name).cloned();
            if source.is_none() && below.is_none() {
                return to.clone();
            }
            let empty = || Value::Object(Object::default());
            let next = copied(source.unwrap_or(&Value::Null), &below.unwrap_or_else(empty), rest);
            fields.with(name.clone(), next).into()
        }
    }
}

/// Returns an object without the fields that are `null`, which a server reads as absent. Values without a type stay as they are.
fn without_nulls(value: &Value, ty: TypeRef<'_>) -> Value {
    match (value, ty.get()) {
        (_, Type::Untyped) => value.clone(),
        (Value::Object(fields), _) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(name, value)| {
                let below = ty.below(name).unwrap_or_else(TypeRef::untyped);
                (name.clone(), without_nulls(value, below))
            });
            Value::Object(Object::from_sorted(kept))
        }
        (Value::Array(items), _) => {
            let below = ty.item().unwrap_or_else(TypeRef::untyped);
            Value::array(items.iter().map(|item| without_nulls(item, below)))
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    fn deployment(spec: &str) -> Value {
        value(&format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{spec}}}"#
        ))
    }

    fn writing<'a>(manager: &'a str, types: &'a Types) -> Writing<'a> {
        Writing { manager, subresource: "", time: None, types, profile: Profile::kubernetes() }
    }

    #[test]
    fn conflicts_carry_paths_values_and_owners() {
        let types = Types::builtin();
        let live = apply(
            None,
            &deployment(r#"{"replicas":1,"paused":true}"#),
            false,
            &[],
            &writing("alice", &types),
        );
        let live = live.unwrap().object;
        let taking = deployment(r#"{"replicas":2,"paused":false}"#);
        let error = apply(Some(&live), &taking, false, &[], &writing("bob", &types)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict);
        let shown: Vec<String> =
            error.conflicts.iter().map(|conflict| conflict.to_value().to_string()).collect();
        let owner = r#"[{"apiVersion":"apps/v1","manager":"alice","operation":"Apply"}]"#;
        assert_eq!(
            shown,
            [
                format!(r#"{{"live":true,"owners":{owner},"path":".spec.paused","proposed":false}}"#),
                format!(r#"{{"live":1,"owners":{owner},"path":".spec.replicas","proposed":2}}"#),
            ]
        );
        let one = [".spec.replicas".to_owned()];
        let error = apply(Some(&live), &taking, false, &one, &writing("bob", &types)).unwrap_err();
        assert_eq!(error.conflicts.len(), 1, "{error}");
        let taken = apply(Some(&live), &taking, true, &[], &writing("bob", &types)).unwrap();
        assert_eq!(taken.object.at(["spec", "replicas"]), Some(&Value::from(2)));
        let none = [".spec.template".to_owned()];
        let error = apply(Some(&live), &taking, false, &none, &writing("bob", &types)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Argument, "{error}");
    }

    #[test]
    fn an_endpoint_takes_what_it_does_not_write_from_the_live_object() {
        let types = Types::builtin();
        let live = update(None, &deployment(r#"{"replicas":1}"#), &writing("alice", &types)).unwrap().object;
        let both = value(
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2},"status":{"replicas":1}}"#,
        );
        let spec = update(Some(&live), &both, &writing("bob", &types)).unwrap().object;
        assert_eq!((spec.at(["spec", "replicas"]), spec.get("status")), (Some(&Value::from(2)), None));
        let through = Writing { subresource: "status", ..writing("controller", &types) };
        let status = update(Some(&live), &both, &through).unwrap().object;
        assert_eq!(status.at(["spec", "replicas"]), Some(&Value::from(1)));
        assert_eq!(status.at(["status", "replicas"]), Some(&Value::from(1)));
        let managers = status.at(["metadata", "managedFields"]).unwrap().to_string();
        assert!(
            managers.contains(r#""manager":"controller","operation":"Update","subresource":"status""#),
            "{managers}"
        );
    }

    #[test]
    fn wrong_arguments_are_errors() {
        let types = Types::builtin();
        let config = deployment("{}");
        let long = "m".repeat(129);
        for (manager, time, part) in [
            ("", None, "the manager is empty"),
            (long.as_str(), None, "129 bytes"),
            ("m", Some("today"), "\"today\""),
        ] {
            let writing = Writing { time, ..writing(manager, &types) };
            let error = apply(None, &config, false, &[], &writing).unwrap_err();
            assert!(error.kind == ErrorKind::Argument && error.message.contains(part), "{error}");
        }
        let unknown = value(r#"{"apiVersion":"example.com/v1","kind":"Widget"}"#);
        let error = apply(None, &unknown, false, &[], &writing("m", &types)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnknownKind);
        let misspelt = deployment(r#"{"replcias":1}"#);
        let error = apply(None, &misspelt, false, &[], &writing("m", &types)).unwrap_err();
        assert_eq!((error.kind, error.path.as_str()), (ErrorKind::InvalidObject, ".spec.replcias"));
    }

    #[test]
    fn versions_are_converted_as_a_server_does() {
        let types = Types::builtin();
        let v1 = value(
            r#"{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"maxReplicas":3,
            "targetCPUUtilizationPercentage":50,"scaleTargetRef":{"kind":"Deployment","name":"web"}}}"#,
        );
        let live = apply(None, &v1, false, &[], &writing("alice", &types)).unwrap().object;
        let v2 = value(
            r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"maxReplicas":4}}"#,
        );
        let error = apply(Some(&live), &v2, false, &[], &writing("bob", &types)).unwrap_err();
        assert_eq!(
            error.conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(),
            [".spec.maxReplicas"]
        );
        let next = apply(Some(&live), &v2, true, &[], &writing("bob", &types)).unwrap().object;
        assert!(next.at(["spec", "metrics"]).is_some(), "{next}");
    }
}
