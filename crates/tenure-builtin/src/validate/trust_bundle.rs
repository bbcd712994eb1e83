//! Checks of bundles of trust anchors: their names, and the certificates in them. A certificate is read as far as its basic
//! constraints; its signature is not verified.

use super::{
    certificate::{SEQUENCE, der_element},
    context::Context,
};
use std::collections::BTreeMap;
use tenure_meta::{FieldErrorKind, FieldErrors, base64, format};
use tenure_value::Value;

/// The most bytes of a bundle.
const MOST: usize = 1024 * 1024;

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";
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
    for (at, block) in Blocks(text).enumerate() {
        match block.fault() {
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

/// The PEM blocks of a text.
struct Blocks<'t>(&'t str);

/// A PEM block: its type and what is between its lines.
struct Block<'t> {
    kind: &'t str,
    body: &'t str,
}

impl<'t> Iterator for Blocks<'t> {
    type Item = Block<'t>;

    fn next(&mut self) -> Option<Block<'t>> {
        loop {
            let (_, rest) = self.0.split_once(BEGIN)?;
            self.0 = rest;
            let Some((kind, rest)) = rest.split_once(DASHES) else { continue };
            let end = format!("-----END {kind}-----");
            if let Some((body, rest)) = rest.split_once(&end) {
                self.0 = rest;
                return Some(Block { kind, body: body.trim() });
            }
        }
    }
}

impl Block<'_> {
    fn fault(&self) -> Option<String> {
        if self.kind != "CERTIFICATE" {
            return Some(format!("has bad block type: {}", self.kind));
        }
        if self.body.contains(':') {
            return Some("has PEM block headers".into());
        }
        let text: String = self.body.split_ascii_whitespace().collect();
        let is_authority = base64::decode(&text).ok().and_then(|der| is_authority(&der));
        match is_authority {
            None => Some("does not parse as X.509".into()),
            Some(false) => Some("does not have the CA bit set".into()),
            Some(true) => None,
        }
    }
}

/// Whether a certificate is of an authority; `None` if it is not a certificate.
fn is_authority(der: &[u8]) -> Option<bool> {
    let (tag, certificate, rest) = der_element(der)?;
    let (signed, content, _) = der_element(certificate)?;
    if tag != SEQUENCE || signed != SEQUENCE || !rest.is_empty() {
        return None;
    }
    let mut fields = content;
    while !fields.is_empty() {
        let (tag, field, rest) = der_element(fields)?;
        fields = rest;
        if tag != EXTENSIONS {
            continue;
        }
        let (_, mut extensions, _) = der_element(field)?;
        while !extensions.is_empty() {
            let (_, extension, rest) = der_element(extensions)?;
            extensions = rest;
            let Some(mut value) = extension.strip_prefix(BASIC_CONSTRAINTS) else { continue };
            value = value.strip_prefix(TRUE).unwrap_or(value);
            let (tag, octets, _) = der_element(value)?;
            let (inner, constraints, _) = der_element(octets)?;
            return (tag == OCTET_STRING && inner == SEQUENCE).then(|| constraints.starts_with(TRUE));
        }
    }
    Some(false)
}
