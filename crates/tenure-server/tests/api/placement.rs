//! Affinity between pods and how they spread, as kube-apiserver v1.36.4 answered: the labels that `matchLabelKeys` names become
//! requirements of the selector when a pod is created, and what is wrong is named where it is.

use crate::server::Server;
use tenure_value::Value;

const PODS: &str = "/api/v1/namespaces/default/pods?dryRun=All";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments?dryRun=All";
const TERM: &str = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// Creates a pod with the labels `app=a` and `v=1`, and returns its spec or the message.
fn create(server: &Server, spec: &str) -> Result<Value, String> {
    let pod = format!(
        r#"{{"metadata":{{"name":"p","labels":{{"app":"a","v":"1"}}}},"spec":{{"containers":[{{"name":"c","image":"x"}}],{spec}}}}}"#
    );
    let response = server.post(PODS, &pod);
    match response.code {
        201 => Ok(response.document().get("spec").cloned().unwrap_or_default()),
        422 => Err(response.field("message").trim_start_matches("Pod \"p\" is invalid: ").to_owned()),
        code => panic!("{spec}: {code} {}", response.text()),
    }
}

fn affinity(term: &str) -> String {
    format!(
        r#""affinity":{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"zone",{term}}}]}}}}"#
    )
}

fn spread(fields: &str) -> String {
    format!(
        r#""topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",{fields}}}]"#
    )
}

#[test]
fn labels_that_a_pod_names_become_requirements() {
    const SELECTOR: &str = r#""labelSelector":{"matchLabels":{"app":"a"}}"#;
    let server = Server::start();
    let in_v = r#"{"key":"v","operator":"In","values":["1"]}"#;
    for (fields, want) in [
        (format!(r#"{SELECTOR},"matchLabelKeys":["v","none"]"#), format!("[{in_v}]")),
        (
            format!(r#"{SELECTOR},"matchLabelKeys":["v"],"mismatchLabelKeys":["app"]"#),
            format!(r#"[{in_v},{{"key":"app","operator":"NotIn","values":["a"]}}]"#),
        ),
        (r#""labelSelector":{},"matchLabelKeys":["v"]"#.into(), format!("[{in_v}]")),
        (
            r#""labelSelector":{"matchExpressions":[{"key":"k","operator":"Exists"}]},"matchLabelKeys":["v"]"#.into(),
            format!(r#"[{{"key":"k","operator":"Exists"}},{in_v}]"#),
        ),
        (format!(r#"{SELECTOR},"matchLabelKeys":["none"]"#), "null".into()),
    ] {
        let required = affinity(&fields);
        let preferred = format!(
            r#""affinity":{{"podAntiAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":1,"podAffinityTerm":{{"topologyKey":"zone",{fields}}}}}]}}}}"#
        );
        let spread = spread(&fields);
        for (spec, path) in [
            (required, "/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0"),
            (preferred, "/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm"),
            (spread, "/topologySpreadConstraints/0"),
        ] {
            // Constraints have no `mismatchLabelKeys`.
            if spec.contains("mismatch") && path.starts_with("/topology") {
                continue;
            }
            let created = create(&server, &spec).unwrap_or_else(|message| panic!("{spec}: {message}"));
            let found = path.split('/').skip(1).try_fold(&created, |at, name| match name.parse::<usize>() {
                Ok(place) => at.as_array()?.items().get(place),
                Err(_) => at.get(name),
            });
            let found = found.and_then(|term| term.at(["labelSelector", "matchExpressions"])).cloned();
            assert_eq!(found.unwrap_or_default(), want.parse().unwrap(), "{spec}");
        }
    }
}

#[test]
fn what_is_wrong_with_placement_is_named() {
    const SELECTOR: &str = r#""labelSelector":{"matchLabels":{"app":"a"}}"#;
    let server = Server::start();
    let unset = "must not be specified when labelSelector is not set";
    let both = "exists in both matchLabelKeys and labelSelector";
    let pair = r#"{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}"#;
    for (spec, want) in [
        (
            affinity(r#""matchLabelKeys":["v"],"mismatchLabelKeys":["app"]"#),
            format!("[{TERM}.matchLabelKeys: Forbidden: {unset}, {TERM}.mismatchLabelKeys: Forbidden: {unset}]"),
        ),
        (
            affinity(&format!(r#"{SELECTOR},"matchLabelKeys":["x","b c"]"#)),
            format!("{TERM}.matchLabelKeys[1]: Invalid value: \"b c\": {NAME_PART}"),
        ),
        (
            affinity(&format!(r#"{SELECTOR},"matchLabelKeys":["app"]"#)),
            format!("{TERM}[0]: Invalid value: \"app\": {both}"),
        ),
        (
            affinity(r#""labelSelector":{"matchExpressions":[{"key":"v","operator":"Exists"}]},"matchLabelKeys":["q","v"]"#),
            format!("{TERM}[1]: Invalid value: \"v\": {both}"),
        ),
        (
            affinity(&format!(r#"{SELECTOR},"matchLabelKeys":["v"],"mismatchLabelKeys":["v"]"#)),
            format!(
                "[{TERM}[0]: Invalid value: \"v\": {both}, {TERM}.matchLabelKeys[0]: Invalid value: \"v\": exists in both matchLabelKeys \
                 and mismatchLabelKeys]"
            ),
        ),
        (
            affinity(&format!(r#"{SELECTOR},"matchLabelKeys":["v","v"]"#)),
            format!("{TERM}[1]: Invalid value: \"v\": {both}"),
        ),
        (
            affinity(&format!(r#"{SELECTOR},"namespaces":["A"]"#)),
            format!(
                "{TERM}.namespace: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ),
        ),
        (
            r#""affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":0,"podAffinityTerm":{"topologyKey":"z"}}]}}"#
                .into(),
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the \
             range 1-100"
                .into(),
        ),
        (
            spread(r#""matchLabelKeys":["v"]"#),
            format!("spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: {unset}"),
        ),
        (
            spread(&format!(r#"{SELECTOR},"matchLabelKeys":["app"]"#)),
            format!("spec.topologySpreadConstraints[0][0]: Invalid value: \"app\": {both}"),
        ),
        (
            spread(&format!(r#"{SELECTOR},"minDomains":0"#)),
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero".into(),
        ),
        (
            r#""topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","minDomains":2}]"#.into(),
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if \
             whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
                .into(),
        ),
        (
            r#""topologySpreadConstraints":[{"maxSkew":0,"topologyKey":""}]"#.into(),
            "[spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero, \
             spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty, \
             spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"\": supported values: \"DoNotSchedule\", \
             \"ScheduleAnyway\"]"
                .into(),
        ),
        (
            format!(r#""topologySpreadConstraints":[{pair},{pair}]"#),
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{z, DoNotSchedule}\"".into(),
        ),
        (
            r#""tolerations":[{"key":"a","operator":"Gt","value":"1"}]"#.into(),
            "spec.tolerations[0].operator: Unsupported value: \"Gt\": supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"".into(),
        ),
    ] {
        assert_eq!(create(&server, &spec), Err(want), "{spec}");
    }
}

/// A template has no labels of its own that a selector could get: those of its pods are added when they are created.
#[test]
fn a_template_keeps_its_selectors() {
    let server = Server::start();
    let deployment = |fields: &str| {
        let spec = affinity(fields);
        format!(
            r#"{{"metadata":{{"name":"d"}},"spec":{{"selector":{{"matchLabels":{{"app":"a"}}}},"template":{{"metadata":{{"labels":{{"app":"a"}}}},
                "spec":{{"containers":[{{"name":"c","image":"x"}}],{spec}}}}}}}}}"#
        )
    };
    let created = server.post(
        DEPLOYMENTS,
        &deployment(r#""labelSelector":{"matchLabels":{"app":"a"}},"matchLabelKeys":["app"]"#),
    );
    assert_eq!(created.code, 201, "{}", created.text());
    assert!(!created.text().contains("matchExpressions"), "{}", created.text());
    let refused = server.post(DEPLOYMENTS, &deployment(r#""matchLabelKeys":["app"]"#));
    assert_eq!(refused.code, 422);
    assert!(refused.field("message").contains("spec.template.spec.affinity"), "{}", refused.text());
}
