//! The recorded watches: each scenario creates objects, watches, changes them, and expects the recorded events in the recorded order.
//! Versions are named after the writes that made them. Every scenario has its own server, and all run at once, since each takes seconds.

use crate::{
    facts::{self, NAMESPACE, items, text},
    http::{Request, Response, read_response},
    server::{MERGE_PATCH, Server, metadata, version},
};
use std::{
    collections::HashMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
};
use tenure_value::{Array, Limits, Value};

/// How much longer than recorded a watch lasts, so that a busy machine has time for all changes.
const MORE_SECONDS: u64 = 3;

fn collection(resource: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/{resource}")
}

/// A running scenario.
struct Scenario {
    server: Server,
    resource: &'static str,
    /// The names of versions.
    names: HashMap<String, String>,
    counts: HashMap<String, usize>,
}

impl Scenario {
    fn new(recorded: &Value) -> Scenario {
        let about = text(recorded, "name");
        let resource = if about.starts_with("pod ") { "pods" } else { "configmaps" };
        let server = Server::start();
        server.create_namespace(NAMESPACE);
        Scenario { server, resource, names: HashMap::new(), counts: HashMap::new() }
    }

    /// Carries out a step, such as `["patch", "a", {…}]`, and names the resulting version.
    fn step(&mut self, step: &Value) -> String {
        let parts = step.as_array().map(Array::items).unwrap_or_default();
        let part = |at: usize| parts.get(at).and_then(Value::as_str).unwrap_or_default();
        let (verb, name, body) = (part(0), part(1), parts.get(2).cloned());
        let (collection, json) = (collection(self.resource), "application/json");
        let item = format!("{collection}/{name}");
        let request = match verb {
            "create" => {
                let body = body.and_then(|body| body.as_object().cloned()).unwrap_or_default();
                let meta = parts.get(3).and_then(Value::as_object).cloned().unwrap_or_default();
                let body = body.with("metadata", Value::Object(meta.with("name", name)));
                Request::new("POST", &collection).body(json, Value::Object(body).to_string())
            }
            "patch" => {
                let body = body.unwrap_or_default().to_string();
                Request::new("PATCH", &item).body(MERGE_PATCH, body)
            }
            "delete" => {
                let request = Request::new("DELETE", &item);
                match body {
                    Some(body) => request.body(json, body.to_string()),
                    None => request,
                }
            }
            _ => Request::new("DELETE", &collection),
        };
        let response = self.server.send(&request);
        assert!(response.code < 300, "{step}: {}", response.text());
        let made = version(&response.document());
        let count = self.counts.entry(format!("{verb} {name}")).or_default();
        *count += 1;
        let again = if *count > 1 { format!(" #{count}") } else { String::new() };
        if !made.is_empty() && verb != "deletecollection" {
            self.names.insert(made.clone(), format!("rv of {verb} {name}{again}"));
        }
        made
    }

    /// Returns the name of a version.
    fn name_of(&self, version: &str, after_setup: &str) -> Value {
        let name = self.names.get(version).cloned();
        let fallback = if version == after_setup { "rv of list after setup" } else { "<other>" };
        Value::from(name.unwrap_or_else(|| fallback.into()))
    }
}

/// Opens a watch, runs `changes` once the response has begun, and returns the whole response.
fn watch(to: SocketAddr, path: &str, accept: &str, changes: impl FnOnce()) -> Response {
    let mut stream = TcpStream::connect(to).expect("the server listens");
    let accept = if accept.is_empty() { String::new() } else { format!("Accept: {accept}\r\n") };
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{accept}\r\n");
    stream.write_all(head.as_bytes()).expect("the request is sent");
    let mut bytes = vec![0; 1];
    stream.read_exact(&mut bytes).expect("the response begins");
    // The watch begins before its response: what it shows as existing was read by now.
    changes();
    stream.read_to_end(&mut bytes).expect("the response ends");
    read_response(&bytes).expect("a response")
}

fn keys(value: Option<&Value>) -> Value {
    let object = value.and_then(Value::as_object).cloned().unwrap_or_default();
    Value::array(object.iter().map(|(name, _)| Value::from(name.clone())))
}

/// Reduces an event to what the recording contains.
fn summary(event: &Value, name_of: impl Fn(&str) -> Value) -> Value {
    let Some(object) = event.get("object") else {
        return Value::object([("notAnEvent", event.get("kind").cloned().unwrap_or_default())]);
    };
    let kind = event.get("type").cloned().unwrap_or_default();
    let field = |name: &'static str| (name, object.get(name).cloned().unwrap_or_default());
    let mut fields = vec![field("apiVersion"), field("kind"), ("type", kind.clone())];
    match text(object, "kind") {
        "Status" => fields.push(field("reason")),
        "Table" => {
            let titles = items(object, "columnDefinitions")
                .iter()
                .map(|object| object.get("name").cloned().unwrap_or_default());
            let titles = Value::array(titles);
            let has_columns = object.get("columnDefinitions").is_some_and(|columns| !columns.is_null());
            fields.push(("columnDefinitions", if has_columns { titles } else { Value::Null }));
            fields.push(("metadataKeys", keys(object.get("metadata"))));
            fields.push(("rows", Value::array(items(object, "rows").iter().map(row))));
        }
        _ => {
            fields.push(("name", metadata(object, "name")));
            fields.push(("rv", name_of(&version(object))));
            if kind.as_str() == Some("BOOKMARK") {
                let keys = Value::object([("metadata", keys(object.get("metadata")))]);
                fields.push(("objectKeys", keys));
                fields.extend(present("annotations", metadata(object, "annotations")));
            } else {
                fields.push(("topKeys", keys(Some(object))));
                fields.extend(present("data", object.get("data").cloned().unwrap_or_default()));
                fields.extend(present("labels", metadata(object, "labels")));
                let going = !metadata(object, "deletionTimestamp").is_null();
                fields.extend(going.then_some(("deletionTimestamp", Value::Bool(true))));
            }
        }
    }
    Value::object(fields)
}

fn present(name: &'static str, value: Value) -> Option<(&'static str, Value)> {
    (!value.is_null()).then_some((name, value))
}

/// Reduces a row of a table; the age of an object depends on the clock.
fn row(row: &Value) -> Value {
    let cells = items(row, "cells").iter().enumerate().map(|(at, cell)| match cell.as_str() {
        Some(age) if at == 2 && age.ends_with('s') => Value::from("<age>"),
        _ => cell.clone(),
    });
    let cells = Value::array(cells);
    let object = row.get("object").cloned().unwrap_or_default();
    let object = Value::object([
        ("keys", keys(Some(&object))),
        ("kind", object.get("kind").cloned().unwrap_or_default()),
        ("name", metadata(&object, "name")),
    ]);
    Value::object([("cells", cells), ("object", object)])
}

/// Returns a recorded event without what depends on the recorded server.
fn recorded_event(event: &Value) -> Value {
    let fields = event.as_object().cloned().unwrap_or_default();
    if fields.contains("notAnEvent") {
        return Value::object([("notAnEvent", fields.get("notAnEvent").cloned().unwrap_or_default())]);
    }
    match event.at(["object", "reason"]) {
        Some(reason) => Value::Object(fields.without("object").with("reason", reason.clone())),
        None => event.clone(),
    }
}

/// The number of bookmarks depends on the clock: several in a row count as one.
fn without_repeated_marks(mut events: Vec<Value>) -> Vec<Value> {
    events.dedup_by(|next, before| {
        next == before && next.get("type").and_then(Value::as_str) == Some("BOOKMARK")
    });
    events
}

/// Makes a watch last longer.
fn longer(query: &str) -> String {
    match query.split_once("timeoutSeconds=") {
        Some((before, rest)) => {
            let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
            let seconds: u64 = rest[..digits].parse().unwrap_or(1);
            format!("{before}timeoutSeconds={}{}", seconds + MORE_SECONDS, &rest[digits..])
        }
        None => query.into(),
    }
}

/// The format of a watch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Json,
    Protobuf,
    Cbor,
}

const CBOR: &str = "application/cbor";

/// Returns the events of a response in CBOR, or the one document of a response that is not a stream.
fn cbor_events(response: &Response) -> Vec<Value> {
    let (events, used) =
        tenure_codec::cbor::decode_sequence(&response.body, &Limits::default()).expect("CBOR");
    assert_eq!(used, response.body.len());
    events
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Returns the events of a protobuf response: each is preceded by its length and contains its object as a document.
fn protobuf_events(response: &Response) -> Vec<Value> {
    let document =
        |bytes: &[u8]| tenure_codec::protobuf::decode(bytes, &Limits::default()).expect("a document");
    // A response that is not a stream is one document, which begins with the magic bytes.
    if response.body.starts_with(b"k8s\0") {
        return vec![document(&response.body)];
    }
    let mut rest = &response.body[..];
    let mut events = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (frame, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        rest = after;
        // The type is field 1; the object is field 2, in which the document is field 1.
        let (kind, object) = (field(frame, 1), field(field(frame, 2), 1));
        let kind = String::from_utf8_lossy(kind).into_owned();
        events
            .push(Value::object([("type", Value::from(kind)), ("object", without_nulls(document(object)))]));
    }
    events
}

/// Returns the content of a field of a message that has only fields with lengths.
fn field(mut message: &[u8], number: u8) -> &[u8] {
    while let Some((key, mut rest)) = message.split_first() {
        let (mut length, mut shift) = (0, 0);
        loop {
            let (byte, after) = rest.split_first().expect("a length");
            (length, rest) = (length | usize::from(byte & 0x7f) << shift, after);
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (content, after) = rest.split_at(length);
        if *key == number << 3 | 2 {
            return content;
        }
        message = after;
    }
    &[]
}

/// Returns a document whose metadata has no nulls: JSON as recorded leaves them out, and protobuf has none.
fn without_nulls(document: Value) -> Value {
    let fields = document.as_object().cloned().unwrap_or_default();
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let nulls: Vec<_> =
        metadata.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect();
    let metadata = nulls.iter().fold(metadata, |metadata, name| metadata.without(name));
    Value::Object(fields.with("metadata", metadata))
}

/// Runs a scenario and returns the differences.
fn run(recorded: &Value, carrier: Carrier) -> Option<String> {
    let mut scenario = Scenario::new(recorded);
    let mut versions = Vec::new();
    if recorded.get("path").is_some() {
        scenario.server.create(&collection("configmaps"), r#"{"metadata":{"name":"a"}}"#);
        // The recorded object is not the newest.
        scenario.server.create("/api/v1/namespaces/default/configmaps", r#"{"metadata":{"name":"newer"}}"#);
    }
    for step in items(recorded, "setup") {
        versions.push(scenario.step(step));
    }
    let after_setup = version(&scenario.server.get(&collection(scenario.resource)).document());
    if text(recorded, "name") == "too old resourceVersion" {
        scenario.server.forget_history();
    }
    let path = match recorded.get("path").and_then(Value::as_str) {
        Some(path) => path.to_string(),
        None => {
            let first = versions.first().cloned().unwrap_or_default();
            let query = longer(text(recorded, "watch"))
                .replace("<rv of list after setup>", &after_setup)
                .replace("<rv of first setup step>", &first);
            format!("{}?{query}", collection(scenario.resource))
        }
    };
    let accept = match (text(recorded, "accept"), carrier) {
        (accept, Carrier::Json) => accept.to_string(),
        ("", Carrier::Protobuf) => format!("{PROTOBUF};stream=watch"),
        (accept, Carrier::Protobuf) => accept.replace("application/json", PROTOBUF),
        ("", Carrier::Cbor) => CBOR.to_string(),
        (accept, Carrier::Cbor) => accept.replace("application/json", CBOR),
    };
    let response = watch(scenario.server.address, &path, &accept, || {
        for step in items(recorded, "then") {
            scenario.step(step);
        }
    });
    let code = recorded.get("code").and_then(Value::as_i64).unwrap_or_default();
    // An invalid version is an error of the client.
    let code = if code == 500 { 400 } else { code };
    let events = match carrier {
        Carrier::Json => response.frames(),
        Carrier::Protobuf => protobuf_events(&response),
        Carrier::Cbor => cbor_events(&response),
    };
    let is = events.iter().map(|event| summary(event, |key| scenario.name_of(key, &after_setup))).collect();
    let is = without_repeated_marks(is);
    let should = without_repeated_marks(items(recorded, "events").iter().map(recorded_event).collect());
    let headers = recorded.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
    let wrong = headers.iter().find(|(name, value)| match (name.as_str(), carrier) {
        // Whether a complete response has a length is up to the server.
        ("Cache-Control", _) => false,
        ("Content-Type", Carrier::Protobuf) => {
            response.header(name).is_none_or(|media_type| !media_type.starts_with(PROTOBUF))
        }
        ("Content-Type", Carrier::Cbor) => {
            let is_event = |event: &Value| event.get("type").is_some() && event.get("object").is_some();
            let media_type = if events.iter().all(is_event) { "application/cbor-seq" } else { CBOR };
            response.header(name) != Some(media_type)
        }
        _ => response.header(name) != value.as_str(),
    });
    if i64::from(response.code) == code && is == should && wrong.is_none() {
        return None;
    }
    let lines = |events: Vec<Value>| events.iter().map(|event| format!("\n    {event}")).collect::<String>();
    let wrong = wrong.map(|(name, value)| format!("{name}: {:?} instead of {value}", response.header(name)));
    Some(format!("{} {wrong:?}{}\n  should {code}{}", response.code, lines(is), lines(should)))
}

#[test]
fn every_recorded_watch_sees_the_same_events() {
    let facts = facts::read("watch.json");
    let scenarios: Vec<&Value> =
        items(&facts, "scenarios").iter().filter(|scenario| scenario.get("events").is_some()).collect();
    assert_eq!(scenarios.len(), 31);
    run_all(&scenarios, Carrier::Json);
}

#[test]
fn every_recorded_watch_sees_the_same_events_in_protobuf() {
    let facts = facts::read("watch.json");
    let has_protobuf = |scenario: &&Value| {
        scenario.get("events").is_some() && !text(scenario, "accept").contains("as=Table")
    };
    let scenarios: Vec<&Value> = items(&facts, "scenarios").iter().filter(has_protobuf).collect();
    assert!(scenarios.len() > 20, "{}", scenarios.len());
    run_all(&scenarios, Carrier::Protobuf);
}

#[test]
fn every_recorded_watch_sees_the_same_events_in_cbor() {
    let facts = facts::read("watch.json");
    let has_cbor = |scenario: &&Value| {
        scenario.get("events").is_some() && !text(scenario, "accept").contains("as=Table")
    };
    let scenarios: Vec<&Value> = items(&facts, "scenarios").iter().filter(has_cbor).collect();
    assert!(scenarios.len() > 20, "{}", scenarios.len());
    run_all(&scenarios, Carrier::Cbor);
}

fn run_all(scenarios: &[&Value], carrier: Carrier) {
    let failures: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = scenarios
            .iter()
            .map(|scenario| (scenario, scope.spawn(move || run(scenario, carrier))))
            .collect();
        let ended = running.into_iter().map(|(scenario, running)| (scenario, running.join()));
        ended
            .filter_map(|(scenario, found)| match found {
                Ok(None) => None,
                Ok(Some(found)) => Some(format!("{}: {found}", text(scenario, "name"))),
                Err(_) => Some(format!("{}: panicked", text(scenario, "name"))),
            })
            .collect()
    });
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_watch_negotiates_its_format() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/configmaps";
    server.create(path, r#"{"metadata":{"name":"a"}}"#);
    let path = format!("{path}?watch=1&timeoutSeconds=1");
    for accept in ["application/json;stream=watch", "application/json", "*/*", ""] {
        let response = watch(server.address, &path, accept, || {});
        assert_eq!(
            (response.code, response.header("content-type")),
            (200, Some("application/json")),
            "{accept}"
        );
        assert!(
            response.text().starts_with(r#"{"type":"ADDED","object":{"#),
            "{accept}: {}",
            response.text()
        );
    }
    let response = watch(server.address, &path, "application/yaml", || {});
    assert_eq!((response.code, response.header("content-type")), (406, Some("application/yaml")));
    assert!(response.text().contains("application/json;stream=watch"), "{}", response.text());
}
