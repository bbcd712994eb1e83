//! `tenure ui`: serves the page for any cluster of the kubeconfig on a loopback port, and opens the browser.

use super::approve::ApprovalDirectory;
use crate::{
    Error, Outcome, connection::Connection, history_source::HistorySource, page::PageEndpoint, sign_in,
    terminal::Terminal, undo_files,
};
use clap::Args;
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};
use tenure_client::Cluster;
use tenure_http::listener;
use tenure_transport::ConnectOptions;
use tenure_ui::{Contexts, Page};

/// Show the owners of all fields in the browser, for any cluster.
#[derive(Args)]
#[command(after_help = "\
The page is served on this machine only, and speaks to the cluster with your own credentials. The printed link signs one browser in,
once, within ten minutes. Where the output is not a terminal, the link is in a file. Plans of agents that wait for approval are on the
page, too (`tenure mcp --approve plan`).

Examples:
  tenure ui
  tenure ui --context production
  tenure ui --no-open --port 8001")]
pub struct Options {
    /// The port on 127.0.0.1; 0 chooses a free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Do not open the browser.
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    approvals: ApprovalDirectory,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// Serves the page until it is interrupted.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(&options, terminal));
    // Pages that are still open do not keep the command from ending.
    runtime.shutdown_background();
    served
}

async fn serve(options: &Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let connect = options.history.options(&options.connection).await?;
    // An unusable kubeconfig is an error here, and not on the page.
    let server = Cluster::connect(&connect).await?.server().to_owned();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
    let socket = listener::bind(address).await.map_err(|error| Error::Serve(error.into()))?;
    let address = socket.local_addr().map_err(|error| Error::Serve(error.into()))?;
    let page = Page::new(connect.clone()).with_contexts(contexts(&connect)?);
    let page = page.with_undo_directory(undo_files::directory());
    let page = Arc::new(page.with_approvals(options.approvals.path()));
    let link = format!("http://{address}{}", page.sign_in_link());
    // The port is in use by this process alone.
    let file = runtime_directory().join(format!("tenure-ui-{}", address.port()));
    let browser = sign_in::describe_link(&link, &file).map_err(|error| Error::Serve(error.into()))?;
    terminal.print(format!(
        "The page for {server} on http://{address}/ui/, for one browser.\n\n  {browser}\n\nPress Ctrl-C to stop.\n"
    ))?;
    if !options.no_open {
        open(&link);
    }
    let handler = Arc::new(PageEndpoint::alone(page));
    tokio::select! {
        () = listener::serve(socket, None, handler, std::future::pending()) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(Outcome::Done)
}

/// Returns the contexts that the page offers: those of the kubeconfig, unless flags say what takes the place of a context's parts.
fn contexts(options: &ConnectOptions) -> Result<Contexts, Error> {
    let ConnectOptions { cluster, user, server, token, .. } = options;
    if [cluster, user, server, token].iter().any(|flag| flag.is_some()) {
        return Ok(Contexts::default());
    }
    let failed = |error| Error::Client(tenure_client::ClientError::Connect(error));
    let names = tenure_transport::contexts(options).map_err(failed)?;
    let current = tenure_transport::current_context(options).map_err(failed)?.unwrap_or_default();
    Ok(Contexts { current, names })
}

/// Returns the user's directory for files that end with the session.
fn runtime_directory() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Opens the link in the browser. Where there is none, the printed link can be copied.
fn open(link: &str) {
    let (program, arguments): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let _ = Command::new(program)
        .args(arguments)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
