//! The defaulting rules of built-in kinds, compiled from rows of `data/defaults.json`, and the functions that they name.

mod condition;
mod function;
mod image;
mod label_keys;
mod rule;
mod rules;

pub(crate) use condition::{Condition, Place, Target};
pub(crate) use function::qos_class;
pub(crate) use rule::Rule;
pub(crate) use rules::Rules;
