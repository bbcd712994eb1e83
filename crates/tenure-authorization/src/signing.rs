//! What an answer to a pod's request for a certificate needs beyond the permission to write its status: the verb `sign` on the signer
//! that the request names, or on all signers of its domain.

use tenure_meta::{ApiError, Attributes, FieldError, ResourceAttributes, UserInfo, ValueExt};
use tenure_value::Value;

/// The name of the resource.
pub const POD_CERTIFICATE_REQUESTS: &str = "podcertificaterequests";
const GROUP: &str = "certificates.k8s.io";

/// Checks that a user may change the status of a request from one to another. `attributes` are those of the write.
pub fn check_signing(
    user: &UserInfo,
    attributes: &ResourceAttributes,
    (old, new): (&Value, &Value),
    authorize: impl Fn(&Attributes) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let is_request = attributes.group == GROUP && attributes.resource == POD_CERTIFICATE_REQUESTS;
    if !is_request || old.get("status") == new.get("status") {
        return Ok(());
    }
    let signer = old.get("spec").unwrap_or(&Value::Null).text("signerName");
    let domain = signer.split_once('/').map_or(signer.as_str(), |(domain, _)| domain);
    let may_sign = [signer.to_string(), format!("{domain}/*")].into_iter().any(|name| {
        let asked = ResourceAttributes {
            verb: "sign".into(),
            group: GROUP.into(),
            version: "*".into(),
            resource: "signers".into(),
            name: name.into(),
            ..ResourceAttributes::default()
        };
        authorize(&Attributes::Resource(asked)).is_ok()
    });
    if may_sign {
        return Ok(());
    }
    let detail = format!("User {:?} is not permitted to \"sign\" for signer {signer:?}", user.name.as_str());
    let cause = FieldError::forbidden("spec.signerName", detail).cause();
    Err(ApiError::invalid(GROUP, "PodCertificateRequest", &attributes.name, vec![cause]))
}
