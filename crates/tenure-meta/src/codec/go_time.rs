//! Why Go's `time.Parse` refuses a text, in its words: the element of the layout that does not match, or the part that is out of
//! range. Computed only after a time could not be read.

use crate::time::Precision;

/// An element of a layout: the literal before it, its name, and what it reads.
type Element = (&'static str, &'static str, Reads);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Year,
    /// Two digits within a range, and the name of the part.
    Number(u32, u32, &'static str),
    Day,
    /// One or two digits.
    Hour,
    /// Seconds, with a fraction or without one.
    Second,
    /// A fraction of six digits.
    Fraction,
    Zone,
}

const DATE: [Element; 5] = [
    ("", "2006", Reads::Year),
    ("-", "01", Reads::Number(1, 12, "month")),
    ("-", "02", Reads::Day),
    ("T", "15", Reads::Hour),
    (":", "04", Reads::Number(0, 59, "minute")),
];
const SECONDS: [Element; 2] = [(":", "05", Reads::Second), ("", "Z07:00", Reads::Zone)];
const MICROS: [Element; 3] = [
    (":", "05", Reads::Number(0, 59, "second")),
    ("", ".000000", Reads::Fraction),
    ("", "Z07:00", Reads::Zone),
];

/// Why an element does not match.
enum Mismatch {
    Bad,
    OutOfRange(&'static str),
}

/// Returns the error of a text that is not a time of a precision.
pub(super) fn error(text: &str, precision: Precision) -> String {
    let (layout, rest): (_, &[Element]) = match precision {
        Precision::Seconds => ("2006-01-02T15:04:05Z07:00", &SECONDS),
        Precision::Micros => ("2006-01-02T15:04:05.000000Z07:00", &MICROS),
    };
    let given = quote(text);
    let unparsed = |value: &[u8], element: &str| {
        let value = quote_bytes(value);
        format!("parsing time {given} as {}: cannot parse {value} as {}", quote(layout), quote(element))
    };
    let mut value = text.as_bytes();
    for (literal, name, reads) in DATE.iter().chain(rest) {
        match value.strip_prefix(literal.as_bytes()) {
            Some(after) => value = after,
            None => return unparsed(value, literal),
        }
        match read(*reads, value) {
            Ok(after) => value = after,
            Err(Mismatch::OutOfRange(part)) => return format!("parsing time {given}: {part} out of range"),
            Err(Mismatch::Bad) => return unparsed(value, name),
        }
    }
    match value {
        // Everything matched, so that only the day can be wrong for its month.
        [] => format!("parsing time {given}: day out of range"),
        extra => format!("parsing time {given}: extra text: {}", quote_bytes(extra)),
    }
}

/// Reads an element from the beginning of a text; returns what follows.
fn read(reads: Reads, value: &[u8]) -> Result<&[u8], Mismatch> {
    let digit = |at: usize| value.get(at).is_some_and(u8::is_ascii_digit);
    let number = |at: usize| {
        let digits = value.get(at..at + 2)?;
        digits
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| u32::from(digits[0] - b'0') * 10 + u32::from(digits[1] - b'0'))
    };
    let past = |count: usize| Ok(&value[count.min(value.len())..]);
    match reads {
        Reads::Year if (0..4).all(digit) => past(4),
        Reads::Number(least, most, part) => match number(0) {
            Some(found) if (least..=most).contains(&found) => past(2),
            Some(_) => Err(Mismatch::OutOfRange(part)),
            None => Err(Mismatch::Bad),
        },
        Reads::Day if number(0).is_some() => past(2),
        Reads::Hour => match number(0) {
            Some(0..24) => past(2),
            Some(_) => Err(Mismatch::OutOfRange("hour")),
            None if digit(0) => past(1),
            None => Err(Mismatch::Bad),
        },
        Reads::Second => match number(0) {
            Some(0..60) if value.get(2).is_some_and(|byte| b".,".contains(byte)) && digit(3) => {
                past(3 + value[3..].iter().take_while(|byte| byte.is_ascii_digit()).count())
            }
            Some(0..60) => past(2),
            Some(_) => Err(Mismatch::OutOfRange("second")),
            None => Err(Mismatch::Bad),
        },
        Reads::Fraction if value.first().is_some_and(|byte| b".,".contains(byte)) && (1..7).all(digit) => {
            past(7)
        }
        Reads::Zone if value.first() == Some(&b'Z') => past(1),
        Reads::Zone if value.len() >= 6 && value[3] == b':' => match (value[0], number(1), number(4)) {
            (_, Some(25..), _) => Err(Mismatch::OutOfRange("time zone offset hour")),
            (_, Some(_), Some(61..)) => Err(Mismatch::OutOfRange("time zone offset minute")),
            (b'+' | b'-', Some(_), Some(_)) => past(6),
            _ => Err(Mismatch::Bad),
        },
        _ => Err(Mismatch::Bad),
    }
}

fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// Quotes a text as messages about times do: bytes outside of printable ASCII in hexadecimal.
fn quote_bytes(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            other => out.push_str(&format!("\\x{other:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_element_that_does_not_match_is_named() {
        let layout = "\"2006-01-02T15:04:05Z07:00\"";
        for (text, element, rest) in [
            ("", "2006", ""),
            ("soon", "2006", "soon"),
            ("2020", "-", ""),
            ("2020-1-01T00:00:00Z", "01", "1-01T00:00:00Z"),
            ("2020-01-01 00:00:00Z", "T", " 00:00:00Z"),
            ("2020-01-01T00:00:00", "Z07:00", ""),
            ("2020-01-01T00:00:00.5+0100", "Z07:00", "+0100"),
        ] {
            let wanted =
                format!("parsing time \"{text}\" as {layout}: cannot parse \"{rest}\" as \"{element}\"");
            assert_eq!(error(text, Precision::Seconds), wanted);
        }
    }

    #[test]
    fn a_part_out_of_range_and_extra_text_are_named() {
        for (text, why) in [
            ("2020-13-01T00:00:00Z", "month out of range"),
            ("2020-02-30T00:00:00Z", "day out of range"),
            ("2020-01-01T24:00:00Z", "hour out of range"),
            ("2020-01-01T00:00:00Zx", "extra text: \"x\""),
            ("2020-01-01T00:00:00Z\u{e4}", "extra text: \"\\xc3\\xa4\""),
        ] {
            let message = error(text, Precision::Seconds);
            assert!(message.ends_with(&format!(": {why}")), "{message}");
        }
        let micros = error("2020-01-01T00:00:00Z", Precision::Micros);
        assert!(micros.ends_with("cannot parse \"Z\" as \".000000\""), "{micros}");
    }
}
