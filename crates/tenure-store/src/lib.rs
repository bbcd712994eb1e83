#![doc = include_str!("../README.md")]

mod backup;
mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod cow_map;
mod cursor;
mod delta;
pub mod embedded;
mod encryption;
mod entry;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod file_io;
mod history;
mod index;
mod ledger;
pub mod limits;
mod list;
mod memory;
mod precondition;
mod revision;
mod shared_state;
mod stage;
mod staged;
mod staging;
mod state;
mod store;
mod topic;
mod transaction;
mod value;
mod watch;

pub use backup::Backup;
pub use clock::Clock;
pub use cow_map::{CowMap, Descending, Range};
pub use embedded::{EmbeddedOptions, EmbeddedStore};
pub use encryption::{Encryption, EncryptionProvider, EncryptionRule};
pub use entry::{Changes, Entry, KeyChange, WeakChanges};
pub use error::{Error, Result};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdOptions, EtcdStore};
pub use ledger::{LedgerPage, LedgerPosition, LedgerRecord, LedgerRequest, LedgerScope};
pub use limits::{HistoryLimits, LedgerLimits};
pub use list::{ListRequest, Listing};
pub use memory::{MemoryStore, Snapshot};
pub use precondition::{Conflict, Expected};
pub use revision::Revision;
pub use staged::StagedTransactions;
pub use staging::StagingStore;
pub use store::{Compaction, Store};
pub use transaction::{Action, Committed, Operation, Transaction};
pub use value::StoredValue;
pub use watch::{Signal, Watch, WatchRequest, WatchSource};
