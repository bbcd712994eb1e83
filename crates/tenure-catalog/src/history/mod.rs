//! History: every write leaves a record in its own transaction, from which the version before can be rebuilt, and is counted.
//! What a record contains and how versions are rebuilt is the work of `tenure-history`; `read.rs` answers requests for it.

mod document;
mod fights;
mod held;
mod joined;
mod page;
mod read;
mod recall;
mod refusals;
mod watch;

use crate::{Catalog, ResourceHandler, Target, object::Stored};
use parking_lot::Mutex;
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use tenure_apply::Managers;
use tenure_builtin::role::{FREQUENTLY_WRITTEN, is_secret};
pub use tenure_history::{Author, Verb as HistoryVerb};
use tenure_history::{Churn, Fight, Fights, Takeover, Values, Version, encode, takeovers};
use tenure_http::Metrics;
use tenure_meta::{ApiError, Timestamp, qualified};
use tenure_store::Transaction;
use tenure_value::Value;
use tokio::sync::mpsc;

pub use document::{field_item, item, refusal, time_text};
pub use fights::{
    FightValues, MayRead, advice, describe_without_values, document as fights_document,
    writers as writers_document,
};
use held::Observation;
pub use page::{AtVersion, PageRequest, Subject, moment, page};
pub use read::HistoryReader;
use refusals::Refusals;
pub use refusals::RefusedApply;

/// The largest record that is kept. The value of the object is in the same transaction, which etcd limits to 1.5 MB.
pub const MAX_RECORD: usize = 512 * 1024;
/// How many reports of fights may wait; one that does not fit is made again a minute later.
const WAITING_REPORTS: usize = 64;

/// What history records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Whether writes are recorded.
    pub enabled: bool,
    /// Whether the values of Secrets are part of their history.
    pub secret_values: bool,
    /// Resources whose writes are not recorded, such as `events` or `leases.coordination.k8s.io`.
    pub exclude: Vec<String>,
}

impl HistoryOptions {
    /// The resources that are not recorded unless the operator chooses others: they are written all the time, and say
    /// nothing that is not in them.
    pub const EXCLUDED: [&str; 3] = FREQUENTLY_WRITTEN;
}

impl Default for HistoryOptions {
    fn default() -> HistoryOptions {
        let exclude = HistoryOptions::EXCLUDED.map(str::to_owned).into();
        HistoryOptions { enabled: true, secret_values: false, exclude }
    }
}

/// Records and counts writes.
pub struct History {
    options: HistoryOptions,
    /// The name and the group of each resource whose writes are not recorded.
    excluded: Vec<(String, String)>,
    churn: Mutex<Churn>,
    fights: Mutex<Fights>,
    refusals: Mutex<Refusals>,
    reports: mpsc::Sender<Fight>,
    waiting: Mutex<Option<mpsc::Receiver<Fight>>>,
    /// Fields that a manager took from another, since the server started.
    takeovers: AtomicU64,
    /// What is not counted yet, if this is the history of a transaction.
    held: OnceLock<Mutex<Vec<Observation>>>,
}

/// A write that is recorded, to be counted once it is committed.
#[derive(Default)]
pub struct Recorded {
    paths: Vec<String>,
}

impl History {
    /// Creates the history of a server.
    pub fn new(options: HistoryOptions) -> History {
        let (reports, waiting) = mpsc::channel(WAITING_REPORTS);
        let split = |excluded: &String| {
            let (name, group) = excluded.split_once('.').unwrap_or((excluded, ""));
            (name.to_owned(), group.to_owned())
        };
        History {
            excluded: options.exclude.iter().map(split).collect(),
            options,
            churn: Mutex::default(),
            fights: Mutex::default(),
            refusals: Mutex::default(),
            reports,
            waiting: Mutex::new(Some(waiting)),
            takeovers: AtomicU64::new(0),
            held: OnceLock::new(),
        }
    }

    /// Creates the history of a fork: the records are in its store, and counting starts over.
    pub fn fork(&self) -> History {
        History::new(self.options.clone())
    }

    /// Whether writes are recorded at all.
    pub fn is_kept(&self) -> bool {
        self.options.enabled
    }

    /// Whether the writes of a resource are recorded.
    pub fn records(&self, handler: &ResourceHandler) -> bool {
        let resource = &handler.resource;
        let is_excluded = |(name, group): &(String, String)| {
            resource.name == name.as_str() && resource.storage.0 == group.as_str()
        };
        self.options.enabled && !self.excluded.iter().any(is_excluded)
    }

    /// Whether the values of a resource are part of its history.
    pub fn values(&self, handler: &ResourceHandler) -> Values {
        if is_secret(&handler.resource) && !self.options.secret_values {
            Values::Withheld
        } else {
            Values::Kept
        }
    }

    /// Adds the record of a change to the transaction that makes it; both versions are given as they are stored.
    pub fn record(
        &self,
        transaction: Transaction,
        handler: &ResourceHandler,
        key: &str,
        author: &Author<'_>,
        before: Option<&Stored>,
        after: Option<(&Value, &Managers)>,
    ) -> Result<(Transaction, Recorded), ApiError> {
        if !self.records(handler) {
            return Ok((transaction, Recorded::default()));
        }
        let before = before.map(|stored| Version {
            object: &stored.object,
            managers: &stored.managers,
            revision: stored.revision.get(),
        });
        let after = after.map(|(object, managers)| Version { object, managers, revision: 0 });
        let record = encode(author, before, after, self.values(handler))
            .map_err(|why| ApiError::internal(format!("the change cannot be recorded: {why}")))?;
        // A change without a record ends what can be rebuilt, which readers notice.
        let transaction = match record.bytes.len() <= MAX_RECORD {
            true => transaction.record(key.to_owned(), record.bytes),
            false => transaction,
        };
        Ok((transaction, Recorded { paths: record.paths }))
    }

    /// Counts a committed change.
    pub fn count(&self, handler: &ResourceHandler, manager: &str, recorded: &Recorded) {
        if !self.options.enabled {
            return;
        }
        let resource = resource_name(handler);
        match self.held.get() {
            None => self.churn.lock().changed(manager, &resource, &recorded.paths),
            Some(held) => held.lock().push(Observation::Changed {
                manager: manager.to_owned(),
                resource,
                paths: recorded.paths.clone(),
            }),
        }
    }

    /// Counts a write that changed nothing.
    pub fn count_noop(&self, manager: &str) {
        match self.held.get() {
            _ if !self.options.enabled => {}
            None => self.churn.lock().unchanged(manager),
            Some(held) => held.lock().push(Observation::Unchanged { manager: manager.to_owned() }),
        }
    }

    /// Looks whether a committed change is part of a fight; both versions are given as the request named them.
    pub fn observe(
        &self,
        handler: &ResourceHandler,
        key: &str,
        manager: &str,
        before: &Stored,
        after: &Stored,
        now: Timestamp,
    ) {
        if !self.records(handler) {
            return;
        }
        let (old, new) = ((&before.object, &before.managers), (&after.object, &after.managers));
        let taken = takeovers(manager, old, new, handler.type_ref());
        if taken.is_empty() {
            return;
        }
        let (values, now) = (self.values(handler), milliseconds(now));
        for takeover in taken {
            match self.held.get() {
                None => self.note_takeover(key, manager, &takeover, values, now),
                Some(held) => held.lock().push(Observation::Takeover {
                    key: key.to_owned(),
                    manager: manager.to_owned(),
                    takeover,
                    values,
                    now,
                }),
            }
        }
    }

    fn note_takeover(&self, key: &str, manager: &str, takeover: &Takeover, values: Values, now: u64) {
        if let Some(fight) = self.fights.lock().observe(key, manager, takeover, values, now) {
            // The channel is full only if reports cannot be written; the fight is reported again.
            let _ = self.reports.try_send(fight);
        }
        self.takeovers.fetch_add(1, Relaxed);
    }

    /// Remembers an apply that was refused because of conflicts.
    pub fn note_refusal(&self, refused: RefusedApply) {
        match self.held.get() {
            _ if !self.options.enabled => {}
            None => self.refusals.lock().add(refused),
            Some(held) => held.lock().push(Observation::Refused(refused)),
        }
    }

    /// Returns the applies that were refused lately, as a document.
    pub fn refusals(&self, now: Timestamp) -> Value {
        self.refusals.lock().document(milliseconds(now))
    }

    /// Returns the reports of fights; the first call takes them.
    pub fn reports(&self) -> Option<mpsc::Receiver<Fight>> {
        self.waiting.lock().take()
    }

    /// Returns the fights that are not over, as a document, with the values of those objects that the client may read.
    pub fn fights(&self, catalog: &Catalog, now: Timestamp, may_read: &MayRead<'_>) -> Value {
        let current = self.fights.lock().current(milliseconds(now));
        fights::document(&current, |key| match Target::of_key(catalog, key) {
            Some(target) => {
                let values = if may_read(&target) { FightValues::Shown } else { FightValues::Hidden };
                let object = Value::object([
                    ("apiVersion", Value::from(target.handler.resource.api_version.clone())),
                    ("kind", Value::from(target.handler.resource.kind.clone())),
                    ("name", Value::from(target.name.clone())),
                    ("namespace", Value::from(target.namespace.clone())),
                ]);
                (object, values)
            }
            None => (Value::object([("name", Value::from(key))]), FightValues::Hidden),
        })
    }

    /// Brings the metrics of history up to date.
    pub fn measure(&self, metrics: &Metrics, now: Timestamp) {
        let current = self.fights.lock().current(milliseconds(now)).len();
        metrics.fights.store(current as u64, Relaxed);
        metrics.takeovers.store(self.takeovers.load(Relaxed), Relaxed);
    }

    /// Returns who wrote most and which fields changed most, as a document.
    pub fn writers(&self, most: usize) -> Value {
        fights::writers(&self.churn.lock(), most)
    }
}

/// Returns a time in milliseconds since 1970.
fn milliseconds(time: Timestamp) -> u64 {
    let milliseconds = time.seconds.saturating_mul(1000).saturating_add(i64::from(time.nanos / 1_000_000));
    u64::try_from(milliseconds).unwrap_or_default()
}

/// Returns the name of a resource with its group of storage, such as `deployments.apps`.
fn resource_name(handler: &ResourceHandler) -> String {
    qualified(&handler.resource.name, &handler.resource.storage.0)
}
