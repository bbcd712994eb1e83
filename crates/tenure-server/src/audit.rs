//! The audit trail of a request: the events of its stages, from the moment its client is known until the response is sent.

use bytes::Bytes;
use hyper::{
    Method,
    header::{HeaderName, HeaderValue},
    http::request::Parts,
};
use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use tenure_audit::{
    AuditContext, Auditor, Event, Level, ObjectReference, RequestHeaders, RequestRecord, RequestText,
    ResponseStatus, Selection, Stage,
};
use tenure_catalog::{Clock, Subresource};
use tenure_http::{ClientAddress, Encoding, Request, Response, ResponseBody};
use tenure_meta::{Attributes, UserInfo, time::Precision};
use tenure_value::{Limits, Text, Value, json, yaml};

/// The header that gives the events of a request their identifier.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

/// The events of one request. An ending event is recorded when the trail is dropped, at the latest.
pub(crate) struct AuditTrail {
    auditor: Arc<Auditor>,
    clock: Clock,
    selection: Selection,
    audit_id: HeaderValue,
    method: Method,
    attributes: Arc<Attributes>,
    is_authenticated: bool,
    impersonated: Option<(Arc<UserInfo>, Option<String>)>,
    received: String,
    /// The body of the request and its encoding.
    body: Option<(Bytes, Encoding)>,
    context: AuditContext,
    text: RequestText,
    status: Option<ResponseStatus>,
    /// The bodies in the final event.
    bodies: (ObjectReference, Option<Value>, Option<Value>),
    is_over: bool,
}

impl AuditTrail {
    /// Begins the trail of a request whose client is known, or could not be authenticated; `None` if the policy does not
    /// record it.
    pub fn begin(
        auditor: &Arc<Auditor>,
        clock: &Clock,
        head: &Parts,
        attributes: &Arc<Attributes>,
        user: Option<&Arc<UserInfo>>,
    ) -> Option<AuditTrail> {
        let selection = auditor.policy().select(user.map(|user| &**user), attributes);
        if selection.level == Level::None {
            return None;
        }
        let headers = RequestHeaders::of(&head.headers);
        let client = head.extensions.get().map(|ClientAddress(address)| address.ip());
        let audit_id = headers.audit_id.cloned().unwrap_or_else(new_id);
        let text = RequestText::new(&RequestRecord {
            level: selection.level,
            audit_id: audit_id.to_str().unwrap_or_default(),
            attributes,
            request_uri: head.uri.path_and_query().map_or("", |uri| uri.as_str()),
            user: user.map(|user| &**user),
            source_ips: &headers.source_ips(client),
            user_agent: headers.user_agent,
        });
        let trail = AuditTrail {
            auditor: auditor.clone(),
            clock: clock.clone(),
            audit_id,
            method: head.method.clone(),
            is_authenticated: user.is_some(),
            impersonated: None,
            received: clock.now().format(Precision::Micros),
            body: None,
            context: AuditContext::recording(selection.level),
            text,
            status: None,
            bodies: Default::default(),
            is_over: false,
            selection,
            attributes: attributes.clone(),
        };
        if user.is_some() {
            trail.record(Stage::RequestReceived, &trail.received);
        }
        Some(trail)
    }

    /// Returns what identifies the events of the request.
    pub fn audit_id(&self) -> &str {
        self.audit_id.to_str().unwrap_or_default()
    }

    /// Returns the context that collects annotations and the object of the request.
    pub fn context(&self) -> AuditContext {
        self.context.clone()
    }

    /// Sets the user that the request runs as.
    pub fn set_impersonated(&mut self, user: &Arc<UserInfo>, constraint: Option<String>) {
        self.impersonated = Some((user.clone(), constraint));
    }

    /// Annotates the decision of the authorizer.
    pub fn set_decision(&self, allowed: bool, reason: &str) {
        let decision = if allowed { "allow" } else { "forbid" };
        let [decision_key, decision, reason_key] = [DECISION, decision, REASON].map(Text::new_static);
        self.context.annotate([(decision_key, decision), (reason_key, reason.into())]);
    }

    /// Sets the body of the request as it was sent.
    pub fn set_body(&mut self, request: &Request) {
        if self.selection.level >= Level::Request && !request.body.is_empty() {
            let encoding = request.content_type().and_then(Encoding::of_media_type).unwrap_or(Encoding::Json);
            self.body = Some((request.body.clone(), encoding));
        }
    }

    /// Returns the document that was sent, if it is one.
    fn sent(&self) -> Option<Value> {
        let (body, encoding) = self.body.as_ref()?;
        decode(body, *encoding, &Limits::default())
    }

    /// Records the response. That of a watch ends later: the trail ends with its body.
    pub fn respond(mut self, mut response: Response) -> Response {
        response.headers.insert(AUDIT_ID, self.audit_id.clone());
        self.observe(&response);
        // A request that is not authenticated has one event only.
        if !self.is_authenticated {
            self.reach(Stage::ResponseStarted);
            self.is_over = true;
            return response;
        }
        if self.is_long_running() {
            self.reach(Stage::ResponseStarted);
        }
        if let ResponseBody::Stream(stream) = response.body {
            response.body = ResponseBody::Stream(stream.with_guard(self));
        }
        response
    }

    fn is_long_running(&self) -> bool {
        match &*self.attributes {
            Attributes::Resource(resource) => {
                let part = Subresource::named(&resource.subresource);
                resource.verb == "watch" || part.is_some_and(Subresource::is_long_running)
            }
            Attributes::NonResource { .. } => false,
        }
    }

    /// Reads the bodies for the final event.
    fn observe(&mut self, response: &Response) {
        let code = response.code.as_u16();
        let is_resource = matches!(*self.attributes, Attributes::Resource(_));
        let is_full = self.selection.level == Level::RequestResponse;
        let shows_response = is_resource && is_full;
        // Errors, and the responses of most deletions, are a `Status`.
        let may_be_status = code >= 400 || self.method == Method::DELETE;
        let document = (shows_response || may_be_status).then(|| response_document(response)).flatten();
        let error = document
            .clone()
            .filter(|document| document.get("kind").and_then(Value::as_str) == Some("Status"));
        self.status = Some(ResponseStatus { code, error });
        let (reference, sent) = self.context.object();
        let sent = match self.method {
            _ if !is_resource || self.selection.level < Level::Request => None,
            Method::PATCH => self.sent(),
            Method::DELETE => self.sent().map(internal_options),
            _ if code < 400 => sent.or_else(|| self.sent()),
            _ => sent,
        };
        // A path that is not a resource has no bodies, except that of a refusal.
        let is_refusal =
            matches!(code, 401 | 403) && self.status.as_ref().is_some_and(|status| status.error.is_some());
        let document = document.filter(|_| shows_response || (is_full && is_refusal));
        self.bodies = match self.selection.omit_managed_fields {
            true => (reference, sent.map(without_managers), document.map(without_managers)),
            false => (reference, sent, document),
        };
    }

    /// Records a stage that is reached now.
    fn reach(&self, stage: Stage) {
        self.record(stage, &self.clock.now().format(Precision::Micros));
    }

    fn record(&self, stage: Stage, reached: &str) {
        if self.selection.omit_stages.contains(stage) {
            return;
        }
        let (reference, request_object, response_object) = &self.bodies;
        let is_received = stage == Stage::RequestReceived;
        let is_end = matches!(stage, Stage::ResponseComplete | Stage::Panic) || !self.is_authenticated;
        let impersonated = self.impersonated.as_ref().filter(|_| !is_received);
        self.auditor.record(&Event {
            text: &self.text,
            level: self.selection.level,
            stage,
            attributes: &self.attributes,
            impersonated_user: impersonated.map(|(user, _)| &**user),
            impersonation_constraint: impersonated.and_then(|(_, constraint)| constraint.as_deref()),
            object: reference,
            response_status: self.status.as_ref(),
            request_object: request_object.as_ref().filter(|_| is_end),
            response_object: response_object.as_ref().filter(|_| is_end),
            annotations: &if is_received { Vec::new() } else { self.context.annotations() },
            received: &self.received,
            reached,
        });
    }
}

impl Drop for AuditTrail {
    fn drop(&mut self) {
        if !self.is_over {
            self.reach(if std::thread::panicking() { Stage::Panic } else { Stage::ResponseComplete });
        }
    }
}

/// Returns a unique identifier: a random permutation of a counter, which needs no random bytes of the system for each request.
fn new_id() -> HeaderValue {
    static START: LazyLock<u128> = LazyLock::new(|| uuid::Uuid::new_v4().as_u128());
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = START.wrapping_add(COUNTER.fetch_add(1, Relaxed).into());
    // Different numbers stay different by a multiplication by an odd number, and by this shift.
    let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let id = uuid::Builder::from_random_bytes((bits ^ (bits >> 64)).to_be_bytes()).into_uuid();
    let mut text = uuid::Uuid::encode_buffer();
    HeaderValue::from_str(id.hyphenated().encode_lower(&mut text)).unwrap_or(HeaderValue::from_static(""))
}

/// Reads a document.
fn decode(bytes: &[u8], encoding: Encoding, limits: &Limits) -> Option<Value> {
    match encoding {
        Encoding::Json => json::parse(bytes, limits).ok(),
        // Most of what is sent as YAML is JSON, which is read faster.
        Encoding::Yaml => json::parse(bytes, limits).ok().or_else(|| yaml::parse(bytes, limits).ok()),
        Encoding::Protobuf => tenure_codec::protobuf::decode(bytes, limits).ok(),
        Encoding::Cbor => tenure_codec::cbor::decode(bytes, limits).ok(),
    }
}

/// Returns the options of a deletion as events show them.
fn internal_options(options: Value) -> Value {
    match options {
        Value::Object(options) => {
            Value::Object(options.with("apiVersion", "meta.k8s.io/__internal").with("kind", "DeleteOptions"))
        }
        other => other,
    }
}

/// Reads the document of a response, in any of its encodings.
fn response_document(response: &Response) -> Option<Value> {
    let bytes = match &response.body {
        ResponseBody::Whole(bytes) => bytes.clone(),
        ResponseBody::Chunked(chunks) => chunks.to_vec().into(),
        ResponseBody::Stream(_) => return None,
    };
    let media_type = response.headers.get(hyper::header::CONTENT_TYPE)?.to_str().ok()?;
    decode(&bytes, Encoding::of_media_type(media_type)?, &Limits::TRUSTED)
}

/// Returns an object, or the items of a list, without `managedFields`.
fn without_managers(value: Value) -> Value {
    let Value::Object(object) = value else { return value };
    let object = match object.get("items").and_then(Value::as_array) {
        Some(items) => {
            let items = Value::array(items.iter().cloned().map(without_managers));
            object.with("items", items)
        }
        None => object,
    };
    match object.get("metadata").and_then(Value::as_object) {
        Some(metadata) if metadata.contains("managedFields") => {
            object.with("metadata", metadata.without("managedFields")).into()
        }
        _ => Value::Object(object),
    }
}
