//! The log, which goes to standard error.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging with a filter such as `info` or `tenure_server=debug`.
pub fn init(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("--log {filter:?}: {error}"))?;
    // In colour for people only, who may not want it (https://no-color.org).
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let has_colour = std::io::stderr().is_terminal() && !is_plain;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(has_colour)
        .init();
    Ok(())
}
