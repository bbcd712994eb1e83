//! What recording a change costs, and what reading a field's last hundred changes costs.

#![allow(missing_docs, reason = "what the macros of criterion make has no documentation")]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tenure_apply::{Managers, State};
use tenure_fields::Path;
use tenure_history::{Author, Entry, Rebuilt, Timeline, Values, Verb, Version, encode, field_change};
use tenure_schema::Schema;
use tenure_value::Value;

const AUTHOR: Author<'_> = Author { verb: Verb::Apply, user: "admin", manager: "kubectl", subresource: "" };

/// A deployment with a few containers.
fn deployment() -> Value {
    let container = |name: &str| {
        format!(
            r#"{{"name":"{name}","image":"registry.example/{name}:1","ports":[{{"containerPort":80,"protocol":"TCP"}}],"resources":{{"limits":{{"cpu":"1","memory":"1Gi"}}}}}}"#
        )
    };
    let containers: Vec<String> = ["app", "proxy", "metrics"].iter().map(|name| container(name)).collect();
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"generation":1,"labels":{{"app":"web"}},"name":"web","namespace":"default","uid":"5a1b"}},
            "spec":{{"replicas":1,"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{}]}}}}}}}}"#,
        containers.join(",")
    )
    .parse()
    .unwrap_or_default()
}

/// The same deployment with other replicas, sharing the rest.
fn scaled(object: &Value, replicas: i64) -> Value {
    let root = object.as_object().cloned().unwrap_or_default();
    let spec = root.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = root.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    Value::Object(
        root.with("spec", spec.with("replicas", replicas))
            .with("metadata", metadata.with("generation", replicas)),
    )
}

fn history(c: &mut Criterion) {
    let none = Managers::default();
    let (old, new) = (deployment(), scaled(&deployment(), 2));
    let shared = scaled(&old, 2);
    let version = |object| Version { object, managers: &none, revision: 1 };
    for (name, new) in
        [("record a change of shared documents", &shared), ("record a change of separate documents", &new)]
    {
        c.bench_function(name, |bench| {
            bench.iter(|| {
                encode(&AUTHOR, Some(version(black_box(&old))), Some(version(black_box(new))), Values::Kept)
            });
        });
    }
    let mut records = Vec::new();
    let mut live = old.clone();
    for revision in 2..=101u64 {
        let next = scaled(&live, revision as i64);
        let before = Version { object: &live, managers: &none, revision: revision - 1 };
        let after = Version { object: &next, managers: &none, revision };
        if let Ok(record) = encode(&AUTHOR, Some(before), Some(after), Values::Kept) {
            records.push((revision, record.bytes));
        }
        live = next;
    }
    records.reverse();
    let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap_or_else(tenure_schema::TypeRef::untyped);
    let path = Path::parse(".spec.replicas").unwrap_or_default();
    c.bench_function("read the last 100 changes of a field", |bench| {
        bench.iter(|| {
            let live =
                Rebuilt { state: State { object: live.clone(), managers: none.clone() }, revision: 101 };
            let entries =
                records.iter().map(|(revision, bytes)| Entry { revision: *revision, written_at: 0, bytes });
            let mut found = 0;
            for step in Timeline::new(Some(live), entries).flatten() {
                let state_of = |side: &Option<Rebuilt>| side.as_ref().map(|side| side.state.clone());
                let (before, after) = (state_of(&step.before), state_of(&step.after));
                found += usize::from(
                    field_change(before.as_ref(), after.as_ref(), &path, ty, Values::Kept).is_some(),
                );
            }
            assert_eq!(found, 100);
        });
    });
}

criterion_group!(benches, history);
criterion_main!(benches);
