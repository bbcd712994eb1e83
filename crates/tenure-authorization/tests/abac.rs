//! ABAC: a file of policies, with and without a version. The cases are those of Kubernetes' documentation of the format.

use tenure_authorization::{Decision, abac::AbacPolicies, rbac::PolicyRule};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};

fn versioned(spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{{{spec}}}}}"#
    )
}

/// Reads a request: `USER[,GROUP] VERB PATH` or `USER[,GROUP] VERB GROUP/RESOURCE NAMESPACE`.
fn request(line: &str) -> (UserInfo, Attributes) {
    let words: Vec<&str> = line.split(' ').collect();
    let (name, groups) = words[0].split_once(',').unwrap_or((words[0], ""));
    let user =
        groups.split(',').filter(|group| !group.is_empty()).fold(UserInfo::new(name), UserInfo::with_group);
    let user = user.with_group(UserInfo::AUTHENTICATED);
    if words[2].starts_with('/') && words.len() == 3 {
        return (user, Attributes::NonResource { verb: words[1].into(), path: words[2].into() });
    }
    let (group, resource) = words[2].split_once('/').unwrap();
    let attributes = ResourceAttributes {
        verb: words[1].into(),
        group: group.into(),
        resource: resource.into(),
        namespace: words.get(3).copied().unwrap_or_default().into(),
        ..ResourceAttributes::default()
    };
    (user, Attributes::Resource(attributes))
}

#[test]
fn a_policy_permits_what_it_matches() {
    for (policy, allowed, refused) in [
        (
            versioned(r#""user":"ann","namespace":"*","resource":"*","apiGroup":"*""#),
            &["ann get /pods ns", "ann delete apps/deployments ns", "ann list /nodes "][..],
            &["bob get /pods ns", "ann get /version"][..],
        ),
        (
            versioned(r#""group":"ops","readonly":true,"namespace":"ns","resource":"pods","apiGroup":"""#),
            &["x,ops get /pods ns", "x,ops watch /pods ns"],
            &[
                "x,ops create /pods ns",
                "x,ops get /pods other",
                "x,ops get /secrets ns",
                "x,ops get apps/pods ns",
                "x get /pods ns",
            ],
        ),
        (
            versioned(r#""user":"*","readonly":true,"nonResourcePath":"/api*""#),
            &["x get /api", "x get /apis/apps"],
            &["x post /api", "x get /version", "x get /pods ns"],
        ),
        (
            versioned(r#""user":"ann","group":"ops","nonResourcePath":"*""#),
            &["ann,ops get /version"],
            &["ann get /version", "x,ops get /version"],
        ),
        (
            versioned(r#""nonResourcePath":"*","namespace":"*","resource":"*","apiGroup":"*""#),
            &[],
            &["x get /version"],
        ),
        ("{}".into(), &["x get /version", "x delete apps/deployments ns"], &[]),
        (
            r#"{"user":"ann","readonly":true}"#.into(),
            &["ann get /version", "ann list /pods ns"],
            &["ann post /version", "x get /version"],
        ),
        (
            r#"{"user":"*","namespace":"ns"}"#.into(),
            &["x create apps/deployments ns"],
            &["x create apps/deployments other", "x get /version"],
        ),
        (
            r#"{"group":"ops","resource":"pods"}"#.into(),
            &["x,ops create /pods ns"],
            &["x,ops create /services ns", "x create /pods ns"],
        ),
    ] {
        let policies = AbacPolicies::parse(&policy).unwrap();
        for (lines, want) in
            [(allowed, Decision::allowed()), (refused, Decision::no_opinion("No policy matched."))]
        {
            for line in lines {
                let (user, attributes) = request(line);
                assert_eq!(policies.authorize(&user, &attributes), want, "{policy}: {line}");
            }
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    for (text, error) in [
        ("", None),
        ("# comment\n\n  # another\n{\"user\":\"a\"}\n", None),
        ("{\"user\":\"a\"}\n{\"user\":1}\n", Some("line 2: {\"user\":1}: user: expected a string, got 1")),
        (
            "{\"readonly\":\"yes\"}",
            Some("line 1: {\"readonly\":\"yes\"}: readonly: expected true or false, got \"yes\""),
        ),
        ("\n[]", Some("line 2: []: expected an object")),
    ] {
        let parsed = AbacPolicies::parse(text).map_err(|error| error.to_string());
        assert_eq!(parsed.as_ref().err().map(String::as_str), error, "{text}");
    }
    assert!(AbacPolicies::parse("{").is_err());
}

#[test]
fn policies_are_rules() {
    let text = [
        versioned(
            r#""user":"ann","readonly":true,"namespace":"ns","resource":"pods","apiGroup":"","nonResourcePath":"/x""#,
        ),
        versioned(r#""user":"bob","namespace":"*","resource":"*","apiGroup":"*""#),
    ];
    let policies = AbacPolicies::parse(&text.join("\n")).unwrap();
    let shown = |name: &str, namespace: &str| -> Vec<String> {
        policies.rules_of(&UserInfo::new(name), namespace).iter().map(PolicyRule::to_string).collect()
    };
    assert_eq!(
        shown("ann", "ns"),
        [
            r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list" "watch"]}"#,
            r#"{NonResourceURLs:["/x"], Verbs:["get" "list" "watch"]}"#
        ]
    );
    assert_eq!(shown("ann", "other"), Vec::<String>::new());
    assert_eq!(shown("bob", "any"), [r#"{APIGroups:["*"], Resources:["*"], Verbs:["*"]}"#]);
}
