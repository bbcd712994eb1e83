//! The attributes of a request, from its method and path alone: authorization comes before it is known whether the
//! resource exists.

use hyper::Method;
use tenure_builtin::role::NAMESPACES;
use tenure_catalog::Subresource;
use tenure_http::{Query, RequestPath};
use tenure_meta::{Attributes, ResourceAttributes};
use tenure_value::Text;

/// Returns the attributes of a request.
pub fn request_attributes(method: &Method, path: &str, address: &RequestPath, query: &Query) -> Attributes {
    let RequestPath::Resource(resource_path) = address else {
        let verb = Text::from(method.as_str().to_ascii_lowercase());
        return Attributes::NonResource { verb, path: path.into() };
    };
    let is_collection = resource_path.name.is_empty();
    let is_watch = resource_path.watch || query.flag("watch");
    let is_history = Subresource::named(&resource_path.subresource) == Some(Subresource::History);
    let verb = match *method {
        Method::GET | Method::HEAD if is_collection && is_watch => "watch",
        Method::GET | Method::HEAD if resource_path.watch => "watch",
        Method::GET | Method::HEAD if is_watch && is_history => "watch",
        Method::GET | Method::HEAD if is_collection => "list",
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "",
    };
    // A request for a namespace is authorized in that namespace.
    let is_namespace = (resource_path.group.as_str(), resource_path.resource.as_str())
        == (NAMESPACES.group, NAMESPACES.resource);
    let namespace = if is_namespace { resource_path.name.clone() } else { resource_path.namespace.clone() };
    let name = match is_collection {
        true if matches!(verb, "list" | "watch") => selected_name(query),
        true => Text::default(),
        false => resource_path.name.clone(),
    };
    Attributes::Resource(ResourceAttributes {
        verb: verb.into(),
        group: resource_path.group.clone(),
        version: resource_path.version.clone(),
        resource: resource_path.resource.clone(),
        subresource: resource_path.subresource.clone(),
        namespace,
        name,
        field_selector: selector(verb, query, "fieldSelector"),
        label_selector: selector(verb, query, "labelSelector"),
    })
}

/// Returns a selector of a request for a collection, as text.
fn selector(verb: &str, query: &Query, parameter: &str) -> Text {
    match verb {
        "list" | "watch" | "deletecollection" => query.given(parameter).cloned().unwrap_or_default(),
        _ => Text::default(),
    }
}

/// Returns the name that a field selector demands: a collection of which one object is selected is authorized as that object.
pub fn selected_name(query: &Query) -> Text {
    let selector = query.given("fieldSelector").map_or("", |selector| selector.as_str());
    let mut terms = selector.split(',').map(str::trim);
    let name = terms.find_map(|term| {
        let (field, value) = term.split_once('=')?;
        let value = value.strip_prefix('=').unwrap_or(value);
        (field == "metadata.name").then_some(value)
    });
    name.unwrap_or_default().into()
}
