//! Requests for custom resources: where they differ from built-in kinds, and rules of all kinds.

use crate::{
    http::Request,
    server::{APPLY, JSON_PATCH, MERGE_PATCH, Server, metadata, version},
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PARTS: &str = "/apis/a.example.com/v1/namespaces/default/parts";

/// A server with a resource `parts` whose specs have these properties.
fn with_parts(properties: &str) -> Server {
    let server = Server::start();
    let definition = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"parts.a.example.com"}},
        "spec":{{"group":"a.example.com","scope":"Namespaced","names":{{"plural":"parts","kind":"Part"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{
          "spec":{{"type":"object","properties":{{{properties}}}}}}}}}}}}}]}}}}"#
    );
    server.create(DEFINITIONS, &definition);
    server
}

/// A part with this metadata besides its name, and this spec.
fn part(name: &str, metadata: &str, spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"a.example.com/v1","kind":"Part","metadata":{{"name":"{name}"{metadata}}},"spec":{{{spec}}}}}"#
    )
}

fn posted(server: &Server, body: &str) -> (u16, String) {
    let response = server.post(PARTS, body);
    (response.code, response.text())
}

#[test]
fn a_list_of_custom_objects_ends_with_an_empty_token() {
    let server = with_parts("");
    for name in ["a", "b", "c"] {
        server.create(PARTS, &part(name, "", ""));
    }
    let token = |path: &str| server.get(path).document().at(["metadata", "continue"]).cloned();
    assert_eq!(token(PARTS), Some("".into()));
    assert_eq!(token(&format!("{PARTS}?labelSelector=x")), Some("".into()));
    let more = token(&format!("{PARTS}?limit=2")).unwrap_or_default();
    assert!(more.as_str().is_some_and(|token| !token.is_empty()), "{more}");
    // A request that accepts any version gets all.
    assert_eq!(token(&format!("{PARTS}?limit=2&resourceVersion=0")), Some("".into()));
    assert_eq!(token("/api/v1/namespaces"), None);
    let partial = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let partial = server.send(&Request::new("GET", PARTS).header("Accept", partial)).document();
    assert_eq!(partial.at(["metadata", "continue"]), None);
}

#[test]
fn a_deletion_checks_the_preconditions_of_its_query() {
    let server = with_parts("");
    let made = server.create(PARTS, &part("a", "", ""));
    let path = format!("{PARTS}/a");
    for (query, words) in [
        ("uid=x", "the UID in the precondition (x) does not match the UID in record"),
        ("resourceVersion=1", "the ResourceVersion in the precondition (1) does not match"),
    ] {
        let refused = server.delete(&format!("{path}?{query}"));
        assert_eq!(refused.code, 409, "{query}");
        let message = refused.field("message");
        let start = "Operation cannot be fulfilled on Part.a.example.com \"a\": ";
        assert!(message.starts_with(start) && message.contains(words), "{message}");
    }
    // Options of writes do not apply to a deletion.
    let right =
        format!("{path}?uid={}&fieldValidation=x&fieldManager=%07", metadata(&made, "uid").as_str().unwrap());
    assert_eq!(server.delete(&right).code, 200);
}

#[test]
fn a_foreground_deletion_reports_whether_it_is_complete() {
    let server = with_parts("");
    server.create(PARTS, &part("a", r#","finalizers":["x"]"#, ""));
    let options = r#"{"kind":"DeleteOptions","apiVersion":"v1","orphanDependents":false}"#;
    let delete = |path: &str| Request::new("DELETE", path).body("application/json", options.to_string());
    let path = format!("{PARTS}/a");
    assert_eq!(server.send(&delete(&path)).code, 202);
    assert_eq!(server.delete(&path).code, 200);
}

#[test]
fn a_custom_object_needs_its_api_version_and_kind() {
    let server = with_parts("");
    for body in [
        r#"{"metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"a.example.com/v1","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"a.example.com/v1","Kind":"Part","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"a.example.com/v1","kind":"","metadata":{"name":"a"}}"#,
        r#"{"kind":"Part","metadata":{"name":"a"}}"#,
    ] {
        let (code, text) = posted(&server, body);
        assert!(code == 400 && text.contains("is missing"), "{body}: {text}");
    }
    server.create(PARTS, &part("a", "", ""));
    let path = format!("{PARTS}/a");
    for (media_type, patch) in [
        (MERGE_PATCH, r#"{"kind":null}"#),
        (MERGE_PATCH, r#"{"kind":""}"#),
        (MERGE_PATCH, r#"{"apiVersion":null}"#),
        (JSON_PATCH, r#"[{"op":"remove","path":"/kind"}]"#),
    ] {
        assert_eq!(server.patch(&path, media_type, patch).code, 400, "{patch}");
    }
    // For a built-in kind, the path determines it.
    let plain = Request::new("POST", "/api/v1/namespaces/default/configmaps")
        .body("application/json", r#"{"metadata":{"name":"a"}}"#.to_string());
    assert_eq!(server.send(&plain).code, 201);
}

#[test]
fn an_applied_configuration_without_a_name_gets_that_of_the_path() {
    let server = with_parts(r#""a":{"type":"string"}"#);
    let path = format!("{PARTS}/a?fieldManager=m");
    let config = r#"{"apiVersion":"a.example.com/v1","kind":"Part","spec":{"a":"x"}}"#;
    assert_eq!(server.patch(&path, APPLY, config).code, 400);
    server.create(PARTS, &part("a", "", ""));
    let applied = server.patch(&path, APPLY, config);
    assert_eq!(applied.code, 200, "{}", applied.text());
    assert_eq!(applied.document().at(["spec", "a"]), Some(&"x".into()));
    let other = config.replace("\"spec\"", "\"metadata\":{\"name\":\"b\"},\"spec\"");
    assert_eq!(server.patch(&path, APPLY, &other).code, 400);
}

#[test]
fn custom_objects_have_any_finalizer_and_built_in_kinds_known_ones() {
    let server = with_parts("");
    let made = server.create(PARTS, &part("a", r#","finalizers":["cleanup"]"#, ""));
    assert_eq!(metadata(&made, "finalizers").to_string(), r#"["cleanup"]"#);
    let (code, _) = posted(&server, &part("b", r#","finalizers":["no name"]"#, ""));
    assert_eq!(code, 422);
    let map = r#"{"metadata":{"name":"a","finalizers":["cleanup"]}}"#;
    let plain = Request::new("POST", "/api/v1/namespaces/default/configmaps");
    assert_eq!(server.send(&plain.body("application/json", map.to_string())).code, 422);
}

#[test]
fn invalid_metadata_is_refused() {
    let server = with_parts("");
    for (metadata, code) in [
        (r#","resourceVersion":1"#, 400),
        (r#","managedFields":[{"manager":"m","operation":"Update","time":"soon"}]"#, 400),
        (r#","ownerReferences":[{"apiVersion":"a/b/c","kind":"Pod","name":"a","uid":"u"}]"#, 422),
    ] {
        let (is, text) = posted(&server, &part("a", metadata, ""));
        assert_eq!(is, code, "{metadata}: {text}");
    }
    server.create(PARTS, &part("b", "", ""));
    let entry = r#"{"metadata":{"managedFields":[{"manager":"m\n","operation":"Update","apiVersion":"a.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]}}"#;
    let refused = server.patch(&format!("{PARTS}/b"), MERGE_PATCH, entry);
    assert!(refused.code == 422 && refused.text().contains("U+000A (at position 1)"), "{}", refused.text());
    // Only a deletion sets the time of deletion, and no manager owns it.
    let new = server.create(PARTS, &part("a", r#","deletionTimestamp":"2020-01-01T00:00:00Z""#, ""));
    assert!(!new.to_string().contains("deletion"), "{new}");
}

#[test]
fn an_invalid_or_future_resource_version_is_refused() {
    let server = with_parts("");
    let made = server.create(PARTS, &part("a", "", ""));
    let code = |version: &str| server.get(&format!("{PARTS}/a?resourceVersion={version}")).code;
    assert_eq!(
        [code("0"), code(&version(&made)), code("x"), code("-1"), code("99999999")],
        [200, 200, 400, 400, 504]
    );
    assert_eq!(server.get(&format!("{PARTS}?timeoutSeconds=x")).code, 400);
    assert_eq!(server.get(&format!("{PARTS}?timeout=x")).code, 400);
    assert_eq!(server.get(&format!("{PARTS}?timeout=30s")).code, 200);
}

#[test]
fn only_reads_span_all_namespaces() {
    let server = with_parts("");
    assert_eq!(server.get("/apis/a.example.com/v1/parts").code, 200);
    assert_eq!(server.delete("/apis/a.example.com/v1/parts").code, 404);
    server.create(PARTS, &part("a", "", ""));
    let missing = server.get(&format!("{PARTS}/a/nothing"));
    assert_eq!((missing.code, missing.document().at(["details", "name"]).cloned()), (404, Some("a".into())));
}

#[test]
fn integers_have_64_bits_and_a_null_must_be_listed() {
    let server = with_parts(
        r#""i":{"type":"integer"},"n":{"type":"number"},"m":{"type":"number","minimum":0.5,"multipleOf":0.25},"s":{"x-kubernetes-int-or-string":true},
        "e":{"type":"string","nullable":true,"enum":["a"]},"f":{"type":"string","nullable":true,"enum":["a",null]},
        "o":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}"#,
    );
    for (spec, right) in [
        (r#""i":9223372036854775807"#, true),
        (r#""i":9223372036854775808"#, false),
        (r#""i":1e30"#, false),
        (r#""i":-9223372036854775809"#, false),
        (r#""s":9223372036854775808"#, false),
        (r#""n":9223372036854775808"#, true),
        (r#""m":0"#, false),
        (r#""m":1"#, true),
        (r#""m":0.6"#, false),
        (r#""e":null"#, false),
        (r#""f":null"#, true),
        (r#""o":{"apiVersion":"a/b/c","kind":"X"}"#, false),
        (r#""o":{"apiVersion":"a/b","kind":"X"}"#, true),
    ] {
        let body = part("a", "", spec);
        let request = Request::new("POST", &format!("{PARTS}?dryRun=All")).body("application/json", body);
        let response = server.send(&request);
        assert_eq!(response.code, if right { 201 } else { 422 }, "{spec}: {}", response.text());
    }
}

#[test]
fn without_a_status_subresource_a_status_change_raises_the_generation() {
    let status =
        r#"{"type":"object","properties":{"status":{"type":"object","properties":{"s":{"type":"string"}}}}}"#;
    for (parts, generation) in [("", 2), (r#","subresources":{"status":{}}"#, 1)] {
        let server = Server::start();
        let definition = format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"parts.a.example.com"}},
            "spec":{{"group":"a.example.com","scope":"Namespaced","names":{{"plural":"parts","kind":"Part"}},
            "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{status}}}{parts}}}]}}}}"#
        );
        server.create(DEFINITIONS, &definition);
        server.create(PARTS, &part("a", "", ""));
        let path = format!("{PARTS}/a");
        let changed = server.patch(&path, MERGE_PATCH, r#"{"status":{"s":"x"}}"#);
        assert_eq!(metadata(&changed.document(), "generation"), generation.into(), "{}", changed.text());
    }
}

#[test]
fn managers_survive_writes_at_a_version_that_knows_more_or_leaves_their_part_alone() {
    let server = Server::start();
    let version = |name: &str, storage: bool, more: &str| {
        format!(
            r#"{{"name":"{name}","served":true,"storage":{storage},"subresources":{{"status":{{}}}},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{
            "spec":{{"type":"object","properties":{{"a":{{"type":"string"}}{more}}}}},"status":{{"type":"object","properties":{{"s":{{"type":"string"}}}}}}}}}}}}}}"#
        )
    };
    let definition = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"parts.a.example.com"}},
        "spec":{{"group":"a.example.com","scope":"Namespaced","names":{{"plural":"parts","kind":"Part"}},"versions":[{},{}]}}}}"#,
        version("v1", true, ""),
        version("v2", false, r#","b":{"type":"string","default":"two"}"#)
    );
    server.create(DEFINITIONS, &definition);
    server.create(PARTS, &part("a", "", r#""a":"1""#));
    let status =
        r#"{"apiVersion":"a.example.com/v1","kind":"Part","metadata":{"name":"a"},"status":{"s":"x"}}"#;
    assert_eq!(server.apply(&format!("{PARTS}/a/status"), "controller", status).code, 200);
    let newer = format!("{}/a?fieldManager=writer", PARTS.replace("/v1/", "/v2/"));
    let live = server.get(&newer).document();
    let body = format!(
        r#"{{"apiVersion":"a.example.com/v2","kind":"Part","metadata":{{"name":"a","resourceVersion":"{}"}},"spec":{{"a":"2"}}}}"#,
        self::version(&live)
    );
    let put = server.send(&Request::new("PUT", &newer).body("application/json", body));
    assert_eq!(put.code, 200, "{}", put.text());
    let managers = metadata(&put.document(), "managedFields").to_string();
    assert!(
        managers.contains(r#""manager":"controller""#) && managers.contains(r#""manager":"writer""#),
        "{managers}"
    );
}

#[test]
fn a_patch_of_a_missing_object_is_not_found_before_it_is_invalid() {
    let server = with_parts("");
    let path = format!("{PARTS}/a");
    for media_type in [MERGE_PATCH, JSON_PATCH] {
        assert_eq!(server.patch(&path, media_type, "{").code, 404, "{media_type}");
    }
    server.create(PARTS, &part("a", "", ""));
    assert_eq!(server.patch(&path, MERGE_PATCH, "{").code, 400);
}

#[test]
fn a_cell_shows_the_first_of_several_values() {
    let server = Server::start();
    let definition = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"parts.a.example.com"},
        "spec":{"group":"a.example.com","scope":"Namespaced","names":{"plural":"parts","kind":"Part"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
          "additionalPrinterColumns":[{"name":"L","type":"string","jsonPath":".spec.l[*]"}]}]}}"#;
    server.create(DEFINITIONS, definition);
    server.create(PARTS, &part("a", "", r#""l":["p","q"]"#));
    let table = Request::new("GET", PARTS).header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = server.send(&table).document().to_string();
    assert!(table.contains(r#""cells":["a","p"]"#), "{table}");
}
