//! Conversion by a webhook whenever an object is read or written, and the errors of a webhook that fails.

use crate::{
    http::Request,
    server::{MERGE_PATCH, Server, metadata, version},
    webhook::{Behavior, ConversionWebhook},
};
use tenure_value::Value;

const V1: &str = "/apis/stable.example.com/v1/namespaces/default/endpoints";
const V2: &str = "/apis/stable.example.com/v2/namespaces/default/endpoints";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of two versions whose objects are stored in one of them.
fn definition(client: &str, storage: &str) -> String {
    let version = |name: &str, fields: &str| {
        format!(
            r#"{{"name":"{name}","served":true,"storage":{},"subresources":{{"status":{{}},"scale":{{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}},
            "schema":{{"openAPIV3Schema":{{"type":"object","properties":{{
              "spec":{{"type":"object","properties":{{{fields},"replicas":{{"type":"integer"}},"note":{{"type":"string"}}}}}},
              "status":{{"type":"object","properties":{{"replicas":{{"type":"integer"}}}}}}}}}}}}}}"#,
            name == storage
        )
    };
    let text = r#""TYPE":"string""#;
    let string = |name: &str| format!(r#""{name}":{{{}}}"#, text.replace("TYPE", "type"));
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"endpoints.stable.example.com"}},
        "spec":{{"group":"stable.example.com","scope":"Namespaced","names":{{"plural":"endpoints","singular":"endpoint","kind":"Endpoint","listKind":"EndpointList"}},
        "versions":[{},{}],
        "conversion":{{"strategy":"Webhook","webhook":{{"conversionReviewVersions":["v1","v1beta1"],"clientConfig":{client}}}}}}}}}"#,
        version("v1", &string("hostPort")),
        version("v2", &format!("{},{}", string("host"), string("port"))),
    )
}

fn by_url(webhook: &ConversionWebhook) -> String {
    webhook.client("/convert")
}

/// A server with the definition, whose objects are stored in `v1`.
fn served(webhook: &ConversionWebhook) -> Server {
    let server = Server::start();
    server.create(DEFINITIONS, &definition(&by_url(webhook), "v1"));
    server
}

fn object(version: &str, name: &str, spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"stable.example.com/{version}","kind":"Endpoint","metadata":{{"name":"{name}"}},"spec":{spec}}}"#
    )
}

fn spec(value: &Value) -> String {
    value.get("spec").map(Value::to_string).unwrap_or_default()
}

const SPLIT: &str = r#"{"host":"h","port":"80"}"#;
const JOINED: &str = r#"{"hostPort":"h:80"}"#;

#[test]
fn an_object_is_read_and_written_at_every_version() {
    let webhook = ConversionWebhook::start("webhook.default.svc");
    let server = served(&webhook);
    let made = server.create(V1, &object("v1", "a", JOINED));
    assert_eq!(webhook.requests(), 0, "the storage version needs no conversion");
    let got = server.get(&format!("{V2}/a")).document();
    assert_eq!((spec(&got).as_str(), got.get("apiVersion")), (SPLIT, Some(&"stable.example.com/v2".into())));
    assert_eq!(metadata(&got, "uid"), metadata(&made, "uid"));
    // Created in one version and stored in the other.
    let made = server.create(V2, &object("v2", "b", r#"{"host":"i","port":"81"}"#));
    assert_eq!(spec(&made), r#"{"host":"i","port":"81"}"#);
    assert_eq!(spec(&server.get(&format!("{V1}/b")).document()), r#"{"hostPort":"i:81"}"#);
    // PUT, merge patch, status and scale at the other version.
    let put = object("v2", "b", r#"{"host":"j","port":"82","replicas":1}"#)
        .replace(r#""name":"b""#, &format!(r#""name":"b","resourceVersion":"{}""#, version(&made)));
    let response = server.send(&Request::new("PUT", &format!("{V2}/b")).body("application/json", put));
    assert_eq!(
        (response.code, spec(&response.document()).as_str()),
        (200, r#"{"host":"j","port":"82","replicas":1}"#)
    );
    let response = server.patch(&format!("{V2}/b"), MERGE_PATCH, r#"{"spec":{"port":"83"}}"#);
    assert_eq!(spec(&response.document()), r#"{"host":"j","port":"83","replicas":1}"#);
    let response = server.patch(&format!("{V2}/b/status"), MERGE_PATCH, r#"{"status":{"replicas":5}}"#);
    assert_eq!(response.document().at(["status", "replicas"]), Some(&5.into()));
    let response = server.patch(&format!("{V2}/b/scale"), MERGE_PATCH, r#"{"spec":{"replicas":3}}"#);
    assert_eq!(response.code, 200, "{}", response.text());
    let now = server.get(&format!("{V1}/b")).document();
    assert_eq!(spec(&now), r#"{"hostPort":"j:83","replicas":3}"#);
    assert_eq!(now.at(["status", "replicas"]), Some(&5.into()));
    // A deletion that waits for a finalizer, and one that does not.
    server.patch(&format!("{V2}/b"), MERGE_PATCH, r#"{"metadata":{"finalizers":["x.example.com/wait"]}}"#);
    let marked = server.delete(&format!("{V2}/b")).document();
    assert_eq!(spec(&marked), r#"{"host":"j","port":"83","replicas":3}"#);
    assert!(metadata(&marked, "deletionTimestamp").as_str().is_some());
    server.patch(&format!("{V2}/b"), MERGE_PATCH, r#"{"metadata":{"finalizers":null}}"#);
    assert_eq!(server.get(&format!("{V1}/b")).code, 404);
    assert_eq!(server.delete(&format!("{V2}/a")).code, 200);
    assert_eq!(server.get(&format!("{V1}/a")).code, 404);
}

#[test]
fn a_list_with_several_storage_versions_is_converted_in_one_review() {
    let webhook = ConversionWebhook::start("webhook.default.svc");
    let server = served(&webhook);
    for name in ["a", "b", "c"] {
        server.create(V1, &object("v1", name, JOINED));
    }
    let stored = server.get(&format!("{DEFINITIONS}/endpoints.stable.example.com")).document();
    let flipped = definition(&by_url(&webhook), "v2").replace(
        r#""metadata":{"name":"endpoints.stable.example.com"}"#,
        &format!(
            r#""metadata":{{"name":"endpoints.stable.example.com","resourceVersion":"{}"}}"#,
            version(&stored)
        ),
    );
    let path = format!("{DEFINITIONS}/endpoints.stable.example.com");
    let response = server.send(&Request::new("PUT", &path).body("application/json", flipped));
    assert_eq!(response.code, 200, "{}", response.text());
    server.create(V2, &object("v2", "d", SPLIT));
    for (path, expected, requests) in [(V1, JOINED, 1), (V2, SPLIT, 1)] {
        let before = webhook.requests();
        let list = server.get(path).document();
        let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        assert_eq!(items.len(), 4);
        for item in items.iter() {
            assert_eq!(spec(item), expected, "{path}");
        }
        assert_eq!(webhook.requests() - before, requests, "{path}");
    }
    // An object that is written again is stored in the new version.
    server.patch(&format!("{V1}/a"), MERGE_PATCH, r#"{"spec":{"note":"moved"}}"#);
    let before = webhook.requests();
    assert_eq!(
        spec(&server.get(&format!("{V2}/a")).document()),
        r#"{"host":"h","note":"moved","port":"80"}"#
    );
    assert_eq!(webhook.requests(), before);
    let deleted = server.delete(V1);
    assert_eq!(deleted.code, 200, "{}", deleted.text());
    assert_eq!(server.get(V2).document().get("items"), Some(&Value::array([])));
}

#[test]
fn a_watch_shows_every_change_at_its_version() {
    let webhook = ConversionWebhook::start("webhook.default.svc");
    let server = served(&webhook);
    let start = version(&server.get(V1).document());
    server.create(V1, &object("v1", "a", JOINED));
    server.patch(&format!("{V1}/a"), MERGE_PATCH, r#"{"spec":{"hostPort":"h:81"}}"#);
    server.delete(&format!("{V1}/a"));
    let frames = server.get(&format!("{V2}?watch=1&timeoutSeconds=1&resourceVersion={start}")).frames();
    let seen: Vec<(String, String)> = frames
        .iter()
        .map(|frame| {
            let word = frame.get("type").and_then(Value::as_str).unwrap_or_default().to_string();
            (word, frame.get("object").map(spec).unwrap_or_default())
        })
        .collect();
    let second = r#"{"host":"h","port":"81"}"#;
    let expected = [("ADDED", SPLIT), ("MODIFIED", second), ("DELETED", second)];
    assert_eq!(seen, expected.map(|(word, spec)| (word.to_string(), spec.to_string())));
    // A watch whose objects cannot be converted ends with the reason.
    webhook.set_behavior(Behavior::Refuses);
    let start = version(&server.get(V1).document());
    server.create(V1, &object("v1", "b", JOINED));
    let frames = server.get(&format!("{V2}?watch=1&timeoutSeconds=1&resourceVersion={start}")).frames();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].get("type"), Some(&"ERROR".into()));
    let message = frames[0].at(["object", "message"]).and_then(Value::as_str).unwrap_or_default();
    assert!(message.contains("not in the mood"), "{message}");
}

#[test]
fn managers_own_fields_at_their_version() {
    let webhook = ConversionWebhook::start("webhook.default.svc");
    let server = served(&webhook);
    let config = object("v1", "a", JOINED);
    assert_eq!(server.apply(&format!("{V1}/a"), "alice", &config).code, 201);
    // The same value, applied in the other version, is shared; a change of it is a conflict in both versions.
    let same = server.apply(&format!("{V2}/a"), "bob", &object("v2", "a", SPLIT));
    assert_eq!(same.code, 200, "{}", same.text());
    let managers = metadata(&same.document(), "managedFields");
    let mut entries: Vec<(String, String, String)> = managers
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
            (
                text("manager"),
                text("apiVersion"),
                entry.get("fieldsV1").map(Value::to_string).unwrap_or_default(),
            )
        })
        .collect();
    entries.sort();
    let held = |manager: &str, version: &str, fields: &str| {
        (manager.to_string(), format!("stable.example.com/{version}"), fields.to_string())
    };
    assert_eq!(
        entries,
        [
            held("alice", "v1", r#"{"f:spec":{"f:hostPort":{}}}"#),
            held("bob", "v2", r#"{"f:spec":{"f:host":{},"f:port":{}}}"#)
        ]
    );
    let changed = object("v2", "a", r#"{"host":"h","port":"99"}"#);
    let conflict = server.apply(&format!("{V2}/a"), "bob", &changed);
    assert_eq!(conflict.code, 409, "{}", conflict.text());
    let message = conflict.field("message");
    assert!(message.contains("\"alice\"") && message.contains(".spec.hostPort"), "{message}");
    let forced = server.patch(
        &format!("{V2}/a?fieldManager=bob&force=true"),
        "application/apply-patch+yaml",
        &changed,
    );
    assert_eq!(forced.code, 200, "{}", forced.text());
    let managers = metadata(&forced.document(), "managedFields");
    assert!(!managers.to_string().contains("alice"), "{managers}");
    assert_eq!(spec(&server.get(&format!("{V1}/a")).document()), r#"{"hostPort":"h:99"}"#);
    // Applying the same again does not write.
    let before = server.revision();
    assert_eq!(server.apply(&format!("{V2}/a"), "bob", &changed).code, 200);
    assert_eq!(server.revision(), before);
}

#[test]
fn a_webhook_changes_labels_and_annotations_and_nothing_else_of_the_metadata() {
    let webhook = ConversionWebhook::start("webhook.default.svc");
    let server = served(&webhook);
    let body = object("v1", "a", JOINED)
        .replace(r#""name":"a""#, r#""name":"a","finalizers":["x.example.com/wait"]"#);
    server.create(V1, &body);
    webhook.set_behavior(Behavior::Annotates);
    let got = server.get(&format!("{V2}/a")).document();
    assert_eq!(metadata(&got, "annotations").to_string(), r#"{"converted-to":"stable.example.com/v2"}"#);
    assert_eq!(metadata(&got, "generation"), 1.into());
    assert_eq!(metadata(&got, "finalizers"), Value::array(["x.example.com/wait".into()]));
}

#[test]
fn an_invalid_webhook_response_names_the_webhook_and_the_reason() {
    let webhook = ConversionWebhook::start("webhook.default.svc");
    let server = served(&webhook);
    server.create(V1, &object("v1", "a", JOINED));
    let named = "conversion webhook for stable.example.com/v1, Kind=Endpoint";
    for (behavior, words) in [
        (Behavior::Refuses, "failed: not in the mood"),
        (Behavior::Fails, "the webhook responded with 503 Service Unavailable: come back later"),
        (
            Behavior::Renames,
            "returned an invalid object at index 0: must have the same name: \"a\" != \"another\"",
        ),
        (Behavior::Forgets, "returned 0 objects, expected 1"),
    ] {
        webhook.set_behavior(behavior);
        for path in [format!("{V2}/a"), V2.to_string()] {
            let response = server.get(&path);
            assert_eq!(response.code, 500, "{behavior:?}");
            let message = response.field("message");
            assert!(message.starts_with(named) && message.contains(words), "{behavior:?}: {message}");
        }
        // An object that cannot be converted is not written.
        let response = server.post(V2, &object("v2", "b", SPLIT));
        assert_eq!(response.code, 500, "{behavior:?}");
        assert_eq!(server.get(&format!("{V1}/b")).code, 404, "{behavior:?}");
        let response = server.patch(&format!("{V2}/a"), MERGE_PATCH, r#"{"spec":{"port":"1"}}"#);
        assert_eq!(response.code, 500, "{behavior:?}");
        // The storage version is served throughout.
        assert_eq!(server.get(&format!("{V1}/a")).code, 200, "{behavior:?}");
    }
    webhook.set_behavior(Behavior::Correct);
    assert_eq!(server.get(&format!("{V2}/a")).code, 200);
    drop(webhook);
    let message = server.get(&format!("{V2}/a")).field("message");
    assert!(message.starts_with(&format!("{named} failed: Post \"https://127.0.0.1:")), "{message}");
}

#[test]
fn a_certificate_of_an_unknown_authority_is_not_trusted() {
    let (webhook, other) =
        (ConversionWebhook::start("webhook.default.svc"), ConversionWebhook::start("webhook.default.svc"));
    let server = Server::start();
    let client =
        format!(r#"{{"url":"https://{}/convert","caBundle":"{}"}}"#, webhook.address, other.ca_bundle);
    server.create(DEFINITIONS, &definition(&client, "v1"));
    server.create(V1, &object("v1", "a", JOINED));
    let message = server.get(&format!("{V2}/a")).field("message");
    assert!(message.contains("certificate"), "{message}");
    assert_eq!(webhook.requests(), 0);
}

#[test]
fn a_webhook_service_is_resolved_or_reported_missing() {
    let webhook = ConversionWebhook::start("webhook.hooks.svc");
    let server = Server::start();
    server.create_namespace("hooks");
    let client = format!(
        r#"{{"service":{{"namespace":"hooks","name":"webhook","path":"/convert","port":9443}},"caBundle":"{}"}}"#,
        webhook.ca_bundle
    );
    server.create(DEFINITIONS, &definition(&client, "v1"));
    server.create(V1, &object("v1", "a", JOINED));
    let why = || server.get(&format!("{V2}/a")).field("message");
    let missing =
        "Post \"https://webhook.hooks.svc:9443/convert?timeout=30s\": service \"webhook\" not found";
    assert!(why().contains(missing), "{}", why());
    let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"webhook"},"spec":{"clusterIP":"None","ports":[{"name":"web","port":PORT}]}}"#;
    server.create("/api/v1/namespaces/hooks/services", &service.replace("PORT", "443"));
    assert!(why().contains("no service port 9443 found for service \"webhook\""), "{}", why());
    server.delete("/api/v1/namespaces/hooks/services/webhook");
    server.create("/api/v1/namespaces/hooks/services", &service.replace("PORT", "9443"));
    assert!(why().contains("cannot route to service with ClusterIP \"None\""), "{}", why());
    server.delete("/api/v1/namespaces/hooks/services/webhook");
    // A service of type ExternalName is called at that name.
    let client = client.replace("9443", &webhook.address.port().to_string());
    let path = format!("{DEFINITIONS}/endpoints.stable.example.com");
    let moved = format!(r#"{{"spec":{{"conversion":{{"webhook":{{"clientConfig":{client}}}}}}}}}"#);
    assert_eq!(server.patch(&path, MERGE_PATCH, &moved).code, 200);
    let named = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"webhook"},"spec":{"type":"ExternalName","externalName":"localhost"}}"#;
    server.create("/api/v1/namespaces/hooks/services", named);
    assert_eq!(spec(&server.get(&format!("{V2}/a")).document()), SPLIT, "{}", why());
}
