//! Functions on regular expressions.

use super::{Row, fail, no_such_overload};
use crate::{Error, cost::Cost, function::EvalResult, meter::Meter, pattern::compile_pattern, value::Val};
use regex::Regex;

pub(super) const FUNCTIONS: &[Row] = &[
    ("string.find(string): string", Cost::Find, |_, args| match args {
        [Val::String(text), Val::String(pattern)] => Ok(find(&runtime(pattern)?, text)),
        _ => no_such_overload(),
    }),
    ("string.findAll(string): list(string)", Cost::Find, |meter, args| match args {
        [Val::String(text), Val::String(pattern)] => find_all(&runtime(pattern)?, text, None, meter),
        _ => no_such_overload(),
    }),
    ("string.findAll(string, int): list(string)", Cost::Find, |meter, args| match args {
        [Val::String(text), Val::String(pattern), limit] => {
            find_all(&runtime(pattern)?, text, Some(limit), meter)
        }
        _ => no_such_overload(),
    }),
];

fn runtime(pattern: &str) -> Result<Regex, Error> {
    compile(pattern).map_err(|error| Error::evaluate(format!("Illegal regex: {error}")))
}

pub(super) fn matches<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    match args {
        [Val::String(text), Val::String(pattern)] => match compile(pattern) {
            Ok(regex) => Ok(Val::Bool(regex.is_match(text))),
            Err(error) => fail(error),
        },
        _ => no_such_overload(),
    }
}

pub(crate) fn find<'v>(regex: &Regex, text: &str) -> Val<'v> {
    Val::String(regex.find(text).map_or("", |found| found.as_str()).into())
}

/// Returns all matches, up to a limit; a negative limit means no limit.
pub(crate) fn find_all<'v>(
    regex: &Regex,
    text: &str,
    limit: Option<&Val<'v>>,
    meter: &mut Meter,
) -> EvalResult<'v> {
    let most = match limit {
        None => usize::MAX,
        Some(Val::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        Some(_) => return no_such_overload(),
    };
    let mut items = Vec::new();
    for found in regex.find_iter(text).take(most) {
        meter.allocate(found.len() + size_of::<Val<'_>>())?;
        items.push(Val::String(found.as_str().into()));
    }
    Ok(Val::list(items))
}

/// Compiles an expression, with the errors of cel-go.
pub(crate) fn compile(source: &str) -> Result<Regex, String> {
    compile_pattern(source).map_err(|error| error.to_string())
}
