//! What controllers rely on: additions, changes and deletions as the selector sees them, resuming, one order for all watchers, and
//! a clear error for a watcher that is too slow.

use crate::{
    facts::text,
    server::{MERGE_PATCH, Server, metadata, version},
    stream::Stream,
};
use std::{sync::Arc, thread};
use tenure_http::Administrator;
use tenure_store::{HistoryLimits, MemoryStore};
use tenure_value::Value;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

fn watch(server: &Server, query: &str) -> Stream {
    Stream::open(server.address, &format!("{PATH}?watch=1&{query}")).expect("a watch")
}

fn map(server: &Server, name: &str, label: &str) -> Value {
    server.create(PATH, &format!(r#"{{"metadata":{{"name":"{name}","labels":{{"is":"{label}"}}}}}}"#))
}

fn patch(server: &Server, name: &str, patch: &str) {
    assert_eq!(server.patch(&format!("{PATH}/{name}"), MERGE_PATCH, patch).code, 200);
}

fn summary((kind, object): (String, Value)) -> String {
    let data = object.at(["data", "mutation"]).and_then(Value::as_str).unwrap_or("-").to_string();
    format!("{kind} {} {data}", metadata(&object, "name").as_str().unwrap_or_default())
}

#[test]
fn every_watcher_sees_what_its_selector_means() {
    let server = Server::start();
    let mut watches: Vec<Stream> =
        ["labelSelector=is%3Da", "labelSelector=is%3Db", "labelSelector=is%20in%20(a,b)"]
            .iter()
            .map(|selector| watch(&server, &format!("{selector}&resourceVersion={}", server.revision())))
            .collect();
    map(&server, "one", "a");
    patch(&server, "one", r#"{"data":{"mutation":"1"}}"#);
    patch(&server, "one", r#"{"data":{"mutation":"2"}}"#);
    map(&server, "two", "b");
    patch(&server, "one", r#"{"metadata":{"labels":{"is":"b"}}}"#);
    server.delete(&format!("{PATH}/two"));
    server.delete(&format!("{PATH}/one"));
    let expected: [&[&str]; 3] = [
        &["ADDED one -", "MODIFIED one 1", "MODIFIED one 2", "DELETED one 2"],
        &["ADDED two -", "ADDED one 2", "DELETED two -", "DELETED one 2"],
        &[
            "ADDED one -",
            "MODIFIED one 1",
            "MODIFIED one 2",
            "ADDED two -",
            "MODIFIED one 2",
            "DELETED two -",
            "DELETED one 2",
        ],
    ];
    for (watch, expected) in watches.iter_mut().zip(expected) {
        let seen: Vec<String> =
            expected.iter().map(|_| summary(watch.next_change().expect("an event"))).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_watch_resumes_after_a_resource_version() {
    let server = Server::start();
    map(&server, "one", "a");
    let mut first = watch(&server, "");
    first.next_change().expect("what is there");
    patch(&server, "one", r#"{"data":{"mutation":"1"}}"#);
    let (_, seen) = first.next_change().expect("a change");
    drop(first);
    patch(&server, "one", r#"{"data":{"mutation":"2"}}"#);
    server.delete(&format!("{PATH}/one"));
    let mut second = watch(&server, &format!("resourceVersion={}", version(&seen)));
    assert_eq!(summary(second.next_change().expect("a change")), "MODIFIED one 2");
    assert_eq!(summary(second.next_change().expect("a deletion")), "DELETED one 2");
}

#[test]
fn all_watchers_see_the_same_order_wherever_they_begin() {
    let server = Server::start();
    let start = server.revision();
    let versions = |mut watch: Stream, count: usize| -> Vec<String> {
        (0..count).map(|_| version(&watch.next_change().expect("an event").1)).collect()
    };
    let count = 60;
    thread::scope(|scope| {
        let early: Vec<_> = (0..8)
            .map(|_| {
                let watch = watch(&server, &format!("resourceVersion={start}"));
                scope.spawn(move || versions(watch, count))
            })
            .collect();
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let server = &server;
                scope.spawn(move || {
                    for at in 0..5 {
                        let name = format!("w{writer}-{at}");
                        map(server, &name, "x");
                        patch(server, &name, r#"{"data":{"mutation":"1"}}"#);
                        patch(server, &name, r#"{"data":{"mutation":"2"}}"#);
                        server.delete(&format!("{PATH}/{name}"));
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        let seen: Vec<Vec<String>> =
            early.into_iter().map(|watcher| watcher.join().expect("a watcher")).collect();
        assert!(seen.iter().all(|other| *other == seen[0]), "{seen:?}");
        for (at, version) in seen[0].iter().enumerate().step_by(7) {
            let watch = watch(&server, &format!("resourceVersion={version}"));
            assert_eq!(versions(watch, count - at - 1), seen[0][at + 1..]);
        }
    });
}

#[test]
fn a_watch_of_one_object_sees_only_that_object() {
    let server = Server::start();
    map(&server, "one", "a");
    let by_field = "fieldSelector=metadata.name%3Done";
    let mut watches = [
        watch(&server, by_field),
        Stream::open(server.address, "/api/v1/watch/namespaces/default/configmaps/one").expect("a watch"),
        Stream::open(server.address, &format!("/api/v1/configmaps?watch=1&{by_field}")).expect("a watch"),
    ];
    for watch in &mut watches {
        assert_eq!(summary(watch.next_change().expect("what is there")), "ADDED one -");
    }
    map(&server, "one-more", "a");
    server.delete(&format!("{PATH}/one-more"));
    patch(&server, "one", r#"{"data":{"mutation":"1"}}"#);
    for watch in &mut watches {
        assert_eq!(summary(watch.next_change().expect("a change")), "MODIFIED one 1");
    }
}

#[test]
fn a_slow_watcher_expires_and_does_not_delay_others() {
    let limits = HistoryLimits { count: 5, ..HistoryLimits::default() };
    let server = Server::over(Arc::new(MemoryStore::with_limits(limits)), Administrator::Anyone);
    map(&server, "big", "a");
    let start = server.revision();
    // This watcher reads nothing while more changes happen than all buffers hold.
    let mut slow = watch(&server, &format!("resourceVersion={start}"));
    let mut quick = watch(&server, &format!("resourceVersion={start}"));
    let text_of = "x".repeat(1_000_000);
    // The fast watcher receives every change before the next is made, so the slow one delays no watcher.
    for at in 0..50 {
        patch(&server, "big", &format!(r#"{{"data":{{"mutation":"{at}","big":"{text_of}"}}}}"#));
        assert_eq!(summary(quick.next_change().expect("a change")), format!("MODIFIED big {at}"));
    }
    let mut seen = 0;
    let end = loop {
        let event = slow.next().unwrap_or_else(|| panic!("the watch does not say why it ends after {seen}"));
        if text(&event, "type") == "ERROR" {
            break event;
        }
        let mutation = event.at(["object", "data", "mutation"]).and_then(Value::as_str).unwrap_or_default();
        assert_eq!(mutation, seen.to_string(), "up to there nothing is missing");
        seen += 1;
    };
    assert!(seen < 50, "it was slower than history");
    let status = end.get("object").cloned().unwrap_or_default();
    assert_eq!(
        (text(&status, "reason"), status.get("code")),
        ("Expired", Some(&Value::from(410))),
        "{status}"
    );
    assert!(slow.next().is_none(), "and then it is over");
}

#[test]
fn objects_that_go_with_their_definition_are_seen_to_go() {
    let server = Server::living();
    let definition = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
        "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    for _ in 0..5 {
        server.create(definitions, definition);
        server.create(widgets, r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}"#);
        let mut stream = Stream::open(server.address, &format!("{widgets}?watch=true")).expect("a watch");
        assert_eq!(stream.next_change().map(|(event, _)| event).as_deref(), Some("ADDED"));
        server.delete(&format!("{definitions}/widgets.example.com"));
        assert_eq!(stream.next_change().map(|(event, _)| event).as_deref(), Some("DELETED"));
        assert_eq!(stream.next_change(), None, "nothing follows");
        server.wait_until_gone(&format!("{definitions}/widgets.example.com"));
    }
}
