#![doc = include_str!("../README.md")]

mod check;
mod cost;
mod env;
mod error;
mod library;
mod program;
mod syntax;
mod types;
mod value;

pub use cost::{Cost, Limits, Meter, excess};
pub use env::{Env, Function, ObjectTypes, Outcome};
pub use error::{Error, Issue, Issues};
pub use program::{Evaluation, Program, Variables};
pub use syntax::{Ast, Comprehension, Entry, Expr, ExprId, Field, Literal, Source, parse};
pub use types::{Decl, ListSemantics, Type, escape, unescape};
pub use value::{Duration, List, Map, MapKey, Opaque, Timestamp, Val};
