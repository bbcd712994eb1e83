//! Which requests a webhook or a policy matches: rules name operations and resources, selectors the labels of objects
//! and of namespaces.

use crate::{AdmissionAttributes, Operation, ResourceVariant};
use tenure_meta::{LabelSelector, Scope, ValueExt};
use tenure_value::{Text, Value};

/// Which requests a webhook or a policy matches.
#[derive(Debug)]
pub(crate) struct MatchConstraints {
    rules: Vec<Rule>,
    /// Rules that exclude a request, whatever the others say.
    excluded: Vec<Rule>,
    namespaces: Selector,
    objects: Selector,
    /// Whether a rule for one version of a resource matches the others too (`matchPolicy: Equivalent`).
    equivalent: bool,
}

impl MatchConstraints {
    /// Reads a webhook, the `matchConstraints` of a policy or the `matchResources` of a binding.
    pub fn read(value: &Value) -> MatchConstraints {
        let rules = |name: &str| value.items(name).iter().map(Rule::read).collect();
        let named: Vec<Rule> = rules("resourceRules");
        MatchConstraints {
            rules: if named.is_empty() { rules("rules") } else { named },
            excluded: rules("excludeResourceRules"),
            namespaces: Selector::read(value.get("namespaceSelector")),
            objects: Selector::read(value.get("objectSelector")),
            equivalent: value.text("matchPolicy") != "Exact",
        }
    }

    /// Whether any rule is given. A binding without rules matches everything that its policy matches.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a rule names an operation on a resource, in any group and version.
    pub fn may_match(&self, operation: Operation, resource: &str) -> bool {
        self.rules.iter().any(|rule| {
            names(&rule.operations, operation.word())
                && rule.resources.iter().any(|(listed, _)| listed == "*" || listed == resource)
        })
    }

    /// Returns the variant of the resource that the rules match, preferring the requested one.
    pub fn matching_variant<'a>(&self, attributes: &'a AdmissionAttributes) -> Option<&'a ResourceVariant> {
        let variants =
            if self.equivalent { attributes.variants.as_slice() } else { &attributes.variants[..1] };
        if variants.iter().any(|variant| self.excluded.iter().any(|rule| rule.matches(attributes, variant))) {
            return None;
        }
        variants.iter().find(|variant| self.rules.iter().any(|rule| rule.matches(attributes, variant)))
    }

    /// Whether the selectors match the new or the old object and its namespace.
    pub fn selects(&self, attributes: &AdmissionAttributes) -> bool {
        let (object, old) = (&attributes.object, &attributes.old_object);
        // A namespace is matched by its own new labels. An object without namespace matches every namespace selector.
        let of_namespace = match (attributes.is_namespace(), object.is_null()) {
            (true, true) => old,
            (true, false) => object,
            _ => &attributes.namespace_object,
        };
        let is_cluster_scoped = !attributes.is_namespace() && attributes.namespace.is_empty();
        (is_cluster_scoped || self.namespaces.selects(of_namespace))
            && (self.objects.is_everything()
                || [object, old].iter().any(|each| !each.is_null() && self.objects.selects(each)))
    }
}

/// A rule, of which every part must match.
#[derive(Debug)]
struct Rule {
    operations: Box<[Text]>,
    groups: Box<[Text]>,
    versions: Box<[Text]>,
    /// Resources and subresources.
    resources: Vec<(Text, Text)>,
    /// The names of the objects; empty for all.
    names: Box<[Text]>,
    scope: Option<Scope>,
}

impl Rule {
    fn read(value: &Value) -> Rule {
        let resources = value.texts("resources");
        let resources = resources.iter().map(|resource| match resource.split_once('/') {
            Some((resource, below)) => (resource.into(), below.into()),
            None => (resource.clone(), Text::default()),
        });
        Rule {
            operations: value.texts("operations"),
            groups: value.texts("apiGroups"),
            versions: value.texts("apiVersions"),
            resources: resources.collect(),
            names: value.texts("resourceNames"),
            scope: match value.text("scope").as_str() {
                "Cluster" => Some(Scope::Cluster),
                "Namespaced" => Some(Scope::Namespaced),
                _ => None,
            },
        }
    }

    fn matches(&self, attributes: &AdmissionAttributes, variant: &ResourceVariant) -> bool {
        names(&self.operations, attributes.operation.word())
            && names(&self.groups, &variant.group)
            && names(&self.versions, &variant.version)
            && self.resources.iter().any(|(resource, below)| {
                (resource == "*" || *resource == variant.resource)
                    && (below == "*" || *below == attributes.subresource)
            })
            && (self.names.is_empty() || self.names.contains(&attributes.name))
            && self.scope.as_ref().is_none_or(|scope| *scope == attributes.scope)
    }
}

/// Whether a list has an item or the wildcard.
fn names(all: &[Text], one: &str) -> bool {
    all.iter().any(|listed| listed == "*" || listed == one)
}

/// A label selector as it is written in objects.
#[derive(Debug)]
pub(crate) struct Selector(Option<LabelSelector>);

impl Selector {
    /// Reads a selector. A missing one selects everything, an invalid one nothing.
    pub fn read(value: Option<&Value>) -> Selector {
        Selector(LabelSelector::of_object(value.unwrap_or(&Value::Null)).ok())
    }

    /// Whether the selector matches the labels of an object.
    pub fn selects(&self, object: &Value) -> bool {
        self.0.as_ref().is_some_and(|selector| selector.matches(object.at(["metadata", "labels"])))
    }

    fn is_everything(&self) -> bool {
        self.0.as_ref().is_some_and(LabelSelector::is_everything)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The attributes of an update of a deployment or its subresource.
    pub fn attributes(subresource: &str) -> AdmissionAttributes {
        let variant = |version: &str| ResourceVariant {
            group: "apps".into(),
            version: version.into(),
            resource: "deployments".into(),
            kind: ("apps".into(), version.into(), "Deployment".into()),
        };
        AdmissionAttributes::new(
            Operation::Update,
            vec![variant("v1"), variant("v2")],
            (subresource.into(), Scope::Namespaced),
            ("shop".into(), "web".into()),
            false,
        )
    }

    fn constraints(text: &str) -> MatchConstraints {
        MatchConstraints::read(&text.parse().unwrap())
    }

    #[test]
    fn every_part_of_a_rule_must_match() {
        let rule = |resources: &str, rest: &str| {
            format!(
                r#"{{"rules":[{{"operations":["UPDATE"],"apiGroups":["apps"],"apiVersions":["*"],"resources":[{resources}]{rest}}}]}}"#
            )
        };
        let cases = [
            (r#""deployments""#, "", "", true),
            (r#""deployments""#, "", "status", false),
            (r#""deployments/status""#, "", "status", true),
            (r#""deployments/*""#, "", "scale", true),
            (r#""deployments/*""#, "", "", true),
            (r#""*""#, "", "", true),
            (r#""*""#, "", "scale", false),
            (r#""*/scale""#, "", "scale", true),
            (r#""pods""#, "", "", false),
            (r#""*""#, r#","scope":"Cluster""#, "", false),
            (r#""*""#, r#","scope":"Namespaced""#, "", true),
            (r#""*""#, r#","resourceNames":["api"]"#, "", false),
            (r#""*""#, r#","resourceNames":["web"]"#, "", true),
        ];
        for (resources, rest, subresource, expected) in cases {
            let rules = constraints(&rule(resources, rest));
            assert_eq!(
                rules.matching_variant(&attributes(subresource)).is_some(),
                expected,
                "{resources} {rest} {subresource}"
            );
            assert!(!expected || rules.may_match(Operation::Update, "deployments"));
            assert!(!rules.may_match(Operation::Delete, "deployments"));
        }
        let created = r#"{"rules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}"#;
        assert!(constraints(created).matching_variant(&attributes("")).is_none());
    }

    #[test]
    fn other_versions_match_unless_the_policy_is_exact() {
        let constraints_with = |policy: &str| {
            let rule = r#"{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v2"],"resources":["*"]}"#;
            constraints(&format!(r#"{{"rules":[{rule}],"matchPolicy":"{policy}"}}"#))
        };
        let attributes = attributes("");
        let version = constraints_with("Equivalent")
            .matching_variant(&attributes)
            .map(|variant| variant.version.as_str());
        assert_eq!(version, Some("v2"));
        assert_eq!(constraints_with("Exact").matching_variant(&attributes), None);
    }

    #[test]
    fn excluded_requests_do_not_match() {
        let any = r#"{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}"#;
        let rules = constraints(&format!(r#"{{"resourceRules":[{any}],"excludeResourceRules":[{any}]}}"#));
        assert!(rules.matching_variant(&attributes("")).is_none());
    }

    #[test]
    fn selectors_match_the_new_or_the_old_object_and_its_namespace() {
        let rules = constraints(
            r#"{"namespaceSelector":{"matchLabels":{"team":"a"}},"objectSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]}}"#,
        );
        let labelled = |labels: &str| -> Value {
            format!(r#"{{"metadata":{{"labels":{{{labels}}}}}}}"#).parse().unwrap()
        };
        let (ours, theirs) = (labelled(r#""team":"a""#), labelled(r#""team":"b""#));
        let (web, other) = (labelled(r#""app":"web""#), labelled(r#""app":"db""#));
        let selects = |constraints: &MatchConstraints, object: &Value, old: &Value, namespace: &Value| {
            constraints.selects(&AdmissionAttributes {
                object: object.clone(),
                old_object: old.clone(),
                namespace_object: namespace.clone(),
                ..attributes("")
            })
        };
        assert!(selects(&rules, &web, &other, &ours));
        assert!(selects(&rules, &other, &web, &ours), "the old object");
        assert!(!selects(&rules, &other, &Value::Null, &ours));
        let without = constraints(
            r#"{"objectSelector":{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}}"#,
        );
        assert!(
            !selects(&without, &web, &Value::Null, &ours),
            "a missing object is not selected for the labels it lacks"
        );
        assert!(!selects(&rules, &web, &Value::Null, &theirs));
        assert!(selects(&constraints("{}"), &Value::Null, &Value::Null, &Value::Null));
    }
}
