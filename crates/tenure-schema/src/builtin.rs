//! The types of the built-in kinds of Kubernetes, as data inside the crate. The bytes are written by the
//! pack command (`cargo run -p tenure-pack`), whose tests hold that they are what it writes and that all
//! of it can be read; they are not checked again at run time.

use crate::{Schema, SchemaBuilder, pack::Pack};
use std::{borrow::Cow, sync::OnceLock};

/// The version of Kubernetes that the built-in types are of.
pub const KUBERNETES_VERSION: &str = "1.36";

/// The pack itself.
pub const PACK: &[u8] = include_bytes!("../data/kubernetes-1.36.pack");

pub(crate) fn schema() -> &'static Schema {
    static BUILTIN: OnceLock<Schema> = OnceLock::new();
    BUILTIN.get_or_init(load)
}

/// Loads the built-in types anew, none of them decoded yet; [`Schema::builtin`] does it once.
pub fn load() -> Schema {
    Pack::open(Cow::Borrowed(PACK)).map_or_else(|_| SchemaBuilder::default().finish(), Schema::over)
}
