//! PUT: the body replaces the object.

use super::{
    Writer, body,
    commit::Written,
    create::check_namespace,
    request::{Body, Next, ObjectUpdate, WriteRequest},
};
use hyper::Method;
use tenure_builtin::role::storage_folder;
use tenure_catalog::{
    Target,
    object::{Stored, meta_text},
};
use tenure_http::{Request, TextErrors};
use tenure_meta::{ApiError, Endpoint};
use tenure_value::Value;

/// A body that replaces the object.
struct Update<'a> {
    object: &'a Value,
    body: Body,
}

impl ObjectUpdate for Update<'_> {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let target = write.target;
        let creates = match write.endpoint {
            Endpoint::Main => target.handler.resource.strategy.create_on_update,
            _ => write.creates_by_status(),
        };
        let refused = match live {
            Some(live) => check_uid(target, live, self.object),
            None if !creates => Err(target.not_found()),
            None => Ok(()),
        };
        refused.map_err(|error| error.with_warnings(self.body.warnings.clone()))?;
        Ok(Next::Whole(self.body.clone()))
    }
}

impl Writer {
    /// Serves a PUT.
    pub(super) async fn update(&self, target: &Target, request: &Request) -> Result<Written, ApiError> {
        let options = request.query.write_options("UpdateOptions")?;
        let encoding = request.encoding(target.offer())?;
        let parsed = body::read(&request.body, encoding, &target.handler.resource.kind)?;
        let object = target.handler.check_kind(&parsed.value)?;
        let write = WriteRequest::new(self, target, request, options);
        let body = write.decode(&object, None, &parsed.errors(target, &request.body, encoding))?;
        let named = check_namespace(target, &object).and_then(|()| check_name(target, &object));
        named.map_err(|error| error.with_warnings(body.warnings.clone()))?;
        self.write(&write, &Update { object: &object, body }).await
    }

    /// Writes an object of the server itself as a PUT does.
    pub async fn put_own(
        &self,
        target: &Target,
        component: &'static str,
        object: &Value,
    ) -> Result<(), ApiError> {
        let request = Request::internal(Method::PUT, component);
        let object = target.handler.check_kind(object)?;
        let write = WriteRequest::new(self, target, &request, request.query.write_options("UpdateOptions")?);
        let body = write.decode(&object, None, &TextErrors::default())?;
        self.write(&write, &Update { object: &object, body }).await.map(drop)
    }
}

/// Checks that the name in a body is that of the path.
pub(super) fn check_name(target: &Target, object: &Value) -> Result<(), ApiError> {
    match meta_text(object, "name") {
        "" => Err(ApiError::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name
        ))),
        name if name == target.name => Ok(()),
        name => Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        ))),
    }
}

/// Checks that the uid in a body, if there is one, is that of the live object.
pub(super) fn check_uid(target: &Target, live: &Stored, object: &Value) -> Result<(), ApiError> {
    let (given, is) = (meta_text(object, "uid"), meta_text(&live.object, "uid"));
    if given.is_empty() || given == is {
        return Ok(());
    }
    let (namespace, name) = (&target.namespace, &target.name);
    let place = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
    Err(target.conflict(&format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}/{place}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {given}, UID in object meta: {is}",
        storage_folder(&target.handler.resource, target.handler.is_custom())
    )))
}
