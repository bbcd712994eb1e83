//! The options of the store on etcd, and the TLS configuration that follows from them.

use super::channel::Endpoint;
use crate::{Clock, Encryption, Error, HistoryLimits, LedgerLimits, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Options of an [`EtcdStore`](super::EtcdStore).
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// The members, such as `https://10.0.0.1:2379`.
    pub endpoints: Vec<String>,
    /// The prefix of all keys. Servers with the same prefix share one store.
    pub prefix: String,
    /// The certificate authority of the members, a PEM file.
    pub authority: Option<PathBuf>,
    /// The client certificate and its key, PEM files.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The user and the password.
    pub user: Option<(String, String)>,
    /// How long a request may take before it fails.
    pub timeout: Duration,
    /// How much history to keep.
    pub limits: HistoryLimits,
    /// How many ledger records to keep; the leader removes others from etcd.
    pub ledger: LedgerLimits,
    /// How values are encrypted in etcd; all servers need the same keys.
    pub encryption: Encryption,
    /// The clock that commits are stamped with.
    pub clock: Clock,
    /// How often the leader compacts etcd; `None` to never do it.
    pub compaction: Option<Duration>,
}

impl Default for EtcdOptions {
    fn default() -> EtcdOptions {
        EtcdOptions {
            endpoints: vec!["http://127.0.0.1:2379".to_owned()],
            prefix: "/tenure/".to_owned(),
            authority: None,
            identity: None,
            user: None,
            timeout: Duration::from_secs(10),
            limits: HistoryLimits::default(),
            ledger: LedgerLimits::default(),
            encryption: Encryption::default(),
            clock: Clock::default(),
            compaction: Some(Duration::from_secs(60)),
        }
    }
}

impl EtcdOptions {
    pub(super) fn parsed_endpoints(&self) -> Result<Vec<Endpoint>> {
        let endpoints =
            self.endpoints.iter().map(|text| Endpoint::parse(text)).collect::<Result<Vec<_>, _>>();
        match endpoints.map_err(Error::Invalid)? {
            none if none.is_empty() => Err(Error::Invalid("no etcd endpoints; give at least one".to_owned())),
            endpoints => Ok(endpoints),
        }
    }

    /// Creates the TLS configuration, if any endpoint uses https.
    pub(super) fn tls(&self, endpoints: &[Endpoint]) -> Result<Option<TlsConnector>> {
        if !endpoints.iter().any(|endpoint| endpoint.secure) {
            return Ok(None);
        }
        let Some(authority) = &self.authority else {
            let missing = "https endpoints of etcd need a certificate authority, a PEM file";
            return Err(Error::Invalid(missing.to_owned()));
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authority)? {
            roots.add(certificate).map_err(|error| unusable(authority, &error))?;
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        let mut config = match &self.identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let parsed = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
                config.with_client_auth_cert(chain, parsed).map_err(|error| unusable(certificate, &error))?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Some(TlsConnector::from(Arc::new(config))))
    }
}

fn certificates(path: &PathBuf) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).map_err(|error| unusable(path, &error))?;
    let found = read.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(path, &error))?;
    match found.is_empty() {
        true => Err(unusable(path, &"no certificate in it")),
        false => Ok(found),
    }
}

fn unusable(path: &std::path::Path, error: &dyn std::fmt::Display) -> Error {
    Error::Invalid(format!("{}: {error}; a PEM file is needed", path.display()))
}
