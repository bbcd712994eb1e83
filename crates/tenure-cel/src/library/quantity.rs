//! Quantities: numbers with a unit, such as `1.5Gi` and `500m`.

use super::{Row, fail, no_such_overload};
use crate::{
    cost::Cost,
    function::EvalResult,
    value::{Opaque, Val},
};
use std::{any::Any, cmp::Ordering};

const ONE: Cost = Cost::Fixed(1);
const PARSE: Cost = Cost::Scan(1.0);

pub(super) const FUNCTIONS: &[Row] = &[
    ("quantity(string): kubernetes.Quantity", PARSE, |_, args| match args {
        [Val::String(text)] => match Quantity::parse(text) {
            Some(quantity) => Ok(Val::opaque(quantity)),
            None => fail(INVALID),
        },
        _ => no_such_overload(),
    }),
    ("isQuantity(string): bool", PARSE, |_, args| match args {
        [Val::String(text)] => Ok(Val::Bool(Quantity::parse(text).is_some())),
        _ => no_such_overload(),
    }),
    ("sign(kubernetes.Quantity): int", ONE, |_, args| {
        with(args, |quantity| Ok(Val::Int(i64::from(quantity.sign()))))
    }),
    ("kubernetes.Quantity.isInteger(): bool", ONE, |_, args| {
        with(args, |quantity| Ok(Val::Bool(quantity.integer().is_some())))
    }),
    ("kubernetes.Quantity.asInteger(): int", ONE, |_, args| {
        with(args, |quantity| {
            quantity
                .integer()
                .map_or_else(|| fail("cannot convert value to integer"), |number| Ok(Val::Int(number)))
        })
    }),
    ("kubernetes.Quantity.asApproximateFloat(): double", ONE, |_, args| {
        with(args, |quantity| Ok(Val::Double(quantity.float())))
    }),
    ("kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool", ONE, |_, args| {
        both(args, |a, b| Ok(Val::Bool(a.cmp(b) == Ordering::Greater)))
    }),
    ("kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool", ONE, |_, args| {
        both(args, |a, b| Ok(Val::Bool(a.cmp(b) == Ordering::Less)))
    }),
    ("kubernetes.Quantity.compareTo(kubernetes.Quantity): int", ONE, |_, args| {
        both(args, |a, b| Ok(Val::Int(a.cmp(b) as i64)))
    }),
    ("kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity", ONE, |_, args| {
        both(args, |a, b| sum(a, b, 1))
    }),
    ("kubernetes.Quantity.add(int): kubernetes.Quantity", ONE, |_, args| with_integer(args, 1)),
    ("kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity", ONE, |_, args| {
        both(args, |a, b| sum(a, b, -1))
    }),
    ("kubernetes.Quantity.sub(int): kubernetes.Quantity", ONE, |_, args| with_integer(args, -1)),
];

const INVALID: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// A quantity: a number times a power of ten.
#[derive(Clone, Copy, Debug)]
struct Quantity {
    number: i128,
    /// The power of ten.
    scale: i32,
    /// Whether the text was short enough to be stored as a 64 bit number and its power, which is what
    /// `isInteger` tests.
    simple: bool,
}

/// The decimal units and their powers of ten.
const DECIMAL: [(&str, i32); 10] =
    [("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// The binary units and their powers of two.
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// The smallest power of ten.
const NANO: i32 = -9;

impl Quantity {
    fn parse(text: &str) -> Option<Quantity> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let (digits, unit) = (rest.get(..end)?, rest.get(end..)?);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            other => other,
        };
        let (base, power) = unit_of(unit)?;
        let length = i32::try_from(whole.len() + fraction.len()).ok()?;
        let precision = match base {
            10 => 18 - length,
            _ if fraction.is_empty() => 15 - i32::try_from(whole.len()).ok()? - power * 3 / 10 - 1,
            _ => -1,
        };
        let sign = if negative { -1 } else { 1 };
        if precision >= 0 {
            let number: i128 = format!("{whole}{fraction}").parse().ok()?;
            let fraction = i32::try_from(fraction.len()).ok()?;
            let (number, scale) = match base {
                10 => (number, power - fraction),
                _ => (number << u32::try_from(power).ok()?, 0),
            };
            if scale >= NANO && i64::try_from(number).is_ok() {
                return Some(Quantity { number: sign * number, scale, simple: true });
            }
        }
        Some(Quantity { number: sign * nanos(whole, fraction, base, power)?, scale: NANO, simple: false })
    }

    fn sign(&self) -> i32 {
        i32::try_from(self.number.signum()).unwrap_or(0)
    }

    /// Returns the value if it is stored as an integer.
    fn integer(&self) -> Option<i64> {
        if !self.simple || self.scale < 0 {
            return None;
        }
        let factor = 10i128.checked_pow(u32::try_from(self.scale).ok()?)?;
        i64::try_from(self.number.checked_mul(factor)?).ok()
    }

    fn float(&self) -> f64 {
        // Dividing by an exact power is exact; multiplying by its inverse is not.
        match u32::try_from(-self.scale) {
            Ok(places) => self.number as f64 / 10f64.powi(places.cast_signed()),
            Err(_) => self.number as f64 * 10f64.powi(self.scale),
        }
    }

    fn cmp(&self, other: &Quantity) -> Ordering {
        let scale = self.scale.min(other.scale);
        // A value that overflows at the finer scale is larger than every value that does not.
        match (self.at_scale(scale), other.at_scale(scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (None, Some(_)) => {
                if self.number > 0 {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (Some(_), None) => {
                if other.number > 0 {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (None, None) => self.float().total_cmp(&other.float()),
        }
    }

    fn at_scale(&self, scale: i32) -> Option<i128> {
        let places = u32::try_from(self.scale - scale).ok()?;
        self.number.checked_mul(10i128.checked_pow(places)?)
    }
}

/// Returns base and exponent of a suffix.
fn unit_of(unit: &str) -> Option<(u32, i32)> {
    if let Some((_, power)) = DECIMAL.iter().find(|row| row.0 == unit) {
        return Some((10, *power));
    }
    if let Some((_, power)) = BINARY.iter().find(|row| row.0 == unit) {
        return Some((2, power.cast_signed()));
    }
    let exponent = unit.strip_prefix(['e', 'E'])?;
    exponent.parse().ok().filter(|power: &i32| (-1000..=1000).contains(power)).map(|power| (10, power))
}

/// Returns a value in billionths, rounded up and capped at 64 bits.
fn nanos(whole: &str, fraction: &str, base: u32, power: i32) -> Option<i128> {
    const CAP: i128 = (i64::MAX as i128) * 1_000_000_000;
    // The number of digits after moving the decimal point; the rest is rounded up.
    let moved = if base == 10 { power + 9 } else { 9 };
    let places = i64::try_from(whole.len()).ok()? + i64::from(moved);
    let (mut amount, mut count, mut rest) = (0i128, 0i64, false);
    for digit in whole.bytes().chain(fraction.bytes()) {
        if count < places {
            amount = (amount * 10 + i128::from(digit - b'0')).min(CAP);
            count += 1;
        } else {
            rest |= digit != b'0';
        }
    }
    while count < places && amount > 0 && amount < CAP {
        amount *= 10;
        count += 1;
    }
    amount += i128::from(rest);
    if base == 2 {
        amount = amount.min(CAP).saturating_mul(1 << u32::try_from(power).ok()?);
    }
    Some(amount.min(CAP))
}

impl Opaque for Quantity {
    fn type_name(&self) -> &str {
        "kubernetes.Quantity"
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Quantity>().is_some_and(|other| self.cmp(other) == Ordering::Equal)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn with<'v>(args: &[Val<'v>], then: impl FnOnce(&Quantity) -> EvalResult<'v>) -> EvalResult<'v> {
    match args.first().and_then(Val::downcast) {
        Some(quantity) => then(quantity),
        None => no_such_overload(),
    }
}

fn both<'v>(args: &[Val<'v>], then: impl FnOnce(&Quantity, &Quantity) -> EvalResult<'v>) -> EvalResult<'v> {
    match (args.first().and_then(Val::downcast), args.get(1).and_then(Val::downcast)) {
        (Some(a), Some(b)) => then(a, b),
        _ => no_such_overload(),
    }
}

fn with_integer<'v>(args: &[Val<'v>], sign: i128) -> EvalResult<'v> {
    let [_, Val::Int(number)] = args else { return no_such_overload() };
    with(args, |quantity| {
        sum(quantity, &Quantity { number: i128::from(*number), scale: 0, simple: true }, sign)
    })
}

fn sum<'v>(a: &Quantity, b: &Quantity, sign: i128) -> EvalResult<'v> {
    let scale = if a.number == 0 {
        b.scale
    } else if b.number == 0 {
        a.scale
    } else {
        a.scale.min(b.scale)
    };
    let number = a.at_scale(scale.min(a.scale)).zip(b.at_scale(scale.min(b.scale)));
    let aligned = (a.number == 0, b.number == 0);
    let result = match (aligned, number) {
        ((true, _), _) => b.number.checked_mul(sign),
        ((_, true), _) => Some(a.number),
        (_, Some((a, b))) => b.checked_mul(sign).and_then(|b| a.checked_add(b)),
        (_, None) => None,
    };
    let Some(number) = result else { return fail("quantity overflow") };
    let simple = a.simple && b.simple && i64::try_from(number).is_ok();
    Ok(Val::opaque(Quantity { number, scale, simple }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_parse_compare_and_convert() {
        for (text, float, integer) in [
            ("1", 1.0, Some(1)),
            ("50k", 50_000.0, Some(50_000)),
            ("500m", 0.5, None),
            ("1.5Gi", 1_610_612_736.0, None),
            ("1Gi", 1_073_741_824.0, Some(1_073_741_824)),
            ("9999999999999999999", 9.223_372_036_854_776e18, None),
            ("1e3", 1000.0, Some(1000)),
            ("-2Mi", -2_097_152.0, Some(-2_097_152)),
            ("1.3", 1.3, None),
            ("0.0000000001", 1e-9, None),
        ] {
            let quantity = Quantity::parse(text).unwrap();
            assert_eq!((quantity.float(), quantity.integer()), (float, integer), "{text}");
        }
        for wrong in ["", "1.5x", "x", "1.2.3", "--1", "1 Gi", "1e", "."] {
            assert!(Quantity::parse(wrong).is_none(), "{wrong}");
        }
        let compare = |a, b| Quantity::parse(a).unwrap().cmp(&Quantity::parse(b).unwrap());
        assert_eq!(compare("1", "1000m"), Ordering::Equal);
        assert_eq!(compare("1Ki", "1k"), Ordering::Greater);
        assert_eq!(compare("999999999999999999E", "1n"), Ordering::Greater);
    }
}
