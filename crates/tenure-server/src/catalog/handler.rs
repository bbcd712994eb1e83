//! A resource as it is served: its row in the registry, and the rules of its kind behind one set of functions,
//! so that no verb asks whether a kind is built in or custom.

use crate::{
    Cause, Failure,
    catalog::CustomKind,
    custom::{self, Conversion, Definition, Version},
    kinds::{
        self, Column, CreateContext, DecodeError, Decoded, FieldError, Identity, Kinds, Previous, Resource,
        scalar::Timestamp,
    },
    object::Stored,
    objects::conversion::Conversions,
    server::Server,
};
use std::sync::{Arc, OnceLock};
use tenure_apply::{Emptied, Evolution, Requested, Reset, Versions};
use tenure_fields::{FieldSet, PathElement};
use tenure_meta::{ScalePaths, SelectableField};
use tenure_schema::{Schema, TypeRef};
use tenure_store::Revision;
use tenure_value::{Object, Text, Value};

/// Where below an object a write goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// The object itself.
    Main,
    /// Its status.
    Status,
    /// Its scale.
    Scale,
    /// Another part that is written on its own.
    Other(Text),
}

impl Endpoint {
    pub fn of(subresource: &str) -> Endpoint {
        match subresource {
            "" => Endpoint::Main,
            "status" => Endpoint::Status,
            "scale" => Endpoint::Scale,
            other => Endpoint::Other(other.into()),
        }
    }

    fn of_kind(&self) -> kinds::Endpoint<'_> {
        match self {
            Endpoint::Main => kinds::Endpoint::Main,
            Endpoint::Status => kinds::Endpoint::Status,
            Endpoint::Scale => kinds::Endpoint::Scale,
            Endpoint::Other(name) => kinds::Endpoint::Other(name),
        }
    }
}

/// Fields that an endpoint takes from the live object.
pub(crate) enum ResetFields {
    None,
    These(FieldSet),
    AllBut(FieldSet),
}

impl ResetFields {
    pub fn borrowed(&self) -> Reset<'_> {
        match self {
            ResetFields::None => Reset::Nothing,
            ResetFields::These(fields) => Reset::Fields(fields),
            ResetFields::AllBut(fields) => Reset::AllBut(fields),
        }
    }
}

/// A resource and the rules of its kind.
#[derive(Clone)]
pub(crate) struct Served {
    pub resource: Arc<Resource>,
    kinds: &'static Kinds,
    custom: Option<Arc<CustomKind>>,
    prepared: Arc<Prepared>,
}

/// What is the same for every write of a resource, made by the first.
#[derive(Default)]
struct Prepared {
    empty: OnceLock<Value>,
    reads_as_written: OnceLock<bool>,
    rests: OnceLock<bool>,
    reset_on_main: OnceLock<Arc<ResetFields>>,
    reset_on_status: OnceLock<Arc<ResetFields>>,
}

impl Server {
    /// Finds the resource that a path names.
    pub(crate) fn served(&self, group: &str, version: &str, resource: &str) -> Result<Served, Failure> {
        self.catalog().find(group, version, resource).ok_or_else(Failure::no_such_path)
    }

    /// Returns the resource whose objects the store keeps under a group and a name, in the version it keeps them.
    pub(crate) fn served_as_stored(&self, group: &str, name: &str) -> Option<Served> {
        let catalog = self.catalog();
        let mut forms = catalog.stored().filter(|of| of.resource.name == name && of.resource.group == group);
        let first = forms.next()?;
        let is_storage =
            |of: &Served| of.resource.storage == (of.resource.group.clone(), of.resource.version.clone());
        if is_storage(&first) { Some(first) } else { forms.find(is_storage).or(Some(first)) }
    }

    /// Finds the resource of a kind.
    pub(crate) fn served_kind(&self, api_version: &str, kind: &str) -> Option<Served> {
        self.catalog().of_kind(api_version, kind)
    }

    /// Whether any resource of a group is served.
    pub(crate) fn serves_group(&self, group: &str) -> bool {
        self.catalog().registry.groups().iter().any(|of| of.name == group)
    }
}

impl Served {
    pub fn new(resource: Arc<Resource>, kinds: &'static Kinds, custom: Option<Arc<CustomKind>>) -> Served {
        Served { resource, kinds, custom, prepared: Arc::default() }
    }

    /// Whether this is what would be made of a resource and the kind behind it.
    pub fn is_of(&self, resource: &Arc<Resource>, custom: Option<&Arc<CustomKind>>) -> bool {
        let same_kind = match (&self.custom, custom) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        same_kind && Arc::ptr_eq(&self.resource, resource)
    }

    /// Whether objects of this resource are definitions of others.
    pub fn is_definition(&self) -> bool {
        self.resource.group == "apiextensions.k8s.io" && self.resource.name == "customresourcedefinitions"
    }

    /// Whether a definition made this resource.
    pub fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// Returns the definition that made this resource.
    pub fn definition(&self) -> Option<&Definition> {
        self.custom.as_ref().map(|custom| &*custom.definition)
    }

    /// Whether objects of other versions than the one of the path are converted by a webhook.
    pub fn asks(&self) -> bool {
        self.definition().is_some_and(|of| of.conversion != Conversion::None)
    }

    /// Returns the number of the rules by which objects are read; another definition has other rules.
    pub fn rules(&self) -> u64 {
        self.custom.as_ref().map_or(0, |custom| custom.serial)
    }

    /// Whether objects are read in the same version and by the same rules as those of another resource.
    pub fn reads_like(&self, other: &Served) -> bool {
        self.rules() == other.rules() && self.resource.api_version == other.resource.api_version
    }

    /// Returns the version of a custom resource that the path names.
    fn version(&self) -> Option<&Version> {
        self.custom.as_ref()?.definition.version(&self.resource.version)
    }

    /// Returns the type of the objects at the version of the path.
    pub fn type_ref(&self) -> TypeRef<'_> {
        if let Some(custom) = &self.custom {
            return custom.definition.type_of(&self.resource.api_version).unwrap_or_else(TypeRef::untyped);
        }
        self.resource.of.map_or_else(TypeRef::untyped, |of| Schema::builtin().at(of))
    }

    /// Returns what ownership needs to know of the kind's versions, for an object that was last written at a revision.
    pub fn versions<'a>(&'a self, conversions: &'a Conversions, written: Revision) -> ServedVersions<'a> {
        ServedVersions { served: self, conversions, written }
    }

    /// Returns the type of the kind at a version, or nothing where there is no such version.
    pub fn type_at(&self, api_version: &str) -> Option<TypeRef<'_>> {
        if let Some(definition) = self.definition() {
            return definition.type_of(api_version);
        }
        if api_version == self.resource.api_version {
            return Some(self.type_ref());
        }
        let mut forms = crate::kinds::registry().forms_of(&self.resource);
        let form = forms.find(|form| form.api_version == api_version)?;
        Schema::builtin().kind(&form.api_version, &form.kind)
    }

    /// Returns the object of this kind in which nothing is set.
    pub fn empty(&self) -> Value {
        self.prepared.empty.get_or_init(|| self.new_empty()).clone()
    }

    fn new_empty(&self) -> Value {
        if !self.is_custom() {
            return self.kinds.stored(&self.resource, &self.kinds.empty(&self.resource));
        }
        Value::object([
            ("apiVersion", Value::from(self.resource.api_version.clone())),
            ("kind", Value::from(self.resource.kind.clone())),
        ])
    }

    /// Whether a live object is complete by the rules of the kind: it is not converted, so that it is as it was written,
    /// or as its definition reads today what was written in this version.
    pub fn reads_as_written(&self) -> bool {
        *self.prepared.reads_as_written.get_or_init(|| match &self.custom {
            Some(custom) => !self.asks() && custom.is_stored_only_in(&self.resource.version),
            None => self.storage_form().is_none(),
        })
    }

    /// Whether a live object that an apply leaves as it is needs to go no further: it has been through all that would
    /// follow, and what a definition demands that changed since is not held against what does not change. Definitions
    /// get their status with every write, a webhook converts as it likes, and a rule that compares with the old value
    /// may refuse what does not change.
    pub fn rests(&self) -> bool {
        *self.prepared.rests.get_or_init(|| match self.version() {
            Some(version) => !self.asks() && !version.has_transitions(),
            None => self.reads_as_written() && !self.is_definition(),
        })
    }

    /// Returns what the rules of the kind have seen of a live object.
    fn seen<'v>(&self, live: Option<&'v Value>) -> Previous<'v> {
        live.filter(|_| self.reads_as_written()).map_or(Previous::UNKNOWN, Previous::of)
    }

    /// Reads a document that takes the place of a live object, if there is one, as an object of the kind, with its
    /// defaults.
    pub fn complete(
        &self,
        body: &Value,
        live: Option<&Value>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        match self.version() {
            Some(version) => version.complete_after(body, self.seen(live)),
            None => self.kinds.complete_after(&self.resource, body, self.seen(live), now),
        }
    }

    /// Reads what an apply made as an object of the kind; a `null` that it left is for validation to find.
    pub fn complete_applied(
        &self,
        body: &Value,
        live: Option<&Value>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        match self.version() {
            Some(version) => version.complete_applied_after(body, self.seen(live)),
            None => self.kinds.complete_after(&self.resource, body, self.seen(live), now),
        }
    }

    /// Returns a valid object that takes the place of a live one, if there is one, as the next read will give it: a `null`
    /// that says nothing is left out.
    pub fn as_read(&self, object: Value, live: Option<&Value>) -> Value {
        match self.version() {
            // Both are complete, so that there is nothing to fill in or to prune.
            Some(version) if self.reads_as_written() => version.without_nulls(object, self.seen(live)),
            Some(version) => version.read_stored(&object),
            None => object,
        }
    }

    /// Returns a new object with what every object is given at its creation.
    pub fn identify(&self, object: &Value, identity: &Identity) -> Value {
        tenure_meta::update::with_system_metadata(&self.resource, object, identity)
    }

    /// Returns a new object with all that its kind fills in.
    pub fn prepare_create(&self, object: &Value, around: &mut dyn CreateContext) -> Value {
        match self.version() {
            Some(version) if version.has_status => {
                Value::Object(object.as_object().cloned().unwrap_or_default().without("status"))
            }
            Some(_) => object.clone(),
            None => self.kinds.create(&self.resource, object, around),
        }
    }

    /// Returns the object that an endpoint makes of the live one and the new one.
    pub fn prepare_update(
        &self,
        endpoint: &Endpoint,
        old: &Value,
        new: &Value,
        around: &mut dyn CreateContext,
    ) -> Value {
        self.kinds.prepare_update(&self.resource, endpoint.of_kind(), old, new, around)
    }

    /// Returns what is wrong with a new object.
    pub fn validate_create(&self, object: &Value) -> Vec<Cause> {
        let mut causes = causes(&self.kinds.validate_create(&self.resource, object));
        if let Some(version) = self.version() {
            causes.extend(self::causes(&version.validate_create(object)));
        } else if self.is_definition() {
            causes.extend(self::causes(&custom::check_create(object)));
        }
        causes
    }

    /// Returns what is wrong with a changed object.
    pub fn validate_update(&self, endpoint: &Endpoint, old: &Value, new: &Value) -> Vec<Cause> {
        let (endpoint_of_kind, seen) = (endpoint.of_kind(), self.seen(Some(old)));
        let faults = self.kinds.validate_update_after(&self.resource, endpoint_of_kind, old, new, seen);
        let mut causes = causes(&faults);
        if let Some(version) = self.version() {
            causes.extend(self::causes(&version.validate_update(new, old)));
        } else if self.is_definition() && *endpoint == Endpoint::Main {
            causes.extend(self::causes(&custom::check_update(new, old)));
        }
        causes
    }

    /// Returns the fields that an endpoint takes from the live object whatever a request says.
    pub fn reset_fields(&self, endpoint: &Endpoint) -> Arc<ResetFields> {
        let kept = match endpoint {
            Endpoint::Main => &self.prepared.reset_on_main,
            Endpoint::Status => &self.prepared.reset_on_status,
            _ => return Arc::new(self.new_reset_fields(endpoint)),
        };
        kept.get_or_init(|| Arc::new(self.new_reset_fields(endpoint))).clone()
    }

    fn new_reset_fields(&self, endpoint: &Endpoint) -> ResetFields {
        if *endpoint == Endpoint::Scale {
            return ResetFields::None;
        }
        if let Some(version) = self.version() {
            let mut status = FieldSet::default();
            status.insert(&[PathElement::field("status")]);
            return match endpoint {
                Endpoint::Status => ResetFields::AllBut(status),
                Endpoint::Main if version.has_status => ResetFields::These(status),
                _ => ResetFields::None,
            };
        }
        let mut fields = FieldSet::default();
        for path in self.kinds.reset_fields(&self.resource, endpoint.of_kind()) {
            let path: Vec<PathElement> = path.into_iter().map(PathElement::Field).collect();
            fields.insert(&path);
        }
        ResetFields::These(fields)
    }

    /// Returns what the `managedFields` in the body of a write mean to ownership.
    pub fn requested_managers<'a>(&self, sent: Option<&'a Value>) -> Requested<'a> {
        if self.is_custom() { Requested::EntriesOfCustom(sent) } else { Requested::Entries(sent) }
    }

    /// Returns an object at the version of the path.
    pub fn for_reading(&self, stored: Stored) -> Result<Stored, Failure> {
        if let (Some(custom), Some(version)) = (&self.custom, self.version()) {
            let object = custom.definition.as_written(&stored.object);
            let object = custom_at(custom, &object, &version.api_version)?;
            return Ok(Stored { object, ..stored });
        }
        match self.storage_form() {
            Some(form) => {
                Ok(Stored { object: self.converted(&stored.object, &form, &self.resource)?, ..stored })
            }
            None => Ok(stored),
        }
    }

    /// Returns the form in which objects are stored, where it is not that of the path.
    fn storage_form(&self) -> Option<Arc<Resource>> {
        let form = crate::kinds::registry().storage_of(&self.resource)?;
        (form.api_version != self.resource.api_version).then(|| form.clone())
    }

    fn converted(&self, object: &Value, from: &Resource, to: &Resource) -> Result<Value, Failure> {
        self.kinds.convert(object, from, to).map_err(|why| {
            Failure::internal(format!(
                "cannot convert from {} to {}: {why}",
                from.api_version, to.api_version
            ))
        })
    }

    /// Returns an object at the version of storage.
    pub fn for_storing(&self, object: &Value) -> Result<Value, Failure> {
        self.for_storing_after(object, None)
    }

    /// Returns an object that takes the place of a live one, if there is one, at the version of storage.
    pub fn for_storing_after(&self, object: &Value, live: Option<&Value>) -> Result<Value, Failure> {
        if let Some(custom) = &self.custom {
            let (group, version) = &self.resource.storage;
            return custom_at(custom, object, &format!("{group}/{version}"));
        }
        let object = self.kinds.stored_after(&self.resource, object, self.seen(live));
        match self.storage_form() {
            Some(form) => self.converted(&object, &self.resource, &form),
            None => Ok(object),
        }
    }

    /// Returns how long an object may take to go, given what the request asks for; nothing for kinds that go at once.
    pub fn grace(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        if !(self.resource.group.is_empty() && self.resource.name == "pods") {
            return None;
        }
        let unplaced = object.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default().is_empty();
        let phase = object.at(["status", "phase"]).and_then(Value::as_str).unwrap_or_default();
        if unplaced || matches!(phase, "Succeeded" | "Failed") {
            return Some(0);
        }
        let own = object.at(["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
        Some(asked.or(own).unwrap_or(30).max(0))
    }

    /// Returns where the replicas of an object are, and what they are chosen by.
    pub fn scale_paths(&self) -> ScalePaths {
        if let Some(scale) = self.version().and_then(|version| version.scale.clone()) {
            return scale;
        }
        let path = |names: [&str; 2]| names.map(Text::new).into();
        ScalePaths {
            spec: path(["spec", "replicas"]),
            status: path(["status", "replicas"]),
            selector: path(["spec", "selector"]),
        }
    }

    /// Returns the fields by which a list can be selected, besides name and namespace.
    pub fn selectable_fields(&self) -> &[SelectableField] {
        &self.resource.selectable_fields
    }

    /// Returns an object as an item of a list: items of built-in kinds do not repeat what the list says.
    pub fn as_item(&self, object: Value) -> Value {
        match object {
            Value::Object(fields) if !self.is_custom() => {
                Value::Object(fields.without("apiVersion").without("kind"))
            }
            other => other,
        }
    }

    /// Whether the objects say who has a say in what others write.
    pub fn is_admission(&self) -> bool {
        let resource = &self.resource;
        resource.group == tenure_admission::GROUP
            && tenure_admission::CONFIGURATIONS.contains(&resource.name.as_str())
    }

    /// Returns the columns of a table.
    pub fn columns(&self) -> Value {
        if let Some(version) = self.version() {
            return version.column_definitions();
        }
        Value::array(self.kinds.table(&self.resource).columns().iter().map(Column::definition))
    }

    /// Returns an object's cells in a table.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self.version() {
            Some(version) => version.cells(object, now),
            None => self.kinds.table(&self.resource).cells(object, now),
        }
    }

    /// Checks that a body is of this kind and version; what it leaves out is filled in.
    pub fn check_kind(&self, body: &Value) -> Result<Value, Failure> {
        let fields = match body {
            Value::Object(fields) => fields.clone(),
            Value::Null => Object::default(),
            other => {
                return Err(Failure::bad_request(format!(
                    "the object provided is unrecognized (must be of type {}): expected an object, got {}",
                    self.resource.kind,
                    other.kind()
                )));
            }
        };
        for name in ["kind", "apiVersion"] {
            if let Some(other) = fields.get(name).filter(|value| !value.is_null() && value.as_str().is_none())
            {
                return Err(Failure::bad_request(format!("{name}: expected a string, got {}", other.kind())));
            }
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, version) = (text("kind"), text("apiVersion"));
        // What is kept as it came must say what it is; of a built-in kind the path is enough.
        if self.is_custom() && (kind.is_empty() || version.is_empty()) {
            let missing = if kind.is_empty() { "kind" } else { "apiVersion" };
            return Err(Failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): {missing} is missing; this path takes kind {:?} of apiVersion {:?}",
                self.resource.kind,
                self.resource.kind.as_str(),
                self.resource.api_version.as_str()
            )));
        }
        let mismatch = !kind.is_empty() && kind != self.resource.kind
            || !version.is_empty() && version != self.resource.api_version;
        if mismatch {
            let version = if version.is_empty() { &self.resource.api_version } else { version };
            let kind = if kind.is_empty() { &self.resource.kind } else { kind };
            return Err(Failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {}: this path takes {} in version {:?}",
                self.resource.kind, self.resource.kind, self.resource.api_version
            )));
        }
        let fields = if version.is_empty() {
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

    /// Returns the result of a patch as an object of this kind: what a patch says of kind and version does not count.
    pub fn with_kind(&self, patched: &Value) -> Result<Value, Failure> {
        let fields = patched.as_object().ok_or_else(|| {
            Failure::bad_request(format!("the patch makes a {} of the object", patched.kind()))
        })?;
        let fields = fields.with("apiVersion", self.resource.api_version.clone());
        Ok(Value::Object(fields.with("kind", self.resource.kind.clone())))
    }

    /// Checks that the configuration of an apply says its kind and version, and that they are those of the path.
    pub fn check_applied_kind(&self, config: &Value) -> Result<(), Failure> {
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, version) = (text("kind"), text("apiVersion"));
        if kind == self.resource.kind && version == self.resource.api_version {
            return Ok(());
        }
        Err(Failure::bad_request(format!(
            "invalid object type: {version}, Kind={kind}; this path takes apiVersion {:?} and kind {:?}",
            self.resource.api_version, self.resource.kind
        )))
    }

    /// Returns the failure for a body that cannot be read as an object of the kind.
    pub fn cannot_handle(&self, body: &Value, why: &str) -> Failure {
        let kind = body.get("kind").and_then(Value::as_str).unwrap_or(&self.resource.kind);
        let version = &self.resource.version;
        Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            self.resource.kind
        ))
    }

    /// Returns the failure for an object that breaks rules of its kind.
    pub fn invalid(&self, name: &str, causes: Vec<Cause>) -> Failure {
        Failure::invalid(&self.resource.group, &self.resource.kind, name, causes)
    }
}

/// The versions of a served kind.
pub(crate) struct ServedVersions<'a> {
    served: &'a Served,
    conversions: &'a Conversions,
    /// When the object was last written.
    written: Revision,
}

impl Versions for ServedVersions<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.served.type_at(api_version)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        if let Some(custom) = &self.served.custom {
            let known = || self.conversions.find(object, api_version);
            return match (&custom.definition.conversion, custom.definition.convert(object, api_version)) {
                (_, Some(converted)) => Ok(converted),
                (Conversion::Webhook(_), None) => known().ok_or_else(|| "the webhook is to be asked".into()),
                (Conversion::None, None) => Err(format!("there is no version {api_version}")),
            };
        }
        let written = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let form = |version: &str| {
            let mut forms = crate::kinds::registry().forms_of(&self.served.resource);
            forms.find(|form| form.api_version == version).ok_or_else(|| format!("{version} is not served"))
        };
        self.served.kinds.convert(object, form(written)?, form(api_version)?)
    }

    fn former_type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        let custom = self.served.custom.as_ref()?;
        custom.formers.at(self.written)?.kind(api_version, &custom.definition.names.kind)
    }

    fn evolves(&self) -> Evolution {
        if self.served.is_custom() { Evolution::Possible } else { Evolution::None }
    }

    fn emptied(&self) -> Emptied {
        if self.served.is_custom() { Emptied::Stays } else { Emptied::IsNull }
    }
}

/// Returns an object of a custom kind at one of its versions.
fn custom_at(custom: &CustomKind, object: &Value, api_version: &str) -> Result<Value, Failure> {
    custom.definition.convert(object, api_version).ok_or_else(|| {
        let written = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let name = &custom.definition.name;
        Failure::internal(format!("{name}: an object of {written} cannot be converted to {api_version}"))
    })
}

fn causes(errors: &[FieldError]) -> Vec<Cause> {
    errors.iter().map(FieldError::cause).collect()
}
