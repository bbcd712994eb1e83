//! Re-encryption: entries and ledger records that are not encrypted with the current key are written again. An entry gets a
//! new revision by that, as by any write; a ledger record keeps its own, which is that of its creation.

use super::batch::record_value;
use super::call_error::CallError;
use super::keys::Meaning;
use super::load::pages;
use super::revisions::split_slots;
use super::wire::{Compare, RequestOp, TXN, TxnRequest, TxnResponse};
use super::{EtcdStore, unavailable};
use crate::{Error, Expected, Result, Store, Transaction};
use bytes::Bytes;
use std::time::Duration;
use tokio::time::Instant;

/// The timeout of one write of a record.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Writes everything again that is not encrypted with the current key.
pub(super) async fn run(store: &EtcdStore) -> Result<()> {
    // Writes since then are under the current key.
    store.sync().await?;
    for key in outdated_entries(store).await.map_err(unavailable)? {
        let Some(entry) = store.get(&key).await? else { continue };
        let transaction = Transaction::new().put(key, Expected::At(entry.modified), entry.value.bytes());
        match store.commit(transaction).await {
            // A conflicting write used the current key.
            Ok(_) | Err(Error::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    for request in outdated_records(store).await.map_err(unavailable)? {
        let deadline = Instant::now() + TIMEOUT;
        let written = store.mirror.cluster.persist::<TxnResponse>(TXN, &request, deadline).await;
        written.map_err(|error| Error::NotDurable { reason: error.to_string().into() })?;
    }
    Ok(())
}

async fn outdated_entries(store: &EtcdStore) -> Result<Vec<Bytes>, CallError> {
    let (mirror, session) = (&store.mirror, store.mirror.encryption.session());
    let mut outdated = Vec::new();
    pages(mirror, mirror.keys.entries(), 0, |kv| {
        if let Meaning::Entry(key) = mirror.keys.meaning(&kv.key) {
            let (value, protection, _) = split_slots(&kv.value);
            if !session.is_current(key, value, protection) {
                outdated.push(Bytes::copy_from_slice(key));
            }
        }
        Ok(())
    })
    .await?;
    Ok(outdated)
}

/// Returns the transactions that write the outdated records again, each unless it was removed meanwhile.
async fn outdated_records(store: &EtcdStore) -> Result<Vec<TxnRequest>, CallError> {
    let (mirror, session) = (&store.mirror, store.mirror.encryption.session());
    let mut requests = Vec::new();
    pages(mirror, mirror.keys.records(), 0, |kv| {
        let Meaning::Record(key) = mirror.keys.meaning(&kv.key) else { return Ok(()) };
        let (_, stored) = kv.value.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        let (value, protection, _) = split_slots(stored);
        if session.is_current(key, value, protection) {
            return Ok(());
        }
        let (slot, written_at, record) = mirror.record(&session, key, kv)?;
        let value = record_value(&session, key, &record, written_at, slot);
        let value = value.map_err(|error| CallError::Undecryptable(error.to_string()))?;
        requests.push(TxnRequest {
            compare: vec![Compare::at(kv.key.clone(), kv.mod_revision)],
            success: vec![RequestOp::put(kv.key.clone(), value)],
            failure: Vec::new(),
        });
        Ok(())
    })
    .await?;
    Ok(requests)
}
