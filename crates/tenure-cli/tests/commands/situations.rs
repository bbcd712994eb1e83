//! The situations in which teams meet conflicts with Helm 4, Argo CD and Flux, each on a server that answers as Kubernetes does: `check`
//! names the cause; `--fix` makes the next apply pass without force and without changing a value, or, where somebody else is to set the
//! field, `helm post-render` leaves it out; `undo` restores the owners exactly. Helm is not run: its requests are reproduced from its
//! public source (field manager, kind of patch, marks on objects, stored releases).

use crate::harness::TestCluster;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use tenure_value::{Object, Value, base64, json};

/// How a situation is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// By `--fix`.
    Fix,
    /// By leaving the field out: `helm post-render` does it.
    LeaveOut,
    /// By a decision about the object.
    Decision,
}

struct Situation {
    name: &'static str,
    /// The namespace, in which the Deployment `web` is.
    namespace: &'static str,
    /// The writes before: manager, kind of write, body with `NS` for the namespace.
    writes: &'static [(&'static str, Request, &'static str)],
    /// The manager that applies next.
    manager: &'static str,
    /// The specification and the metadata that it applies.
    spec: &'static str,
    metadata: &'static str,
    cause: &'static str,
    settled: Settled,
}

/// The kinds of writes.
#[derive(Clone, Copy)]
enum Request {
    /// POST, as Helm 3, `kubectl create` and client-side apply create objects.
    Create,
    /// Strategic merge patch, as Helm 3, `kubectl edit` and client-side apply update them.
    Patch,
    /// Server-side apply.
    Apply,
    /// Strategic merge patch of the subresource `scale`, as the autoscaler's update.
    Scale,
}

const RELEASE: &str = r#","labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"NS"}"#;
const TEMPLATE: &str = r#""selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}"#;
const WEB: &str = "{METADATA,\"spec\":{\"replicas\":2,TEMPLATE}}";
const HELM: &str = "{HELM,\"spec\":{\"replicas\":2,TEMPLATE}}";

const SITUATIONS: &[Situation] = &[
    Situation {
        name: "a release of Helm 3 is upgraded by Helm 4",
        namespace: "helm-three",
        writes: &[("helm", Request::Create, HELM), ("helm", Request::Patch, r#"{"spec":{"replicas":3}}"#)],
        manager: "helm",
        spec: "\"replicas\":4",
        metadata: RELEASE,
        cause: "ClientSideApply",
        settled: Settled::Fix,
    },
    Situation {
        name: "an autoscaler has scaled what a chart sets",
        namespace: "autoscaler",
        writes: &[
            ("helm", Request::Apply, HELM),
            ("kube-controller-manager", Request::Scale, r#"{"spec":{"replicas":7}}"#),
        ],
        manager: "helm",
        spec: "\"replicas\":2",
        metadata: RELEASE,
        cause: "Autoscaler",
        settled: Settled::LeaveOut,
    },
    Situation {
        name: "a chart writes a zero value out that another applier has set",
        namespace: "zero-values",
        writes: &[
            ("helm", Request::Apply, HELM),
            ("platform", Request::Apply, "{METADATA,\"spec\":{\"minReadySeconds\":5}}"),
        ],
        manager: "helm",
        spec: "\"replicas\":2,\"minReadySeconds\":0",
        metadata: RELEASE,
        cause: "DefaultValue",
        settled: Settled::LeaveOut,
    },
    Situation {
        name: "two releases have one object",
        namespace: "two-releases",
        writes: &[(
            "helm-old",
            Request::Apply,
            "{\"metadata\":{\"name\":\"web\",\"namespace\":\"NS\",\"annotations\":{\"meta.helm.sh/release-name\":\"old\",\"meta.helm.sh/release-namespace\":\"NS\"}},\"spec\":{\"replicas\":2,TEMPLATE}}",
        )],
        manager: "helm",
        spec: "\"replicas\":3",
        metadata: RELEASE,
        cause: "OtherApplication",
        settled: Settled::Decision,
    },
    Situation {
        name: "somebody has edited what Argo CD applies",
        namespace: "argo-cd",
        writes: &[
            ("argocd-controller", Request::Apply, WEB),
            (
                "kubectl-edit",
                Request::Patch,
                r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:hotfix"}]}}}}"#,
            ),
        ],
        manager: "argocd-controller",
        spec: "\"replicas\":2",
        metadata: "",
        cause: "ChangedByHand",
        settled: Settled::Fix,
    },
    Situation {
        name: "somebody has scaled what Argo CD applies",
        namespace: "scaled-by-hand",
        writes: &[
            ("argocd-controller", Request::Apply, WEB),
            ("kubectl", Request::Scale, r#"{"spec":{"replicas":7}}"#),
        ],
        manager: "argocd-controller",
        spec: "\"replicas\":2",
        metadata: "",
        cause: "ChangedByHand",
        settled: Settled::Fix,
    },
    Situation {
        name: "Flux has updated before it applied",
        namespace: "flux",
        writes: &[("kustomize-controller", Request::Create, WEB)],
        manager: "kustomize-controller",
        spec: "\"replicas\":3",
        metadata: "",
        cause: "SameTool",
        settled: Settled::Fix,
    },
    Situation {
        name: "client-side apply has left its entry",
        namespace: "client-side",
        writes: &[
            ("kubectl-client-side-apply", Request::Create, WEB),
            ("kubectl-client-side-apply", Request::Patch, r#"{"spec":{"replicas":3}}"#),
        ],
        manager: "helm",
        spec: "\"replicas\":4",
        metadata: RELEASE,
        cause: "ClientSideApply",
        settled: Settled::Fix,
    },
    Situation {
        name: "a program that uses Helm as a library has the name of its binary",
        namespace: "binary-name",
        writes: &[("shop-deployer", Request::Create, HELM)],
        manager: "helm",
        spec: "\"replicas\":3",
        metadata: RELEASE,
        cause: "SameTool",
        settled: Settled::Fix,
    },
    Situation {
        name: "a client without a name of its own",
        namespace: "anonymous",
        writes: &[("helm", Request::Apply, HELM), ("manager", Request::Patch, r#"{"spec":{"paused":true}}"#)],
        manager: "helm",
        spec: "\"replicas\":2,\"paused\":false",
        metadata: RELEASE,
        cause: "DefaultValue",
        settled: Settled::LeaveOut,
    },
    Situation {
        name: "a client without a name of its own has changed the image",
        namespace: "anonymous-image",
        writes: &[
            ("helm", Request::Apply, HELM),
            (
                "manager",
                Request::Patch,
                r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}"#,
            ),
        ],
        manager: "helm",
        spec: "\"replicas\":2",
        metadata: RELEASE,
        cause: "AnonymousClient",
        settled: Settled::Fix,
    },
    Situation {
        name: "a webhook has set a field of a container that it injects",
        namespace: "webhook",
        writes: &[
            ("helm", Request::Apply, HELM),
            (
                "sidecar-injector",
                Request::Patch,
                r#"{"spec":{"template":{"spec":{"containers":[{"name":"istio-proxy","image":"proxy:2"}]}}}}"#,
            ),
        ],
        manager: "helm",
        spec: "\"replicas\":2,SIDECAR",
        metadata: RELEASE,
        cause: "Injected",
        settled: Settled::LeaveOut,
    },
    Situation {
        name: "a controller maintains what the chart sets",
        namespace: "controller",
        writes: &[
            ("helm", Request::Apply, HELM),
            ("argo-rollouts", Request::Patch, r#"{"spec":{"progressDeadlineSeconds":700}}"#),
        ],
        manager: "helm",
        spec: "\"replicas\":2,\"progressDeadlineSeconds\":900",
        metadata: RELEASE,
        cause: "Controller",
        settled: Settled::LeaveOut,
    },
];

impl Situation {
    fn path(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/deployments/web", self.namespace)
    }

    fn filled(&self, text: &str) -> String {
        text.replace("METADATA", "\"metadata\":{\"name\":\"web\",\"namespace\":\"NS\"}")
            .replace("HELM", &format!("\"metadata\":{{\"name\":\"web\",\"namespace\":\"NS\"{RELEASE}}}"))
            .replace("TEMPLATE", TEMPLATE)
            .replace("NS", self.namespace)
    }

    fn write(&self, cluster: &TestCluster, (manager, kind, body): &(&str, Request, &str)) {
        let body = self.filled(body);
        let typed = format!("{{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",{}", &body[1..]);
        let query = format!("?fieldManager={manager}");
        let strategic = "application/strategic-merge-patch+json";
        let (method, path, media, body) = match kind {
            Request::Create => {
                ("POST", self.path().trim_end_matches("/web").to_owned() + &query, "application/json", typed)
            }
            Request::Patch => ("PATCH", self.path() + &query, strategic, body),
            Request::Apply => ("PATCH", self.path() + &query, "application/apply-patch+yaml", typed),
            Request::Scale => {
                ("PATCH", self.path() + "/scale" + &query, "application/merge-patch+json", body)
            }
        };
        let (code, value) = cluster.request(method, &path, media, &body);
        assert!(code < 300, "{}: {code} {value:?}", self.name);
    }

    /// Returns what is applied next.
    fn manifest(&self) -> String {
        let template = match self.spec.contains("SIDECAR") {
            true => TEMPLATE.replace(
                "\"containers\":[",
                "\"containers\":[{\"name\":\"istio-proxy\",\"image\":\"proxy:1\"},",
            ),
            false => TEMPLATE.to_owned(),
        };
        let spec = self.spec.replace(",SIDECAR", "");
        let metadata = format!("\"metadata\":{{\"name\":\"web\",\"namespace\":\"NS\"{}}}", self.metadata);
        let text = format!(
            "{{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",{metadata},\"spec\":{{{spec},{template}}}}}"
        );
        text.replace("NS", self.namespace)
    }

    /// Returns the code of an apply without force.
    fn apply(&self, cluster: &TestCluster, body: &str, query: &str) -> u16 {
        let path = format!("{}?fieldManager={}{query}", self.path(), self.manager);
        cluster.request("PATCH", &path, "application/apply-patch+yaml", body).0
    }

    fn create_namespace(&self, cluster: &TestCluster) {
        let body = format!("{{\"metadata\":{{\"name\":\"{}\"}}}}", self.namespace);
        assert_eq!(cluster.request("POST", "/api/v1/namespaces", "application/json", &body).0, 201);
    }
}

/// Returns an object's values and its owners, without what every write changes.
fn split(object: &Value) -> (Value, Value) {
    let whole = object.as_object().cloned().unwrap_or_default();
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let owners = metadata.get("managedFields").cloned().unwrap_or_default();
    let metadata = metadata.without("managedFields").without("resourceVersion").without("generation");
    (Value::Object(Object::with(&whole, "metadata", metadata)), owners)
}

fn causes(document: &Value) -> Vec<String> {
    let objects = document.get("objects").and_then(Value::as_array).expect("objects");
    let causes = objects
        .iter()
        .flat_map(|object| object.get("causes").and_then(Value::as_array).expect("causes").iter());
    causes.map(|cause| cause.get("cause").and_then(Value::as_str).expect("a cause").to_owned()).collect()
}

#[test]
fn every_situation_is_named_and_settled() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    for situation in SITUATIONS {
        let name = situation.name;
        situation.create_namespace(&cluster);
        situation.writes.iter().for_each(|write| situation.write(&cluster, write));
        let file = cluster.file(&format!("{}.json", situation.namespace), &situation.manifest());
        assert_eq!(situation.apply(&cluster, &situation.manifest(), "&dryRun=All"), 409, "{name}");
        let line = ["check", "-f", &file, "--manager", situation.manager];
        let shown = cluster.tenure(&[&line[..], &["-o", "json"]].concat()).exits_with(3).json();
        assert_eq!(causes(&shown), [situation.cause], "{name}");

        let (values, owners) = split(&cluster.get(&situation.path()));
        let undo = format!("{}-undo.json", situation.namespace);
        let fix = cluster.tenure(&[&line[..], &["--fix", "--yes", "--undo", &undo]].concat());
        let fixed = split(&cluster.get(&situation.path()));
        assert_eq!(fixed.0, values, "{name}: a value changed");
        match situation.settled {
            Settled::Fix => {
                let fix = fix.exits_with(0);
                assert!(fix.out.contains("passes for 1 of 1"), "{name}: {fix:?}");
                assert_ne!(fixed.1, owners, "{name}");
                assert_eq!(situation.apply(&cluster, &situation.manifest(), "&dryRun=All"), 200, "{name}");
                cluster.tenure(&["undo", &undo]).exits_with(0);
                assert_eq!(split(&cluster.get(&situation.path())), (values, owners), "{name}");
            }
            Settled::LeaveOut => {
                fix.exits_with(3);
                assert_eq!(fixed.1, owners, "{name}: nothing is moved");
                let rendered = cluster
                    .with(&situation.manifest(), &["helm", "post-render", "-n", situation.namespace])
                    .exits_with(0);
                assert!(rendered.err.contains("left out"), "{name}: {rendered:?}");
                assert_eq!(situation.apply(&cluster, &rendered.out, ""), 200, "{name}");
                let after = split(&cluster.get(&situation.path())).0;
                assert_eq!(after.get("spec"), values.get("spec"), "{name}: what others set stays");
            }
            Settled::Decision => {
                fix.exits_with(3);
                assert_eq!(fixed.1, owners, "{name}: nothing is moved");
            }
        }
    }
}

/// Returns the Secret of a release, as Helm stores it.
fn secret(namespace: &str, manifest: &str, method: &str) -> String {
    let release = Value::object([
        ("name", Value::from("web")),
        ("namespace", Value::from(namespace)),
        ("version", Value::from(3)),
        ("info", Value::object([("status", Value::from("deployed"))])),
        ("manifest", Value::from(manifest)),
        ("apply_method", Value::from(method)),
    ]);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&json::to_vec(&release)).expect("a release");
    let stored = base64::encode(base64::encode(encoder.finish().expect("a release")));
    format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"helm.sh/release.v1\",\"metadata\":{{\"name\":\"sh.helm.release.v1.web.v3\",\
         \"namespace\":\"{namespace}\",\"labels\":{{\"owner\":\"helm\",\"name\":\"web\",\"status\":\"deployed\",\"version\":\"3\"}}}},\
         \"data\":{{\"release\":\"{stored}\"}}}}"
    )
}

const HOOK: &str = "\n---\n# Source: web/templates/hook.yaml\napiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade}}\n";

#[test]
fn a_release_is_checked_as_it_is_stored() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    let situation = &SITUATIONS[0];
    situation.create_namespace(&cluster);
    situation.writes.iter().for_each(|write| situation.write(&cluster, write));
    let line = ["helm", "check", "web", "-n", situation.namespace];
    cluster.tenure(&line).exits_with(1).prints("there is no release web");
    // What `helm template` renders has no marks of the release yet.
    let rendered = situation.manifest().replace(&RELEASE.replace("NS", situation.namespace), "") + HOOK;
    let secrets = format!("/api/v1/namespaces/{}/secrets", situation.namespace);
    let (code, _) =
        cluster.request("POST", &secrets, "application/json", &secret(situation.namespace, &rendered, "csa"));
    assert_eq!(code, 201);
    let shown = cluster.tenure(&line).exits_with(3);
    shown
        .prints("deployed web, revision 3")
        .prints("left behind by client-side apply (--fix settles it)")
        .prints("--server-side=true");
    // The same from a stream, and from the Secret in a file.
    let file = cluster.file("release.json", &secret(situation.namespace, &rendered, "csa"));
    for (input, from) in [(rendered.as_str(), "-"), ("", file.as_str())] {
        let shown =
            cluster.with(input, &[&line[..], &["-f", from, "-o", "json"]].concat()).exits_with(3).json();
        assert_eq!(causes(&shown), ["ClientSideApply"]);
    }
    cluster.tenure(&[&line[..], &["--fix", "--yes"]].concat()).exits_with(0).prints("passes for 1 of 1");
    assert_eq!(situation.apply(&cluster, &situation.manifest(), ""), 200);
    // An object of another release, or of none, is not taken into the release.
    let other = rendered.replace("\"name\":\"web\",\"namespace\"", "\"name\":\"other\",\"namespace\"");
    let foreign = "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"other\"},\"spec\":{TEMPLATE}}".replace("TEMPLATE", TEMPLATE);
    let path = situation.path().replace("/web", "");
    assert_eq!(cluster.request("POST", &path, "application/json", &foreign).0, 201);
    cluster
        .with(&other, &[&line[..], &["-f", "-"]].concat())
        .prints("cannot be imported into the current release");
}

#[test]
fn an_autoscaler_keeps_its_replicas_when_they_leave_the_chart() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    let situation = &SITUATIONS[1];
    situation.create_namespace(&cluster);
    situation.write(&cluster, &situation.writes[0]);
    let scaler = "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":\"web\"},\
        \"spec\":{\"maxReplicas\":9,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}";
    let path = format!("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers", situation.namespace);
    let (code, value) = cluster.request("POST", &path, "application/json", scaler);
    assert_eq!(code, 201, "{value:?}");
    let line = ["check", "--manager", "helm", "-f", "-"];
    let with = situation.manifest();
    cluster.with(&with, &line).exits_with(2).prints("HorizontalPodAutoscaler web scales it");
    let without = with.replace("\"replicas\":2,", "");
    cluster.with(&without, &line).exits_with(2).prints("helm still owns .spec.replicas");
    cluster.with(&without, &[&line[..], &["--fix", "--yes"]].concat()).exits_with(0);
    assert_eq!(situation.apply(&cluster, &without, ""), 200);
    assert_eq!(cluster.get(&situation.path()).at(["spec", "replicas"]), Some(&Value::Int(2)));
    // What it scales is not moved to who applies, also if a person has scaled it last.
    assert_eq!(situation.apply(&cluster, &with, ""), 200);
    situation.write(&cluster, &("kubectl", Request::Scale, r#"{"spec":{"replicas":7}}"#));
    let owners = split(&cluster.get(&situation.path())).1;
    let fix = cluster.with(&with, &[&line[..], &["--fix", "--yes"]].concat()).exits_with(3);
    fix.prints("an autoscaler sets the field").prints("HorizontalPodAutoscaler web scales it, and kubectl");
    assert_eq!(split(&cluster.get(&situation.path())).1, owners);
    let rendered = cluster.with(&with, &["helm", "post-render", "-n", situation.namespace]).exits_with(0);
    assert!(!rendered.out.contains("replicas"), "{}", rendered.out);
}

#[test]
fn bad_input_is_named_with_its_place_and_nothing_is_written() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n";
    for (text, problem) in [
        (format!("{good}---\njust text\n"), "document 2, line 6: a text is not an object"),
        (format!("{good}---\n- a\n- b\n"), "document 2, line 6: a list is not an object"),
        (format!("{good}---\n# nothing\n---\nkind: X\n"), "document 2, line 8: apiVersion is missing"),
        (format!("{good}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{}}\n"), "document 2, line 6: metadata.name is missing"),
        ("kind: List\napiVersion: v1\nitems: [{kind: A}]\n".to_owned(), "items[0]: apiVersion is missing"),
        (format!("{good}---\na: [\n"), "line 7"),
        ("apiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata: {name: r}\ndata: {release: '!'}\n".to_owned(), "data.release is not base64"),
        ("apiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata: {name: r}\n".to_owned(), "no data.release"),
    ] {
        let output = cluster.with(&text, &["helm", "check", "web", "-f", "-", "--fix", "--yes"]).exits_with(1);
        assert!(output.err.contains(problem), "{text:?}: {}", output.err);
    }
    let unknown = format!("{good}---\napiVersion: x.io/v1\nkind: Nope\nmetadata: {{name: none}}\n");
    cluster.with(&unknown, &["helm", "check", "web", "-f", "-"]).exits_with(1).prints("no kind Nope");
    let (code, _) = cluster.request("GET", "/api/v1/namespaces/default/configmaps/c", "", "");
    assert_eq!(code, 404);
}
