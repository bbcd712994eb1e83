//! For random sequences of versions, every version is rebuilt from its successor and the records between them, with its
//! managers; damaged records are refused and never crash.

use proptest::prelude::*;
use tenure_apply::{Manager, Managers, Operation, State, Timestamp};
use tenure_fields::{FieldSet, Path};
use tenure_history::{Author, Entry, HistoryError, Moment, Rebuilt, Values, Verb, Version, encode, rebuild};
use tenure_value::{Value, json};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        any::<u64>().prop_map(Value::unsigned),
        (-1000i32..1000).prop_map(|number| Value::float(f64::from(number) / 8.0).unwrap()),
        "[a-c]{0,2}".prop_map(Value::from),
        Just(Value::from("replicas")),
        "\\PC{0,40}".prop_map(Value::from),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]{0,2}", Just("spec".to_owned()), Just("replicas".to_owned()), Just("data".to_owned())]
}

fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec((name(), inner.clone()), 0..6).prop_map(Value::object),
            prop::collection::vec(inner, 0..6).prop_map(Value::array),
        ]
    })
}

fn managers() -> impl Strategy<Value = Managers> {
    let paths = prop::collection::vec(
        prop::sample::select(vec![".a", ".a.b", ".spec", ".spec.replicas", ".data.x"]),
        0..4,
    );
    let manager = ("[a-c]", any::<bool>(), 0i64..4, paths).prop_map(|(name, applies, time, paths)| Manager {
        name: name.into(),
        operation: if applies { Operation::Apply } else { Operation::Update },
        api_version: "v1".into(),
        subresource: if time == 3 { "status".into() } else { "".into() },
        time: (time > 0).then(|| Timestamp::from_unix(1_800_000_000 + time)),
        fields: paths
            .iter()
            .map(|path| Path::parse(path).unwrap())
            .collect::<Vec<_>>()
            .iter()
            .collect::<FieldSet>(),
    });
    prop::collection::vec(manager, 0..4).prop_map(Managers::new)
}

/// A version: mostly a small edit of the one before, sometimes another document, sometimes none.
fn versions() -> impl Strategy<Value = Vec<Option<State>>> {
    let state = (document(), managers()).prop_map(|(object, managers)| State { object, managers });
    prop::collection::vec(prop::option::weighted(0.9, state), 1..12)
}

fn text(state: &State) -> (Vec<u8>, Value) {
    (json::to_vec(&state.object), state.managers.to_value())
}

fn records(versions: &[Option<State>]) -> Vec<(u64, Vec<u8>)> {
    let author = Author { verb: Verb::Update, user: "alice", manager: "test", subresource: "" };
    let mut records = Vec::new();
    let mut before: Option<(&State, u64)> = None;
    for (revision, after) in (10u64..).zip(versions) {
        let old = before.map(|(state, revision)| Version {
            object: &state.object,
            managers: &state.managers,
            revision,
        });
        let new = after.as_ref().map(|state| Version {
            object: &state.object,
            managers: &state.managers,
            revision: 0,
        });
        if old.is_some() || new.is_some() {
            records.push((revision, encode(&author, old, new, Values::Kept).unwrap().bytes));
        }
        before = after.as_ref().map(|state| (state, revision));
    }
    records.reverse();
    records
}

fn entries(records: &[(u64, Vec<u8>)]) -> impl Iterator<Item = Entry<'_>> {
    records.iter().map(|(revision, bytes)| Entry { revision: *revision, written_at: *revision, bytes })
}

proptest! {
    #[test]
    fn every_version_is_rebuilt_byte_for_byte(versions in versions()) {
        let records = records(&versions);
        let live = || {
            let revision = 10 + versions.len() as u64 - 1;
            versions.last().unwrap().clone().map(|state| Rebuilt { state, revision })
        };
        for (revision, version) in (10u64..).zip(&versions) {
            for moment in [Moment::Revision(revision), Moment::Time(revision)] {
                let rebuilt = rebuild(live(), entries(&records), moment);
                match version {
                    Some(version) => {
                        let rebuilt = rebuilt.unwrap();
                        prop_assert_eq!(text(&rebuilt.state), text(version));
                        prop_assert_eq!(rebuilt.revision, revision);
                    }
                    None => prop_assert!(matches!(rebuilt, Err(HistoryError::Absent { .. })), "{:?}", rebuilt),
                }
            }
        }
    }

    #[test]
    fn trimmed_records_end_the_history(versions in versions(), kept in 0usize..6) {
        let mut records = records(&versions);
        records.truncate(kept);
        let live = versions.last().unwrap().clone();
        let live = live.map(|state| Rebuilt { state, revision: 10 + versions.len() as u64 - 1 });
        for (revision, version) in (10u64..).zip(&versions) {
            match rebuild(live.clone(), entries(&records), Moment::Revision(revision)) {
                Ok(rebuilt) => prop_assert_eq!(Some(text(&rebuilt.state)), version.as_ref().map(text)),
                Err(HistoryError::TooOld { .. } | HistoryError::Absent { .. }) => {}
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    #[test]
    fn damaged_records_are_refused(versions in versions(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut records = records(&versions);
        for (_, bytes) in &mut records {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let live = versions.last().unwrap().clone();
        let live = live.map(|state| Rebuilt { state, revision: 10 + versions.len() as u64 - 1 });
        // The result may be anything, but decoding neither panics nor takes unbounded time.
        let _ = rebuild(live, entries(&records), Moment::Revision(0));
    }
}

#[test]
fn values_of_secrets_are_not_recorded() {
    let secret = |password: &str| -> Value {
        let manifest = format!("manifest with {password}");
        Value::object([
            ("data", Value::object([("password", Value::from(password)), ("user", Value::from("u"))])),
            (
                "metadata",
                Value::object([(
                    "annotations",
                    Value::object([
                        ("kubectl.kubernetes.io/last-applied-configuration", Value::from(manifest)),
                        ("team", Value::from("blue")),
                    ]),
                )]),
            ),
        ])
    };
    let author = Author { verb: Verb::Update, user: "alice", manager: "test", subresource: "" };
    let (old, new, none) = (secret("hunter2"), secret("hunter3"), Managers::default());
    let version = |object| Version { object, managers: &none, revision: 1 };
    let bare: Value = r#"{"metadata":{}}"#.parse().unwrap();
    for after in [Some(version(&new)), Some(version(&bare)), None] {
        let record = encode(&author, Some(version(&old)), after, Values::Withheld).unwrap();
        assert!(!String::from_utf8_lossy(&record.bytes).contains("hunter"), "{after:?}");
        let kept = encode(&author, Some(version(&old)), after, Values::Kept).unwrap();
        assert!(String::from_utf8_lossy(&kept.bytes).contains("hunter2"), "{after:?}");
        let live = after.map(|after| Rebuilt {
            state: State { object: after.object.clone(), managers: none.clone() },
            revision: 2,
        });
        let entry = Entry { revision: 2, written_at: 2, bytes: &record.bytes };
        let rebuilt = rebuild(live, [entry].into_iter(), Moment::Revision(1)).unwrap().state.object;
        let password = rebuilt.at(["data", "password"]).unwrap();
        assert!(tenure_history::secret::is_withheld(password), "{password}");
        assert_eq!(rebuilt.at(["metadata", "annotations", "team"]), Some(&Value::from("blue")));
    }
}

#[test]
fn a_small_change_of_a_large_object_leaves_a_small_record() {
    let object = |replicas: i64| {
        let data = (0..1000).map(|number| (format!("key-{number}"), Value::from("x".repeat(100))));
        Value::object([
            ("data", Value::object(data)),
            ("spec", Value::object([("replicas", Value::from(replicas))])),
        ])
    };
    let (old, new, none) = (object(3), object(5), Managers::default());
    let author = Author { verb: Verb::Apply, user: "alice", manager: "kubectl", subresource: "" };
    let version = |object| Version { object, managers: &none, revision: 1 };
    let record = encode(&author, Some(version(&old)), Some(version(&new)), Values::Kept).unwrap();
    assert!(record.bytes.len() < 40, "{} bytes", record.bytes.len());
    assert_eq!(record.paths, [".spec.replicas"]);
}
