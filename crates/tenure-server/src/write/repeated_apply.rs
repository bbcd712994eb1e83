//! Applies that are repeated. Controllers and pipelines apply the same configuration again and again. If the object is still at the
//! revision at which the same apply changed nothing, it changes nothing now, and need not be parsed and merged to know that.

use super::{Writer, commit::Written, request::WriteRequest};
use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::Ordering::Relaxed,
};
use tenure_catalog::{Cache, object::Stored};
use tenure_meta::ApiError;
use tenure_store::Revision;

/// The bytes of all that is remembered.
const CAPACITY: usize = 4 * 1024 * 1024;
/// The bytes of one apply: its key in the map and in the queue, the apply, and what the two collections keep beside them.
const WEIGHT: usize = 96;

/// An apply that changed nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Noop {
    /// The revision of the object that it left alone.
    revision: Revision,
    /// A hash of everything else that determines its result.
    digest: u64,
}

/// The last apply of each manager to each object that changed nothing.
pub(super) struct RepeatedApplies {
    /// Its keys are secret, so that nobody can make another apply with the same digest.
    hasher: RandomState,
    noops: Cache<u64, Noop>,
}

impl Default for RepeatedApplies {
    fn default() -> RepeatedApplies {
        RepeatedApplies { hasher: RandomState::new(), noops: Cache::new(CAPACITY, |_| WEIGHT) }
    }
}

impl RepeatedApplies {
    /// Returns the hash of the object and the manager. Two that share it displace each other, and are not mistaken for each other.
    fn key(&self, write: &WriteRequest<'_>) -> u64 {
        self.hasher.hash_one((place(write), &write.manager))
    }

    /// Returns the hash of an apply: the hash of the object and the manager, the schema by which the object is read, the options and the
    /// configuration.
    fn digest(&self, key: u64, write: &WriteRequest<'_>) -> u64 {
        let (generation, request) = (write.target.handler.generation(), write.request);
        self.hasher.hash_one((key, generation, &request.query, request.content_type(), &request.body[..]))
    }
}

/// Returns what names the endpoint of an object.
fn place<'a>(write: &WriteRequest<'a>) -> [&'a str; 5] {
    let target = write.target;
    let resource = &target.handler.resource;
    [&resource.api_version, &resource.name, &target.namespace, &target.name, &target.subresource]
}

impl Writer {
    /// Remembers an apply that changed nothing and whose digest covers everything that decided so.
    pub(super) fn remember_apply(&self, write: &WriteRequest<'_>, live: &Stored, warnings: &[String]) {
        if write.is_remembered && warnings.is_empty() {
            let applies = &self.repeated_applies;
            let key = applies.key(write);
            let noop = Noop { revision: live.revision, digest: applies.digest(key, write) };
            applies.noops.insert(&key, noop);
        }
    }

    /// Returns the result of an apply that is known to change nothing; `None` if that is not known.
    pub(super) async fn repeat_apply(&self, write: &WriteRequest<'_>) -> Result<Option<Written>, ApiError> {
        let applies = &self.repeated_applies;
        let key = applies.key(write);
        let Some(noop) = applies.noops.get(&key) else { return Ok(None) };
        let live = self.objects.peek(write.target).await?;
        let Some(live) = live.filter(|live| live.revision == noop.revision) else { return Ok(None) };
        // What the digest does not cover, such as webhooks and policies, may have changed since.
        let is_repeated = applies.digest(key, write) == noop.digest && self.noop_apply_is_final(write);
        if !is_repeated || !self.is_current(write, Some(&live)).await? {
            return Ok(None);
        }
        self.metrics.repeats.fetch_add(1, Relaxed);
        Ok(Some(self.unchanged(write, &live, Vec::new())))
    }
}
