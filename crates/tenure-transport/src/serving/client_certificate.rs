//! Client certificates: requested in the handshake, never required. One that is not signed by a trusted authority does not end the
//! handshake; its requests are unauthorized unless they have a token.

use super::{CertificateUser, certificate_expiry, user_of_certificate, version1_certificate as version1};
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tenure_meta::UserInfo;
use tokio_rustls::rustls::{
    self, CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
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
        /// The user, a member of `system:authenticated`, shared by the requests of the connection.
        user: Arc<UserInfo>,
        /// When the certificate expires, in seconds since 1970.
        expires: Option<i64>,
    },
    /// One that is not signed by a trusted authority, has expired, or does not name a user, and why.
    Invalid(Arc<str>),
}

/// The client certificate of a connection is that of a front proxy, which names the user of a request in its headers; an extension
/// of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontProxy {
    /// When the certificate expires, in seconds since 1970.
    pub expires: Option<i64>,
}

/// The certificate authorities of client certificates.
#[derive(Clone, Debug)]
pub struct ClientAuthorities {
    /// Verifies signatures, and has the names of all authorities.
    any: Authorities,
    users: Option<Authorities>,
    front_proxies: Option<FrontProxyAuthorities>,
}

/// The authorities of front proxies, and the common names that a front proxy may have; any if there are none.
#[derive(Clone, Debug)]
struct FrontProxyAuthorities {
    authorities: Authorities,
    names: Vec<String>,
}

/// Certificates of authorities, and what verifies the certificates that they signed.
#[derive(Clone, Debug)]
struct Authorities {
    verifier: Arc<dyn ClientCertVerifier>,
    certificates: Arc<[CertificateDer<'static>]>,
}

impl Authorities {
    /// Checks that one of the authorities signed the certificates that a client sent, and that they are valid now.
    fn verify(&self, own: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) -> Result<(), Arc<str>> {
        if version1::is_version1(own) {
            return version1::verify(own, intermediates, &self.certificates, now());
        }
        match self.verifier.verify_client_cert(own, intermediates, now()) {
            Ok(_) => Ok(()),
            Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                Err("the client certificate is signed by an unknown authority".into())
            }
            Err(error) => Err(error.to_string().into()),
        }
    }
}

impl ClientAuthorities {
    /// Reads the certificates of the authorities of users from PEM; there must be at least one.
    pub fn from_pem(pem: &str) -> Result<ClientAuthorities, String> {
        let users = authorities(&[pem])?;
        Ok(ClientAuthorities { any: users.clone(), users: Some(users), front_proxies: None })
    }

    /// Reads the certificates of the authorities of users, if there are any, and of front proxies from PEM. A front proxy has one of
    /// the given common names; any if there are none.
    pub fn with_front_proxies(
        users: Option<&str>,
        front_proxies: &str,
        names: &[String],
    ) -> Result<ClientAuthorities, String> {
        let own = authorities(&[front_proxies])?;
        let any = authorities(&[users.unwrap_or_default(), front_proxies])?;
        let users = users.map(|pem| authorities(&[pem])).transpose()?;
        let front_proxies = FrontProxyAuthorities { authorities: own, names: names.to_vec() };
        Ok(ClientAuthorities { any, users, front_proxies: Some(front_proxies) })
    }

    /// Returns the verifier of handshakes, which accepts every certificate whose key the client has.
    pub fn handshake_verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(Lenient(self.any.verifier.clone()))
    }

    /// Returns the front proxy that sent certificates; `None` if the client is none.
    pub fn front_proxy(&self, chain: Option<&[CertificateDer<'_>]>) -> Option<FrontProxy> {
        let FrontProxyAuthorities { authorities, names } = self.front_proxies.as_ref()?;
        let (own, intermediates) = chain?.split_first()?;
        authorities.verify(own, intermediates).ok()?;
        let is_allowed = names.is_empty()
            || matches!(user_of_certificate(own), CertificateUser::User(user)
                if names.iter().any(|name| *name == user.name));
        is_allowed.then(|| FrontProxy { expires: certificate_expiry(own) })
    }

    /// Returns the user of the certificates that a client sent; `None` if it sent none, or one without a name.
    pub fn identify(&self, chain: Option<&[CertificateDer<'_>]>) -> Option<ClientCertificate> {
        let (own, intermediates) = chain?.split_first()?;
        let Some(users) = &self.users else {
            let reason = "client certificates of users are not accepted";
            return self.front_proxy(chain).is_none().then(|| ClientCertificate::Invalid(reason.into()));
        };
        if let Err(reason) = users.verify(own, intermediates) {
            return Some(ClientCertificate::Invalid(reason));
        }
        match user_of_certificate(own) {
            CertificateUser::User(user) => {
                let user = Arc::new(user.authenticated());
                Some(ClientCertificate::User { user, expires: certificate_expiry(own) })
            }
            CertificateUser::Nameless => None,
            CertificateUser::Invalid => Some(ClientCertificate::Invalid(
                "the subject of the client certificate cannot be read".into(),
            )),
        }
    }
}

/// Returns the time; one before 1970 is taken for its beginning, when no certificate is valid.
fn now() -> UnixTime {
    UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Reads the authorities of PEM texts; there must be at least one.
fn authorities(texts: &[&str]) -> Result<Authorities, String> {
    let (mut roots, mut certificates) = (RootCertStore::empty(), Vec::new());
    for certificate in texts.iter().flat_map(|pem| CertificateDer::pem_slice_iter(pem.as_bytes())) {
        let certificate = certificate.map_err(|error| format!("not a certificate in PEM: {error}"))?;
        certificates.push(certificate.clone());
        roots.add(certificate).map_err(|error| format!("not a certificate of an authority: {error}"))?;
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|error| format!("no certificate of an authority: {error}"))?;
    Ok(Authorities { verifier, certificates: certificates.into() })
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
        match version1::is_version1(certificate) {
            true => version1::verify_tls12_signature(message, certificate, signature),
            false => self.0.verify_tls12_signature(message, certificate, signature),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match version1::is_version1(certificate) {
            true => version1::verify_tls13_signature(message, certificate, signature),
            false => self.0.verify_tls13_signature(message, certificate, signature),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
