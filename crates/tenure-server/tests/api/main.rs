//! The API as its clients see it: a server in this process, plain HTTP, and what was recorded of Kubernetes. Every
//! module starts servers of its own, so that they can run side by side.

mod conversations;
mod deletion;
mod discovery;
mod errors;
mod facts;
mod hostile;
mod http;
mod server;
mod watch;
mod writes;
