//! Audit: which requests a policy records, as recorded from a server with a rule of every form.

use tenure_audit::{
    Event, Level, ObjectReference, Policy, RequestRecord, RequestText, ResponseStatus, Stage,
};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_value::{Limits, Text, Value, json};

/// Reads `METHOD /path?query` as the attributes of a request.
fn attributes(request: &str) -> Attributes {
    let (method, uri) = request.split_once(' ').expect("a method and a path");
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, rest) = match parts[..] {
        ["api", _, ref rest @ ..] => ("", rest.to_vec()),
        ["apis", group, _, ref rest @ ..] => (group, rest.to_vec()),
        _ => ("", Vec::new()),
    };
    if rest.is_empty() {
        return Attributes::NonResource { verb: method.to_lowercase().into(), path: path.into() };
    }
    let (namespace, rest) = match rest[..] {
        ["namespaces", namespace, ref rest @ ..] if !rest.is_empty() => (namespace, rest.to_vec()),
        ["namespaces", namespace] => (namespace, rest.clone()),
        _ => ("", rest),
    };
    let part = |at: usize| Text::from(rest.get(at).copied().unwrap_or_default());
    let verb = match method {
        "GET" if query.contains("watch=1") => "watch",
        "GET" if rest.len() == 1 => "list",
        "GET" => "get",
        "POST" => "create",
        "PATCH" => "patch",
        other => panic!("{other}"),
    };
    Attributes::Resource(ResourceAttributes {
        verb: verb.into(),
        group: group.into(),
        resource: part(0),
        name: part(1),
        subresource: part(2),
        namespace: namespace.into(),
        ..Default::default()
    })
}

#[test]
fn the_first_matching_rule_decides() {
    let recorded =
        json::parse(include_bytes!("data/audit-selection.json"), &Limits::default()).expect("JSON");
    let policy =
        Policy::parse(&recorded.get("policy").expect("a policy").to_string()).expect("a valid policy");
    let cases = recorded.get("cases").and_then(Value::as_array).expect("cases");
    assert_eq!(cases.len(), 31);
    for case in cases.iter() {
        let text = |field: &str| case.get(field).and_then(Value::as_str).unwrap_or_default();
        let user = match text("as") {
            "invalid-" => None,
            "ann" => Some(UserInfo::new("ann").with_group("devs")),
            name => Some(UserInfo::new(name)),
        };
        let attributes = attributes(text("request"));
        let selection = policy.select(user.as_ref(), &attributes);
        let stages: Vec<&str> = case
            .get("stages")
            .and_then(Value::as_array)
            .expect("stages")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        for stage in [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete] {
            if stages.contains(&stage.name()) {
                assert!(!selection.omit_stages.contains(stage), "{case}");
            }
        }
        let is_silent = stages.is_empty();
        let level = if is_silent { Level::None.name() } else { text("level") };
        let all_omitted =
            selection.omit_stages.contains(Stage::ResponseComplete) && text("level") == "no event";
        assert!(selection.level.name() == level || all_omitted, "{case}: {selection:?}");
        if let Some(kept) = case.get("managedFieldsKept").and_then(Value::as_bool) {
            assert_eq!(selection.omit_managed_fields, !kept, "{case}");
        }
    }
}

#[test]
fn a_policy_with_a_mistake_is_refused() {
    let cases = [
        ("", "the file: "),
        (
            "{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: []}",
            "apiVersion: must be \"audit.k8s.io/v1\"",
        ),
        ("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: []}", "rules: must have at least one rule"),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: All}]}",
            "rules[0].level: must be None, ",
        ),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, omitStages: [End]}]}",
            "rules[0].omitStages: must be RequestReceived",
        ),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, namespaces: [a], nonResourceURLs: [/b]}]}",
            "rules[0].nonResourceURLs: cannot be combined",
        ),
    ];
    for (text, expected) in cases {
        let error = Policy::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("audit policy: {expected}")), "{error}");
    }
}

/// An event with every field, some of which need escapes.
#[test]
fn an_event_has_the_form_of_the_api() {
    let user = UserInfo {
        name: "ann \"the first\"".into(),
        uid: "7".into(),
        groups: vec!["a<b".into(), "devs".into()],
        extra: vec![("scopes".into(), vec!["x".into(), "y".into()])],
    };
    let attributes = Attributes::Resource(ResourceAttributes {
        verb: "patch".into(),
        group: "apps".into(),
        version: "v1".into(),
        resource: "deployments".into(),
        subresource: "scale".into(),
        namespace: "default".into(),
        name: "web".into(),
        ..Default::default()
    });
    let body: Value = r#"{"spec":{"replicas":1}}"#.parse().expect("JSON");
    let error: Value =
        r#"{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","reason":"Conflict","code":409}"#
            .parse()
            .expect("JSON");
    let agent = "ä".repeat(1030);
    let annotations = [("k".into(), "v\n".into())];
    let event = |level, stage| {
        let text = RequestText::new(&RequestRecord {
            level,
            audit_id: "id",
            attributes: &attributes,
            request_uri: "/apis?a=<b>",
            user: Some(&user),
            source_ips: &["10.0.0.1".into()],
            user_agent: &agent,
        });
        Event {
            text: &text,
            level,
            stage,
            attributes: &attributes,
            impersonated_user: None,
            impersonation_constraint: Some("impersonate:user-info"),
            object: &ObjectReference { uid: "u".into(), resource_version: "5".into(), name: "other".into() },
            response_status: Some(&ResponseStatus { code: 409, error: Some(error.clone()) }),
            request_object: Some(&body),
            response_object: Some(&body),
            annotations: &annotations,
            received: "2026-01-01T00:00:00.000001Z",
            reached: "2026-01-01T00:00:00.000002Z",
        }
        .to_value()
    };
    let expected: Value = format!(
        r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"id","stage":"ResponseComplete",
        "requestURI":"/apis?a=<b>","verb":"patch",
        "user":{{"username":"ann \"the first\"","uid":"7","groups":["a<b","devs"],"extra":{{"scopes":["x","y"]}}}},
        "authenticationMetadata":{{"impersonationConstraint":"impersonate:user-info"}},
        "sourceIPs":["10.0.0.1"],"userAgent":"{}",
        "objectRef":{{"resource":"deployments","namespace":"default","name":"web","uid":"u","apiGroup":"apps","apiVersion":"v1","resourceVersion":"5","subresource":"scale"}},
        "responseStatus":{{"metadata":{{}},"status":"Failure","reason":"Conflict","code":409}},
        "requestObject":{{"spec":{{"replicas":1}}}},"responseObject":{{"spec":{{"replicas":1}}}},
        "requestReceivedTimestamp":"2026-01-01T00:00:00.000001Z","stageTimestamp":"2026-01-01T00:00:00.000002Z",
        "annotations":{{"k":"v\n"}}}}"#,
        "ä".repeat(1024)
    )
    .parse()
    .expect("JSON");
    assert_eq!(event(Level::RequestResponse, Stage::ResponseComplete), expected);
    let metadata = event(Level::Metadata, Stage::RequestReceived);
    assert_eq!((metadata.get("requestObject"), metadata.get("responseObject")), (None, None));
}
