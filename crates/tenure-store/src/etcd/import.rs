//! Imports a backup into etcd: every entry is written under an empty prefix, and revisions continue above those of the
//! backup. The ledger is not imported, because its revisions are those of the old store.

use super::batch::stored;
use super::call_error::CallError;
use super::cluster::Cluster;
use super::format::{self, Format, State};
use super::keys::Keys;
use super::options::EtcdOptions;
use super::revisions::{Offset, Slot, Slots};
use super::wire::{
    Acknowledgement, Compare, DeleteRangeRequest, PUT, PutRequest, RANGE, RangeRequest, RangeResponse,
    Request, RequestOp, TXN, TxnRequest, TxnResponse, revision,
};
use crate::Backup;
use crate::limits::RESTORE_GAP;
use crate::{Error, Result, Revision};
use std::time::Duration;
use tokio::time::Instant;

/// The most entries and bytes of one transaction of etcd.
const BATCH_COUNT: usize = 100;
const BATCH_BYTES: usize = 512 * 1024;
/// The timeout of one transaction.
const BATCH_TIME: Duration = Duration::from_secs(30);

/// The progress of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of entries written so far.
    pub entries: usize,
    /// The number of all entries.
    pub total: usize,
}

/// Writes all entries of a backup under an empty prefix, or one in which an import was interrupted, and returns the
/// revision of the new store, which is above that of the backup.
///
/// No server opens the store before the import is finished.
pub async fn import(
    options: &EtcdOptions,
    backup: &Backup,
    mut tell: impl FnMut(Progress),
) -> Result<Revision> {
    let cluster = Cluster::new(options)?;
    let keys = Keys::under(&options.prefix);
    let current = begin(&cluster, &keys).await?;
    // Every batch is one revision of etcd; the first must be above all revisions that clients may have seen.
    let offset = Offset::reaching(backup.revision.skip(RESTORE_GAP).get(), current);
    write_format(&cluster, &keys, Format { offset, state: State::Importing }).await?;
    let session = options.encryption.session();
    let mut done = 0;
    while done < backup.entries.len() {
        let mut request = TxnRequest::default();
        let mut bytes = 0;
        for entry in backup.entries.iter().skip(done).take(BATCH_COUNT) {
            bytes += entry.value.len();
            if !request.success.is_empty() && bytes > BATCH_BYTES {
                break;
            }
            // Each gets a revision of its own, as if it were the only one.
            let slot = Slot::at(request.success.len());
            let slots = Slots { modified: slot, created: slot };
            let value = stored(&session, &entry.key, &entry.value.bytes(), slots)?;
            request.success.push(RequestOp::put(keys.entry(&entry.key), value));
        }
        let count = request.success.len();
        let _: TxnResponse = cluster.persist(TXN, &request, batch_deadline()).await.map_err(not_written)?;
        done += count;
        tell(Progress { entries: done, total: backup.entries.len() });
    }
    let (key, range_end) = keys.entries();
    let request = RangeRequest { key, range_end, count_only: true, ..RangeRequest::default() };
    let written: RangeResponse =
        cluster.persist(RANGE, &request, batch_deadline()).await.map_err(super::unavailable)?;
    if usize::try_from(written.count) != Ok(backup.entries.len()) {
        return Err(not_written(CallError::Unreachable(format!(
            "{} entries where {} were written; another program uses the prefix",
            written.count,
            backup.entries.len()
        ))));
    }
    let finished = write_format(&cluster, &keys, Format { offset, state: State::Ready }).await?;
    Ok(offset.revision(finished, Slot::FIRST))
}

/// Checks that the prefix is empty, or removes what an interrupted import left, and returns etcd's revision.
async fn begin(cluster: &Cluster, keys: &Keys) -> Result<u64> {
    let found = format::read(cluster, keys, batch_deadline()).await?;
    let (key, range_end) = keys.all();
    if found.is_some_and(|format| format.state == State::Importing) {
        let request = TxnRequest {
            compare: vec![Compare::present(keys.format())],
            success: vec![RequestOp {
                request: Some(Request::DeleteRange(DeleteRangeRequest {
                    key: key.clone(),
                    range_end: range_end.clone(),
                })),
            }],
            failure: Vec::new(),
        };
        let _: TxnResponse = cluster.persist(TXN, &request, batch_deadline()).await.map_err(not_written)?;
    }
    let request = RangeRequest { key, range_end, count_only: true, ..RangeRequest::default() };
    let answer: RangeResponse =
        cluster.persist(RANGE, &request, batch_deadline()).await.map_err(super::unavailable)?;
    if answer.count > 0 {
        let count = answer.count;
        return Err(Error::Invalid(format!(
            "there are {count} keys under the prefix; import under one that is empty"
        )));
    }
    Ok(u64::try_from(revision(answer.header.as_ref())).unwrap_or(0))
}

async fn write_format(cluster: &Cluster, keys: &Keys, format: Format) -> Result<i64> {
    let put = PutRequest { key: keys.format(), value: format.encode(), lease: 0 };
    let answer: Acknowledgement = cluster.persist(PUT, &put, batch_deadline()).await.map_err(not_written)?;
    Ok(revision(answer.header.as_ref()))
}

/// Stops all writes to a store, through any server, until [`thaw`]. Reads and watches continue.
pub async fn freeze(options: &EtcdOptions) -> Result<()> {
    let (cluster, keys) = (Cluster::new(options)?, Keys::under(&options.prefix));
    let put = PutRequest { key: keys.freeze(), value: "frozen".into(), lease: 0 };
    let frozen: Result<Acknowledgement, CallError> = cluster.persist(PUT, &put, batch_deadline()).await;
    frozen.map(|_| ()).map_err(not_written)
}

/// Allows writes again.
pub async fn thaw(options: &EtcdOptions) -> Result<()> {
    let (cluster, keys) = (Cluster::new(options)?, Keys::under(&options.prefix));
    let request = TxnRequest { success: vec![RequestOp::delete(keys.freeze())], ..TxnRequest::default() };
    let thawed: Result<TxnResponse, CallError> = cluster.persist(TXN, &request, batch_deadline()).await;
    thawed.map(|_| ()).map_err(not_written)
}

fn batch_deadline() -> Instant {
    Instant::now() + BATCH_TIME
}

fn not_written(error: CallError) -> Error {
    Error::NotDurable { reason: error.to_string().into() }
}
