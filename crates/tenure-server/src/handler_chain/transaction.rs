//! `POST /transactions`: several writes that take effect together or not at all. Each is carried out on a fork of the server over a
//! copy of the store, with the permissions, admission and rules of a request of its own; what they committed there is then committed
//! to the store at once. If something that one of them relied on has changed in between, all are carried out again.

use super::{Authenticated, Authorized, Received, RequestInfo, Route, Server};
use crate::{admission::CONFIGURATION_PREFIX, audit::AuditTrail, fork::ForkOptions};
use bytes::Bytes;
use hyper::{
    HeaderMap, Method, StatusCode, Uri,
    header::{self, HeaderName, HeaderValue},
    http::request::Parts,
};
use std::sync::Arc;
use tenure_authentication::Credential;
use tenure_authorization::RBAC_PREFIX;
use tenure_catalog::{Subresource, Target, Verb, object::meta_text};
use tenure_http::{BoundedBody, ClientAddress, PLAIN, Request, Response, ResponseBody};
use tenure_meta::{ApiError, Cause, Reason, UserInfo};
use tenure_store::{Error, Revision, StagedTransactions, StagingStore, Store, limits::MAX_STAGED};
use tenure_value::{Limits, Object, Text, Value, json};

/// The path of transactions.
pub(super) const PATH: &str = "/transactions";
/// The largest body of a transaction.
const BODY_BYTES: usize = 16 * 1024 * 1024;
/// How many bytes a transaction occupies for each byte of its body.
const BYTES_PER_BODY_BYTE: usize = 12;
/// How many attempts are made before a transaction is refused because other clients change the same objects.
const ATTEMPTS: usize = 5;

/// The headers that a write has from the transaction, as a request of its own would have them.
const INHERITED: [HeaderName; 3] =
    [header::USER_AGENT, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];
/// The annotation that leads from the audit events of a write to those of its transaction.
const AUDIT_ANNOTATION: &str = "tenure.dev/transaction";

/// The reason of the cause that names the write which was refused.
const REFUSED_WRITE: &str = "RefusedWrite";

/// Who makes a transaction, and from where.
struct Origin {
    user: Arc<UserInfo>,
    headers: HeaderMap,
    client: Option<ClientAddress>,
    /// What identifies the audit events of the transaction.
    audit_id: Option<Text>,
}

/// One of the writes.
struct Write {
    /// Its place in the transaction, such as `requests[1]`.
    place: String,
    method: Method,
    uri: Uri,
    content_type: Option<HeaderValue>,
    body: Bytes,
    /// Whether the object must not exist.
    absent: bool,
}

/// A write that was carried out on the copy.
struct Outcome {
    code: StatusCode,
    object: Value,
    warnings: Vec<HeaderValue>,
    trail: Option<AuditTrail>,
}

impl Server {
    /// Carries out a transaction.
    pub(super) async fn transact(
        &self,
        mut request: Request,
        client: Option<ClientAddress>,
        authorized: Authorized,
        body: &mut Option<BoundedBody>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        let Authorized { user, flow, .. } = authorized;
        let mut memory = None;
        if let Some(body) = body.take() {
            (request.body, memory) = body.read(BODY_BYTES, &self.memory).await?;
        }
        if let Some(trail) = &mut seen.trail {
            trail.set_body(&request);
        }
        if let Some(memory) = &mut memory
            && !memory.grow(BYTES_PER_BODY_BYTE * request.body.len())
        {
            return Err(tenure_http::no_memory());
        }
        let _seat = match flow {
            Some(flow) => match flow.seats(1).await {
                Ok(seat) => seat,
                Err(refusal) => return Ok(refusal),
            },
            None => None,
        };
        let inherited =
            INHERITED.into_iter().filter_map(|name| Some((name.clone(), request.headers.remove(name)?)));
        let audit_id = seen.trail.as_ref().map(|trail| trail.audit_id().into());
        let origin = Origin { user, headers: inherited.collect(), client, audit_id };
        let deadline = tokio::time::Instant::from_std(request.deadline);
        let transacting = tokio::time::timeout_at(deadline, self.attempts(&request.body, &origin));
        let Ok(response) = self.offload.run(Box::pin(transacting)).await else {
            return Err(ApiError::new(
                Reason::Timeout,
                "the transaction could not be carried out in the time allotted; whether it was committed is not known",
            ));
        };
        response
    }

    async fn attempts(&self, body: &[u8], origin: &Origin) -> Result<Response, ApiError> {
        let writes = read_writes(body)?;
        let mut attempt = 1;
        loop {
            // Whatever was acknowledged before is part of the copy.
            self.objects.store.revision().await?;
            let staging = Arc::new(StagingStore::new(self.objects.store.copy()?));
            let options = ForkOptions::new(self.objects.clock.clone(), self.objects.identifiers.fork());
            let fork = self.fork(staging.clone(), options);
            let (history, staged_history) = (&self.writer.history, &fork.writer.history);
            staged_history.hold();
            let outcomes = fork.carry_out_all(&writes, origin, &staging).await;
            let outcomes = outcomes.inspect_err(|_| history.adopt(staged_history, false))?;
            let mut staged = staging.staged().await;
            self.join_records(&mut staged, &fork);
            match self.objects.store.commit_all(staged.clone()).await {
                Ok(committed) => {
                    history.adopt(staged_history, true);
                    self.follow_all(&staged).await;
                    return Ok(respond(outcomes, &staged, &committed));
                }
                Err(Error::Conflict(conflict)) => {
                    let failure = ApiError::new(
                        Reason::Conflict,
                        format!(
                            "others changed what the transaction relies on {attempt} times: {conflict}; try again"
                        ),
                    );
                    let failure = nothing_written(failure, outcomes);
                    if attempt == ATTEMPTS {
                        return Err(failure);
                    }
                    attempt += 1;
                }
                Err(failure) => return Err(nothing_written(failure.into(), outcomes)),
            }
        }
    }

    /// Makes the records of an object that is written several times one record.
    fn join_records(&self, staged: &mut StagedTransactions, fork: &Server) {
        staged.join_records(|key, records, after| {
            let target = Target::of_key(&fork.catalog, std::str::from_utf8(key).ok()?)?;
            let before = self.objects.store.peek(key).ok()?;
            fork.writer.history.joined(
                &target.handler,
                records,
                before.as_ref(),
                after.map(|value| &value[..]),
            )
        });
    }

    /// Carries out writes in order, on the fork that this server is. The first that fails ends it.
    async fn carry_out_all(
        self: &Arc<Self>,
        writes: &[Write],
        origin: &Origin,
        staging: &StagingStore,
    ) -> Result<Vec<Outcome>, ApiError> {
        let mut outcomes = Vec::with_capacity(writes.len());
        for write in writes {
            let mut seen = RequestInfo::default();
            let outcome = self.carry_out_one(write, origin, staging, &mut seen).await.and_then(Outcome::read);
            let trail = seen.trail.take();
            match outcome {
                Ok(outcome) => outcomes.push(Outcome { trail, ..outcome }),
                Err(failure) => {
                    let failure = write.refused(failure);
                    end(trail, &failure);
                    return Err(nothing_written(failure, outcomes));
                }
            }
        }
        Ok(outcomes)
    }

    async fn carry_out_one(
        &self,
        write: &Write,
        origin: &Origin,
        staging: &StagingStore,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        let head = write.head(origin);
        let mut received = Received::read(&head, None);
        let caller = Authenticated { user: origin.user.clone(), credential: Credential::Lasting };
        let caller = self.open_audit(&head, &mut received, Ok(caller), seen)?;
        if let (Some(trail), Some(audit_id)) = (&seen.trail, &origin.audit_id) {
            trail.context().annotate([(AUDIT_ANNOTATION, audit_id.clone())]);
        }
        let permission = self.permission(&head, &mut received, &caller);
        let authorized = self.authorize(caller, permission, None, seen).await?;
        let Route::Resource(target, mut request) = self.route(Box::new(head), received, &authorized, seen)?
        else {
            return Err(ApiError::bad_request(
                "the path does not name an object or a collection of this server",
            ));
        };
        check_target(&target)?;
        if write.absent && staging.get(target.key().as_bytes()).await?.is_some() {
            let resource = &target.handler.resource;
            return Err(ApiError::already_exists(&resource.group, &resource.name, &target.name));
        }
        request.body = write.body.clone();
        if let Some(trail) = &mut seen.trail {
            trail.set_body(&request);
        }
        self.dispatch(target, request).await
    }

    /// Serves and enforces what a transaction changed.
    async fn follow_all(&self, staged: &StagedTransactions) {
        let mut refreshed = Ok(());
        let mut admission = false;
        for key in staged.written() {
            admission |= key.starts_with(CONFIGURATION_PREFIX.as_bytes());
            let of_key = match key.starts_with(RBAC_PREFIX.as_bytes()) {
                true => self.authorizer.refresh_key(key),
                false => self.catalog.refresh_key(key).await,
            };
            refreshed = refreshed.and(of_key);
        }
        if admission {
            refreshed = refreshed.and(self.writer.admission.refresh().await);
        }
        // What was written is durable even if this fails. The lifecycle controller sees the same changes and refreshes again.
        if let Err(failure) = refreshed {
            tracing::warn!(%failure, "refresh after a transaction failed, retrying later");
        }
    }
}

impl Write {
    fn read(place: usize, value: &Value) -> Result<Write, ApiError> {
        let at = format!("requests[{place}]");
        let invalid = |why: String| naming(&at, ApiError::bad_request(format!("{at}{why}")));
        let Some(fields) = value.as_object() else {
            return Err(invalid(" must be an object with method, path and body".into()));
        };
        const KNOWN: [&str; 5] = ["method", "path", "contentType", "body", "absent"];
        if let Some((unknown, _)) = fields.iter().find(|(name, _)| !KNOWN.contains(&name.as_str())) {
            return Err(invalid(format!(".{unknown} is not known; the fields are {}", KNOWN.join(", "))));
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let method = match text("method") {
            Some("POST") => Method::POST,
            Some("PUT") => Method::PUT,
            Some("PATCH") => Method::PATCH,
            Some("DELETE") => Method::DELETE,
            _ => return Err(invalid(".method must be POST, PUT, PATCH or DELETE".into())),
        };
        let path = text("path").filter(|path| path.starts_with("/api/") || path.starts_with("/apis/"));
        let uri = path.and_then(|path| path.parse::<Uri>().ok()).ok_or_else(|| {
            invalid(".path must be a path of the API with its query, such as /api/v1/namespaces/default/configmaps/a".into())
        })?;
        let content_type = match (text("contentType"), &method) {
            (Some(given), _) => Some(
                HeaderValue::try_from(given)
                    .map_err(|_| invalid(".contentType is not a media type".into()))?,
            ),
            (None, &Method::PATCH) => {
                return Err(invalid(
                    ".contentType must name the kind of patch, such as application/apply-patch+yaml".into(),
                ));
            }
            (None, _) => Some(HeaderValue::from_static("application/json")),
        };
        let body = fields.get("body").map(|body| Bytes::from(json::to_vec(body))).unwrap_or_default();
        let absent = match fields.get("absent") {
            None => false,
            Some(Value::Bool(absent)) => *absent,
            Some(_) => return Err(invalid(".absent must be true or false".into())),
        };
        Ok(Write { place: at, method, uri, content_type, body, absent })
    }

    /// Returns the refusal of this write as that of the transaction.
    fn refused(&self, mut failure: ApiError) -> ApiError {
        let title = |message: &str| {
            format!("{} ({} {}): {message}; nothing was written", self.place, self.method, self.uri.path())
        };
        failure.message = title(&failure.message);
        failure.kubernetes = failure.kubernetes.take().map(|answer| self.refused(answer));
        // The status of a webhook is sent as it is, but for what names the write.
        if let Some(Value::Object(status)) = failure.given.take() {
            let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
            failure.given = Some(status.with("message", title(message)).into());
        }
        naming(&self.place, failure)
    }

    /// Returns the head that a request of its own would have.
    fn head(&self, origin: &Origin) -> Parts {
        let (mut head, ()) = hyper::Request::new(()).into_parts();
        head.method = self.method.clone();
        head.uri = self.uri.clone();
        head.headers = origin.headers.clone();
        head.headers.extend(self.content_type.clone().map(|media_type| (header::CONTENT_TYPE, media_type)));
        if let Some(client) = origin.client {
            head.extensions.insert(client);
        }
        head
    }
}

impl Outcome {
    /// Reads the object that a write was answered with, or the error that it was refused with.
    fn read(response: Response) -> Result<Outcome, ApiError> {
        let ResponseBody::Whole(bytes) = &response.body else {
            return Err(ApiError::internal("the write was not answered with an object"));
        };
        let object = json::parse(bytes, &Limits::TRUSTED)
            .map_err(|error| ApiError::internal(format!("the write was not answered with JSON: {error}")))?;
        if !response.code.is_success() {
            let message = object.get("message").and_then(Value::as_str).unwrap_or("the write was refused");
            return Err(ApiError::internal(message));
        }
        let warnings = response.headers.get_all(header::WARNING).into_iter().cloned().collect();
        Ok(Outcome { code: response.code, object, warnings, trail: None })
    }
}

fn read_writes(body: &[u8]) -> Result<Vec<Write>, ApiError> {
    let document = json::parse(body, &Limits::default())
        .map_err(|error| ApiError::bad_request(format!("the transaction is not JSON: {error}")))?;
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if (text("apiVersion"), text("kind")) != (Some("tenure.dev/v1"), Some("Transaction")) {
        return Err(ApiError::bad_request("a transaction has apiVersion tenure.dev/v1 and kind Transaction"));
    }
    let requests = document.get("requests").and_then(Value::as_array).map(|requests| requests.items());
    let requests = requests.filter(|requests| !requests.is_empty()).ok_or_else(|| {
        ApiError::bad_request(
            "requests must be a list of at least one write, each with method, path and body",
        )
    })?;
    if requests.len() > MAX_STAGED {
        return Err(ApiError::bad_request(format!(
            "requests has {} writes; at most {MAX_STAGED} can be one transaction",
            requests.len()
        )));
    }
    requests.iter().enumerate().map(|(place, request)| Write::read(place, request)).collect()
}

/// Adds the cause by which programs find the write that was refused.
fn naming(place: &str, mut failure: ApiError) -> ApiError {
    let cause = Cause {
        reason: REFUSED_WRITE.into(),
        message: "the write that was refused".into(),
        field: place.into(),
        extension: None,
    };
    if let Some(Value::Object(status)) = failure.given.take() {
        let details = status.get("details").and_then(Value::as_object).cloned().unwrap_or_default();
        let causes = details.get("causes").and_then(Value::as_array).map(|causes| causes.items());
        let causes = [cause.value()].into_iter().chain(causes.unwrap_or_default().iter().cloned());
        let details = details.with("causes", Value::array(causes));
        failure.given = Some(status.with("details", details).into());
    }
    failure.causes.insert(0, cause);
    failure
}

/// Refuses what cannot be undone by not committing it.
fn check_target(target: &Target) -> Result<(), ApiError> {
    let is_write = matches!(target.verb, Verb::Create | Verb::Update | Verb::Patch | Verb::Delete);
    let is_part = matches!(target.part(), Some(Subresource::Status | Subresource::Scale));
    if is_write && target.handler.resource.is_stored() && (is_part || target.subresource.is_empty()) {
        return Ok(());
    }
    Err(ApiError::bad_request(
        "a transaction creates, changes and deletes single objects, their status and their scale; make this request on its own",
    ))
}

/// Ends the audit trail of a write that did not take effect.
fn end(trail: Option<AuditTrail>, failure: &ApiError) {
    if let Some(trail) = trail {
        trail.respond(Response::failure(failure, PLAIN));
    }
}

/// Ends the audit trails of writes that did not take effect, and returns why.
fn nothing_written(failure: ApiError, outcomes: Vec<Outcome>) -> ApiError {
    outcomes.into_iter().for_each(|outcome| end(outcome.trail, &failure));
    failure
}

/// Returns the objects as they are now. Their versions in the copy become those of the store.
fn respond(outcomes: Vec<Outcome>, staged: &StagedTransactions, committed: &[Revision]) -> Response {
    let mut all_warnings = Vec::new();
    let results = outcomes.into_iter().map(|Outcome { code, object, warnings, trail }| {
        let object = with_version(object, |version| staged.translate(version, committed));
        if let Some(trail) = trail {
            trail.respond(Response::document(code, &object, PLAIN));
        }
        all_warnings.extend(warnings);
        Value::object([("code", Value::from(i64::from(code.as_u16()))), ("object", object)])
    });
    let document = Value::object([
        ("apiVersion", Value::from("tenure.dev/v1")),
        ("kind", "TransactionResult".into()),
        ("results", Value::array(results)),
    ]);
    let mut response = Response::document(StatusCode::OK, &document, PLAIN);
    response.headers.extend(all_warnings.into_iter().map(|warning| (header::WARNING, warning)));
    response
}

fn with_version(object: Value, translate: impl Fn(Revision) -> Revision) -> Value {
    let version = meta_text(&object, "resourceVersion").parse::<u64>().ok();
    let (Some(version), Some(fields)) = (version, object.as_object()) else { return object };
    let translated = translate(Revision::from_number(version)).get();
    if translated == version {
        return object;
    }
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata: Object = metadata.with("resourceVersion", Value::from(translated.to_string()));
    fields.clone().with("metadata", metadata).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_write_whoever_refused_it() {
        let write = r#"{"method":"DELETE","path":"/api/v1/namespaces/a"}"#.parse().unwrap();
        let write = Write::read(2, &write).unwrap();
        let mut by_webhook = ApiError::new(Reason::Forbidden, "no");
        by_webhook.given =
            Some(r#"{"code":418,"message":"no","details":{"causes":[{"reason":"Why"}]}}"#.parse().unwrap());
        for refused in [ApiError::new(Reason::Forbidden, "no"), by_webhook] {
            let code = refused.code();
            let status = write.refused(refused).status();
            let text = |path: &[&str]| status.at(path.iter().copied()).and_then(Value::as_str);
            assert_eq!(
                text(&["message"]),
                Some("requests[2] (DELETE /api/v1/namespaces/a): no; nothing was written")
            );
            let causes = status.at(["details", "causes"]).and_then(Value::as_array).unwrap().items();
            assert_eq!(causes[0].get("field"), Some(&"requests[2]".into()));
            assert_eq!(causes[0].get("reason"), Some(&REFUSED_WRITE.into()));
            assert_eq!((causes.len() == 2, status.get("code")), (code == 418, Some(&Value::from(code))));
        }
    }
}
