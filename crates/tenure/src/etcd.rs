//! The flags that say where etcd is, the same for every command that uses it.

use clap::Args;
use std::{path::PathBuf, time::Duration};
use tenure_store::EtcdOptions;

/// Where etcd is and how to talk to it.
#[derive(Args)]
#[command(next_help_heading = "etcd (with --store etcd)")]
pub struct EtcdFlags {
    /// The members of etcd, separated by commas, such as `https://10.0.0.1:2379`.
    #[arg(long, value_name = "URLS", value_delimiter = ',', env = "TENURE_ETCD_ENDPOINTS")]
    etcd_endpoints: Vec<String>,
    /// What all keys in etcd start with; servers with the same prefix share one control plane.
    #[arg(long, value_name = "PREFIX", default_value = "/tenure/", env = "TENURE_ETCD_PREFIX")]
    etcd_prefix: String,
    /// The authority of etcd's certificates, a PEM file; needed for https.
    #[arg(long, value_name = "FILE", env = "TENURE_ETCD_CACERT")]
    etcd_cacert: Option<PathBuf>,
    /// The certificate to show to etcd, a PEM file.
    #[arg(long, value_name = "FILE", requires = "etcd_key", env = "TENURE_ETCD_CERT")]
    etcd_cert: Option<PathBuf>,
    /// The key of that certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "etcd_cert", env = "TENURE_ETCD_KEY")]
    etcd_key: Option<PathBuf>,
    /// The user to be in etcd.
    #[arg(long, value_name = "NAME", requires = "etcd_password_file", env = "TENURE_ETCD_USER")]
    etcd_user: Option<String>,
    /// The file with the password of that user.
    #[arg(long, value_name = "FILE", requires = "etcd_user", env = "TENURE_ETCD_PASSWORD_FILE")]
    etcd_password_file: Option<PathBuf>,
    /// How many seconds a request may wait for etcd before it fails.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    etcd_timeout: u64,
    /// How often, in seconds, one of the servers compacts etcd; 0 leaves that to others.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    etcd_compaction: u64,
}

impl EtcdFlags {
    /// Reads the flags and the file they name.
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
