//! The names of a definition of a custom resource, where a write of their own accepts them: in Kubernetes, which does so a moment after
//! the definition was written. Here it is done before the definition's write is answered, whose answer does not show it.

use super::{
    Writer,
    request::{Next, ObjectUpdate, WriteRequest},
};
use hyper::Method;
use tenure_builtin::role::Role;
use tenure_catalog::{Catalog, Target, Verb, object::Stored};
use tenure_http::{Request, TextErrors, WriteOptions};
use tenure_meta::ApiError;
use tenure_profile::Improvement;
use tenure_value::Text;

/// The manager of the accepted names and the conditions.
const MANAGER: &str = "kube-apiserver";

/// Accepts the names of the live definition.
struct AcceptNames<'a>(&'a Catalog);

impl ObjectUpdate for AcceptNames<'_> {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| write.target.not_found())?;
        let in_use = self.0.snapshot().names_in_use(&live.object);
        let accepted = tenure_crd::accept(&live.shown(), &in_use, write.now);
        Ok(Next::Whole(write.decode(&accepted, Some(live), &TextErrors::default())?))
    }
}

impl Writer {
    /// Accepts the names of a definition that was written, unless its write did. Other objects have no such names.
    pub(super) async fn accept_names(&self, target: &Target, name: &str) {
        if target.handler.role != Role::Definition || self.profile.has(Improvement::EstablishAtOnce) {
            return;
        }
        let target = Target {
            verb: Verb::Update,
            handler: target.handler.clone(),
            namespace: Text::default(),
            name: name.into(),
            subresource: "status".into(),
        };
        let request = Request::internal(Method::PUT, MANAGER);
        let write = WriteRequest::new(self, &target, &request, WriteOptions::of_server()).skip_admission();
        match self.write(&write, &AcceptNames(&self.catalog)).await {
            // It was deleted meanwhile.
            Err(error) if error.code() == 404 => {}
            Err(error) => tracing::warn!(%error, name, "names of a definition could not be accepted"),
            Ok(_) => {}
        }
    }
}
