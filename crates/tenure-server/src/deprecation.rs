//! Deprecated resources and versions: requests for them get a warning, and their audit events say so.

use tenure_audit::AuditContext;
use tenure_catalog::Target;
use tenure_http::Response;
use tenure_meta::ApiError;

/// The annotation of audit events.
const ANNOTATION: (&str, &str) = ("k8s.io/deprecated", "true");

/// Returns the warning about the resource of a request, and annotates its audit event.
pub(crate) fn warning(target: &Target, audit: &AuditContext) -> Option<String> {
    let warning = Some(target.handler.strategy().deprecation_warning()).filter(|text| !text.is_empty())?;
    audit.annotate([ANNOTATION]);
    Some(warning.into())
}

/// Adds a warning to a response, whatever it is.
pub(crate) fn add(
    response: Result<Response, ApiError>,
    warning: Option<String>,
) -> Result<Response, ApiError> {
    match (response, warning) {
        (response, None) => response,
        (Ok(response), Some(warning)) => Ok(response.with_warnings(&[warning])),
        (Err(failure), Some(warning)) => Err(failure.with_warnings(vec![warning])),
    }
}
