//! Tenure as `kube-apiserver`: translates the flags, opens a store in memory and serves.

use super::{
    Error,
    api_server_flags::{help, parse},
    flags::{FlagError, Flags, invalid},
    shared_flags::SharedFlags,
};
use crate::{
    admission_manifests,
    aggregation::AggregationFlags,
    audit::{AuditFlags, Mode},
    authorization::AuthorizationMode,
    control_plane::{self, ControlPlane},
    controllers::controllers,
    feature_gates,
    identity::IdentityFlags,
    logging,
};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tenure_admission::{AdmissionChain, PluginConfiguration, PluginSelection, plugin_names};
use tenure_builtin::allocate::ServiceNetworks;
use tenure_http::{
    Administrator, ConnectionLimits,
    listener::{self},
};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_server::{Controllers, ServerOptions};
use tenure_store::MemoryStore;
use tenure_transport::{
    Reloadable, Reloader,
    serving::{ServingCertificate, Tls, serving_names},
};

/// The directory of the certificate if none is given.
const CERT_DIR: &str = "/var/run/kubernetes";
/// The first verbosity at which requests are logged.
const DEBUG_VERBOSITY: u8 = 4;
/// Admission plugins of Kubernetes that Tenure may not have. They can be selected, with a warning.
const KUBERNETES_PLUGINS: [&str; 21] = [
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ImagePolicyWebhook",
    "JobValidation",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeDeclaredFeatureValidator",
    "OwnerReferencesPermissionEnforcement",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
    "PodNodeSelector",
    "PodResizeValidator",
    "PodTolerationRestriction",
    "PodTopologyLabels",
];

/// Runs the API server until it receives a signal.
pub(super) fn run(arguments: &[String], version: KubernetesVersion) -> Result<(), Error> {
    let flags = parse(arguments)?;
    if flags.switch("help") == Some(true) || flags.switch("h") == Some(true) {
        print!("{}", help());
        return Ok(());
    }
    if flags.switch("version") == Some(true) {
        println!("Kubernetes {}", version.release());
        return Ok(());
    }
    let settings = Settings::read(&flags)?;
    logging::init(settings.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let served = runtime.block_on(serve(settings, version));
    control_plane::end(runtime);
    Ok(served?)
}

async fn serve(settings: Settings, version: KubernetesVersion) -> Result<(), String> {
    control_plane::read_kinds(version);
    let mut reloader = Reloader::default();
    // There is no token of the administrator: administrators have certificates or tokens of their own.
    let mut options = ServerOptions::new(Administrator::Token(String::new()));
    let configuration = settings.plugin_configuration.as_deref();
    options.admission = admission(settings.plugins.clone(), configuration, version)?;
    admission_manifests::follow(&options.admission, &mut reloader);
    options.profile = settings.profile.at(version);
    options.controllers = settings.controllers;
    options.service_addresses = settings.service_addresses;
    options.min_request_timeout = settings.min_request_timeout.unwrap_or(options.min_request_timeout);
    settings.identity.apply(&mut options, &mut reloader)?;
    settings.aggregation.apply(&mut options.aggregation, &mut reloader)?;
    // Before anything is written: a port that is taken is an error at once, and clients that connect early are queued, not refused.
    let listener = listener::bind(settings.bind).await.map_err(|error| error.to_string())?;
    let tls = Reloadable::new(settings.tls()?);
    let (settings, current) = (Arc::new(settings), tls.clone());
    let following = settings.clone();
    reloader.add("certificates", settings.tls_files(), move || following.tls().map(|tls| current.set(tls)));
    options.auditor = settings.audit.start(Mode::Blocking).await?;
    let control_plane = ControlPlane {
        store: Arc::new(MemoryStore::new()),
        tls: Some(tls),
        reloader,
        options,
        connections: ConnectionLimits::default(),
        advertised: SocketAddr::new(settings.advertise, settings.bind.port()),
        default_objects: None,
    };
    let ready = || {
        tracing::info!(address = %settings.bind, "serving");
        Ok(())
    };
    control_plane.serve(listener, ready).await
}

/// What the flags ask for.
struct Settings {
    bind: SocketAddr,
    advertise: IpAddr,
    cert_dir: PathBuf,
    /// The files of certificate and key, if they are not those of the directory.
    cert_files: Option<(PathBuf, PathBuf)>,
    identity: IdentityFlags,
    aggregation: AggregationFlags,
    audit: AuditFlags,
    plugins: PluginSelection,
    plugin_configuration: Option<PathBuf>,
    controllers: Controllers,
    profile: Profile,
    service_addresses: ServiceNetworks,
    /// How long a watch that sets no timeout lasts at least, if that is not the default.
    min_request_timeout: Option<Duration>,
    log: &'static str,
}

/// Returns how the server behaves: as Kubernetes does with the same feature gates.
fn profile(flags: &Flags) -> Result<Profile, FlagError> {
    let mut profile = Profile::kubernetes();
    let gates = flags.list("feature-gates").unwrap_or_default();
    feature_gates::apply(&gates, &mut profile).map_err(|_| {
        invalid("feature-gates", &gates.join(","), "expected NAME=true or NAME=false, separated by commas")
    })?;
    Ok(profile)
}

impl Settings {
    fn read(flags: &Flags) -> Result<Settings, FlagError> {
        const ADDRESS: &str = "expected an IP address, such as 127.0.0.1";
        const PORT: &str = "expected a port, a number between 1 and 65535";
        let address = flags.parsed("bind-address", ADDRESS)?.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let port = flags.parsed::<u16>("secure-port", PORT)?.unwrap_or(6443);
        if port == 0 {
            return Err(invalid("secure-port", "0", PORT));
        }
        let path = |name: &str| flags.last(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let cert_files = match (path("tls-cert-file"), path("tls-private-key-file")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err(FlagError::NeedsArgument("tls-private-key-file".into())),
            (None, Some(_)) => return Err(FlagError::NeedsArgument("tls-cert-file".into())),
        };
        let SharedFlags { mut identity, aggregation, audit } = SharedFlags::read(flags)?;
        let authorization = &mut identity.authorization;
        if authorization.authorization_mode.is_empty() && authorization.authorization_config.is_none() {
            authorization.authorization_mode.push(AuthorizationMode::AlwaysAllow);
        }
        identity.least_token_bytes = 1;
        let verbosity = flags.parsed::<u8>("v", "expected a number between 0 and 255")?.unwrap_or_default();
        Ok(Settings {
            bind: SocketAddr::new(address, port),
            advertise: flags.parsed("advertise-address", ADDRESS)?.unwrap_or(address),
            cert_dir: path("cert-dir").unwrap_or_else(|| CERT_DIR.into()),
            cert_files,
            identity,
            aggregation,
            audit,
            plugins: plugins(flags)?,
            plugin_configuration: path("admission-control-config-file"),
            profile: profile(flags)?,
            controllers: selected_controllers(flags)?,
            service_addresses: service_addresses(flags)?,
            min_request_timeout: min_request_timeout(flags)?,
            log: if verbosity >= DEBUG_VERBOSITY { "debug" } else { "info" },
        })
    }

    /// Returns the TLS configuration that the files describe.
    fn tls(&self) -> Result<Tls, String> {
        self.certificate()?.tls(self.identity.client_authorities()?)
    }

    /// Returns the files of the TLS configuration.
    fn tls_files(&self) -> Vec<PathBuf> {
        let certificate = self.cert_files.iter().flat_map(|(certificate, key)| [certificate, key]);
        certificate.cloned().chain(self.identity.authority_files()).collect()
    }

    /// Returns the certificate to present; one is created where there is none.
    fn certificate(&self) -> Result<ServingCertificate, String> {
        if let Some((certificate, key)) = &self.cert_files {
            return ServingCertificate::read(certificate, key).map_err(|error| error.to_string());
        }
        let mut names = serving_names(self.bind.ip());
        let advertised = self.advertise.to_string();
        if !self.advertise.is_unspecified() && !names.contains(&advertised) {
            names.push(advertised);
        }
        ServingCertificate::open(&self.cert_dir, names).map_err(|error| error.to_string())
    }
}

fn plugins(flags: &Flags) -> Result<PluginSelection, FlagError> {
    let is_known = |name: &str| plugin_names().any(|known| known == name) || is_absent(name);
    let list = |flag: &str| -> Result<Option<Vec<String>>, FlagError> {
        let names = flags.list(flag);
        let unknown = names.iter().flatten().find(|name| !is_known(name));
        match unknown {
            Some(name) => Err(invalid(flag, name, "expected the name of an admission plugin")),
            None => Ok(names),
        }
    };
    if let Some(enabled) = list("admission-control")? {
        let disabled = plugin_names().filter(|name| !enabled.iter().any(|listed| listed == name));
        return Ok(PluginSelection { disabled: disabled.map(str::to_owned).collect(), enabled });
    }
    let disabled = list("disable-admission-plugins")?.unwrap_or_default();
    let mut enabled = list("enable-admission-plugins")?.unwrap_or_default();
    // A default plugin of Kubernetes.
    let accounts = "ServiceAccount".to_owned();
    if !disabled.contains(&accounts) {
        enabled.push(accounts);
    }
    Ok(PluginSelection { enabled, disabled })
}

/// Whether a plugin exists in Kubernetes and not in Tenure.
fn is_absent(name: &str) -> bool {
    KUBERNETES_PLUGINS.contains(&name) && !plugin_names().any(|known| known == name)
}

/// Returns the chain of a selection. Plugins that Tenure does not have are left out.
fn admission(
    mut plugins: PluginSelection,
    configuration: Option<&Path>,
    version: KubernetesVersion,
) -> Result<AdmissionChain, String> {
    let configuration = configuration.map(|path| PluginConfiguration::read(path, version)).transpose();
    let configuration = configuration.map_err(|error| error.to_string())?.unwrap_or_default();
    for absent in plugins.enabled.extract_if(.., |name| is_absent(name)) {
        tracing::warn!(plugin = absent, "the admission plugin does not exist in Tenure and does not run");
    }
    plugins.disabled.retain(|name| !is_absent(name));
    AdmissionChain::configured(&plugins, &configuration).map_err(|error| error.to_string())
}

/// Returns how long a watch lasts at least; 0 is no limit.
fn min_request_timeout(flags: &Flags) -> Result<Option<Duration>, FlagError> {
    let seconds: Option<u32> = flags.parsed("min-request-timeout", "expected a number of seconds")?;
    Ok(seconds.map(|seconds| Duration::from_secs(if seconds == 0 { u32::MAX } else { seconds }.into())))
}

fn service_addresses(flags: &Flags) -> Result<ServiceNetworks, FlagError> {
    const NAME: &str = "service-cluster-ip-range";
    let Some(text) = flags.last(NAME).filter(|text| !text.is_empty()) else {
        return Ok(ServiceNetworks::DEFAULT);
    };
    ServiceNetworks::parse(text).map_err(|why| invalid(NAME, text, why))
}

fn selected_controllers(flags: &Flags) -> Result<Controllers, FlagError> {
    let names = flags.list("controllers").or_else(|| {
        let given = std::env::var(crate::controllers::VARIABLE).ok()?;
        Some(given.split(',').map(|name| name.trim().to_owned()).collect())
    });
    let mut selected = controllers(&names.unwrap_or_default()).map_err(|error| {
        invalid("controllers", flags.last("controllers").unwrap_or_default(), error.to_string())
    })?;
    selected.garbage_collection &= flags.switch("enable-garbage-collector").unwrap_or(true);
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_duration_of_watches_is_honoured() {
        for (flag, expected) in [
            ("--v=1", Some(None)),
            ("--min-request-timeout=7", Some(Some(7))),
            ("--min-request-timeout=0", Some(Some(u64::from(u32::MAX)))),
            ("--min-request-timeout=-1", None),
            ("--min-request-timeout=7s", None),
        ] {
            let flags = parse(&[flag.to_owned()]).unwrap();
            let seconds = min_request_timeout(&flags).ok();
            assert_eq!(seconds.map(|found| found.map(|found| found.as_secs())), expected, "{flag}");
        }
    }
}
