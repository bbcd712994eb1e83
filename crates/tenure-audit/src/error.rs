//! Why the sinks cannot be started.

use std::path::PathBuf;

/// Why auditing cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The log file cannot be opened. Make its directory writable, or choose another path.
    #[error("cannot open the audit log {}: {source}", path.display())]
    Log {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The kubeconfig of the webhook cannot be used.
    #[error("audit webhook: {0}")]
    Webhook(#[from] tenure_transport::ConnectError),
}
