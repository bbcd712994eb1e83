//! Terminal output at 60, 100 and 160 columns, with and without colours: as it was, and never wider than the terminal, except for words
//! that are longer.

use crate::harness::{DEPLOYMENT, TestCluster, offline, sample, snapshot};

const WIDTHS: [&str; 3] = ["60", "100", "160"];

/// Returns the width of a line without colours.
fn columns(line: &str) -> usize {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.chars().count()
}

#[test]
fn output_is_made_for_the_width() {
    let (live, manifest) = (sample("live.yaml"), sample("manifest.yaml"));
    let commands: [(&str, Vec<&str>); 5] = [
        ("blame", vec!["blame", "-f", &live, "--compact"]),
        ("blame-fold", vec!["blame", "-f", &live, "--compact", "--fold", ".spec"]),
        ("blame-full", vec!["blame", "-f", &live]),
        ("plan", vec!["plan", "-f", &manifest, "--live", &live, "--force-path", ".spec.paused"]),
        ("why", vec!["why", "-f", &live, ".spec.replicas"]),
    ];
    for (name, command) in &commands {
        for width in WIDTHS {
            let plain = offline(&[&command[..], &["--width", width]].concat(), "");
            let colours = offline(&[&command[..], &["--width", width, "--color", "always"]].concat(), "");
            snapshot(&format!("widths/{name}-{width}.txt"), &plain.out);
            snapshot(&format!("widths/{name}-{width}-colours.txt"), &colours.out);
            let lines = |text: &str| text.lines().map(columns).collect::<Vec<_>>();
            assert_eq!(lines(&plain.out), lines(&colours.out), "colours take no room: {name} {width}");
        }
    }
}

#[test]
fn a_table_of_changes_fits() {
    let cluster = TestCluster::start();
    let manager = "a-manager-with-quite-a-long-name";
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", manager]).exits_with(0);
    let other = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    cluster
        .with(&other, &["apply", "-f", "-", "--manager", "horizontal-pod-autoscaler", "--force-conflicts"])
        .exits_with(0);
    for width in WIDTHS {
        let output =
            cluster.tenure(&["log", "deployment/web", ".spec.replicas", "--width", width]).exits_with(0);
        let widest = output.out.lines().map(columns).max().unwrap_or_default();
        assert!(widest <= width.parse().expect("a number"), "{width}:\n{}", output.out);
    }
    let mut piped = crate::harness::tenure(&["log", "deployment/web", ".spec.replicas"]);
    piped.env("KUBECONFIG", cluster.server.kubeconfig()).env_remove("COLUMNS");
    let output = crate::process::run(&mut piped, "");
    assert!(output.out.contains(manager), "whole values in a pipe: {}", output.out);
}
