//! TLS of the webhook client. A webhook's certificate is trusted if an authority in `caBundle` signed it, or if it is
//! itself in `caBundle`, whoever signed it.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::{error::Error as StdError, io, sync::Arc};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// The error for a webhook whose certificate no authority in `caBundle` signed.
const UNKNOWN_AUTHORITY: &str = "certificate signed by unknown authority: set caBundle to that certificate, or to the one \
                                 of the authority that signed it, as base64 of PEM";

/// Returns the TLS configuration that trusts the given certificates, PEM as base64, or those of the system if none are
/// given.
pub(super) fn client_config(ca_bundle: &str) -> Result<ClientConfig, String> {
    let certificates = match ca_bundle {
        "" => rustls_native_certs::load_native_certs().certs,
        given => {
            let pem =
                STANDARD.decode(given).map_err(|error| format!("caBundle is not valid base64: {error}"))?;
            CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect()
        }
    };
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if added == 0 {
        return Err("no certificate to trust: set caBundle to PEM certificates, as base64".into());
    }
    let provider = Arc::new(ring::default_provider());
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let verifier = Arc::new(Verifier { chain, certificates });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Describes why a request failed, with the remedy if the certificate is not trusted.
pub(super) fn describe(error: &(dyn StdError + 'static)) -> String {
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

#[derive(Debug)]
struct Verifier {
    /// Verifies the chain up to an authority.
    chain: Arc<WebPkiServerVerifier>,
    /// The certificates of `caBundle`.
    certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // An authority that presents its own certificate, as `openssl req -x509` creates it, or a certificate whose
            // authority is not given. The chain verifier reports this after it has checked the validity period, so only the
            // name is left to check.
            Err(Error::InvalidCertificate(CertificateError::Other(_) | CertificateError::UnknownIssuer))
                if self.certificates.iter().any(|given| given == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    /// A certificate that is its own authority, for a name, until a year.
    fn authority(name: &str, until: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec![name.to_string()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    /// Whether a certificate is trusted for a name if another one is given.
    fn is_trusted(given: &CertificateDer<'static>, shown: &CertificateDer<'static>, name: &str) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(given.clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let verifier = Verifier { chain, certificates: vec![given.clone()] };
        let name = ServerName::try_from(name.to_string()).unwrap();
        verifier.verify_server_cert(shown, &[], &name, &[], UnixTime::now()).is_ok()
    }

    #[test]
    fn an_authority_may_present_its_own_certificate() {
        let own = authority("hook.example.com", 4000);
        assert!(is_trusted(&own, &own, "hook.example.com"));
        assert!(!is_trusted(&own, &own, "other.example.com"));
        assert!(
            !is_trusted(&authority("hook.example.com", 4000), &own, "hook.example.com"),
            "another certificate"
        );
        let old = authority("hook.example.com", 2020);
        assert!(!is_trusted(&old, &old, "hook.example.com"), "expired");
    }

    #[test]
    fn a_certificate_may_be_trusted_itself_whoever_signed_it() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "authority");
        let issuer = rcgen::Issuer::new(params, key);
        let leaf = |until: i32| {
            let mut params = CertificateParams::new(vec!["hook.example.com".to_string()]).unwrap();
            params.not_after = date_time_ymd(until, 1, 1);
            params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap().der().clone()
        };
        let own = leaf(4000);
        assert!(is_trusted(&own, &own, "hook.example.com"));
        assert!(!is_trusted(&own, &own, "other.example.com"));
        assert!(!is_trusted(&leaf(4000), &own, "hook.example.com"), "another certificate");
        let old = leaf(2020);
        assert!(!is_trusted(&old, &old, "hook.example.com"), "expired");
    }

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        assert!(client_config("Zm9v").unwrap_err().contains("caBundle"));
        assert!(client_config("%").unwrap_err().contains("base64"));
    }
}
