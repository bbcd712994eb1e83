#![doc = include_str!("../README.md")]

mod check;
mod compile;
mod cost;
mod env;
mod error;
mod function;
mod library;
mod meter;
mod pattern;
mod pattern_syntax;
mod program;
mod source;
mod syntax;
mod types;
mod value;

pub use cost::{Cost, excess};
pub use env::{Env, ObjectTypes};
pub use error::{Error, Issue, Issues};
pub use function::{EvalResult, Function};
pub use meter::{Limits, Meter};
pub use pattern::{PatternError, compile_pattern};
pub use pattern_syntax::SyntaxError as PatternSyntaxError;
pub use program::{Evaluation, Program, Variables};
pub use source::Source;
pub use syntax::{Ast, Comprehension, Entry, Expr, ExprId, Field, Literal, parse};
pub use types::{Decl, Equality, ListSemantics, Type, escape, unescape};
pub use value::{Duration, List, Made, Map, MapKey, Opaque, Timestamp, Val};
