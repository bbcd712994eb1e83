//! Requests that tests make without a client library.

use crate::{
    TestError,
    manifest::{self, Manifest},
    server::TestServer,
};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use serde_json::Value as Json;
use tenure_catalog::ResourceHandler;
use tenure_meta::{ApiError, Reason, Scope};
use tenure_value::{Limits, Value, json};

/// The field manager of objects that a test applies.
const MANAGER: &str = "tenure-testing";

impl TestServer {
    /// Applies an object with force, as the manager `tenure-testing`; returns it as it is stored.
    pub async fn apply(&self, object: Json) -> Result<Json, TestError> {
        self.apply_as(MANAGER, object).await
    }

    /// Applies an object with force, as a manager; returns it as it is stored.
    pub async fn apply_as(&self, manager: &str, object: Json) -> Result<Json, TestError> {
        let object = manifest::from_json(&object);
        let manifest = Manifest { place: "the object".into(), object };
        self.apply_by(manager, &manifest).await.map(|applied| manifest::to_json(&applied))
    }

    pub(crate) async fn apply_manifest(&self, manifest: &Manifest) -> Result<(), TestError> {
        match self.apply_by(MANAGER, manifest).await {
            Err(TestError::Api(error)) => Err(manifest.error(error.to_string())),
            applied => applied.map(drop),
        }
    }

    async fn apply_by(&self, manager: &str, manifest: &Manifest) -> Result<Value, TestError> {
        let handler = self.handler_of(manifest)?;
        let name = manifest.text(&["metadata", "name"]);
        if name.is_empty() {
            return Err(manifest.error("metadata.name is missing; give the object a name"));
        }
        let namespace = manifest.text(&["metadata", "namespace"]);
        let path = path_of(&handler, if namespace.is_empty() { "default" } else { namespace }, name);
        let uri = format!("{path}?fieldManager={}&force=true", encoded(manager));
        let media_type = "application/apply-patch+yaml";
        Ok(self.call(Method::PATCH, &uri, Some((media_type, &manifest.object))).await?)
    }

    /// Creates an object; returns it as it is stored.
    pub async fn create(&self, object: Json) -> Result<Json, TestError> {
        let manifest = Manifest { place: "the object".into(), object: manifest::from_json(&object) };
        let handler = self.handler_of(&manifest)?;
        let namespace = manifest.text(&["metadata", "namespace"]);
        let path = path_of(&handler, if namespace.is_empty() { "default" } else { namespace }, "");
        let uri = format!("{path}?fieldManager={MANAGER}");
        let created = self.call(Method::POST, &uri, Some(("application/json", &manifest.object))).await?;
        Ok(manifest::to_json(&created))
    }

    /// Sends a request with a JSON body, if there is one; returns the status code and the document of the response.
    pub async fn request(
        &self,
        method: Method,
        uri: &str,
        body: Option<(&str, Json)>,
    ) -> Result<(StatusCode, Json), TestError> {
        let document = body.map(|(media_type, body)| (media_type, manifest::from_json(&body)));
        let document = document.as_ref().map(|(media_type, body)| (*media_type, body));
        let (code, answer) = self.exchange(method, uri, document).await?;
        Ok((code, manifest::to_json(&answer)))
    }

    /// Sends a request; a response that is not a success is an error.
    pub(crate) async fn call(
        &self,
        method: Method,
        uri: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, ApiError> {
        let (code, document) = self.exchange(method, uri, body).await?;
        match code.is_success() {
            true => Ok(document),
            false => Err(refused(code, &document)),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        uri: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<(StatusCode, Value), ApiError> {
        let request = Request::builder().method(method).uri(uri).header("user-agent", MANAGER);
        let request = match &body {
            Some((media_type, _)) => request.header(CONTENT_TYPE, *media_type),
            None => request,
        };
        let bytes = body.map(|(_, document)| Bytes::from(json::to_vec(document))).unwrap_or_default();
        let invalid = |error: http::Error| ApiError::bad_request(format!("{uri}: {error}"));
        let request = request.body(http_body_util::Full::new(bytes)).map_err(invalid)?;
        let response = self.service().respond(request).await;
        let code = response.status();
        let broken = |error: std::io::Error| ApiError::internal(format!("{uri}: {error}"));
        let bytes = response.into_body().collect().await.map_err(broken)?.to_bytes();
        let document = json::parse(&bytes, &Limits::TRUSTED);
        Ok((code, document.unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).as_ref()))))
    }

    /// Returns the handler of the kind of an object.
    fn handler_of(&self, manifest: &Manifest) -> Result<ResourceHandler, TestError> {
        let (api_version, kind) = (manifest.text(&["apiVersion"]), manifest.text(&["kind"]));
        if api_version.is_empty() || kind.is_empty() {
            return Err(manifest.error("apiVersion or kind is missing; every object has both"));
        }
        let handler = self.server().catalog().resource_of_kind(api_version, kind);
        handler.ok_or_else(|| {
            manifest.error(format!(
                "no kind {kind} of {api_version} is served; load the definition of a custom resource first"
            ))
        })
    }
}

/// Returns the error of a response.
fn refused(code: StatusCode, status: &Value) -> ApiError {
    let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = match (text("message"), status.as_str()) {
        ("", Some(plain)) => plain.trim().to_string(),
        ("", None) => code.to_string(),
        (message, _) => message.to_string(),
    };
    // 409 has two reasons; the status has the one that applies.
    let reason = REASONS.iter().find(|reason| match text("reason") {
        "" => reason.code() == code.as_u16(),
        word => reason.word() == word,
    });
    ApiError::new(reason.copied().unwrap_or(Reason::InternalError), message)
}

/// The reasons of refusals.
const REASONS: [Reason; 16] = [
    Reason::BadRequest,
    Reason::Unauthorized,
    Reason::Forbidden,
    Reason::NotFound,
    Reason::MethodNotAllowed,
    Reason::NotAcceptable,
    Reason::AlreadyExists,
    Reason::Conflict,
    Reason::Expired,
    Reason::RequestEntityTooLarge,
    Reason::UnsupportedMediaType,
    Reason::Invalid,
    Reason::TooManyRequests,
    Reason::InternalError,
    Reason::ServiceUnavailable,
    Reason::Timeout,
];

/// Returns the path of an object, or of its collection if the name is empty.
pub(crate) fn path_of(handler: &ResourceHandler, namespace: &str, name: &str) -> String {
    let resource = &handler.resource;
    let group = match resource.group.is_empty() {
        true => format!("/api/{}", resource.version),
        false => format!("/apis/{}/{}", resource.group, resource.version),
    };
    let collection = match resource.scope {
        Scope::Namespaced => format!("{group}/namespaces/{}/{}", encoded(namespace), resource.name),
        Scope::Cluster => format!("{group}/{}", resource.name),
    };
    if name.is_empty() { collection } else { format!("{collection}/{}", encoded(name)) }
}

/// Encodes a segment of a path or the value of a parameter.
fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes().fold(String::with_capacity(text.len()), |mut text, byte| {
        match plain(&byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}
