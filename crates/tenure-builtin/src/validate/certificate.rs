//! Checks of certificate signing requests.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors, base64};

const BEGIN: &str = "-----BEGIN ";
const END_OF_BEGIN: &str = "-----";
const CERTIFICATE: &str = "CERTIFICATE";
const REQUEST_BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const REQUEST_END: &str = "-----END CERTIFICATE REQUEST-----";

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
    let Some(body) = pem.split_once(REQUEST_BEGIN).and_then(|(_, rest)| rest.split_once(REQUEST_END)) else {
        return Some("PEM block type must be CERTIFICATE REQUEST");
    };
    let text: String = body.0.split_ascii_whitespace().collect();
    let Ok(der) = base64::decode(&text) else { return Some("PEM block type must be CERTIFICATE REQUEST") };
    let parts = der_element(&der).filter(|(tag, _, rest)| *tag == SEQUENCE && rest.is_empty()).and_then(
        |(_, content, _)| {
            let (info, _, rest) = der_element(content)?;
            let (algorithm, _, rest) = der_element(rest)?;
            let (signature, _, rest) = der_element(rest)?;
            rest.is_empty().then_some([info, algorithm, signature])
        },
    );
    (parts != Some([SEQUENCE, SEQUENCE, BIT_STRING]))
        .then_some("asn1: structure error: malformed certificate request")
}

/// The tags of DER elements.
pub(crate) const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// Returns tag and content of the first element in DER, and what follows it.
pub(crate) fn der_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(first), rest),
        _ => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = length
                .iter()
                .try_fold(0_usize, |sum, byte| Some(sum.checked_mul(256)? + usize::from(*byte)))?;
            (length, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
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
    let blocks =
        pem.lines().filter_map(|line| line.trim_end().strip_prefix(BEGIN)?.strip_suffix(END_OF_BEGIN));
    let kinds: Vec<&str> = blocks.collect();
    let wrong = match kinds.iter().find(|kind| **kind != CERTIFICATE) {
        Some(other) => format!("only CERTIFICATE PEM blocks are allowed, found {other:?}"),
        None if kinds.is_empty() => "must contain at least one CERTIFICATE PEM block".into(),
        None => return,
    };
    errors.push(context.fault("certificate", FieldErrorKind::Invalid, &"<certificate data>".into(), &wrong));
}
