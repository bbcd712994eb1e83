//! Functions of lists.

use super::{Row, fail, no_such_overload};
use crate::{
    Error,
    cost::Cost,
    function::EvalResult,
    meter::Meter,
    value::{Duration, Index, List, Val},
};
use std::cmp::Ordering;

/// The rows of functions that exist for lists of each ordered type.
macro_rules! ordered {
    ($($ty:literal)*) => {
        &[$(
            (concat!("list(", $ty, ").isSorted(): bool"), Cost::ScanItems, |_, args| is_sorted(args)),
            (concat!("list(", $ty, ").min(): ", $ty), Cost::ScanItems, |_, args| extreme(args, "min", Ordering::Less)),
            (concat!("list(", $ty, ").max(): ", $ty), Cost::ScanItems, |_, args| extreme(args, "max", Ordering::Greater)),
            (concat!("list(", $ty, ").sort(): list(", $ty, ")"), Cost::Sort(0), |meter, args| match args {
                [Val::List(list)] => sort(meter, list, list),
                _ => no_such_overload(),
            }),
            (concat!("list(T).@sortByAssociatedKeys(list(", $ty, ")): list(T)"), Cost::Sort(1), |meter, args| match args {
                [Val::List(list), Val::List(keys)] => sort(meter, list, keys),
                _ => no_such_overload(),
            }),
        )*
        ("list(int).sum(): int", Cost::ScanItems, |_, args| sum(args, Val::Int(0))),
        ("list(uint).sum(): uint", Cost::ScanItems, |_, args| sum(args, Val::UInt(0))),
        ("list(double).sum(): double", Cost::ScanItems, |_, args| sum(args, Val::Double(0.0))),
        ("list(duration).sum(): duration", Cost::ScanItems, |_, args| sum(args, Val::Duration(Duration::from_nanoseconds(0)))),
        ("list(T).indexOf(T): int", Cost::ScanItems, |meter, args| position(meter, args, false)),
        ("list(T).lastIndexOf(T): int", Cost::ScanItems, |meter, args| position(meter, args, true)),
        ("list(T).slice(int, int): list(T)", Cost::Slice, |meter, args| match args {
            [Val::List(list), Val::Int(from), Val::Int(to)] => slice(meter, list, *from, *to),
            _ => no_such_overload(),
        }),
        ("list(list(T)).flatten(): list(T)", Cost::Flatten, |meter, args| match args {
            [Val::List(list)] => flatten(meter, list, 1),
            _ => no_such_overload(),
        }),
        ("list(dyn).flatten(int): list(dyn)", Cost::Flatten, |meter, args| match args {
            [Val::List(list), Val::Int(depth)] => flatten(meter, list, *depth),
            _ => no_such_overload(),
        }),
        ("lists.range(int): list(int)", Cost::Range, |meter, args| match args {
            [Val::Int(count)] => {
                let count = (*count).max(0);
                meter.allocate(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size_of::<Val<'_>>()))?;
                Ok(Val::list((0..count).map(Val::Int).collect()))
            }
            _ => no_such_overload(),
        }),
        ("list(T).reverse(): list(T)", Cost::Reverse, |meter, args| match args {
            [Val::List(list)] => {
                meter.allocate(list.len() * size_of::<Val<'_>>())?;
                let mut items = list.to_vec()?;
                items.reverse();
                Ok(Val::list(items))
            }
            _ => no_such_overload(),
        }),
        ("list(T).distinct(): list(T)", Cost::Distinct, |meter, args| match args {
            [Val::List(list)] => distinct(meter, list),
            _ => no_such_overload(),
        }),
        ("jsonpatch.escapeKey(string): string", Cost::ScanText(1.0), |meter, args| match args {
            [Val::String(key)] => {
                meter.allocate(key.len() * 2)?;
                Ok(Val::String(key.replace('~', "~0").replace('/', "~1").into()))
            }
            _ => no_such_overload(),
        }),
        ]
    };
}

pub(super) const FUNCTIONS: &[Row] =
    ordered! { "int" "uint" "double" "bool" "duration" "timestamp" "string" "bytes" };

fn order(a: &Val<'_>, b: &Val<'_>) -> Result<Ordering, Error> {
    a.compare(b).ok_or_else(|| Error::evaluate("no such overload"))
}

fn is_sorted<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut before: Option<Val<'v>> = None;
    for item in list.iter() {
        let item = item?;
        if let Some(before) = &before
            && order(before, &item)? == Ordering::Greater
        {
            return Ok(Val::Bool(false));
        }
        before = Some(item);
    }
    Ok(Val::Bool(true))
}

fn extreme<'v>(args: &[Val<'v>], name: &str, wanted: Ordering) -> EvalResult<'v> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut best: Option<Val<'v>> = None;
    for item in list.iter() {
        let item = item?;
        match &best {
            Some(before) if order(&item, before)? != wanted => {}
            _ => best = Some(item),
        }
    }
    best.map_or_else(|| fail(format!("{name} called on empty list")), Ok)
}

fn sum<'v>(args: &[Val<'v>], zero: Val<'v>) -> EvalResult<'v> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut total = zero;
    for item in list.iter() {
        total = match (&total, &item?) {
            (Val::Int(a), Val::Int(b)) => {
                Val::Int(a.checked_add(*b).ok_or_else(|| Error::evaluate("integer overflow"))?)
            }
            (Val::UInt(a), Val::UInt(b)) => {
                Val::UInt(a.checked_add(*b).ok_or_else(|| Error::evaluate("unsigned integer overflow"))?)
            }
            (Val::Double(a), Val::Double(b)) => Val::Double(a + b),
            (Val::Duration(a), Val::Duration(b)) => {
                let sum = a.nanoseconds().checked_add(b.nanoseconds());
                Val::Duration(Duration::from_nanoseconds(
                    sum.ok_or_else(|| Error::evaluate("duration overflow"))?,
                ))
            }
            _ => return no_such_overload(),
        };
    }
    Ok(total)
}

fn position<'v>(meter: &mut Meter, args: &[Val<'v>], last: bool) -> EvalResult<'v> {
    let [Val::List(list), wanted] = args else { return no_such_overload() };
    let mut found = -1;
    for (at, item) in list.iter().enumerate() {
        if item?.equals(wanted, meter)? {
            found = i64::try_from(at).unwrap_or(i64::MAX);
            if !last {
                break;
            }
        }
    }
    Ok(Val::Int(found))
}

fn slice<'v>(meter: &mut Meter, list: &List<'v>, from: i64, to: i64) -> EvalResult<'v> {
    let (Ok(start), Ok(end)) = (usize::try_from(from), usize::try_from(to)) else {
        return fail(format!("cannot slice({from}, {to}), negative indexes not supported"));
    };
    if start > end {
        return fail(format!(
            "cannot slice({from}, {to}), start index must be less than or equal to end index"
        ));
    }
    if list.len() < end {
        return fail(format!("cannot slice({from}, {to}), list is length {}", list.len()));
    }
    meter.allocate((end - start) * size_of::<Val<'_>>())?;
    let items: Result<Vec<_>, Error> = (start..end).filter_map(|at| list.get(at)).collect();
    Ok(Val::list(items?))
}

fn flatten<'v>(meter: &mut Meter, list: &List<'v>, depth: i64) -> EvalResult<'v> {
    if depth < 0 {
        return fail("level must be non-negative");
    }
    let mut items = list.to_vec()?;
    meter.allocate(items.len() * size_of::<Val<'_>>())?;
    for _ in 0..depth {
        if !items.iter().any(|item| matches!(item, Val::List(_))) {
            break;
        }
        let mut flat = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Val::List(inner) => {
                    meter.allocate(inner.len() * size_of::<Val<'_>>())?;
                    flat.extend(inner.to_vec()?);
                }
                other => flat.push(other),
            }
        }
        items = flat;
    }
    Ok(Val::list(items))
}

fn distinct<'v>(meter: &mut Meter, list: &List<'v>) -> EvalResult<'v> {
    meter.allocate(list.len() * size_of::<Val<'_>>())?;
    let mut index = Index::default();
    let mut items = Vec::new();
    for item in list.iter() {
        let item = item?;
        if !index.contains(&item, meter)? {
            index.add(&item, meter)?;
            items.push(item);
        }
    }
    Ok(Val::list(items))
}

/// Sorts a list by the keys of its items; items with equal keys keep their order.
fn sort<'v>(meter: &mut Meter, list: &List<'v>, keys: &List<'v>) -> EvalResult<'v> {
    if list.len() != keys.len() {
        return fail(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        ));
    }
    meter.allocate(list.len() * 4 * size_of::<Val<'_>>())?;
    let mut pairs: Vec<(Val<'v>, Val<'v>)> = keys.to_vec()?.into_iter().zip(list.to_vec()?).collect();
    let Some((first, _)) = pairs.first() else { return Ok(Val::list(Vec::new())) };
    if pairs.iter().any(|(key, _)| std::mem::discriminant(key) != std::mem::discriminant(first)) {
        return fail("list elements must have the same type");
    }
    if first.compare(first).is_none() && !matches!(first, Val::Double(_)) {
        return fail("list elements must be comparable");
    }
    pairs.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}
