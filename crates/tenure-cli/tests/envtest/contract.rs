//! What test frameworks rely on: flags, files, health checks, users, the first objects, and the stop.

use crate::harness::{Environment, Process, client, code, free_port, lists_flag, program, run};
use k8s_openapi::api::{
    authentication::v1::TokenRequest,
    core::v1::{ConfigMap, Namespace, Service, ServiceAccount},
    rbac::v1::ClusterRoleBinding,
};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::json;
use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::Command,
};
use tempfile::TempDir;

#[test]
fn an_environment_starts_and_stops_as_envtest_drives_it() {
    let environment = Environment::start(&[]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let admin = environment.admin().await;
        let namespaces: Api<Namespace> = Api::all(admin.clone());
        namespaces.get("default").await.expect("the namespace exists at once");
        let services: Api<Service> = Api::default_namespaced(admin.clone());
        let spec = services.get("kubernetes").await.expect("the service exists at once").spec;
        assert_eq!(spec.and_then(|spec| spec.cluster_ip).as_deref(), Some("10.0.0.1"));

        // Users have the permissions that roles grant them.
        let maps = |client| Api::<ConfigMap>::default_namespaced(client);
        let viewer = environment.client("eve", &["viewers"]).await;
        assert_eq!(code(maps(viewer.clone()).list(&ListParams::default()).await), 403);
        let binding: ClusterRoleBinding = crate::harness::typed(json!({
            "metadata": {"name": "viewers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}],
        }));
        Api::all(admin.clone()).create(&PostParams::default(), &binding).await.expect("a binding");
        assert_eq!(maps(viewer).list(&ListParams::default()).await.expect("a list").items.len(), 0);

        // Tokens of service accounts are signed with the key of envtest, and verified with its certificate.
        let accounts: Api<ServiceAccount> = Api::default_namespaced(admin);
        let account = crate::harness::typed(json!({"metadata": {"name": "robot"}}));
        accounts.create(&PostParams::default(), &account).await.expect("an account");
        let request = TokenRequest::default();
        let issued =
            accounts.create_token_request("robot", &PostParams::default(), &request).await.expect("a token");
        let token = issued.status.expect("a status").token.expect("a token");
        let robot = environment.bearer(&token).await;
        assert_eq!(code(maps(robot).list(&ListParams::default()).await), 403, "known, without permission");
        let stranger = environment.bearer("unknown").await;
        assert_eq!(code(maps(stranger).list(&ListParams::default()).await), 401);
    });
    for path in ["healthz", "readyz", "livez"] {
        let url = format!("https://127.0.0.1:{}/{path}", environment.port);
        let output = Command::new("curl").args(["-sk", "--max-time", "30", &url]).output().expect("curl");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ok", "{path} without a certificate");
    }
    let url = format!("http://127.0.0.1:{}/health", environment.etcd_port);
    let output = Command::new("curl").args(["-s", "--max-time", "30", &url]).output().expect("curl");
    assert_eq!(String::from_utf8_lossy(&output.stdout), r#"{"health":"true"}"#);
    // Connections that were never used do not delay the stop.
    let _unused = [environment.port, environment.etcd_port]
        .map(|port| TcpStream::connect(("127.0.0.1", port)).expect("a connection"));
    assert!(environment.stop().iter().all(|status| status.code() == Some(0)));
}

#[test]
fn the_help_lists_what_frameworks_look_for() {
    assert!(!lists_flag("kube-apiserver", "insecure-port"));
    assert!(lists_flag("kube-apiserver", "secure-port"));
    assert!(lists_flag("etcd", "unsafe-no-fsync"));
}

#[test]
fn wrong_flags_are_named() {
    for (name, arguments, error) in [
        ("kube-apiserver", &["--nope=1"][..], "Error: unknown flag: --nope\n"),
        ("kube-apiserver", &["--secure-port", "0"], r#"invalid argument "0" for "--secure-port" flag"#),
        ("kube-apiserver", &["--bind-address=here"], r#"invalid argument "here" for "--bind-address" flag"#),
        ("kube-apiserver", &["--authorization-mode=Nope"], r#"invalid argument "Nope""#),
        (
            "kube-apiserver",
            &["--authorization-mode=ABAC"],
            "authorization-mode ABAC needs --authorization-policy-file",
        ),
        ("kube-apiserver", &["--enable-admission-plugins=Nope"], r#"invalid argument "Nope""#),
        ("kube-apiserver", &["--controllers=-node"], "unknown controller \"-node\""),
        ("kube-apiserver", &["--tls-cert-file=/a"], "flag needs an argument: --tls-private-key-file"),
        ("kube-apiserver", &["--secure-port"], "flag needs an argument: --secure-port"),
        ("etcd", &["-nope"], "Error: unknown flag: --nope\n"),
        ("etcd", &["--listen-client-urls=nowhere"], "expected a URL such as"),
    ] {
        let output = run(name, arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && text.contains(error), "{name} {arguments:?}: {output:?}");
    }
}

#[test]
fn a_taken_port_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    let directory = TempDir::new().expect("a directory");
    let output = program("kube-apiserver")
        .args(["--bind-address=127.0.0.1", &format!("--secure-port={}", address.port())])
        .arg(format!("--cert-dir={}", directory.path().display()))
        .output()
        .expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && text.contains(&address.to_string()), "{output:?}");
    assert!(!directory.path().join("apiserver.crt").exists(), "nothing is written");
    let output = run("etcd", &["--listen-client-urls", &format!("http://{address}")]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && text.contains(&address.to_string()), "{output:?}");
}

#[test]
fn a_certificate_is_created_where_there_is_none() {
    let directory = TempDir::new().expect("a directory");
    let tokens = directory.path().join("tokens.csv");
    fs::write(&tokens, "sesame,alice,1,\"system:masters\"\n").expect("a file");
    let port = free_port();
    let mut command = program("kube-apiserver");
    command.args(["--bind-address", "127.0.0.1", "--secure-port", &port.to_string()]);
    command.args(["--authorization-mode", "Node,RBAC", "--allow-privileged", "-v", "2"]);
    command.args(["--service-cluster-ip-range", "10.96.0.0/12"]);
    command.arg("--token-auth-file").arg(&tokens);
    command.arg("--cert-dir").arg(directory.path().join("certificates"));
    let mut api_server = Process::start(command);
    assert!(api_server.becomes_healthy(&format!("https://127.0.0.1:{port}/readyz")));
    let path = directory.path().join("certificates/apiserver.crt");
    let certificate = fs::read_to_string(path).expect("the certificate was written");
    assert!(directory.path().join("certificates/apiserver.key").exists());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = client(port, &certificate, json!({"token": "sesame"})).await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.get("kube-system").await.expect("the client trusts the file and the server the token");
        let services: Api<Service> = Api::default_namespaced(client);
        let spec = services.get("kubernetes").await.expect("a service").spec;
        assert_eq!(spec.and_then(|spec| spec.cluster_ip).as_deref(), Some("10.96.0.1"));
    });
    assert_eq!(api_server.stop().code(), Some(0));
}

#[test]
fn files_that_are_not_links_are_kept() {
    let directory = TempDir::new().expect("a directory");
    let original = directory.path().join("etcd");
    fs::write(&original, "precious").expect("a file");
    let install = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["envtest", "install"]).args(arguments).arg(directory.path()).output().expect("it runs")
    };
    let output = install(&[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("--force"), "{output:?}");
    assert_eq!(fs::read_to_string(&original).expect("the file"), "precious");
    assert!(install(&["--force", "--copy"]).status.success());
    let output = Command::new(&original).arg("--version").output().expect("the copy runs");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("etcd Version: 3."), "{output:?}");
}
