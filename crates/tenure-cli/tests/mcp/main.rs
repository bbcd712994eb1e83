//! `tenure mcp` as agents use it: with the SDKs of the protocol and its inspector, within its limits, with a person who approves, and
//! with clients that misbehave. The server is in the profile `kubernetes`, so that nothing depends on what only Tenure has.

mod approval;
mod clients;
mod conversation;
#[path = "../../../tenure-store/tests/support/etcd.rs"]
mod etcd_process;
mod harness;
mod http;
mod limits;
#[path = "../end_to_end/process.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod process;
mod robustness;
