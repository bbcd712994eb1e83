//! Properties of arbitrary input as a kind, an object, its managers and a configuration: every write succeeds
//! or is rejected, a forced apply has no conflicts, and every write is idempotent. The input is a JSON object
//! with the members `schema`, `former`, `live`, `managers`, `config` and `new`.

use tenure_apply::Profile;
use tenure_apply::{
    ApplyError, Evolution, Force, Identity, Live, Managers, Operation, Presence, Requested, ResetFields,
    State, Timestamp, Versions, Write, adopt, apply, apply_traced, extract, from_scale, ownership,
    ownership_changes, to_scale, update,
};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::{Schema, TypeRef, crd};
use tenure_value::{Limits, Value, json};

const VERSION: &str = "x.io/v1";

struct Kind {
    schema: Schema,
    former: Option<Schema>,
}

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        // The second version has the same type, so that there are managers at two versions.
        ["x.io/v1", "x.io/v2"].contains(&api_version).then(|| self.schema.kind(VERSION, "Thing")).flatten()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let object = object.as_object().ok_or("not an object")?;
        Ok(Value::Object(object.with("apiVersion", api_version)))
    }

    fn former_type_of(&self, _: &str) -> Option<TypeRef<'_>> {
        self.former.as_ref()?.kind(VERSION, "Thing")
    }

    fn evolves(&self) -> Evolution {
        Evolution::Possible
    }
}

/// Runs the properties on bytes.
pub fn run(data: &[u8]) {
    let limits = Limits { bytes: 1 << 16, ..Limits::default() };
    if let Ok(input) = json::parse(data, &limits) {
        check(&input);
    }
}

/// Runs the properties on a document.
pub fn check(input: &Value) {
    let member = |name: &str| input.get(name).cloned().unwrap_or_default();
    let compile = |schema: Value| crd::compile_version(&schema, VERSION, "Thing").ok();
    let Some(schema) = compile(member("schema")) else { return };
    let kind = Kind { schema, former: input.get("former").cloned().and_then(compile) };
    let managers = match Managers::from_value(&member("managers")) {
        Ok(managers) => managers,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Managers::default()
        }
    };
    let (live, config, new) = (member("live"), member("config"), member("new"));
    let empty =
        json::parse(br#"{"apiVersion":"x.io/v1","kind":"Thing"}"#, &Limits::default()).unwrap_or_default();
    let mut status = FieldSet::default();
    status.insert(&[PathElement::field("status")]);
    for (reset, presence) in [
        (&ResetFields::None, Presence::Stored),
        (&ResetFields::These(status.clone()), Presence::Stored),
        (&ResetFields::AllBut(status.clone()), Presence::Stored),
        (&ResetFields::None, Presence::New),
    ] {
        let write = Write {
            manager: "fuzz",
            api_version: VERSION,
            subresource: "",
            now: Some(Timestamp::from_unix(1)),
            versions: &kind,
            reset,
            empty: &empty,
            profile: Profile::tenure(),
        };
        let live = Live { object: &live, managers: &managers, presence };
        applied(live, &config, &write);
        let entries = input.get("asked");
        if let Ok(state) = update(live, &new, Requested::Entries(entries), &write) {
            check_reports(live, &state, &write);
        }
    }
}

fn applied(live: Live<'_>, config: &Value, write: &Write<'_>) {
    let (outcome, _) = apply_traced(live, config, write, Force::No);
    match &outcome {
        Err(ApplyError::Conflicts(conflicts)) => {
            assert!(conflicts.iter().all(|conflict| !conflict.owners.is_empty()));
            assert!(!conflicts.causes().is_empty() && !conflicts.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(state) => check_reports(live, state, write),
    }
    match (apply(live, config, write, Force::All), outcome) {
        (Err(ApplyError::Conflicts(conflicts)), _) => panic!("force has conflicts: {conflicts}"),
        (Err(forced), outcome) => assert_eq!(Err(forced), outcome),
        (Ok(state), _) => {
            if let Err(error) = apply(state.live(), config, write, Force::No) {
                assert!(
                    matches!(error, ApplyError::Conversion { .. }),
                    "applied once, but not again: {error}"
                );
            }
        }
    }
}

/// Reports about a state succeed too.
fn check_reports(live: Live<'_>, state: &State, write: &Write<'_>) {
    let Some(ty) = write.versions.type_of(write.api_version) else { return };
    let _ = ownership(&state.object, &state.managers, ty);
    let before = State { object: live.object.clone(), managers: live.managers.clone() };
    let _ = ownership_changes(&before, state, ty);
    for manager in &state.managers {
        let _ = extract(&state.object, &manager.fields, ty);
    }
    let read = Managers::from_value(&state.managers.to_value());
    assert_eq!(read.as_ref().map(Managers::len), Ok(state.managers.len()), "managers do not read back");
    let new_owner =
        Identity { name: "heir", operation: Operation::Apply, api_version: VERSION, subresource: "" };
    let _ = adopt(&state.managers, &new_owner, Timestamp::from_unix(2), |manager| {
        manager.operation == Operation::Update
    });
    let replicas: Path = [PathElement::field("spec"), PathElement::field("replicas")].into_iter().collect();
    let at = |_: &str| Some(replicas.clone());
    let _ = from_scale(&state.managers, &to_scale(&state.managers, &at), &at, write);
}
