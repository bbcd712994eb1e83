//! TLS of the webhook client. A webhook's certificate is trusted if an authority in `caBundle` signed it, or if it is
//! itself in `caBundle`, even if its authority is unknown.

use std::{error::Error as StdError, io, sync::Arc};
use tenure_transport::TrustedCertificates;
use tenure_value::base64;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, Error,
    client::danger::ServerCertVerifier,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// The error for a webhook whose certificate no authority in `caBundle` signed.
pub(crate) const UNKNOWN_AUTHORITY: &str =
    "tls: failed to verify certificate: x509: certificate signed by unknown authority";

/// Returns the TLS configuration that trusts the given certificates, PEM as base64, or those of the system if none are
/// given. The client presents a certificate, given with its key in PEM, to webhooks that ask for one. It offers HTTP/2, so that all
/// calls of a webhook that speaks it share one connection.
pub(super) fn client_config(
    ca_bundle: &str,
    identity: Option<&(Vec<u8>, Vec<u8>)>,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let verifier = server_verifier(ca_bundle)?;
    let config = config.dangerous().with_custom_certificate_verifier(verifier);
    let with_protocols = |mut config: ClientConfig| {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    };
    let Some((certificate, key)) = identity else { return Ok(with_protocols(config.with_no_client_auth())) };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(certificate).filter_map(Result::ok).collect();
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("the key of the client certificate is not a key in PEM: {error}"))?;
    config
        .with_client_auth_cert(chain, key)
        .map(with_protocols)
        .map_err(|error| format!("the client certificate cannot be used: {error}"))
}

/// Returns the verifier of servers that trusts the given certificates, PEM as base64, or those of the system if none are given.
pub fn server_verifier(ca_bundle: &str) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let certificates = match ca_bundle {
        "" => rustls_native_certs::load_native_certs().certs,
        given => {
            let pem = base64::decode(given)
                .map_err(|at| format!("caBundle is not valid base64: illegal data at input byte {at}"))?;
            CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect()
        }
    };
    let provider = Arc::new(ring::default_provider());
    let trusted = TrustedCertificates::of_parsable(certificates, provider)
        .map_err(|_| "no certificate to trust: set caBundle to PEM certificates, as base64")?;
    Ok(Arc::new(trusted))
}

/// Describes why a request failed, with the remedy if the certificate is not trusted.
pub fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut described = error.to_string();
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature | CertificateError::Other(_),
        )) = error.downcast_ref()
        {
            return UNKNOWN_AUTHORITY.into();
        }
        described = error.to_string();
        // The source of an I/O error is not the error inside it but that one's source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        current = inner.map(|inner| inner as &(dyn StdError + 'static)).or_else(|| error.source());
    }
    described
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        assert!(client_config("Zm9v", None).unwrap_err().contains("caBundle"));
        assert!(client_config("%", None).unwrap_err().contains("base64"));
    }

    #[test]
    fn a_client_certificate_needs_its_key() {
        let certified = rcgen::generate_simple_self_signed(vec!["client".to_string()]).unwrap();
        let bundle = base64::encode(certified.cert.pem());
        let with_key = |key: String| (certified.cert.pem().into_bytes(), key.into_bytes());
        let config = client_config(&bundle, Some(&with_key(certified.signing_key.serialize_pem()))).unwrap();
        assert!(config.client_auth_cert_resolver.has_certs());
        assert!(!client_config(&bundle, None).unwrap().client_auth_cert_resolver.has_certs());
        assert!(
            client_config(&bundle, Some(&with_key("x".into()))).unwrap_err().contains("not a key in PEM")
        );
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        assert!(client_config(&bundle, Some(&with_key(other))).unwrap_err().contains("cannot be used"));
    }
}
