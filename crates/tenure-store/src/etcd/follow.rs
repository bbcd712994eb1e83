//! Follows etcd: one watch of everything under the prefix feeds the mirror. The watch is reopened, through another member
//! if necessary, when it breaks or stalls; after a compaction the mirror is loaded again.

use super::call_error::CallError;
use super::load;
use super::mirror::Mirror;
use super::wire::{WATCH, WatchCreate, WatchRequest, WatchResponse};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The pause before a watch that ended is reopened.
const PAUSE: Duration = Duration::from_millis(50);

/// The pause before the store is loaded again.
const RELOAD_PAUSE: Duration = Duration::from_millis(500);

/// Why a watch ended.
enum End {
    /// The next revision cannot be read: etcd has compacted it, or a value in it is under a key that is no longer configured.
    /// The current state may still be readable.
    Unreadable,
    Broken(CallError),
}

/// Feeds the mirror for as long as the task lives.
pub(super) async fn run(mirror: Arc<Mirror>) {
    loop {
        match follow(&mirror).await {
            End::Unreadable => {
                let loaded = load::catch_up(&mirror).await;
                mirror.note_undecryptable(match &loaded {
                    Err(CallError::Undecryptable(reason)) => Some(reason.clone()),
                    _ => None,
                });
                if let Err(error) = loaded {
                    tracing::warn!(%error, "loading the store from etcd failed, retrying");
                    sleep(RELOAD_PAUSE).await;
                }
            }
            End::Broken(error) => {
                tracing::debug!(%error, "etcd watch ended, reopening");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn follow(mirror: &Mirror) -> End {
    let (key, range_end) = mirror.keys.all();
    let create = WatchCreate { key, range_end, start_revision: mirror.reached() + 1 };
    let opened = mirror.cluster.stream(WATCH, &WatchRequest { create: Some(create) }).await;
    let (member, mut answers) = match opened {
        Ok(opened) => opened,
        Err(error) => return End::Broken(error),
    };
    loop {
        let answer = tokio::select! {
            answer = answers.next::<WatchResponse>() => answer,
            () = mirror.reopen.notified() => {
                return End::Broken(CallError::Unreachable("the watch stalled".to_owned()));
            }
        };
        let answer = match answer {
            Ok(Some(answer)) => answer,
            Ok(None) => return End::Broken(CallError::Unreachable("the watch ended".to_owned())),
            Err(error) => {
                mirror.cluster.avoid(member);
                return End::Broken(error);
            }
        };
        if answer.compact_revision > 0 {
            return End::Unreadable;
        }
        if answer.canceled {
            mirror.cluster.avoid(member);
            return End::Broken(CallError::Unreachable(answer.cancel_reason));
        }
        if let Err(error) = mirror.take(answer.events) {
            tracing::warn!(%error, "etcd watch delivered a value that cannot be decrypted, loading the store again");
            return End::Unreadable;
        }
    }
}
