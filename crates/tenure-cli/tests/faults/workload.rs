//! Clients that write through all servers during faults, and the outcomes: acknowledged, refused,
//! or unknown.

use crate::{
    http::{Client, Watch},
    order::{Act, Operation},
};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const PLACE: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

/// The outcome of the creation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateOutcome {
    Created,
    /// The server answered that the write did not happen.
    Refused,
    /// Unknown.
    Open,
}

/// What a counter was swapped to, and from which revision.
#[derive(Clone, Debug)]
pub struct Swap {
    pub counter: String,
    pub from: u64,
    pub to: u64,
}

#[derive(Default)]
pub struct Record {
    pub operations: BTreeMap<String, Vec<Operation>>,
    pub swaps: Vec<Swap>,
    pub created: BTreeMap<String, CreateOutcome>,
    /// When each acknowledged write ended.
    pub acknowledged: Vec<Instant>,
    /// Responses with a code of 500 or above and without Retry-After.
    pub rude: Vec<String>,
    /// The longest time of a response.
    pub slowest: Duration,
}

/// What all threads share.
#[derive(Clone, Default)]
pub struct Shared {
    pub record: Arc<Mutex<Record>>,
    pub stop: Arc<AtomicBool>,
    clock: Arc<AtomicU64>,
}

impl Shared {
    pub fn with<T>(&self, look: impl FnOnce(&mut Record) -> T) -> T {
        look(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Finds the number of a field such as `"resourceVersion":"12"` in an object as JSON.
pub fn number(json: &str, field: &str) -> Option<u64> {
    let start = json.find(&format!("\"{field}\":\""))? + field.len() + 4;
    json[start..].split('"').next()?.parse().ok()
}

/// Starts a client that swaps counters and creates objects, through the servers in turn.
pub fn client(shared: &Shared, servers: &[SocketAddr], seed: u64, counters: u64) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    let mut servers: Vec<Client> = servers.iter().map(|address| Client::new(*address)).collect();
    thread::spawn(move || {
        let mut turn = seed;
        while !shared.stopped() {
            turn += 1;
            let place = turn as usize % servers.len();
            if turn.is_multiple_of(3) {
                create(&shared, &mut servers[place], &format!("object-{seed}-{turn}"));
            } else {
                swap(&shared, &mut servers[place], &format!("counter-{}", turn % counters));
            }
        }
    })
}

fn request(
    shared: &Shared,
    server: &mut Client,
    method: &str,
    path: &str,
    body: &str,
) -> Option<(u16, String)> {
    let start = Instant::now();
    let response = server.request(method, path, JSON, body);
    let took = start.elapsed();
    shared.with(|record| {
        record.slowest = record.slowest.max(took);
        if let Ok(response) = &response
            && response.code >= 500
            && !response.retry_after
        {
            record.rude.push(format!("{method} {path}: {} {}", response.code, response.body));
        }
    });
    match response {
        Ok(response) => Some((response.code, response.body)),
        Err(_) => {
            thread::sleep(Duration::from_millis(20));
            None
        }
    }
}

fn create(shared: &Shared, server: &mut Client, name: &str) {
    let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#);
    let outcome = match request(shared, server, "POST", PLACE, &body) {
        Some((201, _)) => CreateOutcome::Created,
        Some((503, _)) => CreateOutcome::Refused,
        Some((504, _)) | None => CreateOutcome::Open,
        Some((code, body)) => panic!("creating {name}: {code} {body}"),
    };
    shared.with(|record| {
        record.created.insert(name.to_owned(), outcome);
        if outcome == CreateOutcome::Created {
            record.acknowledged.push(Instant::now());
        }
    });
}

fn swap(shared: &Shared, server: &mut Client, counter: &str) {
    let path = format!("{PLACE}/{counter}");
    let began = shared.tick();
    let Some((200, body)) = request(shared, server, "GET", &path, "") else { return };
    let ended = shared.tick();
    let (Some(from), Some(count)) = (number(&body, "resourceVersion"), number(&body, "count")) else {
        panic!("not a counter: {body}")
    };
    let operation = Operation { began, ended, act: Act::Read(from) };
    shared.with(|record| record.operations.entry(counter.to_owned()).or_default().push(operation));
    let next = counter_body(counter, count + 1, Some(from));
    let began = shared.tick();
    match request(shared, server, "PUT", &path, &next) {
        Some((200, body)) => {
            let to = number(&body, "resourceVersion").unwrap_or_default();
            let operation = Operation { began, ended: shared.tick(), act: Act::Write(to) };
            shared.with(|record| {
                record.operations.entry(counter.to_owned()).or_default().push(operation);
                record.swaps.push(Swap { counter: counter.to_owned(), from, to });
                record.acknowledged.push(Instant::now());
            });
        }
        Some((409 | 503 | 504, _)) | None => {}
        Some((code, body)) => panic!("swapping {counter}: {code} {body}"),
    }
}

/// Writes a counter.
pub fn counter_body(name: &str, count: u64, version: Option<u64>) -> String {
    let version = version.map_or(String::new(), |version| format!(r#","resourceVersion":"{version}""#));
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"{version}}},"data":{{"count":"{count}"}}}}"#
    )
}

/// One event of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub kind: String,
    pub name: String,
    pub revision: u64,
    pub count: Option<u64>,
}

/// Watches through one server and resumes after the last event when needed.
pub fn watcher(stop: &Arc<AtomicBool>, server: SocketAddr, after: u64) -> thread::JoinHandle<Vec<Seen>> {
    let stop = stop.clone();
    thread::spawn(move || {
        let mut seen: Vec<Seen> = Vec::new();
        let mut watch: Option<Watch> = None;
        while !stop.load(Ordering::SeqCst) {
            let from = seen.last().map_or(after, |last| last.revision);
            let open = match &mut watch {
                Some(open) => open,
                None => match Watch::open(server, &format!("{PLACE}?watch=1&resourceVersion={from}")) {
                    Ok(opened) => watch.insert(opened),
                    Err(_) => {
                        thread::sleep(Duration::from_millis(100));
                        continue;
                    }
                },
            };
            match open.next() {
                Ok(Some(line)) => seen.push(event(&line)),
                Ok(None) => {}
                Err(_) => watch = None,
            }
        }
        // Events in flight belong to the sequence.
        while let Some(Ok(Some(line))) = watch.as_mut().map(Watch::next) {
            seen.push(event(&line));
        }
        seen
    })
}

fn event(line: &str) -> Seen {
    let text = |field: &str| {
        let start = line.find(&format!("\"{field}\":\"")).map(|at| at + field.len() + 4);
        start.and_then(|start| line[start..].split('"').next()).unwrap_or_default().to_owned()
    };
    let kind = text("type");
    assert_ne!(kind, "ERROR", "a watch ended with {line}");
    let revision = number(line, "resourceVersion").unwrap_or_else(|| panic!("no version in {line}"));
    Seen { kind, name: text("name"), revision, count: number(line, "count") }
}
