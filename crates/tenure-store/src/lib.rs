//! Bytes under keys with revisions: get, list, compare-and-swap transactions and watch, in memory, on disk
//! and on etcd (feature `etcd`).
//!
//! One trait, [`Store`], and implementations of it. Every transaction that changes something gets the next
//! [`Revision`]; entries know the revisions that made and last changed them; watchers see every change in order,
//! exactly once, and can resume after any revision of the kept history.
//!
//! ```
//! use tenure_store::{Expected, ListRequest, MemoryStore, Signal, Store, Transaction, WatchRequest};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store = MemoryStore::new();
//! store.commit(Transaction::new().put("pods/a", Expected::Absent, "one")).await?;
//!
//! let pods = store.list(ListRequest::prefix("pods/")).await?;
//! let mut watch = store.watch(WatchRequest::prefix("pods/").after(pods.revision)).await?;
//!
//! let seen = pods.entries[0].modified;
//! store.commit(Transaction::new().put("pods/a", Expected::At(seen), "two")).await?;
//! let Signal::Changes(changes) = watch.next().await? else { panic!() };
//! let change = changes.iter().next().unwrap();
//! assert_eq!(change.previous.as_ref().unwrap().value, "one");
//! assert_eq!(change.current.as_ref().unwrap().value, "two");
//! # Ok::<(), tenure_store::Error>(()) }).unwrap();
//! ```

mod backup;
#[cfg(feature = "conformance")]
pub mod conformance;
mod cursor;
pub mod embedded;
mod entry;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod file_io;
mod history;
mod index;
pub mod limits;
mod list;
mod memory;
mod precondition;
mod revision;
mod shared_state;
mod stage;
mod state;
mod store;
mod topic;
mod transaction;
mod watch;

pub use backup::Backup;
pub use embedded::{EmbeddedOptions, EmbeddedStore};
pub use entry::{Change, Changes, Entry};
pub use error::{Error, Result};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdOptions, EtcdStore};
pub use limits::HistoryLimits;
pub use list::{ListRequest, Listing};
pub use memory::{MemoryStore, Snapshot};
pub use precondition::{Conflict, Expected};
pub use revision::Revision;
pub use store::{Compaction, Store};
pub use transaction::{Action, Committed, Operation, Transaction};
pub use watch::{Signal, Watch, WatchRequest, WatchSource};
