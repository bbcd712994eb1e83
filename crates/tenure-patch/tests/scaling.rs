//! The scaling law: an operation on twice the list takes less than three times as long, for distinct and for equal items.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};
use tenure_patch::strategic::Profile;
use tenure_patch::{
    json, lint, merge,
    strategic::{self, ApplyOptions, DiffOptions, Keys, LiveChanges},
};
use tenure_schema::{Schema, TypeRef};
use tenure_value::Value;

/// How the items of a list relate to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Items {
    Distinct,
    Equal,
}

/// The shorter of the two lengths that are compared.
const LENGTH: usize = 2_000;

fn kind(version: &str, kind: &str) -> TypeRef<'static> {
    Schema::builtin().kind(version, kind).unwrap()
}

/// The most times that an operation is measured.
const ROUNDS: usize = 60;

/// Runs an operation on lists of two lengths and compares the least times. Other work on the machine only makes a run
/// slower, so measuring continues until the law holds; an operation that violates it never passes.
fn check(name: &str, items: Items, mut operation: impl FnMut(&Inputs)) {
    let [short, long] = [LENGTH, 2 * LENGTH].map(|length| Inputs::new(length, items));
    let mut times = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        for (inputs, time) in [&short, &long].into_iter().zip(&mut times) {
            let start = Stopwatch::start();
            operation(inputs);
            *time = (*time).min(start.elapsed());
        }
        // The first runs fill caches.
        if round >= 2 && times[1] < 3 * times[0] {
            return;
        }
    }
    panic!("{name}, {items:?} items: {times:?}");
}

/// Measures the processor time of this thread if the system reports it, and the wall time otherwise.
struct Stopwatch {
    wall: Instant,
    processor: Option<Duration>,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { wall: Instant::now(), processor: processor_time() }
    }

    fn elapsed(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => self.wall.elapsed(),
        }
    }
}

fn processor_time() -> Option<Duration> {
    // The scheduler updates the time when the thread yields.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The documents of one length.
struct Inputs {
    length: usize,
    /// Names of items; the same ones, changed and reversed, in the second.
    live: Vec<Value>,
    patch: Vec<Value>,
    names: Value,
}

impl Inputs {
    fn new(length: usize, items: Items) -> Inputs {
        let name = |at: usize| match items {
            Items::Distinct => Value::from(format!("name-{at}")),
            Items::Equal => Value::from("name"),
        };
        let entry = |at: usize, image: &str| {
            Value::object([("name", name(at)), ("image", Value::from(format!("{image}-{at}")))])
        };
        Inputs {
            length,
            live: (0..length).map(|at| entry(at, "old")).collect(),
            patch: (0..length).rev().map(|at| entry(at, "new")).collect(),
            names: Value::array((0..length).rev().map(name)),
        }
    }

    fn keys(&self) -> Value {
        Value::array(
            self.names.as_array().unwrap().iter().map(|name| Value::object([("name", name.clone())])),
        )
    }

    /// Returns the entries of the patch, each with more fields.
    fn with(&self, fields: &[(&str, Value)]) -> Value {
        Value::array(self.patch.iter().map(|entry| {
            let entry = entry.as_object().unwrap();
            fields.iter().fold(entry.clone(), |entry, (name, value)| entry.with(*name, value.clone())).into()
        }))
    }
}

fn pod(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::object([("spec", Value::object(fields))])
}

fn metadata(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::object([("metadata", Value::object(fields))])
}

fn both(name: &str, mut operation: impl FnMut(&Inputs)) {
    for items in [Items::Distinct, Items::Equal] {
        check(name, items, &mut operation);
    }
}

fn apply_both_profiles(live: &Value, patch: &Value, ty: TypeRef<'_>) {
    for profile in [Profile::tenure(), Profile::kubernetes()] {
        let _ = black_box(strategic::apply(live, patch, ty, &ApplyOptions::default().profile(profile)));
    }
}

#[test]
fn keyed_lists() {
    let ty = kind("v1", "Pod");
    let live = |inputs: &Inputs| pod([("containers", Value::array(inputs.live.clone()))]);
    both("merge", |inputs| {
        let patch = pod([("containers", Value::array(inputs.patch.clone()))]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("merge in order", |inputs| {
        let patch = pod([
            ("containers", Value::array(inputs.patch.clone())),
            ("$setElementOrder/containers", inputs.keys()),
        ]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("order alone", |inputs| {
        let patch = pod([("$setElementOrder/containers", inputs.keys())]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("delete and add", |inputs| {
        let deletions = inputs.with(&[("$patch", Value::from("delete"))]);
        let deletions = deletions.as_array().unwrap().iter().cloned();
        let patch = pod([("containers", Value::array(deletions.chain(inputs.patch.clone())))]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("replace entries", |inputs| {
        let patch = pod([("containers", inputs.with(&[("$patch", Value::from("replace"))]))]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("keep fields", |inputs| {
        let retained = Value::array(["name", "image"].map(Value::from));
        let patch = pod([("containers", inputs.with(&[("$retainKeys", retained)]))]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("keys of the client", |inputs| {
        let keys = Value::array(["name", "image"].map(Value::from));
        let patch = pod([("containers", inputs.with(&[("$patchMergeKey", keys)]))]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("null keys of the client", |inputs| {
        let keys = Value::array(["name", "image"].map(Value::from));
        let patch = inputs.with(&[("$patchMergeKey", keys), ("image", Value::Null)]);
        apply_both_profiles(&live(inputs), &pod([("containers", patch)]), ty);
    });
    both("lint", |inputs| {
        let patch = pod([
            ("containers", Value::array(inputs.patch.clone())),
            ("$setElementOrder/containers", inputs.keys()),
        ]);
        black_box(lint::lint(&patch, ty, lint::Subject::Patch));
    });
}

#[test]
fn sets_and_maps() {
    let ty = kind("v1", "ConfigMap");
    let reversed = |inputs: &Inputs| Value::array(inputs.names.as_array().unwrap().iter().rev().cloned());
    let live = |inputs: &Inputs| metadata([("finalizers", reversed(inputs))]);
    both("set", |inputs| {
        apply_both_profiles(&live(inputs), &metadata([("finalizers", inputs.names.clone())]), ty);
    });
    both("ordered set", |inputs| {
        let patch = metadata([
            ("finalizers", inputs.names.clone()),
            ("$setElementOrder/finalizers", inputs.names.clone()),
        ]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("order of a set alone", |inputs| {
        let patch = metadata([("$setElementOrder/finalizers", inputs.names.clone())]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("delete from a set", |inputs| {
        let patch = metadata([("$deleteFromPrimitiveList/finalizers", inputs.names.clone())]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("directives for many lists", |inputs| {
        let directives = ["$setElementOrder/", "$deleteFromPrimitiveList/"].into_iter().flat_map(|prefix| {
            (0..inputs.length).map(move |at| (format!("{prefix}list-{at}"), Value::array([])))
        });
        let patch = Value::object([("metadata", Value::object(directives))]);
        apply_both_profiles(&live(inputs), &patch, ty);
    });
    both("merge patch", |inputs| {
        let map = |value: &str| {
            let field = |at: usize| (format!("key-{at}"), Value::from(value));
            Value::object([("data", Value::object((0..inputs.length).map(field)))])
        };
        let (old, new) = (map("old"), map("new"));
        black_box(merge::apply_kubernetes(&old, &merge::diff(&old, &new)));
        black_box(merge::three_way(&new, &old, &new));
    });
}

#[test]
fn calculated_patches() {
    let ty = kind("v1", "Pod");
    for profile in [Profile::tenure(), Profile::kubernetes()] {
        for keys in [Keys::Merge, Keys::Recommended] {
            let options = DiffOptions::default().profile(profile).keys(keys);
            both("two-way", |inputs| {
                let live = pod([("containers", Value::array(inputs.live.clone()))]);
                let modified = pod([("containers", Value::array(inputs.patch.clone()))]);
                let _ = black_box(strategic::two_way(&live, &modified, ty, &options));
            });
            for changes in [LiveChanges::Overwrite, LiveChanges::Keep] {
                both("three-way", |inputs| {
                    let half = inputs.live.len() / 2;
                    let last = pod([("containers", Value::array(inputs.live[half..].to_vec()))]);
                    let modified = pod([("containers", Value::array(inputs.patch.clone()))]);
                    let live = pod([("containers", Value::array(inputs.live.clone()))]);
                    let _ = black_box(strategic::three_way(&last, &modified, &live, ty, changes, &options));
                });
                both("three-way of sets", |inputs| {
                    let half = Value::array(inputs.names.as_array().unwrap()[inputs.length / 2..].to_vec());
                    let last = metadata([("finalizers", half)]);
                    let live = metadata([("finalizers", inputs.names.clone())]);
                    let modified = metadata([("finalizers", Value::array([Value::from("name")]))]);
                    let _ = black_box(strategic::three_way(&last, &modified, &live, ty, changes, &options));
                });
            }
        }
    }
}

/// Many operations on one large list or map: twice the operations on twice the list.
#[test]
fn json_patches() {
    let operation = |op: &str, more: &[(&str, &str)]| {
        let fields = more.iter().map(|(name, value)| (*name, Value::from(*value)));
        Value::object(fields.chain([("op", Value::from(op)), ("value", Value::from(1))]))
    };
    for (name, repeated) in [
        ("insert in front", vec![operation("add", &[("path", "/list/0")])]),
        ("append", vec![operation("add", &[("path", "/list/-")])]),
        ("remove the first", vec![operation("remove", &[("path", "/list/0")])]),
        ("replace the last", vec![operation("replace", &[("path", "/list/-1")])]),
        ("move first to last", vec![operation("move", &[("from", "/list/0"), ("path", "/list/-")])]),
        ("copy first to front", vec![operation("copy", &[("from", "/list/0"), ("path", "/list/0")])]),
        (
            "move the list down and up",
            vec![
                operation("move", &[("from", "/list"), ("path", "/map/list")]),
                operation("move", &[("from", "/map/list"), ("path", "/list")]),
            ],
        ),
        ("test", vec![operation("test", &[("path", "/map/x")])]),
    ] {
        both(name, |inputs| {
            let document = Value::object([
                ("list", Value::array(inputs.live.iter().cloned().cycle().take(10 * inputs.length))),
                ("map", Value::object([("x", Value::from(1))])),
            ]);
            let patch = Value::array(repeated.iter().cloned().cycle().take(inputs.length));
            let patched = json::apply(&document, &patch, &json::Options::default()).unwrap();
            black_box(patched);
        });
    }
    both("fields of a map", |inputs| {
        let add = |at: usize| {
            let path = format!("/map/key-{}", at * 7919 % inputs.length);
            Value::object([
                ("op", Value::from("add")),
                ("path", Value::from(path)),
                ("value", Value::from(1)),
            ])
        };
        let document = Value::object([("map", Value::object::<&str>([]))]);
        let patch = Value::array((0..inputs.length).map(add));
        black_box(json::apply(&document, &patch, &json::Options::default()).unwrap());
    });
    both("diff", |inputs| {
        let (live, patch) = (Value::array(inputs.live.clone()), Value::array(inputs.patch.clone()));
        black_box(json::diff(&live, &patch));
    });
}
