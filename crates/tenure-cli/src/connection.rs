//! The flags that choose the server and the user, as those of `kubectl`.

use crate::{Error, limits::duration};
use clap::Args;
use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tenure_client::Cluster;
use tenure_transport::{ConnectOptions, Impersonate};

/// The flags that choose the server and the user.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub struct Connection {
    /// The kubeconfig file [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The cluster of the kubeconfig.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    cluster: Option<String>,
    /// The user of the kubeconfig.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    user: Option<String>,
    /// The address of the server, instead of the kubeconfig's.
    #[arg(short = 's', long, value_name = "URL", hide_short_help = true)]
    server: Option<String>,
    /// The namespace of objects without one.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// A bearer token, instead of the kubeconfig's credentials.
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    token: Option<String>,
    /// The user to act as.
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// A group to act as a member of; may be repeated.
    #[arg(long = "as-group", value_name = "GROUP", hide_short_help = true)]
    as_groups: Vec<String>,
    /// The uid to act as.
    #[arg(long = "as-uid", value_name = "UID", hide_short_help = true)]
    as_uid: Option<String>,
    /// Accept any certificate of the server; connections are not safe then.
    #[arg(long, hide_short_help = true, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    insecure_skip_tls_verify: Option<bool>,
    /// How long a request may take, such as 10s or 2m; 0 means a minute until the server begins to answer.
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    request_timeout: Option<Duration>,
}

/// Whether a person was told that the server is silent.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Tells a person at a terminal, once, what the command waits for.
fn tell_silence(server: &str) {
    let mut error = std::io::stderr();
    if error.is_terminal() && !TOLD.swap(true, Ordering::Relaxed) {
        // An error of writing to standard error cannot be reported.
        let _ = writeln!(error, "waiting for {server}…");
    }
}

impl Connection {
    /// Returns a command with only these flags.
    pub fn command() -> clap::Command {
        Connection::augment_args(clap::Command::new("tenure"))
    }

    /// Returns the namespace of the command line.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the same flags, with a namespace if none is given.
    pub fn or_namespace(&self, namespace: Option<String>) -> Connection {
        Connection { namespace: self.namespace.clone().or(namespace), ..self.clone() }
    }

    /// Returns the user and the groups to act as.
    pub fn impersonate(&self) -> Impersonate {
        Impersonate { user: self.as_user.clone(), uid: self.as_uid.clone(), groups: self.as_groups.clone() }
    }

    /// Returns the flags of the same user, who acts for themselves.
    pub fn without_impersonation(&self) -> Connection {
        Connection { as_user: None, as_uid: None, as_groups: Vec::new(), ..self.clone() }
    }

    /// Returns how to find the server.
    pub fn options(&self) -> ConnectOptions {
        ConnectOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            server: self.server.clone(),
            namespace: self.namespace.clone(),
            token: self.token.clone(),
            impersonate: self.impersonate(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify.unwrap_or_default(),
            request_timeout: self.request_timeout.filter(|limit| !limit.is_zero()),
            on_silence: Some(tell_silence),
            ..ConnectOptions::default()
        }
    }

    /// Returns the flags that choose the server, as they are typed; for commands that are printed.
    pub fn typed(&self) -> String {
        let mut typed = String::new();
        let kubeconfig = self.kubeconfig.as_ref().map(|file| file.to_string_lossy().into_owned());
        for (flag, value) in [
            ("--kubeconfig", &kubeconfig),
            ("--context", &self.context),
            ("--cluster", &self.cluster),
            ("--user", &self.user),
            ("--server", &self.server),
            ("--as", &self.as_user),
            ("--as-uid", &self.as_uid),
        ] {
            if let Some(value) = value {
                typed += &format!(" {flag} {}", crate::terminal::quoted(value));
            }
        }
        for group in &self.as_groups {
            typed += &format!(" --as-group {}", crate::terminal::quoted(group));
        }
        if self.insecure_skip_tls_verify == Some(true) {
            typed += " --insecure-skip-tls-verify";
        }
        typed
    }

    /// Connects to the server and runs a function with it.
    pub fn run<T>(&self, work: impl AsyncFnOnce(Cluster) -> Result<T, Error>) -> Result<T, Error> {
        // One thread is enough: commands wait for the server most of the time.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let options = self.options();
        runtime.block_on(async { work(Cluster::connect(&options).await?).await })
    }
}
