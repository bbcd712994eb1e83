//! The recorded conversations with the binary in the profile `kubernetes`, errors to the letter, in the embedded store and on etcd.
//! `--exact-errors` includes all that `--exact-codes` compares. Of the randomised conversations the repository has a sample; all of
//! them are replayed if the complete recordings are there.

use crate::{
    etcd_process::Etcd,
    process::Tenure,
    recordings::{VERSION, conversations},
};
use std::{path::Path, process::Command};
use tempfile::TempDir;

const PROFILE: [&str; 6] =
    ["--listen", "127.0.0.1:0", "--compatibility", "kubernetes", "--kubernetes-version", VERSION];

/// Replays the recordings; no difference is waived.
fn replay(server: &Tenure) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/conform.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["--server", &server.address, "--token", &server.token(), "--jobs", "4", "--exact-errors"])
        .args(conversations())
        .output()
        .expect("python3 is installed");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    println!("{report}");
}

#[test]
fn every_error_is_as_recorded_in_the_embedded_store() {
    let directory = TempDir::new().expect("a directory");
    replay(&Tenure::start(directory.path(), &PROFILE));
}

#[test]
fn every_error_is_as_recorded_on_etcd() {
    let (etcd, directory) = (Etcd::start(), TempDir::new().expect("a directory"));
    let endpoints = etcd.endpoints().join(",");
    let store = ["--store", "etcd", "--etcd-endpoints", &endpoints];
    replay(&Tenure::start(directory.path(), &[&PROFILE[..], &store].concat()));
}
