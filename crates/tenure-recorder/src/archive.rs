//! The history of a cluster in a directory. Objects and records have the encodings of the server, in a frame with the cluster's
//! revisions. What is observed becomes durable together with the position up to which nothing is missing: after a crash, following goes
//! on exactly there.

use crate::{
    ObjectKey, RecorderError,
    frame::{RecordFrame, live_revision, read_live, write_live},
    observed::{encoded, milliseconds, time_of},
    secret_key::SecretKey,
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};
use tenure_apply::State;
use tenure_catalog::{history::MAX_RECORD, object::OBJECTS};
use tenure_client::Cluster;
use tenure_history::{
    Attribution, Churn, Entry, Fights, Rebuilt, Timeline, Values, Verb, attribute, takeovers,
};
use tenure_schema::TypeRef;
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Expected, HistoryLimits, LedgerRecord, LedgerRequest, ListRequest, Store,
    Transaction, limits::MAX_VALUE,
};
use tenure_value::Value;

/// The most changes of one transaction: each is an operation and a record, within the limits of the store.
pub(crate) const BATCH: usize = 50;
/// The most bytes of one transaction, roughly.
const BATCH_BYTES: usize = 4 << 20;
/// What the keys of positions begin with.
const POSITIONS: &str = "recorder/positions/";
/// How many of the newest changes are counted again after a restart.
const REPLAYED: usize = 10_000;
/// How often object and records are read again if a write came between.
const ATTEMPTS: usize = 8;

/// How an archive is kept.
#[derive(Clone)]
pub struct ArchiveOptions {
    /// The limits of the history, the encryption and the disk.
    pub store: EmbeddedOptions,
    /// Whether the values of Secrets are kept, not their digests.
    pub secret_values: bool,
    /// The clock.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Default for ArchiveOptions {
    fn default() -> ArchiveOptions {
        ArchiveOptions {
            store: EmbeddedOptions::default(),
            secret_values: false,
            now: Arc::new(SystemTime::now),
        }
    }
}

/// Up to where a kind was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The resourceVersion up to which nothing is missing.
    pub revision: String,
    /// When that was written, in milliseconds since 1970.
    pub time: u64,
}

/// What was seen of one object.
#[derive(Clone, Debug)]
pub enum Observation {
    /// It was there when the kind was listed for the first time: its past is unknown.
    First(ObjectKey, Rebuilt),
    /// A watch showed a version.
    Changed(ObjectKey, Rebuilt),
    /// A watch showed the deletion, with its revision.
    Deleted(ObjectKey, u64),
    /// A list shows another version than the one that was known: what came between was missed.
    ChangedSince(ObjectKey, Rebuilt),
    /// A list of this revision does not have it any more.
    DeletedSince(ObjectKey, u64),
}

/// An object and its records, newest first.
pub(crate) struct Loaded {
    pub live: Option<Rebuilt>,
    records: Vec<(RecordFrame, Bytes, usize)>,
}

impl Loaded {
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> + Send {
        self.records.iter().map(|(frame, bytes, start)| Entry {
            revision: frame.revision,
            written_at: frame.time,
            bytes: bytes.get(*start..).unwrap_or_default(),
        })
    }

    pub fn frames(&self) -> impl Iterator<Item = &RecordFrame> {
        self.records.iter().map(|(frame, _, _)| frame)
    }
}

/// The history of a cluster.
pub struct Archive {
    store: Arc<EmbeddedStore>,
    secrets: Option<SecretKey>,
    pub(crate) counts: Mutex<Counts>,
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    directory: PathBuf,
}

/// Who writes what and who fights, since the archive was opened.
#[derive(Default)]
pub(crate) struct Counts {
    pub churn: Churn,
    pub fights: Fights,
}

/// A kind that is recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordedKind {
    pub group: String,
    pub resource: String,
    /// The namespace that is followed; all if `None`.
    pub namespace: Option<String>,
    pub is_secret: bool,
    pub ty: TypeRef<'static>,
}

impl RecordedKind {
    fn position_key(&self) -> String {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        match &self.namespace {
            None => format!("{POSITIONS}{group}/{}", self.resource),
            Some(namespace) => format!("{POSITIONS}{group}/{}/{namespace}", self.resource),
        }
    }
}

impl Archive {
    /// Opens the archive of a directory, or creates one. Only one process can have it open.
    pub fn open(directory: &Path, options: ArchiveOptions) -> Result<Archive, RecorderError> {
        let failed = |source| RecorderError::File { path: directory.to_owned(), source };
        tenure_files::create_directory(directory).map_err(failed)?;
        let secrets = match options.secret_values {
            true => None,
            false => Some(SecretKey::open(&directory.join("secret-key"))?),
        };
        // Old values are in the records: the store itself need not keep them.
        let limits = HistoryLimits { count: 64, bytes: 1 << 20, ..options.store.limits };
        let store =
            EmbeddedStore::open(directory.join("store"), EmbeddedOptions { limits, ..options.store })?;
        Ok(Archive {
            store: Arc::new(store),
            secrets,
            counts: Mutex::default(),
            now: options.now,
            directory: directory.to_owned(),
        })
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the store, for what works on it as a whole.
    pub fn store(&self) -> Arc<EmbeddedStore> {
        self.store.clone()
    }

    /// Returns the current time, in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        milliseconds((self.now)())
    }

    /// Returns the position of a kind; `None` if it was never listed to the end.
    pub(crate) fn position(&self, kind: &RecordedKind) -> Result<Option<Position>, RecorderError> {
        let Some(entry) = self.store.peek(kind.position_key().as_bytes())? else { return Ok(None) };
        let bytes = entry.value.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let (revision, time) = text.split_once(' ').unwrap_or((&text, "0"));
        Ok(Some(Position { revision: revision.to_owned(), time: time.parse().unwrap_or_default() }))
    }

    /// Returns the revision of an object as it is kept; `None` if it does not exist.
    pub(crate) fn revision(&self, key: &ObjectKey) -> Result<Option<u64>, RecorderError> {
        let entry = self.store.peek(key.stored().as_bytes())?;
        Ok(entry.and_then(|entry| live_revision(&entry.value.bytes())))
    }

    /// Returns the keys of the objects of a kind that exist.
    pub(crate) async fn keys(&self, kind: &RecordedKind) -> Result<Vec<ObjectKey>, RecorderError> {
        let prefix = ObjectKey::prefix(&kind.group, &kind.resource, kind.namespace.as_deref());
        let listing = self.store.list(ListRequest::prefix(prefix)).await?;
        let key = |entry: &tenure_store::Entry| ObjectKey::read(std::str::from_utf8(&entry.key).ok()?);
        Ok(listing.entries.iter().filter_map(key).collect())
    }

    /// Records what was seen, in its order, and then the position. After a failure, what was recorded is a beginning of it and the
    /// position is the old one.
    pub(crate) async fn record(
        &self,
        kind: &RecordedKind,
        observations: Vec<Observation>,
        position: Option<&str>,
    ) -> Result<(), RecorderError> {
        let known = self.position(kind)?;
        let mut batch = Batch::default();
        for observation in observations {
            let key = match &observation {
                Observation::First(key, _)
                | Observation::Changed(key, _)
                | Observation::ChangedSince(key, _)
                | Observation::Deleted(key, _)
                | Observation::DeletedSince(key, _) => key.stored(),
            };
            if !batch.has_room(&key) {
                self.commit(kind, std::mem::take(&mut batch), None).await?;
            }
            self.add(kind, key, observation, known.as_ref(), &mut batch)?;
        }
        self.commit(kind, batch, position).await
    }

    /// Adds what was seen of one object to a transaction.
    fn add(
        &self,
        kind: &RecordedKind,
        key: String,
        observation: Observation,
        known: Option<&Position>,
        batch: &mut Batch,
    ) -> Result<(), RecorderError> {
        let entry = self.store.peek(key.as_bytes())?;
        let before = entry.map(|entry| read_live(&entry.value.bytes())).transpose()?;
        let had = before.as_ref().map(|before| before.revision);
        let (after, revision, is_gap) = match observation {
            Observation::First(_, after) => return self.put_first(kind, key, after, batch),
            // What was sent before is sent again after an interruption.
            Observation::Changed(_, after) if had.is_some_and(|had| had >= after.revision) => return Ok(()),
            Observation::ChangedSince(_, after) if had == Some(after.revision) => return Ok(()),
            Observation::Deleted(_, revision) if had.is_none_or(|had| had >= revision) => return Ok(()),
            Observation::DeletedSince(..) if had.is_none() => return Ok(()),
            Observation::Changed(_, after) => (Some(self.hidden(kind, after)), None, false),
            Observation::ChangedSince(_, after) => (Some(self.hidden(kind, after)), None, true),
            Observation::Deleted(_, revision) => (None, Some(revision), false),
            Observation::DeletedSince(_, revision) => (None, Some(revision), true),
        };
        let (old, new) = (before.as_ref(), after.as_ref());
        let author = match is_gap {
            // Several writes may be in between: none is that of one manager.
            true => Attribution {
                verb: match (old, new) {
                    (None, _) => Verb::Create,
                    (_, None) => Verb::Delete,
                    _ => Verb::Update,
                },
                manager: String::new(),
                subresource: String::new(),
            },
            false => attribute(old.map(|one| &one.state), new.map(|one| &one.state), kind.ty),
        };
        let observed = self.now();
        let frame = RecordFrame {
            revision: revision.or(new.map(|after| after.revision)).unwrap_or_default(),
            time: if is_gap { observed } else { time_of(old, new, observed) },
            missing_since: is_gap.then(|| known.map_or(0, |known| known.time)),
        };
        let encoded = encoded(&author, old, new)?;
        match new {
            Some(after) => batch.put(&key, write_live(after)?),
            None => batch.delete(&key),
        }
        // A change without a record ends what can be rebuilt, which readers notice.
        if encoded.bytes.len() <= MAX_RECORD {
            batch.record(&key, frame.write(&encoded.bytes));
        }
        if !is_gap {
            let before = before.map(|before| before.state);
            batch.counted.push(Counted {
                key,
                author,
                before,
                after: after.map(|after| after.state),
                frame,
                paths: encoded.paths,
            });
        }
        Ok(())
    }

    fn put_first(
        &self,
        kind: &RecordedKind,
        key: String,
        after: Rebuilt,
        batch: &mut Batch,
    ) -> Result<(), RecorderError> {
        batch.put(&key, write_live(&self.hidden(kind, after))?);
        Ok(())
    }

    /// Returns a version with digests in the place of the values of Secrets.
    fn hidden(&self, kind: &RecordedKind, version: Rebuilt) -> Rebuilt {
        match &self.secrets {
            Some(secrets) if kind.is_secret => {
                let object = secrets.hide(&version.state.object);
                Rebuilt { state: State { object, ..version.state }, ..version }
            }
            _ => version,
        }
    }

    async fn commit(
        &self,
        kind: &RecordedKind,
        batch: Batch,
        position: Option<&str>,
    ) -> Result<(), RecorderError> {
        let mut transaction = batch.transaction;
        if let Some(position) = position {
            let text = format!("{position} {}", self.now());
            transaction = transaction.put(kind.position_key(), Expected::Anything, text);
        }
        if transaction.operations().is_empty() {
            return Ok(());
        }
        self.store.commit(transaction).await?;
        let mut counts = self.counts.lock();
        batch.counted.iter().for_each(|counted| counts.add(kind, counted));
        Ok(())
    }

    /// Counts the newest changes again, so that counts and fights survive a restart.
    pub async fn replay(&self, cluster: &Cluster) -> Result<(), RecorderError> {
        let page = self.store.ledger(LedgerRequest::prefix(OBJECTS, REPLAYED)).await?;
        let keys: BTreeSet<&[u8]> = page.records.iter().map(|record| &record.key[..]).collect();
        let mut found = Vec::new();
        for stored in keys {
            let Some(key) = std::str::from_utf8(stored).ok().and_then(ObjectKey::read) else { continue };
            let Some(loaded) = self.load(&key).await? else { continue };
            let missed: BTreeSet<u64> = loaded
                .frames()
                .filter(|frame| frame.missing_since.is_some())
                .map(|frame| frame.revision)
                .collect();
            let mut kind = RecordedKind {
                group: key.group.clone(),
                resource: key.resource.clone(),
                namespace: None,
                is_secret: false,
                ty: TypeRef::untyped(),
            };
            let mut is_typed = false;
            for step in Timeline::new(loaded.live.clone(), loaded.entries()).map_while(Result::ok) {
                if missed.contains(&step.revision) || step.record.manager.is_empty() {
                    continue;
                }
                if let (false, Some(version)) = (is_typed, step.after.as_ref().or(step.before.as_ref())) {
                    let text = |name: &str| {
                        version.state.object.get(name).and_then(Value::as_str).unwrap_or_default()
                    };
                    kind.ty = cluster.type_of(text("apiVersion"), text("kind")).await.unwrap_or(kind.ty);
                    is_typed = true;
                }
                let author = Attribution {
                    verb: step.record.verb,
                    manager: step.record.manager.to_string(),
                    subresource: step.record.subresource.to_string(),
                };
                let paths = encoded(&author, step.before.as_ref(), step.after.as_ref())?.paths;
                let frame =
                    RecordFrame { revision: step.revision, time: step.written_at, missing_since: None };
                let (before, after) = (step.before.map(|one| one.state), step.after.map(|one| one.state));
                let key = key.stored();
                found.push((kind.clone(), Counted { key, author, before, after, frame, paths }));
            }
        }
        found.sort_by_key(|(_, counted)| counted.frame.time);
        let mut counts = self.counts.lock();
        found.iter().for_each(|(kind, counted)| counts.add(kind, counted));
        Ok(())
    }

    /// Reads an object and its records, as of one moment if changes leave one.
    pub(crate) async fn load(&self, key: &ObjectKey) -> Result<Option<Loaded>, RecorderError> {
        let stored = key.stored();
        for attempt in 1.. {
            let page = self.store.ledger(LedgerRequest::key(stored.clone(), usize::MAX)).await?;
            let entry = self.store.get(stored.as_bytes()).await?;
            if entry.is_none() && page.records.is_empty() {
                return Ok(None);
            }
            let newest = page.records.first().map(|record| record.revision);
            let fits = match (&entry, newest) {
                (Some(entry), Some(newest)) => entry.modified == newest,
                _ => true,
            };
            if fits || attempt == ATTEMPTS {
                let live = entry.map(|entry| read_live(&entry.value.bytes())).transpose()?;
                let record = |record: &LedgerRecord| {
                    let (frame, rest) = RecordFrame::read(&record.record)?;
                    Some((frame, record.record.clone(), record.record.len() - rest.len()))
                };
                return Ok(Some(Loaded { live, records: page.records.iter().map_while(record).collect() }));
            }
        }
        Ok(None)
    }
}

/// A transaction that is being put together.
#[derive(Default)]
struct Batch {
    transaction: Transaction,
    counted: Vec<Counted>,
    keys: std::collections::HashSet<String>,
    bytes: usize,
}

impl Batch {
    fn has_room(&self, key: &str) -> bool {
        self.keys.len() < BATCH && self.bytes < BATCH_BYTES && !self.keys.contains(key)
    }

    fn put(&mut self, key: &str, value: Bytes) {
        if value.len() > MAX_VALUE {
            // No API server stores objects of this size; another could send one.
            tracing::warn!(key, bytes = value.len(), "object is too large to be recorded");
            return;
        }
        self.bytes += value.len();
        self.change(key, |transaction| transaction.put(key.to_owned(), Expected::Anything, value));
    }

    fn delete(&mut self, key: &str) {
        self.change(key, |transaction| transaction.delete(key.to_owned(), Expected::Anything));
    }

    fn record(&mut self, key: &str, record: Vec<u8>) {
        self.bytes += record.len();
        self.change(key, |transaction| transaction.record(key.to_owned(), record));
    }

    fn change(&mut self, key: &str, change: impl FnOnce(Transaction) -> Transaction) {
        self.keys.insert(key.to_owned());
        self.transaction = change(std::mem::take(&mut self.transaction));
    }
}

/// A change that is counted once it is durable.
struct Counted {
    key: String,
    author: Attribution,
    before: Option<State>,
    after: Option<State>,
    frame: RecordFrame,
    paths: Vec<String>,
}

impl Counts {
    fn add(&mut self, kind: &RecordedKind, counted: &Counted) {
        let manager = &counted.author.manager;
        if manager.is_empty() {
            return;
        }
        let resource = match kind.group.as_str() {
            "" => kind.resource.clone(),
            group => format!("{}.{group}", kind.resource),
        };
        self.churn.changed(manager, &resource, &counted.paths);
        let (Some(before), Some(after)) = (&counted.before, &counted.after) else { return };
        let (old, new) = ((&before.object, &before.managers), (&after.object, &after.managers));
        for takeover in takeovers(manager, old, new, kind.ty) {
            self.fights.observe(&counted.key, manager, &takeover, Values::Kept, counted.frame.time);
        }
    }
}
