//! Many writers, and many watchers with all kinds of selectors that disconnect, resume, and survive restarts and compaction.
//! At every revision the state that a watcher has built must equal a list at that revision.

use crate::{
    facts::{items, text},
    http::{Request, try_send},
    random::Random,
    server::{MERGE_PATCH, Server, version},
    stream::Stream,
};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};
use tenure_http::Administrator;
use tenure_store::MemoryStore;
use tenure_value::{Limits, Value, json};

const WRITERS: u64 = 4;
const WATCHERS: u64 = 12;
const NAMESPACES: [&str; 2] = ["default", "kube-public"];
const COLORS: [&str; 3] = ["red", "green", "blue"];
/// The writes between two events: the history is forgotten, connections break.
const WRITES: u64 = 300;
/// How long the test goes on if too little happens.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How often the history is forgotten and connections break, at least.
const ROUNDS: u64 = 4;
/// The number of events after which a watcher compares its state, in addition to every bookmark.
const COMPARE: u64 = 25;

/// What all threads share.
struct Shared {
    address: Mutex<SocketAddr>,
    writing: AtomicBool,
    written: AtomicU64,
    /// How often the history was forgotten.
    forgotten: AtomicU64,
    /// The revision that every watcher must reach in the end.
    last: AtomicU64,
    compared: AtomicU64,
    resumed: AtomicU64,
    expired: AtomicU64,
}

impl Shared {
    fn address(&self) -> SocketAddr {
        *self.address.lock().expect("no thread has panicked")
    }

    /// Requests until a server responds.
    fn get(&self, path: &str) -> (u16, Value) {
        let start = Instant::now();
        loop {
            if let Some(response) = try_send(self.address(), &Request::new("GET", path))
                && let Ok(document) = json::parse(&response.body, &Limits::default())
            {
                return (response.code, document);
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no response to {path}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a counter of what other threads do has a value, or nothing is written any more.
    fn wait_for(&self, counter: &AtomicU64, value: u64) {
        let start = Instant::now();
        while counter.load(SeqCst) < value && self.writing.load(SeqCst) && start.elapsed() < TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether each watcher has resumed and compared often, and one after its revision was forgotten.
    fn is_enough(&self) -> bool {
        let count = |counter: &AtomicU64| counter.load(SeqCst);
        count(&self.compared) > 4 * WATCHERS
            && count(&self.resumed) > 4 * WATCHERS
            && count(&self.expired) > 0
    }

    fn write(&self, mut random: Random) {
        while self.writing.load(SeqCst) {
            let collection = format!("/api/v1/namespaces/{}/configmaps", random.of(&NAMESPACES));
            let name = format!("c{}", random.below(12));
            let item = format!("{collection}/{name}");
            let labels =
                format!(r#""labels":{{"color":"{}","n":"{}"}}"#, random.of(&COLORS), random.below(3));
            let request = match random.below(8) {
                0..3 => Request::new("POST", &collection)
                    .body("application/json", format!(r#"{{"metadata":{{"name":"{name}",{labels}}}}}"#)),
                3..5 => {
                    Request::new("PATCH", &item).body(MERGE_PATCH, format!(r#"{{"metadata":{{{labels}}}}}"#))
                }
                5 => Request::new("PATCH", &item)
                    .body(MERGE_PATCH, format!(r#"{{"data":{{"k":"{}"}}}}"#, random.below(1000))),
                6 => Request::new("PATCH", &item).body(MERGE_PATCH, r#"{"metadata":{"labels":null}}"#),
                _ => Request::new("DELETE", &item),
            };
            // The server may be restarting, and many writes fail because the object exists or does not.
            let _ = try_send(self.address(), &request);
            self.written.fetch_add(1, SeqCst);
            thread::sleep(Duration::from_millis(random.below(12)));
        }
    }
}

/// The query of a watcher: a collection and a selector.
struct ListQuery {
    path: String,
    selector: String,
}

impl ListQuery {
    fn random(random: &mut Random) -> ListQuery {
        let path = match random.below(3) {
            0 => "/api/v1/configmaps".to_string(),
            _ => format!("/api/v1/namespaces/{}/configmaps", random.of(&NAMESPACES)),
        };
        let color = random.of(&COLORS);
        let selector = match random.below(7) {
            0 => String::new(),
            1 => format!("&labelSelector=color%3D{color}"),
            2 => format!("&labelSelector=color!%3D{color}"),
            3 => format!("&labelSelector=color%20in%20(red,{color}),n%20notin%20(1)"),
            4 => "&labelSelector=!color".into(),
            5 => format!("&fieldSelector=metadata.name!%3Dc{}", random.below(12)),
            _ => format!("&fieldSelector=metadata.name%3Dc{}&labelSelector=n", random.below(12)),
        };
        ListQuery { path, selector }
    }
}

/// The state that a watcher has built: objects by name, at a revision.
#[derive(Default)]
struct Known {
    objects: BTreeMap<String, Value>,
    revision: u64,
}

fn place(object: &Value) -> String {
    let part = |name| object.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", part("namespace"), part("name"))
}

fn listed(list: &Value) -> BTreeMap<String, Value> {
    items(list, "items").iter().map(|item| (place(item), bare(item))).collect()
}

/// Returns an object without the fields that list items leave out.
fn bare(object: &Value) -> Value {
    Value::Object(object.as_object().cloned().unwrap_or_default().without("apiVersion").without("kind"))
}

impl Known {
    fn list(shared: &Shared, query: &ListQuery) -> Known {
        let (code, list) = shared.get(&format!("{}?{}", query.path, query.selector));
        assert_eq!(code, 200, "{list}");
        Known { objects: listed(&list), revision: version(&list).parse().expect("a version") }
    }

    /// Applies an event, which must be consistent with the state.
    fn learn(&mut self, kind: &str, object: &Value) {
        let revision: u64 = version(object).parse().expect("a version");
        let newer = if kind == "BOOKMARK" { revision >= self.revision } else { revision > self.revision };
        assert!(newer, "{kind} at {revision} after {}", self.revision);
        self.revision = revision;
        let fits = match kind {
            "ADDED" => self.objects.insert(place(object), bare(object)).is_none(),
            "MODIFIED" => self.objects.insert(place(object), bare(object)).is_some(),
            "DELETED" => self.objects.remove(&place(object)).is_some(),
            other => other == "BOOKMARK",
        };
        assert!(fits, "{kind} does not fit: {object}");
    }

    /// Compares the state with a list at the same revision.
    fn compare(&self, shared: &Shared, query: &ListQuery) {
        let path = format!(
            "{}?resourceVersion={}&resourceVersionMatch=Exact{}",
            query.path, self.revision, query.selector
        );
        let (code, list) = shared.get(&path);
        // The revision may have been compacted just now.
        if code != 410 {
            assert_eq!(code, 200, "{list}");
            assert_eq!(self.objects, listed(&list), "at {} {}{}", self.revision, query.path, query.selector);
            shared.compared.fetch_add(1, SeqCst);
        }
    }
}

fn follow(shared: &Shared, mut random: Random) {
    let query = ListQuery::random(&mut random);
    let mut known = Known::list(shared, &query);
    loop {
        let last = shared.last.load(SeqCst);
        if last > 0 && known.revision >= last {
            return known.compare(shared, &query);
        }
        // Some watchers resume only after their revision was compacted.
        if last == 0 && random.below(10) == 0 {
            shared.wait_for(&shared.forgotten, shared.forgotten.load(SeqCst) + 1);
        }
        let seconds = 2 + random.below(3);
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={}{}",
            query.path, known.revision, query.selector
        );
        let Some(mut watch) = Stream::open(shared.address(), &path) else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        shared.resumed.fetch_add(1, SeqCst);
        let lasts = 1 + random.below(80);
        for at in 1..lasts {
            let Some(event) = watch.next() else { break };
            let (kind, object) =
                (text(&event, "type").to_string(), event.get("object").cloned().unwrap_or_default());
            if kind == "ERROR" {
                assert_eq!(text(&object, "reason"), "Expired", "{object}");
                shared.expired.fetch_add(1, SeqCst);
                known = Known::list(shared, &query);
                break;
            }
            known.learn(&kind, &object);
            if kind == "BOOKMARK" || at.is_multiple_of(COMPARE) {
                known.compare(shared, &query);
            }
        }
    }
}

#[test]
fn a_watcher_always_converges_to_the_list() {
    let store = Arc::new(MemoryStore::new());
    let server = Server::over(store.clone(), Administrator::Anyone);
    let shared = Shared {
        address: Mutex::new(server.address),
        writing: AtomicBool::new(true),
        written: AtomicU64::new(0),
        forgotten: AtomicU64::new(0),
        last: AtomicU64::new(0),
        compared: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
        expired: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        let shared = &shared;
        let watchers: Vec<_> =
            (0..WATCHERS).map(|seed| scope.spawn(move || follow(shared, Random(seed * 7919 + 1)))).collect();
        let writers: Vec<_> =
            (0..WRITERS).map(|seed| scope.spawn(move || shared.write(Random(seed * 104_729 + 5)))).collect();
        let start = Instant::now();
        let mut server = server;
        while start.elapsed() < TIMEOUT && (shared.forgotten.load(SeqCst) < ROUNDS || !shared.is_enough()) {
            shared.wait_for(&shared.written, shared.written.load(SeqCst) + WRITES);
            server.forget_history();
            shared.forgotten.fetch_add(1, SeqCst);
            shared.wait_for(&shared.written, shared.written.load(SeqCst) + WRITES);
            // Connections break at arbitrary positions.
            drop(server);
            server = Server::over(store.clone(), Administrator::Anyone);
            *shared.address.lock().expect("no thread has panicked") = server.address;
        }
        shared.writing.store(false, SeqCst);
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        shared.last.store(server.revision().parse().expect("a version"), SeqCst);
        watchers.into_iter().for_each(|watcher| watcher.join().expect("a watcher"));
    });
    let [compared, resumed, expired] = [&shared.compared, &shared.resumed, &shared.expired];
    assert!(shared.is_enough(), "{compared:?} comparisons, {resumed:?} resumptions, {expired:?} expired");
}
