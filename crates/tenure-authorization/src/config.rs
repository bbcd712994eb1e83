//! An `AuthorizationConfiguration`: the authorizers of a server in a file, with any number of webhooks.

use crate::{AuthorizerOptions, MatchConditions, WebhookFailure, WebhookOptions};
use std::{path::Path, time::Duration};
use tenure_meta::format;
use tenure_transport::ReviewVersion;
use tenure_value::{Limits, Value, yaml};
use thiserror::Error;

const KIND: &str = "AuthorizationConfiguration";
const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
/// The longest time that an answer of a webhook may take.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What is wrong in a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {problem}")]
pub struct ConfigError {
    /// The path of the field, such as `authorizers[0].webhook.timeout`; the file itself if empty.
    pub at: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// An authorizer of a configuration.
#[derive(Clone, Debug)]
pub struct ConfiguredAuthorizer {
    /// Its name, which no other has.
    pub name: String,
    /// The authorizer; `None` for `ABAC`, whose policies are in a file of their own.
    pub options: Option<AuthorizerOptions>,
}

/// Reads the authorizers of a configuration, in the order in which they are asked.
pub fn read_configuration(text: &str) -> Result<Vec<ConfiguredAuthorizer>, ConfigError> {
    let document = yaml::parse(text.as_bytes(), &Limits::default())
        .map_err(|error| wrong("configuration", error.to_string()))?;
    let root = Part { at: String::new(), value: &document };
    root.check_fields(&["apiVersion", "kind", "authorizers"])?;
    if root.text("kind")? != KIND {
        return Err(wrong("kind", format!("expected {KIND}")));
    }
    if !VERSIONS.contains(&root.text("apiVersion")?) {
        return Err(wrong("apiVersion", format!("expected {}", VERSIONS.join(", "))));
    }
    let mut authorizers: Vec<ConfiguredAuthorizer> = Vec::new();
    let mut types: Vec<&str> = Vec::new();
    for part in root.items("authorizers")? {
        part.check_fields(&["type", "name", "webhook"])?;
        let (kind, name) = (part.required("type")?, part.required("name")?);
        if kind != "Webhook" && types.contains(&kind) {
            return Err(wrong(part.path("type"), format!("duplicate value {kind:?}")));
        }
        types.push(kind);
        if authorizers.iter().any(|other| other.name == name) {
            return Err(wrong(part.path("name"), format!("duplicate value {name:?}")));
        }
        if let Some(problem) = format::dns_subdomain(name).into_iter().next() {
            return Err(wrong(part.path("name"), format!("authorizer name is invalid: {problem}")));
        }
        let webhook = part.child("webhook");
        let options = match (kind, webhook) {
            ("Webhook", Some(webhook)) => Some(AuthorizerOptions::Webhook(read_webhook(&webhook)?)),
            ("Webhook", None) => {
                return Err(wrong(part.path("webhook"), "required when type=Webhook".into()));
            }
            (_, Some(webhook)) => {
                return Err(wrong(webhook.at, "may only be specified when type=Webhook".into()));
            }
            ("RBAC", None) => Some(AuthorizerOptions::Rbac),
            ("Node", None) => Some(AuthorizerOptions::Node),
            ("AlwaysAllow", None) => Some(AuthorizerOptions::AlwaysAllow),
            ("AlwaysDeny", None) => Some(AuthorizerOptions::AlwaysDeny),
            ("ABAC", None) => None,
            _ => {
                let expected = "expected ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC or Webhook";
                return Err(wrong(part.path("type"), format!("unsupported value {kind:?}: {expected}")));
            }
        };
        authorizers.push(ConfiguredAuthorizer { name: name.to_owned(), options });
    }
    match authorizers.is_empty() {
        true => Err(wrong("authorizers", "at least one authorization mode must be defined".into())),
        false => Ok(authorizers),
    }
}

fn read_webhook(part: &Part<'_>) -> Result<WebhookOptions, ConfigError> {
    part.check_fields(&[
        "authorizedTTL",
        "cacheAuthorizedRequests",
        "unauthorizedTTL",
        "cacheUnauthorizedRequests",
        "timeout",
        "subjectAccessReviewVersion",
        "matchConditionSubjectAccessReviewVersion",
        "failurePolicy",
        "connectionInfo",
        "matchConditions",
    ])?;
    let Some(connection) = part.child("connectionInfo") else {
        return Err(wrong(part.path("connectionInfo"), "required".into()));
    };
    connection.check_fields(&["type", "kubeConfigFile"])?;
    let file = match connection.required("type")? {
        "KubeConfigFile" => connection.required("kubeConfigFile")?,
        "InClusterConfig" if connection.child("kubeConfigFile").is_some() => {
            let problem = "can only be set when type=KubeConfigFile";
            return Err(wrong(connection.path("kubeConfigFile"), problem.into()));
        }
        "InClusterConfig" => {
            let problem = "InClusterConfig is for servers that ask an API server, and is not allowed for one; use KubeConfigFile";
            return Err(wrong(connection.path("type"), problem.into()));
        }
        other => {
            return Err(wrong(
                connection.path("type"),
                format!("unsupported value {other:?}: expected KubeConfigFile"),
            ));
        }
    };
    if !Path::new(file).is_absolute() {
        return Err(wrong(connection.path("kubeConfigFile"), "must be an absolute path".into()));
    }
    let mut webhook = WebhookOptions::new(file);
    let Some(timeout) = part.duration("timeout")? else {
        return Err(wrong(part.path("timeout"), "required".into()));
    };
    if timeout.is_zero() || timeout > LONGEST_TIMEOUT {
        return Err(wrong(part.path("timeout"), "must be > 0s and <= 30s".into()));
    }
    webhook.timeout = timeout;
    webhook.authorized_ttl = part.ttl("authorizedTTL", "cacheAuthorizedRequests", webhook.authorized_ttl)?;
    webhook.unauthorized_ttl =
        part.ttl("unauthorizedTTL", "cacheUnauthorizedRequests", webhook.unauthorized_ttl)?;
    let version = part.required("subjectAccessReviewVersion")?;
    webhook.version = ReviewVersion::parse(version).ok_or_else(|| {
        wrong(
            part.path("subjectAccessReviewVersion"),
            format!("unsupported value {version:?}: expected v1 or v1beta1"),
        )
    })?;
    webhook.on_failure = match part.required("failurePolicy")? {
        "NoOpinion" => WebhookFailure::NoOpinion,
        "Deny" => WebhookFailure::Deny,
        other => {
            let problem = format!("unsupported value {other:?}: expected NoOpinion or Deny");
            return Err(wrong(part.path("failurePolicy"), problem));
        }
    };
    let mut sources = Vec::new();
    for condition in part.items("matchConditions")? {
        condition.check_fields(&["expression"])?;
        sources.push(condition.required("expression")?.to_owned());
    }
    const CONDITION_VERSION: &str = "matchConditionSubjectAccessReviewVersion";
    match part.text(CONDITION_VERSION)? {
        "v1" => {}
        "" if sources.is_empty() => {}
        "" => {
            return Err(wrong(
                part.path(CONDITION_VERSION),
                "required if match conditions are specified".into(),
            ));
        }
        other => {
            return Err(wrong(
                part.path(CONDITION_VERSION),
                format!("unsupported value {other:?}: expected v1"),
            ));
        }
    }
    webhook.match_conditions = MatchConditions::compile(sources)
        .map_err(|(at, problem)| wrong(part.path(&format!("matchConditions[{at}].expression")), problem))?;
    Ok(webhook)
}

fn wrong(at: impl Into<String>, problem: String) -> ConfigError {
    ConfigError { at: at.into(), problem }
}

/// A part of a configuration, with its path.
struct Part<'v> {
    at: String,
    value: &'v Value,
}

impl<'v> Part<'v> {
    fn path(&self, field: &str) -> String {
        if self.at.is_empty() { field.to_owned() } else { format!("{}.{field}", self.at) }
    }

    fn child(&self, field: &str) -> Option<Part<'v>> {
        let value = self.value.get(field).filter(|value| !value.is_null())?;
        Some(Part { at: self.path(field), value })
    }

    /// Checks that a part is an object with these fields alone.
    fn check_fields(&self, known: &[&str]) -> Result<(), ConfigError> {
        let Some(object) = self.value.as_object() else {
            return Err(wrong(self.at.clone(), "expected an object".into()));
        };
        match object.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(wrong(self.path(name), "unknown field".into())),
            None => Ok(()),
        }
    }

    /// Returns a text; empty if the field is missing.
    fn text(&self, field: &str) -> Result<&'v str, ConfigError> {
        match self.child(field) {
            None => Ok(""),
            Some(part) => part.value.as_str().ok_or_else(|| wrong(part.at, "expected a string".into())),
        }
    }

    fn required(&self, field: &str) -> Result<&'v str, ConfigError> {
        match self.text(field)? {
            "" => Err(wrong(self.path(field), "required".into())),
            text => Ok(text),
        }
    }

    fn items(&self, field: &str) -> Result<Vec<Part<'v>>, ConfigError> {
        let Some(list) = self.child(field) else { return Ok(Vec::new()) };
        let Some(items) = list.value.as_array() else { return Err(wrong(list.at, "expected a list".into())) };
        let part = |(at, value)| Part { at: format!("{}[{at}]", list.at), value };
        Ok(items.items().iter().enumerate().map(part).collect())
    }

    fn duration(&self, field: &str) -> Result<Option<Duration>, ConfigError> {
        let text = self.text(field)?;
        if text.is_empty() {
            return Ok(None);
        }
        match tenure_crd::duration(text) {
            None => Err(wrong(self.path(field), format!("expected a duration such as 30s, got {text:?}"))),
            duration => Ok(duration),
        }
    }

    /// Returns how long answers count, unless a switch says that they do not.
    fn ttl(&self, field: &str, switch: &str, default: Duration) -> Result<Duration, ConfigError> {
        let ttl = self.duration(field)?.filter(|ttl| !ttl.is_zero()).unwrap_or(default);
        match self.child(switch).map(|part| (part.at, part.value.clone())) {
            None | Some((_, Value::Bool(true))) => Ok(ttl),
            Some((_, Value::Bool(false))) => Ok(Duration::ZERO),
            Some((at, _)) => Err(wrong(at, "expected true or false".into())),
        }
    }
}
