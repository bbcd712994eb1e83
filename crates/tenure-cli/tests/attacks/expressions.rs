//! Active policies with short expressions that cause much work: each request that they review is answered in time, and so is the
//! next one.

use super::{
    bodies::list,
    server::{Attack, HealthProbe, JSON, Target},
};
use std::time::Duration;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps?dryRun=All";
/// The processor time of a policy and of a request that it reviews: this is a debug build.
const LIMIT: Duration = Duration::from_secs(15);

fn post(target: &Target, path: &str, body: String) -> (u16, String) {
    target.send(&Attack::new("policy", ("POST", path), JSON, body).bytes()).expect("a response")
}

/// Creates a policy and its binding.
fn enforce(target: &Target, kind: &str, name: &str, spec: &str) -> (u16, String) {
    let path = format!("{GROUP}/{}admissionpolicies", kind.to_lowercase());
    let actions = if kind == "Validating" { r#","validationActions":["Deny"]"# } else { "" };
    let policy = format!(
        r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}AdmissionPolicy","metadata":{{"name":"{name}"}},"spec":{{
        "matchConstraints":{{"resourceRules":[{{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}}]}},{spec}}}}}"#
    );
    let created = post(target, &path, policy);
    if created.0 == 201 {
        let binding = format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}AdmissionPolicyBinding","metadata":{{"name":"{name}"}},"spec":{{"policyName":"{name}"{actions}}}}}"#
        );
        let bound = post(target, &format!("{GROUP}/{}admissionpolicybindings", kind.to_lowercase()), binding);
        assert_eq!(bound.0, 201, "{}", bound.1);
    }
    created
}

fn remove(target: &Target, kind: &str, name: &str) {
    for resource in ["policybindings", "policies"] {
        let path = format!("{GROUP}/{}admission{resource}/{name}", kind.to_lowercase());
        let response = target.send(&Attack::new("remove", ("DELETE", &path), JSON, "").bytes());
        assert_eq!(response.expect("a response").0, 200);
    }
}

fn validation(expression: &str) -> String {
    format!(r#""validations":[{{"expression":"{expression}"}}]"#)
}

fn patch(expression: &str) -> String {
    format!(
        r#""reinvocationPolicy":"Never","mutations":[{{"patchType":"JSONPatch","jsonPatch":{{"expression":"{expression}"}}}}]"#
    )
}

/// Variables, each of which contains the previous one.
fn chain(count: usize, step: &str) -> String {
    let first = r#"{"name":"v0","expression":"[object.data]"}"#.to_string();
    let rest = list(count, |at| {
        let expression = step.replace('@', &format!("variables.v{at}"));
        format!(r#"{{"name":"v{}","expression":"{expression}"}}"#, at + 1)
    });
    format!(r#""variables":[{first},{rest}]"#)
}

#[test]
fn requests_under_hostile_policies_are_answered() {
    let target = Target::in_memory();
    let health = HealthProbe::start(target.address.clone());
    let doubled = |count: usize| format!("[[1]]{}", ".map(a, [a, a])".repeat(count));
    let rules = |count: usize, expression: &str| {
        format!(r#""validations":[{}]"#, list(count, |_| format!(r#"{{"expression":"{expression}"}}"#)))
    };
    let table: [(&str, &str, String); 19] = [
        ("Validating", "equality", validation(&format!("{0} == {0}", doubled(60)))),
        ("Validating", "membership", validation(&format!("{0} in [{0}]", doubled(60)))),
        ("Validating", "format", validation(&format!("'%s'.format([{}]) == ''", doubled(60)))),
        ("Validating", "flatten", validation(&format!("{}.flatten(60) == []", doubled(60)))),
        ("Validating", "many-equalities", rules(50, &format!("{0} == {0}", doubled(60)))),
        ("Validating", "nested-types", validation(&format!("[1]{} == []", format!(".map(a, {}a{})", "[".repeat(90), "]".repeat(90)).repeat(90)))),
        ("Validating", "ranges", rules(50, "lists.range(100000).all(x, x >= 0)")),
        ("Validating", "joins", validation("object.data.map(k, object.data[k]).join(object.data.map(k, object.data[k]).join(',')) == ''")),
        ("Validating", "replacements", validation("object.data.k0.replace('', object.data.k0.replace('', object.data.k0)) == ''")),
        ("Validating", "patterns", rules(50, "object.data.k0.matches('^(a|b|ab)*c(x+x+)+y$')")),
        ("Validating", "chain", format!("{},{}", chain(3_000, "[@]"), validation("variables.v3000 == variables.v2999"))),
        ("Validating", "chain-of-pairs", format!("{},{}", chain(100, "[@, @]"), validation("variables.v100 == variables.v99 || variables.v99 == variables.v100"))),
        ("Validating", "many-variables", format!("{},{}", chain(5_000, "@"), validation("variables.v5000 == [object.data]"))),
        ("Validating", "message", r#""validations":[{"expression":"false","messageExpression":"object.data.map(k, object.data[k] + object.data[k]).join(object.data.k0)"}]"#.into()),
        ("Validating", "annotations", r#""validations":[{"expression":"true"}],"auditAnnotations":[{"key":"a","valueExpression":"object.data.map(k, object.data[k]).join(object.data.k0)"}]"#.into()),
        ("Mutating", "pairs", format!("{},{}", chain(60, "[@, @]"), patch("[JSONPatch{op: 'add', path: '/data', value: {'a': variables.v60}}]"))),
        ("Mutating", "copies", format!("{},{}", chain(1, "@"), patch("lists.range(1000).map(i, JSONPatch{op: 'add', path: '/data/c' + string(i), value: object.data.k0})"))),
        ("Mutating", "objects", patch("lists.range(1000).map(i, JSONPatch{op: 'add', path: '/metadata/annotations/c' + string(i), value: object})")),
        ("Mutating", "doubling", patch("lists.range(40).map(i, JSONPatch{op: 'copy', from: '', path: '/data/c' + string(i)})")),
    ];
    let data = list(100, |at| format!(r#""k{at}":"{}""#, "ab".repeat(200)));
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","annotations":{{"a":"b"}}}},"data":{{{data}}}}}"#
    );
    let mut failures = Vec::new();
    for (kind, name, spec) in table {
        let begin = target.processor_time();
        let (code, text) = enforce(&target, kind, name, &spec);
        if code != 201 {
            // It may also be refused when it is written.
            if !matches!(code, 400 | 422) {
                failures.push(format!("{name}: {code} {}", text.chars().take(300).collect::<String>()));
            }
            continue;
        }
        target.reset_peak();
        let memory = target.resident();
        let (code, text) = post(&target, MAPS, body.clone());
        let (time, grown) =
            (target.processor_time().saturating_sub(begin), target.peak().saturating_sub(memory));
        if code >= 500 && !text.contains("polic") {
            failures.push(format!("{name}: {}", text.chars().take(300).collect::<String>()));
        }
        if time > LIMIT || grown > 500 << 20 {
            failures.push(format!("{name}: {time:?}, {} MiB", grown >> 20));
        }
        remove(&target, kind, name);
    }
    let (code, text) = post(&target, MAPS, body);
    assert_eq!(code, 201, "{text}");
    failures.extend(health.stop());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
