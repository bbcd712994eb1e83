//! The admission plugin NodeRestriction: what a kubelet may write.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use std::sync::Arc;
use tenure_admission::{AdmissionChain, PluginSelection};
use tenure_authentication::credentials::TokenFile;
use tenure_http::{Administrator, RequestBody};
use tenure_server::{Authorization, Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_transport::Reloadable;
use tenure_value::Value;

const ADMIN: &str = "administrator-token";
const NODE: &str = "node-token-0123456789";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn start() -> Arc<Server> {
    let mut options = ServerOptions::new(Administrator::Token(ADMIN.into()));
    let tokens = format!("{NODE},system:node:one,1,system:nodes\n");
    options.identity.token_file = Some(Reloadable::new(TokenFile::parse(&tokens).unwrap()));
    options.authorization = Authorization::always_allow();
    let enabled = vec!["NodeRestriction".to_string()];
    options.admission = AdmissionChain::new(&PluginSelection { enabled, disabled: Vec::new() }).unwrap();
    Server::with_options(Arc::new(MemoryStore::new()), options).await.unwrap()
}

async fn send(server: &Arc<Server>, token: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    let media_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", media_type)
        .body(RequestBody::from(Bytes::from(body.to_string())))
        .unwrap();
    let response = server.clone().respond(request).await;
    let body = response.body.collect().await.unwrap().to_bytes();
    (response.code.as_u16(), String::from_utf8_lossy(&body).parse().unwrap_or_default())
}

fn pod(name: &str, node: &str, more: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"{more}}},"spec":{{"nodeName":"{node}","containers":[{{"name":"c","image":"i"}}]}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubelet_writes_what_belongs_to_its_node() {
    let server = start().await;
    let admin = |method: &'static str, path: String, body: String| {
        let server = server.clone();
        async move {
            let (code, answer) = send(&server, ADMIN, method, &path, &body).await;
            assert!(code < 300, "{method} {path}: {answer}");
            answer
        }
    };
    for name in ["one", "two"] {
        admin(
            "POST",
            "/api/v1/nodes".into(),
            format!(r#"{{"metadata":{{"name":"{name}","labels":{{"k8s.io/a":"1"}}}}}}"#),
        )
        .await;
        admin("POST", PODS.into(), pod(&format!("on-{name}"), name, "")).await;
    }
    admin("POST", "/api/v1/namespaces/default/serviceaccounts".into(), r#"{"metadata":{"name":"a"}}"#.into())
        .await;
    let uid = |object: &Value| {
        object.at(["metadata", "uid"]).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let node = uid(&admin("GET", "/api/v1/nodes/one".into(), String::new()).await);
    let on_one = uid(&admin("GET", format!("{PODS}/on-one"), String::new()).await);
    let on_two = uid(&admin("GET", format!("{PODS}/on-two"), String::new()).await);
    let mirror = |owner: &str| {
        format!(
            r#","annotations":{{"kubernetes.io/config.mirror":"x"}},"ownerReferences":[{{"apiVersion":"v1","kind":"Node","name":"one",{owner}}}]"#
        )
    };
    let own = mirror(&format!(r#""uid":"{node}","controller":true"#));
    let token = |pod: &str, uid: &str| {
        format!(
            r#"{{"spec":{{"audiences":[],"boundObjectRef":{{"apiVersion":"v1","kind":"Pod","name":"{pod}","uid":"{uid}"}}}}}}"#
        )
    };
    let tokens = "/api/v1/namespaces/default/serviceaccounts/a/token";
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let lease =
        |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"holderIdentity":"{name}"}}}}"#);
    // The method, the path, the body, the code, and a part of the message.
    let cases: Vec<(&str, String, String, u16, &str)> = vec![
        ("POST", PODS.into(), pod("p", "one", ""), 403, "can only create mirror pods"),
        (
            "POST",
            PODS.into(),
            pod("p", "two", &own),
            403,
            "can only create pods with spec.nodeName set to itself",
        ),
        (
            "POST",
            PODS.into(),
            pod("p", "one", r#","annotations":{"kubernetes.io/config.mirror":"x"}"#),
            403,
            "can only create pods with an owner reference set to itself",
        ),
        ("POST", PODS.into(), pod("p", "one", &mirror(r#""uid":"u""#)), 403, "a controller owner reference"),
        (
            "POST",
            PODS.into(),
            pod("p", "one", &mirror(r#""uid":"u","controller":true"#)),
            403,
            "UID mismatch",
        ),
        (
            "POST",
            PODS.into(),
            pod("p", "one", &own).replace(
                r#""containers""#,
                r#""volumes":[{"name":"v","secret":{"secretName":"s"}}],"containers""#,
            ),
            403,
            "can not create pods that reference secrets",
        ),
        ("POST", PODS.into(), pod("p", "one", &own), 201, ""),
        (
            "PATCH",
            format!("{PODS}/on-one"),
            r#"{"metadata":{"labels":{"a":"b"}}}"#.into(),
            403,
            "can only create and delete mirror pods",
        ),
        ("PATCH", format!("{PODS}/on-one/status"), r#"{"status":{"phase":"Running"}}"#.into(), 200, ""),
        (
            "PATCH",
            format!("{PODS}/on-two/status"),
            r#"{"status":{"phase":"Running"}}"#.into(),
            403,
            "can only update pod status for pods with spec.nodeName set to itself",
        ),
        (
            "POST",
            format!("{PODS}/on-two/eviction"),
            r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"on-two"}}"#.into(),
            403,
            "can only evict pods",
        ),
        (
            "DELETE",
            format!("{PODS}/on-two"),
            String::new(),
            403,
            "can only delete pods with spec.nodeName set to itself",
        ),
        (
            "POST",
            "/api/v1/nodes".into(),
            r#"{"metadata":{"name":"three"}}"#.into(),
            403,
            r#"node "one" is not allowed to modify node "three""#,
        ),
        (
            "PATCH",
            "/api/v1/nodes/two/status".into(),
            r#"{"status":{"phase":"x"}}"#.into(),
            403,
            r#"is not allowed to modify node "two""#,
        ),
        (
            "PATCH",
            "/api/v1/nodes/one".into(),
            r#"{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#.into(),
            403,
            "is not allowed to modify taints",
        ),
        (
            "PATCH",
            "/api/v1/nodes/one".into(),
            r#"{"metadata":{"labels":{"k8s.io/a":"2","b":"c"}}}"#.into(),
            403,
            "is not allowed to modify labels: k8s.io/a",
        ),
        (
            "PATCH",
            "/api/v1/nodes/one".into(),
            r#"{"metadata":{"labels":{"kubernetes.io/os":"linux","b":"c"}}}"#.into(),
            200,
            "",
        ),
        ("POST", tokens.into(), r#"{"spec":{}}"#.into(), 403, "node requested token not bound to a pod"),
        (
            "POST",
            tokens.into(),
            token("on-two", &on_two),
            403,
            "bound to a pod scheduled on a different node",
        ),
        ("POST", tokens.into(), token("on-one", "other"), 403, "does not match the UID in record"),
        (
            "POST",
            tokens.into(),
            token("on-one", &on_one).replace("[]", r#"["x","y"]"#),
            403,
            "node may only request 0 or 1 audiences",
        ),
        (
            "POST",
            leases.into(),
            lease("two"),
            403,
            "can only access node lease with the same name as the requesting node",
        ),
        ("POST", leases.into(), lease("one"), 201, ""),
        (
            "POST",
            leases.replace("kube-node-lease", "default"),
            lease("one"),
            403,
            r#"can only access leases in the "kube-node-lease" system namespace"#,
        ),
        (
            "POST",
            "/apis/storage.k8s.io/v1/csinodes".into(),
            r#"{"metadata":{"name":"two"},"spec":{"drivers":[]}}"#.into(),
            403,
            "can only access CSINode",
        ),
        ("DELETE", format!("{PODS}/on-one"), String::new(), 200, ""),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps".into(),
            r#"{"metadata":{"name":"c"}}"#.into(),
            201,
            "",
        ),
    ];
    for (method, path, body, code, why) in cases {
        let (got, answer) = send(&server, NODE, method, &path, &body).await;
        let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
        assert!(got == code && message.contains(why), "{method} {path} {body}: {got} {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_drivers_of_volumes_name_audiences() {
    let server = start().await;
    let admin = async |path: &str, body: &str| {
        let (code, answer) = send(&server, ADMIN, "POST", path, body).await;
        assert!(code < 300, "{path}: {answer}");
        answer
    };
    admin("/api/v1/nodes", r#"{"metadata":{"name":"one"}}"#).await;
    admin("/api/v1/namespaces/default/serviceaccounts", r#"{"metadata":{"name":"a"}}"#).await;
    let drivers = "/apis/storage.k8s.io/v1/csidrivers";
    for driver in ["known.example.com", "ebs.csi.aws.com"] {
        let body = format!(
            r#"{{"metadata":{{"name":"{driver}"}},"spec":{{"tokenRequests":[{{"audience":"{driver}"}}]}}}}"#
        );
        admin(drivers, &body).await;
    }
    let volume = |name: &str, source: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"capacity":{{"storage":"1"}},"accessModes":["ReadWriteOnce"],{source}}}}}"#
        )
    };
    let volumes = "/api/v1/persistentvolumes";
    let csi = |driver: &str| format!(r#""csi":{{"driver":"{driver}","volumeHandle":"h"}}"#);
    admin(volumes, &volume("known", &csi("known.example.com"))).await;
    admin(volumes, &volume("unknown", &csi("unknown.example.com"))).await;
    admin(volumes, &volume("old", r#""awsElasticBlockStore":{"volumeID":"v"}"#)).await;
    for (claim, volume) in [("known", "known"), ("unknown", "unknown"), ("old", "old"), ("lost", "absent")] {
        let body = format!(
            r#"{{"metadata":{{"name":"{claim}"}},"spec":{{"volumeName":"{volume}","accessModes":["ReadWriteOnce"],
                "resources":{{"requests":{{"storage":"1"}}}}}}}}"#
        );
        admin("/api/v1/namespaces/default/persistentvolumeclaims", &body).await;
    }
    let claim = |name: &str| format!(r#""persistentVolumeClaim":{{"claimName":"{name}"}}"#);
    let refused = |audience: &str, why: &str| {
        format!(r#"serviceaccounts "a" is forbidden: error validating audience "{audience}": {why}"#)
    };
    let absent = |name: &str| format!(r#"csidriver.storage.k8s.io "{name}" not found"#);
    let (known, unknown) = ("known.example.com", "unknown.example.com");
    let rows = [
        (format!(r#""csi":{{"driver":"{known}"}}"#), known, String::new()),
        (format!(r#""csi":{{"driver":"{unknown}"}}"#), unknown, refused(unknown, &absent(unknown))),
        (claim("known"), known, String::new()),
        (claim("unknown"), unknown, refused(unknown, &absent(unknown))),
        (claim("old"), "ebs.csi.aws.com", String::new()),
        (claim("none"), known, refused(known, r#"persistentvolumeclaim "none" not found"#)),
        (claim("lost"), known, refused(known, r#"persistentvolume "absent" not found"#)),
        (r#""awsElasticBlockStore":{"volumeID":"v"}"#.into(), "ebs.csi.aws.com", String::new()),
    ];
    for (at, (source, audience, expected)) in rows.into_iter().enumerate() {
        let pod = format!(
            r#"{{"metadata":{{"name":"p{at}"}},"spec":{{"nodeName":"one","serviceAccountName":"a",
                "containers":[{{"name":"c","image":"i"}}],"volumes":[{{"name":"v",{source}}}]}}}}"#
        );
        let pod = admin(PODS, &pod).await;
        let uid = pod.at(["metadata", "uid"]).and_then(Value::as_str).unwrap_or_default();
        let request = format!(
            r#"{{"spec":{{"audiences":["{audience}"],
                "boundObjectRef":{{"apiVersion":"v1","kind":"Pod","name":"p{at}","uid":"{uid}"}}}}}}"#
        );
        let tokens = "/api/v1/namespaces/default/serviceaccounts/a/token";
        let (code, answer) = send(&server, NODE, "POST", tokens, &request).await;
        let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(
            (code, message),
            (if expected.is_empty() { 201 } else { 403 }, expected.as_str()),
            "{source}"
        );
    }
}

/// A kubelet asks for certificates of the pods on its node, as what they are, and of the signers that they name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubelet_requests_certificates_of_its_pods() {
    const REQUESTS: &str = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests";
    let server = start().await;
    let uid = |object: &Value| {
        object.at(["metadata", "uid"]).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let mut uids = Vec::new();
    let volume = r#""volumes":[{"name":"v","projected":{"sources":[{"podCertificate":{"signerName":"a.b/c","keyType":"ED25519","keyPath":"k"}}]}}],"#;
    let with = |name: &str, node: &str, more: &str| {
        pod(name, node, more)
            .replace(r#""nodeName""#, &format!(r#"{volume}"serviceAccountName":"a","nodeName""#))
    };
    let mirror = r#","annotations":{"kubernetes.io/config.mirror":"x"}"#;
    for (path, body) in [
        ("/api/v1/nodes", r#"{"metadata":{"name":"one"}}"#.to_owned()),
        ("/api/v1/namespaces/default/serviceaccounts", r#"{"metadata":{"name":"a"}}"#.to_owned()),
        (PODS, with("here", "one", "")),
        (PODS, with("there", "two", "")),
        (PODS, with("mirror", "one", mirror).replace(volume, "").replace(r#""serviceAccountName":"a","#, "")),
        ("/api/v1/nodes", r#"{"metadata":{"name":"two"}}"#.to_owned()),
    ] {
        let (code, made) = send(&server, ADMIN, "POST", path, &body).await;
        assert_eq!(code, 201, "{made}");
        uids.push(uid(&made));
    }
    let [node, account, here, there, mirrored, _] = &uids[..] else { panic!("six objects") };
    let spec = |[node_name, node_uid]: [&str; 2],
                [pod, pod_uid]: [&str; 2],
                [account, account_uid]: [&str; 2],
                signer: &str| {
        format!(
            r#"{{"metadata":{{"generateName":"r-"}},"spec":{{"nodeName":"{node_name}","nodeUID":"{node_uid}","podName":"{pod}","podUID":"{pod_uid}",
            "serviceAccountName":"{account}","serviceAccountUID":"{account_uid}","signerName":"{signer}","stubPKCS10Request":"eA=="}}}}"#
        )
    };
    let (own, pod_here, robot) = (["one", node.as_str()], ["here", here.as_str()], ["a", account.as_str()]);
    for (body, expected) in [
        // What admission lets through is refused for its wrong proof.
        (spec(own, pod_here, robot, "a.b/c"), (422, "must be a valid PKCS#10 CSR")),
        (spec(["two", "x"], pod_here, robot, "a.b/c"), (403, "which is not the requesting node \"one\"")),
        (
            spec(["one", "x"], pod_here, robot, "a.b/c"),
            (500, "names node UID \"x\", inconsistent with the running node"),
        ),
        (
            spec(own, ["none", "x"], robot, "a.b/c"),
            (
                500,
                "while retrieving pod \"default/none\" named in the PodCertificateRequest: pod \"none\" not found",
            ),
        ),
        (
            spec(own, ["here", "x"], robot, "a.b/c"),
            (500, "contains pod UID (\"x\") which differs from running pod"),
        ),
        (
            spec(own, ["there", there], robot, "a.b/c"),
            (403, "pod \"default/there\" is not running on node \"one\""),
        ),
        (spec(own, ["mirror", mirrored], robot, "a.b/c"), (403, "pod \"default/mirror\" is a mirror pod")),
        (
            spec(own, pod_here, ["b", "x"], "a.b/c"),
            (403, "contains serviceAccountName (\"b\") that differs from running pod (\"a\")"),
        ),
        (
            spec(own, pod_here, ["a", "x"], "a.b/c"),
            (500, "names service account UID \"x\", which differs from the running service account"),
        ),
    ] {
        let (code, answer) = send(&server, NODE, "POST", REQUESTS, &body).await;
        let message = answer.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        assert!(
            code == expected.0 && message.contains(expected.1),
            "{code} {message}; expected {expected:?}"
        );
    }
    let (code, answer) = send(&server, NODE, "DELETE", &format!("{REQUESTS}/x"), "").await;
    assert!(code == 404 || code == 403, "{answer}");
}
