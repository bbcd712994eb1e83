//! Attribute-based access control: a file of policies, one per line, each of which permits what it matches.
//!
//! A line is a JSON object of the kind `Policy` in the version `abac.authorization.kubernetes.io/v1beta1`, or one without
//! a version, which has the fields of the spec itself and matches what it does not name.

use crate::{Decision, rbac::PolicyRule};
use tenure_meta::{Attributes, UserInfo, url_covers};
use tenure_value::{Limits, Text, Value, yaml};
use thiserror::Error;

const API_VERSION: &str = "abac.authorization.kubernetes.io/v1beta1";
const KIND: &str = "Policy";
/// What stands for every user, group, namespace, resource, API group or path.
const ALL: &str = "*";
/// The verbs that only read.
const READ_VERBS: [&str; 3] = ["get", "list", "watch"];

/// A line of a policy file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {text}: {problem}")]
pub struct AbacError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What is wrong.
    pub problem: String,
}

/// The policies of a file.
///
/// ```
/// use tenure_meta::{Attributes, UserInfo};
/// use tenure_authorization::abac::AbacPolicies;
///
/// let file = r#"{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
///                "spec": {"group": "ops", "readonly": true, "nonResourcePath": "/healthz*"}}"#.replace('\n', "");
/// let policies = AbacPolicies::parse(&file)?;
/// let get = Attributes::NonResource { verb: "get".into(), path: "/healthz/ping".into() };
/// assert!(policies.authorize(&UserInfo::new("ann").with_group("ops"), &get).is_allowed());
/// assert!(!policies.authorize(&UserInfo::new("bob"), &get).is_allowed());
/// # Ok::<(), tenure_authorization::abac::AbacError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbacPolicies(Vec<AbacPolicy>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AbacPolicy {
    user: Text,
    group: Text,
    readonly: bool,
    api_group: Text,
    resource: Text,
    namespace: Text,
    path: Text,
}

impl AbacPolicies {
    /// Reads a file. Empty lines and those that begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<AbacPolicies, AbacError> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let given = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let read = |(number, line): (usize, &str)| {
            AbacPolicy::read(line).map_err(|problem| AbacError { line: number, text: line.into(), problem })
        };
        given.map(read).collect::<Result<_, _>>().map(AbacPolicies)
    }

    /// Decides about a request.
    pub fn authorize(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        let matches = |policy: &AbacPolicy| policy.is_for(user) && policy.permits(attributes);
        if self.0.iter().any(matches) {
            Decision::allowed()
        } else {
            Decision::no_opinion("No policy matched.")
        }
    }

    /// Returns what a user may do in a namespace, as rules.
    pub fn rules_of(&self, user: &UserInfo, namespace: &str) -> Vec<PolicyRule> {
        let applies = |policy: &&AbacPolicy| policy.is_for(user) && is_or_all(&policy.namespace, namespace);
        self.0.iter().filter(applies).flat_map(AbacPolicy::rules).collect()
    }
}

impl AbacPolicy {
    fn read(line: &str) -> Result<AbacPolicy, String> {
        let policy = yaml::parse(line.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
        let Some(_) = policy.as_object() else { return Err("expected an object".into()) };
        let is = |field: &str, want: &str| policy.get(field).and_then(Value::as_str) == Some(want);
        match is("apiVersion", API_VERSION) && is("kind", KIND) {
            true => AbacPolicy::fields(policy.get("spec").unwrap_or(&Value::Null)).map(AbacPolicy::versioned),
            false => AbacPolicy::fields(&policy).map(AbacPolicy::unversioned),
        }
    }

    fn fields(spec: &Value) -> Result<AbacPolicy, String> {
        let given = |field: &str| spec.get(field).filter(|value| !value.is_null());
        let text = |field: &str| match given(field) {
            None => Ok(Text::default()),
            Some(value) => value
                .as_str()
                .map(Text::from)
                .ok_or_else(|| format!("{field}: expected a string, got {value}")),
        };
        let readonly = match given("readonly") {
            None => false,
            Some(Value::Bool(readonly)) => *readonly,
            Some(value) => return Err(format!("readonly: expected true or false, got {value}")),
        };
        Ok(AbacPolicy {
            user: text("user")?,
            group: text("group")?,
            readonly,
            api_group: text("apiGroup")?,
            resource: text("resource")?,
            namespace: text("namespace")?,
            path: text("nonResourcePath")?,
        })
    }

    /// Every user, or every group, is everyone with credentials.
    fn versioned(self) -> AbacPolicy {
        match self.user == ALL || self.group == ALL {
            true => AbacPolicy { user: Text::default(), group: UserInfo::AUTHENTICATED.into(), ..self },
            false => self,
        }
    }

    /// A policy without a version matches what it does not name, in all API groups.
    fn unversioned(self) -> AbacPolicy {
        let or_all = |text: &Text| if text.is_empty() { Text::from(ALL) } else { text.clone() };
        let names_nothing = self.namespace.is_empty() && self.resource.is_empty();
        let is_for_everyone = self.user.is_empty() && self.group.is_empty();
        AbacPolicy {
            api_group: ALL.into(),
            resource: or_all(&self.resource),
            namespace: or_all(&self.namespace),
            path: if names_nothing { ALL.into() } else { Text::default() },
            group: if is_for_everyone { UserInfo::AUTHENTICATED.into() } else { self.group.clone() },
            ..self
        }
        .versioned()
    }

    fn is_for(&self, user: &UserInfo) -> bool {
        let is_named = !self.user.is_empty() || !self.group.is_empty();
        is_named
            && (self.user.is_empty() || self.user == user.name)
            && (self.group.is_empty() || user.is_in(&self.group))
    }

    fn permits(&self, attributes: &Attributes) -> bool {
        if self.readonly && !READ_VERBS.contains(&attributes.verb()) {
            return false;
        }
        match attributes {
            Attributes::Resource(resource) => {
                is_or_all(&self.namespace, &resource.namespace)
                    && is_or_all(&self.resource, &resource.resource)
                    && is_or_all(&self.api_group, &resource.group)
            }
            Attributes::NonResource { path, .. } => url_covers(&self.path, path),
        }
    }

    fn rules(&self) -> impl Iterator<Item = PolicyRule> {
        let verbs: Vec<Text> = match self.readonly {
            true => READ_VERBS.map(Text::from).to_vec(),
            false => vec![ALL.into()],
        };
        let resources = (!self.resource.is_empty()).then(|| PolicyRule {
            verbs: verbs.clone(),
            api_groups: vec![self.api_group.clone()],
            resources: vec![self.resource.clone()],
            ..PolicyRule::default()
        });
        let paths = (!self.path.is_empty()).then(|| PolicyRule {
            verbs: verbs.clone(),
            non_resource_urls: vec![self.path.clone()],
            ..PolicyRule::default()
        });
        resources.into_iter().chain(paths)
    }
}

fn is_or_all(name: &str, value: &str) -> bool {
    name == ALL || name == value
}
