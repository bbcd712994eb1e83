//! RBAC as Kubernetes has it: decisions, the escalation check, and the roles that every server has.

use tenure_authorization::rbac::{
    DecisionCache, GrantedRule, Policy, PolicyRule, Reconciled, Uncovered, bootstrap_objects, reconcile,
    uncovered,
};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_profile::KubernetesVersion;
use tenure_value::{Limits, Text, Value, json, yaml};

fn document(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).expect("the test's own YAML")
}

fn plain(rules: &[PolicyRule]) -> Vec<GrantedRule<'_>> {
    rules.iter().map(GrantedRule::unlimited).collect()
}

fn policy(documents: &[&str]) -> Policy {
    let mut policy = Policy::default();
    for text in documents {
        assert!(policy.insert(&document(text)), "{text}");
    }
    policy
}

/// Reads `VERB GROUP/RESOURCE[/SUBRESOURCE] [NAMESPACE [NAME]]` or `VERB /PATH`; the core group is `core`.
fn attributes(text: &str) -> Attributes {
    let mut words = text.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (verb, target) = (word(), word());
    if target.starts_with('/') {
        return Attributes::NonResource { verb: verb.into(), path: target.into() };
    }
    let mut parts = target.split('/');
    let mut part = || Text::from(parts.next().unwrap_or_default());
    Attributes::Resource(ResourceAttributes {
        verb: verb.into(),
        group: Some(part()).filter(|group| group != "core").unwrap_or_default(),
        resource: part(),
        subresource: part(),
        namespace: word().into(),
        name: word().into(),
        ..Default::default()
    })
}

#[test]
fn a_rule_allows_the_requests_that_it_names() {
    let cases = [
        // rule, request, allowed
        ("{apiGroups: [''], resources: [pods], verbs: [get]}", "get core/pods", true),
        ("{apiGroups: [''], resources: [pods], verbs: [get]}", "list core/pods", false),
        ("{apiGroups: [''], resources: [pods], verbs: [get]}", "get apps/pods", false),
        ("{apiGroups: [''], resources: [pods], verbs: [get]}", "get core/pods/log", false),
        ("{apiGroups: [''], resources: [pods/log], verbs: [get]}", "get core/pods/log", true),
        ("{apiGroups: [''], resources: [pods/log], verbs: [get]}", "get core/pods", false),
        ("{apiGroups: ['*'], resources: ['*'], verbs: ['*']}", "patch apps/deployments/scale", true),
        (
            "{apiGroups: ['*'], resources: ['*/scale'], verbs: [update]}",
            "update apps/deployments/scale",
            true,
        ),
        ("{apiGroups: ['*'], resources: ['*/scale'], verbs: [update]}", "update apps/deployments", false),
        (
            "{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}",
            "get core/pods ns a",
            true,
        ),
        (
            "{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}",
            "get core/pods ns b",
            false,
        ),
        (
            "{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [create]}",
            "create core/pods ns",
            false,
        ),
        ("{nonResourceURLs: [/metrics], verbs: [get]}", "get /metrics", true),
        ("{nonResourceURLs: [/metrics], verbs: [get]}", "get /metrics/slis", false),
        ("{nonResourceURLs: ['/logs/*'], verbs: [get]}", "get /logs/a/b", true),
        ("{nonResourceURLs: ['/logs/*'], verbs: [get]}", "get /logs", false),
        ("{nonResourceURLs: ['*'], verbs: [get]}", "get /anything", true),
        ("{apiGroups: ['*'], resources: ['*'], verbs: ['*']}", "get /metrics", false),
    ];
    for (rule, request, allowed) in cases {
        let rules = PolicyRule::list(Some(&Value::array([document(rule)])));
        assert_eq!(rules[0].allows(&attributes(request)), allowed, "{rule} {request}");
    }
}

const READER: &str = "{kind: ClusterRole, metadata: {name: reader},
    rules: [{apiGroups: [apps], resources: [deployments], verbs: [get]}, {nonResourceURLs: [/metrics], verbs: [get]}]}";

#[test]
fn bindings_grant_in_their_scope() {
    let policy = policy(&[
        READER,
        "{kind: RoleBinding, metadata: {name: b, namespace: shop}, roleRef: {kind: ClusterRole, name: reader},
          subjects: [{kind: Group, name: devs}, {kind: ServiceAccount, name: robot}]}",
        "{kind: ClusterRoleBinding, metadata: {name: c}, roleRef: {kind: ClusterRole, name: reader},
          subjects: [{kind: User, name: ann}]}",
        "{kind: RoleBinding, metadata: {name: d, namespace: shop}, roleRef: {kind: Role, name: none},
          subjects: [{kind: User, name: bob}]}",
    ]);
    let dev = UserInfo::new("dev").with_group("devs");
    let cases = [
        (
            &dev,
            "get apps/deployments shop",
            Some(r#"RoleBinding "b/shop" of ClusterRole "reader" to Group "devs""#),
        ),
        (&dev, "get apps/deployments bank", None),
        (&dev, "get apps/deployments", None),
        (&dev, "get /metrics", None),
        (
            &UserInfo::service_account("shop", "robot"),
            "get apps/deployments shop",
            Some(r#"RoleBinding "b/shop" of ClusterRole "reader" to ServiceAccount "robot/shop""#),
        ),
        (&UserInfo::service_account("bank", "robot"), "get apps/deployments shop", None),
        (
            &UserInfo::new("ann"),
            "get apps/deployments bank",
            Some(r#"ClusterRoleBinding "c" of ClusterRole "reader" to User "ann""#),
        ),
        (
            &UserInfo::new("ann"),
            "get /metrics",
            Some(r#"ClusterRoleBinding "c" of ClusterRole "reader" to User "ann""#),
        ),
    ];
    for (user, request, grant) in cases {
        let decision = policy.authorize(user, &attributes(request));
        assert_eq!(decision.is_allowed(), grant.is_some(), "{} {request}", user.name);
        let reason = grant.map_or(String::new(), |grant| format!("RBAC: allowed by {grant}"));
        assert_eq!(decision.reason, reason, "{} {request}", user.name);
    }
    let denied = policy.authorize(&UserInfo::new("bob"), &attributes("get apps/deployments shop"));
    assert_eq!(denied.reason, r#"RBAC: role.rbac.authorization.k8s.io "none" not found"#);
    assert_eq!(
        attributes("get apps/deployments/scale shop web").denial(&UserInfo::new("bob"), ""),
        r#"User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "shop""#
    );
}

#[test]
fn removed_roles_and_bindings_no_longer_grant() {
    let binding =
        "{kind: ClusterRoleBinding, metadata: {name: c}, roleRef: {kind: ClusterRole, name: reader},
        subjects: [{kind: User, name: ann}]}";
    let (ann, get) = (UserInfo::new("ann"), attributes("get apps/deployments shop"));
    let mut policy = policy(&[READER, binding]);
    assert!(policy.authorize(&ann, &get).is_allowed());
    policy.insert(&document(&binding.replace("ann", "bob")));
    assert!(!policy.authorize(&ann, &get).is_allowed());
    policy.insert(&document(binding));
    policy.remove("ClusterRole", "", "reader");
    assert!(!policy.authorize(&ann, &get).is_allowed());
    policy.insert(&document(READER));
    policy.remove("ClusterRoleBinding", "", "c");
    assert!(!policy.authorize(&ann, &get).is_allowed());
}

#[test]
fn users_cannot_grant_more_than_they_have() {
    let cases = [
        // owned, requested, missing
        (
            "[{apiGroups: [''], resources: [pods], verbs: [get, list]}]",
            "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
            "",
        ),
        (
            "[{apiGroups: [''], resources: [configmaps], verbs: [get, list]}]",
            "[{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}, {apiGroups: [''], resources: [pods/log], verbs: [get]}]",
            r#"{APIGroups:[""], Resources:["configmaps"], Verbs:["watch"]}
{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}"#,
        ),
        (
            "[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]",
            "[{apiGroups: [apps], resources: ['*/scale'], verbs: [get]}]",
            "",
        ),
        (
            "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
            "[{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}]",
            "",
        ),
        (
            "[{apiGroups: [''], resources: [nodes], resourceNames: [one], verbs: [list]}]",
            "[{apiGroups: [''], resources: [nodes], resourceNames: [two], verbs: [list]}]",
            r#"{APIGroups:[""], Resources:["nodes"], ResourceNames:["two"], Verbs:["list"]}"#,
        ),
        (
            "[{nonResourceURLs: ['/logs/*'], verbs: [get]}]",
            "[{nonResourceURLs: [/logs/a], verbs: [get]}]",
            "",
        ),
        (
            "[{nonResourceURLs: ['/logs/*'], verbs: [get]}]",
            "[{nonResourceURLs: [/logs], verbs: [get]}]",
            r#"{NonResourceURLs:["/logs"], Verbs:["get"]}"#,
        ),
        // Two rules together cover a rule that neither covers alone.
        (
            "[{apiGroups: [''], resources: [pods], verbs: [get]}, {apiGroups: [''], resources: [nodes], verbs: [get]}]",
            "[{apiGroups: [''], resources: [pods, nodes], verbs: [get]}]",
            "",
        ),
    ];
    for (owned, requested, lacking) in cases {
        let owned = PolicyRule::list(Some(&document(owned)));
        let requested = PolicyRule::list(Some(&document(requested)));
        let found = match uncovered(&plain(&owned), &plain(&requested)) {
            None => String::new(),
            Some(Uncovered::Rules { rules, .. }) => {
                rules.iter().map(PolicyRule::to_string).collect::<Vec<_>>().join("\n")
            }
            Some(Uncovered::TooMany) => panic!("too many"),
        };
        assert_eq!(found, lacking, "{requested:?}");
    }
}

#[test]
fn a_rule_with_too_many_combinations_is_not_compared() {
    let many = || (0..1000).map(|number| Text::from(number.to_string())).collect::<Vec<_>>();
    let rule = PolicyRule { api_groups: many(), resources: many(), verbs: many(), ..PolicyRule::default() };
    assert_eq!(uncovered(&[], &[GrantedRule::unlimited(&rule)]), Some(Uncovered::TooMany));
}

#[test]
fn a_start_restores_missing_parts_and_keeps_additions() {
    let recorded =
        json::parse(include_bytes!("data/rbac-reconciled.json"), &Limits::default()).expect("JSON");
    let cases = recorded.get("reconciled").and_then(Value::as_array).expect("a list");
    let flat = |object: &Value| {
        let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let own = object.as_object().cloned().unwrap_or_default();
        let own = own.without("metadata").without("apiVersion").without("kind");
        Value::Object(metadata.iter().fold(own, |all, (name, value)| all.with(name.clone(), value.clone())))
    };
    let unflat = |row: &Value, like: &Value| {
        let row = row.as_object().cloned().unwrap_or_default();
        let names = ["annotations", "labels", "name", "namespace"];
        let metadata = names.iter().filter_map(|name| Some((*name, row.get(*name)?.clone())));
        let metadata = Value::object(metadata);
        let own = names.iter().fold(row, |row, name| row.without(name)).with("metadata", metadata);
        let like = like.as_object().cloned().unwrap_or_default();
        let own = ["apiVersion", "kind"]
            .iter()
            .fold(own, |own, name| own.with(*name, like.get(*name).cloned().unwrap_or(Value::Null)));
        Value::Object(own)
    };
    let objects = bootstrap_objects(KubernetesVersion::V1_36).expect("the data file");
    assert_eq!(objects.len(), 69 + 50 + 7 + 7);
    for case in cases.iter() {
        let text = |field: &str| case.get(field).and_then(Value::as_str).unwrap_or_default();
        // Subjects copied from another binding are handled by the server's start.
        if text("case").contains("while system:discovery") {
            continue;
        }
        let kind = match text("kind") {
            "clusterroles" => "ClusterRole",
            "clusterrolebindings" => "ClusterRoleBinding",
            "roles" => "Role",
            _ => "RoleBinding",
        };
        let expected = objects.iter().find(|object| {
            object.get("kind").and_then(Value::as_str) == Some(kind)
                && object.at(["metadata", "name"]).and_then(Value::as_str) == Some(text("name"))
        });
        let expected = expected.unwrap_or_else(|| panic!("{} {}", kind, text("name")));
        let damaged =
            case.get("damaged").filter(|damaged| !damaged.is_null()).map(|row| unflat(row, expected));
        let after = match reconcile(expected, damaged.as_ref()) {
            Reconciled::Unchanged => damaged.clone().expect("an object"),
            Reconciled::Create(object) | Reconciled::Update(object) | Reconciled::Recreate(object) => object,
        };
        let wanted = match text("outcome") {
            "merged" => case.get("afterRestart"),
            "left" => case.get("damaged"),
            _ => case.get("before"),
        };
        // The rules of aggregated roles are written by their controller, not at the start.
        let without_rules = |row: &Value| match row.get("aggregationRule") {
            Some(_) => Value::Object(row.as_object().cloned().unwrap_or_default().without("rules")),
            None => row.clone(),
        };
        assert_eq!(
            without_rules(&flat(&after)),
            without_rules(wanted.expect("recorded")),
            "{} of {kind} {}",
            text("case"),
            text("name")
        );
    }
}

#[test]
fn decisions_are_remembered_until_the_policy_changes() {
    let cache = DecisionCache::default();
    let mut policy = Policy::default();
    let ann = UserInfo::new("ann").with_group("devs");
    let request = |name: &str| attributes(&format!("get core/pods shop {name}"));
    let role = document(
        "{kind: Role, metadata: {name: r, namespace: shop}, rules: [{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}]}",
    );
    let binding = document(
        "{kind: RoleBinding, metadata: {name: b, namespace: shop}, roleRef: {kind: Role, name: r}, subjects: [{kind: Group, name: devs}]}",
    );
    for step in 0..4 {
        match step {
            1 => assert!(policy.insert(&binding)),
            2 => assert!(policy.insert(&role)),
            3 => policy.remove("RoleBinding", "shop", "b"),
            _ => {}
        }
        let others = [ann.clone(), UserInfo::new("ann"), UserInfo::new("bob").with_group("devs")];
        for (user, name) in others.iter().flat_map(|user| ["a", "b"].map(|name| (user, name))) {
            for _ in 0..2 {
                let expected = policy.authorize(user, &request(name));
                assert_eq!(cache.authorize(&policy, user, &request(name)), expected, "{user:?} {name}");
            }
        }
    }
}
