//! Promises of every write: a dry run responds like the write and stores nothing, and an apply that changes nothing is not written.

use crate::{
    http::{Request, Response},
    server::{APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server, version},
};
use proptest::prelude::*;
use std::sync::Arc;
use tenure_http::Administrator;
use tenure_meta::Timestamp;
use tenure_server::{Clock, Identifiers, ServerOptions};
use tenure_store::MemoryStore;
use tenure_value::Value;

/// One write: a method, the path below the namespace, its parameters, the type of the body, and the body.
#[derive(Clone, Debug)]
struct Write {
    method: &'static str,
    path: String,
    query: String,
    media_type: &'static str,
    body: String,
}

const GROUPS: [&str; 3] = ["/api/v1", "/apis/apps/v1", "/api/v1"];
const RESOURCES: [&str; 3] = ["configmaps", "deployments", "services"];
const KINDS: [(&str, &str); 3] = [("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("v1", "Service")];

/// Generates what an object of a kind may have besides its metadata, sometimes invalid.
fn content(kind: usize) -> BoxedStrategy<String> {
    let word = prop_oneof!["[a-c]", Just(String::new())];
    match kind {
        0 => prop_oneof![
            prop::collection::btree_map("[a-d]", "[x-z]{0,2}", 0..3)
                .prop_map(|data| format!(r#""data":{}"#, pairs(data))),
            Just(r#""data":{"a":1}"#.to_string()),
            Just(r#""immutable":true"#.to_string()),
        ]
        .boxed(),
        1 => (0..4i64, word, prop::bool::ANY)
            .prop_map(|(replicas, image, paused)| {
                format!(
                    r#""spec":{{"replicas":{},"paused":{paused},"selector":{{"matchLabels":{{"a":"b"}}}},
                    "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"{image}"}}]}}}}}}"#,
                    replicas - 1
                )
            })
            .boxed(),
        _ => (1..4u16, prop::sample::select(vec!["ClusterIP", "NodePort", "ExternalName", "Nonsense"]))
            .prop_map(|(port, kind)| format!(r#""spec":{{"type":"{kind}","externalName":"e","ports":[{{"port":{port}}}]}}"#))
            .boxed(),
    }
}

fn pairs(data: std::collections::BTreeMap<String, String>) -> Value {
    Value::object(data.into_iter().map(|(name, value)| (name, Value::from(value))))
}

fn write() -> impl Strategy<Value = Write> {
    (0..3usize).prop_flat_map(|kind| {
        let manager = prop::sample::select(vec!["", "alice", "bob"]);
        (Just(kind), 0..9usize, "[ab]", content(kind), manager, prop::bool::ANY).prop_map(made)
    })
}

fn made((kind, verb, name, content, manager, force): (usize, usize, String, String, &str, bool)) -> Write {
    let (api_version, kind_name) = KINDS[kind];
    let collection = format!("{}/namespaces/default/{}", GROUPS[kind], RESOURCES[kind]);
    let item = format!("{collection}/{name}");
    let whole = format!(
        r#"{{"apiVersion":"{api_version}","kind":"{kind_name}","metadata":{{"name":"{name}","labels":{{"l":"{}"}}}},{content}}}"#,
        content.len() % 3
    );
    let parts = format!("{{{content}}}");
    let label =
        format!(r#"[{{"op":"add","path":"/metadata/labels","value":{{"l":"{}"}}}}]"#, content.len() % 5);
    let (method, path, media_type, body) = match verb {
        0 => ("POST", collection, "application/json", whole),
        1 => ("PUT", item, "application/json", whole),
        2 => ("PATCH", item, JSON_PATCH, label),
        3 => ("PATCH", item, MERGE_PATCH, parts),
        4 => ("PATCH", item, STRATEGIC_PATCH, parts),
        5 | 6 => ("PATCH", item, APPLY, whole),
        7 => (
            "PATCH",
            format!("{item}/scale"),
            MERGE_PATCH,
            format!(r#"{{"spec":{{"replicas":{}}}}}"#, content.len() % 4),
        ),
        _ => ("DELETE", item, "application/json", String::new()),
    };
    let manager = if media_type == APPLY && manager.is_empty() { "carol" } else { manager };
    let force = if media_type == APPLY && force { "&force=true" } else { "" };
    let query = if manager.is_empty() { String::new() } else { format!("&fieldManager={manager}{force}") };
    Write { method, path, query, media_type, body }
}

impl Write {
    fn request(&self, dry_run: &str) -> Request {
        let request = Request::new(self.method, &format!("{}?{dry_run}{}", self.path, self.query));
        if self.body.is_empty() { request } else { request.body(self.media_type, self.body.clone()) }
    }
}

/// The values in which two runs of the same write differ: uid, times, and allocated addresses.
const OF_A_RUN: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "time",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "lastTransitionTime",
];

fn without_run(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(name, _)| !OF_A_RUN.contains(&name.as_str()));
            Value::object(kept.map(|(name, value)| (name.clone(), without_run(value))))
        }
        Value::Array(items) => Value::array(items.iter().map(without_run)),
        other => other.clone(),
    }
}

fn outcome(response: &Response) -> (u16, Value) {
    (response.code, without_run(&response.document()))
}

#[test]
fn renumbering_a_named_port_that_others_own_is_a_conflict() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/services/web";
    let expect = |response: Response, code: u16| {
        assert_eq!(response.code, code, "{}", response.text());
        response.document()
    };
    let service = |ports: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"web"}},"spec":{{"ports":[{ports}]}}}}"#
        )
    };
    let [old, new] = [r#"{"port":80,"name":"http"}"#, r#"{"port":8080,"name":"http"}"#].map(service);
    expect(server.apply(path, "alice", &old), 201);
    expect(server.apply(path, "bob", &old), 200);
    let conflict = expect(server.apply(path, "bob", &new), 409);
    let field = r#".spec.ports[port=80,protocol="TCP"].name"#;
    let cause =
        conflict.at(["details", "causes"]).and_then(|causes| causes.as_array()?.first().cloned()).unwrap();
    assert_eq!(cause.get("reason"), Some(&Value::from("FieldManagerConflict")), "{conflict}");
    assert_eq!(cause.get("field"), Some(&Value::from(field)), "{conflict}");
    assert_eq!(cause.get("message"), Some(&Value::from(r#"conflict with "alice""#)), "{conflict}");
    assert_eq!(cause.at(["tenure", "live"]), Some(&Value::from("http")), "{conflict}");

    // A forced apply gets no advice to force, and a duplicate without another owner is reported as such.
    let forced = expect(server.patch(&format!("{path}?fieldManager=bob&force=true"), APPLY, &new), 422);
    let reason = |status: &Value| {
        let causes = status.at(["details", "causes"]).and_then(Value::as_array).cloned();
        causes.and_then(|causes| causes.first()?.get("reason").cloned())
    };
    assert_eq!(reason(&forced), Some(Value::from("FieldValueDuplicate")), "{forced}");
    let twice = service(r#"{"port":80,"name":"http"},{"port":8080,"name":"http"}"#);
    let own = expect(server.apply(path, "bob", &twice), 422);
    assert_eq!(reason(&own), Some(Value::from("FieldValueDuplicate")), "{own}");

    let other = expect(server.apply(path, "carol", &new), 422);
    assert_eq!(reason(&other), Some(Value::from("FieldValueDuplicate")), "{other}");

    // When the other manager releases the port, it can change.
    expect(server.apply(path, "alice", &service("")), 200);
    let moved = expect(server.apply(path, "bob", &new), 200);
    assert_eq!(moved.at(["spec", "ports"]).and_then(Value::as_array).map(|ports| ports.len()), Some(1));
}

#[test]
fn a_revision_is_patched_as_long_as_its_data_stays() {
    let server = Server::start();
    let path = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let revision = r#"{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"revision":1,
        "data":{"a":{"b":[]}}}"#;
    server.create(path, revision);
    let path = &format!("{path}/r");
    let patches = [
        (MERGE_PATCH, r#"{"metadata":{"labels":{"by":"merge"}}}"#),
        (STRATEGIC_PATCH, r#"{"metadata":{"labels":{"by":"strategic"}}}"#),
        (JSON_PATCH, r#"[{"op":"add","path":"/revision","value":2}]"#),
    ];
    for (media_type, patch) in patches {
        let response = server.patch(path, media_type, patch);
        assert_eq!(response.code, 200, "{patch}: {}", response.text());
    }
    // The data is an object of any kind, into which no patch merges.
    let refused = server.patch(path, STRATEGIC_PATCH, r#"{"data":{"a":{"b":[]}}}"#);
    assert_eq!(refused.code, 400, "{}", refused.text());
    let refused = server.patch(path, MERGE_PATCH, r#"{"data":{"a":{"b":[1]}}}"#);
    assert_eq!(refused.code, 422, "{}", refused.text());
    assert!(refused.text().contains("field is immutable"), "{}", refused.text());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_dry_run_responds_like_the_write_and_stores_nothing(
        writes in prop::collection::vec(write(), 1..12)
    ) {
        let server = Server::start();
        for write in writes {
            let before = server.revision();
            let dry = server.send(&write.request("dryRun=All"));
            prop_assert_eq!(&server.revision(), &before, "{:?} wrote", &write);
            let real = server.send(&write.request(""));
            prop_assert!(real.code < 500, "{:?}: {}", &write, real.text());
            prop_assert_eq!(outcome(&dry), outcome(&real), "{:?}", &write);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Writes of a few kinds, in any order and some of them several times: to one server as they are, so that it recognizes
    /// applies that are repeated, and to another with other blanks each time.
    #[test]
    fn a_server_that_recognizes_repeated_applies_responds_like_one_that_does_not(
        writes in prop::collection::vec(write(), 1..6),
        order in prop::collection::vec((0..6usize, 1..4usize), 1..12),
    ) {
        // Some messages contain the object, with its identifier and times.
        let start = || {
            let mut options = ServerOptions::new(Administrator::Anyone);
            options.identifiers = Identifiers::seeded(1);
            options.clock = Clock::new(|| Timestamp { seconds: 1_700_000_000, nanos: 0 });
            Server::with_options(Arc::new(MemoryStore::new()), options, None)
        };
        let (server, blank) = (start(), start());
        let mut sent = 0;
        for (at, times) in order {
            let write = &writes[at % writes.len()];
            for _ in 0..times {
                sent += 1;
                let body = format!("{}{}", write.body, " ".repeat(if write.body.is_empty() { 0 } else { sent }));
                let as_sent = server.send(&write.request(""));
                let with_blanks = blank.send(&Write { body, ..write.clone() }.request(""));
                prop_assert_eq!(outcome(&as_sent), outcome(&with_blanks), "{:?}", &write);
                prop_assert_eq!(server.revision(), blank.revision(), "{:?}", &write);
            }
        }
    }
}

#[test]
fn repeating_an_apply_writes_once_and_sends_no_event() {
    let server = Server::start();
    let path = "/apis/apps/v1/namespaces/default/deployments/d";
    let config = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {a: b}}\n  \
        template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - name: c\n        image: a\n        \
        ports: [{containerPort: 80}]\n        resources: {limits: {cpu: 0.5, memory: 1Gi}}\n";
    let first = server.apply(path, "alice", config);
    assert_eq!(first.code, 201, "{}", first.text());
    let (first, revision) = (first.document(), server.revision());
    for _ in 0..100 {
        let again = server.apply(path, "alice", config);
        assert_eq!((again.code, again.document()), (200, first.clone()));
    }
    assert_eq!(server.revision(), revision);
    let watch =
        format!("/apis/apps/v1/deployments?watch=1&timeoutSeconds=1&resourceVersion={}", version(&first));
    assert_eq!(server.get(&watch).frames(), []);
}

#[test]
fn a_volume_changes_its_source_although_another_manager_owns_the_old_one() {
    let server = Server::start();
    let path = "/apis/apps/v1/namespaces/default/deployments/d";
    let config = |volume: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  selector: {{matchLabels: {{a: b}}}}\n  \
             template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      containers: [{{name: c, image: a}}]\n      \
             volumes: [{{name: v, {volume}}}]\n"
        )
    };
    assert_eq!(server.apply(path, "bob", &config("emptyDir: {}")).code, 201);
    assert_eq!(server.apply(path, "alice", &config("emptyDir: {medium: Memory}")).code, 200);
    let moved = server.apply(path, "alice", &config("configMap: {name: x}"));
    assert_eq!(moved.code, 200, "{}", moved.text());
    let volume =
        moved.document().at(["spec", "template", "spec", "volumes"]).and_then(Value::as_array).cloned();
    let volume = volume.and_then(|volumes| volumes.iter().next().cloned()).unwrap_or_default();
    assert!(volume.get("emptyDir").is_none() && volume.get("configMap").is_some(), "{volume}");
}

#[test]
fn a_scale_that_changes_nothing_but_a_time_is_not_written() {
    let server = Server::start();
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = r#"{"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}}"#;
    server.create(path, deployment);
    let scale = |path: String| server.patch(&path, MERGE_PATCH, r#"{"spec":{"replicas":3}}"#);
    assert_eq!(scale(format!("{path}/d?fieldManager=scaler")).code, 200);
    let before = server.get(&format!("{path}/d")).document();
    assert_eq!(scale(format!("{path}/d/scale?fieldManager=scaler")).code, 200);
    assert_eq!(server.get(&format!("{path}/d")).document(), before);
}

#[test]
fn accepting_no_managers_leaves_them_out() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/configmaps";
    let made = server.create(path, r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#);
    assert!(made.at(["metadata", "managedFields"]).is_some());
    let request = Request::new("GET", &format!("{path}/a"));
    let response = server.send(&request.header("Accept", "application/json;drop=metadata.managedFields"));
    assert_eq!(response.document().at(["metadata", "managedFields"]), None, "{}", response.text());
    assert_eq!(response.document().get("data"), made.get("data"));
}

/// Fields that admission and the strategy of a kind add are added again by an update that omits them.
#[test]
fn an_object_can_be_put_as_it_was_posted() {
    let server = Server::start();
    let taken = |response: Response, code: u16| {
        assert_eq!(response.code, code, "{}", response.text());
        response.document()
    };
    for (list, body) in [
        ("pods", r#"{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"a:1"}]}}"#),
        (
            "persistentvolumeclaims",
            r#"{"metadata":{"name":"x"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"dataSource":{"kind":"PersistentVolumeClaim","name":"y"}}}"#,
        ),
        ("serviceaccounts", r#"{"metadata":{"name":"x"},"secrets":[{"name":"a","kind":"K","uid":"u"}]}"#),
    ] {
        let path = format!("/api/v1/namespaces/default/{list}");
        let posted = taken(server.post(&path, body), 201);
        let put = taken(server.put(&format!("{path}/x"), body), 200);
        for part in ["spec", "secrets"] {
            assert_eq!(posted.get(part), put.get(part), "{list}");
        }
    }
    let account = server.get("/api/v1/namespaces/default/serviceaccounts/x").document();
    assert_eq!(account.get("secrets"), Some(&r#"[{"name":"a"}]"#.parse().unwrap()), "a secret is named only");
    let claim = r#"{"metadata":{"name":"y"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"dataSource":{"kind":"Thing","name":"y"}}}"#;
    let claim = taken(server.post("/api/v1/namespaces/default/persistentvolumeclaims", claim), 201);
    assert_eq!(claim.at(["spec", "dataSource"]), None, "{claim}");
}

#[test]
fn a_pod_may_tolerate_more_and_for_longer_but_not_less() {
    let server = Server::start();
    let pod = |tolerations: &str| {
        format!(
            r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{{"name":"c","image":"a:1"}}],"tolerations":[{tolerations}]}}}}"#
        )
    };
    let [one, longer, other] = [
        r#"{"key":"a","effect":"NoExecute","operator":"Exists","tolerationSeconds":1}"#,
        r#"{"key":"a","effect":"NoExecute","operator":"Exists","tolerationSeconds":2}"#,
        r#"{"key":"b","operator":"Exists"}"#,
    ];
    let path = "/api/v1/namespaces/default/pods";
    assert_eq!(server.post(path, &pod(one)).code, 201);
    for (tolerations, code) in [(format!("{longer},{other}"), 200), (longer.into(), 422), (other.into(), 422)]
    {
        let response = server.put(&format!("{path}/x"), &pod(&tolerations));
        assert_eq!(response.code, code, "{tolerations}: {}", response.text());
    }
}

#[test]
fn a_bound_claim_grows_shrinks_to_what_it_has_and_keeps_its_volume() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = r#"{"metadata":{"name":"x"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}}"#;
    assert_eq!(server.post(path, claim).code, 201);
    let path = format!("{path}/x");
    let merge = "application/merge-patch+json";
    let bound = r#"{"status":{"phase":"Bound","capacity":{"storage":"2Gi"}}}"#;
    assert_eq!(server.patch(&format!("{path}/status"), merge, bound).code, 200);
    for (spec, code) in [
        (r#"{"resources":{"requests":{"storage":"3Gi"}}}"#, 200),
        (r#"{"resources":{"requests":{"storage":"2Gi"}}}"#, 422),
        (r#"{"resources":{"limits":{"storage":"9Gi"}}}"#, 422),
        (r#"{"volumeName":"v"}"#, 200),
        (r#"{"volumeName":"w"}"#, 422),
    ] {
        let response = server.patch(&path, merge, &format!(r#"{{"spec":{spec}}}"#));
        assert_eq!(response.code, code, "{spec}: {}", response.text());
    }
}

#[test]
fn node_ports_are_released_with_the_service_type_that_needs_them() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/services";
    let service = r#"{"metadata":{"name":"x"},"spec":{"type":"NodePort","ports":[{"name":"a","port":80}]}}"#;
    assert_eq!(server.post(path, service).code, 201);
    let change = r#"{"spec":{"type":"ClusterIP","ports":[{"name":"b","port":443}]}}"#;
    let response = server.patch(&format!("{path}/x"), "application/strategic-merge-patch+json", change);
    assert_eq!(response.code, 200, "{}", response.text());
    let ports = response.document().at(["spec", "ports"]).and_then(Value::as_array).cloned().unwrap();
    assert!(ports.len() == 2 && ports.iter().all(|port| port.get("nodePort").is_none()), "{ports:?}");
}

#[test]
fn a_status_must_be_valid() {
    let server = Server::start();
    let namespaced = "/api/v1/namespaces/default";
    let service = |name: &str, kind: &str| {
        format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"{kind}","ports":[{{"port":80}}]}}}}"#)
    };
    server.create(&format!("{namespaced}/services"), &service("plain", "ClusterIP"));
    server.create(&format!("{namespaced}/services"), &service("balanced", "LoadBalancer"));
    server.create("/api/v1/nodes", r#"{"metadata":{"name":"n"}}"#);
    let pod = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1"}]}}"#;
    server.create(&format!("{namespaced}/pods"), pod);
    let quota = r#"{"metadata":{"name":"q"},"spec":{"hard":{"pods":"5"}}}"#;
    server.create(&format!("{namespaced}/resourcequotas"), quota);
    let [plain, balanced, pod, quota] = ["services/plain", "services/balanced", "pods/p", "resourcequotas/q"]
        .map(|name| format!("{namespaced}/{name}"));
    for (path, status, code) in [
        (plain.as_str(), r#"{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}"#, 422),
        (&balanced, r#"{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"},{"hostname":"a.b"}]}}"#, 200),
        (&balanced, r#"{"loadBalancer":{"ingress":[{"ip":"1.2.3"}]}}"#, 422),
        (&balanced, r#"{"loadBalancer":{"ingress":[{"hostname":"1.2.3.4"}]}}"#, 422),
        ("/api/v1/namespaces/default", r#"{"phase":"Terminating"}"#, 422),
        ("/api/v1/nodes/n", r#"{"capacity":{"cpu":"-1"}}"#, 422),
        ("/api/v1/nodes/n", r#"{"capacity":{"cpu":"1"}}"#, 200),
        (&pod, r#"{"conditions":[{"type":"not a type","status":"True"}]}"#, 422),
        (&pod, r#"{"podIPs":[{"ip":"10.1.1.1"},{"ip":"10.1.1.2"}]}"#, 422),
        (&pod, r#"{"podIPs":[{"ip":"10.1.1.1"},{"ip":"fd00::1"}]}"#, 200),
        (&quota, r#"{"used":{"pods":"500m"}}"#, 422),
        (&quota, r#"{"hard":{"pods":"5"},"used":{"pods":"1"}}"#, 200),
    ] {
        let patch = format!(r#"{{"status":{status}}}"#);
        let response = server.patch(&format!("{path}/status"), "application/merge-patch+json", &patch);
        assert_eq!(response.code, code, "{path} {status}: {}", response.text());
    }
}
