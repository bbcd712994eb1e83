//! Plans in a pull request: a comment, annotations at the lines of the manifests, a test report, and only what the pull request adds.

use crate::{
    harness::{TestCluster, offline},
    process::run,
};
use std::{fs, process::Command};
use tempfile::TempDir;
use tenure_value::Value;

/// A live Deployment whose replicas an autoscaler and whose image somebody else owns.
const LIVE: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","managedFields":[
 {"manager":"kube-controller-manager","operation":"Update","subresource":"scale","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
 {"manager":"platform","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{}}}}}}}},
 {"manager":"ci","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{}}}},
 {"manager":"kubectl-edit","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{}}}}]},
 "spec":{"replicas":7,"paused":true,"template":{"spec":{"containers":[{"name":"web","image":"web:1"}]}}}}"#;

const MANIFESTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
---
# The shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: log
        image: log:1
      - name: web
        image: web:2
";

struct Repository(TempDir);

impl Repository {
    fn new() -> Repository {
        let repository = Repository(TempDir::new().expect("a directory"));
        repository.file("live.json", LIVE);
        repository.file("manifests/shop.yaml", MANIFESTS);
        repository
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn plan(&self, more: &[&str]) -> crate::process::CommandOutput {
        let line = ["plan", "-f", "manifests", "--live", "live.json", "--manager", "ci"];
        run(crate::harness::tenure(&[&line[..], more].concat()).current_dir(self.0.path()), "")
    }
}

#[test]
fn annotations_are_at_the_lines_of_the_manifests() {
    let repository = Repository::new();
    let log = repository.plan(&["-o", "sarif"]).exits_with(3).json();
    assert_eq!(log.get("version").and_then(Value::as_str), Some("2.1.0"));
    let results = log
        .get("runs")
        .and_then(|runs| runs.as_array()?.items()[0].get("results")?.as_array().cloned())
        .expect("results");
    let shown: Vec<(String, String, i64)> = results
        .iter()
        .map(|result| {
            let text = |name: &str| result.get(name).and_then(Value::as_str).expect("text").to_owned();
            let location = &result.get("locations").and_then(Value::as_array).expect("locations").items()[0];
            let line = location.at(["physicalLocation", "region", "startLine"]).and_then(Value::as_i64);
            assert_eq!(
                location.at(["physicalLocation", "artifactLocation", "uri"]).and_then(Value::as_str),
                Some("manifests/shop.yaml")
            );
            (text("ruleId"), text("level"), line.expect("a line"))
        })
        .collect();
    let expected =
        [("Autoscaler", "error", 12), ("OtherApplier", "error", 19), ("FieldStays", "warning", 11)];
    assert_eq!(shown, expected.map(|(rule, level, line)| (rule.to_owned(), level.to_owned(), line)));
}

#[test]
fn a_report_has_a_case_for_every_object() {
    let repository = Repository::new();
    let report = repository.plan(&["-o", "junit"]).exits_with(3).out;
    assert!(report.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{report}");
    assert!(
        report.contains("manifests/shop.yaml:19: .spec.template.spec.containers[name=&quot;web&quot;].image"),
        "{report}"
    );
    let check = "import sys, xml.dom.minidom; xml.dom.minidom.parseString(sys.stdin.buffer.read())";
    run(Command::new("python3").args(["-c", check]), &report).exits_with(0);
}

#[test]
fn a_comment_shows_conflicts_first_and_fits() {
    let repository = Repository::new();
    let comment = repository.plan(&["-o", "markdown", "--save", "text=plan.txt"]).exits_with(3).out;
    assert!(
        comment.starts_with("<!-- tenure-plan -->\n### Plan: 2 objects: 1 with conflicts, 1 to create\n"),
        "{comment}"
    );
    let place = |part: &str| comment.find(part).unwrap_or_else(|| panic!("{part}: {comment}"));
    assert!(
        place("<details open><summary><b>deployment.apps/web in shop</b>: conflict")
            < place("configmap/settings")
    );
    place("**an autoscaler sets the field**: HorizontalPodAutoscaler via scale sets .spec.replicas");
    place("| `.spec.replicas` | `7` | `2` |");
    place("`.spec.paused` left the manifest but stays");
    let saved = fs::read_to_string(repository.0.path().join("plan.txt")).expect("the plan");
    assert!(saved.contains("! .spec.replicas: 7 → 2"), "{saved}");
    // Many objects with awkward values.
    let mut many = String::new();
    for number in 0..2_000 {
        many += &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}}}\ndata: {{key: \"``` | <b> @team {}\"}}\n---\n",
            "x".repeat(100)
        );
    }
    repository.file("manifests/many.yaml", &many);
    let comment = repository.plan(&["-o", "markdown"]).exits_with(3).out;
    assert!(comment.len() < 65_000, "{}", comment.len());
    assert!(comment.contains("not shown: the comment would be too long"));
    assert!(comment.contains("an autoscaler sets the field"), "conflicts come first");
}

#[test]
fn a_baseline_leaves_out_what_is_there_already() {
    let repository = Repository::new();
    repository.file("base/shop.yaml", MANIFESTS);
    repository.file("base/gone.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n");
    let same = repository.plan(&["--baseline", "base"]).exits_with(0).out;
    assert!(
        same.contains("configmap/gone: not in the manifests any more") && same.contains("0 objects"),
        "{same}"
    );
    // The conflict about the replicas was there before; the one about the image is new.
    repository.file("base/shop.yaml", &MANIFESTS.replace("web:2", "web:1"));
    let added = repository.plan(&["--baseline", "base"]).exits_with(3).out;
    assert!(
        added.contains("! .spec.template.spec.containers[name=\"web\"].image: \"web:1\" → \"web:2\""),
        "{added}"
    );
    assert!(!added.contains("! .spec.replicas") && !added.contains("configmap/settings"), "{added}");
    repository.file("base/bad.yaml", "- a\n");
    repository.plan(&["--baseline", "base"]).exits_with(1).prints("base/bad.yaml: a list is not an object");
}

#[test]
fn an_error_at_the_end_of_a_long_stream_has_its_line() {
    let one = format!(
        "---\n# Source: shop/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{k: {}}}\n",
        "x".repeat(1 << 15)
    );
    let stream = one.repeat(50) + "---\nno object\n";
    let output = offline(&["plan", "-f", "-", "--live", "/dev/null"], &stream).exits_with(1);
    assert!(output.err.contains("document 51, line 302: a text is not an object"), "{}", output.err);
}

#[test]
fn rendered_templates_are_named() {
    let cluster = TestCluster::start();
    let stream = "---\n# Source: shop/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: v}\n";
    let comment = cluster.with(stream, &["plan", "-f", "-", "-o", "markdown"]).exits_with(2).out;
    assert!(comment.contains("`shop/templates/c.yaml:1`"), "{comment}");
}
