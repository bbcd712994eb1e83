//! `text.format(args)`, with clauses such as `%s`, `%d` and `%.3f`.

use super::{convert, fail};
use crate::{
    Error,
    function::EvalResult,
    meter::Meter,
    value::{List, Val},
};

/// The default precision of `%f` and `%e`.
const PRECISION: usize = 6;
/// The maximum number of digits after the decimal point.
const MAX_PRECISION: usize = 1000;

pub(super) fn format<'v>(meter: &mut Meter, text: &str, args: &List<'v>) -> EvalResult<'v> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut at = 0;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (precision, after) = precision(after)?;
        let Some(clause) = after.chars().next() else { return fail("unexpected end of string") };
        let Some(arg) = args.get(at) else { return fail(format!("index {at} out of range")) };
        at += 1;
        let made = write_clause(clause, precision, &arg?, meter)
            .map_err(|error| Error::evaluate(format!("error during formatting: {error}")))?;
        meter.allocate(made.len())?;
        out.push_str(&made);
        rest = after.get(clause.len_utf8()..).unwrap_or_default();
    }
    out.push_str(rest);
    meter.allocate(text.len())?;
    Ok(Val::String(out.into()))
}

/// Parses a precision such as `.3` before a clause.
fn precision(text: &str) -> Result<(Option<usize>, &str), Error> {
    let Some(rest) = text.strip_prefix('.') else { return Ok((None, text)) };
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let digits = rest.get(..end).unwrap_or_default();
    match digits.parse() {
        Ok(precision) if precision <= MAX_PRECISION => {
            Ok((Some(precision), rest.get(end..).unwrap_or_default()))
        }
        Ok(_) => Err(Error::evaluate(format!(
            "precision {digits} exceeds maximum allowed precision of {MAX_PRECISION}"
        ))),
        Err(_) => Err(Error::evaluate(format!("error while converting precision to integer: '{digits}'"))),
    }
}

fn write_clause(
    clause: char,
    precision: Option<usize>,
    arg: &Val<'_>,
    meter: &mut Meter,
) -> Result<String, Error> {
    let wrong = |only: &str| Err(Error::evaluate(format!("{only}, was given {}", arg.type_name())));
    match clause {
        's' => write_value(arg, meter),
        'd' => match arg {
            Val::Int(number) => Ok(number.to_string()),
            Val::UInt(number) => Ok(number.to_string()),
            _ => wrong("decimal clause can only be used on integers"),
        },
        'f' | 'e' => {
            let number = match arg {
                Val::Double(number) => *number,
                Val::String(text) => match text.as_str() {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    _ => return wrong("clause can only be used on doubles"),
                },
                _ if clause == 'f' => return wrong("fixed-point clause can only be used on doubles"),
                _ => return wrong("scientific clause can only be used on doubles"),
            };
            let precision = precision.unwrap_or(PRECISION);
            Ok(match (number.is_finite(), clause) {
                (false, _) if number.is_nan() => "NaN".into(),
                (false, _) => if number > 0.0 { "∞" } else { "-∞" }.into(),
                (true, 'f') => format!("{number:.precision$}"),
                _ => scientific(number, precision),
            })
        }
        'b' => match arg {
            Val::Int(number) if *number < 0 => Ok(format!("-{:b}", number.unsigned_abs())),
            Val::Int(number) => Ok(format!("{number:b}")),
            Val::UInt(number) => Ok(format!("{number:b}")),
            Val::Bool(flag) => Ok(if *flag { "1" } else { "0" }.into()),
            _ => wrong("only integers and bools can be formatted as binary"),
        },
        'x' | 'X' => {
            let text = match arg {
                Val::Int(number) if *number < 0 => format!("-{:x}", number.unsigned_abs()),
                Val::Int(number) => format!("{number:x}"),
                Val::UInt(number) => format!("{number:x}"),
                Val::String(text) => hex(text.as_bytes(), meter)?,
                Val::Bytes(bytes) => hex(bytes, meter)?,
                _ => return wrong("only integers, byte buffers, and strings can be formatted as hex"),
            };
            Ok(if clause == 'X' { text.to_uppercase() } else { text })
        }
        'o' => match arg {
            Val::Int(number) if *number < 0 => Ok(format!("-{:o}", number.unsigned_abs())),
            Val::Int(number) => Ok(format!("{number:o}")),
            Val::UInt(number) => Ok(format!("{number:o}")),
            _ => wrong("octal clause can only be used on integers"),
        },
        other => Err(Error::evaluate(format!("unrecognized formatting clause \"{other}\""))),
    }
}

fn hex(bytes: &[u8], meter: &mut Meter) -> Result<String, Error> {
    meter.allocate(bytes.len().saturating_mul(2))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Formats any value; strings inside of lists and maps are quoted.
fn write_value(arg: &Val<'_>, meter: &mut Meter) -> Result<String, Error> {
    let inner = |value: &Val<'_>, meter: &mut Meter| -> Result<String, Error> {
        let text = match value {
            Val::Double(number) if number.is_finite() => format!("{number:.PRECISION$}"),
            other => write_value(other, meter)?,
        };
        meter.allocate(text.len() + size_of::<String>())?;
        Ok(match value {
            Val::String(_) => format!("{text:?}"),
            Val::Bytes(_) => format!("b{text:?}"),
            Val::Double(number) if !number.is_finite() => format!("{text:?}"),
            _ => text,
        })
    };
    match arg {
        Val::Null => Ok("null".into()),
        Val::List(list) => {
            let mut parts = Vec::with_capacity(list.len());
            for item in list.iter() {
                parts.push(inner(&item?, meter)?);
            }
            Ok(format!("[{}]", parts.join(", ")))
        }
        Val::Map(map) => {
            let mut parts = Vec::with_capacity(map.len());
            for (key, value) in map.entries()?.iter() {
                parts.push((inner(&key.to_val(), meter)?, inner(value, meter)?));
            }
            parts.sort_by(|a, b| a.0.cmp(&b.0));
            let parts: Vec<String> = parts.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            Ok(format!("{{{}}}", parts.join(", ")))
        }
        Val::Type(name) => Ok(name.to_string()),
        Val::Optional(_) | Val::Opaque(_) => Err(Error::evaluate(format!(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given {}",
            arg.type_name()
        ))),
        other => match convert::to_string(std::slice::from_ref(other))? {
            Val::String(text) => Ok(text.to_string()),
            _ => Ok(String::new()),
        },
    }
}
