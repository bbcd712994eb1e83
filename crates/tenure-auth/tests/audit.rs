//! Audit: which requests a policy records, as recorded from a server with a rule of every form.

use tenure_auth::{
    Attributes, ResourceAttributes, UserInfo,
    audit::{Level, Policy, Stage},
};
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
                assert!(!selection.omit_stages.contains(&stage), "{case}");
            }
        }
        let is_silent = stages.is_empty();
        let level = if is_silent { Level::None.name() } else { text("level") };
        let all_omitted =
            selection.omit_stages.contains(&Stage::ResponseComplete) && text("level") == "no event";
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
