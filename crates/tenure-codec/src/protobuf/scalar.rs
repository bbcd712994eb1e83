//! Messages that are a single value in JSON: timestamps, quantities and int-or-string values, each with its
//! decoder and encoder.

use super::{
    error::ErrorKind,
    wire::{Reader, Writer},
};
use tenure_meta::{Timestamp, time::Precision};
use tenure_value::{Text, Value};

/// The range of timestamps with a four-digit year, in seconds.
const YEARS: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

/// Creates a string, inline if it is short.
#[inline]
pub(super) fn text(plain: &str) -> Text {
    if plain.len() <= Text::INLINE_CAP { Text::new_inline(plain) } else { Text::new(plain) }
}

/// Decodes a double; an integral one is an integer, as in JSON.
pub(super) fn double(number: f64) -> Result<Value, ErrorKind> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Ok(Value::Int(number as i64));
    }
    Value::float(number).ok_or_else(|| ErrorKind::Value(format!("{number} cannot be represented in JSON")))
}

/// Decodes a timestamp; empty content means none.
pub(super) fn time(bytes: &[u8], precision: Precision) -> Result<Value, ErrorKind> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0i64, 0i64);
    let mut reader = Reader(bytes);
    while let Some((number, payload)) = reader.next_field()? {
        match number {
            1 => seconds = payload.varint()? as i64,
            2 => nanos = payload.varint()? as i64,
            _ => {}
        }
    }
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000);
    match (YEARS.contains(&seconds), nanos) {
        (true, Some(nanos)) => Ok(Value::from(Timestamp { seconds, nanos }.format(precision))),
        (false, _) => {
            Err(ErrorKind::Value(format!("{seconds} seconds since 1970 is not in a year of four digits")))
        }
        (_, None) => {
            Err(ErrorKind::Value("the nanoseconds of a time are at least 0 and below 1000000000".into()))
        }
    }
}

/// Encodes a timestamp; an invalid one is empty.
pub(super) fn write_time(out: &mut Writer, text: &str, precision: Precision) {
    let Some(time) = Timestamp::parse(text, precision) else { return };
    let nanos = match precision {
        Precision::Seconds => 0,
        Precision::Micros => time.nanos / 1000 * 1000,
    };
    out.number(1, time.seconds as u64);
    out.number(2, u64::from(nanos));
}

/// Decodes a quantity.
pub(super) fn quantity(bytes: &[u8]) -> Result<Value, ErrorKind> {
    let mut text = "";
    let mut reader = Reader(bytes);
    while let Some((number, payload)) = reader.next_field()? {
        if number == 1 {
            text = payload.text()?;
        }
    }
    Ok(Value::String(self::text(if text.is_empty() { "0" } else { text })))
}

/// Decodes an int-or-string value: the type, the integer, the string.
pub(super) fn int_or_string(bytes: &[u8]) -> Result<Value, ErrorKind> {
    let (mut which, mut amount, mut text) = (0, 0, "");
    let mut reader = Reader(bytes);
    while let Some((number, payload)) = reader.next_field()? {
        match number {
            1 => which = payload.varint()?,
            2 => amount = payload.varint()? as i32,
            3 => text = payload.text()?,
            _ => {}
        }
    }
    match which {
        0 => Ok(Value::from(amount)),
        1 => Ok(Value::String(self::text(text))),
        other => {
            Err(ErrorKind::Value(format!("the type of an int-or-string value must be 0 or 1, got {other}")))
        }
    }
}

/// Encodes an int-or-string value.
pub(super) fn write_int_or_string(out: &mut Writer, value: &Value) {
    let text = value.as_str();
    out.number(1, u64::from(text.is_some()));
    out.number(2, value.as_i64().unwrap_or_default() as u64);
    out.field(3, text.unwrap_or_default().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_the_precision_of_json() {
        for (text, precision) in [
            ("2026-11-15T00:45:20Z", Precision::Seconds),
            ("1969-12-31T23:59:59Z", Precision::Seconds),
            ("2026-11-15T00:45:20.123456Z", Precision::Micros),
        ] {
            let mut out = Writer::default();
            write_time(&mut out, text, precision);
            assert_eq!(time(&out.finish(), precision), Ok(Value::from(text)));
        }
        assert_eq!(time(&[], Precision::Seconds), Ok(Value::Null));
        assert!(
            time(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Precision::Seconds).is_err()
        );
        assert!(time(&[0x08, 0x01, 0x10, 0x80, 0xa8, 0xd6, 0xb9, 0x07], Precision::Micros).is_err());
    }

    #[test]
    fn integers_and_strings_are_distinguished() {
        for value in [Value::Int(80), Value::Int(-1), Value::from("25%"), Value::from("")] {
            let mut out = Writer::default();
            write_int_or_string(&mut out, &value);
            assert_eq!(int_or_string(&out.finish()), Ok(value));
        }
        assert!(int_or_string(&[0x08, 0x02]).is_err());
    }

    #[test]
    fn integral_doubles_are_integers() {
        assert_eq!(double(2.0), Ok(Value::Int(2)));
        assert_eq!(double(0.5), Ok(Value::float(0.5).unwrap()));
        assert!(double(f64::NAN).is_err());
    }
}
