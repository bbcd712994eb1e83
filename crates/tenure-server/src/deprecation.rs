//! Built-in resources that Kubernetes has deprecated: requests for them get a warning, and their audit events say so.

use tenure_auth::audit::AuditContext;
use tenure_catalog::Target;
use tenure_http::Response;

/// The annotation of audit events.
const ANNOTATION: (&str, &str) = ("k8s.io/deprecated", "true");
/// Version and resource of the core group, and the warning.
const DEPRECATED: [(&str, &str, &str); 2] = [
    ("v1", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
    ("v1", "endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
];

/// Returns the warning about the resource of a request, and annotates its audit event.
pub(crate) fn warning(target: &Target, audit: &AuditContext) -> Option<&'static str> {
    let resource = &target.handler.resource;
    let is_named = |row: &&(&str, &str, &str)| {
        resource.group.is_empty() && resource.version == row.0 && resource.name == row.1
    };
    let (_, _, warning) = DEPRECATED.iter().find(is_named)?;
    audit.annotate([ANNOTATION]);
    Some(warning)
}

/// Adds a warning to a response.
pub(crate) fn add(response: Response, warning: Option<&str>) -> Response {
    match warning {
        Some(warning) => response.with_warnings(&[warning.to_string()]),
        None => response,
    }
}
