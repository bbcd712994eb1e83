//! A server, a home directory, the commands that speak to it, and snapshots of what they print.

use crate::process::{CommandOutput, Tenure, run};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;
use tenure_value::{Limits, Value, json};

/// A manifest that several tests apply.
pub const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1'}]}
";

/// The time that commands count ages from.
pub const NOW: &str = "1800000000";

/// Returns the command without the environment variables that would change its output.
pub fn tenure(line: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line).env("SOURCE_DATE_EPOCH", NOW).env("COLUMNS", "100");
    for name in ["KUBECONFIG", "NO_COLOR", "TENURE_MANAGER", "TENURE_LOG"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command that needs no server.
pub fn offline(line: &[&str], input: &str) -> CommandOutput {
    run(&mut tenure(line), input)
}

/// A server and a directory for its clients.
pub struct TestCluster {
    pub server: Tenure,
    pub home: TempDir,
    _data: TempDir,
}

impl TestCluster {
    pub fn start() -> TestCluster {
        TestCluster::start_with(&[])
    }

    /// Starts a server with further arguments.
    pub fn start_with(further: &[&str]) -> TestCluster {
        TestCluster::start_on(&[&["--in-memory"], further].concat())
    }

    /// Starts a server on the store that the arguments name.
    pub fn start_on(store: &[&str]) -> TestCluster {
        let data = TempDir::new().expect("a directory");
        let arguments = ["--insecure-http", "--listen", "127.0.0.1:0"];
        let server = Tenure::start(data.path(), &[&arguments[..], store].concat());
        TestCluster { server, home: TempDir::new().expect("a directory"), _data: data }
    }

    /// Runs a command against the server, with input.
    pub fn with(&self, input: &str, line: &[&str]) -> CommandOutput {
        let mut command = tenure(line);
        command.env("KUBECONFIG", self.server.kubeconfig()).env("HOME", self.home.path());
        run(command.current_dir(self.home.path()), input)
    }

    pub fn tenure(&self, line: &[&str]) -> CommandOutput {
        self.with("", line)
    }

    /// Runs `kubectl` against the server.
    pub fn kubectl(&self, input: &str, line: &[&str]) -> CommandOutput {
        let mut command = Command::new("kubectl");
        command.args(line).env("KUBECONFIG", self.server.kubeconfig()).env("HOME", self.home.path());
        run(&mut command, input)
    }

    /// Writes a file into the home directory and returns its name.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    }

    /// Sends a plain HTTP request and returns the code and the response.
    pub fn request(&self, method: &str, path: &str, kind: &str, body: &str) -> (u16, Value) {
        crate::recorded::http::request(&self.server.address, method, path, kind, "application/json", body)
    }

    /// Returns the live object.
    pub fn get(&self, path: &str) -> Value {
        let (code, value) = self.request("GET", path, "", "");
        assert_eq!(code, 200, "{path}: {value:?}");
        value
    }

    /// Returns the managers of an object, as `name operation`.
    pub fn managers(&self, path: &str) -> Vec<String> {
        let object = self.get(path);
        let entries = object.at(["metadata", "managedFields"]).and_then(Value::as_array);
        let entry = |entry: &Value| {
            let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            format!("{} {}", text("manager"), text("operation"))
        };
        entries.map(|entries| entries.iter().map(entry).collect()).unwrap_or_default()
    }
}

impl CommandOutput {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> CommandOutput {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Checks that the command printed a text, whatever its exit code.
    #[track_caller]
    pub fn prints(self, part: &str) -> CommandOutput {
        assert!(self.out.contains(part) || self.err.contains(part), "{part:?} in {self:#?}");
        self
    }

    /// Returns the JSON that the command wrote.
    #[track_caller]
    pub fn json(&self) -> Value {
        json::parse(self.out.as_bytes(), &Limits::TRUSTED)
            .unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Returns a file beside the tests.
pub fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/commands/samples")
        .join(name)
        .to_string_lossy()
        .into_owned()
}

/// Compares what a command printed with what it printed when the snapshot was taken; UPDATE_SNAPSHOTS=1 updates it.
#[track_caller]
pub fn snapshot(name: &str, printed: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/snapshots").join(name);
    // Escape sequences are readable in the snapshot.
    let printed = printed.replace('\u{1b}', "␛").replace(&sample(""), "");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, &printed).expect("the snapshot");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(printed == expected, "{name} is not as it was (UPDATE_SNAPSHOTS=1 updates it):\n{printed}");
}
