//! What could come next on a command line, asked of the server; and that shells can run what they insert.

use crate::harness::{DEPLOYMENT, TestCluster};
use std::process::Command;

const IMAGE: &str = ".spec.template.spec.containers[name=\"web\"].image";

#[test]
fn words_of_the_server_are_offered() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let unquoted = IMAGE.replace('"', "");
    for (line, offered) in [
        (&["bl"][..], "blame"),
        (&["blame", "--con"], "--context"),
        (&["blame", "deplo"], "deployment.apps/"),
        (&["blame", "deployment/"], "deployment/web"),
        (&["blame", "deployment", ""], "web"),
        (&["blame", "deployment/web", ".spec.rep"], ".spec.replicas"),
        (&["blame", "-n", "kube-s"], "kube-system"),
        (&["blame", "--namespace=kube-s"], "--namespace=kube-system"),
        (&["blame", "--context", ""], "tenure"),
        (&["blame", "deployment/web", "--output", "j"], "json"),
        (&["why", "deployment/web", ".spec.template.spec.containers[name=\"w"], IMAGE),
        (&["why", "deployment/web", ".spec.template.spec.containers[name=web].i"], &unquoted),
        (&["why", "deployment/web", ".spec.template.spec.containers\\[name=\\\"w"], IMAGE),
        (&["log", "deployment/web", "'.spec.rep"], ".spec.replicas"),
        (&["transfer", "deployment/web", "--from", "al"], "alice"),
        (&["transfer", "deployment/web", "--path", ".spec.rep"], ".spec.replicas"),
        (&["can-i", "pa"], "patch"),
        (&["can-i", "patch", "deployment/w"], "deployment/web"),
        (&["can-i", "patch", "deployment/web", "--field", ".spec.rep"], ".spec.replicas"),
        (&["record", "--kinds", "deplo"], "deployment.apps"),
        (&["schema", "show", "Deplo"], "Deployment"),
    ] {
        let out = cluster.tenure(&[&["__complete"], line].concat()).exits_with(0).out;
        assert!(out.lines().any(|word| word == offered), "{line:?}: {offered}\n{out}");
    }
    // Shells offer files themselves.
    for line in [&["simulate", ""][..], &["apply", "-f", ""], &["undo", ""], &["record", ""]] {
        cluster.tenure(&[&["__complete"], line].concat()).exits_with(0).prints(":0\n");
    }
}

#[test]
fn bash_inserts_what_it_can_run() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    for (typed, inserted) in [
        (".spec.template.spec.containers\\[name=\\\"web\\\"\\].im", IMAGE),
        ("\\'.spec.template.spec.containers[name=web].im", ".spec.template.spec.containers[name=web].image"),
    ] {
        // The shell reads the word again, as it does when a person presses Enter.
        let script = format!(
            "source <(tenure completions bash); compopt() {{ :; }}
             COMP_WORDS=(tenure why deployment/web '{}') COMP_CWORD=3; _tenure
             quote=; [ -n '{}' ] && quote=\"'\"; eval \"printf '%s\\n' $quote${{COMPREPLY[0]}}$quote\"",
            typed.replace("\\'", "'\\''"),
            if typed.starts_with("\\'") { "open" } else { "" },
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).env("PATH", &path).env("KUBECONFIG", cluster.server.kubeconfig());
        let output = crate::process::run(bash.env("HOME", cluster.home.path()), "").exits_with(0);
        assert_eq!(output.out.trim(), inserted, "{output:?}");
    }
}
