//! The format of a response for each `Accept` header and each kind of endpoint, as one table.

use crate::{
    http::{Request, Response},
    server::Server,
};
use tenure_value::{Limits, Value, yaml};

const JSON: &str = "application/json";
const CBOR: &str = "application/cbor";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.org/v1/namespaces/default/widgets";
const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.example.org"},"spec":{"group":"example.org","scope":"Namespaced",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget"},"versions":[{"name":"v1","served":true,
    "storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;

/// Parses a response by its content type, and returns its kind.
fn kind(response: &Response) -> String {
    let media_type = response.header("content-type").unwrap_or_default();
    let limits = Limits::default();
    let document = match media_type {
        CBOR => tenure_codec::cbor::decode(&response.body, &limits).expect("the body is CBOR"),
        PROTOBUF => tenure_codec::protobuf::decode(&response.body, &limits).expect("the body is protobuf"),
        YAML => yaml::parse(&response.body, &limits).expect("the body is YAML"),
        _ => response.document(),
    };
    document.get("kind").and_then(Value::as_str).unwrap_or_default().to_string()
}

#[test]
fn a_client_gets_its_most_preferred_supported_format() {
    let server = Server::start();
    server.create(MAPS, r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#);
    server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
    server.create(WIDGETS, r#"{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"}}"#);
    let (one, absent, widget) = (format!("{MAPS}/a"), format!("{MAPS}/b"), format!("{WIDGETS}/w"));
    let either = format!("{PROTOBUF},{JSON}");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let partial = |encoding: &str, kind: &str| format!("{encoding};as={kind};v=v1;g=meta.k8s.io");
    let rows: &[(&str, &str, u16, &str, &str)] = &[
        // The format of one object, by preference, quality and wildcard.
        (&one, "", 200, JSON, "ConfigMap"),
        (&one, "*/*", 200, JSON, "ConfigMap"),
        (&one, "application/*", 200, JSON, "ConfigMap"),
        (&one, YAML, 200, YAML, "ConfigMap"),
        (&one, PROTOBUF, 200, PROTOBUF, "ConfigMap"),
        (&one, &either, 200, PROTOBUF, "ConfigMap"),
        (&one, &format!("{JSON},{PROTOBUF}"), 200, JSON, "ConfigMap"),
        (&one, &format!("{JSON};q=0.5,{YAML};q=0.8,{PROTOBUF};q=0.1"), 200, YAML, "ConfigMap"),
        (&one, &format!("{PROTOBUF};q=0,{JSON};q=0.1"), 200, JSON, "ConfigMap"),
        (&one, "text/html, image/png;q=0.9, */*;q=0.1", 200, JSON, "ConfigMap"),
        (&one, "APPLICATION/JSON; charset=utf-8", 200, JSON, "ConfigMap"),
        // Tables and metadata, and the next accepted format if they are not available.
        (&one, table, 200, JSON, "Table"),
        (&one, &format!("{table},{JSON}"), 200, JSON, "Table"),
        (&one, &format!("{};q=0.9,{JSON};q=0.1", partial(PROTOBUF, "Table")), 200, JSON, "ConfigMap"),
        (&one, &partial(PROTOBUF, "PartialObjectMetadata"), 200, PROTOBUF, "PartialObjectMetadata"),
        (&one, &partial(YAML, "PartialObjectMetadata"), 200, YAML, "PartialObjectMetadata"),
        (MAPS, &partial(PROTOBUF, "PartialObjectMetadataList"), 200, PROTOBUF, "PartialObjectMetadataList"),
        (MAPS, PROTOBUF, 200, PROTOBUF, "ConfigMapList"),
        (MAPS, YAML, 200, YAML, "ConfigMapList"),
        // Errors come in the same format.
        (&absent, PROTOBUF, 404, PROTOBUF, "Status"),
        (&absent, YAML, 404, YAML, "Status"),
        (&absent, table, 404, JSON, "Status"),
        // Custom resources have no protobuf encoding.
        (&widget, &either, 200, JSON, "Widget"),
        (&widget, YAML, 200, YAML, "Widget"),
        (&widget, PROTOBUF, 406, PROTOBUF, "Status"),
        // CBOR is for every kind, for metadata and for errors, and not for tables.
        (&one, CBOR, 200, CBOR, "ConfigMap"),
        (&one, &format!("{JSON};q=0.5,{CBOR}"), 200, CBOR, "ConfigMap"),
        (&one, &format!("{CBOR},{JSON};q=0.9"), 200, CBOR, "ConfigMap"),
        (&one, &format!("{CBOR};q=0.5,{JSON}"), 200, JSON, "ConfigMap"),
        (&one, &partial(CBOR, "Table"), 406, JSON, "Status"),
        (&one, &format!("{},{table}", partial(CBOR, "Table")), 200, JSON, "Table"),
        (&one, &partial(CBOR, "PartialObjectMetadata"), 200, CBOR, "PartialObjectMetadata"),
        (MAPS, CBOR, 200, CBOR, "ConfigMapList"),
        (MAPS, "application/cbor-seq", 406, JSON, "Status"),
        (MAPS, &partial(CBOR, "PartialObjectMetadataList"), 200, CBOR, "PartialObjectMetadataList"),
        (&absent, CBOR, 404, CBOR, "Status"),
        (&widget, CBOR, 200, CBOR, "Widget"),
        (WIDGETS, CBOR, 200, CBOR, "WidgetList"),
        (&format!("{WIDGETS}/none"), CBOR, 404, CBOR, "Status"),
        ("/api/v1", CBOR, 200, CBOR, "APIResourceList"),
        // The resources of a version are offered as CBOR if they are built in.
        ("/apis/apps/v1", CBOR, 200, CBOR, "APIResourceList"),
        ("/apis/example.org/v1", CBOR, 406, CBOR, "Status"),
        ("/apis/example.org/v1", "application/cbor, */*", 200, JSON, "APIResourceList"),
        ("/api", CBOR, 200, CBOR, "APIVersions"),
        ("/apis", CBOR, 200, CBOR, "APIGroupList"),
        ("/apis/apps", CBOR, 200, CBOR, "APIGroup"),
        ("/openapi/v2", CBOR, 406, JSON, "Status"),
        // Discovery.
        ("/api/v1", &either, 200, PROTOBUF, "APIResourceList"),
        ("/apis", &either, 200, PROTOBUF, "APIGroupList"),
        ("/apis", YAML, 200, YAML, "APIGroupList"),
        // Formats that no endpoint supports.
        (&one, "text/html", 406, JSON, "Status"),
        (MAPS, "application/nope", 406, JSON, "Status"),
    ];
    for (path, accept, code, media_type, wanted) in rows {
        let response = server.send(&Request::new("GET", path).header("Accept", accept));
        let got = (response.code, response.header("content-type").unwrap_or_default(), kind(&response));
        assert_eq!(got, (*code, *media_type, wanted.to_string()), "{path} {accept}: {}", response.text());
    }
    let streams = server.send(&Request::new("GET", MAPS).header("Accept", "application/nope")).text();
    assert!(streams.contains("application/vnd.kubernetes.protobuf;stream=watch"), "{streams}");
    let alone = server.send(&Request::new("GET", &one).header("Accept", "application/nope")).text();
    assert!(!alone.contains("stream=watch"), "{alone}");
}

#[test]
fn objects_that_are_not_stored_have_no_table() {
    let server = Server::start();
    let review = r#"{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}"#;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for (accept, code, wanted) in [
        (table.to_string(), 406, "Status"),
        (format!("{table},{JSON}"), 201, "SelfSubjectAccessReview"),
        (PROTOBUF.to_string(), 201, "SelfSubjectAccessReview"),
    ] {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let request = Request::new("POST", path).body(JSON, review).header("Accept", &accept);
        let response = server.send(&request);
        assert_eq!(
            (response.code, kind(&response).as_str()),
            (code, wanted),
            "{accept}: {}",
            response.text()
        );
    }
}

#[test]
fn unreadable_managers_in_protobuf_are_ignored() {
    let server = Server::start();
    let managers = r#"[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]"#;
    let object: Value = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","managedFields":{managers}}},"data":{{"k":"v"}}}}"#
    )
    .parse()
    .unwrap();
    let mut body = tenure_codec::protobuf::encode(&object).expect("it has an encoding").to_vec();
    // The last brace of the fields becomes a second opening one.
    let fields = br#"{"f:data":{}}"#;
    let at = body.windows(fields.len()).position(|window| window == fields).expect("the fields are there");
    body[at + fields.len() - 1] = b'{';
    let created = server.send(&Request::new("POST", &format!("{MAPS}?fieldManager=c")).body(PROTOBUF, body));
    assert_eq!(created.code, 201, "{}", created.text());
    let managers = created.document().at(["metadata", "managedFields"]).cloned().unwrap();
    let managers = managers.as_array().unwrap();
    let names: Vec<_> = managers.iter().filter_map(|entry| entry.get("manager")?.as_str()).collect();
    assert_eq!(names, ["c"]);
}

#[test]
fn aggregated_discovery_comes_in_protobuf_too() {
    let server = Server::start();
    let accept = format!("{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let json = accept.replace(PROTOBUF, JSON);
    for path in ["/api", "/apis"] {
        let response = server.send(&Request::new("GET", path).header("Accept", &accept));
        assert_eq!(response.header("content-type"), Some(accept.as_str()));
        let read =
            tenure_codec::protobuf::decode(&response.body, &Limits::default()).expect("the body is protobuf");
        let groups =
            |list: &Value| list.get("items").and_then(Value::as_array).map_or(0, |items| items.len());
        let text = server.send(&Request::new("GET", path).header("Accept", &json)).document();
        assert!(groups(&read) > 0 && groups(&read) == groups(&text), "{path}");
    }
}

#[test]
fn a_scale_is_also_a_table_and_beta_views_have_their_version() {
    let server = Server::start();
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    server.create(
        sets,
        r#"{"metadata":{"name":"r"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    );
    let read = |path: &str, accept: &str| {
        server.send(&Request::new("GET", path).header("accept", accept)).document()
    };
    let table = read(&format!("{sets}/r/scale"), "application/json;as=Table;g=meta.k8s.io;v=v1beta1");
    assert_eq!(table.get("apiVersion"), Some(&"meta.k8s.io/v1beta1".into()));
    let row = &table.get("rows").and_then(Value::as_array).expect("rows")[0];
    let cells = row.get("cells").and_then(Value::as_array).expect("cells");
    assert_eq!(cells.items()[..3], ["r".into(), Value::from(2), Value::from(0)]);
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1";
    assert_eq!(read(&format!("{sets}/r"), partial).get("apiVersion"), Some(&"meta.k8s.io/v1beta1".into()));
}

#[test]
fn no_response_is_for_shared_caches_and_exports_are_refused() {
    let server = Server::start();
    for path in ["/", "/healthz", "/api", "/apis/apps/v1", "/api/v1/namespaces", "/absent"] {
        let control = server.get(path).header("cache-control").unwrap_or_default().to_string();
        assert!(control.contains("private"), "{path}: {control:?}");
    }
    assert_eq!(server.get("/api/v1/namespaces/default?export=true").code, 400);
    assert_eq!(server.get("/api/v1/namespaces/default?export=false").code, 200);
}
