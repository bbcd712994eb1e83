//! Paths as text, in two forms.
//!
//! The form of Kubernetes, which conflict messages show, is for people: names stand as they are, so
//! `.metadata.labels.app.kubernetes.io/name` does not say where a name ends. It is printed by `Display` and
//! read by [`Path::parse_in`](crate::Path::parse_in), which asks a type and a document.
//!
//! The quoted form says the same without doubt: a name that is not a plain word stands in quotes, as in
//! `.metadata.labels."app.kubernetes.io/name"`, and values are JSON. It is printed by
//! [`Path::quoted`](crate::Path::quoted) and read by [`Path::parse`](crate::Path::parse), for which every text
//! in the form of Kubernetes whose names are plain words is fine too.

mod parse;
mod parse_in;
mod print;

pub use print::Quoted;
