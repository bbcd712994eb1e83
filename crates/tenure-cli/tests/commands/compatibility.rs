//! Predictions follow the server: Tenure publishes its profile, and any other server, or none, is treated as Kubernetes.

use crate::harness::{TestCluster, offline};
use tempfile::TempDir;
use tenure_value::Value;

/// A deployment whose owner declared a zero, which is not stored.
const PAUSED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  paused: false
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1'}]}
";

/// A patch that means one thing to Kubernetes and another to Tenure: it leaves an empty map, or none.
const PATCH: &str = r#"{"spec": {"template": {"spec": {"securityContext": {"$patch": "delete"}}}}}"#;

fn servers() -> [(&'static str, TestCluster); 2] {
    ["kubernetes", "tenure"].map(|name| (name, TestCluster::start_with(&["--compatibility", name])))
}

#[test]
fn a_prediction_is_what_the_server_at_hand_does() {
    for (name, cluster) in servers() {
        let apply = |manager: &str, more: &[&str]| {
            cluster.with(PAUSED, &[&["apply", "-f", "-", "--manager", manager], more].concat())
        };
        apply("alice", &[]).exits_with(0);
        let path = "/apis/apps/v1/namespaces/default/deployments/web";
        let live = cluster.file("live.json", &cluster.get(path).to_string());
        let manifest = cluster.file("manifest.yaml", PAUSED);

        // Kubernetes takes the second zero for a change, Tenure does not.
        let expected = if name == "kubernetes" { 3 } else { 2 };
        let plan = ["plan", "-f", &manifest, "--manager", "bob", "--live", &live, "--compatibility", name];
        offline(&plan, "").exits_with(expected);
        let simulated = ["simulate", &manifest, "--manager", "bob", "-o", "json"];
        for output in [
            cluster.tenure(&simulated),
            offline(
                &["simulate", &manifest, &live, "--manager", "bob", "-o", "json", "--compatibility", name],
                "",
            ),
        ] {
            let methods = output.json().get("methods").and_then(Value::as_array).cloned().unwrap_or_default();
            let is_refused = methods.last().is_some_and(|method| method.get("refused").is_some());
            assert_eq!(is_refused, name == "kubernetes", "{name}: {output:#?}");
        }
        apply("bob", &[]).exits_with(if name == "kubernetes" { 3 } else { 0 });

        // What a patch leaves, by the server and by the flag.
        let patch = cluster.file("patch.json", PATCH);
        let left = |output: crate::process::CommandOutput| {
            output.json().at(["spec", "template", "spec", "securityContext"]).map(ToString::to_string)
        };
        let wanted = (name == "kubernetes").then(|| "{}".to_owned());
        assert_eq!(
            left(cluster.tenure(&["patch", "apply", &live, &patch, "-o", "json", "--live"])),
            wanted,
            "{name}"
        );
        let line = ["patch", "apply", &live, &patch, "-o", "json", "--compatibility", name];
        assert_eq!(left(offline(&line, "")), wanted, "{name}");
    }
}

#[test]
fn without_a_server_the_answer_is_that_of_kubernetes() {
    let home = TempDir::new().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let live =
        file("live.yaml", &PAUSED.replace("containers", "securityContext: {runAsUser: 1}, containers"));
    let patch = file("patch.json", PATCH);
    let context = |more: &[&str]| {
        let output = offline(&[&["patch", "apply", &live, &patch, "-o", "json"], more].concat(), "").json();
        output.at(["spec", "template", "spec", "securityContext"]).map(ToString::to_string)
    };
    assert_eq!(context(&[]).as_deref(), Some("{}"));
    assert_eq!(context(&["--compatibility", "kubernetes"]).as_deref(), Some("{}"));
    assert_eq!(context(&["--compatibility", "tenure"]), None);
}

/// A list that replaces another one in 1.36, and that is merged by a key since 1.37.
#[test]
fn types_are_those_of_the_version_at_hand() {
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "status": {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "a"}]}}"#;
    let patch = r#"{"status": {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "b"}]}}"#;
    let list = ["status", "nodeAllocatableResourceClaimStatuses"];
    for (version, expected) in [("1.36", 1), ("1.37", 2)] {
        let cluster = TestCluster::start_with(&["--kubernetes-version", version]);
        let (pod, patch) = (cluster.file("pod.json", pod), cluster.file("patch.json", patch));
        let line = ["patch", "apply", &pod, &patch, "-o", "json"];
        let left = |output: crate::process::CommandOutput| {
            output.json().at(list).and_then(Value::as_array).map(|list| list.len())
        };
        assert_eq!(left(cluster.tenure(&[&line[..], &["--live"]].concat())), Some(expected), "{version}");
        let flag = ["--kubernetes-version", version];
        assert_eq!(left(offline(&[&line[..], &flag].concat(), "")), Some(expected), "{version}");
        let show = ["schema", "show", "CSINode.status", "--kubernetes-version", version];
        offline(&show, "").exits_with(if version == "1.36" { 1 } else { 0 });
    }
}

#[test]
fn recommended_keys_are_for_servers_that_know_them() {
    let service = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: dns}}\nspec: {{ports: [{{port: 53, protocol: UDP}}, {{port: 53, protocol: TCP, name: {name}}}]}}\n"
        )
    };
    for (name, cluster) in servers() {
        let (old, new) = (cluster.file("old.yaml", &service("a")), cluster.file("new.yaml", &service("b")));
        let line = ["patch", "diff", &old, &new, "--keys", "recommended"];
        let asked = cluster.tenure(&[&line[..], &["--live"]].concat());
        match name {
            "kubernetes" => drop(asked.exits_with(1).prints("does not know $patchMergeKey")),
            _ => assert_eq!(asked.exits_with(0).prints("$patchMergeKey").err, ""),
        }
        let warned = cluster.tenure(&line).exits_with(0).prints("$patchMergeKey");
        assert!(warned.err.contains("a kube-apiserver does not know $patchMergeKey"), "{warned:#?}");
        let named = cluster.tenure(&[&line[..], &["--compatibility", "tenure"]].concat()).exits_with(0);
        assert_eq!(named.err, "");
        cluster.tenure(&["patch", "diff", &old, &new, "--live"]).exits_with(0);
    }
}
