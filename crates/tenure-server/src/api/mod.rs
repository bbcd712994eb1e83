//! Admission: webhooks, policies and the built-in plugins.

pub(crate) mod admission;
mod class;
pub(crate) mod consent;
mod growth;
mod limit_range;
mod policies;
mod priority;
mod runtime_class;

use crate::{
    catalog::handler as served,
    object,
    objects::webhook_route as route,
    read,
    server::{Request, Server as Api},
    subresources::scale,
    target,
    write::{delete, pipeline as write},
};
