//! The log, which goes to standard error.

use tracing_subscriber::EnvFilter;

/// Starts logging with a filter such as `info` or `tenure_server=debug`.
pub fn init(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("--log {filter:?}: {error}"))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    Ok(())
}
