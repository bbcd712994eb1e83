//! Subresources that write one part of an object: bindings, ephemeral containers, resize, the approval of a certificate. Each writes
//! its part and nothing else. Evictions delete.

use crate::{
    facts::{items, text},
    http::Request,
    server::{MERGE_PATCH, Server, metadata},
};
use tenure_server::Profile;
use tenure_value::Value;

const PODS: &str = "/api/v1/namespaces/default/pods";
const POD: &str = "/api/v1/namespaces/default/pods/p";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

const POD_BODY: &str = r#"{"metadata":{"name":"p","labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}"#;

fn with_pod() -> Server {
    let server = Server::start();
    server.create(PODS, POD_BODY);
    server
}

fn put(server: &Server, path: &str, body: &Value) -> crate::http::Response {
    server.send(&Request::new("PUT", path).body("application/json", body.to_string()))
}

fn condition(object: &Value, kind: &str) -> Option<Value> {
    let status = object.get("status")?;
    items(status, "conditions").iter().find(|condition| text(condition, "type") == kind).cloned()
}

#[test]
fn a_binding_puts_a_pod_on_a_node_once() {
    let server = with_pod();
    let binding = r#"{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","annotations":{"why":"room"}},"target":{"kind":"Node","name":"n"}}"#;
    let wrong =
        server.post(&format!("{POD}/binding"), r#"{"metadata":{"name":"p"},"target":{"kind":"Pod"}}"#);
    assert_eq!((wrong.code, wrong.field("reason").as_str()), (422, "Invalid"), "{}", wrong.text());
    let stale = binding.replace("\"name\":\"p\"", "\"name\":\"p\",\"uid\":\"another\"");
    assert_eq!(server.post(&format!("{POD}/binding"), &stale).code, 409);
    let response = server.post(&format!("{POD}/binding?fieldManager=scheduler"), binding);
    assert_eq!((response.code, response.field("status").as_str()), (201, "Success"), "{}", response.text());
    let pod = server.get(POD).document();
    assert_eq!(pod.at(["spec", "nodeName"]), Some(&"n".into()));
    assert_eq!(pod.at(["metadata", "annotations", "why"]), Some(&"room".into()));
    assert_eq!(metadata(&pod, "generation").as_i64(), Some(1), "where it runs is not what was wanted");
    let managers = pod.at(["metadata", "managedFields"]).and_then(Value::as_array).expect("managers");
    let scheduler =
        managers.iter().find(|manager| text(manager, "manager") == "scheduler").expect("who bound it");
    assert!(scheduler.at(["fieldsV1", "f:spec", "f:nodeName"]).is_some(), "{scheduler}");
    let scheduled = condition(&pod, "PodScheduled").expect("it says so");
    assert_eq!(text(&scheduled, "status"), "True");
    let again = server.post(&format!("{POD}/binding"), binding);
    assert_eq!(again.code, 409, "{}", again.text());
}

#[test]
fn a_binding_can_be_posted_among_bindings() {
    let server = with_pod();
    let binding =
        |pod: &str| format!(r#"{{"metadata":{{"name":"{pod}"}},"target":{{"kind":"Node","name":"n"}}}}"#);
    let response = server.post("/api/v1/namespaces/default/bindings", &binding("p"));
    assert_eq!(response.code, 201, "{}", response.text());
    assert_eq!(server.get(POD).document().at(["spec", "nodeName"]), Some(&"n".into()));
    assert_eq!(server.post("/api/v1/namespaces/default/bindings", &binding("absent")).code, 404);
}

#[test]
fn a_gated_or_terminating_pod_is_not_bound() {
    let server = Server::start();
    let pod = r#"{"metadata":{"name":"p","finalizers":["example.com/held"]},"spec":{"containers":[{"name":"c","image":"i"}],"schedulingGates":[{"name":"example.com/wait"}]}}"#;
    server.create(PODS, pod);
    let binding = r#"{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}"#;
    let gated = server.post(&format!("{POD}/binding"), binding);
    assert_eq!(gated.code, 409, "{}", gated.text());
    assert!(gated.text().contains("schedulingGates"), "{}", gated.text());
    server.patch(POD, MERGE_PATCH, r#"{"spec":{"schedulingGates":null}}"#);
    server.delete(POD);
    let going = server.post(&format!("{POD}/binding"), binding);
    assert!(going.code == 409 && going.text().contains("being deleted"), "{}", going.text());
}

#[test]
fn ephemeral_containers_can_be_added_but_not_removed() {
    let server = with_pod();
    let path = format!("{POD}/ephemeralcontainers");
    let joined =
        r#"{"metadata":{"labels":{"a":"2"}},"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}"#;
    let response = server.patch(&path, STRATEGIC, joined);
    assert_eq!(response.code, 200, "{}", response.text());
    let pod = server.get(POD).document();
    assert_eq!(pod.at(["metadata", "labels", "a"]), Some(&"1".into()), "only the part is written");
    let joined = items(pod.get("spec").expect("a spec"), "ephemeralContainers");
    assert_eq!((joined.len(), text(&joined[0], "terminationMessagePolicy")), (1, "File"));
    let without = server.patch(&path, MERGE_PATCH, r#"{"spec":{"ephemeralContainers":null}}"#);
    assert_eq!(without.code, 422, "{}", without.text());
    assert!(without.text().contains("may not be removed"), "{}", without.text());
    let elsewhere =
        server.patch(POD, STRATEGIC, r#"{"spec":{"ephemeralContainers":[{"name":"f","image":"i"}]}}"#);
    assert_eq!(elsewhere.code, 422, "the pod itself takes none: {}", elsewhere.text());
}

#[test]
fn a_pod_is_resized_within_its_class() {
    let server = with_pod();
    let path = format!("{POD}/resize");
    let larger = r#"{"metadata":{"labels":{"a":"2"}},"spec":{"containers":[{"name":"c","image":"j","resources":{"requests":{"cpu":"2"}}}]}}"#;
    let response = server.patch(&path, STRATEGIC, larger);
    assert_eq!(response.code, 200, "{}", response.text());
    let pod = server.get(POD).document();
    let container = &items(pod.get("spec").expect("a spec"), "containers")[0];
    assert_eq!(container.at(["resources", "requests", "cpu"]), Some(&"2".into()));
    assert_eq!((text(container, "image"), metadata(&pod, "generation").as_i64()), ("i", Some(2)));
    assert_eq!(pod.at(["metadata", "labels", "a"]), Some(&"1".into()));
    let none = r#"{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":null}}}]}}"#;
    let refused = server.patch(&path, STRATEGIC, none);
    assert_eq!(refused.code, 422, "{}", refused.text());
    assert!(refused.text().contains("QOS Class"), "{}", refused.text());
}

#[test]
fn a_certificate_is_approved_once_and_not_denied_afterwards() {
    const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let server = Server::start();
    let request = include_str!("csr.json");
    server.create(REQUESTS, request);
    let path = format!("{REQUESTS}/wanted/approval");
    let mut live = server.get(&format!("{REQUESTS}/wanted")).document();
    let decided = |live: &Value, conditions: &str| -> Value {
        let status = Value::object([("conditions", conditions.parse::<Value>().expect("JSON"))]);
        live.as_object().expect("an object").with("status", status).into()
    };
    let approved = r#"[{"type":"Approved","status":"True","reason":"r","message":"m"}]"#;
    let response = put(&server, &path, &decided(&live, approved));
    assert_eq!(response.code, 200, "{}", response.text());
    live = server.get(&format!("{REQUESTS}/wanted")).document();
    let condition = condition(&live, "Approved").expect("it is approved");
    assert!(!text(&condition, "lastUpdateTime").is_empty(), "{condition}");
    assert!(!text(&condition, "lastTransitionTime").is_empty(), "{condition}");
    assert_eq!(server.get(&path).code, 200);
    for (conditions, says) in [
        ("[]", "may not remove"),
        (r#"[{"type":"Approved","status":"True"},{"type":"Denied","status":"True"}]"#, "mutually exclusive"),
    ] {
        let refused = put(&server, &path, &decided(&live, conditions));
        assert_eq!(refused.code, 422, "{conditions}: {}", refused.text());
        assert!(refused.text().contains(says), "{conditions}: {}", refused.text());
    }
    let patched = server.patch(&path, MERGE_PATCH, r#"{"metadata":{"annotations":{"seen":"yes"}}}"#);
    assert_eq!(patched.document().at(["metadata", "annotations", "seen"]), Some(&"yes".into()));
}

#[test]
fn an_eviction_spends_the_budget_of_its_pod() {
    const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let server = with_pod();
    let evict = |query: &str| {
        let eviction = r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"gracePeriodSeconds":0}}"#;
        server.post(&format!("{POD}/eviction{query}"), eviction)
    };
    let runs = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    assert_eq!(server.patch(&format!("{POD}/status"), MERGE_PATCH, runs).code, 200);
    server.create(
        BUDGETS,
        r#"{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"1"}}}}"#,
    );
    let refused = evict("");
    assert_eq!(
        (refused.code, refused.field("reason").as_str()),
        (429, "TooManyRequests"),
        "{}",
        refused.text()
    );
    assert!(refused.text().contains("still being processed"), "{}", refused.text());
    let counted = r#"{"status":{"observedGeneration":1,"disruptionsAllowed":1,"desiredHealthy":1,"currentHealthy":2,"expectedPods":2}}"#;
    assert_eq!(server.patch(&format!("{BUDGETS}/b/status"), MERGE_PATCH, counted).code, 200);
    server.create(BUDGETS, r#"{"metadata":{"name":"b2"},"spec":{"minAvailable":1,"selector":{}}}"#);
    let several = evict("");
    assert!(several.code == 409 && several.text().contains("more than one"), "{}", several.text());
    server.delete(&format!("{BUDGETS}/b2"));
    assert_eq!(evict("?dryRun=All").code, 201);
    assert_eq!(server.get(POD).code, 200, "nothing has happened");
    let gone = evict("");
    assert_eq!(gone.code, 201, "{}", gone.text());
    assert_eq!(server.get(POD).code, 404);
    let budget = server.get(&format!("{BUDGETS}/b")).document();
    assert_eq!(budget.at(["status", "disruptionsAllowed"]), Some(&0.into()), "{budget}");
    assert!(budget.at(["status", "disruptedPods", "p"]).is_some(), "{budget}");
}

#[test]
fn an_evicted_pod_has_a_disruption_condition() {
    let server = with_pod();
    server.patch(POD, MERGE_PATCH, r#"{"metadata":{"finalizers":["example.com/held"]}}"#);
    let unknown = r#"{"apiVersion":"policy/v2","kind":"Eviction","metadata":{"name":"p"}}"#;
    let refused = server.post(&format!("{POD}/eviction"), unknown);
    assert!(refused.code == 400 && refused.text().contains("policy/v2"), "{}", refused.text());
    let version =
        text(&server.get(POD).document().get("metadata").cloned().unwrap_or_default(), "resourceVersion")
            .to_string();
    let eviction = format!(
        r#"{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"p"}},"deleteOptions":{{"preconditions":{{"resourceVersion":"{version}"}}}}}}"#
    );
    let response = server.post(&format!("{POD}/eviction"), &eviction);
    assert_eq!(response.code, 201, "{}", response.text());
    let pod = server.get(POD).document();
    let target = condition(&pod, "DisruptionTarget").expect("a condition");
    assert_eq!((text(&target, "status"), text(&target, "reason")), ("True", "EvictionByEvictionAPI"));
    assert!(!metadata(&pod, "deletionTimestamp").is_null(), "{pod}");
}

#[test]
fn a_dry_run_of_an_eviction_can_be_asked_for_in_the_query_and_in_the_body() {
    for profile in [Profile::kubernetes(), Profile::tenure()] {
        let server = Server::behaving(profile);
        server.create(PODS, POD_BODY);
        let table = [
            ("?dryRun=All", r#""gracePeriodSeconds":0"#, 201),
            ("?dryRun=All", r#""dryRun":["All"],"gracePeriodSeconds":0"#, 201),
            ("", r#""dryRun":["All"],"gracePeriodSeconds":0"#, 201),
            ("?dryRun=All", r#""dryRun":["Some"]"#, 500),
        ];
        for (query, options, code) in table {
            let eviction = format!(r#"{{"metadata":{{"name":"p"}},"deleteOptions":{{{options}}}}}"#);
            let response = server.post(&format!("{POD}/eviction{query}"), &eviction);
            assert_eq!(response.code, code, "{query} {options}: {}", response.text());
            assert_eq!(server.get(POD).code, 200, "{query} {options}");
        }
        let other = server.post(&format!("{POD}/eviction"), r#"{"metadata":{"name":"q"}}"#);
        assert!(
            other.code == 400 && other.text().contains("does not match name in Eviction"),
            "{}",
            other.text()
        );
    }
}

#[test]
fn what_is_posted_to_a_pod_names_it() {
    let server = with_pod();
    let table = [
        ("eviction", r#"{"metadata":{"name":"q"}}"#, "name in URL does not match name in Eviction object"),
        ("eviction", r#"{"metadata":{"name":"p","namespace":"other"}}"#, "does not match the namespace"),
        ("binding", r#"{"target":{"name":"n"}}"#, "name in URL does not match name in Binding object"),
    ];
    for (subresource, body, words) in table {
        let response = server.post(&format!("{POD}/{subresource}"), body);
        assert!(response.code == 400 && response.text().contains(words), "{body}: {}", response.text());
    }
}

#[test]
fn ephemeral_containers_have_only_what_helps_to_debug() {
    let server = with_pod();
    let table = [
        (r#""targetContainerName":"c""#, 200, ""),
        (r#""targetContainerName":"other""#, 422, "targetContainerName: Not found"),
        (r#""ports":[{"containerPort":1}]"#, 422, "ports: Forbidden"),
        (r#""livenessProbe":{"exec":{"command":["a"]}}"#, 422, "livenessProbe: Forbidden"),
        (r#""resources":{"limits":{"cpu":"1"}}"#, 422, "resources: Forbidden"),
        (r#""restartPolicy":"Always""#, 422, "restartPolicy: Forbidden"),
    ];
    for (field, code, words) in table {
        let patch = format!(r#"{{"spec":{{"ephemeralContainers":[{{"name":"e","image":"i",{field}}}]}}}}"#);
        let path = format!("{POD}/ephemeralcontainers?dryRun=All");
        let response = server.patch(&path, STRATEGIC, &patch);
        assert!(response.code == code && response.text().contains(words), "{field}: {}", response.text());
    }
}

#[test]
fn a_connection_to_a_pod_fails_as_if_its_node_were_out_of_reach() {
    let server = with_pod();
    for (method, subresource, query, code, words) in [
        ("POST", "exec", "", 400, "does not have a host assigned"),
        ("GET", "attach", "", 400, "does not have a host assigned"),
        ("GET", "exec", "?container=other", 400, "container other is not valid for pod p"),
        ("GET", "portforward", "", 400, "does not have a host assigned"),
        ("PUT", "proxy", "", 400, "does not have a host assigned"),
    ] {
        let response = server.send(&Request::new(method, &format!("{POD}/{subresource}{query}")));
        assert_eq!(response.code, code, "{method} {subresource}: {}", response.text());
        assert!(response.text().contains(words), "{method} {subresource}: {}", response.text());
    }
    server
        .post(&format!("{POD}/binding"), r#"{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}"#);
    let absent = server.post(&format!("{POD}/exec"), "");
    assert_eq!((absent.code, absent.field("message").as_str()), (404, "nodes \"n\" not found"));
    server.create("/api/v1/nodes", r#"{"metadata":{"name":"n"}}"#);
    let status = r#"{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}}"#;
    assert_eq!(server.patch("/api/v1/nodes/n/status", MERGE_PATCH, status).code, 200);
    let unreachable = server.post(&format!("{POD}/exec"), "");
    assert_eq!(unreachable.code, 500);
    assert!(unreachable.text().contains("dial tcp 192.0.2.1:10250"), "{}", unreachable.text());
}

#[test]
fn a_pod_gets_the_topology_of_its_node_with_its_binding() {
    let server = with_pod();
    let labels = r#"{"topology.kubernetes.io/zone":"z","other":"x"}"#;
    server.create("/api/v1/nodes", &format!(r#"{{"metadata":{{"name":"n","labels":{labels}}}}}"#));
    let bound = server
        .post(&format!("{POD}/binding"), r#"{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}"#);
    assert_eq!(bound.code, 201, "{}", bound.text());
    let labels = metadata(&server.get(POD).document(), "labels");
    assert_eq!(labels.to_string(), r#"{"a":"1","topology.kubernetes.io/zone":"z"}"#);
}
