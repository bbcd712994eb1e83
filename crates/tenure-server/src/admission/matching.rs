//! What a webhook or a policy is about: rules name operations and resources, selectors the labels of objects and of
//! namespaces.

use super::deed::{Deed, Form, Operation};
use crate::{
    LabelSelector,
    kinds::{Row, Scope},
};
use tenure_value::{Text, Value};

/// What a webhook or a policy is about.
#[derive(Debug)]
pub(crate) struct Constraints {
    rules: Vec<Rule>,
    /// What it is not about, whatever the rules say.
    excluded: Vec<Rule>,
    namespaces: Selector,
    objects: Selector,
    /// Whether a rule for one version of a resource is about the others too.
    equivalent: bool,
}

impl Constraints {
    /// Reads a webhook, or what a policy or a binding is matched by.
    pub fn read(of: &Value) -> Constraints {
        let rules = |name: &str| of.items(name).iter().map(Rule::read).collect();
        let named: Vec<Rule> = rules("resourceRules");
        Constraints {
            rules: if named.is_empty() { rules("rules") } else { named },
            excluded: rules("excludeResourceRules"),
            namespaces: Selector::read(of.get("namespaceSelector")),
            objects: Selector::read(of.get("objectSelector")),
            equivalent: of.text("matchPolicy") != "Exact",
        }
    }

    /// Whether no rule is given, which in a binding means everything that its policy is about.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a rule names an operation on a resource, in whichever group and version.
    pub fn may_concern(&self, operation: Operation, resource: &str) -> bool {
        self.rules.iter().any(|rule| {
            names(&rule.operations, operation.word())
                && rule.resources.iter().any(|(of, _)| of == "*" || of == resource)
        })
    }

    /// Returns the form of the resource that the rules are about, the requested one if it is among them.
    pub fn form<'d>(&self, deed: &'d Deed) -> Option<&'d Form> {
        let forms = if self.equivalent { deed.forms.as_slice() } else { &deed.forms[..1] };
        if forms.iter().any(|form| self.excluded.iter().any(|rule| rule.is_about(deed, form))) {
            return None;
        }
        forms.iter().find(|form| self.rules.iter().any(|rule| rule.is_about(deed, form)))
    }

    /// Whether the selectors choose an object that is or was there, in a namespace.
    pub fn selects(&self, deed: &Deed, object: &Value, old: &Value, namespace: &Value) -> bool {
        // The labels of a namespace are its own, as they will be; what is in no namespace is in every one.
        let of_namespace = match (deed.is_of_namespace(), object.is_null()) {
            (true, true) => old,
            (true, false) => object,
            _ => namespace,
        };
        let everywhere = !deed.is_of_namespace() && deed.namespace.is_empty();
        (everywhere || self.namespaces.selects(of_namespace))
            && (self.objects.is_everything()
                || [object, old].iter().any(|of| !of.is_null() && self.objects.selects(of)))
    }
}

/// A rule: all that it says must be so.
#[derive(Debug)]
struct Rule {
    operations: Box<[Text]>,
    groups: Box<[Text]>,
    versions: Box<[Text]>,
    /// Resources and what is below their objects.
    resources: Vec<(Text, Text)>,
    /// The names of the objects, if only some are meant.
    names: Box<[Text]>,
    scope: Option<Scope>,
}

impl Rule {
    fn read(of: &Value) -> Rule {
        let resources = of.texts("resources");
        let resources = resources.iter().map(|resource| match resource.split_once('/') {
            Some((resource, below)) => (resource.into(), below.into()),
            None => (resource.clone(), Text::default()),
        });
        Rule {
            operations: of.texts("operations"),
            groups: of.texts("apiGroups"),
            versions: of.texts("apiVersions"),
            resources: resources.collect(),
            names: of.texts("resourceNames"),
            scope: match of.text("scope").as_str() {
                "Cluster" => Some(Scope::Cluster),
                "Namespaced" => Some(Scope::Namespaced),
                _ => None,
            },
        }
    }

    fn is_about(&self, deed: &Deed, form: &Form) -> bool {
        names(&self.operations, deed.operation.word())
            && names(&self.groups, &form.group)
            && names(&self.versions, &form.version)
            && self.resources.iter().any(|(resource, below)| {
                (resource == "*" || *resource == form.resource)
                    && (below == "*" || *below == deed.subresource)
            })
            && (self.names.is_empty() || self.names.contains(&deed.name))
            && self.scope.as_ref().is_none_or(|scope| *scope == deed.scope)
    }
}

/// Whether one is among those named.
fn names(all: &[Text], one: &str) -> bool {
    all.iter().any(|of| of == "*" || of == one)
}

/// A selector of labels as objects have them.
#[derive(Debug)]
pub(crate) struct Selector(Option<LabelSelector>);

impl Selector {
    /// Reads a selector; none selects everything, and one that cannot be read nothing.
    pub fn read(of: Option<&Value>) -> Selector {
        Selector(LabelSelector::of_object(of.unwrap_or(&Value::Null)).ok())
    }

    /// Whether the labels of an object are selected.
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

    /// A request that changes a part of a deployment in a namespace.
    pub fn deed(subresource: &str) -> Deed {
        let form = |version: &str| Form {
            group: "apps".into(),
            version: version.into(),
            resource: "deployments".into(),
            kind: ("apps".into(), version.into(), "Deployment".into()),
        };
        Deed {
            operation: Operation::Update,
            forms: vec![form("v1"), form("v2")],
            subresource: subresource.into(),
            scope: Scope::Namespaced,
            namespace: "shop".into(),
            name: "web".into(),
            dry_run: false,
            user: Value::Null,
            options: Value::Null,
        }
    }

    fn constraints(text: &str) -> Constraints {
        Constraints::read(&text.parse().unwrap())
    }

    #[test]
    fn a_rule_is_about_what_all_of_it_names() {
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
            let of = constraints(&rule(resources, rest));
            assert_eq!(of.form(&deed(subresource)).is_some(), expected, "{resources} {rest} {subresource}");
            assert!(!expected || of.may_concern(Operation::Update, "deployments"));
            assert!(!of.may_concern(Operation::Delete, "deployments"));
        }
        let created = r#"{"rules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}"#;
        assert!(constraints(created).form(&deed("")).is_none());
    }

    #[test]
    fn another_version_will_do_unless_it_must_be_the_very_one() {
        let of = |policy: &str| {
            let rule = r#"{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v2"],"resources":["*"]}"#;
            constraints(&format!(r#"{{"rules":[{rule}],"matchPolicy":"{policy}"}}"#))
        };
        let deed = deed("");
        assert_eq!(of("Equivalent").form(&deed).map(|form| form.version.as_str()), Some("v2"));
        assert_eq!(of("Exact").form(&deed), None);
    }

    #[test]
    fn what_is_excluded_is_not_meant() {
        let any = r#"{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}"#;
        let of = constraints(&format!(r#"{{"resourceRules":[{any}],"excludeResourceRules":[{any}]}}"#));
        assert!(of.form(&deed("")).is_none());
    }

    #[test]
    fn selectors_look_at_what_is_and_what_was_and_where() {
        let of = constraints(
            r#"{"namespaceSelector":{"matchLabels":{"team":"a"}},"objectSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]}}"#,
        );
        let labelled = |labels: &str| -> Value {
            format!(r#"{{"metadata":{{"labels":{{{labels}}}}}}}"#).parse().unwrap()
        };
        let (ours, theirs) = (labelled(r#""team":"a""#), labelled(r#""team":"b""#));
        let (web, other) = (labelled(r#""app":"web""#), labelled(r#""app":"db""#));
        let deed = deed("");
        assert!(of.selects(&deed, &web, &other, &ours));
        assert!(of.selects(&deed, &other, &web, &ours), "it was");
        assert!(!of.selects(&deed, &other, &Value::Null, &ours));
        let without = constraints(
            r#"{"objectSelector":{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}}"#,
        );
        assert!(
            !without.selects(&deed, &web, &Value::Null, &ours),
            "what is not there has no labels to lack"
        );
        assert!(!of.selects(&deed, &web, &Value::Null, &theirs));
        assert!(constraints("{}").selects(&deed, &Value::Null, &Value::Null, &Value::Null));
    }
}
