//! Credentials at a server with TLS: what a client without valid ones can learn, and certificates that are not what others expect.

use super::process::Started;
use serde_json::Value;
use std::{
    fs::{self, File},
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A server with TLS, its log and its audit log.
struct SecureTarget {
    _started: Started,
    address: String,
    directory: TempDir,
}

impl SecureTarget {
    fn start(arguments: &[&str]) -> SecureTarget {
        let directory = TempDir::new().expect("a directory");
        SecureTarget::start_in(directory, arguments)
    }

    fn start_in(directory: TempDir, arguments: &[&str]) -> SecureTarget {
        let log = File::create(directory.path().join("log")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(["serve", "--in-memory", "--listen", "127.0.0.1:0", "--log", "info"])
            .arg("--data-dir")
            .arg(directory.path().join("data"))
            .arg("--audit-log-path")
            .arg(directory.path().join("audit"))
            .args(arguments)
            .stderr(log);
        let started = Started::printing(&mut command, |line| line.starts_with("Tenure listens on "));
        SecureTarget { address: started.address(), _started: started, directory }
    }

    fn token(&self) -> String {
        fs::read_to_string(self.path("data/token")).expect("the token").trim().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Sends a request with further arguments of curl, and returns the status code.
    fn code(&self, path: &str, arguments: &[&str]) -> u16 {
        let output = Command::new("curl")
            .args(["-sk", "--path-as-is", "-o", "/dev/null", "-w", "%{http_code}"])
            .args(arguments)
            .arg(format!("{}{path}", self.address))
            .output()
            .expect("curl runs");
        String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or_default()
    }

    /// Waits until a file of the server has a text.
    fn wait_for(&self, file: &str, text: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let content = fs::read_to_string(self.path(file)).unwrap_or_default();
            if text(&content) {
                return;
            }
            assert!(Instant::now() < deadline, "{content}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_path_that_is_not_text_tells_nothing_about_tokens() {
    let target = SecureTarget::start(&[]);
    let right = format!("Authorization: Bearer {}", target.token());
    let wrong = "Authorization: Bearer 0123456789abcdef0123456789abcdef";
    let path = "/api/v1/namespaces/%ff/secrets";
    assert_eq!(target.code(path, &["-H", wrong]), 401);
    assert_eq!(target.code(path, &[]), 403, "an anonymous request is not permitted");
    // What it names does not exist, as in Kubernetes.
    assert_eq!(target.code(path, &["-H", &right]), 200);
    assert_eq!(target.code(&format!("{path}/%fe"), &["-H", &right]), 404);
    target.wait_for("audit", |events| {
        let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut codes: Vec<i64> = events
            .filter(|event| event["requestURI"].as_str().is_some_and(|uri| uri.starts_with(path)))
            .filter_map(|event| event["responseStatus"]["code"].as_i64())
            .collect();
        codes.sort_unstable();
        codes == [200, 401, 403, 404]
    });
    // An invalid escape is refused before the token is checked.
    for token in [&*right, wrong] {
        assert_eq!(target.code("/api/v1/namespaces/%zz/secrets", &["-H", token]), 400);
    }
}

#[test]
fn with_always_allow_a_client_still_needs_credentials() {
    let target = SecureTarget::start(&["--authorization-mode", "AlwaysAllow"]);
    let token = format!("Authorization: Bearer {}", target.token());
    assert_eq!(target.code("/api/v1/namespaces", &[]), 401);
    assert_eq!(target.code("/api/v1/namespaces/kube-system/secrets", &[]), 401);
    assert_eq!(target.code("/api/v1/namespaces", &["-H", &token]), 200);
}

/// Runs a command line in a directory.
fn run(directory: &TempDir, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).current_dir(directory.path()).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn certificates_of_version_1_name_users_and_refused_ones_are_logged() {
    let directory = TempDir::new().expect("a directory");
    for authority in ["ca", "other"] {
        run(
            &directory,
            &format!(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {authority}.key -out {authority}.crt -subj /CN={authority} -days 2"
            ),
        );
    }
    // `openssl x509 -req` without extensions makes a certificate of version 1.
    for (name, key, authority) in [
        ("ann", "ec -pkeyopt ec_paramgen_curve:P-256", "ca"),
        ("rob", "rsa:2048", "ca"),
        ("eve", "ec -pkeyopt ec_paramgen_curve:P-256", "other"),
    ] {
        run(
            &directory,
            &format!(
                "openssl req -newkey {key} -nodes -keyout {name}.key -out {name}.csr -subj /O=devs/CN={name}"
            ),
        );
        run(
            &directory,
            &format!(
                "openssl x509 -req -in {name}.csr -CA {authority}.crt -CAkey {authority}.key -CAcreateserial -days 2 -out {name}.crt"
            ),
        );
    }
    let authority = directory.path().join("ca.crt").to_str().expect("a path").to_owned();
    let file = |name: &str| directory.path().join(name).to_str().expect("a path").to_owned();
    let files: Vec<[String; 2]> =
        ["ann", "rob", "eve"].map(|name| [file(&format!("{name}.crt")), file(&format!("{name}.key"))]).into();
    let target = SecureTarget::start(&["--client-ca-file", &authority]);
    for version in ["--tlsv1.3", "--tls-max=1.2"] {
        let code = |[certificate, key]: &[String; 2], path: &str| {
            let version: Vec<&str> = version.split('=').collect();
            target.code(path, &[&version[..], &["--cert", certificate, "--key", key]].concat())
        };
        // Known, and not permitted to list secrets.
        assert_eq!(code(&files[0], "/api"), 200, "ann, {version}");
        assert_eq!(code(&files[0], "/api/v1/secrets"), 403, "ann, {version}");
        assert_eq!(code(&files[1], "/api"), 200, "rob, {version}");
        assert_eq!(code(&files[2], "/api"), 401, "eve, {version}");
    }
    target.wait_for("log", |log| log.contains("unable to authenticate") && log.contains("unknown authority"));
    target.wait_for("audit", |events| events.contains("\"username\":\"ann\""));
}
