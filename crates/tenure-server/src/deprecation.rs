//! Built-in resources that Kubernetes has deprecated, and deprecated versions of custom ones: requests for them get a warning, and
//! their audit events say so.

use tenure_auth::audit::AuditContext;
use tenure_catalog::Target;
use tenure_http::Response;
use tenure_meta::ApiError;

/// The annotation of audit events.
const ANNOTATION: (&str, &str) = ("k8s.io/deprecated", "true");
/// Version and resource of the core group, and the warning.
const DEPRECATED: [(&str, &str, &str); 2] = [
    ("v1", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
    ("v1", "endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
];

/// Returns the warning about the resource of a request, and annotates its audit event.
pub(crate) fn warning(target: &Target, audit: &AuditContext) -> Option<String> {
    let resource = &target.handler.resource;
    let is_named = |row: &&(&str, &str, &str)| {
        resource.group.is_empty() && resource.version == row.0 && resource.name == row.1
    };
    let of_version = Some(target.handler.strategy().deprecation_warning()).filter(|of| !of.is_empty());
    let warning = DEPRECATED.iter().find(is_named).map(|row| row.2).or(of_version)?;
    audit.annotate([ANNOTATION]);
    Some(warning.into())
}

/// Adds a warning to a response, whatever it is.
pub(crate) fn add(
    response: Result<Response, ApiError>,
    warning: Option<String>,
) -> Result<Response, ApiError> {
    let warnings = Vec::from_iter(warning);
    match response {
        Ok(response) => Ok(response.with_warnings(&warnings)),
        Err(failure) => Err(failure.with_warnings(warnings)),
    }
}
