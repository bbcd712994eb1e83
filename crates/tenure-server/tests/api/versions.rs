//! What a server of one version of Kubernetes does, and one of another version does not; stores that pass from one to the other;
//! and migrations of stored objects.

use crate::{
    http::Request,
    server::{MERGE_PATCH, Server},
};
use std::{io::Read, sync::Arc};
use tenure_http::Administrator;
use tenure_profile::KubernetesVersion;
use tenure_server::{Authorization, Profile, ServerOptions};
use tenure_store::MemoryStore;
use tenure_value::Value;

const MIGRATIONS: &str = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const AUTOSCALERS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const CSI_NODES: &str = "/apis/storage.k8s.io/v1/csinodes";
const WIDGETS: &str = "/apis/example.com/v2/namespaces/default/widgets";

fn over(store: Arc<MemoryStore>, version: KubernetesVersion) -> Server {
    let mut options = ServerOptions::new(Administrator::Anyone);
    options.profile = Profile::kubernetes().at(version);
    Server::with_options(store, options, None)
}

fn server_at(version: KubernetesVersion) -> Server {
    over(Arc::new(MemoryStore::new()), version)
}

/// Returns what servers of both versions say.
fn both<T>(ask: impl Fn(&Server) -> T) -> [T; 2] {
    KubernetesVersion::ALL.map(|version| ask(&server_at(version)))
}

fn at(value: &Value, path: &str) -> Value {
    value.at(path.split('.')).cloned().unwrap_or_default()
}

#[test]
fn a_server_says_which_version_it_is() {
    let said = both(|server| {
        let version = server.get("/version").document();
        [at(&version, "gitVersion"), at(&version, "minor"), at(&version, "minCompatibilityMinor")]
    });
    assert_eq!(said, [["v1.36.4", "36", "35"].map(Value::from), ["v1.37.0", "37", "36"].map(Value::from)]);
    let documents = both(|server| at(&server.get("/openapi/v3/version").document(), "info.version"));
    assert_eq!(documents, ["v1.36.4", "v1.37.0"].map(Value::from));
}

#[test]
fn resources_of_a_later_version_are_served_by_it_alone() {
    for path in [
        MIGRATIONS,
        "/apis/certificates.k8s.io/v1/clustertrustbundles",
        "/apis/certificates.k8s.io/v1/podcertificaterequests",
        "/apis/resource.k8s.io/v1/devicetaintrules",
    ] {
        assert_eq!(both(|server| server.get(path).code), [404, 200], "{path}");
    }
    let node = r#"{"metadata":{"name":"n"},"spec":{"drivers":[]}}"#;
    let status = both(|server| {
        server.create(CSI_NODES, node);
        server.get(&format!("{CSI_NODES}/n/status")).code
    });
    assert_eq!(status, [404, 200]);
}

#[test]
fn published_items_have_no_default_since_1_37() {
    let of_items = both(|server| {
        let document = server.get("/openapi/v3/api/v1").document();
        let spec = at(&document, "components.schemas").get("io.k8s.api.core.v1.PodSpec").cloned();
        let containers = at(&spec.unwrap_or_default(), "properties.containers.items");
        (containers.get("default").is_some(), containers.get("$ref").is_some())
    });
    assert_eq!(of_items, [(true, false), (false, true)]);
}

#[test]
fn defaults_and_generations_are_those_of_the_version() {
    let set = r#"{"metadata":{"name":"s"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",
        "volumeMounts":[]}],"evictionResponders":[{"name":"a.b/c","priority":1}]}}}}"#;
    let made = both(|server| {
        let set = server.create(STATEFUL_SETS, set);
        let responders = at(&set, "spec.template.spec.evictionResponders");
        (at(&set, "spec.updateStrategy.rollingUpdate.maxUnavailable"), responders)
    });
    // The field of 1.37 is behind a gate that is off.
    assert_eq!(made, [(Value::Null, Value::Null), (Value::Int(1), Value::Null)]);
    let scaler = r#"{"metadata":{"name":"h"},"spec":{"maxReplicas":3,
        "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}"#;
    let generations = both(|server| {
        let first = at(&server.create(AUTOSCALERS, scaler), "metadata.generation");
        let path = format!("{AUTOSCALERS}/h");
        let second = server.patch(&path, MERGE_PATCH, r#"{"spec":{"maxReplicas":4}}"#).document();
        [first, at(&second, "metadata.generation")]
    });
    assert_eq!(generations, [[Value::Null, Value::Null], [Value::Int(1), Value::Int(2)]]);
}

#[test]
fn a_store_passes_from_one_version_to_the_other_and_back() {
    let store = Arc::new(MemoryStore::new());
    let (old, new) = (KubernetesVersion::V1_36, KubernetesVersion::V1_37);
    let before = over(store.clone(), old);
    before.create(
        STATEFUL_SETS,
        r#"{"metadata":{"name":"s"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    );
    before.create(CSI_NODES, r#"{"metadata":{"name":"n"},"spec":{"drivers":[]}}"#);
    before.create(
        AUTOSCALERS,
        r#"{"metadata":{"name":"h"},"spec":{"maxReplicas":3,
        "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}"#,
    );
    drop(before);
    let upgraded = over(store.clone(), new);
    let empty = Value::object::<&str>([]);
    assert_eq!(at(&upgraded.get(&format!("{CSI_NODES}/n")).document(), "status"), empty.clone());
    let listed = at(&upgraded.get(CSI_NODES).document(), "items");
    assert_eq!(
        listed.as_array().and_then(|items| items.items().first()?.get("status").cloned()),
        Some(empty)
    );
    let limit = "spec.updateStrategy.rollingUpdate.maxUnavailable";
    let set = format!("{STATEFUL_SETS}/s");
    assert_eq!(at(&upgraded.get(&set).document(), limit), Value::Int(1));
    // The next write stores it, and an earlier version does not know it.
    upgraded.patch(&format!("{CSI_NODES}/n"), MERGE_PATCH, r#"{"metadata":{"labels":{"a":"b"}}}"#);
    let path = format!("{AUTOSCALERS}/h");
    assert_eq!(at(&upgraded.get(&path).document(), "metadata.generation"), Value::Null);
    let patched = upgraded.patch(&path, MERGE_PATCH, r#"{"spec":{"maxReplicas":4}}"#).document();
    assert_eq!(at(&patched, "metadata.generation"), Value::Int(1));
    upgraded.create(MIGRATIONS, r#"{"metadata":{"name":"m"},"spec":{"resource":{"resource":"nodes"}}}"#);
    drop(upgraded);
    let downgraded = over(store.clone(), old);
    assert_eq!(at(&downgraded.get(&path).document(), "spec.maxReplicas"), Value::Int(4));
    assert_eq!(downgraded.get(MIGRATIONS).code, 404);
    let node = downgraded.get(&format!("{CSI_NODES}/n")).document();
    assert_eq!((at(&node, "status"), at(&node, "metadata.labels.a")), (Value::Null, "b".into()));
    drop(downgraded);
    // What an older version does not serve is still there.
    assert_eq!(over(store, new).get(&format!("{MIGRATIONS}/m")).code, 200);
}

/// What a client may not set is dropped from an object that is posted, and since 1.37 from one that another write creates, too.
#[test]
fn objects_that_an_apply_creates_are_as_posted_ones_since_1_37() {
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let sent = |name: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}",
            "deletionGracePeriodSeconds":7,"deletionTimestamp":"2020-01-02T03:04:05Z"}}}}"#
        )
    };
    let fields = ["metadata.deletionGracePeriodSeconds", "metadata.deletionTimestamp"];
    let made = both(|server| {
        let posted = server.create(CONFIG_MAPS, &sent("a"));
        assert_eq!(fields.map(|field| at(&posted, field)), [const { Value::Null }; 2]);
        let applied = server.apply(&format!("{CONFIG_MAPS}/b"), "m", &sent("b"));
        assert_eq!(applied.code, 201);
        fields.map(|field| at(&applied.document(), field))
    });
    let kept = [Value::Int(7), Value::from("2020-01-02T03:04:05Z")];
    assert_eq!(made, [kept, [const { Value::Null }; 2]]);
}

/// A name has 253 characters at most, which a rule's cost is estimated by since 1.37.
#[test]
fn rules_know_how_long_names_are_since_1_37() {
    let rule = format!("self.metadata.name.matches('{}')", "a".repeat(300));
    let made = both(|server| {
        let mut definition: Value = definition("v1").parse().unwrap();
        let text = definition.to_string().replace(
            r#""openAPIV3Schema":{"#,
            &format!(r#""openAPIV3Schema":{{"x-kubernetes-validations":[{{"rule":{rule:?}}}],"#),
        );
        definition = text.parse().unwrap();
        server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition.to_string()).code
    });
    assert_eq!(made, [422, 201]);
}

/// Text after the key of an element is ignored until 1.36; since 1.37 the object keeps its managers.
#[test]
fn text_after_an_element_of_a_field_set_counts_since_1_37() {
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let managers = both(|server| {
        server.create(CONFIG_MAPS, r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#);
        let patch = r#"{"metadata":{"managedFields":[{"manager":"sent","operation":"Update","apiVersion":"v1",
            "time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",
            "fieldsV1":{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u\"}x":{}}}}}]}}"#;
        let path = format!("{CONFIG_MAPS}/a");
        let patched = server.patch(&path, MERGE_PATCH, patch).document();
        let entries = at(&patched, "metadata.managedFields");
        let name = |entry: &Value| at(entry, "manager").as_str().unwrap_or_default().to_owned();
        entries.as_array().map(|entries| entries.iter().map(name).collect::<Vec<_>>()).unwrap_or_default()
    });
    assert!(
        managers[0].contains(&"sent".to_owned()) && !managers[1].contains(&"sent".to_owned()),
        "{managers:?}"
    );
}

/// Matching costs the same as a function and as a method since 1.37.
#[test]
fn rules_pay_for_the_function_that_matches_since_1_37() {
    let rule = format!("self.all(text, matches(text, '{}'))", "a".repeat(300));
    let made = both(|server| {
        let items = r#"{"type":"array","maxItems":10000,"items":{"type":"string","maxLength":10000}"#;
        let schema = format!(
            r#""openAPIV3Schema":{{"properties":{{"list":{items},"x-kubernetes-validations":[{{"rule":{rule:?}}}]}}}},"#
        );
        let text = definition("v1").replace(r#""openAPIV3Schema":{"#, &schema);
        server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &text).code
    });
    assert_eq!(made, [201, 422]);
}

#[test]
fn streamed_lists_are_compressed_since_1_37() {
    let path = "/api/v1/namespaces?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let ask = |server: &Server, path: &str, accept: &str| {
        server.send(&Request::new("GET", path).header("Accept-Encoding", accept))
    };
    let marked = format!("{path}&allowWatchBookmarks=true");
    let coding = both(|server| ask(server, &marked, "gzip").header("Content-Encoding").map(str::to_owned));
    assert_eq!(coding, [None, Some("gzip".to_owned())]);
    let server = server_at(KubernetesVersion::V1_37);
    server.create("/api/v1/namespaces", r#"{"metadata":{"name":"n"}}"#);
    for (path, accept) in [(path, "gzip"), (&marked, "br")] {
        assert_eq!(ask(&server, path, accept).header("Content-Encoding"), None);
    }
    let mut events = String::new();
    let sent = ask(&server, &marked, "br, gzip").body;
    flate2::read::GzDecoder::new(&sent[..]).read_to_string(&mut events).expect("gzip");
    assert!(events.contains(r#""name":"n""#) && events.contains("initial-events-end"), "{events}");
    let plain = ask(&server, &marked, "br").body;
    assert_eq!(events.lines().next(), String::from_utf8_lossy(&plain).lines().next());
}

/// What a new version of Kubernetes gives to nodes and to its controllers is granted by its servers alone.
#[test]
fn bootstrap_roles_are_those_of_the_version() {
    const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let roles = KubernetesVersion::ALL.map(|version| {
        let mut options = ServerOptions::new(Administrator::Anyone);
        options.profile = Profile::kubernetes().at(version);
        options.authorization = Authorization::rbac();
        let server = Server::with_options(Arc::new(MemoryStore::new()), options, None);
        let grants = |role: &str, resource: &str| {
            let rules = server.get(&format!("{ROLES}/{role}")).document().get("rules").cloned();
            rules.is_some_and(|rules| rules.to_string().contains(&format!("\"{resource}\"")))
        };
        let of_all = server.get(&format!("{ROLES}/system:cluster-trust-bundle-discovery")).code;
        (
            of_all,
            grants("system:node", "podcertificaterequests"),
            grants("system:kube-scheduler", "devicetaintrules"),
            grants("system:node", "pods"),
        )
    });
    assert_eq!(roles, [(404, false, false, true), (200, true, true, true)]);
}

/// Trust anchors and certificates in the volumes of pods belonged to gates that were off.
#[test]
fn volumes_have_certificates_since_1_37() {
    let pod = |name: &str, path: &str| {
        format!(
            r#"{{"metadata":{{"name":{name:?}}},"spec":{{"containers":[{{"name":"c","image":"i"}}],"volumes":[{{"name":"v",
            "projected":{{"sources":[{{"clusterTrustBundle":{{"name":"b","path":{path:?}}}}},
            {{"podCertificate":{{"signerName":"a.b/c","keyType":"ED25519","keyPath":"k"}}}}]}}}}]}}}}"#
        )
    };
    let made = both(|server| {
        let refused = server.post("/api/v1/namespaces/default/pods", &pod("p", "/a")).code;
        let made = server.create("/api/v1/namespaces/default/pods", &pod("q", "a"));
        let volumes = at(&made, "spec.volumes");
        let sources =
            volumes.as_array().map(|volumes| at(&volumes[0], "projected.sources")).unwrap_or_default();
        let has = |field: &str| {
            sources.as_array().is_some_and(|all| all.iter().any(|source| source.get(field).is_some()))
        };
        (refused, has("clusterTrustBundle"), has("podCertificate"))
    });
    assert!(!made[0].1, "{made:?}");
    assert_eq!((made[0].2, made[1]), (false, (422, true, true)));
}

/// The names of webhooks and policies of files are reserved, and rules for reviews have no effect.
#[test]
fn configurations_of_admission_are_checked_as_the_version_does() {
    const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let webhook = |name: &str| {
        format!(
            r#"{{"metadata":{{"name":{name:?}}},"webhooks":[{{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],
            "clientConfig":{{"url":"https://127.0.0.1:1/"}},"failurePolicy":"Fail","rules":[{{"operations":["*"],
            "apiGroups":["authentication.k8s.io"],"apiVersions":["v1"],"resources":["selfsubjectreviews"]}}]}}]}}"#
        )
    };
    let made = both(|server| {
        let reserved = server.post(WEBHOOKS, &webhook("w.static.k8s.io"));
        let made = server.post(WEBHOOKS, &webhook("w"));
        let warns = |answer: &crate::http::Response, text: &str| {
            answer.header("warning").is_some_and(|warning| warning.contains(text))
        };
        let review = server.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}").code;
        let warned =
            (warns(&reserved, "are reserved for static"), warns(&made, "this rule will have no effect"));
        (reserved.code, warned, made.code, review)
    });
    assert_eq!(made, [(201, (true, false), 201, 500), (422, (false, true), 201, 201)]);
}

/// An object that can be read is not deleted by a request that is for those that cannot.
#[test]
fn unsafe_deletions_are_refused_since_1_37() {
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let codes = both(|server| {
        server.create(CONFIG_MAPS, r#"{"metadata":{"name":"a"}}"#);
        let delete = |path: &str, more: &str| {
            let body = format!(r#"{{"ignoreStoreReadErrorWithClusterBreakingPotential":true{more}}}"#);
            server.send(&Request::new("DELETE", path).body("application/json", body)).code
        };
        let path = format!("{CONFIG_MAPS}/a");
        let combined = delete(&path, r#","propagationPolicy":"Background","dryRun":["All"]"#);
        let alone = delete(&path, "");
        (combined, alone, delete(CONFIG_MAPS, ""), delete(&format!("{CONFIG_MAPS}/none"), ""))
    });
    assert_eq!(codes, [(200, 200, 200, 404), (422, 409, 422, 404)]);
}

/// Conditions are a list by their type: one that is repeated is an error of the item.
#[test]
fn repeated_conditions_are_reported_as_the_version_does() {
    const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let fields = both(|server| {
        server.create(BUDGETS, r#"{"metadata":{"name":"b"},"spec":{"minAvailable":1}}"#);
        let condition = r#"{"type":"A","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}"#;
        let patch = format!(r#"{{"status":{{"conditions":[{condition},{condition}]}}}}"#);
        let refused = server.patch(&format!("{BUDGETS}/b/status"), MERGE_PATCH, &patch).document();
        let causes = at(&refused, "details.causes");
        causes.as_array().map(|causes| at(&causes[0], "field")).unwrap_or_default()
    });
    assert_eq!(fields, ["status.conditions[1].type", "status.conditions[1]"].map(Value::from));
}

/// Managers at a version that a resource no longer has cannot be updated: until 1.36 an update loses all managers, and since 1.37 they
/// stay as they are.
#[test]
fn managers_that_cannot_be_updated_stay_since_1_37() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let managers = both(|server| {
        server.create(DEFINITIONS, &definition("v2"));
        let old = WIDGETS.replace("/v2/", "/v1/");
        let widget =
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"x":1}}"#;
        let applied = server.apply(&format!("{old}/a"), "former", widget);
        assert_eq!(applied.code, 201, "{}", applied.text());
        let path = format!("{DEFINITIONS}/widgets.example.com");
        let stored = r#"{"status":{"storedVersions":["v2"]}}"#;
        assert_eq!(server.patch(&format!("{path}/status"), MERGE_PATCH, stored).code, 200);
        let versions = at(&definition("v2").parse().unwrap(), "spec.versions");
        let only = Value::array(versions.as_array().unwrap().iter().skip(1).cloned());
        let patch = Value::object([("spec", Value::object([("versions", only)]))]);
        assert_eq!(server.patch(&path, MERGE_PATCH, &patch.to_string()).code, 200);
        let changed = server.patch(&format!("{WIDGETS}/a"), MERGE_PATCH, r#"{"spec":{"x":2}}"#);
        assert_eq!(changed.code, 200, "{}", changed.text());
        let entries = at(&changed.document(), "metadata.managedFields");
        let name = |entry: &Value| at(entry, "manager").as_str().unwrap_or_default().to_owned();
        entries.as_array().map(|entries| entries.iter().map(name).collect::<Vec<_>>()).unwrap_or_default()
    });
    assert_eq!(managers, [vec![], vec!["former".to_owned()]]);
}

fn definition(storage: &str) -> String {
    let version = |name: &str| {
        format!(
            r#"{{"name":"{name}","served":true,"storage":{},"schema":{{"openAPIV3Schema":{{"type":"object",
            "x-kubernetes-preserve-unknown-fields":true}}}}}}"#,
            name == storage
        )
    };
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{{"name":"widgets.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced",
        "names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},
        "versions":[{},{}]}}}}"#,
        version("v1"),
        version("v2")
    )
}

fn stored_versions(server: &Server) -> Vec<String> {
    let version = |text: &String| if text.contains("example.com/v1\",\"kind") { "v1" } else { "v2" };
    server.values("objects/example.com/widgets/").iter().map(|text| version(text).to_owned()).collect()
}

#[test]
fn a_migration_writes_stored_objects_at_the_storage_version_and_continues_after_a_restart() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let store = Arc::new(MemoryStore::new());
    let server = over(store.clone(), KubernetesVersion::V1_37);
    server.create(DEFINITIONS, &definition("v1"));
    for name in ["a", "b", "c"] {
        server.create(WIDGETS, &format!(
            r#"{{"apiVersion":"example.com/v2","kind":"Widget","metadata":{{"name":"{name}"}},"spec":{{"x":1}}}}"#
        ));
    }
    let changed: Value = definition("v2").parse().unwrap();
    let patch = Value::object([("spec", Value::object([("versions", at(&changed, "spec.versions"))]))]);
    server.patch(&format!("{DEFINITIONS}/widgets.example.com"), MERGE_PATCH, &patch.to_string());
    assert_eq!(stored_versions(&server), ["v1", "v1", "v1"]);
    let migration =
        r#"{"metadata":{"name":"m"},"spec":{"resource":{"group":"example.com","resource":"widgets"}}}"#;
    server.create(MIGRATIONS, migration);
    server.create(MIGRATIONS, r#"{"metadata":{"name":"none"},"spec":{"resource":{"resource":"gadgets"}}}"#);
    drop(server);
    // No controller ran so far: the next server does what is left.
    let server = over(store, KubernetesVersion::V1_37).with_controllers();
    let holds = |name: &str, kind: &str| {
        let status = at(&server.get(&format!("{MIGRATIONS}/{name}")).document(), "status.conditions");
        let conditions = status.as_array().cloned().unwrap_or_default();
        conditions
            .iter()
            .any(|condition| at(condition, "type") == kind.into() && at(condition, "status") == "True".into())
    };
    server.wait_until("the migration is done", || holds("m", "Succeeded"));
    server.wait_until("the other one fails", || holds("none", "Failed"));
    assert_eq!(stored_versions(&server), ["v2", "v2", "v2"]);
    let status = at(&server.get(&format!("{MIGRATIONS}/m")).document(), "status");
    assert!(
        at(&status, "resourceVersion").as_str().is_some_and(|text| text.parse::<u64>().is_ok()),
        "{status}"
    );
    // Managers and content are as they were.
    let widget = server.get(&format!("{WIDGETS}/a")).document();
    assert_eq!(at(&widget, "metadata.managedFields").as_array().map(|entries| entries.len()), Some(1));
    assert_eq!(at(&widget, "metadata.generation"), Value::Int(1));
}
