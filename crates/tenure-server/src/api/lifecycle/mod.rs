//! What happens to objects after a request has been answered: a namespace that is being deleted loses its content and
//! then itself, and objects whose owners are gone follow them. One task reads the store's history and does what is
//! due; everything it knows can be told anew from the store, so a restart loses nothing.

mod definitions;
mod dependents;
mod namespaces;
mod owners;

use super::{
    Api, Request,
    allocate::Claims,
    delete::is_finished,
    object::{Stored, encode, key, meta_text},
    target::{Target, Verb},
};
use crate::{Failure, Query, kinds::Scope};
use dependents::Dependents;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tenure_store::{
    Change, Entry, Error, Expected, ListRequest, Revision, Signal, Transaction, WatchRequest,
};
use tenure_value::{Text, Value};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a mark stands before it is acted on: clients see the state they made, and bursts are done in one go.
const SETTLE: Duration = Duration::from_secs(2);
/// How long to wait before trying again what could not be done yet.
const AGAIN: Duration = Duration::from_secs(1);
/// Where all objects are in the store.
const OBJECTS: &str = "objects/";

/// Something to be done about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// Remove the content of a namespace, and then the namespace.
    Namespace(Text),
    /// Remove the objects of a definition, and then the definition.
    Definition(Text),
    /// See whether an object waits for its dependents, and whether it can go on.
    Waiting(String),
    /// See whether the owners of an object are still there.
    Owned(String),
}

impl Api {
    /// Starts the life of objects; it ends when the server stops.
    pub fn start_lifecycle(self: &Arc<Self>) {
        let api = self.clone();
        tokio::spawn(async move {
            let mut stop = api.stopping();
            tokio::select! {
                () = run(&api) => {}
                _ = stop.changed() => {}
            }
        });
    }
}

async fn run(api: &Arc<Api>) {
    loop {
        // Whatever ends this, a fault of the store or a history that was compacted, is mended by starting over.
        if let Err(failure) = (Lifecycle {
            api,
            dependents: Dependents::default(),
            due: BTreeMap::new(),
            waiting: BTreeSet::new(),
        })
        .follow()
        .await
        {
            tracing::warn!(%failure, "the life of objects starts over");
        }
        sleep(AGAIN).await;
    }
}

struct Lifecycle<'a> {
    api: &'a Arc<Api>,
    dependents: Dependents,
    due: BTreeMap<(Instant, Work), ()>,
    /// What is in `due`.
    waiting: BTreeSet<Work>,
}

impl Lifecycle<'_> {
    async fn follow(&mut self) -> Result<(), Failure> {
        let mut after = self.everything().await?;
        let mut watch = self.api.store.watch(WatchRequest::prefix(OBJECTS).after(after)).await?;
        loop {
            let next = self.due.keys().next().map(|(at, _)| *at);
            tokio::select! {
                signal = watch.next() => match signal? {
                    Signal::Changes(changes) => {
                        after = changes.revision();
                        for change in &changes {
                            self.see(change);
                        }
                        // Another server may have changed a definition.
                        if changes.iter().any(|change| change.key.starts_with(definitions::PLACE.as_bytes())) {
                            self.api.refresh_catalog().await?;
                        }
                    }
                    Signal::Progress(_) => {}
                },
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    if let Some(((_, work), ())) = self.due.pop_first() {
                        self.waiting.remove(&work);
                        self.carry_out(work, after).await;
                    }
                }
            }
        }
    }

    /// Reads all objects once, and returns the revision they were read at.
    async fn everything(&mut self) -> Result<Revision, Failure> {
        let listing = self.api.store.list(ListRequest::prefix(OBJECTS)).await?;
        for entry in &listing.entries {
            self.look_at(entry);
            let key = key_text(&entry.key);
            if self.dependents.has_owners(&key) {
                self.plan(Work::Owned(key), SETTLE);
            }
        }
        Ok(listing.revision)
    }

    /// Takes note of a change.
    fn see(&mut self, change: &Change) {
        match &change.current {
            Some(entry) => self.look_at(entry),
            None => {
                let key = key_text(&change.key);
                self.dependents.forget(&key);
                let previous = change.previous.as_ref().and_then(|entry| Stored::read(entry).ok());
                let Some(previous) = previous else { return };
                let uid = Text::new(meta_text(&previous.object, "uid"));
                for dependent in self.dependents.of(&uid) {
                    self.plan(Work::Owned(dependent), Duration::ZERO);
                }
                // Owners that waited for this one look again.
                for owner in owners::waiting_owners(self.api, &previous.object) {
                    self.plan(Work::Waiting(owner), Duration::ZERO);
                }
            }
        }
    }

    /// Takes note of what an object says of owners and deletion. Most say nothing, and are not even decoded.
    fn look_at(&mut self, entry: &Entry) {
        let key = key_text(&entry.key);
        let owned = contains(&entry.value, b"\"ownerReferences\"");
        let going = contains(&entry.value, b"\"deletionTimestamp\"");
        if !owned {
            self.dependents.forget(&key);
        }
        if !owned && !going {
            return;
        }
        let Ok(stored) = Stored::read(entry) else { return };
        if owned {
            self.dependents.learn(&key, &stored.object);
            self.plan(Work::Owned(key.clone()), SETTLE);
        }
        if stored.object.at(["metadata", "deletionTimestamp"]).is_some() {
            if let Some(name) = key.strip_prefix("objects/core/namespaces/") {
                self.plan(Work::Namespace(name.into()), SETTLE);
            } else if let Some(name) = key.strip_prefix(definitions::PLACE) {
                self.plan(Work::Definition(name.into()), SETTLE);
            } else {
                self.plan(Work::Waiting(key), SETTLE);
            }
        }
    }

    fn plan(&mut self, work: Work, after: Duration) {
        if self.waiting.insert(work.clone()) {
            self.due.insert((Instant::now() + after, work), ());
        }
    }

    async fn carry_out(&mut self, work: Work, revision: Revision) {
        let outcome = match &work {
            Work::Namespace(name) => namespaces::remove(self.api, name).await,
            Work::Definition(name) => definitions::remove(self.api, name).await,
            Work::Waiting(key) => owners::release(self.api, &self.dependents, key).await,
            Work::Owned(key) => owners::follow(self.api, key).await,
        };
        match outcome {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Later) => self.plan(work, AGAIN),
            Err(failure) => {
                tracing::warn!(%failure, ?work, %revision, "will be tried again");
                self.plan(work, AGAIN);
            }
        }
    }
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
async fn replace(api: &Api, target: &Target, live: &Stored, object: Value) -> Result<Outcome, Failure> {
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

impl Api {
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
