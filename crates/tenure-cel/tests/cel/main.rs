//! What expressions mean, cost and say when they are wrong.

mod attacks;
mod costs;
mod properties;
mod results;
mod schema;
mod tables;
