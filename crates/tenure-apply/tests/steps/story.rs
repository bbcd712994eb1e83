//! The language of these tests: a story is a kind, a list of steps by managers, and the expected final state.
//! Objects are YAML; owned fields are `FieldsV1`.

use tenure_apply::Profile;
use tenure_apply::{
    ApplyError, Evolution, Force, Live, Managers, Operation, Presence, Requested, ResetFields, State,
    Timestamp, Trace, Versions, Write, apply, apply_traced, update,
};
use tenure_fields::{FieldSet, PathElement};
use tenure_schema::{Schema, TypeRef, crd};
use tenure_value::{Limits, Value, json, yaml};

pub fn value(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

/// Returns the set of these paths, in dot notation.
pub fn paths(paths: &[&str]) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths {
        set.insert(&path.split('.').map(PathElement::field).collect::<Vec<_>>());
    }
    set
}

/// A version of the kind of a story.
struct Version {
    name: &'static str,
    schema: Schema,
    former: Option<Schema>,
}

/// A kind, the current object, and its managers.
pub struct Story {
    versions: Vec<Version>,
    state: Option<State>,
    now: i64,
    reset: ResetFields,
    pub subresource: &'static str,
    pub refused: Option<ApplyError>,
}

struct Kind<'a>(&'a [Version]);

impl Versions for Kind<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.0.iter().find(|version| version.name == api_version)?.schema.kind(api_version, "Thing")
    }

    /// The versions of the kind differ in the name of one field: `old` in v1 is `new` in v2.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let (from, to) = if api_version == "x.io/v2" { ("old", "new") } else { ("new", "old") };
        let object = object.as_object().ok_or("no object")?.with("apiVersion", api_version);
        let Some(spec) = object.get("spec").and_then(Value::as_object) else {
            return Ok(Value::Object(object));
        };
        Ok(Value::Object(match spec.get(from).cloned() {
            Some(value) => object.with("spec", spec.without(from).with(to, value)),
            None => object,
        }))
    }

    fn former_type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        let version = self.0.iter().find(|version| version.name == api_version)?;
        version.former.as_ref()?.kind(api_version, "Thing")
    }

    fn evolves(&self) -> Evolution {
        Evolution::Possible
    }
}

fn compiled(version: &str, spec: &str) -> Schema {
    let root = Value::object([
        ("type", Value::from("object")),
        ("properties", Value::object([("spec", value(spec))])),
    ]);
    crd::compile_version(&root, version, "Thing").expect("a schema")
}

impl Story {
    /// Starts the story of a kind whose `spec` has this schema.
    pub fn of(spec: &str) -> Story {
        Story {
            versions: vec![Version { name: "x.io/v1", schema: compiled("x.io/v1", spec), former: None }],
            state: None,
            now: 0,
            reset: ResetFields::None,
            subresource: "",
            refused: None,
        }
    }

    /// Adds a second version of the kind.
    pub fn second_version(mut self, spec: &str) -> Story {
        self.versions.push(Version { name: "x.io/v2", schema: compiled("x.io/v2", spec), former: None });
        self
    }

    /// Removes the second version again.
    pub fn version_removed(mut self) -> Story {
        self.versions.truncate(1);
        self
    }

    /// Changes the schema of the first version.
    pub fn schema_changes(mut self, spec: &str) -> Story {
        let version = &mut self.versions[0];
        version.former = Some(std::mem::replace(&mut version.schema, compiled("x.io/v1", spec)));
        self
    }

    /// Makes the endpoint of the following steps reset fields.
    pub fn endpoint(mut self, subresource: &'static str, reset: &[&str]) -> Story {
        self.subresource = subresource;
        self.reset = ResetFields::These(paths(reset));
        self
    }

    fn with_write<T>(&self, version: &str, manager: &str, run: impl FnOnce(&Write<'_>) -> T) -> T {
        let kind = Kind(&self.versions);
        let empty = value(&format!("{{apiVersion: {version}, kind: Thing}}"));
        run(&Write {
            manager,
            api_version: version,
            subresource: self.subresource,
            now: Some(Timestamp::from_unix(self.now)),
            versions: &kind,
            reset: &self.reset,
            empty: &empty,
            profile: Profile::tenure(),
        })
    }

    fn with_live<T>(&self, version: &str, run: impl FnOnce(Live<'_>) -> T) -> T {
        let kind = Kind(&self.versions);
        match &self.state {
            Some(state) => {
                let object = kind.convert(&state.object, version).expect("converts");
                run(Live { object: &object, managers: &state.managers, presence: Presence::Stored })
            }
            None => {
                let empty = value(&format!("{{apiVersion: {version}, kind: Thing}}"));
                run(Live { object: &empty, managers: &Managers::default(), presence: Presence::New })
            }
        }
    }

    fn config(version: &str, spec: &str) -> Value {
        value(&format!("{{apiVersion: {version}, kind: Thing, metadata: {{name: t}}, spec: {spec}}}"))
    }

    /// Applies and returns how each path was decided.
    pub fn traces(&self, manager: &str, spec: &str, force: Force<'_>) -> (Result<State, ApplyError>, Trace) {
        let config = Story::config("x.io/v1", spec);
        self.with_live("x.io/v1", |live| {
            self.with_write("x.io/v1", manager, |write| apply_traced(live, &config, write, force))
        })
    }

    fn step(self, version: &str, manager: &str, spec: &str, force: Force<'_>) -> Story {
        self.step_with(version, manager, &Story::config(version, spec), force)
    }

    /// Applies a complete configuration as is.
    pub fn applies_whole(self, manager: &str, config: &Value) -> Story {
        self.step_with("x.io/v1", manager, config, Force::No)
    }

    /// Replaces `spec` in the stored object, as a server that fills in defaults does.
    pub fn with_spec(mut self, spec: &str) -> Story {
        if let Some(state) = &mut self.state {
            let object = state.object.as_object().cloned().unwrap_or_default();
            state.object = Value::Object(object.with("spec", value(spec)));
        }
        self
    }

    fn step_with(mut self, version: &str, manager: &str, config: &Value, force: Force<'_>) -> Story {
        self.now += 1;
        let outcome = self.with_live(version, |live| {
            self.with_write(version, manager, |write| {
                apply(live, config, write, force).map(|state| state.settle(live).into_state())
            })
        });
        match outcome {
            Ok(state) => {
                self.refused = None;
                self.state = Some(state);
            }
            Err(error) => self.refused = Some(error),
        }
        self
    }

    /// Applies at the first version.
    pub fn applies(self, manager: &str, spec: &str) -> Story {
        self.step("x.io/v1", manager, spec, Force::No)
    }

    /// Applies at the second version.
    pub fn applies_at_v2(self, manager: &str, spec: &str) -> Story {
        self.step("x.io/v2", manager, spec, Force::No)
    }

    /// Applies with force.
    pub fn forces(self, manager: &str, spec: &str) -> Story {
        self.step("x.io/v1", manager, spec, Force::All)
    }

    /// Applies with force for some paths.
    pub fn forces_over(self, manager: &str, over: &[&str], spec: &str) -> Story {
        self.step("x.io/v1", manager, spec, Force::Paths(&paths(over)))
    }

    /// Writes a complete object.
    pub fn updates(mut self, manager: &str, spec: &str) -> Story {
        self.now += 1;
        let new = Story::config("x.io/v1", spec);
        self.state = Some(self.with_live("x.io/v1", |live| {
            self.with_write("x.io/v1", manager, |write| {
                let state = update(live, &new, Requested::Entries(None), write).expect("updates never ask");
                state.settle(live).into_state()
            })
        }));
        self
    }

    /// Drops all managers, as a reset does.
    pub fn forget_managers(mut self) -> Story {
        if let Some(state) = &mut self.state {
            state.managers = Managers::default();
        }
        self
    }

    /// Omits zeros from the stored object, as a server does for built-in kinds.
    pub fn zeros_are_left_out(mut self) -> Story {
        if let Some(state) = &mut self.state {
            state.object = without_zeros(&state.object);
        }
        self
    }

    #[track_caller]
    pub fn refused_with(self, message: &str) -> Story {
        let refused = self.refused.as_ref().map(ToString::to_string);
        assert_eq!(refused.as_deref(), Some(message));
        self
    }

    pub fn state(&self) -> &State {
        self.state.as_ref().expect("something was written")
    }

    pub fn ty(&self) -> TypeRef<'_> {
        self.versions[0].schema.kind("x.io/v1", "Thing").expect("the kind")
    }

    /// Compares `spec` and all managers, each as `name Operation` and its owned fields.
    #[track_caller]
    pub fn ends_with(self, spec: &str, managers: &[(&str, &str)]) -> Story {
        assert!(self.refused.is_none(), "refused: {:?}", self.refused.map(|error| error.to_string()));
        let state = self.state();
        assert_eq!(state.object.get("spec").cloned().unwrap_or_default(), value(spec), "the object");
        let owned: Vec<(String, Value)> = state
            .managers
            .iter()
            .map(|manager| {
                let name = match manager.operation {
                    Operation::Apply => manager.name.to_string(),
                    Operation::Update => format!("{} Update", manager.name),
                };
                (name, tenure_fields::fields_v1::to_value(&manager.fields))
            })
            .collect();
        let expected: Vec<(String, Value)> =
            managers.iter().map(|(name, fields)| ((*name).to_owned(), value(fields))).collect();
        let shown = |managers: &[(String, Value)]| -> Vec<String> {
            managers.iter().map(|(name, fields)| format!("{name} {}", json::to_string(fields))).collect()
        };
        assert_eq!(shown(&owned), shown(&expected), "the managers");
        self
    }
}

fn without_zeros(object: &Value) -> Value {
    match object {
        Value::Object(fields) => Value::object(fields.iter().filter_map(|(name, value)| {
            let value = without_zeros(value);
            let zero = value.is_null()
                || value.as_str() == Some("")
                || value == Value::Int(0)
                || value == Value::Bool(false)
                || value.as_object().is_some_and(|object| object.is_empty())
                || value.as_array().is_some_and(|array| array.is_empty());
            (!zero).then(|| (name.clone(), value))
        })),
        Value::Array(items) => Value::array(items.iter().map(without_zeros)),
        other => other.clone(),
    }
}
