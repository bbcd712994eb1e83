//! Checks of bundles of trust anchors: their names, and the certificates in them.

use super::context::Context;
use crate::x509::{Blocks, Certificate};
use std::collections::BTreeMap;
use tenure_meta::{FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The most bytes of a bundle.
const MOST: usize = 1024 * 1024;

/// Checks the name of a bundle.
pub(crate) fn name(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let signer = context.at(&["spec", "signerName"]).and_then(Value::as_str).unwrap_or_default();
    for fault in name_faults(name, signer) {
        errors.push(context.fault("metadata.name", FieldErrorKind::Invalid, &name.into(), &fault));
    }
}

/// The name of a bundle begins with the name of its signer, with `:` for `/` and another `:` behind it.
pub(super) fn name_faults(name: &str, signer: &str) -> Vec<String> {
    let prefix = match signer {
        "" if name.contains(':') => {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".into()];
        }
        "" => String::new(),
        signer => format!("{}:", signer.replace('/', ":")),
    };
    match name.strip_prefix(&prefix) {
        Some(rest) => format::dns_subdomain(rest),
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")]
        }
    }
}

/// A bundle has one or more certificates of authorities, each once, and nothing between their PEM blocks counts.
pub(crate) fn bundle(context: &Context<'_>, errors: &mut FieldErrors) {
    // Unchanged anchors are not read again.
    if context.is_unchanged(&["trustBundle"]) {
        return;
    }
    let text = context.text("trustBundle");
    if text.len() > MOST {
        let detail = format!("may not be more than {MOST} bytes");
        errors.push(context.fault("trustBundle", FieldErrorKind::TooLong, &Value::Null, &detail));
        return;
    }
    let omitted = Value::from("<value omitted>");
    let mut anchors: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut faults = Vec::new();
    for (at, block) in Blocks::new(text).enumerate() {
        let certificate = Certificate::parse(&block.content);
        let fault = match certificate.map(|certificate| certificate.is_authority) {
            _ if block.kind != "CERTIFICATE" => format!("has bad block type: {}", block.kind),
            _ if block.has_headers => "has PEM block headers".into(),
            None => "does not parse as X.509".into(),
            Some(false) => "does not have the CA bit set".into(),
            Some(true) => {
                anchors.entry(block.content).or_default().push(at);
                continue;
            }
        };
        faults.push(format!("entry {at} {fault}"));
    }
    if faults.is_empty() && anchors.is_empty() {
        faults.push("at least one trust anchor must be provided".into());
    }
    if faults.is_empty() {
        let repeated = anchors.values().filter(|places| places.len() > 1);
        faults.extend(repeated.map(|places| {
            let places: Vec<String> = places.iter().map(usize::to_string).collect();
            format!("duplicate trust anchor (indices [{}])", places.join(" "))
        }));
    }
    for fault in faults {
        errors.push(context.fault("trustBundle", FieldErrorKind::Invalid, &omitted, &fault));
    }
}
