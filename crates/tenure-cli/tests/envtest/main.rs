//! Tenure as `kube-apiserver` and `etcd`, driven as envtest drives the original binaries.

mod contract;
mod controllers;
mod harness;
mod informers;
mod webhooks;
