//! Discovery and OpenAPI as responses: which groups, versions and resources are served, and their schemas.

use super::{Catalog, documents::Document, snapshot::Snapshot};
use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use std::collections::BTreeMap;
use tenure_builtin::{self, Root};
use tenure_http::{DiscoveryPath, Encoding, MediaTypes, OpenApiEncoding, Request, Response, negotiation};
use tenure_meta::{ApiError, OpenApiVersion};
use tenure_schema::Schema;
use tenure_value::{Limits, Text, Value, json};

/// Answers a discovery request.
pub fn discovery(catalog: &Catalog, which: DiscoveryPath, request: &Request) -> Result<Response, ApiError> {
    let snapshot = catalog.snapshot();
    let registry = &snapshot.registry;
    let aggregated = negotiation::aggregated(request.header(header::ACCEPT));
    let host = request.header(header::HOST).unwrap_or("127.0.0.1");
    let root = match which {
        DiscoveryPath::Core => Some(Root::Api),
        DiscoveryPath::Groups => Some(Root::Apis),
        _ => None,
    };
    if let (Some(root), Some(encoding)) = (root, aggregated) {
        return Ok(aggregated_discovery(&snapshot, root, encoding, request));
    }
    let format = request.format(MediaTypes::All)?;
    let document = match which {
        DiscoveryPath::Core => tenure_builtin::api_versions(registry, host),
        DiscoveryPath::Groups => tenure_builtin::api_group_list(registry),
        DiscoveryPath::Group(group) => match tenure_builtin::api_group(registry, &group) {
            Some(group) => group,
            None => return Ok(page_not_found()),
        },
        DiscoveryPath::Version(group, version) => {
            match tenure_builtin::api_resource_list(registry, &group, &version) {
                Some(list) => list,
                None if catalog.has_group(&group) => return Err(ApiError::no_such_path()),
                None => return Ok(page_not_found()),
            }
        }
    };
    Ok(Response::document(StatusCode::OK, &document, format)
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private")))
}

/// Answers a request for an OpenAPI document; `None` where there is no such document.
pub fn openapi(catalog: &Catalog, path: &str, request: &Request) -> Option<Response> {
    let catalog = catalog.snapshot();
    match path.trim_end_matches('/') {
        "/openapi/v2" => {
            let make = || {
                let components = components(&catalog, None, OpenApiVersion::V2);
                tenure_openapi::version_2(&catalog.registry, Schema::builtin(), &components)
            };
            let form = match OpenApiEncoding::choose(request.header(header::ACCEPT), OpenApiVersion::V2) {
                Ok(form) => form,
                Err(failure) => return Some(Response::failure(&failure, tenure_http::PLAIN)),
            };
            let document = match form {
                OpenApiEncoding::Json => catalog.documents.get("openapi/v2", make),
                OpenApiEncoding::Protobuf => catalog
                    .documents
                    .get_bytes("openapi/v2/protobuf", || tenure_openapi::version_2_in_protobuf(&make())),
            };
            Some(published(document, request, form, OpenApiVersion::V2))
        }
        "/openapi/v3" => {
            let document = catalog.documents.get("openapi/v3", || openapi_index(&catalog));
            Some(tagged_response(document, request))
        }
        below => {
            let name = below.strip_prefix("/openapi/v3/")?;
            let mut document = openapi_document(&catalog, name)?;
            let form = match OpenApiEncoding::choose(request.header(header::ACCEPT), OpenApiVersion::V3) {
                Ok(form) => form,
                Err(failure) => return Some(Response::failure(&failure, tenure_http::PLAIN)),
            };
            let hash = request.query.given("hash");
            if hash.is_some_and(|hash| hash.as_str() != &*document.entity_tag) {
                let location = HeaderValue::try_from(format!("{below}?")).ok()?;
                return Some(
                    Response::text(StatusCode::MOVED_PERMANENTLY, "").with_header(header::LOCATION, location),
                );
            }
            // JSON and protobuf share one entity tag.
            if form == OpenApiEncoding::Protobuf {
                document.bytes = openapi_in_protobuf(&catalog, name, &document);
            }
            let answer = published(document, request, form, OpenApiVersion::V3);
            Some(match hash {
                Some(_) => {
                    answer.with_header(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"))
                }
                None => answer,
            })
        }
    }
}

/// The document in the index that is not of a group.
const SERVER_VERSION: &str = "version";

/// Returns the document of a group and version, or of the version of the server.
fn openapi_document(catalog: &Snapshot, name: &str) -> Option<Document> {
    if name == SERVER_VERSION {
        return Some(catalog.documents.get("openapi/v3/version", tenure_openapi::server_version));
    }
    let groups = catalog.registry.groups().iter();
    let mut versions = groups.flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    let (group, version) =
        versions.find(|(group, version)| tenure_openapi::index_name(&group.name, version) == name)?;
    let key = format!("openapi/v3/{name}");
    Some(catalog.documents.get(&key, || {
        let components = components(catalog, Some((&group.name, version)), OpenApiVersion::V3);
        tenure_openapi::version_3(&catalog.registry, Schema::builtin(), &group.name, version, &components)
    }))
}

/// Returns the document of a group and version in protobuf.
fn openapi_in_protobuf(catalog: &Snapshot, name: &str, document: &Document) -> Bytes {
    let write = || {
        let tree = json::parse(&document.bytes, &Limits::TRUSTED).unwrap_or_default();
        tenure_openapi::version_3_in_protobuf(&tree)
    };
    catalog.documents.get_bytes(&format!("openapi/v3/{name}/protobuf"), write).bytes
}

/// Returns what custom kinds publish, of one group and version or of all.
fn components(
    catalog: &Snapshot,
    of: Option<(&str, &str)>,
    dialect: OpenApiVersion,
) -> Vec<tenure_openapi::Component> {
    let mut found = Vec::new();
    for kind in catalog.custom_kinds() {
        let definition = &kind.definition;
        for version in definition.served() {
            if of.is_some_and(|(group, name)| definition.group != group || version.name != name) {
                continue;
            }
            let kinds = [definition.names.kind.clone(), definition.names.list_kind.clone()];
            for (kind, (name, schema)) in kinds.into_iter().zip(definition.components(version, dialect)) {
                found.push(tenure_openapi::Component {
                    api_version: version.api_version.clone(),
                    kind,
                    name: name.into(),
                    schema,
                });
            }
        }
    }
    found
}

fn openapi_index(catalog: &Snapshot) -> Value {
    let mut paths: BTreeMap<Text, Value> = BTreeMap::new();
    let mut list = |name: Text| {
        let entity_tag =
            openapi_document(catalog, &name).map(|document| document.entity_tag).unwrap_or_default();
        let address = format!("/openapi/v3/{name}?hash={entity_tag}");
        paths.insert(name, Value::object([("serverRelativeURL", Value::from(address))]));
    };
    for group in catalog.registry.groups() {
        for version in group.versions.iter() {
            list(tenure_openapi::index_name(&group.name, version));
        }
    }
    list(SERVER_VERSION.into());
    Value::object([("paths", Value::object(paths))])
}

fn aggregated_discovery(catalog: &Snapshot, root: Root, encoding: Encoding, request: &Request) -> Response {
    let list = || tenure_builtin::group_discovery_list(&catalog.registry, root);
    let (document, kind) = match encoding {
        Encoding::Protobuf => {
            let name = format!("discovery/{root:?}/protobuf");
            let write = || tenure_protobuf::encode(&list()).map(Vec::from).unwrap_or_default();
            let kind =
                "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (catalog.documents.get_bytes(&name, write), kind)
        }
        Encoding::Json | Encoding::Yaml => {
            let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (catalog.documents.get(&format!("discovery/{root:?}"), list), kind)
        }
    };
    let mut answer = tagged_response(document, request);
    answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    answer
}

/// Answers with a document, or with 304 if the client has it already.
fn tagged_response(document: Document, request: &Request) -> Response {
    let entity_tag = format!("\"{}\"", document.entity_tag);
    let known = request.header(header::IF_NONE_MATCH) == Some(entity_tag.as_str());
    let code = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let bytes = if known { Bytes::new() } else { document.bytes };
    let answer = Response::new(code, "application/json", bytes)
        .with_header(header::VARY, HeaderValue::from_static("Accept"))
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    match HeaderValue::try_from(entity_tag) {
        Ok(entity_tag) => answer.with_header(header::ETAG, entity_tag),
        Err(_) => answer,
    }
}

fn published(
    document: Document,
    request: &Request,
    form: OpenApiEncoding,
    version: OpenApiVersion,
) -> Response {
    let media_type = HeaderValue::from_static(form.media_type(version));
    tagged_response(document, request).with_header(header::CONTENT_TYPE, media_type)
}

/// Answers a request for a path that does not exist.
pub fn page_not_found() -> Response {
    Response::text(StatusCode::NOT_FOUND, "404 page not found\n")
}
