//! The promises of the compact forms: what they cost, that they lose nothing, and what they refuse.

mod corpus;
mod sizes;
