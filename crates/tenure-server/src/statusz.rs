//! `/statusz`: since when the server runs, and its version, as text or as a `Statusz` of `config.k8s.io/v1beta1`.

use hyper::{StatusCode, header};
use std::time::Duration;
use tenure_catalog::object::seconds;
use tenure_http::{Request, Response};
use tenure_meta::{ApiError, Reason, Timestamp};
use tenure_profile::KubernetesVersion;
use tenure_value::Value;

const NAME: &str = "apiserver";
const PATHS: [&str; 6] = ["/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

/// Responds with the state of a server that has run for a time.
pub(crate) fn respond(
    request: &Request,
    kubernetes: KubernetesVersion,
    now: Timestamp,
    up: Duration,
) -> Result<Response, ApiError> {
    let version = kubernetes.release().trim_start_matches('v');
    let accept = request.header(header::ACCEPT).unwrap_or("*/*").to_ascii_lowercase();
    let started = Timestamp { seconds: now.seconds - i64::try_from(up.as_secs()).unwrap_or(0), ..now };
    let is_wanted = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters: Vec<&str> = parts.collect();
        let has = |parameter: &str| parameters.contains(&parameter);
        media_type == "application/json" && has("as=statusz") && has("g=config.k8s.io") && has("v=v1beta1")
    };
    if accept.split(',').any(is_wanted) {
        let document = Value::object([
            ("kind", Value::from("Statusz")),
            ("apiVersion", Value::from("config.k8s.io/v1beta1")),
            ("metadata", Value::object([("name", Value::from(NAME))])),
            ("startTime", Value::from(seconds(started))),
            ("uptimeSeconds", Value::Int(i64::try_from(up.as_secs()).unwrap_or(i64::MAX))),
            ("binaryVersion", Value::from(version)),
            ("emulationVersion", Value::from(kubernetes.name())),
            ("paths", Value::array(PATHS.map(Value::from))),
        ]);
        return Ok(Response::new(StatusCode::OK, "application/json", document.to_string()));
    }
    let is_text = ["text/plain", "text/*", "*/*"];
    if !accept.split(',').any(|range| is_text.contains(&range.split(';').next().unwrap_or_default().trim())) {
        let why = "only the following media types are accepted: application/json, text/plain";
        return Err(ApiError::new(Reason::NotAcceptable, why));
    }
    let (hours, minutes, rest) = (up.as_secs() / 3600, up.as_secs() / 60 % 60, up.as_secs() % 60);
    Ok(Response::text(
        StatusCode::OK,
        format!(
            "\n{NAME} statusz\nFor people: programs should request application/json;v=v1beta1;g=config.k8s.io;as=Statusz.\n\n\
             Started: {}\nUp: {hours} hr {minutes:02} min {rest:02} sec\nTenure version: {}\nBinary version: {version}\n\
             Emulation version: {kubernetes}\nPaths: {}\n",
            seconds(started),
            env!("CARGO_PKG_VERSION"),
            PATHS.join(" ")
        ),
    ))
}
