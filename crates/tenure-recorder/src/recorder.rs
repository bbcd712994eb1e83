//! The recorder: discovers the kinds of a cluster, follows each in a task of its own, and records what is seen.

use crate::{
    Archive, Follow, ObjectKey, Observation, RecorderError, Sight,
    archive::{BATCH, RecordedKind},
    follow::{code, now_or_never},
    observed::version,
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_client::{ClientError, Cluster, Resource, Selection};
use tenure_history::Rebuilt;
use tenure_schema::TypeRef;
use tenure_value::Value;
use tokio::{sync::Notify, task::AbortHandle, time::timeout};

/// How often the kinds of the cluster are discovered again; a changed definition is noticed at once.
const REDISCOVER: Duration = Duration::from_secs(60);
/// How long to wait if they cannot be.
const RETRY: Duration = Duration::from_secs(3);
/// How often the position of a kind without changes is written, in milliseconds.
const POSITION_EVERY: u64 = 60_000;
/// How often a kind that may not be read is tried again.
const REFUSED: Duration = Duration::from_secs(60);

/// What is recorded.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// Only these kinds, named as `kubectl` takes them; all if empty.
    pub kinds: Vec<String>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Kinds that are not recorded.
    pub exclude: Vec<String>,
}

/// How far a kind is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Listing,
    Following,
    /// Why it is not followed now.
    Waiting(String),
}

/// Follows a cluster.
pub struct Recorder {
    cluster: Arc<Cluster>,
    archive: Arc<Archive>,
    options: RecorderOptions,
    progress: Mutex<BTreeMap<String, Progress>>,
    changed: Notify,
    rediscover: Notify,
    /// When the server was interrupted last.
    interrupted: Mutex<Option<Instant>>,
}

impl Recorder {
    /// Creates a recorder of a cluster into an archive.
    pub fn new(cluster: Arc<Cluster>, archive: Arc<Archive>, options: RecorderOptions) -> Arc<Recorder> {
        Arc::new(Recorder {
            cluster,
            archive,
            options,
            progress: Mutex::default(),
            changed: Notify::new(),
            rediscover: Notify::new(),
            interrupted: Mutex::default(),
        })
    }

    /// Waits until every kind is followed or cannot be; returns how many are followed, and those that are not with the reason.
    pub async fn settled(&self) -> (usize, Vec<(String, String)>) {
        loop {
            let changed = self.changed.notified();
            let found = {
                let progress = self.progress.lock();
                let is_listing = progress.values().any(|progress| *progress == Progress::Listing);
                (!progress.is_empty() && !is_listing).then(|| {
                    let waiting = progress.iter().filter_map(|(kind, progress)| match progress {
                        Progress::Waiting(why) => Some((kind.clone(), why.clone())),
                        _ => None,
                    });
                    let waiting: Vec<_> = waiting.collect();
                    (progress.len() - waiting.len(), waiting)
                })
            };
            if let Some(found) = found {
                return found;
            }
            changed.await;
        }
    }

    /// Follows the cluster until the future is dropped.
    pub async fn run(self: Arc<Self>) {
        let mut following: BTreeMap<(String, String), (String, Task)> = BTreeMap::new();
        loop {
            let pause = match self.wanted().await {
                Ok(wanted) => {
                    let exists = |key: &(String, String)| wanted.iter().any(|kind| key == &name_of(kind));
                    let gone: Vec<_> = following.keys().filter(|key| !exists(key)).cloned().collect();
                    for key in gone {
                        tracing::info!(kind = %qualified(&key), "kind no longer served");
                        following.remove(&key);
                        self.progress.lock().remove(&qualified(&key));
                        if let Err(error) = self.kind_is_gone(&key).await {
                            tracing::warn!(kind = %qualified(&key), %error, "deletions not recorded");
                        }
                    }
                    for resource in wanted {
                        let key = name_of(&resource);
                        let is_followed = following.get(&key).is_some_and(|(version, task)| {
                            *version == resource.version && !task.0.is_finished()
                        });
                        if !is_followed {
                            let version = resource.version.clone();
                            self.note(&resource, Progress::Listing);
                            let task = tokio::spawn(self.clone().follow(resource));
                            following.insert(key, (version, Task(task.abort_handle())));
                        }
                    }
                    REDISCOVER
                }
                Err(error) => {
                    tracing::warn!(%error, "kinds not discovered, retrying");
                    RETRY
                }
            };
            // A timeout is the usual end.
            let _ = timeout(pause, self.rediscover.notified()).await;
        }
    }

    /// Returns the kinds to record, each once, in the version that the server prefers.
    async fn wanted(&self) -> Result<Vec<Resource>, ClientError> {
        self.cluster.rediscover();
        let kinds = self.cluster.kinds().await?;
        let is_named = |kind: &Resource, names: &[String]| names.iter().any(|name| kind.is_named(name));
        let is_wanted = |kind: &&Resource| {
            let can_be_followed =
                ["list", "watch"].iter().all(|verb| kind.verbs.iter().any(|one| one == verb));
            let is_chosen = match self.options.kinds.is_empty() {
                true => !is_named(kind, &self.options.exclude),
                false => is_named(kind, &self.options.kinds),
            };
            can_be_followed && is_chosen && (self.options.namespace.is_none() || kind.is_namespaced())
        };
        let mut seen = HashSet::new();
        let wanted = kinds.iter().filter(is_wanted).filter(|kind| seen.insert(name_of(kind)));
        Ok(wanted.cloned().collect())
    }

    fn note(&self, resource: &Resource, progress: Progress) {
        self.progress.lock().insert(qualified(&name_of(resource)), progress);
        self.changed.notify_waiters();
    }

    /// Records the objects of a kind that is no longer served as deleted.
    async fn kind_is_gone(&self, (group, resource): &(String, String)) -> Result<(), RecorderError> {
        let kind = RecordedKind {
            group: group.clone(),
            resource: resource.clone(),
            namespace: self.options.namespace.clone(),
            is_secret: false,
            ty: TypeRef::untyped(),
        };
        let mut deleted = Vec::new();
        for key in self.archive.keys(&kind).await? {
            let known = self.archive.revision(&key)?.unwrap_or_default();
            deleted.push(Observation::DeletedSince(key, known.saturating_add(1)));
        }
        self.archive.record(&kind, deleted, None).await
    }

    /// Follows a kind.
    async fn follow(self: Arc<Self>, resource: Resource) {
        let name = qualified(&name_of(&resource));
        loop {
            match self.record_kind(&resource).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(kind = %name, %error, "following starts over");
                    self.note(&resource, Progress::Waiting(error.to_string()));
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Records what is seen of a kind; ends when the server has it no more, and fails when the archive cannot be written: what was
    /// seen is then seen again.
    async fn record_kind(&self, resource: &Resource) -> Result<(), RecorderError> {
        let ty = self.cluster.type_of(&resource.api_version(), &resource.kind).await;
        let kind = RecordedKind {
            group: resource.group.clone(),
            resource: resource.plural.clone(),
            namespace: self.options.namespace.clone(),
            is_secret: resource.group.is_empty() && resource.plural == "secrets",
            ty: ty.unwrap_or_else(|_| TypeRef::untyped()),
        };
        let position = self.archive.position(&kind)?.map(|position| position.revision);
        if position.is_some() {
            self.note(resource, Progress::Following);
        }
        let (cluster, selection) = (self.cluster.clone(), Selection::default());
        let mut follow =
            Follow::new(cluster, resource.clone(), self.options.namespace.clone(), selection, position);
        let mut listed: Option<HashSet<String>> = None;
        loop {
            let mut sights = vec![follow.next().await];
            while sights.len() < BATCH
                && matches!(sights.last(), Some(Sight::Changed(_) | Sight::Deleted(_)))
                && let Some(sight) = now_or_never(follow.next()).await
            {
                sights.push(sight);
            }
            let (mut seen, mut reached) = (Vec::new(), None);
            for sight in sights {
                match sight {
                    Sight::ListBegins => listed = Some(HashSet::new()),
                    Sight::Listed(objects) => {
                        let is_known = self.archive.position(&kind)?.is_some();
                        for object in &objects {
                            let Some((key, version)) = self.read(&kind, object) else { continue };
                            if let Some(listed) = &mut listed {
                                listed.insert(key.stored());
                            }
                            // What the first list of a kind shows was there before; its past is unknown.
                            let is_first = !is_known && self.archive.revision(&key)?.is_none();
                            seen.push(match is_first {
                                true => Observation::First(key, version),
                                false => Observation::ChangedSince(key, version),
                            });
                        }
                    }
                    Sight::ListEnds(revision) => {
                        let listed = listed.take().unwrap_or_default();
                        let at = revision.parse().unwrap_or(u64::MAX);
                        let all = self.archive.keys(&kind).await?;
                        let gone = all.into_iter().filter(|key| !listed.contains(&key.stored()));
                        seen.extend(gone.map(|key| Observation::DeletedSince(key, at)));
                        reached = Some(revision);
                        self.note(resource, Progress::Following);
                    }
                    Sight::Changed(object) => {
                        let Some((key, version)) = self.read(&kind, &object) else { continue };
                        // Until a list has ended, nothing is known to be complete.
                        reached = listed.is_none().then(|| version.revision.to_string());
                        seen.push(Observation::Changed(key, version));
                        self.definition_changed(resource);
                    }
                    Sight::Deleted(object) => {
                        let Some((key, version)) = self.read(&kind, &object) else { continue };
                        reached = listed.is_none().then(|| version.revision.to_string());
                        seen.push(Observation::Deleted(key, version.revision));
                        self.definition_changed(resource);
                    }
                    Sight::Bookmark(revision) => {
                        let written = self.archive.position(&kind)?.map_or(0, |position| position.time);
                        if !seen.is_empty() || self.archive.now().abs_diff(written) >= POSITION_EVERY {
                            reached = Some(revision);
                        }
                    }
                    Sight::Interrupted(error) => match code(&error) {
                        Some(404) => return Ok(()),
                        Some(code @ (401 | 403 | 405)) => {
                            tracing::debug!(kind = %resource.plural, code, "may not be read");
                            self.note(resource, Progress::Waiting(error.to_string()));
                            tokio::time::sleep(REFUSED).await;
                        }
                        _ => {
                            tracing::debug!(kind = %resource.plural, %error, "interrupted, retrying");
                            // All kinds are interrupted at once; one speaks for them.
                            let before = self.interrupted.lock().replace(Instant::now());
                            if before.is_none_or(|before| before.elapsed() > REDISCOVER) {
                                tracing::warn!(%error, "interrupted, retrying");
                            }
                        }
                    },
                }
            }
            if !seen.is_empty() || reached.is_some() {
                self.archive.record(&kind, seen, reached.as_deref()).await?;
            }
        }
    }

    /// Reads an object; one that cannot be read is reported and left out.
    fn read(&self, kind: &RecordedKind, object: &Value) -> Option<(ObjectKey, Rebuilt)> {
        let text =
            |name| object.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = ObjectKey {
            group: kind.group.clone(),
            resource: kind.resource.clone(),
            namespace: text("namespace"),
            name: text("name"),
        };
        match version(object) {
            Ok(version) => Some((key, version)),
            Err(error) => {
                tracing::error!(key = key.stored(), %error, "object cannot be recorded");
                None
            }
        }
    }

    /// Discovers the kinds again if the definition of one has changed.
    fn definition_changed(&self, resource: &Resource) {
        if ["customresourcedefinitions", "apiservices"].contains(&resource.plural.as_str()) {
            self.rediscover.notify_one();
        }
    }
}

/// A task that ends with its recorder.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn name_of(resource: &Resource) -> (String, String) {
    (resource.group.clone(), resource.plural.clone())
}

fn qualified((group, resource): &(String, String)) -> String {
    match group.as_str() {
        "" => resource.clone(),
        group => format!("{resource}.{group}"),
    }
}
