//! All operations take near-linear time: twice the input takes less than three times as long, for distinct
//! and for equal items. The best of several runs counts, so other load on the machine does not matter.

use std::time::{Duration, Instant};
use tenure_apply::Profile;
use tenure_apply::{
    Applier, ApplyError, Difference, Force, Live, Manager, Managers, Operation, Presence, Requested,
    ResetFields, SingleVersion, Timestamp, Write, apply, extract, ownership, update,
};
use tenure_fields::{FieldSet, FieldSetBuilder, PathElement};
use tenure_schema::{Schema, TypeRef};
use tenure_value::Value;

/// The initial size of the larger input; the smaller is half of it.
const ITEMS: usize = 4_000;

/// The maximum size.
const LARGEST: usize = 64_000;

/// How often both sizes are measured at most.
const ROUNDS: usize = 30;

fn pod() -> TypeRef<'static> {
    Schema::builtin().kind("v1", "Pod").unwrap()
}

/// A Pod with one container that has these environment variables.
fn pod_with(env: impl Iterator<Item = (String, String)>) -> Value {
    let env =
        env.map(|(name, value)| Value::object([("name", Value::from(name)), ("value", Value::from(value))]));
    let container = Value::object([("name", Value::from("c")), ("env", Value::array(env))]);
    object("Pod", [("spec", Value::object([("containers", Value::array([container]))]))])
}

fn object<const N: usize>(kind: &str, fields: [(&'static str, Value); N]) -> Value {
    let named = [
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from(kind)),
        ("metadata", Value::object([("name", Value::from("x"))])),
    ];
    Value::object(named.into_iter().chain(fields))
}

fn distinct(count: usize, value: &str) -> Value {
    pod_with((0..count).map(|at| (format!("n{at}"), value.to_owned())))
}

fn reversed(count: usize, value: &str) -> Value {
    pod_with((0..count).rev().map(|at| (format!("n{at}"), value.to_owned())))
}

/// The same name repeatedly, which only an update can produce.
fn equal(count: usize, value: &str) -> Value {
    pod_with((0..count).map(|_| ("n".to_owned(), value.to_owned())))
}

fn data(count: usize, value: &str) -> Value {
    let entries = (0..count).map(|at| (format!("k{at}"), Value::from(value)));
    object("ConfigMap", [("data", Value::object(entries))])
}

/// Fails unless twice the input takes less than three times as long.
fn assert_near_linear<I>(what: &str, input: impl Fn(usize) -> I, run: impl Fn(&I)) {
    let time = |size: usize| {
        let input = input(size);
        let once = || {
            let start = Instant::now();
            run(&input);
            start.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap_or(Duration::ZERO)
    };
    // Short times are dominated by the allocator, so the input grows until the work counts.
    let mut size = ITEMS;
    while size < LARGEST && time(size / 2) < Duration::from_millis(10) {
        size *= 2;
    }
    // Other work on the machine only makes a run slower, so measuring continues until the law holds; an operation that violates it
    // never passes.
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (size, least) in [size / 2, size].into_iter().zip(&mut least) {
            *least = (*least).min(time(size));
        }
        if least[1] < least[0] * 3 {
            return;
        }
    }
    panic!("{what}: {:?} for {} items, {:?} for {size}", least[0], size / 2, least[1]);
}

fn applied(manager: &str, live: Option<&Value>, config: &Value) -> Result<Value, ApplyError> {
    Applier::new(manager).apply(live, config).map(|applied| applied.object)
}

fn conflicts(input: (Value, Value)) {
    let Err(ApplyError::Conflicts(conflicts)) = applied("bob", Some(&input.0), &input.1) else {
        panic!("everything is contested");
    };
    assert!(conflicts.iter().count() > 1);
    assert!(!conflicts.to_string().is_empty());
    assert!(!conflicts.causes().is_empty());
}

#[test]
fn conflicts_are_found_in_linear_time() {
    let env = |size| (applied("alice", None, &distinct(size, "a")).unwrap(), distinct(size, "b"));
    assert_near_linear("conflicts over items", env, |input| conflicts(input.clone()));
    let reordered = |size| (applied("alice", None, &distinct(size, "a")).unwrap(), reversed(size, "b"));
    assert_near_linear("conflicts over reordered items", reordered, |input| conflicts(input.clone()));
    let map = |size| (applied("alice", None, &data(size, "a")).unwrap(), data(size, "b"));
    assert_near_linear("conflicts over entries", map, |input| conflicts(input.clone()));
}

#[test]
fn items_are_applied_in_linear_time() {
    assert_near_linear(
        "a first apply",
        |size| distinct(size, "a"),
        |config| {
            applied("alice", None, config).unwrap();
        },
    );
    let again = |size| (applied("alice", None, &distinct(size, "a")).unwrap(), distinct(size, "a"));
    assert_near_linear("the same again", again, |(live, config)| {
        applied("alice", Some(live), config).unwrap();
    });
    let other = |size| (applied("alice", None, &distinct(size, "a")).unwrap(), reversed(size, "b"));
    assert_near_linear("other values in another order", other, |(live, config)| {
        applied("alice", Some(live), config).unwrap();
    });
    let fewer =
        |size: usize| (applied("alice", None, &distinct(size, "a")).unwrap(), distinct(size / 2, "a"));
    assert_near_linear("half of the items given up", fewer, |(live, config)| {
        applied("alice", Some(live), config).unwrap();
    });
    let second = |size| (applied("alice", None, &distinct(size, "a")).unwrap(), reversed(size, "a"));
    assert_near_linear("a second applier", second, |(live, config)| {
        applied("bob", Some(live), config).unwrap();
    });
    let refused = |size| equal(size, "a");
    assert_near_linear("equal items", refused, |config| {
        assert!(matches!(applied("alice", None, config), Err(ApplyError::Duplicate { .. })));
    });
    let over_equal = |size| (equal(size, "a"), pod_with([("n".to_owned(), "b".to_owned())].into_iter()));
    assert_near_linear("an item over equal ones", over_equal, |(live, config)| {
        Applier::new("alice").force().apply(live, config).unwrap();
    });
}

#[test]
fn a_hundred_thousand_items_are_applied_at_once() {
    let config = distinct(100_000, "a");
    let live = applied("alice", None, &config).unwrap();
    let again = Applier::new("alice").apply(&live, &config).unwrap();
    assert!(!again.changed);
}

fn updated(old: &Value, new: &Value, managers: &Managers) -> Managers {
    let versions = SingleVersion::new("v1", pod());
    let write = Write {
        manager: "alice",
        api_version: "v1",
        subresource: "",
        now: Some(Timestamp::from_unix(1)),
        versions: &versions,
        reset: &ResetFields::None,
        empty: &object("Pod", []),
        profile: Profile::kubernetes(),
    };
    let live = Live { object: old, managers, presence: Presence::Stored };
    update(live, new, Requested::Live, &write).unwrap().managers
}

#[test]
fn updates_are_tracked_in_linear_time() {
    let owner = Managers::new([manager(0, FieldSet::from_iter([[PathElement::field("spec")]]))]);
    for (what, make) in [
        ("distinct items", distinct as fn(usize, &str) -> Value),
        ("equal items", equal),
        ("reordered items", reversed),
    ] {
        assert_near_linear(
            what,
            |size| (distinct(size, "a"), make(size, "b")),
            |(old, new)| {
                updated(old, new, &owner);
            },
        );
    }
    assert_near_linear(
        "equal to equal",
        |size| (equal(size, "a"), equal(size, "b")),
        |(old, new)| {
            Difference::between(old, new, pod());
        },
    );
}

fn manager(number: usize, fields: FieldSet) -> Manager {
    Manager {
        name: format!("m{number}").into(),
        operation: Operation::Update,
        api_version: "v1".into(),
        subresource: "".into(),
        time: Some(Timestamp::from_unix(number as i64)),
        fields,
    }
}

#[test]
fn many_managers_are_kept_and_merged_in_linear_time() {
    let label = |at: usize| {
        let path = ["metadata", "labels"].map(PathElement::field);
        FieldSet::from_iter([path
            .into_iter()
            .chain([PathElement::field(format!("l{at}"))])
            .collect::<Vec<_>>()])
    };
    let managers = |size: usize| Managers::new((0..size).map(|at| manager(at, label(at))));
    let (old, new) = (distinct(1, "a"), distinct(1, "b"));
    assert_near_linear("managers", managers, |managers| {
        assert!(updated(&old, &new, managers).len() <= 10);
    });
}

#[test]
fn reports_and_extraction_take_linear_time() {
    let state = |size| {
        let applied = Applier::new("alice").apply(None, &distinct(size, "a")).unwrap();
        (applied.object, applied.managers)
    };
    assert_near_linear("ownership", state, |(object, managers)| {
        ownership(object, managers, pod());
    });
    assert_near_linear("extraction", state, |(object, managers)| {
        extract(object, &managers.owned_at("v1"), pod());
    });
}

#[test]
fn paths_in_any_order_make_a_set_in_linear_time() {
    let paths = |size: usize| -> Vec<[PathElement; 2]> {
        let path = |at: usize| [format!("p{}", at % 7), format!("x{}", size - at)].map(PathElement::field);
        (0..size).map(path).collect()
    };
    assert_near_linear("a set of paths", paths, |paths| {
        let mut builder = FieldSetBuilder::new();
        paths.iter().for_each(|path| builder.insert(path));
        assert!(!builder.finish().is_empty());
    });
}

#[test]
fn force_of_many_paths_takes_linear_time() {
    let versions = SingleVersion::new("v1", Schema::builtin().kind("v1", "ConfigMap").unwrap());
    let forced = |size: usize| {
        let applied = Applier::new("alice").apply(None, &data(size, "a")).unwrap();
        let paths = applied.managers.owned_at("v1");
        (applied, paths, data(size, "b"))
    };
    assert_near_linear("forced paths", forced, |(applied, paths, config)| {
        let write = Write {
            manager: "bob",
            api_version: "v1",
            subresource: "",
            now: None,
            versions: &versions,
            reset: &ResetFields::None,
            empty: &object("ConfigMap", []),
            profile: Profile::tenure(),
        };
        let live = Live { object: &applied.object, managers: &applied.managers, presence: Presence::Stored };
        apply(live, config, &write, Force::Paths(paths)).unwrap();
    });
}
