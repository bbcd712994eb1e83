//! The endpoints of a recorder: the history of objects, fights and writers, under the paths of the server. A reader needs the token
//! of the recorder, or is authenticated and authorized by the cluster.

use crate::{Archive, reader::Reader};
use http::{HeaderMap, Method, header, request::Parts};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_client::Cluster;
use tenure_http::{GuardedRequest, PLAIN, Query, RequestPath, ResourcePath, Response, listener::Handler};
use tenure_meta::{ApiError, Reason};
use tenure_transport::serving::ClientCertificate;
use tenure_value::{Object, Value};

/// How long an answer of the cluster about a reader holds.
const REVIEWED: Duration = Duration::from_secs(10);
/// How many answers are remembered.
const MOST_REVIEWS: usize = 10_000;

/// Who may read.
pub enum Access {
    /// Whoever has this token, which is in a file of the directory.
    Token(String),
    /// Whom the cluster allows it: tokens are reviewed by it, and permissions are those of `history` as on a Tenure server.
    Reviewed,
}

/// Serves an archive.
pub struct HistoryEndpoint {
    reader: Reader,
    access: Access,
    reviews: Mutex<HashMap<String, (Instant, Value)>>,
}

/// What a request is for.
enum Route {
    Health,
    History(ResourcePath),
    Fights,
    Writers,
}

impl HistoryEndpoint {
    /// Serves an archive of a cluster.
    pub fn new(archive: Arc<Archive>, cluster: Arc<Cluster>, access: Access) -> Arc<HistoryEndpoint> {
        let reader = Reader { archive, cluster };
        Arc::new(HistoryEndpoint { reader, access, reviews: Mutex::default() })
    }

    async fn respond(&self, head: &Parts) -> Result<Response, ApiError> {
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        let path = head.uri.path();
        let route = match RequestPath::parse(path) {
            RequestPath::Resource(path)
                if path.subresource == "history" && path.rest.is_empty() && !path.name.is_empty() =>
            {
                Route::History(path)
            }
            RequestPath::Other(path) => match path.as_str() {
                "/history/fights" => Route::Fights,
                "/history/writers" => Route::Writers,
                "/healthz" | "/livez" | "/readyz" => Route::Health,
                _ => return Err(ApiError::page_not_found()),
            },
            _ => return Err(ApiError::page_not_found()),
        };
        if head.method != Method::GET {
            return Err(ApiError::method_not_allowed());
        }
        if let Route::Health = route {
            return Ok(Response::text(http::StatusCode::OK, "ok"));
        }
        self.authorize(head, path, &route).await?;
        let document = match &route {
            Route::History(path) => self.reader.history(path, &query).await?,
            Route::Fights => self.reader.fights().await,
            Route::Writers => self.reader.writers(&query)?,
            Route::Health => Value::Null,
        };
        Ok(Response::document(http::StatusCode::OK, &document, PLAIN))
    }

    async fn authorize(&self, head: &Parts, path: &str, route: &Route) -> Result<(), ApiError> {
        if let Access::Token(expected) = &self.access {
            return match has_token(&head.headers, expected) {
                true => Ok(()),
                false => Err(unauthorized("this recorder needs the token of its directory")),
            };
        }
        let token = bearer(&head.headers);
        let user = match (head.extensions.get::<ClientCertificate>(), token) {
            (_, Some(token)) => self.user_of_token(token).await?,
            (Some(ClientCertificate::User { user, .. }), None) => user.to_value(),
            _ => return Err(unauthorized("a bearer token of the cluster or a client certificate is needed")),
        };
        self.check(&user, path, route).await
    }

    /// Returns whose token it is, as the cluster says.
    async fn user_of_token(&self, token: &str) -> Result<Value, ApiError> {
        let spec = Value::object([("token", Value::from(token))]);
        let status = self
            .review(
                "/apis/authentication.k8s.io/v1/tokenreviews",
                "authentication.k8s.io/v1",
                "TokenReview",
                spec,
            )
            .await?;
        match status.get("authenticated").and_then(Value::as_bool) {
            Some(true) => Ok(status.get("user").cloned().unwrap_or_default()),
            _ => Err(unauthorized("the cluster does not accept the token")),
        }
    }

    /// Asks the cluster whether a user may read what is requested.
    async fn check(&self, user: &Value, path: &str, route: &Route) -> Result<(), ApiError> {
        let attributes = match route {
            Route::History(path) => (
                "resourceAttributes",
                Value::object([
                    ("group", Value::from(path.group.clone())),
                    ("version", Value::from(path.version.clone())),
                    ("resource", Value::from(path.resource.clone())),
                    ("subresource", Value::from("history")),
                    ("namespace", Value::from(path.namespace.clone())),
                    ("name", Value::from(path.name.clone())),
                    ("verb", Value::from("get")),
                ]),
            ),
            _ => (
                "nonResourceAttributes",
                Value::object([("path", Value::from(path)), ("verb", Value::from("get"))]),
            ),
        };
        let field = |name: &str| user.get(name).cloned();
        let mut spec = Object::default().with(attributes.0, attributes.1);
        for (name, value) in [
            ("user", field("username")),
            ("uid", field("uid")),
            ("groups", field("groups")),
            ("extra", field("extra")),
        ] {
            if let Some(value) = value {
                spec = spec.with(name, value);
            }
        }
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let status = self.review(path, "authorization.k8s.io/v1", "SubjectAccessReview", spec.into()).await?;
        if status.get("allowed").and_then(Value::as_bool) == Some(true) {
            return Ok(());
        }
        let name = field("username").and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
        let why = match route {
            Route::History(path) => format!(
                "User {name:?} cannot get {}/history of the group {:?} in the namespace {:?}",
                path.resource, path.group, path.namespace
            ),
            _ => format!("User {name:?} cannot get this path"),
        };
        Err(ApiError::new(Reason::Forbidden, why))
    }

    /// Has the cluster review something; the status of the answer is remembered for a moment.
    async fn review(
        &self,
        path: &str,
        api_version: &str,
        kind: &str,
        spec: Value,
    ) -> Result<Value, ApiError> {
        let document = Value::object([
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("spec", spec),
        ]);
        let asked = document.to_string();
        let known = self.reviews.lock().get(&asked).cloned();
        if let Some((_, status)) = known.filter(|(since, _)| since.elapsed() < REVIEWED) {
            return Ok(status);
        }
        let answer = self.reader.cluster.post(path, &document).await;
        let answer = answer.and_then(|response| response.success("review", kind));
        let answer = answer.map_err(|error| {
            ApiError::new(
                Reason::ServiceUnavailable,
                format!("the cluster cannot review the request: {error}"),
            )
        })?;
        let status = answer.get("status").cloned().unwrap_or_default();
        let mut reviews = self.reviews.lock();
        if reviews.len() >= MOST_REVIEWS {
            reviews.retain(|_, (since, _)| since.elapsed() < REVIEWED);
            if reviews.len() >= MOST_REVIEWS {
                reviews.clear();
            }
        }
        reviews.insert(asked, (Instant::now(), status.clone()));
        Ok(status)
    }
}

impl Handler for HistoryEndpoint {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, body) = request.into_parts();
        body.discard().await;
        self.respond(&head).await.unwrap_or_else(|refusal| Response::failure(&refusal, PLAIN))
    }
}

fn unauthorized(why: &str) -> ApiError {
    ApiError::new(Reason::Unauthorized, why)
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// Whether a request has a token.
pub(crate) fn has_token(headers: &HeaderMap, expected: &str) -> bool {
    bearer(headers).is_some_and(|token| is_same(token, expected))
}

/// Compares two tokens in a time that does not depend on where they differ.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
