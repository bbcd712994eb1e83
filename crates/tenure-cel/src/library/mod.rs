//! The function libraries, as tables of signature, cost and code.

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
    cost::Cost,
    error::Error,
    function::{EvalResult, Overload},
    meter::Meter,
    value::Val,
};

/// The code of a function in a table.
type Code = for<'v> fn(&mut Meter, &[Val<'v>]) -> EvalResult<'v>;
/// A function: signature, cost, code.
type Row = (&'static str, Cost, Code);

/// The cost of one step.
const ONE: Cost = Cost::Fixed(1);

fn overloads(tables: &[&[Row]]) -> Vec<Overload> {
    let rows = tables.iter().flat_map(|table| table.iter());
    // Signatures are constants; a test parses all of them.
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

/// Returns the functions of the standard library, including those that macros need.
pub(crate) fn standard() -> Vec<Overload> {
    overloads(&[STANDARD.as_slice(), &[optional::FUNCTIONS]].concat())
}

/// Returns the functions that Kubernetes provides.
pub(crate) fn kubernetes() -> Vec<Overload> {
    overloads(&[STANDARD.as_slice(), &KUBERNETES].concat())
}

/// Returns the same functions with the costs of Kubernetes 1.37: a text is matched with a pattern at the same cost by the function as by
/// the method, and the beginning or end of a text is charged by its own length.
pub(crate) fn kubernetes_1_37() -> Vec<Overload> {
    let mut overloads = kubernetes();
    for overload in &mut overloads {
        match overload.name.as_str() {
            "matches" => overload.cost = Cost::Matches,
            "startsWith" | "endsWith" => overload.cost = Cost::AffixOfLength,
            _ => {}
        }
    }
    overloads
}

fn fail<'v>(message: impl Into<String>) -> EvalResult<'v> {
    Err(Error::evaluate(message))
}

/// The error for arguments of the wrong types.
fn no_such_overload<'v>() -> EvalResult<'v> {
    fail("no such overload")
}

/// Formats a value for messages.
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
    fn every_signature_parses() {
        for (signature, cost, code) in STANDARD.iter().chain(&KUBERNETES).flat_map(|table| table.iter()) {
            assert!(Overload::new(signature, *cost, Box::new(*code)).is_ok(), "{signature}");
        }
    }
}
