//! Saved plans: carried out as they were reviewed or refused, and undone as plans.

use crate::{
    etcd_process::Etcd,
    harness::{DEPLOYMENT, TestCluster},
};
use std::fs;
use tenure_value::{Limits, Value, json};

const SETTINGS: &str = "/api/v1/namespaces/default/configmaps/settings";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn settings(colour: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{colour: {colour}, size: '1'}}\n"
    )
}

/// Changes an object as another manager.
fn edit(cluster: &TestCluster, path: &str, patch: &str) {
    let (code, answer) =
        cluster.request("PATCH", &format!("{path}?fieldManager=edit"), "application/merge-patch+json", patch);
    assert_eq!(code, 200, "{answer:?}");
}

fn document(path: &str) -> Value {
    json::parse(&fs::read(path).expect("the plan"), &Limits::TRUSTED).expect("JSON")
}

#[test]
fn a_saved_plan_is_carried_out_once_as_it_was_reviewed() {
    let cluster = TestCluster::start();
    let file = cluster.file("web.yaml", &format!("{DEPLOYMENT}---\n{}", settings("blue")));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2).prints("--expect sha256:");
    let (first, digest) = (document(&plan), document(&plan).get("digest").cloned().expect("a digest"));
    let digest = digest.as_str().expect("text").to_owned();
    // The same plan has the same digest, whenever it is made.
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    assert_eq!(document(&plan).get("digest"), first.get("digest"));
    cluster
        .tenure(&["plan", &plan])
        .exits_with(2)
        .prints("deployment.apps/web in default: create")
        .prints(&digest);
    cluster
        .tenure(&["apply", &plan, "--expect", "sha256:00"])
        .exits_with(1)
        .prints("not the plan that was approved");
    cluster.tenure(&["apply", &plan, "--dry-run"]).exits_with(0).prints("the plan holds");
    assert_eq!(cluster.request("GET", WEB, "", "").0, 404);
    cluster.tenure(&["apply", &plan, "--expect", &digest]).exits_with(0).prints("2 steps: all written");
    assert_eq!(cluster.managers(WEB), ["kubectl Apply"]);
    let again = cluster.tenure(&["apply", &plan, "-o", "json"]).exits_with(3).json();
    assert_eq!(again.get("result"), Some(&Value::from("stale")), "{again}");
    assert_eq!(again.get("written"), Some(&Value::array([])));
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(0);
    cluster.tenure(&["apply", &plan]).exits_with(0).prints("0 steps: all written");
}

#[test]
fn a_plan_that_no_longer_holds_is_refused_with_what_changed_and_who_changed_it() {
    let cluster = TestCluster::start();
    let file = cluster.file("settings.yaml", &settings("blue"));
    cluster.tenure(&["apply", "-f", &file]).exits_with(0);
    cluster.file("settings.yaml", &settings("green"));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    let fields = cluster.home.path().join("fields.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    cluster.tenure(&["plan", "-f", &file, "--out", &fields, "--pin", "fields"]).exits_with(2);
    // A change of something else breaks the pin of the version and not that of the fields.
    edit(&cluster, SETTINGS, r#"{"data":{"note":"hello"}}"#);
    let refused = cluster.tenure(&["apply", &plan]).exits_with(3);
    refused
        .prints("was changed since the plan was made by edit (Update")
        .prints(".data.note: (not set) → \"hello\"");
    assert_eq!(cluster.get(SETTINGS).at(["data", "colour"]), Some(&Value::from("blue")));
    cluster.tenure(&["apply", &fields, "--dry-run"]).exits_with(0);
    edit(&cluster, SETTINGS, r#"{"data":{"colour":"red"}}"#);
    let refused = cluster.tenure(&["apply", &fields]).exits_with(3);
    refused.prints(".data.colour: \"blue\" → \"red\"").prints("nothing was written");
    edit(&cluster, SETTINGS, r#"{"data":{"colour":"blue"}}"#);
    // The value is back, the owner is another.
    cluster.tenure(&["apply", &fields]).exits_with(3).prints("edit gained .data.colour");
    cluster.request("DELETE", SETTINGS, "", "");
    cluster.tenure(&["apply", &fields]).exits_with(3).prints("was deleted since the plan was made");
    cluster.tenure(&["apply", "-f", &file]).exits_with(0);
    cluster.tenure(&["apply", &fields]).exits_with(3).prints("created again by kubectl");
}

#[test]
fn a_plan_that_was_edited_or_belongs_to_another_cluster_is_refused() {
    let cluster = TestCluster::start();
    let file = cluster.file("settings.yaml", &settings("blue"));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    let text = fs::read_to_string(&plan).expect("the plan");
    let edited = cluster.file("edited.json", &text.replace("blue", "black"));
    cluster.tenure(&["apply", &edited]).exits_with(1).prints("it was changed after it was made");
    let cut = cluster.file("cut.json", &text[..text.len() / 2]);
    cluster.tenure(&["apply", &cut]).exits_with(1).prints("cut.json");
    let other = cluster.file("other.json", "{\"kind\": \"ConfigMap\"}");
    cluster.tenure(&["apply", &other]).exits_with(1).prints("it is not a saved plan");
    let elsewhere = TestCluster::start();
    let copy = elsewhere.file("plan.json", &text);
    elsewhere.tenure(&["apply", &copy]).exits_with(1).prints("the plan is for another cluster");
    // A plan with conflicts could not be carried out, and is not saved.
    cluster.tenure(&["apply", "-f", &file]).exits_with(0);
    cluster.file("settings.yaml", &settings("red"));
    let none = cluster.home.path().join("none.json").to_string_lossy().into_owned();
    cluster
        .tenure(&["plan", "-f", &file, "--manager", "ci", "--out", &none])
        .exits_with(3)
        .prints("not saved");
    assert!(!std::path::Path::new(&none).exists());
}

#[test]
fn values_of_secrets_are_not_in_a_plan() {
    let cluster = TestCluster::start();
    let secret = |password: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\nstringData: {{password: {password}}}\n"
        )
    };
    let file = cluster.file("secret.yaml", &secret("hunter2"));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    let secrets =
        |text: &str| text.contains("hunter2") || text.contains("aHVudGVyMg") || text.contains("b3RoZXI");
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    assert!(!secrets(&fs::read_to_string(&plan).expect("the plan")));
    cluster
        .tenure(&["apply", &plan])
        .exits_with(1)
        .prints("the plan has no values of Secrets")
        .prints("secret.yaml");
    let other = cluster.file("other.yaml", &secret("other"));
    cluster.tenure(&["apply", &plan, "-f", &other]).exits_with(1).prints("its values differ");
    cluster.tenure(&["apply", &plan, "-f", &file]).exits_with(0);
    let path = "/api/v1/namespaces/default/secrets/login";
    assert_eq!(cluster.get(path).at(["data", "password"]), Some(&Value::from("aHVudGVyMg==")));
    // What was there before is not in the next plan either, and its change is noticed and not shown.
    cluster.file("secret.yaml", &secret("other"));
    cluster.tenure(&["plan", "-f", &file, "--out", &plan, "--pin", "fields"]).exits_with(2);
    assert!(!secrets(&fs::read_to_string(&plan).expect("the plan")));
    edit(&cluster, path, r#"{"data":{"password":"dGhpcmQ="}}"#);
    let refused = cluster.tenure(&["apply", &plan, "-f", &file]).exits_with(3).prints(".data.password");
    assert!(!refused.out.contains("dGhpcmQ"), "{refused:?}");
}

#[test]
fn undo_of_a_plan_is_a_plan() {
    let cluster = TestCluster::start();
    let old =
        cluster.file("old.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\ndata: {a: b}\n");
    let file = cluster.file("settings.yaml", &settings("blue"));
    cluster.tenure(&["apply", "-f", &old, "-f", &file]).exits_with(0);
    edit(&cluster, SETTINGS, r#"{"data":{"note":"hello"}}"#);
    let before = cluster.get(SETTINGS);
    cluster.file("settings.yaml", &format!("{}---\n{DEPLOYMENT}", settings("green")));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster
        .tenure(&["plan", "-f", &file, "--delete", "configmap/old", "--out", &plan])
        .exits_with(2)
        .prints("configmap/old in default: delete");
    cluster.tenure(&["apply", &plan]).exits_with(0).prints("delete done");
    let gone = "/api/v1/namespaces/default/configmaps/old";
    assert_eq!(cluster.request("GET", gone, "", "").0, 404);
    let undo = cluster.tenure(&["undo", &plan, "--dry-run"]).exits_with(0);
    undo.prints("deployment.apps/web in default: delete")
        .prints("configmap/old in default: create")
        .prints("\"green\" → \"blue\"");
    assert_eq!(cluster.request("GET", WEB, "", "").0, 200);
    // What others changed since stops the undo.
    edit(&cluster, SETTINGS, r#"{"data":{"colour":"red"}}"#);
    let stopped = cluster.tenure(&["undo", &plan, "--yes"]).exits_with(3);
    stopped.prints(".data.colour was changed again since by edit").prints("Nothing is written");
    assert_eq!(cluster.request("GET", WEB, "", "").0, 200);
    cluster.tenure(&["undo", &plan, "--yes", "--force"]).exits_with(0);
    assert_eq!(cluster.request("GET", WEB, "", "").0, 404);
    let restored = cluster.get(gone);
    assert_eq!(restored.at(["data", "a"]), Some(&Value::from("b")));
    assert_eq!(cluster.managers(gone), ["kubectl Apply"]);
    let after = cluster.get(SETTINGS);
    assert_eq!(after.get("data"), before.get("data"));
    assert_eq!(cluster.managers(SETTINGS), ["kubectl Apply", "edit Update"]);
}

#[test]
fn a_plan_is_undone_from_the_history_of_the_server_without_its_undo_file() {
    let cluster = TestCluster::start();
    let file = cluster.file("settings.yaml", &settings("blue"));
    cluster.tenure(&["apply", "-f", &file]).exits_with(0);
    let before = cluster.get(SETTINGS);
    cluster.file("settings.yaml", &settings("green"));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--manager", "kubectl", "--out", &plan]).exits_with(2);
    cluster.tenure(&["apply", &plan]).exits_with(0);
    fs::remove_dir_all(cluster.home.path().join(".local/state/tenure")).expect("the undo files");
    cluster.tenure(&["undo", &plan, "--yes"]).exits_with(0);
    let after = cluster.get(SETTINGS);
    assert_eq!(after.get("data"), before.get("data"));
    assert_eq!(after.at(["metadata", "managedFields"]), before.at(["metadata", "managedFields"]));
}

#[test]
fn a_plan_is_carried_out_and_undone_as_one_transaction() {
    let cluster = TestCluster::start();
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: sites, kind: Site}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";
    let site = "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: shop, namespace: default}\nspec: {pages: 3}\n";
    let file = cluster
        .file("all.yaml", &format!("{definition}---\n{site}---\n{DEPLOYMENT}---\n{}", settings("blue")));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    cluster.tenure(&["apply", &plan, "--atomic"]).exits_with(0).prints("4 steps: all written");
    assert_eq!(cluster.managers(WEB), ["kubectl Apply"]);
    assert_eq!(cluster.request("GET", "/apis/example.com/v1/namespaces/default/sites/shop", "", "").0, 200);

    // One step of the next plan is refused by the server: none is written.
    let quota = r#"{"metadata":{"name":"q"},"spec":{"hard":{"count/configmaps":"2"}}}"#;
    assert_eq!(
        cluster.request("POST", "/api/v1/namespaces/default/resourcequotas", "application/json", quota).0,
        201
    );
    let more = ["one", "two"].map(|name| settings("green").replace("settings", name)).join("---\n");
    let file = cluster.file("more.yaml", &format!("{}---\n{more}", settings("green")));
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    cluster
        .tenure(&["apply", &plan, "--atomic"])
        .exits_with(1)
        .prints("exceeded quota")
        .prints("3 steps: nothing was written");
    assert_eq!(cluster.get(SETTINGS).at(["data", "colour"]), Some(&Value::from("blue")));

    // The undo is a transaction, too.
    let file = cluster.file("settings.yaml", &settings("green"));
    cluster.tenure(&["plan", "-f", &file, "--delete", "deployment/web", "--out", &plan]).exits_with(2);
    cluster.tenure(&["apply", &plan, "--atomic"]).exits_with(0).prints("2 steps: all written");
    assert_eq!(cluster.request("GET", WEB, "", "").0, 404);
    cluster.tenure(&["undo", &plan, "--atomic", "--yes"]).exits_with(0);
    assert_eq!(cluster.get(SETTINGS).at(["data", "colour"]), Some(&Value::from("blue")));
    assert_eq!(cluster.managers(WEB), ["kubectl Apply"]);
}

#[test]
fn an_undo_on_etcd_is_a_transaction_too() {
    let etcd = Etcd::start();
    let endpoints = etcd.endpoints().join(",");
    let cluster = TestCluster::start_on(&["--store", "etcd", "--etcd-endpoints", &endpoints, "--history"]);
    let file = cluster.file("all.yaml", &format!("{DEPLOYMENT}---\n{}", settings("blue")));
    cluster.tenure(&["apply", "-f", &file]).exits_with(0);
    let before = [cluster.get(SETTINGS), cluster.get(WEB)];
    let file = cluster.file("settings.yaml", &settings("green"));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--delete", "deployment/web", "--out", &plan]).exits_with(2);
    cluster.tenure(&["apply", &plan, "--atomic"]).exits_with(0).prints("2 steps: all written");
    cluster.tenure(&["undo", &plan, "--atomic", "--yes"]).exits_with(0);
    for (path, before) in [SETTINGS, WEB].into_iter().zip(&before) {
        let after = cluster.get(path);
        for part in [&["data"][..], &["spec"], &["metadata", "managedFields"]] {
            assert_eq!(after.at(part.iter().copied()), before.at(part.iter().copied()), "{path} {part:?}");
        }
        let version = after.at(["metadata", "resourceVersion"]).cloned();
        assert_eq!(
            version,
            cluster.get(SETTINGS).at(["metadata", "resourceVersion"]).cloned(),
            "one revision"
        );
        // Each undo is one change of history, and what was before it can be read.
        let history = cluster.get(&format!("{path}/history"));
        let items = history.get("items").and_then(Value::as_array).expect("items").to_vec();
        assert_eq!(items.len(), 3, "{history}");
        let previous = items[1].get("revision").and_then(Value::as_str).expect("a revision");
        let code = cluster.request("GET", &format!("{path}/history?at={previous}"), "", "").0;
        assert_eq!(code, if path == WEB { 404 } else { 200 }, "{path}");
    }
}

#[test]
fn kubernetes_has_no_transactions() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    let file = cluster.file("settings.yaml", &settings("blue"));
    let plan = cluster.home.path().join("plan.json").to_string_lossy().into_owned();
    cluster.tenure(&["plan", "-f", &file, "--out", &plan]).exits_with(2);
    cluster
        .tenure(&["apply", &plan, "--atomic"])
        .exits_with(1)
        .prints("has no transactions")
        .prints("step by step");
    assert_eq!(cluster.request("GET", SETTINGS, "", "").0, 404);
}
