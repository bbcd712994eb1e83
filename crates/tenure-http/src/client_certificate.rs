//! Client certificates: requested in the handshake, never required. One that is not signed by a trusted authority does not end the
//! handshake; its requests are unauthorized unless they have a token.

use std::sync::Arc;
use tenure_auth::{
    UserInfo,
    authentication::{CertificateUser, certificate_expiry, user_of_certificate},
};
use tokio_rustls::rustls::{
    self, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

/// The client certificate of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// That of a user.
    User {
        /// The user.
        user: UserInfo,
        /// When the certificate expires, in seconds since 1970.
        expires: Option<i64>,
    },
    /// One that is not signed by a trusted authority, has expired, or does not name a user.
    Invalid,
}

/// The certificate authorities of client certificates.
#[derive(Clone, Debug)]
pub struct ClientAuthorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientAuthorities {
    /// Reads the certificates of authorities from PEM; there must be at least one.
    pub fn from_pem(pem: &str) -> Result<ClientAuthorities, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|error| format!("not a certificate in PEM: {error}"))?;
            roots.add(certificate).map_err(|error| format!("not a certificate of an authority: {error}"))?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let verifier = verifier.map_err(|error| format!("no certificate of an authority: {error}"))?;
        Ok(ClientAuthorities { verifier })
    }

    /// Returns the verifier of handshakes, which accepts every certificate whose key the client has.
    pub fn handshake_verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(Lenient(self.verifier.clone()))
    }

    /// Returns the user of the certificates that a client sent; `None` if it sent none, or one without a name.
    pub fn identify(&self, chain: Option<&[CertificateDer<'_>]>) -> Option<ClientCertificate> {
        let (own, intermediates) = chain?.split_first()?;
        if self.verifier.verify_client_cert(own, intermediates, UnixTime::now()).is_err() {
            return Some(ClientCertificate::Invalid);
        }
        match user_of_certificate(own) {
            CertificateUser::User(user) => {
                Some(ClientCertificate::User { user, expires: certificate_expiry(own) })
            }
            CertificateUser::Nameless => None,
            CertificateUser::Invalid => Some(ClientCertificate::Invalid),
        }
    }
}

/// Checks that the client has the key of its certificate, not who signed it.
#[derive(Debug)]
struct Lenient(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Lenient {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
