//! Definitions of realistic size: the time of one, and of five hundred. The limits hold for optimised builds; without optimisation they
//! are ten times as large. Processor time is measured, so that a busy machine does not fail the test.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tenure_crd::{Definition, Profile, check_create};
use tenure_http::{
    Administrator,
    listener::{bind, serve},
};
use tenure_server::Server;
use tenure_store::MemoryStore;
use tenure_value::Value;

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BAR: Duration = Duration::from_millis(if cfg!(debug_assertions) { 200 } else { 20 });
const BAR_OF_ALL: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 5 });
/// The number of definitions; a fifth of it in builds without optimisation.
const MANY: usize = if cfg!(debug_assertions) { 100 } else { 500 };

/// A schema like those of operators: a nested pod template, with a description at every field.
fn schema(breadth: usize, depth: usize) -> Value {
    let words = Value::from(
        "What this field is for, in a sentence or two, as documentation generators put it into every definition.",
    );
    let mut properties: Vec<(String, Value)> = (0..breadth)
        .map(|at| {
            let schema = match at % 6 {
                0 => Value::object([
                    ("type", Value::from("string")),
                    ("maxLength", Value::Int(63)),
                    ("pattern", Value::from("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")),
                    ("description", words.clone()),
                ]),
                1 => Value::object([
                    ("type", Value::from("integer")),
                    ("format", Value::from("int32")),
                    ("minimum", Value::Int(0)),
                    ("default", Value::Int(1)),
                    ("description", words.clone()),
                ]),
                2 => Value::object([
                    ("type", Value::from("string")),
                    ("enum", Value::array(["Always", "IfNotPresent", "Never"].map(Value::from))),
                    ("description", words.clone()),
                ]),
                3 => Value::object([
                    ("type", Value::from("object")),
                    ("additionalProperties", Value::object([("type", Value::from("string"))])),
                    ("description", words.clone()),
                ]),
                4 => Value::object([
                    ("x-kubernetes-int-or-string", Value::Bool(true)),
                    (
                        "anyOf",
                        Value::array(
                            ["integer", "string"].map(|name| Value::object([("type", Value::from(name))])),
                        ),
                    ),
                    ("description", words.clone()),
                ]),
                _ => Value::object([("type", Value::from("boolean")), ("description", words.clone())]),
            };
            (format!("field{at}"), schema)
        })
        .collect();
    properties.push((
        "name".into(),
        Value::object([("type", Value::from("string")), ("maxLength", Value::Int(63))]),
    ));
    if depth > 0 {
        properties.push((
            "parts".into(),
            Value::object([
                ("type", Value::from("array")),
                ("items", schema(breadth, depth - 1)),
                ("maxItems", Value::Int(10)),
                ("x-kubernetes-list-type", Value::from("map")),
                ("x-kubernetes-list-map-keys", Value::array(["name".into()])),
            ]),
        ));
        properties.push(("template".into(), schema(breadth, depth - 1)));
    }
    let rule = Value::object([
        ("rule", Value::from("self.name != 'none' || !has(self.field0)")),
        ("message", Value::from("none has no field0")),
    ]);
    Value::object([
        ("type", Value::from("object")),
        ("description", words),
        ("properties", Value::object(properties)),
        ("required", Value::array(["name".into()])),
        ("x-kubernetes-validations", Value::array((depth == 2).then_some(rule))),
    ])
}

fn definition(number: usize, schema: &Value) -> Value {
    let text = r#"{"metadata":{"name":"kindNs.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"kindNs","singular":"kindN","kind":"KindN","listKind":"KindNList"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":SCHEMA}}}}]}}"#;
    let text = text.replace("kindN", &format!("kind{number}")).replace("KindN", &format!("Kind{number}"));
    text.replace("SCHEMA", &schema.to_string()).parse().unwrap()
}

/// Only one test measures at a time.
static MEASURING: Mutex<()> = Mutex::new(());

/// Returns the processor time of this thread, or the wall time if the system does not report it.
fn own_time(start: Instant) -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let busy = schedstat.and_then(|text| text.split(' ').next()?.parse().ok());
    busy.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Returns the processor time of all threads, in the same way.
fn process_time(start: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").ok();
    let ticks = stat.and_then(|text| {
        let fields: Vec<i64> =
            text.rsplit(')').next()?.split(' ').filter_map(|field| field.parse().ok()).collect();
        // The state of the process, which precedes them, is not a number.
        Some(fields.get(10)? + fields.get(11)?)
    });
    ticks.map_or_else(|| start.elapsed(), |ticks| Duration::from_millis(ticks.unsigned_abs() * 10))
}

fn best_of<T>(rounds: usize, mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut timed = || {
        let start = Instant::now();
        let before = own_time(start);
        let result = work();
        (own_time(start).saturating_sub(before), result)
    };
    let first = timed();
    (1..rounds).map(|_| timed()).fold(first, |best, next| if next.0 < best.0 { next } else { best })
}

#[test]
fn a_large_definition_is_checked_and_read_in_time() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let definition = definition(0, &schema(60, 4));
    let lines = tenure_value::yaml::to_string(&definition).lines().count();
    assert!(lines > 5_000, "{lines} lines");
    let (checked, faults) = best_of(3, || check_create(&definition, Profile::kubernetes()));
    assert!(faults.is_empty(), "{faults:?}");
    let (read, compiled) = best_of(5, || Definition::read(&definition, Profile::kubernetes()).unwrap());
    println!("{lines} lines: checked in {checked:?}, read in {read:?}");
    assert_eq!(compiled.versions.len(), 1);
    assert!(read < BAR, "{lines} lines took {read:?}");
    assert!(checked < BAR * 2, "{lines} lines were checked in {checked:?}");
}

#[test]
fn many_definitions_are_read_in_time() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = schema(20, 3);
    let definitions: Vec<Value> = (0..MANY).map(|number| definition(number, &schema)).collect();
    let (took, compiled) = best_of(1, || {
        definitions
            .iter()
            .map(|definition| Definition::read(definition, Profile::kubernetes()).unwrap())
            .collect::<Vec<Definition>>()
    });
    println!("{} definitions in {took:?}", compiled.len());
    assert!(took < BAR_OF_ALL, "{took:?}");
}

/// How much memory definitions may take at a server.
const MEMORY: u64 = 300 << 20;

/// Returns the memory of this process, in bytes; `None` if the system does not report it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

fn post(to: std::net::SocketAddr, body: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    let head = format!(
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn many_definitions_are_served_in_time_and_memory() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = schema(20, 3);
    let bodies: Vec<String> = (0..MANY).map(|number| definition(number, &schema).to_string()).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(bind(([127, 0, 0, 1], 0).into())).unwrap();
    let address = listener.local_addr().unwrap();
    let api = runtime.block_on(Server::open(Arc::new(MemoryStore::new()), Administrator::Anyone)).unwrap();
    runtime.spawn(serve(listener, None, api, std::future::pending()));
    let before = resident();
    let start = Instant::now();
    let busy = process_time(start);
    for body in &bodies {
        let response = post(address, body);
        assert!(response.starts_with("HTTP/1.1 201"), "{response}");
    }
    let took = process_time(start).saturating_sub(busy);
    let grown = resident().zip(before).map(|(after, before)| after.saturating_sub(before));
    println!("{MANY} definitions at a server in {took:?}, {grown:?} bytes");
    // Without optimisation this is some times slower than reading them; with optimisation, the limit is the same for both.
    let bar = if cfg!(debug_assertions) { BAR_OF_ALL * 2 } else { BAR_OF_ALL };
    assert!(took < bar, "{took:?}");
    assert!(grown.is_none_or(|grown| grown < MEMORY), "{grown:?} bytes");
    runtime.shutdown_background();
}
