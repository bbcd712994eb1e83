//! `tenure record`: follows any cluster and keeps the history of its objects in a directory, for the commands that read the past.

use crate::{
    Error, Outcome,
    connection::Connection,
    encryption::{EncryptionConfig, EncryptionFlags},
    history_source::{recorder_error, serve_here},
    limits::duration,
    logging, recorder_files,
    recorder_manifest::manifest,
    signal::terminated,
    terminal::Terminal,
};
use clap::Args;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tenure_client::{ClientError, Cluster};
use tenure_http::listener;
use tenure_recorder::{
    Access, Archive, ArchiveOptions, AuditEndpoint, HistoryEndpoint, Recorder, RecorderError,
    RecorderOptions, milliseconds,
};
use tenure_server::HistoryOptions;
use tenure_store::{EmbeddedOptions, LedgerLimits};
use tenure_transport::{
    Reloadable,
    serving::{ClientAuthorities, ServingCertificate, Tls, serving_names},
};

/// How often the authors of changes that are no longer kept are forgotten.
const FORGET: Duration = Duration::from_secs(3600);

/// Keep the history of a cluster, for log, diff, blame --at, undo, restore, fights and the page.
#[derive(Args)]
#[command(after_help = "\
Follows every kind that you may list and watch, and keeps each version as a delta with its manager. The commands find the history of the
current cluster by themselves; --history names another. Nothing is written to the cluster.

Examples:
  tenure record
  tenure record /var/lib/tenure-history --kinds deployments,configmaps -n shop
  tenure record --listen 0.0.0.0:8443 --tls-cert-file tls.crt --tls-private-key-file tls.key
  tenure record --manifest | kubectl apply -f -")]
pub struct Options {
    /// The directory of the history [default: one for the cluster in ~/.local/state/tenure/history].
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Record only these kinds.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Kinds that are not recorded; those given replace the default.
    #[arg(long, value_name = "KINDS", value_delimiter = ',', default_values = HistoryOptions::EXCLUDED)]
    exclude: Vec<String>,
    /// How long changes are kept, such as 720h; older ones are trimmed in the background.
    #[arg(long, value_name = "DURATION", default_value = "720h", value_parser = duration)]
    age: Duration,
    /// How many changes of each object are kept.
    #[arg(long, value_name = "COUNT", default_value_t = LedgerLimits::default().per_key)]
    changes: usize,
    /// How many bytes of memory all changes may take.
    #[arg(long, value_name = "BYTES", default_value_t = LedgerLimits::default().bytes)]
    bytes: usize,
    /// Keep the values of Secrets; otherwise a keyed digest tells whether a value changed, but not what it was.
    #[arg(long)]
    secret_values: bool,
    /// Serve the history to others on this address, with TLS; the cluster decides who may read what.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The certificate of --listen, in PEM, with its chain; by default one is made in the directory.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// The authorities of client certificates of --listen, in PEM; without it, readers need a token of the cluster.
    #[arg(long, value_name = "FILE", requires = "listen")]
    client_ca_file: Option<PathBuf>,
    /// An audit log of the API server, which tells the users: it is read as it grows. Its policy needs the level RequestResponse.
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// Receive audit events on this address from the webhook of the API server; plain HTTP on a loopback address, else with the
    /// certificate of --tls-cert-file. The kubeconfig for --audit-webhook-config-file is written to the directory.
    #[arg(long, value_name = "ADDRESS")]
    audit_webhook: Option<SocketAddr>,
    /// Print the objects that run a recorder in the cluster, and record nothing.
    #[arg(long)]
    manifest: bool,
    /// The image of --manifest.
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = "ghcr.io/tenure-dev/tenure:latest",
        requires = "manifest"
    )]
    image: String,
    /// The log filter, such as `info` or `tenure_recorder=debug`.
    #[arg(long, value_name = "FILTER", env = "TENURE_LOG", default_value = "warn")]
    log: String,
    #[command(flatten)]
    encryption: EncryptionFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Records until it is interrupted.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.manifest {
        terminal
            .print(manifest(&options.image, options.connection.namespace().unwrap_or("tenure-system")))?;
        return Ok(Outcome::Done);
    }
    logging::init(&options.log).map_err(Error::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Runtime)?;
    let recorded = runtime.block_on(record(&options, terminal));
    // Open connections of readers do not keep the command from ending.
    runtime.shutdown_timeout(Duration::from_secs(1));
    recorded
}

async fn record(options: &Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let stopped = terminated().map_err(Error::Runtime)?;
    let cluster = Arc::new(Cluster::connect(&options.connection.options()).await?);
    check_kinds(options, &cluster, terminal).await?;
    let directory = options.directory.clone().or_else(|| recorder_files::default_directory(cluster.server()));
    let directory = directory
        .ok_or_else(|| Error::usage("there is no home directory for the history; name a directory"))?;
    let encryption = options.encryption.load().map_err(Error::usage)?;
    let archive = Arc::new(open(options, &directory, &encryption)?);
    archive.replay(&cluster).await.map_err(recorder_error)?;
    let here = serve_here(archive.clone(), cluster.clone()).await?;
    let failed = |source| Error::Write { path: directory.clone(), source };
    recorder_files::announce(&directory, &here).map_err(failed)?;
    terminal.note(format_args!("Recording {} in {}", cluster.server(), directory.display()));
    if let Some(address) = options.listen {
        let address = listen(options, address, &archive, &cluster).await?;
        terminal.note(format_args!("Serving the history on https://{address}"));
    }
    let recorder = Recorder::new(
        cluster.clone(),
        archive.clone(),
        RecorderOptions {
            kinds: options.kinds.clone(),
            namespace: options.connection.namespace().map(str::to_owned),
            exclude: options.exclude.iter().filter(|name| !name.is_empty()).cloned().collect(),
        },
    );
    let settled = async {
        let (count, refused) = recorder.settled().await;
        let kinds = if count == 1 { "kind" } else { "kinds" };
        terminal.note(format_args!("Following {count} {kinds}; press Ctrl-C to stop"));
        for (kind, why) in refused {
            terminal.note(format_args!("Not following {kind}: {why}"));
        }
        std::future::pending::<()>().await
    };
    let encrypted = async {
        encryption.follow(archive.store()).await;
        std::future::pending::<()>().await
    };
    if let Some(address) = options.audit_webhook {
        let file = receive_audit_events(options, address, &archive).await?;
        terminal.note(format_args!("Receiving audit events; the webhook's kubeconfig is {}", file.display()));
    }
    let audited = async {
        match &options.audit_log {
            Some(path) => follow(&archive, path).await,
            None => std::future::pending::<RecorderError>().await,
        }
    };
    let forgotten = async {
        let age = u64::try_from(options.age.as_millis()).unwrap_or(u64::MAX);
        loop {
            let before = milliseconds(std::time::SystemTime::now()).saturating_sub(age);
            if let Err(error) = archive.forget_authors(before).await {
                tracing::warn!(%error, "old authors not forgotten");
            }
            tokio::time::sleep(FORGET).await;
        }
    };
    tokio::select! {
        () = recorder.clone().run() => {}
        error = audited => return Err(recorder_error(error)),
        () = forgotten => {}
        () = settled => {}
        () = encrypted => {}
        () = stopped => {}
    }
    recorder_files::withdraw(&directory);
    Ok(Outcome::Done)
}

/// Checks that no name of a kind is a typo. One that is like no other may be that of a definition to come.
async fn check_kinds(options: &Options, cluster: &Cluster, terminal: &Terminal) -> Result<(), Error> {
    let excluded = options.exclude.iter().filter(|name| !HistoryOptions::EXCLUDED.contains(&name.as_str()));
    for name in options.kinds.iter().chain(excluded).filter(|name| !name.is_empty()) {
        match cluster.kind_named(name).await {
            Err(ClientError::UnknownKind { nearest, server, .. }) if nearest.is_empty() => {
                terminal.note(format_args!("{server} has no kind named {name:?} yet"));
            }
            found => drop(found?),
        }
    }
    Ok(())
}

fn open(
    options: &Options,
    directory: &std::path::Path,
    encryption: &EncryptionConfig,
) -> Result<Archive, Error> {
    let ledger = LedgerLimits { per_key: options.changes, age: options.age, bytes: options.bytes };
    let store = EmbeddedOptions { ledger, encryption: encryption.encryption(), ..EmbeddedOptions::default() };
    let secret_values = options.secret_values;
    let options = ArchiveOptions { store, secret_values, ..ArchiveOptions::default() };
    Archive::open(directory, options).map_err(recorder_error)
}

/// Receives audit events; returns the file that tells the API server where.
async fn receive_audit_events(
    options: &Options,
    address: SocketAddr,
    archive: &Arc<Archive>,
) -> Result<PathBuf, Error> {
    let failed = |error: std::io::Error| Error::Serve(error.into());
    let tls = match (&options.tls_cert_file, &options.tls_private_key_file) {
        (Some(certificate), Some(key)) => Some(
            ServingCertificate::read(certificate, key).map_err(failed)?.tls(None).map_err(Error::usage)?,
        ),
        _ if address.ip().is_loopback() => None,
        _ => {
            return Err(Error::usage(format!(
                "--audit-webhook {address}: not a loopback address; it needs --tls-cert-file and --tls-private-key-file"
            )));
        }
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let socket = listener::bind(address).await.map_err(failed)?;
    let url = format!("{scheme}://{}", socket.local_addr().map_err(failed)?);
    let file = archive.directory().join("audit-webhook.kubeconfig");
    let written = recorder_files::write_webhook(&file, &url);
    let token = written.map_err(|source| Error::Write { path: file.clone(), source })?;
    let endpoint = AuditEndpoint::new(archive.clone(), token);
    tokio::spawn(listener::serve(socket, tls.map(Reloadable::new), endpoint, std::future::pending()));
    Ok(file)
}

/// Serves the history to users whom the cluster permits to read it; returns the address.
async fn listen(
    options: &Options,
    address: SocketAddr,
    archive: &Arc<Archive>,
    cluster: &Arc<Cluster>,
) -> Result<SocketAddr, Error> {
    let failed = |error: std::io::Error| Error::Serve(error.into());
    let certificate = match (&options.tls_cert_file, &options.tls_private_key_file) {
        (Some(certificate), Some(key)) => ServingCertificate::read(certificate, key),
        _ => ServingCertificate::open(archive.directory(), serving_names(address.ip())),
    };
    let authorities = match &options.client_ca_file {
        Some(path) => {
            let unreadable = |source| Error::Read { path: path.clone(), source };
            let pem = std::fs::read_to_string(path).map_err(unreadable)?;
            let problem = |error| Error::usage(format!("--client-ca-file {}: {error}", path.display()));
            Some(ClientAuthorities::from_pem(&pem).map_err(problem)?)
        }
        None => None,
    };
    let tls: Tls = certificate.map_err(failed)?.tls(authorities).map_err(Error::usage)?;
    let socket = listener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    let endpoint = HistoryEndpoint::new(archive.clone(), cluster.clone(), Access::Reviewed);
    tokio::spawn(listener::serve(socket, Some(Reloadable::new(tls)), endpoint, std::future::pending()));
    Ok(address)
}

/// Reads an audit log until its file cannot be read.
#[cfg(unix)]
async fn follow(archive: &Archive, path: &Path) -> RecorderError {
    loop {
        match tenure_recorder::follow_audit_log(archive, path).await {
            Ok(()) => {}
            Err(error @ RecorderError::File { .. }) => return error,
            Err(error) => tracing::warn!(%error, "audit log not read, retrying"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A rotated log is found by its inode.
#[cfg(windows)]
async fn follow(_archive: &Archive, path: &Path) -> RecorderError {
    let problem = "audit logs are not read on Windows; receive the events with --audit-webhook";
    RecorderError::Invalid(format!("{}: {problem}", path.display()))
}
