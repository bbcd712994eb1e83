//! What a request is about, as faults select it and the log of writes shows it.

use bytes::Bytes;
use http::{HeaderMap, Method, Uri, header};
use tenure_catalog::{Catalog, ResourceHandler};
use tenure_http::{Query, RequestPath};
use tenure_meta::Resource;
use tenure_value::{Limits, Value, yaml};

/// What a request is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestInfo {
    /// The verb as RBAC names it; empty for a request that is not about a resource.
    pub verb: String,
    /// Whether the request is a server-side apply.
    pub is_apply: bool,
    pub group: String,
    pub resource: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub manager: String,
    pub user: String,
    /// The version that a list or a watch starts from.
    pub resource_version: Option<u64>,
    /// Whether a watch asks for bookmarks.
    pub bookmarks: bool,
}

impl RequestInfo {
    /// Reads the head and the body of a request.
    pub fn read(
        catalog: &Catalog,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> RequestInfo {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let RequestPath::Resource(path) = RequestPath::parse(uri.path()) else {
            return RequestInfo::default();
        };
        let query = Query::parse(uri.query().unwrap_or_default()).unwrap_or_default();
        let is_watch = path.watch || query.flag("watch");
        let verb = match (method, path.name.is_empty()) {
            (&Method::GET, _) if is_watch => "watch",
            (&Method::GET | &Method::HEAD, true) => "list",
            (&Method::GET | &Method::HEAD, false) => "get",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, true) => "deletecollection",
            (&Method::DELETE, false) => "delete",
            _ => "",
        };
        let content_type = header("content-type");
        let handler = catalog.resource(&path.group, &path.version, &path.resource).ok();
        let name = match (path.name.is_empty(), verb) {
            (true, "create") => name_in(body),
            _ => path.name.to_string(),
        };
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let manager = match query.given("fieldManager") {
            Some(manager) => manager.to_string(),
            None => {
                agent.split('/').next().filter(|program| !program.is_empty()).unwrap_or("unknown").to_string()
            }
        };
        let version = query.given("resourceVersion").and_then(|version| version.parse().ok());
        RequestInfo {
            verb: verb.into(),
            is_apply: verb == "patch" && content_type.starts_with("application/apply-patch"),
            group: path.group.to_string(),
            resource: path.resource.to_string(),
            kind: handler.map(|handler| handler.resource.kind.to_string()).unwrap_or_default(),
            namespace: path.namespace.to_string(),
            name,
            manager,
            user: header("impersonate-user").to_string(),
            resource_version: version,
            bookmarks: query.flag("allowWatchBookmarks"),
        }
    }

    /// Whether the request can change something.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "" | "get" | "list" | "watch")
    }
}

/// Returns the name of the object in a body, if it has one. Only a request that a fault could select by name pays for this twice.
fn name_in(body: &Bytes) -> String {
    let object = yaml::parse_any(body, &Limits::default()).unwrap_or_default();
    object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default().to_string()
}

/// Whether a test may use a name for a resource: its kind, its plural, its plural and group, its singular or a short name.
fn is_called(resource: &Resource, name: &str) -> bool {
    called(&resource.kind, &resource.name, &resource.group, name)
        || resource.singular == name
        || resource.short_names.iter().any(|short| short == name)
}

/// Whether a name is a kind, a plural, or a plural with its group.
pub(crate) fn called(kind: &str, plural: &str, group: &str, name: &str) -> bool {
    let qualified = |(start, end): (&str, &str)| start.eq_ignore_ascii_case(plural) && end == group;
    name.eq_ignore_ascii_case(kind)
        || name.eq_ignore_ascii_case(plural)
        || name.split_once('.').is_some_and(qualified)
}

/// Finds the resource of a name that a test uses; the core group and the storage version are preferred.
pub(crate) fn find_resource(catalog: &Catalog, name: &str) -> Option<ResourceHandler> {
    let snapshot = catalog.snapshot();
    let rank = |handler: &ResourceHandler| {
        let resource = &handler.resource;
        let is_storage = resource.storage == (resource.group.clone(), resource.version.clone());
        (!resource.group.is_empty(), !is_storage)
    };
    snapshot.stored().filter(|handler| is_called(&handler.resource, name)).min_by_key(rank)
}
