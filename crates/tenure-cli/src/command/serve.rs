//! `tenure serve`: opens the store, creates credentials, listens, and prints how to connect.

use crate::{
    Outcome, admission_manifests,
    aggregation::AggregationFlags,
    audit::AuditFlags,
    clone::source,
    compatibility::Compatibility,
    control_plane::{self, ControlPlane},
    controllers::controllers,
    encryption::{EncryptionConfig, EncryptionFlags},
    feature_gates,
    history::HistoryFlags,
    identity::IdentityFlags,
    limits::LimitFlags,
    logging,
    page::PageEndpoint,
    sign_in,
    terminal::{Terminal, set_variable},
};
#[cfg(feature = "etcd")]
use crate::{control, etcd::EtcdFlags};
use clap::{Args, ValueEnum};
use std::{
    fs::{File, TryLockError},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tenure_admission::{AdmissionChain, PluginConfiguration, PluginSelection};
use tenure_builtin::allocate::ServiceNetworks;
use tenure_http::{Administrator, listener::bind};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_server::ServerOptions;
use tenure_store::{Backup, EmbeddedOptions, EmbeddedStore, MemoryStore, Store};
#[cfg(feature = "etcd")]
use tenure_store::{EtcdOptions, EtcdStore};
use tenure_transport::{
    ConnectOptions, Reloadable, Reloader,
    serving::{
        Credentials, ServingCertificate, Tls, create_private_directory, reachable, serving_names,
        write_insecure_kubeconfig,
    },
};
use tenure_ui::Page;

/// Run the control plane.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tenure serve\n  tenure serve --in-memory --listen 127.0.0.1:0 --insecure-http\n  tenure serve --store etcd --etcd-endpoints http://10.0.0.1:2379,http://10.0.0.2:2379"
)]
pub struct Options {
    /// The directory of the data, the credentials and the kubeconfig.
    #[arg(long, value_name = "DIR", default_value = "tenure-data")]
    data_dir: PathBuf,
    /// The address to listen on; port 0 chooses a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Where objects are stored.
    #[arg(long, value_enum, default_value_t = Kind::Embedded)]
    store: Kind,
    /// Store objects in memory only; the same as --store memory.
    #[arg(long, conflicts_with = "store")]
    in_memory: bool,
    /// Start with the objects of a clone, a dump or a backup, as `tenure clone` takes them. They are copied; the store must be new.
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Serve plain HTTP without authentication; only on a loopback address.
    #[arg(long)]
    insecure_http: bool,
    /// Behave exactly as Kubernetes, or with the improvements that docs/differences.md lists.
    #[arg(long, value_enum, default_value_t = Compatibility::Tenure)]
    compatibility: Compatibility,
    /// The version of Kubernetes to serve.
    #[arg(long, value_name = "VERSION", default_value_t = KubernetesVersion::DEFAULT)]
    kubernetes_version: KubernetesVersion,
    /// Feature gates of kube-apiserver, as NAME=true or NAME=false, separated by commas: CBORServingAndStorage.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,
    #[command(flatten)]
    identity: IdentityFlags,
    #[command(flatten)]
    aggregation: AggregationFlags,
    /// The certificate that the server presents, in PEM, with its chain; by default the server makes one.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    #[command(flatten)]
    audit: AuditFlags,
    /// Admission plugins to enable in addition to the default ones, by the names that Kubernetes gives them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    enable_admission_plugins: Vec<String>,
    /// Admission plugins to disable, such as `LimitRanger,Priority`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disable_admission_plugins: Vec<String>,
    /// An AdmissionConfiguration with the configurations of admission plugins: PodSecurity has levels and exemptions.
    #[arg(long, value_name = "FILE")]
    admission_control_config_file: Option<PathBuf>,
    /// Controllers to run: `*`, or a list of names; `-garbage-collector-controller`, `-namespace-controller` and
    /// `-service-cidr-controller` turn one off.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', env = crate::controllers::VARIABLE, allow_hyphen_values = true)]
    controllers: Vec<String>,
    /// The network of which services get cluster IPs, or one of each family, separated by a comma; further networks are ServiceCIDRs.
    #[arg(long, value_name = "CIDRS", default_value = "10.0.0.0/16", value_parser = service_networks)]
    service_cluster_ip_range: ServiceNetworks,
    /// Create the service account `default` and the config map `kube-root-ca.crt` in every namespace.
    #[arg(long)]
    service_accounts: bool,
    /// Show the plans of agents that wait in this directory of `tenure mcp --approvals` on the page, to who opened the link of the server.
    #[arg(long, value_name = "DIR")]
    approvals: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    history: HistoryFlags,
    #[command(flatten)]
    encryption: EncryptionFlags,
    #[cfg(feature = "etcd")]
    #[command(flatten)]
    etcd: EtcdFlags,
    /// The log filter, such as `info` or `tenure_server=debug`.
    #[arg(long, value_name = "FILTER", env = "TENURE_LOG", default_value = "info")]
    log: String,
}

/// Where objects are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// On disk, in the data directory.
    Embedded,
    /// In etcd, which any number of servers can share.
    #[cfg(feature = "etcd")]
    Etcd,
    /// In memory, until the server stops.
    Memory,
}

type Error = Box<dyn std::error::Error>;

/// Parses the network of cluster IPs.
fn service_networks(text: &str) -> Result<ServiceNetworks, String> {
    ServiceNetworks::parse(text).map_err(str::to_owned)
}

/// The file of the data directory that has the link of the page if the output is not a terminal.
const SIGN_IN_LINK: &str = "sign-in-link";
/// The file of the data directory with the sessions of the page.
const PAGE_SESSIONS: &str = "page-sessions";
/// How old the certificate that the server makes gets before it is renewed; it lasts a year.
const RENEWAL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How often the server looks at the clock and the addresses of the machine for this.
const RENEWAL_CHECK: Duration = Duration::from_secs(60);

/// Runs the control plane until it receives a signal.
pub fn run(options: Options, _: &Terminal) -> Result<Outcome, crate::Error> {
    start(options).map_err(crate::Error::Serve)?;
    Ok(Outcome::Done)
}

fn start(options: Options) -> Result<(), Error> {
    if options.insecure_http && !options.listen.ip().is_loopback() {
        return Err(format!(
            "--insecure-http gives everyone who can reach {} full access; listen on a loopback address such as 127.0.0.1, or remove the flag",
            options.listen
        )
        .into());
    }
    logging::init(&options.log)?;
    create_private_directory(&options.data_dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(options));
    control_plane::end(runtime);
    served
}

async fn serve(options: Options) -> Result<(), Error> {
    control_plane::read_kinds(options.kubernetes_version);
    let encryption = options.encryption.load()?;
    let store = open_store(&options, &encryption).await?;
    // The credentials are those of one server, also if its objects are elsewhere.
    let _lock = lock(&options.data_dir)?;
    tokio::spawn(encryption.follow(store.clone()));
    let listener = bind(options.listen).await?;
    let address = listener.local_addr()?;
    let mut reloader = Reloader::default();
    let (access, tls, kubeconfig, authority) = if options.insecure_http {
        (Administrator::Anyone, None, write_insecure_kubeconfig(&options.data_dir, address)?, String::new())
    } else {
        let authorities = options.identity.client_authorities()?;
        let credentials = Credentials::open(&options.data_dir, address, authorities)?;
        let Credentials { authority, token, kubeconfig, tls } = credentials;
        let tls = follow_certificates(&options, address, tls, &mut reloader)?;
        (Administrator::Token(token), Some(tls), kubeconfig, authority)
    };
    let mut plugins = PluginSelection {
        enabled: options.enable_admission_plugins.clone(),
        disabled: options.disable_admission_plugins.clone(),
    };
    // Pods run as service accounts where the server provides them.
    let accounts = "ServiceAccount".to_string();
    if options.service_accounts && !plugins.disabled.contains(&accounts) {
        plugins.enabled.push(accounts);
    }
    let configuration = match &options.admission_control_config_file {
        Some(path) => PluginConfiguration::read(path, options.kubernetes_version)?,
        None => PluginConfiguration::default(),
    };
    let chain = AdmissionChain::configured(&plugins, &configuration)?;
    admission_manifests::follow(&chain, &mut reloader);
    let mut server_options = ServerOptions::new(access);
    server_options.admission = chain;
    server_options.controllers = controllers(&options.controllers)?;
    server_options.service_addresses = options.service_cluster_ip_range;
    server_options.profile = Profile::from(options.compatibility).at(options.kubernetes_version);
    if let [unknown, ..] = &*feature_gates::apply(&options.feature_gates, &mut server_options.profile)? {
        return Err(format!("unknown feature gate {unknown:?}; known are: CBORServingAndStorage").into());
    }
    options.identity.apply(&mut server_options, &mut reloader)?;
    options.aggregation.apply(&mut server_options.aggregation, &mut reloader)?;
    options.limits.apply(&mut server_options);
    server_options.auditor = options.audit.start(options.compatibility.audit_log_mode()).await?;
    server_options.history = options.history.options(options.is_local());
    let connect = ConnectOptions { kubeconfig: Some(kubeconfig.clone()), ..ConnectOptions::default() };
    let page = Page::of_server(connect).with_approvals(options.approvals.clone());
    let page = if options.insecure_http { page } else { page.with_secure_cookies() };
    let page = Arc::new(page.with_session_file(options.data_dir.join(PAGE_SESSIONS)));
    server_options.web = Some(Arc::new(PageEndpoint(page.clone())));
    let control_plane = ControlPlane {
        store,
        tls,
        reloader,
        options: server_options,
        advertised: address,
        connections: options.limits.connections(),
        default_objects: options.service_accounts.then_some(authority),
    };
    let scheme = if options.insecure_http { "http" } else { "https" };
    let server = format!("{scheme}://{}", reachable(address));
    control_plane.serve(listener, || greet(&server, &kubeconfig, &page, &options.data_dir)).await?;
    Ok(())
}

/// Returns the TLS configuration of the listener: with the certificate of the flags, or else with one that the server makes and
/// renews. Files are read again when they change.
fn follow_certificates(
    options: &Options,
    address: SocketAddr,
    own: Tls,
    reloader: &mut Reloader,
) -> Result<Reloadable<Tls>, String> {
    let identity = options.identity.clone();
    let authorities = identity.authority_files();
    let read: Box<dyn Fn() -> Result<Tls, String> + Send> =
        match (options.tls_cert_file.clone(), options.tls_private_key_file.clone()) {
            (Some(certificate), Some(key)) => Box::new(move || {
                let read = ServingCertificate::read(&certificate, &key).map_err(|error| error.to_string())?;
                read.tls(identity.client_authorities()?)
            }),
            _ => {
                let tls = Reloadable::new(own);
                let (current, directory) = (tls.clone(), options.data_dir.clone());
                let renew = move || {
                    let authorities = identity.client_authorities()?;
                    let renewed = Credentials::open(&directory, address, authorities);
                    renewed.map(|renewed| current.set(renewed.tls)).map_err(|error| error.to_string())
                };
                let renewing = renew.clone();
                tokio::spawn(keep_renewed(address, renewing));
                reloader.add("client certificate authorities", authorities, renew);
                return Ok(tls);
            }
        };
    let tls = Reloadable::new(read()?);
    let current = tls.clone();
    let files = options.tls_cert_file.iter().chain(&options.tls_private_key_file).cloned().chain(authorities);
    reloader.add("certificates", files, move || read().map(|tls| current.set(tls)));
    Ok(tls)
}

/// Renews the server's certificate when it is old, and when the machine has other addresses. The clock of the machine
/// counts, since a machine that was suspended has not been waiting.
async fn keep_renewed(address: SocketAddr, renew: impl Fn() -> Result<(), String>) {
    let (mut names, mut made) = (serving_names(address.ip()), SystemTime::now());
    loop {
        tokio::time::sleep(RENEWAL_CHECK).await;
        let current = serving_names(address.ip());
        let is_old = made.elapsed().is_ok_and(|age| age >= RENEWAL);
        if current == names && !is_old {
            continue;
        }
        match renew() {
            Ok(()) => {
                tracing::info!(names = current.join(" "), "certificate renewed");
                (names, made) = (current, SystemTime::now());
            }
            Err(error) => tracing::error!(%error, "cannot renew the certificate, retrying"),
        }
    }
}

impl Options {
    fn kind(&self) -> Kind {
        if self.in_memory { Kind::Memory } else { self.store }
    }

    /// Whether the objects are on this machine alone.
    fn is_local(&self) -> bool {
        matches!(self.kind(), Kind::Memory | Kind::Embedded)
    }
}

async fn open_store(options: &Options, encryption: &EncryptionConfig) -> Result<Arc<dyn Store>, Error> {
    let ledger = options.history.limits();
    let copied = match &options.from {
        Some(path) => Some(copied(path).await?),
        None => None,
    };
    match options.kind() {
        Kind::Memory => Ok(Arc::new(match copied {
            Some(backup) => MemoryStore::from_backup(backup, ledger),
            None => MemoryStore::new().with_ledger_limits(ledger),
        })),
        Kind::Embedded => {
            let encryption = encryption.encryption();
            let embedded = EmbeddedOptions { encryption, ledger, ..EmbeddedOptions::default() };
            if let Some(backup) = copied {
                let (file, directory) =
                    (options.data_dir.join("clone.backup"), options.data_dir.join("store"));
                backup.write(&file, &embedded.encryption)?;
                let restored = EmbeddedStore::restore(&file, directory, &embedded);
                std::fs::remove_file(&file)?;
                restored?;
            }
            let store = EmbeddedStore::open(options.data_dir.join("store"), embedded)?;
            let store = Arc::new(store);
            #[cfg(feature = "etcd")]
            control::listen(&options.data_dir, store.clone());
            Ok(store)
        }
        #[cfg(feature = "etcd")]
        Kind::Etcd if copied.is_some() => {
            Err("--from needs a store of its own; use the embedded store or --in-memory".into())
        }
        #[cfg(feature = "etcd")]
        Kind::Etcd => {
            let encryption = encryption.encryption();
            let etcd = EtcdOptions { encryption, ledger, ..options.etcd.options()? };
            Ok(Arc::new(EtcdStore::open(etcd).await?))
        }
    }
}

/// Returns the objects of a clone, a dump or a backup as the content of a store.
async fn copied(path: &Path) -> Result<Backup, Error> {
    let found = source::read(path)?;
    let (backup, loaded) = tenure_testing::backup_of(&found.objects).await?;
    for problem in &loaded.left_out {
        tracing::warn!(%problem, "object of the copy left out");
    }
    tracing::info!(objects = loaded.objects, "copy loaded");
    Ok(backup)
}

/// Locks a data directory for as long as the file is open.
fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join("lock");
    let file = tenure_files::append(&path);
    let file = file.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(format!(
            "the data directory {} is in use by another server; choose another with --data-dir",
            directory.display()
        )
        .into()),
        Err(TryLockError::Error(error)) => Err(format!("cannot lock {}: {error}", path.display()).into()),
    }
}

/// Prints the address and how to connect.
fn greet(server: &str, kubeconfig: &Path, page: &Page, directory: &Path) -> Result<(), String> {
    let kubeconfig =
        std::path::absolute(kubeconfig).map_err(|error| format!("{}: {error}", kubeconfig.display()))?;
    let link = format!("{server}{}", page.sign_in_link());
    let browser =
        sign_in::describe_link(&link, &directory.join(SIGN_IN_LINK)).map_err(|error| error.to_string())?;
    println!(
        "Tenure listens on {server}\n\n  {}\n  kubectl create configmap hello --from-literal=who=world\n  kubectl get configmap hello -o yaml --show-managed-fields\n\n{browser}",
        set_variable("KUBECONFIG", &kubeconfig.display().to_string()),
    );
    Ok(())
}
