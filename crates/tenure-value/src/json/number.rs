//! Parsing and formatting of numbers. An integer stays an integer over the whole signed and unsigned 64 bit
//! range; every other number is a float, formatted as Go does.

use crate::{Float, Value};

/// How an integral number with a fraction or an exponent is parsed.
#[derive(Clone, Copy)]
pub(super) enum IntegralNumbers {
    /// As a float.
    Float,
    /// As an integer, if one can represent it.
    Integer,
}

/// Why a text is not a number.
pub(super) enum NumberError {
    /// The byte at this offset, or the end of the text, does not continue a number; the string describes the
    /// context.
    Unexpected(usize, &'static str),
    /// The number up to this offset is not finite as a float.
    Infinite(usize),
}

/// Parses an integer of up to eighteen digits at `start`, and returns it with the offset after it; `None` for
/// everything else.
#[inline]
pub(super) fn short_integer(text: &[u8], start: usize) -> Option<(i64, usize)> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let mut at = first;
    let mut amount = 0i64;
    while let Some(digit) = digit(text, at) {
        // Overflows only beyond eighteen digits, where the value is not used.
        amount = amount.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let leading_zero = at > first + 1 && text.get(first) == Some(&b'0');
    if !(1..=18).contains(&(at - first)) || leading_zero || matches!(text.get(at), Some(b'.' | b'e' | b'E')) {
        return None;
    }
    Some((if negative { -amount } else { amount }, at))
}

/// Parses the number at `start`, and returns it with the offset after it.
#[cold]
pub(super) fn scan(
    text: &[u8],
    start: usize,
    integral: IntegralNumbers,
) -> Result<(Value, usize), NumberError> {
    let first = start + usize::from(text.get(start) == Some(&b'-'));
    let end = digits(text, first, "in numeric literal")?;
    match text.get(end) {
        // A leading zero is a complete number; the caller rejects the digits that follow.
        _ if end > first + 1 && text.get(first) == Some(&b'0') => Ok((Value::Int(0), first + 1)),
        Some(b'.' | b'e' | b'E') => match (float(text, start, end)?, integral) {
            ((Value::Float(number), end), IntegralNumbers::Integer) => Ok((rewritten(number), end)),
            (read, _) => Ok(read),
        },
        _ => long_integer(text, start, end),
    }
}

#[inline]
fn digit(text: &[u8], at: usize) -> Option<i64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(i64::from(digit))
}

/// Parses an integer of any length, as the first type that can represent it.
fn long_integer(text: &[u8], start: usize, end: usize) -> Result<(Value, usize), NumberError> {
    let Some(written) = slice(text, start, end) else { return Err(NumberError::Infinite(end)) };
    if let Ok(number) = written.parse() {
        return Ok((Value::Int(number), end));
    }
    if let Ok(number) = written.parse() {
        return Ok((Value::unsigned(number), end));
    }
    finite(text, start, end)
}

/// Parses a number whose fraction or exponent begins at `at`.
fn float(text: &[u8], start: usize, mut at: usize) -> Result<(Value, usize), NumberError> {
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1, "after decimal point in numeric literal")?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = digits(text, at + 1 + usize::from(sign), "in exponent of numeric literal")?;
    }
    finite(text, start, at)
}

fn digits(text: &[u8], start: usize, place: &'static str) -> Result<usize, NumberError> {
    let mut at = start;
    while digit(text, at).is_some() {
        at += 1;
    }
    if at == start { Err(NumberError::Unexpected(at, place)) } else { Ok(at) }
}

fn finite(text: &[u8], start: usize, end: usize) -> Result<(Value, usize), NumberError> {
    let number = slice(text, start, end).and_then(|written| written.parse::<f64>().ok());
    match number.and_then(Value::float) {
        Some(value) => Ok((value, end)),
        None => Err(NumberError::Infinite(end)),
    }
}

fn slice(text: &[u8], start: usize, end: usize) -> Option<&str> {
    std::str::from_utf8(text.get(start..end)?).ok()
}

/// Returns a float as it is formatted and parsed again.
pub(crate) fn rewritten(number: Float) -> Value {
    let mut written = Vec::new();
    write_float(number.get(), &mut written);
    match scan(&written, 0, IntegralNumbers::Float) {
        Ok((value, end)) if end == written.len() => value,
        _ => Value::Float(number),
    }
}

/// Formats a float as Go does: the shortest digits that parse to the same value, an exponent only below a
/// millionth and from 10²¹ on, and no fraction for an integral number.
pub(crate) fn write_float(number: f64, out: &mut Vec<u8>) {
    use std::io::Write;
    let size = number.abs();
    // Writing to a vector cannot fail.
    let _ = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let written = format!("{number:e}");
        match written.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => write!(out, "{digits}e+{exponent}"),
            _ => out.write_all(written.as_bytes()),
        }
    } else {
        write!(out, "{number}")
    };
}
