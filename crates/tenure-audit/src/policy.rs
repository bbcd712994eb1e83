//! An audit policy: the first rule that matches a request decides how much of it is recorded.

use super::{Stage, Stages};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo, url_covers};
use tenure_value::{Limits, Object, Text, Value, yaml};

/// How much of a request is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// User and request, without bodies.
    Metadata,
    /// The body of the request too.
    Request,
    /// The body of the response too.
    RequestResponse,
}

impl Level {
    /// The name of the level in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    fn parse(name: &str) -> Option<Level> {
        let levels = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];
        levels.into_iter().find(|level| level.name() == name)
    }
}

/// The decision of a policy about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// How much is recorded.
    pub level: Level,
    /// The stages without an event.
    pub omit_stages: Stages,
    /// Whether `metadata.managedFields` is left out of bodies.
    pub omit_managed_fields: bool,
}

/// An audit policy, `audit.k8s.io/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    omit_stages: Stages,
    omit_managed_fields: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    level: Level,
    users: Vec<Text>,
    user_groups: Vec<Text>,
    verbs: Vec<Text>,
    resources: Vec<GroupResources>,
    namespaces: Vec<Text>,
    non_resource_urls: Vec<Text>,
    omit_stages: Stages,
    omit_managed_fields: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct GroupResources {
    group: Text,
    resources: Vec<Text>,
    resource_names: Vec<Text>,
}

/// What is wrong with a policy, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("audit policy: {at}: {message}")]
pub struct PolicyError {
    /// The field.
    pub at: String,
    /// The problem, and the correct form.
    pub message: String,
}

impl Policy {
    /// Reads a policy file in YAML or JSON. Unknown fields are errors: a misspelled field would record less
    /// than intended.
    ///
    /// ```
    /// use tenure_audit::Policy;
    ///
    /// let text = "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata, user: [ann]}]}";
    /// let error = Policy::parse(text).unwrap_err();
    /// assert!(error.to_string().starts_with(r#"audit policy: rules[0]: unknown field "user"; it has level, users,"#));
    /// ```
    pub fn parse(text: &str) -> Result<Policy, PolicyError> {
        let value = yaml::parse(text.as_bytes(), &Limits::default())
            .map_err(|error| PolicyError::new("the file", error.to_string()))?;
        let fields = ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"];
        let policy = Fields::new(&value, "the file".into(), &fields)?;
        for (field, expected) in [("apiVersion", "audit.k8s.io/v1"), ("kind", "Policy")] {
            if value.get(field).and_then(Value::as_str) != Some(expected) {
                return Err(PolicyError::new(field, format!("must be {expected:?}")));
            }
        }
        let rules = policy.list("rules")?.iter().enumerate();
        let rules: Result<Vec<Rule>, PolicyError> =
            rules.map(|(at, rule)| Rule::read(rule, format!("rules[{at}]"))).collect();
        let rules = rules?;
        if rules.is_empty() {
            return Err(PolicyError::new("rules", "must have at least one rule"));
        }
        Ok(Policy {
            rules,
            omit_stages: policy.stages()?,
            omit_managed_fields: policy.flag("omitManagedFields")?.unwrap_or(false),
        })
    }

    /// Returns the policy that records every request at one level.
    pub fn everything_at(level: Level) -> Policy {
        Policy { rules: vec![Rule::of_level(level)], ..Policy::default() }
    }

    /// Returns the policy of a server that is given none: every request at the level `Metadata`, with one event. That of the stage
    /// `RequestReceived` is left out, since the later event tells when the request came, too.
    pub fn of_responses() -> Policy {
        Policy { omit_stages: Stage::RequestReceived.into(), ..Policy::everything_at(Level::Metadata) }
    }

    /// Decides about a request; a request that was not authenticated has no user. A request that matches no rule is not recorded.
    pub fn select(&self, user: Option<&UserInfo>, attributes: &Attributes) -> Selection {
        match self.rules.iter().find(|rule| rule.matches(user, attributes)) {
            None => {
                Selection { level: Level::None, omit_stages: Stages::default(), omit_managed_fields: false }
            }
            Some(rule) => Selection {
                level: rule.level,
                omit_stages: self.omit_stages.union(rule.omit_stages),
                omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
            },
        }
    }
}

impl Rule {
    fn of_level(level: Level) -> Rule {
        Rule {
            level,
            users: Vec::new(),
            user_groups: Vec::new(),
            verbs: Vec::new(),
            resources: Vec::new(),
            namespaces: Vec::new(),
            non_resource_urls: Vec::new(),
            omit_stages: Stages::default(),
            omit_managed_fields: None,
        }
    }

    fn read(rule: &Value, at: String) -> Result<Rule, PolicyError> {
        const FIELDS: [&str; 9] = [
            "level",
            "users",
            "userGroups",
            "verbs",
            "resources",
            "namespaces",
            "nonResourceURLs",
            "omitStages",
            "omitManagedFields",
        ];
        let fields = Fields::new(rule, at.clone(), &FIELDS)?;
        let level = rule.get("level").and_then(Value::as_str).and_then(Level::parse);
        let level = level.ok_or_else(|| {
            PolicyError::new(format!("{at}.level"), "must be None, Metadata, Request or RequestResponse")
        })?;
        let resources = fields.list("resources")?.iter().enumerate();
        let resources: Result<Vec<GroupResources>, PolicyError> = resources
            .map(|(number, row)| {
                let at = format!("{at}.resources[{number}]");
                let fields = Fields::new(row, at, &["group", "resources", "resourceNames"])?;
                Ok(GroupResources {
                    group: row.get("group").and_then(Value::as_str).unwrap_or_default().into(),
                    resources: fields.texts("resources")?,
                    resource_names: fields.texts("resourceNames")?,
                })
            })
            .collect();
        let rule = Rule {
            level,
            users: fields.texts("users")?,
            user_groups: fields.texts("userGroups")?,
            verbs: fields.texts("verbs")?,
            resources: resources?,
            namespaces: fields.texts("namespaces")?,
            non_resource_urls: fields.texts("nonResourceURLs")?,
            omit_stages: fields.stages()?,
            omit_managed_fields: fields.flag("omitManagedFields")?,
        };
        let is_of_resources = !rule.resources.is_empty() || !rule.namespaces.is_empty();
        if is_of_resources && !rule.non_resource_urls.is_empty() {
            let message = "cannot be combined with resources or namespaces; use two rules";
            return Err(PolicyError::new(format!("{at}.nonResourceURLs"), message));
        }
        Ok(rule)
    }

    fn matches(&self, user: Option<&UserInfo>, attributes: &Attributes) -> bool {
        let is_user = self.users.is_empty() || user.is_some_and(|user| self.users.contains(&user.name));
        let is_group = self.user_groups.is_empty()
            || user.is_some_and(|user| self.user_groups.iter().any(|group| user.is_in(group)));
        let is_verb = self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == attributes.verb());
        is_user
            && is_group
            && is_verb
            && match attributes {
                Attributes::Resource(resource) => self.matches_resource(resource),
                Attributes::NonResource { path, .. } => self.matches_path(path),
            }
    }

    fn matches_resource(&self, attributes: &ResourceAttributes) -> bool {
        self.non_resource_urls.is_empty()
            && (self.namespaces.is_empty() || self.namespaces.contains(&attributes.namespace))
            && (self.resources.is_empty() || self.resources.iter().any(|group| group.matches(attributes)))
    }

    fn matches_path(&self, path: &str) -> bool {
        self.resources.is_empty()
            && self.namespaces.is_empty()
            && (self.non_resource_urls.is_empty()
                || self.non_resource_urls.iter().any(|own| url_covers(own, path)))
    }
}

impl GroupResources {
    fn matches(&self, attributes: &ResourceAttributes) -> bool {
        let is_resource = |own: &Text| match own.split_once('/') {
            None => own == "*" || (attributes.subresource.is_empty() && *own == attributes.resource),
            // All subresources of a resource, and the resource itself.
            Some((resource, "*")) => resource == attributes.resource,
            Some(("*", subresource)) => subresource == attributes.subresource,
            Some((resource, subresource)) => {
                resource == attributes.resource && subresource == attributes.subresource
            }
        };
        (self.group == "*" || self.group == attributes.group)
            && (self.resources.is_empty() || self.resources.iter().any(is_resource))
            && (self.resource_names.is_empty() || self.resource_names.contains(&attributes.name))
    }
}

impl PolicyError {
    fn new(at: impl Into<String>, message: impl Into<String>) -> PolicyError {
        PolicyError { at: at.into(), message: message.into() }
    }
}

/// An object of a policy whose fields are known.
struct Fields<'v> {
    object: &'v Object,
    at: String,
}

impl<'v> Fields<'v> {
    fn new(value: &'v Value, at: String, known: &[&str]) -> Result<Fields<'v>, PolicyError> {
        let object = value.as_object().ok_or_else(|| PolicyError::new(at.clone(), "must be an object"))?;
        match object.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => {
                Err(PolicyError::new(at, format!("unknown field {name:?}; it has {}", known.join(", "))))
            }
            None => Ok(Fields { object, at }),
        }
    }

    fn list(&self, field: &str) -> Result<&'v [Value], PolicyError> {
        match self.object.get(field) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(PolicyError::new(format!("{}.{field}", self.at), "must be a list")),
        }
    }

    fn texts(&self, field: &str) -> Result<Vec<Text>, PolicyError> {
        let wrong = || PolicyError::new(format!("{}.{field}", self.at), "must be a list of strings");
        self.list(field)?.iter().map(|item| item.as_str().map(Text::from).ok_or_else(wrong)).collect()
    }

    fn stages(&self) -> Result<Stages, PolicyError> {
        let wrong = || {
            let message = "must be RequestReceived, ResponseStarted, ResponseComplete or Panic";
            PolicyError::new(format!("{}.omitStages", self.at), message)
        };
        let names = self.texts("omitStages")?;
        names.iter().map(|name| Stage::parse(name).ok_or_else(wrong)).collect()
    }

    fn flag(&self, field: &str) -> Result<Option<bool>, PolicyError> {
        let wrong = || PolicyError::new(format!("{}.{field}", self.at), "must be true or false");
        self.object.get(field).map(|flag| flag.as_bool().ok_or_else(wrong)).transpose()
    }
}
