//! Those who have a say in what is written, as clients meet them: webhooks that change and refuse, and policies.

#[path = "../api/callee.rs"]
mod callee;
#[path = "../api/http.rs"]
#[allow(dead_code)]
mod http;
mod policies;
#[path = "../api/server.rs"]
#[allow(dead_code)]
mod server;
mod validation;
mod webhooks;
mod witness;
