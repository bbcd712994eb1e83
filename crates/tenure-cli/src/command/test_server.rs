//! `tenure test-server`: a control plane for tests in any language, with forks, snapshots, faults and a clock over a socket.

use crate::{
    Error, Outcome,
    compatibility::Compatibility,
    logging,
    signal::terminated,
    terminal::{Format, Terminal, set_variable},
};
use clap::Args;
use std::{net::SocketAddr, path::PathBuf};
use tenure_profile::KubernetesVersion;
use tenure_testing::{ControlSocket, TestServer};
use tenure_value::Value;

/// Run a control plane for tests, in memory.
#[derive(Args)]
#[command(after_help = "\
Everyone who can connect is the administrator; only loopback addresses are accepted. Everything is gone when the server stops.
docs/testing.md describes the endpoints below /testing.

Examples:
  tenure test-server --testing-listen 127.0.0.1:0
  tenure test-server -f config/crd -f fixtures.yaml --seed 7 -o json
  curl -X POST 127.0.0.1:PORT/testing/fork
  curl 127.0.0.1:PORT/testing/clock -d '{\"advance\": \"1h\"}' -H 'Content-Type: application/json'")]
pub struct Options {
    /// The loopback address to listen on, with plain HTTP; port 0 chooses a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The loopback address of the endpoints below /testing; without it there are none.
    #[arg(long, value_name = "ADDRESS")]
    testing_listen: Option<SocketAddr>,
    /// A file or directory with definitions and objects to begin with; may be repeated.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Derive uids, generated names and times from this number, so that they repeat; the clock is stopped.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Behave exactly as Kubernetes, or with the improvements that docs/differences.md lists.
    #[arg(long, value_enum, default_value_t = Compatibility::Kubernetes)]
    compatibility: Compatibility,
    /// The version of Kubernetes to serve.
    #[arg(long, value_name = "VERSION", default_value_t = KubernetesVersion::DEFAULT)]
    kubernetes_version: KubernetesVersion,
    /// Create the service account `default` in every namespace and let pods run as it.
    #[arg(long)]
    service_accounts: bool,
    /// How the addresses are printed: `text` for people, `json` or `yaml` for programs.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// The log filter, such as `info` or `tenure_server=debug`.
    #[arg(long, value_name = "FILTER", env = "TENURE_LOG", default_value = "warn")]
    log: String,
}

/// Runs the server until it receives a signal.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    logging::init(&options.log).map_err(|error| Error::Serve(error.into()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(&options, terminal));
    // Watches that are still open do not keep the command from ending.
    runtime.shutdown_background();
    served
}

async fn serve(options: &Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let failed = |error: tenure_testing::TestError| Error::Serve(error.into());
    let stop = terminated().map_err(Error::Runtime)?;
    let mut builder =
        TestServer::builder().profile(options.compatibility.into()).kubernetes(options.kubernetes_version);
    if let Some(seed) = options.seed {
        builder = builder.seed(seed);
    }
    if options.service_accounts {
        builder = builder.service_accounts();
    }
    builder = options.files.iter().fold(builder, |builder, file| builder.manifests(file));
    let server = builder.start().await.map_err(failed)?;
    let socket = server.listen_on(options.listen).await.map_err(failed)?;
    let (url, kubeconfig) = (socket.url(), socket.kubeconfig().display().to_string());
    // Both live until the end.
    let (control, _socket) = match options.testing_listen {
        Some(address) => (Some(ControlSocket::open(server, socket, address).await.map_err(failed)?), None),
        None => (None, Some(socket)),
    };
    let testing = control.as_ref().map(ControlSocket::url);
    terminal.print(greeting(options.output, &url, &kubeconfig, testing.as_deref()))?;
    stop.await;
    Ok(Outcome::Done)
}

fn greeting(format: Format, url: &str, kubeconfig: &str, testing: Option<&str>) -> String {
    if format != Format::Text {
        let testing = testing.map_or(Value::Null, Value::from);
        let document =
            [("url", Value::from(url)), ("kubeconfig", Value::from(kubeconfig)), ("testing", testing)];
        return format.render(&Value::object(document));
    }
    let testing = testing.map(|testing| format!("Forks, snapshots, clock and faults: {testing}\n"));
    format!(
        "Test server on {url}\n{}\n  {}\n\nPress Ctrl-C to stop.\n",
        testing.unwrap_or_default(),
        set_variable("KUBECONFIG", kubeconfig)
    )
}
