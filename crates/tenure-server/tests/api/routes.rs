//! Which paths exist, and which methods they allow, as recorded from a kube-apiserver.

use crate::{http::Request, server::Server};

#[test]
fn paths_without_a_verb_do_not_exist_and_others_allow_their_methods() {
    let server = Server::start();
    let rows = [
        ("HEAD", "/api/v1/namespaces/default/configmaps", 405),
        ("HEAD", "/api/v1/namespaces/default/configmaps/a", 405),
        ("HEAD", "/apis/apps/v1/deployments", 405),
        ("HEAD", "/healthz", 200),
        ("HEAD", "/apis", 200),
        ("POST", "/", 200),
        ("POST", "/healthz", 200),
        ("PATCH", "/readyz/ping", 200),
        ("DELETE", "/openapi/v2", 200),
        ("PUT", "/openapi/v3", 200),
        ("POST", "/nothing", 404),
        ("POST", "/version", 405),
        ("POST", "/.well-known/openid-configuration", 405),
        ("POST", "/version/x", 404),
        ("POST", "/openid/v1/jwks", 405),
        ("POST", "/apis", 200),
        ("PUT", "/apis/apps", 200),
        ("PUT", "/apis/nothing", 404),
        ("PUT", "/apis/apps/v1", 405),
        ("PUT", "/apis/apps/v9", 404),
        ("PUT", "/apis/apiregistration.k8s.io", 405),
        ("PUT", "/api", 405),
        ("PUT", "/api/v1", 405),
        ("GET", "/api/v1/namespaces/default/bindings", 405),
        ("GET", "/api/v1/namespaces/default/bindings/a", 404),
        ("PUT", "/api/v1/namespaces/default/bindings/a", 404),
        ("DELETE", "/api/v1/namespaces/default/bindings/a", 404),
        ("GET", "/api/v1/watch/namespaces/default/bindings", 404),
        ("GET", "/api/v1/bindings", 404),
        ("POST", "/api/v1/bindings", 404),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews", 405),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews/a", 404),
        ("DELETE", "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews/a", 404),
        ("POST", "/api/v1/namespaces/default/configmaps/a", 405),
        ("PUT", "/api/v1/namespaces/default/configmaps", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("PUT", "/api/v1/componentstatuses/a", 405),
        ("POST", "/api/v1/componentstatuses", 405),
        ("GET", "/api/v1/namespaces/default/pods/a/binding", 405),
        ("POST", "/api/v1/namespaces/default/pods/a/status", 405),
    ];
    for (method, path, expected) in rows {
        assert_eq!(server.send(&Request::new(method, path)).code, expected, "{method} {path}");
    }
}
