//! Lists as sets.

use super::{Row, no_such_overload};
use crate::{
    Error,
    cost::Cost,
    meter::Meter,
    value::{Index, List, Val},
};

pub(super) const FUNCTIONS: &[Row] = &[
    ("sets.contains(list(T), list(T)): bool", Cost::Sets(1.0), |meter, args| match args {
        [Val::List(a), Val::List(b)] => contains_all(meter, a, b).map(Val::Bool),
        _ => no_such_overload(),
    }),
    ("sets.equivalent(list(T), list(T)): bool", Cost::Sets(2.0), |meter, args| match args {
        [Val::List(a), Val::List(b)] => {
            Ok(Val::Bool(contains_all(meter, a, b)? && contains_all(meter, b, a)?))
        }
        _ => no_such_overload(),
    }),
    ("sets.intersects(list(T), list(T)): bool", Cost::Sets(1.0), |meter, args| match args {
        [Val::List(a), Val::List(b)] => {
            let index = Index::new(b, meter)?;
            for item in a.iter() {
                if index.contains(&item?, meter)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        _ => no_such_overload(),
    }),
];

fn contains_all<'v>(meter: &mut Meter, list: &List<'v>, items: &List<'v>) -> Result<bool, Error> {
    let index = Index::new(list, meter)?;
    for item in items.iter() {
        if !index.contains(&item?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}
