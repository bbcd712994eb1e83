//! Policies: expressions that what is written must hold to.

use crate::{http::Answer, server::Server};
use tenure_value::Value;

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const RULES: &str = r#""matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]}"#;

/// Starts a server with a policy named `p` and a binding of it named `b`.
fn server(policy: &str, binding: &str) -> Server {
    let server = Server::start();
    server.create(
        POLICIES,
        &format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{{"name":"p"}},"spec":{{{RULES},{policy}}}}}"#
        ),
    );
    server.create(
        BINDINGS,
        &format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{{"name":"b"}},"spec":{{"policyName":"p",{binding}}}}}"#
        ),
    );
    server
}

fn deploy(server: &Server, name: &str, replicas: u32) -> Answer {
    let body = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}"}},"spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"a":"b"}}}},
        "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
    );
    server.post(DEPLOYMENTS, &body)
}

#[test]
fn what_does_not_hold_is_refused_with_the_reason_of_the_policy() {
    let server = server(
        r#""validations":[{"expression":"object.spec.replicas <= 5"}]"#,
        r#""validationActions":["Deny"]"#,
    );
    assert_eq!(deploy(&server, "few", 5).code, 201);
    let refused = deploy(&server, "many", 6);
    assert_eq!((refused.code, refused.says("reason")), (422, "Invalid".into()));
    assert_eq!(
        refused.says("message"),
        "deployments.apps \"many\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.spec.replicas <= 5"
    );
    assert_eq!(server.get(&format!("{DEPLOYMENTS}/many")).code, 404);
    // An update is held to it too, and a dry run.
    let config =
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"few"},"spec":{"replicas":7}}"#;
    let path = format!("{DEPLOYMENTS}/few");
    let forced = server.patch(
        &format!("{path}?fieldManager=me&force=true&dryRun=All"),
        "application/apply-patch+yaml",
        config,
    );
    assert_eq!(forced.code, 422, "{}", forced.text());
    assert_eq!(server.delete(&path).code, 200, "its rules are not about deletions");
}

#[test]
fn warnings_are_only_that_and_an_unbound_policy_is_nothing() {
    let server = server(
        r#""validations":[{"expression":"false","message":"think of it"}]"#,
        r#""validationActions":["Warn","Audit"]"#,
    );
    let warned = deploy(&server, "d", 1);
    let warning =
        r#"299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': think of it""#;
    assert_eq!((warned.code, warned.header("warning")), (201, Some(warning)));
    assert_eq!(server.delete(&format!("{BINDINGS}/b")).code, 200);
    let unbound = deploy(&server, "e", 1);
    assert_eq!((unbound.code, unbound.header("warning")), (201, None));
}

#[test]
fn a_binding_names_parameters_and_where_it_holds() {
    let server = server(
        r#""paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
           "variables":[{"name":"most","expression":"int(params.data.most)"}],
           "validations":[{"expression":"object.spec.replicas <= variables.most","messageExpression":"'at most ' + string(variables.most) + ' in ' + namespaceObject.metadata.name","reason":"Forbidden"}]"#,
        r#""validationActions":["Deny"],"paramRef":{"name":"limits","parameterNotFoundAction":"Deny"},
           "matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}}}"#,
    );
    let missing = deploy(&server, "d", 1);
    assert_eq!(missing.code, 422);
    assert!(missing.says("message").contains("no params found"), "{}", missing.text());
    let limits = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"limits"},"data":{"most":"2"}}"#;
    server.create("/api/v1/namespaces/default/configmaps", limits);
    assert_eq!(deploy(&server, "d", 2).code, 201);
    let refused = deploy(&server, "e", 3);
    assert_eq!((refused.code, refused.says("reason")), (403, "Forbidden".into()));
    assert!(refused.says("message").ends_with("denied request: at most 2 in default"), "{}", refused.text());
    let causes = refused.document().at(["details", "causes"]).and_then(Value::as_array).unwrap().clone();
    assert_eq!(causes.len(), 1);
}
