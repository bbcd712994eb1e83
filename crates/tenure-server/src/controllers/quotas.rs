//! The statuses of quotas. Every write keeps them in its own transaction; a quota that is new or has other limits is counted
//! here, and all are counted again from time to time, since a write that began before a quota existed does not charge it.

use super::Outcome;
use crate::write::{Writer, is_counted};
use std::time::Duration;
use tenure_catalog::object::Stored;
use tenure_meta::ApiError;
use tenure_store::Entry;

/// The prefix of quotas in the store.
pub(super) const PREFIX: &str = "objects/core/resourcequotas/";
/// How long a counted quota is not counted again.
const RECOUNT: Duration = Duration::from_secs(300);

/// Returns after which time a quota that was written is counted.
pub(super) fn due(quota: &Entry) -> Duration {
    match Stored::read(quota) {
        Ok(stored) if is_counted(&stored.object) => RECOUNT,
        _ => Duration::ZERO,
    }
}

/// Counts the usage of a quota. A wrong status is checked again, for writes that were in progress.
pub(super) async fn count(writer: &Writer, key: &str) -> Result<Outcome, ApiError> {
    match writer.recount_quota(key).await? {
        Some(false) => Ok(Outcome::Done),
        Some(true) | None => Ok(Outcome::Later),
    }
}
