//! Checks of bundles of trust anchors: their names, and the certificates in them. A certificate is read as far as its basic
//! constraints; its signature is not verified.

use super::context::Context;
use std::collections::BTreeMap;
use tenure_meta::{
    FieldErrorKind, FieldErrors, PemBlock,
    der::{Der, SEQUENCE},
    format, pem_blocks,
};
use tenure_value::Value;

/// The most bytes of a bundle.
const MOST: usize = 1024 * 1024;

/// The tag of a certificate's extensions, the object identifier of basic constraints, and `true` in DER.
const EXTENSIONS: u8 = 0xA3;
const BASIC_CONSTRAINTS: &[u8] = &[0x06, 0x03, 0x55, 0x1D, 0x13];
const TRUE: &[u8] = &[0x01, 0x01, 0xFF];
const OCTET_STRING: u8 = 0x04;

/// The name of a bundle begins with the name of its signer, with `:` for `/` and another `:` behind it.
pub(crate) fn name(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let signer = context.at(&["spec", "signerName"]).and_then(Value::as_str).unwrap_or_default();
    let invalid =
        |detail: &str| context.fault("metadata.name", FieldErrorKind::Invalid, &name.into(), detail);
    let rest = match signer {
        "" if name.contains(':') => {
            errors.push(invalid("ClusterTrustBundle without signer name must not have \":\" in its name"));
            return;
        }
        "" => name,
        signer => {
            let prefix = format!("{}:", signer.replace('/', ":"));
            match name.strip_prefix(&prefix) {
                Some(rest) => rest,
                None => {
                    let detail = format!(
                        "ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
                    );
                    errors.push(invalid(&detail));
                    return;
                }
            }
        }
    };
    for fault in format::dns_subdomain(rest) {
        errors.push(invalid(&fault));
    }
}

/// A bundle has one or more certificates of authorities, each once, and nothing between their PEM blocks counts.
pub(crate) fn bundle(context: &Context<'_>, errors: &mut FieldErrors) {
    let text = context.text("trustBundle");
    if text.len() > MOST {
        let detail = format!("may not be more than {MOST} bytes");
        errors.push(context.fault("trustBundle", FieldErrorKind::TooLong, &Value::Null, &detail));
        return;
    }
    let omitted = Value::from("<value omitted>");
    let mut anchors: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut faults = Vec::new();
    for (at, block) in pem_blocks(text).enumerate() {
        match block_fault(&block) {
            Some(fault) => faults.push(format!("entry {at} {fault}")),
            None => anchors.entry(block.body).or_default().push(at),
        }
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

/// Returns what is wrong with a block of a bundle.
fn block_fault(block: &PemBlock<'_>) -> Option<String> {
    if block.label != "CERTIFICATE" {
        return Some(format!("has bad block type: {}", block.label));
    }
    if block.body.contains(':') {
        return Some("has PEM block headers".into());
    }
    match block.der().and_then(|der| is_authority(&der)) {
        None => Some("does not parse as X.509".into()),
        Some(false) => Some("does not have the CA bit set".into()),
        Some(true) => None,
    }
}

/// Whether a certificate is of an authority; `None` if it is not a certificate.
fn is_authority(der: &[u8]) -> Option<bool> {
    let mut outer = Der::new(der);
    let fields = outer.expect(SEQUENCE)?.inside().expect(SEQUENCE)?.inside();
    if outer.next().is_some() {
        return None;
    }
    for field in fields.filter(|field| field.tag == EXTENSIONS) {
        for extension in field.inside().expect(SEQUENCE)?.inside() {
            let Some(mut value) = extension.content.strip_prefix(BASIC_CONSTRAINTS) else { continue };
            value = value.strip_prefix(TRUE).unwrap_or(value);
            let constraints = Der::new(value).expect(OCTET_STRING)?.inside().expect(SEQUENCE)?.content;
            return Some(constraints.starts_with(TRUE));
        }
    }
    Some(false)
}
