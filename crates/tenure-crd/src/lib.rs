//! Custom resources without HTTP and store: a definition is checked and read, an object of it is pruned, defaulted,
//! validated, shown in a table and published as OpenAPI. Times come in as arguments; webhooks are described and
//! their answers checked, not called.

mod definition;
mod fill;
mod format;
mod json_path;
mod metadata;
mod node;
mod path;
mod pattern;
mod prune;
mod publish;
mod review;
#[allow(missing_docs, private_interfaces)]
pub mod rules;
mod strategy;
mod table;
mod validate;

pub use definition::{
    CLEANUP_FINALIZER, Conversion, Definition, NamesInUse, ResourceNames, Version, WEBHOOK_TIMEOUT_SECONDS,
    Webhook, WebhookTarget, accept, check_create, check_update, merge_changes, terminating,
};
pub use format::duration_nanoseconds;
pub use json_path::JsonPath;
pub use path::SimplePath;
pub use publish::Dialect;
pub use review::Review;
pub use strategy::CustomResourceStrategy;
pub use table::Column;
