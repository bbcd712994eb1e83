//! One rule of a role: verbs on resources, or on paths that are not resources.

use std::fmt;
use tenure_meta::{Attributes, ResourceAttributes, url_covers};
use tenure_value::{Text, Value, go_text};

/// What stands for every verb, group, resource or path.
pub(crate) const ALL: &str = "*";

/// A rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyRule {
    /// The API groups that the resources are of.
    pub api_groups: Vec<Text>,
    /// The resources: `pods`, `pods/log`, `*/scale`, `*`.
    pub resources: Vec<Text>,
    /// The names of the objects; every object if empty.
    pub resource_names: Vec<Text>,
    /// The paths: `/metrics`, `/logs/*`, `*`.
    pub non_resource_urls: Vec<Text>,
    /// The verbs.
    pub verbs: Vec<Text>,
}

impl PolicyRule {
    /// Returns the rules that cover everything: resources and paths.
    pub fn everything() -> [PolicyRule; 2] {
        let all = || vec![Text::from("*")];
        [
            PolicyRule { api_groups: all(), resources: all(), verbs: all(), ..PolicyRule::default() },
            PolicyRule { non_resource_urls: all(), verbs: all(), ..PolicyRule::default() },
        ]
    }

    /// Reads the rules of a role; what is not a rule grants nothing.
    pub fn list(rules: Option<&Value>) -> Vec<PolicyRule> {
        let rules = rules.and_then(Value::as_array).map(|rules| rules.iter().map(PolicyRule::read));
        rules.into_iter().flatten().collect()
    }

    fn read(rule: &Value) -> PolicyRule {
        let texts = |field: &str| -> Vec<Text> {
            let items = rule.get(field).and_then(Value::as_array);
            items
                .into_iter()
                .flat_map(|items| items.iter())
                .filter_map(Value::as_str)
                .map(Text::from)
                .collect()
        };
        PolicyRule {
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
            verbs: texts("verbs"),
        }
    }

    /// Returns the rule as a document, without its empty lists.
    pub fn to_value(&self) -> Value {
        let lists = [
            ("apiGroups", &self.api_groups),
            ("nonResourceURLs", &self.non_resource_urls),
            ("resourceNames", &self.resource_names),
            ("resources", &self.resources),
            ("verbs", &self.verbs),
        ];
        let given = lists.into_iter().filter(|(_, list)| !list.is_empty());
        Value::object(given.map(|(name, list)| (name, Value::array(list.iter().cloned().map(Value::from)))))
    }

    /// Whether the rule grants what a request asks for.
    pub fn allows(&self, attributes: &Attributes) -> bool {
        has(&self.verbs, attributes.verb())
            && match attributes {
                Attributes::NonResource { path, .. } => {
                    self.non_resource_urls.iter().any(|url| url_covers(url, path))
                }
                Attributes::Resource(resource) => self.names(resource),
            }
    }

    fn names(&self, attributes: &ResourceAttributes) -> bool {
        has(&self.api_groups, &attributes.group)
            && self
                .resources
                .iter()
                .any(|own| names_resource(own, &attributes.resource, &attributes.subresource))
            && (self.resource_names.is_empty() || self.resource_names.contains(&attributes.name))
    }
}

/// Whether a list has a word or stands for every word.
pub(crate) fn has(list: &[Text], word: &str) -> bool {
    list.iter().any(|listed| listed == ALL || listed == word)
}

/// Whether an entry of `resources` names a resource and its subresource.
pub(crate) fn names_resource(entry: &str, resource: &str, subresource: &str) -> bool {
    if entry == ALL {
        return true;
    }
    match entry.split_once('/') {
        None => subresource.is_empty() && entry == resource,
        // A review may name the subresource as a part of the resource.
        Some(_) if subresource.is_empty() => entry == resource,
        Some((of_resource, below)) => below == subresource && (of_resource == ALL || of_resource == resource),
    }
}

/// The form in which denials name rules: the lists that are not empty.
impl fmt::Display for PolicyRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        write!(out, "{{")?;
        let given = lists.iter().filter(|(_, list)| !list.is_empty());
        for (at, (name, list)) in given.enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(out, "{separator}{name}:{}", go_text::QuotedList(list.as_slice()))?;
        }
        write!(out, "}}")
    }
}
