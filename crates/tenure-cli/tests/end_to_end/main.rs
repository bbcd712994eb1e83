//! The binary as a person uses it: started, used by common clients, stopped and restarted.

mod atomic;
mod authorization;
mod client;
mod compare;
mod controller;
mod conversations;
mod crash;
mod curl;
mod etcd;
#[path = "../../../tenure-store/tests/support/etcd.rs"]
mod etcd_process;
mod history;
mod kubectl;
mod life;
mod process;
mod recorder;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
mod rotation;
mod rust_client;
mod serve;
mod test_server;
