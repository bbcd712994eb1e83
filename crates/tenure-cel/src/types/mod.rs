//! Types of expressions, and what a caller declares about the documents that expressions read.

mod decl;
mod escape;
mod signature;
mod ty;

pub use decl::{Decl, ListSemantics};
pub use escape::{escape, unescape};
pub(crate) use signature::Signature;
pub use ty::Type;
