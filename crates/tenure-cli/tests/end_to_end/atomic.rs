//! A server that is killed while a transaction of many objects is carried out: all of them are written or none, whatever the moment.

use crate::{
    client::{Watch, request, send, text},
    etcd_process::Etcd,
    process::Tenure,
};
use std::{collections::BTreeSet, net::TcpListener, path::Path, thread, time::Instant};
use tempfile::TempDir;
use tenure_value::Value;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

/// How often a server is killed: `TENURE_KILLS` times, or a few.
fn kills() -> u64 {
    std::env::var("TENURE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

/// Writes a number into each of some objects.
fn transaction(objects: usize, number: u64) -> String {
    let write = |at: usize| {
        format!(
            r#"{{"method":"PATCH","path":"{MAPS}/m-{at:04}?fieldManager=plan","contentType":"application/apply-patch+yaml","body":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m-{at:04}"}},"data":{{"number":"{number}"}}}}}}"#
        )
    };
    let writes: Vec<String> = (0..objects).map(write).collect();
    format!(r#"{{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{}]}}"#, writes.join(","))
}

/// Returns the number that all objects have, 0 if there is none, and checks that all have the same.
fn number(address: &str, objects: usize) -> u64 {
    let (code, list) = request(address, "GET", MAPS, None);
    assert_eq!(code, 200, "{list}");
    let items = list.get("items").and_then(Value::as_array).map(|items| items.items()).unwrap_or_default();
    let items: Vec<&Value> =
        items.iter().filter(|item| text(item, &["metadata", "name"]).starts_with("m-")).collect();
    let numbers: BTreeSet<&str> = items.iter().map(|item| text(item, &["data", "number"])).collect();
    assert!(numbers.len() <= 1, "half of a transaction: {numbers:?}");
    assert!(items.is_empty() || items.len() == objects, "{} of {objects} objects", items.len());
    numbers.first().map_or(0, |number| number.parse().expect("a number"))
}

/// Kills a server at moments that are spread over the duration of a transaction.
fn kill_during_transactions(directory: &Path, arguments: &[&str], objects: usize) {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let listen = format!("127.0.0.1:{port}");
    let all = [&["--insecure-http", "--listen", &listen], arguments].concat();
    let start = || Tenure::start(directory, &all);
    let mut tenure = start();
    let address = tenure.address.clone();
    let began = Instant::now();
    let (code, answer) = request(&address, "POST", "/transactions", Some((JSON, &transaction(objects, 1))));
    assert_eq!(code, 200, "{answer}");
    let duration = began.elapsed();
    assert_eq!(number(&address, objects), 1);
    let (kills, mut last, mut next, mut before) = (kills(), 1, 1, 0);
    for round in 0..kills {
        next += 1;
        let body = transaction(objects, next);
        let acknowledged = thread::scope(|scope| {
            let (address, body) = (&address, &body);
            let sent = scope.spawn(move || send(address, "POST", "/transactions", Some((JSON, body))));
            // From the beginning to a little after the end, in steps that do not repeat.
            let moment = duration.mul_f64((round as f64 * 0.618_034).fract() * 1.2);
            thread::sleep(moment);
            tenure.signal("KILL");
            tenure.wait();
            sent.join().expect("the client ends").is_some_and(|(code, _)| code == 200)
        });
        tenure = start();
        let found = number(&address, objects);
        assert!(
            found == next || found == last && !acknowledged,
            "{found} after {last}, {next} acknowledged: {acknowledged}"
        );
        before += u64::from(found == last);
        last = found;
    }
    println!(
        "{kills} kills during transactions of {objects} objects: {before} left nothing, {} everything",
        kills - before
    );
}

#[test]
fn a_killed_transaction_leaves_everything_or_nothing() {
    let directory = TempDir::new().expect("a directory");
    let objects = if std::env::var_os("TENURE_KILLS").is_some() { 1_000 } else { 200 };
    kill_during_transactions(directory.path(), &[], objects);
}

#[test]
fn a_killed_transaction_on_etcd_leaves_everything_or_nothing() {
    let directory = TempDir::new().expect("a directory");
    let etcd = Etcd::start();
    let endpoints = etcd.endpoints().join(",");
    kill_during_transactions(directory.path(), &["--store", "etcd", "--etcd-endpoints", &endpoints], 50);
}

#[test]
fn a_watcher_sees_a_transaction_without_anything_between() {
    let directory = TempDir::new().expect("a directory");
    let tenure = Tenure::start(directory.path(), &["--insecure-http", "--listen", "127.0.0.1:0"]);
    let address = &tenure.address;
    let (_, list) = request(address, "GET", MAPS, None);
    let from = text(&list, &["metadata", "resourceVersion"]).to_string();
    let others = thread::scope(|scope| {
        let others = scope.spawn(|| {
            for at in 0..100 {
                let body = format!(r#"{{"metadata":{{"name":"other-{at}"}}}}"#);
                assert_eq!(request(address, "POST", MAPS, Some((JSON, &body))).0, 201);
            }
        });
        let (code, answer) = request(address, "POST", "/transactions", Some((JSON, &transaction(50, 1))));
        assert_eq!(code, 200, "{answer}");
        others.join()
    });
    others.expect("the other client ends");
    let path = format!("{MAPS}?watch=1&timeoutSeconds=20&resourceVersion={from}");
    let mut watch = Watch::open(address, &path).expect("a watch");
    let mut names = Vec::new();
    let mut last = 0;
    while names.len() < 150 {
        let event = watch.next().expect("an event");
        let version: u64 =
            text(&event, &["object", "metadata", "resourceVersion"]).parse().expect("a version");
        assert!(version > last, "a watch can be resumed after each event");
        last = version;
        names.push(text(&event, &["object", "metadata", "name"]).to_string());
    }
    let first = names.iter().position(|name| name == "m-0000").expect("the first object");
    let together: Vec<String> = (0..50).map(|at| format!("m-{at:04}")).collect();
    assert_eq!(names[first..first + 50], together);
}
