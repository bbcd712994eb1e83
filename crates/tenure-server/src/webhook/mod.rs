//! The HTTPS client of admission and conversion webhooks.

mod client;
mod tls;

pub(crate) use client::{Route, Webhooks};
