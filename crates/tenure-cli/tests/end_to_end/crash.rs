//! A server that is killed repeatedly while clients apply, watch and delete: acknowledged writes are present, resumed
//! watches miss and repeat nothing, there are no false conflicts, and dependents of deleted owners are deleted.

use crate::{
    client::{Watch, request, text},
    process::{TIMEOUT, Tenure},
};
use std::{
    collections::HashMap,
    net::TcpListener,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tenure_value::Value;

const KILLS: u64 = 50;
const WRITERS: usize = 2;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";

struct TestCluster {
    address: String,
    killing: AtomicBool,
    /// How many applies of each writer were acknowledged.
    acknowledged: [AtomicU64; WRITERS],
    events: AtomicU64,
    resumed: AtomicU64,
}

impl TestCluster {
    fn request(&self, method: &str, path: &str, body: Option<(&str, &str)>) -> (u16, Value) {
        request(&self.address, method, path, body)
    }

    /// Applies increasing numbers, to an object of its own and to a field of a shared one.
    fn write(&self, writer: usize) {
        let mut count = 0;
        while self.killing.load(SeqCst) {
            count += 1;
            for name in [format!("own-{writer}"), "shared".into()] {
                let body = format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{of-{writer}: \"{count}\"}}\n"
                );
                let path = format!("{MAPS}/{name}?fieldManager=writer-{writer}");
                let (code, response) = self.request("PATCH", &path, Some((APPLY, &body)));
                assert!(matches!(code, 200 | 201), "{code} {response}");
            }
            self.acknowledged[writer].store(count, SeqCst);
        }
    }

    /// Watches, resumes after the last version seen, and checks that every number arrives once and in order.
    fn watch(&self, from: &str) {
        let mut seen: HashMap<(String, String), u64> = HashMap::new();
        let mut last: u64 = from.parse().expect("a version");
        let reached = |seen: &HashMap<(String, String), u64>| {
            (0..WRITERS).all(|writer| {
                let wanted = self.acknowledged[writer].load(SeqCst);
                let own = (format!("own-{writer}"), format!("of-{writer}"));
                let shared = ("shared".to_string(), format!("of-{writer}"));
                [own, shared].iter().all(|key| seen.get(key).copied().unwrap_or_default() >= wanted)
            })
        };
        let start = Instant::now();
        while self.killing.load(SeqCst) || !reached(&seen) {
            assert!(start.elapsed() < 4 * TIMEOUT, "the watch does not reach the end: {seen:?}");
            let path = format!("{MAPS}?watch=1&timeoutSeconds=20&resourceVersion={last}");
            let Some(mut watch) = Watch::open(&self.address, &path) else {
                thread::sleep(Duration::from_millis(3));
                continue;
            };
            self.resumed.fetch_add(1, SeqCst);
            while let Some(event) = watch.next() {
                assert_ne!(text(&event, &["type"]), "ERROR", "{event}");
                self.events.fetch_add(1, SeqCst);
                let version: u64 =
                    text(&event, &["object", "metadata", "resourceVersion"]).parse().expect("a version");
                assert!(version > last, "{version} after {last} is none that is new");
                last = version;
                let name = text(&event, &["object", "metadata", "name"]).to_string();
                for writer in 0..WRITERS {
                    let field = format!("of-{writer}");
                    let Ok(number) = text(&event, &["object", "data", &field]).parse::<u64>() else {
                        continue;
                    };
                    let before = seen.insert((name.clone(), field), number).unwrap_or_default();
                    assert!(number == before || number == before + 1, "{name}: {number} after {before}");
                }
                if !self.killing.load(SeqCst) && reached(&seen) {
                    return;
                }
            }
        }
    }

    /// Deletes an owner just before the server dies; its dependents are deleted when a server runs again.
    fn leave_dependents(&self, round: u64) {
        let owner = format!("owner-{round}");
        let body = format!(r#"{{"metadata":{{"name":"{owner}"}}}}"#);
        let (code, made) = self.request("POST", MAPS, Some((JSON, &body)));
        assert_eq!(code, 201, "{made}");
        let uid = text(&made, &["metadata", "uid"]);
        let child = format!(
            r#"{{"metadata":{{"name":"child-{round}","ownerReferences":[{{"apiVersion":"v1","kind":"ConfigMap","name":"{owner}","uid":"{uid}","blockOwnerDeletion":true}}]}}}}"#
        );
        let (code, made) = self.request("POST", MAPS, Some((JSON, &child)));
        assert_eq!(code, 201, "{made}");
        let policy = ["Background", "Foreground"][round as usize % 2];
        let options = format!(r#"{{"propagationPolicy":"{policy}"}}"#);
        let (code, response) = self.request("DELETE", &format!("{MAPS}/{owner}"), Some((JSON, &options)));
        assert_eq!(code, 200, "{response}");
    }
}

#[test]
fn fifty_kills_lose_and_add_nothing() {
    let directory = TempDir::new().expect("a directory");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let listen = format!("127.0.0.1:{port}");
    let start = || Tenure::start(directory.path(), &["--insecure-http", "--listen", &listen]);
    let mut tenure = start();
    let cluster = TestCluster {
        address: tenure.address.clone(),
        killing: AtomicBool::new(true),
        acknowledged: Default::default(),
        events: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
    };
    let (_, list) = cluster.request("GET", MAPS, None);
    let from = text(&list, &["metadata", "resourceVersion"]).to_string();
    thread::scope(|scope| {
        let cluster = &cluster;
        let watchers: Vec<_> = (0..2).map(|_| scope.spawn(|| cluster.watch(&from))).collect();
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || cluster.write(writer))).collect();
        for round in 0..KILLS {
            if round % 5 == 0 {
                cluster.leave_dependents(round);
            }
            thread::sleep(Duration::from_millis(20 + round * 37 % 130));
            tenure.signal("KILL");
            tenure.wait();
            tenure = start();
        }
        cluster.killing.store(false, SeqCst);
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        watchers.into_iter().for_each(|watcher| watcher.join().expect("a watcher"));
    });
    for writer in 0..WRITERS {
        let acknowledged = cluster.acknowledged[writer].load(SeqCst);
        assert!(acknowledged > KILLS, "writer {writer} came to {acknowledged} only");
        for name in [format!("own-{writer}"), "shared".into()] {
            let (_, object) = cluster.request("GET", &format!("{MAPS}/{name}"), None);
            let number: u64 = text(&object, &["data", &format!("of-{writer}")]).parse().expect("a number");
            assert_eq!(number, acknowledged, "{name}");
        }
    }
    assert!(cluster.resumed.load(SeqCst) > KILLS, "{} resumptions", cluster.resumed.load(SeqCst));
    let began = Instant::now();
    loop {
        let (_, list) = cluster.request("GET", MAPS, None);
        let names: Vec<String> = list
            .get("items")
            .and_then(Value::as_array)
            .map(|items| items.iter().map(|item| text(item, &["metadata", "name"]).to_string()).collect())
            .unwrap_or_default();
        if names == ["own-0", "own-1", "shared"] {
            break;
        }
        assert!(began.elapsed() < TIMEOUT, "these should have gone: {names:?}");
        thread::sleep(Duration::from_millis(100));
    }
}
