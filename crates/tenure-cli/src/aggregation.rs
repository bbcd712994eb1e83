//! The flags about extension API servers, by the names that kube-apiserver gives them.

use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tenure_server::{AggregatorOptions, ProxyClientCertificate, Routing};
use tenure_transport::{Reloadable, Reloader};

/// How extension API servers are reached.
#[derive(Args, Clone, Default)]
pub struct AggregationFlags {
    /// The certificate by which extension API servers recognize this server, in PEM.
    #[arg(long, value_name = "FILE", requires = "proxy_client_key_file")]
    pub proxy_client_cert_file: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "proxy_client_cert_file")]
    pub proxy_client_key_file: Option<PathBuf>,
    /// Whether requests go to the endpoints of an extension server's service, and not to its cluster IP [default: to the
    /// endpoints if there are any].
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub enable_aggregator_routing: Option<bool>,
}

impl AggregationFlags {
    /// Sets the options of a server, and has files read again when they change.
    pub fn apply(&self, options: &mut AggregatorOptions, reloader: &mut Reloader) -> Result<(), String> {
        options.registers = true;
        options.routing = match self.enable_aggregator_routing {
            Some(true) => Routing::Endpoints,
            Some(false) => Routing::ClusterIp,
            None => Routing::Automatic,
        };
        if let (Some(certificate), Some(key)) = (&self.proxy_client_cert_file, &self.proxy_client_key_file) {
            let current = Reloadable::new(read_certificate(certificate, key)?);
            options.client_certificate = Some(current.clone());
            let (certificate, key) = (certificate.clone(), key.clone());
            reloader.add("certificate of the proxy", [certificate.clone(), key.clone()], move || {
                read_certificate(&certificate, &key).map(|read| current.set(read))
            });
        }
        Ok(())
    }
}

fn read_certificate(certificate: &Path, key: &Path) -> Result<ProxyClientCertificate, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    ProxyClientCertificate::from_pem(&read(certificate)?, &read(key)?)
        .map_err(|error| format!("{}, {}: {error}", certificate.display(), key.display()))
}
