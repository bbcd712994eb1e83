//! A server with objects that several people write, and the page for it.

use crate::{driver::Browser, process::Started};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// What is printed before the name of the file with the link.
const LINK: &str = "open the link in ";

/// A running `tenure` with a page.
pub struct Running(Started);

impl Running {
    /// Starts `tenure` and reads its output up to the line that names the file with the link of the page.
    fn start(command: &mut Command) -> Running {
        Running(Started::printing(command.stderr(Stdio::null()), |line| line.contains(LINK)))
    }

    /// Returns the link that signs a browser in.
    pub fn link(&self) -> String {
        assert!(!self.0.printed.contains("code="), "the output is not a terminal: {:?}", self.0.printed);
        let file = self.0.printed.split(LINK).nth(1).and_then(|rest| rest.split(", once").next());
        let file = file.unwrap_or_else(|| panic!("no link in {:?}", self.0.printed));
        std::fs::read_to_string(file).expect("the file of the link").trim().to_owned()
    }

    /// Returns the address of the page.
    pub fn page(&self) -> String {
        self.link().split("/ui/").next().unwrap_or_default().to_owned() + "/ui/"
    }
}

/// A server, and a home directory for its clients.
pub struct TestCluster {
    pub server: Running,
    data: TempDir,
}

impl TestCluster {
    /// Starts a server with some objects.
    pub fn start(arguments: &[&str]) -> TestCluster {
        let data = TempDir::new().expect("a directory");
        let server = Running::start(
            Command::new(env!("CARGO_BIN_EXE_tenure"))
                .args(["serve", "--in-memory", "--listen", "127.0.0.1:0", "--data-dir"])
                .arg(data.path())
                .args(arguments)
                .env_remove("TENURE_LOG"),
        );
        TestCluster { server, data }
    }

    /// Starts a server that keeps its objects on disk, on a port of its own choice, with some arguments.
    pub fn on_disk(arguments: &[&str]) -> TestCluster {
        let data = TempDir::new().expect("a directory");
        let server = TestCluster::serve_on_disk(&data, "127.0.0.1:0", arguments);
        TestCluster { server, data }
    }

    /// Ends the server as a crash does, and starts it again at the same address.
    pub fn restart(&mut self, arguments: &[&str]) {
        let page = self.server.page();
        let address = page.split("//").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
        self.server.0.kill();
        self.server = TestCluster::serve_on_disk(&self.data, address, arguments);
    }

    fn serve_on_disk(data: &TempDir, listen: &str, arguments: &[&str]) -> Running {
        Running::start(
            Command::new(env!("CARGO_BIN_EXE_tenure"))
                .args(["serve", "--listen", listen, "--data-dir"])
                .arg(data.path())
                .args(arguments)
                .env_remove("TENURE_LOG"),
        )
    }

    /// Returns the files of the server whose names begin with a text.
    pub fn file(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    /// Starts `tenure ui` for the server.
    pub fn ui(&self) -> Running {
        self.ui_of(&self.kubeconfig())
    }

    /// Starts `tenure ui` for a kubeconfig.
    pub fn ui_of(&self, kubeconfig: &Path) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["ui", "--no-open"]);
        Running::start(self.environment(&mut command).env("KUBECONFIG", kubeconfig))
    }

    /// Starts `tenure record`, and returns when it follows the cluster.
    pub fn record(&self) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        let command = self.environment(command.arg("record"));
        let recorder =
            Started::reporting(command.stdout(Stdio::null()), |line| line.starts_with("Following"));
        assert!(recorder.printed.contains("Following"), "it does not follow: {}", recorder.printed);
        Running(recorder)
    }

    /// Sets the environment of a command: the cluster, and a home directory of its own.
    pub fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_remove("XDG_STATE_HOME")
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.data.path())
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.data.path().join("kubeconfig")
    }

    /// Applies a manifest as a field manager.
    #[track_caller]
    pub fn apply(&self, manager: &str, manifest: &str) {
        self.run(
            env!("CARGO_BIN_EXE_tenure"),
            &["apply", "-f", "-", "--manager", manager, "--force-conflicts"],
            manifest,
        );
    }

    /// Lets two managers overwrite the replicas of the deployment in turn.
    pub fn quarrel(&self, one: &str, other: &str) {
        for _ in 0..4 {
            for (manager, replicas) in [(one, "3"), (other, "6")] {
                let patch = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
                let manager = format!("--field-manager={manager}");
                let line =
                    ["-n", "shop", "patch", "deployment", "web", "--type=merge", &manager, "-p", &patch];
                self.kubectl(&line, "");
            }
        }
    }

    /// Applies a manifest as a field manager without force, which the server refuses.
    #[track_caller]
    pub fn refused_apply(&self, manager: &str, manifest: &str) {
        let manager = format!("--field-manager={manager}");
        let mut command = Command::new("kubectl");
        command.args(["apply", "--server-side", &manager, "-f", "-"]).env("KUBECONFIG", self.kubeconfig());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("kubectl starts");
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(manifest.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains("conflict"), "{error}");
    }

    /// Writes a kubeconfig for the server with a token and a namespace.
    pub fn kubeconfig_with(&self, token: &str, namespace: &str) -> PathBuf {
        let file = self.file("kubeconfig-with-token");
        std::fs::copy(self.kubeconfig(), &file).expect("a copy");
        let set = |line: &[&str]| {
            let done =
                Command::new("kubectl").arg("--kubeconfig").arg(&file).arg("config").args(line).output();
            let done = done.expect("kubectl runs");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        let cluster = self.kubectl(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].name}"], "");
        set(&["set-credentials", "visitor", "--token", token]);
        set(&["set-context", "visit", "--cluster", &cluster, "--user", "visitor", "--namespace", namespace]);
        set(&["use-context", "visit"]);
        file
    }

    /// Runs `kubectl`.
    #[track_caller]
    pub fn kubectl(&self, line: &[&str], input: &str) -> String {
        self.run("kubectl", line, input)
    }

    /// Returns the managers of the deployment of the shop.
    #[track_caller]
    pub fn owners_of_web(&self) -> String {
        let managers = "jsonpath={.metadata.managedFields[*].manager}";
        self.kubectl(&["-n", "shop", "get", "deployment", "web", "-o", managers, "--show-managed-fields"], "")
    }

    #[track_caller]
    fn run(&self, program: &str, line: &[&str], input: &str) -> String {
        let mut command = Command::new(program);
        command.args(line).env("KUBECONFIG", self.kubeconfig()).env("HOME", self.data.path());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 2)), "{program} {line:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Creates what the tests look at: a shop whose objects are written by several managers.
    pub fn furnish(&self) {
        self.kubectl(&["create", "namespace", "shop"], "");
        self.apply("argocd", SHOP);
        self.kubectl(&["-n", "shop", "apply", "-f", "-"], LEGACY);
        self.kubectl(&["-n", "shop", "scale", "deployment/web", "--replicas=5"], "");
        self.kubectl(
            &["-n", "shop", "label", "deployment/web", "team=checkout", "--field-manager=alice"],
            "",
        );
        self.kubectl(
            &["-n", "shop", "set", "env", "deployment/web", "LOG_LEVEL=debug", "--field-manager=on-call"],
            "",
        );
        self.apply("platform", POLICY);
    }
}

/// Signs a browser in with a link, and waits until the page is there.
pub fn sign_in(browser: &Browser, link: &str) {
    browser.open(link);
    browser.wait("document.querySelector('nav[aria-label=Views]')");
}

/// The objects of a shop.
pub const SHOP: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web, tier: frontend}
  annotations: {example.com/owner: checkout}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/shop/web:1.42.0
        ports: [{name: http, containerPort: 8080}]
        resources:
          requests: {cpu: 250m, memory: 256Mi}
          limits: {memory: 512Mi}
        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 5}
      - name: metrics
        image: registry.example/metrics-agent:2.7.1
        args: [--scrape-interval=15s, --listen=:9090]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {currency: EUR, locale: en-GB, checkout.timeout: 30s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop, labels: {app: cart}}
spec:
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec: {containers: [{name: cart, image: 'registry.example/shop/cart:3.1.0'}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: search, namespace: shop, labels: {app: search}}
spec:
  selector: {matchLabels: {app: search}}
  template:
    metadata: {labels: {app: search}}
    spec: {containers: [{name: search, image: 'registry.example/shop/search:0.9.4'}]}
"#;

/// What was applied on the client.
pub const LEGACY: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: reports, labels: {app: reports}}
spec:
  selector: {matchLabels: {app: reports}}
  template:
    metadata: {labels: {app: reports}}
    spec: {containers: [{name: reports, image: 'registry.example/shop/reports:1.0.3'}]}
"#;

/// What another team applies to the same deployment.
pub const POLICY: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {cost-center: retail}}
spec:
  template:
    spec:
      priorityClassName: ""
      containers:
      - name: web
        resources: {limits: {memory: 512Mi}}
"#;

/// What conflicts with the scale and with a label of the deployment.
pub const CONFLICTING: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web, team: payments}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/shop/web:1.42.0
";
