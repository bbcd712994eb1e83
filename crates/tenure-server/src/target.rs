//! What a request is aimed at: the resource that serves its path, the namespace, the name, the endpoint below
//! the object, and the verb. A path that nothing serves or a method it does not take ends here.

use crate::{
    Failure, Offer, ResourcePath,
    catalog::handler::Served,
    kinds::Scope,
    protobuf,
    server::{Request, Server},
};
use hyper::Method;
use tenure_value::Text;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// Returns the word of discovery.
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

/// What a request is aimed at.
pub(crate) struct Target {
    pub verb: Verb,
    pub served: Served,
    pub namespace: Text,
    /// Empty for a collection.
    pub name: Text,
    /// Empty for the object itself.
    pub subresource: Text,
}

impl Target {
    /// Which formats the endpoint has.
    pub fn offer(&self) -> Offer {
        let resource = &self.served.resource;
        // The scale of a custom resource is a built-in kind.
        let known = self.subresource == "scale" || protobuf::knows(&resource.api_version, &resource.kind);
        let question = self.verb == Verb::Create && !resource.is_stored();
        match (known, question) {
            (true, false) => Offer::All,
            (true, true) => Offer::AllButTables,
            (false, _) => Offer::Text,
        }
    }

    /// Returns this target once more, to aim at another part of it.
    pub fn copy(&self) -> Target {
        Target {
            verb: self.verb,
            served: self.served.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            subresource: self.subresource.clone(),
        }
    }

    /// Returns the failure for an object that is not there.
    pub fn not_found(&self) -> Failure {
        let resource = &self.served.resource;
        Failure::not_found(&resource.group, &resource.name, &self.name)
    }

    /// Returns the failure for an object that somebody else changed first.
    pub fn conflict(&self, why: &str) -> Failure {
        let resource = &self.served.resource;
        Failure::conflict(&resource.group, &resource.name, &self.name, why)
    }
}

impl Server {
    /// Finds what a path and a method mean.
    pub(crate) fn target(&self, path: ResourcePath, request: &Request) -> Result<Target, Failure> {
        // A slash in a name, however it is written, leads to a place that does not exist.
        if [&path.namespace, &path.name, &path.subresource].iter().any(|segment| segment.contains('/')) {
            return Err(Failure::no_such_path());
        }
        if !path.rest.is_empty() {
            return Err(Failure::no_such_path());
        }
        let served = self.served(&path.group, &path.version, &path.resource)?;
        let resource = &served.resource;
        let at_collection = path.name.is_empty();
        match (resource.scope, path.namespace.is_empty()) {
            (Scope::Cluster, false) => return Err(Failure::no_such_path()),
            (Scope::Namespaced, true) if !at_collection => return Err(Failure::no_such_path()),
            _ => {}
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
            _ => return Err(Failure::method_not_allowed()),
        };
        let verbs = if path.subresource.is_empty() {
            &resource.verbs
        } else {
            &match resource.subresource(&path.subresource) {
                Some(below) => below,
                // As recorded: of a custom resource it is the object that is not found there.
                None if served.is_custom() => {
                    return Err(Failure::not_found(&resource.group, &resource.name, &path.name));
                }
                None => return Err(Failure::no_such_path()),
            }
            .verbs
        };
        if !verbs.iter().any(|of| of == verb.word()) {
            return Err(Failure::method_not_allowed());
        }
        // Over all namespaces a collection can only be read.
        if resource.scope == Scope::Namespaced
            && path.namespace.is_empty()
            && !matches!(verb, Verb::List | Verb::Watch)
        {
            if served.is_custom() {
                return Err(Failure::no_such_path());
            }
            return Err(Failure::method_not_allowed());
        }
        Ok(Target { verb, served, namespace: path.namespace, name: path.name, subresource: path.subresource })
    }
}
