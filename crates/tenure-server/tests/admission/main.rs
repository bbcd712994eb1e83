//! Admission as clients see it: webhooks that mutate and deny, and policies.

#[path = "../api/http.rs"]
#[allow(dead_code)]
mod http;
mod manifests;
mod policies;
mod recording_webhook;
#[path = "../api/server.rs"]
#[allow(dead_code)]
mod server;
mod validation;
#[path = "../api/webhook_server.rs"]
mod webhook_server;
mod webhooks;
