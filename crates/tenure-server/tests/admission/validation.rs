//! Invalid webhooks and policies are refused when they are created, not when they are needed.

use crate::{
    recording_webhook::{rule, webhook},
    server::Server,
};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

#[test]
fn webhooks_that_cannot_be_called_are_refused() {
    let server = Server::start();
    let good = webhook("a", r#"{"url":"https://127.0.0.1/ask"}"#, &rule("CREATE", "", "pods"), "");
    let send = |webhooks: &str| {
        let body = format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{{"generateName":"x-"}},"webhooks":[{webhooks}]}}"#
        );
        server.post(&format!("{GROUP}/validatingwebhookconfigurations"), &body)
    };
    assert_eq!(send(&good).code, 201);
    for (from, to, about) in [
        ("a.hooks.example.com", "short.name", "webhooks[0].name: Invalid value"),
        (r#""admissionReviewVersions":["v1"],"#, "", "webhooks[0].admissionReviewVersions: Required value"),
        (r#"["v1"]"#, r#"["v7"]"#, "must include at least one of v1, v1beta1"),
        (r#""sideEffects":"None","#, "", "webhooks[0].sideEffects: Required value"),
        (r#""None""#, r#""Some""#, "webhooks[0].sideEffects: Unsupported value: \"Some\""),
        ("https://", "http://", "webhooks[0].clientConfig.url: Invalid value"),
        (r#""url":"https://127.0.0.1/ask""#, "", "exactly one of url or service is required"),
        (r#"["pods"]"#, "[]", "webhooks[0].rules[0].resources: Required value"),
        (r#"["CREATE"]"#, r#"["CREATE","*"]"#, "if '*' is present, must not specify other operations"),
        (
            r#""rules":"#,
            r#""matchConditions":[{"name":"c","expression":"object."}],"rules":"#,
            "webhooks[0].matchConditions[0].expression: Invalid value",
        ),
        (r#""rules":"#, r#""matchConditions":[{"name":"c","expression":"1"}],"rules":"#, "must evaluate to"),
        (r#""rules":"#, r#""matchConditions":[{"name":"c","expression":"what == 1"}],"rules":"#, "what"),
    ] {
        let wrong = good.replace(from, to);
        assert_ne!(wrong, good, "{from}");
        let refused = send(&wrong);
        assert!(refused.code == 422 && refused.field("message").contains(about), "{to}: {}", refused.text());
        let causes = refused.document().at(["details", "causes"]).cloned();
        assert_eq!(causes.unwrap().as_array().unwrap().len(), 1, "one cause: {}", refused.text());
    }
    let twice = send(&format!("{good},{good}"));
    assert!(
        twice.code == 422 && twice.field("message").contains("webhooks[1].name: Duplicate"),
        "{}",
        twice.text()
    );
}

#[test]
fn policies_that_do_not_compile_are_refused() {
    let server = Server::start();
    let good = r#"{"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]},
        "variables":[{"name":"v","expression":"1"}],"validations":[{"expression":"object.a == variables.v","messageExpression":"'no'"}]}"#;
    let send = |kind: &str, spec: &str| {
        let resource = format!("{}s", kind.to_lowercase()).replace("policys", "policies");
        let body = format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}","metadata":{{"generateName":"x-"}},"spec":{spec}}}"#
        );
        server.post(&format!("{GROUP}/{resource}"), &body)
    };
    assert_eq!(send("ValidatingAdmissionPolicy", good).code, 201);
    for (from, to, about) in [
        ("object.a ==", "object. ==", "spec.validations[0].expression: Invalid value"),
        ("object.a ==", "params.a ==", "undeclared reference to 'params'"),
        (
            r#""variables":"#,
            r#""matchConditions":[{"name":"c","expression":"variables.v == 1"}],"variables":"#,
            "undeclared reference to 'variables'",
        ),
        ("'no'", "7", "spec.validations[0].messageExpression: Invalid value"),
        (r#""name":"v""#, r#""name":"1v""#, "spec.variables[0].name: Invalid value"),
        (r#""expression":"1""#, r#""expression":"""#, "spec.variables[0].expression: Required value"),
        ("resourceRules", "excludeResourceRules", "spec.matchConstraints.resourceRules: Required value"),
    ] {
        let wrong = good.replace(from, to);
        assert_ne!(wrong, good, "{from}");
        let refused = send("ValidatingAdmissionPolicy", &wrong);
        assert!(refused.code == 422 && refused.field("message").contains(about), "{to}: {}", refused.text());
    }
    let good = r#"{"reinvocationPolicy":"Never","matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]},
        "mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{}}"}}]}"#;
    assert_eq!(send("MutatingAdmissionPolicy", good).code, 201);
    for (from, to, about) in [
        ("Object.metadata{}", "Thing{}", "spec.mutations[0].applyConfiguration.expression: Invalid value"),
        (
            r#""applyConfiguration":"#,
            r#""jsonPatch":"#,
            "spec.mutations[0].applyConfiguration: Required value",
        ),
        (r#""reinvocationPolicy":"Never","#, "", "spec.reinvocationPolicy: Required value"),
    ] {
        let wrong = good.replace(from, to);
        assert_ne!(wrong, good, "{from}");
        let refused = send("MutatingAdmissionPolicy", &wrong);
        assert!(refused.code == 422 && refused.field("message").contains(about), "{to}: {}", refused.text());
    }
    for (spec, about) in [
        (r#"{"validationActions":["Deny"]}"#, "spec.policyName: Required value"),
        (r#"{"policyName":"p"}"#, "spec.validationActions: Required value"),
        (
            r#"{"policyName":"p","validationActions":["Shout"]}"#,
            "spec.validationActions[0]: Unsupported value",
        ),
        (r#"{"policyName":"p","validationActions":["Deny","Warn"]}"#, "must not contain both Deny and Warn"),
        (
            r#"{"policyName":"p","validationActions":["Deny"],"paramRef":{"parameterNotFoundAction":"Deny"}}"#,
            "one of name or selector",
        ),
    ] {
        let refused = send("ValidatingAdmissionPolicyBinding", spec);
        assert!(
            refused.code == 422 && refused.field("message").contains(about),
            "{spec}: {}",
            refused.text()
        );
        let causes = refused.document().at(["details", "causes"]).cloned();
        assert_eq!(causes.unwrap().as_array().unwrap().len(), 1, "one cause: {}", refused.text());
    }
}
