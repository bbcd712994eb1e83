//! Priority and fairness of API requests, as in Kubernetes.
//!
//! A request is matched to a [`FlowSchema`], which names a priority level and distinguishes flows, by user or by namespace. Each
//! level has a share of the seats of the server. Beyond its share requests wait in queues, which take turns, so that a flow
//! that floods the server delays only itself.
//!
//! The crate only decides: it has no clock, no threads and no I/O. [`Config`] classifies, [`Scheduler`] decides which
//! requests start, wait or are refused, and [`bootstrap`] has the objects that every server starts with.
//!
//! The crate exists because fair queuing is tested with a clock of its own. It does not know HTTP, and reads no clock. Internal: no
//! promises about its API.
//!
//! ```
//! use std::time::Duration;
//! use tenure_meta::{Attributes, UserInfo};
//! use tenure_flowcontrol::{Arrival, Config, Scheduler};
//!
//! let config = Config::default();
//! let mut scheduler = Scheduler::new(&config, 10);
//! let user = UserInfo::new("ann").with_group("system:authenticated");
//! let request = Attributes::NonResource { verb: "get".into(), path: "/version".into() };
//! let flow = config.classify(&user, &request);
//! assert_eq!(config.schema(&flow).name, "catch-all");
//! match scheduler.arrive(&flow, 1) {
//!     Arrival::Started(ticket) => assert!(scheduler.finish(&ticket, Duration::from_millis(1)).is_empty()),
//!     other => panic!("{other:?}"),
//! }
//! ```

pub mod bootstrap;
mod classify;
mod config;
mod dealer;
mod queue;
mod rule;
mod scheduler;
mod seats;
mod status;
mod work_estimate;

pub use classify::Flow;
pub use config::{Config, FlowSchema, Level, PriorityLevel, Queuing};
pub use scheduler::{Arrival, Rejection, Scheduler, Ticket};
pub use status::dangling_conditions;
pub use work_estimate::ListEstimate;
