//! The default objects of namespaces: in `default` the service `kubernetes` with its endpoints, and, with an option, in
//! every namespace the service account and the config map that clients inside a cluster expect. All of them are applied with
//! force, which creates missing objects, restores changed ones, and writes nothing otherwise.

use super::{Outcome, namespaces};
use crate::write::Writer;
use hyper::{HeaderMap, Method, header};
use std::{net::SocketAddr, sync::OnceLock};
use tenure_builtin::{
    allocate::ServiceNetworks,
    default_objects::{DefaultObject, HOME, ROOT_CERTIFICATES, ServerFacts, default_objects},
};
use tenure_catalog::{Target, Verb, object::OBJECTS};
use tenure_http::{AdmissionReview, Query, Request};
use tenure_meta::ApiError;
use tenure_value::{Text, Value};

/// The field manager of default objects.
const MANAGER: &str = "tenure-lifecycle";
/// The inputs of default objects.
#[derive(Debug)]
pub(crate) struct DefaultObjects {
    /// The networks of services, of which the server has the first address.
    pub(super) service_networks: ServiceNetworks,
    /// The address of the server.
    server: OnceLock<SocketAddr>,
    /// The certificates that clients trust; empty if there are none.
    authority: OnceLock<String>,
}

impl DefaultObjects {
    /// Returns the default objects of a server without an address and without certificates.
    pub fn new(service_networks: ServiceNetworks) -> DefaultObjects {
        DefaultObjects { service_networks, server: OnceLock::new(), authority: OnceLock::new() }
    }

    /// Enables the service `kubernetes` in the namespace `default`. Only the first call counts.
    pub fn announce(&self, address: SocketAddr) {
        let _ = self.server.set(address);
    }

    /// Enables the service account and the config map with certificates in every namespace. Only the first call counts.
    pub fn provide_everywhere(&self, authority: &str) {
        let _ = self.authority.set(authority.to_owned());
    }

    /// Returns the namespace to check when an object has changed.
    pub fn namespace_of_changed<'a>(&self, key: &'a str) -> Option<&'a str> {
        let namespace =
            key.strip_prefix(namespaces::PREFIX).or_else(|| namespace_of(&ROOT_CERTIFICATES, key))?;
        self.is_for(namespace).then_some(namespace)
    }

    /// Returns the namespace to check when an object was deleted.
    pub fn namespace_of_deleted<'a>(&self, key: &'a str) -> Option<&'a str> {
        let namespace = default_objects(HOME).iter().find_map(|object| namespace_of(object, key))?;
        self.is_for(namespace).then_some(namespace)
    }

    fn is_for(&self, namespace: &str) -> bool {
        self.authority.get().is_some() || namespace == HOME && self.server.get().is_some()
    }

    /// Returns the inputs of the objects.
    fn facts(&self) -> ServerFacts<'_> {
        ServerFacts {
            address: self.server.get().copied(),
            service_address: self.service_networks.primary().first(),
            authority: self.authority.get().map(String::as_str),
        }
    }
}

/// Returns the namespace of a key, if it is the key of a default object.
fn namespace_of<'a>(object: &DefaultObject, key: &'a str) -> Option<&'a str> {
    let group = if object.group.is_empty() { "core" } else { object.group };
    let rest = key.strip_prefix(OBJECTS)?.strip_prefix(group)?.strip_prefix('/')?;
    rest.strip_prefix(object.resource)?.strip_prefix('/')?.strip_suffix(object.name)?.strip_suffix('/')
}

/// Creates the default objects of the home namespace, so that the first client finds them, whatever webhooks and policies say.
pub(crate) async fn create_default_objects(
    writer: &Writer,
    defaults: &DefaultObjects,
) -> Result<(), ApiError> {
    if defaults.is_for(HOME) {
        apply(writer, defaults, HOME, AdmissionReview::Skipped).await?;
    }
    Ok(())
}

/// Applies the default objects of a namespace, unless it is being deleted.
pub(super) async fn apply(
    writer: &Writer,
    defaults: &DefaultObjects,
    namespace: &str,
    admission: AdmissionReview,
) -> Result<Outcome, ApiError> {
    let catalog = &writer.objects.catalog;
    for object in default_objects(namespace) {
        let Some(content) = (object.content)(&defaults.facts()) else { continue };
        let key = format!("{}{namespace}", namespaces::PREFIX);
        let Some(target) = Target::of_key(catalog, &key) else { break };
        let live = writer.objects.read(&target).await?;
        if live.is_none_or(|live| live.object.at(["metadata", "deletionTimestamp"]).is_some()) {
            break;
        }
        let target = Target {
            verb: Verb::Patch,
            handler: catalog.resource(object.group, "v1", object.resource)?,
            namespace: namespace.into(),
            name: object.name.into(),
            subresource: Text::default(),
        };
        let request = Request { admission, ..application(&target, &content, MANAGER)? };
        match writer.modify(&target, &request).await {
            // The namespace is being deleted by now.
            Err(failure) if matches!(failure.code(), 403 | 404) => break,
            // A retry changes nothing: another service has the address.
            Err(failure) if failure.code() == 422 => {
                tracing::warn!(%failure, namespace, name = object.name, "default object refused");
            }
            done => {
                done?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Returns the request with which a manager applies an object with force.
pub(super) fn application(
    target: &Target,
    content: &Value,
    manager: &'static str,
) -> Result<Request, ApiError> {
    let fields = content.as_object().cloned().unwrap_or_default();
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let object = fields
        .with("apiVersion", target.handler.resource.api_version.clone())
        .with("kind", target.handler.resource.kind.clone())
        .with("metadata", metadata.with("name", target.name.clone()));
    let media_type = header::HeaderValue::from_static("application/apply-patch+yaml");
    Ok(Request {
        query: Query::parse(&format!("fieldManager={manager}&force=true"))?,
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, media_type)]),
        body: Value::from(object).to_string().into(),
        ..Request::internal(Method::PATCH, manager)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_namespace_to_check() {
        let defaults = |server: bool, accounts: bool| {
            let defaults = DefaultObjects::new(ServiceNetworks::DEFAULT);
            if server {
                defaults.server.set(([127, 0, 0, 1], 1).into()).unwrap();
            }
            if accounts {
                defaults.authority.set(String::new()).unwrap();
            }
            defaults
        };
        // The key, and the namespaces to check when its object has changed and was deleted.
        let cases = [
            ("objects/core/namespaces/a", Some("a"), None),
            ("objects/core/configmaps/a/kube-root-ca.crt", Some("a"), Some("a")),
            ("objects/core/serviceaccounts/a/default", None, Some("a")),
            ("objects/core/configmaps/a/other", None, None),
            ("objects/core/serviceaccounts/a/my-default", None, None),
            ("objects/example.com/configmaps/a/kube-root-ca.crt", None, None),
        ];
        for (key, changed, gone) in cases {
            let accounts = defaults(false, true);
            assert_eq!(
                (accounts.namespace_of_changed(key), accounts.namespace_of_deleted(key)),
                (changed, gone),
                "{key}"
            );
            let server = defaults(true, false);
            assert_eq!(
                (server.namespace_of_changed(key), server.namespace_of_deleted(key)),
                (None, None),
                "{key}"
            );
        }
        let server = defaults(true, false);
        assert_eq!(server.namespace_of_changed("objects/core/namespaces/default"), Some("default"));
        assert_eq!(server.namespace_of_deleted("objects/core/services/default/kubernetes"), Some("default"));
        assert_eq!(
            defaults(false, false).namespace_of_deleted("objects/core/services/default/kubernetes"),
            None
        );
    }
}
