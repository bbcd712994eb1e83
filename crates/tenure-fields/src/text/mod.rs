//! Paths as text, in two notations.
//!
//! The notation of Kubernetes, as in conflict messages, is for humans: names are not quoted, so
//! `.metadata.labels.app.kubernetes.io/name` does not show where a name ends. It is formatted by `Display`
//! and parsed by [`Path::parse_in`](crate::Path::parse_in), which needs a type and optionally a document.
//!
//! The quoted notation is unambiguous: a name that is not a plain word is quoted, as in
//! `.metadata.labels."app.kubernetes.io/name"`, and values are JSON. It is formatted by
//! [`Path::quoted`](crate::Path::quoted) and parsed by [`Path::parse`](crate::Path::parse), which also
//! accepts the notation of Kubernetes if all names are plain words.
//!
//! [`Path::parse_in`](crate::Path::parse_in) also accepts what people type: JSON pointers, JSONPath as `kubectl`
//! takes it, indexes, keys without quotes and elements of `FieldsV1`. [`Path::nearest`](crate::Path::nearest)
//! finds what was probably meant by a path that matches nothing.

mod nearest;
mod parse;
mod parse_in;
mod print;
mod selector;

pub use print::Quoted;
