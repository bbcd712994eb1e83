//! The functions of expressions, as tables: signature, cost, code.

mod address;
mod convert;
mod format_names;
mod format_text;
mod lists;
mod optional;
mod quantity;
pub(crate) mod regex;
mod semver;
mod sets;
mod standard;
mod strings;
mod time;
mod url;

use crate::{
    cost::{Cost, Meter},
    env::{Outcome, Overload},
    error::Error,
    value::Val,
};

/// The code of a function in a table.
type Code = for<'v> fn(&mut Meter, &[Val<'v>]) -> Outcome<'v>;
/// A function: signature, cost, code.
type Row = (&'static str, Cost, Code);

/// What takes one step.
const ONE: Cost = Cost::Fixed(1);

fn overloads(tables: &[&[Row]]) -> Vec<Overload> {
    let rows = tables.iter().flat_map(|table| table.iter());
    // Signatures are constants, and a test reads all of them.
    rows.filter_map(|(signature, cost, code)| Overload::new(signature, *cost, Box::new(*code)).ok()).collect()
}

const STANDARD: [&[Row]; 4] =
    [standard::OPERATORS, standard::COMPARISONS, convert::FUNCTIONS, time::FUNCTIONS];

const KUBERNETES: [&[Row]; 10] = [
    strings::FUNCTIONS,
    lists::FUNCTIONS,
    sets::FUNCTIONS,
    regex::FUNCTIONS,
    optional::FUNCTIONS,
    url::FUNCTIONS,
    quantity::FUNCTIONS,
    address::FUNCTIONS,
    semver::FUNCTIONS,
    format_names::FUNCTIONS,
];

/// Returns the functions of the standard library, with those that macros need.
pub(crate) fn standard() -> Vec<Overload> {
    overloads(&[STANDARD.as_slice(), &[optional::FUNCTIONS]].concat())
}

/// Returns the functions that Kubernetes offers.
pub(crate) fn kubernetes() -> Vec<Overload> {
    overloads(&[STANDARD.as_slice(), &KUBERNETES].concat())
}

fn fail<'v>(message: impl Into<String>) -> Outcome<'v> {
    Err(Error::evaluate(message))
}

/// What a function says of values that it does not take.
fn no_such_overload<'v>() -> Outcome<'v> {
    fail("no such overload")
}

/// Returns a value as messages show it.
pub(crate) fn shown(value: &Val<'_>) -> String {
    match value {
        Val::String(text) => text.to_string(),
        Val::Int(number) => number.to_string(),
        Val::UInt(number) => number.to_string(),
        Val::Bool(flag) => flag.to_string(),
        Val::Double(number) => crate::value::go_float(*number),
        other => other.type_name().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_read() {
        for (signature, cost, code) in STANDARD.iter().chain(&KUBERNETES).flat_map(|table| table.iter()) {
            assert!(Overload::new(signature, *cost, Box::new(*code)).is_ok(), "{signature}");
        }
    }
}
