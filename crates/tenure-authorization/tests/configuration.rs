//! An AuthorizationConfiguration: what it says, what is wrong in it, and the conditions under which a webhook is asked.

use std::time::Duration;
use tenure_authorization::{
    AuthorizerOptions, MatchConditions, WebhookFailure, WebhookOptions, read_configuration, review_spec,
};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_transport::ReviewVersion;

const WEBHOOK: &str = "{timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}}";

fn configuration(authorizers: &str) -> String {
    format!(
        "{{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{authorizers}]}}"
    )
}

#[test]
fn authorizers_are_read_in_their_order() {
    let webhook = "{type: Webhook, name: w, webhook: {timeout: 1s, authorizedTTL: 10s, cacheUnauthorizedRequests: false, \
                   subjectAccessReviewVersion: v1beta1, matchConditionSubjectAccessReviewVersion: v1, failurePolicy: NoOpinion, \
                   connectionInfo: {type: KubeConfigFile, kubeConfigFile: /etc/w}, \
                   matchConditions: [{expression: \"request.user != 'x'\"}]}}";
    let text = configuration(&format!(
        "{{type: Node, name: nodes}}, {webhook}, {{type: RBAC, name: r}}, {{type: ABAC, name: a}}"
    ));
    let read = read_configuration(&text).unwrap();
    let names: Vec<&str> = read.iter().map(|authorizer| authorizer.name.as_str()).collect();
    assert_eq!(names, ["nodes", "w", "r", "a"]);
    assert!(matches!(read[0].options, Some(AuthorizerOptions::Node)) && read[3].options.is_none());
    let Some(AuthorizerOptions::Webhook(webhook)) = &read[1].options else { panic!("{read:?}") };
    let want = WebhookOptions {
        version: ReviewVersion::V1beta1,
        timeout: Duration::from_secs(1),
        authorized_ttl: Duration::from_secs(10),
        unauthorized_ttl: Duration::ZERO,
        on_failure: WebhookFailure::NoOpinion,
        match_conditions: MatchConditions::compile(["request.user != 'x'".to_owned()]).unwrap(),
        ..WebhookOptions::new("/etc/w")
    };
    assert_eq!(*webhook, want);
}

#[test]
fn what_is_wrong_is_named() {
    let webhook = |from: &str, to: &str| {
        configuration(&format!("{{type: Webhook, name: w, webhook: {}}}", WEBHOOK.replace(from, to)))
    };
    let condition = |expression: &str| {
        let conditions = format!(
            "{{matchConditions: [{{expression: \"{expression}\"}}], matchConditionSubjectAccessReviewVersion: v1, "
        );
        webhook("{timeout", &format!("{conditions}timeout"))
    };
    for (text, error) in [
        (configuration(""), "authorizers: at least one authorization mode must be defined"),
        (
            configuration("{type: RBAC, name: r}").replace("/v1", "/v2"),
            "apiVersion: expected apiserver.config.k8s.io/v1,",
        ),
        (
            configuration("{type: RBAC, name: r}").replace("kind: A", "kind: B"),
            "kind: expected AuthorizationConfiguration",
        ),
        (configuration("{type: RBAC, name: r, more: 1}"), "authorizers[0].more: unknown field"),
        (configuration("{type: RBAC}"), "authorizers[0].name: required"),
        (configuration("{type: RBAC, name: A_b}"), "authorizers[0].name: authorizer name is invalid: "),
        (
            configuration("{type: Rbac, name: r}"),
            "authorizers[0].type: unsupported value \"Rbac\": expected ABAC,",
        ),
        (
            configuration("{type: RBAC, name: r}, {type: RBAC, name: s}"),
            "authorizers[1].type: duplicate value \"RBAC\"",
        ),
        (
            configuration("{type: RBAC, name: r}, {type: Node, name: r}"),
            "authorizers[1].name: duplicate value \"r\"",
        ),
        (configuration("{type: Webhook, name: w}"), "authorizers[0].webhook: required when type=Webhook"),
        (
            configuration("{type: RBAC, name: r, webhook: {}}"),
            "authorizers[0].webhook: may only be specified when type=Webhook",
        ),
        (webhook("3s", "31s"), "authorizers[0].webhook.timeout: must be > 0s and <= 30s"),
        (webhook("timeout: 3s, ", ""), "authorizers[0].webhook.timeout: required"),
        (
            webhook("v1,", "v2,"),
            "authorizers[0].webhook.subjectAccessReviewVersion: unsupported value \"v2\"",
        ),
        (webhook("Deny", "Fail"), "authorizers[0].webhook.failurePolicy: unsupported value \"Fail\""),
        (
            webhook("/k", "k"),
            "authorizers[0].webhook.connectionInfo.kubeConfigFile: must be an absolute path",
        ),
        (
            webhook("type: KubeConfigFile", "type: InClusterConfig"),
            "authorizers[0].webhook.connectionInfo.kubeConfigFile: can only be set when type=KubeConfigFile",
        ),
        (
            webhook("type: KubeConfigFile, kubeConfigFile: /k", "type: InClusterConfig"),
            "authorizers[0].webhook.connectionInfo.type: InClusterConfig is for servers that ask an API server",
        ),
        (
            webhook("{timeout", "{matchConditions: [{expression: 'true'}], timeout"),
            "authorizers[0].webhook.matchConditionSubjectAccessReviewVersion: required if match conditions are specified",
        ),
        (
            condition("request.user"),
            "authorizers[0].webhook.matchConditions[0].expression: must evaluate to bool but got string",
        ),
        (
            condition("request.name == 'x'"),
            "authorizers[0].webhook.matchConditions[0].expression: compilation failed: ",
        ),
    ] {
        let found = read_configuration(&text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(found.starts_with(error), "{text}: {found}");
    }
}

#[test]
fn conditions_see_the_review() {
    let user = UserInfo::new("ann").with_group("ops");
    let get = Attributes::NonResource { verb: "get".into(), path: "/metrics".into() };
    let list = Attributes::Resource(ResourceAttributes {
        verb: "list".into(),
        resource: "pods".into(),
        namespace: "ns".into(),
        field_selector: "spec.nodeName=a".into(),
        ..ResourceAttributes::default()
    });
    for (expressions, attributes, want) in [
        (&[][..], &get, Ok(true)),
        (&["request.user == 'ann'", "request.groups.exists(g, g == 'ops')"], &get, Ok(true)),
        (&["has(request.resourceAttributes)"], &get, Ok(false)),
        (
            &["has(request.resourceAttributes) && request.resourceAttributes.namespace == 'ns'"],
            &list,
            Ok(true),
        ),
        (
            &["request.resourceAttributes.group == '' && request.resourceAttributes.name == ''"],
            &list,
            Ok(true),
        ),
        (
            &[
                "request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.values == ['a'])",
            ],
            &list,
            Ok(true),
        ),
        (&["request.nonResourceAttributes.path.startsWith('/met')"], &get, Ok(true)),
        // One that is false counts more than one that fails.
        (&["request.resourceAttributes.verb == 'get'", "false"], &get, Ok(false)),
        (&["request.resourceAttributes.verb == 'get'", "true"], &get, Err("no such key: resourceAttributes")),
    ] {
        let conditions =
            MatchConditions::compile(expressions.iter().map(|expression| (*expression).to_owned())).unwrap();
        match (conditions.matches(&review_spec(&user, attributes)), want) {
            (Err(error), Err(want)) => assert!(error.contains(want), "{error}"),
            (found, want) => assert_eq!(found, want.map_err(str::to_owned), "{expressions:?}"),
        }
    }
}
