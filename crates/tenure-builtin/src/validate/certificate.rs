//! Checks of certificate signing requests.

use super::context::Context;
use tenure_meta::{
    FieldErrorKind, FieldErrors, base64,
    der::{BIT_STRING, Der, SEQUENCE},
    pem_blocks,
};

/// The shortest time that a certificate may be requested for, in seconds.
const SHORTEST: i64 = 600;

/// Checks the request itself, and the time that a certificate is requested for.
pub(crate) fn request(context: &Context<'_>, errors: &mut FieldErrors) {
    let encoded = context.text("request");
    if let Some(fault) = request_fault(encoded) {
        errors.push(context.fault("request", FieldErrorKind::Invalid, &encoded.into(), fault));
    }
    if let Some(seconds) = context
        .get("expirationSeconds")
        .filter(|seconds| seconds.as_i64().is_some_and(|seconds| seconds < SHORTEST))
    {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(context.fault("expirationSeconds", FieldErrorKind::Invalid, seconds, detail));
    }
}

/// Returns the error in a request: a PEM block with the three parts of PKCS #10. Its signature is not verified.
fn request_fault(encoded: &str) -> Option<&'static str> {
    let pem = pem(encoded);
    let block = pem_blocks(&pem).next().filter(|block| block.label == "CERTIFICATE REQUEST");
    let Some(der) = block.and_then(|block| block.der()) else {
        return Some("PEM block type must be CERTIFICATE REQUEST");
    };
    let mut outer = Der::new(&der);
    let parts: Option<Vec<u8>> =
        outer.expect(SEQUENCE).map(|request| request.inside().map(|part| part.tag).collect());
    let is_request =
        parts.is_some_and(|parts| parts == [SEQUENCE, SEQUENCE, BIT_STRING]) && outer.next().is_none();
    (!is_request).then_some("asn1: structure error: malformed certificate request")
}

/// Returns the PEM text in a field, which is base64.
fn pem(encoded: &str) -> String {
    base64::decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Checks the certificate that a signer has issued: one or more PEM blocks, all of them certificates.
pub(crate) fn status(context: &Context<'_>, errors: &mut FieldErrors) {
    let encoded = context.text("certificate");
    if encoded.is_empty() {
        return;
    }
    let pem = pem(encoded);
    let mut blocks = pem_blocks(&pem).peekable();
    let is_empty = blocks.peek().is_none();
    let wrong = match blocks.find(|block| block.label != "CERTIFICATE") {
        Some(other) => format!("only CERTIFICATE PEM blocks are allowed, found {:?}", other.label),
        None if is_empty => "must contain at least one CERTIFICATE PEM block".into(),
        None => return,
    };
    errors.push(context.fault("certificate", FieldErrorKind::Invalid, &"<certificate data>".into(), &wrong));
}
