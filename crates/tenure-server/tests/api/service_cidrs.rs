//! ServiceCIDRs and IPAddresses: services get addresses of every ServiceCIDR that is ready, each address is an object, and a
//! ServiceCIDR that is deleted stays while services need it.

use crate::server::{MERGE_PATCH, Server};
use std::sync::Arc;
use tenure_builtin::allocate::ServiceNetworks;
use tenure_http::Administrator;
use tenure_server::{Controllers, ServerOptions};
use tenure_store::{Expected, MemoryStore, Store, Transaction};
use tenure_value::Value;

const CIDRS: &str = "/apis/networking.k8s.io/v1/servicecidrs";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";
const SERVICES: &str = "/api/v1/namespaces/default/services";

fn options(range: &str) -> ServerOptions {
    let mut options = ServerOptions::new(Administrator::Anyone);
    options.service_addresses = ServiceNetworks::parse(range).unwrap();
    options
}

fn service(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"ports":[{{"port":80}}]}}}}"#)
}

fn cidr(name: &str, range: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"cidrs":["{range}"]}}}}"#)
}

fn text(value: &Value, path: &[&str]) -> String {
    value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn ready(server: &Server, name: &str) -> Value {
    let object = server.get(&format!("{CIDRS}/{name}")).document();
    let conditions = object.at(["status", "conditions"]).and_then(Value::as_array).cloned();
    conditions.and_then(|list| list.items().first().cloned()).unwrap_or_default()
}

fn new_service(server: &Server, name: &str) -> String {
    text(&server.create(SERVICES, &service(name)), &["spec", "clusterIP"])
}

#[test]
fn the_default_service_cidr_exists_and_is_ready() {
    let mut options = options("10.9.0.0/28");
    options.controllers = Controllers { service_cidrs: false, ..Controllers::default() };
    let server = Server::configured(options);
    let object = server.get(&format!("{CIDRS}/kubernetes")).document();
    assert_eq!(object.at(["spec", "cidrs"]), Some(&Value::array(["10.9.0.0/28".into()])));
    let condition = ready(&server, "kubernetes");
    let field = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert_eq!(
        [field("type"), field("status"), field("reason"), field("message")],
        ["Ready", "True", "", "Kubernetes default Service CIDR is ready"]
    );
    assert_eq!(object.at(["metadata", "finalizers"]), None, "the controller is off");
    server.delete(&format!("{CIDRS}/kubernetes"));
    let server = server.with_controllers();
    server.wait_until("it is created again", || server.get(&format!("{CIDRS}/kubernetes")).code == 200);
}

#[test]
fn an_address_is_an_object_that_lives_as_long_as_its_service() {
    let server = Server::configured(options("10.9.0.0/24"));
    let address = new_service(&server, "web");
    let path = format!("{ADDRESSES}/{address}");
    let object = server.get(&path).document();
    let labels = r#"{"ipaddress.kubernetes.io/ip-family":"IPv4","ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}"#;
    assert_eq!(object.at(["metadata", "labels"]).unwrap().to_string(), labels);
    let parent = r#"{"name":"web","namespace":"default","resource":"services"}"#;
    assert_eq!(object.at(["spec", "parentRef"]).unwrap().to_string(), parent);
    let managers = object.at(["metadata", "managedFields"]).unwrap().to_string();
    assert!(
        managers.contains(r#""f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}"#),
        "{managers}"
    );
    // The same object could have been written by a client.
    let copy = server.patch(&path, MERGE_PATCH, r#"{"metadata":{"labels":{"mine":"kept"}}}"#);
    assert_eq!(copy.code, 200, "{}", copy.text());

    let requested =
        service("other").replace("\"spec\":{", &format!("\"spec\":{{\"clusterIP\":\"{address}\","));
    let refused = server.post(SERVICES, &requested);
    assert_eq!(refused.code, 422);
    assert!(refused.text().contains("provided IP is already allocated"), "{}", refused.text());
    server.delete(&format!("{SERVICES}/web"));
    assert_eq!(server.get(&path).code, 404);
    // An address that something else has is not free either.
    let gateway = format!(
        r#"{{"metadata":{{"name":"{address}"}},"spec":{{"parentRef":{{"group":"gateway.networking.k8s.io","resource":"gateways","namespace":"default","name":"g"}}}}}}"#
    );
    server.create(ADDRESSES, &gateway);
    assert_eq!(server.post(SERVICES, &requested).code, 422);
    server.delete(&path);
    assert_eq!(server.post(SERVICES, &requested).code, 201);
}

#[test]
fn addresses_that_a_client_deletes_are_restored() {
    let server = Server::configured(options("10.9.0.0/24")).with_controllers();
    let path = format!("{ADDRESSES}/{}", new_service(&server, "web"));
    let before = server.get(&path).document();
    server.delete(&path);
    server.wait_until("the address is back", || server.get(&path).code == 200);
    let after = server.get(&path).document();
    assert_eq!(before.get("spec"), after.get("spec"));
    assert_ne!(
        text(&before, &["metadata", "resourceVersion"]),
        text(&after, &["metadata", "resourceVersion"])
    );
}

#[test]
fn services_get_addresses_of_every_ready_service_cidr() {
    let mut options = options("10.9.0.0/29");
    options.controllers = Controllers { service_cidrs: false, ..Controllers::default() };
    let server = Server::configured(options);
    let mut addresses: Vec<String> = (0..6).map(|at| new_service(&server, &format!("a{at}"))).collect();
    addresses.sort();
    assert_eq!(addresses, ["10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4", "10.9.0.5", "10.9.0.6"]);
    let full = server.post(SERVICES, &service("full"));
    let message =
        "Internal error occurred: failed to allocate a serviceIP for Service \\\"full\\\": range is full";
    assert!(full.code == 500 && full.text().contains(message), "{}", full.text());
    let headless = service("headless").replace("\"spec\":{", "\"spec\":{\"clusterIP\":\"None\",");
    assert_eq!(server.post(SERVICES, &headless).code, 201, "a headless service needs none");

    server.create(CIDRS, &cidr("more", "10.8.0.0/28"));
    assert!(new_service(&server, "b").starts_with("10.8.0."));
    let off = r#"{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Off","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}"#;
    let status = server.patch(&format!("{CIDRS}/more/status"), MERGE_PATCH, off);
    assert_eq!(status.code, 200, "{}", status.text());
    assert_eq!(server.post(SERVICES, &service("c")).code, 500);
    let requested = service("c").replace("\"spec\":{", "\"spec\":{\"clusterIP\":\"10.8.0.9\",");
    let refused = server.post(SERVICES, &requested);
    assert_eq!(refused.code, 422);
    assert!(refused.text().contains("does not match the current range"), "{}", refused.text());
    // A service keeps the address that it has.
    assert_eq!(
        server.patch(&format!("{SERVICES}/b"), MERGE_PATCH, r#"{"metadata":{"labels":{"a":"b"}}}"#).code,
        200
    );
}

#[test]
fn a_deleted_service_cidr_stays_while_services_need_it() {
    let server = Server::configured(options("10.9.0.0/30")).with_controllers();
    let path = |name: &str| format!("{CIDRS}/{name}");
    let is_ready = |name: &str, status: &str| text(&ready(&server, name), &["status"]) == status;
    let is_protected = |name: &str| {
        let object = server.get(&path(name)).document();
        object.at(["metadata", "finalizers"]).is_some() && is_ready(name, "True")
    };
    new_service(&server, "a");
    new_service(&server, "b");
    server.create(CIDRS, &cidr("small", "10.8.0.0/28"));
    server.wait_until("it is protected", || is_protected("small") && is_protected("kubernetes"));
    let address = new_service(&server, "c");
    assert!(address.starts_with("10.8.0."), "{address}");

    server.delete(&path("small"));
    server.wait_until("it waits", || is_ready("small", "False"));
    assert_eq!(text(&ready(&server, "small"), &["reason"]), "Terminating");
    assert_eq!(server.post(SERVICES, &service("d")).code, 500, "no further address");
    // A larger one makes it unnecessary.
    server.create(CIDRS, &cidr("large", "10.8.0.0/16"));
    server.wait_until_gone(&path("small"));
    server.wait_until("it is protected", || is_protected("large"));
    server.delete(&path("large"));
    server.wait_until("it waits", || is_ready("large", "False"));
    server.delete(&format!("{SERVICES}/c"));
    server.wait_until_gone(&path("large"));
}

#[test]
fn addresses_of_earlier_versions_become_objects() {
    let store = Arc::new(MemoryStore::default());
    let server = Server::over(store.clone(), Administrator::Anyone);
    let address = new_service(&server, "old");
    // Earlier versions had a key instead of the object.
    let claim = format!("claims/address/{address}");
    let before = Transaction::new()
        .delete(format!("objects/networking.k8s.io/ipaddresses/{address}"), Expected::Anything)
        .put(claim.clone(), Expected::Absent, "objects/core/services/default/old");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.commit(before)).unwrap();
    let server = Server::over(store, Administrator::Anyone);
    let object = server.get(&format!("{ADDRESSES}/{address}")).document();
    assert_eq!(text(&object, &["spec", "parentRef", "name"]), "old");
    assert!(server.keys("claims/address/").is_empty());
}

#[test]
fn networks_and_parents_are_valid() {
    let server = Server::start();
    let cases = [
        ("[]", "spec.cidrs: Required value: at least one CIDR required"),
        (
            r#"["x"]"#,
            r#"spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
        ),
        (
            r#"["10.0.0.1/24"]"#,
            r#"spec.cidrs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length"#,
        ),
        (
            r#"["10.0.0.0/24","10.1.0.0/24"]"#,
            r#"spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"#,
        ),
        (
            r#"["10.0.0.0/24","fd00::/108","10.2.0.0/24"]"#,
            r#"spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","fd00::/108","10.2.0.0/24"]}: may only hold up to 2 values"#,
        ),
    ];
    for (cidrs, expected) in cases {
        let body = format!(r#"{{"metadata":{{"name":"v"}},"spec":{{"cidrs":{cidrs}}}}}"#);
        let response = server.post(CIDRS, &body);
        assert_eq!(response.code, 422, "{cidrs}");
        let message = text(&response.document(), &["message"]);
        assert_eq!(message, format!("ServiceCIDR.networking.k8s.io \"v\" is invalid: {expected}"));
    }
    server.create(CIDRS, r#"{"metadata":{"name":"v"},"spec":{"cidrs":["10.8.0.0/24","fd00::/40"]}}"#);
    let parent = r#"{"metadata":{"name":"1.2.3.4"},"spec":{"parentRef":{"resource":"a/b","name":"a","namespace":"b"}}}"#;
    let response = server.post(ADDRESSES, parent);
    assert!(response.text().contains("spec.parentRef.resource"), "{}", response.text());
    assert_eq!(response.code, 422);
}

#[test]
fn a_second_network_joins_the_default_service_cidr() {
    let store = Arc::new(MemoryStore::new());
    drop(Server::with_options(store.clone(), options("10.9.0.0/24"), None));
    let server = Server::with_options(store, options("10.9.0.0/24,fd09::/112"), None);
    let object = server.get(&format!("{CIDRS}/kubernetes")).document();
    assert_eq!(object.at(["spec", "cidrs"]).unwrap().to_string(), r#"["10.9.0.0/24","fd09::/112"]"#);
    let both =
        r#"{"metadata":{"name":"both"},"spec":{"ipFamilyPolicy":"RequireDualStack","ports":[{"port":80}]}}"#;
    let service = server.create(SERVICES, both);
    assert_eq!(service.at(["spec", "ipFamilies"]).unwrap().to_string(), r#"["IPv4","IPv6"]"#);
    let addresses = service.at(["spec", "clusterIPs"]).and_then(Value::as_array).unwrap().items().to_vec();
    assert_eq!(addresses.len(), 2, "{service}");
    for address in addresses {
        assert_eq!(server.get(&format!("{ADDRESSES}/{}", address.as_str().unwrap())).code, 200);
    }
}

#[test]
fn a_service_has_as_many_node_ports_as_it_has_ports() {
    let server = Server::configured(options("10.9.0.0/24"));
    let ports: Vec<String> = (1..=20).map(|port| format!(r#"{{"name":"p{port}","port":{port}}}"#)).collect();
    let body = format!(
        r#"{{"metadata":{{"name":"many"}},"spec":{{"type":"NodePort","ports":[{}]}}}}"#,
        ports.join(",")
    );
    let service = server.create(SERVICES, &body);
    let ports = service.at(["spec", "ports"]).and_then(Value::as_array).unwrap();
    let numbers: std::collections::HashSet<i64> =
        ports.iter().filter_map(|port| port.get("nodePort")?.as_i64()).collect();
    assert_eq!(numbers.len(), 20, "{service}");
}
