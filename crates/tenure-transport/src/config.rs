//! The server and the credentials, found as `kubectl` finds them: kubeconfig and flags, else the service account of the
//! pod that this process runs in.

use crate::{
    ConnectError,
    exec::ExecPlugin,
    kubeconfig::{Entry, Kubeconfig},
    tls::{Identity, TlsOptions},
};
use http::{HeaderName, HeaderValue, Uri};
use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tenure_value::{Value, base64};

/// The files of a pod's service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The default namespace.
const DEFAULT_NAMESPACE: &str = "default";

/// How to find the server; the names are those of the flags of `kubectl`.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The kubeconfig file; if `None`, those of $KUBECONFIG, else `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context; if `None`, the current one.
    pub context: Option<String>,
    /// The cluster, instead of the context's.
    pub cluster: Option<String>,
    /// The user, instead of the context's.
    pub user: Option<String>,
    /// The address of the server, instead of the cluster's.
    pub server: Option<String>,
    /// The namespace of objects without one, instead of the context's.
    pub namespace: Option<String>,
    /// A bearer token, instead of the credentials of the user.
    pub token: Option<String>,
    /// The address of the client that requests are made for, if not for this program: the server records it.
    pub forwarded_for: Option<IpAddr>,
    /// The user to act as.
    pub impersonate: Impersonate,
    /// Accept any certificate of the server.
    pub insecure_skip_tls_verify: bool,
    /// How long a request may take; if `None`, [`REQUEST_TIMEOUT`] until the server begins to answer.
    pub request_timeout: Option<Duration>,
    /// Is told once that a request waits for the server for longer than [`SILENCE`].
    pub on_silence: Option<fn(&str)>,
    /// Where the history of the cluster is, if not on the server itself.
    pub history: Option<HistoryServer>,
}

/// A server that has the history of a cluster: a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryServer {
    /// Its address.
    pub url: String,
    /// Its own token, instead of the credentials for the cluster.
    pub token: Option<String>,
    /// The file of the authorities of its certificate; if `None`, those of the system.
    pub certificate_authority: Option<PathBuf>,
}

/// The user and the groups that requests are made as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonate {
    /// The name of the user.
    pub user: Option<String>,
    /// The uid of the user.
    pub uid: Option<String>,
    /// The groups.
    pub groups: Vec<String>,
}

/// How long a server may take to begin an answer, and to continue it. API servers themselves give up after a minute.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(65);

/// How long a server may be silent before a person is told.
pub const SILENCE: Duration = Duration::from_secs(2);

/// A server and the credentials for it.
#[derive(Debug)]
pub(crate) struct Config {
    pub server: Uri,
    pub namespace: String,
    pub tls: TlsOptions,
    pub proxy_url: Option<String>,
    pub auth: Auth,
    pub connect_timeout: Duration,
}

/// The sources of credentials. They are read again when the server answers 401.
#[derive(Debug, Default)]
pub(crate) struct Auth {
    token: Option<String>,
    token_file: Option<PathBuf>,
    basic: Option<(String, String)>,
    certificate: Option<Identity>,
    exec: Option<ExecPlugin>,
    impersonation: Vec<(HeaderName, HeaderValue)>,
    forwarded_for: Option<IpAddr>,
}

/// Credentials as requests use them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub identity: Option<Identity>,
}

/// Returns the names of the contexts of the kubeconfig that the options name.
pub fn contexts(options: &ConnectOptions) -> Result<Vec<String>, ConnectError> {
    Ok(named(options)?
        .map(|kubeconfig| kubeconfig.contexts.into_iter().map(|entry| entry.name).collect())
        .unwrap_or_default())
}

/// Returns the name of the context that the options choose; `None` if there is none.
pub fn current_context(options: &ConnectOptions) -> Result<Option<String>, ConnectError> {
    match &options.context {
        Some(name) => Ok(Some(name.clone())),
        None => Ok(named(options)?.and_then(|kubeconfig| kubeconfig.current_context)),
    }
}

/// Reads the kubeconfig that the options name.
fn named(options: &ConnectOptions) -> Result<Option<Kubeconfig>, ConnectError> {
    match &options.kubeconfig {
        Some(file) => Ok(Some(Kubeconfig::read(std::slice::from_ref(file))?)),
        None => Kubeconfig::find(),
    }
}

impl ConnectOptions {
    pub(crate) fn config(&self) -> Result<Config, ConnectError> {
        let chosen = self.context.is_some() || self.cluster.is_some() || self.user.is_some();
        let kubeconfig = match &self.kubeconfig {
            Some(file) => Some(Kubeconfig::read(std::slice::from_ref(file))?),
            None => Kubeconfig::find()?,
        };
        let mut config = match kubeconfig {
            Some(kubeconfig) => self.kubeconfig_config(&kubeconfig)?,
            None if chosen => return Err(ConnectError::config("there is no kubeconfig")),
            None => None,
        };
        if config.is_none() {
            config = in_cluster(Path::new(SERVICE_ACCOUNT))?;
        }
        let mut config = match (config, &self.server) {
            (Some(mut config), Some(server)) => {
                config.server = uri("--server", server)?;
                config
            }
            (Some(config), None) => config,
            // An address alone is enough for a server that needs no credentials.
            (None, Some(server)) => Config::new(uri("--server", server)?),
            (None, None) => {
                return Err(ConnectError::config(
                    "there is no kubeconfig with a current context, and this is not a pod",
                ));
            }
        };
        if let Some(namespace) = &self.namespace {
            config.namespace.clone_from(namespace);
        }
        if let Some(token) = &self.token {
            config.auth = Auth { token: Some(token.clone()), ..Auth::default() };
        }
        config.auth.forwarded_for = self.forwarded_for;
        if self.impersonate != Impersonate::default() {
            config.auth.impersonation = self.impersonate.headers()?;
        }
        if self.insecure_skip_tls_verify {
            config.tls.insecure = true;
        }
        Ok(config)
    }

    /// Returns the configuration for the server of the history.
    pub(crate) fn history_config(&self, history: &HistoryServer) -> Result<Config, ConnectError> {
        let credentials = match &history.token {
            Some(token) => ConnectOptions {
                token: Some(token.clone()),
                impersonate: Impersonate::default(),
                ..self.clone()
            },
            None => self.clone(),
        };
        let server = Some(history.url.clone());
        let mut config = ConnectOptions { server, history: None, ..credentials }.config()?;
        let authority = history.certificate_authority.as_ref().map(|file| {
            std::fs::read(file).map_err(|error| ConnectError::config(format!("{}: {error}", file.display())))
        });
        config.tls = TlsOptions {
            authority: authority.transpose()?,
            insecure: self.insecure_skip_tls_verify,
            server_name: None,
        };
        Ok(config)
    }

    /// Returns the configuration of the chosen context; `None` if the kubeconfig selects no cluster.
    fn kubeconfig_config(&self, kubeconfig: &Kubeconfig) -> Result<Option<Config>, ConnectError> {
        let context = kubeconfig.context(self.context.as_deref())?;
        let of_context = |name| context.and_then(|context| context.text(name));
        let cluster = match self.cluster.as_deref().or(of_context("cluster")) {
            Some(cluster) => kubeconfig.cluster(cluster)?,
            // Without a context the cluster without a name is meant, if there is one, as in the files of webhooks.
            None if context.is_none() && kubeconfig.cluster("").is_ok() => kubeconfig.cluster("")?,
            None => return Ok(None),
        };
        let server = cluster.text("server").or(self.server.as_deref());
        let server = server.ok_or_else(|| ConnectError::config("the cluster has no server address"))?;
        let mut config = Config::new(uri("server", server)?);
        config.tls = TlsOptions {
            authority: cluster.bytes("certificate-authority")?,
            insecure: cluster.flag("insecure-skip-tls-verify"),
            server_name: cluster.text("tls-server-name").map(str::to_owned),
        };
        config.proxy_url = cluster.text("proxy-url").map(str::to_owned);
        if let Some(namespace) = of_context("namespace") {
            config.namespace = namespace.to_owned();
        }
        if let Some(user) = self.user.as_deref().or(of_context("user")) {
            config.auth = Auth::of_user(kubeconfig.user(user)?, cluster)?;
        } else if let (None, Ok(user)) = (context, kubeconfig.user("")) {
            config.auth = Auth::of_user(user, cluster)?;
        }
        Ok(Some(config))
    }
}

impl Config {
    pub fn new(server: Uri) -> Config {
        Config {
            server,
            namespace: DEFAULT_NAMESPACE.to_owned(),
            tls: TlsOptions::default(),
            proxy_url: None,
            auth: Auth::default(),
            connect_timeout: Duration::from_secs(10),
        }
    }
}

/// Returns the configuration of a pod; `None` if this process is not in one.
fn in_cluster(directory: &Path) -> Result<Option<Config>, ConnectError> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(host), Some(port), true) =
        (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"), directory.is_dir())
    else {
        return Ok(None);
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let mut config = Config::new(uri("KUBERNETES_SERVICE_HOST", &format!("https://{host}:{port}"))?);
    let authority = directory.join("ca.crt");
    let problem = |error| ConnectError::config(format!("{}: {error}", authority.display()));
    config.tls.authority = Some(std::fs::read(&authority).map_err(problem)?);
    config.auth.token_file = Some(directory.join("token"));
    if let Ok(namespace) = std::fs::read_to_string(directory.join("namespace")) {
        config.namespace = namespace.trim().to_owned();
    }
    Ok(Some(config))
}

/// Reads an address; one without a scheme is https.
fn uri(what: &str, text: &str) -> Result<Uri, ConnectError> {
    let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let problem = |error: &dyn std::fmt::Display| ConnectError::config(format!("{what} {text}: {error}"));
    let uri: Uri = full.parse().map_err(|error| problem(&error))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err(problem(&"not an http or https address")),
    }
}

impl Auth {
    fn of_user(user: &Entry, cluster: &Entry) -> Result<Auth, ConnectError> {
        if let Some(provider) = user.get("auth-provider") {
            let name = provider.get("name").and_then(Value::as_str).unwrap_or_default();
            return Err(ConnectError::config(format!(
                "the user has the auth-provider {name:?}, which is not supported; use an exec credential plugin"
            )));
        }
        let certificate = match (user.bytes("client-certificate")?, user.bytes("client-key")?) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            _ => {
                return Err(ConnectError::config("client-certificate and client-key must be given together"));
            }
        };
        let basic = user
            .text("username")
            .map(|name| (name.to_owned(), user.text("password").unwrap_or_default().to_owned()));
        Ok(Auth {
            token: user.text("token").map(str::to_owned),
            token_file: user.path("tokenFile"),
            basic,
            certificate,
            exec: user
                .get("exec")
                .map(|exec| ExecPlugin::read(exec, user.directory(), cluster))
                .transpose()?,
            impersonation: impersonation(user)?,
            forwarded_for: None,
        })
    }

    /// Reads the credentials, which may run a plugin.
    pub async fn credentials(&self) -> Result<Credentials, ConnectError> {
        let mut credentials =
            Credentials { headers: self.impersonation.clone(), identity: self.certificate.clone() };
        if let Some(value) =
            self.forwarded_for.and_then(|address| HeaderValue::from_str(&address.to_string()).ok())
        {
            credentials.headers.push((HeaderName::from_static("x-forwarded-for"), value));
        }
        let mut token = match &self.token_file {
            Some(file) => {
                let problem = |error| ConnectError::config(format!("tokenFile {}: {error}", file.display()));
                Some(std::fs::read_to_string(file).map_err(problem)?.trim().to_owned())
            }
            None => self.token.clone(),
        };
        if let Some(exec) = &self.exec {
            let obtained = exec.run().await?;
            token = obtained.token.or(token);
            credentials.identity = obtained.identity.or(credentials.identity);
        }
        let authorization = match (token, &self.basic) {
            (Some(token), _) => Some(format!("Bearer {token}")),
            (None, Some((name, password))) => {
                Some(format!("Basic {}", base64::encode(format!("{name}:{password}"))))
            }
            (None, None) => None,
        };
        if let Some(text) = authorization {
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| ConnectError::config("the token has characters that a header cannot contain"))?;
            value.set_sensitive(true);
            credentials.headers.push((http::header::AUTHORIZATION, value));
        }
        Ok(credentials)
    }
}

impl Impersonate {
    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, ConnectError> {
        if self.user.is_none() {
            return Err(ConnectError::config("groups and a uid to act as need a user; add --as USER"));
        }
        let named = [("impersonate-user", &self.user), ("impersonate-uid", &self.uid)];
        let named = named.into_iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
        let groups = self.groups.iter().map(|group| ("impersonate-group", group));
        let header = |(name, value): (&'static str, &String)| {
            let value = HeaderValue::from_str(value).map_err(ConnectError::config)?;
            Ok((HeaderName::from_static(name), value))
        };
        named.chain(groups).map(header).collect()
    }
}

/// Returns the headers with which a user acts as another.
fn impersonation(user: &Entry) -> Result<Vec<(HeaderName, HeaderValue)>, ConnectError> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| {
        let name = HeaderName::try_from(name).map_err(ConnectError::config)?;
        let value = HeaderValue::from_str(value).map_err(ConnectError::config)?;
        headers.push((name, value));
        Ok::<(), ConnectError>(())
    };
    if let Some(name) = user.text("as") {
        add("impersonate-user", name)?;
    }
    if let Some(uid) = user.text("as-uid") {
        add("impersonate-uid", uid)?;
    }
    for group in
        user.get("as-groups").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        add("impersonate-group", group)?;
    }
    for (name, values) in user.get("as-user-extra").and_then(Value::as_object).into_iter().flatten() {
        for value in values.as_array().into_iter().flatten().filter_map(Value::as_str) {
            add(&format!("impersonate-extra-{}", crate::escaped(name)), value)?;
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn kubeconfig(text: &str) -> (tempfile::TempDir, ConnectOptions) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        fs::write(&file, text).unwrap();
        (directory, ConnectOptions { kubeconfig: Some(file), ..ConnectOptions::default() })
    }

    const TWO: &str = "\
current-context: one
clusters:
- {name: c1, cluster: {server: 'https://one:6443/prefix', insecure-skip-tls-verify: true}}
- {name: c2, cluster: {server: two.example, tls-server-name: kubernetes, proxy-url: 'socks5://proxy:1080'}}
users:
- {name: token, user: {token: secret, as: bob, as-groups: [dev, ops]}}
- {name: file, user: {tokenFile: token.txt}}
- {name: basic, user: {username: a, password: b}}
- {name: oidc, user: {auth-provider: {name: oidc}}}
- {name: half, user: {client-key-data: aGk=}}
contexts:
- {name: one, context: {cluster: c1, user: token, namespace: web}}
- {name: two, context: {cluster: c2, user: file}}
";

    #[tokio::test]
    async fn a_file_without_contexts_may_have_one_cluster_without_a_name() {
        let (_directory, options) = kubeconfig(
            "{clusters: [{cluster: {server: 'http://hook/x'}}], users: [{user: {token: secret}}]}",
        );
        let config = options.config().unwrap();
        assert_eq!(config.server.to_string(), "http://hook/x");
        assert_eq!(config.auth.credentials().await.unwrap().headers.len(), 1);
        let (_directory, options) = kubeconfig("{clusters: [{name: c, cluster: {server: 'http://hook/x'}}]}");
        assert!(options.config().is_err());
    }

    #[tokio::test]
    async fn flags_choose_context_cluster_user_server_and_namespace() {
        let (directory, options) = kubeconfig(TWO);
        fs::write(directory.path().join("token.txt"), "from-file\n").unwrap();
        let one = options.config().unwrap();
        assert_eq!(
            (one.server.to_string().as_str(), one.namespace.as_str()),
            ("https://one:6443/prefix", "web")
        );
        assert!(one.tls.insecure);
        let shown = |credentials: Credentials| -> Vec<String> {
            let pair =
                |(name, value): &(HeaderName, HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
            credentials.headers.iter().map(pair).collect()
        };
        assert_eq!(
            shown(one.auth.credentials().await.unwrap()),
            [
                "impersonate-user: bob",
                "impersonate-group: dev",
                "impersonate-group: ops",
                "authorization: Bearer secret"
            ]
        );
        let two = ConnectOptions { context: Some("two".into()), ..options.clone() }.config().unwrap();
        assert_eq!(two.server.to_string(), "https://two.example/");
        assert_eq!((two.namespace.as_str(), two.tls.server_name.as_deref()), ("default", Some("kubernetes")));
        assert_eq!(two.proxy_url.as_deref(), Some("socks5://proxy:1080"));
        assert_eq!(shown(two.auth.credentials().await.unwrap()), ["authorization: Bearer from-file"]);
        let mixed = ConnectOptions {
            user: Some("basic".into()),
            server: Some("http://127.0.0.1:1".into()),
            namespace: Some("n".into()),
            ..options.clone()
        };
        let other = ConnectOptions { token: Some("other".into()), ..options.clone() }.config().unwrap();
        assert_eq!(shown(other.auth.credentials().await.unwrap()), ["authorization: Bearer other"]);
        let mixed = mixed.config().unwrap();
        assert_eq!(
            (mixed.server.to_string().as_str(), mixed.namespace.as_str()),
            ("http://127.0.0.1:1/", "n")
        );
        assert_eq!(shown(mixed.auth.credentials().await.unwrap()), ["authorization: Basic YTpi"]);
        for (user, part) in
            [("oidc", "auth-provider \"oidc\""), ("half", "given together"), ("z", "no user named")]
        {
            let error = ConnectOptions { user: Some(user.into()), ..options.clone() }.config().unwrap_err();
            assert!(error.to_string().contains(part), "{user}: {error}");
        }
        let error = ConnectOptions { server: Some("ftp://x".into()), ..options }.config().unwrap_err();
        assert!(error.to_string().contains("--server ftp://x"), "{error}");
    }

    #[test]
    fn a_missing_or_broken_kubeconfig_is_an_error_with_its_name() {
        let missing =
            ConnectOptions { kubeconfig: Some("/nowhere/config".into()), ..ConnectOptions::default() };
        assert!(missing.config().unwrap_err().to_string().contains("/nowhere/config"));
        let (_directory, options) = kubeconfig("clusters: [");
        assert!(options.config().unwrap_err().to_string().contains("config: line"));
    }
}
