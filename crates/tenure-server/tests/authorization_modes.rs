//! Authorization modes: the Node authorizer follows the stored objects, and authorizers are asked in their order.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use std::{sync::Arc, time::Duration};
use tenure_authentication::credentials::TokenFile;
use tenure_authorization::abac::AbacPolicies;
use tenure_http::{Administrator, RequestBody};
use tenure_server::{Authorization, AuthorizerOptions, Server, ServerOptions};
use tenure_store::{MemoryStore, Store};
use tenure_transport::Reloadable;
use tenure_value::Value;
use tokio::time::{Instant, sleep};

const ADMIN: &str = "administrator-token";
const NODE: &str = "node-token-0123456789";
const ANN: &str = "ann-token-01234567890";
const PATIENCE: Duration = Duration::from_secs(20);

async fn start(store: Arc<dyn Store>, modes: impl IntoIterator<Item = AuthorizerOptions>) -> Arc<Server> {
    let mut options = ServerOptions::new(Administrator::Token(ADMIN.into()));
    let tokens = format!("{NODE},system:node:one,1,system:nodes\n{ANN},ann,2\n");
    options.identity.token_file = Some(Reloadable::new(TokenFile::parse(&tokens).unwrap()));
    options.authorization = Authorization::new(modes);
    Server::with_options(store, options).await.unwrap()
}

async fn send(server: &Arc<Server>, token: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(RequestBody::from(Bytes::from(body.to_string())))
        .unwrap();
    let response = server.clone().respond(request).await;
    let body = response.body.collect().await.unwrap().to_bytes();
    (response.code.as_u16(), String::from_utf8_lossy(&body).parse().unwrap_or_default())
}

/// Sends a request until it is answered with a code: the authorizer follows the store.
async fn becomes(server: &Arc<Server>, method: &str, path: &str, code: u16) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (got, answer) = send(server, NODE, method, path, "").await;
        if got == code {
            return;
        }
        assert!(Instant::now() < deadline, "{method} {path}: {got} {answer}");
        sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_kubelet_sees_what_its_pods_refer_to_while_they_exist() {
    let store = Arc::new(MemoryStore::new());
    let server = start(store.clone(), [AuthorizerOptions::Node, AuthorizerOptions::Rbac]).await;
    for (path, body) in [
        ("/api/v1/nodes", r#"{"metadata":{"name":"one"}}"#),
        ("/api/v1/namespaces/default/secrets", r#"{"metadata":{"name":"s"}}"#),
        ("/api/v1/namespaces/default/secrets", r#"{"metadata":{"name":"of-volume"}}"#),
        ("/api/v1/namespaces/default/configmaps", r#"{"metadata":{"name":"c"}}"#),
        (
            "/api/v1/persistentvolumes",
            r#"{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1"},
                "claimRef":{"namespace":"default","name":"claim"},"azureFile":{"shareName":"x","secretName":"of-volume"}}}"#,
        ),
    ] {
        let (code, answer) = send(&server, ADMIN, "POST", path, body).await;
        assert_eq!(code, 201, "{path}: {answer}");
    }
    let secret = "/api/v1/namespaces/default/secrets/s";
    let (code, answer) = send(&server, NODE, "GET", secret, "").await;
    let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(code, 403);
    assert_eq!(
        message,
        "secrets \"s\" is forbidden: User \"system:node:one\" cannot get resource \"secrets\" in API group \"\" in the \
         namespace \"default\": no relationship found between node 'one' and this object"
    );
    let pod = r#"{"metadata":{"name":"p"},"spec":{"nodeName":"one","containers":[{"name":"c","image":"i"}],"volumes":[
        {"name":"s","secret":{"secretName":"s"}},{"name":"c","configMap":{"name":"c"}},
        {"name":"v","persistentVolumeClaim":{"claimName":"claim"}}]}}"#;
    let (code, answer) = send(&server, ADMIN, "POST", "/api/v1/namespaces/default/pods", pod).await;
    assert_eq!(code, 201, "{answer}");
    let related = [
        secret,
        "/api/v1/namespaces/default/configmaps/c",
        "/api/v1/namespaces/default/secrets/of-volume",
        "/api/v1/persistentvolumes/v",
        "/api/v1/namespaces/default/pods/p",
    ];
    for path in related {
        becomes(&server, "GET", path, 200).await;
    }
    // A server that starts later reads what is stored.
    let second = start(store, [AuthorizerOptions::Node]).await;
    for path in related {
        let (code, answer) = send(&second, NODE, "GET", path, "").await;
        assert_eq!(code, 200, "{path}: {answer}");
    }
    for (path, want) in [
        ("/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Ds", 200),
        ("/api/v1/namespaces/default/secrets", 403),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Done", 200),
        ("/api/v1/pods", 403),
        ("/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Done", 200),
        ("/apis/resource.k8s.io/v1/resourceslices", 403),
        ("/api/v1/nodes/one", 200),
        ("/api/v1/nodes/two", 403),
    ] {
        let (code, answer) = send(&server, NODE, "GET", path, "").await;
        assert_eq!(code, want, "{path}: {answer}");
    }
    let grace = r#"{"gracePeriodSeconds":0}"#;
    let (code, _) = send(&server, ADMIN, "DELETE", "/api/v1/namespaces/default/pods/p", grace).await;
    assert_eq!(code, 200);
    for path in related {
        becomes(&server, "GET", path, 403).await;
    }
}

#[tokio::test]
async fn authorizers_are_asked_in_their_order() {
    use AuthorizerOptions::{Abac, AlwaysAllow, AlwaysDeny, Node, Rbac};
    let policies = r#"{"user":"ann","readonly":true}"#;
    let abac = || Abac(Arc::new(AbacPolicies::parse(policies).unwrap()));
    let configmaps = "/api/v1/namespaces/default/configmaps";
    let forbidden = |verb: &str, reason: &str| {
        format!(
            "configmaps is forbidden: User \"ann\" cannot {verb} resource \"configmaps\" in API group \"\" in the \
             namespace \"default\"{reason}"
        )
    };
    for (modes, method, want) in [
        (vec![AlwaysDeny], "GET", Some(forbidden("list", ": Everything is forbidden."))),
        (vec![AlwaysDeny, AlwaysAllow], "GET", None),
        (vec![AlwaysAllow, AlwaysDeny], "POST", None),
        (vec![abac()], "GET", None),
        (vec![abac()], "POST", Some(forbidden("create", ": No policy matched."))),
        (vec![Node, abac(), Rbac], "GET", None),
        (vec![Node, Rbac, abac()], "POST", Some(forbidden("create", ": No policy matched."))),
        (
            vec![AlwaysDeny, abac()],
            "POST",
            Some(forbidden("create", ": Everything is forbidden.\nNo policy matched.")),
        ),
        (vec![Node], "GET", Some(forbidden("list", ""))),
    ] {
        let shown = format!("{modes:?} {method}");
        let server = start(Arc::new(MemoryStore::new()), modes).await;
        let body = r#"{"metadata":{"name":"c"}}"#;
        let (code, answer) = send(&server, ANN, method, configmaps, body).await;
        let message = answer.get("message").and_then(Value::as_str);
        assert_eq!(message, want.as_deref(), "{shown}: {code}");
        // Members of system:masters may do everything.
        assert_eq!(send(&server, ADMIN, "GET", configmaps, "").await.0, 200, "{shown}");
    }
}

#[tokio::test]
async fn rules_reviews_name_what_every_authorizer_grants() {
    use AuthorizerOptions::{Abac, Node, Rbac};
    let abac = Abac(Arc::new(AbacPolicies::parse(r#"{"user":"ann","resource":"pods"}"#).unwrap()));
    let server = start(Arc::new(MemoryStore::new()), [Node, Rbac, abac]).await;
    let review = r#"{"spec":{"namespace":"default"}}"#;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let status_of = async |token| {
        let (code, answer) = send(&server, token, "POST", path, review).await;
        assert_eq!(code, 201, "{answer}");
        answer.get("status").cloned().unwrap_or_default()
    };
    let ann = status_of(ANN).await;
    assert_eq!(ann.get("incomplete"), Some(&Value::Bool(false)));
    let rules = ann.get("resourceRules").unwrap().to_string();
    assert!(rules.contains(r#"{"apiGroups":["*"],"resources":["pods"],"verbs":["*"]}"#), "{rules}");
    assert!(rules.contains("selfsubjectaccessreviews"), "by the role system:basic-user: {rules}");
    let node = status_of(NODE).await;
    assert_eq!(node.get("incomplete"), Some(&Value::Bool(true)));
    let error = node.get("evaluationError").and_then(Value::as_str);
    assert_eq!(error, Some("node authorizer does not support user rule resolution"));
}

#[tokio::test]
async fn field_rules_limit_only_what_roles_permit() {
    use AuthorizerOptions::{Abac, Rbac};
    let role = r#"{"metadata":{"name":"r","annotations":{"tenure.dev/field-rules":"[{apiGroups: [''], resources: [configmaps], fields: [.data.a]}]"}},
        "rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}"#;
    let binding = r#"{"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
        "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"ann"}]}"#;
    for (policies, want) in [("", 403), (r#"{"user":"ann"}"#, 201)] {
        let abac = Abac(Arc::new(AbacPolicies::parse(policies).unwrap()));
        let server = start(Arc::new(MemoryStore::new()), [Rbac, abac]).await;
        let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
        for (path, body) in [(format!("{rbac}/roles"), role), (format!("{rbac}/rolebindings"), binding)] {
            let (code, answer) = send(&server, ADMIN, "POST", &path, body).await;
            assert_eq!(code, 201, "{answer}");
        }
        let body = r#"{"metadata":{"name":"c"},"data":{"b":"1"}}"#;
        let (code, answer) = send(&server, ANN, "POST", "/api/v1/namespaces/default/configmaps", body).await;
        assert_eq!(code, want, "{policies}: {answer}");
    }
}
