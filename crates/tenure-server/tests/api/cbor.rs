//! Conversations in CBOR, and managed fields in their compact form.

use crate::{
    http::{Request, Response},
    server::{Server, metadata},
};
use tenure_apply::Managers;
use tenure_profile::KubernetesVersion;
use tenure_server::Profile;
use tenure_value::{Limits, Value};

const CBOR: &str = "application/cbor";
const APPLY: &str = "application/apply-patch+cbor";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.org/v1/namespaces/default/widgets";
const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.example.org"},"spec":{"group":"example.org","scope":"Namespaced",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget"},"versions":[{"name":"v1","served":true,
    "storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
    "properties":{"size":{"type":"integer"},"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}}]}}"#;

fn value(text: &str) -> Value {
    text.parse().unwrap()
}

fn send(server: &Server, method: &str, path: &str, media_type: &str, body: &Value) -> Response {
    let request =
        Request::new(method, path).body(media_type, tenure_codec::cbor::encode(body)).header("Accept", CBOR);
    let response = server.send(&request);
    assert_eq!(response.header("content-type"), Some(CBOR), "{method} {path}: {}", response.text());
    response
}

fn get(server: &Server, path: &str, accept: &str) -> Response {
    server.send(&Request::new("GET", path).header("Accept", accept))
}

#[test]
fn objects_of_all_kinds_are_written_and_read() {
    let server = Server::start();
    server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
    let secret =
        value(r#"{"apiVersion":"v1","data":{"a":"aGVsbG8="},"kind":"Secret","metadata":{"name":"s"}}"#);
    let made = send(&server, "POST", SECRETS, CBOR, &secret);
    assert_eq!(made.code, 201, "{:?}", made.document());
    // Bytes are bytes, in tag 22.
    assert!(made.body.windows(7).any(|part| part == b"\xd6\x45hello"));
    let read = get(&server, &format!("{SECRETS}/s"), CBOR);
    assert_eq!(read.document(), made.document());
    assert_eq!(read.document(), get(&server, &format!("{SECRETS}/s"), "application/json").document());
    let list = get(&server, SECRETS, CBOR);
    assert!(list.body.windows(7).any(|part| part == b"\xd6\x45hello"));
    for query in ["", "?limit=1", "?labelSelector=!x", "?fieldSelector=metadata.name%3Ds"] {
        let [cbor, json] = [CBOR, "application/json"]
            .map(|accept| get(&server, &format!("{SECRETS}{query}"), accept).document());
        assert_eq!(cbor, json, "{query}");
        assert_eq!(cbor.get("items").and_then(Value::as_array).map(|items| items.len()), Some(1));
    }
    let widget = value(
        r#"{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},
            "spec":{"size":7,"any":{"f":1.5,"n":null,"l":[],"t":"x"}}}"#,
    );
    let made = send(&server, "POST", WIDGETS, CBOR, &widget);
    assert_eq!((made.code, made.document().get("spec")), (201, widget.get("spec")));
    let put = send(&server, "PUT", &format!("{WIDGETS}/w"), CBOR, &made.document());
    assert_eq!((put.code, put.document()), (200, made.document()));
    // A dry run, with options in the body of a DELETE.
    let options = value(r#"{"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions"}"#);
    assert_eq!(send(&server, "DELETE", &format!("{WIDGETS}/w"), CBOR, &options).code, 200);
    assert_eq!(server.get(&format!("{WIDGETS}/w")).code, 200);
    // What is posted and not stored.
    let review = value(
        r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}"#,
    );
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(send(&server, "POST", path, CBOR, &review).code, 201);
}

#[test]
fn applies_and_field_validation_work_as_in_json() {
    let server = Server::start();
    server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
    let map = value(r#"{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let path = format!("{MAPS}/a?fieldManager=alice");
    assert_eq!(send(&server, "PATCH", &path, APPLY, &map).code, 201);
    assert_eq!(send(&server, "PATCH", &path, APPLY, &map).code, 200);
    let other = value(r#"{"apiVersion":"v1","data":{"k":"w"},"kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let conflict = send(&server, "PATCH", &format!("{MAPS}/a?fieldManager=bob"), APPLY, &other);
    assert_eq!(conflict.code, 409);
    assert!(
        conflict.field("message").contains(r#"conflict with "alice": .data.k"#),
        "{:?}",
        conflict.document()
    );
    let widget =
        value(r#"{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}"#);
    assert_eq!(send(&server, "PATCH", &format!("{WIDGETS}/w?fieldManager=a"), APPLY, &widget).code, 201);
    let unknown = |name: &str| {
        value(&format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"nope":1}}"#))
    };
    let warned = send(&server, "POST", MAPS, CBOR, &unknown("w"));
    assert_eq!((warned.code, warned.header("warning")), (201, Some(r#"299 - "unknown field \"nope\"""#)));
    let strict = send(&server, "POST", &format!("{MAPS}?fieldValidation=Strict"), CBOR, &unknown("s"));
    assert_eq!(strict.code, 400);
    assert!(strict.field("message").ends_with(r#"strict decoding error: unknown field "nope""#));
    let ignored = send(&server, "POST", &format!("{MAPS}?fieldValidation=Ignore"), CBOR, &unknown("i"));
    assert_eq!((ignored.code, ignored.header("warning")), (201, None));
}

#[test]
fn a_watch_is_a_sequence() {
    let server = Server::start();
    server.create(SECRETS, r#"{"metadata":{"name":"s"},"data":{"a":"aGVsbG8="}}"#);
    let response = get(&server, &format!("{SECRETS}?watch=1&timeoutSeconds=1"), CBOR);
    assert_eq!(response.header("content-type"), Some("application/cbor-seq"));
    // The event and its object are both self-described.
    assert!(response.body.starts_with(b"\xd9\xd9\xf7\xa2\x44type\x45ADDED\x46object\xd9\xd9\xf7"));
    assert!(response.body.windows(7).any(|part| part == b"\xd6\x45hello"));
    let yaml = get(&server, &format!("{SECRETS}?watch=1"), "application/yaml");
    assert!(yaml.text().contains("application/cbor-seq"), "{}", yaml.text());
}

#[test]
fn the_kubernetes_profile_has_no_cbor_and_no_compact_managers() {
    let server = Server::behaving(Profile::kubernetes());
    let map = value(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#);
    let request = |method: &str, path: &str, media_type: &str| {
        server.send(&Request::new(method, path).body(media_type, tenure_codec::cbor::encode(&map)))
    };
    let refused = request("POST", MAPS, CBOR);
    assert_eq!(refused.code, 415);
    assert!(!refused.field("message").contains("cbor"), "{}", refused.text());
    assert_eq!(request("PATCH", &format!("{MAPS}/a?fieldManager=m"), APPLY).code, 415);
    assert_eq!(get(&server, MAPS, CBOR).code, 406);
    server.create(MAPS, &map.to_string());
    let plain = get(&server, &format!("{MAPS}/a"), "application/json;managedFields=compact");
    assert!(plain.text().contains(r#""fieldsType":"FieldsV1""#), "{}", plain.text());
}

#[test]
fn discovery_is_offered_since_1_37() {
    let accept = "application/cbor;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/cbor,application/json;q=0.5";
    for (version, expected) in
        [(KubernetesVersion::V1_36, "application/json"), (KubernetesVersion::V1_37, CBOR)]
    {
        let server = Server::behaving(Profile::tenure().at(version));
        for path in ["/api", "/apis", "/apis/apps"] {
            let answer = get(&server, path, accept);
            let media_type = answer.header("content-type").unwrap_or_default();
            assert_eq!(media_type.split(';').next(), Some(expected), "{version} {path}");
            if expected == CBOR {
                let json = get(&server, path, &accept.replace("cbor", "json")).document();
                let read = tenure_codec::cbor::decode(&answer.body, &Limits::default()).expect("CBOR");
                assert_eq!(read, json, "{path}");
            }
        }
    }
}

/// Returns the entries of an object.
fn entries(object: &Value) -> Value {
    metadata(object, "managedFields")
}

#[test]
fn compact_managers_come_and_go_in_every_encoding() {
    let server = Server::start();
    let path = format!("{MAPS}/a");
    server.apply(&path, "alice", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"}}"#);
    server.patch(&path, "application/merge-patch+json", r#"{"data":{"l":"w"}}"#);
    let whole = server.get(&path).document();
    let managers = Managers::from_value(&entries(&whole)).unwrap();
    assert_eq!(managers.len(), 2);
    let table = tenure_fields::compact::tables::current().unwrap().hash().to_string();
    let decode = |response: &Response| match response.header("content-type") {
        Some("application/vnd.kubernetes.protobuf") => {
            tenure_codec::protobuf::decode(&response.body, &Limits::default()).unwrap()
        }
        _ => response.document(),
    };
    for encoding in ["application/json", CBOR, "application/vnd.kubernetes.protobuf"] {
        let accept = format!("{encoding};managedFields=compact;table={table}");
        let response = get(&server, &path, &accept);
        assert_eq!(response.header("content-type"), Some(encoding));
        let object = decode(&response);
        let compact = entries(&object);
        assert_eq!(
            compact.as_array().and_then(|entries| entries[0].get("fieldsType").cloned()),
            Some(Value::from(format!("Compact/{table}")))
        );
        assert_eq!(Managers::from_value(&compact).unwrap(), managers);
        assert!(response.body.len() < get(&server, &path, encoding).body.len());
        let list = decode(&get(&server, MAPS, &accept));
        assert_eq!(entries(&list.get("items").and_then(Value::as_array).unwrap()[0]), compact);
        let partial = format!("{accept};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        assert_eq!(entries(&decode(&get(&server, &path, &partial))), compact);
        // The same object comes back: nothing changes.
        let body = match encoding {
            "application/json" => object.to_string().into_bytes(),
            CBOR => tenure_codec::cbor::encode(&object),
            _ => response.body.clone(),
        };
        let put = server.send(&Request::new("PUT", &path).body(encoding, body));
        assert_eq!((put.code, put.document()), (200, whole.clone()), "{encoding}");
        // A client with another table gets FieldsV1.
        let other = decode(&get(&server, &path, &format!("{encoding};managedFields=compact;table=0")));
        assert_eq!(entries(&other), entries(&whole));
        let dropped =
            get(&server, &path, &format!("{encoding};managedFields=compact;drop=x+metadata.managedFields+y"));
        assert_eq!(entries(&decode(&dropped)), Value::Null);
    }
    // A watch has the same entries.
    let accept = format!("application/json;managedFields=compact;table={table}");
    let events = get(&server, &format!("{MAPS}?watch=1&timeoutSeconds=1"), &accept).frames();
    let event = &events[0];
    assert_eq!(Managers::from_value(&entries(event.get("object").unwrap())).unwrap(), managers);
}

#[test]
fn compact_managers_of_another_table_are_refused() {
    let server = Server::start();
    let path = format!("{MAPS}/a");
    server.apply(
        &path,
        "alice",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#,
    );
    let object = get(&server, &path, "application/json;managedFields=compact").document();
    let entry = entries(&object).as_array().unwrap()[0].clone();
    let fields_type = entry.get("fieldsType").and_then(Value::as_str).unwrap().to_string();
    for (from, to, says) in [
        (fields_type.as_str(), "Compact/0123", "this release has no table"),
        (entry.get("fieldsV1").and_then(Value::as_str).unwrap(), "gQ==", "fieldsV1: "),
        (entry.get("fieldsV1").and_then(Value::as_str).unwrap(), "AA==", "were not written with table"),
        (entry.get("fieldsV1").and_then(Value::as_str).unwrap(), "***", "expected base64"),
    ] {
        let response = server.put(&path, &object.to_string().replace(from, to));
        assert_eq!(response.code, 400, "{}", response.text());
        let message = response.field("message");
        let place =
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: metadata.managedFields[0]: "#;
        assert!(message.starts_with(place) && message.contains(says), "{message}");
    }
    // Managers can be changed in this form as in the other.
    let managers = Managers::from_value(&entries(&object)).unwrap();
    let renamed = managers.iter().map(|manager| {
        let mut manager = manager.clone();
        manager.name = "bob".into();
        manager
    });
    let compact = renamed.collect::<Managers>().to_compact().unwrap().to_value();
    let body = object.to_string().replace(&entry.to_string(), &compact.to_string());
    let response = server.put(&format!("{path}?fieldManager=bob"), &body);
    assert_eq!(response.code, 200, "{}", response.text());
    assert!(response.text().contains(r#""manager":"bob","operation":"Apply""#), "{}", response.text());
}
