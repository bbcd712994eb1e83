//! Default classes are set when an object is created and not later; pods get the overhead of their runtime class.

use crate::server::{MERGE_PATCH, Server};
use tenure_value::Value;

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const STORAGE: &str = "/apis/storage.k8s.io/v1/storageclasses";
const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const INGRESS_CLASSES: &str = "/apis/networking.k8s.io/v1/ingressclasses";

fn marked(kind: &str, name: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","annotations":{{"{kind}.kubernetes.io/is-default-class":"true"}}}},"provisioner":"example.com/p","spec":{{"controller":"example.com/c"}}}}"#
    )
}

fn claim(name: &str, more: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"1Gi"}}}}{more}}}}}"#
    )
}

fn ingress(name: &str, annotations: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","annotations":{{{annotations}}}}},"spec":{{"defaultBackend":{{"service":{{"name":"s","port":{{"number":80}}}}}}}}}}"#
    )
}

fn class(object: &Value, field: &str) -> Option<String> {
    object.at(["spec", field]).and_then(Value::as_str).map(str::to_owned)
}

#[test]
fn a_claim_without_a_class_gets_the_default_one() {
    let server = Server::start();
    server.create(STORAGE, r#"{"metadata":{"name":"other"},"provisioner":"example.com/p"}"#);
    let given =
        |name: &str, more: &str| class(&server.create(CLAIMS, &claim(name, more)), "storageClassName");
    assert_eq!(given("before", ""), None);
    server.create(STORAGE, &marked("storageclass", "usual"));
    assert_eq!(given("without", ""), Some("usual".into()));
    assert_eq!(given("named", r#","storageClassName":"other""#), Some("other".into()));
    assert_eq!(given("none", r#","storageClassName":"""#), Some("".into()), "none is a choice too");
    let changed =
        server.patch(&format!("{CLAIMS}/before"), MERGE_PATCH, r#"{"metadata":{"labels":{"a":"b"}}}"#);
    assert_eq!(class(&changed.document(), "storageClassName"), None, "what is there stays as it is");
}

#[test]
fn an_ingress_without_a_class_gets_the_default_one() {
    let server = Server::start();
    for name in ["b", "a"] {
        server.create(INGRESS_CLASSES, &marked("ingressclass", name));
    }
    let newest = {
        let made = |name: &str| {
            let class = server.get(&format!("{INGRESS_CLASSES}/{name}")).document();
            class.at(["metadata", "creationTimestamp"]).map(Value::to_string)
        };
        if made("b") > made("a") { "b" } else { "a" }
    };
    let given = |name: &str, annotations: &str| {
        class(&server.create(INGRESSES, &ingress(name, annotations)), "ingressClassName")
    };
    assert_eq!(given("without", ""), Some(newest.into()));
    assert_eq!(given("annotated", r#""kubernetes.io/ingress.class":"old""#), None);
}

#[test]
fn a_runtime_class_adds_overhead_and_must_exist() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let server = Server::start();
    server.create(
        "/apis/node.k8s.io/v1/runtimeclasses",
        r#"{"metadata":{"name":"boxed"},"handler":"box","overhead":{"podFixed":{"cpu":"100m"}},"scheduling":{"nodeSelector":{"box":"yes"}}}"#,
    );
    let pod = |class: &str| {
        format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"runtimeClassName":"{class}","containers":[{{"name":"c","image":"i"}}]}}}}"#
        )
    };
    let refused = server.post(PODS, &pod("other"));
    assert_eq!((refused.code, refused.field("reason").as_str()), (403, "Forbidden"), "{}", refused.text());
    assert!(refused.text().contains("RuntimeClass \\\"other\\\" not found"), "{}", refused.text());
    let made = server.create(PODS, &pod("boxed"));
    assert_eq!(made.at(["spec", "overhead", "cpu"]), Some(&"100m".into()), "{made}");
    assert_eq!(made.at(["spec", "nodeSelector", "box"]), Some(&"yes".into()), "{made}");
}

#[test]
fn a_pod_without_a_class_gets_the_global_default_priority() {
    let server = Server::start();
    let pods = "/api/v1/namespaces/default/pods";
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let pod = |name: &str, more: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"containers":[{{"name":"c","image":"a:1"}}]{more}}}}}"#
        )
    };
    let refused = server.post(pods, &pod("never", r#","preemptionPolicy":"Never""#));
    assert_eq!(refused.code, 403, "{}", refused.text());
    let class = |name: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"value":7,"globalDefault":true,"preemptionPolicy":"Never"}}"#
        )
    };
    server.create(classes, &class("all"));
    let second = server.post(classes, &class("others"));
    assert_eq!(second.code, 403, "{}", second.text());
    let made = server.create(pods, &pod("given", r#","preemptionPolicy":"Never""#));
    assert_eq!(class_of(&made), (Some("all".into()), Some(7), Some("Never".into())));
    // The values that admission set stay, even if the class changes or is deleted.
    assert_eq!(server.delete(&format!("{classes}/all")).code, 200);
    let put = server.put(&format!("{pods}/given"), &pod("given", r#","priorityClassName":"all""#));
    assert_eq!(put.code, 200, "{}", put.text());
    assert_eq!(class_of(&put.document()), (Some("all".into()), Some(7), Some("Never".into())));
}

fn class_of(pod: &Value) -> (Option<String>, Option<i64>, Option<String>) {
    let priority = pod.at(["spec", "priority"]).and_then(Value::as_i64);
    (class(pod, "priorityClassName"), priority, class(pod, "preemptionPolicy"))
}

#[test]
fn a_bound_claim_grows_if_its_class_allows_expansion() {
    let server = Server::start();
    server.create(STORAGE, r#"{"metadata":{"name":"fixed"},"provisioner":"example.com/p"}"#);
    let growing =
        r#"{"metadata":{"name":"growing"},"provisioner":"example.com/p","allowVolumeExpansion":true}"#;
    server.create(STORAGE, growing);
    let more = r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#;
    for (name, code) in [("fixed", 403), ("growing", 200), ("absent", 403)] {
        let path = format!("{CLAIMS}/{name}");
        server.create(CLAIMS, &claim(name, &format!(r#","storageClassName":"{name}""#)));
        assert_eq!(server.patch(&path, MERGE_PATCH, more).code, 422, "{name} is not bound");
        let bound = r#"{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}"#;
        assert_eq!(server.patch(&format!("{path}/status"), MERGE_PATCH, bound).code, 200);
        let response = server.patch(&path, MERGE_PATCH, more);
        assert_eq!(response.code, code, "{name}: {}", response.text());
    }
}
