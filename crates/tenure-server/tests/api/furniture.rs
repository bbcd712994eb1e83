//! What namespaces are given: the service that stands for the server, and, where the operator wants it, the service
//! account `default` and the config map `kube-root-ca.crt`, from the beginning, in new namespaces, and again when
//! they are taken away or changed.

use crate::server::{MERGE_PATCH, Server};
use std::{sync::Arc, thread, time::Duration};
use tenure_http::Authentication;
use tenure_store::MemoryStore;
use tenure_value::Value;

const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----";

fn furnished(store: Arc<MemoryStore>) -> Server {
    Server::over(store, Authentication::Anyone).furnishing(AUTHORITY).come_alive()
}

fn account(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/serviceaccounts/default")
}

fn trust(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")
}

fn is_furnished(server: &Server, namespace: &str) -> bool {
    let trusted = server.get(&trust(namespace)).document();
    server.get(&account(namespace)).code == 200
        && trusted.at(["data", "ca.crt"]).and_then(Value::as_str) == Some(AUTHORITY)
}

#[track_caller]
fn wait(server: &Server, namespace: &str) {
    server.wait_until(&format!("{namespace} is furnished"), || is_furnished(server, namespace));
}

/// Waits until nothing is written any more, and returns the version of the store then.
fn settled(server: &Server) -> String {
    let mut before = server.revision();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = server.revision();
        if now == before {
            return now;
        }
        before = now;
    }
}

#[test]
fn old_and_new_namespaces_are_furnished_with_two_writes() {
    let server = furnished(Arc::default());
    for namespace in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        wait(&server, namespace);
    }
    let before: u64 = settled(&server).parse().expect("a number");
    server.create_namespace("new");
    wait(&server, "new");
    let after: u64 = settled(&server).parse().expect("a number");
    assert_eq!(after - before, 3, "the namespace, the account and the certificates");
}

#[test]
fn what_is_deleted_or_changed_comes_back() {
    let server = furnished(Arc::default());
    wait(&server, "default");
    server.delete(&account("default"));
    server.delete(&trust("default"));
    wait(&server, "default");
    let changed = server.patch(&trust("default"), MERGE_PATCH, r#"{"data":{"ca.crt":"","mine":"kept"}}"#);
    assert_eq!(changed.code, 200, "{}", changed.text());
    wait(&server, "default");
    let live = server.get(&trust("default")).document();
    assert_eq!(live.at(["data", "mine"]).and_then(Value::as_str), Some("kept"), "{live}");
}

#[test]
fn a_namespace_that_goes_is_left_alone() {
    let server = furnished(Arc::default());
    server.create_namespace("short");
    wait(&server, "short");
    server.delete("/api/v1/namespaces/short");
    server.wait_until_gone("/api/v1/namespaces/short");
    settled(&server);
    let left: Vec<String> = ["objects/core/serviceaccounts/short/", "objects/core/configmaps/short/"]
        .iter()
        .flat_map(|place| server.keys(place))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_restart_furnishes_what_was_made_without_and_writes_nothing_again() {
    let first = Server::living();
    first.create_namespace("before");
    let store = first.store();
    drop(first);
    let second = furnished(store.clone());
    wait(&second, "before");
    let written = settled(&second);
    drop(second);
    let third = furnished(store);
    wait(&third, "before");
    assert_eq!(settled(&third), written, "all is well: nothing is written");
}

#[test]
fn a_service_stands_for_the_server() {
    const SERVICE: &str = "/api/v1/namespaces/default/services/kubernetes";
    let server = Server::start().announced().come_alive();
    let is_there = || {
        let service = server.get(SERVICE).document();
        let port =
            service.at(["spec", "ports"]).and_then(Value::as_array).and_then(|ports| ports.first().cloned());
        let target = port.and_then(|port| port.get("targetPort").and_then(Value::as_i64));
        service.at(["spec", "clusterIP"]).and_then(Value::as_str) == Some("10.0.0.1")
            && target == Some(i64::from(server.address.port()))
    };
    server.wait_until("the service is there", is_there);
    server.delete(SERVICE);
    server.wait_until("the service is there again", is_there);
    assert_eq!(server.get(&account("default")).code, 404, "accounts are given where they are asked for");
}

#[test]
fn the_service_leads_to_where_others_reach_the_server() {
    const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
    const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    let server = Server::start().announced_at(([192, 0, 2, 1], 6443).into()).come_alive();
    for path in [ENDPOINTS, SLICE] {
        let is_there = || {
            let shown = server.get(path).text();
            shown.contains("\"192.0.2.1\"") && shown.contains("\"port\":6443")
        };
        server.wait_until("it leads there", is_there);
        server.delete(path);
        server.wait_until("it leads there again", is_there);
    }
    let alone = Server::start().announced().come_alive();
    alone.wait_until("the service is there", || {
        alone.get("/api/v1/namespaces/default/services/kubernetes").code == 200
    });
    settled(&alone);
    assert_eq!(alone.get(ENDPOINTS).code, 404, "nobody else reaches loopback");
}

#[test]
fn an_address_that_somebody_has_is_left_to_them() {
    let server = Server::start();
    let taken = r#"{"metadata":{"name":"mine"},"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}"#;
    server.create("/api/v1/namespaces/default/services", taken);
    let server = server.announced().furnishing(AUTHORITY).come_alive();
    wait(&server, "default");
    assert_eq!(server.get("/api/v1/namespaces/default/services/kubernetes").code, 404);
    assert_eq!(server.get("/api/v1/namespaces/default/services/mine").code, 200);
}

#[test]
fn without_being_asked_nothing_is_given() {
    let server = Server::living();
    server.create_namespace("plain");
    settled(&server);
    assert_eq!(server.get(&account("plain")).code, 404);
    assert_eq!(server.get(&trust("plain")).code, 404);
}
