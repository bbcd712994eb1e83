//! History of objects whose values are large: an answer has a budget of bytes, and is computed elsewhere.

use super::server::{Attack, HealthProbe, JSON, Target};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    thread,
    time::{Duration, Instant},
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CHANGES: usize = 24;
/// The most bytes of a page of history, and of the last change on it.
const PAGE_BYTES: usize = (2 << 20) + 800_000;

fn get(target: &Target, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (code, text) = target.send(request.as_bytes()).expect("an answer");
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    (code, body)
}

/// Creates an object with a history of large values.
fn write_history(target: &Target) {
    let value = |at: usize| format!("{at:04}").repeat(90_000);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"a": value(0)}});
    let create = Attack::new("create", ("POST", MAPS), JSON, map.to_string());
    assert_eq!(target.send(&create.bytes()).expect("an answer").0, 201);
    for at in 1..CHANGES {
        let patch = json!({"data": {"a": value(at)}}).to_string();
        let path = format!("{MAPS}/large");
        let patch = Attack::new("patch", ("PATCH", &path), "application/merge-patch+json", patch);
        assert_eq!(target.send(&patch.bytes()).expect("an answer").0, 200);
    }
}

#[test]
fn a_page_of_history_ends_with_its_bytes_and_the_next_continues() {
    let target = Target::in_memory();
    write_history(&target);
    let health = HealthProbe::start(target.address.clone());
    target.reset_peak();
    let before = target.resident();
    let revisions = thread::scope(|scope| {
        let read = || {
            let (mut revisions, mut next) = (Vec::new(), String::new());
            loop {
                let path = format!("{MAPS}/large/history?limit=1000&field=.data.a{next}");
                let (code, body) = get(&target, &path);
                assert_eq!(code, 200, "{}", &body[..body.len().min(300)]);
                assert!(body.len() < PAGE_BYTES, "{} bytes", body.len());
                let page: Value = serde_json::from_str(&body).expect("a document");
                let items = page["items"].as_array().expect("changes");
                assert!(!items.is_empty());
                revisions.extend(items.iter().map(|item| item["revision"].to_string()));
                match page["metadata"]["continue"].as_str() {
                    Some(token) => next = format!("&continue={token}"),
                    None => return revisions,
                }
            }
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(read)).collect();
        readers.into_iter().map(|reader| reader.join().expect("a reader")).collect::<Vec<_>>()
    });
    for mut revisions in revisions {
        assert_eq!(revisions.len(), CHANGES, "every change once");
        revisions.dedup();
        assert_eq!(revisions.len(), CHANGES, "every change once");
    }
    let grown = target.peak().saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB", grown >> 20);
    assert_eq!(health.stop(), Vec::<String>::new());
}

#[test]
fn a_watch_of_history_ends_in_time_and_with_the_server() {
    let mut target = Target::in_memory();
    write_history(&target);
    let watch = |timeout: &str| {
        let mut stream = target.connect();
        let path = format!("{MAPS}/large/history?watch=1{timeout}");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .expect("it is sent");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("the head of a response");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    };
    let begin = Instant::now();
    let mut rest = Vec::new();
    watch("&timeoutSeconds=1").read_to_end(&mut rest).expect("the end");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let open = [watch(""), watch("")];
    let time = target.terminate();
    assert!(time < Duration::from_secs(5), "{time:?}");
    drop(open);
}
