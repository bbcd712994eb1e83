//! Connections to extension API servers: TLS with the `caBundle` of the APIService and the client certificate of the front proxy,
//! pooled by what they depend on.

use crate::ApiService;
use hyper::{Request, Response, body::Incoming};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};
use tenure_admission::{ServiceEndpoint, describe_connection_error, server_verifier};
use tenure_transport::{AnyCertificate, Dialer, Reloadable, Transport, TransportBody, TransportTls};
use tenure_value::Text;
use tokio_rustls::rustls::{
    ClientConfig,
    client::danger::ServerCertVerifier,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// The most idle connections to an extension server.
const IDLE_CONNECTIONS: usize = 16;
/// The most pools; when there are more, all are made again.
const POOLS: usize = 256;

/// The body of a request that is passed on.
pub type ProxyBody = TransportBody;

/// What connections are shared by.
#[derive(PartialEq, Eq, Hash)]
struct PoolKey {
    /// The `caBundle`; `None` without verification.
    ca_bundle: Option<Text>,
    /// The host and the port.
    authority: String,
    addresses: Vec<(String, u16)>,
    /// The digest of the client certificate; 0 without one.
    certificate: u64,
}

/// The certificate by which extension API servers recognize this server as their front proxy.
#[derive(Debug)]
pub struct ProxyClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    digest: u64,
}

impl ProxyClientCertificate {
    /// Reads a certificate, with its chain, and its key from PEM.
    pub fn from_pem(certificate: &str, key: &str) -> Result<ProxyClientCertificate, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
        let chain = chain.map_err(|error| format!("not a certificate in PEM: {error}"))?;
        if chain.is_empty() {
            return Err("no certificate in PEM".into());
        }
        let private = PrivateKeyDer::from_pem_slice(key.as_bytes());
        let key_der = private.map_err(|error| format!("not a private key in PEM: {error}"))?;
        let mut hasher = DefaultHasher::new();
        (certificate, key).hash(&mut hasher);
        Ok(ProxyClientCertificate { chain, key: key_der, digest: hasher.finish() })
    }
}

/// Sends requests to extension API servers.
pub(crate) struct ProxyTransport {
    certificate: Option<Reloadable<ProxyClientCertificate>>,
    pools: Mutex<HashMap<PoolKey, Transport>>,
}

impl ProxyTransport {
    pub fn new(certificate: Option<Reloadable<ProxyClientCertificate>>) -> ProxyTransport {
        ProxyTransport { certificate, pools: Mutex::default() }
    }

    /// Returns a transport with the same certificate and connections of its own.
    pub fn fork(&self) -> ProxyTransport {
        ProxyTransport::new(self.certificate.clone())
    }

    /// Sends a request to an extension server. It returns with the head of the response.
    pub async fn send(
        &self,
        service: &ApiService,
        endpoint: &ServiceEndpoint,
        request: Request<ProxyBody>,
    ) -> Result<Response<Incoming>, String> {
        let pool = self.pool(service, endpoint)?;
        pool.send(request).await.map_err(|error| describe_connection_error(&error))
    }

    fn pool(&self, service: &ApiService, endpoint: &ServiceEndpoint) -> Result<Transport, String> {
        let certificate = self.certificate.as_ref().map(Reloadable::get);
        let key = PoolKey {
            ca_bundle: (!service.insecure).then(|| service.ca_bundle.clone()),
            authority: endpoint.url.authority().map(ToString::to_string).unwrap_or_default(),
            addresses: endpoint.addresses.clone(),
            certificate: certificate.as_ref().map_or(0, |certificate| certificate.digest),
        };
        if let Some(pool) = self.pools.lock().get(&key) {
            return Ok(pool.clone());
        }
        let dialer = Dialer::new(endpoint.addresses.clone());
        let tls = TransportTls::required(tls(service, certificate.as_deref())?);
        let pool = Transport::new(dialer, tls, IDLE_CONNECTIONS);
        let mut pools = self.pools.lock();
        if pools.len() >= POOLS {
            pools.clear();
        }
        pools.insert(key, pool.clone());
        Ok(pool)
    }
}

/// Returns the TLS configuration of connections to an extension server.
fn tls(
    service: &ApiService,
    certificate: Option<&ProxyClientCertificate>,
) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match service.insecure {
        true => Arc::new(AnyCertificate::new(provider.clone())),
        false => server_verifier(&service.ca_bundle)?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match certificate {
        Some(certificate) => config
            .with_client_auth_cert(certificate.chain.clone(), certificate.key.clone_key())
            .map_err(|error| format!("the client certificate of the proxy cannot be used: {error}"))?,
        None => config.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}
