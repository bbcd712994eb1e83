//! Client certificates of version 1, which `openssl x509 -req` makes without extensions. rustls does not read them; they are verified
//! here as kube-apiserver verifies them: signed by a trusted authority, and valid now. They cannot restrict their purpose.

use std::sync::Arc;
use tenure_meta::der::{SignedCertificate, signed_certificate};
use tokio_rustls::rustls::{
    self, CertificateError, DigitallySignedStruct, PeerMisbehaved, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{WebPkiSupportedAlgorithms, ring},
    pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime},
};

/// The most authorities between a certificate and a trusted one.
const INTERMEDIATES: u8 = 4;

/// Whether a certificate is of version 1 or 2, which have no extensions.
pub(super) fn is_version1(certificate: &[u8]) -> bool {
    signed_certificate(certificate).is_some_and(|certificate| certificate.version < 3)
}

/// Checks that a trusted authority signed a certificate, directly or through others, and that all of them are valid now.
pub(super) fn verify(
    own: &[u8],
    intermediates: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
    now: UnixTime,
) -> Result<(), Arc<str>> {
    let own = signed_certificate(own).ok_or("the client certificate cannot be read")?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if !is_valid(&own, now) {
        return Err("the client certificate has expired or is not yet valid".into());
    }
    let intermediates: Vec<_> = intermediates.iter().filter_map(|one| signed_certificate(one)).collect();
    let authorities: Vec<_> = authorities.iter().filter_map(|one| signed_certificate(one)).collect();
    match is_trusted(&own, &intermediates, &authorities, now, 0) {
        true => Ok(()),
        false => Err("the client certificate is signed by an unknown authority".into()),
    }
}

/// Whether an authority signed a certificate, or another that an authority signed.
fn is_trusted(
    certificate: &SignedCertificate<'_>,
    intermediates: &[SignedCertificate<'_>],
    authorities: &[SignedCertificate<'_>],
    now: i64,
    depth: u8,
) -> bool {
    let signed_by = |issuer: &&SignedCertificate<'_>| {
        is_valid(issuer, now) && may_sign(issuer, depth) && signed(certificate, issuer)
    };
    authorities.iter().any(|issuer| signed_by(&issuer))
        || depth < INTERMEDIATES
            && intermediates
                .iter()
                .filter(signed_by)
                .any(|issuer| is_trusted(issuer, intermediates, authorities, now, depth + 1))
}

fn is_valid(certificate: &SignedCertificate<'_>, now: i64) -> bool {
    (certificate.validity.0..=certificate.validity.1).contains(&now)
}

/// Whether a certificate is that of an authority of clients, with so many authorities below it.
fn may_sign(issuer: &SignedCertificate<'_>, below: u8) -> bool {
    let is_authority = match issuer.authority {
        Some((is_authority, length)) => is_authority && length.is_none_or(|length| below <= length),
        // An old root has no extensions; one of the clients could sign itself otherwise.
        None => issuer.version < 3 && issuer.issuer == issuer.subject,
    };
    is_authority && issuer.signs_certificates != Some(false) && issuer.is_for_clients != Some(false)
}

/// Whether a certificate is signed with the key of another.
fn signed(certificate: &SignedCertificate<'_>, issuer: &SignedCertificate<'_>) -> bool {
    certificate.issuer == issuer.subject
        && algorithms().all.iter().any(|algorithm| {
            algorithm.signature_alg_id().as_ref() == certificate.signature_algorithm
                && algorithm.public_key_alg_id().as_ref() == issuer.key_algorithm
                && algorithm.verify_signature(issuer.key, certificate.signed, certificate.signature).is_ok()
        })
}

/// Checks that a client has the key of its certificate, as TLS 1.2 proves it.
pub(super) fn verify_tls12_signature(
    message: &[u8],
    certificate: &[u8],
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    verify_handshake(message, certificate, signature, |algorithms| algorithms)
}

/// Checks that a client has the key of its certificate, as TLS 1.3 proves it: a scheme has one curve, and RSA another padding.
pub(super) fn verify_tls13_signature(
    message: &[u8],
    certificate: &[u8],
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let is_old = matches!(
        signature.scheme,
        SignatureScheme::RSA_PKCS1_SHA1
            | SignatureScheme::RSA_PKCS1_SHA256
            | SignatureScheme::RSA_PKCS1_SHA384
            | SignatureScheme::RSA_PKCS1_SHA512
    );
    if is_old {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    }
    verify_handshake(message, certificate, signature, |algorithms| &algorithms[..algorithms.len().min(1)])
}

type Algorithms = [&'static dyn SignatureVerificationAlgorithm];

fn verify_handshake(
    message: &[u8],
    certificate: &[u8],
    signature: &DigitallySignedStruct,
    of_version: impl Fn(&'static Algorithms) -> &'static Algorithms,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let certificate = signed_certificate(certificate).ok_or(CertificateError::BadEncoding)?;
    let mapping = algorithms().mapping;
    let scheme = mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
    let known = scheme.map_or(&[][..], |(_, algorithms)| of_version(algorithms));
    let algorithm =
        known.iter().find(|algorithm| algorithm.public_key_alg_id().as_ref() == certificate.key_algorithm);
    match algorithm
        .map(|algorithm| algorithm.verify_signature(certificate.key, message, signature.signature()))
    {
        Some(Ok(())) => Ok(HandshakeSignatureValid::assertion()),
        _ => Err(CertificateError::BadSignature.into()),
    }
}

fn algorithms() -> WebPkiSupportedAlgorithms {
    ring::default_provider().signature_verification_algorithms
}
