//! The HTTPS server of a webhook: on a free port of this machine, with its own certificate.

use std::{net::SocketAddr, sync::Arc};
use tenure_http::listener::{Handler, bind, serve};
use tenure_transport::{Reloadable, serving::Tls};
use tenure_value::base64;
use tokio::runtime::Runtime;
use tokio_rustls::rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// A running server; it stops when dropped.
pub struct WebhookServer {
    pub address: SocketAddr,
    /// Its certificate, as in configurations.
    pub ca_bundle: String,
    runtime: Option<Runtime>,
}

impl WebhookServer {
    /// Starts a server whose certificate is for an address of this machine and for a service.
    pub fn start(service: &str, handler: Arc<impl Handler>) -> WebhookServer {
        let certified =
            rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_string(), service.to_string()]).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(bind(([127, 0, 0, 1], 0).into())).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(
            listener,
            Some(Reloadable::new(Tls { config: Arc::new(config), authorities: None })),
            handler,
            std::future::pending(),
        ));
        WebhookServer { address, ca_bundle: base64::encode(certified.cert.pem()), runtime: Some(runtime) }
    }

    /// Returns a `clientConfig` for the server.
    pub fn client(&self, path: &str) -> String {
        format!(r#"{{"url":"https://{}{path}","caBundle":"{}"}}"#, self.address, self.ca_bundle)
    }
}

impl Drop for WebhookServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
