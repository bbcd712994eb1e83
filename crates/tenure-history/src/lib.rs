//! The history of Kubernetes objects: who changed which field, when, from what to what.
//!
//! - [`encode`] writes the [`Record`] of a change: its author and a reverse delta, computed in one walk of the two versions.
//! - [`Timeline`] walks back from the live object, and [`rebuild`] returns the version of a revision or a time.
//! - [`changes`] and [`field_change`] describe what a change did to an object and to one field.
//! - [`attribute`] tells who made a change that was only observed, from `managedFields`.
//! - [`undo`] plans how to undo a past change, and which later changes conflict with it.
//! - [`Fights`] finds managers that keep overwriting each other, and [`Churn`] counts who writes what; both in bounded memory.
//!
//! The crate is pure: no I/O, no clock, no threads. The store keeps records in the transaction of the change; the server reads
//! and shows them.
//!
//! The crate exists because a history is the same whether the server wrote it or a recorder followed another server. Public API: it
//! follows semantic versioning.
//!
//! ```
//! use tenure_apply::{Managers, State};
//! use tenure_history::{Author, Entry, Moment, Rebuilt, Values, Verb, Version, encode, rebuild};
//!
//! let object = |replicas: i64| -> tenure_value::Value { format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#).parse().unwrap() };
//! let (old, new, managers) = (object(3), object(5), Managers::default());
//! let author = Author { verb: Verb::Patch, user: "alice", manager: "kubectl", subresource: "" };
//! let before = Version { object: &old, managers: &managers, revision: 41 };
//! let after = Version { object: &new, managers: &managers, revision: 0 };
//! let record = encode(&author, Some(before), Some(after), Values::Kept)?;
//! assert_eq!(record.paths, [".spec.replicas"]);
//!
//! let live = Rebuilt { state: State { object: new, managers }, revision: 42 };
//! let records = [Entry { revision: 42, written_at: 0, bytes: &record.bytes }];
//! let rebuilt = rebuild(Some(live), records.into_iter(), Moment::Revision(41))?;
//! assert_eq!(rebuilt.state.object, old);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod attribution;
mod changes;
mod churn;
mod codec;
mod delta;
mod error;
mod fights;
mod managers;
mod record;
pub mod secret;
mod timeline;
pub mod undo;

pub use attribution::{Attribution, attribute, writers};
pub use changes::{FieldChange, changes, field_change};
pub use churn::{Churn, FieldCount, WriterCount};
pub use error::HistoryError;
pub use fights::{Fight, Fights, Side, Takeover, takeovers};
pub use record::{Author, Encoded, Record, Verb, Version, encode};
pub use secret::Values;
pub use timeline::{Entry, Moment, Rebuilt, Timeline, TimelineStep, rebuild};
