//! Objects in the store at the version that a request names.

pub(crate) mod conversion;
pub(crate) mod decode_cache;
pub(crate) mod webhook_route;
