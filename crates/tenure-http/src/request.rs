//! A request that was authenticated and read: method, query, headers and body.

use super::{Encoding, Format, MediaTypes, OptionalFormats, Query};
use bytes::Bytes;
use hyper::{HeaderMap, Method, header};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_audit::AuditContext;
use tenure_meta::{ApiError, UserInfo};
use tenure_value::Text;

/// A request whose path has been resolved and whose body has been read.
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// Who makes the request, or whom it is made as.
    pub user: Arc<UserInfo>,
    /// The parameters.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty where the method has none.
    pub body: Bytes,
    /// What is recorded of the request.
    pub audit: AuditContext,
    /// When the request must be answered.
    pub deadline: Instant,
    /// What the server offers besides JSON, YAML and protobuf.
    pub optional: OptionalFormats,
    /// Whether admission reviews it.
    pub admission: AdmissionReview,
}

/// Whether admission reviews a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionReview {
    /// It does.
    #[default]
    Required,
    /// It skips admission: the server writes its own objects at its start, whatever webhooks and policies say.
    Skipped,
}

/// How long a request other than a watch may take, unless the client asks for less.
pub const REQUEST_TIME: Duration = Duration::from_secs(60);

impl Request {
    /// Returns a request of the server itself: no query, no body, and the name of the component as user agent.
    pub fn internal(method: Method, component: &'static str) -> Request {
        let agent = header::HeaderValue::from_static(component);
        let user = UserInfo::new("system:apiserver").with_group(UserInfo::MASTERS);
        Request {
            method,
            user: Arc::new(user),
            query: Query::default(),
            headers: HeaderMap::from_iter([(header::USER_AGENT, agent)]),
            body: Bytes::new(),
            audit: AuditContext::default(),
            deadline: Instant::now() + REQUEST_TIME,
            optional: OptionalFormats::default(),
            admission: AdmissionReview::Required,
        }
    }

    /// Returns the text of a header.
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the media type of the body.
    pub fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE)
    }

    /// Negotiates the format of the response.
    pub fn format(&self, offer: MediaTypes) -> Result<Format, ApiError> {
        offer.answer(self.header(header::ACCEPT), self.optional)
    }

    /// Returns the encoding of the body.
    pub fn encoding(&self, offer: MediaTypes) -> Result<Encoding, ApiError> {
        offer.body(self.content_type(), self.optional)
    }

    /// Returns the field manager of a write that names none: the client's program, from its user agent.
    pub fn default_manager(&self) -> Text {
        let agent = self.header(header::USER_AGENT).unwrap_or_default();
        let program = agent.split('/').next().unwrap_or_default();
        let printable: String =
            program.chars().filter(|character| !character.is_control()).take(128).collect();
        if printable.is_empty() { "unknown".into() } else { printable.into() }
    }
}
