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
use tenure_builtin::{Kinds, role::BINDINGS};
use tenure_catalog::{
    Subresource, Target,
    object::{Stored, meta_text},
    unknown_conversion, unregistered,
};
use tenure_http::{Encoding, FieldValidation, Format, Request, Response, TextErrors, WriteOptions};
use tenure_meta::{ApiError, Decoded};
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
            true => {
                let version = meta_text(&posted.object, "resourceVersion");
                self.post_binding(target, request, options, (&object, version), format).await?
            }
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
        let parsed = body::read(&request.body, encoding, kind)?;
        let posted = &parsed.value;
        let given = posted.get("kind").and_then(Value::as_str).unwrap_or(kind);
        if given != kind {
            let version = posted.get("apiVersion").and_then(Value::as_str).unwrap_or(&api_version);
            return Err(unknown_conversion((given, version), (kind, &variant.kind.0)));
        }
        let version = posted.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        if !version.is_empty() && version != api_version && !earlier.contains(&version) {
            let better = format!("no kind {kind:?} is registered for version {version:?}; use {api_version}");
            let short = version.rsplit('/').next().unwrap_or_default();
            let unknown = unregistered((kind, version), &variant.kind.0);
            let answer = format!("{kind} in version {short:?} cannot be handled as a {kind}: {unknown}");
            return Err(ApiError::bad_request(better).or_in_kubernetes(ApiError::bad_request(answer)));
        }
        let kinds = Kinds::at(self.writer.profile.version());
        let decoded = kinds.decode_kind((&api_version, kind), posted).map_err(|error| error.to_string());
        let errors = parsed.typed_errors(&request.body, encoding);
        let decoded = decoded.and_then(|decoded| strictly(options.validation, decoded, &errors));
        let (object, mut warnings) = decoded.map_err(|why| {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            ApiError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
            ))
        })?;
        check_namespace(target, &object).map_err(|error| error.with_warnings(warnings.clone()))?;
        let admitted = Box::pin(self.writer.admit_posted(target, request, &options, object));
        let (posted, more) = admitted.await.map_err(|error| error.with_warnings(warnings.clone()))?;
        warnings.extend(more);
        let acted = self.act_on(target, request, options, &posted, format).await;
        Ok(acted.map_err(|error| error.with_warnings(warnings.clone()))?.with_warnings(&warnings))
    }

    /// Carries out what is posted and admitted.
    async fn act_on(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        posted: &Value,
        format: Format,
    ) -> Result<Response, ApiError> {
        let part = target.part();
        if part != Some(Subresource::Token) && meta_text(posted, "name") != &*target.name {
            let kind = ResourceVariant::of(&target.handler.resource, &target.subresource).kind.2;
            let why = format!("name in URL does not match name in {kind} object");
            return Err(ApiError::bad_request(why));
        }
        match part {
            Some(Subresource::Binding) => {
                self.bind(target, request, options, posted).await?;
                Ok(success(format))
            }
            Some(Subresource::Eviction) => {
                Box::pin(self.evict(target, request, options.dry_run, posted)).await?;
                Ok(success(format))
            }
            _ => Box::pin(self.create_token(target, (request, options), posted, format)).await,
        }
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

/// Ignores, warns of or refuses unknown and duplicate fields, as a request asks; returns the object and the warnings.
fn strictly(
    validation: FieldValidation,
    decoded: Decoded,
    errors: &TextErrors,
) -> Result<(Value, Vec<String>), String> {
    match validation {
        _ if decoded.strict_errors.is_empty() && errors.duplicates.is_empty() => {
            Ok((decoded.value, Vec::new()))
        }
        FieldValidation::Ignore => Ok((decoded.value, Vec::new())),
        FieldValidation::Warn => Ok((decoded.value, errors.with(decoded.strict_errors))),
        FieldValidation::Strict => {
            Err(format!("strict decoding error: {}", errors.joined(decoded.strict_errors)))
        }
    }
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
