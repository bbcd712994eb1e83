//! Admission of the writes of this server: how a write is shown to the admission chain, and what it is afterwards.

mod cluster;

use crate::{
    Failure, FieldValidation, WriteOptions,
    catalog::handler::Endpoint,
    kinds,
    object::{Stored, bare, metadata, with_metadata},
    read::all,
    server::{Request, Server},
    subresources::scale::{scale, with_replicas},
    target::Target,
    write::{
        delete::DeleteOptions,
        pipeline::{Writing, keep_identity},
    },
};
use parking_lot::RwLock;
use std::sync::Arc;
use tenure_admission::{
    AdmissionAttributes, AdmissionChain, AdmissionConfig, AdmissionContext, CONFIGURATIONS, Complete, GROUP,
    Operation, ResourceAction, ResourceVariant, webhook_error,
};
use tenure_apply::{Managers, State};
use tenure_meta::Resource;
use tenure_store::Revision;
use tenure_value::Value;

/// The prefix of the keys under which the store keeps the configurations.
pub(crate) const CONFIGURATION_PREFIX: &str = "objects/admissionregistration.k8s.io/";

/// The admission chain and its current configuration.
pub(crate) struct AdmissionState {
    chain: AdmissionChain,
    config: RwLock<Arc<AdmissionConfig>>,
}

impl AdmissionState {
    /// Returns the state before a configuration has been read.
    pub fn new(chain: AdmissionChain) -> AdmissionState {
        AdmissionState { chain, config: RwLock::default() }
    }
}

impl Server {
    /// Compiles the stored webhook configurations and policies.
    pub(crate) async fn refresh_admission_config(&self) -> Result<(), Failure> {
        let _one_at_a_time = self.refreshing.lock().await;
        let mut objects: [Vec<Value>; 6] = Default::default();
        for (name, objects) in CONFIGURATIONS.iter().zip(&mut objects) {
            let Some(resource) = kinds::registry().find(GROUP, "v1", name) else { continue };
            let stored = all(&*self.store, resource, "").await?;
            *objects = stored.into_iter().map(|stored| stored.object).collect();
        }
        *self.admission.config.write() = Arc::new(AdmissionConfig::compile(&objects));
        Ok(())
    }

    /// Admits an object that is posted and not stored, and returns it as admission changes it, with warnings.
    pub(crate) async fn admit_posted(
        &self,
        target: &Target,
        request: &Request,
        options: &WriteOptions,
        posted: Value,
    ) -> Result<(Value, Vec<String>), Failure> {
        let admission = Admission::of(self, target, Operation::Create, &target.name, options.dry_run);
        let Some(admission) = admission else { return Ok((posted, Vec::new())) };
        let options = options_value(Operation::Create, options);
        let admission = admission.with_request(request, options, Value::Null).await?;
        let mut warnings = Vec::new();
        let posted = admission.admit(posted, &unchanged, &mut warnings).await?;
        admission.validate(posted.clone(), &mut warnings).await?;
        Ok((posted, warnings))
    }

    /// Admits the deletion of an object.
    pub(crate) async fn admit_deletion(
        &self,
        target: &Target,
        request: &Request,
        options: &DeleteOptions,
        live: &Stored,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let admission = Admission::of(self, target, Operation::Delete, &target.name, options.dry_run);
        let Some(admission) = admission else { return Ok(()) };
        let admission = admission.with_request(request, options.to_value(), live.shown()).await?;
        admission.admit(Value::Null, &unchanged, warnings).await?;
        admission.validate(Value::Null, warnings).await
    }
}

/// The admission of one write.
pub(crate) struct Admission<'a> {
    server: &'a Server,
    target: &'a Target,
    config: Arc<AdmissionConfig>,
    attributes: AdmissionAttributes,
    /// Whether a webhook or a policy matches. They are shown more than built-in plugins need.
    is_dynamic: bool,
}

impl<'a> Admission<'a> {
    /// Prepares the admission of a write; `None` if no plugin handles it.
    pub fn of(
        server: &'a Server,
        target: &'a Target,
        operation: Operation,
        name: &str,
        dry_run: bool,
    ) -> Option<Box<Admission<'a>>> {
        let resource = &target.served.resource;
        let config = server.admission.config.read().clone();
        let action = ResourceAction {
            operation,
            group: &resource.group,
            resource: &resource.name,
            subresource: &target.subresource,
        };
        if !server.admission.chain.handles(&action, &config) {
            return None;
        }
        let may_match = config.may_match(&action);
        let variants = match may_match {
            true => variants(server, resource, &target.subresource),
            false => vec![ResourceVariant::of(resource, &target.subresource)],
        };
        let attributes = AdmissionAttributes::new(
            operation,
            variants,
            (target.subresource.clone(), resource.scope),
            (target.namespace.clone(), name.into()),
            dry_run,
        );
        let is_dynamic = may_match && config.matches(&attributes);
        let is_built_in = server.admission.chain.handles(&action, &AdmissionConfig::default());
        let admission = Admission { server, target, config, attributes, is_dynamic };
        (is_dynamic || is_built_in).then(|| Box::new(admission))
    }

    /// Adds what webhooks and policies see of the request.
    async fn with_request(
        mut self: Box<Self>,
        request: &Request,
        options: Value,
        old_object: Value,
    ) -> Result<Box<Self>, Failure> {
        self.attributes.old_object = old_object;
        if !self.is_dynamic {
            return Ok(self);
        }
        self.attributes.user = self.server.caller(&request.headers).await.to_value();
        self.attributes.options = options;
        let is_new = self.attributes.operation == Operation::Create
            && self.attributes.subresource.is_empty()
            && self.target.served.resource.is_stored();
        let namespace = match is_new {
            // No webhook is called for an object whose namespace does not exist.
            true => {
                let found = self.server.namespace_for_new(self.target, &self.attributes.name).await?;
                found.map(|(_, stored)| stored.object)
            }
            false => self.server.find_builtin(("", "namespaces"), &self.target.namespace).await?,
        };
        self.attributes.namespace_object = namespace.unwrap_or_default();
        Ok(self)
    }

    /// Runs the mutating phase and returns the object afterwards.
    async fn admit(
        &self,
        object: Value,
        complete: Complete<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let mut attributes = self.attributes_of(object, warnings);
        self.server.admission.chain.admit(&mut attributes, &self.context(complete)).await?;
        *warnings = attributes.warnings;
        Ok(attributes.object)
    }

    /// Runs the validating phase.
    async fn validate(&self, object: Value, warnings: &mut Vec<String>) -> Result<(), Failure> {
        let mut attributes = self.attributes_of(object, warnings);
        self.server.admission.chain.validate(&mut attributes, &self.context(&unchanged)).await?;
        *warnings = attributes.warnings;
        Ok(())
    }

    fn attributes_of(&self, object: Value, warnings: &mut Vec<String>) -> AdmissionAttributes {
        let mut attributes = self.attributes.clone();
        (attributes.object, attributes.warnings) = (object, std::mem::take(warnings));
        attributes
    }

    fn context<'c>(&'c self, complete: Complete<'c>) -> AdmissionContext<'c> {
        AdmissionContext {
            cluster: self.server,
            config: &self.config,
            client: &self.server.webhooks,
            complete,
        }
    }
}

impl Writing<'_> {
    /// Prepares the admission of this write of a live or new object; `None` if no plugin handles it.
    pub(crate) async fn admission(
        &self,
        live: Option<&Stored>,
        name: &str,
    ) -> Result<Option<Box<Admission<'_>>>, Failure> {
        if self.skip_admission {
            return Ok(None);
        }
        let operation = if live.is_some() { Operation::Update } else { Operation::Create };
        let admission = Admission::of(self.api, self.target, operation, name, self.options.dry_run);
        let Some(admission) = admission else { return Ok(None) };
        let old = live.map_or(Value::Null, |live| {
            self.for_admission(&admission, &live.object, &live.managers, live.revision)
        });
        let options = options_value(operation, &self.options);
        Box::pin(admission.with_request(self.request, options, old)).await.map(Some)
    }

    /// Returns an object as admission sees it: built-in plugins need none of the fields that the server adds.
    fn for_admission(
        &self,
        admission: &Admission<'_>,
        object: &Value,
        managers: &Managers,
        revision: Revision,
    ) -> Value {
        if !admission.is_dynamic {
            return object.clone();
        }
        let stored = Stored { object: object.clone(), managers: managers.clone(), revision };
        match self.endpoint {
            Endpoint::Scale => scale(self.target, &stored),
            _ => stored.shown(),
        }
    }

    /// Runs the mutating phase and returns the object afterwards.
    pub(crate) async fn mutated(
        &self,
        admission: &Admission<'_>,
        state: &State,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        let object = self.for_admission(admission, &state.object, &state.managers, revision);
        if !admission.is_dynamic {
            return admission.admit(object, &unchanged, warnings).await;
        }
        if self.endpoint == Endpoint::Scale {
            let scale = admission.admit(object, &unchanged, warnings).await?;
            return with_replicas(self.target, &state.object, &scale);
        }
        let complete = |changed: &Value| {
            let body = self.unscoped(&bare(changed));
            let decoded = self.target.served.complete(&body, live.map(|live| &live.object), self.now);
            let decoded = decoded
                .map_err(|error| webhook_error(format!("admission returned an invalid object: {error}")))?;
            let object = match live {
                Some(live) => keep_identity(live, decoded.value),
                None => keep_created(&state.object, decoded.value),
            };
            Ok(self.for_admission(admission, &object, &state.managers, revision))
        };
        admission.admit(object, &complete, warnings).await.map(|object| bare(&object))
    }

    /// Runs the validating phase.
    pub(crate) async fn vetted(
        &self,
        admission: &Admission<'_>,
        object: &Value,
        managers: &Managers,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        let object = self.for_admission(admission, object, managers, revision);
        admission.validate(object, warnings).await
    }
}

/// Completes an object that the server has nothing to add to.
fn unchanged(object: &Value) -> Result<Value, Failure> {
    Ok(object.clone())
}

/// Carries over the metadata that a new object got when it was created.
fn keep_created(created: &Value, object: Value) -> Value {
    const KEPT: [&str; 4] = ["creationTimestamp", "name", "namespace", "uid"];
    let kept = metadata(created);
    let fields = KEPT.iter().fold(metadata(&object), |fields, name| match kept.get(name) {
        Some(value) => fields.with(*name, value.clone()),
        None => fields.without(name),
    });
    with_metadata(&object, fields)
}

/// Returns a resource as a request names it, followed by its other served versions.
fn variants(server: &Server, resource: &Resource, subresource: &str) -> Vec<ResourceVariant> {
    let requested = ResourceVariant::of(resource, subresource);
    let catalog = server.catalog();
    let same =
        |of: &&Arc<Resource>| of.is_stored() && of.storage == resource.storage && of.name == resource.name;
    let others = catalog.registry.resources().iter().filter(same);
    let others = others.map(|of| ResourceVariant::of(of, subresource)).filter(|of| *of != requested);
    let others: Vec<ResourceVariant> = others.collect();
    std::iter::once(requested).chain(others).collect()
}

/// Returns the options of a write as a document.
fn options_value(operation: Operation, options: &WriteOptions) -> Value {
    let kind = if operation == Operation::Create { "CreateOptions" } else { "UpdateOptions" };
    let mut fields = vec![("kind", Value::from(kind)), ("apiVersion", Value::from("meta.k8s.io/v1"))];
    if options.dry_run {
        fields.push(("dryRun", Value::array([Value::from("All")])));
    }
    if let Some(manager) = &options.manager {
        fields.push(("fieldManager", Value::from(manager.clone())));
    }
    let validation = match options.validation {
        FieldValidation::Strict => Some("Strict"),
        FieldValidation::Ignore => Some("Ignore"),
        FieldValidation::Warn => None,
    };
    fields.extend(validation.map(|word| ("fieldValidation", Value::from(word))));
    Value::object(fields)
}
