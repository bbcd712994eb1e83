//! Checks of certificate signing requests.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors};

const BEGIN: &str = "-----BEGIN ";
const END_OF_BEGIN: &str = "-----";
const CERTIFICATE: &str = "CERTIFICATE";

/// The shortest time that a certificate may be requested for, in seconds.
const SHORTEST: i64 = 600;

/// Checks the time that a certificate is requested for.
pub(crate) fn request(of: &Context<'_>, errors: &mut FieldErrors) {
    if let Some(seconds) =
        of.get("expirationSeconds").filter(|of| of.as_i64().is_some_and(|of| of < SHORTEST))
    {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(of.fault("expirationSeconds", FieldErrorKind::Invalid, seconds, detail));
    }
}

/// Checks the certificate that a signer has issued: one or more PEM blocks, all of them certificates.
pub(crate) fn status(of: &Context<'_>, errors: &mut FieldErrors) {
    let encoded = of.text("certificate");
    if encoded.is_empty() {
        return;
    }
    let pem = tenure_meta::base64::decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let pem = pem.unwrap_or_default();
    let blocks =
        pem.lines().filter_map(|line| line.trim_end().strip_prefix(BEGIN)?.strip_suffix(END_OF_BEGIN));
    let kinds: Vec<&str> = blocks.collect();
    let wrong = match kinds.iter().find(|kind| **kind != CERTIFICATE) {
        Some(other) => format!("only CERTIFICATE PEM blocks are allowed, found {other:?}"),
        None if kinds.is_empty() => "must contain at least one CERTIFICATE PEM block".into(),
        None => return,
    };
    errors.push(of.fault("certificate", FieldErrorKind::Invalid, &"<certificate data>".into(), &wrong));
}
