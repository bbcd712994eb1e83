//! The rules of a flow schema: which users, and which requests of theirs, they match.

use tenure_meta::{Attributes, NameFilter, ResourceAttributes, UserInfo};
use tenure_value::{Text, Value};

/// What the user names of service accounts begin with.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Returns the names that a user has: its own, those of its groups, and that of all service accounts if it is one.
pub(crate) fn names_of(user: &UserInfo) -> NameFilter {
    let account = user.name.starts_with(SERVICE_ACCOUNT).then_some(SERVICE_ACCOUNT);
    let names = std::iter::once(&user.name).chain(&user.groups).map(Text::as_str);
    names.chain(account).collect()
}

/// One rule of a schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// The names of the users and groups that the subjects are.
    names: NameFilter,
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    urls: Vec<UrlRule>,
}

#[derive(Clone, Debug, PartialEq)]
enum Subject {
    User(Text),
    Group(Text),
    /// The name is `*` for all accounts of the namespace.
    ServiceAccount {
        namespace: Text,
        name: Text,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct ResourceRule {
    verbs: Vec<Text>,
    groups: Vec<Text>,
    resources: Vec<Text>,
    namespaces: Vec<Text>,
    is_cluster_scoped: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct UrlRule {
    verbs: Vec<Text>,
    urls: Vec<Text>,
}

fn texts(value: &Value, name: &str) -> Vec<Text> {
    let items = value.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(Text::new).collect()
}

fn each<T>(value: &Value, name: &str, read: impl Fn(&Value) -> T) -> Vec<T> {
    let items = value.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default();
    items.iter().map(read).collect()
}

/// Whether a list has an item, or consists of the wildcard alone.
fn has(list: &[Text], item: &str) -> bool {
    matches!(list, [one] if one == "*") || list.iter().any(|listed| listed == item)
}

impl Rule {
    /// Whether the rule matches a request of a user, who has these names.
    pub(crate) fn matches(&self, user: &UserInfo, names: NameFilter, request: &Attributes) -> bool {
        self.names.meets(names)
            && self.subjects.iter().any(|subject| subject.matches(user))
            && match request {
                Attributes::Resource(resource) => self.resources.iter().any(|rule| rule.matches(resource)),
                Attributes::NonResource { verb, path } => {
                    self.urls.iter().any(|rule| rule.matches(verb, path))
                }
            }
    }

    /// Returns the names of the users and groups that the rule is for.
    pub(crate) fn names(&self) -> NameFilter {
        self.names
    }

    pub(crate) fn read(value: &Value) -> Rule {
        let subjects: Vec<Subject> = each(value, "subjects", Subject::read).into_iter().flatten().collect();
        Rule {
            names: subjects.iter().map(Subject::names).fold(NameFilter::NONE, NameFilter::or),
            subjects,
            resources: each(value, "resourceRules", |rule| ResourceRule {
                verbs: texts(rule, "verbs"),
                groups: texts(rule, "apiGroups"),
                resources: texts(rule, "resources"),
                namespaces: texts(rule, "namespaces"),
                is_cluster_scoped: rule.get("clusterScope") == Some(&Value::Bool(true)),
            }),
            urls: each(value, "nonResourceRules", |rule| UrlRule {
                verbs: texts(rule, "verbs"),
                urls: texts(rule, "nonResourceURLs"),
            }),
        }
    }
}

impl Subject {
    fn read(value: &Value) -> Option<Subject> {
        let text = |path: [&str; 2]| value.at(path).and_then(Value::as_str).map(Text::new);
        match value.get("kind").and_then(Value::as_str)? {
            "User" => text(["user", "name"]).map(Subject::User),
            "Group" => text(["group", "name"]).map(Subject::Group),
            "ServiceAccount" => Some(Subject::ServiceAccount {
                namespace: text(["serviceAccount", "namespace"])?,
                name: text(["serviceAccount", "name"])?,
            }),
            _ => None,
        }
    }

    /// Returns the names of which a user has one that it may be.
    fn names(&self) -> NameFilter {
        match self {
            Subject::User(name) | Subject::Group(name) if name == "*" => NameFilter::ALL,
            Subject::User(name) | Subject::Group(name) => NameFilter::of(name),
            Subject::ServiceAccount { .. } => NameFilter::of(SERVICE_ACCOUNT),
        }
    }

    fn matches(&self, user: &UserInfo) -> bool {
        match self {
            Subject::User(name) => name == "*" || *name == user.name,
            Subject::Group(name) => name == "*" || user.is_in(name),
            Subject::ServiceAccount { namespace, name } => {
                let account = user.name.strip_prefix(SERVICE_ACCOUNT);
                let account = account.and_then(|account| account.split_once(':'));
                account.is_some_and(|(of_account, account)| {
                    of_account == namespace.as_str() && (name == "*" || account == name.as_str())
                })
            }
        }
    }
}

impl ResourceRule {
    fn matches(&self, request: &ResourceAttributes) -> bool {
        let resource = match request.subresource.as_str() {
            "" => has(&self.resources, &request.resource),
            subresource => has(&self.resources, &format!("{}/{subresource}", request.resource)),
        };
        resource
            && has(&self.verbs, &request.verb)
            && has(&self.groups, &request.group)
            && match request.namespace.as_str() {
                "" => self.is_cluster_scoped,
                namespace => has(&self.namespaces, namespace),
            }
    }
}

impl UrlRule {
    fn matches(&self, verb: &str, path: &str) -> bool {
        let matches = |url: &Text| {
            // `/healthz` and `/healthz/*` both match paths below.
            let prefix = url.strip_suffix('*').unwrap_or(url);
            let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
            url == "*" || url == path || path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        has(&self.verbs, verb) && self.urls.iter().any(matches)
    }
}
