//! Operators, `size`, and string functions of the standard library.

use super::{ONE, Row, fail, no_such_overload, regex};
use crate::{
    Error,
    cost::Cost,
    function::EvalResult,
    meter::Meter,
    types::{Equality, ListSemantics},
    value::{Index, List, MapKey, Val, check_scalars, key_of},
};
use std::{cmp::Ordering, collections::HashMap};

/// The rows of a comparison, for every pair of comparable types.
macro_rules! comparison {
    ($($name:literal, $holds:expr;)*) => {
        &[$(
            (concat!("`", $name, "`(bool, bool): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(int, int): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(int, double): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(int, uint): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(uint, uint): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(uint, double): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(uint, int): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(double, double): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(double, int): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(double, uint): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(string, string): bool"), Cost::Compare, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(bytes, bytes): bool"), Cost::Compare, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(timestamp, timestamp): bool"), ONE, |_, args| compare(args, $holds)),
            (concat!("`", $name, "`(duration, duration): bool"), ONE, |_, args| compare(args, $holds)),
        )*]
    };
}

pub(super) const COMPARISONS: &[Row] = comparison! {
    "_<_", |order| order == Ordering::Less;
    "_<=_", |order| order != Ordering::Greater;
    "_>_", |order| order == Ordering::Greater;
    "_>=_", |order| order != Ordering::Less;
};

pub(super) const OPERATORS: &[Row] = &[
    ("`!_`(bool): bool", ONE, |_, args| match args {
        [Val::Bool(flag)] => Ok(Val::Bool(!flag)),
        _ => no_such_overload(),
    }),
    ("`-_`(int): int", ONE, |_, args| match args {
        [Val::Int(number)] => whole(number.checked_neg()),
        _ => no_such_overload(),
    }),
    ("`-_`(double): double", ONE, |_, args| match args {
        [Val::Double(number)] => Ok(Val::Double(-number)),
        _ => no_such_overload(),
    }),
    ("`_&&_`(bool, bool): bool", ONE, |_, _| no_such_overload()),
    ("`_||_`(bool, bool): bool", ONE, |_, _| no_such_overload()),
    ("`_?_:_`(bool, T, T): T", ONE, |_, _| no_such_overload()),
    ("`@not_strictly_false`(bool): bool", ONE, |_, _| no_such_overload()),
    ("`_[_]`(list(T), int): T", ONE, |_, _| no_such_overload()),
    ("`_[_]`(map(K, V), K): V", ONE, |_, _| no_such_overload()),
    ("`_==_`(T, T): bool", Cost::Compare, |meter, args| match args {
        [a, b] => a.equals(b, meter).map(Val::Bool),
        _ => no_such_overload(),
    }),
    ("`_!=_`(T, T): bool", Cost::Compare, |meter, args| match args {
        [a, b] => is_equal(meter, a, b).map(|equal| Val::Bool(!equal)),
        _ => no_such_overload(),
    }),
    ("`@in`(T, list(T)): bool", Cost::In, |meter, args| match args {
        [item, Val::List(list)] => contains(meter, list, item),
        _ => no_such_overload(),
    }),
    ("`@in`(K, map(K, V)): bool", ONE, |_, args| match args {
        [key, Val::Map(map)] => Ok(Val::Bool(map.find(key).is_some())),
        _ => no_such_overload(),
    }),
    ("`_+_`(int, int): int", ONE, |_, args| integers(args, i64::checked_add)),
    ("`_-_`(int, int): int", ONE, |_, args| integers(args, i64::checked_sub)),
    ("`_*_`(int, int): int", ONE, |_, args| integers(args, i64::checked_mul)),
    ("`_/_`(int, int): int", ONE, |_, args| match args {
        [_, Val::Int(0)] => fail("division by zero"),
        _ => integers(args, i64::checked_div),
    }),
    ("`_%_`(int, int): int", ONE, |_, args| match args {
        [_, Val::Int(0)] => fail("modulus by zero"),
        _ => integers(args, i64::checked_rem),
    }),
    ("`_+_`(uint, uint): uint", ONE, |_, args| unsigned(args, u64::checked_add)),
    ("`_-_`(uint, uint): uint", ONE, |_, args| unsigned(args, u64::checked_sub)),
    ("`_*_`(uint, uint): uint", ONE, |_, args| unsigned(args, u64::checked_mul)),
    ("`_/_`(uint, uint): uint", ONE, |_, args| match args {
        [_, Val::UInt(0)] => fail("division by zero"),
        _ => unsigned(args, u64::checked_div),
    }),
    ("`_%_`(uint, uint): uint", ONE, |_, args| match args {
        [_, Val::UInt(0)] => fail("modulus by zero"),
        _ => unsigned(args, u64::checked_rem),
    }),
    ("`_+_`(double, double): double", ONE, |_, args| doubles(args, |a, b| a + b)),
    ("`_-_`(double, double): double", ONE, |_, args| doubles(args, |a, b| a - b)),
    ("`_*_`(double, double): double", ONE, |_, args| doubles(args, |a, b| a * b)),
    ("`_/_`(double, double): double", ONE, |_, args| doubles(args, |a, b| a / b)),
    ("`_+_`(string, string): string", Cost::Concatenate, |meter, args| match args {
        [Val::String(a), Val::String(b)] => {
            meter.allocate(a.len() + b.len())?;
            Ok(Val::String([a.as_str(), b.as_str()].concat().into()))
        }
        _ => no_such_overload(),
    }),
    ("`_+_`(bytes, bytes): bytes", Cost::Concatenate, |meter, args| match args {
        [Val::Bytes(a), Val::Bytes(b)] => {
            meter.allocate(a.len() + b.len())?;
            Ok(Val::Bytes([&a[..], &b[..]].concat().into()))
        }
        _ => no_such_overload(),
    }),
    ("`_+_`(list(T), list(T)): list(T)", Cost::ConcatenateLists, |meter, args| match args {
        [Val::List(a), Val::List(b)] => concatenate(meter, a, b),
        _ => no_such_overload(),
    }),
    ("size(string): int", ONE, size),
    ("size(bytes): int", ONE, size),
    ("size(list(T)): int", ONE, size),
    ("size(map(K, V)): int", ONE, size),
    ("string.size(): int", ONE, size),
    ("bytes.size(): int", ONE, size),
    ("list(T).size(): int", ONE, size),
    ("map(K, V).size(): int", ONE, size),
    ("string.contains(string): bool", Cost::Contains, |_, args| texts(args, |a, b| a.contains(b))),
    ("string.startsWith(string): bool", Cost::Affix, |_, args| texts(args, |a, b| a.starts_with(b))),
    ("string.endsWith(string): bool", Cost::Affix, |_, args| texts(args, |a, b| a.ends_with(b))),
    ("matches(string, string): bool", ONE, |_, args| regex::matches(args)),
    ("string.matches(string): bool", Cost::Matches, |_, args| regex::matches(args)),
    ("`cel.@mapInsert`(map(K, V), K, V): map(K, V)", ONE, |_, args| insert(args)),
    ("`cel.@mapInsert`(map(K, V), map(K, V)): map(K, V)", ONE, |_, args| insert(args)),
];

fn whole<'v>(result: Option<i64>) -> EvalResult<'v> {
    result.map_or_else(|| fail("integer overflow"), |number| Ok(Val::Int(number)))
}

fn integers<'v>(args: &[Val<'v>], operation: fn(i64, i64) -> Option<i64>) -> EvalResult<'v> {
    match args {
        [Val::Int(a), Val::Int(b)] => whole(operation(*a, *b)),
        _ => no_such_overload(),
    }
}

fn unsigned<'v>(args: &[Val<'v>], operation: fn(u64, u64) -> Option<u64>) -> EvalResult<'v> {
    match args {
        [Val::UInt(a), Val::UInt(b)] => operation(*a, *b)
            .map_or_else(|| fail("unsigned integer overflow"), |number| Ok(Val::UInt(number))),
        _ => no_such_overload(),
    }
}

fn doubles<'v>(args: &[Val<'v>], operation: fn(f64, f64) -> f64) -> EvalResult<'v> {
    match args {
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(operation(*a, *b))),
        _ => no_such_overload(),
    }
}

fn texts<'v>(args: &[Val<'v>], holds: fn(&str, &str) -> bool) -> EvalResult<'v> {
    match args {
        [Val::String(a), Val::String(b)] => Ok(Val::Bool(holds(a, b))),
        _ => no_such_overload(),
    }
}

fn size<'v>(meter: &mut Meter, args: &[Val<'v>]) -> EvalResult<'v> {
    if let [Val::String(text)] = args {
        meter.scan(text.len())?;
    }
    match args.first().and_then(Val::size) {
        Some(size) => Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX))),
        None => no_such_overload(),
    }
}

fn compare<'v>(args: &[Val<'v>], holds: fn(Ordering) -> bool) -> EvalResult<'v> {
    let [a, b] = args else { return no_such_overload() };
    match a.compare(b) {
        Some(order) => Ok(Val::Bool(holds(order))),
        None if a.is_number() && b.is_number() => fail("NaN values cannot be ordered"),
        None => no_such_overload(),
    }
}

pub(super) fn contains<'v>(meter: &mut Meter, list: &List<'v>, item: &Val<'v>) -> EvalResult<'v> {
    for other in list.iter() {
        if is_equal(meter, item, &other?)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}

/// Whether a value equals another; what cannot be compared does not.
fn is_equal<'v>(meter: &mut Meter, a: &Val<'v>, b: &Val<'v>) -> Result<bool, Error> {
    match a.equals(b, meter) {
        Err(error) if error.is_absorbable() => Ok(false),
        result => result,
    }
}

/// Concatenates lists; sets become their union, keyed lists are merged by key.
fn concatenate<'v>(meter: &mut Meter, a: &List<'v>, b: &List<'v>) -> EvalResult<'v> {
    meter.allocate((a.len() + b.len()) * size_of::<Val<'_>>())?;
    let mut items = a.to_vec()?;
    match a.declared().and_then(|decl| decl.semantics()) {
        None | Some(ListSemantics::Ordered) => items.extend(b.to_vec()?),
        Some(ListSemantics::Set(equality)) => {
            if *equality == Equality::Mutual {
                check_scalars(a, b)?;
            }
            let mut index = Index::new(a, meter)?;
            for item in b.to_vec()? {
                if !index.contains(&item, meter)? {
                    index.add(&item, meter)?;
                    items.push(item);
                }
            }
        }
        Some(ListSemantics::Keyed(keys, _)) => {
            let mut places: HashMap<_, usize> =
                items.iter().enumerate().map(|(at, item)| (key_of(item, keys), at)).collect();
            for item in b.to_vec()? {
                match places.get(&key_of(&item, keys)).and_then(|at| items.get_mut(*at)) {
                    Some(before) => *before = item,
                    None => {
                        places.insert(key_of(&item, keys), items.len());
                        items.push(item);
                    }
                }
            }
        }
    }
    Ok(Val::List(a.extended(items)))
}

fn insert<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let Some(Val::Map(map)) = args.first() else { return no_such_overload() };
    let mut entries = map.entries()?.into_owned();
    let added = match args {
        [_, Val::Map(more)] => more.entries()?.into_owned(),
        [_, key, value] => MapKey::new(key).map(|key| (key, value.clone())).into_iter().collect(),
        _ => return no_such_overload(),
    };
    for (key, value) in added {
        if entries.contains_key(&key) {
            return fail(format!("insert failed: key {} already exists", super::shown(&key.to_val())));
        }
        entries.insert(key, value);
    }
    Ok(Val::map(entries))
}
