//! The binary encodings of Kubernetes API objects, CBOR and protobuf, converted to and from JSON documents.
//!
//! The crate exists for clients and servers that speak them. It does not know HTTP, watches or storage. Public API: it follows
//! semantic versioning.

pub mod cbor;
pub mod protobuf;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
