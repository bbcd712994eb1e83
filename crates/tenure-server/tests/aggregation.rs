//! API aggregation: requests, discovery, OpenAPI and conditions of an extension API server in this process.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request, StatusCode, header::HeaderValue};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tenure_authentication::credentials::{RequestHeaderNames, TokenFile};
use tenure_http::{
    Administrator, BodyStream, GuardedRequest, OnUpgrade, RequestBody, Response,
    listener::{Handler, bind, serve},
};
use tenure_meta::UserInfo;
use tenure_server::{ClusterAuthentication, ProxyClientCertificate, Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_transport::{
    Reloadable,
    serving::{ClientAuthorities, ClientCertificate, FrontProxy, Tls},
};
use tenure_value::{Text, Value, base64};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

const ADMIN: &str = "administrator-token";
const JANE: &str = "jane-token-0123456789";
const GROUP: &str = "/apis/ext.example.com/v1";
const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// What the extension server answers.
struct Extension {
    /// Whether it has aggregated discovery and OpenAPI in version 3.
    is_modern: bool,
}

impl Handler for Extension {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, body) = request.into_parts();
        let mut request = Request::from_parts(*head, body.into_stream());
        // Only the front proxy is let in.
        if request.extensions().get::<FrontProxy>().is_none() {
            return Response::text(StatusCode::UNAUTHORIZED, "not the front proxy");
        }
        let accept =
            request.headers().get("accept").and_then(|value| value.to_str().ok()).unwrap_or("").to_string();
        let path = request.uri().path().to_string();
        let json = |text: &str| Response::new(StatusCode::OK, "application/json", text.to_string());
        match path.strip_prefix(GROUP).unwrap_or(&path) {
            "/apis" if self.is_modern && accept.contains("as=APIGroupDiscoveryList") => Response::new(
                StatusCode::OK,
                AGGREGATED,
                r#"{"items":[{"metadata":{"name":"ext.example.com"},"versions":[{"version":"v1","resources":[
                    {"resource":"things","scope":"Namespaced","verbs":["list"],"responseKind":{"group":"","version":"","kind":"Thing"}}]},
                    {"version":"v2","resources":[]}]}]}"#,
            ),
            "/openapi/v3" if self.is_modern => json(
                r#"{"paths":{"apis/ext.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/ext.example.com/v1?hash=AB"},
                    "apis/apps/v1":{"serverRelativeURL":"/evil"}}}"#,
            ),
            "/openapi/v3/apis/ext.example.com/v1" => json(r#"{"openapi":"3.0.0","from":"extension"}"#),
            "/openapi/v2" => json(
                r##"{"swagger":"2.0","paths":{"/apis/ext.example.com/v1/things":{"get":{"responses":{"200":{"description":"OK",
                    "schema":{"$ref":"#/definitions/Thing"}}}}},"/apis/apps/v1/deployments":{}},"definitions":{"Thing":{"type":"object"}}}"##,
            ),
            // The checks of availability accept anything by saying nothing; some servers refuse a wildcard.
            "" if accept == "*/*" => Response::text(StatusCode::NOT_ACCEPTABLE, "only application/json"),
            "" => json(
                r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"ext.example.com/v1","resources":[
                    {"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["list"]}]}"#,
            ),
            "/redirect" => Response::text(StatusCode::FOUND, "")
                .with_header(hyper::header::LOCATION, HeaderValue::from_static("http://127.0.0.1:1/")),
            "/never" => std::future::pending().await,
            "/endless" => Response::stream(
                "text/plain",
                BodyStream::new(|sender| async move {
                    loop {
                        sender.send(Bytes::from_static(&[b'x'; 4096])).await;
                    }
                }),
            ),
            "/broken" => Response::stream(
                "text/plain",
                BodyStream::new(|sender| async move {
                    sender.send(Bytes::from_static(b"half")).await;
                    // What was sent is flushed while nothing more comes.
                    tokio::task::yield_now().await;
                    sender.fail();
                }),
            ),
            "/namespaces/default/things" if request.uri().query() == Some("watch=1") => Response::stream(
                "application/json",
                BodyStream::new(|sender| async move {
                    sender.send(Bytes::from_static(b"{\"type\":\"ADDED\"}\n")).await;
                    std::future::pending().await
                }),
            ),
            "/upgrade" => {
                let upgrade =
                    request.extensions_mut().remove::<OnUpgrade>().expect("an upgradable connection");
                tokio::spawn(async move {
                    let mut stream = upgrade.await.expect("the protocol changes");
                    let mut four = [0; 4];
                    stream.read_exact(&mut four).await.expect("four bytes");
                    stream.write_all(&four).await.expect("the client reads");
                });
                Response::text(StatusCode::SWITCHING_PROTOCOLS, "")
                    .with_header(hyper::header::CONNECTION, HeaderValue::from_static("Upgrade"))
                    .with_header(hyper::header::UPGRADE, HeaderValue::from_static("echo"))
            }
            "/echo" => {
                let headers = request
                    .headers()
                    .iter()
                    .map(|(name, value)| Value::from(format!("{name}: {}", value.to_str().unwrap_or("?"))));
                let headers = Value::array(headers.collect::<Vec<_>>());
                let (method, uri) = (request.method().to_string(), request.uri().to_string());
                let body = request.into_body().collect().await.expect("a whole body").to_bytes();
                let body = Value::from(String::from_utf8_lossy(&body).into_owned());
                let echo =
                    [("headers", headers), ("method", method.into()), ("uri", uri.into()), ("body", body)];
                json(&Value::object(echo).to_string())
            }
            _ => Response::text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

/// The certificates of a test.
struct Certificates {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Certificates {
    fn new() -> Certificates {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "front-proxy-ca");
        Certificates { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// Returns a certificate of a name and its key, in PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// Starts an extension server that lets only a front proxy in, and returns its address and its certificate as in a `caBundle`.
async fn extension(certificates: &Certificates, is_modern: bool) -> (SocketAddr, String) {
    let certified = rcgen::generate_simple_self_signed(vec!["ext.default.svc".to_string()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let authorities =
        ClientAuthorities::with_front_proxies(None, &certificates.issuer.pem(), &["front-proxy".to_string()])
            .unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(authorities.handshake_verifier())
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = Reloadable::new(Tls { config: Arc::new(config), authorities: Some(authorities) });
    tokio::spawn(serve(listener, Some(tls), Arc::new(Extension { is_modern }), std::future::pending()));
    (address, base64::encode(certified.cert.pem()))
}

fn options(certificates: &Certificates) -> ServerOptions {
    let mut options = ServerOptions::new(Administrator::Token(ADMIN.into()));
    let tokens = format!("{JANE},jane,7,\"a,b\"\n");
    options.identity.token_file = Some(Reloadable::new(TokenFile::parse(&tokens).unwrap()));
    let (certificate, key) = certificates.issue("front-proxy");
    let certificate = ProxyClientCertificate::from_pem(&certificate, &key).unwrap();
    options.aggregation.client_certificate = Some(Reloadable::new(certificate));
    options
}

async fn start(options: ServerOptions) -> Arc<Server> {
    let server = Server::with_options(Arc::new(MemoryStore::new()), options).await.unwrap();
    server.start_controllers();
    server
}

async fn send(
    server: &Arc<Server>,
    token: &str,
    method: Method,
    path: &str,
    accept: &str,
    body: &str,
) -> Response {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"))
        .header("accept", accept)
        .header("content-type", "application/json")
        .header("x-remote-user", "root")
        .header("x-remote-group", "system:masters")
        .body(RequestBody::from(Bytes::from(body.to_string())))
        .unwrap();
    server.clone().respond(request).await
}

async fn text(response: Response) -> (u16, String) {
    let body = response.body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    (response.code.as_u16(), String::from_utf8_lossy(&body).into_owned())
}

async fn get(server: &Arc<Server>, path: &str) -> (u16, String) {
    text(send(server, ADMIN, Method::GET, path, "application/json", "").await).await
}

async fn document(server: &Arc<Server>, path: &str, accept: &str) -> Value {
    let (code, body) = text(send(server, ADMIN, Method::GET, path, accept, "").await).await;
    assert_eq!(code, 200, "{path}: {body}");
    body.parse().unwrap()
}

async fn create(server: &Arc<Server>, path: &str, body: &str) {
    let (code, answer) = text(send(server, ADMIN, Method::POST, path, "application/json", body).await).await;
    assert_eq!(code, 201, "{path}: {answer}");
}

/// Gives jane the role `ext`.
async fn bind_to_jane(server: &Arc<Server>) {
    create(
        server,
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        r#"{"metadata":{"name":"ext"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"ext"},
            "subjects":[{"kind":"User","name":"jane","apiGroup":"rbac.authorization.k8s.io"}]}"#,
    )
    .await;
}

/// Waits until something is so.
async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

/// Registers an extension server behind an external name.
async fn register(server: &Arc<Server>, address: SocketAddr, ca_bundle: &str) {
    let service = r#"{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}"#;
    create(server, "/api/v1/namespaces/default/services", service).await;
    create(server, API_SERVICES, &api_service(address.port(), &format!(r#""caBundle":"{ca_bundle}""#))).await;
}

fn api_service(port: u16, trust: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"v1.ext.example.com"}},"spec":{{"group":"ext.example.com","version":"v1",{trust},
            "groupPriorityMinimum":17300,"versionPriority":15,"service":{{"namespace":"default","name":"ext","port":{port}}}}}}}"#
    )
}

/// Returns the status and the reason of the condition of the extension server.
async fn condition(server: &Arc<Server>) -> (String, String) {
    let (_, body) = get(server, &format!("{API_SERVICES}/v1.ext.example.com")).await;
    let object: Value = body.parse().unwrap();
    let condition =
        object.at(["status", "conditions"]).and_then(Value::as_array).and_then(|list| list.iter().next());
    let text = |name: &str| {
        condition
            .and_then(|condition| condition.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    (text("status"), text("reason"))
}

async fn until_condition(server: &Arc<Server>, status: &str, reason: &str) {
    until(&format!("the condition is {status} {reason}"), || async {
        condition(server).await == (status.to_string(), reason.to_string())
    })
    .await;
}

async fn aggregated(is_modern: bool) -> Arc<Server> {
    let certificates = Certificates::new();
    let (address, ca_bundle) = extension(&certificates, is_modern).await;
    let server = start(options(&certificates)).await;
    register(&server, address, &ca_bundle).await;
    until_condition(&server, "True", "Passed").await;
    until("discovery is read", || async {
        let list = document(&server, "/apis", AGGREGATED).await;
        version(&list).and_then(|version| version.get("freshness").cloned()) == Some("Current".into())
    })
    .await;
    server
}

/// Returns the version of the extension server in aggregated discovery.
fn version(list: &Value) -> Option<Value> {
    let items = list.get("items")?.as_array()?;
    let group = items.iter().find(|item| item.at(["metadata", "name"]) == Some(&"ext.example.com".into()))?;
    group.get("versions")?.as_array()?.iter().next().cloned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_reach_the_extension_server_as_the_user_that_made_them() {
    let server = aggregated(true).await;
    create(
        &server,
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        r#"{"metadata":{"name":"ext"},"rules":[{"apiGroups":["ext.example.com"],"resources":["*"],"verbs":["*"]}]}"#,
    )
    .await;
    let denied = send(&server, JANE, Method::POST, &format!("{GROUP}/echo"), "*/*", "hello").await;
    assert_eq!(denied.code, 403, "this server authorizes first");
    bind_to_jane(&server).await;
    let response = send(&server, JANE, Method::POST, &format!("{GROUP}/echo?a=%2F&b"), "*/*", "hello").await;
    let (code, body) = text(response).await;
    assert_eq!(code, 200, "{body}");
    let echo: Value = body.parse().unwrap();
    assert_eq!(echo.get("method"), Some(&"POST".into()));
    assert_eq!(echo.get("uri"), Some(&format!("{GROUP}/echo?a=%2F&b").into()));
    assert_eq!(echo.get("body"), Some(&"hello".into()));
    let headers = echo.get("headers").and_then(Value::as_array).unwrap().iter().filter_map(Value::as_str);
    let mut identity: Vec<&str> = headers.clone().filter(|header| header.starts_with("x-remote-")).collect();
    identity.sort_unstable();
    let groups = ["x-remote-group: a", "x-remote-group: b", "x-remote-group: system:authenticated"];
    let expected: Vec<&str> = groups.into_iter().chain(["x-remote-uid: 7", "x-remote-user: jane"]).collect();
    assert_eq!(identity, expected);
    assert!(
        !headers.clone().any(|header| header.starts_with("authorization")),
        "credentials are not passed on"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_of_some_fields_does_not_reach_the_extension_server() {
    let server = aggregated(true).await;
    create(
        &server,
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        r#"{"metadata":{"name":"ext","annotations":{"tenure.dev/field-rules":"[{apiGroups: [ext.example.com], resources: ['*'], fields: [.spec.size]}]"}},
            "rules":[{"apiGroups":["ext.example.com"],"resources":["*"],"verbs":["*"]}]}"#,
    )
    .await;
    bind_to_jane(&server).await;
    let path = format!("{GROUP}/echo");
    let (code, answer) = text(send(&server, JANE, Method::POST, &path, "*/*", "{}").await).await;
    assert!(code == 403 && answer.contains("limited to fields .spec.size"), "{code} {answer}");
    let (code, answer) = text(send(&server, JANE, Method::GET, &path, "*/*", "").await).await;
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_extension_server_does_wrong_does_not_pass() {
    let server = aggregated(true).await;
    for (path, code, why) in [
        ("/redirect", 502, "the backend attempted to redirect this request, which is not permitted\n"),
        ("/never?timeout=1s", 504, "unable to return a response in the time allotted"),
        ("/things/../../../../api/v1/secrets", 404, "404 page not found\n"),
        ("/things/%2e%2e/x", 404, "404 page not found\n"),
    ] {
        let (got, body) = get(&server, &format!("{GROUP}{path}")).await;
        assert!(got == code && body.contains(why), "{path}: {got} {body}");
    }
    // A response that does not end, or ends early, is not taken for a whole one.
    for path in ["/endless?timeout=1s", "/broken"] {
        let response = send(&server, ADMIN, Method::GET, &format!("{GROUP}{path}"), "*/*", "").await;
        assert_eq!(response.code, 200, "{path}");
        assert!(response.body.collect().await.is_err(), "{path}");
    }
    assert_eq!(get(&server, "/readyz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_is_streamed() {
    let server = aggregated(true).await;
    let path = format!("{GROUP}/namespaces/default/things?watch=1");
    let mut response = send(&server, ADMIN, Method::GET, &path, "application/json", "").await;
    let frame = response.body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(frame, "{\"type\":\"ADDED\"}\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_can_change_its_protocol() {
    let server = aggregated(true).await;
    let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, None, server.clone(), std::future::pending()));
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET {GROUP}/upgrade HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(client.read_u8().await.unwrap());
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101") && answer.contains("upgrade: echo"), "{answer}");
    client.write_all(b"ping").await.unwrap();
    let mut four = [0; 4];
    client.read_exact(&mut four).await.unwrap();
    assert_eq!(&four, b"ping");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discovery_and_openapi_are_merged_by_priority() {
    for is_modern in [true, false] {
        let server = aggregated(is_modern).await;
        let list = document(&server, "/apis", AGGREGATED).await;
        let names = |list: &Value, items: &str, at: &[&str]| -> Vec<String> {
            let items = list.get(items).and_then(Value::as_array).unwrap().iter();
            items.filter_map(|item| item.at(at.iter().copied())?.as_str().map(String::from)).collect()
        };
        let groups = names(&list, "items", &["metadata", "name"]);
        assert_eq!(groups, names(&document(&server, "/apis", "application/json").await, "groups", &["name"]));
        let place =
            |name: &str| groups.iter().position(|group| group == name).unwrap_or_else(|| panic!("{name}"));
        // 17300 is the priority of certificates.k8s.io, which comes first by its name.
        assert_eq!(place("ext.example.com"), place("certificates.k8s.io") + 1, "{groups:?}");
        let mut found = version(&list).unwrap();
        let resource =
            found.get("resources").and_then(Value::as_array).and_then(|list| list.iter().next()).cloned();
        assert_eq!(
            resource.and_then(|resource| resource.get("resource").cloned()),
            Some("things".into()),
            "{found}"
        );
        found = document(&server, GROUP, "application/json").await;
        assert_eq!(found.get("groupVersion"), Some(&"ext.example.com/v1".into()));
        found = document(&server, "/apis/ext.example.com", "application/json").await;
        assert_eq!(found.at(["preferredVersion", "version"]), Some(&"v1".into()));

        until("OpenAPI is merged", || async {
            document(&server, "/openapi/v3", "application/json")
                .await
                .at(["paths", "apis/ext.example.com/v1"])
                .is_some()
        })
        .await;
        let index = document(&server, "/openapi/v3", "application/json").await;
        assert_ne!(index.at(["paths", "apis/apps/v1", "serverRelativeURL"]), Some(&"/evil".into()));
        let own = document(&server, "/openapi/v3/apis/ext.example.com/v1", "application/json").await;
        assert_eq!(own.get("openapi"), Some(&"3.0.0".into()));
        assert_eq!(own.get("from").is_some(), is_modern, "{own}");
        let merged = document(&server, "/openapi/v2", "application/json").await;
        assert!(merged.at(["paths", "/apis/ext.example.com/v1/things"]).is_some());
        assert!(merged.at(["definitions", "Thing"]).is_some());
        assert!(merged.at(["paths", "/apis/apps/v1/namespaces/{namespace}/deployments"]).is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_fails_its_checks_is_discovered() {
    let certificates = Certificates::new();
    let (address, ca_bundle) = extension(&certificates, true).await;
    let server = start(options(&certificates)).await;
    create(
        &server,
        "/api/v1/namespaces/default/services",
        r#"{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}"#,
    )
    .await;
    // The server has this version in its document, but does not answer the check of availability.
    let service = api_service(address.port(), &format!(r#""caBundle":"{ca_bundle}""#));
    create(&server, API_SERVICES, &service.replace(r#"v1.ext"#, "v2.ext").replace(r#":"v1""#, r#":"v2""#))
        .await;
    let expected: Value = r#"{"version":"v2","resources":[],"freshness":"Current"}"#.parse().unwrap();
    until("discovery is read", || async {
        version(&document(&server, "/apis", AGGREGATED).await) == Some(expected.clone())
    })
    .await;
    let object = document(&server, &format!("{API_SERVICES}/v2.ext.example.com"), "application/json").await;
    let condition =
        object.at(["status", "conditions"]).and_then(Value::as_array).and_then(|list| list.iter().next());
    assert_eq!(condition.and_then(|condition| condition.get("reason")), Some(&"FailedDiscoveryCheck".into()));
    assert_eq!(get(&server, "/apis/ext.example.com/v2/things").await.0, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_say_why_a_server_is_unavailable() {
    let certificates = Certificates::new();
    let (address, ca_bundle) = extension(&certificates, true).await;
    let server = start(options(&certificates)).await;
    create(&server, API_SERVICES, &api_service(address.port(), &format!(r#""caBundle":"{ca_bundle}""#)))
        .await;
    until_condition(&server, "False", "ServiceNotFound").await;
    assert_eq!(get(&server, &format!("{GROUP}/echo")).await, (503, "service unavailable\n".to_string()));
    let stale = document(&server, "/apis", AGGREGATED).await;
    assert_eq!(version(&stale), Some(r#"{"version":"v1","freshness":"Stale"}"#.parse().unwrap()));
    let services = "/api/v1/namespaces/default/services";
    create(&server, services, r#"{"metadata":{"name":"ext"},"spec":{"ports":[{"port":1}]}}"#).await;
    until_condition(&server, "False", "ServicePortError").await;
    let patch = |path: String, body: String| {
        let server = server.clone();
        async move {
            let request = Request::builder()
                .method("PATCH")
                .uri(path)
                .header("host", "localhost")
                .header("authorization", format!("Bearer {ADMIN}"))
                .header("content-type", "application/merge-patch+json")
                .body(RequestBody::from(Bytes::from(body)))
                .unwrap();
            let (code, answer) = text(server.respond(request).await).await;
            assert_eq!(code, 200, "{answer}");
        }
    };
    let port = address.port();
    patch(format!("{services}/ext"), format!(r#"{{"spec":{{"ports":[{{"name":"web","port":{port}}}]}}}}"#))
        .await;
    until_condition(&server, "False", "EndpointsNotFound").await;
    create(
        &server,
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        r#"{"metadata":{"name":"ext-1","labels":{"kubernetes.io/service-name":"ext"}},"addressType":"IPv4",
            "ports":[{"name":"other","port":1}],"endpoints":[{"addresses":["10.0.0.1"]}]}"#,
    )
    .await;
    until_condition(&server, "False", "MissingEndpoints").await;
    // The name of a host that is not an endpoint.
    patch(
        format!("{services}/ext"),
        r#"{"spec":{"type":"ExternalName","externalName":"localhost","clusterIP":null,"clusterIPs":null,"ports":null}}"#.into(),
    )
    .await;
    until_condition(&server, "True", "Passed").await;
    // Requests follow the condition.
    until("the server is reached", || async { get(&server, GROUP).await.0 == 200 }).await;
    // Another certificate than that which is trusted.
    let other = rcgen::generate_simple_self_signed(vec!["ext.default.svc".to_string()]).unwrap();
    let other = base64::encode(other.cert.pem());
    patch(format!("{API_SERVICES}/v1.ext.example.com"), format!(r#"{{"spec":{{"caBundle":"{other}"}}}}"#))
        .await;
    until_condition(&server, "False", "FailedDiscoveryCheck").await;
    let insecure = r#"{"spec":{"caBundle":null,"insecureSkipTLSVerify":true}}"#;
    patch(format!("{API_SERVICES}/v1.ext.example.com"), insecure.into()).await;
    until_condition(&server, "True", "Passed").await;
    send(&server, ADMIN, Method::DELETE, &format!("{API_SERVICES}/v1.ext.example.com"), "*/*", "").await;
    until("the group is gone", || async { get(&server, GROUP).await.0 == 404 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_serves_is_registered() {
    let certificates = Certificates::new();
    let mut options = options(&certificates);
    options.aggregation.registers = true;
    let authentication = ClusterAuthentication {
        headers: RequestHeaderNames {
            username: vec!["X-Remote-User".into()],
            ..RequestHeaderNames::default()
        },
        ..ClusterAuthentication::default()
    };
    authentication.request_header_ca.set(certificates.issuer.pem());
    options.aggregation.authentication = Some(authentication);
    let before = {
        let plain =
            Server::open(Arc::new(MemoryStore::new()), Administrator::Token(ADMIN.into())).await.unwrap();
        document(&plain, "/apis", AGGREGATED).await
    };
    let server = start(options).await;
    let service = |name: &str| {
        let (server, path) = (server.clone(), format!("{API_SERVICES}/{name}"));
        async move {
            let (_, body) = get(&server, &path).await;
            let object: Value = body.parse().unwrap();
            let text =
                |at: &[&str]| object.at(at.iter().copied()).map(ToString::to_string).unwrap_or_default();
            let label = text(&["metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"]);
            let condition = object
                .at(["status", "conditions"])
                .and_then(Value::as_array)
                .and_then(|list| list.iter().next());
            let reason = condition
                .and_then(|condition| condition.get("reason"))
                .and_then(Value::as_str)
                .unwrap_or_default();
            format!(
                "{label} {} {} {reason}",
                text(&["spec", "groupPriorityMinimum"]),
                text(&["spec", "versionPriority"])
            )
        }
    };
    for (name, expected) in
        [("v1.", r#""onstart" 18000 1 Local"#), ("v1.apps", r#""onstart" 17800 15 Local"#)]
    {
        until(name, || async { service(name).await == expected }).await;
    }
    assert_eq!(document(&server, "/apis", AGGREGATED).await, before, "registrations do not change the order");
    let definition = r#"{"metadata":{"name":"foos.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
        "names":{"plural":"foos","kind":"Foo"},"versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(&server, definitions, definition).await;
    until("the custom group is registered", || async {
        service("v1.example.com").await == r#""true" 1000 100 Local"#
    })
    .await;
    send(&server, ADMIN, Method::DELETE, &format!("{definitions}/foos.example.com"), "*/*", "").await;
    until("the registration is gone", || async {
        get(&server, &format!("{API_SERVICES}/v1.example.com")).await.0 == 404
    })
    .await;
    let map = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    until("the authorities are published", || async { get(&server, map).await.0 == 200 }).await;
    let map = document(&server, map, "application/json").await;
    assert_eq!(map.at(["data", "requestheader-username-headers"]), Some(&r#"["X-Remote-User"]"#.into()));
    // A changed priority changes the order.
    let patched = Request::builder()
        .method("PATCH")
        .uri(format!("{API_SERVICES}/v1.policy"))
        .header("host", "localhost")
        .header("authorization", format!("Bearer {ADMIN}"))
        .header("content-type", "application/merge-patch+json")
        .body(RequestBody::from(Bytes::from(r#"{"spec":{"groupPriorityMinimum":19000}}"#)))
        .unwrap();
    assert_eq!(server.clone().respond(patched).await.code, 200);
    until("policy is the second group", || async {
        let list = document(&server, "/apis", "application/json").await;
        let groups = list.get("groups").and_then(Value::as_array).unwrap();
        groups.get(1).and_then(|group| group.get("name").cloned()) == Some("policy".into())
    })
    .await;
}

#[tokio::test]
async fn a_front_proxy_names_the_user() {
    let certificates = Certificates::new();
    let mut options = options(&certificates);
    let list = |name: &str| vec![name.to_string()];
    options.identity.request_headers = RequestHeaderNames {
        username: list("X-Remote-User"),
        group: list("X-Remote-Group"),
        extra_prefix: list("X-Remote-Extra-"),
        uid: list("X-Remote-Uid"),
    };
    let server = Server::with_options(Arc::new(MemoryStore::new()), options).await.unwrap();
    let whoami = |proxy: Option<FrontProxy>, certificate: Option<ClientCertificate>, user: &'static str| {
        let server = server.clone();
        async move {
            let mut request = Request::builder()
                .method("POST")
                .uri("/apis/authentication.k8s.io/v1/selfsubjectreviews")
                .header("host", "localhost")
                .header("content-type", "application/json")
                .header("x-remote-group", "admins")
                .header("x-remote-extra-scopes", "one");
            if !user.is_empty() {
                request = request.header("x-remote-user", user);
            }
            let body = r#"{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}"#;
            let mut request = request.body(RequestBody::from(Bytes::from(body))).unwrap();
            proxy.map(|proxy| request.extensions_mut().insert(proxy));
            certificate.map(|certificate| request.extensions_mut().insert(certificate));
            let (_, body) = text(server.respond(request).await).await;
            let review: Value = body.parse().unwrap();
            review
                .at(["status", "userInfo"])
                .cloned()
                .unwrap_or_else(|| review.get("code").cloned().unwrap_or_default())
        }
    };
    let jane = r#"{"username":"jane","groups":["admins","system:authenticated"],"extra":{"scopes":["one"]}}"#;
    let proxy = FrontProxy { expires: None };
    let user = |name: &str| {
        let user = Arc::new(UserInfo::new(Text::new(name)).authenticated());
        ClientCertificate::User { user, expires: None }
    };
    assert_eq!(whoami(Some(proxy), None, "jane").await, jane.parse::<Value>().unwrap());
    assert_eq!(whoami(Some(proxy), Some(user("bob")), "jane").await, jane.parse::<Value>().unwrap());
    let name = |value: Value| value.get("username").cloned();
    assert_eq!(name(whoami(Some(proxy), Some(user("bob")), "").await), Some("bob".into()));
    assert_eq!(
        whoami(
            Some(FrontProxy { expires: Some(1) }),
            Some(ClientCertificate::Invalid("expired".into())),
            "jane"
        )
        .await,
        401.into()
    );
    assert_eq!(
        name(whoami(None, Some(user("bob")), "jane").await),
        Some("bob".into()),
        "headers of others do not count"
    );
}

#[test]
fn only_certificates_of_allowed_names_are_front_proxies() {
    use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let authorities = ClientAuthorities::with_front_proxies(
        Some(&others.issuer.pem()),
        &certificates.issuer.pem(),
        &["front-proxy".to_string()],
    )
    .unwrap();
    for (pem, is_proxy, is_user) in [
        (certificates.issue("front-proxy").0, true, false),
        (certificates.issue("other").0, false, false),
        (others.issue("front-proxy").0, false, true),
    ] {
        let chain = [CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
        assert_eq!(authorities.front_proxy(Some(&chain)).is_some(), is_proxy);
        let found = authorities.identify(Some(&chain));
        assert_eq!(matches!(found, Some(ClientCertificate::User { .. })), is_user, "{found:?}");
    }
}

#[tokio::test]
async fn a_version_of_a_built_in_group_has_its_built_in_resources_alone() {
    let server =
        Server::open(Arc::new(MemoryStore::new()), Administrator::Token(ADMIN.into())).await.unwrap();
    let version = |name: &str, storage: bool| {
        format!(
            r#"{{"name":"{name}","served":true,"storage":{storage},"schema":{{"openAPIV3Schema":{{"type":"object"}}}}}}"#
        )
    };
    let definition = format!(
        r#"{{"metadata":{{"name":"bars.apps.k8s.io","annotations":{{"api-approved.kubernetes.io":"unapproved"}}}},"spec":{{
            "group":"apps.k8s.io","scope":"Namespaced","names":{{"plural":"bars","kind":"Bar"}},"versions":[{},{}]}}}}"#,
        version("v1", true),
        version("vfake", false)
    )
    .replace("apps.k8s.io", "storage.k8s.io");
    create(&server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    let names = |list: Value| {
        let resources = list.get("resources").and_then(Value::as_array).unwrap().clone();
        resources
            .iter()
            .filter_map(|resource| resource.get("name")?.as_str().map(String::from))
            .collect::<Vec<_>>()
    };
    let builtin = names(document(&server, "/apis/storage.k8s.io/v1", "application/json").await);
    assert!(
        builtin.contains(&"csinodes".to_string()) && !builtin.contains(&"bars".to_string()),
        "{builtin:?}"
    );
    let custom = names(document(&server, "/apis/storage.k8s.io/vfake", "application/json").await);
    assert_eq!(custom, ["bars"]);
    assert_eq!(get(&server, "/apis/storage.k8s.io/v1/namespaces/default/bars").await.0, 404);
}
