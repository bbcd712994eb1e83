//! A test environment as envtest makes it: the same files, flags, health checks, users and signals.

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::json;
use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tenure_value::base64;

/// How long anything may take before the test gives up.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The interval of health checks.
const POLL: Duration = Duration::from_millis(10);

/// Returns a directory of binaries, made by `tenure envtest install`.
pub fn assets() -> &'static Path {
    static ASSETS: OnceLock<PathBuf> = OnceLock::new();
    ASSETS.get_or_init(|| {
        // Kept for the whole run of this test binary; the links in it need no cleaning up.
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("envtest-assets");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        let output =
            command.args(["envtest", "install", "--force"]).arg(&directory).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let export = format!("export KUBEBUILDER_ASSETS={}\n", directory.canonicalize().unwrap().display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), export);
        directory
    })
}

/// Returns the command of a binary in a process group of its own.
pub fn program(name: &str) -> Command {
    let mut command = Command::new(assets().join(name));
    command.process_group(0).env_remove("TENURE_CONTROLLERS");
    command
}

/// Runs a binary that ends by itself.
pub fn run(name: &str, arguments: &[&str]) -> Output {
    program(name).args(arguments).output().expect("it runs")
}

/// Returns a port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// Whether the help of a binary lists a flag at the beginning of a line.
pub fn lists_flag(name: &str, flag: &str) -> bool {
    let output = run(name, &["--help"]);
    assert!(output.status.success(), "{output:?}");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().any(|line| {
        let rest = line.trim_start().strip_prefix("--").and_then(|line| line.strip_prefix(flag));
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    })
}

/// A process that a signal to its group ends.
pub struct Process {
    child: Child,
}

impl Process {
    pub fn start(mut command: Command) -> Process {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        Process { child }
    }

    /// Waits until a URL is answered with 200, without credentials and without a look at the certificate. Returns whether
    /// the process lives: another one may have taken its port.
    #[must_use]
    pub fn becomes_healthy(&mut self, url: &str) -> bool {
        let start = Instant::now();
        loop {
            let mut curl = Command::new("curl");
            curl.args(["-sk", "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code}", url]);
            let healthy = curl.output().is_ok_and(|output| output.stdout == b"200");
            if healthy || self.child.try_wait().expect("its status").is_some() {
                return self.child.try_wait().expect("its status").is_none();
            }
            assert!(start.elapsed() < TIMEOUT, "{url} is not healthy");
            thread::sleep(POLL);
        }
    }

    /// Sends SIGTERM to the process group and waits for the end.
    pub fn stop(&mut self) -> ExitStatus {
        let group = format!("-{}", self.child.id());
        let status = Command::new("kill").args(["-TERM", "--", &group]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {group}");
        self.wait()
    }

    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status;
            }
            assert!(start.elapsed() < TIMEOUT, "it does not stop");
            thread::sleep(POLL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate authority of the test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "envtest-environment");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().pem();
        let pem = key.serialize_pem();
        Authority { issuer: Issuer::new(params, key), certificate, key: pem }
    }

    /// Returns a certificate for a server, and its key.
    pub fn serving(&self) -> (String, String) {
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// Returns a certificate for a user, and its key.
    pub fn client(&self, user: &str, groups: &[&str]) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// A control plane under test.
pub struct Environment {
    pub etcd: Process,
    pub api_server: Process,
    pub port: u16,
    pub etcd_port: u16,
    _directory: TempDir,
    serving: Authority,
    clients: Authority,
}

impl Environment {
    /// Starts an environment. `flags` are added to those of envtest. A port can be taken by another process between its
    /// choice and its use; like envtest, this tries a few times.
    pub fn start(flags: &[&str]) -> Environment {
        let started = (0..5).find_map(|_| Environment::try_start(flags));
        started.expect("an environment starts within five tries")
    }

    /// Starts etcd and then the API server, and waits until each is healthy.
    fn try_start(flags: &[&str]) -> Option<Environment> {
        let directory = TempDir::new().expect("a directory");
        let path = |name: &str| directory.path().join(name).display().to_string();

        let (etcd_port, peer_port) = (free_port(), free_port());
        let url = format!("http://127.0.0.1:{etcd_port}");
        let mut command = program("etcd");
        command.arg(format!("--advertise-client-urls={url}"));
        command.arg(format!("--data-dir={}", path("etcd")));
        command.arg(format!("--listen-client-urls={url}"));
        command.arg(format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"));
        if lists_flag("etcd", "unsafe-no-fsync") {
            command.arg("--unsafe-no-fsync=true");
        }
        let mut etcd = Process::start(command);
        if !etcd.becomes_healthy(&format!("{url}/health")) {
            return None;
        }

        let (serving, accounts, clients) = (Authority::new(), Authority::new(), Authority::new());
        let (certificate, key) = serving.serving();
        for (name, content) in [
            ("apiserver.crt", &certificate),
            ("apiserver.key", &key),
            ("sa-signer.crt", &accounts.certificate),
            ("sa-signer.key", &accounts.key),
            ("client-cert-auth-ca.crt", &clients.certificate),
        ] {
            fs::write(path(name), content).expect("a file");
        }
        assert!(!lists_flag("kube-apiserver", "insecure-port"));
        let port = free_port();
        let mut command = program("kube-apiserver");
        command.args(["--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1"]);
        command.arg(format!("--cert-dir={}", directory.path().display()));
        command.arg(format!("--client-ca-file={}", path("client-cert-auth-ca.crt")));
        command.arg("--disable-admission-plugins=ServiceAccount");
        command.arg(format!("--etcd-servers={url}"));
        command.arg(format!("--secure-port={port}"));
        command.arg(format!("--service-account-issuer=https://127.0.0.1:{port}/"));
        command.arg(format!("--service-account-key-file={}", path("sa-signer.crt")));
        command.arg(format!("--service-account-signing-key-file={}", path("sa-signer.key")));
        command.arg("--service-cluster-ip-range=10.0.0.0/24");
        command.args(flags);
        let mut api_server = Process::start(command);
        let healthy = api_server.becomes_healthy(&format!("https://127.0.0.1:{port}/healthz"));
        let environment =
            Environment { etcd, api_server, port, etcd_port, _directory: directory, serving, clients };
        healthy.then_some(environment)
    }

    /// Starts an environment and lets the administrator work in it.
    pub fn run<F: Future<Output = Result<(), kube::Error>>>(flags: &[&str], work: impl FnOnce(Client) -> F) {
        let environment = Environment::start(flags);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            work(environment.admin().await).await.expect("the server does as it is asked");
        });
    }

    /// Returns a client of the administrator that envtest provides.
    pub async fn admin(&self) -> Client {
        self.client("admin", &["system:masters"]).await
    }

    /// Returns a client of a user with a certificate.
    pub async fn client(&self, user: &str, groups: &[&str]) -> Client {
        let (certificate, key) = self.clients.client(user, groups);
        client(
            self.port,
            &self.serving.certificate,
            json!({
                "client-certificate-data": base64::encode(&certificate),
                "client-key-data": base64::encode(&key),
            }),
        )
        .await
    }

    /// Returns a client with a bearer token.
    pub async fn bearer(&self, token: &str) -> Client {
        client(self.port, &self.serving.certificate, json!({ "token": token })).await
    }

    /// Stops the API server and then etcd.
    pub fn stop(mut self) -> [ExitStatus; 2] {
        let statuses = [self.api_server.stop(), self.etcd.stop()];
        for port in [self.port, self.etcd_port] {
            assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "port {port} is still served");
        }
        statuses
    }
}

/// Returns a client of a server on this machine.
pub async fn client(port: u16, authority: &str, user: serde_json::Value) -> Client {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "envtest",
        "clusters": [{"name": "envtest", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority-data": base64::encode(authority)}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "envtest", "context": {"cluster": "envtest", "user": "user"}}],
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("the kubeconfig is whole")).expect("a client")
}

/// Returns an object of a type from JSON.
pub fn typed<T: k8s_openapi::serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).expect("the object is of its type")
}

/// Returns the code of a refusal.
#[track_caller]
pub fn code<T: std::fmt::Debug>(response: Result<T, kube::Error>) -> u16 {
    match response {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("no refusal but {other:?}"),
    }
}
