//! Ownership: several managers shape one object, and every write decides what the object becomes, who owns
//! each field afterwards, and whether someone must be asked first.
//!
//! [`apply`] is for those who declare all they want of an object, [`update`] for every other write. Both take
//! the live object with its managers and give the next state; the time, the manager's name, the types and
//! the way between versions are arguments, so the same inputs always give the same answer. After either, the
//! caller fills in defaults, validates, and [settles](State::settle) the state: an unchanged one need not be
//! stored.
//!
//! ```
//! use tenure_apply::{
//!     ApplyError, Force, Live, Managers, Presence, Reset, SingleVersion, Timestamp, Write, apply,
//! };
//! use tenure_schema::Schema;
//! use tenure_value::{Limits, Value, json};
//!
//! let read = |text: &str| json::parse(text.as_bytes(), &Limits::default());
//! let kind = Schema::builtin().kind("v1", "ConfigMap").ok_or("no such kind")?;
//! let versions = SingleVersion::new("v1", kind);
//! let empty = read(r#"{"apiVersion": "v1", "kind": "ConfigMap"}"#)?;
//! let write = |manager: &'static str| Write {
//!     manager,
//!     api_version: "v1",
//!     subresource: "",
//!     now: Timestamp::from_unix(1_800_000_000),
//!     versions: &versions,
//!     reset: Reset::Nothing,
//!     empty: &empty,
//! };
//! let config = |value: &str| {
//!     read(&format!(
//!         r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "a"}}, "data": {{"k": "{value}"}}}}"#
//!     ))
//! };
//!
//! let new = Live { object: &empty, managers: &Managers::default(), presence: Presence::New };
//! let state = apply(new, &config("v")?, &write("alice"), Force::No)?;
//! assert_eq!(state.object.at(["data", "k"]), Some(&Value::from("v")));
//!
//! let Err(ApplyError::Conflicts(conflicts)) = apply(state.live(), &config("w")?, &write("bob"), Force::No) else {
//!     panic!("alice must be asked");
//! };
//! assert_eq!(conflicts.to_string(), r#"Apply failed with 1 conflict: conflict with "alice": .data.k"#);
//!
//! let taken = apply(state.live(), &config("w")?, &write("bob"), Force::All)?;
//! assert_eq!(taken.managers.iter().map(|manager| manager.name.as_str()).collect::<Vec<_>>(), ["bob"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adopt;
mod apply;
mod cap;
mod compare;
mod conflict;
mod contest;
mod declare;
mod error;
mod extract;
mod handover;
mod items;
mod last_applied;
mod ledger;
mod manager;
mod managers;
mod merge;
mod prune;
mod reconcile;
mod report;
mod reset;
mod restate;
mod scale;
mod shape;
mod strip;
mod time;
mod trace;
mod update;
mod versions;
mod write;

pub use adopt::{Adoption, adopt};
pub use apply::{BEFORE_FIRST_APPLY, Force, apply};
pub use cap::{ANCIENT_CHANGES, MAX_UPDATERS};
pub use compare::Difference;
pub use conflict::{Cause, Conflict, Conflicts, Owner};
pub use error::ApplyError;
pub use extract::extract;
pub use handover::{release, transfer};
pub use last_applied::LAST_APPLIED;
pub use manager::{Identity, Manager, Operation};
pub use managers::{MAX_MANAGERS, Managers};
pub use report::{FieldOwners, OwnershipChange, ownership, ownership_by_place, ownership_changes};
pub use reset::Reset;
pub use scale::{ReplicasAt, SCALE_VERSION, from_scale, to_scale};
pub use time::Timestamp;
pub use trace::{Decision, Rule, Trace, apply_traced};
pub use update::{Requested, update};
pub use versions::{Emptied, Evolution, SingleVersion, Versions};
pub use write::{Live, Presence, Settled, State, Write};
