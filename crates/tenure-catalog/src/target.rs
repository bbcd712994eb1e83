//! What a request is about: verb, resource, namespace, name and subresource. A path that is not served, or a method that it does
//! not allow, ends here.

use crate::{
    catalog::{Catalog, ResourceHandler},
    object::{OBJECTS, key},
    subresource::Subresource,
};
use hyper::Method;
use tenure_http::{MediaTypes, Request, ResourcePath};
use tenure_meta::{ApiError, Scope};
use tenure_value::Text;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Follows the changes of a collection.
    Watch,
    /// Creates an object, or posts to a subresource.
    Create,
    /// Replaces an object.
    Update,
    /// Changes an object by a patch or an apply.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes the objects of a collection.
    DeleteCollection,
}

impl Verb {
    /// Returns the verb as discovery spells it.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// What a request is about.
pub struct Target {
    /// What the request does.
    pub verb: Verb,
    /// The resource.
    pub handler: ResourceHandler,
    /// Empty for a cluster-scoped object and for all namespaces.
    pub namespace: Text,
    /// Empty for a collection.
    pub name: Text,
    /// Empty for the object itself.
    pub subresource: Text,
}

impl Target {
    /// Returns the subresource, if it has a way of its own.
    pub fn part(&self) -> Option<Subresource> {
        Subresource::named(&self.subresource)
    }

    /// Returns the formats that the endpoint offers.
    pub fn offer(&self) -> MediaTypes {
        let resource = &self.handler.resource;
        // The scale of a custom resource is a built-in kind.
        let known = self.part() == Some(Subresource::Scale) || self.handler.has_protobuf();
        let question = self.verb == Verb::Create && !resource.is_stored();
        match (known, question) {
            (true, false) => MediaTypes::All,
            (true, true) => MediaTypes::AllButTables,
            (false, _) => MediaTypes::Text,
        }
    }

    /// Returns a copy, to address another part of the object.
    pub fn copy(&self) -> Target {
        Target {
            verb: self.verb,
            handler: self.handler.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            subresource: self.subresource.clone(),
        }
    }

    /// Returns the error for an object that does not exist.
    pub fn not_found(&self) -> ApiError {
        let resource = &self.handler.resource;
        ApiError::not_found(&resource.group, &resource.name, &self.name)
    }

    /// Returns the error for an object that was changed concurrently.
    pub fn conflict(&self, why: &str) -> ApiError {
        let resource = &self.handler.resource;
        ApiError::conflict(&resource.group, &resource.name, &self.name, why)
    }
}

impl Target {
    /// Returns the key of the target's object in the store.
    pub fn key(&self) -> String {
        key(&self.handler.resource, &self.namespace, &self.name)
    }

    /// Finds the target of a key of the store.
    pub fn of_key(catalog: &Catalog, key: &str) -> Option<Target> {
        let mut segments = key.strip_prefix(OBJECTS)?.split('/');
        let (group, resource) = (segments.next()?, segments.next()?);
        let group = if group == "core" { "" } else { group };
        let handler = catalog.stored_resource(group, resource)?;
        let (namespace, name) = match (handler.resource.scope, segments.next()?, segments.next()) {
            (Scope::Namespaced, namespace, Some(name)) => (namespace, name),
            (Scope::Cluster, name, None) => ("", name),
            _ => return None,
        };
        let subresource = Text::default();
        Some(Target {
            verb: Verb::Delete,
            handler,
            namespace: namespace.into(),
            name: name.into(),
            subresource,
        })
    }

    /// Resolves the path and the method of a request.
    pub fn resolve(catalog: &Catalog, path: ResourcePath, request: &Request) -> Result<Target, ApiError> {
        // A name with a slash in it, even an escaped one, cannot exist.
        if [&path.namespace, &path.name, &path.subresource].iter().any(|segment| segment.contains('/')) {
            return Err(ApiError::no_such_path());
        }
        if !path.rest.is_empty() {
            return Err(ApiError::no_such_path());
        }
        let handler = catalog.resource(&path.group, &path.version, &path.resource)?;
        let resource = &handler.resource;
        let at_collection = path.name.is_empty();
        match (resource.scope, path.namespace.is_empty()) {
            // Paths of another scope are not routed at all for a custom resource.
            (Scope::Cluster, false) | (Scope::Namespaced, true)
                if handler.is_custom() && (!at_collection || resource.scope == Scope::Cluster) =>
            {
                return Err(ApiError::page_not_found());
            }
            (Scope::Cluster, false) => return Err(ApiError::no_such_path()),
            (Scope::Namespaced, true) if !at_collection => return Err(ApiError::no_such_path()),
            _ => {}
        }
        if !handler.is_custom() && path.subresource.is_empty() {
            let has = |verbs: &[&str]| resource.verbs.iter().any(|verb| verbs.contains(&verb.as_str()));
            let is_routed = match (at_collection, path.watch) {
                (_, true) => has(&["watch"]),
                (false, _) => has(&["get", "update", "patch", "delete"]),
                // Across namespaces a collection is at most read.
                (true, _) => resource.scope == Scope::Cluster || !path.namespace.is_empty() || has(&["list"]),
            };
            if !is_routed {
                return Err(ApiError::no_such_path());
            }
        }
        let part = Subresource::named(&path.subresource);
        // Built-in resources have no HEAD, but for what is behind a proxy.
        if request.method == Method::HEAD && !handler.is_custom() && part != Some(Subresource::Proxy) {
            return Err(ApiError::method_not_allowed());
        }
        let watch = path.watch || request.query.flag("watch");
        let verb = match (&request.method, at_collection) {
            (&Method::GET | &Method::HEAD, true) if watch => Verb::Watch,
            (&Method::GET | &Method::HEAD, true) => Verb::List,
            (&Method::GET | &Method::HEAD, false) if path.watch => Verb::Watch,
            (&Method::GET | &Method::HEAD, false) => Verb::Get,
            (&Method::POST, true) => Verb::Create,
            (&Method::POST, false) if !path.subresource.is_empty() => Verb::Create,
            (&Method::PUT, false) => Verb::Update,
            (&Method::PATCH, false) => Verb::Patch,
            (&Method::DELETE, true) => Verb::DeleteCollection,
            (&Method::DELETE, false) => Verb::Delete,
            // What is behind a proxy may have options; here it is one more way to connect.
            (&Method::OPTIONS, false) if part == Some(Subresource::Proxy) => Verb::Get,
            _ => return Err(ApiError::method_not_allowed()),
        };
        // Below every stored object, also of names that are gone.
        let history = [Text::new_static("get")];
        let verbs: &[Text] = if part == Some(Subresource::History) && resource.is_stored() {
            &history
        } else if path.subresource.is_empty() {
            &resource.verbs
        } else {
            &match resource.subresource(&path.subresource) {
                Some(below) => below,
                // As recorded: for a custom resource the object is reported as not found.
                None if handler.is_custom() => {
                    return Err(ApiError::not_found(&resource.group, &resource.name, &path.name));
                }
                None => return Err(ApiError::no_such_path()),
            }
            .verbs
        };
        if !verbs.iter().any(|served| served == verb.word()) {
            return Err(match handler.is_custom() {
                true => ApiError::method_not_supported(&resource.group, &resource.name, verb.word()),
                false => ApiError::method_not_allowed(),
            });
        }
        // Across namespaces a collection can only be read.
        if resource.scope == Scope::Namespaced
            && path.namespace.is_empty()
            && !matches!(verb, Verb::List | Verb::Watch)
        {
            if handler.is_custom() {
                return Err(ApiError::no_such_path());
            }
            return Err(ApiError::method_not_allowed());
        }
        Ok(Target {
            verb,
            handler,
            namespace: path.namespace,
            name: path.name,
            subresource: path.subresource,
        })
    }
}
