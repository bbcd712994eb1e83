//! Credentials that expire or are revoked: requests are refused from then on, and watches that were opened with them end. Verified
//! tokens are cached, which must not prolong any of them.

use crate::{
    http::{Request, Response},
    issuer::{Key, TestIssuer},
    server::Server,
    stream::Stream,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tenure_authentication::{
    credentials::{SigningKey, TokenFile},
    oidc::{ALGORITHMS, AnonymousConfig, AuthenticationConfiguration, JwtAuthenticators},
};
use tenure_http::Administrator;
use tenure_server::{Clock, ServerOptions, TokenKeys};
use tenure_transport::Reloadable;
use tenure_value::Value;

const ADMIN: &str = "an-administrators-token";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

fn options() -> ServerOptions {
    ServerOptions::new(Administrator::Token(ADMIN.into()))
}

fn send(server: &Server, token: &str, method: &str, path: &str, body: &str) -> Response {
    let request = Request::new(method, path).header("Authorization", &format!("Bearer {token}"));
    server.send(&if body.is_empty() { request } else { request.body("application/json", body) })
}

#[track_caller]
fn admin(server: &Server, method: &str, path: &str, body: &str) -> Value {
    let response = send(server, ADMIN, method, path, body);
    assert!(response.code < 300, "{method} {path}: {}", response.text());
    response.document()
}

/// Lets every authenticated user read.
fn let_read(server: &Server) {
    let binding = r#"{"metadata":{"name":"read"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
        "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]}"#;
    admin(server, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding);
}

/// Creates a service account with a secret, and returns a token that is bound to the secret.
fn bound_token(server: &Server) -> String {
    admin(server, "POST", ACCOUNTS, r#"{"metadata":{"name":"robot"}}"#);
    admin(server, "POST", SECRETS, r#"{"metadata":{"name":"bound"}}"#);
    token(server, r#"{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"bound"}}"#)
}

fn token(server: &Server, spec: &str) -> String {
    let body = format!(r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{spec}}}"#);
    let response = admin(server, "POST", &format!("{ACCOUNTS}/robot/token"), &body);
    response.at(["status", "token"]).and_then(Value::as_str).expect("a token").to_owned()
}

fn code(server: &Server, token: &str) -> u16 {
    send(server, token, "GET", CONFIG_MAPS, "").code
}

fn watch(server: &Server, token: &str) -> Stream {
    Stream::open_as(server.address, &format!("{CONFIG_MAPS}?watch=true"), token).expect("a watch")
}

/// Checks that a watch ends, which takes a few seconds at most; without the end of its credential it would last half an hour.
#[track_caller]
fn expect_end(mut stream: Stream) {
    let start = Instant::now();
    while stream.next_change().is_some() {}
    assert!(start.elapsed() < Duration::from_secs(25), "the watch lasts");
}

#[test]
fn a_service_account_token_ends_with_its_bound_object_and_its_account() {
    let server = Server::configured(options());
    let_read(&server);
    let bound = bound_token(&server);
    let free = token(&server, "{}");
    assert_eq!((code(&server, &bound), code(&server, &bound), code(&server, &free)), (200, 200, 200));
    let (of_bound, of_free, of_admin) =
        (watch(&server, &bound), watch(&server, &free), watch(&server, ADMIN));
    admin(&server, "DELETE", &format!("{SECRETS}/bound"), "");
    assert_eq!((code(&server, &bound), code(&server, &free)), (401, 200), "at once, although it was cached");
    expect_end(of_bound);
    admin(&server, "DELETE", &format!("{ACCOUNTS}/robot"), "");
    assert_eq!(code(&server, &free), 401);
    expect_end(of_free);
    // A new account of the same name does not make old tokens valid.
    admin(&server, "POST", ACCOUNTS, r#"{"metadata":{"name":"robot"}}"#);
    assert_eq!(code(&server, &free), 401);
    let mut of_admin = of_admin;
    admin(&server, "POST", CONFIG_MAPS, r#"{"metadata":{"name":"last"}}"#);
    while of_admin.next_change().expect("the administrator's watch lasts").1.at(["metadata", "name"])
        != Some(&Value::from("last"))
    {}
}

#[test]
fn a_service_account_token_expires_a_minute_after_its_time() {
    let offset = Arc::new(AtomicI64::new(0));
    let (shift, system) = (offset.clone(), Clock::default());
    let mut options = options();
    options.clock = Clock::new(move || {
        let mut now = system.now();
        now.seconds += shift.load(SeqCst);
        now
    });
    let server = Server::configured(options);
    let_read(&server);
    bound_token(&server);
    let short = token(&server, r#"{"expirationSeconds":600}"#);
    let stream = watch(&server, &short);
    for (seconds, expected) in [(0, 200), (590, 200), (650, 200), (670, 401)] {
        offset.store(seconds, SeqCst);
        assert_eq!(code(&server, &short), expected, "{seconds}");
    }
    expect_end(stream);
}

#[test]
fn keys_and_token_files_rotate_without_a_restart() {
    let key = || Some(Arc::new(SigningKey::generate().unwrap().0));
    let first = key();
    let mut options = options();
    let keys = Reloadable::new(TokenKeys { signing: first.clone(), verifying: Vec::new() });
    options.identity.tokens.keys = keys.clone();
    let file = |text: &str| TokenFile::parse(text).unwrap();
    let tokens = Reloadable::new(file("static-token-of-ann,ann,1\n"));
    options.identity.token_file = Some(tokens.clone());
    let server = Server::configured(options);
    let_read(&server);

    let old = bound_token(&server);
    assert_eq!(code(&server, &old), 200);
    // The new key signs, the old one still verifies.
    let verifying = first.iter().map(|key| key.verifying_key().clone()).collect();
    keys.set(TokenKeys { signing: key(), verifying });
    let new = token(&server, "{}");
    assert_eq!((code(&server, &old), code(&server, &new)), (200, 200));
    let published = admin(&server, "GET", "/openid/v1/jwks", "");
    assert_eq!(published.get("keys").and_then(Value::as_array).map(|keys| keys.len()), Some(2));
    let (of_old, of_new) = (watch(&server, &old), watch(&server, &new));
    let signing = keys.get().signing.clone();
    keys.set(TokenKeys { signing, verifying: Vec::new() });
    assert_eq!((code(&server, &old), code(&server, &new)), (401, 200), "at once, although it was cached");
    expect_end(of_old);
    drop(of_new);

    let stream = watch(&server, "static-token-of-ann");
    tokens.set(file("static-token-of-bob,bob,2\n"));
    assert_eq!((code(&server, "static-token-of-ann"), code(&server, "static-token-of-bob")), (401, 200));
    expect_end(stream);
}

#[test]
fn bootstrap_tokens_are_accepted_until_their_secret_is_deleted() {
    const TOKEN: &str = "abcdef.0123456789abcdef";
    const BOOTSTRAP_SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
    let secret = r#"{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":{"token-id":"abcdef",
        "token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true","auth-extra-groups":"system:bootstrappers:workers"}}"#;
    for is_enabled in [false, true] {
        let mut options = options();
        options.identity.bootstrap_tokens = is_enabled;
        let server = Server::configured(options);
        let_read(&server);
        assert_eq!(code(&server, TOKEN), 401, "there is no secret yet");
        admin(&server, "POST", BOOTSTRAP_SECRETS, secret);
        if !is_enabled {
            assert_eq!(code(&server, TOKEN), 401, "not enabled");
            continue;
        }
        let user = send(&server, TOKEN, "POST", WHO_AM_I, "{}").document();
        let user = user.at(["status", "userInfo"]).unwrap().to_string();
        assert_eq!(
            user,
            r#"{"groups":["system:bootstrappers","system:bootstrappers:workers","system:authenticated"],"username":"system:bootstrap:abcdef"}"#
        );
        let review = format!(r#"{{"spec":{{"token":"{TOKEN}"}}}}"#);
        let review = admin(&server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", &review);
        assert_eq!(review.at(["status", "authenticated"]), Some(&Value::Bool(true)), "{review}");
        assert_eq!(code(&server, "abcdef.0123456789abcdeg"), 401);
        let stream = watch(&server, TOKEN);
        admin(&server, "DELETE", &format!("{BOOTSTRAP_SECRETS}/bootstrap-token-abcdef"), "");
        assert_eq!(code(&server, TOKEN), 401, "at once");
        expect_end(stream);
    }
}

#[test]
fn tokens_of_an_external_issuer_are_accepted_until_it_is_not_trusted_any_more() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let key = Key::p256();
    let (issuer, authenticators) = runtime.block_on(async {
        let issuer = TestIssuer::start().await;
        issuer.state().keys = vec![key.jwk("a")];
        let text = format!(
            "{{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, jwt: [{{issuer: {{url: '{}', audiences: [tenure], certificateAuthority: {:?}}}, \
             claimMappings: {{username: {{claim: sub, prefix: 'oidc:'}}, groups: {{claim: groups, prefix: ''}}}}}}]}}",
            issuer.url, issuer.authority
        );
        let config = AuthenticationConfiguration::parse(&text).unwrap();
        let algorithms = ALGORITHMS.map(String::from);
        let authenticators = JwtAuthenticators::start(&config, &algorithms, &[]).unwrap();
        authenticators.ready(Duration::from_secs(20)).await.unwrap();
        (issuer, authenticators)
    });
    let jwt = Reloadable::new(authenticators);
    let mut options = options();
    options.identity.jwt = Some(jwt.clone());
    options.identity.anonymous = AnonymousConfig { enabled: true, paths: vec!["/version".into()] };
    let server = Server::configured(options);
    let_read(&server);
    let now = Clock::default().now().seconds;
    let signed = |name: &str, audience: &str, end: i64| {
        let claims = format!(
            r#"{{"iss":"{}","aud":"{audience}","exp":{end},"sub":"{name}","groups":["devs"]}}"#,
            issuer.url
        );
        key.token("ES256", "a", &claims)
    };
    let good = signed("ann", "tenure", now + 600);
    for _ in 0..2 {
        let review = send(&server, &good, "POST", WHO_AM_I, "{}").document();
        assert_eq!(review.at(["status", "userInfo", "username"]), Some(&Value::from("oidc:ann")));
        assert_eq!(
            review.at(["status", "userInfo", "groups"]).map(Value::to_string).as_deref(),
            Some(r#"["devs","system:authenticated"]"#)
        );
    }
    let review = |token: &str, audiences: &str| {
        let body = format!(r#"{{"spec":{{"token":"{token}","audiences":{audiences}}}}}"#);
        admin(&server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", &body)
            .get("status")
            .cloned()
            .unwrap()
    };
    assert_eq!(review(&good, "[]").get("authenticated"), Some(&Value::Bool(true)));
    assert_eq!(review(&good, r#"["other"]"#).get("authenticated"), None);
    assert_eq!(review(ADMIN, r#"["other"]"#).get("authenticated"), None, "nor is that of the administrator");
    let wrong = signed("ann", "other", now + 600);
    let document = review(&wrong, "[]").get("error").and_then(Value::as_str).unwrap_or_default().to_string();
    assert!(
        document.starts_with("[invalid bearer token, oidc: verify token: oidc: expected audience"),
        "{document}"
    );
    assert_eq!(code(&server, &wrong), 401);
    assert_eq!(code(&server, &signed("ann", "tenure", now - 5)), 401);
    // Requests without credentials are served for the given paths only.
    assert_eq!(
        (server.get("/version").code, server.get("/api").code, server.get("/livez").code),
        (200, 401, 401)
    );

    let ending = signed("ann", "tenure", Clock::default().now().seconds + 2);
    expect_end(watch(&server, &ending));
    let stream = watch(&server, &good);
    jwt.set(JwtAuthenticators::default());
    assert_eq!(code(&server, &good), 401, "at once, although it was cached");
    expect_end(stream);
}

#[test]
fn a_token_request_names_its_account_and_is_shortened() {
    let mut options = options();
    options.identity.tokens.longest_seconds = Some(7200);
    options.identity.tokens.jwks_uri = Some("https://keys.example.com/jwks".into());
    let server = Server::configured(options);
    bound_token(&server);
    let uid = admin(&server, "GET", &format!("{ACCOUNTS}/robot"), "");
    let uid = uid.at(["metadata", "uid"]).and_then(Value::as_str).expect("a uid").to_string();
    let ask = |metadata: &str, spec: &str| {
        let body = format!(
            r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{metadata},"spec":{spec}}}"#
        );
        send(&server, ADMIN, "POST", &format!("{ACCOUNTS}/robot/token"), &body)
    };
    for (metadata, code, why) in [
        (r#"{"name":"robot","namespace":"default"}"#.to_string(), 201, ""),
        (format!(r#"{{"uid":"{uid}"}}"#), 201, ""),
        (r#"{"name":"other"}"#.into(), 422, "must match the service account name if specified"),
        (r#"{"namespace":"other"}"#.into(), 400, "does not match the namespace"),
        (
            r#"{"uid":"wrong"}"#.into(),
            409,
            "the UID in the token request (wrong) does not match the UID of the service account (",
        ),
    ] {
        let response = ask(&metadata, "{}");
        assert_eq!(response.code, code, "{metadata}: {}", response.text());
        assert!(response.text().contains(why), "{metadata}: {}", response.text());
    }
    let long = ask("{}", r#"{"expirationSeconds":86400}"#);
    let warning = r#"299 - "requested expiration of 86400 seconds shortened to 7200 seconds""#;
    assert_eq!((long.code, long.header("warning")), (201, Some(warning)));
    assert_eq!(long.document().at(["spec", "expirationSeconds"]), Some(&Value::from(7200)));
    let configuration = admin(&server, "GET", "/.well-known/openid-configuration", "");
    assert_eq!(configuration.get("jwks_uri"), Some(&Value::from("https://keys.example.com/jwks")));

    // The node of a pod is named, whether it exists or not.
    let pod = r#"{"metadata":{"name":"p"},"spec":{"serviceAccountName":"robot","nodeName":"gone","containers":[{"name":"c","image":"i"}]}}"#;
    admin(&server, "POST", "/api/v1/namespaces/default/pods", pod);
    let bound = token(&server, r#"{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}"#);
    let user = send(&server, &bound, "POST", WHO_AM_I, "{}").document();
    let extra = user.at(["status", "userInfo", "extra"]).cloned().unwrap_or_default();
    let extra_of =
        |name: &str| extra.get(&format!("authentication.kubernetes.io/{name}")).map(Value::to_string);
    assert_eq!(extra_of("node-name").as_deref(), Some(r#"["gone"]"#));
    assert_eq!((extra_of("node-uid"), extra_of("pod-name").as_deref()), (None, Some(r#"["p"]"#)));
}
