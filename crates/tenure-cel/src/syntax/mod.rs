//! From text to tree and back.

mod ast;
mod expand;
mod literal;
pub(crate) mod operators;
mod parser;
mod print;
mod source;
mod token;

pub use ast::{Ast, Comprehension, Entry, Expr, ExprId, Field, Literal};
pub(crate) use expand::{ACCUMULATOR, expand};
pub use parser::parse;
pub use source::Source;
