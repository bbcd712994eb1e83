//! Start, flags and failures of `tenure serve`.

use crate::process::{Tenure, read_until, run, serve};
use std::{
    net::TcpListener,
    process::{Command, Stdio},
};
use tempfile::TempDir;

fn directory() -> TempDir {
    TempDir::new().expect("a directory")
}

fn curl(tenure: &Tenure, arguments: &[&str]) -> crate::process::CommandOutput {
    let path = arguments.last().copied().unwrap_or_default();
    let mut command = Command::new("curl");
    command.args(["-sk", "--max-time", "30"]).args(&arguments[..arguments.len() - 1]);
    run(command.arg(format!("{}{path}", tenure.address)), "")
}

/// Runs a server that cannot start and returns the one line that it prints.
fn refused(directory: &TempDir, arguments: &[&str]) -> String {
    let output = run(&mut serve(directory.path(), arguments), "");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(output.err.lines().count(), 1, "one clear line: {}", output.err);
    output.err
}

#[test]
fn the_banner_shows_the_address_and_the_kubeconfig() {
    let directory = directory();
    let tenure = Tenure::secure(&directory);
    assert!(tenure.address.starts_with("https://127.0.0.1:"), "{}", tenure.address);
    let kubeconfig = tenure.kubeconfig().canonicalize().expect("a kubeconfig");
    assert!(
        tenure.banner.contains(&format!("export KUBECONFIG={}", kubeconfig.display())),
        "{}",
        tenure.banner
    );
    assert_eq!(tenure.banner.matches("kubectl ").count(), 2, "{}", tenure.banner);
}

#[test]
fn a_busy_port_gets_one_clear_line() {
    let held = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = held.local_addr().expect("its address").to_string();
    let line = refused(&directory(), &["--listen", &address]);
    assert!(line.contains(&address) && line.contains("in use"), "{line}");
}

#[test]
fn a_locked_directory_gets_one_clear_line() {
    let directory = directory();
    let _tenure = Tenure::secure(&directory);
    let line = refused(&directory, &["--listen", "127.0.0.1:0"]);
    assert!(line.contains("in use by"), "{line}");
}

#[test]
fn an_unusable_directory_gets_one_clear_line() {
    let directory = directory();
    let file = directory.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let output = run(&mut serve(&file.join("below"), &[]), "");
    assert!(output.code == Some(1) && output.err.lines().count() == 1, "{output:?}");
    assert!(output.err.contains("cannot create the data directory"), "{}", output.err);
}

#[test]
fn bad_flags_are_named() {
    let directory = directory();
    for (arguments, names) in [
        (&["--nope"][..], "--nope"),
        (&["--listen", "nowhere"], "--listen"),
        (&["--store", "paper"], "paper"),
        (&["--log", "tenure=loud"], "--log"),
        (&["extra"], "extra"),
    ] {
        let output = run(&mut serve(directory.path(), arguments), "");
        assert!(matches!(output.code, Some(1 | 2)), "{arguments:?}: {output:?}");
        assert!(output.err.contains(names), "{arguments:?}: {}", output.err);
    }
}

#[test]
fn plain_http_is_for_loopback_only() {
    let directory = directory();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let line = refused(&directory, &["--insecure-http", "--listen", address]);
        assert!(line.contains("--insecure-http"), "{line}");
    }
    let tenure =
        Tenure::start(directory.path(), &["--insecure-http", "--in-memory", "--listen", "127.0.0.1:0"]);
    assert!(tenure.address.starts_with("http://127.0.0.1:"), "{}", tenure.address);
    curl(&tenure, &["/api/v1/namespaces/default"]).succeeds_with("\"default\"");
}

#[test]
fn requests_without_the_token_are_refused() {
    let directory = directory();
    let tenure = Tenure::secure(&directory);
    let bearer = format!("Authorization: Bearer {}", tenure.token());
    let code = ["-o", "/dev/null", "-w", "%{http_code}"];
    let asked = |header: &str, path: &str| {
        let header: &[&str] = if header.is_empty() { &[] } else { &["-H", header] };
        curl(&tenure, &[&code, header, &[path]].concat()).out
    };
    for path in ["/api/v1/namespaces", "/apis", "/openapi/v2", "/metrics", "/version", "/"] {
        // Requests without a token are anonymous, and may read the version only.
        let anonymous = if path == "/version" { "200" } else { "403" };
        assert_eq!(asked("", path), anonymous, "{path} without a token");
        assert_eq!(asked("Authorization: Bearer wrong", path), "401", "{path} with a wrong token");
        assert_eq!(asked(&bearer, path), "200", "{path} with the token");
    }
    assert_eq!(asked("", "/readyz"), "200");
    let plain = tenure.address.replace("https://", "http://");
    let output = run(Command::new("curl").args(["-s", "--max-time", "10"]).arg(format!("{plain}/api")), "");
    assert!(!output.out.contains("APIVersions"), "plain HTTP where TLS is spoken: {output:?}");
}

#[test]
fn the_secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let tenure = Tenure::secure(&directory);
    let mode = std::fs::metadata(tenure.kubeconfig()).expect("a kubeconfig").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn a_restart_keeps_objects_and_credentials() {
    let directory = directory();
    let path = "/api/v1/namespaces/default/configmaps";
    let state = |tenure: &Tenure| {
        let bearer = format!("Authorization: Bearer {}", tenure.token());
        let found = curl(tenure, &["-H", &bearer, &format!("{path}/kept")]).succeeds_with("\"k\":\"v\"").out;
        (found, tenure.token())
    };
    let tenure = Tenure::secure(&directory);
    let bearer = format!("Authorization: Bearer {}", tenure.token());
    let body = r#"{"metadata":{"name":"kept"},"data":{"k":"v"}}"#;
    curl(&tenure, &["-H", &bearer, "-H", "Content-Type: application/json", "-d", body, path])
        .succeeds_with("kept");
    let before = state(&tenure);
    assert_eq!(tenure.terminate().code(), Some(0));
    let tenure = Tenure::secure(&directory);
    assert_eq!(state(&tenure), before);
}

#[test]
fn a_signal_stops_it_and_ends_its_watches_cleanly() {
    let directory = directory();
    for signal in ["TERM", "INT"] {
        let mut tenure = Tenure::secure(&directory);
        let bearer = format!("Authorization: Bearer {}", tenure.token());
        let mut watch = Command::new("curl")
            .args(["-skN", "-H", &bearer, &format!("{}/api/v1/namespaces?watch=1", tenure.address)])
            .stdout(Stdio::piped())
            .spawn()
            .expect("curl is installed");
        let mut events = watch.stdout.take().expect("its output");
        read_until(&mut events, "kube-system");
        tenure.signal(signal);
        assert_eq!(tenure.wait().code(), Some(0), "{signal}");
        let ended = watch.wait().expect("the watch ends");
        assert_eq!(ended.code(), Some(0), "{signal}: a stream that ends, not one that breaks");
    }
}
