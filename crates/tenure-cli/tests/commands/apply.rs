//! `tenure apply`.

use crate::harness::{DEPLOYMENT, TestCluster};
use tenure_value::Value;

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn map(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {data}\n")
}

#[test]
fn objects_with_conflicts_are_not_applied_and_the_others_are() {
    let cluster = TestCluster::start();
    cluster
        .with(&format!("{}---\n{}", map("a", "{k: v}"), map("b", "{k: v}")), &["apply", "-f", "-"])
        .exits_with(0);
    let other = format!("{}---\n{}", map("a", "{k: w}"), map("c", "{k: v}"));
    let output = cluster.with(&other, &["apply", "-f", "-", "--manager", "bob"]).exits_with(3);
    output.prints("! .data.k: \"v\" → \"w\"").prints("2 objects: 1 applied, 1 with conflicts");
    assert_eq!(cluster.managers("/api/v1/namespaces/default/configmaps/c"), ["bob Apply"]);
    assert_eq!(cluster.managers("/api/v1/namespaces/default/configmaps/a"), ["kubectl Apply"]);
}

#[test]
fn single_fields_are_taken_and_no_others() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let mine = DEPLOYMENT.replace("replicas: 2", "replicas: 5").replace("nginx:1", "nginx:2");
    let line = ["apply", "-f", "-", "--manager", "bob", "--force-path", ".spec.replicas"];
    cluster.with(&mine, &line).exits_with(3).prints("image");
    assert_eq!(cluster.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(2)), "nothing was applied");
    let mine = DEPLOYMENT.replace("replicas: 2", "replicas: 5");
    cluster.with(&mine, &line).exits_with(0).prints("alice loses .spec.replicas");
    assert_eq!(cluster.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(5)));
    cluster.tenure(&["why", "deploy/web", ".spec.replicas"]).succeeds_with("bob by Apply");
    cluster.tenure(&["apply", "-f", "-", "--force-conflicts", "--force-path", ".x"]).exits_with(1);
}

#[test]
fn each_conflict_can_be_decided() {
    let decide = |answers: &str| {
        let cluster = TestCluster::start();
        cluster.with(&map("c", "{k: theirs}"), &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
        let file = cluster.file("c.yaml", &map("c", "{k: mine, other: x}"));
        let output = cluster.with(answers, &["apply", "-f", &file, "--manager", "bob", "--interactive"]);
        let live = cluster.get("/api/v1/namespaces/default/configmaps/c");
        let value = live.at(["data", "k"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = cluster.tenure(&["why", "cm/c", ".data.k", "-o", "json"]).json();
        let owners = answer.get("owners").and_then(Value::as_array).expect("owners");
        let name =
            |owner: &Value| owner.get("manager").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut owners: Vec<String> = owners.iter().map(name).collect();
        owners.sort();
        (output.code, value, owners.join("+"))
    };
    for (answers, code, value, owners) in [
        ("m\n", 0, "mine", "bob"),
        ("t\n", 0, "theirs", "alice"),
        ("what?\ns\n", 0, "theirs", "alice+bob"),
        ("l\n", 0, "theirs", "alice"),
        ("q\n", 3, "theirs", "alice"),
        ("", 3, "theirs", "alice"),
    ] {
        assert_eq!(decide(answers), (Some(code), value.into(), owners.into()), "{answers:?}");
    }
}

#[test]
fn what_is_no_longer_among_the_files_is_pruned() {
    let cluster = TestCluster::start();
    cluster.file("set/a.yaml", &map("a", "{k: v}"));
    cluster.file("set/b.yaml", &map("b", "{k: v}"));
    cluster.file("set/deeper/web.yaml", DEPLOYMENT);
    let set = cluster.home.path().join("set");
    let line =
        ["apply", "-R", "-f", &set.to_string_lossy(), "--prune", "--applyset", "web"].map(String::from);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    cluster.with(&map("stranger", "{k: v}"), &["apply", "-f", "-"]).exits_with(0);
    cluster.tenure(&line).exits_with(0).prints("3 objects: 3 applied");
    let parent = cluster.get("/api/v1/namespaces/default/secrets/web");
    let kinds = parent.at(["metadata", "annotations", "applyset.kubernetes.io/contains-group-kinds"]);
    assert_eq!(kinds, Some(&Value::from("ConfigMap,Deployment.apps")));
    std::fs::remove_file(set.join("b.yaml")).expect("it was there");
    std::fs::remove_file(set.join("deeper/web.yaml")).expect("it was there");
    cluster
        .tenure(&[&line[..], &["--dry-run"]].concat())
        .exits_with(0)
        .prints("configmap/b in default: to prune");
    cluster
        .tenure(&line)
        .exits_with(0)
        .prints("configmap/b in default: pruned")
        .prints("deployment.apps/web in default: pruned");
    let code = |name: &str| {
        cluster.request("GET", &format!("/api/v1/namespaces/default/configmaps/{name}"), "", "").0
    };
    assert_eq!(["a", "b", "stranger"].map(code), [200, 404, 200]);
    assert_eq!(cluster.request("GET", WEB, "", "").0, 404);
    cluster.tenure(&line).exits_with(0).prints("1 object: 1 unchanged");
    cluster
        .tenure(&[
            "apply",
            "-f",
            &cluster.file("x.yaml", &map("x", "{}")),
            "--prune",
            "--applyset",
            "cm/stranger",
        ])
        .exits_with(1)
        .prints("is not the parent of an ApplySet");
}

#[test]
fn help_has_examples_everywhere() {
    for command in
        ["blame", "plan", "apply", "why", "adopt", "transfer", "release", "migrate", "undo", "serve"]
    {
        let output = crate::harness::offline(&[command, "--help"], "").succeeds_with("Examples:");
        assert!(output.out.contains(&format!("tenure {command}")), "{command}");
    }
}
