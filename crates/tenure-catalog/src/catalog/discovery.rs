//! Discovery and OpenAPI as responses: which groups, versions and resources are served, and their schemas.

use super::{
    Aggregated, Catalog, OpenApi3,
    aggregated::Merged,
    documents::{Document, Documents},
    snapshot::Snapshot,
};
use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use std::{collections::BTreeMap, sync::Arc};
use tenure_builtin::{self, Root};
use tenure_http::{
    DiscoveryPath, Encoding, MediaTypes, OpenApiEncoding, OptionalFormats, Request, Response, negotiation,
};
use tenure_meta::{ApiError, OpenApiVersion, Registry};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::{Limits, Text, Value, json};

/// What is published: a snapshot, and what extension API servers serve besides it, if there are any.
pub struct Published<'a> {
    snapshot: Arc<Snapshot>,
    aggregated: &'a Aggregated,
    merged: Option<Arc<Merged>>,
}

impl<'a> Published<'a> {
    /// Returns what is published now.
    pub fn new(catalog: &Catalog, aggregated: &'a Aggregated) -> Published<'a> {
        let snapshot = catalog.snapshot();
        let merged = (!aggregated.is_empty()).then(|| aggregated.merged(&snapshot));
        Published { snapshot, aggregated, merged }
    }

    /// Returns the groups and resources.
    pub fn registry(&self) -> &Registry {
        self.merged.as_ref().map_or(self.snapshot.registry(), |merged| &merged.registry)
    }

    /// Returns the version of Kubernetes that is served.
    pub fn kubernetes(&self) -> KubernetesVersion {
        self.snapshot.kubernetes()
    }

    fn documents(&self) -> &Documents {
        self.merged.as_ref().map_or(&self.snapshot.documents, |merged| &merged.documents)
    }
}

/// Answers a discovery request.
pub fn discovery(
    published: &Published<'_>,
    which: DiscoveryPath,
    request: &Request,
) -> Result<Response, ApiError> {
    let registry = published.registry();
    let has_cbor = published.kubernetes().has(Behaviour::CborDiscovery);
    let optional = if has_cbor { request.optional } else { OptionalFormats::default() };
    let aggregated = negotiation::aggregated(request.header(header::ACCEPT), optional);
    let host = request.header(header::HOST).unwrap_or("127.0.0.1");
    let root = match which {
        DiscoveryPath::Core => Some(Root::Api),
        DiscoveryPath::Groups => Some(Root::Apis),
        _ => None,
    };
    if let (Some(root), Some(encoding)) = (root, aggregated) {
        return Ok(aggregated_discovery(published, root, encoding, request));
    }
    // The resources of a built-in version have always been offered as CBOR. Those of custom resources never are: clients that
    // prefer CBOR cannot read it there.
    let optional = match &which {
        DiscoveryPath::Version(group, version) if is_custom(registry, group, version) => {
            OptionalFormats::default()
        }
        DiscoveryPath::Version(..) => request.optional,
        _ => optional,
    };
    let format = MediaTypes::All.answer(request.header(header::ACCEPT), optional)?;
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
                None if registry.groups().iter().any(|listed| listed.name == group) => {
                    return Err(ApiError::no_such_path());
                }
                None => return Ok(page_not_found()),
            }
        }
    };
    Ok(Response::document(StatusCode::OK, &document, format)
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private")))
}

/// Whether the resources of a version are custom ones alone.
fn is_custom(registry: &Registry, group: &str, version: &str) -> bool {
    let mut resources = registry.of_version(group, version).peekable();
    resources.peek().is_some() && resources.all(|resource| resource.type_id.is_none())
}

/// Answers a request for an OpenAPI document; `None` where there is no such document.
pub fn openapi(published: &Published<'_>, path: &str, request: &Request) -> Option<Response> {
    let documents = published.documents();
    match path.trim_end_matches('/') {
        "/openapi/v2" => {
            let make = || {
                let components = components(&published.snapshot, None, OpenApiVersion::V2);
                let own =
                    crate::openapi::version_2(published.registry(), published.kubernetes(), &components);
                let others =
                    published.aggregated.versions().iter().filter_map(|version| version.openapi_2.as_deref());
                crate::openapi::merge_version_2(own, others)
            };
            let form = match OpenApiEncoding::choose(request.header(header::ACCEPT), OpenApiVersion::V2) {
                Ok(form) => form,
                Err(failure) => return Some(Response::failure(&failure, tenure_http::PLAIN)),
            };
            let document = match form {
                OpenApiEncoding::Json => documents.get("openapi/v2", make),
                OpenApiEncoding::Protobuf => documents
                    .get_bytes("openapi/v2/protobuf", || crate::openapi::version_2_in_protobuf(&make())),
            };
            Some(publish(document, request, form, OpenApiVersion::V2))
        }
        "/openapi/v3" => {
            let document = documents.get("openapi/v3", || openapi_index(published));
            Some(tagged_response(document, request))
        }
        below => {
            let name = below.strip_prefix("/openapi/v3/")?;
            let mut document = openapi_document(published, name)?;
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
                document.bytes = openapi_in_protobuf(documents, name, &document);
            }
            let answer = publish(document, request, form, OpenApiVersion::V3);
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
fn openapi_document(published: &Published<'_>, name: &str) -> Option<Document> {
    let documents = published.documents();
    if name == SERVER_VERSION {
        return Some(
            documents.get("openapi/v3/version", || crate::openapi::server_version(published.kubernetes())),
        );
    }
    let groups = published.registry().groups().iter();
    let mut versions = groups.flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    let (group, version) =
        versions.find(|(group, version)| crate::openapi::index_name(&group.name, version) == name)?;
    let key = format!("openapi/v3/{name}");
    match published.aggregated.find(&group.name, version).map(|served| &served.openapi_3) {
        Some(Some(OpenApi3::Converted(document))) => {
            return Some(documents.get(&key, || Value::clone(document)));
        }
        Some(_) => return None,
        None => {}
    }
    Some(documents.get(&key, || {
        let snapshot = &published.snapshot;
        let components = components(snapshot, Some((&group.name, version)), OpenApiVersion::V3);
        crate::openapi::version_3(
            snapshot.registry(),
            snapshot.kubernetes(),
            &group.name,
            version,
            &components,
        )
    }))
}

/// Returns the document of a group and version in protobuf.
fn openapi_in_protobuf(documents: &Documents, name: &str, document: &Document) -> Bytes {
    let write = || {
        let tree = json::parse(&document.bytes, &Limits::TRUSTED).unwrap_or_default();
        crate::openapi::version_3_in_protobuf(&tree)
    };
    documents.get_bytes(&format!("openapi/v3/{name}/protobuf"), write).bytes
}

/// Returns what custom kinds publish, of one group and version or of all.
fn components(
    catalog: &Snapshot,
    group_version: Option<(&str, &str)>,
    dialect: OpenApiVersion,
) -> Vec<crate::openapi::Component> {
    let mut found = Vec::new();
    for kind in catalog.custom_kinds() {
        let definition = &kind.definition;
        for version in definition.served() {
            if group_version.is_some_and(|(group, name)| definition.group != group || version.name != name) {
                continue;
            }
            let kinds = [definition.names.kind.clone(), definition.names.list_kind.clone()];
            for (kind, (name, schema)) in kinds.into_iter().zip(definition.components(version, dialect)) {
                found.push(crate::openapi::Component {
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

fn openapi_index(published: &Published<'_>) -> Value {
    let mut paths: BTreeMap<Text, Value> = BTreeMap::new();
    let mut list = |name: Text, address: String| {
        paths.insert(name, Value::object([("serverRelativeURL", Value::from(address))]));
    };
    let own = |name: &str| {
        let document = openapi_document(published, name)?;
        Some(format!("/openapi/v3/{name}?hash={}", document.entity_tag))
    };
    for group in published.registry().groups() {
        for version in group.versions.iter() {
            let name = crate::openapi::index_name(&group.name, version);
            let remote = published.aggregated.find(&group.name, version);
            let address = match remote.and_then(|served| served.openapi_3.as_ref()) {
                Some(OpenApi3::Served(address)) => Some(address.to_string()),
                _ => own(&name),
            };
            // An extension server may have no document.
            if let Some(address) = address {
                list(name, address);
            }
        }
    }
    list(SERVER_VERSION.into(), own(SERVER_VERSION).unwrap_or_default());
    Value::object([("paths", Value::object(paths))])
}

fn aggregated_discovery(
    published: &Published<'_>,
    root: Root,
    encoding: Encoding,
    request: &Request,
) -> Response {
    let documents = published.documents();
    let list = || {
        let list = tenure_builtin::group_discovery_list(published.registry(), root);
        if published.merged.is_some() { published.aggregated.complete(list) } else { list }
    };
    let (document, kind) = match encoding {
        Encoding::Protobuf => {
            let name = format!("discovery/{root:?}/protobuf");
            let write = || tenure_codec::protobuf::encode(&list()).map(Vec::from).unwrap_or_default();
            let kind =
                "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (documents.get_bytes(&name, write), kind)
        }
        Encoding::Cbor => {
            let kind = "application/cbor;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (
                documents
                    .get_bytes(&format!("discovery/{root:?}/cbor"), || tenure_codec::cbor::encode(&list())),
                kind,
            )
        }
        Encoding::Json | Encoding::Yaml => {
            let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (documents.get(&format!("discovery/{root:?}"), list), kind)
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

fn publish(
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
