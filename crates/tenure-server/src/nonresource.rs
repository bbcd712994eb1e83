//! Paths outside of resources: the index, the version, health, metrics, discovery and OpenAPI.

use crate::{
    Address, Answer, Failure, Metrics, PLAIN,
    catalog::{
        Catalog,
        discovery::{self, page_not_found},
        openapi,
    },
    health::{self, Check},
    http::Request,
    kinds::Registry,
};
use hyper::{Method, StatusCode};
use tenure_store::Store;
use tenure_value::Value;

/// Answers a request for a path that names no resource.
pub(crate) async fn respond(
    catalog: &Catalog,
    store: &dyn Store,
    metrics: &Metrics,
    address: Address,
    request: &Request,
) -> Result<Answer, Failure> {
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Err(Failure::method_not_allowed());
    }
    let path = match address {
        Address::Discovery(which) => return discovery::discovery(catalog, which, request),
        Address::Other(path) => path,
        Address::Resource(_) => return Err(Failure::no_such_path()),
    };
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    Ok(match first {
        "" => Answer::document(StatusCode::OK, &index(&catalog.snapshot().registry), PLAIN),
        "version" => Answer::document(StatusCode::OK, &version(), PLAIN),
        "livez" | "readyz" | "healthz" => {
            let fault = store.health().await.err().map(|error| error.to_string());
            let checks = [
                Check { name: "ping", fault: None },
                Check { name: "store", fault: fault.filter(|_| first != "livez") },
            ];
            health::answer(&path, &request.query, &checks).unwrap_or_else(page_not_found)
        }
        "metrics" => Answer::new(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics.text()),
        "openapi" => discovery::openapi(catalog, &path, request).unwrap_or_else(page_not_found),
        _ => page_not_found(),
    })
}

fn index(registry: &Registry) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(String::from)
    .into();
    for group in registry.groups() {
        for version in group.versions.iter() {
            paths.push(format!("/{}", openapi::index_name(&group.name, version)));
        }
        if !group.name.is_empty() {
            paths.push(format!("/apis/{}", group.name));
        }
    }
    paths.sort();
    Value::object([("paths", Value::array(paths.into_iter().map(Value::from)))])
}

/// The version of the API, and beside it that of Tenure.
fn version() -> Value {
    let own = concat!("v", env!("CARGO_PKG_VERSION"));
    Value::object(
        [
            ("major", "1"),
            ("minor", "36"),
            ("emulationMajor", "1"),
            ("emulationMinor", "36"),
            ("minCompatibilityMajor", "1"),
            ("minCompatibilityMinor", "35"),
            ("gitVersion", openapi::KUBERNETES),
            ("gitCommit", ""),
            ("gitTreeState", "clean"),
            ("buildDate", "1970-01-01T00:00:00Z"),
            ("goVersion", ""),
            ("compiler", "rustc"),
            ("platform", concat!("linux/", "amd64")),
            ("tenureVersion", own),
        ]
        .map(|(name, value)| (name, Value::from(value))),
    )
}
