//! Permissions for fields are less than permissions: users grant no more fields than they have, and aggregated roles keep the limits
//! of the roles that they collect. A slow model tries every write of a small world.

use proptest::{
    prelude::*,
    sample::{select, subsequence},
};
use tenure_authorization::rbac::{FieldRule, check_fields};
use tenure_authorization::rbac::{
    FieldWrite, NO_FIELDS, Policy, RoleRef, Uncovered, WritePermission, uncovered,
};
use tenure_fields::{FieldSet, Path};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_value::{Limits, yaml};

const REPLICAS: &str = "[{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas]}]";
const PATCH: &str = "[{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}]";
const ALL: &str = "[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]";

fn insert(policy: &mut Policy, text: &str) {
    let document = yaml::parse(text.as_bytes(), &Limits::default()).expect("the test's own YAML");
    assert!(policy.insert(&document), "{text}");
}

/// A cluster role; without field rules if they are empty.
fn role(name: &str, labels: &str, field_rules: &str, rules: &str) -> String {
    let annotations = match field_rules {
        "" => "{}".to_string(),
        rules => format!("{{tenure.dev/field-rules: {rules:?}}}"),
    };
    format!(
        "{{kind: ClusterRole, metadata: {{name: {name}, labels: {labels}, annotations: {annotations}}}, rules: {rules}}}"
    )
}

/// An aggregated role with rules that a controller has collected.
fn aggregated(name: &str, labels: &str, field_rules: &str, rules: &str) -> String {
    let selector = "{clusterRoleSelectors: [{matchLabels: {collect: 'yes'}}]}";
    let role = role(name, labels, field_rules, rules);
    format!("{}, aggregationRule: {selector}}}", role.strip_suffix('}').expect("an object"))
}

fn binding(name: &str, user: &str) -> String {
    format!(
        "{{kind: ClusterRoleBinding, metadata: {{name: {user}-{name}}}, roleRef: {{kind: ClusterRole, name: {name}}},
          subjects: [{{kind: User, name: {user}}}]}}"
    )
}

/// Returns what a user lacks to grant a role, in words; empty if the user may.
fn lacking(policy: &Policy, user: &str, role: &str) -> String {
    let user = UserInfo::new(user);
    let requested = policy.rules_of_role(&RoleRef::ClusterRole(role.into()), "").expect("a role");
    match uncovered(&policy.rules_of(&user, "").0, &requested) {
        None => String::new(),
        Some(Uncovered::TooMany) => "too many".into(),
        Some(Uncovered::Rules { rules, limits }) => {
            let rules: Vec<String> = rules.iter().map(|rule| rule.to_string()).collect();
            format!("{} | {}", rules.join(" "), limits.join("; "))
        }
    }
}

#[test]
fn users_grant_no_more_fields_than_they_have() {
    let held = "held: fields .spec.replicas of deployments.apps";
    let limited = |fields: &str| format!("[{{apiGroups: [apps], resources: [deployments], {fields}}}]");
    let patch = |granted: &str| (granted.to_string(), PATCH);
    let cases = [
        // The field rules and rules of the owner, those of the role that is granted, and what the owner lacks.
        (patch(REPLICAS), patch(REPLICAS), ""),
        (patch(REPLICAS), patch(""), held),
        (patch(REPLICAS), patch("[]"), held),
        (patch(REPLICAS), patch("{"), held),
        (patch(REPLICAS), patch("[{resources: [pods]}]"), held),
        (patch(REPLICAS), patch(&limited("fields: [.spec]")), held),
        (patch(REPLICAS), patch(&limited("fields: [.spec.replicas.x], managers: [a]")), ""),
        (patch(REPLICAS), patch(&limited("fields: [.spec.replicas], force: true")), held),
        (patch(REPLICAS), patch(&limited("exceptFields: [.spec.paused]")), held),
        (patch(&limited("managers: [a, b]")), patch(&limited("managers: [a]")), ""),
        (
            patch(&limited("managers: [a, b]")),
            patch(&limited("managers: [a, c]")),
            "held: all fields of deployments.apps",
        ),
        (patch(&limited("fields: ['.l[*]']")), patch(&limited("fields: ['.l[k=\"1\"].i', '.l[*].i']")), ""),
        (patch(&limited("exceptFields: [.a.b]")), patch(&limited("fields: [.c]")), ""),
        (patch(&limited("exceptFields: [.a.b]")), patch(&limited("exceptFields: [.a]")), ""),
        (
            patch(&limited("exceptFields: [.a.b]")),
            patch(&limited("fields: [.a]")),
            "held: all fields except .a.b of deployments.apps",
        ),
        // Reading is not limited.
        (
            patch(REPLICAS),
            (String::new(), "[{apiGroups: [apps], resources: [deployments], verbs: [get]}]"),
            "",
        ),
        // `*` is as much as each of what it stands for.
        ((REPLICAS.into(), ALL), patch(""), held),
        ((REPLICAS.into(), ALL), (String::new(), ALL), held),
        ((REPLICAS.into(), ALL), (REPLICAS.into(), ALL), ""),
        (
            (REPLICAS.into(), ALL),
            (String::new(), "[{apiGroups: [apps], resources: [statefulsets], verbs: ['*']}]"),
            "",
        ),
        (
            ("[{apiGroups: ['*'], resources: ['*/scale'], fields: [.spec]}]".into(), ALL),
            (String::new(), "[{apiGroups: [apps], resources: ['*/scale'], verbs: [patch]}]"),
            "held: fields .spec of */scale.*",
        ),
        (
            ("[{apiGroups: ['*'], resources: ['*/scale'], fields: [.spec]}]".into(), ALL),
            (String::new(), "[{apiGroups: [apps], resources: ['*/status', deployments], verbs: [patch]}]"),
            "",
        ),
    ];
    for ((owned, rules), (granted, granted_rules), expected) in cases {
        let mut policy = Policy::default();
        insert(&mut policy, &role("owned", "{}", &owned, rules));
        insert(&mut policy, &role("granted", "{}", &granted, granted_rules));
        insert(&mut policy, &binding("owned", "ann"));
        let found = lacking(&policy, "ann", "granted");
        let found = found.split_once(" | ").map(|(_, limits)| format!("held: {limits}")).unwrap_or(found);
        assert_eq!(found, expected, "{owned} {rules} grants {granted} {granted_rules}");
    }
}

#[test]
fn several_roles_together_have_the_fields_of_each() {
    let mut policy = Policy::default();
    let limited = |fields: &str| format!("[{{apiGroups: [apps], resources: [deployments], {fields}}}]");
    for (name, fields) in [("one", "fields: [.a]"), ("two", "fields: [.b]"), ("both", "fields: [.a, .b]")] {
        insert(&mut policy, &role(name, "{}", &limited(fields), PATCH));
    }
    insert(&mut policy, &binding("one", "ann"));
    assert!(lacking(&policy, "ann", "both").contains("fields .a of"));
    insert(&mut policy, &binding("two", "ann"));
    assert_eq!(lacking(&policy, "ann", "both"), "");
}

#[test]
fn many_field_rules_are_not_compared_forever() {
    let fields: Vec<String> = (0..3000).map(|at| format!(".f{at}")).collect();
    let limits =
        format!("[{{apiGroups: [apps], resources: [deployments], fields: [{}]}}]", fields.join(", "));
    let mut policy = Policy::default();
    insert(&mut policy, &role("owned", "{}", &limits, PATCH));
    insert(&mut policy, &role("granted", "{}", &limits.replace("deployments", "deployments, pods"), PATCH));
    insert(&mut policy, &binding("owned", "ann"));
    assert_eq!(lacking(&policy, "ann", "granted"), "too many");
}

/// Returns what the fields of deployments that a user may patch are limited to.
fn limits(policy: &Policy, user: &str) -> String {
    let write = ResourceAttributes {
        verb: "patch".into(),
        group: "apps".into(),
        resource: "deployments".into(),
        ..Default::default()
    };
    match policy.write_permission(&UserInfo::new(user), &write) {
        WritePermission::Unlimited => "unlimited".into(),
        WritePermission::Limited(rules) => {
            let mut rules: Vec<String> = rules.iter().map(|(_, rule)| rule.to_string()).collect();
            rules.sort();
            format!("limited: {}", rules.join("; "))
        }
    }
}

#[test]
fn aggregated_roles_keep_the_limits_of_their_parts() {
    let part = "{collect: 'yes'}";
    let paused = REPLICAS.replace("replicas", "paused");
    let replicas = "fields .spec.replicas of deployments.apps";
    type Roles = Vec<String>;
    let cases: Vec<(Roles, String)> = vec![
        (vec![role("a", part, REPLICAS, PATCH)], format!("limited: {replicas}")),
        (
            vec![role("a", part, REPLICAS, PATCH), role("b", part, &paused, PATCH)],
            format!("limited: fields .spec.paused of deployments.apps; {replicas}"),
        ),
        // One of them is without limits, or limits another resource.
        (vec![role("a", part, REPLICAS, PATCH), role("b", part, "", PATCH)], "unlimited".into()),
        (
            vec![role("a", part, REPLICAS, PATCH), role("b", part, "[{resources: [pods]}]", PATCH)],
            "unlimited".into(),
        ),
        // The part has other rules by now, cannot be read, is not selected, or is gone.
        (vec![role("a", part, REPLICAS, ALL)], "limited: ".into()),
        (vec![role("a", part, "{", PATCH)], "limited: ".into()),
        (vec![role("a", "{}", REPLICAS, PATCH)], "limited: ".into()),
        (vec![role("x", "{}", REPLICAS, ALL)], "limited: ".into()),
        // Through another aggregated role, also if they aggregate each other.
        (
            vec![role("a", part, REPLICAS, PATCH), aggregated("b", part, "", PATCH)],
            format!("limited: {replicas}"),
        ),
        (vec![aggregated("b", part, "", PATCH), role("x", "{}", REPLICAS, PATCH)], "limited: ".into()),
    ];
    for (roles, expected) in cases {
        let mut policy = Policy::default();
        roles.iter().for_each(|role| insert(&mut policy, role));
        insert(&mut policy, &aggregated("sum", part, "", PATCH));
        insert(&mut policy, &binding("sum", "ann"));
        assert_eq!(limits(&policy, "ann"), expected, "{roles:?}");
        // Who has a part may grant what the sum grants, and no more.
        insert(&mut policy, &role("replicas", "{}", REPLICAS, PATCH));
        insert(&mut policy, &binding("replicas", "bob"));
        let may = lacking(&policy, "bob", "sum").is_empty();
        assert_eq!(may, expected == format!("limited: {replicas}"), "{roles:?}");
    }
    // Limits of the aggregated role itself are for what it collects without limits.
    for (parts, expected) in [("", format!("limited: {replicas}")), (paused.as_str(), "limited: ".into())] {
        let mut policy = Policy::default();
        insert(&mut policy, &role("a", part, parts, PATCH));
        insert(&mut policy, &aggregated("sum", "{}", REPLICAS, PATCH));
        insert(&mut policy, &binding("sum", "ann"));
        assert_eq!(limits(&policy, "ann"), expected, "{parts}");
    }
    // A limit outlasts the role that had it until the rules are collected again.
    let mut policy = Policy::default();
    insert(&mut policy, &role("a", part, REPLICAS, PATCH));
    insert(&mut policy, &aggregated("sum", "{}", "", PATCH));
    insert(&mut policy, &binding("sum", "ann"));
    policy.remove("ClusterRole", "", "a");
    assert_eq!(limits(&policy, "ann"), "limited: ");
}

/// A role of the small world: its rules and its field rules, as YAML.
#[derive(Clone, Debug)]
struct World {
    rules: String,
    field_rules: String,
}

fn list(items: Vec<&'static str>) -> String {
    items.iter().map(|item| format!("'{item}'")).collect::<Vec<_>>().join(", ")
}

fn some(choices: &'static [&'static str]) -> impl Strategy<Value = String> {
    subsequence(choices.to_vec(), 1..=2).prop_map(list)
}

fn world() -> impl Strategy<Value = World> {
    const PATTERNS: [&str; 7] = [".s", ".s.x", ".s.y", ".l", ".l[*]", ".l[*].i", ".l[k=\"1\"].i"];
    let rule = (
        some(&["apps", "*"]),
        some(&["a", "b", "a/scale", "*/scale", "*"]),
        some(&["get", "patch", "update", "*"]),
        select(vec!["", "", "'n'"]),
    )
        .prop_map(|(groups, resources, verbs, names)| {
            format!("{{apiGroups: [{groups}], resources: [{resources}], verbs: [{verbs}], resourceNames: [{names}]}}")
        });
    let limit = (
        some(&["apps", "*"]),
        some(&["a", "b", "*/scale", "*"]),
        subsequence(PATTERNS.to_vec(), 0..=2).prop_map(list),
        subsequence(PATTERNS.to_vec(), 0..=1).prop_map(list),
        subsequence(vec!["m", "n"], 0..=2).prop_map(list),
        any::<bool>(),
    )
        .prop_map(|(groups, resources, fields, except, managers, force)| {
            format!(
                "{{apiGroups: [{groups}], resources: [{resources}], fields: [{fields}], exceptFields: [{except}], \
                 managers: [{managers}], force: {force}}}"
            )
        });
    let limits = prop_oneof![
        1 => Just(String::new()),
        4 => proptest::collection::vec(limit, 1..3).prop_map(|rules| format!("[{}]", rules.join(", "))),
    ];
    (proptest::collection::vec(rule, 1..3), limits)
        .prop_map(|(rules, field_rules)| World { rules: format!("[{}]", rules.join(", ")), field_rules })
}

/// Whether a user may make a request, and change this of it.
fn may(policy: &Policy, user: &UserInfo, request: &ResourceAttributes, write: &FieldWrite<'_>) -> bool {
    if !policy.authorize(user, &Attributes::Resource(request.clone())).is_allowed() {
        return false;
    }
    match policy.write_permission(user, request) {
        _ if request.verb == "get" => true,
        WritePermission::Unlimited => true,
        WritePermission::Limited(rules) => {
            let rules: Vec<&FieldRule> = rules.iter().map(|(_, rule)| *rule).collect();
            check_fields(&rules, write).is_ok()
        }
    }
}

/// Visits every request of the small world.
fn visit_writes(mut visitor: impl FnMut(&ResourceAttributes, &FieldWrite<'_>)) {
    let paths =
        [".s", ".s.x", ".s.z", ".l", ".l[k=\"1\"]", ".l[k=\"1\"].i", ".l[k=\"1\"].j", ".l[k=\"2\"].i", ".o"];
    let set = |path: &str| {
        let mut set = FieldSet::default();
        set.insert(Path::parse(path).expect("a path").elements());
        set
    };
    let sets: Vec<FieldSet> = paths.iter().map(|path| set(path)).collect();
    let order = set(".l");
    for (group, resource, subresource) in ["apps", "other"].iter().flat_map(|group| {
        [("a", ""), ("b", ""), ("c", ""), ("a", "scale"), ("c", "scale")]
            .map(|(resource, below)| (*group, resource, below))
    }) {
        for (verb, name) in [("get", "n"), ("patch", "n"), ("patch", "o"), ("update", "n"), ("delete", "o")] {
            let request = ResourceAttributes {
                verb: verb.into(),
                group: group.into(),
                resource: resource.into(),
                subresource: subresource.into(),
                name: name.into(),
                ..Default::default()
            };
            for (manager, force) in [("m", false), ("n", true), ("z", false), ("z", true)] {
                for changed in &sets {
                    visitor(&request, &FieldWrite { changed, reordered: &NO_FIELDS, manager, force });
                }
                visitor(&request, &FieldWrite { changed: &NO_FIELDS, reordered: &order, manager, force });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn who_may_grant_a_role_may_make_every_write_that_it_permits(
        owned in proptest::collection::vec((world(), any::<bool>()), 1..4),
        granted in world(),
        same in any::<bool>(),
    ) {
        let mut policy = Policy::default();
        let mut collected = Vec::new();
        for (at, (owned, is_collected)) in owned.iter().enumerate() {
            let labels = if *is_collected { "{collect: 'yes'}" } else { "{}" };
            insert(&mut policy, &role(&format!("r{at}"), labels, &owned.field_rules, &owned.rules));
            match is_collected {
                true => collected.push(owned.rules.trim_matches(['[', ']']).to_string()),
                false => insert(&mut policy, &binding(&format!("r{at}"), "ann")),
            }
        }
        insert(&mut policy, &aggregated("sum", "{}", "", &format!("[{}]", collected.join(", "))));
        insert(&mut policy, &binding("sum", "ann"));
        let granted = if same { &owned[0].0 } else { &granted };
        insert(&mut policy, &role("granted", "{}", &granted.field_rules, &granted.rules));
        insert(&mut policy, &binding("granted", "bob"));
        let (ann, bob) = (UserInfo::new("ann"), UserInfo::new("bob"));
        let refused = lacking(&policy, "ann", "granted");
        if same {
            prop_assert_eq!(&refused, "", "a role of its own: {:?}", owned);
        }
        if refused.is_empty() {
            let mut wrong = None;
            visit_writes(|request, write| {
                if may(&policy, &bob, request, write) && !may(&policy, &ann, request, write) {
                    wrong = Some(format!("{request:?} {write:?}"));
                }
            });
            prop_assert_eq!(wrong, None, "{:?} may grant {:?}", owned, granted);
        }
    }
}
