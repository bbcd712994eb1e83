//! A watch delivers exactly what a filter of all changes would: for random watchers and changes, those that share a collection or a
//! selector with many others included, and those that begin late.

use crate::{
    facts::text,
    random::Random,
    server::{MERGE_PATCH, Server, metadata, version},
    stream::Stream,
};
use std::{collections::HashMap, thread};
use tenure_meta::{FieldSelector, LabelSelector};
use tenure_value::Value;

const NAMESPACES: [&str; 2] = ["default", "other"];
const OBJECTS: u64 = 12;
const WRITERS: u64 = 3;
const CHANGES: u64 = 120;

const PATHS: [&str; 4] = [
    "/api/v1/secrets",
    "/api/v1/secrets",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/other/secrets",
];
const LABELS: [&str; 9] = [
    "",
    "",
    "app=a",
    "app in (a,b)",
    "app",
    "!app",
    "app!=a,tier",
    "app=b,tier notin (x)",
    "tier in (x,y),app=c",
];
const FIELDS: [&str; 8] = [
    "",
    "",
    "",
    "type=t1",
    "type!=t1",
    "metadata.name=p3",
    "metadata.namespace=other",
    "metadata.name!=p3,type=t2",
];

fn labels(random: &mut Random) -> String {
    let (app, tier) =
        (random.of(&["null", "\"a\"", "\"b\"", "\"c\""]), random.of(&["null", "\"x\"", "\"y\""]));
    format!(r#""labels":{{"app":{app},"tier":{tier}}}"#)
}

/// Makes random changes, many of which move objects in or out of a selection.
fn write(server: &Server, random: &mut Random, count: u64) {
    for at in 0..count {
        let collection = format!("/api/v1/namespaces/{}/secrets", random.of(&NAMESPACES));
        let name = format!("p{}", random.below(OBJECTS));
        let object = format!("{collection}/{name}");
        match random.below(8) {
            0 => drop(server.delete(&object)),
            1..3 => {
                let (labels, kind) = (labels(random).replace("null", "\"\""), random.of(&["t1", "t2", "t3"]));
                server.post(
                    &collection,
                    &format!(r#"{{"metadata":{{"name":"{name}",{labels}}},"type":"{kind}"}}"#),
                );
            }
            3..6 => {
                drop(server.patch(&object, MERGE_PATCH, &format!(r#"{{"metadata":{{{}}}}}"#, labels(random))))
            }
            _ => drop(server.patch(&object, MERGE_PATCH, &format!(r#"{{"stringData":{{"k":"{at}"}}}}"#))),
        }
    }
}

/// A watcher, and what it must see.
struct Watcher {
    path: &'static str,
    labels: &'static str,
    fields: &'static str,
    stream: Stream,
}

fn encoded(selector: &str) -> String {
    selector.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl Watcher {
    fn open(server: &Server, [path, labels, fields]: [&'static str; 3], after: &str) -> Watcher {
        let (by_label, by_field) = (encoded(labels), encoded(fields));
        let query =
            format!("?watch=1&labelSelector={by_label}&fieldSelector={by_field}&resourceVersion={after}");
        let stream = Stream::open(server.address, &format!("{path}{query}")).expect("a watch");
        Watcher { path, labels, fields, stream }
    }

    fn random(server: &Server, random: &mut Random, after: &str) -> Watcher {
        Watcher::open(server, [random.of(&PATHS), random.of(&LABELS), random.of(&FIELDS)], after)
    }

    fn selects(&self, object: &Value) -> bool {
        let namespace = self.path.strip_prefix("/api/v1/namespaces/").and_then(|rest| rest.split('/').next());
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        namespace.is_none_or(|namespace| text(&metadata, "namespace") == namespace)
            && LabelSelector::parse(self.labels).unwrap().matches(metadata.get("labels"))
            && FieldSelector::parse(self.fields).unwrap().matches(object)
    }

    /// Filters all events.
    fn expected(&self, events: &[(String, Value)]) -> Vec<String> {
        let mut before: HashMap<String, Value> = HashMap::new();
        let mut expected = Vec::new();
        for (kind, object) in events {
            let was = before.get(&place(object)).is_some_and(|old| self.selects(old));
            let is = kind != "DELETED" && self.selects(object);
            match (was, is) {
                (false, false) => {}
                (false, true) => expected.push(summary("ADDED", object)),
                (true, true) => expected.push(summary("MODIFIED", object)),
                (true, false) => {
                    // The last state that was selected, with the revision of the change.
                    let (old, now) = (&before[&place(object)], version(object));
                    expected.push(format!("DELETED {} {now} {}", place(old), metadata(old, "labels")));
                }
            }
            match kind.as_str() {
                "DELETED" => drop(before.remove(&place(object))),
                _ => drop(before.insert(place(object), object.clone())),
            }
        }
        expected
    }
}

fn place(object: &Value) -> String {
    let part = |name| metadata(object, name).as_str().unwrap_or_default().to_string();
    format!("{}/{}", part("namespace"), part("name"))
}

fn summary(kind: &str, object: &Value) -> String {
    format!("{kind} {} {} {}", place(object), version(object), metadata(object, "labels"))
}

#[test]
fn a_watch_delivers_what_a_filter_of_all_changes_would() {
    let server = Server::start();
    server.create_namespace("other");
    let (random, start) = (&mut Random(11), server.revision());
    let mut watchers: Vec<Watcher> = (0..30).map(|_| Watcher::random(&server, random, &start)).collect();
    // So many that changes are gathered for them.
    for same in [["/api/v1/secrets", "", ""], ["/api/v1/secrets", "app=a", ""], [PATHS[2], "tier", "type=t1"]]
    {
        watchers.extend((0..12).map(|_| Watcher::open(&server, same, &start)));
    }
    for round in 0..2 {
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let server = &server;
                scope.spawn(move || write(server, &mut Random(100 * round + writer), CHANGES));
            }
        });
        // Those that come late read the history first.
        watchers.extend((0..10).map(|_| Watcher::random(&server, random, &start)));
    }
    // All changes, as one watcher sees them from the beginning.
    let end = server.create("/api/v1/namespaces/default/secrets", r#"{"metadata":{"name":"end"}}"#);
    let mut all = Watcher::open(&server, ["/api/v1/secrets", "", ""], &start);
    let mut events = Vec::new();
    while events.last().is_none_or(|(_, last)| version(last) != version(&end)) {
        events.push(all.stream.next_change().expect("an event"));
    }
    assert!(events.len() > 200, "{} changes", events.len());
    let mut total = 0;
    for watcher in &mut watchers {
        let expected = watcher.expected(&events);
        let seen: Vec<String> = expected
            .iter()
            .map_while(|_| watcher.stream.next_change())
            .map(|(kind, object)| summary(&kind, &object))
            .collect();
        let Watcher { path, labels, fields, .. } = watcher;
        assert_eq!(seen, expected, "{path} {labels} {fields}");
        total += seen.len();
    }
    assert!(total > 3_000, "{total} events");
    drop(server);
    for watcher in &mut watchers {
        let Watcher { path, labels, fields, stream } = watcher;
        assert!(stream.next_change().is_none(), "{path} {labels} {fields}: an event too many");
    }
}
