//! The recorded conversations about permissions and quotas, with TLS and RBAC: in the embedded store and on etcd.

use crate::{process::Tenure, recordings::VERSION};
use std::{path::Path, process::Command};
use tempfile::TempDir;

use crate::etcd_process::Etcd;

const PROFILE: [&str; 4] = ["--listen", "127.0.0.1:0", "--kubernetes-version", VERSION];

/// Replays the recordings; no difference is waived.
fn replay(server: &Tenure) {
    let conformance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let output = Command::new("python3")
        .arg(conformance.join("conform.py"))
        .args(["--server", &server.address, "--token", &server.token(), "--jobs", "4"])
        .args(["authz", "quota"].map(|name| conformance.join(format!("scenarios/{name}.json"))))
        .output()
        .expect("python3 is installed");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    println!("{report}");
}

#[test]
fn permissions_and_quotas_are_as_recorded_in_the_embedded_store() {
    let directory = TempDir::new().expect("a directory");
    replay(&Tenure::start(directory.path(), &PROFILE));
}

#[test]
fn permissions_and_quotas_are_as_recorded_on_etcd() {
    let (etcd, directory) = (Etcd::start(), TempDir::new().expect("a directory"));
    let endpoints = etcd.endpoints().join(",");
    let store = ["--store", "etcd", "--etcd-endpoints", &endpoints];
    replay(&Tenure::start(directory.path(), &[&PROFILE[..], &store].concat()));
}
