//! What is posted and not stored: reviews, and the subresources that act on an object or connect to its node.

mod binding;
mod connect;
mod eviction;
mod reviews;
mod token;

pub(crate) use connect::take_proxied_path;

use crate::write::{Posted, Writer, body, check_namespace, scale_response};
use hyper::StatusCode;
use std::sync::Arc;
use tenure_admission::ResourceVariant;
use tenure_authentication::Authenticator;
use tenure_builtin::role::BINDINGS;
use tenure_catalog::{
    Subresource, Target,
    object::{Stored, meta_text},
    unknown_conversion,
};
use tenure_http::{Encoding, Format, Request, Response, WriteOptions};
use tenure_meta::ApiError;
use tenure_value::Value;

/// Carries out what is posted.
pub(crate) struct Subresources {
    writer: Arc<Writer>,
    authenticator: Arc<Authenticator>,
}

impl Subresources {
    pub fn new(writer: Arc<Writer>, authenticator: Arc<Authenticator>) -> Arc<Subresources> {
        Arc::new(Subresources { writer, authenticator })
    }

    /// Carries out a GET of a subresource.
    pub async fn get(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer())?;
        match target.part() {
            Some(Subresource::Scale) => {
                let now = self.writer.objects.clock.now();
                scale_response(target, &self.live(target).await?, format, now)
            }
            Some(Subresource::Log) => log(&self.live(target).await?, request),
            // The others show the whole object.
            _ => self.writer.reader.get(target, request).await,
        }
    }

    async fn live(&self, target: &Target) -> Result<Stored, ApiError> {
        self.writer.objects.read(target).await?.ok_or_else(|| target.not_found())
    }

    /// Carries out a POST that creates nothing: answers a review, or acts on an object.
    pub async fn post(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer())?;
        let encoding = request.encoding(target.offer())?;
        let options = request.query.write_options("CreateOptions")?;
        if !target.subresource.is_empty() {
            return self.act(target, request, options, encoding, format).await;
        }
        let posted = Posted::read(target, request, encoding)?;
        let (object, mut warnings) = self.writer.decode_posted(target, request, &options, &posted)?;
        let admitted = Box::pin(self.writer.admit_posted(target, request, &options, object));
        let (object, more) = admitted.await?;
        warnings.extend(more);
        let response = match target.handler.resource.name == BINDINGS.resource {
            true => self.post_binding(target, request, options, &object, format).await?,
            false => Box::pin(self.review(target, request, &object, format)).await?,
        };
        Ok(response.with_warnings(&warnings))
    }

    /// Carries out what is posted to a subresource.
    async fn act(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        encoding: Encoding,
        format: Format,
    ) -> Result<Response, ApiError> {
        let part = target.part();
        let earlier: &[&str] = match part {
            Some(Subresource::Eviction) => &eviction::EARLIER_VERSIONS,
            Some(Subresource::Binding | Subresource::Token) => &[],
            _ => return Err(ApiError::method_not_allowed()),
        };
        let variant = ResourceVariant::of(&target.handler.resource, &target.subresource);
        let (kind, api_version) = (variant.kind.2.as_str(), variant.api_version());
        let posted = body::read(&request.body, encoding, kind)?.value;
        let given = posted.get("kind").and_then(Value::as_str).unwrap_or(kind);
        if given != kind {
            let version = posted.get("apiVersion").and_then(Value::as_str).unwrap_or(&api_version);
            return Err(unknown_conversion((given, version), (kind, &variant.kind.0)));
        }
        let version = posted.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        if !version.is_empty() && version != api_version && !earlier.contains(&version) {
            return Err(ApiError::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?}; use {api_version}"
            )));
        }
        check_namespace(target, &posted)?;
        let admitted = Box::pin(self.writer.admit_posted(target, request, &options, posted));
        let (posted, warnings) = admitted.await?;
        if part != Some(Subresource::Token) && meta_text(&posted, "name") != &*target.name {
            let why = format!("name in URL does not match name in {kind} object");
            return Err(ApiError::bad_request(why));
        }
        let response = match part {
            Some(Subresource::Binding) => {
                self.bind(target, request, options, &posted).await?;
                success(format)
            }
            Some(Subresource::Eviction) => {
                Box::pin(self.evict(target, request, options.dry_run, &posted)).await?;
                success(format)
            }
            _ => Box::pin(self.create_token(target, request, &posted, format)).await?,
        };
        Ok(response.with_warnings(&warnings))
    }
}

/// Returns the log of a pod, which is empty: nothing runs it.
fn log(stored: &Stored, request: &Request) -> Result<Response, ApiError> {
    if let Some(wanted) = request.query.given("container") {
        let list = |name: &str| {
            stored.object.at(["spec", name]).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let all = [list("containers"), list("initContainers"), list("ephemeralContainers")];
        let known = all
            .iter()
            .flat_map(|list| list.iter())
            .any(|owner| owner.get("name").and_then(Value::as_str) == Some(wanted));
        if !known {
            let pod = meta_text(&stored.object, "name");
            return Err(ApiError::bad_request(format!("container {wanted} is not valid for pod {pod}")));
        }
    }
    Ok(Response::text(StatusCode::NO_CONTENT, ""))
}

/// Returns the response to a request that was carried out.
fn success(format: Format) -> Response {
    let status = Value::object([
        ("kind", Value::from("Status")),
        ("apiVersion", Value::from("v1")),
        ("metadata", Value::object::<&str>([])),
        ("status", Value::from("Success")),
        ("code", Value::from(201)),
    ]);
    Response::document(StatusCode::CREATED, &status, format)
}
