//! Random kinds, configurations and writes, and the resulting object.

use proptest::prelude::*;
use std::time::{Duration, Instant};
use tenure_apply::Profile;
use tenure_apply::{
    ApplyError, Difference, Force, Live, Managers, Operation, Presence, Requested, ResetFields,
    SingleVersion, State, Timestamp, Write as Context, apply, update,
};
use tenure_fields::{Duplicates, FieldSet, Path};
use tenure_schema::{Schema, TypeRef, crd};
use tenure_value::{Object, Value};

const VERSION: &str = "x.io/v1";

/// The structure of a random type.
#[derive(Clone, Debug)]
pub enum Shape {
    Text,
    Number,
    AtomicMap,
    Map(Box<Shape>),
    Struct(Vec<Shape>),
    AtomicList,
    Set,
    Keyed(Vec<Shape>),
    Free,
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        3 => Just(Shape::Text),
        1 => Just(Shape::Number),
        1 => Just(Shape::AtomicMap),
        1 => Just(Shape::AtomicList),
        1 => Just(Shape::Set),
        1 => Just(Shape::Free),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(Shape::Struct),
            1 => inner.clone().prop_map(|inner| Shape::Map(Box::new(inner))),
            2 => prop::collection::vec(inner, 0..3).prop_map(Shape::Keyed),
        ]
    })
}

fn field(index: usize) -> String {
    format!("f{index}")
}

fn text(value: &str) -> Value {
    Value::from(value)
}

fn properties(parts: &[Shape]) -> Object {
    let parts = parts.iter().enumerate();
    parts.fold(Object::default(), |all, (index, part)| all.with(field(index), schema(part)))
}

/// Returns the OpenAPI schema of a structure.
pub fn schema(shape: &Shape) -> Value {
    let typed = |name: &str| Object::default().with("type", name);
    Value::Object(match shape {
        Shape::Text => typed("string"),
        Shape::Number => typed("integer"),
        Shape::AtomicMap => typed("object")
            .with("additionalProperties", Value::Object(typed("string")))
            .with("x-kubernetes-map-type", "atomic"),
        Shape::Map(inner) => typed("object").with("additionalProperties", schema(inner)),
        Shape::Struct(parts) => typed("object").with("properties", properties(parts)),
        Shape::AtomicList => typed("array").with("items", Value::Object(typed("string"))),
        Shape::Set => {
            typed("array").with("items", Value::Object(typed("string"))).with("x-kubernetes-list-type", "set")
        }
        Shape::Keyed(parts) => {
            let item = typed("object")
                .with("properties", properties(parts).with("key", Value::Object(typed("string"))))
                .with("required", Value::array([text("key")]));
            typed("array")
                .with("items", Value::Object(item))
                .with("x-kubernetes-list-type", "map")
                .with("x-kubernetes-list-map-keys", Value::array([text("key")]))
        }
        Shape::Free => Object::default().with("x-kubernetes-preserve-unknown-fields", true),
    })
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn object(parts: Vec<(String, BoxedStrategy<Option<Value>>)>) -> BoxedStrategy<Value> {
    let (names, values): (Vec<String>, Vec<BoxedStrategy<Option<Value>>>) = parts.into_iter().unzip();
    values
        .prop_map(move |values| {
            let present =
                names.iter().zip(values).filter_map(|(name, value)| value.map(|value| (name.clone(), value)));
            Value::object(present)
        })
        .boxed()
}

fn optional(strategy: BoxedStrategy<Value>) -> BoxedStrategy<Option<Value>> {
    prop_oneof![1 => Just(None), 2 => strategy.prop_map(Some)].boxed()
}

/// Generates values of a structure that objects of the type may have.
fn values(shape: &Shape) -> BoxedStrategy<Value> {
    match shape {
        Shape::Text => word().prop_map(Value::from).boxed(),
        Shape::Number => (0i64..4).prop_map(Value::from).boxed(),
        Shape::AtomicMap => prop::collection::btree_map(word(), word().prop_map(Value::from), 0..3)
            .prop_map(Value::object)
            .boxed(),
        Shape::Map(inner) => {
            prop::collection::btree_map(word(), values(inner), 0..3).prop_map(Value::object).boxed()
        }
        Shape::Struct(parts) => {
            let parts = parts.iter().enumerate();
            object(parts.map(|(index, part)| (field(index), optional(values(part)))).collect())
        }
        Shape::AtomicList => {
            prop::collection::vec(word().prop_map(Value::from), 0..3).prop_map(Value::array).boxed()
        }
        Shape::Set => prop::collection::vec(word(), 0..4)
            .prop_map(|mut words| {
                let mut seen = Vec::new();
                words.retain(|word| {
                    !seen.contains(word) && {
                        seen.push(word.clone());
                        true
                    }
                });
                Value::array(words.into_iter().map(Value::from))
            })
            .boxed(),
        Shape::Keyed(parts) => {
            let parts: Vec<_> = parts
                .iter()
                .enumerate()
                .map(|(index, part)| (field(index), optional(values(part))))
                .collect();
            prop::collection::btree_map(word(), object(parts), 0..4)
                .prop_flat_map(|items| Just(items.into_iter().collect::<Vec<_>>()).prop_shuffle())
                .prop_map(|items| {
                    Value::array(items.into_iter().map(|(key, item)| {
                        Value::Object(item.as_object().cloned().unwrap_or_default().with("key", key))
                    }))
                })
                .boxed()
        }
        Shape::Free => prop_oneof![
            word().prop_map(Value::from),
            prop::collection::btree_map(word(), word().prop_map(Value::from), 0..3).prop_map(Value::object),
            prop::collection::vec((0i64..3).prop_map(Value::from), 0..3).prop_map(Value::array),
        ]
        .boxed(),
    }
}

/// A write of a run.
#[derive(Clone, Debug)]
pub enum Write {
    Apply { manager: String, config: Value, force: bool },
    Update { manager: String, object: Value },
}

/// A kind and the writes to one object of it.
#[derive(Clone, Debug)]
pub struct Run {
    pub shape: Shape,
    pub configs: Vec<Value>,
    pub writes: Vec<Write>,
}

fn whole(spec: Value) -> Value {
    Value::object([
        ("apiVersion", text(VERSION)),
        ("kind", text("Thing")),
        ("metadata", Value::object([("name", text("t"))])),
        ("spec", spec),
    ])
}

pub fn run() -> impl Strategy<Value = Run> {
    prop::collection::vec(shape(), 1..4).prop_map(Shape::Struct).prop_flat_map(|shape| {
        let spec = values(&shape).prop_map(whole).boxed();
        let manager = prop::sample::select(vec!["m1", "m2", "m3"]).prop_map(str::to_owned);
        let write = prop_oneof![
            3 => (manager.clone(), spec.clone(), any::<bool>())
                .prop_map(|(manager, config, force)| Write::Apply { manager, config, force }),
            1 => (manager, spec.clone()).prop_map(|(manager, object)| Write::Update { manager, object }),
        ];
        (Just(shape), prop::collection::vec(spec, 2), prop::collection::vec(write, 1..7))
            .prop_map(|(shape, configs, writes)| Run { shape, configs, writes })
    })
}

/// An object of a random kind, and its managers.
#[derive(Clone)]
pub struct World {
    schema: std::sync::Arc<Schema>,
    pub state: State,
    presence: Presence,
    now: i64,
}

fn empty() -> Value {
    Value::object([("apiVersion", text(VERSION)), ("kind", text("Thing"))])
}

impl World {
    pub fn new(run: &Run) -> World {
        World::of(&run.shape)
    }

    pub fn of(shape: &Shape) -> World {
        let properties = Object::default().with("spec", schema(shape));
        let root = Object::default().with("type", "object").with("properties", properties);
        let schema = crd::compile_version(&Value::Object(root), VERSION, "Thing").expect("a schema");
        let state = State { object: empty(), managers: Managers::default() };
        World { schema: schema.into(), state, presence: Presence::New, now: 0 }
    }

    pub fn ty(&self) -> TypeRef<'_> {
        self.schema.kind(VERSION, "Thing").expect("the kind")
    }

    pub fn is_stored(&self) -> bool {
        self.presence == Presence::Stored
    }

    fn context<T>(&self, manager: &str, run: impl FnOnce(Live<'_>, &Context<'_>) -> T) -> T {
        let versions = SingleVersion::new(VERSION, self.ty());
        let empty = empty();
        let write = Context {
            manager,
            api_version: VERSION,
            subresource: "",
            now: Some(Timestamp::from_unix(self.now)),
            profile: Profile::tenure(),
            versions: &versions,
            reset: &ResetFields::None,
            empty: &empty,
        };
        run(
            Live { object: &self.state.object, managers: &self.state.managers, presence: self.presence },
            &write,
        )
    }

    fn settle(&mut self, outcome: Result<State, ApplyError>) -> Result<(), ApplyError> {
        let state = outcome?;
        let live =
            Live { object: &self.state.object, managers: &self.state.managers, presence: self.presence };
        self.state = state.settle(live).into_state();
        self.presence = Presence::Stored;
        Ok(())
    }

    pub fn apply(&mut self, manager: &str, config: &Value, force: Force<'_>) -> Result<(), ApplyError> {
        self.now += 1;
        let outcome = self.context(manager, |live, write| apply(live, config, write, force));
        self.settle(outcome)
    }

    /// Returns the same world with another name for an applier.
    pub fn renamed(&self, manager: &str, name: &str) -> World {
        let managers = self.state.managers.iter().cloned().map(|mut other| {
            if other.name == manager && other.operation == Operation::Apply {
                other.name = name.into();
            }
            other
        });
        let state = State { object: self.state.object.clone(), managers: Managers::new(managers) };
        World { state, ..self.clone() }
    }

    pub fn write(&mut self, write: &Write) -> Result<(), ApplyError> {
        match write {
            Write::Apply { manager, config, force } => {
                self.apply(manager, config, if *force { Force::All } else { Force::No })
            }
            Write::Update { manager, object } => {
                self.now += 1;
                let outcome = self
                    .context(manager, |live, write| update(live, object, Requested::Entries(None), write));
                self.settle(outcome)
            }
        }
    }

    /// Writes and returns the previous state; a rejected write changes nothing and returns `None`.
    pub fn writes(&mut self, write: &Write) -> Option<World> {
        let before = self.clone();
        if self.write(write).is_err() {
            *self = before;
            return None;
        }
        Some(before)
    }

    /// Returns the part of a configuration that can be owned.
    pub fn declared(&self, config: &Value) -> FieldSet {
        let spec = config.get("spec").cloned().unwrap_or_default();
        let bare = Value::object([("spec", spec)]);
        FieldSet::of_with(&bare, self.ty(), Duplicates::Refused).expect("a fitting configuration")
    }

    /// Returns the fields written below `spec` since an earlier state.
    pub fn changed_since(&self, before: &World) -> FieldSet {
        let spec = |world: &World| match world.state.object.get("spec") {
            Some(spec) => Value::object([("spec", spec.clone())]),
            None => Value::Object(Object::default()),
        };
        Difference::between(&spec(before), &spec(self), self.ty()).written
    }

    /// Whether a path exists in the object.
    pub fn shows(&self, path: &Path) -> bool {
        path.resolve(&self.state.object, self.ty()).is_some()
    }
}

/// Whether a path of one set is below a path of the other.
pub fn nested(a: &FieldSet, b: &FieldSet) -> bool {
    let below = |a: &FieldSet, b: &FieldSet| {
        a.iter().any(|path| {
            let elements = path.elements();
            (1..elements.len()).any(|end| b.has(&elements[..end]) && b.below(&elements[..end]).is_empty())
        })
    };
    below(a, b) || below(b, a)
}

/// Returns a configuration with other values for all fields below `spec` except those of one name.
pub fn other_values(config: &Value, kept: &str) -> Value {
    fn other(value: &Value, kept: &str) -> Value {
        match value {
            Value::String(text) => format!("{text}{text}").into(),
            Value::Int(number) => (number + 1).into(),
            Value::Array(items) => Value::array(items.iter().map(|item| other(item, kept))),
            Value::Object(fields) => Value::object(fields.iter().map(|(name, value)| {
                (name.clone(), if name == kept { value.clone() } else { other(value, kept) })
            })),
            value => value.clone(),
        }
    }
    let Value::Object(fields) = config else { return config.clone() };
    Value::object(
        fields.iter().map(|(name, value)| {
            (name.clone(), if name == "spec" { other(value, kept) } else { value.clone() })
        }),
    )
}

/// Returns a value with its lists in another order.
pub fn unordered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::object(fields.iter().map(|(name, value)| (name.clone(), unordered(value))))
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(unordered).collect();
            items.sort();
            Value::array(items)
        }
        other => other.clone(),
    }
}

/// Returns the time that two managers take to apply a keyed list of that length, in other orders.
pub fn time_of_keyed_applies(items: usize) -> Duration {
    let mut world = World::of(&Shape::Struct(vec![Shape::Keyed(vec![Shape::Text])]));
    let list = |step: usize, value: &str| {
        let item = |index: usize| {
            Value::object([("key", Value::from(format!("k{}", index * step % items))), ("f0", text(value))])
        };
        whole(Value::object([("f0", Value::array((0..items).map(item)))]))
    };
    let configs =
        [("one", list(7, "a")), ("two", list(11, "a")), ("one", list(13, "b")), ("two", list(11, "b"))];
    let start = Instant::now();
    for (manager, config) in &configs {
        world.apply(manager, config, Force::All).expect("a forced apply has no conflicts");
    }
    assert_eq!(
        world.state.managers.iter().filter(|manager| manager.operation == Operation::Apply).count(),
        2
    );
    start.elapsed()
}
