//! Definitions and objects recorded from kube-apiserver: rejections with their reasons, and accepted objects.
//! `data/custom.json` contains definitions and cases; a case without an object is about the definition.

use tenure_crd::{Conversion, Definition, Profile, WebhookTarget, check_create, check_update};
use tenure_value::Value;

fn recorded() -> Value {
    include_str!("data/custom.json").parse().expect("the recorded cases are a document")
}

fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

/// The causes of an error as reason, message and field.
fn causes(errors: &[tenure_meta::FieldError]) -> Vec<Value> {
    let row = |cause: &tenure_meta::FieldError| {
        Value::object([
            ("reason", Value::from(cause.kind.reason())),
            ("message", Value::from(cause.message.as_str())),
            ("field", Value::from(cause.path.as_str())),
        ])
    };
    errors.iter().map(row).collect()
}

#[test]
fn definitions_and_objects_behave_as_recorded() {
    let recorded = recorded();
    let definitions = items(&recorded, "definitions");
    let mut differences = Vec::new();
    for case in items(&recorded, "cases") {
        let name = case.get("name").and_then(Value::as_str).unwrap_or_default();
        let definition = &definitions[case.get("definition").and_then(Value::as_i64).unwrap() as usize];
        let wrong = causes(&check_create(definition, Profile::tenure()));
        let Some(object) = case.get("object") else {
            if wrong != items(case, "causes") {
                differences.push(format!("{name}: {wrong:?} instead of {:?}", case.get("causes")));
            }
            continue;
        };
        assert_eq!(wrong, Vec::<Value>::new(), "{name}");
        let definition = Definition::read(definition, Profile::tenure()).unwrap();
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap();
        let version = definition.version_of(api_version).unwrap();
        let decoded = match case.get("applied").is_some() {
            true => version.complete_applied(object),
            false => version.complete(object),
        };
        let decoded = decoded.unwrap();
        let wrong = causes(&version.validate_create(&decoded.value));
        let expected: Vec<Value> =
            items(case, "causes").iter().filter(|cause| !is_echo(cause)).cloned().collect();
        if wrong != expected {
            differences.push(format!("{name}: {wrong:?} instead of {expected:?}"));
        }
        if let Some(result) = case.get("result") {
            let fields = decoded.value.as_object().unwrap().without("metadata");
            let fields = if version.has_status { fields.without("status") } else { fields };
            if Value::from(fields.clone()) != *result {
                differences.push(format!("{name}: {fields:?} instead of {result:?}"));
            }
        }
        if case.get("strict_errors").is_some() {
            let strict_errors: Vec<Value> =
                decoded.strict_errors.iter().map(|text| Value::from(text.as_str())).collect();
            assert_eq!(strict_errors, items(case, "strict_errors"), "{name}");
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// kube-apiserver reports a wrong type twice, the second time without its path.
fn is_echo(cause: &Value) -> bool {
    let message = cause.get("message").and_then(Value::as_str).unwrap_or_default();
    cause.get("field") == Some(&"<nil>".into()) && message.contains("Checked value must be of type")
}

/// A valid definition with one part of its text replaced.
fn changed(from: &str, to: &str) -> Value {
    let right = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"conversion":{"strategy":"None"},"group":"example.com","names":{"kind":"Widget","listKind":"WidgetList","plural":"widgets","singular":"widget","shortNames":["wd"]},"scope":"Namespaced",
        "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},
        "additionalPrinterColumns":[{"name":"N","type":"integer","jsonPath":".spec.n"}],"selectableFields":[{"jsonPath":".spec.s"}],
        "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"o":{"type":"object"}}}}}}},
        {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"integer","default":7},"x":{"type":"string","default":"y"}}}}}}}]},
        "status":{"conditions":[{"type":"Established","status":"True"}],"storedVersions":["v1"]}}"#;
    assert!(right.contains(from), "{from}");
    right.replacen(from, to, 1).parse().unwrap()
}

#[test]
fn errors_of_definitions_have_a_path() {
    assert_eq!(causes(&check_create(&changed("", ""), Profile::tenure())), Vec::<Value>::new());
    for (from, to, field, message) in [
        (
            "\"example.com\",\"names\"",
            "\"example\",\"names\"",
            "spec.group",
            "should be a domain with at least one dot",
        ),
        ("\"Namespaced\"", "\"Everywhere\"", "spec.scope", "supported values: \"Cluster\", \"Namespaced\""),
        ("\"plural\":\"widgets\"", "\"plural\":\"Widgets\"", "spec.names.plural", "DNS-1035 label"),
        ("\"WidgetList\"", "\"Widget\"", "spec.names.listKind", "kind and listKind may not be the same"),
        ("[\"wd\"]", "[\"w_d\"]", "spec.names.shortNames[0]", "DNS-1035 label"),
        ("\"name\":\"v2\"", "\"name\":\"v1\"", "spec.versions", "must contain unique version names"),
        (
            "\".spec.n\",\"statusReplicasPath\"",
            "\".status.n\",\"statusReplicasPath\"",
            "spec.versions[0].subresources.scale.specReplicasPath",
            "should be a json path under .spec",
        ),
        (
            "\"type\":\"integer\",\"jsonPath\"",
            "\"type\":\"int\",\"jsonPath\"",
            "spec.versions[0].additionalPrinterColumns[0].type",
            "must be one of boolean,date,integer,number,string",
        ),
        (
            "\"jsonPath\":\".spec.n\"",
            "\"jsonPath\":\"spec.n\"",
            "spec.versions[0].additionalPrinterColumns[0].JSONPath",
            "must be a simple json path starting with .",
        ),
        (
            "\"jsonPath\":\".spec.s\"",
            "\"jsonPath\":\".spec.o\"",
            "spec.versions[0].selectableFields[0].jsonPath",
            "type string, boolean or integer",
        ),
        (
            "\"jsonPath\":\".spec.s\"",
            "\"jsonPath\":\".spec.q\"",
            "spec.versions[0].selectableFields[0].jsonPath",
            "does not refer to a valid field",
        ),
        (
            "{\"strategy\":\"None\"}",
            "{\"strategy\":\"Webhook\",\"webhook\":{\"conversionReviewVersions\":[\"v1\"]}}",
            "spec.conversion.webhookClientConfig",
            "required when strategy is set to Webhook",
        ),
        (
            "\"s\":{\"type\":\"string\"}",
            "\"s\":{\"type\":\"string\",\"pattern\":\"(\"}",
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[s].pattern",
            "must be a valid regular expression",
        ),
        (
            "\"default\":7",
            "\"default\":\"7\"",
            "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[n].default",
            "must be of type integer",
        ),
    ] {
        let found = check_create(&changed(from, to), Profile::tenure());
        assert_eq!(found.len(), 1, "{to}: {found:?}");
        assert_eq!(found[0].path, field, "{to}");
        assert!(found[0].message.contains(message), "{to}: {}", found[0].message);
    }
    let both = check_create(&changed("\"storage\":false", "\"storage\":true"), Profile::tenure());
    let texts: Vec<_> =
        both.iter().map(|error| (error.path.as_str(), error.message.rsplit(": ").next())).collect();
    assert_eq!(
        texts,
        [
            ("spec.versions", Some("must have exactly one version marked as storage version")),
            ("status.storedVersions", Some("must have the storage version v2")),
        ]
    );
}

#[test]
fn a_served_definition_keeps_its_names_and_its_stored_versions() {
    let old = changed("", "");
    assert!(check_update(&old, &old, Profile::tenure()).is_empty());
    for (from, to, field) in [
        ("\"Namespaced\"", "\"Cluster\"", "spec.scope"),
        ("\"kind\":\"Widget\"", "\"kind\":\"Other\"", "spec.names.kind"),
    ] {
        let found = check_update(&changed(from, to), &old, Profile::tenure());
        assert_eq!(found.iter().map(|cause| cause.path.as_str()).collect::<Vec<_>>(), [field], "{to}");
    }
    let stored = changed("[\"v1\"]", "[\"v1\",\"v0\"]");
    let found = check_update(&stored, &stored, Profile::tenure());
    assert_eq!(
        found.iter().map(|cause| cause.path.as_str()).collect::<Vec<_>>(),
        ["status.storedVersions[1]"]
    );
}

#[test]
fn a_definition_is_compiled_completely() {
    let definition = Definition::read(&changed("", ""), Profile::tenure()).unwrap();
    let resources = definition.resources();
    assert_eq!(resources.iter().map(|resource| resource.version.as_str()).collect::<Vec<_>>(), ["v2", "v1"]);
    assert!(resources[1].has_status() && resources[1].subresource("scale").is_some());
    assert!(!resources[0].has_status() && resources[0].is_stored());
    let v1 = definition.version("v1").unwrap();
    assert_eq!(v1.selectable[0].selector(), "spec.s");
    assert_eq!(definition.storage_version().unwrap().name, "v1");
    // Fields that another version does not have are dropped, and it adds no defaults of its own.
    let object: Value =
        r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"n":1,"s":"t"}}"#
            .parse()
            .unwrap();
    let converted = definition.convert(&object, "example.com/v2").unwrap();
    assert_eq!(converted.get("spec").unwrap().to_string(), r#"{"n":1}"#);
    let webhook = changed(
        "{\"strategy\":\"None\"}",
        r#"{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"caBundle":"Zm9v","service":{"namespace":"n","name":"s","path":"/c"}}}}"#,
    );
    assert!(check_create(&webhook, Profile::tenure()).is_empty());
    let definition = Definition::read(&webhook, Profile::tenure()).unwrap();
    assert_eq!(definition.convert(&object, "example.com/v2"), None);
    let Conversion::Webhook(webhook) = definition.conversion else { panic!("no webhook") };
    let target =
        WebhookTarget::Service { namespace: "n".into(), name: "s".into(), path: "/c".into(), port: 443 };
    assert_eq!((webhook.target, webhook.ca_bundle.as_str()), (target, "Zm9v"));
}
