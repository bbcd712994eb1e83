//! The guarantees of Kubernetes for definitions and their objects, one test each: definitions as objects, defaults, published
//! documents, strict validation, selectable fields, watches, status, scale.

use crate::{
    http::Request,
    server::{APPLY, JSON_PATCH, MERGE_PATCH, Server, metadata, version},
};
use tenure_value::Value;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of `parts.GROUP` with one version `v1`.
fn definition(group: &str, schema: &str, rest: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"parts.{group}","labels":{{"of":"{group}"}}}},
        "spec":{{"group":"{group}","scope":"Namespaced","names":{{"plural":"parts","singular":"part","kind":"Part","listKind":"PartList","shortNames":["pt"],"categories":["all"]}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}{rest}}}]}}}}"#
    )
}

const ANYTHING: &str = r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#;
const STRICT: &str = r#"{"description":"A part of something","type":"object","properties":{
    "spec":{"description":"What is wanted","type":"object","properties":{
      "bars":{"description":"The bars","type":"array","items":{"type":"object","required":["name"],"properties":{
        "name":{"description":"The name of a bar","type":"string"},"feeling":{"type":"string","enum":["Great","Down"]},"bazs":{"type":"array","items":{"type":"string"}}}}},
      "color":{"type":"string"},"size":{"type":"integer"},"replicas":{"type":"integer"},
      "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}},
    "status":{"description":"What is","type":"object","properties":{"replicas":{"type":"integer"},"phase":{"type":"string"},"selector":{"type":"string"}}}}}"#;

fn place(group: &str) -> String {
    format!("/apis/{group}/v1/namespaces/default/parts")
}

fn part(group: &str, name: &str, rest: &str) -> String {
    format!(r#"{{"apiVersion":"{group}/v1","kind":"Part","metadata":{{"name":"{name}"}}{rest}}}"#)
}

/// Returns the text of a warning header.
fn unquoted(header: &str) -> String {
    let words = header.strip_prefix("299 - \"").and_then(|rest| rest.strip_suffix('"')).unwrap_or(header);
    words.replace("\\\"", "\"")
}

fn items(value: &Value) -> Vec<Value> {
    value.get("items").and_then(Value::as_array).map(|items| items.to_vec()).unwrap_or_default()
}

fn names(list: &Value) -> Vec<String> {
    items(list).iter().map(|item| metadata(item, "name").as_str().unwrap_or_default().to_string()).collect()
}

#[test]
fn a_definition_is_established_on_create_and_deleted_with_its_objects() {
    let server = Server::start();
    let made = server.create(DEFINITIONS, &definition("a.example.com", ANYTHING, ""));
    let conditions = made.at(["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let holds = |expression: &str| {
        let is = |condition: &&Value| condition.get("type") == Some(&expression.into());
        conditions.iter().find(is).and_then(|condition| condition.get("status")).cloned()
    };
    assert_eq!((holds("NamesAccepted"), holds("Established")), (Some("True".into()), Some("True".into())));
    server.create(&place("a.example.com"), &part("a.example.com", "x", r#","anything":{"goes":[1]}"#));
    let groups = server.get("/apis").text();
    assert!(groups.contains("a.example.com"));
    let resources = server.get("/apis/a.example.com/v1").document();
    assert!(resources.to_string().contains(r#""shortNames":["pt"]"#), "{resources}");
    let marked = server.delete(&format!("{DEFINITIONS}/parts.a.example.com")).document();
    assert!(metadata(&marked, "deletionTimestamp").as_str().is_some(), "{marked}");
}

#[test]
fn definitions_are_listed_and_deleted_by_label() {
    let server = Server::start();
    for group in ["a.example.com", "b.example.com", "c.example.com"] {
        let body = definition(group, ANYTHING, "").replace(r#""of":"a."#, r#""of":"x."#);
        server.create(DEFINITIONS, &body);
    }
    let some = format!("{DEFINITIONS}?labelSelector=of+in+(b.example.com,c.example.com)");
    assert_eq!(names(&server.get(&some).document()), ["parts.b.example.com", "parts.c.example.com"]);
    let deleted = server.delete(&some);
    assert_eq!(deleted.code, 200, "{}", deleted.text());
    let going = items(&server.get(DEFINITIONS).document());
    let stays = going.iter().filter(|object| metadata(object, "deletionTimestamp").is_null());
    let stays: Vec<Value> = stays.map(|object| metadata(object, "name")).collect();
    assert_eq!(stays, ["parts.a.example.com".into()]);
}

#[test]
fn the_status_of_a_definition_is_read_updated_and_patched_on_its_own() {
    let server = Server::start();
    let made = server.create(DEFINITIONS, &definition("a.example.com", ANYTHING, ""));
    let status = format!("{DEFINITIONS}/parts.a.example.com/status");
    let read = server.get(&status).document();
    assert_eq!(read.get("spec"), made.get("spec"));
    let added = read.to_string().replacen(
        r#""conditions":["#,
        r#""conditions":[{"type":"","status":"","lastTransitionTime":null,"message":"updated"},"#,
        1,
    );
    let updated = server.send(&Request::new("PUT", &status).body("application/json", added));
    assert_eq!(updated.code, 200, "{}", updated.text());
    assert!(updated.text().contains(r#""message":"updated""#), "{}", updated.text());
    let patch = r#"[{"op":"add","path":"/status/conditions","value":[{"message":"patched"}]}]"#;
    let patched = server.patch(&status, JSON_PATCH, patch);
    assert_eq!(patched.code, 200, "{}", patched.text());
    assert!(patched.text().contains(r#""message":"patched""#) && !patched.text().contains(r#""updated""#));
    // The server restores the status of the definition, and serves the resource throughout.
    assert!(patched.text().contains("Established"));
    assert_eq!(server.get(&place("a.example.com")).code, 200);
    // The status endpoint does not write the rest of the definition.
    let other = server.patch(&status, MERGE_PATCH, r#"{"spec":{"scope":"Cluster"}}"#);
    assert_eq!(other.document().at(["spec", "scope"]), Some(&"Namespaced".into()));
}

#[test]
fn defaults_are_set_on_write_and_on_read() {
    let server = Server::start();
    let schema = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#;
    server.create(DEFINITIONS, &definition("a.example.com", schema, ""));
    let place = place("a.example.com");
    server.create(&place, &part("a.example.com", "first", ""));
    let field =
        |name: &str, member: &str| server.get(&format!("{place}/{name}")).document().get(member).cloned();
    assert_eq!(field("first", "a"), None);
    let schema_at = "/spec/versions/0/schema/openAPIV3Schema/properties";
    let path = format!("{DEFINITIONS}/parts.a.example.com");
    let patch = format!(r#"[{{"op":"add","path":"{schema_at}/a/default","value":"A"}}]"#);
    assert_eq!(server.patch(&path, JSON_PATCH, &patch).code, 200);
    assert_eq!(field("first", "a"), Some("A".into()), "filled in on reading");
    let second = server.create(&place, &part("a.example.com", "second", ""));
    assert_eq!(second.get("a"), Some(&"A".into()), "filled in on request");
    let patch = format!(
        r#"[{{"op":"remove","path":"{schema_at}/a/default"}},{{"op":"add","path":"{schema_at}/b/default","value":"B"}}]"#
    );
    assert_eq!(server.patch(&path, JSON_PATCH, &patch).code, 200);
    assert_eq!((field("first", "a"), field("first", "b")), (None, Some("B".into())), "never stored");
    assert_eq!((field("second", "a"), field("second", "b")), (Some("A".into()), Some("B".into())), "stored");
}

#[test]
fn the_published_documents_follow_the_definitions_at_once() {
    let server = Server::start();
    let v2 = || server.get("/openapi/v2").document();
    let name = "com.example.a.v1.Part";
    assert!(v2().at(["definitions", name]).is_none());
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, ""));
    let published = v2().at(["definitions", name]).cloned().unwrap_or_default();
    assert_eq!(published.get("description"), Some(&"A part of something".into()));
    let bars = published.at(["properties", "spec", "properties", "bars"]).cloned().unwrap_or_default();
    let written = r#"{"description":"The bars","items":{"properties":{"bazs":{"items":{"type":"string"},"type":"array"},"feeling":{"enum":["Great","Down"],"type":"string"},"name":{"description":"The name of a bar","type":"string"}},"required":["name"],"type":"object"},"type":"array"}"#;
    assert_eq!(bars.to_string(), written, "as the definition says it");
    let identity = r#"[{"group":"a.example.com","kind":"Part","version":"v1"}]"#;
    assert_eq!(
        published.get("x-kubernetes-group-version-kind").map(Value::to_string).as_deref(),
        Some(identity)
    );
    let words = published.at(["properties", "apiVersion", "description"]).and_then(Value::as_str);
    assert!(words.is_some_and(|words| words.contains("APIVersion defines")), "{words:?}");
    let v3 = server.get("/openapi/v3/apis/a.example.com/v1").document();
    assert!(v3.at(["components", "schemas", name, "properties", "spec", "properties", "color"]).is_some());
    let created = v3.at([
        "components",
        "schemas",
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "properties",
        "creationTimestamp",
        "description",
    ]);
    assert!(
        created
            .and_then(Value::as_str)
            .is_some_and(|words| words.starts_with("CreationTimestamp is a timestamp"))
    );
    // Two versions, one of which is renamed and then no longer served.
    let second = |name: &str, served: bool| {
        format!(
            r#"[{{"op":"add","path":"/spec/versions/1","value":{{"name":"{name}","served":{served},"storage":false,"schema":{{"openAPIV3Schema":{ANYTHING}}}}}}}]"#
        )
    };
    let path = format!("{DEFINITIONS}/parts.a.example.com");
    let shows = |version: &str| {
        let name = format!("com.example.a.{version}.Part");
        let in_index = server.get("/openapi/v3").text().contains(&format!("apis/a.example.com/{version}?"));
        (v2().at(["definitions", name.as_str()]).is_some(), in_index)
    };
    assert_eq!(server.patch(&path, JSON_PATCH, &second("v3", true)).code, 200);
    assert_eq!((shows("v1"), shows("v3")), ((true, true), (true, true)));
    let renamed = r#"[{"op":"replace","path":"/spec/versions/1/name","value":"v4"}]"#;
    assert_eq!(server.patch(&path, JSON_PATCH, renamed).code, 200);
    assert_eq!((shows("v3"), shows("v4")), ((false, false), (true, true)));
    let unserved = r#"[{"op":"replace","path":"/spec/versions/1/served","value":false}]"#;
    assert_eq!(server.patch(&path, JSON_PATCH, unserved).code, 200);
    assert_eq!((shows("v1"), shows("v4")), ((true, true), (false, false)));
    assert_eq!(server.get("/apis/a.example.com/v4/namespaces/default/parts").code, 404);
}

#[test]
fn kinds_of_one_group_and_version_stand_side_by_side_in_the_documents() {
    let server = Server::start();
    let other = |text: String| {
        text.replace("parts", "pieces")
            .replace("part", "piece")
            .replace("Part", "Piece")
            .replace("\"pt\"", "\"pc\"")
    };
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, ""));
    server.create(DEFINITIONS, &other(definition("a.example.com", ANYTHING, "")));
    server.create(DEFINITIONS, &definition("b.example.com", ANYTHING, ""));
    let v2 = server.get("/openapi/v2").document();
    for name in ["com.example.a.v1.Part", "com.example.a.v1.Piece", "com.example.b.v1.Part"] {
        assert!(v2.at(["definitions", name]).is_some(), "{name}");
    }
    let v3 = server.get("/openapi/v3/apis/a.example.com/v1").document();
    for name in ["com.example.a.v1.Part", "com.example.a.v1.PieceList"] {
        assert!(v3.at(["components", "schemas", name]).is_some(), "{name}");
    }
    assert!(v3.at(["components", "schemas", "com.example.b.v1.Part"]).is_none());
}

#[test]
fn strict_validation_names_every_unknown_and_repeated_field() {
    let server = Server::start();
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, ""));
    server.create(DEFINITIONS, &definition("b.example.com", ANYTHING, ""));
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","unknownMeta":1},"spec":{"unknownField":"x","replicas":2,"replicas":3,
        "selector":{"matchLabels":{"app":"n"}},"template":{"metadata":{"labels":{"app":"n"}},"spec":{"containers":[{"name":"n","image":"n","odd":1,"image":"m"}]}}}}"#;
    let parts = place("a.example.com");
    let odd = part(
        "a.example.com",
        "p",
        r#","spec":{"nope":1,"color":"a","color":"b","bars":[{"name":"x","name":"y","nope":1}],"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","odd":1}}}"#,
    )
    .replace(r#""name":"p""#, r#""name":"p","odd":1"#);
    let free = part("b.example.com", "q", r#","a":1,"a":2"#);
    for (path, body, strict_errors) in [
        (
            deployments.to_string(),
            deployment,
            r#"unknown field "metadata.unknownMeta", unknown field "spec.unknownField", duplicate field "spec.replicas", unknown field "spec.template.spec.containers[0].odd", duplicate field "spec.template.spec.containers[0].image""#,
        ),
        (
            parts.clone(),
            odd.as_str(),
            r#"duplicate field "spec.color", duplicate field "spec.bars[0].name", unknown field "metadata.odd", unknown field "spec.bars[0].nope", unknown field "spec.nope", unknown field "spec.template.metadata.odd""#,
        ),
        (place("b.example.com"), free.as_str(), r#"duplicate field "a""#),
    ] {
        let strict = server.post(&format!("{path}?fieldValidation=Strict"), body);
        assert_eq!(strict.code, 400, "{path}");
        assert!(
            strict.field("message").ends_with(&format!("strict decoding error: {strict_errors}")),
            "{}",
            strict.text()
        );
        let warned = server.post(&format!("{path}?fieldValidation=Warn&dryRun=All"), body);
        assert_eq!(warned.code, 201, "{}", warned.text());
        let warnings: Vec<String> = warned
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("warning"))
            .map(|(_, value)| unquoted(value))
            .collect();
        assert_eq!(warnings.join(", "), strict_errors, "{path}");
        let ignored = server.post(&format!("{path}?fieldValidation=Ignore&dryRun=All"), body);
        assert_eq!((ignored.code, ignored.header("warning")), (201, None), "{path}");
    }
    // An apply is parsed as YAML: duplicate keys are reported with their line, and unknown fields are refused.
    let twice = "apiVersion: b.example.com/v1\nkind: Part\nmetadata:\n  name: q\nspec:\n  foo: 1\n  foo: 2\n";
    let apply = |path: &str, validation: &str, body: &str| {
        server.patch(&format!("{path}?fieldManager=m&dryRun=All&fieldValidation={validation}"), APPLY, body)
    };
    let response = apply(&format!("{}/q", place("b.example.com")), "Strict", twice);
    assert!(
        response.field("message").contains("line 7: key \"foo\" already set in map"),
        "{}",
        response.text()
    );
    assert_eq!(apply(&format!("{}/q", place("b.example.com")), "Ignore", twice).code, 201);
    let unknown = "apiVersion: a.example.com/v1\nkind: Part\nmetadata:\n  name: p\nunknownField: 1\n";
    let response = apply(&format!("{parts}/p"), "Strict", unknown);
    assert!(
        response.field("message").contains(".unknownField: field not declared in schema"),
        "{}",
        response.text()
    );
    let valid =
        "apiVersion: a.example.com/v1\nkind: Part\nmetadata:\n  name: p\nspec:\n  bars:\n  - name: x\n";
    assert_eq!(apply(&format!("{parts}/p"), "Strict", valid).code, 201);
}

#[test]
fn objects_are_refused_for_what_their_schema_says() {
    let server = Server::start();
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, ""));
    for (spec, words) in [
        (r#"{"bars":[{"feeling":"Great"}]}"#, "spec.bars[0].name: Required value"),
        (r#"{"bars":[{"name":"x","feeling":"Odd"}]}"#, "Unsupported value: \"Odd\""),
        (r#"{"size":"large"}"#, "spec.size in body must be of type integer: \"string\""),
    ] {
        let response =
            server.post(&place("a.example.com"), &part("a.example.com", "x", &format!(r#","spec":{spec}"#)));
        assert_eq!(response.code, 422, "{spec}");
        assert!(response.field("message").contains(words), "{}", response.text());
    }
}

#[test]
fn a_wrong_version_is_a_bad_request_and_a_wrong_kind_is_invalid() {
    let server = Server::start();
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, ""));
    let body = part("a.example.com", "x", "");
    let version = server.post(&place("a.example.com"), &body.replace("a.example.com/v1", "a.example.com/v7"));
    assert_eq!(version.code, 400, "{}", version.text());
    assert_eq!(
        version.field("message"),
        "the API version in the data (a.example.com/v7) does not match the expected API version (a.example.com/v1)"
    );
    let kind = server.post(&place("a.example.com"), &body.replace("\"Part\"", "\"Piece\""));
    assert_eq!(kind.code, 422, "{}", kind.text());
    assert_eq!(
        kind.field("message"),
        "Piece.a.example.com \"x\" is invalid: kind: Invalid value: \"Piece\": must be Part"
    );
}

#[test]
fn lists_and_watches_are_selected_by_the_fields_that_a_definition_names() {
    let server = Server::start();
    let rest = r#","selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.size"}]"#;
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, rest));
    let place = place("a.example.com");
    let start = version(&server.get(&place).document());
    for (name, color, size) in [("a", "blue", 1), ("b", "blue", 2), ("c", "red", 1)] {
        let spec = format!(r#","spec":{{"color":"{color}","size":{size}}}"#);
        server.create(&place, &part("a.example.com", name, &spec));
    }
    for (selector, expected) in [
        ("spec.color=blue", &["a", "b"][..]),
        ("spec.color=blue,spec.size=2", &["b"]),
        ("spec.color!=blue", &["c"]),
        ("metadata.name=c", &["c"]),
        ("spec.size=3", &[]),
    ] {
        let list = server.get(&format!("{place}?fieldSelector={}", selector.replace('=', "%3D"))).document();
        assert_eq!(names(&list), expected, "{selector}");
    }
    let refused = server.get(&format!("{place}?fieldSelector=spec.other%3Dx"));
    assert_eq!(refused.code, 400);
    assert!(refused.field("message").contains("spec.other"), "{}", refused.text());
    // An object that leaves the selection is a DELETED event, one that enters it an ADDED event.
    server.patch(&format!("{place}/a"), MERGE_PATCH, r#"{"spec":{"color":"red"}}"#);
    server.patch(&format!("{place}/c"), MERGE_PATCH, r#"{"spec":{"color":"blue"}}"#);
    let path =
        format!("{place}?watch=1&timeoutSeconds=1&resourceVersion={start}&fieldSelector=spec.color%3Dblue");
    let seen: Vec<String> = server
        .get(&path)
        .frames()
        .iter()
        .map(|frame| {
            let word = frame.get("type").and_then(Value::as_str).unwrap_or_default();
            let name = frame.at(["object", "metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            format!("{word} {name}")
        })
        .collect();
    assert_eq!(seen, ["ADDED a", "ADDED b", "DELETED a", "ADDED c"]);
    let deleted = server.delete(&format!("{place}?fieldSelector=spec.color%3Dblue"));
    assert_eq!(deleted.code, 200);
    assert_eq!(names(&server.get(&place).document()), ["a"]);
}

#[test]
fn status_and_scale_are_written_on_their_own() {
    let server = Server::start();
    let rest = r#","subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}}"#;
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, rest));
    let one = format!("{}/x", place("a.example.com"));
    let body = part("a.example.com", "x", r#","spec":{"replicas":2},"status":{"phase":"never"}"#);
    let made = server.create(&place("a.example.com"), &body);
    assert_eq!(made.get("status"), None, "a status is not created");
    let status = r#"{"spec":{"replicas":9},"status":{"replicas":1,"phase":"On","selector":"app=x"}}"#;
    let response = server.patch(&format!("{one}/status"), MERGE_PATCH, status).document();
    assert_eq!(response.at(["spec", "replicas"]), Some(&2.into()));
    assert_eq!(response.at(["status", "phase"]), Some(&"On".into()));
    assert_eq!(metadata(&response, "generation"), 1.into(), "a status is not a change of the spec");
    let response = server.patch(&one, MERGE_PATCH, r#"{"status":{"phase":"Off"}}"#).document();
    assert_eq!(response.at(["status", "phase"]), Some(&"On".into()));
    let scale = server.get(&format!("{one}/scale")).document();
    assert_eq!(scale.get("kind"), Some(&"Scale".into()));
    assert_eq!(
        (scale.at(["spec", "replicas"]), scale.at(["status", "replicas"]), scale.at(["status", "selector"])),
        (Some(&2.into()), Some(&1.into()), Some(&"app=x".into()))
    );
    let response = server.patch(&format!("{one}/scale"), MERGE_PATCH, r#"{"spec":{"replicas":5}}"#);
    assert_eq!(response.code, 200, "{}", response.text());
    let now = server.get(&one).document();
    assert_eq!(now.at(["spec", "replicas"]), Some(&5.into()));
    assert_eq!(metadata(&now, "generation"), 2.into());
}

#[test]
fn an_object_can_be_watched_from_creation_to_deletion() {
    let server = Server::start();
    server.create(DEFINITIONS, &definition("a.example.com", STRICT, ""));
    let place = place("a.example.com");
    let start = version(&server.get(&place).document());
    for name in ["a", "b"] {
        server.create(&place, &part("a.example.com", name, ""));
        server.patch(&format!("{place}/{name}"), MERGE_PATCH, r#"{"spec":{"size":1}}"#);
        server.delete(&format!("{place}/{name}"));
    }
    let path =
        format!("{place}?watch=1&timeoutSeconds=1&resourceVersion={start}&fieldSelector=metadata.name%3Db");
    let seen: Vec<Value> = server
        .get(&path)
        .frames()
        .iter()
        .map(|frame| frame.get("type").cloned().unwrap_or_default())
        .collect();
    assert_eq!(seen, ["ADDED", "MODIFIED", "DELETED"].map(Value::from));
}

#[test]
fn a_definition_with_an_invalid_or_expensive_rule_is_refused() {
    let server = Server::start();
    let with = |rule: &str| {
        let schema = format!(
            r#"{{"type":"object","properties":{{"spec":{{"type":"object","x-kubernetes-validations":[{{"rule":{}}}],"properties":{{"x":{{"type":"integer"}},"y":{{"type":"integer"}},
            "l":{{"type":"array","items":{{"type":"array","items":{{"type":"string"}}}}}}}}}}}}}}"#,
            Value::from(rule)
        );
        definition("a.example.com", &schema, "")
    };
    for (rule, words) in [
        ("self.z == 100", "undefined field 'z'"),
        ("self = 42", "Syntax error"),
        (
            "self.l.all(a, a.all(b, self.l.all(c, c.all(d, d != b))))",
            "exceeds budget by factor of more than 100x",
        ),
    ] {
        let response = server.post(DEFINITIONS, &with(rule));
        assert_eq!(response.code, 422, "{rule}");
        assert!(response.field("message").contains(words), "{}", response.text());
    }
    server.create(DEFINITIONS, &with("self.x + self.y > 0"));
    let place = place("a.example.com");
    let refused = server.post(&place, &part("a.example.com", "p", r#","spec":{"x":0,"y":0}"#));
    assert_eq!(refused.code, 422);
    assert!(refused.field("message").contains("failed rule: self.x + self.y > 0"), "{}", refused.text());
    server.create(&place, &part("a.example.com", "p", r#","spec":{"x":1,"y":0}"#));
}

#[test]
fn a_definition_is_created_updated_and_patched_by_apply() {
    let server = Server::start();
    let path = format!("{DEFINITIONS}/parts.a.example.com");
    let made = server.apply(&path, "alice", &definition("a.example.com", STRICT, ""));
    assert_eq!(made.code, 201, "{}", made.text());
    let again = server.apply(&path, "alice", &definition("a.example.com", STRICT, ""));
    assert_eq!(version(&again.document()), version(&made.document()), "the same content is not written");
    let columns =
        r#","additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"}]"#;
    let changed = server.apply(&path, "alice", &definition("a.example.com", STRICT, columns));
    assert_eq!(changed.code, 200, "{}", changed.text());
    let table = server.send(
        &Request::new("GET", &place("a.example.com"))
            .header("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"),
    );
    assert!(table.text().contains(r#""name":"Color""#), "{}", table.text());
}

#[test]
fn an_apply_that_changes_nothing_writes_nothing_but_is_checked_by_rules_that_compare() {
    let server = Server::start();
    let schema = |rule: &str| {
        format!(
            r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{
            "size":{{"type":"integer","default":1}},"color":{{"type":"string"}}}},"x-kubernetes-validations":[{{"rule":"{rule}","message":"no"}}]}}}}}}"#
        )
    };
    server.create(DEFINITIONS, &definition("a.example.com", &schema("self.size > 0"), ""));
    let path = format!("{}/x?fieldManager=me", place("a.example.com"));
    let apply = |color: &str| {
        let spec = format!(r#","spec":{{"color":"{color}"}}"#);
        server.patch(&path, APPLY, &part("a.example.com", "x", &spec))
    };
    let first = apply("red").document();
    assert_eq!(first.at(["spec", "size"]), Some(&Value::Int(1)));
    assert_eq!(apply("red").document(), first);
    // The live object violates a rule that was added later: the violating part may stay but not change.
    let change = |rule: &str| {
        let spec = format!(
            r#"[{{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{}}}]"#,
            schema(rule)
        );
        let changed = server.patch(&format!("{DEFINITIONS}/parts.a.example.com"), JSON_PATCH, &spec);
        assert_eq!(changed.code, 200, "{}", changed.text());
    };
    change("self.size > 1");
    assert_eq!(apply("red").document(), first);
    assert_eq!(apply("blue").code, 422);
    // A transition rule is evaluated for a change only.
    change("self.color != oldSelf.color");
    assert_eq!(apply("red").code, 422);
    assert_eq!(apply("blue").code, 200);
}

#[test]
fn a_definition_keeps_its_finalizers_and_nothing_is_created_while_it_terminates() {
    let server = Server::start();
    let definition = r#"{"metadata":{"name":"bolts.example.com","finalizers":["example.com/held"]},"spec":{"group":"example.com","scope":"Cluster",
        "names":{"plural":"bolts","kind":"Bolt","listKind":"BoxOfBolts"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
        {"name":"v1beta1","served":true,"storage":false,"deprecated":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
    let created = server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    let finalizers = |object: &Value| object.at(["metadata", "finalizers"]).map(ToString::to_string);
    assert_eq!(finalizers(&created).as_deref(), Some(r#"["example.com/held"]"#));
    let list = server.get("/apis/example.com/v1/bolts");
    assert_eq!((list.field("kind").as_str(), list.header("warning")), ("BoxOfBolts", None));
    let deprecated = server.get("/apis/example.com/v1beta1/bolts");
    let warning = deprecated.header("warning").unwrap_or_default();
    assert!(
        warning.contains("example.com/v1beta1 Bolt is deprecated; use example.com/v1 Bolt"),
        "{warning:?}"
    );
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bolts.example.com";
    server.delete(path);
    let both = r#"["example.com/held","customresourcecleanup.apiextensions.k8s.io"]"#;
    assert_eq!(finalizers(&server.get(path).document()).as_deref(), Some(both));
    let bolt = r#"{"apiVersion":"example.com/v1","kind":"Bolt","metadata":{"name":"b"}}"#;
    let refused = server.post("/apis/example.com/v1/bolts", bolt);
    assert_eq!(refused.code, 403, "{}", refused.text());
    assert!(refused.field("message").contains("while custom resource definition is terminating"));
    let applied = server.apply("/apis/example.com/v1/bolts/b", "me", bolt);
    assert_eq!(applied.code, 403, "{}", applied.text());
}

#[test]
fn a_storage_version_that_is_not_served_sets_the_defaults() {
    let server = Server::start();
    let version = |name: &str, is_storage: bool, default: &str| {
        format!(
            r#"{{"name":"{name}","served":{},"storage":{is_storage},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"a":{{"type":"string"{default}}}}}}}}}}}}}}}"#,
            !is_storage
        )
    };
    let definition = format!(
        r#"{{"metadata":{{"name":"nuts.example.com"}},"spec":{{"group":"example.com","scope":"Cluster","names":{{"plural":"nuts","kind":"Nut"}},"versions":[{},{}]}}}}"#,
        version("v1", false, ""),
        version("v2", true, r#","default":"A""#)
    );
    server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    let nut = r#"{"apiVersion":"example.com/v1","kind":"Nut","metadata":{"name":"n"},"spec":{}}"#;
    let created = server.create("/apis/example.com/v1/nuts", nut);
    assert_eq!(created.at(["spec", "a"]).and_then(|value| value.as_str()), Some("A"), "{created}");
    let read = server.get("/apis/example.com/v1/nuts/n").document();
    assert_eq!(read.at(["spec", "a"]).and_then(|value| value.as_str()), Some("A"), "{read}");
}
