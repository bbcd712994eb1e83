//! Permissions per field: the changes that a limited role permits, and the message of a refusal.

use tenure_authorization::rbac::{FieldRule, FieldWrite, NO_FIELDS, Policy, WritePermission, check_fields};
use tenure_fields::{FieldSet, FieldSetBuilder, Path};
use tenure_meta::{ResourceAttributes, UserInfo};
use tenure_value::{Limits, yaml};

fn set(paths: &[&str]) -> FieldSet {
    let mut builder = FieldSetBuilder::default();
    for path in paths {
        builder.insert(Path::parse(path).expect("a path").elements());
    }
    builder.finish()
}

fn check(rule: &str, changed: &[&str], manager: &str, force: bool) -> String {
    let rules = FieldRule::parse(rule).expect("field rules");
    let rules: Vec<&FieldRule> = rules.iter().collect();
    let write = FieldWrite { changed: &set(changed), reordered: &NO_FIELDS, manager, force };
    match check_fields(&rules, &write) {
        Ok(()) => "ok".into(),
        Err(reasons) => reasons.join("\n"),
    }
}

#[test]
fn the_order_of_a_list_changes_with_the_list_or_all_its_items() {
    let list = ".spec.containers";
    let cases = [
        ("fields: [.spec]", true),
        ("fields: [.spec.containers]", true),
        ("fields: ['.spec.containers[*]']", true),
        ("fields: ['.spec.containers[*].image']", false),
        (r#"fields: ['.spec.containers[name="a"]']"#, false),
        ("fields: [.spec.replicas]", false),
        ("exceptFields: [.spec.replicas]", true),
        ("exceptFields: [.spec.containers]", false),
        (r#"exceptFields: ['.spec.containers[name="a"].image']"#, false),
    ];
    for (limit, permitted) in cases {
        let rules = FieldRule::parse(&format!("[{{resources: [pods], {limit}}}]")).expect("field rules");
        let reordered = set(&[list]);
        let write = FieldWrite { changed: &NO_FIELDS, reordered: &reordered, manager: "m", force: false };
        let checked = check_fields(&rules.iter().collect::<Vec<_>>(), &write);
        assert_eq!(checked.is_ok(), permitted, "{limit}");
        for reason in checked.err().into_iter().flatten() {
            let expected = ".spec.containers: the order of its items may not change; permitted: ";
            assert!(reason.starts_with(expected), "{limit}: {reason}");
        }
    }
}

#[test]
fn a_write_changes_only_permitted_fields() {
    let replicas = "[{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas]}]";
    let images =
        "[{apiGroups: [apps], resources: ['*'], fields: ['.spec.template.spec.containers[*].image']}]";
    let but_labels = "[{apiGroups: [apps], resources: [deployments], exceptFields: [.metadata.labels.tier]}]";
    let as_hpa = "[{apiGroups: [apps], resources: [deployments], fields: [.spec], managers: [hpa]}]";
    let image = r#".spec.template.spec.containers[name="web"].image"#;
    let denied = "may not change; permitted: fields .spec.replicas of deployments.apps";
    let cases = [
        (replicas, vec![".spec.replicas"], "m", false, "ok".to_string()),
        (replicas, vec![], "m", false, "ok".into()),
        (replicas, vec![".spec.paused", ".spec.replicas"], "m", false, format!(".spec.paused: {denied}")),
        (replicas, vec![".spec"], "m", false, format!(".spec: {denied}")),
        (images, vec![image], "m", false, "ok".into()),
        (
            images,
            vec![r#".spec.template.spec.containers[name="web"]"#],
            "m",
            false,
            r#".spec.template.spec.containers[name="web"]: may not change; permitted: fields .spec.template.spec.containers[*].image of *.apps"#.into(),
        ),
        (but_labels, vec![".metadata.labels.app", ".spec.replicas"], "m", false, "ok".into()),
        (
            but_labels,
            vec![".metadata.labels"],
            "m",
            false,
            ".metadata.labels: may not change; permitted: all fields except .metadata.labels.tier of deployments.apps".into(),
        ),
        (as_hpa, vec![".spec.replicas"], "hpa", false, "ok".into()),
        (
            as_hpa,
            vec![".spec.replicas"],
            "me",
            false,
            r#"fields .spec of deployments.apps: field manager "me" is not one of ["hpa"]"#.into(),
        ),
        (
            replicas,
            vec![".spec.replicas"],
            "m",
            true,
            "fields .spec.replicas of deployments.apps: force is not permitted".into(),
        ),
    ];
    for (rule, changed, manager, force, expected) in cases {
        assert_eq!(check(rule, &changed, manager, force), expected, "{rule} {changed:?}");
    }
}

#[test]
fn an_invalid_annotation_is_reported() {
    let cases = [
        ("{", "the annotation: is not YAML or JSON: "),
        ("{}", "the annotation: must be a list of field rules"),
        ("[1]", "[0]: must be an object"),
        ("[{fields: [.spec]}]", "[0]: resources must name at least one resource"),
        ("[{resources: [pods], fields: .spec}]", "[0]: fields must be a list of strings"),
        ("[{resources: [pods], force: maybe}]", "[0]: force must be true or false"),
        ("[{resources: [pods], fields: ['']}]", "[0]: an empty path; leave fields out"),
        ("[{resources: [pods], fields: ['.a[']}]", r#"[0]: ".a[" is not a path such as .spec.replicas"#),
    ];
    for (text, expected) in cases {
        let error = FieldRule::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn roles_add_up_and_an_unreadable_limit_grants_no_write() {
    let role = |name: &str, annotation: &str| {
        format!(
            "{{kind: ClusterRole, metadata: {{name: {name}, annotations: {{tenure.dev/field-rules: \"{annotation}\"}}}},
              rules: [{{apiGroups: [apps], resources: [deployments], verbs: [patch]}}]}}"
        )
    };
    let binding = |name: &str| {
        format!(
            "{{kind: ClusterRoleBinding, metadata: {{name: {name}}}, roleRef: {{kind: ClusterRole, name: {name}}},
              subjects: [{{kind: User, name: ann}}]}}"
        )
    };
    let write = ResourceAttributes {
        verb: "patch".into(),
        group: "apps".into(),
        resource: "deployments".into(),
        namespace: "shop".into(),
        ..Default::default()
    };
    let cases: [(&[&str], &str); 5] = [
        (&["[{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas]}]"], "1"),
        (
            &[
                "[{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas]}]",
                "[{apiGroups: [apps], resources: [deployments], fields: [.spec.paused]}]",
            ],
            "2",
        ),
        (&["[{apiGroups: [apps], resources: [statefulsets], fields: [.spec.replicas]}]"], "unlimited"),
        (&["[{apiGroups: [apps], resources: [deployments], fields: [.spec]}]", "[]"], "unlimited"),
        (&["{"], "0"),
    ];
    for (annotations, expected) in cases {
        let mut policy = Policy::default();
        for (at, annotation) in annotations.iter().enumerate() {
            for text in [role(&format!("r{at}"), annotation), binding(&format!("r{at}"))] {
                policy.insert(&yaml::parse(text.as_bytes(), &Limits::default()).expect("YAML"));
            }
        }
        let found = match policy.write_permission(&UserInfo::new("ann"), &write) {
            WritePermission::Unlimited => "unlimited".to_string(),
            WritePermission::Limited(rules) => rules.len().to_string(),
        };
        assert_eq!(found, expected, "{annotations:?}");
    }
}
