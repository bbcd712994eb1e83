//! Tenure as `kube-apiserver`: translates the flags, opens a store in memory and serves.

use super::{
    Error,
    api_server_flags::{help, parse},
    flags::{FlagError, Flags, invalid},
};
use crate::{
    admission_manifests,
    aggregation::AggregationFlags,
    audit::{AuditFlags, Format, Mode},
    authorization::{AuthorizationFlags, AuthorizationMode, review_version},
    control_plane::{self, ControlPlane},
    controllers::controllers,
    feature_gates,
    identity::{IdentityFlags, token_expiration},
    limits::duration,
    logging,
    oidc::OidcFlags,
};
use clap::ValueEnum;
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
    Reloadable, Reloader, ReviewVersion,
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
    let mut reloader = Reloader::default();
    // There is no token of the administrator: administrators have certificates or tokens of their own.
    let mut options = ServerOptions::new(Administrator::Token(String::new()));
    let configuration = settings.plugin_configuration.as_deref();
    options.admission = admission(settings.plugins.clone(), configuration, version)?;
    admission_manifests::follow(&options.admission, &mut reloader);
    options.profile = settings.profile.at(version);
    options.controllers = settings.controllers;
    options.service_addresses = settings.service_addresses;
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
        let verbosity = flags.parsed::<u8>("v", "expected a number between 0 and 255")?.unwrap_or_default();
        Ok(Settings {
            bind: SocketAddr::new(address, port),
            advertise: flags.parsed("advertise-address", ADDRESS)?.unwrap_or(address),
            cert_dir: path("cert-dir").unwrap_or_else(|| CERT_DIR.into()),
            cert_files,
            identity: identity(flags)?,
            aggregation: aggregation(flags)?,
            audit: audit(flags)?,
            plugins: plugins(flags)?,
            plugin_configuration: path("admission-control-config-file"),
            profile: profile(flags)?,
            controllers: selected_controllers(flags)?,
            service_addresses: service_addresses(flags)?,
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

fn identity(flags: &Flags) -> Result<IdentityFlags, FlagError> {
    let path = |name: &str| flags.last(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(IdentityFlags {
        authorization: authorization(flags)?,
        anonymous_auth: flags.switch("anonymous-auth"),
        token_auth_file: path("token-auth-file"),
        enable_bootstrap_token_auth: flags.switch("enable-bootstrap-token-auth"),
        authentication_token_webhook_config_file: path("authentication-token-webhook-config-file"),
        authentication_token_webhook_version: version(flags, "authentication-token-webhook-version")?,
        authentication_token_webhook_cache_ttl: ttl(flags, "authentication-token-webhook-cache-ttl")?,
        client_ca_file: path("client-ca-file"),
        service_account_signing_key_file: path("service-account-signing-key-file"),
        service_account_key_file: flags.all("service-account-key-file").iter().map(PathBuf::from).collect(),
        service_account_issuer: flags.all("service-account-issuer").to_vec(),
        service_account_jwks_uri: flags
            .last("service-account-jwks-uri")
            .filter(|uri| !uri.is_empty())
            .map(String::from),
        service_account_max_token_expiration: longest_token(flags)?,
        api_audiences: flags.list("api-audiences").unwrap_or_default(),
        requestheader_client_ca_file: path("requestheader-client-ca-file"),
        requestheader_allowed_names: flags.list("requestheader-allowed-names").unwrap_or_default(),
        requestheader_username_headers: flags.list("requestheader-username-headers").unwrap_or_default(),
        requestheader_group_headers: flags.list("requestheader-group-headers").unwrap_or_default(),
        requestheader_extra_headers_prefix: flags
            .list("requestheader-extra-headers-prefix")
            .unwrap_or_default(),
        requestheader_uid_headers: flags.list("requestheader-uid-headers").unwrap_or_default(),
        oidc: oidc(flags)?,
        least_token_bytes: 1,
    })
}

fn aggregation(flags: &Flags) -> Result<AggregationFlags, FlagError> {
    let path = |name: &str| flags.last(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let flags = AggregationFlags {
        proxy_client_cert_file: path("proxy-client-cert-file"),
        proxy_client_key_file: path("proxy-client-key-file"),
        enable_aggregator_routing: flags.switch("enable-aggregator-routing"),
    };
    match (&flags.proxy_client_cert_file, &flags.proxy_client_key_file) {
        (Some(_), None) => Err(FlagError::NeedsArgument("proxy-client-key-file".into())),
        (None, Some(_)) => Err(FlagError::NeedsArgument("proxy-client-cert-file".into())),
        _ => Ok(flags),
    }
}

fn longest_token(flags: &Flags) -> Result<Option<i64>, FlagError> {
    const NAME: &str = "service-account-max-token-expiration";
    // 0 means unlimited.
    let given = flags.last(NAME).filter(|text| !text.is_empty() && !["0", "0s"].contains(text));
    let read = |text: &str| token_expiration(text).map_err(|why| invalid(NAME, text, why));
    given.map(read).transpose()
}

fn oidc(flags: &Flags) -> Result<OidcFlags, FlagError> {
    let text = |name: &str| flags.last(name).filter(|text| !text.is_empty()).map(String::from);
    let oidc = OidcFlags {
        authentication_config: text("authentication-config").map(PathBuf::from),
        oidc_issuer_url: text("oidc-issuer-url"),
        oidc_client_id: text("oidc-client-id"),
        oidc_ca_file: text("oidc-ca-file").map(PathBuf::from),
        oidc_username_claim: text("oidc-username-claim"),
        oidc_username_prefix: text("oidc-username-prefix"),
        oidc_groups_claim: text("oidc-groups-claim"),
        oidc_groups_prefix: text("oidc-groups-prefix"),
        oidc_required_claim: flags.all("oidc-required-claim").to_vec(),
        oidc_signing_algs: flags.list("oidc-signing-algs").unwrap_or_default(),
    };
    match (&oidc.oidc_issuer_url, &oidc.oidc_client_id) {
        (Some(_), None) => Err(FlagError::NeedsArgument("oidc-client-id".into())),
        (None, Some(_)) => Err(FlagError::NeedsArgument("oidc-issuer-url".into())),
        _ => Ok(oidc),
    }
}

fn audit(flags: &Flags) -> Result<AuditFlags, FlagError> {
    const FORMAT: &str = "audit-log-format";
    const MODE: &str = "audit-log-mode";
    const NUMBER: &str = "expected a whole number";
    let path = |name: &str| flags.last(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    // 0 is the default of each: no limit, or for the size a limit that suits a log.
    let number = |name: &str| Ok(flags.parsed::<u64>(name, NUMBER)?.filter(|number| *number > 0));
    let format = match flags.last(FORMAT) {
        None | Some("json") => Format::Json,
        Some("legacy") => Format::Legacy,
        Some(other) => return Err(invalid(FORMAT, other, "expected json or legacy")),
    };
    let mode = match flags.last(MODE) {
        None => None,
        Some("batch") => Some(Mode::Batch),
        Some("blocking") => Some(Mode::Blocking),
        Some(other) => return Err(invalid(MODE, other, "expected batch or blocking")),
    };
    Ok(AuditFlags {
        audit_policy_file: path("audit-policy-file"),
        audit_log_path: path("audit-log-path"),
        audit_log_maxsize: number("audit-log-maxsize")?,
        audit_log_maxbackup: number("audit-log-maxbackup")?.and_then(|number| usize::try_from(number).ok()),
        audit_log_maxage: number("audit-log-maxage")?,
        audit_log_compress: flags.switch("audit-log-compress").unwrap_or_default(),
        audit_log_format: format,
        audit_log_mode: mode,
        audit_webhook_config_file: path("audit-webhook-config-file"),
        ..AuditFlags::default()
    })
}

fn authorization(flags: &Flags) -> Result<AuthorizationFlags, FlagError> {
    const NAME: &str = "authorization-mode";
    let path = |name: &str| flags.last(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let config = path("authorization-config");
    let default = || if config.is_some() { Vec::new() } else { vec!["AlwaysAllow".to_owned()] };
    let names = flags.list(NAME).unwrap_or_else(default);
    let mode = |name: &String| {
        AuthorizationMode::from_str(name, false).map_err(|_| {
            let names: Vec<String> =
                AuthorizationMode::value_variants().iter().map(|mode| mode.name()).collect();
            invalid(NAME, name, format!("expected a list of {}", names.join(", ")))
        })
    };
    Ok(AuthorizationFlags {
        authorization_mode: names.iter().map(mode).collect::<Result<_, _>>()?,
        authorization_config: config,
        authorization_policy_file: path("authorization-policy-file"),
        authorization_webhook_config_file: path("authorization-webhook-config-file"),
        authorization_webhook_version: version(flags, "authorization-webhook-version")?,
        authorization_webhook_cache_authorized_ttl: ttl(flags, "authorization-webhook-cache-authorized-ttl")?,
        authorization_webhook_cache_unauthorized_ttl: ttl(
            flags,
            "authorization-webhook-cache-unauthorized-ttl",
        )?,
    })
}

/// Reads how long answers of a webhook count.
fn ttl(flags: &Flags, name: &str) -> Result<Option<Duration>, FlagError> {
    let given = flags.last(name).filter(|text| !text.is_empty());
    given.map(|text| duration(text).map_err(|why| invalid(name, text, why))).transpose()
}

/// Reads the version of the reviews that a webhook is sent.
fn version(flags: &Flags, name: &str) -> Result<Option<ReviewVersion>, FlagError> {
    let given = flags.last(name).filter(|text| !text.is_empty());
    given.map(|text| review_version(text).map_err(|why| invalid(name, text, why))).transpose()
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
