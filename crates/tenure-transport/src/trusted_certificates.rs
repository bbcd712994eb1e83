//! Trust in given certificates: those that a given authority signed, and the given ones themselves.
//!
//! The second case is a server whose own certificate is in the bundle, as `openssl req -x509` creates it. Such a certificate is its own
//! authority, or its authority is not known; the chain verifier accepts neither from a server, Go accepts both.

use std::sync::Arc;
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

/// Verifies chains up to the given certificates, and accepts a server that presents one of them.
#[derive(Debug)]
pub struct TrustedCertificates {
    chain: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl TrustedCertificates {
    /// Creates a verifier that trusts certificates. It is an error if there are none, or if one cannot be parsed.
    pub fn new(
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<TrustedCertificates, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone())?;
        }
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let chain = chain.map_err(|error| Error::General(error.to_string()))?;
        Ok(TrustedCertificates { chain, certificates })
    }

    /// Like [`new`](TrustedCertificates::new), but leaves out certificates that cannot be parsed.
    pub fn of_parsable(
        mut certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<TrustedCertificates, Error> {
        certificates.retain(|certificate| RootCertStore::empty().add(certificate.clone()).is_ok());
        TrustedCertificates::new(certificates, provider)
    }
}

impl ServerCertVerifier for TrustedCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The chain verifier reports this after it has checked the validity period, so only the name is left to check.
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
    use tokio_rustls::rustls::crypto::ring;

    /// A certificate that is its own authority, for a name, until a year.
    fn authority(name: &str, until: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec![name.to_string()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    /// Whether a certificate that a server presents is trusted for a name if another one is given.
    fn is_trusted(given: &CertificateDer<'static>, presented: &CertificateDer<'static>, name: &str) -> bool {
        let provider = Arc::new(ring::default_provider());
        let verifier = TrustedCertificates::new(vec![given.clone()], provider).unwrap();
        let name = ServerName::try_from(name.to_string()).unwrap();
        verifier.verify_server_cert(presented, &[], &name, &[], UnixTime::now()).is_ok()
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
    fn a_certificate_may_be_trusted_itself_whatever_its_authority() {
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
    fn without_a_certificate_there_is_nothing_to_trust() {
        let provider = || Arc::new(ring::default_provider());
        let junk = CertificateDer::from(vec![1, 2, 3]);
        assert!(TrustedCertificates::new(Vec::new(), provider()).is_err());
        assert!(TrustedCertificates::new(vec![junk.clone()], provider()).is_err());
        assert!(TrustedCertificates::of_parsable(vec![junk.clone()], provider()).is_err());
        let mixed = vec![junk, authority("hook.example.com", 4000)];
        assert!(TrustedCertificates::of_parsable(mixed, provider()).is_ok());
    }
}
