//! What the server says about itself: discovery, OpenAPI, version, health and metrics.

use crate::{
    Address, Answer, Discovery, Encoding, Failure, Offer, OpenApi,
    catalog::Catalog,
    health::{self, Check},
    kinds::{self, Registry, Root},
    media,
    openapi::{self, Dialect},
    protobuf,
    server::{Request, Server},
};
use bytes::Bytes;
use hyper::{
    Method, StatusCode,
    header::{self, HeaderValue},
};
use std::{
    collections::{BTreeMap, HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};
use tenure_schema::Schema;
use tenure_value::{Limits, Text, Value, json};

/// Documents that are made once and given often.
#[derive(Default)]
pub(crate) struct Documents(Mutex<HashMap<Text, Document>>);

/// Bytes and the mark by which a client knows them again.
#[derive(Clone)]
struct Document {
    bytes: Bytes,
    mark: Arc<str>,
}

impl Documents {
    /// Returns a document as JSON, made by the first who asks for it.
    fn get(&self, name: &str, make: impl FnOnce() -> Value) -> Document {
        self.get_bytes(name, || json::to_vec(&make()))
    }

    /// Returns a document, written by the first who asks for it.
    fn get_bytes(&self, name: &str, write: impl FnOnce() -> Vec<u8>) -> Document {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = known().get(name) {
            return document.clone();
        }
        let bytes = Bytes::from(write());
        let document = Document { mark: mark(&bytes), bytes };
        known().entry(name.into()).or_insert(document).clone()
    }
}

/// Returns a text that differs where the bytes differ: 128 hexadecimal digits, as clients know it.
fn mark(bytes: &[u8]) -> Arc<str> {
    let digit = |part: u64| {
        let mut hasher = DefaultHasher::new();
        (part, bytes).hash(&mut hasher);
        format!("{:016X}", hasher.finish())
    };
    (0..8).map(digit).collect::<String>().into()
}

impl Server {
    /// Answers a request that is aimed at no resource.
    pub(crate) async fn about(&self, address: Address, request: &Request) -> Result<Answer, Failure> {
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return Err(Failure::method_not_allowed());
        }
        match address {
            Address::Discovery(which) => self.discovery(which, request),
            Address::Other(path) => self.other(&path, request).await,
            Address::Resource(_) => Err(Failure::no_such_path()),
        }
    }

    fn discovery(&self, which: Discovery, request: &Request) -> Result<Answer, Failure> {
        let catalog = self.catalog();
        let registry = &catalog.registry;
        let aggregated = media::aggregated(request.header(header::ACCEPT));
        let host = request.header(header::HOST).unwrap_or("127.0.0.1");
        let root = match which {
            Discovery::Core => Some(Root::Api),
            Discovery::Groups => Some(Root::Apis),
            _ => None,
        };
        if let (Some(root), Some(encoding)) = (root, aggregated) {
            return Ok(aggregated_answer(&catalog, root, encoding, request));
        }
        let format = request.format(Offer::All)?;
        let document = match which {
            Discovery::Core => kinds::api_versions(registry, host),
            Discovery::Groups => kinds::api_group_list(registry),
            Discovery::Group(group) => match kinds::api_group(registry, &group) {
                Some(group) => group,
                None => return Ok(page_not_found()),
            },
            Discovery::Version(group, version) => {
                match kinds::api_resource_list(registry, &group, &version) {
                    Some(list) => list,
                    None if self.serves_group(&group) => return Err(Failure::no_such_path()),
                    None => return Ok(page_not_found()),
                }
            }
        };
        Ok(Answer::document(StatusCode::OK, &document, format)
            .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private")))
    }

    async fn other(&self, path: &str, request: &Request) -> Result<Answer, Failure> {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        match first {
            "" => Ok(Answer::document(StatusCode::OK, &index(&self.catalog().registry), crate::PLAIN)),
            "version" => Ok(Answer::document(StatusCode::OK, &version(), crate::PLAIN)),
            "livez" | "readyz" | "healthz" => {
                let store = self.store.health().await.err().map(|error| error.to_string());
                let checks = [
                    Check { name: "ping", fault: None },
                    Check { name: "store", fault: store.filter(|_| first != "livez") },
                ];
                Ok(health::answer(path, &request.query, &checks).unwrap_or_else(page_not_found))
            }
            "metrics" => Ok(Answer::new(
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                self.metrics.text(),
            )),
            "openapi" => Ok(self.openapi(path, request).unwrap_or_else(page_not_found)),
            _ => Ok(page_not_found()),
        }
    }

    fn openapi(&self, path: &str, request: &Request) -> Option<Answer> {
        let catalog = self.catalog();
        match path.trim_end_matches('/') {
            "/openapi/v2" => {
                let make = || {
                    let components = components(&catalog, None, Dialect::V2);
                    openapi::version_2(&catalog.registry, Schema::builtin(), &components)
                };
                let form = match OpenApi::choose(request.header(header::ACCEPT), Dialect::V2) {
                    Ok(form) => form,
                    Err(failure) => return Some(Answer::failure(&failure, crate::PLAIN)),
                };
                let document = match form {
                    OpenApi::Json => catalog.documents.get("openapi/v2", make),
                    OpenApi::Protobuf => catalog
                        .documents
                        .get_bytes("openapi/v2/protobuf", || openapi::version_2_in_protobuf(&make())),
                };
                Some(published(document, request, form, Dialect::V2))
            }
            "/openapi/v3" => {
                let document = catalog.documents.get("openapi/v3", || openapi_index(&catalog));
                Some(marked_answer(document, request))
            }
            below => {
                let name = below.strip_prefix("/openapi/v3/")?;
                let mut document = openapi_document(&catalog, name)?;
                let form = match OpenApi::choose(request.header(header::ACCEPT), Dialect::V3) {
                    Ok(form) => form,
                    Err(failure) => return Some(Answer::failure(&failure, crate::PLAIN)),
                };
                let hash = request.query.given("hash");
                if hash.is_some_and(|hash| hash.as_str() != &*document.mark) {
                    let location = HeaderValue::try_from(format!("{below}?")).ok()?;
                    return Some(
                        Answer::text(StatusCode::MOVED_PERMANENTLY, "")
                            .with_header(header::LOCATION, location),
                    );
                }
                // Both forms are one document and have one mark.
                if form == OpenApi::Protobuf {
                    document.bytes = openapi_in_protobuf(&catalog, name, &document);
                }
                let answer = published(document, request, form, Dialect::V3);
                Some(match hash {
                    Some(_) => answer
                        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable")),
                    None => answer,
                })
            }
        }
    }
}

/// Returns the document of a group and version.
fn openapi_document(catalog: &Catalog, name: &str) -> Option<Document> {
    let groups = catalog.registry.groups().iter();
    let mut versions = groups.flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    let (group, version) =
        versions.find(|(group, version)| openapi::index_name(&group.name, version) == name)?;
    let key = format!("openapi/v3/{name}");
    Some(catalog.documents.get(&key, || {
        let components = components(catalog, Some((&group.name, version)), Dialect::V3);
        openapi::version_3(&catalog.registry, Schema::builtin(), &group.name, version, &components)
    }))
}

/// Returns the document of a group and version in protobuf.
fn openapi_in_protobuf(catalog: &Catalog, name: &str, document: &Document) -> Bytes {
    let write = || {
        let tree = json::parse(&document.bytes, &Limits::TRUSTED).unwrap_or_default();
        openapi::version_3_in_protobuf(&tree)
    };
    catalog.documents.get_bytes(&format!("openapi/v3/{name}/protobuf"), write).bytes
}

/// Returns what custom kinds publish, of one group and version or of all.
fn components(catalog: &Catalog, of: Option<(&str, &str)>, dialect: Dialect) -> Vec<openapi::Component> {
    let mut found = Vec::new();
    for kind in catalog.custom_kinds() {
        let definition = &kind.definition;
        for version in definition.served() {
            if of.is_some_and(|(group, name)| definition.group != group || version.name != name) {
                continue;
            }
            let kinds = [definition.names.kind.clone(), definition.names.list_kind.clone()];
            for (kind, (name, schema)) in kinds.into_iter().zip(definition.components(version, dialect)) {
                found.push(openapi::Component {
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

fn openapi_index(catalog: &Catalog) -> Value {
    let mut paths: BTreeMap<Text, Value> = BTreeMap::new();
    for group in catalog.registry.groups() {
        for version in group.versions.iter() {
            let name = openapi::index_name(&group.name, version);
            let mark = openapi_document(catalog, &name).map(|document| document.mark).unwrap_or_default();
            let address = format!("/openapi/v3/{name}?hash={mark}");
            paths.insert(name, Value::object([("serverRelativeURL", Value::from(address))]));
        }
    }
    Value::object([("paths", Value::object(paths))])
}

fn aggregated_answer(catalog: &Catalog, root: Root, encoding: Encoding, request: &Request) -> Answer {
    let list = || kinds::group_discovery_list(&catalog.registry, root);
    let (document, kind) = match encoding {
        Encoding::Protobuf => {
            let name = format!("discovery/{root:?}/protobuf");
            let write = || protobuf::encode(&list()).map(Vec::from).unwrap_or_default();
            let kind =
                "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (catalog.documents.get_bytes(&name, write), kind)
        }
        Encoding::Json | Encoding::Yaml => {
            let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            (catalog.documents.get(&format!("discovery/{root:?}"), list), kind)
        }
    };
    let mut answer = marked_answer(document, request);
    answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    answer
}

/// Gives a document, or says that the client has it already.
fn marked_answer(document: Document, request: &Request) -> Answer {
    let mark = format!("\"{}\"", document.mark);
    let known = request.header(header::IF_NONE_MATCH) == Some(mark.as_str());
    let code = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let bytes = if known { Bytes::new() } else { document.bytes };
    let answer = Answer::new(code, "application/json", bytes)
        .with_header(header::VARY, HeaderValue::from_static("Accept"))
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    match HeaderValue::try_from(mark) {
        Ok(mark) => answer.with_header(header::ETAG, mark),
        Err(_) => answer,
    }
}

fn published(document: Document, request: &Request, form: OpenApi, version: Dialect) -> Answer {
    let media_type = HeaderValue::from_static(form.media_type(version));
    marked_answer(document, request).with_header(header::CONTENT_TYPE, media_type)
}

/// The answer to a path that leads nowhere at all.
pub(crate) fn page_not_found() -> Answer {
    Answer::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn index(registry: &Registry) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(String::from)
    .into();
    for group in registry.groups() {
        for version in group.versions.iter() {
            paths.push(format!("/{}", openapi::index_name(&group.name, version)));
        }
        if !group.name.is_empty() {
            paths.push(format!("/apis/{}", group.name));
        }
    }
    paths.sort();
    Value::object([("paths", Value::array(paths.into_iter().map(Value::from)))])
}

/// The version of the API, and beside it that of Tenure.
fn version() -> Value {
    let own = concat!("v", env!("CARGO_PKG_VERSION"));
    Value::object(
        [
            ("major", "1"),
            ("minor", "36"),
            ("emulationMajor", "1"),
            ("emulationMinor", "36"),
            ("minCompatibilityMajor", "1"),
            ("minCompatibilityMinor", "35"),
            ("gitVersion", openapi::KUBERNETES),
            ("gitCommit", ""),
            ("gitTreeState", "clean"),
            ("buildDate", "1970-01-01T00:00:00Z"),
            ("goVersion", ""),
            ("compiler", "rustc"),
            ("platform", concat!("linux/", "amd64")),
            ("tenureVersion", own),
        ]
        .map(|(name, value)| (name, Value::from(value))),
    )
}
