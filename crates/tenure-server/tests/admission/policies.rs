//! Admission policies: CEL expressions that validate or mutate objects.

use crate::{http::Response, server::Server};
use tenure_server::Profile;
use tenure_value::Value;

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const RULES: &str = r#""matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]}"#;

/// Starts a server with a validating policy named `p` and a binding of it named `b`.
fn server(policy: &str, binding: &str) -> Server {
    let server = Server::start();
    bind(&server, "Validating", "p", policy, &format!(",{binding}"));
    server
}

/// Creates a policy, and a binding of it named `b`.
fn bind(server: &Server, kind: &str, name: &str, policy: &str, binding: &str) {
    let create = |kind: &str, path: &str, name: &str, spec: &str| {
        server.create(
            path,
            &format!(
                r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}","metadata":{{"name":"{name}"}},"spec":{{{spec}}}}}"#
            ),
        )
    };
    let path = |path: &str| path.replace("validating", &kind.to_lowercase());
    create(&format!("{kind}AdmissionPolicy"), &path(POLICIES), name, &format!("{RULES},{policy}"));
    let binding = format!(r#""policyName":"{name}"{binding}"#);
    create(&format!("{kind}AdmissionPolicyBinding"), &path(BINDINGS), "b", &binding);
}

fn deploy(server: &Server, name: &str, replicas: u32) -> Response {
    let body = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}"}},"spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"a":"b"}}}},
        "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
    );
    server.post(DEPLOYMENTS, &body)
}

#[test]
fn a_violation_is_refused_with_the_reason_of_the_policy() {
    let server = server(
        r#""validations":[{"expression":"object.spec.replicas <= 5"}]"#,
        r#""validationActions":["Deny"]"#,
    );
    assert_eq!(deploy(&server, "few", 5).code, 201);
    let refused = deploy(&server, "many", 6);
    assert_eq!((refused.code, refused.field("reason")), (422, "Invalid".into()));
    assert_eq!(
        refused.field("message"),
        "deployments.apps \"many\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.spec.replicas <= 5"
    );
    assert_eq!(server.get(&format!("{DEPLOYMENTS}/many")).code, 404);
    // The policy also applies to updates and dry runs.
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
fn warnings_do_not_deny_and_an_unbound_policy_has_no_effect() {
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
fn a_binding_selects_parameters_and_namespaces() {
    let server = server(
        r#""paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
           "variables":[{"name":"most","expression":"int(params.data.most)"}],
           "validations":[{"expression":"object.spec.replicas <= variables.most","messageExpression":"'at most ' + string(variables.most) + ' in ' + namespaceObject.metadata.name","reason":"Forbidden"}]"#,
        r#""validationActions":["Deny"],"paramRef":{"name":"limits","parameterNotFoundAction":"Deny"},
           "matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}}}"#,
    );
    let missing = deploy(&server, "d", 1);
    assert_eq!(missing.code, 422);
    assert!(missing.field("message").contains("no params found"), "{}", missing.text());
    let limits = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"limits"},"data":{"most":"2"}}"#;
    server.create("/api/v1/namespaces/default/configmaps", limits);
    assert_eq!(deploy(&server, "d", 2).code, 201);
    let refused = deploy(&server, "e", 3);
    assert_eq!((refused.code, refused.field("reason")), (403, "Forbidden".into()));
    assert!(refused.field("message").ends_with("denied request: at most 2 in default"), "{}", refused.text());
    let causes = refused.document().at(["details", "causes"]).and_then(Value::as_array).unwrap().clone();
    assert_eq!(causes.len(), 1);
}

#[test]
fn a_mutating_policy_changes_the_object_and_owns_nothing() {
    let server = Server::start();
    let apply = r#""reinvocationPolicy":"Never","matchConditions":[{"name":"new","expression":"request.operation == 'CREATE'"}],"mutations":[
        {"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'side', image: 'proxy:1'}]}}}}"}},
        {"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/labels', value: {'containers': string(size(object.spec.template.spec.containers))}}]"}}]"#;
    bind(&server, "Mutating", "side", apply, "");
    let created = deploy(&server, "d", 1).document();
    let containers =
        created.at(["spec", "template", "spec", "containers"]).and_then(Value::as_array).unwrap();
    let names: Vec<&str> =
        containers.iter().filter_map(|container| container.get("name")?.as_str()).collect();
    assert_eq!(names, ["c", "side"], "{created}");
    let count = created.at(["metadata", "labels", "containers"]);
    assert_eq!(count, Some(&Value::from("2")), "each sees what came before");
    let managers = created.at(["metadata", "managedFields"]).unwrap().to_string();
    assert!(managers.contains(r#"k:{\"name\":\"c\"}"#) && !managers.contains("side"), "{managers}");
}

#[test]
fn a_failing_mutating_policy_refuses_and_cannot_replace_atomic_lists() {
    let server = Server::start();
    let mutation = |expression: &str| {
        format!(
            r#""reinvocationPolicy":"Never","mutations":[{{"patchType":"ApplyConfiguration","applyConfiguration":{{"expression":"{expression}"}}}}]"#
        )
    };
    for (expression, about) in [
        ("Object{spec: Object.spec{replicas: object.none}}", "resulted in error"),
        (
            "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'x': 'y'}}}}",
            "may not mutate atomic arrays, maps or structs: .spec.selector; use a JSONPatch",
        ),
    ] {
        bind(&server, "Mutating", "p", &mutation(expression), "");
        let refused = deploy(&server, "d", 1);
        assert!(refused.code == 422 && refused.field("message").contains(about), "{}", refused.text());
        assert!(refused.field("message").contains("policy 'p' with binding 'b' denied request"));
        for path in [format!("{POLICIES}/p"), format!("{BINDINGS}/b")] {
            assert_eq!(server.delete(&path.replace("validating", "mutating")).code, 200);
        }
    }
}

#[test]
fn kubernetes_forbids_what_a_failing_mutating_policy_calls_invalid() {
    let server = Server::behaving(Profile::kubernetes());
    let template = "Object.spec.template.spec{tolerations: [], containers: [Object.spec.template.spec.containers{name: 'c', args: ['a']}]}";
    let mutation = format!(
        r#""reinvocationPolicy":"Never","mutations":[{{"patchType":"ApplyConfiguration","applyConfiguration":{{"expression":"Object{{spec: Object.spec{{template: Object.spec.template{{spec: {template}}}}}}}"}}}}]"#
    );
    bind(&server, "Mutating", "p", &mutation, "");
    let refused = deploy(&server, "d", 1);
    let message = "policy 'p' with binding 'b' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].args, .spec.template.spec.tolerations";
    assert_eq!((refused.code, refused.field("reason")), (403, "Invalid".into()));
    assert_eq!(refused.field("message"), message);
    let details =
        format!(r#"{{"name":"d","group":"apps","kind":"deployments","causes":[{{"message":"{message}"}}]}}"#);
    assert_eq!(refused.document().get("details"), Some(&details.parse::<Value>().unwrap()));
}

#[test]
fn a_mutating_policy_replaces_lists_that_the_schema_does_not_declare() {
    let server = Server::start();
    let open = r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#;
    let declared = r#"{"type":"object","properties":{"spec":{"type":"object","properties":{"foods":{"type":"array","items":{"type":"string"}},"diet":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
        "any":{"x-kubernetes-preserve-unknown-fields":true},"extra":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}}}}}"#;
    for (plural, schema) in [("pandas", open), ("bears", declared)] {
        server.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &format!(
                r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{plural}.example.com"}},"spec":{{"group":"example.com","scope":"Cluster",
                "names":{{"plural":"{plural}","kind":"K{plural}"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
            ),
        );
    }
    let foods = "Object{spec: Object.spec{foods: object.spec.foods + ['eucalyptus']}}";
    let diet = "Object{spec: Object.spec{diet: Object.spec.diet{most: ['x']}}}";
    let extra = "Object{spec: Object.spec{extra: Object.spec.extra{a: ['x']}}}";
    for (plural, expression, expected) in [
        ("pandas", foods, Ok(r#"{"foods":["bamboo","eucalyptus"]}"#)),
        ("bears", foods, Err(".spec.foods")),
        ("bears", diet, Ok(r#"{"diet":{"most":["x"]},"foods":["bamboo"]}"#)),
        ("bears", extra, Ok(r#"{"extra":{"a":["x"]},"foods":["bamboo"]}"#)),
        ("bears", "Object{spec: Object.spec{any: ['x']}}", Err(".spec.any")),
    ] {
        let policy = format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{{"name":"p"}},"spec":{{"reinvocationPolicy":"Never",
            "matchConstraints":{{"resourceRules":[{{"operations":["CREATE"],"apiGroups":["example.com"],"apiVersions":["v1"],"resources":["{plural}"]}}]}},
            "mutations":[{{"patchType":"ApplyConfiguration","applyConfiguration":{{"expression":"{expression}"}}}}]}}}}"#
        );
        let binding = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"p"}}"#;
        let (policies, bindings) =
            (POLICIES.replace("validating", "mutating"), BINDINGS.replace("validating", "mutating"));
        server.create(&policies, &policy);
        server.create(&bindings, binding);
        let body = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"K{plural}","metadata":{{"generateName":"k"}},"spec":{{"foods":["bamboo"]}}}}"#
        );
        let created = server.post(&format!("/apis/example.com/v1/{plural}"), &body);
        match expected {
            Ok(spec) => {
                assert_eq!(created.code, 201, "{plural} {expression}: {}", created.text());
                assert_eq!(created.document().get("spec"), Some(&spec.parse::<Value>().unwrap()));
            }
            Err(path) => {
                let fault = format!("atomic arrays, maps or structs: {path}; use a JSONPatch");
                let is_told = created.field("message").ends_with(&fault);
                assert!(created.code == 422 && is_told, "{}", created.text());
            }
        }
        for path in [format!("{policies}/p"), format!("{bindings}/b")] {
            assert_eq!(server.delete(&path).code, 200);
        }
    }
}

#[test]
fn subresources_are_written_as_their_own_kind() {
    let server = Server::start();
    let policy = r#""reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"object.kind == 'Scale' ? Object{spec: Object.spec{replicas: 4}} : Object{metadata: Object.metadata{annotations: {'seen': 'yes'}}}"}}]"#;
    let rules = |resource: &str| {
        RULES
            .replace(r#""apiGroups":["apps"]"#, r#""apiGroups":["*"]"#)
            .replace(r#"["deployments"]"#, &format!(r#"["{resource}"]"#))
    };
    let path = POLICIES.replace("validating", "mutating");
    let body = format!(
        r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{{"name":"p"}},"spec":{{{},{policy}}}}}"#,
        rules(r#"deployments/scale","pods/binding"#)
    );
    server.create(&path, &body);
    let binding = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"p"}}"#;
    server.create(&BINDINGS.replace("validating", "mutating"), binding);
    deploy(&server, "d", 1);
    let scaled = server.patch(
        &format!("{DEPLOYMENTS}/d/scale"),
        "application/merge-patch+json",
        r#"{"spec":{"replicas":2}}"#,
    );
    assert_eq!(scaled.document().at(["spec", "replicas"]), Some(&Value::from(4)), "{}", scaled.text());
    let pods = "/api/v1/namespaces/default/pods";
    server.create(
        pods,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#,
    );
    let bound = r#"{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"here"}}"#;
    let response = server.post(&format!("{pods}/p/binding"), bound);
    assert_eq!(response.code, 201, "{}", response.text());
    let pod = server.get(&format!("{pods}/p")).document();
    assert_eq!(pod.at(["spec", "nodeName"]), Some(&Value::from("here")));
    assert_eq!(
        pod.at(["metadata", "annotations", "seen"]),
        Some(&Value::from("yes")),
        "a binding hands them on"
    );
}

#[test]
fn connections_are_admitted_with_their_options() {
    let server = Server::start();
    let rules = r#""matchConstraints":{"resourceRules":[{"operations":["CONNECT"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/exec","pods/proxy","services/proxy"]}]}"#;
    let policy = r#""validations":[{"expression":"false","messageExpression":"object.kind + ' ' + request.operation + ' ' + request.name + ' ' + (has(object.command) ? object.command[0] : object.path)"}]"#;
    server.create(
        POLICIES,
        &format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{{"name":"p"}},"spec":{{{rules},{policy}}}}}"#
        ),
    );
    server.create(
        BINDINGS,
        r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}}"#,
    );
    for (path, words) in [
        ("pods/web/exec?command=ls&command=-l&container=c", "PodExecOptions CONNECT web ls"),
        ("pods/web/proxy/metrics/all", "PodProxyOptions CONNECT web /metrics/all"),
        ("services/web/proxy/a", "ServiceProxyOptions CONNECT web /a"),
    ] {
        let refused = server.post(&format!("/api/v1/namespaces/default/{path}"), "");
        assert_eq!(refused.code, 422, "{path}: {}", refused.text());
        assert!(refused.field("message").ends_with(words), "{path}: {}", refused.text());
    }
    // What no policy matches is answered as before.
    assert_eq!(server.post("/api/v1/namespaces/default/pods/web/portforward", "").code, 404);
}
