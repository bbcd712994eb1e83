//! The defaulting rules of built-in kinds, and the functions that they name.

mod function;
mod image;
mod rule;
mod rules;

pub(crate) use function::qos_class;
pub(crate) use rule::{Condition, Place, Rule, condition_of, place};
pub(crate) use rules::Rules;
