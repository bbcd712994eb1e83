//! One audit event: the state of a request at one of its stages.

use super::{Level, Stage};
use crate::{Attributes, UserInfo};
use tenure_value::{Text, Value};

/// The longest user agent that an event shows.
const USER_AGENT_CHARACTERS: usize = 1024;

/// The object of a request, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectReference {
    /// Its uid, if the body gives one.
    pub uid: Text,
    /// Its resource version, if the body gives one.
    pub resource_version: Text,
    /// Its name, if the body has it and the path does not.
    pub name: Text,
}

/// How a request was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseStatus {
    /// The HTTP status.
    pub code: u16,
    /// The `Status` of an error.
    pub error: Option<Value>,
}

/// An audit event.
#[derive(Clone, Debug)]
pub struct Event<'e> {
    /// The level.
    pub level: Level,
    /// The stage.
    pub stage: Stage,
    /// The id that the events of one request share.
    pub audit_id: &'e str,
    /// The attributes of the request.
    pub attributes: &'e Attributes,
    /// The URI as it was sent.
    pub request_uri: &'e str,
    /// The user; `None` if it was not authenticated.
    pub user: Option<&'e UserInfo>,
    /// The impersonated user.
    pub impersonated_user: Option<&'e UserInfo>,
    /// The constrained verb that permitted the impersonation.
    pub impersonation_constraint: Option<&'e str>,
    /// The addresses that it came through.
    pub source_ips: &'e [Text],
    /// The program that sent it.
    pub user_agent: &'e str,
    /// The metadata of the object beyond the path.
    pub object: &'e ObjectReference,
    /// How it was answered.
    pub response_status: Option<&'e ResponseStatus>,
    /// The body of the request.
    pub request_object: Option<&'e Value>,
    /// The body of the response.
    pub response_object: Option<&'e Value>,
    /// Annotations, sorted.
    pub annotations: &'e [(Text, Text)],
    /// When the request arrived, in RFC 3339 with microseconds.
    pub received: &'e str,
    /// When the stage was reached.
    pub reached: &'e str,
}

impl Event<'_> {
    /// Returns the event in the format of `audit.k8s.io/v1`.
    pub fn to_value(&self) -> Value {
        let mut fields = vec![
            ("apiVersion", Value::from("audit.k8s.io/v1")),
            ("kind", Value::from("Event")),
            ("level", Value::from(self.level.name())),
            ("auditID", Value::from(self.audit_id)),
            ("stage", Value::from(self.stage.name())),
            ("requestURI", Value::from(self.request_uri)),
            ("verb", Value::from(self.attributes.verb())),
            ("user", self.user.map_or_else(|| Value::object::<&str>([]), UserInfo::to_value)),
            ("requestReceivedTimestamp", Value::from(self.received)),
            ("stageTimestamp", Value::from(self.reached)),
        ];
        if !self.source_ips.is_empty() {
            fields.push(("sourceIPs", texts(self.source_ips)));
        }
        if !self.user_agent.is_empty() {
            let agent: String = self.user_agent.chars().take(USER_AGENT_CHARACTERS).collect();
            fields.push(("userAgent", Value::from(agent)));
        }
        if let Attributes::Resource(_) = self.attributes {
            fields.push(("objectRef", self.object_reference()));
        }
        if let Some(user) = self.impersonated_user {
            fields.push(("impersonatedUser", user.to_value()));
        }
        if let Some(constraint) = self.impersonation_constraint {
            let metadata = Value::object([("impersonationConstraint", Value::from(constraint))]);
            fields.push(("authenticationMetadata", metadata));
        }
        if let Some(status) = self.response_status {
            fields.push(("responseStatus", status.to_value()));
        }
        if let Some(object) = self.request_object.filter(|_| self.level >= Level::Request) {
            fields.push(("requestObject", object.clone()));
        }
        if let Some(object) = self.response_object.filter(|_| self.level >= Level::RequestResponse) {
            fields.push(("responseObject", object.clone()));
        }
        if !self.annotations.is_empty() {
            let annotations =
                self.annotations.iter().map(|(key, value)| (key.clone(), Value::from(value.clone())));
            fields.push(("annotations", Value::object(annotations)));
        }
        Value::object(fields)
    }

    fn object_reference(&self) -> Value {
        let Attributes::Resource(of) = self.attributes else { return Value::Null };
        let name = if of.name.is_empty() { &self.object.name } else { &of.name };
        let fields = [
            ("resource", &of.resource),
            ("namespace", &of.namespace),
            ("name", name),
            ("uid", &self.object.uid),
            ("apiGroup", &of.group),
            ("apiVersion", &of.version),
            ("resourceVersion", &self.object.resource_version),
            ("subresource", &of.subresource),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        Value::object(given.map(|(name, value)| (name, Value::from(value.clone()))))
    }
}

impl ResponseStatus {
    fn to_value(&self) -> Value {
        let error = self.error.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        let error = error.without("apiVersion").without("kind");
        let metadata = Value::object::<&str>([]);
        Value::Object(error.with("metadata", metadata).with("code", i64::from(self.code)))
    }
}

fn texts(list: &[Text]) -> Value {
    Value::array(list.iter().cloned().map(Value::from))
}
