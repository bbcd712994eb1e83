//! A resource as it is served: its row in the registry, its role, and the strategy of its kind.

use super::custom_kind::CustomKind;
use std::sync::{Arc, OnceLock};
use tenure_apply::{Emptied, Evolution, Requested};
use tenure_builtin::{BuiltinStrategy, Kinds, registry, role::Role};
use tenure_crd::{Conversion, CustomResourceStrategy, Definition};
use tenure_meta::{
    ApiError, Cause, CreateContext, DecodeError, Decoded, Endpoint, FieldError, Previous, ResetFields,
    Resource, ScalePaths, Strategy, SystemMetadata, Timestamp,
};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_schema::TypeRef;
use tenure_store::Revision;
use tenure_value::{Object, Value};

/// A resource at one version, with everything that a request needs to know of its kind.
#[derive(Clone)]
pub struct ResourceHandler {
    /// Its names, scope and verbs.
    pub resource: Arc<Resource>,
    /// What the server itself uses it for.
    pub role: Role,
    shared: Arc<Shared>,
}

/// What all copies of a handler share; the rest is computed by the first write that needs it.
struct Shared {
    strategy: Box<dyn Strategy>,
    /// The definition that the strategy was made from, if it is a custom resource.
    kind: Option<Arc<CustomKind>>,
    has_conversion_webhook: bool,
    version: KubernetesVersion,
    empty: OnceLock<Value>,
    reset_on_main: OnceLock<Arc<ResetFields>>,
    reset_on_status: OnceLock<Arc<ResetFields>>,
}

impl ResourceHandler {
    /// Creates the handler of a built-in resource, or of one that a definition made.
    pub fn new(resource: Arc<Resource>, kind: Option<Arc<CustomKind>>, profile: Profile) -> ResourceHandler {
        let role = Role::of(&resource);
        let custom = kind.as_ref().and_then(|kind| {
            let (definition, resource) = (kind.definition.clone(), resource.clone());
            CustomResourceStrategy::new(definition, resource, kind.stored_versions())
        });
        let strategy: Box<dyn Strategy> = match custom {
            Some(custom) => Box::new(custom),
            None => Box::new(BuiltinStrategy::new(resource.clone(), profile)),
        };
        let has_conversion_webhook =
            kind.as_ref().is_some_and(|kind| kind.definition.conversion != Conversion::None);
        let shared = Shared {
            strategy,
            kind,
            has_conversion_webhook,
            version: profile.version(),
            empty: OnceLock::new(),
            reset_on_main: OnceLock::new(),
            reset_on_status: OnceLock::new(),
        };
        ResourceHandler { resource, role, shared: Arc::new(shared) }
    }

    /// Whether this handler was made from the same resource and definition.
    pub fn is_of(&self, resource: &Arc<Resource>, kind: Option<&Arc<CustomKind>>) -> bool {
        let same_kind = match (&self.shared.kind, kind) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        same_kind && Arc::ptr_eq(&self.resource, resource)
    }

    /// Returns the rules of the kind.
    pub fn strategy(&self) -> &dyn Strategy {
        &*self.shared.strategy
    }

    /// Whether a definition made this resource.
    pub fn is_custom(&self) -> bool {
        self.shared.kind.is_some()
    }

    /// Whether the definition of a custom resource is being deleted.
    pub fn is_terminating(&self) -> bool {
        self.shared.kind.as_ref().is_some_and(|kind| kind.is_terminating())
    }

    /// Whether a webhook converts between the versions of this resource.
    pub fn has_conversion_webhook(&self) -> bool {
        self.shared.has_conversion_webhook
    }

    /// Whether objects can be encoded as protobuf, which has messages for all built-in kinds.
    pub fn has_protobuf(&self) -> bool {
        !self.is_custom()
    }

    /// Returns the definition that made this resource.
    pub fn definition(&self) -> Option<&Definition> {
        self.shared.kind.as_ref().map(|kind| &*kind.definition)
    }

    /// Whether objects are validated by expressions.
    pub fn has_rules(&self) -> bool {
        let version =
            self.definition().and_then(|definition| definition.version_of(&self.resource.api_version));
        version.is_some_and(tenure_crd::Version::has_rules)
    }

    /// Returns a number that differs if objects are read by different rules.
    pub fn generation(&self) -> u64 {
        self.shared.kind.as_ref().map_or(0, |kind| kind.generation)
    }

    /// Returns the type of the objects.
    pub fn type_ref(&self) -> TypeRef<'_> {
        self.strategy().type_at(&self.resource.api_version).unwrap_or_else(TypeRef::untyped)
    }

    /// Returns the type that the kind had when an object was written, if that has changed since.
    pub fn former_type_at(&self, api_version: &str, written: Revision) -> Option<TypeRef<'_>> {
        self.shared.kind.as_ref()?.former_type_at(api_version, written)
    }

    /// Whether the type can change between two writes.
    pub fn evolution(&self) -> Evolution {
        if self.is_custom() { Evolution::Possible } else { Evolution::None }
    }

    /// What becomes of a field whose last content is removed.
    pub fn emptied(&self) -> Emptied {
        if self.is_custom() { Emptied::Stays } else { Emptied::IsNull }
    }

    /// Returns what the `managedFields` of a body mean.
    pub fn requested_managers<'a>(&self, sent: Option<&'a Value>) -> Requested<'a> {
        if self.is_custom() { Requested::EntriesOfCustom(sent) } else { Requested::Entries(sent) }
    }

    /// Returns the object of this kind in which nothing is set.
    pub fn empty(&self) -> Value {
        self.shared.empty.get_or_init(|| self.strategy().empty()).clone()
    }

    /// Returns the parts of a live object that the rules of the kind need not look at again.
    fn previous<'v>(&self, live: Option<&'v Value>) -> Previous<'v> {
        live.filter(|_| self.strategy().stores_as_served()).map_or(Previous::UNKNOWN, Previous::of)
    }

    /// Decodes a document that replaces a live object, if there is one, and sets defaults.
    pub fn decode(
        &self,
        body: &Value,
        live: Option<&Value>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.strategy().decode(body, self.previous(live), now)
    }

    /// Decodes what an apply produced, and sets defaults.
    pub fn decode_applied(
        &self,
        body: &Value,
        live: Option<&Value>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.strategy().decode_applied(body, self.previous(live), now)
    }

    /// Returns a new object with its name, namespace, uid and time of creation.
    pub fn identify(&self, object: &Value, identity: &SystemMetadata) -> Value {
        self.strategy().with_system_metadata(object, identity)
    }

    /// Returns a new object with everything that its kind fills in.
    pub fn prepare_for_create(&self, object: &Value, context: &mut dyn CreateContext) -> Value {
        self.strategy().prepare_for_create(object, context)
    }

    /// Returns the object that results from the live and the new object at an endpoint.
    pub fn prepare_for_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        context: &mut dyn CreateContext,
    ) -> Value {
        self.strategy().prepare_for_update(endpoint, old, new, context)
    }

    /// Returns what is invalid about a new object.
    pub fn validate(&self, object: &Value) -> Vec<Cause> {
        causes(&self.strategy().validate(object))
    }

    /// Returns what is invalid about a changed object, and adds warnings of what is invalid, but was so before.
    pub fn validate_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        now: Timestamp,
        warnings: &mut Vec<String>,
    ) -> Vec<Cause> {
        causes(&self.strategy().validate_update(endpoint, old, new, self.previous(Some(old)), now, warnings))
    }

    /// Returns a valid object that replaces a live one, if there is one, as the next read will return it.
    pub fn canonicalize(&self, object: Value, live: Option<&Value>) -> Value {
        self.strategy().canonicalize(object, self.previous(live))
    }

    /// Returns the fields that an endpoint takes from the live object whatever a request says.
    pub fn reset_fields(&self, endpoint: Endpoint<'_>) -> Arc<ResetFields> {
        let compute = || Arc::new(self.strategy().reset_fields(endpoint));
        match endpoint {
            Endpoint::Main => self.shared.reset_on_main.get_or_init(compute).clone(),
            Endpoint::Status => self.shared.reset_on_status.get_or_init(compute).clone(),
            Endpoint::Scale | Endpoint::Other(_) => compute(),
        }
    }

    /// Returns a stored object at the version of this handler.
    pub fn convert_from_storage(&self, stored: &Value) -> Result<Value, ApiError> {
        self.strategy().from_storage(stored).map_err(|error| ApiError::internal(error.to_string()))
    }

    /// Returns an object that replaces a live one, if there is one, at the version of storage.
    pub fn convert_to_storage(&self, object: &Value, live: Option<&Value>) -> Result<Value, ApiError> {
        let stored = self.strategy().to_storage(object, self.previous(live));
        stored.map_err(|error| ApiError::internal(error.to_string()))
    }

    /// Returns the grace period of an object that is deleted; `None` for kinds that are removed at once.
    pub fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        self.strategy().termination_grace_period(object, requested)
    }

    /// Returns where the replicas of an object are, and what selects them.
    pub fn scale_paths(&self) -> ScalePaths {
        let none = || ScalePaths { spec: [].into(), status: [].into(), selector: [].into() };
        self.strategy().scale_paths().unwrap_or_else(none)
    }

    /// Returns an object as an item of a list.
    pub fn list_item(&self, object: Value) -> Value {
        self.strategy().list_item(object)
    }

    /// Checks that a body is of this kind and version, and sets both where they are missing.
    pub fn check_kind(&self, body: &Value) -> Result<Value, ApiError> {
        let fields = match body {
            Value::Object(fields) => fields.clone(),
            Value::Null => Object::default(),
            other => {
                return Err(ApiError::bad_request(format!(
                    "the object provided is unrecognized (must be of type {}): expected an object, got {}",
                    self.resource.kind,
                    other.kind()
                )));
            }
        };
        for name in ["kind", "apiVersion"] {
            if let Some(other) = fields.get(name).filter(|value| !value.is_null() && value.as_str().is_none())
            {
                return Err(ApiError::bad_request(format!(
                    "{name}: expected a string, got {}",
                    other.kind()
                )));
            }
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        // Clients that join an empty group and a version write `/v1`.
        let fields_version = text("apiVersion").strip_prefix('/');
        let (kind, version) = (text("kind"), fields_version.unwrap_or(text("apiVersion")));
        // A custom object is stored as it came and must name its kind; for a built-in kind the path is enough.
        if self.is_custom() && (kind.is_empty() || version.is_empty()) {
            let missing = if kind.is_empty() { "kind" } else { "apiVersion" };
            return Err(ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): {missing} is missing; this path takes kind {:?} of apiVersion {:?}",
                self.resource.kind,
                self.resource.kind.as_str(),
                self.resource.api_version.as_str()
            )));
        }
        if self.is_custom() {
            self.check_custom_kind(body, kind, version)?;
        }
        let mismatch = !kind.is_empty() && kind != self.resource.kind
            || !version.is_empty() && version != self.resource.api_version;
        if mismatch {
            let version = if version.is_empty() { &self.resource.api_version } else { version };
            let kind = if kind.is_empty() { &self.resource.kind } else { kind };
            return Err(self.wrong_kind(body, kind, version));
        }
        let fields = if version.is_empty() || fields_version.is_some() {
            fields.with("apiVersion", self.resource.api_version.clone())
        } else {
            fields
        };
        Ok(Value::Object(if fields.contains("kind") {
            fields
        } else {
            fields.with("kind", self.resource.kind.clone())
        }))
    }

    /// Returns the error of a body of another kind or version, which Kubernetes decodes as that kind first.
    fn wrong_kind(&self, body: &Value, kind: &str, api_version: &str) -> ApiError {
        // Events are in two groups.
        let is_form = |other: &Resource| {
            other.kind == self.resource.kind
                && internal_package(&other.group) == internal_package(&self.resource.group)
        };
        let kinds = Kinds::at(self.shared.version);
        let known = kinds.registry().of_kind(api_version, kind);
        if known.is_some_and(|other| is_form(other)) {
            return ApiError::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({})",
                self.resource.api_version
            ));
        }
        let decoded = match kind {
            "Status" => kinds.decode_as(STATUS, body),
            _ if known.is_some() => kinds.decode_kind((api_version, kind), body),
            _ => return unknown_conversion((kind, api_version), (&self.resource.kind, &self.resource.group)),
        };
        match decoded {
            Err(error) => {
                let version = api_version.rsplit('/').next().unwrap_or_default();
                let wanted = &self.resource.kind;
                ApiError::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {wanted}: {error}"
                ))
            }
            Ok(_) => unknown_conversion((kind, api_version), (&self.resource.kind, &self.resource.group)),
        }
    }

    /// Returns the name of the Go type of a list of the resource, as errors of Kubernetes show it.
    pub fn go_list_type(&self) -> String {
        match self.is_custom() {
            true => "unstructured.UnstructuredList".to_owned(),
            false => format!("{}.{}", internal_package(&self.resource.group), self.resource.list_kind),
        }
    }

    /// Checks kind and version of a custom object. The kind is a part of its content, so that a wrong one is a validation
    /// error of an object of that kind.
    fn check_custom_kind(&self, body: &Value, kind: &str, version: &str) -> Result<(), ApiError> {
        let resource = &self.resource;
        if version != resource.api_version {
            return Err(ApiError::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({})",
                resource.api_version
            )));
        }
        if kind != resource.kind {
            let name = body.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            let error = FieldError::invalid("kind", &kind.into(), format!("must be {}", resource.kind));
            return Err(ApiError::invalid(&resource.group, kind, name, vec![error.cause()]));
        }
        Ok(())
    }

    /// Returns the result of a strategic merge patch as an object of this kind, whatever kind and version the patch sets.
    pub fn with_kind(&self, patched: &Value) -> Result<Value, ApiError> {
        let fields = patched.as_object().ok_or_else(|| {
            ApiError::bad_request(format!("patch result must be an object, got {}", patched.kind()))
        })?;
        let fields = fields.with("apiVersion", self.resource.api_version.clone());
        Ok(Value::Object(fields.with("kind", self.resource.kind.clone())))
    }

    /// Checks that an apply configuration names the kind and version of the path.
    pub fn check_applied_kind(&self, config: &Value) -> Result<(), ApiError> {
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, version) = (text("kind"), text("apiVersion"));
        if kind == self.resource.kind && version == self.resource.api_version {
            return Ok(());
        }
        let refused = ApiError::bad_request(format!(
            "invalid object type: {version}, Kind={kind}; this path takes apiVersion {:?} and kind {:?}",
            self.resource.api_version, self.resource.kind
        ));
        Err(refused.or_in_kubernetes(ApiError::bad_request(invalid_object_type(version, kind))))
    }

    /// Returns the error for a body that cannot be decoded.
    pub fn cannot_handle(&self, body: &Value, why: &str) -> ApiError {
        let kind = body.get("kind").and_then(Value::as_str).unwrap_or(&self.resource.kind);
        let version = &self.resource.version;
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            self.resource.kind
        ))
    }

    /// Returns the error for an invalid object.
    pub fn invalid(&self, name: &str, causes: Vec<Cause>) -> ApiError {
        // Events are those of the core in both of their groups.
        let group = if self.resource.group == EVENTS { "" } else { &*self.resource.group };
        ApiError::invalid(group, &self.resource.kind, name, causes)
    }
}

/// The definition of a status, which is a kind of every group.
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

/// Returns the error of a body that cannot become an object of the `wanted` kind and group.
pub fn unknown_conversion((kind, api_version): (&str, &str), wanted: (&str, &str)) -> ApiError {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let why = why_unconvertible((kind, api_version), wanted);
    ApiError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {}: {why}", wanted.0))
}

/// Returns why a document of a kind and version cannot become an object of the `wanted` kind and group.
pub fn why_unconvertible((kind, api_version): (&str, &str), wanted: (&str, &str)) -> String {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let package = match kind {
        _ if registry().of_kind(api_version, kind).is_some() => version,
        // Kinds of every group, which are of one version.
        "Status" | "APIVersions" | "APIGroup" | "APIGroupList" | "APIResourceList" => "v1",
        "List" if api_version == "v1" => "v1",
        _ => return unregistered((kind, api_version), wanted.1),
    };
    let (internal, wanted) = (internal_package(wanted.1), wanted.0);
    format!("converting ({package}.{kind}) to ({internal}.{wanted}): unknown conversion")
}

/// Returns how Kubernetes calls a kind that is not one of a server that has the types of a group.
pub fn unregistered((kind, api_version): (&str, &str), group: &str) -> String {
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme {:?}", scheme(group))
}

/// The group of events besides that of the core.
const EVENTS: &str = "events.k8s.io";

/// Returns the Go package of the internal types of a group.
fn internal_package(group: &str) -> &str {
    match group {
        "" | EVENTS => "core",
        group => group.split('.').next().unwrap_or(group),
    }
}

/// Returns where the types of a group are registered in kube-apiserver.
fn scheme(group: &str) -> &'static str {
    match group {
        "apiextensions.k8s.io" => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
        "apiregistration.k8s.io" => "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
        _ => "pkg/api/legacyscheme/scheme.go:30",
    }
}

/// Returns how Kubernetes refuses an applied configuration of another kind or version.
pub fn invalid_object_type(version: &str, kind: &str) -> String {
    match version.matches('/').count() {
        0 => format!("invalid object type: /{version}, Kind={kind}"),
        1 => format!("invalid object type: {version}, Kind={kind}"),
        // A version that cannot be read hides the kind, too.
        _ => "invalid object type: /, Kind=".into(),
    }
}

fn causes(errors: &[FieldError]) -> Vec<Cause> {
    errors.iter().map(FieldError::cause).collect()
}
