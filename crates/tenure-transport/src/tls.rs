//! TLS as the kubeconfig configures it: the authorities to trust, the client certificate to present, or no verification.

use crate::{AnyCertificate, ConnectError, TrustedCertificates};
use std::sync::Arc;
use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    client::danger::ServerCertVerifier,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// A client certificate and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// How to verify the server.
#[derive(Debug, Default)]
pub(crate) struct TlsOptions {
    /// The authorities to trust, as PEM; if `None`, those of the system.
    pub authority: Option<Vec<u8>>,
    /// Accept any certificate.
    pub insecure: bool,
    /// The name in the certificate, if it is not that of the address.
    pub server_name: Option<String>,
}

impl TlsOptions {
    /// Returns the configuration of connections.
    pub fn config(&self, identity: Option<&Identity>) -> Result<ClientConfig, ConnectError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(ConnectError::config)?;
        let verifier: Option<Arc<dyn ServerCertVerifier>> = match &self.authority {
            _ if self.insecure => Some(Arc::new(AnyCertificate::new(provider))),
            Some(authority) => {
                let certificates = certificates(authority, "certificate-authority")?;
                let trusted = TrustedCertificates::new(certificates, provider)
                    .map_err(|error| ConnectError::config(format!("certificate-authority: {error}")))?;
                Some(Arc::new(trusted))
            }
            None => None,
        };
        let builder = match verifier {
            Some(verifier) => builder.dangerous().with_custom_certificate_verifier(verifier),
            None => builder.with_root_certificates(system_roots()),
        };
        let Some(identity) = identity else { return Ok(builder.with_no_client_auth()) };
        let chain = certificates(&identity.certificate, "client-certificate")?;
        let key = PrivateKeyDer::from_pem_slice(&identity.key)
            .map_err(|error| ConnectError::config(format!("client-key: {error}")))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| ConnectError::config(format!("client-certificate: {error}")))
    }
}

/// Returns the authorities that the system trusts.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let problem = |problem: &dyn std::fmt::Display| ConnectError::config(format!("{what}: {problem}"));
    let found = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| problem(&error))?;
    if found.is_empty() { Err(problem(&"there is no certificate in it; it must be PEM")) } else { Ok(found) }
}
