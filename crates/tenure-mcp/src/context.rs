//! What the tools work with: the cluster, the limits, the plans of this server, and what the program around it provides.

use crate::{
    arguments::Reference,
    audit::AuditLog,
    guard::Guard,
    plans::Plans,
    quota::Quota,
    reply::{Failure, Reason},
    text::quoted,
};
use futures::future::BoxFuture;
use std::sync::Arc;
use tenure_apply::Timestamp;
use tenure_client::{Approvals, Cluster, Found, Resource};
use tenure_ownership::{AppliedPlan, LiveObject};
use tenure_schema::TypeRef;
use tenure_value::Value;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// The report of a rehearsal, or why there is none.
pub type RehearsalFuture<'a> = BoxFuture<'a, Result<Value, String>>;

/// Applies manifests to a copy of what they touch.
pub trait Rehearsal: Send + Sync {
    /// Rehearses an apply by a manager and returns its report.
    fn rehearse<'a>(
        &'a self,
        manifests: Vec<Value>,
        manager: String,
        cluster: &'a Cluster,
    ) -> RehearsalFuture<'a>;
}

/// Keeps what undoes a plan that was carried out, for people.
pub type KeepUndo = Box<dyn Fn(&AppliedPlan) -> std::io::Result<()> + Send + Sync>;

/// What the tools work with.
pub struct Context {
    /// The cluster.
    pub cluster: Cluster,
    /// The limits.
    pub guard: Guard,
    /// Where plans wait for a person; `None` if plans need no approval.
    pub approvals: Option<Approvals>,
    /// How much is changed in a minute; `None` if that is not limited.
    pub quota: Option<Quota>,
    /// The log of calls.
    pub audit: Option<AuditLog>,
    /// How manifests are rehearsed.
    pub rehearsal: Option<Box<dyn Rehearsal>>,
    /// How undos are kept for people.
    pub keep_undo: Option<KeepUndo>,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// Whether results are repeated as text, for clients that read nothing else.
    pub full_text: bool,
    /// The plans of this server.
    pub(crate) plans: Plans,
    /// Held for reading by every plan that is being carried out.
    writes: Arc<RwLock<()>>,
}

impl Context {
    /// Returns the context of a cluster, with the default limits.
    pub fn new(cluster: Cluster, clock: fn() -> Timestamp) -> Context {
        Context {
            cluster,
            guard: Guard::default(),
            approvals: None,
            quota: None,
            audit: None,
            rehearsal: None,
            keep_undo: None,
            clock,
            full_text: false,
            plans: Plans::default(),
            writes: Arc::default(),
        }
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Says that a plan is being carried out, until the result is dropped.
    pub(crate) async fn running(&self) -> OwnedRwLockReadGuard<()> {
        self.writes.clone().read_owned().await
    }

    /// Waits until no plan is being carried out.
    pub(crate) async fn at_rest(&self) {
        drop(self.writes.write().await);
    }

    /// Finds the kind and the namespace of an object that may be used.
    pub(crate) async fn place(&self, reference: &Reference) -> Result<(Resource, String), Failure> {
        let resource = self.cluster.kind_named(&reference.kind).await?;
        let namespace = match (&reference.namespace, resource.is_namespaced()) {
            (_, false) => String::new(),
            (Some(namespace), true) => namespace.clone(),
            (None, true) => self.cluster.namespace.clone(),
        };
        self.guard.check(&resource, &namespace)?;
        Ok((resource, namespace))
    }

    /// Reads an object that may be used.
    pub(crate) async fn find(&self, reference: &Reference) -> Result<Found, Failure> {
        let (resource, namespace) = self.place(reference).await?;
        let shown = self.cluster.find(&resource.path(&namespace, &reference.name)).await?;
        let shown = shown.ok_or_else(|| {
            let place =
                if namespace.is_empty() { String::new() } else { format!(" in {}", quoted(&namespace)) };
            let message = format!("there is no {} {}{place}", resource.word(), quoted(&reference.name));
            Failure::new(Reason::NotFound, message).at("name").suggest("list shows the names")
        })?;
        Ok(Found { resource, shown })
    }

    /// Reads an object as it may be shown, with its type.
    pub(crate) async fn live(
        &self,
        reference: &Reference,
    ) -> Result<(Found, LiveObject, TypeRef<'static>), Failure> {
        let found = self.find(reference).await?;
        let live = crate::secrets::shown(found.read()?, &found.resource, &self.guard);
        let ty = self.type_of(&found.resource).await?;
        Ok((found, live, ty))
    }

    /// Returns the type of a kind.
    pub(crate) async fn type_of(&self, resource: &Resource) -> Result<TypeRef<'static>, Failure> {
        Ok(self.cluster.type_of(&resource.api_version(), &resource.kind).await?)
    }
}
