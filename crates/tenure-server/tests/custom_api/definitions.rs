//! Which definitions are accepted and which are refused: the same as by a kube-apiserver.

use crate::{http::Request, server::Server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";

/// A definition whose one version has this root schema and these further fields; `spec` is added to the spec.
fn definition(schema: &str, beside: &str, spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"parts.a.example.com"}},
        "spec":{{"group":"a.example.com","scope":"Namespaced","names":{{"plural":"parts","kind":"Part"}}{spec},
        "versions":[{{"name":"v1","served":true,"storage":true{beside},"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    )
}

/// The schema of an object whose field `f` has this schema.
fn with_field(schema: &str) -> String {
    format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"f":{schema}}}}}}}}}"#
    )
}

fn check(server: &Server, what: &str, body: String, refusal: Option<&str>) {
    let response = server.send(&Request::new("POST", DEFINITIONS).body("application/json", body));
    match refusal {
        None => assert_eq!(response.code, 201, "{what}: {}", response.text()),
        Some(words) => {
            assert_eq!(response.code, 422, "{what}: {}", response.text());
            assert!(response.field("message").contains(words), "{what}: {}", response.text());
        }
    }
}

#[test]
fn schemas_are_accepted_or_refused_with_a_reason() {
    let server = Server::start();
    for (schema, refusal) in [
        // Restricted metadata must be described at the root only.
        (
            r#"{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"properties":{"b":{"pattern":"x"}}}]}"#,
            None,
        ),
        (
            r#"{"type":"array","items":{"type":"string"},"anyOf":[{"items":{"properties":{"b":{"pattern":"x"}}}}]}"#,
            None,
        ),
        (
            r#"{"type":"object","anyOf":[{"x-kubernetes-validations":[{"rule":"true"}]}]}"#,
            Some("must be empty to be structural"),
        ),
        (r#"{"type":"string","$schema":"http://x"}"#, Some("OpenAPIV3Schema 'schema' is not supported")),
        (r#"{"type":"string","minLength":-1}"#, None),
        (r#"{"type":"integer","multipleOf":0}"#, None),
        (r#"{"type":"string","pattern":"a{1001}"}"#, Some("invalid repeat count")),
        (
            r#"{"type":"string","default":"ab","x-kubernetes-validations":[{"rule":"self.size() < 2"}]}"#,
            Some("failed rule: self.size() < 2"),
        ),
        (r#"{"type":"string","default":"a","x-kubernetes-validations":[{"rule":"self.size() < 2"}]}"#, None),
    ] {
        check(&server, schema, definition(&with_field(schema), "", ""), refusal);
    }
    let a = r#""a":{"type":"string"}"#;
    for (root, refusal) in [
        (format!(r#"{{"type":"object","nullable":true,"properties":{{{a}}}}}"#), Some("nullable cannot be true at the root")),
        (format!(r#"{{"type":"object","properties":{{{a}}},"oneOf":[{{"properties":{{"b":{{"pattern":"x"}}}}}}]}}"#), Some("because it is defined in")),
        (r#"{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","default":"a"}}}}}"#.into(), Some("must not be set in top-level metadata")),
    ] {
        check(&server, &root, definition(&root, "", ""), refusal);
    }
}

#[test]
fn rules_see_typed_fields_only() {
    let server = Server::start();
    let object = |rule: &str| {
        let rule = rule.replace('\\', r"\\").replace('"', "\\\"");
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"string","maxLength":9}},"i":{{"type":"integer"}},"__x":{{"type":"string"}},"any":{{"x-kubernetes-preserve-unknown-fields":true}},
            "anys":{{"type":"array","items":{{"x-kubernetes-preserve-unknown-fields":true}}}},"o":{{"type":"object","properties":{{"x":{{"type":"string"}}}}}},
            "e":{{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}},
            "x-kubernetes-validations":[{{"rule":"{rule}"}}]}}"#
        )
    };
    for (rule, refusal) in [
        ("self.__underscores__x == 'x'", None),
        ("self.__x == 'x'", Some("undefined field '__x'")),
        ("has(self.any)", Some("undefined field 'any'")),
        ("has(self.anys)", Some("undefined field 'anys'")),
        ("self.e.metadata.name == 'x'", None),
        ("self.e.metadata.labels == {}", Some("undefined field 'labels'")),
        ("self.a == null", Some("found no matching overload for '_==_' applied to '(string, null)'")),
        ("self.o != null", None),
        ("[1, 'a'] == []", Some("expected type 'int' but found 'string'")),
        ("{'a': 1, 'b': 'c'} == {}", Some("expected type 'int' but found 'string'")),
        ("self.i in {1: true}", None),
        ("self.a.matches('[')", Some("invalid matches argument")),
        ("'%s is %d'.format(['a', 1]) == 'a is 1'", None),
        ("self.e == null", None),
        ("self.e.size() == 1", Some("found no matching overload for 'size'")),
        ("sign(quantity('1')) == 1", None),
        ("true ? self.a == 'x' : 1", Some("found no matching overload for '_?_:_'")),
        ("duration('x') == duration('1s')", Some("invalid duration argument")),
        ("timestamp('2020-01-01T00:00:00Z') == timestamp('y')", Some("invalid timestamp argument")),
        ("self.o.all(k, k == 'x')", Some("cannot be range of a comprehension")),
    ] {
        check(&server, rule, definition(&with_field(&object(rule)), "", ""), refusal);
    }
    let old =
        r#"{"type":"string","x-kubernetes-validations":[{"rule":"oldSelf == self","optionalOldSelf":true}]}"#;
    check(
        &server,
        old,
        definition(&with_field(old), "", ""),
        Some("applied to '(optional_type(string), string)'"),
    );
    let root = r#"{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.namespace == 'x'"}]}"#;
    check(&server, root, definition(root, "", ""), Some("undefined field 'namespace'"));
}

#[test]
fn fields_beside_a_schema_are_accepted_or_refused() {
    let server = Server::start();
    let schema = with_field(r#"{"type":"object","additionalProperties":{"type":"string"}}"#);
    for (beside, refusal) in [
        (r#","deprecated":true,"deprecationWarning":"""#, Some("must not be an empty string")),
        (r#","deprecated":true,"deprecationWarning":"x""#, None),
        (
            r#","additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":"{.spec.a}"}]"#,
            Some("must be a simple json path starting with ."),
        ),
        (r#","selectableFields":[{"jsonPath":".spec.f.k"}]"#, None),
        (r#","selectableFields":[{"jsonPath":".spec['f']"}]"#, Some("array notation is not allowed")),
        (
            r#","subresources":{"scale":{"specReplicasPath":".spec","statusReplicasPath":".status.r"}}"#,
            Some("should be a json path under .spec"),
        ),
    ] {
        check(&server, beside, definition(&schema, beside, ""), refusal);
    }
    let webhook = |url: &str, versions: &str| {
        format!(
            r#","conversion":{{"strategy":"Webhook","webhook":{{"conversionReviewVersions":[{versions}],"clientConfig":{{"url":"{url}"}}}}}}"#
        )
    };
    for (url, versions, refusal) in [
        ("https://x/y", r#""v1""#, None),
        ("http://x/y", r#""v1""#, Some("'https' is the only allowed URL scheme")),
        ("https:///y", r#""v1""#, Some("host must be specified")),
        ("https://u@x/y", r#""v1""#, Some("user information is not permitted")),
        ("https://x/y?z", r#""v1""#, Some("query parameters are not permitted")),
        ("https://x/y#z?", r#""v1""#, Some("fragments are not permitted")),
        ("https://x/y", r#""v1","v1""#, Some("duplicate version")),
        ("https://x/y", r#""v1","V_""#, Some("a DNS-1035 label must consist")),
    ] {
        check(&server, url, definition(&schema, "", &webhook(url, versions)), refusal);
    }
}
