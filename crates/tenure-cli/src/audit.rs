//! The flags of `tenure serve` about audit, by the names that kube-apiserver gives them.

use crate::limits::duration;
use clap::{Args, ValueEnum};
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use tenure_audit::{AuditOptions, Auditor, LogFormat, LogMode, LogOptions, Policy, WebhookOptions};

/// Which requests are audited, and where events go.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Audit")]
pub struct AuditFlags {
    /// The audit policy; without one, every request is recorded at the level Metadata when it is answered.
    #[arg(long, value_name = "FILE")]
    pub audit_policy_file: Option<PathBuf>,
    /// The file of audit events; - is the standard output.
    #[arg(long, value_name = "FILE")]
    pub audit_log_path: Option<PathBuf>,
    /// The size in megabytes at which the file is rotated; 0 is the default [default: 100].
    #[arg(long, value_name = "MEGABYTES")]
    pub audit_log_maxsize: Option<u64>,
    /// How many rotated files are kept [default: all].
    #[arg(long, value_name = "NUMBER")]
    pub audit_log_maxbackup: Option<usize>,
    /// How many days rotated files are kept [default: no limit].
    #[arg(long, value_name = "DAYS")]
    pub audit_log_maxage: Option<u64>,
    /// Compress rotated files.
    #[arg(long)]
    pub audit_log_compress: bool,
    /// The format of an event.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub audit_log_format: Format,
    /// When events are written [default: batch; with --compatibility kubernetes: blocking].
    #[arg(long, value_enum, value_name = "MODE")]
    pub audit_log_mode: Option<Mode>,
    /// A kubeconfig that names the server to which batches of events are posted.
    #[arg(long, value_name = "FILE")]
    pub audit_webhook_config_file: Option<PathBuf>,
    /// The most events of a batch [default: 400].
    #[arg(long, value_name = "NUMBER")]
    pub audit_webhook_batch_max_size: Option<usize>,
    /// How long a batch waits for more events, such as 500ms [default: 30s].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub audit_webhook_batch_max_wait: Option<Duration>,
    /// How many events may wait; further ones are lost and counted [default: 10000].
    #[arg(long, value_name = "NUMBER")]
    pub audit_webhook_batch_buffer_size: Option<usize>,
}

/// The format of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON document per line.
    #[default]
    Json,
    /// A line of text.
    Legacy,
}

/// When events are written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Many at once, up to 10 ms after they happened.
    Batch,
    /// Each on its own, the last of a request before its response.
    Blocking,
}

impl AuditFlags {
    /// Starts auditing; `None` if there is no place for events. `default_mode` holds where the flags name no mode.
    pub async fn start(&self, default_mode: Mode) -> Result<Option<Arc<Auditor>>, String> {
        if self.audit_log_path.is_none() && self.audit_webhook_config_file.is_none() {
            if self.audit_policy_file.is_some() {
                tracing::warn!(
                    "--audit-policy-file has no effect without --audit-log-path or --audit-webhook-config-file"
                );
            }
            return Ok(None);
        }
        let policy = match &self.audit_policy_file {
            None => Policy::of_responses(),
            Some(path) => {
                let text = fs::read_to_string(path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                Policy::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?
            }
        };
        let log = self.audit_log_path.as_ref().map(|path| {
            let defaults = LogOptions::new(path);
            LogOptions {
                max_size: self.audit_log_maxsize.filter(|size| *size > 0).unwrap_or(defaults.max_size),
                max_backups: self.audit_log_maxbackup.unwrap_or(defaults.max_backups),
                max_age: self.audit_log_maxage.unwrap_or(defaults.max_age),
                compress: self.audit_log_compress,
                format: match self.audit_log_format {
                    Format::Json => LogFormat::Json,
                    Format::Legacy => LogFormat::Legacy,
                },
                mode: match self.audit_log_mode.unwrap_or(default_mode) {
                    Mode::Batch => LogMode::Batch,
                    Mode::Blocking => LogMode::Blocking,
                },
                ..defaults
            }
        });
        let webhook = self.audit_webhook_config_file.as_ref().map(|path| {
            let defaults = WebhookOptions::new(path);
            WebhookOptions {
                batch_size: self.audit_webhook_batch_max_size.unwrap_or(defaults.batch_size).max(1),
                batch_wait: self.audit_webhook_batch_max_wait.unwrap_or(defaults.batch_wait),
                queue: self.audit_webhook_batch_buffer_size.unwrap_or(defaults.queue).max(1),
                ..defaults
            }
        });
        let auditor = Auditor::start(AuditOptions { policy, log, webhook }).await;
        auditor.map(Some).map_err(|error| error.to_string())
    }
}
