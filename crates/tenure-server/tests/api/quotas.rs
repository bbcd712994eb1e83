//! Quotas hold for concurrent writes, and only what is stored is charged.

use crate::server::Server;
use std::thread;
use tenure_value::Value;

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn quota(limit: usize) -> String {
    format!(r#"{{"metadata":{{"name":"q"}},"spec":{{"hard":{{"count/configmaps":"{limit}"}}}}}}"#)
}

fn map(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)
}

fn used(server: &Server) -> Option<String> {
    let quota = server.get(&format!("{QUOTAS}/q")).document();
    quota.at(["status", "used", "count/configmaps"]).and_then(Value::as_str).map(str::to_owned)
}

#[test]
fn concurrent_writes_do_not_exceed_a_quota() {
    let server = Server::start();
    server.create(QUOTAS, &quota(5));
    let codes: Vec<u16> = thread::scope(|scope| {
        let writers: Vec<_> = (0..16)
            .map(|at| {
                let server = &server;
                scope.spawn(move || server.post(MAPS, &map(&format!("m{at}"))).code)
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("the writer ends")).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 201).count(), 5, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 403).count(), 11, "{codes:?}");
    assert_eq!(used(&server).as_deref(), Some("5"));
}

#[test]
fn only_what_is_stored_is_charged() {
    let server = Server::start();
    server.create(MAPS, &map("before"));
    server.create(QUOTAS, &quota(3));
    assert_eq!(used(&server), None, "a controller counts a new quota");
    server.create(MAPS, &map("a"));
    assert_eq!(used(&server).as_deref(), Some("2"), "the first write counts what was there");
    assert_eq!(server.post(MAPS, &map("a")).code, 409);
    assert_eq!(used(&server).as_deref(), Some("2"), "a failed create is not charged");
    assert_eq!(server.post(&format!("{MAPS}?dryRun=All"), &map("b")).code, 201);
    assert_eq!(used(&server).as_deref(), Some("2"), "a dry run is not charged");
    server.delete(&format!("{MAPS}/a"));
    assert_eq!(used(&server).as_deref(), Some("1"), "a deletion is a release");
}
