//! Controllers: what happens to objects after a request. A namespace that is deleted loses its content, objects whose owners are
//! gone are collected, a definition that is deleted takes its objects with it, namespaces get their default objects, and quotas are counted.
//!
//! One task follows the history of the store and starts what is due, many pieces of work at a time. It learns everything from
//! the store, so that a restart loses nothing, and does everything with compare-and-swap, so that several servers over one
//! store do no harm.

mod aggregation;
mod checkpoint;
mod custom_resources;
mod default_objects;
mod delays;
mod events;
mod garbage_collection;
mod namespaces;
mod quotas;
mod removal;
mod service_cidrs;
mod storage_migration;

use crate::{admission::CONFIGURATION_PREFIX, write::Writer};
pub(crate) use checkpoint::Checkpoint;
use checkpoint::Knowledge;
pub(crate) use default_objects::{DefaultObjects, create_default_objects};
pub use delays::ControllerDelays;
use parking_lot::{Mutex, MutexGuard};
use removal::{DELETION_MARK, OWNERS, key_text};
pub(crate) use service_cidrs::create_default as create_default_service_cidr;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tenure_authorization::RBAC_PREFIX;
use tenure_catalog::{
    DEFINITIONS_PREFIX, WorkQueue,
    object::{OBJECTS, Stored, meta_text},
    owner_graph::OwnerGraph,
};
use tenure_http::AdmissionReview;
use tenure_meta::ApiError;
use tenure_store::{Entry, KeyChange, ListRequest, Revision, Signal, Watch, WatchRequest};
use tenure_value::Text;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

/// How many pieces of work are under way at once: enough to share the commits of the store.
const CONCURRENCY: usize = 64;
/// How often a server looks whether there is little to do, in which case it gives back memory.
const LOOK: Duration = Duration::from_secs(2);
/// The most transactions between two looks that are little.
const FEW: u64 = 40;
/// How many looks it takes, while there is little to do, until encoded objects that were not read are dropped.
const ENCODED_LOOKS: u32 = 3;
/// How many looks it takes until cached responses that were not read are dropped.
const IDLE_LOOKS: u32 = 30;
/// Controllers are not idle while work is due this soon: most work that is retried succeeds within a few attempts.
const SOON: Duration = Duration::from_millis(50);
/// How often a standby server checks whether it has become the leader.
const STAND_BY: Duration = Duration::from_secs(1);

/// Which of the controllers run that Kubernetes has in a process of its own. Suites that were written for an API server alone
/// may rely on their absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controllers {
    /// Whether dependents whose owners are gone are deleted, and owners that are deleted wait for their dependents.
    pub garbage_collection: bool,
    /// Whether namespaces that are deleted lose their content and then go.
    pub namespaces: bool,
    /// Whether ServiceCIDRs get their finalizer and condition, and wait for services when they are deleted.
    pub service_cidrs: bool,
}

/// All of them.
impl Default for Controllers {
    fn default() -> Controllers {
        Controllers { garbage_collection: true, namespaces: true, service_cidrs: true }
    }
}

/// What the controllers of a server do, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControllerOptions {
    pub controllers: Controllers,
    pub delays: ControllerDelays,
    /// How long events are kept after their last write; `None` to keep them.
    pub event_ttl: Option<Duration>,
}

/// Those who wait until the controllers have nothing to do. They are sent the revision up to which everything is done.
pub(crate) type Idlers = mpsc::UnboundedReceiver<oneshot::Sender<Revision>>;

impl Controllers {
    fn do_work(self, work: &Work) -> bool {
        match work {
            Work::Namespace(_) => self.namespaces,
            Work::Waiting(_) | Work::Owned(_) => self.garbage_collection,
            Work::ServiceCidrs => self.service_cidrs,
            _ => true,
        }
    }
}

/// Something to do about an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Work {
    /// Remove the content of a namespace, and then the namespace.
    Namespace(Text),
    /// Remove the objects of a definition, and then the definition.
    Definition(Text),
    /// Check whether an object waits for its dependents, and whether they are gone.
    Waiting(String),
    /// Check whether the owners of an object still exist.
    Owned(String),
    /// Count what a quota limits.
    Quota(String),
    /// Collect the rules of aggregated cluster roles.
    AggregatedRoles,
    /// Give a namespace its default objects.
    DefaultObjects(Text),
    /// Create the default ServiceCIDR.
    DefaultServiceCidr,
    /// Protect all ServiceCIDRs, and release those that no service needs.
    ServiceCidrs,
    /// Restore the IPAddresses of a service, given by its key.
    Addresses(String),
    /// Write the objects of a resource at their storage version, as a StorageVersionMigration asks for.
    Migration(Text),
}

/// Collects the rules of aggregated cluster roles.
pub(crate) async fn aggregate_roles(writer: &Writer) -> Result<(), ApiError> {
    aggregation::aggregate(writer).await?;
    Ok(())
}

/// Starts the controllers; they run until the server stops.
pub(crate) fn start(
    writer: Arc<Writer>,
    defaults: Arc<DefaultObjects>,
    options: ControllerOptions,
    checkpoint: Arc<Checkpoint>,
    mut idlers: Idlers,
    mut stopping: tokio::sync::watch::Receiver<bool>,
) {
    tokio::spawn(async move {
        let expire = async {
            match options.event_ttl {
                Some(ttl) => events::expire(&writer, ttl).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = run(&writer, &defaults, options, &checkpoint, &mut idlers) => {}
            () = drop_idle(&writer) => {}
            () = expire => {}
            _ = stopping.changed() => {}
        }
    });
}

async fn drop_idle(writer: &Writer) {
    let store = &writer.objects.store;
    let mut known = store.known();
    for look in 1u32.. {
        sleep(LOOK).await;
        let before = std::mem::replace(&mut known, store.known());
        if known.get().saturating_sub(before.get()) < FEW {
            while store.pack() {
                tokio::task::yield_now().await;
            }
            writer.objects.drop_unread();
            if look.is_multiple_of(ENCODED_LOOKS) {
                writer.reader.drop_unread_objects();
            }
        }
        if look.is_multiple_of(IDLE_LOOKS) {
            writer.reader.drop_unread();
        }
    }
}

async fn run(
    writer: &Arc<Writer>,
    defaults: &Arc<DefaultObjects>,
    options: ControllerOptions,
    checkpoint: &Checkpoint,
    idlers: &mut Idlers,
) {
    loop {
        // Whatever ends this, an error of the store or a compacted history, a restart begins with the current state.
        let followed = Lifecycle::new(writer, defaults, options).follow(checkpoint, idlers).await;
        if let Err(failure) = followed {
            tracing::warn!(%failure, "lifecycle controller restarting");
        }
        sleep(options.delays.retry.0).await;
    }
}

struct Lifecycle {
    context: Arc<ControllerContext>,
    options: ControllerOptions,
    queue: WorkQueue<Work>,
    under_way: JoinSet<(Work, Result<Outcome, ApiError>)>,
    /// Since when deletions have been postponed.
    since: HashMap<Work, Instant>,
    /// The next pause of work that is retried.
    pauses: HashMap<Work, Duration>,
}

/// What the controllers share.
struct ControllerContext {
    writer: Arc<Writer>,
    defaults: Arc<DefaultObjects>,
    owners: Mutex<OwnerGraph>,
}

impl ControllerContext {
    fn owners(&self) -> MutexGuard<'_, OwnerGraph> {
        self.owners.lock()
    }
}

impl Lifecycle {
    fn new(writer: &Arc<Writer>, defaults: &Arc<DefaultObjects>, options: ControllerOptions) -> Lifecycle {
        let (writer, defaults) = (writer.clone(), defaults.clone());
        Lifecycle {
            context: Arc::new(ControllerContext { writer, defaults, owners: Mutex::default() }),
            options,
            queue: WorkQueue::default(),
            under_way: JoinSet::new(),
            since: HashMap::new(),
            pauses: HashMap::new(),
        }
    }

    async fn follow(&mut self, checkpoint: &Checkpoint, idlers: &mut Idlers) -> Result<(), ApiError> {
        let writer = self.context.writer.clone();
        let (store, catalog) = (&writer.objects.store, &writer.objects.catalog);
        let mut watch = match self.resume(checkpoint).await {
            Some(watch) => watch,
            None => {
                let after = self.everything().await?;
                // Changes of definitions or of admission may have been missed.
                catalog.refresh().await?;
                writer.admission.refresh().await?;
                store.watch(WatchRequest::prefix(OBJECTS).after(after)).await?
            }
        };
        let mut idle: Vec<oneshot::Sender<Revision>> = Vec::new();
        loop {
            // Of the servers that share a store the leader does the work.
            let leads = store.leads();
            while leads
                && self.queue.running() < CONCURRENCY
                && let Some(work) = self.queue.take(Instant::now())
            {
                self.since.remove(&work);
                self.under_way.spawn(carry_out(self.context.clone(), work));
            }
            let next = self.queue.next().filter(|_| self.queue.running() < CONCURRENCY);
            let next = if leads { next } else { Some(Instant::now() + STAND_BY) };
            let is_soon = self.queue.next().is_some_and(|at| at <= Instant::now() + SOON);
            if !idle.is_empty() && self.queue.running() == 0 && !is_soon && watch.progress() >= store.known()
            {
                let revision = watch.progress();
                checkpoint.set(self.knowledge(revision));
                // The receiver may be gone.
                idle.drain(..).for_each(|idler| _ = idler.send(revision));
            }
            tokio::select! {
                signal = watch.next() => if let Signal::Changes(changes) = signal? {
                    for change in &changes {
                        self.see(change);
                    }
                    // Another server may have made the change.
                    let is_definition = |change: &&KeyChange| change.key.starts_with(DEFINITIONS_PREFIX.as_bytes());
                    for change in changes.iter().filter(is_definition) {
                        if !catalog.has_seen(change) {
                            catalog.refresh_key(&change.key).await?;
                        }
                    }
                    if changes.iter().any(|change| change.key.starts_with(CONFIGURATION_PREFIX.as_bytes())) {
                        writer.admission.refresh().await?;
                    }
                    let roles = changes.iter().filter(|change| change.key.starts_with(RBAC_PREFIX.as_bytes()));
                    roles.clone().try_for_each(|change| writer.authorizer.refresh_key(&change.key))?;
                    if roles.clone().any(|change| aggregation::concerns(&change.key)) {
                        self.plan(Work::AggregatedRoles, Duration::ZERO);
                    }
                },
                Some(idler) = idlers.recv() => idle.push(idler),
                Some(ended) = self.under_way.join_next() => match ended {
                    Ok((work, outcome)) => self.end(work, outcome),
                    Err(error) => return Err(ApiError::internal(format!("controller work panicked: {error}"))),
                },
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Returns what is known when everything up to a revision is done that is due.
    fn knowledge(&self, revision: Revision) -> Knowledge {
        let planned = self.queue.planned().map(|(work, at)| (work.clone(), at)).collect();
        Knowledge { revision, owners: self.context.owners().clone(), planned }
    }

    /// Continues from a checkpoint and returns the changes since; `None` if there is none, or if they are not known any more.
    async fn resume(&mut self, checkpoint: &Checkpoint) -> Option<Watch> {
        let knowledge = checkpoint.get()?;
        let request = WatchRequest::prefix(OBJECTS).after(knowledge.revision);
        let watch = self.context.writer.objects.store.watch(request).await.ok()?;
        *self.context.owners() = knowledge.owners.clone();
        for (work, at) in &knowledge.planned {
            self.queue.plan(work.clone(), *at);
        }
        Some(watch)
    }

    /// Reads all objects once, and returns the revision they were read at.
    async fn everything(&mut self) -> Result<Revision, ApiError> {
        let listing = self.context.writer.objects.store.list(ListRequest::prefix(OBJECTS)).await?;
        for entry in &listing.entries {
            self.look_at(entry);
        }
        self.plan(Work::DefaultServiceCidr, Duration::ZERO);
        Ok(listing.revision)
    }

    /// Records a change.
    fn see(&mut self, change: &KeyChange) {
        match &change.current {
            Some(entry) => self.look_at(entry),
            None => self.see_deleted(change),
        }
    }

    /// Records a deletion: work that waited for it continues.
    fn see_deleted(&mut self, change: &KeyChange) {
        let key = key_text(&change.key);
        let namespace = self.context.defaults.namespace_of_deleted(&key).map(Text::from);
        self.plan_defaults(namespace);
        self.context.owners().forget(&key);
        self.since.remove(&Work::Waiting(key.clone()));
        if key.starts_with(service_cidrs::PREFIX) {
            self.plan(Work::DefaultServiceCidr, Duration::ZERO);
        }
        for work in contained_in(&key) {
            if self.pauses.contains_key(&work) {
                self.plan(work, self.options.delays.gather);
            }
        }
        let previous = change.previous.as_ref().and_then(|entry| Stored::read(entry).ok());
        let Some(previous) = previous else { return };
        if key.starts_with(service_cidrs::ADDRESSES)
            && let Some(service) = crate::services::parent_service(&previous.object)
        {
            self.plan(Work::Addresses(service), Duration::ZERO);
        }
        let dependents = self.context.owners().of(meta_text(&previous.object, "uid"));
        for dependent in dependents {
            self.plan(Work::Owned(dependent), Duration::ZERO);
        }
        for owner in
            garbage_collection::waiting_owners(&self.context.writer.objects.catalog, &previous.object)
        {
            self.plan(Work::Waiting(owner), self.options.delays.gather);
        }
    }

    /// Records the owners and the deletion mark of an object. Most objects have neither and are not decoded.
    fn look_at(&mut self, entry: &Entry) {
        let key = key_text(&entry.key);
        let namespace = self.context.defaults.namespace_of_changed(&key).map(Text::from);
        self.plan_defaults(namespace);
        if key.starts_with(service_cidrs::PREFIX) {
            self.plan(Work::ServiceCidrs, Duration::ZERO);
        }
        if let Some(name) = key.strip_prefix(storage_migration::PREFIX) {
            self.plan(Work::Migration(name.into()), Duration::ZERO);
        }
        if key.starts_with(quotas::PREFIX) {
            self.plan(Work::Quota(key.clone()), quotas::due(entry));
        }
        let value = entry.value.bytes();
        let owned = OWNERS.find(&value).is_some();
        let going = DELETION_MARK.find(&value).is_some();
        if !owned {
            self.context.owners().forget(&key);
        }
        if !owned && !going {
            return;
        }
        let Ok(stored) = Stored::read(entry) else { return };
        if owned {
            self.context.owners().learn(&key, &stored.object);
            self.plan(Work::Owned(key.clone()), self.options.delays.settle);
        }
        if stored.object.at(["metadata", "deletionTimestamp"]).is_some() {
            if let Some(name) = key.strip_prefix(namespaces::PREFIX) {
                self.await_quiet(Work::Namespace(name.into()));
            } else if let Some(name) = key.strip_prefix(DEFINITIONS_PREFIX) {
                self.await_quiet(Work::Definition(name.into()));
            } else if owned {
                // Its owner is probably being deleted and waits for it.
                self.plan(Work::Waiting(key), Duration::ZERO);
            } else {
                self.await_quiet(Work::Waiting(key));
            }
        }
    }

    /// Plans the deletion of an object that has just been written for when it has not been written for a while.
    fn await_quiet(&mut self, work: Work) {
        if !self.options.controllers.do_work(&work) {
            return;
        }
        let now = Instant::now();
        let since = *self.since.entry(work.clone()).or_insert(now);
        let delays = self.options.delays;
        let at = (now + delays.quiet).min(since + delays.longest_quiet);
        self.queue.plan(work.clone(), at);
        self.queue.postpone(&work, at);
    }

    /// Plans a check of the default objects of a namespace.
    fn plan_defaults(&mut self, namespace: Option<Text>) {
        if let Some(namespace) = namespace {
            self.plan(Work::DefaultObjects(namespace), Duration::ZERO);
        }
    }

    fn plan(&mut self, work: Work, after: Duration) {
        if self.options.controllers.do_work(&work) {
            self.queue.plan(work, Instant::now() + after);
        }
    }

    fn end(&mut self, work: Work, outcome: Result<Outcome, ApiError>) {
        if let Ok(Outcome::Done) = outcome {
            self.pauses.remove(&work);
            return self.queue.end(work, None);
        }
        if let Err(failure) = outcome {
            tracing::warn!(%failure, ?work, "work failed, retrying");
        }
        let pause = self.pauses.entry(work.clone()).or_insert(self.options.delays.retry.0);
        let again = Instant::now() + *pause;
        *pause = self.options.delays.retry.1.min(*pause * 2);
        self.queue.end(work, Some(again));
    }
}

async fn carry_out(context: Arc<ControllerContext>, work: Work) -> (Work, Result<Outcome, ApiError>) {
    let outcome = match &work {
        Work::Namespace(name) => namespaces::remove(&context.writer, name).await,
        Work::Definition(name) => custom_resources::remove(&context.writer, name).await,
        Work::Waiting(key) => garbage_collection::release(&context, key).await,
        Work::Owned(key) => garbage_collection::collect(&context, key).await,
        Work::Quota(key) => quotas::count(&context.writer, key).await,
        Work::AggregatedRoles => aggregation::aggregate(&context.writer).await,
        Work::DefaultObjects(name) => {
            let reviewed = AdmissionReview::Required;
            default_objects::apply(&context.writer, &context.defaults, name, reviewed).await
        }
        Work::DefaultServiceCidr => {
            let networks = context.defaults.service_networks;
            service_cidrs::create_default(&context.writer, networks).await.map(|()| Outcome::Done)
        }
        Work::ServiceCidrs => service_cidrs::protect(&context.writer).await,
        Work::Addresses(service) => service_cidrs::restore_addresses(&context.writer, service).await,
        Work::Migration(name) => storage_migration::migrate(&context.writer, name).await,
    };
    (work, outcome)
}

/// Returns the work that may wait for the deletion of an object.
fn contained_in(key: &str) -> Vec<Work> {
    let mut segments = key.strip_prefix(OBJECTS).unwrap_or_default().split('/');
    let (Some(group), Some(resource)) = (segments.next(), segments.next()) else { return Vec::new() };
    let mut works = vec![Work::Definition(format!("{resource}.{group}").into())];
    if key.starts_with(service_cidrs::ADDRESSES) || key.starts_with(service_cidrs::PREFIX) {
        works.push(Work::ServiceCidrs);
    }
    if let (Some(namespace), Some(_)) = (segments.next(), segments.next()) {
        works.push(Work::Namespace(namespace.into()));
    }
    works
}

/// The result of a piece of work.
enum Outcome {
    Done,
    /// It has to wait for something else.
    Later,
}
