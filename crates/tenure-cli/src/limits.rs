//! The flags that limit what clients can make the server do.

use clap::Args;
use std::time::Duration;
use tenure_http::{ConnectionLimits, MemoryBudget};
use tenure_server::ServerOptions;

/// Limits on connections, requests and memory.
#[derive(Args, Clone, Debug)]
pub struct LimitFlags {
    /// How many requests that only read may run at once; with --max-mutating-requests-inflight this is what priority levels
    /// share.
    #[arg(long, value_name = "COUNT", default_value_t = 400)]
    max_requests_inflight: u32,
    /// How many requests that write may run at once, in addition to --max-requests-inflight.
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    max_mutating_requests_inflight: u32,
    /// Give requests a fair share of the server by their flow schemas and priority levels.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    enable_priority_and_fairness: bool,
    /// How many bytes large requests and responses in flight may occupy; beyond it they are refused with 429.
    #[arg(long, value_name = "BYTES", default_value_t = MemoryBudget::DEFAULT)]
    max_inflight_bytes: usize,
    /// How many connections may be open; by default as many as the limit on open files allows, and at most 20000.
    #[arg(long, value_name = "COUNT")]
    max_connections: Option<usize>,
    /// How many connections of one address may be open; by default three quarters of --max-connections.
    #[arg(long, value_name = "COUNT")]
    max_connections_per_address: Option<usize>,
    /// After how many seconds a connection without a request is closed.
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    idle_timeout: u64,
    /// How many seconds a watch that sets no timeout lasts at least; each ends at a random time before twice as many.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u32).range(1..))]
    min_request_timeout: u32,
    /// How long events are kept after their last write, such as 30m or 1h; 0 to keep them.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    event_ttl: Duration,
}

/// Reads a duration as Kubernetes writes it.
pub fn duration(text: &str) -> Result<Duration, String> {
    tenure_crd::duration(text).ok_or_else(|| "expected a duration such as 30s or 5m".into())
}

impl LimitFlags {
    /// Sets the limits on requests.
    pub fn apply(&self, options: &mut ServerOptions) {
        let seats = self.max_requests_inflight.saturating_add(self.max_mutating_requests_inflight);
        options.concurrency =
            options.concurrency.filter(|_| self.enable_priority_and_fairness).map(|_| seats);
        options.memory = MemoryBudget::new(self.max_inflight_bytes);
        options.min_request_timeout = Duration::from_secs(self.min_request_timeout.into());
        options.event_ttl = Some(self.event_ttl).filter(|ttl| !ttl.is_zero());
    }

    /// Returns the limits on connections.
    pub fn connections(&self) -> ConnectionLimits {
        let mut limits = self.max_connections.map_or_else(ConnectionLimits::default, ConnectionLimits::new);
        if let Some(per_address) = self.max_connections_per_address {
            limits.per_address = per_address;
        }
        limits.idle_time = Duration::from_secs(self.idle_timeout);
        limits
    }
}
