//! Numbers between text and tree. An integer stays one over the whole range of 64 bits, signed or not;
//! every other number is a float, written the way Go writes it.

use crate::Value;

/// Where and why a text is not a number.
pub(super) enum Fault {
    /// The byte at this offset, or the end, does not continue a number; the words say what precedes it.
    Unexpected(usize, &'static str),
    /// The number up to this offset has no finite float.
    Infinite(usize),
}

/// Reads the number that begins at `start`, and returns it with the offset behind it.
#[inline]
pub(super) fn scan(text: &[u8], start: usize) -> Result<(Value, usize), Fault> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let mut at = first;
    let mut amount = 0u64;
    while let Some(digit) = digit(text, at) {
        // Wraps only past 19 digits, and then the amount is not used.
        amount = amount.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    match at - first {
        0 => return Err(Fault::Unexpected(at, "in numeric literal")),
        1 => {}
        // A leading zero is a number of its own; whoever asked sees that more follows.
        _ if text.get(first) == Some(&b'0') => return Ok((Value::Int(0), first + 1)),
        _ => {}
    }
    if matches!(text.get(at), Some(b'.' | b'e' | b'E')) {
        return float(text, start, at);
    }
    if at - first <= 18 {
        let amount = amount as i64;
        return Ok((Value::Int(if negative { -amount } else { amount }), at));
    }
    long_integer(text, start, at)
}

#[inline]
fn digit(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// An integer of 19 digits or more: whichever type holds it.
#[cold]
fn long_integer(text: &[u8], start: usize, end: usize) -> Result<(Value, usize), Fault> {
    let Some(written) = slice(text, start, end) else { return Err(Fault::Infinite(end)) };
    if let Ok(number) = written.parse() {
        return Ok((Value::Int(number), end));
    }
    if let Ok(number) = written.parse() {
        return Ok((Value::UInt(number), end));
    }
    finite(text, start, end)
}

/// A number with a fraction or an exponent, which begins at `at`.
fn float(text: &[u8], start: usize, mut at: usize) -> Result<(Value, usize), Fault> {
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1, "after decimal point in numeric literal")?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = digits(text, at + 1 + usize::from(sign), "in exponent of numeric literal")?;
    }
    finite(text, start, at)
}

fn digits(text: &[u8], start: usize, place: &'static str) -> Result<usize, Fault> {
    let mut at = start;
    while digit(text, at).is_some() {
        at += 1;
    }
    if at == start { Err(Fault::Unexpected(at, place)) } else { Ok(at) }
}

fn finite(text: &[u8], start: usize, end: usize) -> Result<(Value, usize), Fault> {
    match slice(text, start, end).and_then(|written| written.parse::<f64>().ok()) {
        Some(number) if number.is_finite() => Ok((Value::Float(number), end)),
        _ => Err(Fault::Infinite(end)),
    }
}

fn slice(text: &[u8], start: usize, end: usize) -> Option<&str> {
    std::str::from_utf8(text.get(start..end)?).ok()
}

/// Writes a float as Go does: the shortest digits that read back the same, an exponent only below a
/// millionth and from 10²¹ on, and no fraction on a whole number.
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
