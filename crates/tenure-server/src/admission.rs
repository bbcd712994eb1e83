//! The admission chain of this server with its current configuration, and the review of one action.

use memchr::memmem::{self, Finder};
use parking_lot::RwLock;
use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::Instant,
};
pub(crate) use tenure_admission::Operation;
use tenure_admission::{
    AdmissionAttributes, AdmissionChain, AdmissionConfig, AdmissionContext, CONFIGURATIONS, Complete, GROUP,
    ResourceAction, ResourceVariant, resource_quota::QuotaConfig,
};
use tenure_audit::AuditContext;
use tenure_authorization::Authorizer;
use tenure_builtin::{self, role::NAMESPACES};
use tenure_catalog::{
    Objects, Target,
    object::{key, meta_text},
    read_all_objects,
};
use tenure_crd::rules::{Decide, Decision};
use tenure_http::{REQUEST_TIME, Request};
use tenure_meta::{ApiError, GroupVersionResource, Resource};
use tenure_value::Value;

/// The prefix of the keys of configurations in the store.
pub(crate) const CONFIGURATION_PREFIX: &str = "objects/admissionregistration.k8s.io/";

/// The plugin that refuses new objects in namespaces that do not exist or terminate.
pub(crate) const NAMESPACE_LIFECYCLE: &str = "NamespaceLifecycle";

/// The plugins that can change or refuse a request.
pub(crate) struct Admission {
    objects: Arc<Objects>,
    authorizer: Arc<Authorizer>,
    chain: Arc<AdmissionChain>,
    /// What is configured, with the manifests as they were when it was last used.
    config: RwLock<Arc<AdmissionConfig>>,
    /// Held while configurations are read, so that an older state does not replace a newer one.
    refreshing: tokio::sync::Mutex<()>,
}

impl Admission {
    /// Returns the admission of a server that is about to start. Webhooks and policies are known once [`refresh`](Self::refresh) has read
    /// them: what the server writes for itself before that does not depend on them, so that a webhook that cannot be reached does not
    /// keep it from starting.
    pub fn new(objects: Arc<Objects>, authorizer: Arc<Authorizer>, chain: AdmissionChain) -> Arc<Admission> {
        let (config, refreshing) = (RwLock::default(), Default::default());
        Arc::new(Admission { objects, authorizer, chain: Arc::new(chain), config, refreshing })
    }

    /// Returns the admission of a fork, with the same configuration until that of the fork changes.
    pub fn fork(&self, objects: Arc<Objects>, authorizer: Arc<Authorizer>) -> Arc<Admission> {
        let config = RwLock::new(self.config.read().clone());
        let (chain, refreshing) = (self.chain.clone(), Default::default());
        Arc::new(Admission { objects, authorizer, chain, config, refreshing })
    }

    /// Returns what the plugins have counted, in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.chain.metrics()
    }

    /// Resets the counters of the plugins.
    pub fn reset_metrics(&self) {
        self.chain.reset_metrics();
    }

    /// Compiles the stored webhook configurations and policies.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        let _one_at_a_time = self.refreshing.lock().await;
        let mut objects: [Vec<Value>; 6] = Default::default();
        for (name, objects) in CONFIGURATIONS.iter().zip(&mut objects) {
            let Some(resource) = tenure_builtin::registry().find(GROUP, "v1", name) else { continue };
            let stored = read_all_objects(&*self.objects.store, resource, "").await?;
            *objects = stored.into_iter().map(|stored| stored.object).collect();
        }
        let version = self.objects.catalog.profile().version();
        let config = tenure_http::offload::compute(|| AdmissionConfig::compile(&objects, version));
        *self.config.write() = Arc::new(config);
        Ok(())
    }

    /// Returns the webhooks and policies that are configured now, by the API and by manifests.
    fn config(&self) -> Arc<AdmissionConfig> {
        let config = self.config.read().clone();
        let Some(manifests) = self.chain.manifests() else { return config };
        let manifests = manifests.config();
        if config.has_manifests(&manifests) {
            return config;
        }
        let mut config = self.config.write();
        *config = Arc::new(config.with_manifests(&manifests));
        config.clone()
    }

    /// Whether a plugin runs, by its name.
    pub fn runs_plugin(&self, name: &str) -> bool {
        self.chain.runs(name)
    }

    /// Whether writes are charged to the quotas of their namespaces.
    pub fn charges_quotas(&self) -> bool {
        self.chain.charges_quotas()
    }

    /// Returns which resources may be used only where a quota covers them.
    pub fn quotas(&self) -> &QuotaConfig {
        self.chain.quotas()
    }

    /// Whether a namespace has labels with a prefix, as far as this server knows.
    fn has_labels(&self, namespace: &str, prefix: &'static str) -> bool {
        // Only one plugin looks for a prefix, and preparing the search takes longer than the search.
        static FINDER: OnceLock<Finder<'static>> = OnceLock::new();
        static NAMESPACE: LazyLock<Option<&Resource>> = LazyLock::new(|| {
            let GroupVersionResource { group, version, resource: namespaces } = NAMESPACES;
            tenure_builtin::registry().find(group, version, namespaces).map(|resource| &**resource)
        });
        let Some(resource) = *NAMESPACE else { return true };
        match self.objects.store.peek(key(resource, "", namespace).as_bytes()) {
            Ok(Some(entry)) => {
                let (text, finder) = (entry.value.bytes(), FINDER.get_or_init(|| Finder::new(prefix)));
                match finder.needle() == prefix.as_bytes() {
                    true => finder.find(&text).is_some(),
                    false => memmem::find(&text, prefix.as_bytes()).is_some(),
                }
            }
            _ => true,
        }
    }

    /// Whether a webhook or a policy may match an action: a quick negative for most writes.
    pub fn may_match(&self, target: &Target, operation: Operation) -> bool {
        let resource = &target.handler.resource;
        let action = ResourceAction {
            operation,
            group: &resource.group,
            resource: &resource.name,
            subresource: &target.subresource,
        };
        self.config().may_match(&action)
    }

    /// Starts the review of an action; `None` if no plugin handles it.
    pub fn review<'a>(
        &'a self,
        target: &'a Target,
        operation: Operation,
        name: &str,
        dry_run: bool,
    ) -> Option<Box<Review<'a>>> {
        let resource = &target.handler.resource;
        let config = self.config();
        let action = ResourceAction {
            operation,
            group: &resource.group,
            resource: &resource.name,
            subresource: &target.subresource,
        };
        let has_labels = |prefix: &'static str| self.has_labels(&target.namespace, prefix);
        if !self.chain.handles_in_namespace(&action, &config, has_labels) {
            return None;
        }
        let may_match = config.may_match(&action);
        let variants = match may_match {
            true => self.variants(resource, &target.subresource),
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
        let is_built_in = self.chain.handles_in_namespace(&action, &AdmissionConfig::default(), has_labels);
        let decide: Arc<Decide> = Arc::new(|_| Decision::default());
        let (audit, deadline) = (AuditContext::default(), Instant::now() + REQUEST_TIME);
        let review =
            Review { admission: self, target, config, attributes, decide, audit, deadline, is_dynamic };
        (is_dynamic || is_built_in).then(|| Box::new(review))
    }

    /// Returns a resource as a request names it, followed by its other served versions.
    fn variants(&self, resource: &Resource, subresource: &str) -> Vec<ResourceVariant> {
        let requested = ResourceVariant::of(resource, subresource);
        let snapshot = self.objects.catalog.snapshot();
        let others = snapshot.versions_of(&resource.storage.0, &resource.name);
        let others = others
            .map(|handler| ResourceVariant::of(&handler.resource, subresource))
            .filter(|variant| *variant != requested);
        let others: Vec<ResourceVariant> = others.collect();
        std::iter::once(requested).chain(others).collect()
    }
}

/// The review of one action.
pub(crate) struct Review<'a> {
    admission: &'a Admission,
    target: &'a Target,
    config: Arc<AdmissionConfig>,
    attributes: AdmissionAttributes,
    /// Decides what the client may do; nothing before the request is known.
    decide: Arc<Decide>,
    /// The audit event of the request.
    audit: AuditContext,
    /// When the request must be answered.
    deadline: Instant,
    /// Whether a webhook or a policy matches. They are shown more than built-in plugins need.
    pub is_dynamic: bool,
}

impl Review<'_> {
    /// Adds what webhooks and policies see of the request.
    pub async fn with_request(
        mut self: Box<Self>,
        request: &Request,
        options: Value,
        old_object: Value,
    ) -> Result<Box<Self>, ApiError> {
        self.attributes.old_object = old_object;
        self.decide = self.admission.authorizer.decide_for(&request.user);
        self.audit = request.audit.clone();
        self.attributes.user = request.user.to_value();
        self.deadline = request.deadline;
        if !self.is_dynamic {
            return Ok(self);
        }
        let Admission { objects, .. } = self.admission;
        self.attributes.options = options;
        let is_new = self.attributes.operation == Operation::Create
            && self.attributes.subresource.is_empty()
            && self.target.handler.resource.is_stored()
            && self.admission.runs_plugin(NAMESPACE_LIFECYCLE);
        let namespace = match is_new {
            // No webhook is called for an object whose namespace does not exist.
            true => {
                let found = objects.namespace_of_new(self.target, &self.attributes.name).await?;
                found.map(|(_, entry)| objects.decode(&entry).map(|stored| stored.object)).transpose()?
            }
            false => {
                let GroupVersionResource { group, resource: namespaces, .. } = NAMESPACES;
                objects.find_builtin((group, namespaces), &self.target.namespace).await?
            }
        };
        self.attributes.namespace_object = namespace.unwrap_or_default();
        Ok(self)
    }

    /// Runs the mutating phase; returns the object afterwards.
    pub async fn admit(
        &self,
        object: Value,
        complete: Complete<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        let mut attributes = self.attributes_of(object, warnings);
        let admitted = self.admission.chain.admit(&mut attributes, &self.context(complete)).await;
        self.audit.annotate(std::mem::take(&mut attributes.audit_annotations));
        // A request that is refused is warned as well.
        *warnings = attributes.warnings;
        admitted.map(|()| attributes.object)
    }

    /// Runs the validating phase.
    pub async fn validate(&self, object: Value, warnings: &mut Vec<String>) -> Result<(), ApiError> {
        let mut attributes = self.attributes_of(object, warnings);
        let valid = self.admission.chain.validate(&mut attributes, &self.context(&unchanged)).await;
        self.audit.annotate(std::mem::take(&mut attributes.audit_annotations));
        *warnings = attributes.warnings;
        valid
    }

    fn attributes_of(&self, object: Value, warnings: &mut Vec<String>) -> AdmissionAttributes {
        let mut attributes = self.attributes.clone();
        (attributes.object, attributes.warnings) = (object, std::mem::take(warnings));
        if attributes.name.is_empty() && attributes.operation == Operation::Create {
            attributes.name = meta_text(&attributes.object, "name").into();
        }
        attributes
    }

    fn context<'c>(&'c self, complete: Complete<'c>) -> AdmissionContext<'c> {
        let objects = &*self.admission.objects;
        AdmissionContext {
            cluster: objects,
            config: &self.config,
            client: &objects.webhooks,
            complete,
            decide: &self.decide,
            deadline: self.deadline,
        }
    }
}

/// Completes an object that the server has nothing to add to.
pub(crate) fn unchanged(object: &Value) -> Result<Value, ApiError> {
    Ok(object.clone())
}
