//! Whom a client of webhooks trusts: whoever a given authority vouches for, and a certificate that is itself among those
//! given, as one that was made without any authority is.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::{fs, io, sync::Arc};
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

/// Where systems keep the certificates they trust.
const SYSTEM_CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What is said of a webhook that nobody in `caBundle` vouches for.
const NOBODY_VOUCHES: &str = "nobody vouches for its certificate: set caBundle to that certificate, or to the one of the \
                              authority that signed it, as base64 of PEM";

/// Returns what a client trusts: the given certificates, PEM as base64, or those of the system where none are given.
pub(crate) fn trust(ca_bundle: &str) -> Result<ClientConfig, String> {
    let pem = match ca_bundle {
        "" => SYSTEM_CERTIFICATES.iter().find_map(|place| fs::read(place).ok()).unwrap_or_default(),
        given => STANDARD.decode(given).map_err(|error| format!("caBundle is no base64: {error}"))?,
    };
    let certificates: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if added == 0 {
        return Err("there is no certificate to trust: set caBundle to PEM certificates, as base64".into());
    }
    let provider = Arc::new(ring::default_provider());
    let vouched = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let verifier = Arc::new(Verifier { vouched, certificates });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Returns what went wrong on the way to a webhook, and what would be right where it is that nobody trusts it.
pub(crate) fn told(error: &(dyn std::error::Error + Send + Sync + 'static)) -> String {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inner.and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature | CertificateError::Other(_),
        )) => NOBODY_VOUCHES.into(),
        _ => error.to_string(),
    }
}

#[derive(Debug)]
struct Verifier {
    vouched: Arc<WebPkiServerVerifier>,
    /// The certificates that were given.
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
        let vouched =
            self.vouched.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match vouched {
            // An authority that shows its own certificate, as `openssl req -x509` makes it. That is found wrong when
            // the time it holds for has been found right; what is left to see is whose it is.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
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
        self.vouched.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.vouched.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.vouched.supported_verify_schemes()
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

    #[test]
    fn an_authority_may_show_its_own_certificate_while_it_holds_and_for_its_name() {
        let own = authority("hook.example.com", 4000);
        let judge = |given: &CertificateDer<'static>, shown: &CertificateDer<'static>, name: &str| {
            let mut roots = RootCertStore::empty();
            roots.add(given.clone()).unwrap();
            let provider = Arc::new(ring::default_provider());
            let vouched =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            let verifier = Verifier { vouched, certificates: vec![given.clone()] };
            let name = ServerName::try_from(name.to_string()).unwrap();
            verifier.verify_server_cert(shown, &[], &name, &[], UnixTime::now()).is_ok()
        };
        assert!(judge(&own, &own, "hook.example.com"));
        assert!(!judge(&own, &own, "other.example.com"));
        assert!(!judge(&authority("hook.example.com", 4000), &own, "hook.example.com"), "another's");
        let old = authority("hook.example.com", 2020);
        assert!(!judge(&old, &old, "hook.example.com"), "its time is over");
    }

    #[test]
    fn without_a_certificate_nobody_is_trusted() {
        assert!(trust("Zm9v").unwrap_err().contains("caBundle"));
        assert!(trust("%").unwrap_err().contains("base64"));
    }
}
