//! Where commands read the past: from the server itself, from a recorder by its address, or from the directory of one. A directory whose
//! recorder runs is read through it; one that is at rest is opened by the command. The directory of the current cluster is found by itself.

use crate::{Error, connection::Connection, encryption::EncryptionFlags, recorder_files};
use clap::Args;
use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tenure_client::{ClientError, Cluster};
use tenure_http::listener;
use tenure_recorder::{Access, Archive, ArchiveOptions, HistoryEndpoint};
use tenure_store::{EmbeddedOptions, LedgerLimits};
use tenure_transport::{ConnectOptions, HistoryServer};

/// How long a recorder on this machine may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The flags that choose where the past is read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "History")]
pub struct HistorySource {
    /// Where the history is: the directory of `tenure record`, or the address of one [default: the server itself, or the recorder of
    /// this user for the cluster].
    #[arg(long, value_name = "DIR|URL", env = "TENURE_HISTORY", hide_short_help = true)]
    history: Option<String>,
    /// The authorities of the recorder's certificate, in PEM.
    #[arg(long, value_name = "FILE", env = "TENURE_HISTORY_CA", hide_short_help = true)]
    history_certificate_authority: Option<PathBuf>,
}

impl HistorySource {
    /// Connects to the server, with its history, and runs a function with it.
    pub fn run<T>(
        &self,
        connection: &Connection,
        work: impl AsyncFnOnce(Cluster) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        runtime.block_on(async {
            let options = self.options(connection).await?;
            work(Cluster::connect(&options).await?).await
        })
    }

    /// Returns how to find the server and its history. An archive that no recorder has open is served by this process.
    pub async fn options(&self, connection: &Connection) -> Result<ConnectOptions, Error> {
        let options = connection.options();
        let is_address = |text: &&str| text.starts_with("http://") || text.starts_with("https://");
        let given = self.history.as_deref().filter(|given| !given.is_empty());
        let history = match given {
            Some(url) if is_address(&url) => Some(HistoryServer {
                url: url.to_owned(),
                token: None,
                certificate_authority: self.history_certificate_authority.clone(),
            }),
            Some(directory) => Some(of_directory(Path::new(directory), &options).await?),
            None => {
                let server = Cluster::connect(&options).await?.server().to_owned();
                match recorder_files::default_directory(&server)
                    .filter(|directory| directory.join("store").is_dir())
                {
                    Some(directory) => Some(of_directory(&directory, &options).await?),
                    None => None,
                }
            }
        };
        Ok(ConnectOptions { history, ..options })
    }
}

/// Finds the recorder of a directory, or reads the directory.
async fn of_directory(directory: &Path, options: &ConnectOptions) -> Result<HistoryServer, Error> {
    if !directory.join("store").is_dir() {
        return Err(Error::usage(format!(
            "{}: not the directory of a recorder; `tenure record {}` makes one",
            directory.display(),
            directory.display()
        )));
    }
    if let Some(running) = recorder_files::running(directory) {
        let check = ConnectOptions {
            history: Some(running.clone()),
            request_timeout: Some(ANSWER),
            on_silence: None,
            ..options.clone()
        };
        let answer = match Cluster::connect(&check).await {
            Ok(cluster) => cluster.history("/history/writers?limit=1").await,
            Err(error) => Err(error),
        };
        if answer.is_ok_and(|answer| answer.code == 200) {
            return Ok(running);
        }
    }
    let encryption = EncryptionFlags::from_environment().load().map_err(Error::usage)?.encryption();
    // Reading removes nothing, and writes no values of Secrets.
    let store =
        EmbeddedOptions { ledger: LedgerLimits::unlimited(), encryption, ..EmbeddedOptions::default() };
    let archive = ArchiveOptions { store, secret_values: true, ..ArchiveOptions::default() };
    let archive = Arc::new(Archive::open(directory, archive).map_err(|error| Error::Serve(error.into()))?);
    let cluster = Arc::new(Cluster::connect(options).await?);
    archive.replay(&cluster).await.map_err(|error| Error::Serve(error.into()))?;
    serve_here(archive, cluster).await
}

/// Serves an archive to this user alone, on a free port of this machine.
pub async fn serve_here(archive: Arc<Archive>, cluster: Arc<Cluster>) -> Result<HistoryServer, Error> {
    let failed = |error: std::io::Error| Error::Serve(error.into());
    let socket = listener::bind((Ipv4Addr::LOCALHOST, 0).into()).await.map_err(failed)?;
    let url = format!("http://{}", socket.local_addr().map_err(failed)?);
    let token = recorder_files::new_token().map_err(failed)?;
    let endpoint = HistoryEndpoint::new(archive, cluster, Access::Token(token.clone()));
    tokio::spawn(listener::serve(socket, None, endpoint, std::future::pending()));
    Ok(HistoryServer { url, token: Some(token), certificate_authority: None })
}

/// Returns the error of a recorder.
pub fn recorder_error(error: tenure_recorder::RecorderError) -> Error {
    match error {
        tenure_recorder::RecorderError::Client(error) => Error::Client(error),
        other => Error::Client(ClientError::History { problem: other.to_string() }),
    }
}
