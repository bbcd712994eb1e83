//! The syntax of expressions: tokens, parser, macro expansion, syntax tree and printer.

mod ast;
mod expand;
mod literal;
pub(crate) mod operators;
mod parser;
mod print;
mod token;

pub use ast::{Ast, Comprehension, Entry, Expr, ExprId, Field, Literal};
pub(crate) use expand::{ACCUMULATOR, expand};
pub(crate) use parser::RESERVED;
pub use parser::parse;
