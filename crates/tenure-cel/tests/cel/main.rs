//! Results, costs and errors of expressions.

mod attacks;
mod costs;
mod properties;
mod results;
mod schema;
mod tables;
