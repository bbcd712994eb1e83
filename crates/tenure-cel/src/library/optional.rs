//! Optional values.

use super::{ONE, Row, fail, no_such_overload};
use crate::{
    function::EvalResult,
    value::{List, Val},
};
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Row] = &[
    ("optional.of(V): optional(V)", ONE, |_, args| match args {
        [value] => Ok(Val::optional(Some(value.clone()))),
        _ => no_such_overload(),
    }),
    ("optional.ofNonZeroValue(V): optional(V)", ONE, |_, args| match args {
        [value] => Ok(Val::optional((!value.is_zero()).then(|| value.clone()))),
        _ => no_such_overload(),
    }),
    ("optional.none(): optional(V)", ONE, |_, _| Ok(Val::Optional(None))),
    ("optional(V).value(): V", ONE, |_, args| match args {
        [Val::Optional(Some(value))] => Ok((**value).clone()),
        [Val::Optional(None)] => fail("optional.none() dereference"),
        _ => no_such_overload(),
    }),
    ("optional(V).hasValue(): bool", ONE, |_, args| match args {
        [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
        _ => no_such_overload(),
    }),
    ("optional(V).or(optional(V)): optional(V)", ONE, |_, args| match args {
        [value @ Val::Optional(Some(_)), _] | [Val::Optional(None), value] => Ok(value.clone()),
        _ => no_such_overload(),
    }),
    ("optional(V).orValue(V): V", ONE, |_, args| match args {
        [Val::Optional(Some(value)), _] => Ok((**value).clone()),
        [Val::Optional(None), other] => Ok(other.clone()),
        _ => no_such_overload(),
    }),
    ("`_[?_]`(list(V), int): optional(V)", ONE, |_, _| no_such_overload()),
    ("`_[?_]`(optional(list(V)), int): optional(V)", ONE, |_, _| no_such_overload()),
    ("`_[?_]`(map(K, V), K): optional(V)", ONE, |_, _| no_such_overload()),
    ("`_[?_]`(optional(map(K, V)), K): optional(V)", ONE, |_, _| no_such_overload()),
    ("`_[_]`(optional(list(V)), int): optional(V)", ONE, |_, _| no_such_overload()),
    ("`_[_]`(optional(map(K, V)), K): optional(V)", ONE, |_, _| no_such_overload()),
    ("list(V).first(): optional(V)", ONE, |_, args| match args {
        [Val::List(list)] => Ok(Val::optional(list.get(0).transpose()?)),
        _ => no_such_overload(),
    }),
    ("list(V).last(): optional(V)", ONE, |_, args| match args {
        [Val::List(list)] => {
            let last = list.len().checked_sub(1).and_then(|at| list.get(at));
            Ok(Val::optional(last.transpose()?))
        }
        _ => no_such_overload(),
    }),
    ("optional.unwrap(list(optional(V))): list(V)", ONE, |_, args| unwrap(args)),
    ("list(optional(V)).unwrapOpt(): list(V)", ONE, |_, args| unwrap(args)),
];

/// Returns the present values of a list of optionals.
fn unwrap<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut items = Vec::new();
    for item in List::to_vec(list)? {
        match item {
            Val::Optional(value) => items.extend(value.map(Arc::unwrap_or_clone)),
            _ => return no_such_overload(),
        }
    }
    Ok(Val::list(items))
}
