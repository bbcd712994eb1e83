//! What happens to objects after a request has been answered: a namespace that is being deleted loses its content and
//! then itself, and objects whose owners are gone follow them. One task reads the store's history and starts what is
//! due, many pieces at a time; everything it knows can be told anew from the store, so a restart loses nothing, and
//! whatever is done is done by compare-and-swap, so that two servers over one store do no harm.

mod custom_resources;
mod default_objects;
mod garbage_collection;
mod namespaces;
mod owner_graph;
mod work_queue;

use crate::{
    Failure, Query, admission,
    kinds::{
        Scope,
        scalar::{Timestamp, time::Precision},
    },
    object::{Stored, encode, key, meta_text},
    server::{Request, Server},
    target::{Target, Verb},
    write::{
        allocate::Claims,
        delete::{self, DeleteOptions, is_finished},
    },
};
pub(crate) use default_objects::Furniture;
use owner_graph::Dependents;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tenure_store::{
    Change, Entry, Error, Expected, ListRequest, Revision, Signal, Transaction, WatchRequest,
};
use tenure_value::{Text, Value};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use work_queue::WorkQueue;

/// How long nobody must have written an object that waits for its end until that is brought about: clients see the
/// state they made, and may change their minds.
const QUIET: Duration = Duration::from_millis(500);
/// How long an object may be put off by being written.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an object may name an owner that is not there: owners and dependents may come in any order.
const SETTLE: Duration = Duration::from_secs(2);
/// How long to wait before trying again what could not be done yet; twice as long each time, up to the second.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long to wait for more of the same when something has gone that a whole was waiting for.
const GATHER: Duration = Duration::from_millis(100);
/// How many pieces of work are under way at once: enough to share the commits of the store.
const AT_ONCE: usize = 64;
/// How often what nobody reads any more is forgotten.
const REST: Duration = Duration::from_secs(120);
/// How often a server that stands by looks whether it has to take over.
const STAND_BY: Duration = Duration::from_secs(1);
/// Where all objects are in the store.
const OBJECTS: &str = "objects/";

/// Something to be done about an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Work {
    /// Remove the content of a namespace, and then the namespace.
    Namespace(Text),
    /// Remove the objects of a definition, and then the definition.
    Definition(Text),
    /// See whether an object waits for its dependents, and whether it can go on.
    Waiting(String),
    /// See whether the owners of an object are still there.
    Owned(String),
    /// Give a namespace what every namespace is given.
    Furnish(Text),
}

impl Server {
    /// Starts the life of objects; it ends when the server stops.
    pub fn start_lifecycle(self: &Arc<Self>) {
        let api = self.clone();
        tokio::spawn(async move {
            let mut stop = api.stopping();
            tokio::select! {
                () = run(&api) => {}
                () = rest(&api) => {}
                _ = stop.changed() => {}
            }
        });
    }
}

async fn rest(api: &Server) {
    loop {
        sleep(REST).await;
        api.encode_cache.rest();
        api.list_cache.rest();
        api.event_cache.rest();
    }
}

async fn run(api: &Arc<Server>) {
    loop {
        // Whatever ends this, a fault of the store or a history that was compacted, is mended by starting over.
        if let Err(failure) = Lifecycle::new(api).follow().await {
            tracing::warn!(%failure, "the life of objects starts over");
        }
        sleep(AGAIN.0).await;
    }
}

struct Lifecycle {
    world: Arc<World>,
    agenda: WorkQueue<Work>,
    under_way: JoinSet<(Work, Result<Outcome, Failure>)>,
    /// Since when objects have been waiting for their end.
    since: HashMap<Work, Instant>,
    /// How long the next try of what could not be done waits.
    patience: HashMap<Work, Duration>,
}

/// What all pieces of work know.
struct World {
    api: Arc<Server>,
    dependents: Mutex<Dependents>,
}

impl World {
    fn dependents(&self) -> MutexGuard<'_, Dependents> {
        self.dependents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lifecycle {
    fn new(api: &Arc<Server>) -> Lifecycle {
        Lifecycle {
            world: Arc::new(World { api: api.clone(), dependents: Mutex::default() }),
            agenda: WorkQueue::default(),
            under_way: JoinSet::new(),
            since: HashMap::new(),
            patience: HashMap::new(),
        }
    }

    async fn follow(&mut self) -> Result<(), Failure> {
        let api = self.world.api.clone();
        let after = self.everything().await?;
        // Whatever ended following before may have been the news of a definition, or of who has a say.
        api.refresh_catalog().await?;
        api.refresh_admission_config().await?;
        let mut watch = api.store.watch(WatchRequest::prefix(OBJECTS).after(after)).await?;
        loop {
            // Of the servers that share a store one does what is due; the others stand by.
            let leads = api.store.leads();
            while leads
                && self.agenda.running() < AT_ONCE
                && let Some(work) = self.agenda.take(Instant::now())
            {
                self.since.remove(&work);
                self.under_way.spawn(carry_out(self.world.clone(), work));
            }
            let next = self.agenda.next().filter(|_| self.agenda.running() < AT_ONCE);
            let next = if leads { next } else { Some(Instant::now() + STAND_BY) };
            tokio::select! {
                signal = watch.next() => if let Signal::Changes(changes) = signal? {
                    for change in &changes {
                        self.see(change);
                    }
                    // Another server may have changed a definition.
                    if changes.iter().any(|change| change.key.starts_with(custom_resources::PLACE.as_bytes())) {
                        api.refresh_catalog().await?;
                    }
                    if changes.iter().any(|change| change.key.starts_with(admission::CONFIGURATION_PREFIX.as_bytes())) {
                        api.refresh_admission_config().await?;
                    }
                },
                Some(ended) = self.under_way.join_next() => match ended {
                    Ok((work, outcome)) => self.end(work, outcome),
                    Err(error) => return Err(Failure::internal(format!("a piece of work failed: {error}"))),
                },
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Reads all objects once, and returns the revision they were read at.
    async fn everything(&mut self) -> Result<Revision, Failure> {
        let listing = self.world.api.store.list(ListRequest::prefix(OBJECTS)).await?;
        for entry in &listing.entries {
            self.look_at(entry);
        }
        Ok(listing.revision)
    }

    /// Takes note of a change.
    fn see(&mut self, change: &Change) {
        match &change.current {
            Some(entry) => self.look_at(entry),
            None => self.see_off(change),
        }
    }

    /// Takes note of an object that is gone: whoever waited for that goes on at once.
    fn see_off(&mut self, change: &Change) {
        let key = key_text(&change.key);
        let bereft = self.world.api.furniture.bereft(&key).map(Text::from);
        self.plan_furniture(bereft);
        self.world.dependents().forget(&key);
        self.since.remove(&Work::Waiting(key.clone()));
        for work in contained_in(&key) {
            if self.patience.contains_key(&work) {
                self.plan(work, GATHER);
            }
        }
        let previous = change.previous.as_ref().and_then(|entry| Stored::read(entry).ok());
        let Some(previous) = previous else { return };
        let dependents = self.world.dependents().of(meta_text(&previous.object, "uid"));
        for dependent in dependents {
            self.plan(Work::Owned(dependent), Duration::ZERO);
        }
        for owner in garbage_collection::waiting_owners(&self.world.api, &previous.object) {
            self.plan(Work::Waiting(owner), GATHER);
        }
    }

    /// Takes note of what an object says of owners and deletion. Most say nothing, and are not even decoded.
    fn look_at(&mut self, entry: &Entry) {
        let key = key_text(&entry.key);
        let namespace = self.world.api.furniture.namespace_of(&key).map(Text::from);
        self.plan_furniture(namespace);
        let owned = contains(&entry.value, b"\"ownerReferences\"");
        let going = contains(&entry.value, b"\"deletionTimestamp\"");
        if !owned {
            self.world.dependents().forget(&key);
        }
        if !owned && !going {
            return;
        }
        let Ok(stored) = Stored::read(entry) else { return };
        if owned {
            self.world.dependents().learn(&key, &stored.object);
            self.plan(Work::Owned(key.clone()), SETTLE);
        }
        if stored.object.at(["metadata", "deletionTimestamp"]).is_some() {
            if let Some(name) = key.strip_prefix(namespaces::PLACE) {
                self.await_quiet(Work::Namespace(name.into()));
            } else if let Some(name) = key.strip_prefix(custom_resources::PLACE) {
                self.await_quiet(Work::Definition(name.into()));
            } else if owned {
                // A part of something larger, which is waiting for it.
                self.plan(Work::Waiting(key), Duration::ZERO);
            } else {
                self.await_quiet(Work::Waiting(key));
            }
        }
    }

    /// Plans the end of an object that has just been written, for when nobody has written it for a while.
    fn await_quiet(&mut self, work: Work) {
        let now = Instant::now();
        let since = *self.since.entry(work.clone()).or_insert(now);
        let at = (now + QUIET).min(since + PATIENCE);
        self.agenda.plan(work.clone(), at);
        self.agenda.put_off(&work, at);
    }

    /// Plans a look at what a namespace has been given.
    fn plan_furniture(&mut self, namespace: Option<Text>) {
        if let Some(namespace) = namespace {
            self.plan(Work::Furnish(namespace), Duration::ZERO);
        }
    }

    fn plan(&mut self, work: Work, after: Duration) {
        self.agenda.plan(work, Instant::now() + after);
    }

    fn end(&mut self, work: Work, outcome: Result<Outcome, Failure>) {
        if let Ok(Outcome::Done) = outcome {
            self.patience.remove(&work);
            return self.agenda.end(work, None);
        }
        if let Err(failure) = outcome {
            tracing::warn!(%failure, ?work, "will be tried again");
        }
        let patience = self.patience.entry(work.clone()).or_insert(AGAIN.0);
        let again = Instant::now() + *patience;
        *patience = AGAIN.1.min(*patience * 2);
        self.agenda.end(work, Some(again));
    }
}

async fn carry_out(world: Arc<World>, work: Work) -> (Work, Result<Outcome, Failure>) {
    let outcome = match &work {
        Work::Namespace(name) => namespaces::remove(&world.api, name).await,
        Work::Definition(name) => custom_resources::remove(&world.api, name).await,
        Work::Waiting(key) => garbage_collection::release(&world, key).await,
        Work::Owned(key) => garbage_collection::follow(&world, key).await,
        Work::Furnish(name) => default_objects::furnish(&world.api, name).await,
    };
    (work, outcome)
}

/// Returns the work that may be waiting for an object under a key to go.
fn contained_in(key: &str) -> Vec<Work> {
    let mut segments = key.strip_prefix(OBJECTS).unwrap_or_default().split('/');
    let (Some(group), Some(resource)) = (segments.next(), segments.next()) else { return Vec::new() };
    let mut works = vec![Work::Definition(format!("{resource}.{group}").into())];
    if let (Some(namespace), Some(_)) = (segments.next(), segments.next()) {
        works.push(Work::Namespace(namespace.into()));
    }
    works
}

/// Deletes all objects under a prefix of the store, and returns those that are still there.
async fn delete_all(api: &Arc<Server>, place: &str) -> Result<Left, Failure> {
    let listing = api.store.list(ListRequest::prefix(place.to_string())).await?;
    if listing.entries.is_empty() {
        return Ok(Left::default());
    }
    let mut failures = Vec::new();
    let mut entries = listing.entries.into_iter();
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < AT_ONCE
            && let Some(entry) = entries.next()
        {
            let api = api.clone();
            under_way.spawn(async move {
                let Some(target) = api.target_of_key(&key_text(&entry.key)) else { return Ok(()) };
                let Some(options) = next_deletion(&api, &entry)? else { return Ok(()) };
                match api.delete_object(&target, &own_request(), &options, &mut Vec::new()).await {
                    Err(failure) if failure.code() != 404 => Err(failure),
                    _ => Ok(()),
                }
            });
        }
        match under_way.join_next().await {
            // One that somebody does not allow is not in the way of the others.
            Some(Ok(Ok(()))) => {}
            Some(Ok(Err(failure))) => {
                tracing::warn!(%failure, place, "something cannot be deleted, and will be tried again");
                failures.push(failure);
            }
            Some(Err(error)) => return Err(Failure::internal(format!("a deletion failed: {error}"))),
            None => break,
        }
    }
    Ok(Left { entries: api.store.list(ListRequest::prefix(place.to_string())).await?.entries, failures })
}

/// What is left where everything was to be deleted.
#[derive(Default)]
struct Left {
    entries: Vec<Entry>,
    /// Why some could not be.
    failures: Vec<Failure>,
}

/// Returns how an object is to be deleted next; not at all if that has been said already. One whose time to end by
/// itself is over gets no more.
fn next_deletion(api: &Server, entry: &Entry) -> Result<Option<DeleteOptions>, Failure> {
    let options = DeleteOptions::following(delete::Dependents::Background);
    if !contains(&entry.value, b"\"deletionTimestamp\"") {
        return Ok(Some(options));
    }
    let object = Stored::read(entry)?.object;
    let until = object.at(["metadata", "deletionTimestamp"]).and_then(Value::as_str);
    let grace = object.at(["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    Ok(match until.and_then(|text| Timestamp::parse(text, Precision::Seconds)) {
        None => Some(options),
        Some(until) => {
            let over = grace.is_some_and(|grace| grace > 0) && until.seconds < api.now().seconds;
            over.then(|| options.at_once())
        }
    })
}

/// What became of a piece of work.
enum Outcome {
    Done,
    /// Something else must happen first.
    Later,
}

fn key_text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

/// Puts another state in the place of a live object; one that then has nothing to wait for goes, with its claims.
async fn replace(api: &Server, target: &Target, live: &Stored, object: Value) -> Result<Outcome, Failure> {
    let key = key(&target.served.resource, &target.namespace, &target.name);
    let expected = Expected::At(live.revision);
    let transaction = if is_finished(&object, &target.served) {
        Claims::release(&target.served, &object, Transaction::new().delete(key, expected))
    } else {
        let object = api.for_storing(&target.served, &object).await?;
        Transaction::new().put(key, expected, encode(&object, &live.managers)?)
    };
    match api.store.commit(transaction).await {
        Ok(_) => Ok(Outcome::Done),
        Err(Error::Conflict(_)) => Ok(Outcome::Later),
        Err(error) => Err(error.into()),
    }
}

/// The request that the server makes of itself.
fn own_request() -> Request {
    Request {
        method: hyper::Method::DELETE,
        query: Query::default(),
        headers: hyper::HeaderMap::from_iter([(
            hyper::header::USER_AGENT,
            hyper::header::HeaderValue::from_static("tenure-lifecycle"),
        )]),
        body: bytes::Bytes::new(),
    }
}

impl Server {
    /// Finds what a key of the store means.
    fn target_of_key(&self, key: &str) -> Option<Target> {
        let mut segments = key.strip_prefix(OBJECTS)?.split('/');
        let (group, resource) = (segments.next()?, segments.next()?);
        let group = if group == "core" { "" } else { group };
        let served = self.served_as_stored(group, resource)?;
        let (namespace, name) = match (served.resource.scope, segments.next()?, segments.next()) {
            (Scope::Namespaced, namespace, Some(name)) => (namespace, name),
            (Scope::Cluster, name, None) => ("", name),
            _ => return None,
        };
        Some(Target {
            verb: Verb::Delete,
            served,
            namespace: namespace.into(),
            name: name.into(),
            subresource: Text::default(),
        })
    }
}

/// Returns the owners that an object names: apiVersion, kind, name, uid, and whether it holds its owner back.
fn owner_references(object: &Value) -> impl Iterator<Item = OwnerReference<'_>> {
    let list = object.at(["metadata", "ownerReferences"]).and_then(Value::as_array);
    list.into_iter().flat_map(|list| list.iter()).map(|reference| {
        let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
        OwnerReference {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            blocks: reference.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or(false),
        }
    })
}

/// An owner as its dependent names it.
struct OwnerReference<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    uid: &'a str,
    blocks: bool,
}
