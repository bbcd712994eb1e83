//! Checks of the sources of a projected volume that show trust anchors, or a certificate of the pod.

use super::{
    context::Context,
    pod_certificate::{SHORTEST, annotation_faults, longest},
    signer_name, trust_bundle,
};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The kinds of keys that a kubelet makes.
const KEYS: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/// The fields that say where a certificate and its key appear.
pub(super) const CERTIFICATE_PATHS: [&str; 3] = ["credentialBundlePath", "keyPath", "certificateChainPath"];

/// The kinds of sources.
const SOURCES: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

/// A source is of one kind.
pub(crate) fn source(context: &Context<'_>, errors: &mut FieldErrors) {
    if SOURCES.iter().filter(|name| context.get(name).is_some()).count() > 1 {
        let detail = "may not specify more than 1 volume type per source";
        errors.push(FieldError::forbidden(context.path_to(""), detail));
    }
}

/// Trust anchors are those of a bundle with a name, or of the bundles of a signer.
pub(crate) fn cluster_trust_bundle(context: &Context<'_>, errors: &mut FieldErrors) {
    match (context.get("name").and_then(Value::as_str), context.get("signerName").and_then(Value::as_str)) {
        (Some(_), Some(_)) => {
            let whole = Value::Object(context.node.clone());
            errors.push(context.fault_of_struct("", &whole, "only one of name and signerName may be used"));
        }
        (Some(name), None) => {
            if name.is_empty() {
                errors.push(context.required("name", "must be a valid object name"));
            }
            // The name of a bundle of a signer begins with the name of the signer.
            let signer =
                name.rsplit_once(':').map(|(signer, _)| signer.replace(':', "/")).unwrap_or_default();
            for fault in trust_bundle::name_faults(name, &signer) {
                let detail = format!("not a valid clustertrustbundlename: {fault}");
                errors.push(context.fault("name", FieldErrorKind::Invalid, &name.into(), &detail));
            }
            if let Some(selector) = context.get("labelSelector") {
                let detail = "labelSelector must be unset if name is specified";
                errors.push(context.fault_of_struct("labelSelector", selector, detail));
            }
        }
        (None, Some(signer)) => {
            if signer.is_empty() {
                errors.push(context.required("signerName", "must be a valid signer name"));
            }
            errors.extend(signer_name::faults(&context.path_to("signerName"), signer));
        }
        (None, None) => errors.push(context.required("", "either name or signerName must be specified")),
    }
    let path = context.text("path");
    context.invalid("path", &path.into(), format::relative_path(path), errors);
}

/// A certificate is of a known kind, lasts as long as its signer allows, and appears somewhere.
pub(crate) fn pod_certificate(context: &Context<'_>, errors: &mut FieldErrors) {
    let signer = context.text("signerName");
    errors.extend(signer_name::faults(&context.path_to("signerName"), signer));
    errors.extend(annotation_faults(&context.path_to("userAnnotations"), context.get("userAnnotations")));
    let key = context.text("keyType");
    if !KEYS.contains(&key) {
        let known = KEYS.map(Value::from);
        errors.push(FieldError::not_supported(context.path_to("keyType"), &key.into(), &known));
    }
    if let Some(seconds) = context.number("maxExpirationSeconds") {
        let longest = longest(signer);
        let bounds = [(seconds < SHORTEST, ">=", SHORTEST), (seconds > longest, "<=", longest)];
        for (_, relation, bound) in bounds.into_iter().filter(|(is_wrong, ..)| *is_wrong) {
            let detail = format!("if provided, maxExpirationSeconds must be {relation} {bound}");
            let field = "maxExpirationSeconds";
            errors.push(context.fault(field, FieldErrorKind::Invalid, &seconds.into(), &detail));
        }
    }
    let paths = CERTIFICATE_PATHS.map(|field| (field, context.text(field))).into_iter();
    let mut paths = paths.filter(|(_, path)| !path.is_empty()).peekable();
    if paths.peek().is_none() {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.push(context.required("", detail));
    }
    for (field, path) in paths {
        context.invalid(field, &path.into(), format::relative_path(path), errors);
    }
}
