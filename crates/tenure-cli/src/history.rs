//! The flags of history: what is recorded, and how much of it is kept.

use crate::limits::duration;
use clap::{ArgAction, Args};
use std::time::Duration;
use tenure_server::HistoryOptions;
use tenure_store::LedgerLimits;

/// What history records and keeps.
#[derive(Args, Clone, Debug)]
pub struct HistoryFlags {
    /// Record who changed which field, from what to what [default: true; false with --store etcd].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    history: Option<bool>,
    /// How long changes are kept, such as 720h; older ones are trimmed in the background.
    #[arg(long, value_name = "DURATION", default_value = "720h", value_parser = duration)]
    history_age: Duration,
    /// How many changes of each object are kept.
    #[arg(long, value_name = "COUNT", default_value_t = LedgerLimits::default().per_key)]
    history_changes: usize,
    /// How many bytes of memory all changes may take.
    #[arg(long, value_name = "BYTES", default_value_t = LedgerLimits::default().bytes)]
    history_bytes: usize,
    /// Record the values of Secrets, too; otherwise history says that a value changed, but not what it was.
    #[arg(long)]
    history_secret_values: bool,
    /// Resources that are not recorded, such as `events` or `leases.coordination.k8s.io`.
    #[arg(long, value_name = "RESOURCES", value_delimiter = ',', default_values = HistoryOptions::EXCLUDED)]
    history_exclude: Vec<String>,
}

impl HistoryFlags {
    /// Returns what is recorded; `default` says whether anything is unless a flag does.
    pub fn options(&self, default: bool) -> HistoryOptions {
        HistoryOptions {
            enabled: self.history.unwrap_or(default),
            secret_values: self.history_secret_values,
            exclude: self.history_exclude.iter().filter(|name| !name.is_empty()).cloned().collect(),
        }
    }

    /// Returns how much is kept.
    pub fn limits(&self) -> LedgerLimits {
        LedgerLimits { per_key: self.history_changes, age: self.history_age, bytes: self.history_bytes }
    }
}
