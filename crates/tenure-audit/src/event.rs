//! One audit event: the state of a request at one of its stages.

use super::{Level, Stage};
use std::cell::RefCell;
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_value::{
    Limits, Text, Value,
    json::{self, Style},
};

/// The name of a field of the API, as JSON has it before a value.
macro_rules! name {
    ($name:literal) => {
        concat!("\"", $name, "\":")
    };
}

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

/// A request, as far as it is the same in all of its events.
#[derive(Clone, Debug)]
pub struct RequestRecord<'r> {
    /// The level of its events.
    pub level: Level,
    /// The id that its events share.
    pub audit_id: &'r str,
    /// Its attributes.
    pub attributes: &'r Attributes,
    /// The URI as it was sent.
    pub request_uri: &'r str,
    /// The user; `None` if it was not authenticated.
    pub user: Option<&'r UserInfo>,
    /// The addresses that it came through.
    pub source_ips: &'r [Text],
    /// The program that sent it.
    pub user_agent: &'r str,
}

/// What all events of one request have in common, as JSON.
#[derive(Clone, Debug)]
pub struct RequestText {
    text: Vec<u8>,
    /// Where the stage is inserted.
    stage_at: usize,
    /// Where the impersonation is inserted.
    impersonation_at: usize,
    /// Where the reference to the object begins, as far as the path gives it; it is the last field.
    object_at: usize,
}

thread_local! {
    /// Buffers of earlier requests, which take less time than new ones.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}
/// How many buffers a thread keeps.
const SPARES: usize = 16;
/// The capacity above which a buffer is not kept.
const SPARE_CAPACITY: usize = 4 << 10;

impl Drop for RequestText {
    fn drop(&mut self) {
        let text = std::mem::take(&mut self.text);
        let keep = |spare: &RefCell<Vec<Vec<u8>>>| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARES && text.capacity() <= SPARE_CAPACITY {
                spare.push(text);
            }
        };
        // A thread that ends keeps none.
        let _ = SPARE.try_with(keep);
    }
}

impl RequestText {
    /// Writes what all events of a request have in common.
    pub fn new(record: &RequestRecord<'_>) -> RequestText {
        let mut text = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        text.clear();
        let mut fields = Fields::begin(&mut text);
        fields.word(name!("kind"), "Event");
        fields.word(name!("apiVersion"), "audit.k8s.io/v1");
        fields.word(name!("level"), record.level.name());
        fields.text(name!("auditID"), record.audit_id);
        let stage_at = fields.out.len();
        fields.text(name!("requestURI"), record.request_uri);
        fields.text(name!("verb"), record.attributes.verb());
        fields.object(name!("user"), |fields| {
            if let Some(user) = record.user {
                user_fields(user, fields);
            }
        });
        let impersonation_at = fields.out.len();
        if !record.source_ips.is_empty() {
            fields.texts(name!("sourceIPs"), record.source_ips);
        }
        if !record.user_agent.is_empty() {
            fields.text(name!("userAgent"), shortened(record.user_agent));
        }
        let object_at = fields.out.len();
        if let Attributes::Resource(path) = record.attributes {
            let unknown = ObjectReference::default();
            fields.object(name!("objectRef"), |fields| unknown.write_fields(path, fields));
        }
        RequestText { text, stage_at, impersonation_at, object_at }
    }
}

/// An audit event.
#[derive(Clone, Debug)]
pub struct Event<'e> {
    /// What the events of the same request share.
    pub text: &'e RequestText,
    /// The level.
    pub level: Level,
    /// The stage.
    pub stage: Stage,
    /// The attributes of the request.
    pub attributes: &'e Attributes,
    /// The impersonated user.
    pub impersonated_user: Option<&'e UserInfo>,
    /// The constrained verb that permitted the impersonation.
    pub impersonation_constraint: Option<&'e str>,
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
    /// Appends the event in the format of `audit.k8s.io/v1`, as JSON. Every audited request writes one or two: no document is
    /// built for them.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let common = self.text;
        out.extend_from_slice(&common.text[..common.stage_at]);
        let mut fields = Fields { out };
        fields.word(name!("stage"), self.stage.name());
        fields.out.extend_from_slice(&common.text[common.stage_at..common.impersonation_at]);
        if let Some(user) = self.impersonated_user {
            fields.object(name!("impersonatedUser"), |fields| user_fields(user, fields));
        }
        if let Some(constraint) = self.impersonation_constraint {
            fields.object(name!("authenticationMetadata"), |fields| {
                fields.text(name!("impersonationConstraint"), constraint)
            });
        }
        match self.attributes {
            Attributes::Resource(resource) if self.object.adds_to(resource) => {
                fields.out.extend_from_slice(&common.text[common.impersonation_at..common.object_at]);
                fields.object(name!("objectRef"), |fields| self.object.write_fields(resource, fields));
            }
            _ => fields.out.extend_from_slice(&common.text[common.impersonation_at..]),
        }
        if let Some(status) = self.response_status {
            fields.object(name!("responseStatus"), |fields| status.write_fields(fields));
        }
        if let Some(object) = self.request_object.filter(|_| self.level >= Level::Request) {
            fields.value("requestObject", object);
        }
        if let Some(object) = self.response_object.filter(|_| self.level >= Level::RequestResponse) {
            fields.value("responseObject", object);
        }
        fields.word(name!("requestReceivedTimestamp"), self.received);
        fields.word(name!("stageTimestamp"), self.reached);
        if !self.annotations.is_empty() {
            fields.object(name!("annotations"), |fields| {
                for (key, value) in self.annotations {
                    fields.name(key);
                    quoted(value, fields.out);
                    fields.out.push(b',');
                }
            });
        }
        fields.end();
    }

    /// Returns the event as a document.
    pub fn to_value(&self) -> Value {
        let mut text = Vec::new();
        self.write_json(&mut text);
        // What was just written is JSON.
        json::parse(&text, &Limits::TRUSTED).unwrap_or_default()
    }
}

impl ObjectReference {
    /// Whether it has anything that the path does not.
    fn adds_to(&self, path: &ResourceAttributes) -> bool {
        let named = path.name.is_empty() && !self.name.is_empty();
        named || !self.uid.is_empty() || !self.resource_version.is_empty()
    }

    fn write_fields(&self, path: &ResourceAttributes, fields: &mut Fields<'_>) {
        let name = if path.name.is_empty() { &self.name } else { &path.name };
        let given = [
            (name!("resource"), &path.resource),
            (name!("namespace"), &path.namespace),
            (name!("name"), name),
            (name!("uid"), &self.uid),
            (name!("apiGroup"), &path.group),
            (name!("apiVersion"), &path.version),
            (name!("resourceVersion"), &self.resource_version),
            (name!("subresource"), &path.subresource),
        ];
        for (field, value) in given.into_iter().filter(|(_, value)| !value.is_empty()) {
            fields.text(field, value);
        }
    }
}

impl ResponseStatus {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        fields.out.extend_from_slice(b"\"metadata\":{},");
        let error = self.error.as_ref().and_then(Value::as_object);
        for (name, value) in error.into_iter().flat_map(|error| error.iter()) {
            if !["apiVersion", "kind", "metadata", "code"].contains(&name.as_str()) {
                fields.value(name, value);
            }
        }
        fields.number(name!("code"), self.code);
    }
}

fn user_fields(user: &UserInfo, fields: &mut Fields<'_>) {
    fields.text(name!("username"), &user.name);
    if !user.uid.is_empty() {
        fields.text(name!("uid"), &user.uid);
    }
    if !user.groups.is_empty() {
        fields.texts(name!("groups"), &user.groups);
    }
    if !user.extra.is_empty() {
        fields.object(name!("extra"), |fields| {
            for (key, values) in &user.extra {
                fields.name(key);
                fields.list(values);
            }
        });
    }
}

/// Returns the beginning of a user agent, as far as an event shows it.
fn shortened(user_agent: &str) -> &str {
    if user_agent.len() <= USER_AGENT_CHARACTERS {
        return user_agent;
    }
    let end = user_agent.char_indices().nth(USER_AGENT_CHARACTERS).map_or(user_agent.len(), |(at, _)| at);
    user_agent.get(..end).unwrap_or(user_agent)
}

/// An object of JSON that is being written. A comma follows every field, and the end of the object replaces the last one.
struct Fields<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Fields<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Fields<'o> {
        out.push(b'{');
        Fields { out }
    }

    fn name(&mut self, name: &str) {
        quoted(name, self.out);
        self.out.push(b':');
    }

    /// Writes a text that needs no escapes.
    fn word(&mut self, name: &'static str, value: &str) {
        self.out.reserve(name.len() + value.len() + 3);
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_bytes());
        self.out.extend_from_slice(b"\",");
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.out.extend_from_slice(name.as_bytes());
        quoted(value, self.out);
        self.out.push(b',');
    }

    fn texts(&mut self, name: &'static str, values: &[Text]) {
        self.out.extend_from_slice(name.as_bytes());
        self.list(values);
    }

    fn list(&mut self, values: &[Text]) {
        self.out.push(b'[');
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            quoted(value, self.out);
        }
        self.out.extend_from_slice(b"],");
    }

    fn number(&mut self, name: &'static str, value: u16) {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(value.to_string().as_bytes());
        self.out.push(b',');
    }

    fn value(&mut self, name: &str, value: &Value) {
        self.name(name);
        json::write(value, self.out);
        self.out.push(b',');
    }

    fn object(&mut self, name: &'static str, write: impl FnOnce(&mut Fields<'_>)) {
        self.out.extend_from_slice(name.as_bytes());
        let mut fields = Fields::begin(self.out);
        write(&mut fields);
        fields.end();
        self.out.push(b',');
    }

    fn end(self) {
        match self.out.last_mut() {
            Some(last @ b',') => *last = b'}',
            _ => self.out.push(b'}'),
        }
    }
}

/// Appends a string of JSON.
fn quoted(text: &str, out: &mut Vec<u8>) {
    json::write_text(text, Style::Kubernetes, out);
}
