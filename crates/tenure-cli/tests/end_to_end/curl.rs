//! Server-side apply needs no logic in the client: YAML sent by `curl`.

use crate::process::{CommandOutput, Tenure, run};
use std::process::Command;
use tempfile::TempDir;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
";

fn curl(tenure: &Tenure, arguments: &[&str], input: &str) -> CommandOutput {
    let bearer = format!("Authorization: Bearer {}", tenure.token());
    // The certificate is the one that the server made for itself: the kubeconfig has it, a browser would ask.
    let mut command = Command::new("curl");
    command.args(["-sk", "--max-time", "30", "-H", &bearer]).args(arguments);
    run(&mut command, input)
}

#[test]
fn yaml_is_accepted_and_returned() {
    let directory = TempDir::new().expect("a directory");
    let tenure = Tenure::secure(&directory);
    let apply = |manager: &str, input: &str| {
        let url = format!(
            "{}/apis/apps/v1/namespaces/default/deployments/web?fieldManager={manager}",
            tenure.address
        );
        let arguments =
            ["-X", "PATCH", "-H", "Content-Type: application/apply-patch+yaml", "--data-binary", "@-", &url];
        curl(&tenure, &arguments, input)
    };
    apply("alice", DEPLOYMENT).succeeds_with("\"replicas\":2");
    let url = format!("{}/apis/apps/v1/namespaces/default/deployments/web", tenure.address);
    let shown =
        curl(&tenure, &["-H", "Accept: application/yaml", &url], "").succeeds_with("  replicas: 2\n").out;
    assert!(shown.contains("manager: alice") && shown.contains("kind: Deployment\n"), "{shown}");
    let conflict = apply("bob", &DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    let conflict = conflict.succeeds_with("\"reason\":\"Conflict\"").out;
    assert!(conflict.contains(r#"conflict with \"alice\": .spec.replicas"#), "{conflict}");
    // A body without a content type is read as JSON, and YAML where the type says so.
    let maps = format!("{}/api/v1/namespaces/default/configmaps", tenure.address);
    let yaml = "metadata: {name: by-yaml}\ndata: {k: v}\n";
    let arguments = ["-H", "Content-Type: application/yaml", "--data-binary", "@-", &maps];
    curl(&tenure, &arguments, yaml).succeeds_with("\"by-yaml\"");
    let json = r#"{"metadata":{"name":"by-json"}}"#;
    curl(&tenure, &["-H", "Content-Type:", "--data-binary", "@-", &maps], json).succeeds_with("\"by-json\"");
    curl(&tenure, &["-X", "DELETE", &format!("{maps}/by-yaml")], "").succeeds_with("\"Success\"");
}
