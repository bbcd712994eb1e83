//! The flags for etcd, shared by all commands that use it.

use clap::Args;
use std::{path::PathBuf, time::Duration};
use tenure_store::EtcdOptions;

/// How to connect to etcd.
#[derive(Args)]
#[command(next_help_heading = "etcd (with --store etcd)")]
pub struct EtcdFlags {
    /// The etcd endpoints, separated by commas, such as `https://10.0.0.1:2379`.
    #[arg(long, value_name = "URLS", value_delimiter = ',', env = "TENURE_ETCD_ENDPOINTS")]
    etcd_endpoints: Vec<String>,
    /// The prefix of all keys; servers with the same prefix share one control plane.
    #[arg(long, value_name = "PREFIX", default_value = "/tenure/", env = "TENURE_ETCD_PREFIX")]
    etcd_prefix: String,
    /// The certificate authority of etcd, a PEM file; required for https.
    #[arg(long, value_name = "FILE", env = "TENURE_ETCD_CACERT")]
    etcd_cacert: Option<PathBuf>,
    /// The client certificate for etcd, a PEM file.
    #[arg(long, value_name = "FILE", requires = "etcd_key", env = "TENURE_ETCD_CERT")]
    etcd_cert: Option<PathBuf>,
    /// The key of the client certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "etcd_cert", env = "TENURE_ETCD_KEY")]
    etcd_key: Option<PathBuf>,
    /// The etcd user.
    #[arg(long, value_name = "NAME", requires = "etcd_password_file", env = "TENURE_ETCD_USER")]
    etcd_user: Option<String>,
    /// The file with the password of the user.
    #[arg(long, value_name = "FILE", requires = "etcd_user", env = "TENURE_ETCD_PASSWORD_FILE")]
    etcd_password_file: Option<PathBuf>,
    /// The timeout of requests to etcd, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    etcd_timeout: u64,
    /// The interval, in seconds, at which one of the servers compacts etcd; 0 disables compaction.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    etcd_compaction: u64,
}

impl EtcdFlags {
    /// Returns the options, with the password read from its file.
    pub fn options(&self) -> Result<EtcdOptions, String> {
        if self.etcd_endpoints.is_empty() {
            return Err("--store etcd needs --etcd-endpoints, such as https://10.0.0.1:2379".to_owned());
        }
        let user = match (&self.etcd_user, &self.etcd_password_file) {
            (Some(user), Some(file)) => {
                let password = std::fs::read_to_string(file)
                    .map_err(|error| format!("--etcd-password-file {}: {error}", file.display()))?;
                Some((user.clone(), password.trim_end_matches(['\n', '\r']).to_owned()))
            }
            _ => None,
        };
        Ok(EtcdOptions {
            endpoints: self.etcd_endpoints.clone(),
            prefix: self.etcd_prefix.clone(),
            authority: self.etcd_cacert.clone(),
            identity: self.etcd_cert.clone().zip(self.etcd_key.clone()),
            user,
            timeout: Duration::from_secs(self.etcd_timeout),
            compaction: (self.etcd_compaction > 0).then(|| Duration::from_secs(self.etcd_compaction)),
            ..EtcdOptions::default()
        })
    }
}
