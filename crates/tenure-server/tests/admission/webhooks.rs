//! Webhooks in the pipeline of every write.

use crate::{
    http::Request,
    recording_webhook::{RecordingWebhook, configure, patched, rule, webhook},
    server::{APPLY, JSON_PATCH, MERGE_PATCH, Server, metadata},
};
use tenure_http::Administrator;
use tenure_store::{Expected, Store, Transaction};
use tenure_value::Value;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/a";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const ADD_LABEL: &str = r#"[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]"#;

fn map(name: &str, data: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{{data}}}}}"#)
}

fn deployment(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}"}},"spec":{{"replicas":1,"selector":{{"matchLabels":{{"a":"b"}}}},
        "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
    )
}

fn text(value: &Value, path: &[&str]) -> String {
    value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_string()
}

#[test]
fn webhooks_get_every_kind_of_write_with_its_attributes() {
    let server = Server::start();
    let recording_webhook = RecordingWebhook::allowing();
    recording_webhook.register(&server, "Validating", "all", &rule("*", "", "configmaps"), "");
    server.create(&format!("{MAPS}?fieldManager=me"), &map("a", r#""k":"1""#));
    let put = Request::new("PUT", MAP).body("application/json", map("a", r#""k":"2""#));
    assert_eq!(server.send(&put).code, 200);
    assert_eq!(server.patch(MAP, MERGE_PATCH, r#"{"data":{"k":"3"}}"#).code, 200);
    assert_eq!(server.apply(MAP, "other", &map("a", r#""l":"4""#)).code, 200);
    assert_eq!(server.apply(MAP, "other", &map("a", r#""l":"4""#)).code, 200, "what changes nothing too");
    assert_eq!(server.delete(&format!("{MAP}?dryRun=All")).code, 200);
    assert_eq!(server.delete(MAP).code, 200);
    let asked = recording_webhook.requests();
    let seen: Vec<_> = asked
        .iter()
        .map(|request| {
            let value = |object: &str, key: &str| text(request, &[object, "data", key]);
            (
                text(request, &["operation"]),
                value("oldObject", "k"),
                value("object", "k"),
                value("object", "l"),
            )
        })
        .collect();
    let expected = [
        ("CREATE", "", "1", ""),
        ("UPDATE", "1", "2", ""),
        ("UPDATE", "2", "3", ""),
        ("UPDATE", "3", "3", "4"),
        ("UPDATE", "3", "3", "4"),
        ("DELETE", "3", "", ""),
        ("DELETE", "3", "", ""),
    ];
    assert_eq!(seen, expected.map(|(a, b, c, d)| (a.into(), b.into(), c.into(), d.into())));
    let first = &asked[0];
    assert_eq!(text(first, &["userInfo", "username"]), "admin");
    assert_eq!((text(first, &["name"]), text(first, &["namespace"])), ("a".into(), "default".into()));
    assert_eq!(text(first, &["options", "fieldManager"]), "me");
    assert_eq!(text(first, &["options", "kind"]), "CreateOptions");
    assert!(first.at(["object", "metadata", "managedFields"]).is_some(), "it is shown who holds what");
    assert_eq!(asked[5].get("dryRun"), Some(&Value::Bool(true)));
    assert_eq!(asked[5].get("object"), Some(&Value::Null));
    assert_eq!(text(&asked[5], &["options", "kind"]), "DeleteOptions");
}

#[test]
fn fields_set_by_a_webhook_are_unowned() {
    let server = Server::start();
    let patch = r#"[{"op":"add","path":"/spec/template/spec/terminationGracePeriodSeconds","value":5},{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]"#;
    let recording_webhook = RecordingWebhook::patching(patch);
    recording_webhook.register(&server, "Mutating", "set", &rule("CREATE", "apps", "deployments"), "");
    let created = server.create(&format!("{DEPLOYMENTS}?fieldManager=me"), &deployment("d"));
    assert_eq!(metadata(&created, "labels"), r#"{"seen":"yes"}"#.parse().unwrap());
    let grace = ["spec", "template", "spec", "terminationGracePeriodSeconds"];
    assert_eq!(created.at(grace), Some(&Value::from(5)));
    let managers = metadata(&created, "managedFields").to_string();
    assert!(managers.contains("f:replicas") && !managers.contains("f:seen"), "{managers}");
    // So any manager may take it without a conflict.
    let taken = server.apply(
        &format!("{DEPLOYMENTS}/d"),
        "other",
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"seen":"no"}}}"#,
    );
    assert_eq!(taken.code, 200, "{}", taken.text());
}

#[test]
fn an_apply_that_changes_nothing_itself_writes_what_a_webhook_changes() {
    let server = Server::start();
    let config = map("a", r#""k":"1""#);
    assert_eq!(server.apply(MAP, "me", &config).code, 201);
    let recording_webhook = RecordingWebhook::patching(ADD_LABEL);
    recording_webhook.register(&server, "Mutating", "set", &rule("UPDATE", "", "configmaps"), "");
    let before = server.revision();
    let dry = server.patch(&format!("{MAP}?fieldManager=me&dryRun=All"), APPLY, &config).document();
    assert_eq!(server.revision(), before);
    let again = server.apply(MAP, "me", &config).document();
    for shown in [dry, again] {
        assert_eq!(metadata(&shown, "labels"), r#"{"seen":"yes"}"#.parse().unwrap());
    }
    let before = server.revision();
    assert_eq!(server.apply(MAP, "me", &config).code, 200);
    assert_eq!(server.revision(), before, "the label is there, and nothing is written");
}

#[test]
fn a_denied_request_has_the_message_of_the_webhook() {
    let server = Server::start();
    let recording_webhook = RecordingWebhook::start(|asked| {
        let status = match text(asked, &["object", "data", "k"]).as_str() {
            "coded" => r#","status":{"code":403,"reason":"Forbidden","message":"not this"}"#,
            "reasoned" => r#","status":{"reason":"Because"}"#,
            "lying" => r#","status":{"code":200,"status":"Success","message":"odd"}"#,
            _ => "",
        };
        format!(r#"{{"allowed":false,"warnings":["mind this"]{status}}}"#)
    });
    recording_webhook.register(&server, "Validating", "no", &rule("CREATE", "", "configmaps"), "");
    let name = "admission webhook \"no.hooks.example.com\" denied the request";
    for (k, code, reason, message) in [
        ("coded", 403, "Forbidden", format!("{name}: not this")),
        ("reasoned", 400, "Because", format!("{name}: Because")),
        ("lying", 400, "", format!("{name}: odd")),
        ("plain", 400, "", format!("{name} without explanation")),
    ] {
        let refused = server.post(MAPS, &map("a", &format!(r#""k":"{k}""#)));
        let status = refused.document();
        assert_eq!((refused.code, text(&status, &["message"])), (code, message), "{k}");
        assert_eq!(
            (text(&status, &["reason"]), text(&status, &["status"])),
            (reason.into(), "Failure".into())
        );
        assert_eq!(refused.header("warning"), Some(r#"299 - "mind this""#));
        assert_eq!(server.get(MAP).code, 404);
    }
}

#[test]
fn warnings_reach_the_client() {
    let server = Server::start();
    let recording_webhook =
        RecordingWebhook::start(|_| r#"{"allowed":true,"warnings":["mind \"this\""]}"#.into());
    recording_webhook.register(&server, "Validating", "warn", &rule("*", "", "configmaps"), "");
    let created = server.post(MAPS, &map("a", ""));
    assert_eq!((created.code, created.header("warning")), (201, Some(r#"299 - "mind \"this\"""#)));
    let deleted = server.delete(MAP);
    assert_eq!((deleted.code, deleted.header("warning")), (200, Some(r#"299 - "mind \"this\"""#)));
}

#[test]
fn webhooks_are_called_in_order_with_the_object_so_far() {
    let server = Server::start();
    let add = |key: &'static str| {
        RecordingWebhook::start(move |asked| {
            let count = asked.at(["object", "data"]).and_then(Value::as_object).map_or(0, |data| data.len());
            patched(&format!(r#"[{{"op":"add","path":"/data/{key}","value":"{count}"}}]"#))
        })
    };
    let (second, first) = (add("second"), add("first"));
    let rule = rule("CREATE", "", "configmaps");
    // In the order of the names of their configurations, not of their creation.
    second.register(&server, "Mutating", "b", &rule, "");
    first.register(&server, "Mutating", "a", &rule, r#""reinvocationPolicy":"IfNeeded""#);
    let created = server.create(MAPS, &map("a", r#""k":"v""#));
    assert_eq!((first.requests().len(), second.requests().len()), (2, 1), "the first is asked again, once");
    let expected = r#"{"first":"3","k":"v","second":"2"}"#;
    assert_eq!(created.get("data").unwrap().to_string(), expected);
}

#[test]
fn an_unreachable_webhook_fails_or_is_ignored_by_its_policy() {
    let server = Server::start();
    let unused_address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let recording_webhook = RecordingWebhook::allowing();
    let client = format!(
        r#"{{"url":"https://{unused_address}/ask","caBundle":"{}"}}"#,
        recording_webhook.webhook_server.ca_bundle
    );
    let rule = rule("CREATE", "", "configmaps");
    configure(&server, "Validating", "gone", &webhook("gone", &client, &rule, ""));
    let failed = server.post(MAPS, &map("a", ""));
    assert_eq!(failed.code, 500, "{}", failed.text());
    let about = "failed calling webhook \"gone.hooks.example.com\": failed to call webhook: Post";
    assert!(failed.field("message").contains(about), "{}", failed.text());
    let remedy = "set its failurePolicy to Ignore in ValidatingWebhookConfiguration \"gone\", or delete that";
    assert!(failed.field("message").ends_with(remedy), "{}", failed.text());
    assert_eq!(server.get(MAP).code, 404);
    // The configuration of a failing webhook can always be deleted.
    let configuration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gone";
    assert_eq!(server.delete(configuration).code, 200);
    configure(&server, "Validating", "gone", &webhook("gone", &client, &rule, r#""failurePolicy":"Ignore""#));
    assert_eq!(server.post(MAPS, &map("a", "")).code, 201);
}

#[test]
fn a_server_starts_whatever_webhooks_and_policies_say() {
    let server = Server::start();
    let unused_address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let authority = RecordingWebhook::allowing();
    let bundle = &authority.webhook_server.ca_bundle;
    let client = format!(r#"{{"url":"https://{unused_address}/ask","caBundle":"{bundle}"}}"#);
    let everything = r#"{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}"#;
    configure(&server, "Validating", "gone", &webhook("gone", &client, everything, ""));
    configure(&server, "Mutating", "gone", &webhook("gone", &client, everything, ""));
    assert_eq!(server.post(MAPS, &map("a", "")).code, 500, "it has a say");
    // The next server finds a store in which everything that it needs is missing, but for the webhooks.
    let store = server.store();
    let keys = server.keys("objects/");
    drop(server);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for key in keys.iter().filter(|key| !key.contains("admissionregistration")) {
            store.commit(Transaction::new().delete(key.clone(), Expected::Anything)).await.unwrap();
        }
    });
    let token = Administrator::Token("an-administrators-token".into());
    let server = Server::over(store, token).announced().with_created_default_objects();
    let admin = |method: &str, path: &str| {
        Request::new(method, path).header("Authorization", "Bearer an-administrators-token")
    };
    for path in [
        "/api/v1/namespaces/kube-system",
        "/api/v1/namespaces/default/services/kubernetes",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt",
        "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
    ] {
        assert_eq!(server.send(&admin("GET", path)).code, 200, "{path}");
    }
    let refused = server.send(&admin("POST", MAPS).body("application/json", map("a", "")));
    assert_eq!(refused.code, 500, "it has a say again: {}", refused.text());
}

#[test]
fn invalid_patches_of_a_webhook_name_the_webhook() {
    let server = Server::start();
    for (name, patch) in [
        ("a", r#"[{"op":"remove","path":"/data/none"}]"#),
        ("b", r#"[{"op":"replace","path":"/data","value":7}]"#),
        ("c", r#"{}"#),
    ] {
        let recording_webhook = RecordingWebhook::patching(patch);
        recording_webhook.register(&server, "Mutating", name, &rule("CREATE", "", "configmaps"), "");
        let failed = server.post(MAPS, &map(name, r#""k":"v""#));
        assert_eq!(failed.code, 500, "{patch}: {}", failed.text());
        assert!(failed.field("message").starts_with("Internal error occurred: "), "{}", failed.text());
        server.delete(&format!("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{name}"));
    }
    let recording_webhook = RecordingWebhook::patching(r#"[{"op":"add","path":"/data/k","value":"w"}]"#);
    recording_webhook.register(&server, "Mutating", "d", &rule("DELETE", "", "configmaps"), "");
    server.create(MAPS, &map("a", ""));
    let failed = server.delete(MAP);
    assert_eq!(failed.code, 500, "{}", failed.text());
    assert!(failed.field("message").contains("attempted to modify the object"), "{}", failed.text());
    assert_eq!(server.get(MAP).code, 200);
}

#[test]
fn a_mutated_object_is_defaulted_and_validated() {
    let server = Server::start();
    let sidecar = r#"[{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"s"}}]"#;
    let recording_webhook = RecordingWebhook::patching(sidecar);
    recording_webhook.register(&server, "Mutating", "side", &rule("CREATE", "", "pods"), "");
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str, container: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}},"spec":{{"containers":[{{"name":"{container}","image":"i"}}]}}}}"#
        )
    };
    let created = server.create(pods, &pod("p", "c"));
    let added = created.at(["spec", "containers"]).and_then(Value::as_array).unwrap()[1].clone();
    assert_eq!(text(&added, &["terminationMessagePath"]), "/dev/termination-log", "{added}");
    let twice = server.post(pods, &pod("q", "side"));
    assert_eq!(twice.code, 422, "{}", twice.text());
    assert!(twice.field("message").contains("Duplicate value"), "{}", twice.text());
}

#[test]
fn a_scale_is_shown_and_changed_as_one() {
    let server = Server::start();
    let recording_webhook =
        RecordingWebhook::patching(r#"[{"op":"replace","path":"/spec/replicas","value":3}]"#);
    recording_webhook.register(
        &server,
        "Mutating",
        "scale",
        &rule("UPDATE", "apps", "deployments/scale"),
        "",
    );
    server.create(DEPLOYMENTS, &deployment("d"));
    let scale = format!("{DEPLOYMENTS}/d/scale");
    let scaled = server.patch(&scale, MERGE_PATCH, r#"{"spec":{"replicas":5}}"#);
    assert_eq!(scaled.document().at(["spec", "replicas"]), Some(&Value::from(3)), "{}", scaled.text());
    let asked = &recording_webhook.requests()[0];
    assert_eq!(
        (text(asked, &["subResource"]), text(asked, &["kind", "kind"])),
        ("scale".into(), "Scale".into())
    );
    assert_eq!(text(asked, &["object", "kind"]), "Scale");
    let live = server.get(&format!("{DEPLOYMENTS}/d")).document();
    assert_eq!(live.at(["spec", "replicas"]), Some(&Value::from(3)));
}

#[test]
fn objects_that_are_not_stored_pass_admission_too() {
    let server = Server::start();
    let recording_webhook = RecordingWebhook::start(|asked| match text(asked, &["kind", "kind"]).as_str() {
        "Eviction" => r#"{"allowed":false,"status":{"message":"it stays"}}"#.into(),
        _ => r#"{"allowed":true}"#.into(),
    });
    let rules = format!(
        "{},{}",
        rule("CREATE", "", "pods/eviction"),
        rule("CREATE", "", "serviceaccounts/token\",\"pods/binding")
    );
    recording_webhook.register(&server, "Validating", "posted", &rules, "");
    let pods = "/api/v1/namespaces/default/pods";
    server.create(pods, r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#);
    let eviction = r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}"#;
    let refused = server.post(&format!("{pods}/p/eviction"), eviction);
    assert!(refused.code == 400 && refused.field("message").contains("it stays"), "{}", refused.text());
    assert_eq!(server.get(&format!("{pods}/p")).code, 200);
    let binding =
        r#"{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}"#;
    assert_eq!(server.post(&format!("{pods}/p/binding"), binding).code, 201);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    server.create(accounts, r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s"}}"#);
    let token = server.post(
        &format!("{accounts}/s/token"),
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}"#,
    );
    assert_eq!(token.code, 201, "{}", token.text());
    let kinds: Vec<String> =
        recording_webhook.requests().iter().map(|request| text(request, &["kind", "kind"])).collect();
    assert_eq!(kinds, ["Eviction", "Binding", "TokenRequest"]);
}

#[test]
fn selectors_and_conditions_decide_which_webhooks_are_called() {
    let server = Server::start();
    let more = [
        r#""namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ours"}}"#,
        r#""objectSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]}"#,
        r#""matchConditions":[{"name":"big","expression":"has(object.data) && size(object.data) > 1"}]"#,
    ];
    let recording_webhook = RecordingWebhook::allowing();
    recording_webhook.register(
        &server,
        "Validating",
        "some",
        &rule("CREATE", "", "configmaps"),
        &more.join(","),
    );
    server.create_namespace("ours");
    let ours = "/api/v1/namespaces/ours/configmaps";
    let two = r#""a":"1","b":"2""#;
    server.create(ours, &map("yes", two));
    server.create(MAPS, &map("elsewhere", two));
    server.create(ours, &map("small", r#""a":"1""#));
    server.create(ours, &map("skipped", two).replace(r#""name""#, r#""labels":{"skip":""},"name""#));
    let names: Vec<String> =
        recording_webhook.requests().iter().map(|request| text(request, &["name"])).collect();
    assert_eq!(names, ["yes"]);
}

#[test]
fn a_webhook_for_another_version_gets_the_object_at_that_version() {
    let server = Server::start();
    let rule = r#"{"operations":["CREATE"],"apiGroups":["autoscaling"],"apiVersions":["v1"],"resources":["horizontalpodautoscalers"]}"#;
    let recording_webhook = RecordingWebhook::patching(
        r#"[{"op":"replace","path":"/spec/targetCPUUtilizationPercentage","value":60}]"#,
    );
    recording_webhook.register(&server, "Mutating", "old", rule, "");
    let body = r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},
        "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}"#;
    let created = server.create("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", body);
    let asked = &recording_webhook.requests()[0];
    assert_eq!(text(asked, &["object", "apiVersion"]), "autoscaling/v1");
    assert_eq!(asked.at(["object", "spec", "targetCPUUtilizationPercentage"]), Some(&Value::from(50)));
    assert_eq!(text(asked, &["requestKind", "version"]), "v2");
    let metric = created.at(["spec", "metrics"]).and_then(Value::as_array).unwrap()[0].clone();
    assert_eq!(metric.at(["resource", "target", "averageUtilization"]), Some(&Value::from(60)), "{created}");
}

#[test]
fn a_restarted_server_calls_the_configured_webhooks_only() {
    let server = Server::start();
    let recording_webhook = RecordingWebhook::allowing();
    recording_webhook.register(&server, "Validating", "all", &rule("*", "", "configmaps"), "");
    let store = server.store();
    drop(server);
    let server = Server::over(store, tenure_http::Administrator::Anyone);
    server.create(MAPS, &map("a", ""));
    assert_eq!(recording_webhook.requests().len(), 1);
    let configuration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/all";
    let nothing = r#"[{"op":"replace","path":"/webhooks","value":[]}]"#;
    assert_eq!(server.patch(configuration, JSON_PATCH, nothing).code, 200);
    server.create(MAPS, &map("b", ""));
    assert_eq!(recording_webhook.requests().len(), 0);
}

#[test]
fn a_terminating_namespace_reports_remaining_finalizers() {
    let server = Server::living();
    let recording_webhook = RecordingWebhook::start(|asked| match text(asked, &["name"]).as_str() {
        "kept" => r#"{"allowed":false,"status":{"message":"it stays"}}"#.into(),
        _ => r#"{"allowed":true}"#.into(),
    });
    recording_webhook.register(&server, "Validating", "keep", &rule("DELETE", "", "configmaps"), "");
    server.create_namespace("going");
    let maps = "/api/v1/namespaces/going/configmaps";
    for name in ["a", "kept", "z"] {
        server.create(maps, &map(name, ""));
    }
    assert_eq!(server.delete("/api/v1/namespaces/going").code, 200);
    let names = || -> Vec<String> {
        let list = server.get(maps).document();
        let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        items.iter().map(|item| text(item, &["metadata", "name"])).collect()
    };
    server.wait_until("all but one are gone", || names() == ["kept"]);
    let namespace = || server.get("/api/v1/namespaces/going").text();
    server.wait_until("it says why", || namespace().contains("denied the request: it stays"));
    let configuration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/keep";
    assert_eq!(server.delete(configuration).code, 200);
    server.wait_until_gone("/api/v1/namespaces/going");
}

#[test]
fn an_unknown_certificate_authority_is_reported_with_the_remedy() {
    let server = Server::start();
    let (recording_webhook, stranger) = (RecordingWebhook::allowing(), RecordingWebhook::allowing());
    let client = format!(
        r#"{{"url":"https://{}/ask","caBundle":"{}"}}"#,
        recording_webhook.webhook_server.address, stranger.webhook_server.ca_bundle
    );
    let webhook = webhook("unknown", &client, &rule("CREATE", "", "configmaps"), "");
    configure(&server, "Validating", "unknown", &webhook);
    let failed = server.post(MAPS, &map("a", "")).field("message");
    assert!(failed.contains("certificate signed by unknown authority: set caBundle to"), "{failed}");
}

#[test]
fn the_deletion_of_a_collection_is_admitted_without_a_name() {
    let server = Server::start();
    server.create(MAPS, &map("a", ""));
    let webhook = RecordingWebhook::allowing();
    webhook.register(&server, "Validating", "all", &rule("DELETE", "", "configmaps"), "");
    assert_eq!(server.delete(MAPS).code, 200);
    let asked = webhook.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!((text(&asked[0], &["name"]), text(&asked[0], &["namespace"])), ("".into(), "default".into()));
    assert_eq!(text(&asked[0], &["oldObject", "metadata", "name"]), "a");
}

#[test]
fn warnings_survive_a_refusal_by_a_later_phase() {
    let server = Server::start();
    let warning = RecordingWebhook::start(|_| r#"{"allowed":true,"warnings":["mind this"]}"#.into());
    warning.register(&server, "Mutating", "warns", &rule("CREATE", "", "configmaps"), "");
    let refusing = RecordingWebhook::start(|_| r#"{"allowed":false,"status":{"message":"no"}}"#.into());
    refusing.register(&server, "Validating", "refuses", &rule("CREATE", "", "configmaps"), "");
    let response = server.post(MAPS, &map("a", ""));
    assert_eq!(response.code, 400, "{}", response.text());
    assert!(
        response.header("warning").is_some_and(|value| value.contains("mind this")),
        "{:?}",
        response.header("warning")
    );
}
