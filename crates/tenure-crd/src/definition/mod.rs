//! A compiled CustomResourceDefinition: read once from the stored object, shared by all requests.
//! [`check_create`] checks whether an object may be stored as a definition; reading does not validate it
//! again.

mod accept;
mod change;
mod check;
mod conversion_check;
mod rows;
mod schema_check;
mod schema_warnings;
mod version;
mod version_check;
mod version_rank;

pub use accept::{CLEANUP_FINALIZER, NameUse, NamesInUse, accept, accepted_names, terminating, unaccepted};
pub use change::merge_changes;
pub use check::{check_create, check_update};
pub use schema_warnings::schema_warnings;
pub use version::Version;
pub use version_rank::version_rank;

use std::{collections::HashMap, sync::Arc};
use tenure_meta::{Previous, Scope, ValueExt};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_schema::{Schema, SchemaError, TypeRef, crd};
use tenure_value::{Text, Value};

/// The names of a custom resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceNames {
    /// The plural name, used in paths.
    pub plural: Text,
    /// The singular name.
    pub singular: Text,
    /// The kind of its objects.
    pub kind: Text,
    /// The kind of a list of objects.
    pub list_kind: Text,
    /// Short names.
    pub short_names: Box<[Text]>,
    /// Categories.
    pub categories: Box<[Text]>,
}

impl ResourceNames {
    fn read(names: &Value) -> ResourceNames {
        let (kind, mut singular, mut list_kind) =
            (names.text("kind"), names.text("singular"), names.text("listKind"));
        if singular.is_empty() {
            singular = kind.to_lowercase().into();
        }
        if list_kind.is_empty() {
            list_kind = format!("{kind}List").into();
        }
        ResourceNames {
            plural: names.text("plural"),
            singular,
            kind,
            list_kind,
            short_names: names.texts("shortNames"),
            categories: names.texts("categories"),
        }
    }
}

/// How objects are converted between versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Only the apiVersion changes.
    None,
    /// By a webhook, which the server calls.
    Webhook(Box<Webhook>),
}

/// The configuration of a conversion webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The address.
    pub target: WebhookTarget,
    /// The trusted certificates, in PEM, as base64; empty for those of the system.
    pub ca_bundle: Text,
    /// The supported versions of ConversionReview, preferred first.
    pub review_versions: Box<[Text]>,
}

/// The address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookTarget {
    /// A URL.
    Url(Text),
    /// A service of the cluster.
    Service {
        /// Its namespace.
        namespace: Text,
        /// Its name.
        name: Text,
        /// The path of the requests.
        path: Text,
        /// The port.
        port: u16,
    },
}

impl WebhookTarget {
    /// Parses the `clientConfig` of a webhook.
    pub fn read(client: &Value) -> WebhookTarget {
        let Some(service) = client.get("service") else { return WebhookTarget::Url(client.text("url")) };
        let port = service.get("port").and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
        WebhookTarget::Service {
            namespace: service.text("namespace"),
            name: service.text("name"),
            path: service.text("path"),
            port: port.unwrap_or(443),
        }
    }
}

/// The timeout of a conversion webhook, in seconds.
pub const WEBHOOK_TIMEOUT_SECONDS: u64 = 30;

/// A compiled definition.
#[derive(Debug)]
pub struct Definition {
    /// The name of the definition: `widgets.example.com`.
    pub name: Text,
    /// The uid of the definition; it changes if the definition is deleted and created again.
    pub uid: Text,
    /// The group.
    pub group: Text,
    /// The names.
    pub names: ResourceNames,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// The versions, in the order of the definition.
    pub versions: Box<[Version]>,
    /// How objects are converted.
    pub conversion: Conversion,
    schema: Arc<Schema>,
    storage: usize,
    /// The version of Kubernetes that serves it.
    pub(crate) kubernetes: KubernetesVersion,
}

impl Definition {
    /// Compiles a stored definition. The profile decides how its objects are validated.
    pub fn read(object: &Value, profile: Profile) -> Result<Definition, SchemaError> {
        let schema = Arc::new(crd::compile(object)?);
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let (group, names) = (spec.text("group"), spec.get("names").unwrap_or(&Value::Null));
        let mut versions: Vec<Version> = Vec::new();
        let mut nodes = HashMap::new();
        for version in spec.items("versions") {
            let version = Version::read(&group, version, spec, &nodes, profile);
            nodes.insert(version.schema().clone(), version.node.clone());
            versions.push(version);
        }
        let storage = versions.iter().position(|version| version.is_storage).unwrap_or(0);
        Ok(Definition {
            name: object.get("metadata").map(|metadata| metadata.text("name")).unwrap_or_default(),
            uid: object.get("metadata").map(|metadata| metadata.text("uid")).unwrap_or_default(),
            group,
            names: ResourceNames::read(names),
            scope: if spec.text("scope") == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
            versions: versions.into(),
            conversion: conversion(spec.get("conversion").unwrap_or(&Value::Null)),
            schema,
            storage,
            kubernetes: profile.version(),
        })
    }

    /// Returns the topology of all versions.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the type of the objects of a version, served or not: `example.com/v1`.
    pub fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.schema.kind(api_version, &self.names.kind)
    }

    /// Returns a version by its name: `v1`.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Returns the storage version.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.get(self.storage)
    }

    /// Returns the version with an apiVersion such as `example.com/v1`.
    pub fn version_of(&self, api_version: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }

    /// Converts an object to another version if this needs no webhook: the content is the same, without
    /// fields that the other version does not have.
    pub fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let fields = object.as_object()?;
        if fields.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Some(object.clone());
        }
        self.version_of(api_version).filter(|_| self.conversion == Conversion::None)?;
        Some(self.trimmed(&fields.with("apiVersion", api_version).into(), api_version))
    }

    /// Returns an object without fields that its version does not have.
    pub fn trimmed(&self, object: &Value, api_version: &str) -> Value {
        self.version_of(api_version).map_or_else(|| object.clone(), |version| version.trim(object))
    }

    /// Returns a complete object of a version as the next read of it returns it: with the defaults of the storage version, and
    /// without the fields that the storage version does not have. What a conversion webhook returns cannot be foreseen.
    pub fn as_read_back(&self, object: &Value, version: &Version) -> Value {
        let stored = self
            .storage_version()
            .filter(|_| self.conversion == Conversion::None)
            .and_then(|storage| Some(storage.read_stored(&self.convert(object, &storage.api_version)?)));
        stored
            .and_then(|stored| self.convert(&stored, &version.api_version))
            .unwrap_or_else(|| version.without_nulls(object.clone(), Previous::UNKNOWN))
    }

    /// Returns a stored object as it reads today in the version that it was written in.
    pub fn as_written(&self, object: &Value) -> Value {
        let written = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        self.version_of(written).map_or_else(|| object.clone(), |version| version.read_stored(object))
    }
}

fn conversion(value: &Value) -> Conversion {
    if value.text("strategy") != "Webhook" {
        return Conversion::None;
    }
    let webhook = value.get("webhook").unwrap_or(&Value::Null);
    let client = webhook.get("clientConfig").unwrap_or(&Value::Null);
    Conversion::Webhook(Box::new(Webhook {
        target: WebhookTarget::read(client),
        ca_bundle: client.text("caBundle"),
        review_versions: webhook.texts("conversionReviewVersions"),
    }))
}
