//! Numbers: comparison across numeric types, and formatting of floating point numbers.

use super::Val;
use std::cmp::Ordering;

impl Val<'_> {
    /// Compares numbers of any types by value; `None` if one is not a number or is NaN.
    pub(crate) fn compare_numbers(&self, other: &Val<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (Val::Int(a), Val::Int(b)) => a.cmp(b),
            (Val::UInt(a), Val::UInt(b)) => a.cmp(b),
            (Val::Int(a), Val::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Val::UInt(a), Val::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Val::Double(a), Val::Double(b)) => a.partial_cmp(b)?,
            (Val::Double(a), b) => compare_double(*a, b.as_integer()?)?,
            (a, Val::Double(b)) => compare_double(*b, a.as_integer()?)?.reverse(),
            _ => return None,
        })
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Val::Int(_) | Val::UInt(_) | Val::Double(_))
    }

    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self {
            Val::Int(number) => Some(i128::from(*number)),
            Val::UInt(number) => Some(i128::from(*number)),
            _ => None,
        }
    }
}

/// Compares exactly, without the loss of a conversion to floating point.
fn compare_double(a: f64, b: i128) -> Option<Ordering> {
    if a.is_nan() {
        return None;
    }
    // Values beyond 65 bits exceed every CEL integer.
    if a.abs() >= 4e19 {
        return Some(if a > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let whole = a.trunc() as i128;
    Some(whole.cmp(&b).then(a.partial_cmp(&a.trunc())?))
}

/// Formats a number as Go's `%g` does: the shortest digits that parse to the same value, with an exponent
/// below 0.0001 and from a million on.
pub(crate) fn go_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..21).contains(&exponent) || exponent >= 21 {
        return with_exponent(digits, exponent);
    }
    if exponent >= 6 && number != 0.0 {
        return with_exponent(digits, exponent);
    }
    format!("{number}")
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_format_as_in_go() {
        for (number, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-2.0, "-2"),
            (123456.0, "123456"),
            (1e6, "1e+06"),
            (1234567.0, "1.234567e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e100, "1e+100"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(go_float(number), text);
        }
    }

    #[test]
    fn numbers_of_all_types_compare_by_value() {
        for (a, b, order) in [
            (Val::Int(1), Val::UInt(2), Ordering::Less),
            (Val::Int(-1), Val::UInt(u64::MAX), Ordering::Less),
            (Val::Double(1.5), Val::Int(1), Ordering::Greater),
            (Val::Double(-1.5), Val::Int(-1), Ordering::Less),
            (Val::Int(9_007_199_254_740_993), Val::Double(9_007_199_254_740_992.0), Ordering::Greater),
            (Val::UInt(u64::MAX), Val::Double(f64::INFINITY), Ordering::Less),
        ] {
            assert_eq!(a.compare_numbers(&b), Some(order), "{a:?} {b:?}");
            assert_eq!(b.compare_numbers(&a), Some(order.reverse()), "{b:?} {a:?}");
        }
        assert_eq!(Val::Int(1).compare_numbers(&Val::Double(f64::NAN)), None);
    }
}
