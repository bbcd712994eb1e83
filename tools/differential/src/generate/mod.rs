//! Random conversations: a kind, and requests of several managers about one object of it.

mod bad;
mod builtin;
mod custom;
mod patch;

use crate::{Conversation, Errors, Random, Step};
use tenure_value::Value;

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const JSON: &str = "application/json";

const MANAGERS: [&str; 3] = ["m1", "m2", "m3"];
const UPDATERS: [&str; 2] = ["u1", "u2"];
/// The name of the object.
const NAME: &str = "o";

/// A kind of objects that requests are made for.
trait Kind {
    /// Returns the versions in which objects are served, as `apps/v1`.
    fn versions(&self) -> Vec<String>;
    /// Returns the plural name.
    fn resource(&self) -> &str;
    /// Returns the name of the kind.
    fn name(&self) -> &str;
    /// Returns random fields of an object at a version, without the fields of every object.
    fn fields(&self, random: &mut Random, version: &str) -> Value;
    /// Returns fields with which an object is valid.
    fn base(&self) -> Value;
    /// Returns random fields of the status at a version.
    fn status(&self, random: &mut Random, version: &str) -> Value;
    /// Whether objects have a scale.
    fn has_scale(&self) -> bool;
}

impl Conversation {
    /// Generates the conversation of a seed.
    pub fn generate(seed: u64) -> Conversation {
        conversation(&mut Random::new(seed))
    }
}

fn conversation(random: &mut Random) -> Conversation {
    let count = 5 + random.below(14);
    match random.below(5) {
        0..2 => {
            let custom = custom::Custom::random(random);
            let definition = Some(custom.definition());
            Conversation { definition, steps: steps(&custom, count, random), errors: Errors::Outcome }
        }
        _ => {
            let kind = builtin::random(random);
            Conversation { definition: None, steps: steps(&kind, count, random), errors: Errors::Outcome }
        }
    }
}

fn steps(kind: &dyn Kind, count: usize, random: &mut Random) -> Vec<Step> {
    let mut steps = vec![first(kind, random)];
    steps.extend((0..count).map(|_| step(kind, random)));
    steps
}

/// Requests about one object at a version.
struct Requests<'k> {
    kind: &'k dyn Kind,
    version: String,
}

impl<'k> Requests<'k> {
    fn random(kind: &'k dyn Kind, random: &mut Random) -> Requests<'k> {
        Requests { kind, version: random.pick(&kind.versions()).clone() }
    }

    fn collection(&self) -> String {
        let root = if self.version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{}/namespaces/{{ns}}/{}", self.version, self.kind.resource())
    }

    fn path(&self, below: &str, query: &[String]) -> String {
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        format!("{}/{NAME}{below}{query}", self.collection())
    }

    /// Returns an object with random metadata and fields, over the base if it has to be complete.
    fn object(&self, random: &mut Random, whole: bool) -> Value {
        let fields = self.kind.fields(random, &self.version);
        let fields = if whole { over(&self.kind.base(), &fields) } else { fields };
        let metadata = metadata(random);
        let named = metadata.as_object().cloned().unwrap_or_default().with("name", NAME);
        let identity = Value::object([
            ("apiVersion", Value::from(self.version.clone())),
            ("kind", Value::from(self.kind.name())),
            ("metadata", named.into()),
        ]);
        over(&identity, &fields)
    }
}

/// Returns the request that creates the object.
fn first(kind: &dyn Kind, random: &mut Random) -> Step {
    let requests = Requests::random(kind, random);
    let body = requests.object(random, true);
    match random.one_in(3) {
        true => {
            let path = format!("{}?fieldManager={}", requests.collection(), random.pick(&UPDATERS));
            Step { method: "POST", path, media_type: JSON, body }
        }
        false => {
            let path = requests.path("", &[format!("fieldManager={}", random.pick(&MANAGERS))]);
            Step { method: "PATCH", path, media_type: APPLY, body }
        }
    }
}

fn step(kind: &dyn Kind, random: &mut Random) -> Step {
    let requests = Requests::random(kind, random);
    let manager = match random.below(100) {
        0..45 => format!("fieldManager={}", random.pick(&MANAGERS)),
        _ => format!("fieldManager={}", random.pick(&UPDATERS)),
    };
    let mut query = vec![manager];
    if random.one_in(15) {
        query.push("dryRun=All".into());
    }
    let patch = |path: String, media_type: &'static str, body: Value| Step {
        method: "PATCH",
        path,
        media_type,
        body,
    };
    match random.below(100) {
        0..42 => {
            query[0] = format!("fieldManager={}", random.pick(&MANAGERS));
            if random.one_in(3) {
                query.push("force=true".into());
            }
            let whole = random.one_in(3);
            patch(requests.path("", &query), APPLY, requests.object(random, whole))
        }
        42..54 => {
            let fields = over(
                &Value::object([("metadata", metadata(random))]),
                &requests.kind.fields(random, &requests.version),
            );
            patch(requests.path("", &query), MERGE, patch::with_nulls(&fields, random))
        }
        54..62 => patch(
            requests.path("", &query),
            JSON_PATCH,
            patch::operations(&requests.object(random, false), random),
        ),
        62..72 => {
            let fields = requests.kind.fields(random, &requests.version);
            patch(requests.path("", &query), STRATEGIC, patch::with_directives(&fields, random))
        }
        72..82 => {
            let object = requests.object(random, true);
            let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
            let versioned = Value::object([("metadata", metadata.with("resourceVersion", "{rv}").into())]);
            let body = if random.one_in(4) { object } else { over(&object, &versioned) };
            Step { method: "PUT", path: requests.path("", &query), media_type: JSON, body }
        }
        82..85 => {
            let path = format!("{}?{}", requests.collection(), query.join("&"));
            Step { method: "POST", path, media_type: JSON, body: requests.object(random, true) }
        }
        85..91 if kind.has_scale() => scale(&requests, query, random),
        85..95 => {
            let status = requests.kind.status(random, &requests.version);
            let body = Value::object([("status", status)]);
            match random.one_in(2) {
                true => patch(requests.path("/status", &query), MERGE, body),
                false => {
                    let identity = Value::object([
                        ("apiVersion", Value::from(requests.version.clone())),
                        ("kind", Value::from(kind.name())),
                        ("metadata", Value::object([("name", Value::from(NAME))])),
                    ]);
                    patch(requests.path("/status", &query), APPLY, over(&identity, &body))
                }
            }
        }
        95..97 => Step { method: "DELETE", path: requests.path("", &[]), media_type: "", body: Value::Null },
        _ => Step { method: "GET", path: requests.path("", &[]), media_type: "", body: Value::Null },
    }
}

fn scale(requests: &Requests<'_>, query: Vec<String>, random: &mut Random) -> Step {
    let replicas = Value::from(random.below(4) as u64);
    let spec = Value::object([("spec", Value::object([("replicas", replicas)]))]);
    let identity = Value::object([
        ("apiVersion", Value::from("autoscaling/v1")),
        ("kind", Value::from("Scale")),
        ("metadata", Value::object([("name", Value::from(NAME))])),
    ]);
    let path = requests.path("/scale", &query);
    match random.below(3) {
        0 => Step { method: "PUT", path, media_type: JSON, body: over(&identity, &spec) },
        1 => Step { method: "PATCH", path, media_type: MERGE, body: spec },
        _ => Step { method: "PATCH", path, media_type: APPLY, body: over(&identity, &spec) },
    }
}

/// Returns random metadata that any object may have.
fn metadata(random: &mut Random) -> Value {
    let mut fields: Vec<(&str, Value)> = Vec::new();
    if random.one_in(3) {
        fields.push(("labels", texts(&["x", "y", "z"], random)));
    }
    if random.one_in(4) {
        fields.push(("annotations", texts(&["a.io/x", "b"], random)));
    }
    if random.one_in(12) {
        let finalizers = random.some(&["f.io/a", "f.io/b"]).into_iter().map(|name| Value::from(*name));
        fields.push(("finalizers", Value::array(finalizers.collect::<Vec<_>>())));
    }
    Value::object(fields)
}

/// Returns a map of some of these names to short texts, some of them empty.
fn texts(names: &[&'static str], random: &mut Random) -> Value {
    let some: Vec<&'static str> = random.some(names).into_iter().copied().collect();
    Value::object(some.into_iter().map(|name| (name, text(random))).collect::<Vec<_>>())
}

/// Returns a short text.
fn text(random: &mut Random) -> Value {
    Value::from(*random.pick(&["1", "2", "3", ""]))
}

/// Returns a document with the fields of another one over its own.
fn over(below: &Value, above: &Value) -> Value {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            let merged = above.iter().fold(below.clone(), |merged, (name, value)| {
                let value = merged.get(name).map_or_else(|| value.clone(), |own| over(own, value));
                merged.with(name.clone(), value)
            });
            Value::Object(merged)
        }
        (_, above) => above.clone(),
    }
}
