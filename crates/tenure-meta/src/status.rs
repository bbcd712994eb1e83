//! API errors and their conversion to a Kubernetes `Status`. Clients act on code and reason, humans read the
//! message.

use std::collections::HashSet;
use tenure_value::{Text, Value};

/// The machine-readable reason of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The request is malformed (400).
    BadRequest,
    /// Missing or wrong credentials (401).
    Unauthorized,
    /// The user is authenticated but not allowed (403).
    Forbidden,
    /// No such object or path (404).
    NotFound,
    /// The path does not support this method (405).
    MethodNotAllowed,
    /// No acceptable representation (406).
    NotAcceptable,
    /// The object exists (409).
    AlreadyExists,
    /// The object changed in the meantime, or another manager owns the field (409).
    Conflict,
    /// The requested history is no longer available (410).
    Expired,
    /// The body is too large (413).
    RequestEntityTooLarge,
    /// The body is in an unknown format (415).
    UnsupportedMediaType,
    /// The object violates a rule of its kind (422).
    Invalid,
    /// The client must retry later (429).
    TooManyRequests,
    /// The server failed (500).
    InternalError,
    /// An error that Kubernetes does not classify (500); its `Status` has no reason.
    Unknown,
    /// The store is unavailable (503).
    ServiceUnavailable,
    /// The request timed out (504).
    Timeout,
}

/// HTTP code and name of each reason.
const REASONS: [(Reason, u16, &str); 17] = [
    (Reason::BadRequest, 400, "BadRequest"),
    (Reason::Unauthorized, 401, "Unauthorized"),
    (Reason::Forbidden, 403, "Forbidden"),
    (Reason::NotFound, 404, "NotFound"),
    (Reason::MethodNotAllowed, 405, "MethodNotAllowed"),
    (Reason::NotAcceptable, 406, "NotAcceptable"),
    (Reason::AlreadyExists, 409, "AlreadyExists"),
    (Reason::Conflict, 409, "Conflict"),
    (Reason::Expired, 410, "Expired"),
    (Reason::RequestEntityTooLarge, 413, "RequestEntityTooLarge"),
    (Reason::UnsupportedMediaType, 415, "UnsupportedMediaType"),
    (Reason::Invalid, 422, "Invalid"),
    (Reason::TooManyRequests, 429, "TooManyRequests"),
    (Reason::InternalError, 500, "InternalError"),
    (Reason::Unknown, 500, ""),
    (Reason::ServiceUnavailable, 503, "ServiceUnavailable"),
    (Reason::Timeout, 504, "Timeout"),
];

impl Reason {
    fn row(self) -> &'static (Reason, u16, &'static str) {
        REASONS.iter().find(|row| row.0 == self).unwrap_or(&REASONS[13])
    }

    /// Returns the HTTP code.
    pub fn code(self) -> u16 {
        self.row().1
    }

    /// Returns the name of the reason; empty for [`Reason::Unknown`].
    pub fn word(self) -> &'static str {
        self.row().2
    }
}

/// One of the causes of an error, usually a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The machine-readable reason, such as `FieldValueInvalid`.
    pub reason: Text,
    /// What is wrong.
    pub message: String,
    /// The path of the field, or empty.
    pub field: String,
    /// Further members, under the name `tenure`.
    pub extension: Option<Value>,
}

/// Why a request failed. Boxed, so that a `Result` stays small.
///
/// ```
/// use tenure_meta::ApiError;
///
/// let error = ApiError::not_found("apps", "deployments", "web");
/// assert_eq!(error.code(), 404);
/// assert_eq!(error.to_string(), "deployments.apps \"web\" not found");
/// assert_eq!(error.status().get("reason"), Some(&"NotFound".into()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError(Box<Details>);

/// The content of an [`ApiError`].
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The machine-readable reason, which implies the HTTP code.
    pub reason: Reason,
    /// The message, for humans.
    pub message: String,
    /// The API group of the requested object.
    pub group: Text,
    /// The resource or kind of the requested object.
    pub kind: Text,
    /// The name of the requested object.
    pub name: Text,
    /// The causes.
    pub causes: Vec<Cause>,
    /// After how many seconds the client may retry.
    pub retry_after: Option<u32>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// A complete `Status` from elsewhere, such as a webhook; its code and reason take precedence.
    pub given: Option<Value>,
    /// The token with which a list may continue in spite of the error (410).
    pub resume: Option<String>,
    /// Whether the body is the message as plain text and not a `Status`.
    pub is_plain: bool,
    /// Whether `details` are there even if they are empty.
    pub keeps_details: bool,
    /// The answer of Kubernetes to the same request, where this error says more or has a better code.
    pub kubernetes: Option<ApiError>,
}

impl ApiError {
    /// Creates an error without an object.
    pub fn new(reason: Reason, message: impl Into<String>) -> ApiError {
        ApiError(Box::new(Details {
            reason,
            message: message.into(),
            group: Text::default(),
            kind: Text::default(),
            name: Text::default(),
            causes: Vec::new(),
            retry_after: None,
            warnings: Vec::new(),
            given: None,
            resume: None,
            is_plain: false,
            keeps_details: matches!(
                reason,
                Reason::NotFound | Reason::MethodNotAllowed | Reason::Forbidden | Reason::Invalid
            ),
            kubernetes: None,
        }))
    }

    /// Sets the answer of Kubernetes to the same request. A server that answers as Kubernetes sends that one
    /// ([`ApiError::into_kubernetes`]).
    pub fn or_in_kubernetes(mut self, answer: ApiError) -> ApiError {
        self.kubernetes = Some(answer);
        self
    }

    /// Returns the error as Kubernetes reports it: its own answer where one is set, with the warnings of this error, and
    /// without the members that only this server adds to causes.
    pub fn into_kubernetes(mut self) -> ApiError {
        let mut answer = match self.kubernetes.take() {
            Some(answer) => answer.with_warnings(std::mem::take(&mut self.warnings)),
            None => self,
        };
        for cause in &mut answer.causes {
            cause.extension = None;
        }
        answer
    }

    /// An internal error as Kubernetes words it, with the error as its cause.
    pub fn internal_error(message: impl Into<String>) -> ApiError {
        let message = message.into();
        let error = ApiError::new(Reason::InternalError, format!("Internal error occurred: {message}"));
        let cause = Cause { reason: Text::default(), message, field: String::new(), extension: None };
        error.with_causes(vec![cause])
    }

    /// The answer of Kubernetes to a request that is understood and cannot be carried out, without saying why.
    pub fn rejected() -> ApiError {
        ApiError::new(Reason::Invalid, "the server rejected our request due to an error in our request")
    }

    /// An error of the router of Kubernetes, for which there is no endpoint with the media types of a request.
    pub fn unrouted(reason: Reason, message: impl Into<String>) -> ApiError {
        let mut error = ApiError::new(reason, message);
        error.keeps_details = true;
        error
    }

    /// An error whose body is plain text.
    pub fn plain(reason: Reason, text: impl Into<String>) -> ApiError {
        let mut error = ApiError::new(reason, text);
        error.is_plain = true;
        error
    }

    /// Nothing is served at the path, not even a resource.
    pub fn page_not_found() -> ApiError {
        ApiError::plain(Reason::NotFound, "404 page not found\n")
    }

    /// An error that Kubernetes does not classify: a 500 without a reason.
    pub fn unclassified(message: impl Into<String>) -> ApiError {
        ApiError::new(Reason::Unknown, message)
    }

    /// Sets the requested object.
    pub fn about(mut self, group: &str, kind: &str, name: &str) -> ApiError {
        (self.group, self.kind, self.name) = (group.into(), kind.into(), name.into());
        self
    }

    /// Adds the causes.
    pub fn with_causes(mut self, causes: Vec<Cause>) -> ApiError {
        self.causes = causes;
        self
    }

    /// Adds warnings for the client, before those that the error has.
    pub fn with_warnings(mut self, mut warnings: Vec<String>) -> ApiError {
        warnings.append(&mut self.warnings);
        self.warnings = warnings;
        self
    }

    /// The request is malformed.
    pub fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(Reason::BadRequest, message)
    }

    /// The path does not exist.
    pub fn no_such_path() -> ApiError {
        ApiError::new(Reason::NotFound, "the server could not find the requested resource")
    }

    /// The path does not support this method.
    pub fn method_not_allowed() -> ApiError {
        ApiError::new(
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
    }

    /// A custom resource has the path, but not the verb.
    pub fn method_not_supported(group: &str, resource: &str, verb: &str) -> ApiError {
        let what = qualified(resource, group);
        let message = format!("{verb} is not supported on resources of kind \"{what}\"");
        ApiError::new(Reason::MethodNotAllowed, message).about(group, resource, "")
    }

    /// The named object does not exist.
    pub fn not_found(group: &str, resource: &str, name: &str) -> ApiError {
        let qualified_name = qualified(resource, group);
        ApiError::new(Reason::NotFound, format!("{qualified_name} \"{name}\" not found"))
            .about(group, resource, name)
    }

    /// The object already exists.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> ApiError {
        let qualified_name = qualified(resource, group);
        ApiError::new(Reason::AlreadyExists, format!("{qualified_name} \"{name}\" already exists"))
            .about(group, resource, name)
    }

    /// The object was changed by someone else, or a precondition failed.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> ApiError {
        let qualified_name = qualified(resource, group);
        let message = format!("Operation cannot be fulfilled on {qualified_name} \"{name}\": {why}");
        ApiError::new(Reason::Conflict, message).about(group, resource, name)
    }

    /// The user may not do this to the object.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> ApiError {
        let qualified_name = qualified(resource, group);
        let named = if name.is_empty() { qualified_name } else { format!("{qualified_name} \"{name}\"") };
        ApiError::new(Reason::Forbidden, format!("{named} is forbidden: {why}")).about(group, resource, name)
    }

    /// The object violates rules of its kind.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> ApiError {
        let mut faults: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        // A kind may check the same thing twice; then there are two causes, and one message.
        for cause in &causes {
            if seen.insert((&cause.field, &cause.message)) {
                faults.push(format!("{}: {}", cause.field, cause.message));
            }
        }
        let list = match faults.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{} \"{name}\" is invalid: {list}", qualified(kind, group));
        ApiError::new(Reason::Invalid, message).about(group, kind, name).with_causes(causes)
    }

    /// A query parameter violates a rule of its options (`CreateOptions`, `ListOptions`, …).
    pub fn invalid_option(options: &str, reason: &str, field: &str, message: impl Into<String>) -> ApiError {
        let cause =
            Cause { reason: reason.into(), message: message.into(), field: field.into(), extension: None };
        ApiError::invalid("meta.k8s.io", options, "", vec![cause])
    }

    /// A webhook denied the request, possibly with a `Status` of its own.
    pub fn denied(webhook: &str, status: &Value) -> ApiError {
        let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default();
        let denied = format!("admission webhook {webhook:?} denied the request");
        let message = match (text("message"), text("reason")) {
            ("", "") => format!("{denied} without explanation"),
            ("", why) | (why, _) => format!("{denied}: {why}"),
        };
        // Whatever code a denial has, it must be an error code.
        let code = status.get("code").and_then(Value::as_i64).filter(|code| (400..600).contains(code));
        let mut fields = status.as_object().cloned().unwrap_or_default();
        if fields.get("metadata").is_none_or(Value::is_null) {
            fields = fields.with("metadata", tenure_value::Object::default());
        }
        let mut failure = ApiError::new(Reason::BadRequest, message.as_str());
        failure.given = Some(
            fields
                .with("kind", "Status")
                .with("apiVersion", "v1")
                .with("status", "Failure")
                .with("message", message)
                .with("code", code.unwrap_or(400))
                .into(),
        );
        failure
    }

    /// An internal error.
    pub fn internal(message: impl Into<String>) -> ApiError {
        ApiError::new(Reason::InternalError, message)
    }

    /// Returns the HTTP code.
    pub fn code(&self) -> u16 {
        let given = self.given.as_ref().and_then(|status| status.get("code")).and_then(Value::as_i64);
        given.and_then(|code| u16::try_from(code).ok()).unwrap_or_else(|| self.reason.code())
    }

    /// Returns the `Status` that the client receives.
    pub fn status(&self) -> Value {
        if let Some(status) = &self.given {
            return status.clone();
        }
        let text = |text: &str| Value::from(text);
        let mut details = Vec::new();
        for (name, value) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind)] {
            if !value.is_empty() {
                details.push((name, text(value)));
            }
        }
        if !self.causes.is_empty() {
            details.push(("causes", Value::array(self.causes.iter().map(Cause::value))));
        }
        if let Some(seconds) = self.retry_after {
            details.push(("retryAfterSeconds", Value::from(seconds)));
        }
        let metadata = self.resume.as_deref().map(|token| ("continue", text(token)));
        let mut fields = vec![
            ("kind", text("Status")),
            ("apiVersion", text("v1")),
            ("metadata", Value::object(metadata)),
            ("status", text("Failure")),
            ("message", text(&self.message)),
            ("code", Value::from(self.code())),
        ];
        if self.reason != Reason::Unknown {
            fields.push(("reason", text(self.reason.word())));
        }
        if !details.is_empty() || self.keeps_details {
            fields.push(("details", Value::object(details)));
        }
        Value::object(fields)
    }
}

impl Cause {
    /// Returns the cause as it is part of a `Status`.
    pub fn value(&self) -> Value {
        let mut fields = vec![("message", Value::from(self.message.as_str()))];
        if !self.reason.is_empty() {
            fields.push(("reason", Value::from(self.reason.clone())));
        }
        if !self.field.is_empty() {
            fields.push(("field", Value::from(self.field.as_str())));
        }
        if let Some(extension) = &self.extension {
            fields.push(("tenure", extension.clone()));
        }
        Value::object(fields)
    }
}

impl std::ops::Deref for ApiError {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl std::ops::DerefMut for ApiError {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

/// Returns `deployments.apps`, or `configmaps` in the group without a name.
pub fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_string() } else { [resource, ".", group].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_answer_of_kubernetes_beside_its_own() {
        let answer = ApiError::unclassified("expected string");
        let error = ApiError::bad_request(".data.a: expected a string").or_in_kubernetes(answer);
        let error = error.with_warnings(vec!["deprecated".into()]);
        assert_eq!((error.code(), error.status().get("reason")), (400, Some(&"BadRequest".into())));
        let error = error.into_kubernetes();
        assert_eq!((error.code(), error.status().get("reason")), (500, None));
        assert_eq!((error.message.as_str(), error.warnings.len()), ("expected string", 1));
    }

    #[test]
    fn a_missing_object_is_reported_with_its_group() {
        let failure = ApiError::not_found("apps", "deployments", "d");
        assert_eq!(failure.code(), 404);
        assert_eq!(failure.message, "deployments.apps \"d\" not found");
        let details = Value::object(
            [("name", "d"), ("group", "apps"), ("kind", "deployments")].map(|(n, v)| (n, v.into())),
        );
        assert_eq!(failure.status().get("details"), Some(&details));
    }

    #[test]
    fn a_single_error_is_plain_and_several_are_in_brackets() {
        let cause = |field: &str| Cause {
            reason: "FieldValueRequired".into(),
            message: "Required value".into(),
            field: field.into(),
            extension: None,
        };
        let one = ApiError::invalid("", "Pod", "p", vec![cause("spec.containers")]);
        assert_eq!(one.message, "Pod \"p\" is invalid: spec.containers: Required value");
        let two = ApiError::invalid("apps", "Deployment", "d", vec![cause("a"), cause("b")]);
        assert_eq!(two.message, "Deployment.apps \"d\" is invalid: [a: Required value, b: Required value]");
    }
}
