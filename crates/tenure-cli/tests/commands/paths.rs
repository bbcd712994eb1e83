//! Paths as people type them, for every command that takes one.

use crate::harness::{DEPLOYMENT, TestCluster};
use tenure_value::Value;

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

/// The notations of one field.
const IMAGE: [&str; 6] = [
    ".spec.template.spec.containers[0].image",
    ".spec.template.spec.containers[name=web].image",
    ".spec.template.spec.containers[name=\"web\"].image",
    "/spec/template/spec/containers/0/image",
    "{.spec.template.spec.containers[?(@.name==\"web\")].image}",
    ".spec.template.spec.containers[k:{\"name\":\"web\"}].image",
];

#[test]
fn every_notation_names_the_same_field_everywhere() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    for path in IMAGE {
        cluster.tenure(&["why", "deployment/web", path]).succeeds_with("alice by Apply");
        let changes = cluster.tenure(&["log", "deployment/web", path, "-o", "json"]).succeeds_with("").json();
        let owners = changes.as_array().and_then(|changes| changes.first()?.get("owners")?.as_array());
        assert_eq!(owners.map(|owners| owners.iter().len()), Some(1), "{path}: {changes:?}");
        cluster.tenure(&["blame", "deployment/web", path]).succeeds_with("image: nginx:1");
        let moved =
            cluster.tenure(&["transfer", "deployment/web", "--path", path, "--to", "ci", "--dry-run"]);
        moved.succeeds_with("ci (Apply) gains .spec.template.spec.containers[name=\"web\"].image");
        let other = DEPLOYMENT.replace("nginx:1", &format!("nginx:{}", path.len()));
        let line = ["apply", "-f", "-", "--manager", "bob", "--force-path", path, "--dry-run"];
        cluster
            .with(&other, &line)
            .exits_with(0)
            .prints("alice loses .spec.template.spec.containers[name=\"web\"].image");
    }
}

#[test]
fn a_path_that_matches_nothing_is_an_error_with_the_nearest() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    for line in [
        &["why", "deployment/web", ".spec.replcias"][..],
        &["blame", "deployment/web", ".spec.replcias"],
        &["log", "deployment/web", ".spec.replcias"],
        &["transfer", "deployment/web", "--path", ".spec.replcias", "--to", "ci"],
        &["release", "deployment/web", "--path", ".spec.replcias"],
        &["can-i", "patch", "deployment/web", "--field", ".spec.replcias"],
    ] {
        cluster.tenure(line).exits_with(1).fails_with("did you mean .spec.replicas?");
    }
    let line = ["apply", "-f", "-", "--manager", "bob", "--force-path", ".spec.replcias"];
    cluster.with(DEPLOYMENT, &line).exits_with(1).fails_with("did you mean .spec.replicas?");
    cluster
        .with(DEPLOYMENT, &["plan", "-f", "-", "--force-path", ".spec.replcias"])
        .exits_with(1)
        .fails_with("did you mean");
    assert_eq!(cluster.managers(WEB), ["alice Apply"], "nothing was written");
}

#[test]
fn names_that_are_typed_wrong_are_corrected() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "helm"]).exits_with(0);
    for (line, part) in [
        (
            &["transfer", "deploy/web", "--path", ".spec.replicas", "--from", "helmm", "--to", "ci"][..],
            "did you mean \"helm\"?",
        ),
        (&["adopt", "deploy/web", "--from", "helmm"], "did you mean \"helm\"?"),
        (&["blame", "deploy/web", "--manager", "helmm"], "did you mean \"helm\"?"),
        (&["blame", "deplyment/web"], "did you mean \"deployment\"?"),
        (&["blame", "deploy/web", "--contxt", "x"], "--context"),
    ] {
        cluster.tenure(line).exits_with(1).fails_with(part);
    }
}

#[test]
fn a_conflict_prints_the_commands_that_settle_it() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let file = cluster.file("web.yaml", &DEPLOYMENT.replace("nginx:1", "nginx:2"));
    let output = cluster.tenure(&["plan", "-f", &file, "--manager", "bob"]).exits_with(3);
    // With the lines on which it goes on.
    let command = |word: &str| {
        let mut lines = output.out.lines().skip_while(|line| !line.contains(word));
        let first = lines.next().unwrap_or_else(|| panic!("{word}: {}", output.out));
        let mut command = first[first.find("tenure ").expect("a command")..].to_owned();
        while command.ends_with('\\') {
            command = format!("{command}\n{}", lines.next().expect("another line"));
        }
        command
    };
    let (take, hand_over) = (command("take it"), command("hand it over"));
    let words = |command: &str| command.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(&take),
        format!(
            "tenure apply -f {file} --manager bob --force-path '.spec.template.spec.containers[name=\"web\"].image'"
        )
    );
    assert!(
        take.contains('\n') && output.out.lines().all(|line| line.chars().count() <= 100),
        "{}",
        output.out
    );
    // Both do what they say when they are pasted.
    for (command, owners) in [(format!("{hand_over} --yes"), "bob"), (take, "bob")] {
        let typed = command.replacen("tenure", env!("CARGO_BIN_EXE_tenure"), 1);
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &typed])
            .env("KUBECONFIG", cluster.server.kubeconfig())
            .current_dir(cluster.home.path());
        shell.env("HOME", cluster.home.path());
        crate::process::run(&mut shell, "").exits_with(0);
        cluster.tenure(&["why", "deploy/web", IMAGE[0]]).succeeds_with(&format!("{owners} by Apply"));
    }
    assert_eq!(
        cluster
            .get(WEB)
            .at(["spec", "template", "spec", "containers"])
            .map(Value::to_string)
            .unwrap_or_default()
            .matches("nginx:2")
            .count(),
        1
    );
}
