//! Manifests of the shape of well-known charts, three releases of each, applied beside a scale, an edit and a second tool: what the
//! rehearsal of a release on a copy of the cluster says is what its apply then meets.

use crate::{harness::TestCluster, rehearse::timeless};
use tenure_value::Value;

const HELM: &str = "helm";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A write of somebody else between two releases.
struct OtherWrite {
    manager: &'static str,
    path: String,
    kind: &'static str,
    body: &'static str,
}

fn merge_patch(manager: &'static str, path: String, body: &'static str) -> OtherWrite {
    OtherWrite { manager, path, kind: "application/merge-patch+json", body }
}

fn forced_apply(manager: &'static str, path: String, body: &'static str) -> OtherWrite {
    OtherWrite { manager, path: format!("{path}?force=true"), kind: "application/apply-patch+yaml", body }
}

/// A release of a chart: lines end with `# 2+` if they are part of it since a release, with `# -1` if until one.
fn release(chart: &str, number: u32) -> String {
    let is_part = |line: &&str| match line.rsplit_once("  # ") {
        Some((_, mark)) => match (mark.strip_suffix('+'), mark.strip_prefix('-')) {
            (Some(since), _) => since.parse().is_ok_and(|since: u32| since <= number),
            (_, Some(until)) => until.parse().is_ok_and(|until: u32| number <= until),
            _ => panic!("{line}"),
        },
        None => true,
    };
    let lines =
        chart.lines().filter(is_part).map(|line| line.replace("RELEASE", &format!("v{number}.0.0")) + "\n");
    lines.collect()
}

/// Returns the conflicts of plans, as `kind/name path: owner`.
fn conflicts(plans: &[Value]) -> Vec<String> {
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of_plan = |plan: &Value| {
        let object = plan.get("object").cloned().unwrap_or_default();
        let title = format!("{}/{}", text(&object, "kind"), text(&object, "name"));
        let conflict = move |conflict: &Value| {
            let owners = conflict.get("owners").and_then(Value::as_array).into_iter().flatten();
            let owners: Vec<String> = owners.map(|owner| text(owner, "manager")).collect();
            format!("{title} {}: {}", text(conflict, "path"), owners.join(", "))
        };
        let found = plan.get("conflicts").and_then(Value::as_array).cloned().unwrap_or_default();
        found.iter().map(conflict).collect::<Vec<_>>()
    };
    plans.iter().flat_map(of_plan).collect()
}

/// Applies three releases of a chart. Before each of the last two others write, the release is rehearsed on a copy, and then applied; the
/// conflicts are those expected, and are settled by force.
fn upgrade(chart: &str, others: [Vec<OtherWrite>; 2], expected: [&[&str]; 2]) {
    let cluster = TestCluster::start();
    let first = cluster.file("1.yaml", &release(chart, 1));
    cluster.tenure(&["apply", "-f", &first, "--manager", HELM]).exits_with(0);
    for (number, (others, expected)) in (2..).zip(others.into_iter().zip(expected)) {
        for OtherWrite { manager, path, kind, body } in others {
            let path = format!("{path}{}fieldManager={manager}", if path.contains('?') { '&' } else { '?' });
            let (code, answer) = cluster.request("PATCH", &path, kind, body);
            assert_eq!(code, 200, "{path}: {answer}");
        }
        let file = cluster.file(&format!("{number}.yaml"), &release(chart, number));
        let copy = format!("copy-{number}");
        cluster.tenure(&["clone", "--secret-values", &copy]).exits_with(0);
        let line = ["rehearse", "--on", &copy, "-f", &file, "--manager", HELM, "-o", "json"];
        let rehearsed = cluster.tenure(&line).json();
        let real = cluster.tenure(&["apply", "-f", &file, "--manager", HELM, "-o", "json"]).json();
        let (rehearsed_plans, real_plans) = (timeless(rehearsed.get("plans")), timeless(real.get("objects")));
        assert_eq!(rehearsed_plans, real_plans, "release {number}");
        assert_eq!(conflicts(&real_plans), expected, "release {number}");
        assert_eq!(rehearsed.get("second"), Some(&Value::array([])), "release {number}");
        cluster.tenure(&["apply", "-f", &file, "--manager", HELM, "--force-conflicts"]).exits_with(0);
        // What was applied is there: the same again changes nothing.
        cluster.tenure(&["plan", "-f", &file, "--manager", HELM]).exits_with(0);
    }
}

#[test]
fn an_ingress_controller_that_is_scaled_edited_and_synchronised() {
    let scale = merge_patch(
        "kube-controller-manager",
        format!("{DEPLOYMENTS}/ingress/scale"),
        r#"{"spec":{"replicas":5}}"#,
    );
    let edit = merge_patch(
        "kubectl-edit",
        format!("{MAPS}/ingress"),
        r#"{"data":{"enable-brotli":"false","proxy-body-size":"64m"}}"#,
    );
    let tool = forced_apply(
        "argocd-controller",
        format!("{DEPLOYMENTS}/ingress"),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ingress, annotations: {tracking: web}}\nspec: {template: {spec: {terminationGracePeriodSeconds: 60}}}\n",
    );
    let image = forced_apply(
        "image-updater",
        format!("{DEPLOYMENTS}/ingress"),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ingress}\nspec: {template: {spec: {containers: [{name: controller, image: other}]}}}\n",
    );
    upgrade(
        include_str!("samples/charts/ingress.yaml"),
        [vec![scale, edit, tool], vec![image]],
        [
            &[
                "ConfigMap/ingress .data.enable-brotli: kubectl-edit",
                "ConfigMap/ingress .data.proxy-body-size: kubectl-edit",
                "Deployment/ingress .spec.replicas: kube-controller-manager",
                "Deployment/ingress .spec.template.spec.terminationGracePeriodSeconds: argocd-controller",
            ],
            &["Deployment/ingress .spec.template.spec.containers[name=\"controller\"].image: image-updater"],
        ],
    );
}

#[test]
fn a_certificate_manager_with_a_definition_and_objects_of_it() {
    let status = merge_patch(
        "certificates",
        "/apis/certificates.example.com/v1/namespaces/default/issuers/internal/status".into(),
        r#"{"status":{"ready":"True"}}"#,
    );
    let issuers = "/apis/certificates.example.com/v1/namespaces/default/issuers/internal";
    let zone = forced_apply(
        "dns-team",
        issuers.into(),
        "apiVersion: certificates.example.com/v1\nkind: Issuer\nmetadata: {name: internal}\nspec: {solvers: [{name: dns, zone: example.dev}, {name: http, zone: example.org}]}\n",
    );
    let port = merge_patch(
        "kubectl-set",
        format!("{DEPLOYMENTS}/certificates"),
        r#"{"spec":{"template":{"metadata":{"annotations":{"prometheus.io/port":"9999"}}}}}"#,
    );
    upgrade(
        include_str!("samples/charts/certificates.yaml"),
        [vec![status, zone], vec![port]],
        [&["Issuer/internal .spec.solvers[name=\"dns\"].zone: dns-team"], &[]],
    );
}

#[test]
fn a_monitoring_stack_whose_settings_others_change() {
    let edit = merge_patch(
        "kubectl-edit",
        format!("{MAPS}/monitoring"),
        r#"{"data":{"scrape-interval":"60s","retention":"30d"}}"#,
    );
    let sets = "/apis/apps/v1/namespaces/default/statefulsets/monitoring";
    let scale = merge_patch("kubectl-scale", format!("{sets}/scale"), r#"{"spec":{"replicas":3}}"#);
    let suspend = merge_patch(
        "kubectl-patch",
        "/apis/batch/v1/namespaces/default/cronjobs/monitoring-backup".into(),
        r#"{"spec":{"suspend":true,"schedule":"0 5 * * *"}}"#,
    );
    upgrade(
        include_str!("samples/charts/monitoring.yaml"),
        [vec![edit, scale], vec![suspend]],
        [
            &[
                "ConfigMap/monitoring .data.retention: kubectl-edit",
                "ConfigMap/monitoring .data.scrape-interval: kubectl-edit",
                "StatefulSet/monitoring .spec.replicas: kubectl-scale",
            ],
            &["CronJob/monitoring-backup .spec.schedule: kubectl-patch"],
        ],
    );
}

#[test]
fn a_database_operator_whose_strategy_changes() {
    let tool = forced_apply(
        "flux",
        format!("{MAPS}/database"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: database}\ndata: {LOG_LEVEL: debug, WATCH_NAMESPACES: default}\n",
    );
    let label = merge_patch(
        "storage-operator",
        "/api/v1/namespaces/default/services/database".into(),
        r#"{"metadata":{"labels":{"app":"db"}}}"#,
    );
    upgrade(
        include_str!("samples/charts/database.yaml"),
        [vec![tool], vec![label]],
        [
            &["ConfigMap/database .data.LOG_LEVEL: flux"],
            &["Service/database .metadata.labels.app: storage-operator"],
        ],
    );
}
