//! Cluster IPs and node ports: a deleted service releases what it had allocated.

use crate::server::{JSON_PATCH, MERGE_PATCH, Server};

const PATH: &str = "/api/v1/namespaces/shop/services";

fn service(server: &Server, name: &str) {
    let body = format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"NodePort","selector":{{"app":"a"}},"ports":[{{"name":"a","port":80}},{{"name":"b","port":81}}]}}}}"#
    );
    server.create(PATH, &body);
}

fn claims(server: &Server) -> usize {
    server.keys("claims/").len() + server.keys("objects/networking.k8s.io/ipaddresses/").len()
}

#[test]
fn deleted_services_release_addresses_and_ports() {
    let server = Server::living();
    server.create_namespace("shop");
    let before = claims(&server);
    let item = |name: &str| format!("{PATH}/{name}");

    service(&server, "plain");
    assert_eq!(claims(&server), before + 3, "an address and two ports");
    // Dry runs and refused requests allocate nothing.
    let dry = r#"{"metadata":{"name":"dry"},"spec":{"type":"NodePort","ports":[{"port":80}]}}"#;
    assert_eq!(server.post(&format!("{PATH}?dryRun=All"), dry).code, 201);
    assert_eq!(server.post(PATH, &dry.replace("80", "0")).code, 422);
    assert_eq!(claims(&server), before + 3);
    server.delete(&item("plain"));
    assert_eq!(claims(&server), before, "deleted");

    service(&server, "fewer");
    server.patch(&item("fewer"), JSON_PATCH, r#"[{"op":"remove","path":"/spec/ports/1"}]"#);
    assert_eq!(claims(&server), before + 2, "a port that goes is free");
    server.patch(&item("fewer"), MERGE_PATCH, r#"{"spec":{"type":"ClusterIP"}}"#);
    assert_eq!(claims(&server), before + 1, "a service inside has no node ports");
    let outside = r#"{"spec":{"type":"ExternalName","externalName":"a.example","clusterIP":null,"clusterIPs":null,"ports":null}}"#;
    let response = server.patch(&item("fewer"), MERGE_PATCH, outside);
    assert_eq!(
        (response.code, claims(&server)),
        (200, before),
        "a name elsewhere has no address: {}",
        response.text()
    );
    server.delete(&item("fewer"));

    service(&server, "held");
    server.patch(&item("held"), MERGE_PATCH, r#"{"metadata":{"finalizers":["example.com/held"]}}"#);
    server.delete(&item("held"));
    assert_eq!(claims(&server), before + 3, "what is not gone yet keeps what it holds");
    server.patch(&item("held"), MERGE_PATCH, r#"{"metadata":{"finalizers":null}}"#);
    assert_eq!((server.get(&item("held")).code, claims(&server)), (404, before));

    for at in 0..20 {
        service(&server, &format!("many-{at}"));
    }
    assert_eq!(claims(&server), before + 60);
    assert_eq!(server.delete(PATH).code, 200);
    assert_eq!(claims(&server), before, "a collection");

    let owner = server.create("/api/v1/namespaces/shop/configmaps", r#"{"metadata":{"name":"owner"}}"#);
    let uid = crate::server::metadata(&owner, "uid");
    service(&server, "owned");
    let references = format!(
        r#"{{"metadata":{{"ownerReferences":[{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":{uid}}}]}}}}"#
    );
    server.patch(&item("owned"), MERGE_PATCH, &references);
    server.delete("/api/v1/namespaces/shop/configmaps/owner");
    server.wait_until("the owned service is gone", || claims(&server) == before);

    for at in 0..5 {
        service(&server, &format!("last-{at}"));
    }
    server.delete("/api/v1/namespaces/shop");
    server.wait_until_gone("/api/v1/namespaces/shop");
    assert_eq!(claims(&server), before, "a namespace");
}
