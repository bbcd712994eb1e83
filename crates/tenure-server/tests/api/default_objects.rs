//! The default objects of namespaces: the service `kubernetes`, and, as an option, the service account `default` and the config
//! map `kube-root-ca.crt`. They exist from the start and in new namespaces, and are restored when they are deleted or changed.

use crate::server::{MERGE_PATCH, Server};
use std::sync::Arc;
use tenure_http::Administrator;
use tenure_store::MemoryStore;
use tenure_value::Value;

const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----";

fn server_with_default_objects(store: Arc<MemoryStore>) -> Server {
    Server::over(store, Administrator::Anyone).with_default_objects(AUTHORITY).with_controllers()
}

fn account(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/serviceaccounts/default")
}

fn trust(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")
}

fn has_default_objects(server: &Server, namespace: &str) -> bool {
    let trusted = server.get(&trust(namespace)).document();
    server.get(&account(namespace)).code == 200
        && trusted.at(["data", "ca.crt"]).and_then(Value::as_str) == Some(AUTHORITY)
}

#[track_caller]
fn wait(server: &Server, namespace: &str) {
    server.wait_until(&format!("{namespace} has its default objects"), || {
        has_default_objects(server, namespace)
    });
}

/// Waits until the controllers have nothing to do, and returns the revision of the store.
fn settled(server: &Server) -> u64 {
    server.wait_until_idle();
    server.revision().parse().expect("a number")
}

#[test]
fn old_and_new_namespaces_get_default_objects_with_two_writes() {
    let server = server_with_default_objects(Arc::default());
    for namespace in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        wait(&server, namespace);
    }
    let before = settled(&server);
    server.create_namespace("new");
    wait(&server, "new");
    let after = settled(&server);
    assert_eq!(after - before, 3, "the namespace, the account and the certificates");
}

#[test]
fn deleted_or_changed_default_objects_are_restored() {
    let server = server_with_default_objects(Arc::default());
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
fn a_terminating_namespace_gets_no_default_objects() {
    let server = server_with_default_objects(Arc::default());
    server.create_namespace("short");
    wait(&server, "short");
    server.delete("/api/v1/namespaces/short");
    server.wait_until_gone("/api/v1/namespaces/short");
    server.wait_until_idle();
    let left: Vec<String> = ["objects/core/serviceaccounts/short/", "objects/core/configmaps/short/"]
        .iter()
        .flat_map(|place| server.keys(place))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_restart_adds_missing_default_objects_and_rewrites_none() {
    let first = Server::living();
    first.create_namespace("before");
    let store = first.store();
    drop(first);
    let second = server_with_default_objects(store.clone());
    wait(&second, "before");
    let written = settled(&second);
    drop(second);
    let third = server_with_default_objects(store);
    wait(&third, "before");
    assert_eq!(settled(&third), written, "all is well: nothing is written");
}

#[test]
fn the_service_kubernetes_points_to_the_server() {
    const SERVICE: &str = "/api/v1/namespaces/default/services/kubernetes";
    let server = Server::start().announced().with_controllers();
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
fn the_service_has_the_address_that_others_reach() {
    const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
    const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    let server = Server::start().announced_at(([192, 0, 2, 1], 6443).into()).with_controllers();
    for path in [ENDPOINTS, SLICE] {
        let is_there = || {
            let shown = server.get(path).text();
            shown.contains("\"192.0.2.1\"") && shown.contains("\"port\":6443")
        };
        server.wait_until("it leads there", is_there);
        server.delete(path);
        server.wait_until("it leads there again", is_there);
    }
    let alone = Server::start().announced().with_controllers();
    alone.wait_until("the service is there", || {
        alone.get("/api/v1/namespaces/default/services/kubernetes").code == 200
    });
    alone.wait_until_idle();
    assert_eq!(alone.get(ENDPOINTS).code, 404, "a loopback address is not published");
}

#[test]
fn an_address_in_use_is_not_taken() {
    let server = Server::start();
    let taken = r#"{"metadata":{"name":"mine"},"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}"#;
    server.create("/api/v1/namespaces/default/services", taken);
    let server = server.announced().with_default_objects(AUTHORITY).with_controllers();
    wait(&server, "default");
    assert_eq!(server.get("/api/v1/namespaces/default/services/kubernetes").code, 404);
    assert_eq!(server.get("/api/v1/namespaces/default/services/mine").code, 200);
}

#[test]
fn without_the_option_no_default_objects_exist() {
    let server = Server::living();
    server.create_namespace("plain");
    server.wait_until_idle();
    assert_eq!(server.get(&account("plain")).code, 404);
    assert_eq!(server.get(&trust("plain")).code, 404);
}

#[test]
fn the_first_client_finds_the_service() {
    let server = Server::start().announced().with_created_default_objects();
    assert_eq!(server.get("/api/v1/namespaces/default/services/kubernetes").code, 200);
}
