//! Paths outside of resources: the index, the version, health, metrics, discovery and OpenAPI.

use crate::{admission::Admission, statusz};
use hyper::{Method, StatusCode, header};
use tenure_authentication::TokenIssuer;
use tenure_builtin::registry_at;
use tenure_catalog::{
    Catalog,
    discovery::{self, Published, page_not_found},
    history::{History, MayRead},
};
use tenure_http::{
    DiscoveryPath, Metrics, PLAIN, Request, RequestPath, Response,
    health::{self, Check},
};
use tenure_meta::{ApiError, Reason, Registry, Timestamp};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_store::Store;
use tenure_value::Value;

/// The endpoints of health checks.
const HEALTH: [&str; 3] = ["healthz", "livez", "readyz"];
/// Further endpoints whose documents are small.
const SMALL: [&str; 4] = ["version", "statusz", "openid", ".well-known"];
/// The paths that are read with GET and HEAD alone.
const READ_ONLY: [&str; 3] = ["/version", "/openid/v1/jwks", "/.well-known/openid-configuration"];
/// The group of APIServices, which the server answers itself.
const AGGREGATION: &str = "apiregistration.k8s.io";
/// The paths of metrics: those of the server, and those of its health. `DELETE` resets the counters.
const METRICS: [&str; 2] = ["/metrics", "/metrics/slis"];
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The member of the version document that says what is better here than in a kube-apiserver.
const PROFILE_FIELD: &str = "tenure";
/// How many writers and fields are listed by default.
const MOST_WRITERS: usize = 20;

/// Whether a path names a small document, such as that of a health check, which waits for nothing. All others may take long to make.
pub(crate) fn is_small(address: &RequestPath) -> bool {
    let RequestPath::Other(path) = address else { return false };
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    HEALTH.contains(&first) || SMALL.contains(&first)
}

/// Whether a path is answered whatever the method is, as Kubernetes does where it has no routes by method.
fn takes_every_method(address: &RequestPath, version: KubernetesVersion) -> bool {
    match address {
        RequestPath::Other(path) => !READ_ONLY.contains(&path.as_str()) && !path.starts_with("/history/"),
        RequestPath::Discovery(DiscoveryPath::Core) | RequestPath::Resource(_) => false,
        RequestPath::Discovery(DiscoveryPath::Groups) => true,
        RequestPath::Discovery(DiscoveryPath::Group(group)) => *group != AGGREGATION,
        RequestPath::Discovery(DiscoveryPath::Version(group, version_name)) => {
            let builtin = registry_at(version).resources();
            !builtin.iter().any(|known| known.group == *group && known.version == *version_name)
        }
    }
}

/// Answers a request for a path that names no resource.
pub(crate) async fn respond(
    (catalog, published): (&Catalog, &Published<'_>),
    store: &dyn Store,
    (metrics, admission): (&Metrics, &Admission),
    tokens: &TokenIssuer,
    (history, now, may_read): (&History, Timestamp, &MayRead<'_>),
    address: RequestPath,
    request: &Request,
) -> Result<Response, ApiError> {
    let is_reset = request.method == Method::DELETE
        && matches!(&address, RequestPath::Other(path) if METRICS.contains(&path.as_str()));
    let is_read = matches!(request.method, Method::GET | Method::HEAD);
    if !is_read && !takes_every_method(&address, published.kubernetes()) {
        return Err(ApiError::method_not_allowed());
    }
    let path = match address {
        RequestPath::Discovery(which) => return discovery::discovery(published, which, request),
        RequestPath::Other(path) => path,
        RequestPath::Resource(_) => return Err(ApiError::no_such_path()),
    };
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    Ok(match first {
        "" => Response::document(StatusCode::OK, &index(published.registry()), PLAIN),
        "version" if matches!(path.trim_end_matches('/'), "/version") => {
            Response::document(StatusCode::OK, &version(catalog.profile()), PLAIN)
        }
        "livez" | "readyz" | "healthz" => {
            let checks = health_checks(first, store).await;
            let endpoint = HEALTH.into_iter().find(|name| *name == first).unwrap_or_default();
            metrics.health_checks(endpoint, &checks);
            health::answer(&path, &request.query, &checks).unwrap_or_else(page_not_found)
        }
        ".well-known" if path == "/.well-known/openid-configuration" => {
            let host = request.header(header::HOST).unwrap_or("kubernetes.default.svc");
            let document = tokens.configuration(format!("https://{host}/openid/v1/jwks"));
            public_document(&document, "application/json")
        }
        "openid" if path == "/openid/v1/jwks" => {
            let accept = request.header(header::ACCEPT).unwrap_or("*/*");
            if !["application/jwk-set+json", "application/*", "*/*"]
                .iter()
                .any(|media| accept.contains(media))
            {
                return Err(ApiError::new(Reason::NotAcceptable, "only application/jwk-set+json is served"));
            }
            public_document(&tokens.key_set(), "application/jwk-set+json")
        }
        "metrics" if is_reset => {
            match path == METRICS[0] {
                true => {
                    metrics.reset();
                    admission.reset_metrics();
                }
                false => metrics.reset_health(),
            }
            Response::text(StatusCode::OK, "metrics reset\n")
        }
        "metrics" if path == METRICS[0] => {
            history.measure(metrics, now);
            Response::new(StatusCode::OK, METRICS_TYPE, metrics.text() + &admission.metrics())
        }
        "metrics" if path == METRICS[1] => {
            let mut checks = Vec::new();
            for endpoint in HEALTH {
                checks.push((endpoint, health_checks(endpoint, store).await));
            }
            Response::new(StatusCode::OK, METRICS_TYPE, metrics.health_text(&checks))
        }
        "statusz" if path == "/statusz" => {
            statusz::respond(request, published.kubernetes(), now, metrics.up())?
        }
        "history" if !history.is_kept() => page_not_found(),
        "history" if path == "/history/fights" => {
            Response::document(StatusCode::OK, &history.fights(catalog, now, may_read), PLAIN)
        }
        "history" if path == "/history/conflicts" => {
            Response::document(StatusCode::OK, &history.refusals(now), PLAIN)
        }
        "history" if path == "/history/writers" => {
            let most = request.query.integer("limit")?.and_then(|limit| usize::try_from(limit).ok());
            Response::document(StatusCode::OK, &history.writers(most.unwrap_or(MOST_WRITERS)), PLAIN)
        }
        "openapi" => discovery::openapi(published, &path, request).unwrap_or_else(page_not_found),
        _ => page_not_found(),
    })
}

/// Returns the health checks of an endpoint.
async fn health_checks(endpoint: &str, store: &dyn Store) -> Vec<Check> {
    // The server is alive even if the store fails or does not answer.
    let fault = match endpoint {
        "livez" => None,
        _ => store.health().await.err().map(|error| error.to_string()),
    };
    vec![Check { name: "ping", fault: None }, Check { name: "store", fault }]
}

/// Returns a document that any client may cache.
fn public_document(document: &Value, media_type: &'static str) -> Response {
    let mut response = Response::new(StatusCode::OK, media_type, document.to_string());
    let cache = header::HeaderValue::from_static("public, max-age=3600");
    response.headers.insert(header::CACHE_CONTROL, cache);
    response
}

fn index(registry: &Registry) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/.well-known/openid-configuration",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/statusz",
        "/version",
    ]
    .map(String::from)
    .into();
    for group in registry.groups() {
        for version in group.versions.iter() {
            paths.push(format!("/{}", tenure_catalog::openapi::index_name(&group.name, version)));
        }
        if !group.name.is_empty() {
            paths.push(format!("/apis/{}", group.name));
        }
    }
    paths.sort();
    Value::object([("paths", Value::array(paths.into_iter().map(Value::from)))])
}

/// The version of the API, and what the server does better than a kube-apiserver of that version, if anything.
fn version(profile: Profile) -> Value {
    let kubernetes = profile.version();
    let (minor, oldest) = (kubernetes.minor().to_string(), (kubernetes.minor() - 1).to_string());
    let own = (!profile.is_kubernetes()).then(|| (PROFILE_FIELD, own_version(profile)));
    Value::object(
        [
            ("major", "1"),
            ("minor", minor.as_str()),
            ("emulationMajor", "1"),
            ("emulationMinor", minor.as_str()),
            ("minCompatibilityMajor", "1"),
            ("minCompatibilityMinor", oldest.as_str()),
            ("gitVersion", kubernetes.release()),
            ("gitCommit", ""),
            ("gitTreeState", "clean"),
            ("buildDate", "1970-01-01T00:00:00Z"),
            ("goVersion", ""),
            ("compiler", "rustc"),
            ("platform", concat!("linux/", "amd64")),
        ]
        .map(|(name, value)| (name, Value::from(value)))
        .into_iter()
        .chain(own),
    )
}

/// The version of Tenure, the name of the profile and the names of its improvements.
fn own_version(profile: Profile) -> Value {
    Value::object([
        ("version", Value::from(concat!("v", env!("CARGO_PKG_VERSION")))),
        ("profile", Value::from(profile.name())),
        (
            "improvements",
            Value::array(profile.improvements().map(|improvement| Value::from(improvement.name()))),
        ),
    ])
}
